// opencl_run.c - see opencl_run.h.
#define CL_TARGET_OPENCL_VERSION 120
#include "support/opencl_run.h"

#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code/gpu/opencl.h"
#include "code/source/source.h"
#include "space/items/items.h"

struct opencl_runner {
  seer_opencl *builder;
  seer_opencl_device of;
  const char *options;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
};

static const char *kept(seer_status status, seer_arena *arena) {
  const char *why = seer_arena_strdup(arena, seer_status_message(status));
  seer_status_free(status);
  return why;
}

opencl_runner *opencl_open(
    const char *platform, const char *options, seer_arena *arena, const char **out_why) {
  opencl_runner *runner = SEER_NEW(arena, opencl_runner);
  cl_int error;
  *out_why = NULL;
  runner->options = options;
  seer_status status = seer_opencl_open(NULL, &runner->builder);
  if (!status)
    status = seer_opencl_find(runner->builder, platform, SEER_OPENCL_ANY, 0, arena, &runner->of);
  if (status) {
    *out_why = kept(status, arena);
    seer_opencl_close(runner->builder);
    return NULL;
  }
  runner->device = runner->of.handle;
  runner->context = clCreateContext(NULL, 1, &runner->device, NULL, NULL, &error);
  if (error == CL_SUCCESS)
    runner->queue = clCreateCommandQueue(runner->context, runner->device, 0, &error);
  if (error == CL_SUCCESS) return runner;
  *out_why = seer_arena_printf(arena, "platform %s: error %d", runner->of.platform, error);
  seer_opencl_close(runner->builder);
  return NULL;
}

void opencl_close(opencl_runner *runner) {
  if (!runner) return;
  (void)clReleaseCommandQueue(runner->queue);
  (void)clReleaseContext(runner->context);
  seer_opencl_close(runner->builder);
}

struct opencl_program {
  opencl_runner *runner;
  cl_program program;
};

typedef struct {
  opencl_runner *runner;
  cl_program program;
  const seer_vec_code *code;
  void *const *data;
  seer_arena *arena;
  void **map;  // of each buffer, what lies in front of its guard
  size_t *n_map;
  cl_mem *memory;  // by buffer of the loop
} run;

static const char *failed(seer_arena *arena, const char *name, const char *what, cl_int error) {
  return seer_arena_printf(arena, "%s: %s: error %d", name, what, error);
}

// By the builder, as it would be in another process; then its binary is loaded here.
const char *opencl_build(opencl_runner *runner, const seer_vec_code *const *codes, uint32_t n,
    seer_arena *arena, opencl_program **out) {
  const seer_dialect *dialect = seer_dialect_find("opencl");
  const char *name = codes[0]->loop->name;
  const char **texts = SEER_NEW_ARRAY(arena, const char *, n + 1);
  seer_opencl_program built;
  seer_status status = SEER_OK;
  *out = NULL;
  texts[0] = seer_source_prelude(dialect, arena);
  for (uint32_t k = 0; k < n && !status; k++)
    status = seer_source_print(codes[k], dialect, arena, &texts[k + 1]);
  if (!status)
    status = seer_opencl_build(
        runner->builder, &runner->of, name, texts, n + 1, runner->options, arena, &built);
  if (status) return kept(status, arena);
  const unsigned char *binary = built.binary;
  cl_int error, loaded;
  cl_program program = clCreateProgramWithBinary(
      runner->context, 1, &runner->device, &built.n_binary_bytes, &binary, &loaded, &error);
  if (error != CL_SUCCESS) return failed(arena, name, "its binary", error);
  error = clBuildProgram(program, 1, &runner->device, NULL, NULL, NULL);
  *out = SEER_NEW(arena, opencl_program);
  **out = (opencl_program){runner, program};
  return error == CL_SUCCESS ? NULL : failed(arena, name, "its binary", error);
}

void opencl_program_free(opencl_program *program) {
  if (program) (void)clReleaseProgram(program->program);
}

static size_t bytes_of(const seer_loop_buf *buf) {
  return (size_t)buf->n_elems * seer_dtype_bytes(buf->dtype);
}

static bool is_read(const seer_loop_buf *buf) {
  return buf->storage == SEER_STORE_INPUT || buf->storage == SEER_STORE_PACKED;
}

