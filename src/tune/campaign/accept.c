// accept.c - the best of each task's search and the records' winner -> finals (finals.h) -> each
// task's one accepted or refused, and recorded so. The rule: accept.h.

#include "tune/campaign/accept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "tune/campaign/events.h"
#include "tune/campaign/plan.h"
#include "tune/campaign/store.h"

#define MORE_PAIRS 45  // of the holder, where it hangs by them
#define OVERTIME 1.5  // times what was planned; then nothing is measured that can be left out
#define SURE_SHARE 0.8  // of what was planned; until then a verdict has more visits

// ---- records
typedef struct {
  seer_campaign *s;
  uint32_t task;
  const seer_contender *contender;
  seer_record_state state;
  const char *schedule;
} change;

static seer_status refuse_one(void *user, const seer_record *record) {
  const change *c = user;
  if (record->cls != SEER_MEASURED_OK || strcmp(record->schedule, c->schedule) != 0) return SEER_OK;
  return seer_records_set_state(c->s->store.records, record->id, SEER_RECORD_REFUSED);
}

static seer_status write_refusal(void *user) {
  change *c = user;
  return seer_records_each(
      c->s->store.records, c->s->task[c->task].workload, c->s->store.target_id, refuse_one, c);
}

// All measurements of a schedule whose answer is wrong.
static seer_status refuse(seer_campaign *s, uint32_t t, const seer_schedule *schedule) {
  change c = {.s = s, .task = t};
  c.schedule = seer_schedule_print(s->task[t].sketches, schedule, s->round);
  return seer_campaign_write(s, write_refusal, &c);
}

static seer_status write_winner(void *user) {
  const change *c = user;
  seer_record record =
      seer_contender_record(c->s, c->task, c->contender, &c->s->task[c->task].untuned);
  return seer_records_accept(c->s->store.records, &record);
}

static seer_status store_winner(
    seer_campaign *s, uint32_t t, const seer_schedule *schedule, const seer_measure_ab *ab) {
  seer_arena_reset(s->round);
  seer_contender contender = {*schedule, *ab};
  change c = {.s = s, .task = t, .contender = &contender};
  return seer_campaign_write(s, write_winner, &c);
}

static seer_status write_untuned(void *user) {
  const change *c = user;
  seer_record record =
      seer_contender_record(c->s, c->task, c->contender, &c->s->task[c->task].untuned);
  return seer_records_add(c->s->store.records, &record);
}

// What the untuned schedule took in those pairs: it is what will be compiled.
static seer_status store_untuned(seer_campaign *s, uint32_t t, double seconds) {
  seer_arena_reset(s->round);
  seer_contender contender = {s->task[t].untuned, {.seconds = seconds}};
  change c = {.s = s, .task = t, .contender = &contender};
  return seer_campaign_write(s, write_untuned, &c);
}

static seer_status write_fall(void *user) {
  const change *c = user;
  return seer_records_dethrone(
      c->s->store.records, c->s->task[c->task].workload, c->s->store.target_id, c->state);
}

static seer_status dethrone(seer_campaign *s, uint32_t t, seer_record_state state) {
  s->task[t].has_holder = false;
  change c = {.s = s, .task = t, .state = state};
  return seer_campaign_write(s, write_fall, &c);
}

static bool is_among(const seer_final *final, const seer_schedule *schedule) {
  for (uint32_t k = 0; k < final->n; k++)
    if (seer_schedule_equal(&final->list[k].schedule, schedule)) return true;
  return false;
}

