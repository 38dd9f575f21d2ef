// The choice without trials for GPUs: allowed on the device, what the estimate says of it, no worse
// than any default schedule, the same on any number of threads, and within the bytes of packed
// weights that are allowed.
#include <string.h>

#include "choose/untuned.h"
#include "learn/feature.h"
#include "space/nest.h"
#include "space/sketch.h"
#include "support/test.h"

enum { DRAFTS = 1500 };

static const char *const target_texts[] = {
    "cuda:h200", "cuda:sm_70", "opencl:generic", "opencl:cpu"};

static const char *const dags[] = {
    "dag conv {\n  input $x f32[1, 112, 112, 64]\n  weight $w f32[128, 3, 3, 64]\n"
    "  stage pad role pad [n:batch<1, y:y<114, x:x<114, c:in_channel<64] = "
    "$x[n, y - 1, x - 1, c] if (y >= 1) & (y < 113) & ((x >= 1) & (x < 113)) else 0.0\n"
    "  stage conv role anchor [n:batch<1, y:y<112, x:x<112, oc:out_channel<128] "
    "sum[ky:ky<3, kx:kx<3, ic:in_channel<64] = $pad[n, y + ky, x + kx, ic] * $w[oc, ky, kx, ic]\n"
    "  stage relu role epilogue [n:batch<1, y:y<112, x:x<112, oc:out_channel<128] = "
    "max($conv[n, y, x, oc], 0.0)\n  output $relu\n}\n",
    "dag product {\n  input $A f32[126, 1000]\n  weight $B f32[1000, 500]\n"
    "  stage C role anchor [m:m<126, n:n<500] sum[k:k<1000] = $A[m, k] * $B[k, n]\n"
    "  output $C\n}\n",
    "dag means {\n  input $A f32[512, 49]\n"
    "  stage S role anchor [m:m<512] sum[k:k<49] = $A[m, k]\n"
    "  stage C role epilogue [m:m<512] = $S[m] / 49.0\n  output $C\n}\n",
};
enum { N_DAGS = SEER_COUNT_OF(dags) };

typedef struct {
  seer_arena *arena;
  seer_target target;
  seer_sketch_list *list[N_DAGS];
} scene;

static scene scene_of(const char *target) {
  scene s = {.arena = seer_arena_create("test")};
  must(seer_target_parse(target, s.arena, &s.target));
  return s;
}

static void make_lists(scene *s) {
  for (size_t k = 0; k < N_DAGS; k++) {
    seer_dag *dag;
    must(seer_dag_parse("test", dags[k], strlen(dags[k]), s->arena, &dag));
    must(seer_sketch_generate(dag, &s->target, SEER_SPACE_FULL, s->arena, &s->list[k]));
  }
}

static void choose(
    const scene *s, uint32_t n_threads, uint64_t most_bytes, seer_untuned_task *out) {
  for (uint32_t k = 0; k < N_DAGS; k++)
    out[k] = (seer_untuned_task){.task = k, .sketches = s->list[k], .max_packed_bytes = most_bytes};
  const seer_untuned_how how = {&s->target, 1, DRAFTS, n_threads, NULL, NULL};
  must(seer_untuned_choose(&how, out, N_DAGS));
}

static const seer_nest *nest_of(
    const scene *s, const seer_sketch_list *list, const seer_schedule *schedule) {
  return seer_summarise(seer_summariser_create(list, s->arena), schedule);
}

static void it_is_allowed_and_no_worse_than_a_default(void **state) {
  (void)state;
  for (size_t m = 0; m < SEER_COUNT_OF(target_texts); m++) {
    scene s = scene_of(target_texts[m]);
    make_lists(&s);
    seer_untuned_task one[N_DAGS], three[N_DAGS];
    choose(&s, 1, 0, one);
    choose(&s, 3, 0, three);
    for (size_t k = 0; k < N_DAGS; k++) {
      const seer_sketch_list *list = s.list[k];
      assert_true(seer_schedule_equal(&one[k].schedule, &three[k].schedule));
      assert_int_equal(seer_schedule_check(list, &one[k].schedule), SEER_REJECT_NONE);
      assert_true(
          one[k].seconds == seer_analytic_seconds(nest_of(&s, list, &one[k].schedule), &s.target));
      for (uint32_t i = 0; i < list->n; i++) {
        seer_schedule usual;
        seer_schedule_default(list, i, &usual);
        assert_true(one[k].seconds <= seer_analytic_seconds(nest_of(&s, list, &usual), &s.target));
      }
    }
    seer_arena_destroy(s.arena);
  }
}

