// Lowering: every sketch of small operators, default and random schedules, equals the interpreter
// of the DAG.
#include <string.h>

#include "support/loop_check.h"
#include "support/test.h"
#include "support/test_target.h"

static const seer_sketch_list *sketches(const char *text, seer_arena *arena) {
  seer_dag *dag;
  seer_sketch_list *list = NULL;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  must(seer_dag_verify(dag));
  must(seer_sketch_generate(dag, &test_target_wide, SEER_SPACE_FULL, arena, &list));
  return list;
}

static void check_all(const char *text, int n_samples) {
  seer_arena *arena = seer_arena_create("test"), *scratch = seer_arena_create("scratch");
  const seer_sketch_list *list = sketches(text, arena);
  const loop_expect *expect = loop_expect_make(list, 1, arena);
  seer_rng rng;
  seer_rng_init(&rng, 7);
  for (uint32_t s = 0; s < list->n; s++) {
    for (int k = 0; k <= n_samples; k++) {
      seer_schedule schedule;
      if (k == 0) {
        seer_schedule_default(list, s, &schedule);
      } else if (seer_schedule_sample(list, s, &rng, &schedule, NULL) != SEER_REJECT_NONE) {
        continue;
      }
      const char *wrong =
          loop_check(expect, &schedule, SEER_LOWER_FAULT_NONE, (uint64_t)k, scratch, NULL);
      if (wrong) {
        fail_msg("sketch %u %s, sample %d: %s\n%s", s, list->sketch[s]->signature, k, wrong,
            seer_schedule_print(list, &schedule, scratch));
      }
      seer_arena_reset(scratch);
    }
  }
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
}

static void gemm_relu(void **state) {
  (void)state;
  check_all(
      "dag gemm { input $a f32[19, 33] weight $b f32[33, 40]\n"
      "stage mm role anchor [m:m<19, n:n<40] sum[k:k<33] = $a[m, k] * $b[k, n]\n"
      "stage relu role epilogue [m:m<19, n:n<40] = max($mm[m, n], 0.0)\n"
      "output $relu }",
      15);
}

static void gemm_transposed_bias(void **state) {
  (void)state;
  check_all(
      "dag gemm { input $a f32[7, 12] pitch 20 weight $b f32[21, 12] weight $c f32[21]\n"
      "stage mm role anchor [m:m<7, n:n<21] sum[k:k<12] = $a[m, k] * $b[n, k]\n"
      "stage bias role epilogue [m:m<7, n:n<21] = $mm[m, n] + $c[n]\n"
      "output $bias pitch 32 }",
      15);
}

static void conv_pad_bias_relu(void **state) {
  (void)state;
  check_all(
      "dag conv { input $x f32[1, 9, 7, 5] weight $w f32[18, 3, 3, 5] weight $b f32[18]\n"
      "stage pad role pad [n:batch<1, y:y<11, x:x<9, c:in_channel<5] = $x[n, y - 1, x - 1, c] if "
      "(y >= 1) & "
      "(y < 10) & ((x >= 1) & (x < 8)) else 0.0\n"
      "stage conv role anchor [n:batch<1, y:y<9, x:x<7, oc:out_channel<18] sum[ky:ky<3, kx:kx<3, "
      "ic:in_channel<5] = $pad[n, y + ky, x + kx, ic] * $w[oc, ky, kx, ic]\n"
      "stage bias role epilogue [n:batch<1, y:y<9, x:x<7, oc:out_channel<18] = $conv[n, y, x, oc] "
      "+ $b[oc]\n"
      "stage relu role epilogue [n:batch<1, y:y<9, x:x<7, oc:out_channel<18] = max($bias[n, y, x, "
      "oc], 0.0)\n"
      "output $relu }",
      15);
}

static void conv_prologue_stride(void **state) {
  (void)state;
  check_all(
      "dag conv { input $x f32[2, 8, 11, 3] weight $w f32[17, 3, 2, 3]\n"
      "stage act role prologue [n:batch<2, y:y<8, x:x<11, c:in_channel<3] = max($x[n, y, x, c], "
      "0.0) + 1.0\n"
      "stage conv role anchor [n:batch<2, y:y<4, x:x<6, oc:out_channel<17] sum[ky:ky<3, kx:kx<2, "
      "ic:in_channel<3] = ($act[n, y * 2 + ky - 1, x * 2 + kx - 1, ic] if (y * 2 + ky >= 1) & (y * "
      "2 + ky < 9) & "
      "((x * 2 + kx >= 1) & (x * 2 + kx < 12)) else 0.0) * $w[oc, ky, kx, ic]\n"
      "output $conv }",
      15);
}

