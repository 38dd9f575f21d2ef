// Kernels of block programs: how they are launched, what compilers make of their text, and that
// they come over the wire as they are, or not at all.
// SEER_TEST: timeout=120 cost=5
#include <string.h>

#include "code/gpu/build.h"
#include "measure/wire/message.h"
#include "support/block_programs.h"
#include "support/test.h"

// Two phases, the second of fewer items and no memory of blocks.
static const char two_phases[] =
    "loop two { input $x f32[4, 64] of 0 shared $s f32[4, 64] of 1 output $y f32[4] of 2\n"
    "workgroup $g f32[64] of 3 workgroup $h i8[65] of 4\n"
    "phase { parallel @b < 4 stage 0 { alloc $g stage 0 alloc $h stage 0\n"
    "thread @t < 64 stage 0 { store $g[@t] stage 0 = $x[@b, @t] }\n"
    "barrier thread @u < 64 stage 0 { store $s[@b, @u] stage 0 = $g[63 - @u] } } }\n"
    "phase { parallel @c < 2 stage 1 { thread @v < 2 stage 1 {\n"
    "store $y[@c * 2 + @v] stage 1 = $s[@c * 2 + @v, 0] } } } }";

static seer_loop *parsed(const char *text, seer_arena *arena) {
  seer_loop *loop;
  must(seer_loop_parse("test", text, strlen(text), arena, &loop));
  return loop;
}

static void launches_are_said(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_kernel kernel;
  const seer_loop *loop = parsed(two_phases, arena);
  must(seer_gpu_write(loop, SEER_KERNEL_CUDA_C, "f", arena, &kernel));
  assert_int_equal(kernel.format, SEER_KERNEL_CUDA_C);
  assert_int_equal(kernel.n_phase, 2);
  assert_int_equal(kernel.n_parts[0], 4);
  assert_int_equal(kernel.launch[0].n_items, 64);
  assert_int_equal(kernel.launch[0].group_bytes, 256 + 128);  // each from a multiple of 64 on
  assert_int_equal(kernel.n_parts[1], 2);
  assert_int_equal(kernel.launch[1].n_items, 2);
  assert_int_equal(kernel.launch[1].group_bytes, 0);
  assert_int_equal(kernel.n_arg, 3);  // and no scratch
  assert_int_equal(kernel.scratch_bytes, 0);
  assert_non_null(strstr(kernel.object, "__launch_bounds__(2, 1) f_p1("));
  const char *second = strstr(kernel.object, "f_p1(");
  assert_null(strstr(second, "__shared__"));  // what the other phase has is not declared
  const char *serial =
      "loop no { input $x f32[4] of 0 output $y f32[4] of 1 phase { parallel @b < 4 stage 0 {\n"
      "store $y[@b] stage 0 = $x[@b] } } }";
  seer_status status =
      seer_gpu_write(parsed(serial, arena), SEER_KERNEL_OPENCL_C, "f", arena, &kernel);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static void blocks_have_no_more_memory_than_there_is(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_kernel kernel;
  const char *text =
      "loop much { output $y f32[4] of 0 workgroup $g f32[262145] of 1\n"
      "phase { alloc $g stage 0 thread @t < 4 stage 0 {\n"
      "store $g[@t] stage 0 = 1.0 store $y[@t] stage 0 = $g[@t] } } }";
  seer_status status = seer_gpu_write(parsed(text, arena), SEER_KERNEL_CUDA_C, "f", arena, &kernel);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "1048640 bytes of a block's memory"));
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static void drivers_build_them(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_opencl *opencl;
  seer_opencl_device device;
  seer_kernel text, binary;
  must(seer_opencl_open(NULL, &opencl));
  must(seer_opencl_find(opencl, "Portable Computing Language", SEER_OPENCL_ANY, 0, arena, &device));
  must(seer_gpu_write(parsed(two_phases, arena), SEER_KERNEL_OPENCL_C, "f", arena, &text));
  must(seer_gpu_compile_opencl(opencl, &device, NULL, &text, arena, &binary));
  assert_int_equal(binary.format, SEER_KERNEL_OPENCL);
  assert_int_equal(binary.code_bytes, binary.n_object_bytes);
  assert_memory_equal(binary.launch, text.launch, sizeof(text.launch));
  assert_true(binary.object != text.object && binary.n_object_bytes > 100);
  // A launch that is not the text's, and a device that has less.
  seer_kernel wrong = text;
  wrong.launch[1].n_items = 4;
  seer_status status = seer_gpu_compile_opencl(opencl, &device, NULL, &wrong, arena, &binary);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_INTERNAL);
  assert_non_null(strstr(seer_status_message(status), "f_p1 is for blocks of 2 items"));
  seer_status_free(status);
  seer_opencl_device small = device;
  small.group_bytes = 128;
  status = seer_gpu_compile_opencl(opencl, &small, NULL, &text, arena, &binary);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  seer_status_free(status);
  seer_opencl_close(opencl);
  seer_arena_destroy(arena);
}

// ---- over the wire

typedef struct {
  seer_arena *arena;
  seer_text text;
} letter;

static letter run_of(const seer_kernel *kernel, seer_arena *arena) {
  letter l = {.arena = arena};
  seer_text_init(&l.text, arena);
  seer_message_put_run(&l.text,
      &(seer_message_run){
          .task = 3, .best_seconds = 1e-5, .timing = {1e-3, 0.01, 0.1}, .kernel = *kernel});
  return l;
}

