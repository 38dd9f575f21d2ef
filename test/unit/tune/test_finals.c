// Finals on a machine of made-up, noisy times: who is chosen was not only lucky, the verdict is by
// pairs that had no part in choosing, and no more pairs are taken than planned.
#include "tune/finals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/test.h"

#define UNTUNED 0  // knob 0 of a schedule says which one it is
#define MAX_IDS 32
#define MAX_CALLS 512

// ---- the machine
struct seer_measurer {
  seer_rng rng;
  double noise;
  double seconds[MAX_IDS];
  uint32_t crashes_from[MAX_IDS];  // the call that it crashes in first; 0: never
  seer_measured_class why;  // what is said of that; OK: nothing
  uint32_t n_calls, n_pairs[MAX_IDS];  // that were asked
  uint32_t task_of[MAX_CALLS];
  uint32_t n_done;  // calls, those that were foreseen and never asked included
  uint32_t n_foreseen, n_unforeseen;
  struct foreseen *foreseen;
};

static seer_schedule schedule_of(uint32_t id) {
  return (seer_schedule){.n = 1, .knob = {(uint16_t)id}};
}

static double take(seer_measurer *m, const seer_schedule *schedule) {
  return m->seconds[schedule->knob[0]] * exp(m->noise * seer_rng_normal(&m->rng));
}

static void run(seer_measurer *m, const seer_schedule *contenders, uint32_t n,
    const seer_schedule *baseline, uint32_t n_pairs, seer_measure_ab *out_ab,
    seer_measure_pair *out_pairs) {
  m->n_done++;
  memset(out_ab, 0, n * sizeof(*out_ab));
  for (uint32_t k = 0; k < n; k++) {
    uint32_t from = m->crashes_from[contenders[k].knob[0]];
    if (!from || m->n_done < from) continue;
    for (uint32_t i = 0; i < n; i++) out_ab[i].cls = m->why;
    return;
  }
  for (uint32_t i = 0; i < n_pairs; i++) {
    double baseline_s = take(m, baseline);
    for (uint32_t k = 0; k < n; k++)
      out_pairs[k * n_pairs + i] = (seer_measure_pair){take(m, &contenders[k]), baseline_s};
  }
  for (uint32_t k = 0; k < n; k++)
    out_ab[k] = seer_measure_summarise(&out_pairs[k * n_pairs], n_pairs);
}

static void note_call(seer_measurer *m, uint32_t task, const seer_schedule *contenders, uint32_t n,
    const seer_measure_ab *ab) {
  assert_true(m->n_calls < MAX_CALLS);
  m->task_of[m->n_calls++] = task;
  for (uint32_t k = 0; k < n; k++) m->n_pairs[contenders[k].knob[0]] += ab[k].n_pairs;
}

static seer_status compare(seer_measurer *m, uint32_t device, uint32_t task,
    const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline, uint32_t n_pairs,
    seer_measure_ab *out_ab, seer_measure_pair *out_pairs) {
  (void)device;
  assert_true(n >= 1 && n <= SEER_MEASURE_MAX_CONTENDERS && n_pairs <= SEER_MEASURE_MAX_PAIRS);
  run(m, contenders, n, baseline, n_pairs, out_ab, out_pairs);
  note_call(m, task, contenders, n, out_ab);
  return SEER_OK;
}

static const seer_measure_desc noisy = {.name = "noisy", .compare = compare};

// ---- the same, far away: what is foreseen is done when it is waited for, and answered once
typedef struct foreseen {
  uint32_t task, n, n_pairs;  // n_pairs 0: a check
  seer_schedule schedule[SEER_MEASURE_MAX_CONTENDERS + 1];
  bool is_certain, is_done, is_asked, is_forgone;
  seer_measure_ab ab[SEER_MEASURE_MAX_CONTENDERS];
  seer_measure_pair pair[SEER_MEASURE_MAX_CONTENDERS * SEER_MEASURE_MAX_PAIRS];
} foreseen;
#define MAX_FORESEEN 1024

static bool is_open(const foreseen *q) { return !q->is_asked && !q->is_forgone; }

static bool is_of(const foreseen *q, const seer_measure_question *asked) {
  bool is_same =
      is_open(q) && q->task == asked->task && q->n == asked->n && q->n_pairs == asked->n_pairs;
  for (uint32_t i = 0; is_same && i < q->n; i++)
    is_same = seer_schedule_equal(&q->schedule[i], &asked->schedules[i]);
  return is_same;
}

