// cmd_records.c - familyseer records best|export|import|merge|sync|check: what was measured, to
// look at and to hand on.
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "choose/plain.h"
#include "cli/command.h"
#include "models/models.h"
#include "record/sound.h"
#include "record/sync.h"

static json_t *best_json(const seer_task *task, const seer_record *record) {
  json_t *line = json_pack("{s:i, s:s, s:I, s:f, s:s, s:s}", "task", (int)task->id, "name",
      task->name, "record", (json_int_t)record->id, "seconds", record->seconds, "state",
      record->id ? seer_record_state_name(record->state) : "none", "schedule",
      record->id ? record->schedule : "");
  if (line && record->id)
    json_object_set_new(
        line, "place", json_string(seer_record_provenance_name(record->provenance)));
  if (line && record->id) {
    json_object_set_new(line, "worker", json_string(record->worker));
    json_object_set_new(line, "device", json_string(record->device));
  }
  if (line && record->ab.n_pairs > 0)
    json_object_set_new(line, "pairs",
        json_pack("{s:I, s:f, s:f, s:f, s:I}", "n", (json_int_t)record->ab.n_pairs, "speedup",
            record->ab.speedup, "p_value", record->ab.p_value, "baseline_seconds",
            record->ab.baseline_seconds, "judged", (json_int_t)record->judged));
  return line;
}

static seer_status print_json(const seer_task *task, const seer_record *record) {
  json_t *line = best_json(task, record);
  char *dump = line ? json_dumps(line, JSON_COMPACT) : NULL;
  json_decref(line);
  if (!dump) return SEER_FAIL(CORRUPT, "record %" PRId64 ": no UTF-8", record->id);
  puts(dump);
  free(dump);
  return SEER_OK;
}

static void print_best(const seer_task *task, const seer_record *record) {
  printf("task %u  %s\n", task->id, task->name);
  if (!record->id) {
    printf("  no record\n");
    return;
  }
  bool is_here = record->provenance == SEER_RECORD_HERE;
  printf("  record %" PRId64 ", %s%s%s, %.2f us", record->id, seer_record_state_name(record->state),
      is_here ? "" : " ", is_here ? "" : seer_record_provenance_name(record->provenance),
      record->seconds * 1e6);
  if (record->ab.n_pairs > 0)
    printf("; in %u pairs %.2f times as fast as what took %.2f us", record->ab.n_pairs,
        record->ab.speedup, record->ab.baseline_seconds * 1e6);
  if (record->device[0] || record->worker[0]) {
    char name[SEER_TEXT_SAFE_LINE_BYTES], device[SEER_TEXT_SAFE_LINE_BYTES];
    seer_text_safe_copy(
        name, sizeof name, record->worker, strlen(record->worker), SEER_TEXT_ONE_LINE);
    seer_text_safe_copy(
        device, sizeof device, record->device, strlen(record->device), SEER_TEXT_ONE_LINE);
    printf("; on %s%s%s", name, name[0] && device[0] ? ", " : "", device);
  }
  printf("\n%s\n", record->schedule);
}

static seer_status best_of_task(seer_context *context, seer_records *records, int64_t target,
    const seer_task *task, seer_arena *arena) {
  seer_sketch_list *sketches;
  int64_t workload;
  seer_record record;
  SEER_TRY(seer_sketch_generate(
      task->dag, seer_context_target(context), seer_choice_space(context), arena, &sketches));
  seer_record_rule rule = seer_record_rule_of(sketches);
  SEER_TRY(seer_records_find_workload(records, task->key, &workload));
  SEER_TRY(seer_records_best(
      records, workload, target, SEER_RECORD_MEASURED, &rule, arena, &record, NULL));
  if (seer_context_bool(context, SEER_OPT_JSON)) return print_json(task, &record);
  print_best(task, &record);
  return SEER_OK;
}

