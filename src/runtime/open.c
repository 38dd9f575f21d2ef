// open.c - plan blob + weights.bin -> model. Everything that can be wrong with the two is found
// here and in weights.c, once, so that running needs no checks.
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/cpu.h"
#include "runtime/host/custom.h"
#include "runtime/runner.h"
#include "runtime/weights.h"

// Header only: the archive links nothing but libc.
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

// ---- open
static bool set_plan(
    const seer_model_source *source, uint64_t offset, uint32_t first_kernel, seer_rt_set *set) {
  const uint8_t *base = (const uint8_t *)source->blob + offset;
  const seer_plan_header *plan = set->plan = (const void *)base;
  set->step = (const void *)(base + plan->step_offset);
  set->arg = (const void *)(base + plan->arg_offset);
  set->phase = (const void *)(base + plan->phase_offset);
  set->host = (const void *)(base + plan->host_offset);
  set->tensor = (const void *)(base + plan->tensor_offset);
  set->size = (const void *)(base + plan->size_offset);
  set->loop = (const void *)(base + plan->loop_offset);
  set->branch = (const void *)(base + plan->branch_offset);
  set->move = (const void *)(base + plan->move_offset);
  if (plan->images_offset) {
    const seer_plan_images *images = (const void *)(base + plan->images_offset);
    set->private_bytes = images->private_bytes;
    set->stretch = (const void *)(images + 1);
  }
  if (plan->device_offset) {
    const seer_plan_device *device = (const void *)(base + plan->device_offset);
    set->is_on_device = base + device->place_offset;
  }
  set->made = (const void *)(base + plan->made_offset);
  set->extent = (const void *)(base + plan->extent_offset);
  set->strings = (const char *)base + plan->strings_offset;
  set->kernels = source->kernels + first_kernel;
  uint64_t n_io = (uint64_t)plan->n_input + plan->n_output;
  set->io = calloc(n_io + 1, sizeof *set->io);
  if (!set->io) return false;
  const seer_plan_io *io = (const void *)(base + plan->io_offset);
  set->plan_io = io;
  for (uint64_t i = 0; i < n_io; i++) {
    seer_io_info *info = &set->io[i];
    info->name = set->strings + io[i].name_string;
    info->onnx_dtype = io[i].onnx_dtype;
    info->rank = io[i].rank;
    info->n_bytes = io[i].n_bytes;
    memcpy(info->dim, io[i].dim, sizeof info->dim);
  }
  for (uint32_t i = 0; i < plan->n_size; i++)
    set->io[plan->n_input + set->size[i].output].bounded |= 1u << set->size[i].dim;
  return true;
}

// Batches of a range, as sets.
static bool set_range(const seer_model_source *source, seer_model *model) {
  const uint8_t *base = source->blob;
  const seer_rt_set *like = &model->set[0];
  if (like->plan->range_offset == 0) return true;
  const seer_plan_range *plan = (const void *)(base + like->plan->range_offset);
  seer_rt_range *range = &model->range;
  uint32_t n = plan->last - plan->first + 1, n_io = like->plan->n_input + like->plan->n_output;
  range->size = (const void *)(base + plan->size_offset);
  range->next = (const void *)(base + plan->next_offset);
  range->ranged = base + plan->ranged_offset;
  range->set = calloc(n, sizeof *range->set);
  seer_io_info *io = calloc((size_t)n * n_io + 1, sizeof *io);
  if (!range->set || !io) {
    free(io);
    free(range->set);
    return false;
  }
  range->first = plan->first;
  range->last = plan->last;
  for (uint32_t k = 0; k < n; k++) {
    seer_rt_set *set = &range->set[k];
    *set = *like;
    set->io = io + (size_t)k * n_io;
    memcpy(set->io, like->io, n_io * sizeof *io);
    for (uint32_t i = 0; i < n_io; i++) {
      if (i < like->plan->n_input && !range->ranged[i]) continue;
      set->io[i].dim[0] = set->io[i].dim[0] / range->size[0] * (plan->first + k);
      set->io[i].n_bytes = set->io[i].n_bytes / range->size[0] * (plan->first + k);
    }
  }
  return true;
}