static seer_status foresee(
    seer_measurer *m, const seer_measure_question *asked, uint32_t n_times, bool is_certain) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < m->n_foreseen && n < n_times; k++) {
    if (!is_of(&m->foreseen[k], asked)) continue;
    m->foreseen[k].is_certain = m->foreseen[k].is_certain || is_certain;
    n++;
  }
  for (; n < n_times; n++) {
    assert_true(m->n_foreseen < MAX_FORESEEN);
    foreseen *q = &m->foreseen[m->n_foreseen++];
    *q = (foreseen){
        .task = asked->task, .n = asked->n, .n_pairs = asked->n_pairs, .is_certain = is_certain};
    memcpy(q->schedule, asked->schedules, asked->n * sizeof *q->schedule);
  }
  return SEER_OK;
}

static bool is_settled(const seer_measurer *m, uint32_t task) {
  for (uint32_t k = 0; k < m->n_foreseen; k++) {
    const foreseen *q = &m->foreseen[k];
    if (is_open(q) && q->task == task && q->is_certain && !q->is_done) return false;
  }
  return true;
}

// What is certain first. False: there is nothing left to do.
static bool do_one(seer_measurer *m) {
  foreseen *next = NULL;
  for (uint32_t k = 0; k < m->n_foreseen; k++) {
    foreseen *q = &m->foreseen[k];
    if (!is_open(q) || q->is_done || (next && next->is_certain >= q->is_certain)) continue;
    next = q;
  }
  if (!next) return false;
  next->is_done = true;
  if (next->n_pairs > 0)
    run(m, next->schedule, next->n - 1, &next->schedule[next->n - 1], next->n_pairs, next->ab,
        next->pair);
  return true;
}

static seer_status settle(
    seer_measurer *m, const uint32_t *tasks, uint32_t n, bool *out_is_settled) {
  for (bool is_any = false; !is_any;) {
    for (uint32_t i = 0; i < n; i++) {
      out_is_settled[i] = is_settled(m, tasks[i]);
      is_any = is_any || out_is_settled[i];
    }
    if (!is_any) assert_true(do_one(m));
  }
  return SEER_OK;
}

static seer_status forgo(seer_measurer *m, uint32_t task) {
  for (uint32_t k = 0; k < m->n_foreseen; k++)
    if (is_open(&m->foreseen[k]) && m->foreseen[k].task == task) m->foreseen[k].is_forgone = true;
  return SEER_OK;
}

// Its answer, if it was foreseen and is done: nobody waits for what was.
static foreseen *take_foreseen(seer_measurer *m, const seer_measure_question *asked) {
  for (uint32_t k = 0; k < m->n_foreseen; k++) {
    foreseen *q = &m->foreseen[k];
    if (!q->is_done || !is_of(q, asked)) continue;
    q->is_asked = true;
    return q;
  }
  m->n_unforeseen++;
  return NULL;
}

static seer_status compare_far(seer_measurer *m, uint32_t device, uint32_t task,
    const seer_schedule *contenders, uint32_t n, const seer_schedule *baseline, uint32_t n_pairs,
    seer_measure_ab *out_ab, seer_measure_pair *out_pairs) {
  seer_schedule schedules[SEER_MEASURE_MAX_CONTENDERS + 1];
  memcpy(schedules, contenders, n * sizeof *schedules);
  schedules[n] = *baseline;
  const seer_measure_question asked = {device, task, schedules, n + 1, n_pairs};
  const foreseen *q = take_foreseen(m, &asked);
  if (!q) return compare(m, device, task, contenders, n, baseline, n_pairs, out_ab, out_pairs);
  memcpy(out_ab, q->ab, n * sizeof *out_ab);
  memcpy(out_pairs, q->pair, (size_t)n * n_pairs * sizeof *out_pairs);
  note_call(m, task, contenders, n, out_ab);
  return SEER_OK;
}

static const seer_measure_desc noisy_far = {.name = "noisy, far",
    .compare = compare_far,
    .foresee = foresee,
    .settle = settle,
    .forgo = forgo};
static bool is_far;  // of the tests that run now

