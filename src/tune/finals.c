// finals.c - contenders of all tasks -> each task's in order, by successive halving: most of the
// pairs go to those between which it is close (Jamieson and Talwalkar 2016). A slow phase of a
// shared machine lasts seconds, a short kernel's pairs milliseconds: so tasks are visited in turns,
// several times, and no contender leaves for what one moment showed.

#include "tune/finals_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

// ---- the plan
// Measured 2026-11 with MobileNetV2's 32 tasks: a comparison, a kernel's way to the runner, a
// check.
#define COMPARE_S 2e-3
#define LOAD_S 5e-4
#define CHECK_S 0.015
#define LEAST_TURN_S 6e-5  // a turn is as many calls as take that long
#define SLOWER 1.3  // contenders than the best time of one of them, and what is around a call
#define WARM_UPS 2
#define CHOOSING_SHARE 0.6  // of the time, before visits are repeated

static uint32_t half_of(uint32_t n) { return (n + 1) / 2; }
static uint32_t n_groups(uint32_t n) {
  return (n + SEER_MEASURE_MAX_CONTENDERS - 1) / SEER_MEASURE_MAX_CONTENDERS;
}

static uint32_t verdict_visits(uint32_t n_visits) {
  return n_visits > SEER_FINALS_VERDICT_VISITS ? n_visits : SEER_FINALS_VERDICT_VISITS;
}

uint32_t seer_finals_halving_pairs(uint32_t n, uint32_t n_visits) {
  uint32_t sum = 0;
  for (; n > 1; n = half_of(n)) sum += n * n_visits * SEER_FINALS_PAIRS;
  return sum;
}

double seer_finals_cost(
    const seer_finals_entry *entries, uint32_t n, uint32_t n_visits, double build_s) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    const seer_finals_entry *e = &entries[i];
    double turn_s = SLOWER * fmax(e->seconds, LEAST_TURN_S);
    double visit_s = LOAD_S + (SEER_FINALS_PAIRS + WARM_UPS) * turn_s;
    for (uint32_t k = e->n; k > 1; k = half_of(k))
      sum += n_visits * (n_groups(k) * (COMPARE_S + visit_s) + k * visit_s);
    // The one that is asked, the holder, the untuned one.
    sum += verdict_visits(n_visits) * (COMPARE_S + 3 * visit_s) + CHECK_S + (e->n + 2) * build_s;
    if (e->is_confirmed)
      sum += COMPARE_S + 2 * (LOAD_S + (SEER_FINALS_SECOND_PAIRS + WARM_UPS) * turn_s);
  }
  return sum;
}

// Each has `least` and the holder; the heaviest has all that it may have at scale 1, and everybody
// at a large one.
static uint32_t scale_all(seer_finals_entry *entries, uint32_t n, uint32_t least, double scale) {
  double most = 0;
  for (uint32_t i = 0; i < n; i++) most = fmax(most, entries[i].share);
  uint32_t n_kernels = 0;
  for (uint32_t i = 0; i < n; i++) {
    seer_finals_entry *e = &entries[i];
    double part = most > 0 ? fmin(1, scale * e->share / most) : fmin(1, scale);
    uint32_t wanted = least + 1 + (uint32_t)floor(part * (SEER_FINALS_MAX - least - 1));
    e->n = wanted < e->n_have ? wanted : e->n_have;
    n_kernels += e->n + 2;
  }
  return n_kernels;
}

double seer_finals_cost_of(seer_finals_entry *entries, uint32_t n, uint32_t each, double build_s) {
  (void)scale_all(entries, n, each, 0);
  return seer_finals_cost(entries, n, 1, build_s);
}

void seer_finals_plan(seer_finals_entry *entries, uint32_t n, double build_s, double available_s,
    uint32_t *out_visits) {
  *out_visits = 1;
  bool is_enough = false;
  for (double scale = 1024; scale > 1e-3 && !is_enough; scale /= 2)
    is_enough = scale_all(entries, n, SEER_FINALS_MIN, scale) <= SEER_FINALS_MAX_KERNELS &&
        seer_finals_cost(entries, n, 1, build_s) <= CHOOSING_SHARE * available_s;
  for (uint32_t each = SEER_FINALS_MIN; each >= SEER_FINALS_LEAST && !is_enough; each--)
    is_enough = seer_finals_cost_of(entries, n, each, build_s) <= available_s;
  while (*out_visits < SEER_FINALS_MAX_VISITS &&
      seer_finals_cost(entries, n, *out_visits + 1, build_s) <= available_s)
    ++*out_visits;
}

// ---- pairs
static const seer_measure_pair *append(
    seer_arena *arena, seer_pair_list *list, const seer_measure_pair *pairs, uint32_t n) {
  size_t n_had = list->n;
  for (uint32_t k = 0; k < n; k++) {
    list->pair = SEER_GROW(arena, seer_measure_pair, list->pair, list->n, &list->cap);
    list->pair[list->n++] = pairs[k];
  }
  return list->pair + n_had;
}

