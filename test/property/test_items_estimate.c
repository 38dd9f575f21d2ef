// test_items_estimate.c - what the estimate of GPUs says of random schedules of random DAGs: what
// it counts is what vector code does when all items of a block are run side by side, it is finite
// and never below the bound of the task, and a device that is better in anything is never slower.
// SEER_TEST: timeout=200 cost=20
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "code/gen/generate.h"
#include "learn/feature.h"
#include "learn/gpu/profile.h"
#include "learn/roofline.h"
#include "space/lower.h"
#include "support/random_programs.h"
#include "support/test.h"

#define N_PAIRS 600
#define N_TRAFFIC 800

static const char *const target_texts[] = {
    "cuda:h200", "cuda:v100", "cuda:sm_86", "opencl:generic"};
enum { N_TARGETS = SEER_COUNT_OF(target_texts) };

static void read_targets(seer_target *out, seer_arena *arena) {
  for (uint32_t k = 0; k < N_TARGETS; k++) must(seer_target_parse(target_texts[k], arena, &out[k]));
}

// ---- what is counted

typedef struct {
  uint32_t n;
  double requests[20 * N_TRAFFIC], sectors[20 * N_TRAFFIC];
  uint32_t n_group;
  double group_requests[20 * N_TRAFFIC], group_turns[20 * N_TRAFFIC];
} ratios;
static ratios found;

static const char *check_traffic(void *user, const random_program *p, seer_arena *arena) {
  const seer_gen_machine machine = seer_gen_machine_of_items(true);
  (void)user;
  seer_vec_code *code;
  seer_vec_traffic traffic = {0};
  seer_rng rng;
  seer_rng_init(&rng, p->draw);
  void **data = loop_expect_data(p->expect, p->sketch, p->loop, arena);
  seer_status status = seer_gen_code(p->loop, &machine, "items", arena, &code);
  if (!status) status = seer_vec_eval_traffic(code, data, &rng, &traffic);
  if (status) return seer_arena_printf(arena, "%s", seer_status_message(status));
  seer_kernel_profile kernel[SEER_PROFILE_MAX_KERNELS];
  const seer_nest *nest =
      seer_summarise(seer_summariser_create(p->expect->list, arena), p->schedule);
  uint32_t n = seer_profile_kernels(nest, p->expect->list->target, kernel);
  double requests = 0, sectors = 0, group_requests = 0, group_turns = 0;
  for (uint32_t k = 0; k < n; k++) {
    requests += kernel[k].blocks * kernel[k].requests;
    sectors += kernel[k].blocks * kernel[k].sectors;
    group_requests += kernel[k].blocks * kernel[k].group_requests;
    group_turns += kernel[k].blocks * kernel[k].group_turns;
  }
  if (traffic.requests > 0 && found.n < SEER_COUNT_OF(found.requests)) {
    found.requests[found.n] = requests / (double)traffic.requests;
    found.sectors[found.n++] = sectors / (double)traffic.sectors;
  }
  if (traffic.group_requests > 0 && group_requests > 0 &&
      found.n_group < SEER_COUNT_OF(found.group_requests)) {
    found.group_requests[found.n_group] = group_requests / (double)traffic.group_requests;
    found.group_turns[found.n_group++] = group_turns / (double)traffic.group_turns;
  }
  return NULL;
}

// The median, and the share within a factor of 2.
static void say(const char *what, double *ratio, uint32_t n, double *out_median, double *out_near) {
  uint32_t n_near = 0;
  for (uint32_t i = 0; i < n; i++) n_near += ratio[i] >= 0.5 && ratio[i] <= 2;
  *out_near = (double)n_near / n;
  *out_median = seer_median(ratio, n);
  print_message(
      "%s: %u programs, %.2f of what there are in the median, %.0f %% within a factor of "
      "2\n",
      what, n, *out_median, 100 * *out_near);
}

static void it_counts_what_warps_do(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("targets");
  seer_target targets[N_TARGETS];
  read_targets(targets, arena);
  random_programs how = {.targets = targets,
      .n_targets = N_TARGETS,
      .max_sketches = 3,
      .has_default = true,
      .n_samples = 3,
      .check = check_traffic};
  random_programs_check(&how, "traffic", 1, N_TRAFFIC);
  double median, near;
  say("requests", found.requests, found.n, &median, &near);
  assert_true(median > 0.9 && median < 1.2 && near > 0.75);
  say("sectors", found.sectors, found.n, &median, &near);
  assert_true(median > 0.9 && median < 1.2 && near > 0.75);
  say("requests of blocks' memory", found.group_requests, found.n_group, &median, &near);
  assert_true(median > 0.9 && median < 1.2 && near > 0.75);
  say("turns of banks", found.group_turns, found.n_group, &median, &near);
  assert_true(median > 0.9 && median < 1.2 && near > 0.75);
  seer_arena_destroy(arena);
}

