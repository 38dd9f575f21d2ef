// The paper's studies by hand: statistics of made-up scores, curves of made-up runs, operators of
// names, what the paper says; and on the golden table that models know what they were taught, and
// that policies' curves end where their tasks do.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "learn/family.h"
#include "study/operators.h"
#include "study/paper/kept.h"
#include "study/paper/page.h"
#include "study/paper/paper.h"
#include "study/paper/published.h"
#include "study/paper/statistics.h"
#include "support/test.h"

#define TABLE SEER_SOURCE_DIR "/test/data/times.gz"

static bool is_near(double a, double b) { return fabs(a - b) < 1e-9; }

static void pairs_and_peaks(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const double seconds[] = {4, 1, 2, 2};
  // Pairs: 0 and each other one, 1 and each other one; 2 and 3 are equal.
  assert_true(is_near(seer_pair_accuracy((float[]){1, 4, 3, 2}, seconds, 4), 1));
  assert_true(is_near(seer_pair_accuracy((float[]){4, 1, 2, 3}, seconds, 4), 0));
  assert_true(is_near(seer_pair_accuracy((float[]){1, 1, 1, 1}, seconds, 4), 0.5));
  assert_true(is_near(seer_pair_accuracy((float[]){3, 4, 2, 1}, seconds, 4), 0.6));
  assert_true(isnan(seer_pair_accuracy((float[]){1, 2}, seconds + 2, 2)));
  assert_true(is_near(seer_peak((float[]){4, 1, 3, 2}, seconds, 4, 1, arena), 0.25));
  assert_true(is_near(seer_peak((float[]){4, 1, 3, 2}, seconds, 4, 2, arena), 0.5));
  assert_true(is_near(seer_peak((float[]){4, 1, 3, 2}, seconds, 4, 9, arena), 1));
  assert_true(isnan(seer_peak(NULL, NULL, 0, 1, arena)));
  seer_arena_destroy(arena);
}

static void intervals_hold_the_mean(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const double values[] = {1, 2, 3, NAN, 10, 10};
  seer_interval all = seer_bootstrap(values, 2, 3, arena);
  assert_true(is_near(all.mean, 6) && all.n == 5);
  // The second group always gives 10; the first 1 to 3, rarely either end.
  assert_true(all.low >= 5.5 && all.low < 6 && all.high > 6 && all.high <= 6.5);
  seer_interval again = seer_bootstrap(values, 2, 3, arena);
  assert_true(all.low == again.low && all.high == again.high);
  seer_interval one = seer_bootstrap((double[]){4}, 1, 1, arena);
  assert_true(one.mean == 4 && one.low == 4 && one.high == 4);
  assert_true(isnan(seer_bootstrap((double[]){NAN, NAN}, 2, 1, arena).mean));
  seer_interval factors = seer_bootstrap_factors((double[]){2, 8, 0}, 3, 1, arena);
  assert_true(is_near(factors.mean, 4) && factors.n == 2);
  seer_arena_destroy(arena);
}

static void runs_are_compared_strictly(void **state) {
  (void)state;
  seer_latency_point ours[] = {{0, 0, INFINITY}, {8, 0, 20}, {12, 0, 12.5}, {40, 0, 11}};
  seer_latency_point theirs[] = {{0, 0, INFINITY}, {16, 0, 18}, {32, 0, 12}, {64, 0, 10}};
  seer_run run = {.n_point = 4,
      .point = ours,
      .n_trial = 48,
      .first_trial = 4,
      .warm_trial = 8,
      .latency_s = 11};
  seer_run reference = {.n_point = 4,
      .point = theirs,
      .n_trial = 64,
      .first_trial = 8,
      .warm_trial = 16,
      .latency_s = 10};
  assert_int_equal(seer_run_reaches(&run, 12.5), 12);  // at it is reached
  assert_int_equal(seer_run_reaches(&run, 12.49), 40);
  assert_int_equal(seer_run_reaches(&run, 10.99), UINT32_MAX);
  assert_true(isinf(seer_run_latency_after(&run, 7)) && seer_run_latency_after(&run, 39) == 12.5);
  // 10 / 0.8 is 12.5: 32 trials there, 12 here; behind the warm-ups 16 and 4.
  seer_sooner at = seer_run_sooner(&run, &reference, 0.8, false);
  assert_true(at.reference == 32 && at.own == 12 && is_near(at.speedup, 32 / 12.0));
  at = seer_run_sooner(&run, &reference, 0.8, true);
  assert_true(at.reference == 16 && at.own == 4 && is_near(at.speedup, 4));
  // Within the warm-up: a first round.
  at = seer_run_sooner(&run, &reference, 0.5, true);
  assert_true(at.reference == 8 && at.own == 4);
  at = seer_run_sooner(&run, &reference, 1, false);
  assert_true(at.reference == 64 && at.own == UINT32_MAX && is_near(at.speedup, 64 / 48.0));
  reference.latency_s = INFINITY;
  assert_true(isnan(seer_run_sooner(&run, &reference, 1, false).speedup));
}

