// test_board.c - a tuner's jobs at a broker: whoever answers nonsense, or takes jobs and is silent,
// is found out and gets nothing more; nobody else is blamed.
// SEER_TEST: timeout=60
#include <stdlib.h>
#include <string.h>

#include "measure/fleet/board.h"
#include "support/redis_server.h"
#include "support/test_arena.h"

// In which what is to happen has happened; of a tenth of a second each, so that what comes by
// itself after 10 s does not.
enum { N_STEPS = 20 };

typedef struct {
  redis_server server;
  seer_context *context;
  seer_board board;
  seer_hub hub;  // the workers'
  seer_measure_result result;
  seer_ledger_job *job;
} scene;

static const seer_redis_reply *ask(scene *s, const seer_redis_word *word, const char *command) {
  const seer_redis_reply *reply;
  must(seer_hub_ask(&s->hub, arena, &reply, word, "%s", command));
  must(seer_hub_refusal(&s->hub, reply));
  return reply;
}

#define TEXT(...) seer_arena_printf(arena, __VA_ARGS__)

static void step(scene *s) { must(seer_board_step(&s->board, 0)); }

// Names, and then their letters.
static void look(scene *s) {
  for (int k = 0; k < 2; k++) {
    s->board.looked_ns = 0;
    step(s);
  }
}

static void announce(scene *s, const char *name) {
  const char *place = TEXT("familyseer:worker:%s", name);
  const seer_letter_worker letter = {.hello = s->board.roster.own,
      .id = name,
      .target = "",
      .devices = "",
      .measurer = "local",
      .doing = "",
      .n_builders = 1,
      .build_s = 1,
      .run_s = 2};
  seer_redis_word word;
  seer_text text;
  seer_text_init(&text, arena);
  seer_letter_put_worker(&text, &letter);
  must(seer_hub_seal(&s->hub, place, SEER_WIRE_WORKER, &text, arena, &word));
  (void)ask(s, &word, TEXT("SET %s ?", place));
  (void)ask(s, NULL, TEXT("SADD familyseer:workers %s", name));
}

static void leave(scene *s, const char *name) {
  (void)ask(s, NULL, TEXT("DEL familyseer:worker:%s", name));
  look(s);
}

// Workers "one" and "two", and a round that is out.
static void begin(scene *s) {
  redis_server_start(&s->server, &(redis_server_options){0}, arena);
  s->context = seer_context_create_default();
  must(seer_context_set(s->context, "fleet", TEXT("unix://%s", s->server.path)));
  must(seer_board_init(&s->board, s->context, NULL));
  must(seer_hub_init(&s->hub, s->context));
  announce(s, "one");
  look(s);
  announce(s, "two");
  look(s);
  assert_int_equal(s->board.roster.n_there, 2);
  s->job = seer_ledger_add(&s->board.ledger, SEER_JOB_MEASURE, 1);
  s->job->letter.candidate[0].schedule = "a";
  s->job->results = &s->result;
  step(s);
  assert_non_null(s->job->at);
  assert_null(s->job->worker);
}

static void end(scene *s) {
  seer_board_clear(&s->board);
  seer_hub_clear(&s->hub);
  seer_context_destroy(s->context);
  redis_server_stop(&s->server);
}

static const char *jobs_of(const scene *s) {
  uint64_t session = s->board.ledger.session;
  return s->job->worker ? seer_hub_place_of_worker(arena, session, s->job->worker)
                        : seer_hub_place(arena, "jobs", session);
}

// The job is taken, as a worker does that has posted its answer; then it is to be sent again.
static void swallow(scene *s) {
  assert_int_equal(ask(s, NULL, TEXT("XDEL %s %s", jobs_of(s), s->job->at))->integer, 1);
}

static void expect_sent_again(scene *s) {
  uint32_t attempt = s->job->letter.attempt;
  for (int k = 0; k < N_STEPS && s->job->letter.attempt == attempt; k++) step(s);
  assert_int_equal(s->job->letter.attempt, attempt + 1);
  assert_int_equal(ask(s, NULL, TEXT("XRANGE %s %s %s", jobs_of(s), s->job->at, s->job->at))->n, 1);
}

static void keep_silent(scene *s) {
  swallow(s);
  s->board.heard_ns = 0;  // as if it were long ago
  expect_sent_again(s);
}

