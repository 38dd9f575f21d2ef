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
  assert_string_equal(t.features, "+avx,+avx2,+fma,-avx512f");
  assert_int_equal(t.vector_bytes, 32);
  assert_int_equal(t.n_vector_registers, 16);
  t = parse("cpu -l2=512K -triple=aarch64-linux-gnu -lanes=4");
  assert_string_equal(t.cpu, "generic");
  assert_int_equal(t.l2_bytes, 512 << 10);
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
  const char *base = "x86_64-linux-gnu -cpu=znver3 -features=+avx2 -threads=2";
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
      cmocka_unit_test(bad_texts_are_refused),
      cmocka_unit_test(masked_features_choose_a_lesser_cpu),
      cmocka_unit_test(keys_see_what_they_should),
      cmocka_unit_test(measured_speeds_are_sane),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
