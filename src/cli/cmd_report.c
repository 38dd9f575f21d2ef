// cmd_report.c - familyseer report: a report of `tune` -> its figures as text or JSON; two of them
// -> what differs, as text and as a page.
#include <stdio.h>

#include "base/os.h"
#include "cli/command.h"
#include "cli/json.h"
#include "report/data.h"

// A folder is that of a library, with its report in it.
static const char *page_of(const char *path, seer_arena *arena) {
  return seer_os_is_dir(path) ? seer_os_path_join(arena, path, "report.html") : path;
}

static void print_head(const char *title, const seer_report_data *data) {
  printf("%s%s: %.3f ms%s, sum of the tasks %.3f ms, untuned %.3f ms; %u measurements, %s\n", title,
      data->model, seer_report_run_s(data) * 1e3,
      data->latency_s > 0 ? ", the whole library by itself" : "", data->sum_s * 1e3,
      data->sum_untuned_s * 1e3, data->trials, data->machine);
}

static void print_us(double seconds) {
  if (seconds > 0)
    printf(" %9.1f us", seconds * 1e6);
  else
    printf(" %12s", "-");
}

static void print_one(const seer_report_data *data) {
  print_head("", data);
  printf("%7s %6s %12s %12s %12s  %s\n", "share", "runs", "in network", "untuned", "tuned", "task");
  for (uint32_t k = 0; k < data->n_task; k++) {
    const seer_report_task *task = &data->task[data->order[k]];
    printf("%5d.%d%% %6g", task->tenths / 10, task->tenths % 10, task->weight);
    print_us(task->network_s);
    print_us(task->untuned_s);
    print_us(task->best_s);
    printf("  %s\n", task->name);
  }
  if (data->rest_tenths > 0)
    printf("%5d.%d%%  the rest\n", data->rest_tenths / 10, data->rest_tenths % 10);
}

static void print_two(const seer_report_data *a, const seer_report_data *b, seer_arena *arena) {
  uint32_t n;
  const seer_report_match *match = seer_report_match_tasks(a, b, arena, &n);
  print_head("A: ", a);
  print_head("B: ", b);
  printf("%12s %12s %7s  %s\n", "A", "B", "B / A", "task");
  for (uint32_t k = 0; k < n; k++) {
    print_us(match[k].a_s);
    print_us(match[k].b_s);
    if (match[k].a_s > 0 && match[k].b_s > 0)
      printf(" %7.2f", match[k].b_s / match[k].a_s);
    else
      printf(" %7s", "-");
    printf("  %s\n", (match[k].a ? match[k].a : match[k].b)->name);
  }
}

static seer_status compare(seer_context *context, const seer_report_data *a, const char *path) {
  seer_arena *arena = a->arena;
  seer_report_data b;
  SEER_TRY(seer_report_read(page_of(path, arena), arena, &b));
  const char *page = seer_context_str(context, SEER_OPT_OUTPUT);
  if (page[0]) {
    seer_text html;
    seer_text_init(&html, arena);
    seer_report_put_comparison(&html, a, &b);
    SEER_TRY(seer_os_write_file(page, html.data, html.n_bytes));
  }
  if (seer_context_bool(context, SEER_OPT_JSON))
    return seer_cli_put_json(
        json_pack("{s:o, s:o}", "a", seer_report_json(a), "b", seer_report_json(&b)));
  print_two(a, &b, arena);
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  seer_arena *arena = seer_context_arena(context);
  const char *other = seer_context_str(context, SEER_OPT_COMPARE);
  if (!other[0] && seer_context_str(context, SEER_OPT_OUTPUT)[0])
    return seer_usage_error("-o is for the page of --compare: the report itself is one already");
  seer_report_data data;
  SEER_TRY(seer_report_read(page_of(argv[0], arena), arena, &data));
  if (other[0]) return compare(context, &data, other);
  if (seer_context_bool(context, SEER_OPT_JSON)) return seer_cli_put_json(seer_report_json(&data));
  print_one(&data);
  return SEER_OK;
}

const seer_command seer_command_report = {
    .name = "report",
    .args = "REPORT|DIR [--compare REPORT|DIR [-o FILE.html]] [--json]",
    .doc = "what a report of tune says, or how two of them differ: figures, and a page",
    .example =
        "  familyseer report out\n"
        "  familyseer report out --compare earlier/report.html -o compared.html\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
