// Calls that run out of memory, or of what they may take, return; what they made is released.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/os.h"
#include "base/recover.h"
#include "support/test.h"

static void expect(seer_status status, const char *part) {
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_RESOURCE);
  if (!strstr(seer_status_message(status), part)) fail_msg("%s", seer_status_message(status));
  seer_status_free(status);
}

// What is released, in order.
typedef struct {
  char order[16];
  int n;
  seer_recover_owned owned[4];
  seer_arena *outside;
} story;

static story *told;
static void tell_a(void *what) { told->order[told->n++] = what ? 'a' : '?'; }
static void tell_b(void *what) { told->order[told->n++] = what ? 'b' : '?'; }

static seer_status fine(void *user) {
  story *s = user;
  seer_recover_own(&s->owned[0], tell_a, s);
  seer_arena *arena = seer_arena_create("kept");
  seer_recover_own(&s->owned[1], tell_b, arena);
  return SEER_OK;
}

static seer_status too_much(void *user) {
  story *s = user;
  SEER_TRY(seer_recover(fine, s));  // what it made is this call's now
  seer_arena *arena = seer_arena_create("huge");
  (void)seer_arena_alloc(s->outside, 100, 1);
  (void)seer_arena_alloc(arena, SIZE_MAX - 100, 1);
  return SEER_FAIL(INTERNAL, "so much memory there is not");
}

static void what_a_failed_call_made_is_released_newest_first(void **state) {
  (void)state;
  story s = {.outside = seer_arena_create("outside")};
  told = &s;
  seer_recover_fail_after(UINT64_MAX);
  expect(seer_recover(too_much, &s), "out of memory: huge asked for");
  assert_string_equal(s.order, "ba");
  char *still = seer_arena_alloc(s.outside, 10, 1);
  assert_int_equal(still[9], 0);
  seer_arena_destroy(s.outside);
}

static seer_status disowns(void *user) {
  story *s = user;
  seer_recover_own(&s->owned[0], tell_a, s);
  seer_recover_own(&s->owned[1], tell_b, s);
  seer_recover_disown(&s->owned[0]);
  (void)seer_arena_alloc(s->outside, SIZE_MAX - 100, 1);
  return SEER_OK;
}

static void what_is_disowned_stays(void **state) {
  (void)state;
  story s = {.outside = seer_arena_create("outside")};
  told = &s;
  seer_recover_own(&s.owned[2], tell_a, &s);  // no call is open: nothing happens
  seer_recover_disown(&s.owned[2]);
  expect(seer_recover(disowns, &s), "out of memory: outside");
  assert_string_equal(s.order, "b");
  seer_arena_destroy(s.outside);
}

static seer_status counts(void *user) {
  story *s = user;
  seer_recover_own(&s->owned[0], tell_a, s);
  for (int k = 0; k < 3; k++) {
    s->n++;
    seer_recover_work(1);
  }
  return SEER_OK;
}

static seer_status counts_within(void *user) { return seer_recover(counts, user); }

// Where work is counted, also in calls within; what the call made is released.
static void a_stopped_call_is_left(void **state) {
  (void)state;
  volatile sig_atomic_t stop = 0;
  const seer_recover_limits limits = {.stop = &stop};
  story s = {.n = 0};
  told = &s;
  must(seer_recover_within(&limits, counts_within, &s));
  assert_int_equal(s.n, 3);
  stop = 1;
  s = (story){.n = 0};
  seer_status status = seer_recover_within(&limits, counts_within, &s);
  assert_int_equal(seer_status_code(status), SEER_CODE_STOPPED);
  seer_status_free(status);
  assert_int_equal(s.n, 2);  // one for the work, one for what was released
  assert_int_equal(s.order[1], 'a');
  s = (story){.n = 0};
  must(seer_recover(counts_within, &s));  // nobody's stop
}

static seer_status hold(void *user) {
  seer_arena *arena = seer_arena_create("big");
  for (int i = 0; i < 100; i++) {  // freed again: only what is held counts
    seer_arena_mark mark = seer_arena_save(arena);
    (void)seer_arena_alloc(arena, *(size_t *)user, 1);
    seer_arena_rewind(arena, mark);
  }
  seer_arena_destroy(arena);
  return SEER_OK;
}

static seer_status hold_within_more(void *user) {
  const seer_recover_limits more = {
      .bytes = (uint64_t)1 << 40, .whose = "nobody", .raised_by = "--no"};
  return seer_recover_within(&more, hold, user);
}

static seer_status hold_after_raise(void *user) {
  seer_recover_raise((uint64_t)32 << 20, 0);
  return hold(user);
}

