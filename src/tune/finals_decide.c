// finals_decide.c - a task's contenders in order -> the first that is right and faster by pairs
// that had no part in choosing it. The best of many noisy medians has most often been lucky in
// them; what fresh pairs show of it is not biased.

#include <math.h>

#include "tune/finals_steps.h"

#define SECOND_LOOK \
  3  // times the pairs: when the median says faster and the sign test does not yet
#define MAX_REFUSED 3  // then nobody is asked any more but the holder

// What is known of one that was not timed: why.
static seer_measure_ab untimed(const seer_finalist *c) {
  return (seer_measure_ab){.p_value = 1, .cls = c->lost};
}

static seer_finalist *holder_of(const seer_final *final) {
  for (uint32_t k = 0; k < final->n; k++)
    if (final->list[k].is_holder)
      return seer_finalist_is_lost(&final->list[k]) ? NULL : &final->list[k];
  return NULL;
}

static seer_measure_ab summary_of(const seer_pair_list *list) {
  size_t n = list->n < SEER_MEASURE_MAX_SUMMARISED ? list->n : SEER_MEASURE_MAX_SUMMARISED;
  return seer_measure_summarise(list->pair, (uint32_t)n);
}

static void note_refusal(seer_final *final, const seer_measure_ab *ab) {
  if (!final->has_refusal) final->refusal = *ab;
  final->has_refusal = true;
}

static seer_status end(const seer_finals *f, seer_final *final, bool is_refused) {
  const seer_measure_ab *refusal = is_refused && final->has_refusal ? &final->refusal : NULL;
  SEER_TRY(f->court.conclude(f->court.user, final->task, refusal));
  final->is_over = true;
  return SEER_OK;
}

// Its own pairs have chosen it, and say no faster than the untuned one.
static bool is_hopeless(const seer_finalist *c) {
  return seer_finalist_is_lost(c) || (c->ab.n_pairs > 0 && c->ab.speedup <= SEER_FINALS_NO_FASTER);
}

// *out_asked: this one needs fresh pairs.
static seer_status call_up(const seer_finals *f, seer_final *final, bool *out_asked) {
  const seer_finalist *c = &final->list[final->at];
  *out_asked = false;
  if (is_hopeless(c) || final->n_refused >= MAX_REFUSED) {
    const seer_measure_ab why = seer_finalist_is_lost(c) ? untimed(c) : c->ab;
    note_refusal(final, &why);
    return SEER_OK;
  }
  final->fresh.n = final->against_holder.n = 0;
  final->is_second_look = false;
  return f->court.check(f->court.user, final->task, c, out_asked);
}

seer_status seer_final_ask_next(const seer_finals *f, seer_final *final) {
  for (; final->at < final->n; final->at++) {
    seer_finalist *c = &final->list[final->at];
    bool is_asked = c->is_holder && !seer_finalist_is_lost(c) && final->holder_fresh.n == 0,
         is_kept = false;
    if (!c->is_holder) SEER_TRY(call_up(f, final, &is_asked));
    if (is_asked) return SEER_OK;
    if (!c->is_holder) continue;
    seer_measure_ab fresh = summary_of(&final->holder_fresh);
    if (seer_finalist_is_lost(c)) fresh = untimed(c);
    SEER_TRY(f->court.defend(f->court.user, final->task, c, &fresh, &is_kept));
    if (is_kept) return end(f, final, false);
    c->is_holder = false;  // and nobody needs to beat it
  }
  return end(f, final, true);
}

