// Devices by number as targets, on a libcuda without a device: what the options hold afterwards.
#include <stdlib.h>
#include <string.h>

#include "code/gpu/here.h"
#include "setup/gpu/gpu.h"
#include "support/mock_cuda.h"
#include "support/test_arena.h"

typedef struct {
  const char *name, *value;
} given;

// Of the options that are given, what the target and the devices are afterwards.
static seer_status find(
    const given *options, size_t n, bool times, const char **out_target, const char **out_devices) {
  seer_context *context = seer_context_create_default();
  for (size_t i = 0; i < n; i++)
    assert_null(seer_context_set(context, options[i].name, options[i].value));
  seer_status status = seer_gpu_find_here(context, times);
  const char *devices = seer_context_shown(context, SEER_OPT_DEVICES, 0);
  *out_target = seer_arena_strdup(arena, seer_context_shown(context, SEER_OPT_TARGET, 0));
  *out_devices = seer_arena_strdup(arena, devices);
  for (int option = 0; option < SEER_OPT_COUNT; option++)
    assert_false(seer_context_was_read(context, (seer_option)option));
  seer_context_destroy(context);
  return status;
}

static void numbers_become_what_the_driver_says(void **state) {
  (void)state;
  const char *target, *devices;
  const given second = {"target", "cuda:1 -l2=1M"};
  assert_int_equal(setenv("MOCK_CUDA", "devices=2,architecture=80", 1), 0);
  assert_null(find(&second, 1, false, &target, &devices));
  assert_string_equal(devices, "");
  seer_target t;
  assert_null(seer_target_parse(target, arena, &t));
  assert_int_equal(t.kind, SEER_TARGET_CUDA);
  assert_int_equal(t.gpu.architecture, 80);
  assert_int_equal(t.gpu.n_processors, 132);
  assert_int_equal(t.gpu.l2_bytes, 1 << 20);  // given, in place of the driver's
  // The same text on a machine without it: nothing is looked for.
  assert_int_equal(setenv("MOCK_CUDA", "devices=0", 1), 0);
  const given printed = {"target", target}, named = {"target", "cuda:h100"};
  const char *again;
  assert_null(find(&printed, 1, true, &again, &devices));
  assert_string_equal(again, target);
  assert_string_equal(devices, "");
  assert_null(find(&named, 1, true, &again, &devices));
  assert_string_equal(again, "cuda:h100");
}

static void what_times_does_so_there(void **state) {
  (void)state;
  static const struct {
    given other;
    const char *devices;
  } cases[] = {{{"timeout", "1"}, "cuda:1"}, {{"devices", "cuda:0"}, "cuda:0"},
      {{"measure", "fake"}, ""}, {{"measure", "replay:x"}, ""}, {{"fleet", "redis://x"}, ""},
      {{"measure", "local:delay=1s"}, "cuda:1"}};
  const char *target, *devices;
  assert_int_equal(setenv("MOCK_CUDA", "devices=2", 1), 0);
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const given options[] = {{"target", "cuda:1"}, cases[i].other};
    assert_null(find(options, 2, true, &target, &devices));
    if (strcmp(devices, cases[i].devices) != 0)
      fail_msg("%s=%s: on %s", cases[i].other.name, cases[i].other.value, devices);
  }
}

static void what_is_not_there_is_said(void **state) {
  (void)state;
  static const struct {
    const char *mock, *target, *message;
    seer_code code;
  } cases[] = {{"devices=2", "cuda:2", "target cuda:2: no device number 2: CUDA has 2; there are",
                   SEER_CODE_NOT_FOUND},
      {"devices=2", "cuda:2", "cuda:1 (Mock 1); `familyseer devices` lists all",
          SEER_CODE_NOT_FOUND},
      {"devices=0", "cuda:0", "CUDA has 0; `familyseer", SEER_CODE_NOT_FOUND},
      {"architecture=61", "cuda:0", "sm_61; known are cuda:sm_70", SEER_CODE_UNSUPPORTED},
      {"init=803", "cuda:0", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", SEER_CODE_DEVICE}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    const given one = {"target", cases[i].target};
    const char *target, *devices;
    assert_int_equal(setenv("MOCK_CUDA", cases[i].mock, 1), 0);
    seer_status status = find(&one, 1, true, &target, &devices);
    assert_non_null(status);
    assert_int_equal(seer_status_code(status), cases[i].code);
    if (!strstr(seer_status_message(status), cases[i].message))
      fail_msg("%s with %s: %s", one.value, cases[i].mock, seer_status_message(status));
    assert_string_equal(target, one.value);
    seer_status_free(status);
  }
}

int main(int argc, char **argv) {
  (void)argc;
  mock_cuda_begin(argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_become_what_the_driver_says),
      cmocka_unit_test(what_times_does_so_there),
      cmocka_unit_test(what_is_not_there_is_said),
  };
  return cmocka_run_group_tests(tests, arena_open, arena_close);
}
