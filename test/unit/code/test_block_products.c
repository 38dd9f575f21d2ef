// Drawn products: the code of their items computes them, and how many registers it is said to take
// is held against NVRTC's. What is alive is counted by hand where code is short.
// SEER_TEST: timeout=120 cost=15
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "code/gen/generate.h"
#include "code/gpu/build.h"
#include "code/gpu/registers.h"
#include "support/block_products.h"
#include "support/block_programs.h"
#include "support/test.h"

#define VENV \
  SEER_SOURCE_DIR "/.venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"

static seer_vec_code *code_of(const seer_loop *loop, seer_arena *arena) {
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  seer_vec_code *code;
  must(seer_gen_code(loop, &machine, "drawn", arena, &code));
  must(seer_vec_verify(code));
  return code;
}

static void drawn_products_are_computed(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 7);
  for (uint32_t n = 0; n < 10;) {
    seer_arena *arena = seer_arena_create("test");
    const block_product product = block_product_draw(&rng);
    if (product.m * product.n * product.k < 200000) {  // the others take long, and are no other
      seer_loop *loop = block_product_loop(&product, arena);
      void **data = block_program_data(loop, &rng, arena);
      must(seer_vec_eval(code_of(loop, arena), data, &rng));
      const char *wrong = block_product_compare(&product, data, arena);
      if (wrong) fail_msg("%s", wrong);
      n++;
    }
    seer_arena_destroy(arena);
  }
}

// ---- registers

static void what_is_alive_is_counted(void **state) {
  (void)state;
  static const struct {
    const char *body;
    uint32_t values, indices, addresses;
  } cases[] = {
      // two numbers at a time, from an address that is used three times
      {"%3 ptr = move %0, %2 of f32 %4 f32 = load %3 $x %5 ptr = move %3, i64 1 of f32\n"
       "%6 f32 = load %5 $x %7 f32 = fadd %4, %6 %8 ptr = move %1, i64 7 of f32 store %8, %7 $y",
          1, 0, 2},
      // a number and its index, of a block's memory
      {"%3 ptr = buffer $g %4 ptr = move %3, %2 of f32 %5 f32 = load %4 $g\n"
       "%6 ptr = move %1, %2 of f32 store %6, %5 $y",
          1, 0, 2},
      // lanes until the last one is used
      {"%3 f32x4 = load %0 align 16 $x %4 f32 = extract %3 lane 0 %5 f32 = extract %3 lane 3\n"
       "%6 f32 = fadd %4, %5 store %1, %6 $y",
          4, 0, 0},
      // a variable and what it is added to; the number of turns is none
      {"slot store slot[0], f32 0 loop i64 4 runs { %3 i64 = counter 1 %4 ptr = move %0, %3 of "
       "f32\n"
       "%5 f32 = load %4 $x %6 f32 = load slot[0] %7 f32 = fadd %5, %6 store slot[0], %7 }\n"
       "%8 f32 = load slot[0] store %1, %8 $y",
          1, 1, 2},
      // what a loop reads is alive in all of its turns, and its counter
      {"%3 f32 = load %0 $x loop i64 4 runs { %4 i64 = counter 1 %5 f32 = fadd %3, %3\n"
       "%6 ptr = move %1, %4 of f32 store %6, %5 $y }",
          2, 1, 2},
      // equal sums are one
      {"%3 f32 = load %0 $x %4 f32 = fadd %3, %3 %5 f32 = fadd %3, %3 %6 f32 = fadd %3, %3\n"
       "%7 f32 = fmuladd %4, %5, %6 store %1, %7 $y",
          1, 0, 0},
      // and equal loads
      {"%3 ptr = move %0, %2 of f32 %4 f32 = load %3 $x %5 ptr = move %0, %2 of f32\n"
       "%6 f32 = load %5 $x %7 f32 = fadd %4, %6 %8 f32 = fadd %6, %4 %9 f32 = fadd %7, %7\n"
       "store %1, %9 $y",
          0, 0, 2},
  };
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop;
  static const char text[] =
      "loop l { input $x f32[64] of 0 output $y f32[64] of 1 workgroup $g f32[64] of 2\n"
      "phase { alloc $g stage 0 thread @t < 32 stage 0 { store $y[@t] stage 0 = $x[@t] } } }";
  must(seer_loop_parse("test", text, strlen(text), arena, &loop));
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    const char *body = cases[k].body;
    bool has_slot = strncmp(body, "slot ", 5) == 0;
    const char *all = seer_arena_printf(arena,
        "vector l { scratch 0 phase f_p0 { %s %%0 ptr = buffer $x %%1 ptr = buffer $y\n"
        "%%2 i64 = item %s } }",
        has_slot ? "slot[0] = f32 * 1" : "", has_slot ? body + 5 : body);
    seer_vec_code *code;
    must(seer_vec_parse("test", all, strlen(all), loop, arena, &code));
    must(seer_vec_verify(code));
    const seer_gpu_registers r = seer_gpu_estimate_registers(code, 0);
    if (r.values != cases[k].values || r.indices != cases[k].indices ||
        r.addresses != cases[k].addresses || r.estimate <= r.values + r.indices + r.addresses)
      fail_msg("%s: %u values, %u indices, %u addresses", body, r.values, r.indices, r.addresses);
  }
  seer_arena_destroy(arena);
}

static int compare(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

// Other products than those that the estimate was fitted to.
static void estimates_are_near_the_compilers(void **state) {
  (void)state;
  enum { N = 24 };
  static const uint32_t sms[] = {80, 90};
  glob_t found;
  seer_nvrtc *nvrtc;
  if (glob(VENV, 0, NULL, &found) != 0) fail_msg("tool/deps.sh gpu installs %s", VENV);
  must(seer_nvrtc_open(found.gl_pathv[0], &nvrtc));
  globfree(&found);
  for (uint32_t s = 0; s < SEER_COUNT_OF(sms); s++) {
    double error[N];
    seer_rng rng;
    seer_rng_init(&rng, 1234);
    for (uint32_t k = 0; k < N; k++) {
      seer_arena *arena = seer_arena_create("test");
      const block_product product = block_product_draw(&rng);
      const seer_loop *loop = block_product_loop(&product, arena);
      seer_kernel text, built;
      seer_cubin cubin;
      must(seer_gpu_write(loop, SEER_KERNEL_CUDA_C, "drawn", arena, &text));
      must(seer_gpu_compile_cuda(nvrtc, sms[s], &text, arena, &built));
      must(seer_cubin_read(built.object, built.n_object_bytes, arena, &cubin));
      double has = cubin.kernel[0].registers;
      double said = seer_gpu_estimate_registers(code_of(loop, arena), 0).estimate;
      error[k] = has < said ? said / has - 1 : 1 - said / has;
      seer_arena_destroy(arena);
    }
    qsort(error, N, sizeof(double), compare);
    print_message(
        "sm_%u: median %.3f, nine of ten %.3f\n", sms[s], error[N / 2], error[N * 9 / 10]);
    assert_true(error[N / 2] <= 0.15);
    assert_true(error[N * 9 / 10] <= 0.5);
  }
  seer_nvrtc_close(nvrtc);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_products_are_computed),
      cmocka_unit_test(what_is_alive_is_counted),
      cmocka_unit_test(estimates_are_near_the_compilers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