// ---- pairs
// The winner of the records, then the search's best: what looked best in a single measurement has
// most often been lucky. One of which no pairs are known is a contender like any other.
static void gather(seer_campaign *s, uint32_t t, uint32_t n_max, seer_final *out) {
  seer_campaign_task *task = &s->task[t];
  *out = (seer_final){.task = t, .untuned = &task->untuned};
  out->list = SEER_NEW_ARRAY(s->arena, seer_finalist, n_max);
  bool has_pairs = task->holder_ab.n_pairs > 0;
  if (task->has_holder)
    out->list[out->n++] = (seer_finalist){.schedule = task->holder, .is_holder = has_pairs};
  task->has_holder = task->has_holder && has_pairs;
  seer_schedule top[SEER_FINALS_MAX];
  uint32_t n = seer_search_top(task->search, SEER_FINALS_MAX, top, NULL);
  for (uint32_t k = 0; k < n && out->n < n_max; k++) {
    if (seer_schedule_equal(&top[k], &task->untuned) || is_among(out, &top[k])) continue;
    out->list[out->n++] = (seer_finalist){.schedule = top[k]};
  }
}

// n fresh pairs with the untuned one on a device (of one that crashes: none).
static seer_status take_pairs(seer_campaign *s, uint32_t device, uint32_t t,
    const seer_schedule *schedule, uint32_t n, seer_measure_ab *out_ab) {
  seer_measure_pair pairs[SEER_MEASURE_MAX_SUMMARISED];
  uint32_t n_had = 0;
  n = n < SEER_MEASURE_MAX_SUMMARISED ? n : SEER_MEASURE_MAX_SUMMARISED;
  while (n_had < n) {
    uint32_t n_more = n - n_had < SEER_MEASURE_MAX_PAIRS ? n - n_had : SEER_MEASURE_MAX_PAIRS;
    SEER_TRY(s->device.desc->compare(s->device.measurer, device, t, schedule, 1,
        &s->task[t].untuned, n_more, out_ab, &pairs[n_had]));
    if (out_ab->n_pairs == 0) return SEER_OK;
    n_had += n_more;
  }
  *out_ab = seer_measure_summarise(pairs, n_had);
  return SEER_OK;
}

// That take_pairs will be called so.
static seer_status foresee_pairs(const seer_campaign *s, uint32_t device, uint32_t t,
    const seer_schedule *schedule, uint32_t n, const seer_outlook *outlook) {
  const seer_schedule both[2] = {*schedule, s->task[t].untuned};
  seer_measure_question question = {device, t, both, 2, SEER_MEASURE_MAX_PAIRS};
  n = n < SEER_MEASURE_MAX_SUMMARISED ? n : SEER_MEASURE_MAX_SUMMARISED;
  uint32_t n_whole = n / SEER_MEASURE_MAX_PAIRS * outlook->n_times;
  if (n_whole > 0)
    SEER_TRY(s->device.desc->foresee(s->device.measurer, &question, n_whole, outlook->is_certain));
  question.n_pairs = n % SEER_MEASURE_MAX_PAIRS;
  if (question.n_pairs == 0) return SEER_OK;
  return s->device.desc->foresee(
      s->device.measurer, &question, outlook->n_times, outlook->is_certain);
}

// ---- verdicts
static void tell(
    seer_campaign *s, uint32_t t, const seer_measure_ab *ab, bool is_accepted, const char *text) {
  seer_event event = {.kind = SEER_EVENT_ACCEPT,
      .task = t,
      .before_s = ab->baseline_seconds,
      .after_s = ab->seconds,
      .is_accepted = is_accepted,
      .text = text};
  seer_campaign_emit(s, &event);
}

static void crown(seer_campaign *s, uint32_t t, const seer_schedule *schedule,
    const seer_measure_ab *ab, const char *text) {
  s->task[t].is_accepted = true;
  s->task[t].winner = *schedule;
  s->task[t].winner_ab = *ab;
  tell(s, t, ab, true, text);
}

// ---- the court
typedef struct {
  seer_campaign *s;
  uint64_t start_ns;
  double available_s;
  bool *was_held;  // of each task, when its finals began
} court;

// Without a budget of time always on time: such a campaign repeats.
static seer_finals_clock look_at_clock(void *user) {
  const court *c = user;
  double spent_s = (double)(seer_os_now_ns() - c->start_ns) * 1e-9;
  if (c->s->is_stopped) return SEER_FINALS_LATE;
  if (c->s->budget.time_s <= 0) return SEER_FINALS_ON_TIME;
  if (spent_s > OVERTIME * c->available_s) return SEER_FINALS_LATE;
  return spent_s < SURE_SHARE * c->available_s ? SEER_FINALS_EARLY : SEER_FINALS_ON_TIME;
}