// ---- the court
typedef struct {
  seer_measurer *measurer;
  uint32_t wrong;  // id of one whose answer is wrong; 0: none
  uint32_t slow_elsewhere;  // of one that is not accepted for it
  seer_finals_clock clock;
  bool holder_may_stay;
  uint32_t accepted, n_accepted, n_defended, n_concluded, n_checked;  // accepted: an id
  bool is_held, is_refused;
  seer_measure_ab fresh, defence, refusal;
} court;

static seer_finals_clock look_at_clock(void *user) { return ((court *)user)->clock; }

static seer_status check(void *user, uint32_t task, const seer_finalist *c, bool *out_right) {
  court *own = user;
  const seer_measure_question asked = {SEER_MEASURE_HOME, task, &c->schedule, 1, 0};
  if (is_far) (void)take_foreseen(own->measurer, &asked);
  own->n_checked++;
  *out_right = c->schedule.knob[0] != own->wrong || own->wrong == 0;
  return SEER_OK;
}

static seer_status foresee_acceptance(
    void *user, uint32_t task, const seer_finalist *c, const seer_outlook *outlook) {
  (void)user, (void)task, (void)c;
  assert_int_equal(outlook->n_times, 1);
  return SEER_OK;
}

static seer_status foresee_defence(
    void *user, uint32_t task, const seer_finalist *holder, const seer_measure_ab *fresh) {
  (void)user, (void)task;
  assert_true(holder->is_holder && fresh->n_pairs > 0);
  return SEER_OK;
}

static seer_status accept(void *user, uint32_t task, const seer_finalist *c,
    const seer_measure_ab *fresh, bool *out_accepted) {
  court *own = user;
  (void)task;
  *out_accepted = c->schedule.knob[0] != own->slow_elsewhere || own->slow_elsewhere == 0;
  if (!*out_accepted) return SEER_OK;
  own->accepted = c->schedule.knob[0];
  own->n_accepted++;
  own->fresh = *fresh;
  return SEER_OK;
}

static seer_status defend(void *user, uint32_t task, const seer_finalist *holder,
    const seer_measure_ab *fresh, bool *out_stays) {
  court *own = user;
  (void)task;
  assert_true(holder->is_holder);
  own->n_defended++;
  own->defence = *fresh;
  *out_stays = own->is_held = own->holder_may_stay && fresh->n_pairs > 0 && fresh->speedup > 1;
  return SEER_OK;
}

static seer_status conclude(void *user, uint32_t task, const seer_measure_ab *refusal) {
  court *own = user;
  (void)task;
  own->n_concluded++;
  own->is_refused = refusal != NULL;
  if (refusal) own->refusal = *refusal;
  return SEER_OK;
}

// ---- a hall
typedef struct {
  seer_arena *arena;
  seer_measurer m;
  court court;
  seer_finals finals;
} hall;

static const seer_schedule untuned = {.n = 1, .knob = {UNTUNED}};

// All take as long as the untuned one.
static void open_hall(hall *h, uint64_t seed, double noise) {
  *h = (hall){.arena = seer_arena_create("test"), .m = {.noise = noise}};
  h->court.holder_may_stay = true;
  h->court.clock = SEER_FINALS_ON_TIME;
  seer_rng_init(&h->m.rng, seed);
  for (uint32_t i = 0; i < MAX_IDS; i++) h->m.seconds[i] = 1;
  h->court.measurer = &h->m;
  h->m.foreseen = is_far ? SEER_NEW_ARRAY(h->arena, foreseen, MAX_FORESEEN) : NULL;
  h->finals = (seer_finals){.measure = is_far ? &noisy_far : &noisy,
      .measurer = &h->m,
      .arena = h->arena,
      .court = {&h->court, look_at_clock, check, foresee_acceptance, foresee_defence, accept,
          defend, conclude},
      .n_visits = 1};
}

static void close_hall(hall *h) { seer_arena_destroy(h->arena); }

// Contenders 1 .. n, in this order; holder: an id, 0: none.
static seer_final contend(hall *h, uint32_t task, uint32_t n, uint32_t holder) {
  seer_final final = {.task = task, .untuned = &untuned, .n = n};
  final.list = SEER_NEW_ARRAY(h->arena, seer_finalist, n + 1);
  for (uint32_t k = 0; k < n; k++)
    final.list[k] = (seer_finalist){.schedule = schedule_of(k + 1), .is_holder = k + 1 == holder};
  return final;
}

