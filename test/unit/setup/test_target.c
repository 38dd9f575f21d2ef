// SEER_TEST: labels=serial
// Targets: detection, text both ways, limits, keys, measured speeds of sane size.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "setup/target.h"
#include "setup/target_table.h"

static seer_arena *arena;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  return 0;
}
static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  return 0;
}

static seer_target parse(const char *text) {
  seer_target target;
  seer_status status = seer_target_parse(text, arena, &target);
  if (status) fail_msg("%s: %s", text, seer_status_message(status));
  return target;
}

static void native_is_complete_and_round_trips(void **state) {
  (void)state;
  seer_target t = parse("native");
  assert_true(
      t.threads >= 1 && t.vector_bytes >= 16 && t.n_vector_registers >= 16 && t.n_fma_ports >= 1);
  assert_true(t.l1_bytes >= 8192 && t.l2_bytes >= t.l1_bytes && t.cache_line_bytes >= 32);
  assert_true(t.peak_gflops > 1 && t.dram_gbs > 0.1 && !t.is_measured);
  const char *text = seer_target_print(&t, arena);
  seer_target back = parse(text);
  assert_string_equal(seer_target_print(&back, arena), text);
  assert_true(seer_target_key(&t) == seer_target_key(&back));
}

static void texts_round_trip(void **state) {
  (void)state;
  static const char *const texts[] = {"x86_64-linux-gnu",
      "aarch64-linux-gnu -cpu=neoverse-n1 -threads=8", "riscv64-linux-gnu",
      "cpu -cpu=znver4 -l2=1M -l3=32M", "native -threads=3",
      "arm64-linux-gnu -features=", "x86_64-linux-gnu -model=\"A B, C\" -gflops=117.25 -measured"};
  for (size_t i = 0; i < SEER_COUNT_OF(texts); i++) {
    seer_target t = parse(texts[i]);
    const char *text = seer_target_print(&t, arena);
    seer_target back = parse(text);
    assert_string_equal(seer_target_print(&back, arena), text);
    assert_string_equal(back.features, t.features);
  }
}

static void facts_follow_from_cpu_and_features(void **state) {
  (void)state;
  seer_target t = parse("x86_64-linux-gnu,-cpu=znver4,-threads=4");
  assert_int_equal(t.vector_bytes, 64);
  assert_int_equal(t.n_vector_registers, 32);
  assert_int_equal(t.n_fma_ports, 1);
  assert_int_equal(t.threads, 4);
  t = parse("x86_64-linux-gnu -cpu=znver4 -features=+fma,+avx2,+avx,+fma,-avx512f");
  assert_true(seer_target_has_feature(t.features, "fma"));
  assert_false(seer_target_has_feature(t.features, "avx512f"));
  assert_false(seer_target_has_feature(t.features, "avx512vl"));  // it implies avx512f
  assert_int_equal(t.vector_bytes, 32);
  assert_int_equal(t.n_vector_registers, 16);
  assert_int_equal(t.n_fma_ports, 2);
  t = parse("cpu -l2=512K -triple=aarch64-linux-gnu -lanes=4");
  assert_string_equal(t.cpu, "generic");
  assert_int_equal(t.l2_bytes, 512 << 10);
}

