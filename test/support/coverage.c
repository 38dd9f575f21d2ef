// coverage.c - see coverage.h.
#include "support/coverage.h"

#include <stdio.h>
#include <string.h>

#include "space/frame.h"
#include "support/test.h"

static const char *const met_names[] = {"tail-root", "tail-region", "tail-reduce", "tail-vector",
    "cut-region", "clamped-start", "parallel", "packed", "phases", "inline", "root", "at-1", "at-2",
    "at-3", "at-4", "at-in-at", "unroll-1", "unroll-4", "unroll-16", "unroll-64"};

static void note_rules(loop_coverage *c, const char *signature) {
  while (*signature) {
    size_t n = strcspn(signature, "/(");
    uint32_t k = 0;
    while (k < c->n_rule &&
        (strlen(c->rule[k].name) != n || strncmp(c->rule[k].name, signature, n) != 0)) {
      k++;
    }
    if (k == c->n_rule && k < SEER_COUNT_OF(c->rule)) {
      snprintf(c->rule[k].name, sizeof(c->rule[k].name), "%.*s", (int)n, signature);
      c->n_rule++;
    }
    if (k < SEER_COUNT_OF(c->rule)) c->rule[k].n++;
    signature += strcspn(signature, "/");
    signature += *signature == '/';
  }
}

static void note_stage(loop_coverage *c, const seer_frame *frame, uint32_t s) {
  const seer_frame_stage *stage = &frame->stage[s];
  bool is_at = stage->place == SEER_PLACE_AT;
  if (stage->place == SEER_PLACE_INLINE) c->met[MET_INLINE]++;
  if (stage->place == SEER_PLACE_ROOT) c->met[MET_ROOT]++;
  if (is_at) {
    c->met[stage->depth > 3 ? MET_AT_4_OR_MORE : MET_AT_1 + stage->depth - 1]++;
    if (frame->stage[stage->at].place == SEER_PLACE_AT) c->met[MET_AT_IN_AT]++;
    for (uint32_t d = 0; d < frame->sketch->dag->stage[s].n_space; d++) {
      if (!stage->is_region_exact[d]) c->met[MET_CUT_REGION]++;
    }
  }
  for (uint32_t l = 0; l < stage->n_loop; l++) {
    const seer_frame_loop *loop = &stage->loop[l];
    if (loop->is_parallel && loop->extent > 1) c->met[MET_PARALLEL]++;
    if (loop->is_exact) continue;
    c->met[loop->is_reduce ? MET_TAIL_REDUCE : is_at ? MET_TAIL_REGION : MET_TAIL_ROOT]++;
    if (loop->is_vector) c->met[MET_TAIL_VECTOR]++;
  }
  if (stage->place != SEER_PLACE_ROOT && !is_at) return;
  loop_met_kind unroll = stage->max_unroll == 1 ? MET_UNROLL_1
      : stage->max_unroll == 4                  ? MET_UNROLL_4
      : stage->max_unroll == 16                 ? MET_UNROLL_16
                                                : MET_UNROLL_64;
  c->met[unroll]++;
}

void loop_coverage_note(loop_coverage *c, const seer_sketch_list *list,
    const seer_schedule *schedule, const seer_loop *loop, seer_arena *arena) {
  seer_frame *frame = SEER_NEW(arena, seer_frame);
  seer_frame_make(list, schedule, frame);
  for (uint32_t s = 0; s < frame->sketch->dag->n_stage; s++) note_stage(c, frame, s);
  if (frame->n_root > 1) c->met[MET_PHASES]++;
  note_rules(c, frame->sketch->signature);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    c->met[MET_PACKED] += loop->buf[b].storage == SEER_STORE_PACKED;
  }
  for (uint32_t k = 1; k < loop->n_node; k++) {
    c->met[MET_CLAMPED_START] += loop->node[k].kind == SEER_NODE_LET;
  }
}

void loop_coverage_note_kinds(loop_coverage *c, uint32_t kinds) {
  for (uint32_t k = 0; k < RANDOM_DAG_KIND_COUNT; k++) c->dag_kind[k] += kinds >> k & 1;
}

static void report(const loop_coverage *c) {
  for (uint32_t k = 0; k < MET_COUNT; k++)
    print_message("%s %" PRIu64 "  ", met_names[k], c->met[k]);
  for (uint32_t k = 0; k < c->n_rule; k++) {
    print_message("%s %" PRIu64 "  ", c->rule[k].name, c->rule[k].n);
  }
  for (uint32_t k = 0; k < RANDOM_DAG_KIND_COUNT; k++)
    print_message("%s %" PRIu64 "  ", random_dag_kind_name((random_dag_kind)k), c->dag_kind[k]);
  print_message("mutated %" PRIu64 "  crossed %" PRIu64 "\n", c->mutated, c->crossed);
}

const char *loop_coverage_lack(const loop_coverage *c, uint64_t quota) {
  for (uint32_t k = 0; k < MET_COUNT; k++) {
    if (c->met[k] < quota) return met_names[k];
  }
  for (uint32_t k = 0; k < RANDOM_DAG_KIND_COUNT; k++) {
    if (c->dag_kind[k] < quota) return random_dag_kind_name((random_dag_kind)k);
  }
  for (uint32_t k = 0; k < c->n_rule; k++) {
    if (c->rule[k].n < quota) return c->rule[k].name;
  }
  return NULL;
}

void loop_coverage_check(const loop_coverage *c, uint64_t quota) {
  report(c);
  const char *lack = loop_coverage_lack(c, quota);
  if (lack) fail_msg("%s: met less than %" PRIu64 " times", lack, quota);
}