static void post(scene *s, const char *sender, const seer_text *payload, bool is_sealed) {
  const char *place = seer_hub_place(arena, "answers", s->board.ledger.session);
  seer_redis_word word;
  must(seer_hub_seal(&s->hub, place, SEER_WIRE_ANSWER, payload, arena, &word));
  char *data = seer_arena_memdup(arena, word.data, word.n);
  data[word.n - 1] ^= (char)!is_sealed;
  const seer_redis_word posted = {data, word.n};
  (void)ask(s, &posted, TEXT("XADD %s * %s ?", place, sender));
}

static void post_nonsense(scene *s, const char *sender, bool is_sealed) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "nonsense");
  post(s, sender, &text, is_sealed);
}

static void post_answer(scene *s, const char *name, const char *lost) {
  seer_measure_result told = {.seconds = 1, .n_samples = 1, .sample = {1}};
  const seer_letter_answer letter = {.session = s->board.ledger.session,
      .number = s->job->letter.number,
      .attempt = s->job->letter.attempt,
      .asked = seer_letter_job_key(&s->job->letter),
      .worker = name,
      .lost = lost,
      .n = 1,
      .result = &told};
  seer_text text;
  seer_text_init(&text, arena);
  seer_letter_put_answer(&text, &letter);
  post(s, name, &text, true);
}

static void answer(scene *s, const char *name) { post_answer(s, name, ""); }

// As a worker does, which then vouches for it.
static void hold(scene *s, const char *name) {
  const seer_redis_reply *taken = ask(s, NULL,
      TEXT("XREADGROUP GROUP " SEER_HUB_GROUP " %s COUNT 1 STREAMS %s >", name, jobs_of(s)));
  assert_int_equal(taken->n, 1);
}

// It is asked who has the job, and so many seconds have passed since that was asked before.
static void look_at_holder(scene *s, double passed_s) {
  s->board.held_ns -= (uint64_t)(passed_s * 1e9);
  step(s);
}

static void expect_done_by(scene *s, uint32_t device) {
  for (int k = 0; k < N_STEPS && !s->job->is_done; k++) step(s);
  assert_true(s->job->is_done);
  assert_int_equal(s->job->device, device);
}

// ---- cases
static void who_takes_jobs_and_is_silent_is_found_out(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  keep_silent(&s);
  assert_false(s.board.is_by_name);  // once may be an accident
  keep_silent(&s);
  assert_true(s.board.is_by_name);
  assert_string_equal(s.job->worker, "one");
  for (uint32_t k = 0; k < SEER_ROSTER_MOST_NONSENSE; k++) {
    assert_string_equal(s.job->worker, "one");
    keep_silent(&s);
  }
  assert_true(s.board.roster.worker[0].is_dismissed);
  assert_string_equal(s.job->worker, "two");
  assert_int_equal(s.board.roster.worker[1].n_nonsense, 0);
  answer(&s, "one");  // late, and not believed
  for (int k = 0; k < 10; k++) step(&s);
  assert_false(s.job->is_done);
  answer(&s, "two");
  expect_done_by(&s, 1);
  end(&s);
}

// A worker that lives and vouches: what it may take is 20 s, and what a build and a run may.
static void who_never_answers_is_left_out(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  hold(&s, "one");
  look_at_holder(&s, 6);
  assert_int_equal(s.job->holder, 0);
  assert_true(s.job->held_s < 0.1);
  for (int k = 1; k <= 3; k++) look_at_holder(&s, 7);
  assert_true(s.job->allowed_s > 22.9 && s.job->allowed_s < 23.1);
  assert_true(s.job->held_s > 20.9 && s.job->held_s < 22.9);
  step(&s);
  assert_false(s.board.roster.worker[0].is_dismissed);
  look_at_holder(&s, 7);
  for (int k = 0; k < 2; k++) step(&s);
  assert_true(s.board.roster.worker[0].is_dismissed);
  assert_false(s.board.roster.worker[1].is_dismissed);
  assert_string_equal(s.job->worker, "two");
  assert_int_equal(s.job->letter.attempt, 2);
  answer(&s, "one");  // late, and not believed
  answer(&s, "two");
  expect_done_by(&s, 1);
  end(&s);
}

// What is for it alone it need not even take.
static void who_takes_nothing_is_left_out(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  s.board.is_by_name = true;
  step(&s);
  assert_string_equal(s.job->worker, "one");
  for (int k = 0; k < 5; k++) look_at_holder(&s, 7);
  step(&s);
  assert_true(s.board.roster.worker[0].is_dismissed);
  assert_string_equal(s.job->worker, "two");
  end(&s);
}

