// open.c - plan blob + weights.bin -> model. Everything that can be wrong with the two is found
// here, once, so that running needs no checks.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cpu.h"
#include "runtime/exec.h"

// Header only: the archive links nothing but libc. Used when a full check is asked for.
#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#define HUGE_PAGE ((uint64_t)2 << 20)

seer_rt_code seer_rt_fail(
    seer_rt_code code, char *message, size_t message_bytes, const char *format, ...) {
  if (message && message_bytes > 0) {
    va_list args;
    va_start(args, format);
    vsnprintf(message, message_bytes, format, args);
    va_end(args);
  }
  return code;
}

// mmap gives 4 KiB alignment; huge pages need 2 MiB, so the ends of a larger map are given back.
void *seer_rt_pages_alloc(uint64_t n_bytes) {
  bool is_large = n_bytes >= HUGE_PAGE;
  uint64_t want = is_large ? n_bytes + HUGE_PAGE : n_bytes;
  uint8_t *base = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  if (!is_large) return base;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t kept = (n_bytes + page - 1) / page * page;
  uint64_t lead = (HUGE_PAGE - (uintptr_t)base % HUGE_PAGE) % HUGE_PAGE;
  if (lead > 0) munmap(base, lead);
  if (want > lead + kept) munmap(base + lead + kept, want - lead - kept);
  madvise(base + lead, kept, MADV_HUGEPAGE);  // a refusal costs speed only
  return base + lead;
}

void seer_rt_pages_free(void *pages, uint64_t n_bytes) {
  if (!pages) return;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  munmap(pages, (n_bytes + page - 1) / page * page);
}

// ---- weights
static seer_rt_code read_weights(const char *path, const void **out_data, uint64_t *out_bytes,
    seer_model *model, char *message, size_t message_bytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return seer_rt_fail(errno == ENOENT ? SEER_RT_NOT_FOUND : SEER_RT_IO, message, message_bytes,
        "%s: cannot be opened: %s", path, strerror(errno));
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(fd);
    return seer_rt_fail(SEER_RT_IO, message, message_bytes, "%s: not a regular file", path);
  }
  uint64_t n = (uint64_t)st.st_size;
  void *map = n > 0 ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
  close(fd);
  if (map == MAP_FAILED)
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "%s: cannot be mapped: %s", path,
        strerror(errno));
  model->map = map;
  model->n_map_bytes = n;
  *out_data = map;
  *out_bytes = n;
  return SEER_RT_OK;
}

static seer_rt_code set_weights(
    seer_model *model, const seer_model_source *source, char *message, size_t message_bytes) {
  const seer_plan_header *plan = model->plan;
  if (plan->weight_bytes == 0) return SEER_RT_OK;
  const void *data = source->weights;
  uint64_t n = source->n_weight_bytes;
  const char *name = "the weights in memory";
  if (source->weights_path) {
    name = source->weights_path;
    seer_rt_code code = read_weights(name, &data, &n, model, message, message_bytes);
    if (code != SEER_RT_OK) return code;
  }
  seer_weights_header header;
  if (!data || n < SEER_PLAN_ALIGN || n < sizeof header)
    return seer_rt_fail(SEER_RT_CORRUPT, message, message_bytes,
        "%s: %llu bytes, too short for weights", name, (unsigned long long)n);
  memcpy(&header, data, sizeof header);
  if (header.magic != SEER_WEIGHTS_MAGIC || header.version != SEER_PLAN_VERSION ||
      header.header_bytes != SEER_PLAN_ALIGN)
    return seer_rt_fail(
        SEER_RT_CORRUPT, message, message_bytes, "%s: not a weights file of this version", name);
  if (header.n_bytes != plan->weight_bytes || header.hash != plan->weight_hash)
    return seer_rt_fail(SEER_RT_CORRUPT, message, message_bytes,
        "%s: weights of another model (%llu bytes, hash %016llx; the model has %llu, %016llx)",
        name, (unsigned long long)header.n_bytes, (unsigned long long)header.hash,
        (unsigned long long)plan->weight_bytes, (unsigned long long)plan->weight_hash);
  if (n - SEER_PLAN_ALIGN < header.n_bytes)
    return seer_rt_fail(SEER_RT_CORRUPT, message, message_bytes,
        "%s: cut short: %llu bytes of %llu", name, (unsigned long long)n,
        (unsigned long long)header.n_bytes + SEER_PLAN_ALIGN);
  const uint8_t *payload = (const uint8_t *)data + SEER_PLAN_ALIGN;
  if (source->verify_hash) {
    uint64_t hash = XXH3_64bits(payload, header.n_bytes);
    if (hash != header.hash)
      return seer_rt_fail(SEER_RT_CORRUPT, message, message_bytes,
          "%s: damaged: hash %016llx, should be %016llx", name, (unsigned long long)hash,
          (unsigned long long)header.hash);
  }
  // only memory that was passed in: kernels rely on the alignment
  if ((uintptr_t)payload % SEER_PLAN_ALIGN != 0) {
    void *copy = seer_rt_pages_alloc(header.n_bytes);
    if (!copy)
      return seer_rt_fail(
          SEER_RT_RESOURCE, message, message_bytes, "no memory for aligned weights");
    memcpy(copy, payload, header.n_bytes);
    model->map = copy;
    model->n_map_bytes = header.n_bytes;
    payload = copy;
  }
  model->weights = payload;
  return SEER_RT_OK;
}

