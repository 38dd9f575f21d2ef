// test_fleet.c - letters are believed with their seal alone, damaged in whatever way they are
// refused; each job has one answer; workers that do not fit are left out.

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "measure/fleet/ledger.h"
#include "measure/fleet/roster.h"
#include "support/test.h"

enum { N_DAMAGED = 10000 };
static const char place[] = "familyseer:jobs:0000000000000001";

typedef struct {
  seer_arena *arena;
  seer_hmac_key key;
  seer_text sealed;
} letters;

static void make_job(letters *l) {
  seer_letter_candidate candidates[3] = {{.schedule = "sched \"a\" {\n}\n", .is_witness = true},
      {.schedule = "sched \"b\" {\n}\n", .best_seconds = 2e-5},
      {.schedule = "sched \"c\" {\n}\n", .has_timing = true, .timing = {1e-3, 0.015, 0.1}}};
  const seer_letter_job job = {.session = 1,
      .number = 7,
      .attempt = 1,
      .kind = SEER_JOB_MEASURE,
      .task = 42,
      .is_maybe = true,
      .n = 3,
      .candidate = candidates};
  seer_text text;
  seer_text_init(&text, l->arena);
  seer_letter_put_job(&text, &job);
  l->key = seer_hmac_key_of("secret", 6);
  seer_text_init(&l->sealed, l->arena);
  assert_null(seer_letter_seal(&l->key, place, SEER_WIRE_JOB, &text, &l->sealed));
}

// Opened and read; the status is the caller's.
static seer_status open_job(const letters *l, const seer_hmac_key *key, const char *at,
    seer_wire_type type, const void *data, size_t n, seer_letter_job *out) {
  const void *payload;
  size_t n_payload;
  SEER_TRY(seer_letter_open(key, at, type, data, n, &payload, &n_payload));
  return seer_letter_get_job(payload, n_payload, l->arena, out);
}

static void expect_refused(seer_status status) {
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
  seer_status_free(status);
}

static void a_letter_comes_as_it_was_sent(void **state) {
  (void)state;
  letters l = {.arena = seer_arena_create("letters")};
  seer_letter_job job;
  make_job(&l);
  assert_null(open_job(&l, &l.key, place, SEER_WIRE_JOB, l.sealed.data, l.sealed.n_bytes, &job));
  assert_int_equal(job.number, 7);
  assert_int_equal(job.n, 3);
  assert_true(job.is_maybe);
  assert_true(job.candidate[0].is_witness);
  assert_string_equal(job.candidate[1].schedule, "sched \"b\" {\n}\n");
  assert_true(job.candidate[2].has_timing && job.candidate[2].timing.most_s > 0.09);
  seer_arena_destroy(l.arena);
}

static void another_key_place_or_type_is_refused(void **state) {
  (void)state;
  letters l = {.arena = seer_arena_create("letters")};
  seer_letter_job job;
  make_job(&l);
  const seer_hmac_key other = seer_hmac_key_of("secreT", 6);
  const char *data = l.sealed.data;
  size_t n = l.sealed.n_bytes;
  expect_refused(open_job(&l, &other, place, SEER_WIRE_JOB, data, n, &job));
  expect_refused(
      open_job(&l, &l.key, "familyseer:jobs:0000000000000002", SEER_WIRE_JOB, data, n, &job));
  expect_refused(open_job(&l, &l.key, place, SEER_WIRE_ANSWER, data, n, &job));
  seer_arena_destroy(l.arena);
}