static seer_final hold(hall *h, uint32_t n, uint32_t holder) {
  seer_final final = contend(h, 0, n, holder);
  must(seer_finals_hold(&h->finals, &final, 1));
  assert_true(final.is_over);
  assert_int_equal(h->court.n_concluded, 1);
  return final;
}

// As it was: five or more take 15 pairs each, and the best is judged by the same pairs.
static bool is_accepted_by_the_same_pairs(hall *h, uint32_t n, double *out_speedup) {
  seer_measure_pair pairs[SEER_MEASURE_MAX_CONTENDERS * SEER_MEASURE_MAX_PAIRS];
  seer_measure_ab ab, best = {.speedup = 0};
  for (uint32_t k = 1; k <= n; k++) {
    seer_schedule one = schedule_of(k);
    must(compare(&h->m, SEER_MEASURE_HOME, 0, &one, 1, &untuned, 15, &ab, pairs));
    if (ab.speedup > best.speedup) best = ab;
  }
  *out_speedup = best.speedup;
  return best.speedup >= SEER_FINALS_MIN_SPEEDUP && best.p_value <= SEER_FINALS_MAX_P;
}

// ---- statistics that hold
static void test_a_sign_test(void **state) {
  (void)state;
  seer_measure_pair pairs[15];
  for (int i = 0; i < 15; i++) pairs[i] = (seer_measure_pair){i < 12 ? 1 : 4, 2};
  seer_measure_ab ab = seer_measure_summarise(pairs, 15);
  assert_true(fabs(ab.p_value - 576.0 / 32768) < 1e-12);  // 1 + 15 + 105 + 455 of 2^15
  assert_true(ab.speedup == 2 && ab.seconds == 1 && ab.baseline_seconds == 2);
  assert_int_equal(ab.n_pairs, 15);
  for (int i = 0; i < 15; i++) pairs[i] = (seer_measure_pair){2, 2};
  assert_true(seer_measure_summarise(pairs, 15).p_value == 1);  // a tie is no win
  assert_true(seer_measure_summarise(NULL, 0).p_value == 1);
}

// The search's first is as slow as the untuned one; one far behind it is faster by a tenth.
static void test_a_lucky_first_does_not_win(void **state) {
  (void)state;
  uint32_t n_right = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    hall h;
    open_hall(&h, seed, 0.05);
    h.m.seconds[17] = 0.9;
    h.finals.n_visits = 2;
    (void)hold(&h, 24, 0);
    assert_int_not_equal(h.court.accepted, 1);
    n_right += h.court.accepted == 17;
    close_hall(&h);
  }
  assert_true(n_right >= 180);
}

static void test_equal_ones_are_accepted_by_the_stated_error_only(void **state) {
  (void)state;
  const uint32_t n_seeds = 2000;
  uint32_t n_new = 0, n_old = 0;
  for (uint64_t seed = 0; seed < n_seeds; seed++) {
    hall h;
    double speedup;
    open_hall(&h, seed, 0.1);
    (void)hold(&h, 24, 0);
    n_new += h.court.n_accepted;
    assert_int_equal(h.court.n_accepted + h.court.is_refused, 1);
    n_old += is_accepted_by_the_same_pairs(&h, 24, &speedup);
    close_hall(&h);
  }
  assert_true(n_new <= n_seeds * SEER_FINALS_MAX_P);
  print_message("equal ones accepted: %u of %u, by the same pairs %u\n", n_new, n_seeds, n_old);
  assert_true(n_old > 2 * n_seeds * SEER_FINALS_MAX_P);
}

// What is reported is what is true, also of the best of many.
static void test_the_reported_speedup_is_not_the_luckiest(void **state) {
  (void)state;
  const uint32_t n_seeds = 400;
  double sum = 0, old_sum = 0;
  for (uint64_t seed = 0; seed < n_seeds; seed++) {
    hall h;
    double speedup;
    open_hall(&h, seed, 0.1);
    for (uint32_t k = 1; k <= 24; k++) h.m.seconds[k] = 1 / 1.5;
    (void)hold(&h, 24, 0);
    assert_int_equal(h.court.n_accepted, 1);
    sum += log(h.court.fresh.speedup);
    (void)is_accepted_by_the_same_pairs(&h, 24, &speedup);
    old_sum += log(speedup);
    close_hall(&h);
  }
  assert_true(fabs(sum / n_seeds - log(1.5)) < 0.01);
  assert_true(old_sum / n_seeds - log(1.5) > 0.05);
}