// A limit of time that was passed says nothing of what is right, or runs.
static bool is_timeout(seer_measured_class cls) {
  return cls == SEER_MEASURED_RUN_TIMEOUT || cls == SEER_MEASURED_BUILD_TIMEOUT;
}

// Is the answer right? Else said, and recorded so; that it was not known in time is said only.
static seer_status ask(
    seer_campaign *s, uint32_t t, const seer_finalist *c, seer_measured_class *out_class) {
  seer_measure_request request = {.task = t, .schedule = c->schedule};
  char message[SEER_MEASURE_MESSAGE_BYTES] = "";
  SEER_TRY(s->device.desc->check(s->device.measurer, &request, out_class, message, sizeof message));
  if (*out_class == SEER_MEASURED_OK) return SEER_OK;
  s->totals.failed[*out_class]++;
  seer_arena_reset(s->round);
  if (!is_timeout(*out_class)) SEER_TRY(refuse(s, t, &c->schedule));
  tell(s, t, &c->ab, false,
      seer_arena_printf(
          s->arena, "its answer: %s: %s", seer_measured_class_name(*out_class), message));
  return SEER_OK;
}

static seer_status check(void *user, uint32_t t, const seer_finalist *c, bool *out_right) {
  seer_measured_class cls;
  SEER_TRY(ask(((court *)user)->s, t, c, &cls));
  *out_right = cls == SEER_MEASURED_OK;
  return SEER_OK;
}

// A device that is not the one of the task's finals; SEER_MEASURE_HOME: there is none.
static uint32_t second_device(const seer_campaign *s, uint32_t t) {
  seer_measure_facts now;  // the campaign's own are as of the last batch, which tells who was lost
  s->device.desc->describe(s->device.measurer, &now);
  if (seer_measure_devices_left(&now) < 2) return SEER_MEASURE_HOME;
  uint32_t home = 0;
  while (now.is_left_out[home]) home++;
  if (s->device.desc->home) home = s->device.desc->home(s->device.measurer, t);
  uint32_t k = home;
  do k = (k + 1) % now.n_devices;
  while (now.is_left_out[k]);
  return k;
}

// What is faster on the device of the finals only is not faster. One that is lost over it says
// nothing.
static seer_status confirm(
    seer_campaign *s, uint32_t t, const seer_finalist *c, bool *out_confirmed) {
  uint32_t device = second_device(s, t);
  *out_confirmed = true;
  if (device == SEER_MEASURE_HOME) return SEER_OK;
  seer_measure_ab ab;
  SEER_TRY(take_pairs(s, device, t, &c->schedule, SEER_FINALS_SECOND_PAIRS, &ab));
  *out_confirmed = ab.n_pairs == 0 || ab.speedup > SEER_FINALS_NO_FASTER;
  if (!*out_confirmed)
    tell(s, t, &ab, false,
        seer_arena_printf(s->arena, "not faster than the untuned one on a second device, %s",
            s->device.facts.name[device]));
  return SEER_OK;
}

static seer_status foresee(
    void *user, uint32_t t, const seer_finalist *c, const seer_outlook *outlook) {
  const seer_campaign *s = ((court *)user)->s;
  uint32_t device = second_device(s, t);
  if (device == SEER_MEASURE_HOME) return SEER_OK;
  return foresee_pairs(s, device, t, &c->schedule, SEER_FINALS_SECOND_PAIRS, outlook);
}

static seer_status accept(void *user, uint32_t t, const seer_finalist *c,
    const seer_measure_ab *fresh, bool *out_accepted) {
  seer_campaign *s = ((court *)user)->s;
  SEER_TRY(confirm(s, t, c, out_accepted));
  if (!*out_accepted) return SEER_OK;
  SEER_TRY(store_winner(s, t, &c->schedule, fresh));
  crown(s, t, &c->schedule, fresh, "accepted");
  return SEER_OK;
}