// A plan may be sound and yet not what was written: other kernels than it was made for would be
// given its buffers. NULL, or what is wrong.
static const char *check_plans(
    const seer_model_source *source, uint64_t *offset, uint32_t *out_n_set) {
  if (source->blob_hash && XXH3_64bits(source->blob, source->n_blob_bytes) != *source->blob_hash)
    return "its bytes are not those that were written";
  const char *wrong = seer_library_check(source->blob, source->n_blob_bytes, offset, out_n_set);
  return !wrong && *out_n_set == 0 ? "it has no plan" : wrong;
}

// Before any kernel runs: an instruction that the processor lacks ends the program.
static seer_rt_code check_cpu(const uint8_t *blob, char *message, size_t message_bytes) {
  const seer_plan_header *plan = (const void *)blob;
  const char *strings = (const char *)blob + plan->strings_offset;
  const char *needed = strings + plan->features_string;
  char missing[128];
  seer_cpu_facts facts;
  seer_cpu_read(&facts);
  if (!seer_cpu_missing(&facts, needed, missing, sizeof missing)) return SEER_RT_OK;
  return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
      "this model was compiled for %s; this processor lacks %s (needed: %s); compile it with "
      "--target for this machine",
      strings + plan->cpu_string, missing, needed);
}

// Kernels are for a device in all plans or in none.
static seer_rt_code check_device(const seer_model_source *source, const uint64_t *offset,
    uint32_t n_set, char *message, size_t message_bytes) {
  const char *wrong = NULL;
  uint32_t n = 0;
  for (uint32_t s = 0; s < n_set; s++) {
    const seer_plan_header *plan = (const void *)((const uint8_t *)source->blob + offset[s]);
    n += plan->device_offset != 0;
  }
  if (n == 0) return SEER_RT_OK;
  if (!source->runner)
    return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "this model's kernels are for a device, and no runtime for devices is here");
  if (n != n_set) wrong = "plans for a device and for processors";
  for (uint32_t s = 0; s < n_set && !wrong; s++)
    wrong = source->runner->check(source->blob, (const uint8_t *)source->blob + offset[s]);
  return wrong ? seer_rt_fail(SEER_RT_CORRUPT, message, message_bytes,
                     "the model's plan is damaged: %s", wrong)
               : SEER_RT_OK;
}

