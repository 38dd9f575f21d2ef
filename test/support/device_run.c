// device_run.c - see device_run.h.
#include "support/device_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "code/gpu/build.h"
#include "code/source/source.h"
#include "space/items/items.h"

#define MESSAGE_BYTES 512
#define POISON "#define SEER_POISON\n"

struct device_runner {
  const seer_device_driver *driver;
  seer_device *device;
  seer_device_queue *queue;
  seer_nvrtc *nvrtc;  // CUDA
  bool is_cuda;
};

struct device_program {
  device_runner *runner;
  seer_device_module *module;
};

static const char *said(seer_status status, seer_arena *arena) {
  const char *why = seer_arena_strdup(arena, seer_status_message(status));
  seer_status_free(status);
  return why;
}

// A call of the driver's table in a function that returns what went wrong.
#define TRY(call, ...)                                                       \
  do {                                                                       \
    char message_[MESSAGE_BYTES] = "";                                       \
    if (r->driver->call(__VA_ARGS__, message_, MESSAGE_BYTES) != SEER_RT_OK) \
      return seer_arena_printf(arena, #call ": %s", message_);               \
  } while (0)

static const char *open_all(device_runner *r, uint32_t number, seer_arena *arena) {
  const char *nvrtc = getenv("SEER_NVRTC");
  TRY(open, number, &r->device);
  TRY(queue_create, r->device, &r->queue);
  if (!r->is_cuda) return NULL;
  seer_status status = seer_nvrtc_open(nvrtc && *nvrtc ? nvrtc : NULL, &r->nvrtc);
  return status ? said(status, arena) : NULL;
}

device_runner *device_run_open(const char *name, seer_arena *arena, const char **out_why) {
  device_runner *r = SEER_NEW(arena, device_runner);
  const char *colon = strchr(name, ':');
  *out_why = seer_arena_printf(arena, "'%s' is no device, as cuda:0 is one", name);
  if (!colon) return NULL;
  r->driver = seer_device_driver_find(seer_arena_strndup(arena, name, (size_t)(colon - name)));
  if (!r->driver) return NULL;
  r->is_cuda = strcmp(r->driver->name, "cuda") == 0;
  *out_why = open_all(r, (uint32_t)strtoul(colon + 1, NULL, 10), arena);
  if (!*out_why) return r;
  device_run_close(r);
  return NULL;
}

void device_run_close(device_runner *r) {
  if (!r) return;
  if (r->queue) r->driver->queue_destroy(r->queue);
  if (r->device) r->driver->close(r->device);
  seer_nvrtc_close(r->nvrtc);
}

const seer_device_info *device_run_info(const device_runner *r) {
  return r->driver->info(r->device);
}

const char *device_run_target(const device_runner *r, seer_arena *arena) {
  if (!r->is_cuda) return "opencl:generic";
  return seer_arena_printf(arena, "cuda:sm_%u", device_run_info(r)->architecture);
}

// ---- building

static const char *whole_text(const device_runner *r, const seer_vec_code *const *codes, uint32_t n,
    seer_arena *arena, const char **out_wrong) {
  const seer_dialect *dialect = seer_dialect_find(r->driver->name);
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, POISON);
  seer_text_put(&text, seer_source_prelude(dialect, arena));
  *out_wrong = NULL;
  for (uint32_t k = 0; k < n; k++) {
    const char *one = NULL;
    seer_status status = seer_source_print(codes[k], dialect, arena, &one);
    if (status) {
      *out_wrong = said(status, arena);
      return NULL;
    }
    seer_text_put(&text, one);
  }
  return text.data;
}

const char *device_run_build(device_runner *r, const seer_vec_code *const *codes, uint32_t n,
    seer_arena *arena, device_program **out) {
  const char *wrong = NULL, *text = whole_text(r, codes, n, arena, &wrong);
  *out = SEER_NEW(arena, device_program);
  (*out)->runner = r;
  if (wrong) return wrong;
  seer_device_image image = {.format = SEER_IMAGE_OPENCL_C, .made_for = "", .data = text};
  image.n_bytes = strlen(text);
  if (r->is_cuda) {
    const uint32_t sm = device_run_info(r)->architecture;
    seer_nvrtc_program built;
    seer_status status = seer_nvrtc_build(r->nvrtc, "drawn", &text, 1, sm, arena, &built);
    if (status) return said(status, arena);
    image = (seer_device_image){.format = SEER_IMAGE_CUBIN,
        .architecture = sm,
        .made_for = "",
        .data = built.cubin,
        .n_bytes = built.n_cubin_bytes};
  }
  TRY(load, r->device, &image, 1, &(*out)->module);
  return NULL;
}

