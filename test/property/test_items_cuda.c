// test_items_cuda.c - random schedules of random DAGs for GPUs as CUDA C, through each NVRTC that
// is here, for sm_70 (CUDA 12's), sm_80 and sm_90: all compile, ask for the blocks' memory that was
// foretold, and none spills. SEER_PROPERTY_PAIRS=n tries so many schedules in place of a few.
// SEER_TEST: timeout=300 cost=25
#include <glob.h>
#include <string.h>

#include "code/gpu/build.h"
#include "setup/target.h"
#include "support/drawn_kernels.h"
#include "support/test.h"

#define N_SCHEDULES 40
#define VENV \
  SEER_SOURCE_DIR "/.venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"

typedef struct {
  seer_nvrtc *newest, *oldest;  // the toolkit's where it is installed; CUDA 12's
  uint32_t n_kernel, n_of_sm70, most_registers;
  drawn_choice choice;
} compilers;

static void open_both(compilers *c) {
  glob_t found;
  if (glob(VENV, 0, NULL, &found) != 0) fail_msg("tool/deps.sh gpu installs %s", VENV);
  must(seer_nvrtc_open(found.gl_pathv[0], &c->oldest));
  seer_status status = seer_nvrtc_open(NULL, &c->newest);
  if (status) c->newest = c->oldest;
  seer_status_free(status);
  globfree(&found);
}

static const char *build(compilers *c, const random_program *p, uint32_t sm, seer_arena *arena) {
  seer_kernel text, built;
  seer_cubin cubin;
  seer_status status = seer_gpu_write(p->loop, SEER_KERNEL_CUDA_C, "items", arena, &text);
  if (!status)
    status = seer_gpu_compile_cuda(sm == 70 ? c->oldest : c->newest, sm, &text, arena, &built);
  if (!status) status = seer_cubin_read(built.object, built.n_object_bytes, arena, &cubin);
  if (status) {
    const char *wrong = seer_arena_printf(arena, "sm_%u: %s", sm, seer_status_message(status));
    seer_status_free(status);
    return wrong;
  }
  for (uint32_t k = 0; k < cubin.n; k++) {
    const seer_cubin_kernel *kernel = &cubin.kernel[k];
    c->n_kernel++;
    if (kernel->registers > c->most_registers) c->most_registers = kernel->registers;
    if (kernel->frame_bytes != 0)
      return seer_arena_printf(
          arena, "sm_%u, %s: a frame of %u bytes", sm, kernel->name, kernel->frame_bytes);
  }
  return NULL;
}

static const char *check(void *user, const random_program *p, seer_arena *arena) {
  compilers *c = user;
  if (!drawn_wants(&c->choice, p)) return NULL;
  const char *wrong = build(c, p, 80, arena);
  if (!wrong) wrong = build(c, p, 90, arena);
  if (!wrong && c->choice.n % 6 == 0) {
    c->n_of_sm70++;
    wrong = build(c, p, 70, arena);
  }
  drawn_take(&c->choice, p);
  return wrong;
}

static bool lacks(const void *user) {
  const compilers *c = user;
  return c->choice.n < c->choice.most;
}

static void all_compile(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("target");
  seer_target target;
  must(seer_target_parse("cuda:sm_70", arena, &target));
  compilers c = {.choice = drawn_choose(N_SCHEDULES)};
  open_both(&c);
  random_programs how = {.targets = &target,
      .n_targets = 1,
      .max_sketches = 2,
      .has_default = true,
      .n_samples = 2,
      .check = check,
      .user = &c,
      .lacks = lacks};
  random_programs_check(&how, "cuda", 20000, DRAWN_OF * N_SCHEDULES);
  print_message("%u schedules, %u for sm_70, too; %u kernels, at most %u registers\n", c.choice.n,
      c.n_of_sm70, c.n_kernel, c.most_registers);
  drawn_check(&c.choice);
  assert_true(c.n_of_sm70 >= c.choice.n / 6);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_compile)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
