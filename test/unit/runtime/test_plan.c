// The plan check and opening: what is damaged is refused with a reason, and never followed.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "hand_plan.h"
#include "plan_damage.h"
#include "runtime/cpu.h"

static hand_plan plan;
static hand_weights weights;

static int setup(void **state) {
  (void)state;
  hand_plan_make(&plan, &weights);
  return 0;
}

static seer_rt_code open_with(int verify, char *message, size_t n, seer_model **out) {
  seer_model_source source = {&plan, sizeof plan, hand_kernels, NULL, &weights, sizeof weights,
      verify, NULL, NULL, NULL, 0};
  return seer_rt_open(&source, out, message, n);
}

static void sound(void **state) {
  (void)state;
  assert_null(seer_plan_check(&plan, sizeof plan));
  char message[200];
  seer_model *model;
  assert_int_equal(open_with(1, message, sizeof message, &model), SEER_RT_OK);
  assert_int_equal(seer_rt_n_inputs(model), 1);
  assert_int_equal(seer_rt_n_outputs(model), 2);
  assert_string_equal(seer_rt_input(model, 0)->name, "x");
  assert_string_equal(seer_rt_output(model, 1)->name, "z");
  assert_null(seer_rt_output(model, 2));
  assert_null(seer_rt_input(model, -1));
  assert_int_equal(seer_rt_output(model, 0)->dim[1], HAND_N / 8);
  assert_string_equal(seer_rt_info_json(model), "{}");
  seer_rt_close(model);
}

static void each_field(void **state) {
  (void)state;
  EXPECT_BAD(plan.header.magic ^= 1);
  EXPECT_BAD(plan.header.version++);
  EXPECT_BAD(plan.header.flushes_denormals = 2);
  EXPECT_BAD(plan.header.n_bytes--);
  EXPECT_BAD(plan.header.n_step = 1u << 31);
  EXPECT_BAD(plan.header.n_arg = 1u << 30);
  EXPECT_BAD(plan.header.arg_offset += 4);
  EXPECT_BAD(plan.header.io_offset = UINT32_MAX - 7);
  EXPECT_BAD(plan.header.n_input = 2);  // the output's index is then none
  EXPECT_BAD(plan.header.n_phase = 2);
  EXPECT_BAD(plan.header.phase_offset = 0);
  EXPECT_BAD(plan.header.strings_bytes = 0);
  EXPECT_BAD(memset(plan.strings, 'a', sizeof plan.strings));
  EXPECT_BAD(memset(plan.json, 'a', sizeof plan.json));
  EXPECT_BAD(plan.header.features_string = 64);
  EXPECT_BAD(plan.header.cpu_string = 64);
  EXPECT_BAD(plan.header.arena_bytes = 3968);
  EXPECT_BAD(plan.header.arena_bytes = UINT64_MAX);
  EXPECT_BAD(plan.header.shared_bytes = 3);
  EXPECT_BAD(plan.header.weight_bytes = 3999);
  EXPECT_BAD(plan.arg[2].offset = 64);
  EXPECT_BAD(plan.arg[2].offset = UINT64_MAX - 63);
  EXPECT_BAD(plan.arg[1].offset = 4);  // promised to be aligned
  EXPECT_BAD(plan.arg[0].offset = 1);
  EXPECT_BAD(plan.arg[0].n_bytes++);
  EXPECT_BAD(plan.arg[5].offset = 2);
  EXPECT_BAD(plan.arg[6].kind = 6);
  EXPECT_BAD(plan.arg[6].kind = 0);
  EXPECT_BAD(plan.made[0].step = 3);
  EXPECT_BAD(plan.made[0].step = 2);  // behind those of a later step
  EXPECT_BAD(plan.made[0].name_string = 64);
  EXPECT_BAD(plan.made[1].onnx_dtype = 11);
  EXPECT_BAD(plan.made[1].onnx_dtype = 0);
  EXPECT_BAD(plan.made[0].rank = 13);
  EXPECT_BAD(plan.made[0].rank = -1);
  EXPECT_BAD(plan.made[1].first_extent = 5);
  EXPECT_BAD(plan.made[1].arg = 9);
  EXPECT_BAD(plan.extent[0]++);
  EXPECT_BAD(plan.extent[2]++);
  EXPECT_BAD(plan.extent[5] = -1);
  EXPECT_BAD(plan.extent[7] = INT64_MAX);
  EXPECT_BAD(plan.header.n_made = UINT32_MAX);
  EXPECT_BAD(plan.header.made_offset++);
  EXPECT_BAD(plan.header.n_extent = 7);
  EXPECT_BAD(plan.header.extent_offset = sizeof plan);
  EXPECT_BAD(plan.step[0].kind = 9);
  EXPECT_BAD(plan.step[0].name_string = 64);
  EXPECT_BAD(plan.step[1].n_phase = 3);
  EXPECT_BAD(plan.step[0].n_phase = 0);
  EXPECT_BAD(plan.step[1].first_arg = UINT32_MAX);
  EXPECT_BAD(plan.step[2].n_bytes++);
  EXPECT_BAD(plan.step[2].n_arg = 1);
  EXPECT_BAD(plan.arg[8] = plan.arg[1]);  // a copy into the weights
  EXPECT_BAD(plan.io[0].rank = 13);
  EXPECT_BAD(plan.io[0].rank = -1);
  EXPECT_BAD(plan.io[0].dim[0] = -8);
  EXPECT_BAD(plan.io[1].dim[0] = INT64_MAX);
  EXPECT_BAD(plan.io[1].n_bytes += 4);
  EXPECT_BAD(plan.io[1].onnx_dtype = 8);
  EXPECT_BAD(plan.phase[2].n_parts = 0);
}