// Rows of the second operand lie by their steps, and items side by side read row by row: all from
// one bank, if nothing is between rows.
static const char turned[] =
    "dag product {\n  input $A f32[64, 64]\n  input $B f32[64, 64]\n"
    "  stage C role anchor [m:m<64, n:n<64] sum[k:k<64] = $A[m, k] * $B[n, k]\n  output $C\n}\n";

static void conflicts_of_banks_are_those_of_warps(void **state) {
  (void)state;
  static const uint32_t pads[] = {0, 1, 4};
  double turns[3];
  for (size_t k = 0; k < SEER_COUNT_OF(pads); k++) {
    seer_arena *arena = seer_arena_create("test");
    const seer_gen_machine machine = seer_gen_machine_of_items(true);
    seer_target target;
    seer_dag *dag;
    seer_sketch_list *list;
    seer_schedule schedule;
    seer_loop *loop;
    seer_vec_code *code;
    seer_vec_traffic traffic = {0};
    seer_rng rng;
    seer_rng_init(&rng, 1);
    must(seer_target_parse("cuda:sm_80", arena, &target));
    must(seer_dag_parse("turned", turned, strlen(turned), arena, &dag));
    must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list));
    const char *text = seer_arena_printf(arena,
        "sched \"direct/cachewrite(C)/fetch(C)/fuse@1(C)\" {\n  split C.m 1:1 2:4 3:1 4:1\n"
        "  split C.n 1:1 2:32 3:1 4:1\n  split C.k 1:32 2:1\n  width A.fetch 1\n  pad A.fetch 0\n"
        "  width B.fetch 1\n  pad B.fetch %u\n  unroll C 0\n}\n",
        pads[k]);
    must(seer_schedule_parse(list, "turned", text, strlen(text), &schedule));
    must(seer_loop_lower(list, &schedule, arena, &loop));
    const loop_expect *expect = loop_expect_make(list, 1, arena);
    void **data = loop_expect_data(expect, list->sketch[0], loop, arena);
    must(seer_gen_code(loop, &machine, "f", arena, &code));
    must(seer_vec_eval_traffic(code, data, &rng, &traffic));
    seer_kernel_profile kernel;
    const seer_nest *nest = seer_summarise(seer_summariser_create(list, arena), &schedule);
    assert_int_equal(seer_profile_kernels(nest, &target, &kernel), 1);
    turns[k] = kernel.blocks * kernel.group_turns;
    print_message(
        "pad %u: %g turns, of warps %" PRIu64 "\n", pads[k], turns[k], traffic.group_turns);
    assert_true(turns[k] == (double)traffic.group_turns);
    seer_arena_destroy(arena);
  }
  assert_true(turns[1] * 4 < turns[0] && turns[2] < turns[0]);
}

// ---- what it comes to

enum { N_CHANGES = 12 };
static const char *const change_names[N_CHANGES] = {"processors", "clock", "FMAs", "memory's rate",
    "L2's rate", "L2", "near memory", "near L2", "near blocks' memory", "launches", "barriers",
    "registers"};

static seer_target changed(const seer_target *base, int change) {
  seer_target t = *base;
  seer_target_gpu *gpu = &t.gpu;
  gpu->n_processors += change == 0 ? gpu->n_processors / 2 : 0;
  gpu->clock_ghz *= change == 1 ? 2 : 1;
  gpu->n_fmas *= change == 2 ? 2 : 1;
  gpu->dram_gbs *= change == 3 ? 2 : 1;
  gpu->l2_cycle_bytes *= change == 4 ? 2 : 1;
  gpu->l2_bytes *= change == 5 ? 2 : 1;
  gpu->dram_cycles /= change == 6 ? 2 : 1;
  gpu->l2_cycles /= change == 7 ? 2 : 1;
  gpu->workgroup_cycles /= change == 8 ? 2 : 1;
  gpu->launch_s /= change == 9 ? 2 : 1;
  gpu->barrier_cycles /= change == 10 ? 2 : 1;
  gpu->n_registers *= change == 11 ? 2 : 1;
  return t;
}

typedef struct {
  uint64_t n, n_faster[N_CHANGES], n_kernels;
} counts;

