// OpenCL's row of devices, on PoCL's (the processor): all that every row must do, binaries and
// texts, and what refusals say.
// SEER_TEST: timeout=120 cost=5
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/device_check.h"
#include "support/test.h"

static const char wrong[] = "__kernel void add(__global float *y) { y[0] = undefined_name; }";

static seer_device_image texts[] = {{SEER_IMAGE_PTX, 70, "", ".version 7.0", 12},
    {SEER_IMAGE_OPENCL_C, 0, "", device_check_opencl, 0}};
static const seer_device_image wrong_text = {SEER_IMAGE_OPENCL_C, 0, "", wrong, sizeof wrong - 1};
static device_case pocl = {&seer_device_opencl, 0, texts, 2, &wrong_text};

static char says[2048];

static void texts_that_do_not_compile_say_why(void **state) {
  (void)state;
  seer_device *device;
  seer_device_module *module;
  assert_int_equal(seer_device_opencl.open(0, &device, says, sizeof says), SEER_RT_OK);
  assert_int_equal(
      seer_device_opencl.load(device, &wrong_text, 1, &module, says, sizeof says), SEER_RT_CORRUPT);
  assert_non_null(strstr(says, "undefined_name"));
  assert_non_null(strstr(says, "CL_BUILD_PROGRAM_FAILURE (-11)"));
  const seer_device_image empty = {SEER_IMAGE_OPENCL_C, 0, "", "", 0};
  assert_int_equal(
      seer_device_opencl.load(device, &empty, 1, &module, says, sizeof says), SEER_RT_CORRUPT);
  seer_device_opencl.close(device);
}

static void launches_have_all_arguments(void **state) {
  const device_case *c = *state;
  const seer_device_driver *is = c->driver;
  seer_device *device;
  seer_device_module *module;
  seer_device_queue *queue;
  seer_device_kernel *kernel;
  seer_device_launch launch = {1, 32, 0};
  void *args[3] = {0};
  assert_int_equal(is->open(0, &device, says, sizeof says), SEER_RT_OK);
  assert_int_equal(is->load(device, texts, 2, &module, says, sizeof says), SEER_RT_OK);
  assert_int_equal(is->queue_create(device, &queue, says, sizeof says), SEER_RT_OK);
  assert_int_equal(is->kernel_create(queue, module, "turn", &launch, &kernel, says, sizeof says),
      SEER_RT_INVALID);
  assert_non_null(strstr(says, "turn is for blocks of 64 x 1 x 1 items, not of 32"));
  assert_int_equal(
      is->kernel_create(queue, module, "add", &launch, &kernel, says, sizeof says), SEER_RT_OK);
  assert_int_equal(is->launch(queue, kernel, args, 2, says, sizeof says), SEER_RT_INVALID);
  assert_string_equal(says, "2 arguments for a kernel that has 3");
  is->kernel_destroy(queue, kernel);
  is->queue_destroy(queue);
  is->unload(device, module);
  is->close(device);
}

static uint64_t mapped_bytes(void) {
  unsigned long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%llu", &pages), 1);
  fclose(file);
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

// Four times as much, one after the other, as there is room for.
static void what_is_let_go_comes_back(void **state) {
  const device_case *c = *state;
  const seer_device_driver *is = c->driver;
  struct rlimit before, limit;
  seer_device *device;
  void *memory;
  assert_int_equal(is->open(0, &device, says, sizeof says), SEER_RT_OK);
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  limit = (struct rlimit){mapped_bytes() + (1u << 30), before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
  for (int k = 0; k < 64; k++) {
    if (is->alloc(device, 64u << 20, &memory, says, sizeof says) != SEER_RT_OK)
      fail_msg("number %d: %s", k, says);
    is->free(device, memory);
  }
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  is->close(device);
}

static void rows_are_found_by_name(void **state) {
  (void)state;
  assert_ptr_equal(seer_device_driver_find("opencl"), &seer_device_opencl);
  assert_null(seer_device_driver_find("vulkan"));
}

int main(void) {
  uint32_t n = 0;
  texts[1].n_bytes = DEVICE_CHECK_OPENCL_BYTES;
  setenv("POCL_DEVICES", "pthread basic", 1);  // two of them, both the processor
  seer_rt_code code = seer_device_opencl.count(&n, says, sizeof says);
  if (code != SEER_RT_OK || n == 0) {
    print_message("no OpenCL device: %s\n", says);
    return 1;  // tool/deps.sh installs PoCL
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_found_by_name),
      cmocka_unit_test_prestate(device_check_numbers, &pocl),
      cmocka_unit_test_prestate(device_check_work, &pocl),
      cmocka_unit_test_prestate(device_check_order, &pocl),
      cmocka_unit_test_prestate(device_check_threads, &pocl),
      cmocka_unit_test_prestate(device_check_marks, &pocl),
      cmocka_unit_test_prestate(device_check_graphs, &pocl),
      cmocka_unit_test_prestate(device_check_refusals, &pocl),
      cmocka_unit_test_prestate(device_check_fork, &pocl),
      cmocka_unit_test(texts_that_do_not_compile_say_why),
      cmocka_unit_test_prestate(launches_have_all_arguments, &pocl),
      cmocka_unit_test_prestate(what_is_let_go_comes_back, &pocl),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