// Random damage is refused, or harmless: all that the check lets through stays within its bounds
// (ASan sees to it).
static void random_damage(void **state) {
  (void)state;
  assert_true(plan_damage(setup, &plan, sizeof plan, 7) > 10000);
}

static void weights_checked(void **state) {
  (void)state;
  char message[200];
  seer_model *model;
  weights.w[5] += 1;
  assert_int_equal(open_with(0, message, sizeof message, &model), SEER_RT_OK);
  seer_rt_close(model);
  assert_int_equal(open_with(1, message, sizeof message, &model), SEER_RT_CORRUPT);
  assert_non_null(strstr(message, "damaged"));
  hand_plan_make(&plan, &weights);
  weights.header.hash++;
  assert_int_equal(open_with(0, message, sizeof message, &model), SEER_RT_CORRUPT);
  assert_non_null(strstr(message, "another model"));
  hand_plan_make(&plan, &weights);
  weights.header.magic++;
  assert_int_equal(open_with(0, message, sizeof message, &model), SEER_RT_CORRUPT);
  hand_plan_make(&plan, &weights);
  seer_model_source source = {
      &plan, sizeof plan, hand_kernels, NULL, &weights, sizeof weights - 4, 0, NULL, NULL, NULL, 0};
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_CORRUPT);
  assert_non_null(strstr(message, "cut short"));
  source.weights_path = "/nonexistent/weights.bin";
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_INVALID);
  assert_non_null(strstr(message, "must be one of them"));
  source.weights = NULL;
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_NOT_FOUND);
  assert_non_null(strstr(message, "/nonexistent/weights.bin"));
  source.weights_path = "/tmp";
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_IO);
}

static void weights_from_a_file(void **state) {
  (void)state;
  char path[] = "/tmp/seer_test_weights_XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, &weights, sizeof weights), (ssize_t)sizeof weights);
  close(fd);
  seer_model_source source = {
      &plan, sizeof plan, hand_kernels, path, NULL, 0, 1, NULL, NULL, NULL, 0};
  seer_model *model;
  char message[200];
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_OK);
  // What happens to the file now is of no concern.
  assert_int_equal(truncate(path, 0), 0);
  assert_memory_equal(model->weights, weights.w, sizeof weights.w);
  seer_rt_close(model);
  static const struct {
    off_t n_bytes;
    const char *text;
  } sizes[] = {{0, "0 bytes, too short"}, {63, "63 bytes, too short"},
      {64, "cut short: 64 bytes of 4064"}, {4063, "cut short: 4063 bytes of 4064"},
      {4065, "too long: 4065 bytes, must be 4064"}, {(off_t)1 << 40, "too long"}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, &weights, sizeof weights), (ssize_t)sizeof weights);
    assert_int_equal(ftruncate(fd, sizes[i].n_bytes), 0);
    close(fd);
    assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_CORRUPT);
    if (!strstr(message, sizes[i].text)) fail_msg("%s: not %s", message, sizes[i].text);
  }
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);  // nobody writes to it
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_IO);
  unlink(path);
}

// A plan that is sound, but not the one that was written.
static void other_plan(void **state) {
  (void)state;
  char message[200];
  seer_model *model;
  uint64_t hash = XXH3_64bits(&plan, sizeof plan);
  seer_model_source source = {
      &plan, sizeof plan, hand_kernels, NULL, &weights, sizeof weights, 0, NULL, NULL, NULL, 0};
  source.blob_hash = &hash;
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_OK);
  seer_rt_close(model);
  plan.phase[0].n_parts++;
  assert_null(seer_plan_check(&plan, sizeof plan));
  assert_int_equal(seer_rt_open(&source, &model, message, sizeof message), SEER_RT_CORRUPT);
  assert_non_null(strstr(message, "not those that were written"));
}