static void names_say_operators(void **state) {
  (void)state;
  static const struct {
    const char *name, *ops;
    uint32_t n;
  } cases[] = {{"conv 3x3 s1 56x56x64->64 +add +relu", "Conv Add Relu", 3},
      {"mul+ dwconv 3x3 s2 14x14x96 +clip", "Mul Conv Clip", 3},
      {"transpose+ transpose+ matmul 12x128x64->128 +mul +add", "Transpose MatMul Mul Add", 5},
      {"deconv 2x2 s2 8x8x4->2", "ConvTranspose", 1}, {"softmax 128x128x12", "Softmax", 1},
      {"gemm 1x784->256 +nothing + +", "Gemm nothing", 2}, {"", "", 0}};
  seer_arena *arena = seer_arena_create("test");
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    uint32_t n;
    assert_string_equal(seer_operators_of_name(cases[i].name, arena, &n), cases[i].ops);
    assert_int_equal(n, cases[i].n);
  }
  seer_arena_destroy(arena);
}

static void the_paper_is_quoted(void **state) {
  (void)state;
  assert_true(seer_published_find("table5", "", "mobilenet_v2").cpu == 1.170);
  assert_true(seer_published_find("table5", "", "gpt2_small:sequence=128").gpu == 1.013);
  assert_true(isnan(seer_published_find("table5", "", "resnet18").cpu));
  assert_true(isnan(seer_published_find("table5", "", "").cpu));
  assert_true(seer_published_find("fig7", "100", "").cpu == 2.49);
  assert_true(seer_published_find("table2", "op-sequence", "").cpu == 0.991);
}

static void pages_hold_any_name(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  assert_string_equal(seer_cell_csv(arena, "a \"b\", c"), "\"a \"\"b\"\", c\"");
  assert_string_equal(seer_cell_csv(arena, "plain"), "plain");
  assert_string_equal(seer_cell_number(arena, NAN, 1), "-");
  assert_string_equal(
      seer_cell_interval(arena, (seer_interval){0.5, 0.25, 0.75, 3}, 100, 1), "50.0 [25.0, 75.0]");
  seer_page page;
  seer_page_begin(&page, "<t>", arena);
  seer_page_table(&page, (const char *const[]){"a|b", "<c>"}, 2);
  seer_page_row(&page, (const char *const[]){"&", "1"});
  seer_page_end_table(&page);
  assert_non_null(strstr(page.html.data, "<h1>&lt;t&gt;</h1>"));
  assert_non_null(strstr(page.html.data, "<td>&amp;<td>1"));
  assert_non_null(strstr(page.markdown.data, "| a/b | <c> |\n|---|---|\n| & | 1 |\n"));
  seer_arena_destroy(arena);
}

typedef struct {
  seer_context *own, *context;
  seer_arena *arena;
  seer_times times;
} world;

static void open_world(world *w) {
  *w = (world){.arena = seer_arena_create("test")};
  must(seer_context_create(&w->own));
  must(seer_times_read(TABLE, w->arena, &w->times));
  must(seer_tuning_context(&w->times, TABLE, w->own, w->arena, &w->context));
}

static void close_world(world *w) {
  seer_context_destroy(w->context);
  seer_context_destroy(w->own);
  seer_arena_destroy(w->arena);
}

static void a_table_of_a_gpu_is_refused(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_times times = w.times;
  times.target = "cuda:sm_80";
  seer_context *none;
  seer_status status = seer_tuning_context(&times, "gpu.gz", w.own, w.arena, &none);
  assert_null(none);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(
      seer_status_message(status), "target cuda:sm_80: GPUs are served by compile and tune"));
  seer_status_free(status);
  close_world(&w);
}