// The one that is asked and the holder, of the same moments.
seer_status seer_final_visit_asked(
    const seer_finals *f, seer_final *final, const seer_outlook *outlook) {
  seer_finalist *c = &final->list[final->at], *holder = holder_of(final);
  if (seer_finalist_is_lost(c)) return SEER_OK;
  seer_schedule schedules[2] = {c->schedule};
  seer_pair_list *lists[2] = {c == holder ? &final->holder_fresh : &final->fresh};
  seer_finals_turn turns[2] = {{NULL, SEER_MEASURED_OK}, {NULL, SEER_MEASURED_OK}};
  uint32_t n = 1, n_pairs = SEER_FINALS_PAIRS * (final->is_second_look ? SECOND_LOOK : 1);
  if (holder && holder != c) {
    schedules[n] = holder->schedule;
    lists[n++] = &final->holder_fresh;
  }
  if (outlook) return seer_finals_foresee_turns(f, final, schedules, n, n_pairs, outlook);
  SEER_TRY(seer_finals_take_turns(f, final, schedules, n, n_pairs, lists, turns));
  c->lost = turns[0].lost;
  if (n < 2) return SEER_OK;
  holder->lost = turns[1].lost;
  const seer_measure_pair *own = turns[0].pair, *theirs = turns[1].pair;
  for (uint32_t k = 0; own && theirs && k < n_pairs; k++) {
    seer_pair_list *against = &final->against_holder;
    against->pair =
        SEER_GROW(f->arena, seer_measure_pair, against->pair, against->n, &against->cap);
    // In units of the untuned one's time: should one have crashed the other, it is another moment.
    against->pair[against->n++] = (seer_measure_pair){
        own[k].seconds / own[k].baseline_seconds, theirs[k].seconds / theirs[k].baseline_seconds};
  }
  return SEER_OK;
}

// What the fresh pairs of the one that is asked show, at the nth look.
static void judge(const seer_final *final, uint32_t nth, seer_measure_ab *out_fresh,
    bool *out_faster, bool *out_sure) {
  const seer_finalist *c = &final->list[final->at];
  seer_measure_ab against = summary_of(&final->against_holder);
  *out_fresh = seer_finalist_is_lost(c) ? untimed(c) : summary_of(&final->fresh);
  bool has_holder = holder_of(final) != NULL;
  double max_p = SEER_FINALS_MAX_P * pow(0.5, nth);
  *out_faster =
      out_fresh->speedup >= SEER_FINALS_MIN_SPEEDUP && (!has_holder || against.speedup >= 1);
  *out_sure = out_fresh->p_value <= max_p && (!has_holder || against.p_value <= max_p);
}

seer_status seer_final_look(const seer_finals *f, seer_final *final, bool *out_next) {
  seer_finalist *c = &final->list[final->at];
  *out_next = c->is_holder;
  if (c->is_holder) return SEER_OK;
  seer_measure_ab fresh;
  bool is_faster, is_sure, is_accepted = false;
  judge(final, ++final->n_looks, &fresh, &is_faster, &is_sure);
  if (is_faster && is_sure)
    SEER_TRY(f->court.accept(f->court.user, final->task, c, &fresh, &is_accepted));
  if (is_accepted) return end(f, final, false);
  if (is_faster && !is_sure && !final->is_second_look) {
    final->is_second_look = true;
    return SEER_OK;
  }
  note_refusal(final, &fresh);
  final->n_refused++;
  final->at++;
  *out_next = true;
  return SEER_OK;
}

// ---- what will be asked next
static uint32_t n_visits_of(const seer_finals *f) {
  return f->n_visits > SEER_FINALS_VERDICT_VISITS ? f->n_visits : SEER_FINALS_VERDICT_VISITS;
}

static seer_status foresee_next(
    const seer_finals *f, const seer_final *final, bool is_after, bool is_certain);

// One that was clearly faster in the halving will be accepted; of others it takes another look to
// say, or the next one has its turn.
static seer_status foresee_likely(const seer_finals *f, const seer_final *final) {
  const seer_outlook once = {1, false}, visits = {n_visits_of(f), false};
  const seer_finalist *c = &final->list[final->at];
  if (c->is_holder || seer_finalist_is_lost(c)) return SEER_OK;
  bool is_clear = c->ab.speedup >= SEER_FINALS_MIN_SPEEDUP && c->ab.p_value <= SEER_FINALS_MAX_P;
  if (is_clear) SEER_TRY(f->court.foresee(f->court.user, final->task, c, &once));
  if (is_clear) return SEER_OK;
  seer_final again = *final;
  again.is_second_look = true;
  SEER_TRY(seer_final_visit_asked(f, &again, &visits));
  return foresee_next(f, final, true, false);
}