// Cut at every byte, and 10,000 times changed in one to eight of them.
static void a_damaged_letter_is_refused(void **state) {
  (void)state;
  letters l = {.arena = seer_arena_create("letters")};
  seer_letter_job job;
  make_job(&l);
  for (size_t n = 0; n < l.sealed.n_bytes; n++)
    expect_refused(open_job(&l, &l.key, place, SEER_WIRE_JOB, l.sealed.data, n, &job));
  seer_rng rng;
  seer_rng_init(&rng, 1);
  uint8_t *copy = SEER_NEW_ARRAY(l.arena, uint8_t, l.sealed.n_bytes);
  for (int i = 0; i < N_DAMAGED; i++) {
    memcpy(copy, l.sealed.data, l.sealed.n_bytes);
    uint64_t n_changes = 1 + seer_rng_below(&rng, 8);
    // Two changes may be each other's undoing.
    bool is_same = true;
    while (is_same) {
      for (uint64_t k = 0; k < n_changes; k++)
        copy[seer_rng_below(&rng, l.sealed.n_bytes)] ^= (uint8_t)(1 + seer_rng_below(&rng, 255));
      is_same = memcmp(copy, l.sealed.data, l.sealed.n_bytes) == 0;
    }
    expect_refused(open_job(&l, &l.key, place, SEER_WIRE_JOB, copy, l.sealed.n_bytes, &job));
  }
  seer_arena_destroy(l.arena);
}

// ---- the ledger
static seer_letter_answer answer_of(
    const seer_ledger_job *job, seer_measure_result *results, uint32_t n) {
  return (seer_letter_answer){.session = job->letter.session,
      .number = job->letter.number,
      .attempt = 1,
      .asked = seer_letter_job_key(&job->letter),
      .worker = "w",
      .lost = "",
      .kind = job->letter.kind,
      .n = n,
      .result = results};
}

// As the ledger compares texts, jobs have some.
static seer_ledger_job *add(seer_ledger *ledger, seer_job_kind kind, uint32_t n, uint64_t task) {
  seer_ledger_job *job = seer_ledger_add(ledger, kind, n);
  job->letter.task = task;
  job->letter.n_pairs = kind == SEER_JOB_COMPARE ? 3 : 0;
  job->least_s = 1e-7;
  for (uint32_t i = 0; i < n; i++) job->letter.candidate[i].schedule = i ? "b" : "a";
  return job;
}

static void each_job_has_one_answer(void **state) {
  (void)state;
  seer_ledger ledger = {.session = 5};
  seer_measure_result results[2] = {{0}}, told[2] = {{.seconds = 1}, {.seconds = 2}},
                      again[2] = {{.seconds = 3}, {.seconds = 4}};
  seer_ledger_job *job = add(&ledger, SEER_JOB_MEASURE, 2, 1);
  job->results = results;
  seer_letter_answer answer = answer_of(job, told, 2), second = answer_of(job, again, 2);
  assert_int_equal(seer_ledger_take(&ledger, &answer, 3), SEER_LEDGER_TAKEN);
  assert_true(job->is_done);
  assert_int_equal(results[1].device, 3);
  assert_int_equal(seer_ledger_take(&ledger, &second, 4), SEER_LEDGER_DUPLICATE);
  assert_true(results[0].seconds > 0.5 && results[0].seconds < 1.5);
  seer_ledger_remove(&ledger, job);
  assert_int_equal(seer_ledger_take(&ledger, &second, 4), SEER_LEDGER_DUPLICATE);
  assert_int_equal(ledger.n_duplicates, 2);
  assert_int_equal(ledger.n, 0);
}

