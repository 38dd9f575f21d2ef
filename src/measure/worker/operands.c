// operands.c - allocation and contents of what kernels read and write while they are timed or
// checked.

#include "measure/worker/operands.h"

#include <stdlib.h>
#include <string.h>

#include "base/os_fault.h"
#include "base/rng.h"
#include "measure/answer/domain.h"
#include "runtime/exec.h"

#define HUGE_PAGE (2u << 20)

void seer_pages_clear(seer_pages *pages) {
  seer_rt_pages_free(pages->data, pages->n_bytes);
  *pages = (seer_pages){NULL, 0};
}

seer_status seer_pages_reserve(seer_pages *pages, uint64_t n_bytes, const char *what) {
  if (pages->n_bytes >= n_bytes) return SEER_OK;
  seer_pages_clear(pages);
  n_bytes = (uint64_t)seer_round_up((int64_t)n_bytes, HUGE_PAGE);
  pages->data = seer_rt_pages_alloc(n_bytes);
  if (!pages->data)
    return SEER_FAIL(RESOURCE, "no memory for %" PRIu64 " bytes of %s", n_bytes, what);
  pages->n_bytes = n_bytes;
  return SEER_OK;
}

static seer_status allocate(uint64_t n_bytes, const char *what, void *out) {
  void *data = aligned_alloc(
      SEER_OPERAND_ALIGN, (size_t)seer_round_up((int64_t)n_bytes + 1, SEER_OPERAND_ALIGN));
  if (!data) return SEER_FAIL(RESOURCE, "no memory for %" PRIu64 " bytes of %s", n_bytes, what);
  memcpy(out, &data, sizeof data);
  return SEER_OK;
}

// Uniform in the buffer's domain (domain.h).
static void fill(const seer_dag_buf *buf, seer_domain domain, seer_rng *rng, void *data) {
  int64_t n = seer_dag_buf_elems(buf);
  double span = domain.high - domain.low;
  bool is_real = seer_dtype_is_float(buf->dtype);
  for (int64_t i = 0; i < n; i++) {
    if (!is_real) {
      seer_dtype_store_i64(
          buf->dtype, data, i, seer_rng_range(rng, (int64_t)domain.low, (int64_t)domain.high));
    } else if (buf->dtype == SEER_DTYPE_F32) {
      ((float *)data)[i] = (float)(domain.low + seer_rng_f64(rng) * span);
    } else {
      seer_dtype_store_f64(buf->dtype, data, i, domain.low + seer_rng_f64(rng) * span);
    }
  }
}

void seer_task_memory_clear(seer_task_memory *memory) {
  seer_pages_clear(&memory->pages);
  seer_pages_clear(&memory->shared);
  memset(memory, 0, sizeof(*memory));
}

static uint64_t padded_bytes(uint64_t n_bytes) {
  return (uint64_t)seer_round_up((int64_t)n_bytes, SEER_OPERAND_ALIGN);
}

static bool is_operand(const seer_dag_buf *buf) {
  return buf->kind != SEER_BUF_STAGE || buf->is_output;
}

static uint64_t operand_bytes(const seer_dag_buf *buf) {
  if (!is_operand(buf)) return 0;
  return (uint64_t)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
}

static void add_moving(const seer_dag *dag, seer_buf_kind kind, seer_task_memory *out) {
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == kind && out->buf[b])
      out->moving[out->n_moving++] = (seer_moving){out->buf[b], operand_bytes(&dag->buf[b])};
  }
}

seer_status seer_task_memory_create(
    const seer_worker_task_state *task, uint64_t seed, seer_task_memory *out) {
  memset(out, 0, sizeof(*out));
  out->task = task;
  const seer_dag *dag = task->dag;
  seer_domain domains[SEER_DAG_MAX_BUFFERS];
  seer_ranges ranges;
  seer_arena *arena = seer_arena_create("domains");
  seer_domains_choose(dag, arena, domains);
  seer_ranges_find(dag, domains, arena, &ranges);
  seer_arena_destroy(arena);
  memcpy(out->has_jumps, ranges.has_jumps, sizeof out->has_jumps);
  uint64_t total = 0;
  for (uint32_t b = 0; b < dag->n_buf; b++) total += padded_bytes(operand_bytes(&dag->buf[b]));
  SEER_TRY(seer_pages_reserve(&out->pages, total + 1, "operands"));
  uint8_t *at = out->pages.data;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    const seer_dag_buf *buf = &dag->buf[b];
    uint64_t n_bytes = operand_bytes(buf);
    if (!is_operand(buf)) continue;
    out->buf[b] = at;
    at += padded_bytes(n_bytes);
    seer_rng rng;
    seer_rng_init_stream(&rng, seed, b);
    if (buf->kind != SEER_BUF_STAGE) fill(buf, domains[b], &rng, out->buf[b]);  // else zeros
  }
  add_moving(dag, SEER_BUF_STAGE, out);
  add_moving(dag, SEER_BUF_ACTIVATION, out);
  return SEER_OK;
}

static seer_status reserve_weights(seer_weight_pool *pool, uint64_t n_bytes) {
  if (pool->n_bytes >= n_bytes) return SEER_OK;
  SEER_TRY(seer_pages_reserve(pool, n_bytes, "packed weights"));
  n_bytes = pool->n_bytes;
  float *values = (float *)(void *)pool->data;
  uint64_t state = 1;
  for (uint64_t i = 0; i < n_bytes / 4; i++) {  // a cheap generator: only the magnitude matters
    state = state * 6364136223846793005u + 1442695040888963407u;
    values[i] = (float)((double)(state >> 40) * 0x1p-28 - 0x1p-5);
  }
  return SEER_OK;
}

