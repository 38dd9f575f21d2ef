// cmd_diff.c - familyseer diff A.so B.so: what differs between two libraries of one network, by
// task: the schedule, and the times that the tuning has recorded of each; with --profile by step,
// and times of now, of runs in turns. What changed most comes first.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "cli/command.h"
#include "cli/json.h"
#include "library/description.h"
#include "library/use.h"

#define PROFILE_S 0.4  // of each of the four profiles
#define LEAST_RUNS 10
#define MOST_RUNS 500

// A task, or a step, of one of them.
typedef struct {
  const char *name, *source, *schedule;  // schedule "": it has none
  double seconds;  // all of a task's; 0: not known
  bool is_matched;
} part;

typedef struct {
  seer_use use;
  json_t *info;
  part *part;
  size_t n;
} side;

typedef struct {
  const part *of[2];  // NULL: the other one alone has it
} row;

typedef struct {
  size_t n, n_same, n_other, n_only[2], n_timed;
  row *row;
  double seconds[2];  // of those that both have times of
} difference;

// ---- reading

static seer_status open_side(
    seer_context *context, const char *path, seer_pool *pool, seer_arena *arena, side *out) {
  SEER_TRY(seer_use_open(context, path, "", pool, false, arena, &out->use));
  return seer_description_read(
      path, seer_arena_strdup(arena, out->use.api->info_json(out->use.model)), &out->info);
}

static void close_side(side *s) {
  json_decref(s->info);
  seer_use_close(&s->use);
}

static part part_of(const json_t *task, const char *name, double seconds, seer_arena *arena) {
  return (part){seer_text_safe_whole(arena, name), seer_description_text(task, "source", arena),
      seer_description_raw(task, "schedule"), seconds, false};
}

static void list_tasks(side *s) {
  const json_t *tasks = json_object_get(s->info, "tasks"), *task;
  size_t i;
  s->part = SEER_NEW_ARRAY(s->use.arena, part, json_array_size(tasks) + 1);
  json_array_foreach(tasks, i, task) s->part[s->n++] =
      part_of(task, seer_description_raw(task, "name"),
          json_number_value(json_object_get(task, "weight")) *
              json_number_value(json_object_get(task, "seconds")),
          s->use.arena);
}

// ---- times of now

// The task of a step, by its name in the set that is selected; NULL: it is no task's.
static const json_t *task_of(const side *s, const char *step_name) {
  const json_t *set = json_array_get(json_object_get(s->info, "sets"), (size_t)s->use.set);
  const json_t *steps = json_object_get(set ? set : s->info, "steps"), *step;
  size_t i;
  json_array_foreach(steps, i, step) {
    const json_t *task = json_object_get(step, "task");
    if (task && strcmp(seer_description_raw(step, "name"), step_name) == 0)
      return json_array_get(json_object_get(s->info, "tasks"), (size_t)json_integer_value(task));
  }
  return NULL;
}

static seer_status time_steps(side *s, bool is_first) {
  int32_t n = seer_use_n_steps(&s->use);
  seer_step_info *steps = SEER_NEW_ARRAY(s->use.arena, seer_step_info, n + 1);
  SEER_TRY(seer_use_run(&s->use));
  uint64_t start_ns = seer_os_now_ns();
  SEER_TRY(seer_use_run(&s->use));
  double runs = PROFILE_S / ((double)(seer_os_now_ns() - start_ns) * 1e-9 + 1e-9);
  runs = fmin(fmax(runs, LEAST_RUNS), MOST_RUNS);
  SEER_TRY(seer_use_time_steps(&s->use, (uint32_t)runs, steps, n));
  if (is_first) s->part = SEER_NEW_ARRAY(s->use.arena, part, (size_t)n + 1);
  size_t at = 0;
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(steps[i].kind, "view") == 0) continue;
    if (is_first)
      s->part[s->n++] =
          part_of(task_of(s, steps[i].name), steps[i].name, steps[i].seconds, s->use.arena);
    else
      s->part[at].seconds = fmin(s->part[at].seconds, steps[i].seconds);
    at++;
  }
  return SEER_OK;
}

