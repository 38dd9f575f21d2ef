// Who measures takes the machine first; who waits for it says so, and can be stopped.
#include <seer/familyseer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/os_fault.h"
#include "measure/backends.h"
#include "measure/lock.h"
#include "support/test.h"

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder, *lock;
  int held;  // by somebody else
  uint32_t n_told, n_asked, over_at;  // over_at: asked so often, it gives up; let_go_at: it is free
  uint32_t let_go_at;
} world;

static void open_world(world *w) {
  *w = (world){.held = -1};
  w->arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  w->lock = seer_os_path_join(w->arena, w->folder, "device.lock");
  w->context = seer_context_create_default();
  must(seer_context_set(w->context, "device-lock", w->lock));
}

static void close_world(world *w) {
  seer_os_close(w->held);
  seer_context_destroy(w->context);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
}

static bool is_over(void *user) {
  world *w = user;
  w->n_asked++;
  if (w->n_asked == w->let_go_at) {
    seer_os_close(w->held);
    w->held = -1;
  }
  return w->n_asked == w->over_at;
}

static void tell(void *user, const char *text) {
  assert_non_null(strstr(text, "another tuner"));
  ((world *)user)->n_told++;
}

static seer_status take(
    world *w, const seer_measure_desc *measure, seer_measure_lock *out, bool *out_over) {
  const seer_waiter waiter = {is_over, tell, w};
  return seer_measure_lock_take(w->context, measure, &waiter, out, out_over);
}

static void it_is_taken_by_one_at_a_time(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_measure_lock first, second;
  bool gave_up;
  must(take(&w, &seer_measure_local, &first, &gave_up));
  assert_true(seer_measure_lock_is_held(&first) && !gave_up);
  assert_int_equal(w.n_told, 0);
  // A formula's times are not this machine's.
  must(take(&w, &seer_measure_fake, &second, &gave_up));
  assert_true(!seer_measure_lock_is_held(&second) && !gave_up);
  w.over_at = 3;
  must(take(&w, &seer_measure_local, &second, &gave_up));
  assert_true(!seer_measure_lock_is_held(&second) && gave_up);
  assert_int_equal(w.n_told, 1);  // however often it looks
  seer_measure_lock_release(&second);
  seer_measure_lock_release(&first);
  seer_measure_lock_release(&first);
  must(seer_os_try_lock(w.lock, false, &w.held));
  w.over_at = 0;
  w.let_go_at = w.n_asked + 2;
  must(take(&w, &seer_measure_local, &second, &gave_up));
  assert_true(seer_measure_lock_is_held(&second) && !gave_up);
  assert_int_equal(w.n_told, 2);
  seer_measure_lock_release(&second);
  close_world(&w);
}

// With devices named it is the processors that are locked: beside others the machine is shared, and
// who names none waits for all.
static void processors_are_taken_by_one_at_a_time(void **state) {
  (void)state;
  world w;
  cpu_set_t all, own;
  open_world(&w);
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  uint32_t cpu = 0;
  while (!CPU_ISSET(cpu, &all)) cpu++;
  seer_measure_lock machine, first, second;
  bool gave_up;
  char text[32];
  (void)snprintf(text, sizeof text, "cpu:%u", cpu);
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  assert_int_equal(sched_setaffinity(0, sizeof own, &own), 0);
  seer_context *with = seer_context_create_default();
  must(seer_context_set(with, "device-lock", w.lock));
  must(seer_context_set(with, "devices", text));
  must(seer_context_find_target(with));
  const seer_waiter waiter = {is_over, tell, &w};
  must(seer_measure_lock_take(with, &seer_measure_local, &waiter, &first, &gave_up));
  assert_int_equal(first.n, 2);
  w.over_at = w.n_asked + 1;  // the same processor again
  must(seer_measure_lock_take(with, &seer_measure_local, &waiter, &second, &gave_up));
  assert_true(gave_up && !seer_measure_lock_is_held(&second));
  w.over_at = w.n_asked + 1;
  must(take(&w, &seer_measure_local, &machine, &gave_up));
  assert_true(gave_up && !seer_measure_lock_is_held(&machine));
  // Somebody else's processor is nothing to this one.
  must(seer_os_try_lock(seer_arena_printf(w.arena, "%s.%u", w.lock, cpu + 1), false, &w.held));
  seer_measure_lock_release(&first);
  must(seer_measure_lock_take(with, &seer_measure_local, &waiter, &second, &gave_up));
  assert_true(!gave_up && seer_measure_lock_is_held(&second));
  seer_measure_lock_release(&second);
  must(take(&w, &seer_measure_local, &machine, &gave_up));
  assert_true(!gave_up);
  w.over_at = w.n_asked + 1;
  must(seer_measure_lock_take(with, &seer_measure_local, &waiter, &first, &gave_up));
  assert_true(gave_up);
  seer_measure_lock_release(&machine);
  seer_context_destroy(with);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  close_world(&w);
}

