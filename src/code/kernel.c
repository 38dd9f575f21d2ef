// kernel.c - what a kernel is to those who run it, whatever made its code: phases, parts,
// arguments.
#include "code/kernel.h"

#include "space/items/items.h"

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

static const char *const format_names[SEER_KERNEL_FORMAT_COUNT] = {
    "object", "c", "opencl-c", "opencl", "cuda-c", "cubin"};

const char *seer_kernel_format_name(seer_kernel_format format) { return format_names[format]; }

// Of what is allocated below the node: a block's memory.
static uint64_t group_bytes(const seer_loop *loop, uint32_t id) {
  uint64_t n = 0;
  for (; id != 0; id = loop->node[id].next) {
    const seer_loop_node *node = &loop->node[id];
    if (node->kind == SEER_NODE_FOR) n += group_bytes(loop, node->body);
    if (node->kind != SEER_NODE_ALLOC) continue;
    const seer_loop_buf *buf = &loop->buf[node->buf[0]];
    if (buf->storage == SEER_STORE_WORKGROUP)
      n += (uint64_t)seer_round_up(buf->n_elems * seer_dtype_bytes(buf->dtype), 64);
  }
  return n;
}

static seer_status describe_launches(const seer_loop *loop, seer_kernel *out) {
  for (uint32_t p = 0; p < loop->n_phase; p++) {
    uint64_t n_bytes = group_bytes(loop, loop->phase[p]);
    if (n_bytes > SEER_KERNEL_MAX_GROUP_BYTES)
      return SEER_FAIL(UNSUPPORTED,
          "loop %s: phase %u has %" PRIu64 " bytes of a block's memory, at most %u can be had",
          loop->name, p, n_bytes, SEER_KERNEL_MAX_GROUP_BYTES);
    out->launch[p] = (seer_kernel_launch){
        .n_items = (uint32_t)seer_items_of_phase(loop, p), .group_bytes = (uint32_t)n_bytes};
  }
  return SEER_OK;
}

seer_status seer_kernel_describe(
    const seer_loop *loop, const char *symbol, seer_arena *arena, seer_kernel *out) {
  *out = (seer_kernel){0};
  SEER_TRY(check_parts(loop));
  SEER_TRY(describe_launches(loop, out));
  out->symbol = seer_arena_strdup(arena, symbol);
  out->n_phase = loop->n_phase;
  for (uint32_t p = 0; p < loop->n_phase; p++)
    out->n_parts[p] = (uint32_t)seer_loop_phase_parts(loop, p);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *decl = &loop->buf[b];
    if (!seer_loop_is_argument(decl->storage)) continue;
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