// The better of two profiles of each, in the order A B B A: what drifts falls on both.
static seer_status profile(const seer_context *context, side of[2]) {
  for (int k = 0; k < 2; k++) {
    SEER_TRY(seer_use_choose(context, &of[k].use));
    SEER_TRY(seer_use_fill(context, &of[k].use));
  }
  SEER_TRY(time_steps(&of[0], true));
  SEER_TRY(time_steps(&of[1], true));
  SEER_TRY(time_steps(&of[1], false));
  return time_steps(&of[0], false);
}

// ---- comparing

static part *find_part(side *s, const char *name) {
  for (size_t i = 0; i < s->n; i++)
    if (!s->part[i].is_matched && strcmp(s->part[i].name, name) == 0) return &s->part[i];
  return NULL;
}

static bool has_both(const row *r) { return r->of[0] && r->of[1]; }
static bool has_times(const row *r) {
  return has_both(r) && r->of[0]->seconds > 0 && r->of[1]->seconds > 0;
}
static bool is_same(const row *r) {
  return has_both(r) && strcmp(r->of[0]->schedule, r->of[1]->schedule) == 0;
}
static double change_s(const row *r) {
  return has_times(r) ? fabs(r->of[1]->seconds - r->of[0]->seconds) : 0;
}

// What only one has comes first, then what changed most, then what has another schedule.
static int by_change(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (has_both(x) != has_both(y)) return has_both(x) ? 1 : -1;
  double p = change_s(x), q = change_s(y);
  if (p != q) return p > q ? -1 : 1;
  if (is_same(x) != is_same(y)) return is_same(x) ? 1 : -1;
  const part *first = x->of[0] ? x->of[0] : x->of[1], *second = y->of[0] ? y->of[0] : y->of[1];
  return (first > second) - (first < second);
}

// Parts of one name are of one another by their order.
static difference compare(side of[2], seer_arena *arena) {
  difference d = {.row = SEER_NEW_ARRAY(arena, row, of[0].n + of[1].n + 1)};
  for (size_t i = 0; i < of[0].n; i++) {
    part *other = find_part(&of[1], of[0].part[i].name);
    if (other) other->is_matched = true;
    d.row[d.n++] = (row){{&of[0].part[i], other}};
  }
  for (size_t i = 0; i < of[1].n; i++)
    if (!of[1].part[i].is_matched) d.row[d.n++] = (row){{NULL, &of[1].part[i]}};
  for (size_t i = 0; i < d.n; i++) {
    const row *r = &d.row[i];
    if (!has_both(r)) {
      d.n_only[r->of[0] ? 0 : 1]++;
      continue;
    }
    d.n_same += is_same(r);
    d.n_other += !is_same(r);
    if (!has_times(r)) continue;
    d.n_timed++;
    for (int k = 0; k < 2; k++) d.seconds[k] += r->of[k]->seconds;
  }
  qsort(d.row, d.n, sizeof(row), by_change);
  return d;
}

// ---- telling

static const char *schedule_word(const row *r) {
  if (!has_both(r)) return r->of[0] ? "only A" : "only B";
  if (!*r->of[0]->schedule && !*r->of[1]->schedule) return "-";
  return is_same(r) ? "same" : "other";
}

static void print_time(const part *p) {
  if (p && p->seconds > 0)
    printf("%9.1f us ", p->seconds * 1e6);
  else
    printf("%12s ", "-");
}