// A lock that was named and cannot be is an error; where one is only usual, work goes on.
static void without_a_lock(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_measure_lock device;
  bool gave_up;
  must(seer_context_set(w.context, "device-lock", "/nowhere/lock"));
  seer_status status = take(&w, &seer_measure_local, &device, &gave_up);
  assert_int_equal(seer_status_code(status), SEER_CODE_NOT_FOUND);
  assert_non_null(strstr(seer_status_message(status), "/nowhere/lock"));
  seer_status_free(status);
  seer_context *usual = seer_context_create_default();
  const seer_waiter waiter = {is_over, tell, &w};
  seer_os_plant_fault(1);
  must(seer_measure_lock_take(usual, &seer_measure_local, &waiter, &device, &gave_up));
  seer_os_plant_fault(0);
  assert_true(!seer_measure_lock_is_held(&device) && !gave_up);
  seer_context_destroy(usual);
  close_world(&w);
}

// ---- the library
typedef struct {
  seer_tuner *tuner;
  uint32_t n_wait, n_done, n_other;
} hearing;

static void hear(void *user, const seer_tuner_event *event) {
  hearing *h = user;
  bool is_wait = strcmp(event->kind, "wait") == 0, is_done = strcmp(event->kind, "done") == 0;
  h->n_wait += is_wait;
  h->n_done += is_done;
  h->n_other += !is_wait && !is_done;
  if (is_wait) seer_tuner_stop(h->tuner);
}

static void a_stop_ends_the_wait(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_tuner *tuner;
  hearing h = {0};
  const char *folder = seer_os_path_join(w.arena, w.folder, "later"),
             *lock = seer_os_path_join(w.arena, folder, "lock"),
             *records = seer_os_path_join(w.arena, w.folder, "records"),
             *out = seer_os_path_join(w.arena, w.folder, "out");
  bool is_ok = !seer_tuner_create(&tuner) && !seer_tuner_set(tuner, "device-lock", lock) &&
      !seer_tuner_set(tuner, "records", records) && !seer_tuner_set(tuner, "trials", "8") &&
      !seer_tuner_set(tuner, "threads", "1") && !seer_tuner_load(tuner, "mlp");
  if (!is_ok) fail_msg("%s", seer_tuner_message(tuner));
  h.tuner = tuner;
  seer_tuner_listen(tuner, hear, &h);
  // It cannot begin, and may be asked again.
  for (int i = 0; i < 2; i++) {
    assert_int_equal(seer_tuner_tune(tuner), 1);
    assert_non_null(strstr(seer_tuner_message(tuner), lock));
  }
  must(seer_os_make_dirs(folder));
  must(seer_os_try_lock(lock, false, &w.held));
  assert_int_equal(seer_tuner_tune(tuner), 0);
  assert_int_equal(h.n_wait, 1);
  assert_int_equal(h.n_done, 1);
  assert_int_equal(h.n_other, 0);
  if (seer_tuner_compile(tuner, out)) fail_msg("%s", seer_tuner_message(tuner));
  assert_true(seer_os_exists(seer_os_path_join(w.arena, out, "model.so")));
  seer_tuner_destroy(tuner);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_is_taken_by_one_at_a_time),
      cmocka_unit_test(without_a_lock),
      cmocka_unit_test(processors_are_taken_by_one_at_a_time),
      cmocka_unit_test(a_stop_ends_the_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
