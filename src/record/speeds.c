// speeds.c - a target's text in the records -> the speeds of the context's target.
#include "record/speeds.h"

#include "record/internal.h"

#define FASTER 1.05  // than what is stored: then that was measured in a bad moment

// The speeds of *target as a tuning on it has stored them; none: *out_has is false.
static seer_status find(
    seer_records *records, seer_target *target, seer_arena *arena, bool *out_has) {
  *out_has = false;
  const char *text;
  SEER_TRY(seer_records_target_text(records, target, arena, &text));
  seer_target stored;
  seer_status status = text ? seer_target_parse(text, arena, &stored) : SEER_OK;
  bool is_it =
      text && !status && stored.is_measured && seer_target_key(&stored) == seer_target_key(target);
  seer_status_free(status);  // not a text of ours: it says nothing
  if (!is_it) return SEER_OK;
  target->peak_gflops = stored.peak_gflops;
  target->dram_gbs = stored.dram_gbs;
  target->l2_gbs = stored.l2_gbs;
  target->l3_gbs = stored.l3_gbs;
  target->is_measured = *out_has = true;
  return SEER_OK;
}

static double faster_of(double stored, double now) { return now > FASTER * stored ? now : stored; }

static seer_status measure(seer_context *context, seer_records *records, seer_arena *arena) {
  seer_target target = *seer_context_target(context);
  bool has;
  SEER_TRY(find(records, &target, arena, &has));
  SEER_TRY(seer_context_measure_target(context));
  if (!has) return SEER_OK;
  const seer_target *now = seer_context_target(context);
  target.peak_gflops = faster_of(target.peak_gflops, now->peak_gflops);
  target.dram_gbs = faster_of(target.dram_gbs, now->dram_gbs);
  target.l2_gbs = faster_of(target.l2_gbs, now->l2_gbs);
  target.l3_gbs = faster_of(target.l3_gbs, now->l3_gbs);
  seer_context_set_target(context, &target);
  return SEER_OK;
}

seer_status seer_speeds_measure(seer_context *context, seer_records *records) {
  SEER_TRY(seer_context_find_any_target(context));
  if (seer_context_target(context)->kind != SEER_TARGET_CPU) return SEER_OK;  // its facts say them
  if (!records || seer_context_target(context)->is_measured)
    return seer_context_measure_target(context);
  seer_arena *arena = seer_arena_create("speeds");
  seer_status status = measure(context, records, arena);
  seer_arena_destroy(arena);
  return status;
}

seer_status seer_speeds_recall(seer_context *context, seer_records *records) {
  SEER_TRY(seer_context_find_any_target(context));
  seer_target target = *seer_context_target(context);
  if (!records || target.is_measured || target.kind != SEER_TARGET_CPU) return SEER_OK;
  seer_arena *arena = seer_arena_create("speeds");
  bool has;
  seer_status status = find(records, &target, arena, &has);
  if (!status && has) seer_context_set_target(context, &target);
  seer_arena_destroy(arena);
  return status;
}
