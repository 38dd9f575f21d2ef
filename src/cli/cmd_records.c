// cmd_records.c - familyseer records best|export|import|merge|check: what was measured, to look at
// and to hand on.
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <stdlib.h>

#include "cli/command.h"
#include "models/models.h"
#include "tune/record.h"

static seer_status best(
    seer_context *context, seer_records *records, const char *model, seer_arena *arena) {
  seer_network *network = NULL;
  SEER_TRY(seer_context_find_target(context));
  SEER_TRY(seer_front_load(context, model, seer_model_build, arena, &network));
  int64_t targets[SEER_RECORD_MAX_TARGETS];
  uint32_t n;
  seer_status status =
      seer_records_find_targets(records, seer_context_target(context), targets, &n);
  bool is_json = seer_context_bool(context, SEER_OPT_JSON);
  for (uint32_t t = 0; t < network->n_task && !status; t++) {
    const seer_task *task = &network->task[t];
    int64_t workload;
    seer_record record = {.id = 0};
    status = seer_records_find_workload(records, task->key, &workload);
    if (!status)
      status =
          seer_records_best(records, workload, targets[0], SEER_RECORD_MEASURED, arena, &record);
    if (status) break;
    if (is_json) {
      json_t *line = json_pack("{s:i, s:s, s:I, s:f, s:s, s:s}", "task", (int)t, "name", task->name,
          "record", (json_int_t)record.id, "seconds", record.seconds, "state",
          record.id ? seer_record_state_name(record.state) : "none", "schedule",
          record.id ? record.schedule : "");
      char *dump = line ? json_dumps(line, JSON_COMPACT) : NULL;
      if (!dump)
        status = SEER_FAIL(CORRUPT, "record %" PRId64 ": its schedule is no UTF-8", record.id);
      if (dump) puts(dump);
      free(dump);
      json_decref(line);
    } else if (record.id) {
      printf("task %u  %s\n  record %" PRId64 ", %s, %.2f us\n%s\n", t, task->name, record.id,
          seer_record_state_name(record.state), record.seconds * 1e6, record.schedule);
    } else {
      printf("task %u  %s\n  no record\n", t, task->name);
    }
  }
  seer_graph_close(network->graph);
  return status;
}

static seer_status check(seer_records *records, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  uint32_t bad;
  SEER_TRY(seer_records_check(records, &text, &bad));
  fputs(text.data ? text.data : "", stdout);
  if (bad) return SEER_FAIL(CORRUPT, "%u records do not fit this version", bad);
  printf("all records fit\n");
  return SEER_OK;
}

static seer_status act(
    seer_context *context, seer_records *records, int argc, char **argv, seer_arena *arena) {
  uint32_t added = 0, skipped = 0;
  const char *verb = argv[0], *file = argc > 1 ? argv[1] : NULL;
  if (strcmp(verb, "check") == 0) return check(records, arena);
  if (!file)
    return seer_cli_usage_error(
        "records %s: a %s is missing", verb, strcmp(verb, "best") == 0 ? "MODEL" : "FILE");
  if (strcmp(verb, "best") == 0) return best(context, records, file, arena);
  if (strcmp(verb, "export") == 0) return seer_records_export(records, file);
  if (strcmp(verb, "merge") == 0) {
    SEER_TRY(seer_records_merge(records, file, &added));
    printf("%u records added\n", added);
    return SEER_OK;
  }
  SEER_TRY(seer_records_import(records, file, &added, &skipped));
  printf("%u records added, %u lines skipped (known already, or not sound)\n", added, skipped);
  return SEER_OK;
}

static seer_status run_records(seer_context *context, int argc, char **argv) {
  static const char *const verbs[] = {"best", "export", "import", "merge", "check"};
  bool is_known = false;
  for (size_t i = 0; i < SEER_COUNT_OF(verbs); i++)
    is_known = is_known || strcmp(argv[0], verbs[i]) == 0;
  if (!is_known)
    return seer_cli_usage_error(
        "records: unknown '%s'; allowed: best, export, import, merge, check", argv[0]);
  seer_arena *arena = seer_arena_create("records");
  seer_records *records = NULL;
  seer_status status =
      seer_records_open(context, seer_context_str(context, SEER_OPT_RECORDS), &records);
  if (!status) status = act(context, records, argc, argv, arena);
  seer_records_close(records);
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_records = {
    .name = "records",
    .args = "best MODEL | export FILE | import FILE | merge FILE | check [--records FILE]",
    .doc = "what was measured: the best schedules, JSON lines in and out",
    .min_args = 1,
    .max_args = 2,
    .run = run_records,
};