static void models_know_what_they_were_taught(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_accuracies a;
  must(seer_accuracies_measure(w.context, &w.times, "mlp", 1000, 1, true, w.arena, &a));
  assert_int_equal(a.n_task, 3);
  for (uint32_t t = 0; t < a.n_task; t++) {
    assert_true(a.n_fitted[t] >= 25 && a.n_fitted[t] <= 30);  // half of what there is
    assert_true(a.n_held_out[t] >= a.n_fitted[t] && a.n_held_out[t] <= 31);
    for (uint32_t g = 0; g < a.n_grouping; g++) {
      seer_accuracy *of = &a.of[g][t];
      assert_true(of->seen > 0.9 && of->held_out > 0.5 && of->held_out < of->seen);
      assert_true(of->peak > 0.5 && of->peak <= 1);
      // The task's own model, asked about itself.
      if (a.n_family[g] == a.n_task) assert_true(of->held_out == a.cross[t * a.n_task + t]);
    }
  }
  assert_int_equal(a.n_family[0], 1);  // all are dense layers
  seer_accuracies again;
  must(seer_accuracies_measure(w.context, &w.times, "mlp", 1000, 1, false, w.arena, &again));
  assert_true(again.of[0][0].held_out == a.of[0][0].held_out);
  assert_int_equal(again.n_family[2], 0);
  close_world(&w);
}

static void curves_end_where_tasks_do(void **state) {
  (void)state;
  world w;
  open_world(&w);
  static const char *const policies[] = {"ansor", "familyseer-artifact", "seer"};
  for (size_t p = 0; p < SEER_COUNT_OF(policies); p++) {
    seer_tuning_options options = {.times = &w.times,
        .path = TABLE,
        .network = "mlp",
        .only = SEER_TUNING_ALL,
        .policy = policies[p],
        .cost_model = "",
        .seed = 2,
        .trials_a_task = 20,
        .round_size = 5};
    seer_run run, alone;
    must(seer_run_measure(w.context, &options, w.arena, &run));
    bool has_untuned = strcmp(policies[p], "seer") == 0;
    double sum = 0;
    uint32_t n_trial = 0;
    for (uint32_t t = 0; t < run.n_task; t++) {
      const seer_run_task *task = &run.task[t];
      assert_true(task->best_s >= task->known_s);
      sum += task->count *
          (has_untuned && task->best_s > task->untuned_s ? task->untuned_s : task->best_s);
      n_trial += task->n_trial;
    }
    assert_true(n_trial == run.n_trial && n_trial == 60);
    const seer_latency_point *first = &run.point[0], *last = &run.point[run.n_point - 1];
    assert_true(is_near(last->latency_s / sum, 1) && last->latency_s == run.latency_s);
    assert_true(isinf(first->latency_s) == !has_untuned);
    for (uint32_t i = 1; i < run.n_point; i++)
      assert_true(run.point[i].latency_s < run.point[i - 1].latency_s &&
          run.point[i].trial >= run.point[i - 1].trial);
    assert_true(has_untuned || run.first_trial == 5);
    assert_true(has_untuned || (run.warm_trial >= 15 && run.warm_trial < 60));
    seer_sooner own = seer_run_sooner(&run, &run, 1, true);
    assert_true(own.speedup == 1 && own.own == own.reference);
    options.only = 1;
    must(seer_run_measure(w.context, &options, w.arena, &alone));
    assert_true(alone.n_task == 1 && alone.n_trial == 20);
    assert_string_equal(alone.task[0].name, run.task[1].name);
  }
  close_world(&w);
}

// ---- what is kept
typedef struct {
  const char *folder, *in_the_way;  // is made when something has been measured; NULL: nothing is
  uint32_t n_told;
} told;

static void hear(void *user, const char *text) {
  (void)text;
  told *t = user;
  if (t->n_told++ == 0 && t->in_the_way) must(seer_os_make_dirs(t->in_the_way));
}

static seer_status make(world *w, told *t) {
  static const char *const policies[] = {"round-robin"};
  static const char *const networks[] = {"mlp"};
  const seer_paper_options options = {.times = &w->times,
      .path = TABLE,
      .folder = t->folder,
      .study = SEER_PAPER_ALL,
      .n_network = 1,
      .network = networks,
      .n_policy = 1,
      .policy = policies,
      .n_seed = 1,
      .trials_a_task = 8,
      .round_size = 4,
      .n_samples = 8,
      .pretrained = "",
      .tell = hear,
      .user = t};
  must(seer_context_set(w->own, "search-threads", "1"));
  return seer_paper_make(w->own, &options);
}