static seer_status best(
    seer_context *context, seer_records *records, const char *model, seer_arena *arena) {
  seer_network *network = NULL;
  SEER_TRY(seer_context_find_target(context));
  SEER_TRY(seer_front_load(context, model, seer_model_build, arena, &network));
  int64_t targets[SEER_RECORD_MAX_TARGETS];
  uint32_t n;
  seer_status status =
      seer_records_find_targets(records, seer_context_target(context), targets, &n);
  for (uint32_t t = 0; t < network->n_task && !status; t++)
    status = best_of_task(context, records, targets[0], &network->task[t], arena);
  seer_graph_close(network->graph);
  return status;
}

static seer_status check(seer_records *records, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_record_counts counts;
  SEER_TRY(seer_records_check(records, &text, &counts));
  fputs(text.data ? text.data : "", stdout);
  uint32_t n_bad = seer_record_counts_bad(&counts);
  if (n_bad)
    return SEER_FAIL(CORRUPT, "%u of %u records are not used: %s", n_bad,
        n_bad + counts.n[SEER_RECORD_SOUND], seer_record_counts_print(&counts, arena));
  printf("all %u records fit\n", counts.n[SEER_RECORD_SOUND]);
  return SEER_OK;
}

static void print_taken(const seer_record_counts *counts, bool is_trusted, seer_arena *arena) {
  uint32_t n_added = counts->n[SEER_RECORD_SOUND],
           n_skipped = seer_record_counts_bad(counts) + counts->n[SEER_RECORD_KNOWN];
  printf("%u records added%s, %u skipped%s%s\n", n_added,
      n_added > 0 && !is_trusted ? " as from elsewhere" : "", n_skipped, n_skipped ? ": " : "",
      seer_record_counts_print(counts, arena));
}

static void print_dropped(uint32_t n) {
  fprintf(stderr, "%u records left out: their times are no numbers\n", n);
}

static seer_status take(seer_context *context, seer_records *records, bool is_merge,
    const char *file, seer_arena *arena) {
  seer_record_counts counts;
  bool is_trusted = seer_context_bool(context, SEER_OPT_TRUST_RECORDS);
  SEER_TRY(is_merge ? seer_records_merge(records, file, is_trusted, &counts)
                    : seer_records_import(records, file, is_trusted, &counts));
  print_taken(&counts, is_trusted, arena);
  return SEER_OK;
}

// ---- a folder that others have, too
static void print_refusal(void *user, const char *why) {
  (void)user;
  fprintf(stderr, "%s; nothing of it is taken\n", why);
}

static seer_status sync_with(
    seer_context *context, seer_records *records, const char *folder, seer_arena *arena) {
  seer_sync_outcome outcome;
  bool is_trusted = seer_context_bool(context, SEER_OPT_TRUST_RECORDS);
  SEER_TRY(seer_records_sync(records, folder, is_trusted, print_refusal, NULL, &outcome));
  print_taken(&outcome.counts, is_trusted, arena);
  if (outcome.n_dropped > 0) print_dropped(outcome.n_dropped);
  printf("%u records written, in %u files beside %u\n", outcome.n_written, outcome.n_files_written,
      outcome.n_files);
  if (outcome.n_refused == 0) return SEER_OK;
  return SEER_FAIL(
      CORRUPT, "%s: %u of %u files are refused", folder, outcome.n_refused, outcome.n_files);
}

// ---- standard streams, through a file: export writes all or nothing, import reads twice

static bool is_stream(const char *file) { return !file || strcmp(file, "-") == 0; }

static seer_status copy_stream(FILE *from, FILE *to) {
  char block[65536];
  size_t n;
  while ((n = fread(block, 1, sizeof block, from)) > 0)
    if (fwrite(block, 1, n, to) != n) return SEER_FAIL(IO, "cannot write the records");
  return ferror(from) ? SEER_FAIL(IO, "cannot read the records") : SEER_OK;
}

static seer_status export_to(seer_records *records, const char *file) {
  uint32_t n_dropped;
  SEER_TRY(seer_records_export(records, file, &n_dropped));
  if (n_dropped > 0) print_dropped(n_dropped);
  return SEER_OK;
}