// ---- as many pairs as planned
static void test_halving_takes_what_is_planned(void **state) {
  (void)state;
  assert_int_equal(seer_finals_halving_pairs(24, 1), (24 + 12 + 6 + 3 + 2) * 5);
  assert_int_equal(seer_finals_halving_pairs(1, 7), 0);
  for (uint32_t n = 1; n <= SEER_FINALS_MAX; n++) {
    hall h;
    uint32_t sum = 0;
    open_hall(&h, n, 0.1);
    h.finals.n_visits = 1 + n % 3;
    seer_final final = contend(&h, 0, n, 0);
    must(seer_finals_halve(&h.finals, &final, 1));
    for (uint32_t k = 0; k < MAX_IDS; k++) sum += h.m.n_pairs[k];
    assert_int_equal(sum, seer_finals_halving_pairs(n, h.finals.n_visits));
    assert_int_equal(final.n_left, 1);
    for (uint32_t k = 0; k + 1 < n; k++)  // who stays longer is known better
      assert_true(final.list[k].ab.n_pairs >= final.list[k + 1].ab.n_pairs);
    close_hall(&h);
  }
}

static void test_the_verdict_takes_what_is_planned(void **state) {
  (void)state;
  hall h;
  for (uint32_t n_visits = 1; n_visits < 6; n_visits++) {
    open_hall(&h, 1, 0.01);
    h.m.seconds[2] = 0.5;
    h.finals.n_visits = n_visits;
    seer_final final = hold(&h, 6, 0);
    uint32_t n_verdict = 5 * (n_visits > 3 ? n_visits : 3);
    assert_int_equal(h.court.accepted, 2);
    assert_int_equal(h.court.fresh.n_pairs, n_verdict);
    assert_int_equal(h.m.n_pairs[2], final.list[0].ab.n_pairs + n_verdict);
    close_hall(&h);
  }
  // No time: nobody is left out by pairs, and the verdict has its least.
  open_hall(&h, 1, 0.01);
  h.m.seconds[1] = 0.5;
  h.finals.n_visits = 6;
  h.court.clock = SEER_FINALS_LATE;
  (void)hold(&h, 6, 0);
  assert_int_equal(h.court.accepted, 1);
  assert_int_equal(h.court.fresh.n_pairs, 15);
  assert_int_equal(h.m.n_pairs[1], 15);
  assert_int_equal(h.m.n_calls, 3);
  close_hall(&h);
  // Time to spare: more visits before the verdict, and no more in the halving.
  open_hall(&h, 1, 0.01);
  h.m.seconds[2] = 0.5;
  h.court.clock = SEER_FINALS_EARLY;
  (void)hold(&h, 6, 0);
  assert_int_equal(h.court.fresh.n_pairs, 5 * SEER_FINALS_MAX_VISITS);
  assert_int_equal(h.m.n_pairs[2], (3 + SEER_FINALS_MAX_VISITS) * 5);
  close_hall(&h);
}

// Each task is visited at several moments, the others between them.
static void test_tasks_take_turns(void **state) {
  (void)state;
  hall h;
  open_hall(&h, 3, 0.01);
  for (uint32_t k = 1; k <= 6; k++) h.m.seconds[k] = 0.5 + 0.05 * k;
  seer_final tasks[3];
  for (uint32_t t = 0; t < 3; t++) tasks[t] = contend(&h, t, 6, 0);
  must(seer_finals_hold(&h.finals, tasks, 3));
  assert_int_equal(h.court.n_accepted, 3);
  assert_int_equal(h.m.n_calls, 3 * (3 + 3));  // 6, 3, 2; the verdict's visits
  for (uint32_t i = 0; i < h.m.n_calls && !is_far; i++) assert_int_equal(h.m.task_of[i], i % 3);
  close_hall(&h);
}

// ---- what goes wrong
// The fastest crashes after its first visits, and the runner with it: the others' pairs go on.
static void test_one_that_crashes_in_the_middle(void **state) {
  (void)state;
  for (uint32_t from = 1; from <= 8; from++) {  // 5 calls of the halving, 3 of the verdict
    hall h;
    open_hall(&h, from, 0.01);
    h.m.seconds[3] = 0.5;
    h.m.seconds[4] = 0.8;
    h.m.crashes_from[3] = from;
    seer_final final = hold(&h, 12, 0);
    assert_int_equal(h.court.accepted, 4);
    assert_int_equal(h.court.fresh.n_pairs, 15);
    assert_true(fabs(h.court.fresh.speedup - 1 / 0.8) < 0.02);
    for (uint32_t k = 0; k < final.n; k++)
      assert_int_equal(final.list[k].lost != SEER_MEASURED_OK, final.list[k].schedule.knob[0] == 3);
    close_hall(&h);
  }
}