// A name brings what LLVM knows of it; a bare triple is the plainest machine.
static void names_mean_what_they_say(void **state) {
  (void)state;
  static const struct {
    const char *text, *features;
    uint32_t lanes, registers, ports;
  } cases[] = {
      {"x86_64-linux-gnu", "", 4, 16, 1},
      {"x86_64-linux-gnu -cpu=x86-64", "", 4, 16, 1},
      {"x86_64-linux-gnu -cpu=x86-64-v2", "+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3", 4, 16, 1},
      {"x86_64-linux-gnu -cpu=x86-64-v3",
          "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3", 8,
          16, 2},
      {"cpu -cpu=x86-64-v4",
          "+avx,+avx2,+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl,+bmi,+bmi2,+f16c,+fma,"
          "+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3",
          16, 32, 1},
      {"x86_64-linux-gnu -cpu=sandybridge", "+avx,+pclmul,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3", 8,
          16, 1},
      {"x86_64-linux-gnu -features=+fma", "+avx,+fma,+sse3,+sse4.1,+sse4.2,+ssse3", 8, 16, 2},
      {"x86_64-linux-gnu -cpu=haswell -features=-avx",
          "+bmi,+bmi2,+lzcnt,+movbe,+pclmul,+popcnt,"
          "+sse3,+sse4.1,+sse4.2,+ssse3",
          4, 16, 1},
      {"cpu -cpu=haswell -features=+sse4.1,+sse3", "+sse3,+sse4.1,+ssse3", 4, 16, 1},
      {"cpu -cpu=haswell -features=", "", 4, 16, 1},
      {"x86_64-linux-gnu -features=+sse2", "", 4, 16, 1},
      {"aarch64-linux-gnu", "+fp-armv8,+neon", 4, 32, 2},
      {"arm64-linux-gnu -cpu=neoverse-n1", "+dotprod,+fp-armv8,+fullfp16,+lse,+neon,+rdm", 4, 32,
          2},
      {"riscv64-linux-gnu", "+a,+c,+d,+f,+m", 1, 32, 2},
      {"riscv64-linux-gnu -features=+v", "+a,+c,+d,+f,+m,+v", 4, 32, 2},
      {"riscv64-linux-gnu -cpu=sifive-x280", "+a,+c,+d,+f,+m,+v", 4, 32, 2},
  };
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target t = parse(cases[i].text);
    if (strcmp(t.features, cases[i].features) != 0)
      fail_msg("%s: %s, expected %s", cases[i].text, t.features, cases[i].features);
    assert_int_equal(seer_target_lanes(&t), cases[i].lanes);
    assert_int_equal(t.n_vector_registers, cases[i].registers);
    assert_int_equal(t.n_fma_ports, cases[i].ports);
    const char *text = seer_target_print(&t, arena);
    seer_target back = parse(text);
    assert_string_equal(seer_target_print(&back, arena), text);
    assert_true(seer_target_key(&t) == seer_target_key(&back));
  }
  for (const char *const *cpu = (const char *const[]){"skylake-avx512", "icelake-server", "znver5",
           "sapphirerapids", "cascadelake", NULL};
       *cpu; cpu++) {
    seer_target t = parse(seer_arena_printf(arena, "x86_64-linux-gnu -cpu=%s", *cpu));
    assert_true(seer_target_has_feature(t.features, "avx512vl"));
    assert_int_equal(t.vector_bytes, 64);
  }
}

static void expect_error(const char *text, const char *part) {
  seer_target target;
  seer_status status = seer_target_parse(text, arena, &target);
  if (!status) fail_msg("accepted '%s'", text);
  if (!strstr(seer_status_message(status), part))
    fail_msg("'%s' is not in '%s'", part, seer_status_message(status));
  seer_status_free(status);
}

static void unknown_names_have_near_ones(void **state) {
  (void)state;
  expect_error("x86_64-linux-gnu -cpu=haswel", "haswell");
  expect_error("x86_64-linux-gnu -cpu=x86_64-v3", "x86-64-v3");
  expect_error("x86_64-linux-gnu -cpu=pentium4", "knows no x86_64 processor 'pentium4'");
  expect_error("x86_64-linux-gnu -cpu=neoverse-n1", "knows no x86_64 processor");
  expect_error("native -features=+avx3", "avx");
  expect_error("x86_64-linux-gnu -features=+neon", "no feature that x86_64 code may use");
  expect_error("x86_64-linux-gnu -features=-sse2", "every x86_64 machine has it");
  expect_error("cpu -cpu=haswell -features=-avx2", "must be a whole list");
  expect_error("aarch64-linux-gnu -features=-neon", "without +neon");
  expect_error("riscv64-linux-gnu -cpu=rocket-rv64", "without +d");
}