static void depthwise(void **state) {
  (void)state;
  check_all(
      "dag depthwise { input $x f32[10, 12, 21] weight $w f32[3, 3, 21]\n"
      "stage dw role anchor [y:y<8, x:x<10, c:group<21] sum[ky:ky<3, kx:kx<3] = $x[y + ky, x + kx, "
      "c] * "
      "$w[ky, kx, c]\n"
      "stage relu6 role epilogue [y:y<8, x:x<10, c:group<21] = min(max($dw[y, x, c], 0.0), 6.0)\n"
      "output $relu6 }",
      15);
}

static void pooling(void **state) {
  (void)state;
  check_all(
      "dag pool { input $x f32[9, 11, 20]\n"
      "stage pool role anchor [y:y<5, x:x<6, c:group<20] max[ky:ky<3, kx:kx<3] = $x[y * 2 + ky - "
      "1, x * 2 + kx - "
      "1, c] if (y * 2 + ky >= 1) & (y * 2 + ky < 10) & ((x * 2 + kx >= 1) & (x * 2 + kx < 12)) "
      "else -inf\n"
      "output $pool }",
      12);
}

static void softmax(void **state) {
  (void)state;
  check_all(
      "dag softmax { input $x f32[5, 37]\n"
      "stage max role reduce_local [r:m<5] max[c:n<37] = $x[r, c]\n"
      "stage exp role prologue [r:m<5, c:n<37] = exp($x[r, c] - $max[r])\n"
      "stage sum role reduce_local [r:m<5] sum[c:n<37] = $exp[r, c]\n"
      "stage out role epilogue [r:m<5, c:n<37] = $exp[r, c] / $sum[r]\n"
      "output $out }",
      12);
}

static void argmax(void **state) {
  (void)state;
  check_all(
      "dag argmax { input $x f32[6, 29]\n"
      "stage am role anchor [r:m<6] argmax[c:n<29] = ($x[r, c], c)\n"
      "output $am output $am.1 }",
      20);
}

static void mean_of_all(void **state) {
  (void)state;
  check_all(
      "dag gap { input $x f32[7, 7, 35]\n"
      "stage sum role anchor [c:group<35] sum[y:y<7, x:x<7] = $x[y, x, c]\n"
      "stage mean role epilogue [c:group<35] = $sum[c] * 2.0\n"
      "output $mean }",
      12);
}

// A stage that depends on weights only is read as a packed weight.
static void constant_stage(void **state) {
  (void)state;
  check_all(
      "dag fold { input $a f32[6, 9] weight $b f32[9, 20] weight $s f32[20]\n"
      "stage scaled role prologue [k:k<9, n:n<20] = $b[k, n] * $s[n]\n"
      "stage mm role anchor [m:m<6, n:n<20] sum[k:k<9] = $a[m, k] * $scaled[k, n]\n"
      "stage out role epilogue [m:m<6, n:n<20] = $mm[m, n] + $scaled[0, n]\n"
      "output $out }",
      12);
}

// Padding in front of a copy in front of a product: guards go through inlined stages.
static void guard_through_inline(void **state) {
  (void)state;
  check_all(
      "dag guard { input $x f32[8, 10] input $z f32[8, 10]\n"
      "stage sum role prologue [i<8, j<10] = $x[i, j] + $z[i, j]\n"
      "stage pad role pad [i<8, j<13] = $sum[i, j - 2] if (j >= 2) & (j < 12) else 5.0\n"
      "stage out role epilogue [i<8, j<12] = $pad[i, j] * 2.0 + $pad[i, j + 1]\n"
      "output $out }",
      12);
}

static void reshaped(void **state) {
  (void)state;
  check_all(
      "dag reshape { input $x f32[6, 10] weight $w f32[15, 17]\n"
      "stage act role prologue [i<6, j<10] = max($x[i, j], 0.0)\n"
      "stage view role prologue [m:m<4, k:k<15] = $act[(m * 15 + k) / 10, (m * 15 + k) % 10]\n"
      "stage mm role anchor [m:m<4, n:n<17] sum[k:k<15] = $view[m, k] * $w[k, n]\n"
      "output $mm }",
      12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gemm_relu),
      cmocka_unit_test(gemm_transposed_bias),
      cmocka_unit_test(conv_pad_bias_relu),
      cmocka_unit_test(conv_prologue_stride),
      cmocka_unit_test(depthwise),
      cmocka_unit_test(pooling),
      cmocka_unit_test(softmax),
      cmocka_unit_test(argmax),
      cmocka_unit_test(mean_of_all),
      cmocka_unit_test(constant_stage),
      cmocka_unit_test(guard_through_inline),
      cmocka_unit_test(reshaped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