static void test_all_crash(void **state) {
  (void)state;
  hall h;
  open_hall(&h, 1, 0.01);
  for (uint32_t k = 1; k <= 9; k++) h.m.crashes_from[k] = 1;
  (void)hold(&h, 9, 0);
  assert_int_equal(h.court.n_accepted, 0);
  assert_int_equal(h.court.n_checked, 0);
  assert_true(h.court.is_refused);
  close_hall(&h);
}

// The next best is asked, and by pairs of its own.
static void test_a_wrong_one_gives_way(void **state) {
  (void)state;
  hall h;
  open_hall(&h, 1, 0.01);
  h.m.seconds[3] = 0.5;
  h.m.seconds[4] = 0.8;
  h.court.wrong = 3;
  (void)hold(&h, 12, 0);
  assert_int_equal(h.court.accepted, 4);
  assert_int_equal(h.court.n_checked, 2);
  assert_true(fabs(h.court.fresh.speedup - 1 / 0.8) < 0.02);
  close_hall(&h);
}

// So does one that is faster here only.
static void test_one_that_is_slow_elsewhere_gives_way(void **state) {
  (void)state;
  hall h;
  open_hall(&h, 1, 0.01);
  h.m.seconds[3] = 0.5;
  h.m.seconds[4] = 0.8;
  h.court.slow_elsewhere = 3;
  (void)hold(&h, 12, 0);
  assert_int_equal(h.court.accepted, 4);
  assert_int_equal(h.court.n_accepted, 1);
  close_hall(&h);
}

// One that is not faster does so, too; the last of many does not get another chance by chance.
static void test_asking_ends(void **state) {
  (void)state;
  hall h;
  open_hall(&h, 1, 0.0001);
  for (uint32_t k = 1; k <= 24; k++) h.m.seconds[k] = 0.99;  // faster, and not by enough
  (void)hold(&h, 24, 0);
  assert_int_equal(h.court.n_accepted, 0);
  assert_int_equal(h.court.n_checked, 3);
  assert_true(h.court.is_refused);
  close_hall(&h);
}

// ---- the holder
static void test_a_holder_stays_where_nobody_beats_it(void **state) {
  (void)state;
  const uint32_t n_seeds = 1000;
  uint32_t n_taken = 0;
  for (uint64_t seed = 0; seed < n_seeds; seed++) {
    hall h;
    open_hall(&h, seed, 0.1);
    for (uint32_t k = 1; k <= 24; k++) h.m.seconds[k] = 0.7;
    (void)hold(&h, 24, 1 + (uint32_t)seed % 24);
    assert_int_equal(h.court.n_accepted + h.court.is_held, 1);
    assert_int_equal(h.court.n_defended, !h.court.n_accepted);
    assert_true(h.court.n_accepted || h.court.defence.n_pairs >= 15);
    n_taken += h.court.n_accepted;
    close_hall(&h);
  }
  assert_true(n_taken <= n_seeds * SEER_FINALS_MAX_P);
}

static void test_a_holder_that_is_beaten_goes(void **state) {
  (void)state;
  hall h;
  open_hall(&h, 1, 0.01);
  for (uint32_t k = 1; k <= 6; k++) h.m.seconds[k] = 0.7;
  h.m.seconds[5] = 0.6;
  (void)hold(&h, 6, 1);
  assert_int_equal(h.court.accepted, 5);
  assert_int_equal(h.court.n_defended, 0);
  assert_int_equal(h.court.fresh.n_pairs, 15);
  assert_true(fabs(h.court.fresh.speedup - 1 / 0.6) < 0.03);  // with the untuned one
  close_hall(&h);
}