static uint32_t more_pairs(const seer_campaign *s, uint32_t t) {
  uint32_t n = s->task[t].holder_ab.n_pairs;
  return n > MORE_PAIRS ? n : MORE_PAIRS;
}

// It is no faster than the untuned one here: is that so in as many pairs as it was accepted by?
static seer_status is_worse(
    seer_campaign *s, uint32_t t, const seer_finalist *c, seer_measure_ab *ab, bool *out_worse) {
  if (ab->speedup <= SEER_FINALS_NO_FASTER)
    SEER_TRY(take_pairs(s, SEER_MEASURE_HOME, t, &c->schedule, more_pairs(s, t), ab));
  *out_worse = ab->n_pairs > 0 && ab->speedup <= SEER_FINALS_NO_FASTER;
  return SEER_OK;
}

// It was not timed. It runs no more, or it was not done in time: then it keeps its place, and its
// pairs, which are known, as by noise.
static seer_status defend_untimed(
    seer_campaign *s, uint32_t t, seer_measured_class why, bool *out_stays) {
  const char *name = seer_measured_class_name(why);
  *out_stays = is_timeout(why);
  if (!*out_stays) {
    const seer_measure_ab none = {.p_value = 1};
    tell(s, t, &none, false,
        seer_arena_printf(s->arena, "the winner of the records does not run any more: %s", name));
    return dethrone(s, t, SEER_RECORD_REFUSED);
  }
  crown(s, t, &s->task[t].holder, &s->task[t].holder_ab,
      seer_arena_printf(s->arena,
          "the winner of the records stays: it could not be timed: %s; --timeout says how long a "
          "run may take",
          name));
  return SEER_OK;
}

// Pairs of another machine, and it is faster here, too.
static bool beats_as_trusted(const seer_campaign_task *task, const seer_measure_ab *ab) {
  return task->is_holder_trusted && ab->speedup >= SEER_FINALS_MIN_SPEEDUP;
}

// As far as its defence can be told from its fresh pairs.
static seer_status foresee_defence(
    void *user, uint32_t t, const seer_finalist *c, const seer_measure_ab *fresh) {
  const seer_campaign *s = ((court *)user)->s;
  const seer_outlook once = {1, true};
  if (fresh->n_pairs == 0) return SEER_OK;
  if (fresh->speedup <= SEER_FINALS_NO_FASTER)
    return foresee_pairs(s, SEER_MEASURE_HOME, t, &c->schedule, more_pairs(s, t), &once);
  if (beats_as_trusted(&s->task[t], fresh) && fresh->p_value > SEER_FINALS_MAX_P)
    SEER_TRY(foresee_pairs(s, SEER_MEASURE_HOME, t, &c->schedule, MORE_PAIRS, &once));
  const seer_measure_question check = {SEER_MEASURE_HOME, t, &c->schedule, 1, 0};
  return s->device.desc->foresee(s->device.measurer, &check, once.n_times, once.is_certain);
}