seer_status seer_task_memory_share(seer_task_memory *memory, const seer_kernel *kernel) {
  uint64_t n_bytes = 0;
  for (uint32_t a = 0; a < kernel->n_arg; a++)
    n_bytes +=
        kernel->arg[a].storage == SEER_STORE_SHARED ? padded_bytes(kernel->arg[a].n_bytes) : 0;
  return n_bytes ? seer_pages_reserve(&memory->shared, n_bytes, "intermediates") : SEER_OK;
}

static seer_status prepare_common(
    seer_task_memory *memory, const seer_kernel *kernel, seer_call *out) {
  memset(out, 0, sizeof(*out));
  seer_os_reach("pack");
  uint64_t shared_at[SEER_DAG_MAX_BUFFERS] = {0}, shared_bytes = 0;
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    const seer_kernel_arg *arg = &kernel->arg[a];
    uint64_t padded = padded_bytes(arg->n_bytes);
    switch (arg->storage) {
      case SEER_STORE_INPUT:
      case SEER_STORE_OUTPUT:
        if (arg->dag_buf >= SEER_DAG_MAX_BUFFERS || !memory->buf[arg->dag_buf]) {
          return SEER_FAIL(INTERNAL,
              "kernel argument %u names buffer %u, which the task does not have", a, arg->dag_buf);
        }
        out->buffers[a] = memory->buf[arg->dag_buf];
        break;
      case SEER_STORE_PACKED:
        out->pack_offset[a] = out->packed_bytes;
        out->packed_bytes += padded;
        break;
      case SEER_STORE_SHARED:
        shared_at[a] = shared_bytes;
        shared_bytes += padded;
        break;
      case SEER_STORE_LOCAL:
      case SEER_STORE_WORKGROUP:
      case SEER_STORE_PRIVATE:
        break;
    }
  }
  SEER_TRY(seer_task_memory_share(memory, kernel));
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    if (kernel->arg[a].storage == SEER_STORE_SHARED)
      out->buffers[a] = memory->shared.data + shared_at[a];
  }
  return SEER_OK;
}

seer_status seer_call_prepare(seer_task_memory *memory, const seer_kernel *kernel,
    seer_weight_pool *pool, uint64_t pool_bytes, seer_call *out) {
  SEER_TRY(prepare_common(memory, kernel, out));
  seer_status status = reserve_weights(pool, pool_bytes + out->packed_bytes + SEER_OPERAND_ALIGN);
  if (status) {
    seer_call_clear(out);
    return status;
  }
  out->n_copies = out->packed_bytes ? pool_bytes / out->packed_bytes + 1 : 1;
  seer_call_rotate(out, kernel, pool, 0);
  return SEER_OK;
}

void seer_call_rotate(
    seer_call *call, const seer_kernel *kernel, const seer_weight_pool *pool, uint64_t nth) {
  uint64_t base = nth % call->n_copies * call->packed_bytes;
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    if (kernel->arg[a].storage == SEER_STORE_PACKED)
      call->buffers[a] = pool->data + base + call->pack_offset[a];
  }
}

static seer_status pack_one(const seer_task_memory *memory, const seer_kernel_arg *arg,
    const seer_sketch *sketch, const seer_call_constants *constants, seer_arena *arena, void *out) {
  const seer_dag_buf *source = &sketch->dag->buf[arg->pack->source_buf];
  if (source->kind != SEER_BUF_STAGE) {
    seer_pack_fill(arg->pack, source, memory->buf[arg->pack->source_buf], out);
    return SEER_OK;
  }
  // A const stage: evaluated as the compiler would.
  const void *input[SEER_DAG_MAX_BUFFERS] = {NULL};
  for (uint32_t b = 0; b < memory->task->dag->n_buf; b++) {
    if (memory->task->dag->buf[b].kind == SEER_BUF_WEIGHT) input[b] = memory->buf[b];
  }
  size_t n_bytes = (size_t)seer_dag_buf_elems(source) * seer_dtype_bytes(source->dtype);
  void *data = seer_arena_alloc(arena, n_bytes, SEER_OPERAND_ALIGN);
  SEER_TRY(seer_constant_eval_with(
      constants->kernels, constants->target, sketch->dag, arg->pack->source_buf, input, 0, data));
  seer_pack_fill(arg->pack, source, data, out);
  return SEER_OK;
}

seer_status seer_call_prepare_checked(seer_task_memory *memory, const seer_kernel *kernel,
    const seer_sketch *sketch, const seer_call_constants *constants, seer_arena *arena,
    seer_call *out) {
  SEER_TRY(prepare_common(memory, kernel, out));
  seer_status status = SEER_OK;
  if (out->packed_bytes) status = allocate(out->packed_bytes, "packed weights", &out->packed);
  for (uint32_t a = 0; a < kernel->n_arg && !status; a++) {
    const seer_kernel_arg *arg = &kernel->arg[a];
    if (arg->storage == SEER_STORE_PACKED) {
      out->buffers[a] = out->packed + out->pack_offset[a];
      status = pack_one(memory, arg, sketch, constants, arena, out->buffers[a]);
    } else if (arg->storage == SEER_STORE_OUTPUT) {
      status = allocate(arg->n_bytes, "outputs", &out->out[arg->dag_buf]);
      if (status) break;
      memset(out->out[arg->dag_buf], 0xFF, arg->n_bytes);  // NaN in every float format
      out->buffers[a] = out->out[arg->dag_buf];
    }
  }
  if (status) seer_call_clear(out);
  return status;
}

void seer_call_clear(seer_call *call) {
  free(call->packed);
  for (uint32_t b = 0; b < SEER_DAG_MAX_BUFFERS; b++) free(call->out[b]);
  memset(call, 0, sizeof(*call));
}