// Neither is the second one blamed for what the first one took, nor anybody for what passed while
// the tuner was stopped.
static void time_is_counted_of_who_has_it(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  hold(&s, "one");
  for (int k = 0; k < 4; k++) look_at_holder(&s, 7);
  (void)ask(&s, NULL, TEXT("XCLAIM %s " SEER_HUB_GROUP " two 0 %s JUSTID", jobs_of(&s), s.job->at));
  look_at_holder(&s, 7);
  assert_int_equal(s.job->holder, 1);
  assert_int_equal(s.job->n_holders, 2);
  assert_true(s.job->held_s < 0.1);
  look_at_holder(&s, 1000);
  assert_true(s.job->held_s < 10.1);
  step(&s);
  assert_false(s.board.is_by_name);
  assert_int_equal(s.board.roster.n_there, 2);
  end(&s);
}

// Behind two tunings' work it may take twice as long.
static void others_tunings_have_their_time(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  (void)ask(&s, NULL, "SADD familyseer:tunings 0000000000000001");
  hold(&s, "one");
  for (int k = 0; k < 2; k++) look_at_holder(&s, 7);
  assert_int_equal(s.board.n_tunings, 2);
  assert_true(s.job->allowed_s > 25.9 && s.job->allowed_s < 26.1);
  end(&s);
}

// Somebody with the password who is none of the tuning's takes jobs from the common stream.
static void what_a_stranger_takes_is_sent_to_workers(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  hold(&s, "stranger");
  look_at_holder(&s, 7);
  assert_false(s.board.is_by_name);
  s.job->held_s = 1e6;
  for (int k = 0; k < 3; k++) step(&s);
  assert_true(s.board.is_by_name);
  assert_string_equal(s.job->worker, "one");
  assert_int_equal(s.board.roster.n_there, 2);
  end(&s);
}

// What may not be needed is nobody's to hurry with. When it is needed, it is sent as that, as
// others' jobs may come before what may not be, without end.
static void what_was_foreseen_is_due_when_it_is_asked(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  seer_ledger_remove(&s.board.ledger, s.job);
  s.job = seer_ledger_add(&s.board.ledger, SEER_JOB_CHECK, 1);
  s.job->letter.candidate[0].schedule = "a";
  s.job->results = &s.result;
  s.job->worker = "one";
  s.job->asked_of = SEER_MEASURE_HOME;
  s.job->is_foreseen = s.job->letter.is_maybe = true;
  step(&s);
  hold(&s, "one");
  for (int k = 0; k < 20; k++) look_at_holder(&s, 7);
  assert_true(s.job->held_s < 0.1);
  s.job->is_foreseen = false;
  for (int k = 0; k < 20 && s.job->letter.attempt == 1; k++) look_at_holder(&s, 7);
  assert_int_equal(s.job->letter.attempt, 2);
  assert_false(s.job->letter.is_maybe);
  assert_false(s.board.roster.worker[0].is_dismissed);
  hold(&s, "one");
  for (int k = 0; k < 20; k++) look_at_holder(&s, 7);
  assert_true(s.board.roster.worker[0].is_dismissed);
  end(&s);
}

// One that says that jobs are lost which are not.
static void who_says_lost_is_not_believed_alone(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  for (uint32_t k = 1; k <= SEER_ROSTER_MOST_NONSENSE; k++) {
    swallow(&s);
    post_answer(&s, "one", "no");
    expect_sent_again(&s);
    assert_false(s.job->is_done);
    assert_string_equal(s.job->worker, "two");
    post_answer(&s, "one", "no");  // once more, of what is another one's now
    answer(&s, "two");
    expect_done_by(&s, 1);
    assert_string_equal(s.job->lost, "");
    assert_int_equal(s.board.roster.worker[0].n_nonsense, k);
    seer_ledger_remove(&s.board.ledger, s.job);
    s.job = seer_ledger_add(&s.board.ledger, SEER_JOB_MEASURE, 1);
    s.job->letter.candidate[0].schedule = "a";
    s.job->results = &s.result;
    step(&s);
  }
  assert_true(s.board.roster.worker[0].is_dismissed);
  assert_int_equal(s.board.roster.worker[1].n_nonsense, 0);
  end(&s);
}

static void what_two_say_is_lost_is_lost(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  swallow(&s);
  post_answer(&s, "one", "no");
  expect_sent_again(&s);
  post_answer(&s, "two", "no, no");
  expect_done_by(&s, 1);
  assert_string_equal(s.job->lost, "no, no");
  assert_int_equal(s.board.roster.worker[0].n_nonsense, 0);
  end(&s);
}