static const char *check_nest(counts *c, const seer_target *target, const seer_dag *dag,
    const seer_nest *nest, seer_arena *arena) {
  double seconds = seer_analytic_seconds(nest, target);
  if (!isfinite(seconds) || seconds <= 0) return seer_arena_printf(arena, "estimate %g", seconds);
  for (int k = 0; k < 2; k++) {
    double bound = seer_roofline_seconds(dag, target, k == 0 ? 0 : 1e12);
    if (seconds < bound)
      return seer_arena_printf(arena, "estimate %g s, its bound is %g s", seconds, bound);
  }
  c->n++;
  c->n_kernels += nest->n_phase;
  for (int k = 0; k < N_CHANGES; k++) {
    seer_target better = changed(target, k);
    double faster = seer_analytic_seconds(nest, &better);
    if (faster > seconds * (1 + 1e-12))
      return seer_arena_printf(
          arena, "better %s: %g s, before %g s", change_names[k], faster, seconds);
    c->n_faster[k] += faster < seconds;
  }
  return NULL;
}

static const char *check_estimate(void *user, const random_program *p, seer_arena *arena) {
  const seer_sketch_list *list = p->expect->list;
  const seer_nest *nest = seer_summarise(seer_summariser_create(list, arena), p->schedule);
  return check_nest(user, list->target, p->sketch->dag, nest, arena);
}

// Larger than what is drawn: memory and blocks in hand count.
static const char *const large[] = {
    "dag product {\n  input $A f32[512, 1024]\n  weight $B f32[2048, 1024]\n"
    "  stage C role anchor [m:m<512, n:n<2048] sum[k:k<1024] = $A[m, k] * $B[n, k]\n"
    "  output $C\n}\n",
    "dag row {\n  input $A f32[1, 4096]\n  weight $B f32[4096, 16384]\n"
    "  stage C role anchor [m:m<1, n:n<16384] sum[k:k<4096] = $A[m, k] * $B[k, n]\n"
    "  output $C\n}\n",
    "dag sums {\n  input $A f32[64, 262144]\n"
    "  stage C role anchor [m:m<64] sum[k:k<262144] = $A[m, k]\n  output $C\n}\n",
    "dag map {\n  input $A f32[4096, 8192]\n"
    "  stage C role anchor [m:m<4096, n:n<8192] = exp($A[m, n]) * 2.0\n  output $C\n}\n",
};

static void check_large(const char *text, const seer_target *target, counts *c) {
  seer_arena *arena = seer_arena_create("large");
  seer_dag *dag;
  seer_sketch_list *list;
  must(seer_dag_parse("large", text, strlen(text), arena, &dag));
  must(seer_sketch_generate(dag, target, SEER_SPACE_FULL, arena, &list));
  seer_summariser *summariser = seer_summariser_create(list, arena);
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (uint32_t k = 0; k < 20; k++) {
    seer_schedule schedule;
    uint32_t sketch = k % list->n;
    if (k < list->n)
      seer_schedule_default(list, sketch, &schedule);
    else if (seer_schedule_sample(list, sketch, &rng, &schedule, NULL) != SEER_REJECT_NONE)
      continue;
    const char *wrong = check_nest(
        c, target, list->sketch[sketch]->dag, seer_summarise(summariser, &schedule), arena);
    if (wrong)
      fail_msg("%s: %s: %s", dag->name, wrong, seer_schedule_print(list, &schedule, arena));
  }
  seer_arena_destroy(arena);
}

static void run_large(counts *c) {
  seer_arena *arena = seer_arena_create("targets");
  seer_target targets[N_TARGETS];
  read_targets(targets, arena);
  for (uint32_t t = 0; t < N_TARGETS; t++)
    for (size_t k = 0; k < SEER_COUNT_OF(large); k++) check_large(large[k], &targets[t], c);
  seer_arena_destroy(arena);
}

static void run_space(seer_space_kind space, counts *c) {
  seer_arena *arena = seer_arena_create("targets");
  seer_target targets[N_TARGETS];
  read_targets(targets, arena);
  random_programs how = {.targets = targets,
      .n_targets = N_TARGETS,
      .space = space,
      .max_sketches = 4,
      .has_default = true,
      .n_samples = 4,
      .has_children = true,
      .check = check_estimate,
      .user = c};
  random_programs_check(&how, "estimates", 1, N_PAIRS);
  seer_arena_destroy(arena);
}

static void better_devices_are_never_slower(void **state) {
  (void)state;
  counts c = {0};
  run_space(SEER_SPACE_FULL, &c);
  run_space(SEER_SPACE_ANSOR, &c);
  run_large(&c);
  assert_true(c.n > N_PAIRS && c.n_kernels > c.n);
  for (int k = 0; k < N_CHANGES; k++) {
    print_message(
        "%s: faster in %u of %u\n", change_names[k], (unsigned)c.n_faster[k], (unsigned)c.n);
    if (c.n_faster[k] == 0) fail_msg("better %s never made a difference", change_names[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_counts_what_warps_do),
      cmocka_unit_test(conflicts_of_banks_are_those_of_warps),
      cmocka_unit_test(better_devices_are_never_slower),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