static void what_was_not_asked_is_strange(void **state) {
  (void)state;
  seer_ledger ledger = {.session = 5};
  seer_measure_result results[2] = {{0}},
                      told[3] = {{.seconds = 1}, {.seconds = 1}, {.seconds = 1}};
  seer_ledger_job *job = add(&ledger, SEER_JOB_MEASURE, 2, 1);
  job->results = results;
  seer_letter_answer of_others = answer_of(job, told, 2), too_many = answer_of(job, told, 3),
                     of_nothing = answer_of(job, told, 2), other_kind = answer_of(job, told, 1);
  of_others.session = 6;
  of_nothing.number = 99;
  other_kind.kind = SEER_JOB_CHECK;
  assert_int_equal(seer_ledger_take(&ledger, &of_others, 0), SEER_LEDGER_STRANGE);
  assert_int_equal(seer_ledger_take(&ledger, &too_many, 0), SEER_LEDGER_STRANGE);
  assert_int_equal(seer_ledger_take(&ledger, &of_nothing, 0), SEER_LEDGER_STRANGE);
  assert_int_equal(seer_ledger_take(&ledger, &other_kind, 0), SEER_LEDGER_STRANGE);
  assert_false(job->is_done);
  assert_int_equal(ledger.n_strange, 4);
  // Another job's answer under this one's number: of as many candidates, of the same kind.
  const seer_ledger_job *other = add(&ledger, SEER_JOB_MEASURE, 2, 2);
  seer_letter_answer of_other = answer_of(other, told, 2);
  of_other.number = job->letter.number;
  assert_int_equal(seer_ledger_take(&ledger, &of_other, 0), SEER_LEDGER_STRANGE);
  job->letter.candidate[1].schedule = "c";
  of_other = answer_of(job, told, 2);
  job->letter.candidate[1].schedule = "b";
  assert_int_equal(seer_ledger_take(&ledger, &of_other, 0), SEER_LEDGER_STRANGE);
  assert_false(job->is_done);
  seer_ledger_clear(&ledger);
}

static void times_that_cannot_be_are_strange(void **state) {
  (void)state;
  static const double bad[] = {1e-300, 0.9e-7, 3601, 1e300};
  seer_ledger ledger = {.session = 5};
  seer_measure_result results[2] = {{0}}, told[2] = {{.seconds = 1}, {.seconds = 1}};
  seer_message_compared pairs = {.n = 1, .n_pairs = 3};
  seer_ledger_job *round = add(&ledger, SEER_JOB_MEASURE, 2, 1),
                  *comparison = add(&ledger, SEER_JOB_COMPARE, 2, 1);
  round->results = results;
  seer_letter_answer timed = answer_of(round, told, 2), compared = answer_of(comparison, NULL, 0);
  compared.compared = &pairs;
  for (size_t k = 0; k < SEER_COUNT_OF(bad); k++) {
    for (uint32_t i = 0; i < 3; i++) pairs.pair[i] = (seer_measure_pair){1, 1};
    told[1].seconds = bad[k];
    assert_int_equal(seer_ledger_take(&ledger, &timed, 0), SEER_LEDGER_STRANGE);
    pairs.pair[2].seconds = bad[k];
    assert_int_equal(seer_ledger_take(&ledger, &compared, 0), SEER_LEDGER_STRANGE);
    pairs.pair[2] = (seer_measure_pair){1, bad[k]};
    assert_int_equal(seer_ledger_take(&ledger, &compared, 0), SEER_LEDGER_STRANGE);
  }
  assert_false(round->is_done || comparison->is_done);
  pairs.pair[2].baseline_seconds = 1;
  assert_int_equal(seer_ledger_take(&ledger, &compared, 0), SEER_LEDGER_TAKEN);
  told[1] = (seer_measure_result){.cls = SEER_MEASURED_RUN_CRASH};  // a failure has no time
  assert_int_equal(seer_ledger_take(&ledger, &timed, 0), SEER_LEDGER_TAKEN);
  seer_ledger_clear(&ledger);
}

static seer_status read_back(const seer_measure_result *result, seer_arena *arena) {
  seer_measure_result one = *result;
  const seer_letter_answer answer = {
      .worker = "w", .lost = "", .kind = SEER_JOB_MEASURE, .n = 1, .result = &one};
  seer_letter_answer out;
  seer_text text;
  seer_text_init(&text, arena);
  seer_letter_put_answer(&text, &answer);
  return seer_letter_get_answer(text.data, text.n_bytes, arena, &out);
}

