// items.c - loops of what a GPU's items are dealt, for nest.c: the frame has none for them.
#include <string.h>

#include "space/nest/internal.h"

static void add_dealt_loop(const maker *m, uint32_t s, uint32_t axis, int64_t extent, int64_t coef,
    uint8_t ann, stage_state *state, seer_nest_statement *out) {
  if (extent == 1 || out->n_loop == SEER_NEST_MAX_LOOPS) return;
  bool is_reduce = axis >= m->dag->stage[s].n_space;
  motion *moves = &state->motion[axis];
  moves->by[out->n_loop] = coef;
  moves->loops |= (uint64_t)1 << out->n_loop;
  out->loop[out->n_loop++] =
      (seer_nest_loop){extent, ann, is_reduce, true, (uint8_t)s, (uint8_t)axis, 0};
}

void seer_nest_add_tree(
    const maker *m, uint32_t s, uint32_t reader, stage_state *state, seer_nest_statement *out) {
  const seer_dag_stage *dag = &m->dag->stage[s];
  const seer_frame_stage *block = &m->frame->stage[reader];
  for (uint32_t d = 0; d < dag->n_space; d++)
    add_dealt_loop(m, s, d, dag->axis[d].extent, 1, SEER_LOOP_PARALLEL, state, out);
  int64_t n = 1;
  out->dealt = (seer_nest_dealt){.first = out->n_loop, .is_tree = true, .items = block->tree_items};
  for (uint32_t a = dag->n_space; a < (uint32_t)dag->n_space + dag->n_reduce; a++) {
    n *= dag->axis[a].extent;
    add_dealt_loop(m, s, a, dag->axis[a].extent, 1, SEER_LOOP_THREAD, state, out);
  }
  out->dealt.n = (uint8_t)(out->n_loop - out->dealt.first);
  out->dealt.n_groups = n;
  out->dealt.n_steps = seer_ceil_div(n, block->tree_items);
  out->first_tile = out->n_loop;
}

void seer_nest_add_flat(const maker *m, uint32_t s, stage_state *state, seer_nest_statement *out) {
  const seer_frame_stage *stage = &m->frame->stage[s];
  const seer_dag_stage *dag = &m->dag->stage[s];
  const uint8_t *step = m->frame->sketch->stage[s].step;
  uint32_t n_space = dag->n_space, n_before = out->first_own;
  seer_nest_loop reduce[SEER_NEST_MAX_LOOPS];
  int64_t coef[SEER_NEST_MAX_LOOPS];
  uint32_t n_reduce = out->n_loop - n_before;
  for (uint32_t k = 0; k < n_reduce; k++) {
    reduce[k] = out->loop[n_before + k];
    coef[k] = state->motion[reduce[k].axis].by[n_before + k];
  }
  for (uint32_t a = 0; a < n_space + dag->n_reduce; a++)
    state->motion[a].loops &= ((uint64_t)1 << n_before) - 1;
  out->n_loop = (uint8_t)n_before;
  out->dealt = (seer_nest_dealt){.first = (uint8_t)n_before,
      .is_root = stage->place == SEER_PLACE_ROOT,
      .is_ahead = stage->place == SEER_PLACE_AT && m->frame->stage[stage->at].is_ahead,
      .is_copied = stage->place == SEER_PLACE_AT && m->frame->stage[stage->at].is_copied,
      .items = stage->flat.items,
      .n_groups = stage->flat.n_groups,
      .n_steps = stage->flat.n_steps};
  int64_t own[SEER_DAG_MAX_AXES];
  for (uint32_t d = 0; d < n_space; d++) {
    own[d] = step[d] * (d + 1 == n_space ? stage->flat.width : 1);
    int64_t n = seer_ceil_div(stage->region[d], own[d]);
    add_dealt_loop(m, s, d, n, own[d], SEER_LOOP_THREAD, state, out);
  }
  out->dealt.n = (uint8_t)(out->n_loop - n_before);
  for (uint32_t k = 0; k < n_reduce; k++)
    add_dealt_loop(m, s, reduce[k].axis, reduce[k].extent, coef[k], SEER_LOOP_SERIAL, state, out);
  out->first_tile = out->n_loop;
  for (uint32_t d = 0; d < n_space; d++) {
    uint8_t ann = d + 1 == n_space ? SEER_LOOP_VECTOR : SEER_LOOP_UNROLL;
    add_dealt_loop(m, s, d, seer_min_i64(own[d], stage->region[d]), 1, ann, state, out);
  }
}

// A sum in its reader's block: the reader's stage; else SEER_NO_STAGE.
static uint32_t reader_of_sum(const maker *m, uint32_t s) {
  return m->frame->stage[s].place == SEER_PLACE_SHARED ? m->frame->sketch->stage[s].partner
                                                       : SEER_NO_STAGE;
}

uint8_t seer_nest_phase_of(const maker *m, uint32_t s) {
  while (m->frame->stage[s].place != SEER_PLACE_ROOT) {
    uint32_t reader = reader_of_sum(m, s);
    s = reader != SEER_NO_STAGE ? reader : m->frame->stage[s].at;
  }
  uint32_t r = 0;
  while (r + 1 < m->frame->n_root && m->frame->root[r] != s) r++;
  return (uint8_t)r;
}
