// Models that rank: the loss of pairs and its gradient, banks whose scores are logarithms, one row
// a program, and which machine's models are whose.
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "learn/cost/pairs.h"
#include "learn/pretrained.h"
#include "learn_nets.h"
#include "support/test.h"
#include "support/test_target.h"

enum { N = 40 };

// Two tasks, alternating; labels of the second are the first one's.
static void make(uint32_t *task, float *label, float *weight, double *score) {
  seer_rng rng;
  seer_rng_init(&rng, 3);
  for (uint32_t i = 0; i < N; i++) {
    task[i] = 7 * (i % 2);
    label[i] = (float)(i / 2 + 1) / (N / 2);
    weight[i] = label[i];
    score[i] = seer_rng_f64(&rng);
  }
}

static void the_right_order_has_the_least_loss(void **state) {
  (void)state;
  uint32_t task[N];
  float label[N], weight[N];
  double score[N], right[N], wrong[N];
  make(task, label, weight, score);
  for (uint32_t i = 0; i < N; i++) {
    right[i] = 10 * (double)label[i] + task[i];  // a task's own level is nobody's business
    wrong[i] = -right[i];
  }
  seer_pairs pairs;
  must(seer_pairs_make(task, N, &pairs));
  double by_chance = seer_pairs_loss(&pairs, label, weight, score, 1, NULL, NULL);
  assert_true(seer_pairs_loss(&pairs, label, weight, right, 1, NULL, NULL) < 0.1 * by_chance);
  assert_true(seer_pairs_loss(&pairs, label, weight, wrong, 1, NULL, NULL) > 5 * by_chance);
  for (uint32_t i = 0; i < N; i++) score[i] = task[i];  // all of a task's alike: log 2 a pair
  assert_true(fabs(seer_pairs_loss(&pairs, label, weight, score, 1, NULL, NULL) - log(2)) < 1e-12);
  for (uint32_t i = 0; i < N; i++) label[i] = 0.5F;
  assert_true(seer_pairs_loss(&pairs, label, weight, right, 1, NULL, NULL) == 0);
  seer_pairs_free(&pairs);
}

// Finite differences of the sum. Both seeds draw other pairs.
static void gradients_are_those_of_the_loss(void **state) {
  (void)state;
  uint32_t task[N];
  float label[N], weight[N];
  double score[N], grad[N], hess[N], unused[N], other[N], total = 0;
  make(task, label, weight, score);
  seer_pairs pairs;
  must(seer_pairs_make(task, N, &pairs));
  double loss = seer_pairs_loss(&pairs, label, weight, score, 5, grad, hess), of_one = 0;
  for (uint32_t i = 0; i < N; i++) {
    double was = score[i], step = 1e-5;
    score[i] = was + step;
    double above = seer_pairs_loss(&pairs, label, weight, score, 5, NULL, NULL);
    score[i] = was - step;
    double below = seer_pairs_loss(&pairs, label, weight, score, 5, NULL, NULL);
    score[i] = was;
    double slope = (above - below) / (2 * step), curve = (above + below - 2 * loss) / (step * step);
    if (i == 0) of_one = grad[i] / slope;  // the sum of weights, by which the mean is less
    assert_true(fabs(grad[i] - slope * of_one) < 1e-3 * (1 + fabs(grad[i])));
    assert_true(fabs(hess[i] - curve * of_one) < 0.02 * (1 + hess[i]));
    total += grad[i];
  }
  assert_true(fabs(total) < 1e-9);  // what one of a pair gains the other loses
  (void)seer_pairs_loss(&pairs, label, weight, score, 6, other, unused);
  assert_true(memcmp(grad, other, sizeof grad) != 0);
  (void)seer_pairs_loss(&pairs, label, weight, score, 5, other, unused);
  assert_memory_equal(grad, other, sizeof grad);
  seer_pairs_free(&pairs);
}