static void a_time_is_of_its_samples(void **state) {
  (void)state;
  static const double bad[] = {0.5, 2.5, 0, -1, NAN, INFINITY};
  seer_arena *arena = seer_arena_create("times");
  seer_measure_result result = {.seconds = 1.2, .n_samples = 2, .sample = {1, 2}};
  assert_null(read_back(&result, arena));
  result.seconds = 1;
  assert_null(read_back(&result, arena));
  for (size_t k = 0; k < SEER_COUNT_OF(bad); k++) {
    result.seconds = bad[k];
    expect_refused(read_back(&result, arena));
  }
  result.seconds = 1;
  result.n_samples = 0;
  expect_refused(read_back(&result, arena));
  result.cls = SEER_MEASURED_RUN_TIMEOUT;
  assert_null(read_back(&result, arena));
  seer_arena_destroy(arena);
}

// A round that two workers were lost over is its candidates' error.
static void a_lost_job_is_its_candidates_error(void **state) {
  (void)state;
  seer_ledger ledger = {.session = 5};
  seer_measure_result results[2] = {{0}};
  seer_ledger_job *job = add(&ledger, SEER_JOB_MEASURE, 2, 1);
  job->results = results;
  seer_letter_answer answer = answer_of(job, NULL, 0);
  answer.lost = "two workers were lost over it";
  job->n_holders = 2;  // that were seen; but one of them says so
  job->holder = 0;
  assert_int_equal(seer_ledger_take(&ledger, &answer, 0), SEER_LEDGER_DOUBTED);
  assert_false(job->is_done);
  job->n_holders = 3;
  assert_int_equal(seer_ledger_take(&ledger, &answer, 0), SEER_LEDGER_TAKEN);
  assert_int_equal(results[1].cls, SEER_MEASURED_RUN_CRASH);
  assert_string_equal(results[1].message, "two workers were lost over it");
  seer_ledger_clear(&ledger);
}

// ---- what is foreseen
static seer_ledger_job *foresee(
    seer_ledger *ledger, uint32_t device, const char *const *schedules, uint32_t n_pairs) {
  seer_ledger_job *job = seer_ledger_add(ledger, n_pairs ? SEER_JOB_COMPARE : SEER_JOB_CHECK, 2);
  for (uint32_t i = 0; i < 2; i++) job->letter.candidate[i].schedule = schedules[i];
  job->letter.task = 42;
  job->letter.n_pairs = n_pairs;
  job->asked_of = device;
  job->is_foreseen = true;
  return job;
}

static uint32_t count(const seer_ledger *ledger, uint64_t task, uint32_t device, uint32_t n_pairs,
    const char *const *schedules) {
  seer_ledger_job *found[8];
  const seer_ledger_question question = {task, device, 2, n_pairs, schedules};
  return seer_ledger_find_foreseen(ledger, &question, 8, found);
}

static void what_is_foreseen_answers_its_own_question(void **state) {
  (void)state;
  static const char *const one[2] = {"a", "b"}, *const other[2] = {"b", "a"};
  seer_ledger ledger = {.session = 5};
  seer_ledger_job *found[8];
  seer_ledger_job *first = foresee(&ledger, 0, one, 15), *second = foresee(&ledger, 0, one, 15);
  foresee(&ledger, 1, one, 15);
  foresee(&ledger, SEER_MEASURE_HOME, one, 15);
  const seer_ledger_question question = {42, 0, 2, 15, one};
  assert_int_equal(seer_ledger_find_foreseen(&ledger, &question, 8, found), 2);
  assert_ptr_equal(found[0], first);
  assert_ptr_equal(found[1], second);
  assert_int_equal(seer_ledger_find_foreseen(&ledger, &question, 1, found), 1);
  assert_int_equal(count(&ledger, 42, 1, 15, one), 1);
  assert_int_equal(count(&ledger, 42, 2, 15, one), 0);
  assert_int_equal(count(&ledger, 42, 0, 15, other), 0);
  assert_int_equal(count(&ledger, 42, 0, 5, one), 0);
  assert_int_equal(count(&ledger, 43, 0, 15, one), 0);
  first->is_foreseen = false;  // it was asked
  assert_int_equal(count(&ledger, 42, 0, 15, one), 1);
  seer_ledger_clear(&ledger);
}