// Alone, it has fresh pairs all the same; without a place to keep, others are asked after it.
static void test_a_holder_defends_itself(void **state) {
  (void)state;
  hall h;
  open_hall(&h, 1, 0.01);
  h.m.seconds[1] = 0.7;
  (void)hold(&h, 1, 1);
  assert_true(h.court.is_held);
  assert_int_equal(h.court.defence.n_pairs, 15);
  close_hall(&h);
  open_hall(&h, 1, 0.01);
  h.court.holder_may_stay = false;  // its answer is wrong, say
  h.m.seconds[1] = 0.5;
  h.m.seconds[2] = 0.8;
  (void)hold(&h, 6, 1);
  assert_int_equal(h.court.n_defended, 1);
  assert_int_equal(h.court.accepted, 2);
  close_hall(&h);
}

static void test_a_holder_that_crashes_is_no_obstacle(void **state) {
  (void)state;
  for (uint32_t from = 1; from < 9; from++) {
    hall h;
    open_hall(&h, from, 0.01);
    h.m.seconds[1] = 0.5;
    h.m.seconds[2] = 0.8;
    h.m.crashes_from[1] = from;
    (void)hold(&h, 6, 1);
    // Where its fresh pairs were whole before, it has its place.
    if (h.court.is_held) assert_int_equal(h.court.defence.n_pairs, 15);
    if (!h.court.is_held) assert_int_equal(h.court.accepted, 2);
    assert_int_equal(h.court.is_held, from > 6);
    close_hall(&h);
  }
}

// Who was not timed is told with the reason: that a limit passed is no crash.
static void test_the_reason_comes_to_the_court(void **state) {
  (void)state;
  static const seer_measured_class said[] = {
      SEER_MEASURED_RUN_TIMEOUT, SEER_MEASURED_BUILD_ERROR, SEER_MEASURED_OK};
  for (size_t i = 0; i < SEER_COUNT_OF(said); i++) {
    seer_measured_class expected = said[i] == SEER_MEASURED_OK ? SEER_MEASURED_RUN_CRASH : said[i];
    hall h;
    open_hall(&h, i + 1, 0.01);
    h.m.why = said[i];
    h.m.crashes_from[1] = 1;
    (void)hold(&h, 3, 1);
    assert_int_equal(h.court.n_defended, 1);
    assert_int_equal(h.court.defence.n_pairs, 0);
    assert_int_equal(h.court.defence.cls, expected);
    close_hall(&h);
    open_hall(&h, i + 1, 0.01);
    h.m.why = said[i];
    h.m.crashes_from[1] = 1;
    (void)hold(&h, 1, 0);
    assert_true(h.court.is_refused);
    assert_int_equal(h.court.refusal.cls, expected);
    close_hall(&h);
  }
}

// ---- the plan
static void test_the_plan_follows_time_and_weight(void **state) {
  (void)state;
  seer_finals_entry e[3] = {
      {1e-4, 8, 24, false, 0}, {1e-4, 2, 24, false, 0}, {1e-4, 0.1, 3, false, 0}};
  uint32_t visits, before = 0;
  seer_finals_plan(e, 3, 0.05, 0, &visits);
  assert_int_equal(visits, 1);
  assert_true(e[0].n == SEER_FINALS_LEAST + 1 && e[1].n == SEER_FINALS_LEAST + 1 && e[2].n == 3);
  for (double time_s = 0.5; time_s < 200; time_s *= 2) {
    seer_finals_plan(e, 3, 0.05, time_s, &visits);
    assert_true(e[0].n >= e[1].n && e[0].n <= SEER_FINALS_MAX && e[2].n <= 3);
    assert_true(e[0].n * visits >= before);
    before = e[0].n * visits;
    bool is_least = e[0].n == SEER_FINALS_LEAST + 1 && visits == 1;
    assert_true(is_least || seer_finals_cost(e, 3, visits, 0.05) <= time_s);
  }
  assert_true(e[0].n == 24 && e[1].n == 24 && visits == SEER_FINALS_MAX_VISITS);
  // The least is what it is said to take; and before anybody has more than some, all have those.
  double least_s = seer_finals_cost_of(e, 3, SEER_FINALS_LEAST, 0.05);
  assert_true(least_s < seer_finals_cost_of(e, 3, SEER_FINALS_MIN, 0.05));
  assert_true(e[0].n == SEER_FINALS_MIN + 1 && e[1].n == SEER_FINALS_MIN + 1);
  seer_finals_plan(e, 3, 0.05, seer_finals_cost_of(e, 3, SEER_FINALS_MIN, 0.05), &visits);
  assert_true(e[0].n == SEER_FINALS_MIN + 1 && e[1].n == SEER_FINALS_MIN + 1 && visits == 1);
  e[1].is_confirmed = true;  // on a second device, which takes its time
  assert_true(least_s < seer_finals_cost_of(e, 3, SEER_FINALS_LEAST, 0.05));
  seer_finals_plan(e, 3, 0.05, least_s, &visits);
  assert_true(e[0].n == SEER_FINALS_LEAST + 1 && e[1].n == SEER_FINALS_LEAST + 1);
  // Of time enough for some, the heavier has more.
  seer_finals_plan(e, 3, 0.2, 10, &visits);
  assert_true(e[0].n > e[1].n && e[1].n > e[2].n);
}