seer_rt_code seer_rt_open(
    const seer_model_source *source, seer_model **out_model, char *message, size_t message_bytes) {
  *out_model = NULL;
  if (message && message_bytes > 0) message[0] = 0;
  uint64_t offset[SEER_PLAN_MAX_SETS];
  uint32_t n_set = 0;
  const char *wrong = check_plans(source, offset, &n_set);
  if (wrong)
    return seer_rt_fail(
        SEER_RT_CORRUPT, message, message_bytes, "the model's plan is damaged: %s", wrong);
  for (uint32_t s = 0; s < n_set; s++) {
    seer_rt_code code =
        check_cpu((const uint8_t *)source->blob + offset[s], message, message_bytes);
    if (code != SEER_RT_OK) return code;
  }
  seer_rt_code code = check_device(source, offset, n_set, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  seer_model *model = calloc(1, sizeof *model);
  if (model) model->set = calloc(n_set, sizeof *model->set);
  bool has_all = model && model->set;
  uint32_t first_kernel = 0;
  for (uint32_t s = 0; has_all && s < n_set; s++) {
    model->n_set++;
    has_all = set_plan(source, offset[s], first_kernel, &model->set[s]);
    first_kernel += model->set[s].plan->n_phase;
  }
  if (!has_all || !set_range(source, model)) {
    seer_rt_close(model);
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for the model");
  }
  for (uint32_t s = 0; code == SEER_RT_OK && s < n_set; s++)
    code = seer_rt_custom_open(source, &model->set[s], message, message_bytes);
  if (code == SEER_RT_OK) code = seer_weights_open(model, source, message, message_bytes);
  if (code == SEER_RT_OK && model->set[0].plan->device_offset != 0) {
    model->runner = source->runner;
    code = model->runner->open(model, source->device, message, message_bytes);
  }
  if (code != SEER_RT_OK) {
    seer_rt_close(model);
    return code;
  }
  *out_model = model;
  return SEER_RT_OK;
}

void seer_rt_close(seer_model *model) {
  if (!model) return;
  if (model->runner) model->runner->close(model);
  seer_rt_pages_free(model->owned, model->n_owned_bytes);
  for (uint32_t s = 0; s < model->n_set; s++) {
    seer_rt_custom_close(&model->set[s]);
    free(model->set[s].io);
  }
  free(model->set);
  if (model->range.set) free(model->range.set[0].io);  // that of all sizes
  free(model->range.set);
  free(model);
}

int32_t seer_rt_n_inputs(const seer_model *model) { return (int32_t)model->set[0].plan->n_input; }
int32_t seer_rt_n_outputs(const seer_model *model) { return (int32_t)model->set[0].plan->n_output; }
int32_t seer_rt_n_steps(const seer_model *model) { return seer_rt_set_n_steps(model, 0); }

static int32_t find_name(const seer_io_info *io, uint32_t n, const char *name) {
  for (uint32_t i = 0; name && i < n; i++)
    if (strcmp(io[i].name, name) == 0) return (int32_t)i;
  return -1;
}

int32_t seer_rt_find_input(const seer_model *model, const char *name) {
  return find_name(model->set[0].io, model->set[0].plan->n_input, name);
}

int32_t seer_rt_find_output(const seer_model *model, const char *name) {
  const seer_rt_set *set = &model->set[0];
  return find_name(set->io + set->plan->n_input, set->plan->n_output, name);
}

const seer_io_info *seer_rt_input(const seer_model *model, int32_t index) {
  return seer_rt_set_input(model, 0, index);
}

const seer_io_info *seer_rt_output(const seer_model *model, int32_t index) {
  return seer_rt_set_output(model, 0, index);
}

const char *seer_rt_info_json(const seer_model *model) {
  return (const char *)model->set[0].plan + model->set[0].plan->json_offset;
}

// ---- sets of shapes
static const seer_rt_set *find(const seer_model *model, int32_t set) {
  return set >= 0 && (uint32_t)set < seer_model_n_select(model)
      ? seer_model_set(model, (uint32_t)set)
      : NULL;
}

int32_t seer_rt_n_sets(const seer_model *model) { return (int32_t)model->n_set; }

int32_t seer_rt_set_n_steps(const seer_model *model, int32_t set) {
  const seer_rt_set *s = find(model, set);
  return s && (uint32_t)set < model->n_set ? (int32_t)s->plan->n_step : 0;
}

const seer_io_info *seer_rt_set_input(const seer_model *model, int32_t set, int32_t index) {
  const seer_rt_set *s = find(model, set);
  return s && index >= 0 && (uint32_t)index < s->plan->n_input ? &s->io[index] : NULL;
}

const seer_io_info *seer_rt_set_output(const seer_model *model, int32_t set, int32_t index) {
  const seer_rt_set *s = find(model, set);
  return s && index >= 0 && (uint32_t)index < s->plan->n_output
      ? &s->io[s->plan->n_input + (uint32_t)index]
      : NULL;
}

static bool same_shape(const seer_io_info *io, const int64_t *dim, int32_t rank) {
  if (io->rank != rank) return false;
  for (int32_t k = 0; k < rank; k++)
    if (io->dim[k] != dim[k]) return false;
  return true;
}

// A message in pieces; what does not fit is left out.
typedef struct {
  char *text;
  size_t n, cap;
} line;

__attribute__((format(printf, 2, 3))) static void put(line *out, const char *format, ...) {
  if (!out->text || out->n + 1 >= out->cap) return;
  va_list args;
  va_start(args, format);
  int n = vsnprintf(out->text + out->n, out->cap - out->n, format, args);
  va_end(args);
  if (n > 0) out->n += (size_t)n;
  if (out->n >= out->cap) out->n = out->cap - 1;
}

static void put_shape(line *out, const char *name, const int64_t *dim, int32_t rank) {
  put(out, "%s[", name);
  for (int32_t k = 0; k < rank; k++) put(out, "%s%lld", k > 0 ? "," : "", (long long)dim[k]);
  put(out, "]");
}

seer_rt_code seer_rt_find_set(const seer_model *model, const int64_t *const *dims,
    const int32_t *ranks, int32_t *out_set, char *message, size_t message_bytes) {
  uint32_t n_input = model->set[0].plan->n_input;
  *out_set = 0;
  if (message && message_bytes > 0) message[0] = 0;
  for (uint32_t s = 0; s < seer_model_n_select(model); s++) {
    const seer_io_info *io = seer_model_set(model, s)->io;
    uint32_t i = 0;
    while (i < n_input && (!dims[i] || same_shape(&io[i], dims[i], ranks[i]))) i++;
    *out_set = (int32_t)s;
    if (i == n_input) return SEER_RT_OK;
  }
  *out_set = 0;
  line out = {message, 0, message_bytes};
  put(&out, "inputs");
  for (uint32_t i = 0; i < n_input; i++) {
    if (!dims[i]) continue;
    put(&out, " ");
    put_shape(&out, model->set[0].io[i].name, dims[i], ranks[i]);
  }
  put(&out, ": the model was compiled for");
  for (uint32_t s = 0; s < model->n_set; s++) {
    put(&out, s > 0 ? ";" : "");
    for (uint32_t i = 0; i < n_input; i++) {
      const seer_io_info *io = &model->set[s].io[i];
      put(&out, " ");
      put_shape(&out, io->name, io->dim, io->rank);
    }
  }
  if (model->range.last > 0)
    put(&out, "; and any batch from %u to %u", model->range.first, model->range.last);
  return SEER_RT_INVALID;
}

// ---- libraries with a device

static seer_rt_code no_device(char *message, size_t message_bytes) {
  return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
      "this model's kernels are for processors, not for a device");
}