void device_run_free(device_program *program) {
  if (program && program->module)
    program->runner->driver->unload(program->runner->device, program->module);
}

// ---- running

typedef struct {
  device_runner *r;
  const device_program *program;
  const seer_vec_code *code;
  void *const *data;
  seer_arena *arena;
  void **at;  // on the device, by buffer of the loop; NULL: no argument
} launched;

static uint64_t bytes_of(const seer_loop_buf *buf) {
  return (uint64_t)buf->n_elems * seer_dtype_bytes(buf->dtype);
}

static bool is_read(const seer_loop_buf *buf) {
  return buf->storage == SEER_STORE_INPUT || buf->storage == SEER_STORE_PACKED;
}

static const char *upload(launched *l) {
  const seer_loop *loop = l->code->loop;
  const device_runner *r = l->r;
  seer_arena *arena = l->arena;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (!seer_loop_is_argument(buf->storage)) continue;
    TRY(alloc, r->device, bytes_of(buf), &l->at[b]);
    if (is_read(buf))
      TRY(upload, r->queue, l->at[b], l->data[b], bytes_of(buf));
    else
      TRY(fill, r->queue, l->at[b], 255, bytes_of(buf));
  }
  return NULL;
}

static const char *run_phase(launched *l, const seer_kernel *described, uint32_t phase) {
  const seer_loop *loop = l->code->loop;
  const device_runner *r = l->r;
  seer_arena *arena = l->arena;
  const seer_device_launch launch = {.n_blocks = (uint32_t)seer_loop_phase_parts(loop, phase),
      .n_items = (uint32_t)seer_items_of_phase(loop, phase),
      .group_bytes = described->launch[phase].group_bytes};
  seer_device_kernel *kernel = NULL;
  void *args[SEER_DEVICE_MAX_ARGS];
  uint32_t n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (l->at[b]) args[n++] = l->at[b];
  }
  TRY(kernel_create, r->queue, l->program->module, l->code->phase[phase].name, &launch, &kernel);
  char message[MESSAGE_BYTES] = "";
  seer_rt_code code = r->driver->launch(r->queue, kernel, args, n, message, MESSAGE_BYTES);
  if (code == SEER_RT_OK) code = r->driver->sync(r->queue, message, MESSAGE_BYTES);
  r->driver->kernel_destroy(r->queue, kernel);
  if (code == SEER_RT_OK) return NULL;
  return seer_arena_printf(arena, "%s: %s", l->code->phase[phase].name, message);
}

static const char *download(launched *l) {
  const seer_loop *loop = l->code->loop;
  const device_runner *r = l->r;
  seer_arena *arena = l->arena;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (l->at[b] && !is_read(buf)) TRY(download, r->queue, l->data[b], l->at[b], bytes_of(buf));
  }
  TRY(sync, r->queue);
  return NULL;
}

const char *device_run_launch(
    device_program *program, const seer_vec_code *code, void *const *data, seer_arena *arena) {
  launched l = {program->runner, program, code, data, arena,
      SEER_NEW_ARRAY(arena, void *, code->loop->n_buf + 1)};
  seer_kernel described;
  seer_status status = seer_kernel_describe(code->loop, "k", arena, &described);
  const char *wrong = status ? said(status, arena) : upload(&l);
  for (uint32_t p = 0; p < code->n_phase && !wrong; p++) wrong = run_phase(&l, &described, p);
  if (!wrong) wrong = download(&l);
  for (uint32_t b = 0; b < code->loop->n_buf; b++) {
    if (l.at[b]) l.r->driver->free(l.r->device, l.at[b]);
  }
  return wrong;
}
