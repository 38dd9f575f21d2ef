// finals_hold.c - in which order tasks go through their finals. All in turns; or, where a question
// is long on its way and many are at a time, each by itself, so that the way of one is hidden
// behind what is done for others: all that a step asks is foreseen, and it is done when that is
// known. What may follow is foreseen behind what is certain, and given up when the task is over.

#include "tune/finals_steps.h"

// ---- a step, foreseen
// Visits of a task that come now, of n that it has in this turn.
static uint32_t n_now(const seer_finals *f, const seer_final *final) {
  uint32_t n = final->turn == SEER_FINAL_HALVES || f->n_visits > SEER_FINALS_VERDICT_VISITS
      ? f->n_visits
      : SEER_FINALS_VERDICT_VISITS;
  return final->n_visited < n ? n - final->n_visited : 1;
}

static seer_status foresee(const seer_finals *f, seer_final *final) {
  const seer_outlook visits = {n_now(f, final), true};
  switch (final->turn) {
    case SEER_FINAL_HALVES:
      return seer_final_visit_left(f, final, &visits);
    case SEER_FINAL_CALLS:
      return seer_final_foresee_next(f, final);
    case SEER_FINAL_ASKS:
      return seer_final_visit_asked(f, final, &visits);
    case SEER_FINAL_JUDGES:
      return seer_final_foresee_look(f, final);
  }
  return SEER_OK;
}

// ---- a step, done
static void turn_to(seer_final *final, seer_final_turn turn) {
  final->turn = turn;
  final->n_visited = 0;
}

static bool is_late(const seer_finals *f) {
  return f->court.look_at_clock(f->court.user) == SEER_FINALS_LATE;
}

static seer_status halve(const seer_finals *f, seer_final *final) {
  bool was_late = is_late(f);
  for (; final->n_visited < f->n_visits && !was_late; final->n_visited++)
    SEER_TRY(seer_final_visit_left(f, final, NULL));
  if (was_late) SEER_TRY(f->measure->forgo(f->measurer, final->task));
  seer_final_cut(final);
  turn_to(final, final->n_left > 1 && !was_late ? SEER_FINAL_HALVES : SEER_FINAL_CALLS);
  return SEER_OK;
}

static seer_status ask(const seer_finals *f, seer_final *final) {
  uint32_t n = n_now(f, final);
  for (; n > 0 && seer_finals_is_visit(f, final->n_visited); n--, final->n_visited++)
    SEER_TRY(seer_final_visit_asked(f, final, NULL));
  if (seer_finals_is_visit(f, final->n_visited)) return SEER_OK;
  turn_to(final, SEER_FINAL_JUDGES);
  return n > 0 ? f->measure->forgo(f->measurer, final->task) : SEER_OK;  // it is late
}

static seer_status judge(const seer_finals *f, seer_final *final) {
  bool has_next;
  SEER_TRY(seer_final_look(f, final, &has_next));
  turn_to(final, has_next ? SEER_FINAL_CALLS : SEER_FINAL_ASKS);
  return SEER_OK;
}

static seer_status go_on(const seer_finals *f, seer_final *final) {
  switch (final->turn) {
    case SEER_FINAL_HALVES:
      return halve(f, final);
    case SEER_FINAL_CALLS:
      turn_to(final, SEER_FINAL_ASKS);
      return seer_final_ask_next(f, final);
    case SEER_FINAL_ASKS:
      return ask(f, final);
    case SEER_FINAL_JUDGES:
      return judge(f, final);
  }
  return SEER_OK;
}

// ---- all tasks
// Those that know what they have asked do a step each. *n_open: those that are not over.
static seer_status go_on_all(
    const seer_finals *f, seer_final *tasks, uint32_t n, const bool *is_settled, uint32_t *n_open) {
  for (uint32_t t = 0, k = 0; t < n; t++) {
    seer_final *final = &tasks[t];
    if (final->is_over || !is_settled[k++]) continue;
    SEER_TRY(go_on(f, final));
    if (final->is_over) SEER_TRY(f->measure->forgo(f->measurer, final->task));
    SEER_TRY(final->is_over ? SEER_OK : foresee(f, final));
    *n_open -= final->is_over;
  }
  return SEER_OK;
}

static seer_status go_ahead(const seer_finals *f, seer_final *tasks, uint32_t n) {
  uint32_t *open = SEER_NEW_ARRAY(f->arena, uint32_t, n + 1), n_open = n;
  bool *is_settled = SEER_NEW_ARRAY(f->arena, bool, n + 1);
  for (uint32_t t = 0; t < n; t++) {
    tasks[t].n_left = tasks[t].n;
    turn_to(&tasks[t], tasks[t].n > 1 ? SEER_FINAL_HALVES : SEER_FINAL_CALLS);
    SEER_TRY(foresee(f, &tasks[t]));
  }
  while (n_open > 0) {
    uint32_t k = 0;
    for (uint32_t t = 0; t < n; t++)
      if (!tasks[t].is_over) open[k++] = tasks[t].task;
    SEER_TRY(f->measure->settle(f->measurer, open, k, is_settled));
    SEER_TRY(go_on_all(f, tasks, n, is_settled, &n_open));
  }
  return SEER_OK;
}

seer_status seer_finals_hold(const seer_finals *f, seer_final *tasks, uint32_t n) {
  if (f->measure->foresee) return go_ahead(f, tasks, n);
  SEER_TRY(seer_finals_halve(f, tasks, n));
  return seer_finals_decide(f, tasks, n);
}