// The winner of the records: what is left of the others was slower in turns with the untuned one,
// or has not beaten it.
static seer_status defend(
    void *user, uint32_t t, const seer_finalist *c, const seer_measure_ab *fresh, bool *out_stays) {
  seer_campaign *s = ((court *)user)->s;
  seer_campaign_task *task = &s->task[t];
  seer_measure_ab ab = *fresh;
  bool is_bad = false;
  seer_measured_class answer;
  if (ab.n_pairs > 0) SEER_TRY(is_worse(s, t, c, &ab, &is_bad));
  if (ab.n_pairs == 0) return defend_untimed(s, t, ab.cls, out_stays);
  if (is_bad) {
    tell(s, t, &ab, false, "the winner of the records is no faster than the untuned one any more");
    return dethrone(s, t, SEER_RECORD_CHECKED);
  }
  SEER_TRY(ask(s, t, c, &answer));
  if (answer != SEER_MEASURED_OK && !is_timeout(answer)) return dethrone(s, t, SEER_RECORD_REFUSED);
  *out_stays = true;
  bool is_faster = beats_as_trusted(task, &ab);
  if (is_faster && ab.p_value > SEER_FINALS_MAX_P)
    SEER_TRY(take_pairs(s, SEER_MEASURE_HOME, t, &c->schedule, MORE_PAIRS, &ab));
  if (is_faster && ab.speedup >= SEER_FINALS_MIN_SPEEDUP && ab.p_value <= SEER_FINALS_MAX_P) {
    SEER_TRY(store_winner(s, t, &c->schedule, &ab));
    task->holder_ab = ab;
  }
  crown(s, t, &task->holder, &task->holder_ab, "the winner of the records stays");
  return SEER_OK;
}

static seer_status conclude(void *user, uint32_t t, const seer_measure_ab *refusal) {
  const court *c = user;
  if (refusal && refusal->cls != SEER_MEASURED_OK)
    tell(c->s, t, refusal, false,
        seer_arena_printf(
            c->s->arena, "the best was not timed: %s", seer_measured_class_name(refusal->cls)));
  else if (refusal)
    tell(c->s, t, refusal, false, "not faster than the untuned one");
  if (c->was_held[t] && !c->s->task[t].is_accepted)
    SEER_TRY(dethrone(c->s, t, SEER_RECORD_CHECKED));
  if (refusal && refusal->baseline_seconds > 0 && !c->s->task[t].is_accepted)
    SEER_TRY(store_untuned(c->s, t, refusal->baseline_seconds));
  c->s->task[t].is_decided = true;
  return SEER_OK;
}

// As many tasks at a time as the measurer keeps kernels of.
static seer_status hold_finals(
    const seer_finals *finals, seer_campaign *s, const seer_finals_list *list) {
  uint32_t n = list->n;
  seer_final *tasks = SEER_NEW_ARRAY(s->arena, seer_final, n);
  bool *was_held = ((court *)finals->court.user)->was_held;
  for (uint32_t i = 0, end; i < n; i = end) {
    uint32_t n_kernels = 0;
    for (end = i; end < n; end++) {
      n_kernels += list->entry[end].n + 2;
      if (end > i && n_kernels > SEER_FINALS_MAX_KERNELS) break;
      was_held[list->task[end]] = s->task[list->task[end]].has_holder;
      gather(s, list->task[end], list->entry[end].n, &tasks[end]);
    }
    SEER_TRY(seer_finals_hold(finals, &tasks[i], end - i));
  }
  return SEER_OK;
}

seer_status seer_campaign_accept(seer_campaign *s) {
  seer_finals_list list = seer_campaign_list_finals(s, s->arena);
  seer_finals_entry *entries = list.entry;
  uint32_t n = list.n;
  double build_s = list.build_s, available_s = s->is_stopped ? 0 : seer_campaign_acceptance_s(s);
  uint32_t n_visits;
  seer_finals_plan(entries, n, build_s, available_s, &n_visits);
  uint32_t n_contender = 0;
  for (uint32_t i = 0; i < n; i++) n_contender += entries[i].n;
  seer_log(s->context, "search", 2,
      "finals of %u tasks: %u contenders, %u visits a round, %.1f s planned of %.1f s", n,
      n_contender, n_visits, seer_finals_cost(entries, n, n_visits, build_s), available_s);
  court c = {.s = s,
      .start_ns = seer_os_now_ns(),
      .available_s = available_s,
      .was_held = SEER_NEW_ARRAY(s->arena, bool, s->network->n_task + 1)};
  seer_finals finals = {.measure = s->device.desc,
      .measurer = s->device.measurer,
      .arena = s->arena,
      .court = {&c, look_at_clock, check, foresee, foresee_defence, accept, defend, conclude},
      .n_visits = n_visits};
  return hold_finals(&finals, s, &list);
}