static void a_task_is_settled_when_what_is_certain_is_known(void **state) {
  (void)state;
  static const char *const schedules[2] = {"a", "b"};
  seer_ledger ledger = {.session = 5};
  assert_true(seer_ledger_is_settled(&ledger, 42));
  seer_ledger_job *maybe = foresee(&ledger, 0, schedules, 5);
  maybe->letter.is_maybe = true;
  assert_true(seer_ledger_is_settled(&ledger, 42));
  seer_ledger_job *certain = foresee(&ledger, 0, schedules, 5);
  assert_false(seer_ledger_is_settled(&ledger, 42));
  assert_true(seer_ledger_is_settled(&ledger, 43));
  seer_ledger_lose(certain, 0, SEER_MEASURED_DEVICE_LOST, "gone");
  assert_true(seer_ledger_is_settled(&ledger, 42));
  // What is forgone answers nothing, and its answer is nobody's.
  certain->is_foreseen = false;
  seer_ledger_forgo(&ledger, 42);
  assert_false(certain->is_forgone);
  assert_int_equal(count(&ledger, 42, 0, 5, schedules), 0);
  seer_letter_answer late = answer_of(maybe, NULL, 0);
  late.lost = "late";
  assert_int_equal(seer_ledger_take(&ledger, &late, 0), SEER_LEDGER_DUPLICATE);
  assert_false(maybe->is_done);
  seer_ledger_clear(&ledger);
}

// ---- the roster
static seer_roster roster_of(seer_context *context, seer_arena *arena) {
  return (seer_roster){.context = context,
      .arena = arena,
      .own = {"0.1.0", "0123456789abcdef", 17, 100},
      .measurer = "local"};
}

static void who_answers_nonsense_is_left_out_for_good(void **state) {
  (void)state;
  seer_context *context = seer_context_create_default();
  seer_arena *arena = seer_arena_create("roster");
  seer_roster roster = roster_of(context, arena);
  const seer_letter_worker
      wrong = {.hello = roster.own, .id = "wrong", .devices = "cpu", .measurer = "local"},
      good = {.hello = roster.own, .id = "good", .devices = "cpu", .measurer = "local"};
  assert_true(seer_roster_see(&roster, &wrong) && seer_roster_see(&roster, &good));
  roster.n_there = 2;
  for (uint32_t k = 1; k < SEER_ROSTER_MOST_NONSENSE; k++) {
    assert_false(seer_roster_blame(&roster, 0, "no letter"));
    assert_true(seer_roster_see(&roster, &wrong));
  }
  assert_true(seer_roster_blame(&roster, 0, "no letter"));
  assert_false(seer_roster_blame(&roster, 0, "no letter"));  // it is known
  assert_false(seer_roster_see(&roster, &wrong));
  assert_false(roster.worker[0].is_there);
  assert_true(seer_roster_see(&roster, &good) && roster.worker[1].is_there);
  assert_int_equal(roster.n_there, 1);
  seer_arena_destroy(arena);
  seer_context_destroy(context);
}