static seer_status read_run(const letter *l, size_t n_bytes, seer_message_run *out) {
  return seer_message_get_run(l->text.data, n_bytes, l->arena, out);
}

static seer_kernel kernel_of(seer_kernel_format format, seer_arena *arena) {
  seer_kernel kernel;
  must(seer_gpu_write(parsed(two_phases, arena), SEER_KERNEL_OPENCL_C, "f", arena, &kernel));
  kernel.format = format;
  return kernel;
}

static void they_travel_as_they_are(void **state) {
  (void)state;
  for (seer_kernel_format f = SEER_KERNEL_OPENCL_C; f < SEER_KERNEL_FORMAT_COUNT; f++) {
    seer_arena *arena = seer_arena_create("test");
    const seer_kernel kernel = kernel_of(f, arena);
    const letter l = run_of(&kernel, arena);
    seer_message_run got;
    must(read_run(&l, l.text.n_bytes, &got));
    assert_int_equal(got.kernel.format, f);
    assert_string_equal(got.kernel.symbol, "f");
    assert_memory_equal(got.kernel.launch, kernel.launch, sizeof(kernel.launch));
    assert_memory_equal(got.kernel.n_parts, kernel.n_parts, sizeof(kernel.n_parts));
    assert_int_equal(got.kernel.n_arg, kernel.n_arg);
    assert_int_equal(got.kernel.n_object_bytes, kernel.n_object_bytes);
    assert_memory_equal(got.kernel.object, kernel.object, kernel.n_object_bytes);
    const letter again = run_of(&got.kernel, arena);
    assert_int_equal(again.text.n_bytes, l.text.n_bytes);
    assert_memory_equal(again.text.data, l.text.data, l.text.n_bytes);
    for (size_t n = 0; n < l.text.n_bytes; n++) {
      seer_status status = read_run(&l, n, &got);
      assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
      seer_status_free(status);
    }
    seer_arena_destroy(arena);
  }
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *what;
    int items, group, scratch, format, last;
  } cases[] = {
      {"", 64, 384, 0, SEER_KERNEL_CUBIN, SEER_STORE_OUTPUT},
      {"a block's number of items", 0, 384, 0, SEER_KERNEL_CUBIN, SEER_STORE_OUTPUT},
      {"a block's number of items", 1025, 384, 0, SEER_KERNEL_CUBIN, SEER_STORE_OUTPUT},
      {"the size of a block's memory", 64, (1 << 20) + 1, 0, SEER_KERNEL_CUBIN, SEER_STORE_OUTPUT},
      {"a kernel's scratch", 64, 384, 1, SEER_KERNEL_CUBIN, SEER_STORE_OUTPUT},
      {"a kernel's format", 64, 384, 0, SEER_KERNEL_FORMAT_COUNT, SEER_STORE_OUTPUT},
      {"the place of the scratch", 64, 384, 0, SEER_KERNEL_CUBIN, SEER_STORE_LOCAL},
      // A processor's kernel has one, and no launch.
      {"the place of the scratch", 64, 384, 0, SEER_KERNEL_ELF, SEER_STORE_OUTPUT},
      {"", 0, 0, 64, SEER_KERNEL_ELF, SEER_STORE_LOCAL},
  };
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_kernel kernel = kernel_of((seer_kernel_format)cases[k].format, arena);
    kernel.launch[0] = (seer_kernel_launch){(uint32_t)cases[k].items, (uint32_t)cases[k].group};
    kernel.scratch_bytes = (uint64_t)cases[k].scratch;
    kernel.arg[kernel.n_arg - 1].storage = (seer_loop_storage)cases[k].last;
    const letter l = run_of(&kernel, arena);
    seer_message_run got;
    seer_status status = read_run(&l, l.text.n_bytes, &got);
    if ((status == NULL) != (cases[k].what[0] == '\0') ||
        (status && !strstr(seer_status_message(status), cases[k].what)))
      fail_msg("%s: %s", cases[k].what, status ? seer_status_message(status) : "accepted");
    seer_status_free(status);
    seer_arena_destroy(arena);
  }
}

// Who runs objects is not to load something else.
static void others_are_not_run_here(void **state) {
  (void)state;
  static const char net[] =
      "dag copy { input $x f32[4] stage y role anchor [i<4] = $x[i] output $y }";
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag;
  must(seer_dag_parse("net", net, sizeof(net) - 1, arena, &dag));
  seer_kernel kernel = kernel_of(SEER_KERNEL_CUBIN, arena);
  kernel.n_arg = 0;
  seer_status status = seer_message_fits_kernel(dag, NULL, false, &kernel);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
  assert_non_null(strstr(seer_status_message(status), "a kernel of format cubin"));
  seer_status_free(status);
  kernel.format = SEER_KERNEL_ELF;
  must(seer_message_fits_kernel(dag, NULL, false, &kernel));
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(launches_are_said),
      cmocka_unit_test(blocks_have_no_more_memory_than_there_is),
      cmocka_unit_test(drivers_build_them), cmocka_unit_test(they_travel_as_they_are),
      cmocka_unit_test(what_cannot_be_is_refused), cmocka_unit_test(others_are_not_run_here)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
