// The estimate of kernels by waves, by hand: profiles that are made up, on a made-up device of 10
// processors at 1 GHz with four schedulers, 128 FMAs and 32 bytes of L2 a cycle. Of what the terms
// come to a kernel takes 1.5 times as much, and 287 cycles for its last store.
#include <math.h>

#include "learn/gpu/profile.h"
#include "support/test.h"

static seer_target device(seer_arena *arena) {
  seer_target target;
  must(
      seer_target_parse("cuda:sm_90 -processors=10 -clock-ghz=1 -fmas=128 -l2-cycle-bytes=32 "
                        "-dram-gbs=100 -l2=1048576 -launch-s=1e-6 -dram-cycles=600 -l2-cycles=300 "
                        "-l1-cycles=40 -workgroup-cycles=30 -barrier-cycles=13 "
                        "-barrier-warp-cycles=2",
          arena, &target));
  return target;
}

// Of four warps, as many blocks as processors, nothing to do.
static seer_kernel_profile idle(void) {
  return (seer_kernel_profile){.blocks = 10, .items = 128, .warps = 4, .resident = 4};
}

static void near(double got, double want, const char *what) {
  if (fabs(got - want) > 1e-9 * fabs(want)) fail_msg("%s: %g, by hand %g", what, got, want);
}

static void pipes_and_warps(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_target target = device(arena);
  const seer_target_gpu *gpu = &target.gpu;
  seer_kernel_profile k = idle();
  near(seer_kernel_cycles(&k, gpu), 0, "nothing");
  k.issues = 4000;
  near(seer_kernel_cycles(&k, gpu), 1000, "four schedulers");
  k.warps = 2;  // a block alone has two of them
  near(seer_kernel_cycles(&k, gpu), 2000, "two warps");
  k.blocks = 20;  // which both blocks of a processor fill
  near(seer_kernel_cycles(&k, gpu), 2000, "two blocks of two warps");
  k.blocks = 80;
  near(seer_kernel_cycles(&k, gpu), 8000, "eight blocks");
  k = idle();
  k.fmas = 4000;
  k.issues = 5000;
  near(seer_kernel_cycles(&k, gpu), 1250, "FMAs among others");
  seer_target narrow = target;
  narrow.gpu.n_fmas = 64;
  near(seer_kernel_cycles(&k, &narrow.gpu), 2000, "half the pipes");
  k.turns = 3000;
  near(seer_kernel_cycles(&k, gpu), 3000, "banks");
  k.l2_bytes = 32 * 4000;
  near(seer_kernel_cycles(&k, gpu), 4000, "bytes from L2");
  seer_arena_destroy(arena);
}

// Of lanes: a block is a task; what there are no registers for comes and goes with each term.
static void lanes_and_registers(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target = device(arena);
  target.gpu.items_are_lanes = true;
  target.gpu.warp_items = 16;
  target.gpu.n_fmas = 64;
  const seer_target_gpu *gpu = &target.gpu;
  seer_kernel_profile k = {.blocks = 10, .items = 16, .warps = 1, .resident = 1};
  near(seer_kernel_cycles(&k, gpu), 300, "a block");
  k.issues = 4000;  // one warp has all that a core can begin
  near(seer_kernel_cycles(&k, gpu), 1300, "a vector");
  k.sums = 28;
  k.operands = 3;
  k.fmas = 2800;
  near(seer_kernel_cycles(&k, gpu), 1300, "as many registers as there are");
  k.operands = 13;
  near(seer_kernel_cycles(&k, gpu), 1300 + 2 * 10 * 100 / 4.0, "ten too few");
  target.gpu.warp_items = 8;  // of 16
  target.gpu.n_fmas = 32;
  k.operands = 3;
  near(seer_kernel_cycles(&k, gpu), 1300 + 2 * 16 * 100 / 4.0, "half of them");
  k.operands = 13;  // ten more than can come and go in order, for each of 2,800 FMAs
  near(seer_kernel_cycles(&k, gpu), 1300 + (2 * 26 * 100 + 2800 * 10 / 4.0) / 4, "far too few");
  seer_arena_destroy(arena);
}