// Of a machine on which a column that the estimate does not see counts; on a task that was never
// measured candidates are put in order by what others have taught.
static void what_is_learnt_of_others_orders_a_new_task(void **state) {
  (void)state;
  enum { TASKS = 5, SAMPLES = 60 };
  seer_bank *bank;
  must(seer_pretrained_create(TASKS + 1, &bank));
  size_t n_column = seer_bank_features(bank)->n_column;
  static float rows[SAMPLES * SEER_FEATURE_MAX];
  double estimates[SAMPLES], seconds[SAMPLES];
  uint32_t n_rows[SAMPLES];
  seer_rng rng;
  seer_rng_init(&rng, 8);
  for (uint32_t t = 0; t <= TASKS; t++) {
    for (uint32_t i = 0; i < SAMPLES; i++) {
      float *row = rows + i * n_column;
      for (size_t c = 0; c < n_column; c++) row[c] = (float)seer_rng_f64(&rng);
      n_rows[i] = 1;
      estimates[i] = (t + 1) * 1e-4 * (1 + seer_rng_f64(&rng));
      seconds[i] = 2 * estimates[i] * (1 + 2 * (double)row[9]);
      seer_sample sample = {
          .task = t, .n_row = 1, .rows = row, .seconds = seconds[i], .estimate_s = estimates[i]};
      if (t < TASKS) must(seer_bank_add(bank, &sample, 1));
    }
  }
  must(seer_bank_train(bank, 0));
  float scores[SAMPLES];
  uint32_t right = 0, by_estimate = 0, total = 0;
  seer_bank_candidates candidates = {SAMPLES, rows, n_rows, estimates};
  must(seer_bank_rate(bank, TASKS, &candidates, scores));
  must(seer_bank_score(bank, TASKS, &candidates, scores));
  for (uint32_t i = 0; i < SAMPLES; i++) {
    assert_true(scores[i] > 0 && isfinite(scores[i]));
    for (uint32_t k = 0; k < i; k++, total++) {
      right += (seconds[i] < seconds[k]) == (scores[i] > scores[k]);
      by_estimate += (seconds[i] < seconds[k]) == (estimates[i] < estimates[k]);
    }
  }
  assert_true(by_estimate < 0.75 * total);
  assert_true(right > by_estimate + 0.1 * total);
  seer_bank_destroy(bank);
}

static void a_program_is_one_row(void **state) {
  (void)state;
  static seer_nest nest;
  static float own[SEER_NEST_MAX_STATEMENTS * SEER_FEATURE_MAX], row[SEER_FEATURE_MAX];
  seer_target target = test_target_wide;
  learn_gemm(&nest);
  nest.statement[1] = nest.statement[0];
  nest.statement[1].iterations *= 4;
  nest.statement[1].padded_iterations *= 4;
  nest.n_statement = 2;
  assert_int_equal(seer_feature_seer.extract(&nest, &target, 1e-3, own), 2);
  assert_int_equal(seer_feature_program.extract(&nest, &target, 1e-3, row), 1);
  size_t n = seer_feature_seer.n_column;
  assert_int_equal(seer_feature_program.n_column, 3 * n + 1);
  for (size_t c = 0; c < n; c++) {
    assert_true(row[c] == own[c] + own[n + c]);
    assert_true(row[n + c] == fmaxf(own[c], own[n + c]));
    assert_true(row[2 * n + c] == own[n + c]);  // it has more iterations
  }
  assert_true(row[3 * n] == 2);
  LEARN_EXPECT(&seer_feature_program, row, {"main_iterations", learn_slog(4.0 * 64 * 64 * 64)},
      {"sum_program_statements", 4}, {"n_statements", 2});
}

static void classes_are_of_vectors_and_caches(void **state) {
  (void)state;
  seer_target target = test_target_wide;
  target.triple = "x86_64-linux-gnu";
  target.vector_bytes = 64;
  target.l2_bytes = 1 << 20;
  assert_string_equal(seer_machine_class_of(&target).text, "x86_64-512-l2_1024k");
  target.l2_bytes = 1310720;  // 1.25 MiB counts as 2
  assert_string_equal(seer_machine_class_of(&target).text, "x86_64-512-l2_2048k");
  target.vector_bytes = 32;
  assert_string_equal(seer_machine_class_of(&target).text, "x86_64-256-l2_2048k");
  seer_target other = target;
  other.kind = SEER_TARGET_CUDA;  // whatever its facts
  assert_string_equal(seer_machine_class_of(&other).text, "");
  // Nothing comes with the program for such a machine.
  target.l2_bytes = (uint64_t)1 << 40;
  seer_bank *bank;
  bool has = true;
  must(seer_pretrained_create(1, &bank));
  must(seer_pretrained_load(&target, "", bank, &has));
  assert_false(has);
  assert_false(seer_bank_is_trained(bank, 0));
  seer_bank_destroy(bank);
}

// What ships is read, and is of this version's features.
static void what_ships_can_be_read(void **state) {
  (void)state;
  seer_target target = test_target_wide;
  target.triple = "x86_64-linux-gnu";
  target.vector_bytes = 64;
  target.l2_bytes = 1 << 20;
  seer_bank *bank;
  bool has = false;
  must(seer_pretrained_create(1, &bank));
  must(seer_pretrained_load(&target, "", bank, &has));
  assert_true(has);
  assert_true(seer_bank_is_trained(bank, 0));
  seer_bank_destroy(bank);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_right_order_has_the_least_loss),
      cmocka_unit_test(gradients_are_those_of_the_loss),
      cmocka_unit_test(what_is_learnt_of_others_orders_a_new_task),
      cmocka_unit_test(a_program_is_one_row), cmocka_unit_test(classes_are_of_vectors_and_caches),
      cmocka_unit_test(what_ships_can_be_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