static void test_the_plan_keeps_to_what_is_kept(void **state) {
  (void)state;
  enum { N = 60 };
  seer_finals_entry e[N];
  uint32_t visits, n_kernels = 0;
  for (uint32_t i = 0; i < N; i++) e[i] = (seer_finals_entry){1e-4, 1.0 / (i + 1), 24, false, 0};
  seer_finals_plan(e, N, 1e-3, 1e6, &visits);
  for (uint32_t i = 0; i < N; i++) n_kernels += e[i].n + 2;
  assert_true(n_kernels <= SEER_FINALS_MAX_KERNELS && e[0].n > e[N - 1].n);
}

// ---- far away
// Three tasks of nine contenders from clear to close, one of them with a holder.
static void hold_three(hall *h, double step) {
  for (uint32_t k = 1; k <= 9; k++) h->m.seconds[k] = 0.93 + 0.01 * k + step;
  seer_final tasks[3];
  for (uint32_t t = 0; t < 3; t++) tasks[t] = contend(h, t, 9, t == 2 ? 4 : 0);
  must(seer_finals_hold(&h->finals, tasks, 3));
  assert_int_equal(h->court.n_concluded, 3);
}

// Nothing is asked that was not foreseen.
static void test_what_is_asked_was_foreseen(void **state) {
  (void)state;
  for (uint64_t seed = 0; is_far && seed < 50; seed++) {
    hall h;
    open_hall(&h, seed, 0.02);
    hold_three(&h, 0);
    assert_int_equal(h.m.n_unforeseen, 0);
    close_hall(&h);
  }
}

// Nothing of a task stays that nobody asks any more. Of contenders that are closer and closer to
// the untuned one some looks are foreseen that are not needed.
static void test_what_is_not_asked_is_given_up(void **state) {
  (void)state;
  for (uint64_t seed = 0; is_far && seed < 50; seed++) {
    hall h;
    open_hall(&h, seed, 0.02);
    hold_three(&h, 0.001 * (double)seed);
    for (uint32_t k = 0; k < h.m.n_foreseen; k++) assert_false(is_open(&h.m.foreseen[k]));
    close_hall(&h);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_asked_was_foreseen),
      cmocka_unit_test(test_what_is_not_asked_is_given_up), cmocka_unit_test(test_a_sign_test),
      cmocka_unit_test(test_a_lucky_first_does_not_win),
      cmocka_unit_test(test_equal_ones_are_accepted_by_the_stated_error_only),
      cmocka_unit_test(test_the_reported_speedup_is_not_the_luckiest),
      cmocka_unit_test(test_halving_takes_what_is_planned),
      cmocka_unit_test(test_the_verdict_takes_what_is_planned),
      cmocka_unit_test(test_tasks_take_turns),
      cmocka_unit_test(test_one_that_crashes_in_the_middle), cmocka_unit_test(test_all_crash),
      cmocka_unit_test(test_a_wrong_one_gives_way), cmocka_unit_test(test_asking_ends),
      cmocka_unit_test(test_one_that_is_slow_elsewhere_gives_way),
      cmocka_unit_test(test_a_holder_stays_where_nobody_beats_it),
      cmocka_unit_test(test_a_holder_that_is_beaten_goes),
      cmocka_unit_test(test_a_holder_defends_itself),
      cmocka_unit_test(test_a_holder_that_crashes_is_no_obstacle),
      cmocka_unit_test(test_the_reason_comes_to_the_court),
      cmocka_unit_test(test_the_plan_follows_time_and_weight),
      cmocka_unit_test(test_the_plan_keeps_to_what_is_kept)};
  int n_failed = cmocka_run_group_tests_name("one after the other", tests, NULL, NULL);
  is_far = true;
  return n_failed + cmocka_run_group_tests_name("foreseen", tests, NULL, NULL);
}