// That ask_next will be called, or may be: what it will ask, as far as that is known now, and the
// visits of the one that is asked then. is_after: when the one that is asked now has gone.
static seer_status foresee_next(
    const seer_finals *f, const seer_final *final, bool is_after, bool is_certain) {
  seer_final then = *final;
  then.is_second_look = false;
  then.at += is_after;
  then.n_refused += is_after;
  bool is_passed = true;
  for (; then.at < then.n && is_passed; then.at += is_passed) {
    const seer_finalist *c = &then.list[then.at];
    is_passed = !c->is_holder && (is_hopeless(c) || then.n_refused >= MAX_REFUSED);
  }
  if (then.at >= then.n) return SEER_OK;
  const seer_finalist *c = &then.list[then.at];
  const seer_outlook once = {1, is_certain}, visits = {n_visits_of(f), is_certain};
  if (c->is_holder && (final->holder_fresh.n > 0 || is_after)) {
    if (!is_certain || seer_finalist_is_lost(c)) return SEER_OK;
    const seer_measure_ab fresh = summary_of(&final->holder_fresh);
    return f->court.foresee_defence(f->court.user, final->task, c, &fresh);
  }
  if (!c->is_holder) {
    const seer_measure_question check = {SEER_MEASURE_HOME, final->task, &c->schedule, 1, 0};
    SEER_TRY(f->measure->foresee(f->measurer, &check, once.n_times, once.is_certain));
  }
  SEER_TRY(seer_final_visit_asked(f, &then, &visits));
  return is_certain ? foresee_likely(f, &then) : SEER_OK;
}

seer_status seer_final_foresee_next(const seer_finals *f, const seer_final *final) {
  return foresee_next(f, final, false, true);
}

seer_status seer_final_foresee_look(const seer_finals *f, const seer_final *final) {
  const seer_outlook once = {1, true};
  const seer_finalist *c = &final->list[final->at];
  if (c->is_holder) return SEER_OK;
  seer_measure_ab fresh;
  bool is_faster, is_sure;
  judge(final, final->n_looks + 1, &fresh, &is_faster, &is_sure);
  return is_faster && is_sure ? f->court.foresee(f->court.user, final->task, c, &once) : SEER_OK;
}

bool seer_finals_is_visit(const seer_finals *f, uint32_t v) {
  if (v < SEER_FINALS_VERDICT_VISITS) return true;
  seer_finals_clock clock = f->court.look_at_clock(f->court.user);
  if (v < f->n_visits) return clock != SEER_FINALS_LATE;
  return v < SEER_FINALS_MAX_VISITS && clock == SEER_FINALS_EARLY;
}

// ---- all tasks in turns
static seer_status visit_all(const seer_finals *f, seer_final *tasks, uint32_t n) {
  for (uint32_t t = 0; t < n; t++)
    if (!tasks[t].is_over) SEER_TRY(seer_final_visit_asked(f, &tasks[t], NULL));
  return SEER_OK;
}

static seer_status look_at(const seer_finals *f, seer_final *final) {
  bool has_next;
  SEER_TRY(seer_final_look(f, final, &has_next));
  return has_next ? seer_final_ask_next(f, final) : SEER_OK;
}

seer_status seer_finals_decide(const seer_finals *f, seer_final *tasks, uint32_t n) {
  uint32_t n_open = 0;
  for (uint32_t t = 0; t < n; t++) {
    if (!tasks[t].is_over) SEER_TRY(seer_final_ask_next(f, &tasks[t]));
    n_open += !tasks[t].is_over;
  }
  while (n_open > 0) {
    for (uint32_t v = 0; seer_finals_is_visit(f, v); v++) SEER_TRY(visit_all(f, tasks, n));
    n_open = 0;
    for (uint32_t t = 0; t < n; t++) {
      if (!tasks[t].is_over) SEER_TRY(look_at(f, &tasks[t]));
      n_open += !tasks[t].is_over;
    }
  }
  return SEER_OK;
}