static void waits_and_waves(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_target target = device(arena);
  const seer_target_gpu *gpu = &target.gpu;
  seer_kernel_profile k = idle();
  k.turns = 100;
  k.barriers = 2;
  k.near_waits = 1;
  k.l1_waits = 1;
  k.l2_waits = 1;
  k.dram_waits = 1;
  double waits = 2 * (13 + 4 * 2) + 30 + 40 + 300 + 600;
  near(seer_kernel_cycles(&k, gpu), 100 + waits, "a block alone");
  k.blocks = 40;  // four in hand hide each other's
  near(seer_kernel_cycles(&k, gpu), 100 + waits, "four blocks in hand");
  k.blocks = 41;  // one processor has a fifth
  near(seer_kernel_cycles(&k, gpu), 2 * (100 + waits), "and one more");
  k.turns = 2000;
  near(seer_kernel_cycles(&k, gpu), 5 * 2000, "waits that work hides");
  // Fetches: all of what they take, or what the work of the steps in front leaves.
  k = idle();
  k.turns = 100;
  k.fetch_dram_waits = 4;
  k.fetch_l2_waits = 1;
  near(seer_kernel_cycles(&k, gpu), 100 + 2700, "fetches");
  k.ahead = 1;
  near(seer_kernel_cycles(&k, gpu), 2700, "a step ahead");
  k.ahead = 3;
  near(seer_kernel_cycles(&k, gpu), 900, "three steps ahead");
  k.turns = 1000;
  near(seer_kernel_cycles(&k, gpu), 1000, "nothing is left");
  seer_arena_destroy(arena);
}

static void kernels_follow_each_other(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_target target = device(arena);
  seer_kernel_profile k[2] = {idle(), idle()};
  k[0].turns = 1000;
  near(seer_kernel_seconds(&k[0], &target), 1e-6 + 1.5 * (1000 + 300) * 1e-9, "one");
  k[1].turns = 500;
  k[1].steps = 3;  // its first fetch, too
  near(seer_kernel_seconds(&k[1], &target), 1e-6 + 1.5 * (500 + 300 + 600) * 1e-9, "of steps");
  double both = 2e-6 + 1.5 * (1500 + 2 * 300 + 600) * 1e-9;
  near(seer_kernels_seconds(k, 2, &target), both, "both");
  // Weights come from memory, others as far as L2 of 1 MiB does not keep them.
  k[0].weight_bytes = 1e6;
  near(seer_kernel_seconds(&k[0], &target), 1e-6 + 1e6 / 100e9, "weights");
  k[0].weight_bytes = 0;
  k[0].read_bytes = k[1].read_bytes = 900e3;
  near(seer_kernels_seconds(k, 2, &target), both, "each is kept");
  k[0].arg_bytes = k[1].arg_bytes = 1048576;  // of the program
  near(seer_kernels_seconds(k, 2, &target), 1e-6 + 1048576 / 100e9, "together they are not");
  k[1].written_bytes = 1048576 + 2e6;
  near(seer_kernel_seconds(&k[1], &target), 1e-6 + 2e6 / 100e9, "what is written");
  k[0].result_bytes = k[1].result_bytes = 1048576 + 2e6;
  k[1].written_bytes = 0;
  near(seer_kernels_seconds(k, 2, &target), 1e-6 + (1048576 + 4e6) / 100e9, "what both write");
  seer_arena_destroy(arena);
}

// What limits the blocks in hand: registers, as far as a block leaves them, and bytes.
static void blocks_in_hand(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_target target = device(arena);
  seer_kernel_profile k = idle();
  k.estimated_registers = 32;
  seer_profile_residence(&target.gpu, &k);
  near(k.resident, 16, "items");
  k.estimated_registers = 128;
  seer_profile_residence(&target.gpu, &k);
  near(k.resident, 4, "registers");
  k.workgroup_bytes = 100e3;
  seer_profile_residence(&target.gpu, &k);
  near(k.resident, 2, "bytes");
  k.items = 1024;
  k.warps = 32;
  k.estimated_registers = 255;  // it gets 64
  k.workgroup_bytes = 0;
  seer_profile_residence(&target.gpu, &k);
  near(k.resident, 1, "a large block");
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pipes_and_warps),
      cmocka_unit_test(lanes_and_registers), cmocka_unit_test(waits_and_waves),
      cmocka_unit_test(kernels_follow_each_other), cmocka_unit_test(blocks_in_hand)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