// ---- open
seer_rt_code seer_rt_open(
    const seer_model_source *source, seer_model **out_model, char *message, size_t message_bytes) {
  *out_model = NULL;
  if (message && message_bytes > 0) message[0] = 0;
  const char *wrong = seer_plan_check(source->blob, source->n_blob_bytes);
  if (wrong)
    return seer_rt_fail(
        SEER_RT_CORRUPT, message, message_bytes, "the model's plan is damaged: %s", wrong);
  const uint8_t *base = source->blob;
  const seer_plan_header *plan = source->blob;
  const char *strings = (const char *)base + plan->strings_offset;

  char missing[64];
  if (seer_cpu_missing(strings + plan->features_string, missing, sizeof missing))
    return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "this model was compiled for processors with '%s', which this one lacks (needed: %s); "
        "compile it with "
        "--target for this machine",
        missing, strings + plan->features_string);

  uint64_t n_io = (uint64_t)plan->n_input + plan->n_output;
  seer_model *model = calloc(1, sizeof *model);
  if (model) model->io = calloc(n_io + 1, sizeof *model->io);
  if (!model || !model->io) {
    seer_rt_close(model);
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for the model");
  }
  model->plan = plan;
  model->step = (const void *)(base + plan->step_offset);
  model->arg = (const void *)(base + plan->arg_offset);
  model->phase = (const void *)(base + plan->phase_offset);
  model->host = (const void *)(base + plan->host_offset);
  model->tensor = (const void *)(base + plan->tensor_offset);
  model->size = (const void *)(base + plan->size_offset);
  model->loop = (const void *)(base + plan->loop_offset);
  model->move = (const void *)(base + plan->move_offset);
  model->strings = strings;
  model->kernels = source->kernels;
  const seer_plan_io *io = (const void *)(base + plan->io_offset);
  for (uint64_t i = 0; i < n_io; i++) {
    seer_io_info *info = &model->io[i];
    info->name = strings + io[i].name_string;
    info->onnx_dtype = io[i].onnx_dtype;
    info->rank = io[i].rank;
    info->n_bytes = io[i].n_bytes;
    memcpy(info->dim, io[i].dim, sizeof info->dim);
  }
  for (uint32_t i = 0; i < plan->n_size; i++)
    model->io[plan->n_input + model->size[i].output].bounded |= 1u << model->size[i].dim;
  seer_rt_code code = set_weights(model, source, message, message_bytes);
  if (code != SEER_RT_OK) {
    seer_rt_close(model);
    return code;
  }
  *out_model = model;
  return SEER_RT_OK;
}

void seer_rt_close(seer_model *model) {
  if (!model) return;
  seer_rt_pages_free(model->map, model->n_map_bytes);
  free(model->io);
  free(model);
}

int32_t seer_rt_n_inputs(const seer_model *model) { return (int32_t)model->plan->n_input; }
int32_t seer_rt_n_outputs(const seer_model *model) { return (int32_t)model->plan->n_output; }
int32_t seer_rt_n_steps(const seer_model *model) { return (int32_t)model->plan->n_step; }

const seer_io_info *seer_rt_input(const seer_model *model, int32_t index) {
  return index >= 0 && index < seer_rt_n_inputs(model) ? &model->io[index] : NULL;
}

const seer_io_info *seer_rt_output(const seer_model *model, int32_t index) {
  return index >= 0 && index < seer_rt_n_outputs(model)
      ? &model->io[model->plan->n_input + (uint32_t)index]
      : NULL;
}

const char *seer_rt_info_json(const seer_model *model) {
  return (const char *)model->plan + model->plan->json_offset;
}
