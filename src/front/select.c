// select.c - texts of ids and of operators -> tasks.
#include "front/select.h"

#include <string.h>
#include <strings.h>

#include "base/near.h"

// ---- --tasks

// "0,2,5-9" -> which tasks are named.
static seer_status select_ids(const char *text, uint32_t n, bool *is_selected) {
  if (!text[0] || strcmp(text, "all") == 0) return SEER_OK;
  memset(is_selected, 0, n * sizeof *is_selected);
  seer_scan scan;
  seer_scan_init(&scan, "--tasks", text, strlen(text));
  do {
    int64_t first, last;
    SEER_TRY(seer_scan_i64(&scan, &first));
    last = first;
    if (seer_scan_try(&scan, "-")) SEER_TRY(seer_scan_i64(&scan, &last));
    if (first < 0 || last < first || last >= n) {
      return SEER_FAIL(INVALID, "--tasks '%s': %" PRId64 "-%" PRId64 " is not within 0-%" PRId64,
          text, first, last, (int64_t)n - 1);
    }
    for (int64_t t = first; t <= last; t++) is_selected[t] = true;
  } while (seer_scan_try(&scan, ","));
  if (!seer_scan_at_end(&scan)) return seer_scan_fail(&scan, "expected ',' or the end");
  return SEER_OK;
}

// ---- --ops

static seer_status unknown_operator(const char *name, seer_arena *arena) {
  seer_near near = seer_near_to(name);
  for (size_t i = 0; i < seer_op_table_count; i++) seer_near_offer(&near, seer_op_table[i]->name);
  return SEER_FAIL(INVALID, "--ops: unknown operator '%s'; %s%s", seer_text_safe(arena, name),
      near.best ? "did you mean " : "`familyseer list operators` names all",
      near.best ? near.best : "");
}

// The name as ONNX spells it, NULL: nobody knows it.
static const char *find_operator(const char *name) {
  for (size_t i = 0; i < seer_op_table_count; i++)
    if (strcasecmp(seer_op_table[i]->name, name) == 0) return seer_op_table[i]->name;
  return NULL;
}

// "Conv,Gemm": clears what holds none of them.
static seer_status select_ops(
    const char *text, const seer_network *network, seer_arena *arena, bool *is_selected) {
  if (!text[0] || strcmp(text, "all") == 0) return SEER_OK;
  bool *has_one = SEER_NEW_ARRAY(arena, bool, network->n_task + 1);
  for (const char *at = text; *at;) {
    size_t n = strcspn(at, ",");
    const char *name = seer_arena_strndup(arena, at, n), *op = find_operator(name);
    if (!op) return unknown_operator(name, arena);
    for (uint32_t t = 0; t < network->n_task; t++)
      has_one[t] = has_one[t] || seer_words_have(network->task[t].ops, op);
    at += n + (at[n] == ',');
  }
  for (uint32_t t = 0; t < network->n_task; t++) is_selected[t] = is_selected[t] && has_one[t];
  return SEER_OK;
}

static seer_status nothing_left(const seer_network *network, const char *ops, seer_arena *arena) {
  const char *have = "";
  for (uint32_t t = 0; t < network->n_task; t++)
    have = seer_task_join_ops(have, network->task[t].ops, arena);
  return SEER_FAIL(INVALID,
      "--ops '%s': none of the tasks that are asked for has one; the network's have %s", ops,
      seer_text_safe(arena, have));
}

seer_status seer_network_select(
    const seer_context *context, const seer_network *network, bool *out_is_selected) {
  const char *ids = seer_context_str(context, SEER_OPT_TASKS),
             *ops = seer_context_str(context, SEER_OPT_OPS);
  uint32_t n_left = 0;
  for (uint32_t t = 0; t < network->n_task; t++) out_is_selected[t] = true;
  SEER_TRY(select_ids(ids, network->n_task, out_is_selected));
  seer_arena *arena = seer_arena_create("select");
  seer_status status = select_ops(ops, network, arena, out_is_selected);
  for (uint32_t t = 0; t < network->n_task; t++) n_left += out_is_selected[t];
  if (!status && n_left == 0 && network->n_task > 0) status = nothing_left(network, ops, arena);
  seer_arena_destroy(arena);
  return status;
}