// Whether it has one, and its plans say sound things of it.
static seer_rt_code need_device(
    const seer_model_source *source, char *message, size_t message_bytes) {
  uint64_t offset[SEER_PLAN_MAX_SETS];
  uint32_t n_set = 0;
  if (!source->runner) return no_device(message, message_bytes);
  const char *wrong = check_plans(source, offset, &n_set);
  if (wrong)
    return seer_rt_fail(
        SEER_RT_CORRUPT, message, message_bytes, "the model's plan is damaged: %s", wrong);
  if (((const seer_plan_header *)source->blob)->device_offset == 0)
    return no_device(message, message_bytes);
  return check_device(source, offset, n_set, message, message_bytes);
}

seer_rt_code seer_rt_n_devices(
    const seer_model_source *source, int32_t *out_n, char *message, size_t message_bytes) {
  *out_n = 0;
  seer_rt_code code = need_device(source, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  return source->runner->count(source->blob, out_n, message, message_bytes);
}

seer_rt_code seer_rt_device_name(const seer_model_source *source, int32_t device,
    char out_name[256], char out_driver[256], char *message, size_t message_bytes) {
  out_name[0] = out_driver[0] = 0;
  seer_rt_code code = need_device(source, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  return source->runner->name(source->blob, device, out_name, out_driver, message, message_bytes);
}

seer_rt_code seer_rt_device_alloc(const seer_model *model, uint64_t n_bytes, void **out_data,
    char *message, size_t message_bytes) {
  *out_data = NULL;
  if (!model->runner) return no_device(message, message_bytes);
  return model->runner->alloc(model, n_bytes, out_data, message, message_bytes);
}

void seer_rt_device_free(const seer_model *model, void *data) {
  if (model->runner && data) model->runner->free(model, data);
}

seer_rt_code seer_rt_device_upload(const seer_model *model, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  if (!model->runner) return no_device(message, message_bytes);
  return model->runner->upload(model, to, from, n_bytes, message, message_bytes);
}

seer_rt_code seer_rt_device_download(const seer_model *model, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  if (!model->runner) return no_device(message, message_bytes);
  return model->runner->download(model, to, from, n_bytes, message, message_bytes);
}