static seer_status export_to_stdout(seer_records *records, const char *file) {
  SEER_TRY(export_to(records, file));
  FILE *from = fopen(file, "rb");
  if (!from) return SEER_FAIL(IO, "%s: cannot be read again", file);
  seer_status status = copy_stream(from, stdout);
  (void)fclose(from);
  return status;
}

static seer_status import_from_stdin(
    seer_context *context, seer_records *records, const char *file, seer_arena *arena) {
  FILE *to = fopen(file, "wb");
  if (!to) return SEER_FAIL(IO, "%s: cannot be written", file);
  seer_status status = copy_stream(stdin, to);
  if (fclose(to) != 0 && !status) status = SEER_FAIL(IO, "%s: cannot be written", file);
  return status ? status : take(context, records, false, file, arena);
}

static seer_status stream(
    seer_context *context, seer_records *records, bool is_export, seer_arena *arena) {
  const char *folder;
  SEER_TRY(seer_os_temp_dir("familyseer-records", arena, &folder));
  const char *file = seer_os_path_join(arena, folder, "records.jsonl");
  seer_status status = is_export ? export_to_stdout(records, file)
                                 : import_from_stdin(context, records, file, arena);
  return seer_status_join(status, seer_os_remove_tree(folder));
}

typedef enum { BEST, EXPORT, IMPORT, MERGE, SYNC, CHECK, N_VERBS } verb;
static const struct {
  const char *name, *needs;  // needs: what has to be named; NULL: nothing
  bool writes;  // to the records
} verbs[N_VERBS] = {{"best", "MODEL", false}, {"export", NULL, false}, {"import", NULL, true},
    {"merge", "FILE", true}, {"sync", "FOLDER", true}, {"check", NULL, false}};

static seer_status act(
    seer_context *context, seer_records *records, verb what, const char *file, seer_arena *arena) {
  switch (what) {
    case BEST:
      return best(context, records, file, arena);
    case EXPORT:
      return is_stream(file) ? stream(context, records, true, arena) : export_to(records, file);
    case IMPORT:
      if (is_stream(file)) return stream(context, records, false, arena);
      return take(context, records, false, file, arena);
    case MERGE:
      return take(context, records, true, file, arena);
    case SYNC:
      return sync_with(context, records, file, arena);
    case CHECK:
    case N_VERBS:
      break;
  }
  return check(records, arena);
}

static seer_status run_records(seer_context *context, int argc, char **argv) {
  verb what = BEST;
  while (what < N_VERBS && strcmp(argv[0], verbs[what].name) != 0) what++;
  if (what == N_VERBS)
    return seer_usage_error(
        "records: unknown '%s'; allowed: best, export, import, merge, sync, check", argv[0]);
  const char *needs = what == IMPORT && isatty(STDIN_FILENO) ? "FILE" : verbs[what].needs;
  if (needs && argc < 2) return seer_usage_error("records %s: a %s is missing", argv[0], needs);
  seer_arena *arena = seer_arena_create("records");
  seer_records *records = NULL;
  const char *path = seer_context_str(context, SEER_OPT_RECORDS);
  seer_status status = verbs[what].writes ? seer_records_open(context, path, &records)
                                          : seer_records_open_to_read(context, path, &records);
  if (!status) status = act(context, records, what, argc > 1 ? argv[1] : NULL, arena);
  seer_records_close(records);
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_records = {
    .name = "records",
    .args =
        "best MODEL | export [FILE] | import [FILE] | merge FILE | sync FOLDER | check "
        "[--records FILE] [--trust-records]",
    .doc =
        "what was measured: the best schedules, JSON lines in and out (without a FILE: standard "
        "output and input); sync: by a folder that others have, too",
    .group = "what was measured",
    .flags = "input-shapes bind target precision records trust-records",
    .min_args = 1,
    .max_args = 2,
    .run = run_records,
};