static void bytes_held_are_limited(void **state) {
  (void)state;
  const seer_recover_limits limits = {
      .bytes = (uint64_t)20 << 20, .whose = "a model of this size", .raised_by = "--model-memory"};
  size_t small = (size_t)15 << 20, large = (size_t)25 << 20;
  assert_null(seer_recover_within(&limits, hold, &small));
  static const char message[] =
      "of 20.0 MiB are used that a model of this size may take; "
      "--model-memory raises the limit";
  expect(seer_recover_within(&limits, hold, &large), message);
  expect(seer_recover_within(&limits, hold_within_more, &large), message);  // the tightest counts
  assert_null(seer_recover_within(&limits, hold_after_raise, &large));
  assert_null(seer_recover(hold, &large));
}

static seer_status works(void *user) {
  for (int i = 0; i < *(int *)user; i++) seer_recover_work(100);
  return SEER_OK;
}

static seer_status work_twice(void *user) {
  SEER_TRY(seer_recover(works, user));
  return works(user);
}

static void operations_are_limited(void **state) {
  (void)state;
  const seer_recover_limits limits = {.ops = 1000, .whose = "this", .raised_by = "--that"};
  int n = 5, more = 6;
  assert_null(seer_recover_within(&limits, work_twice, &n));
  expect(seer_recover_within(&limits, work_twice, &more),
      "asks for 100 operations, of which 0 are left to this; --that raises the limit");
  assert_true(seer_recover_work_left() == UINT64_MAX);
  assert_null(seer_recover(work_twice, &more));
}

// What is allowed within a call is allowed to those around it, and what was done counts once.
static seer_status raise_and_work(void *user) {
  seer_recover_raise(0, 3000);
  return works(user);
}

static seer_status raise_within(void *user) {
  SEER_TRY(seer_recover(raise_and_work, user));
  assert_int_equal(seer_recover_work_left(), 1000 + 3000 - 500);
  return works(user);
}

static seer_status raise_deep_within(void *user) {
  SEER_TRY(seer_recover(raise_within, user));
  assert_int_equal(seer_recover_work_left(), 1000 + 3000 - 1000);
  return SEER_OK;
}

static void operations_allowed_within_a_call_count_around_it(void **state) {
  (void)state;
  const seer_recover_limits limits = {.ops = 1000, .whose = "this", .raised_by = "--that"};
  int n = 5, more = 36;
  assert_null(seer_recover_within(&limits, raise_deep_within, &n));
  assert_null(seer_recover_within(&limits, raise_and_work, &more));
  more = 41;
  expect(seer_recover_within(&limits, raise_and_work, &more), "0 are left to this");
}

static seer_status nested_blocks(void *user) {
  seer_arena *arena = seer_arena_create("n");
  for (int i = 0; i < 64; i++) (void)seer_arena_alloc(arena, 1 << 20, 64);
  seer_arena_destroy(arena);
  (void)user;
  return SEER_OK;
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  uint64_t n = 0;
  for (;; n++) {
    seer_recover_fail_after(n);
    seer_status status = seer_recover(nested_blocks, NULL);
    seer_recover_fail_after(UINT64_MAX);
    if (!status) break;
    expect(status, "out of memory: n asked for");
  }
  assert_true(n > 10);
}

static seer_status run_in_thread_call(void *user) {
  seer_arena *arena = seer_arena_create("thread");
  (void)seer_arena_alloc(arena, SIZE_MAX - 100, 1);
  (void)user;
  return SEER_OK;
}

static void run_in_thread(void *user) {
  *(seer_status *)user = seer_recover(run_in_thread_call, NULL);
}

static seer_status with_thread(void *user) {
  seer_os_thread *thread = NULL;
  SEER_TRY(seer_os_thread_create(run_in_thread, user, &thread));
  seer_os_thread_join(thread);
  return SEER_OK;
}

static void threads_fail_on_their_own(void **state) {
  (void)state;
  seer_status of_thread = SEER_OK;
  assert_null(seer_recover(with_thread, &of_thread));
  expect(of_thread, "out of memory: thread");
}

static void headroom_is_asked_for(void **state) {
  (void)state;
  assert_null(seer_recover_headroom(1 << 20, "a test"));
  expect(seer_recover_headroom((uint64_t)1 << 62, "a test"), "out of memory: a test needs");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_failed_call_made_is_released_newest_first),
      cmocka_unit_test(what_is_disowned_stays),
      cmocka_unit_test(a_stopped_call_is_left),
      cmocka_unit_test(bytes_held_are_limited),
      cmocka_unit_test(operations_are_limited),
      cmocka_unit_test(operations_allowed_within_a_call_count_around_it),
      cmocka_unit_test(each_allocation_may_fail),
      cmocka_unit_test(threads_fail_on_their_own),
      cmocka_unit_test(headroom_is_asked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