// Sealed with the fleet's key, and of another form of messages: named, and given nothing.
static void what_another_version_writes_is_named(void **state) {
  (void)state;
  seer_context *context = seer_context_create_default();
  seer_arena *arena = seer_arena_create("roster"), *scratch = seer_arena_create("scratch");
  seer_hub hub = {
      .context = context, .address = {.shown = "here"}, .key = seer_hmac_key_of("secret", 6)};
  seer_roster roster = roster_of(context, arena);
  seer_redis_reply name = {.kind = SEER_REDIS_TEXT, .text = "other", .n = 5},
                   names = {.kind = SEER_REDIS_ARRAY, .n = 1, .element = &name};
  seer_text payload, sealed;
  seer_text_init(&payload, scratch);
  seer_text_init(&sealed, scratch);
  seer_wire_put_u32(&payload, 7);
  assert_null(
      seer_letter_seal(&hub.key, "familyseer:worker:other", SEER_WIRE_WORKER, &payload, &sealed));
  seer_redis_reply letter = {.kind = SEER_REDIS_TEXT, .text = sealed.data, .n = sealed.n_bytes},
                   found = {.kind = SEER_REDIS_ARRAY, .n = 1, .element = &letter};
  assert_true(
      seer_letter_is_sealed(&hub.key, "familyseer:worker:other", sealed.data, sealed.n_bytes));
  assert_false(
      seer_letter_is_sealed(&hub.key, "familyseer:worker:othes", sealed.data, sealed.n_bytes));
  assert_false(seer_letter_is_sealed(&hub.key, "familyseer:worker:other", sealed.data, 31));
  assert_true(seer_roster_hear_names(&roster, &names));
  seer_roster_hear_letters(&roster, &hub, &found, scratch);
  assert_int_equal(roster.n_refused, 1);
  assert_int_equal(roster.n_unsealed, 0);
  sealed.data[40] ^= 1;  // and with another key it is nobody's
  seer_roster_hear_letters(&roster, &hub, &found, scratch);
  assert_int_equal(roster.n_unsealed, 1);
  assert_int_equal(roster.n, 0);
  seer_roster_clear(&roster);
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
  seer_context_destroy(context);
}

static void workers_that_do_not_fit_are_left_out(void **state) {
  (void)state;
  seer_context *context = seer_context_create_default();
  seer_arena *arena = seer_arena_create("roster");
  seer_roster roster = roster_of(context, arena);
  seer_letter_worker good = {
      .hello = roster.own, .id = "good", .devices = "cpu", .measurer = "local"};
  seer_letter_worker version = good, sources = good, target = good, fake = good;
  version.id = "version";
  version.hello.version = "0.2.0";
  sources.id = "sources";
  sources.hello.revision = "0123456789abcdee";
  target.id = "target";
  target.hello.target_key = 18;
  fake.id = "fake";
  fake.measurer = "fake";
  good.hello.peak_gflops = 50;  // a slower machine of the same kind fits
  assert_true(seer_roster_see(&roster, &good));
  assert_false(seer_roster_see(&roster, &version));
  assert_false(seer_roster_see(&roster, &sources));
  assert_false(seer_roster_see(&roster, &target));
  assert_false(seer_roster_see(&roster, &fake));
  assert_true(seer_roster_see(&roster, &good));
  assert_int_equal(roster.n, 1);
  assert_int_equal(roster.n_refused, 4);
  assert_int_equal(seer_roster_find(&roster, "good"), 0);
  assert_int_equal(seer_roster_find(&roster, "fake"), UINT32_MAX);
  seer_arena_destroy(arena);
  seer_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_letter_comes_as_it_was_sent),
      cmocka_unit_test(another_key_place_or_type_is_refused),
      cmocka_unit_test(a_damaged_letter_is_refused),
      cmocka_unit_test(each_job_has_one_answer),
      cmocka_unit_test(what_was_not_asked_is_strange),
      cmocka_unit_test(times_that_cannot_be_are_strange),
      cmocka_unit_test(a_time_is_of_its_samples),
      cmocka_unit_test(a_lost_job_is_its_candidates_error),
      cmocka_unit_test(what_is_foreseen_answers_its_own_question),
      cmocka_unit_test(a_task_is_settled_when_what_is_certain_is_known),
      cmocka_unit_test(who_answers_nonsense_is_left_out_for_good),
      cmocka_unit_test(what_another_version_writes_is_named),
      cmocka_unit_test(workers_that_do_not_fit_are_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
