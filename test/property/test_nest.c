// The two producers of the nest summary agree: arithmetic from (sketch, knobs) against a walk over
// the loop IR, on random DAGs and random schedules, field by field.
// SEER_TEST: timeout=300

#include "dag/access.h"
#include "space/nest.h"
#include "support/nest_walk.h"
#include "support/random_programs.h"
#include "support/test.h"
#include "support/test_target.h"

#define N_PAIRS 3000

typedef struct {
  uint64_t statements, accesses, loops;
  uint64_t lost_accesses;
  uint64_t loose_bounds;  // loops with a bound that is never reached
  uint64_t exact_trips;  // statements whose trips are held to be equal
} totals;

#define DIFFERS(format, ...) return seer_arena_printf(arena, format, __VA_ARGS__)

// `a` from arithmetic, `b` from the walk. Simplification can only make `b` more exact: a guard that
// always holds, a quotient that folds.
static const char *compare_access(
    const seer_nest_access *a, const seer_nest_access *b, uint32_t n_loop, seer_arena *arena) {
  if (a->buf != b->buf) DIFFERS("buffer %u, %u", a->buf, b->buf);
  if (a->storage != b->storage) DIFFERS("storage %d, %d", (int)a->storage, (int)b->storage);
  if (a->is_write != b->is_write) DIFFERS("write %d, %d", a->is_write, b->is_write);
  if (b->is_guarded && !a->is_guarded) DIFFERS("guarded %d, %d", a->is_guarded, b->is_guarded);
  if (b->is_whole && !a->is_whole) DIFFERS("whole %d, %d", a->is_whole, b->is_whole);
  if (a->elem_bytes != b->elem_bytes || a->rank != b->rank)
    DIFFERS("rank %u, %u", a->rank, b->rank);
  for (uint32_t d = 0; d < a->rank; d++) {
    if (a->dim[d] != b->dim[d]) DIFFERS("dim %u %" PRId64 ", %" PRId64, d, a->dim[d], b->dim[d]);
  }
  if (a->rank > 1 && a->row_pitch != b->row_pitch) {
    DIFFERS("pitch %" PRId64 ", %" PRId64, a->row_pitch, b->row_pitch);
  }
  if (a->is_whole) return NULL;
  for (uint32_t d = 0; d < a->rank; d++) {
    if (b->span[d] > a->span[d]) DIFFERS("span %u %u, %u", d, a->span[d], b->span[d]);
  }
  for (uint32_t l = 0; l < n_loop; l++) {
    if (a->loop_coef[l] != b->loop_coef[l]) {
      DIFFERS("loop %u: coefficient %d, %d", l, a->loop_coef[l], b->loop_coef[l]);
    }
    if (a->loop_coef[l] != 0 && a->loop_dim[l] != b->loop_dim[l]) {
      DIFFERS("loop %u: dimension %u, %u", l, a->loop_dim[l], b->loop_dim[l]);
    }
  }
  return NULL;
}

// True if every region between stage `s` and the root is read without guards and divisions: its
// trips are known exactly. (Padding shifts and cuts regions at the edges, which arithmetic counts
// as whole ones.)
static bool trips_known(const seer_frame *frame, uint32_t s) {
  const seer_frame_stage *stage = &frame->stage[s];
  const seer_access_table *table = frame->sketch->dag->access;
  if (stage->place != SEER_PLACE_AT && stage->place != SEER_PLACE_INLINE) return true;
  for (uint32_t k = table->first_read[s]; k < table->first_read[s + 1]; k++) {
    const seer_access *access = &table->read[k];
    if (access->is_guarded || !trips_known(frame, access->reader)) return false;
    for (uint32_t d = 0; d < access->rank; d++) {
      const seer_access_dim *dim = seer_access_index(table, access, d);
      if (dim->div > 1 && !dim->is_mod) return false;
    }
  }
  return stage->place == SEER_PLACE_INLINE || trips_known(frame, stage->at);
}