static void print_difference(const difference *d, const side of[2], bool is_of_steps) {
  printf("A  %s\nB  %s\n\n", of[0].use.path, of[1].use.path);
  printf("%12s %12s %7s  %-8s  %-20s %s\n", "A", "B", "A/B", "schedule", "from",
      is_of_steps ? "step" : "task");
  for (size_t i = 0; i < d->n; i++) {
    const row *r = &d->row[i];
    const part *any = r->of[0] ? r->of[0] : r->of[1];
    const char *a = r->of[0] ? r->of[0]->source : "", *b = r->of[1] ? r->of[1]->source : "";
    bool is_one = strcmp(a, b) == 0 || !*a || !*b;
    char from[64];
    (void)snprintf(from, sizeof from, "%s%s%s", *a ? a : b, is_one ? "" : ", ", is_one ? "" : b);
    print_time(r->of[0]);
    print_time(r->of[1]);
    if (has_times(r))
      printf("%7.2f", r->of[0]->seconds / r->of[1]->seconds);
    else
      printf("%7s", "-");
    printf("  %-8s  %-20s %s\n", schedule_word(r), from, any->name);
  }
  const char *what = is_of_steps ? "steps" : "tasks";
  printf("\n%zu %s in both, %zu with the same schedule; only in A %zu, only in B %zu\n",
      d->n_same + d->n_other, what, d->n_same, d->n_only[0], d->n_only[1]);
  if (d->n_timed == 0) {
    printf("no times of both are recorded; --profile measures them\n");
    return;
  }
  double ratio = d->seconds[0] / d->seconds[1];
  printf("the %zu with times in both take %.3f ms and %.3f ms: %s is %.2f times as fast\n",
      d->n_timed, d->seconds[0] * 1e3, d->seconds[1] * 1e3, ratio >= 1 ? "B" : "A",
      ratio >= 1 ? ratio : 1 / ratio);
}

static void add_part(json_t *line, const part *p, const char *source, const char *seconds) {
  if (!p) return;
  json_object_set_new(line, source, json_string(p->source));
  if (p->seconds > 0) json_object_set_new(line, seconds, json_real(p->seconds));
}

static seer_status put_difference(const difference *d, bool is_of_steps) {
  json_t *rows = json_array();
  for (size_t i = 0; i < d->n; i++) {
    const row *r = &d->row[i];
    json_t *line = json_pack(
        "{s:s, s:s}", "name", (r->of[0] ? r->of[0] : r->of[1])->name, "schedule", schedule_word(r));
    add_part(line, r->of[0], "a_source", "a_seconds");
    add_part(line, r->of[1], "b_source", "b_seconds");
    json_array_append_new(rows, line);
  }
  return seer_cli_put_json(json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o}", "same",
      (json_int_t)d->n_same, "other", (json_int_t)d->n_other, "only_a", (json_int_t)d->n_only[0],
      "only_b", (json_int_t)d->n_only[1], "timed", (json_int_t)d->n_timed, "a_seconds",
      d->seconds[0], "b_seconds", d->seconds[1], is_of_steps ? "steps" : "tasks", rows));
}

static seer_status diff(seer_context *context, side of[2], seer_arena *arena) {
  bool is_of_steps = seer_context_bool(context, SEER_OPT_PROFILE);
  if (is_of_steps) SEER_TRY(profile(context, of));
  for (int k = 0; k < 2 && !is_of_steps; k++) list_tasks(&of[k]);
  difference d = compare(of, arena);
  if (d.n > 0 && d.n_same + d.n_other == 0)
    return SEER_FAIL(INVALID, "%s and %s are of different networks: nothing is in both",
        of[0].use.path, of[1].use.path);
  if (seer_context_bool(context, SEER_OPT_JSON)) return put_difference(&d, is_of_steps);
  print_difference(&d, of, is_of_steps);
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  seer_arena *arena = seer_context_arena(context);
  side of[2] = {{.n = 0}, {.n = 0}};
  seer_status status = open_side(context, argv[0], NULL, arena, &of[0]);
  if (!status) status = open_side(context, argv[1], of[0].use.pool, arena, &of[1]);
  if (!status) status = diff(context, of, arena);
  close_side(&of[1]);
  close_side(&of[0]);
  return status;
}

const seer_command seer_command_diff = {
    .name = "diff",
    .args = "A.so B.so [--profile] [--json]",
    .doc =
        "two libraries of one network, by task: which have another schedule, and the times that "
        "are recorded of each; --profile: by step, timed now; what changed most first",
    .example = "  familyseer diff before/model.so after/model.so\n",
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