// The worker that a job is sent to once more is gone before it answers.
static void what_is_sent_again_outlives_its_worker(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  swallow(&s);
  post_answer(&s, "one", "no");
  expect_sent_again(&s);
  assert_string_equal(s.job->worker, "two");
  assert_false(s.board.is_by_name);
  leave(&s, "two");
  step(&s);
  assert_string_equal(s.job->worker, "one");
  assert_non_null(s.job->at);
  end(&s);
}

// The broker has come back, and has not all that it had.
static void what_the_broker_lost_is_nobodys_fault(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  for (int k = 0; k < 3; k++) {
    swallow(&s);
    seer_hub_drop(&s.board.hub);
    expect_sent_again(&s);
    step(&s);
  }
  assert_false(s.board.is_by_name);
  assert_int_equal(s.job->n_missed, 0);
  answer(&s, "one");
  expect_done_by(&s, 0);
  end(&s);
}

static void who_answers_nonsense_gets_nothing_more(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  for (uint32_t k = 1; k <= SEER_ROSTER_MOST_NONSENSE; k++) {
    swallow(&s);
    post_nonsense(&s, "one", true);
    expect_sent_again(&s);  // and that is not waited for
    step(&s);
    assert_int_equal(s.board.roster.worker[0].n_nonsense, k);
  }
  assert_true(s.board.roster.worker[0].is_dismissed);
  assert_true(s.board.is_by_name);
  step(&s);
  assert_string_equal(s.job->worker, "two");
  end(&s);
}

static void nobody_is_blamed_for_what_has_no_seal(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  for (uint32_t k = 1; k <= 2 * SEER_ROSTER_MOST_NONSENSE; k++) {
    post_nonsense(&s, "one", false);
    while (s.board.ledger.n_strange < k) step(&s);
  }
  assert_int_equal(s.board.roster.worker[0].n_nonsense, 0);
  assert_false(s.board.is_by_name);
  answer(&s, "one");
  expect_done_by(&s, 0);
  end(&s);
}

// Rounds that are for certain workers are others' when those are gone; the third one does not try.
static void a_round_by_name_outlives_its_worker(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  s.board.is_by_name = true;
  step(&s);
  assert_string_equal(s.job->worker, "one");
  leave(&s, "one");
  step(&s);
  assert_string_equal(s.job->worker, "two");
  assert_non_null(s.job->at);
  announce(&s, "one");
  look(&s);
  assert_string_equal(s.job->worker, "two");
  leave(&s, "two");
  step(&s);
  assert_true(s.job->is_done);
  assert_string_equal(s.job->lost, "two workers were lost over it");
  end(&s);
}

// It does not know that its answers will not count.
static void who_is_too_many_takes_no_round(void **state) {
  (void)state;
  scene s = {0};
  begin(&s);
  for (uint32_t k = s.board.roster.n; k < SEER_MEASURE_MAX_DEVICES; k++)
    announce(&s, TEXT("w%u", k));
  look(&s);
  step(&s);
  assert_false(s.board.is_by_name);
  announce(&s, "more");
  look(&s);
  step(&s);
  assert_int_equal(s.board.roster.n, SEER_MEASURE_MAX_DEVICES);
  assert_non_null(s.job->worker);
  assert_int_equal(
      ask(&s, NULL, TEXT("XLEN %s", seer_hub_place(arena, "jobs", s.board.ledger.session)))
          ->integer,
      0);
  end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_takes_jobs_and_is_silent_is_found_out),
      cmocka_unit_test(who_never_answers_is_left_out),
      cmocka_unit_test(who_takes_nothing_is_left_out),
      cmocka_unit_test(time_is_counted_of_who_has_it),
      cmocka_unit_test(others_tunings_have_their_time),
      cmocka_unit_test(what_a_stranger_takes_is_sent_to_workers),
      cmocka_unit_test(what_was_foreseen_is_due_when_it_is_asked),
      cmocka_unit_test(who_says_lost_is_not_believed_alone),
      cmocka_unit_test(what_two_say_is_lost_is_lost),
      cmocka_unit_test(what_is_sent_again_outlives_its_worker),
      cmocka_unit_test(what_the_broker_lost_is_nobodys_fault),
      cmocka_unit_test(who_answers_nonsense_gets_nothing_more),
      cmocka_unit_test(nobody_is_blamed_for_what_has_no_seal),
      cmocka_unit_test(a_round_by_name_outlives_its_worker),
      cmocka_unit_test(who_is_too_many_takes_no_round),
  };
  unsetenv("SEER_FLEET_PASSWORD");
  return cmocka_run_group_tests(tests, arena_open, arena_close);
}