seer_status seer_finals_take_turns(const seer_finals *f, const seer_final *final,
    const seer_schedule *contenders, uint32_t n, uint32_t n_pairs, seer_pair_list *const *out_lists,
    seer_finals_turn *out_turns) {
  seer_measure_ab ab[SEER_MEASURE_MAX_CONTENDERS] = {0};
  seer_measure_pair pairs[SEER_MEASURE_MAX_CONTENDERS * SEER_MEASURE_MAX_PAIRS];
  SEER_TRY(f->measure->compare(f->measurer, SEER_MEASURE_HOME, final->task, contenders, n,
      final->untuned, n_pairs, ab, pairs));
  bool is_nothing = n > 1;
  for (uint32_t k = 0; k < n; k++) is_nothing = is_nothing && ab[k].n_pairs == 0;
  for (uint32_t k = 0; k < n; k++) {
    if (is_nothing)
      SEER_TRY(f->measure->compare(f->measurer, SEER_MEASURE_HOME, final->task, &contenders[k], 1,
          final->untuned, n_pairs, &ab[k], &pairs[k * n_pairs]));
    if (ab[k].n_pairs == n_pairs) {
      out_turns[k] = (seer_finals_turn){
          append(f->arena, out_lists[k], &pairs[k * n_pairs], n_pairs), SEER_MEASURED_OK};
    } else {
      bool is_said = ab[k].cls != SEER_MEASURED_OK;
      out_turns[k] = (seer_finals_turn){NULL, is_said ? ab[k].cls : SEER_MEASURED_RUN_CRASH};
    }
  }
  return SEER_OK;
}

seer_status seer_finals_foresee_turns(const seer_finals *f, const seer_final *final,
    const seer_schedule *contenders, uint32_t n, uint32_t n_pairs, const seer_outlook *outlook) {
  seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS + 1];
  memcpy(schedules, contenders, n * sizeof *schedules);
  schedules[n] = *final->untuned;
  const seer_measure_question question = {
      SEER_MEASURE_HOME, final->task, schedules, n + 1, n_pairs};
  return f->measure->foresee(f->measurer, &question, outlook->n_times, outlook->is_certain);
}

// ---- halving
// What is left of a task's contenders, in groups of about the same size.
seer_status seer_final_visit_left(
    const seer_finals *f, seer_final *final, const seer_outlook *outlook) {
  seer_finalist *alive[SEER_FINALS_MAX];
  uint32_t n = 0;
  for (uint32_t k = 0; k < final->n_left; k++)
    if (!seer_finalist_is_lost(&final->list[k])) alive[n++] = &final->list[k];
  for (uint32_t g = 0, n_group = n_groups(n), at = 0; g < n_group; g++) {
    seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS];
    seer_pair_list *lists[SEER_MEASURE_MAX_CONTENDERS];
    seer_finals_turn turns[SEER_MEASURE_MAX_CONTENDERS];
    uint32_t size = (n - at) / (n_group - g);
    for (uint32_t k = 0; k < size; k++) {
      schedules[k] = alive[at + k]->schedule;
      lists[k] = &alive[at + k]->pairs;
    }
    at += size;
    if (outlook) {
      SEER_TRY(seer_finals_foresee_turns(f, final, schedules, size, SEER_FINALS_PAIRS, outlook));
      continue;
    }
    SEER_TRY(seer_finals_take_turns(f, final, schedules, size, SEER_FINALS_PAIRS, lists, turns));
    for (uint32_t k = 0; k < size; k++) alive[at - size + k]->lost = turns[k].lost;
  }
  return SEER_OK;
}

// Lost ones last, then by speedup; ties by what they are, so that a campaign repeats.
static int by_speedup(const void *a, const void *b) {
  const seer_finalist *x = a, *y = b;
  if (seer_finalist_is_lost(x) != seer_finalist_is_lost(y))
    return seer_finalist_is_lost(x) ? 1 : -1;
  if (x->ab.speedup != y->ab.speedup) return x->ab.speedup > y->ab.speedup ? -1 : 1;
  uint64_t hash = seer_schedule_hash(&x->schedule), other = seer_schedule_hash(&y->schedule);
  return (hash > other) - (hash < other);
}

// By all pairs that there are: of those that are left each has as many.
static void rank(seer_final *final) {
  bool has_pairs = false;
  for (uint32_t k = 0; k < final->n_left; k++) has_pairs |= final->list[k].pairs.n > 0;
  if (!has_pairs) return;  // there was no time: as the search has them
  for (uint32_t k = 0; k < final->n_left; k++) {
    seer_finalist *c = &final->list[k];
    c->ab =
        seer_measure_summarise(c->pairs.pair, seer_finalist_is_lost(c) ? 0 : (uint32_t)c->pairs.n);
  }
  qsort(final->list, final->n_left, sizeof(*final->list), by_speedup);
}

void seer_final_cut(seer_final *final) {
  rank(final);
  final->n_left = half_of(final->n_left);
  while (final->n_left > 1 && seer_finalist_is_lost(&final->list[final->n_left - 1]))
    final->n_left--;
}

static seer_status visit_all(
    const seer_finals *f, seer_final *tasks, uint32_t n, bool *is_any, bool *is_late) {
  for (uint32_t t = 0; t < n; t++) {
    *is_late = *is_late || f->court.look_at_clock(f->court.user) == SEER_FINALS_LATE;
    if (tasks[t].n_left <= 1 || *is_late) continue;
    *is_any = true;
    SEER_TRY(seer_final_visit_left(f, &tasks[t], NULL));
  }
  return SEER_OK;
}

seer_status seer_finals_halve(const seer_finals *f, seer_final *tasks, uint32_t n) {
  bool is_any = true, is_late = false;
  for (uint32_t t = 0; t < n; t++) tasks[t].n_left = tasks[t].n;
  while (is_any && !is_late) {
    is_any = false;
    for (uint32_t v = 0; v < f->n_visits; v++) SEER_TRY(visit_all(f, tasks, n, &is_any, &is_late));
    for (uint32_t t = 0; t < n; t++)
      if (tasks[t].n_left > 1) seer_final_cut(&tasks[t]);
  }
  return SEER_OK;
}
