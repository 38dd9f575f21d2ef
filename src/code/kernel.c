// kernel.c - what a kernel is to those who run it, whatever made its code: phases, parts,
// arguments.
#include "code/kernel.h"

// The runtime counts parts in 31 bits (runtime/plan.c).
static seer_status check_parts(const seer_loop *loop) {
  for (uint32_t p = 0; p < loop->n_phase; p++) {
    int64_t n = seer_loop_phase_parts(loop, p);
    if (n < 1 || n > INT32_MAX)
      return SEER_FAIL(UNSUPPORTED,
          "loop %s: phase %u has %" PRId64 " parts, at most %d can be run", loop->name, p, n,
          INT32_MAX);
  }
  return SEER_OK;
}

seer_status seer_kernel_describe(
    const seer_loop *loop, const char *symbol, seer_arena *arena, seer_kernel *out) {
  *out = (seer_kernel){0};
  SEER_TRY(check_parts(loop));
  out->symbol = seer_arena_strdup(arena, symbol);
  out->n_phase = loop->n_phase;
  for (uint32_t p = 0; p < loop->n_phase; p++)
    out->n_parts[p] = (uint32_t)seer_loop_phase_parts(loop, p);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *decl = &loop->buf[b];
    if (decl->storage == SEER_STORE_LOCAL) continue;
    SEER_ASSERT(out->n_arg < SEER_DAG_MAX_BUFFERS - 1, "%u arguments", out->n_arg);
    out->arg[out->n_arg++] = (seer_kernel_arg){.storage = decl->storage,
        .dag_buf = decl->dag_buf,
        .n_bytes = (uint64_t)decl->n_elems * seer_dtype_bytes(decl->dtype),
        .pack = decl->pack,
        .dtype = decl->dtype};
  }
  return SEER_OK;
}

void seer_kernel_set_scratch(seer_kernel *kernel, uint64_t n_bytes) {
  kernel->scratch_bytes = n_bytes;
  kernel->arg[kernel->n_arg++] = (seer_kernel_arg){.storage = SEER_STORE_LOCAL, .n_bytes = n_bytes};
}

seer_status seer_kernel_load(
    const seer_kernel *kernel, seer_kernel_phase *out_phase, seer_loaded *out_loaded) {
  SEER_ASSERT(kernel->format == SEER_KERNEL_ELF, "format %d", (int)kernel->format);
  return seer_object_load(kernel->object, kernel->n_object_bytes, kernel->symbol, kernel->n_phase,
      out_phase, out_loaded);
}
