// constant_compile.c - the kernels of constant stages, by the compiler that is at hand: for this
// machine, and for those that have none.
#include "code/constant.h"

// ---- here
static seer_status compile(void *user, uint64_t key, const seer_target *target,
    const seer_loop *loop, seer_arena *arena, seer_kernel *out) {
  (void)user, (void)key;
  seer_codegen *codegen;
  SEER_TRY(seer_codegen_create(NULL, target, &codegen));
  seer_status status = seer_codegen_build(codegen, loop, SEER_CONSTANT_SYMBOL, arena, out);
  seer_codegen_destroy(codegen);
  return status;
}

seer_status seer_constant_eval(const seer_dag *dag, uint32_t buf, const void *const *input,
    uint32_t n_threads, void *out_data) {
  seer_arena *arena = seer_arena_create("constant's target");
  seer_target here;
  const seer_constant_maker maker = {compile, NULL};
  seer_status status = seer_target_detect(arena, &here);
  if (!status) status = seer_constant_run(&maker, &here, dag, buf, input, n_threads, out_data);
  seer_arena_destroy(arena);
  return status;
}

// ---- for elsewhere
typedef struct {
  seer_arena *arena;
  seer_constant_kernels *kernels;
} list;

static seer_status add(void *user, uint64_t key, const seer_target *target, const seer_loop *loop,
    seer_arena *arena, seer_kernel *out) {
  const list *l = user;
  seer_constant_kernels *all = l->kernels;
  for (size_t k = 0; k < all->n; k++)
    if (all->kernel[k].key == key)
      return seer_kernel_describe(loop, SEER_CONSTANT_SYMBOL, arena, out);
  SEER_TRY(compile(NULL, key, target, loop, arena, out));
  all->kernel = SEER_GROW(l->arena, seer_constant_kernel, all->kernel, all->n, &all->cap);
  all->kernel[all->n++] = (seer_constant_kernel){.key = key,
      .scratch_bytes = out->scratch_bytes,
      .object = seer_arena_memdup(l->arena, out->object, out->n_object_bytes),
      .n_object_bytes = out->n_object_bytes};
  return SEER_OK;
}

seer_status seer_constant_compile(const seer_dag *dag, uint32_t buf, const seer_target *target,
    seer_arena *arena, seer_constant_kernels *kernels) {
  list l = {arena, kernels};
  const seer_constant_maker maker = {add, &l};
  return seer_constant_run(&maker, target, dag, buf, NULL, 0, NULL);
}
