// Bytes as the plans of a library: refused with a reason, or run (with kernels that do nothing)
// within their buffers. What is large is not run, nor are loops that only their condition ends.
// What plans say of a device is judged, too; there is none to run them on.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "runtime/exec.h"
#include "runtime/runner/check.h"

enum { MAX_BYTES = 1 << 16, MAX_SETS = 4 };

static void nothing(void *const *buffers, uint32_t part) { (void)buffers, (void)part; }

// Whole numbers that are small: sizes, trip counts, conditions.
static void *words(uint64_t n_bytes) {
  uint8_t *data = aligned_alloc(64, (n_bytes + 127) / 64 * 64);
  if (!data) abort();
  memset(data, 0, (n_bytes + 127) / 64 * 64);
  for (uint64_t i = 0; i < n_bytes; i += 8) data[i] = 2;
  return data;
}

static int is_small(const seer_plan_header *h, const void *blob) {
  const seer_plan_io *io = (const void *)((const uint8_t *)blob + h->io_offset);
  const seer_plan_loop *loop = (const void *)((const uint8_t *)blob + h->loop_offset);
  const seer_plan_phase *phase = (const void *)((const uint8_t *)blob + h->phase_offset);
  uint64_t n = h->arena_bytes + h->shared_bytes + h->scratch_bytes + h->weight_bytes;
  for (uint32_t i = 0; i < h->n_input + h->n_output; i++) n += io[i].n_bytes;
  for (uint32_t i = 0; i < h->n_phase; i++) n += phase[i].n_parts;
  int has_limits = h->n_loop <= 2;
  for (uint32_t i = 0; i < h->n_loop; i++) has_limits = has_limits && loop[i].trip_arg > 0;
  if (h->range_offset)  // as many inputs and outputs, of the largest batch
    n += n *
        ((const seer_plan_range *)(const void *)((const uint8_t *)blob + h->range_offset))->last;
  return n <= MAX_BYTES && has_limits;
}

static void run_set(const seer_model *model, seer_session *session, int32_t set) {
  int32_t n_input = seer_rt_n_inputs(model), n_output = seer_rt_n_outputs(model);
  void **data = calloc((size_t)(n_input + n_output) + 1, sizeof *data);
  if (!data || seer_rt_session_select(session, set, NULL, 0)) abort();
  for (int32_t i = 0; i < n_input + n_output; i++) {
    const seer_io_info *io = i < n_input ? seer_rt_set_input(model, set, i)
                                         : seer_rt_set_output(model, set, i - n_input);
    data[i] = words(io->n_bytes);
    seer_rt_code code = i < n_input
        ? seer_rt_session_bind_input(session, i, data[i], io->n_bytes, NULL, 0)
        : seer_rt_session_bind_output(session, i - n_input, data[i], io->n_bytes, NULL, 0);
    if (code) abort();
  }
  char message[64];
  seer_rt_code code = seer_rt_session_run(session, message, sizeof message);
  if (code && code != SEER_RT_UNSUPPORTED) abort();
  int64_t dim[12];
  for (int32_t i = 0; i < n_output && !code; i++)
    if (seer_rt_session_output_shape(session, i, dim, NULL, 0)) abort();
  for (int32_t i = 0; i < n_input + n_output; i++) free(data[i]);
  free(data);
}

// A weights.bin as the plan wants it.
static void *weights_of(const seer_plan_header *h) {
  uint8_t *data = words(SEER_PLAN_ALIGN + h->weight_bytes);
  const seer_weights_header header = {
      SEER_WEIGHTS_MAGIC, SEER_PLAN_VERSION, SEER_PLAN_ALIGN, h->weight_bytes, h->weight_hash};
  memcpy(data, &header, sizeof header);
  return data;
}

static void run_all(const void *blob, size_t n_bytes, uint32_t n_phase) {
  const seer_plan_header *h = blob;
  seer_phase_function *kernels = malloc((n_phase + 1) * sizeof *kernels);
  if (!kernels) abort();
  for (uint32_t i = 0; i < n_phase; i++) kernels[i] = nothing;
  void *weights = weights_of(h);
  seer_model_source source = {.blob = blob,
      .n_blob_bytes = n_bytes,
      .kernels = kernels,
      .weights = weights,
      .n_weight_bytes = SEER_PLAN_ALIGN + h->weight_bytes};
  char message[256];
  seer_model *model = NULL;
  seer_session *session = NULL;
  // the plan may ask for a processor that this one is not
  seer_rt_code code = seer_rt_open(&source, &model, message, sizeof message);
  if (code && (code != SEER_RT_UNSUPPORTED || !*message)) abort();
  if (model && seer_rt_session_create(model, NULL, &session, message, sizeof message)) abort();
  for (int32_t s = 0; model && s < (int32_t)seer_model_n_select(model); s++)
    run_set(model, session, s);
  seer_rt_session_destroy(session);
  seer_rt_close(model);
  free(weights);
  free(kernels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  uint8_t *blob = aligned_alloc(64, (n_bytes + 64) / 64 * 64);
  if (!blob) abort();
  memcpy(blob, data, n_bytes);
  uint64_t offset[SEER_PLAN_MAX_SETS];
  uint32_t n_set = 0, n_phase = 0;
  const char *wrong = seer_library_check(blob, n_bytes, offset, &n_set);
  for (uint32_t s = 0; s < n_set && !wrong; s++) {
    const seer_plan_header *first = (const void *)blob, *h = (const void *)(blob + offset[s]);
    if (first->device_offset && h->device_offset) wrong = seer_device_check(first, h);
  }
  int is_run = !wrong && n_set <= MAX_SETS;
  for (uint32_t s = 0; s < n_set && is_run; s++) {
    const seer_plan_header *h = (const void *)(blob + offset[s]);
    is_run = is_small(h, h);
    n_phase += h->n_phase;
  }
  if (is_run) run_all(blob, n_bytes, n_phase);
  if (wrong && !*wrong) abort();
  free(blob);
  return 0;
}
