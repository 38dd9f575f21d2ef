// host.c - the host functions, and how one is run: a phase after another, each as a kernel whose
// parts the pool hands out.
#include "runtime/host.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/host/elem.h"

// ---- putting together

static void compact(const seer_host_call *call, seer_host_part part) {
  const seer_host_tensor *x = &call->in[0];
  (void)part;
  // Whole rows of the dimensions behind the last one that is not full.
  int32_t rank = x->rank;
  while (rank > 0 && x->dim[rank - 1] == x->bound[rank - 1]) rank--;
  uint64_t size =
      (uint64_t)seer_host_product(x->bound, rank, x->rank) * seer_onnx_dtype_bytes(x->onnx_dtype);
  int64_t index[SEER_HOST_MAX_RANK] = {0};
  uint8_t *to = call->out[0].data;
  for (bool more = seer_host_product(x->dim, 0, rank) > 0; more;
       more = seer_host_next(index, x->dim, rank)) {
    memcpy(to, (const uint8_t *)x->data + (uint64_t)seer_host_offset(index, x->bound, rank) * size,
        size);
    to += size;
  }
}

static bool fits_compact(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  (void)param;
  return seer_host_alike(&in[0], &out[0], -1);
}

const seer_host_desc seer_host_compact = {.function = SEER_HOST_COMPACT,
    .n_in = 1,
    .n_out = 1,
    .fits = fits_compact,
    .n_phase = 1,
    .phase = {compact}};

// ---- the same bits as another type

#define BITS_WORTH_BYTES (1 << 17)

static uint32_t n_parts_bits(const seer_host_call *call, uint32_t phase, uint32_t n_threads) {
  (void)phase;
  return seer_host_parts_of((int64_t)seer_host_bytes(&call->in[0]), BITS_WORTH_BYTES, n_threads);
}

static void bits(const seer_host_call *call, seer_host_part part) {
  int64_t from, to;
  seer_host_share(part, (int64_t)seer_host_bytes(&call->in[0]), &from, &to);
  memcpy((uint8_t *)call->out[0].data + from, (const uint8_t *)call->in[0].data + from,
      (size_t)(to - from));
}

static bool fits_bits(
    const seer_plan_tensor *in, const seer_plan_tensor *out, const int64_t *param) {
  (void)param;
  seer_plan_tensor same = out[0];
  same.onnx_dtype = in[0].onnx_dtype;
  return seer_host_alike(&in[0], &same, -1) && in[0].onnx_dtype != SEER_HOST_BOOL &&
      out[0].onnx_dtype != SEER_HOST_BOOL && out[0].onnx_dtype != 0 &&
      seer_onnx_dtype_bytes(in[0].onnx_dtype) == seer_onnx_dtype_bytes(out[0].onnx_dtype);
}

const seer_host_desc seer_host_recast = {.function = SEER_HOST_BITS,
    .n_in = 1,
    .n_out = 1,
    .fits = fits_bits,
    .n_phase = 1,
    .n_parts = n_parts_bits,
    .phase = {bits}};

// ---- the list

static const seer_host_desc *const table[] = {&seer_host_non_zero, &seer_host_nms,
    &seer_host_unique, &seer_host_compact, &seer_host_scatter_elements, &seer_host_scatter_nd,
    &seer_host_top, &seer_host_running, &seer_host_recast};

static const seer_host_desc *find(uint32_t function) {
  for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    if (table[k]->function == function) return table[k];
  return NULL;
}

seer_host_room seer_host_scratch(seer_host_function function, const seer_plan_tensor *in,
    const seer_plan_tensor *out, const int64_t *param) {
  const seer_host_desc *desc = find(function);
  return desc && desc->room ? desc->room(in, out, param) : (seer_host_room){0};
}

const char *seer_host_check(const seer_plan_host *host, const seer_plan_tensor *in,
    const seer_plan_tensor *out, seer_host_room scratch) {
  if ((uint64_t)host->n_in + host->n_out > SEER_HOST_MAX_TENSORS)
    return "a host call has too many tensors";
  const seer_host_desc *desc = find(host->function);
  if (!desc || host->n_in != desc->n_in || host->n_out != desc->n_out ||
      !desc->fits(in, out, host->param))
    return "a host call's tensors do not fit it";
  seer_host_room need = seer_host_scratch(desc->function, in, out, host->param);
  return need.shared <= scratch.shared && need.thread <= scratch.thread
      ? NULL
      : "a host call's scratch is too small";
}

// ---- running

typedef struct {
  const seer_host_call *call;
  void (*phase)(const seer_host_call *call, seer_host_part part);
  uint32_t n_parts;
} job;

static void run_part(void *const *buffers, uint32_t part) {
  const job *of = buffers[0];
  of->phase(of->call, (seer_host_part){part, of->n_parts, buffers[1]});
}

bool seer_host_run(const seer_host_call *call, seer_pool *pool, seer_pool_times *times,
    seer_pool_fault *out_fault) {
  static const seer_phase_function run_as[] = {run_part};
  const seer_host_desc *desc = find(call->function);
  for (uint32_t k = 0; desc && k < desc->n_phase; k++) {
    job of = {call, desc->phase[k], 1};
    if (desc->n_parts) of.n_parts = desc->n_parts(call, k, seer_pool_threads(pool));
    void *const buffers[] = {&of};
    const seer_kernel_call kernel = {.phase = run_as,
        .n_parts = &of.n_parts,
        .n_phase = 1,
        .buffers = buffers,
        .n_arg = 1,
        .scratch = call->thread_scratch,
        .scratch_stride = call->thread_stride,
        .times = times};
    if (!seer_pool_run_kernel(pool, &kernel, out_fault)) return false;
  }
  return true;
}