static const char *compare_statement(const seer_nest_statement *a, const seer_nest_statement *b,
    bool trips_are_exact, totals *t, seer_arena *arena) {
  t->statements++;
  if (a->stage != b->stage) DIFFERS("stage %u, %u", a->stage, b->stage);
  if (a->is_reduction != b->is_reduction)
    DIFFERS("stage %u: reduction %d", a->stage, a->is_reduction);
  if (a->n_loop != b->n_loop) DIFFERS("stage %u: loops %u, %u", a->stage, a->n_loop, b->n_loop);
  if (a->first_own != b->first_own)
    DIFFERS("stage %u: own %u, %u", a->stage, a->first_own, b->first_own);
  if (a->first_tile != b->first_tile) {
    DIFFERS("stage %u: tile %u, %u", a->stage, a->first_tile, b->first_tile);
  }
  if (b->max_unroll != 0 && a->max_unroll != b->max_unroll) {
    DIFFERS("stage %u: unroll %u, %u", a->stage, a->max_unroll, b->max_unroll);
  }
  if (a->padded_iterations != b->padded_iterations) {
    DIFFERS("stage %u: padded %g, %g", a->stage, a->padded_iterations, b->padded_iterations);
  }
  for (uint32_t l = 0; l < a->n_loop; l++) {
    const seer_nest_loop *x = &a->loop[l], *y = &b->loop[l];
    t->loops++;
    if (x->extent != y->extent || x->ann != y->ann || x->is_reduce != y->is_reduce ||
        x->stage != y->stage) {
      DIFFERS("stage %u: loop %u: extent %" PRId64 ", %" PRId64 ", annotation %d, %d", a->stage, l,
          x->extent, y->extent, x->ann, y->ann);
    }
    // Lowering keeps a bound that it cannot prove away; arithmetic must not see a tail where none
    // is, nor claim that there is none where padding is not followed.
    bool is_wrong = trips_are_exact ? !x->is_exact && y->is_exact : x->is_exact && !y->is_exact;
    if (is_wrong) {
      DIFFERS("stage %u: loop %u: exact %d, %d", a->stage, l, x->is_exact, y->is_exact);
    }
    t->loose_bounds += x->is_exact && !y->is_exact;
  }
  if (trips_are_exact ? a->iterations != b->iterations : a->iterations < 0.5 * b->iterations) {
    DIFFERS("stage %u: trips %g, %g", a->stage, a->iterations, b->iterations);
  }
  t->exact_trips += trips_are_exact;
  if (a->n_access == SEER_NEST_MAX_ACCESSES || b->n_access == SEER_NEST_MAX_ACCESSES) return NULL;
  // Loads that simplification removed are missing in `b`; what is there must be in `a`.
  bool used[SEER_NEST_MAX_ACCESSES] = {false};
  for (uint32_t k = 0; k < b->n_access; k++) {
    t->accesses++;
    const char *nearest = "is not there";
    uint32_t at = 0;
    for (; at < a->n_access; at++) {
      if (used[at] || a->access[at].buf != b->access[k].buf) continue;
      const char *wrong = compare_access(&a->access[at], &b->access[k], a->n_loop, arena);
      if (!wrong) break;
      nearest = wrong;
    }
    if (at == a->n_access) {
      DIFFERS("stage %u: access %u of buffer %u: %s", a->stage, k, b->access[k].buf, nearest);
    }
    used[at] = true;
  }
  t->lost_accesses += a->n_access - b->n_access;
  return NULL;
}

static const char *compare(
    const seer_frame *frame, const seer_nest *a, const seer_nest *b, totals *t, seer_arena *arena) {
  if (a->n_statement != b->n_statement)
    DIFFERS("statements %u, %u", a->n_statement, b->n_statement);
  if (a->n_phase != b->n_phase) DIFFERS("phases %u, %u", a->n_phase, b->n_phase);
  for (uint32_t k = 0; k < a->n_phase; k++) {
    if (a->n_parts[k] != b->n_parts[k])
      DIFFERS("phase %u: parts %g, %g", k, a->n_parts[k], b->n_parts[k]);
  }
  for (uint32_t k = 0; k < a->n_statement; k++) {
    const char *wrong = compare_statement(
        &a->statement[k], &b->statement[k], trips_known(frame, a->statement[k].stage), t, arena);
    if (wrong) return wrong;
  }
  if (a->local_bytes != b->local_bytes) {
    DIFFERS("local bytes %" PRIu64 ", %" PRIu64, a->local_bytes, b->local_bytes);
  }
  if (a->packed_bytes != b->packed_bytes) {
    DIFFERS("packed bytes %" PRIu64 ", %" PRIu64, a->packed_bytes, b->packed_bytes);
  }
  return NULL;
}

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  const seer_nest_facts *facts = seer_nest_facts_build(p->expect->list, arena);
  seer_frame *frame = SEER_NEW(arena, seer_frame);
  seer_frame_make(p->expect->list, p->schedule, frame);
  seer_nest *made = SEER_NEW(arena, seer_nest), *walked = SEER_NEW(arena, seer_nest);
  seer_nest_make(facts, frame, made);
  seer_status status = nest_walk(p->loop, p->sketch->dag, walked);
  if (status) {  // too deep for the summary
    seer_status_free(status);
    return NULL;
  }
  return compare(frame, made, walked, user, arena);
}

static void producers_agree(void **state) {
  (void)state;
  totals t = {0};
  random_programs how = {.targets = &test_target_narrow,
      .n_targets = 1,
      .max_sketches = 4,
      .n_samples = 4,
      .check = check,
      .user = &t};
  random_programs_check(&how, "nests", 1, N_PAIRS);
  how.space = SEER_SPACE_ANSOR;
  random_programs_check(&how, "nests, ansor", 1, N_PAIRS / 4);
  how.only = "rfactor@";
  random_programs_check(&how, "nests, reductions in two", 1, N_PAIRS / 4);
  print_message("%" PRIu64 " statements (trips of %" PRIu64 " exact), %" PRIu64 " loops (%" PRIu64
                " with idle bounds), %" PRIu64 " accesses, %" PRIu64 " folded away\n",
      t.statements, t.exact_trips, t.loops, t.loose_bounds, t.accesses, t.lost_accesses);
  assert_true(t.exact_trips > t.statements / 2);
  assert_true(t.loose_bounds < t.loops / 200);
  assert_true(t.lost_accesses < t.accesses / 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(producers_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