static const char *text_of(const world *w, const char *folder, const char *name) {
  char *text;
  must(
      seer_os_read_file(seer_os_path_join(w->arena, folder, name), w->arena, 1 << 20, &text, NULL));
  return text;
}

// A study that could not be written is written without anything being measured again.
static void a_study_goes_on(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const char *folder;
  must(seer_os_temp_dir("seer-study", w.arena, &folder));
  told first = {.folder = seer_os_path_join(w.arena, folder, "first")},
       again = {.folder = seer_os_path_join(w.arena, folder, "again")};
  must(make(&w, &first));
  again.in_the_way = seer_os_path_join(w.arena, again.folder, "fig8.csv");
  seer_status status = make(&w, &again);
  assert_non_null(status);
  seer_status_free(status);
  assert_true(again.n_told == first.n_told && first.n_told > 3);
  const char *kept = seer_os_path_join(w.arena, again.folder, "kept");
  assert_true(seer_os_is_dir(kept));
  must(seer_os_remove_tree(again.in_the_way));
  again.in_the_way = NULL;
  must(make(&w, &again));
  assert_true(again.n_told == first.n_told);
  assert_false(seer_os_exists(kept));
  assert_string_equal(text_of(&w, first.folder, "fig7.csv"), text_of(&w, again.folder, "fig7.csv"));
  assert_string_equal(
      text_of(&w, first.folder, "table2.csv"), text_of(&w, again.folder, "table2.csv"));
  must(seer_os_remove_tree(folder));
  close_world(&w);
}

// Each byte of a kept file counts, and so does what it was made with.
static void damage_is_nothing_kept(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const char *folder, **names;
  size_t n_names, n;
  must(seer_os_temp_dir("seer-study", w.arena, &folder));
  seer_run_task task = {w.times.task[1].name, &w.times.task[1], 3, 2e-3, 1e-3, 5e-4, 17};
  seer_latency_point points[] = {{0, 0, INFINITY}, {4, 0.5, 6e-3}};
  const seer_run run = {.n_task = 1,
      .n_trial = 17,
      .n_point = 2,
      .task = &task,
      .point = points,
      .warm_trial = 4,
      .first_trial = 3,
      .latency_s = 3e-3,
      .known_s = 1.5e-3,
      .seconds = 1};
  const seer_study_kept_piece piece = {folder, "a key"}, other = {folder, "another key"};
  seer_run found;
  assert_false(seer_study_kept_find_run(&piece, &w.times, w.arena, &found));
  must(seer_study_kept_write_run(&piece, &w.times, w.arena, &run));
  assert_true(seer_study_kept_find_run(&piece, &w.times, w.arena, &found));
  assert_false(seer_study_kept_find_run(&other, &w.times, w.arena, &found));
  assert_true(found.task[0].of == &w.times.task[1] && found.task[0].n_trial == 17);
  assert_true(isinf(found.point[0].latency_s) && found.point[1].latency_s == 6e-3);
  assert_true(found.warm_trial == 4 && found.first_trial == 3 && found.known_s == 1.5e-3);
  must(seer_os_list_dir(folder, w.arena, &names, &n_names));
  assert_int_equal(n_names, 1);
  const char *path = seer_os_path_join(w.arena, folder, names[0]);
  char *bytes;
  must(seer_os_read_file(path, w.arena, 1 << 20, &bytes, &n));
  for (size_t i = 0; i < n; i++) {
    bytes[i] ^= 1;
    must(seer_os_write_file(path, bytes, n));
    assert_false(seer_study_kept_find_run(&piece, &w.times, w.arena, &found));
    bytes[i] ^= 1;
    must(seer_os_write_file(path, bytes, i));
    assert_false(seer_study_kept_find_run(&piece, &w.times, w.arena, &found));
  }
  seer_accuracies none;  // of another kind
  must(seer_os_write_file(path, bytes, n));
  assert_false(seer_study_kept_find_accuracies(&piece, w.arena, &none));
  must(seer_os_remove_tree(folder));
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_and_peaks),
      cmocka_unit_test(intervals_hold_the_mean), cmocka_unit_test(runs_are_compared_strictly),
      cmocka_unit_test(names_say_operators), cmocka_unit_test(the_paper_is_quoted),
      cmocka_unit_test(pages_hold_any_name), cmocka_unit_test(a_table_of_a_gpu_is_refused),
      cmocka_unit_test(models_know_what_they_were_taught),
      cmocka_unit_test(curves_end_where_tasks_do), cmocka_unit_test(a_study_goes_on),
      cmocka_unit_test(damage_is_nothing_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
