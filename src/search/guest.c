// guest.c - a short list, and a ratio of two rates.
#include "search/guest.h"

#include <math.h>
#include <string.h>

// What is believed before there are figures: one in eight hits, guests as often as others. It
// weighs as much as so many tries. That guests hit twice as often was worse after 8 trials a task,
// by 0.25 points of regret (2026-11-24, decision 58).
#define PRIOR_RATE 0.125
#define PRIOR_TRIES 8
#define MOST_LOG2 2.0

static uint32_t index_of(const seer_guests *g, uint64_t hash) {
  uint32_t i = 0;
  while (i < g->n && g->at[i].hash != hash) i++;
  return i;
}

static void remove_at(seer_guests *g, uint32_t i) {
  g->n--;
  memmove(&g->at[i], &g->at[i + 1], (g->n - i) * sizeof g->at[0]);
}

void seer_guests_add(seer_guests *g, const seer_schedule *schedule, seer_origin origin) {
  uint64_t hash = seer_schedule_hash(schedule);
  if (index_of(g, hash) < g->n) return;
  if (g->n == SEER_GUESTS) remove_at(g, 0);
  g->at[g->n++] = (seer_guest){*schedule, hash, origin};
}

const seer_guest *seer_guests_find(const seer_guests *g, uint64_t hash) {
  uint32_t i = index_of(g, hash);
  return i < g->n ? &g->at[i] : NULL;
}

bool seer_guests_remove(seer_guests *g, uint64_t hash) {
  uint32_t i = index_of(g, hash);
  if (i == g->n) return false;
  remove_at(g, i);
  return true;
}

static double rate(const seer_tally *tally, double prior) {
  return (tally->n_hit + PRIOR_TRIES * prior) / (tally->n + PRIOR_TRIES);
}

double seer_guest_luck_log2(const seer_guest_luck *luck) {
  double others = rate(&luck->others, PRIOR_RATE);
  double ratio = rate(&luck->guests, others) / others;
  return fmax(-MOST_LOG2, fmin(MOST_LOG2, log2(ratio)));
}
