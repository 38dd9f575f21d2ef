// OpenCL's loader and the builder, with PoCL's device: what there is, what is built and what it
// needs, and what refusals say.
// SEER_TEST: timeout=120 cost=10
#include <stdlib.h>
#include <string.h>

#include "code/gen/generate.h"
#include "code/gpu/opencl.h"
#include "code/source/source.h"
#include "space/items/items.h"
#include "support/block_programs.h"
#include "support/device_check.h"
#include "support/test.h"

#define POCL "Portable Computing Language"

static void devices_are_found_by_kind_and_number(void **state) {
  seer_opencl *opencl = *state;
  seer_arena *arena = seer_arena_create("test");
  seer_opencl_device device, same;
  must(seer_opencl_find(opencl, POCL, SEER_OPENCL_CPU, 0, arena, &device));
  assert_string_equal(device.platform, POCL);
  assert_int_equal(device.kind, SEER_OPENCL_CPU);
  assert_non_null(strstr(device.version, "OpenCL "));
  assert_true(strlen(device.name) > 0 && device.n_units >= 1 && device.max_items >= 64);
  assert_true(device.group_bytes >= 16384 && device.memory_bytes > device.group_bytes);
  // The same among all, wherever it stands.
  bool found = false;
  for (uint32_t k = 0; !found; k++) {
    must(seer_opencl_find(opencl, NULL, SEER_OPENCL_ANY, k, arena, &same));
    found = same.handle == device.handle;
  }
  assert_string_equal(same.name, device.name);
  must(seer_opencl_find(opencl, POCL, SEER_OPENCL_CPU, 1, arena, &same));
  assert_true(same.handle != device.handle);
  static const struct {
    seer_opencl_kind kind;
    uint32_t index;
    const char *says;
  } none[] = {{SEER_OPENCL_GPU, 0, "number 0 of kind gpu, of " POCL ": OpenCL has 0"},
      {SEER_OPENCL_CPU, 2, "number 2 of kind cpu, of " POCL ": OpenCL has 2"}};
  for (uint32_t k = 0; k < SEER_COUNT_OF(none); k++) {
    seer_status status =
        seer_opencl_find(opencl, POCL, none[k].kind, none[k].index, arena, &device);
    assert_non_null(status);
    assert_int_equal(seer_status_code(status), SEER_CODE_NOT_FOUND);
    assert_non_null(strstr(seer_status_message(status), none[k].says));
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

static uint64_t group_bytes(const seer_loop *loop) {
  uint64_t n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (loop->buf[b].storage == SEER_STORE_WORKGROUP) n += (uint64_t)loop->buf[b].n_elems * 4;
  }
  return n;
}

static void programs_say_what_they_need(void **state) {
  seer_opencl *opencl = *state;
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  seer_arena *arena = seer_arena_create("test");
  seer_opencl_device device;
  must(seer_opencl_find(opencl, POCL, SEER_OPENCL_ANY, 0, arena, &device));
  const char *names[] = {"wide", "softmax"};
  for (uint32_t k = 0; k < SEER_COUNT_OF(names); k++) {
    const block_program *program = block_program_named(names[k]);
    seer_loop *loop = block_program_parse(program, block_program_text(program, arena), arena);
    seer_vec_code *code;
    const char *texts[2] = {seer_source_prelude(seer_dialect_find("opencl"), arena)};
    seer_opencl_program built;
    must(seer_gen_code(loop, &machine, program->name, arena, &code));
    must(seer_source_print(code, seer_dialect_find("opencl"), arena, &texts[1]));
    // A compiler that makes vectors of items is told how many there are.
    const char *items =
        seer_arena_printf(arena, "ITEMS(%" PRId64 ");", seer_items_of_phase(loop, 0));
    assert_non_null(strstr(texts[1], items));
    assert_non_null(strstr(texts[0], "#define ITEMS(n) __builtin_assume(get_local_id(0) < (n))"));
    must(seer_opencl_build(opencl, &device, names[k], texts, 2, NULL, arena, &built));
    assert_int_equal(built.n, 1);
    assert_string_equal(built.kernel[0].name, code->phase[0].name);
    assert_int_equal(built.kernel[0].items, seer_items_of_phase(loop, 0));
    assert_true(built.kernel[0].max_items >= built.kernel[0].items);
    assert_int_equal(built.kernel[0].group_bytes, group_bytes(loop));
    assert_true(built.n_binary_bytes > 100);
  }
  seer_arena_destroy(arena);
}

static void refusals_say_why(void **state) {
  seer_opencl *opencl = *state, *none;
  seer_arena *arena = seer_arena_create("test");
  seer_opencl_device device;
  seer_opencl_program built;
  must(seer_opencl_find(opencl, POCL, SEER_OPENCL_ANY, 0, arena, &device));
  const char *wrong = "__kernel void f(__global float *y) { y[0] = undefined_name; }\n";
  seer_status status = seer_opencl_build(opencl, &device, "wrong", &wrong, 1, NULL, arena, &built);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  assert_non_null(strstr(seer_status_message(status), "undefined_name"));
  assert_non_null(strstr(seer_status_message(status), "wrong"));
  seer_status_free(status);
  status =
      seer_opencl_build(opencl, &device, "options", &wrong, 1, "-Dundefined_name=1", arena, &built);
  must(status);
  assert_int_equal(built.n, 1);
  assert_int_equal(built.kernel[0].items, 0);
  static const struct {
    const char *path, *says;
  } others[] = {{"/nowhere/libOpenCL.so", "/nowhere/libOpenCL.so"},
      {"libm.so.6", "libm.so.6 has no clGetPlatformIDs"}};
  for (uint32_t k = 0; k < SEER_COUNT_OF(others); k++) {
    status = seer_opencl_open(others[k].path, &none);
    assert_int_equal(seer_status_code(status), SEER_CODE_NOT_FOUND);
    assert_non_null(strstr(seer_status_message(status), others[k].says));
    assert_null(none);
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

// What code/gpu builds is loaded by who is named so, and is refused where it is damaged.
static void what_is_built_is_for_one_device(void **state) {
  seer_opencl *opencl = *state;
  char says[512];
  seer_arena *arena = seer_arena_create("test");
  seer_opencl_device of;
  seer_opencl_program built;
  seer_device_info info;
  char made_for[SEER_DEVICE_MADE_FOR_BYTES], damaged[256];
  const char *source = seer_arena_strndup(arena, device_check_opencl, DEVICE_CHECK_OPENCL_BYTES);
  must(seer_opencl_find(opencl, NULL, SEER_OPENCL_ANY, 0, arena, &of));
  must(seer_opencl_build(opencl, &of, "test", &source, 1, NULL, arena, &built));
  assert_int_equal(seer_device_opencl.describe(0, &info, says, sizeof says), SEER_RT_OK);
  seer_device_made_for(&info, made_for);
  assert_true(strncmp(made_for, info.name, strlen(info.name)) == 0);
  assert_non_null(strstr(made_for, ", Portable Computing Language "));
  memset(damaged, 0x5A, sizeof damaged);
  const seer_device_image broken = {SEER_IMAGE_OPENCL, 0, made_for, damaged, sizeof damaged};
  // One for another driver comes first, and a text that would do behind it.
  const seer_device_image images[] = {{SEER_IMAGE_OPENCL, 0, "x", damaged, sizeof damaged},
      {SEER_IMAGE_OPENCL, 0, made_for, built.binary, built.n_binary_bytes},
      {SEER_IMAGE_OPENCL_C, 0, "", source, strlen(source)}};
  device_case binary = {&seer_device_opencl, 0, images, 3, &broken};
  void *as_state = &binary;
  device_check_work(&as_state);
  device_check_refusals(&as_state);
  seer_arena_destroy(arena);
}

int main(void) {
  seer_opencl *opencl;
  setenv("POCL_DEVICES", "pthread basic", 1);  // two of them, both the processor
  must(seer_opencl_open(NULL, &opencl));  // tool/deps.sh installs it, and PoCL
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(devices_are_found_by_kind_and_number, opencl),
      cmocka_unit_test_prestate(programs_say_what_they_need, opencl),
      cmocka_unit_test_prestate(refusals_say_why, opencl),
      cmocka_unit_test_prestate(what_is_built_is_for_one_device, opencl)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  seer_opencl_close(opencl);
  return failed;
}