// Memory whose end, but for what an item's longest access is aligned to, is followed by a page that
// nobody may access: devices that use it as it is do not get further. Full of what `data` has.
static void *guarded(run *r, uint32_t b, size_t bytes, const void *data) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (bytes + page - 1) / page * page;
  char *map = mmap(NULL, n + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SEER_ASSERT(map != MAP_FAILED, "mmap");
  int failed = mprotect(map + n, page, PROT_NONE);
  SEER_ASSERT(!failed, "mprotect");
  size_t from = (n - bytes) / SEER_VEC_ITEMS_ALIGN * SEER_VEC_ITEMS_ALIGN;
  r->map[b] = map;
  r->n_map[b] = n + page;
  return memcpy(map + from, data, bytes);
}

static const char *upload(run *r) {
  const seer_loop *loop = r->code->loop;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (!seer_loop_is_argument(buf->storage)) continue;
    void *start = r->data[b];
    if (!is_read(buf))
      start = memset(seer_arena_alloc(r->arena, bytes_of(buf), 16), 255, bytes_of(buf));
    start = guarded(r, b, bytes_of(buf), start);
    cl_mem_flags flags =
        CL_MEM_USE_HOST_PTR | (is_read(buf) ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE);
    cl_int error;
    r->memory[b] = clCreateBuffer(r->runner->context, flags, bytes_of(buf), start, &error);
    if (error != CL_SUCCESS) return failed(r->arena, loop->name, buf->name, error);
  }
  return NULL;
}

static const char *launch(run *r, uint32_t phase) {
  const seer_loop *loop = r->code->loop;
  cl_int error;
  cl_kernel kernel = clCreateKernel(r->program, r->code->phase[phase].name, &error);
  if (error != CL_SUCCESS) return failed(r->arena, loop->name, "a kernel", error);
  cl_uint n_arg = 0;
  for (uint32_t b = 0; b < loop->n_buf && error == CL_SUCCESS; b++) {
    if (seer_loop_is_argument(loop->buf[b].storage))
      error = clSetKernelArg(kernel, n_arg++, sizeof(cl_mem), &r->memory[b]);
  }
  size_t items = (size_t)seer_items_of_phase(loop, phase);
  size_t all = items * (size_t)seer_loop_phase_parts(loop, phase);
  if (error == CL_SUCCESS)
    error = clEnqueueNDRangeKernel(r->runner->queue, kernel, 1, NULL, &all, &items, 0, NULL, NULL);
  if (error == CL_SUCCESS) error = clFinish(r->runner->queue);
  (void)clReleaseKernel(kernel);
  return error == CL_SUCCESS ? NULL : failed(r->arena, loop->name, "a launch", error);
}

static const char *download(run *r) {
  const seer_loop *loop = r->code->loop;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (!seer_loop_is_argument(buf->storage) || is_read(buf)) continue;
    cl_int error = clEnqueueReadBuffer(
        r->runner->queue, r->memory[b], CL_TRUE, 0, bytes_of(buf), r->data[b], 0, NULL, NULL);
    if (error != CL_SUCCESS) return failed(r->arena, loop->name, buf->name, error);
  }
  return NULL;
}

const char *opencl_launch(
    opencl_program *program, const seer_vec_code *code, void *const *data, seer_arena *arena) {
  run r = {.runner = program->runner,
      .program = program->program,
      .code = code,
      .data = data,
      .arena = arena};
  r.memory = SEER_NEW_ARRAY(arena, cl_mem, code->loop->n_buf + 1);
  r.map = SEER_NEW_ARRAY(arena, void *, code->loop->n_buf + 1);
  r.n_map = SEER_NEW_ARRAY(arena, size_t, code->loop->n_buf + 1);
  const char *wrong = upload(&r);
  for (uint32_t p = 0; p < code->n_phase && !wrong; p++) wrong = launch(&r, p);
  if (!wrong) wrong = download(&r);
  for (uint32_t b = 0; b < code->loop->n_buf; b++) {
    if (r.memory[b]) (void)clReleaseMemObject(r.memory[b]);
    if (r.map[b]) (void)munmap(r.map[b], r.n_map[b]);
  }
  return wrong;
}

const char *opencl_run(
    opencl_runner *runner, const seer_vec_code *code, void *const *data, seer_arena *arena) {
  opencl_program *program;
  const char *wrong = opencl_build(runner, &code, 1, arena, &program);
  if (!wrong) wrong = opencl_launch(program, code, data, arena);
  opencl_program_free(program);
  return wrong;
}