static void features(void **state) {
  (void)state;
  char message[300];
  seer_model *model;
  plan.header.features_string = 40;
  memcpy(plan.strings + 40, "+quantum512", 12);
  plan.header.cpu_string = 53;
  memcpy(plan.strings + 53, "imaginary", 10);
  assert_int_equal(open_with(0, message, sizeof message, &model), SEER_RT_UNSUPPORTED);
  assert_non_null(strstr(message, "quantum512"));
  assert_non_null(strstr(message, "compiled for imaginary"));
  assert_false(seer_cpu_knows("x86_64", "quantum512", 10));
  assert_true(seer_cpu_knows("x86_64", "avx2", 4));
  assert_false(seer_cpu_knows("aarch64", "avx2", 4));
  assert_true(seer_cpu_knows("aarch64", "dotprod", 7));
  assert_false(seer_cpu_knows("x86_64", "avx", 2));
#if defined(__x86_64__)
  seer_cpu_facts here;
  char out[64];
  seer_cpu_read(&here);
#define HERE(name) (seer_cpu_missing(&here, "+" name, out, sizeof out) == NULL)
  assert_string_equal(here.architecture, "x86_64");
  assert_int_equal(HERE("xop"), __builtin_cpu_supports("xop") != 0);
  assert_int_equal(HERE("sse4.2"), __builtin_cpu_supports("sse4.2") != 0);
  assert_int_equal(HERE("avx2"), __builtin_cpu_supports("avx2") != 0);
  assert_int_equal(HERE("fma"), __builtin_cpu_supports("fma") != 0);
  assert_int_equal(HERE("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  assert_int_equal(HERE("avx512bf16"), __builtin_cpu_supports("avx512bf16") != 0);
#undef HERE
#endif
  assert_true(seer_cpu_allowed(0) >= 1);
}

// Made-up processors: what each lacks of what a model needs.
static void missing_features_are_named(void **state) {
  (void)state;
  enum { AVX_STATE = 0x7, AVX512_STATE = 0xE7 };
  const seer_cpu_facts plain = {.architecture = "x86_64"};
  seer_cpu_facts v3 = {.architecture = "x86_64", .saved = AVX_STATE};
  v3.word[0] = 1u << 0 | 1u << 9 | 1u << 12 | 1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 | 1u << 28 |
      1u << 29;
  v3.word[1] = 1u << 3 | 1u << 5 | 1u << 8;
  v3.word[5] = 1u << 5;
  seer_cpu_facts wide = v3;  // has AVX-512, and a system that knows only AVX
  wide.word[1] |= 1u << 16;
  const char *v3_needs = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse4.2";
  char out[128];
  assert_null(seer_cpu_missing(&plain, "", out, sizeof out));
  assert_null(seer_cpu_missing(&v3, v3_needs, out, sizeof out));
  assert_string_equal(seer_cpu_missing(&plain, "+avx2,+fma", out, sizeof out), "avx2, fma");
  assert_string_equal(seer_cpu_missing(&v3, "+avx2,+avx512f", out, sizeof out), "avx512f");
  assert_string_equal(
      seer_cpu_missing(&wide, "+avx512f", out, sizeof out), "avx512f (switched off by the system)");
  wide.saved = AVX512_STATE;
  assert_null(seer_cpu_missing(&wide, "+avx512f,+avx2", out, sizeof out));
  v3.saved = 0;
  assert_string_equal(seer_cpu_missing(&v3, "+sse4.2,+fma,+avx2", out, sizeof out),
      "fma (switched off by the system), avx2 (switched off by the system)");
  assert_null(seer_cpu_missing(&v3, "+bmi,+lzcnt,+sse4.2", out, sizeof out));
  char small[8];
  assert_string_equal(seer_cpu_missing(&plain, "+avx2,+fma", small, sizeof small), "avx2, f");
  const seer_cpu_facts arm = {.architecture = "aarch64", .word[6] = 1u << 0 | 1u << 1};
  assert_null(seer_cpu_missing(&arm, "+fp-armv8,+neon", out, sizeof out));
  assert_string_equal(
      seer_cpu_missing(&arm, "+dotprod,+i8mm,+neon", out, sizeof out), "dotprod, i8mm");
  const seer_cpu_facts riscv = {.architecture = "riscv64", .word[6] = 0x112D};  // rv64imafdc
  assert_null(seer_cpu_missing(&riscv, "+a,+c,+d,+f,+m", out, sizeof out));
  assert_string_equal(seer_cpu_missing(&riscv, "+d,+v", out, sizeof out), "v");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(sound, setup),
      cmocka_unit_test_setup(each_field, setup),
      cmocka_unit_test_setup(random_damage, setup),
      cmocka_unit_test_setup(weights_checked, setup),
      cmocka_unit_test_setup(weights_from_a_file, setup),
      cmocka_unit_test_setup(other_plan, setup),
      cmocka_unit_test_setup(features, setup),
      cmocka_unit_test_setup(missing_features_are_named, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