// Lanes that are neighbours are one load, of an operand that none of them moves there is one, and
// what lies apart is loaded one by one; what stands in two loops of items is taken for that.
static void lanes_are_neighbours(void **state) {
  (void)state;
  static const char *const splits[] = {
      "split C.m 1:1 2:1 3:1 4:6\n split C.n 1:1 2:100 3:1 4:1\n",  // the best of them
      "split C.m 1:1 2:4 3:1 4:6\n split C.n 1:1 2:32 3:1 4:1\n",
      "split C.m 1:1 2:126 3:1 4:1\n split C.n 1:1 2:1 3:1 4:6\n"};
  scene s = scene_of("opencl:cpu");
  make_lists(&s);
  const seer_sketch_list *list = s.list[1];
  double best = 0;
  for (size_t k = 0; k < SEER_COUNT_OF(splits); k++) {
    seer_schedule schedule;
    const char *text = seer_arena_printf(s.arena, "sched \"%s\" {\n %s split C.k 1:1 2:1\n}\n",
        list->sketch[0]->signature, splits[k]);
    must(seer_schedule_parse(list, "lanes", text, strlen(text), &schedule));
    const seer_nest *nest = nest_of(&s, list, &schedule);
    double seconds = seer_analytic_seconds(nest, &s.target);
    assert_true(seconds > best);
    if (k == 0) best = seconds;
  }
  seer_arena_destroy(s.arena);
}

// Of one axis that lanes do not fill, each operation has a mask; what is left behind whole vectors
// is done item by item.
static void vectors_are_whole(void **state) {
  (void)state;
  static const char dag_text[] =
      "dag product {\n  input $A f32[126, 1000]\n  weight $B f32[1000, 480]\n"
      "  stage C role anchor [m:m<126, n:n<480] sum[k:k<1000] = $A[m, k] * $B[k, n]\n"
      "  output $C\n}\n";
  static const struct {
    uint32_t items;
    double times;  // of the first, at least
  } cases[] = {{96, 1}, {128, 1.3}, {60, 1.1}};
  scene s = scene_of("opencl:cpu");
  seer_dag *dag;
  must(seer_dag_parse("test", dag_text, strlen(dag_text), s.arena, &dag));
  must(seer_sketch_generate(dag, &s.target, SEER_SPACE_FULL, s.arena, &s.list[0]));
  double whole = 0;
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_schedule schedule;
    const char *text = seer_arena_printf(s.arena,
        "sched \"%s\" {\n split C.m 1:1 2:1 3:1 4:6\n split C.n 1:1 2:%u 3:1 4:1\n"
        " split C.k 1:1 2:1\n}\n",
        s.list[0]->sketch[0]->signature, cases[k].items);
    must(seer_schedule_parse(s.list[0], "vectors", text, strlen(text), &schedule));
    double seconds = seer_analytic_seconds(nest_of(&s, s.list[0], &schedule), &s.target);
    if (k == 0) whole = seconds;
    if (seconds < cases[k].times * whole)
      fail_msg("%u items: %g s, whole vectors take %g s", cases[k].items, seconds, whole);
  }
  seer_arena_destroy(s.arena);
}

static void packed_weights_are_limited(void **state) {
  (void)state;
  scene s = scene_of("cuda:h200");
  make_lists(&s);
  seer_untuned_task any[N_DAGS], least[N_DAGS];
  choose(&s, 1, 0, any);
  choose(&s, 1, 1, least);
  for (size_t k = 0; k < N_DAGS; k++) {
    seer_schedule usual;
    seer_schedule_default(s.list[k], 0, &usual);
    uint64_t of_default = nest_of(&s, s.list[k], &usual)->packed_bytes;
    uint64_t bytes = nest_of(&s, s.list[k], &least[k].schedule)->packed_bytes;
    assert_true(bytes <= (of_default > 1 ? of_default : 1));
  }
  // The convolution's transformed weights are four times as many as those of 3 x 3.
  uint64_t limited = nest_of(&s, s.list[0], &least[0].schedule)->packed_bytes;
  assert_true(limited < nest_of(&s, s.list[0], &any[0].schedule)->packed_bytes);
  seer_arena_destroy(s.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_allowed_and_no_worse_than_a_default),
      cmocka_unit_test(lanes_are_neighbours), cmocka_unit_test(vectors_are_whole),
      cmocka_unit_test(packed_weights_are_limited)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