// The processors that are recognised, with the features that recognising them needs, are LLVM's.
static void known_processors_are_those_of_llvm(void **state) {
  (void)state;
  static const char *const names[] = {"znver5", "znver4", "znver3", "znver2", "znver1",
      "graniterapids", "sapphirerapids", "icelake-server", "icelake-client", "cascadelake",
      "skylake-avx512", "alderlake", "skylake", "haswell", "x86-64-v4", "x86-64-v3", "x86-64-v2",
      "x86-64"};
  for (size_t i = 0; i < SEER_COUNT_OF(names); i++) {
    const seer_target_cpu *cpu = seer_target_find_cpu(names[i]);
    seer_target t = parse(seer_arena_printf(arena, "x86_64-linux-gnu -cpu=%s", names[i]));
    for (const char *at = cpu->needs; *at; at += *at == ',') {
      size_t n = strcspn(at, ",");
      const char *need = seer_arena_strndup(arena, at, n);
      if (!seer_target_has_feature(t.features, need)) fail_msg("%s has no %s", names[i], need);
      at += n;
    }
    assert_int_equal(t.vector_bytes, cpu->vector_bytes);
    assert_int_equal(t.n_fma_ports, cpu->n_fma_ports);
  }
}

static void bad_texts_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"", "  ", "mips-linux", "cuda", "native -threads=0",
      "native -threads=x", "native -threads=1.5", "native -what=1", "native threads=1",
      "native -l2=5Q", "native -features=avx", "x86_64-linux-gnu -lanes=5", "native -gflops=-3"};
  for (size_t i = 0; i < SEER_COUNT_OF(bad); i++) {
    seer_target target;
    seer_status status = seer_target_parse(bad[i], arena, &target);
    if (!status) fail_msg("accepted '%s'", bad[i]);
    seer_status_free(status);
  }
}

static void masked_features_choose_a_lesser_cpu(void **state) {
  (void)state;
  const char *avx2 = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+vaes,+vpclmulqdq";
  assert_string_equal(seer_target_match_cpu("AuthenticAMD", 0x19, 0x11, avx2)->name, "znver3");
  assert_string_equal(seer_target_match_cpu("Nobody", 1, 1, avx2)->name, "x86-64-v3");
  assert_string_equal(seer_target_match_cpu("Nobody", 1, 1, "")->name, "x86-64");
  assert_string_equal(seer_target_match_cpu("GenuineIntel", 6, 0x55, avx2)->name, "skylake");
  assert_true(seer_target_has_feature(avx2, "avx"));
  assert_false(seer_target_has_feature(avx2, "av"));
  assert_false(seer_target_has_feature("-avx", "avx"));
}

static void keys_see_what_they_should(void **state) {
  (void)state;
  const char *base = "cpu -cpu=znver3 -features=+avx2 -threads=2";
  seer_target a = parse(base);
  static const struct {
    const char *more;
    bool same_key, same_feature_key;
  } cases[] = {{" -threads=4", false, false}, {" -features=+avx", false, false},
      {" -l3=1M", false, true}, {" -cpu=znver2", false, true},
      {" -gflops=5 -measured -dram-gbs=3", true, true}};
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    seer_target b = parse(seer_arena_printf(arena, "%s%s", base, cases[i].more));
    assert_int_equal(seer_target_key(&a) == seer_target_key(&b), cases[i].same_key);
    assert_int_equal(
        seer_target_feature_key(&a) == seer_target_feature_key(&b), cases[i].same_feature_key);
  }
}

static void measured_speeds_are_sane(void **state) {
  (void)state;
  seer_target t = parse("native");
  seer_status status = seer_target_measure(&t);
  assert_null(status);
  assert_true(t.is_measured);
  // An order of magnitude either way of what any such machine does.
  assert_true(t.peak_gflops > 2 && t.peak_gflops < 1000);
  assert_true(t.l2_gbs > 1 && t.l2_gbs < 2000 && t.dram_gbs > 0.3 && t.dram_gbs < 500);
  assert_true(t.l2_gbs > t.dram_gbs * 0.8);
  seer_target other = parse("aarch64-linux-gnu");
#if defined(__x86_64__)
  status = seer_target_measure(&other);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  seer_status_free(status);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(native_is_complete_and_round_trips),
      cmocka_unit_test(texts_round_trip),
      cmocka_unit_test(facts_follow_from_cpu_and_features),
      cmocka_unit_test(names_mean_what_they_say),
      cmocka_unit_test(unknown_names_have_near_ones),
      cmocka_unit_test(known_processors_are_those_of_llvm),
      cmocka_unit_test(bad_texts_are_refused),
      cmocka_unit_test(masked_features_choose_a_lesser_cpu),
      cmocka_unit_test(keys_see_what_they_should),
      cmocka_unit_test(measured_speeds_are_sane),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
