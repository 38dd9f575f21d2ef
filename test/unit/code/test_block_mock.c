// Block programs by the rows of devices: on OpenCL's (PoCL), and on CUDA's with a libcuda that runs
// them as C. They compute what plain loops do; values lie within one allocation, as in networks.
// SEER_TEST: timeout=120 cost=15
#include <stdlib.h>
#include <string.h>

#include "code/gpu/build.h"
#include "code/source/source.h"
#include "space/items/items.h"
#include "support/block_programs.h"
#include "support/mock_image.h"
#include "support/test.h"

static char says[1024];
#define fine(call)                                  \
  do {                                              \
    if ((call) != SEER_RT_OK) fail_msg("%s", says); \
  } while (0)

static size_t bytes_of(const seer_loop_buf *buf) {
  return (size_t)buf->n_elems * seer_dtype_bytes(buf->dtype);
}

static bool is_read(const seer_loop_buf *buf) {
  return buf->storage == SEER_STORE_INPUT || buf->storage == SEER_STORE_PACKED;
}

// Arguments one behind the other, each at a multiple of 16: their places, and all bytes.
static size_t place(const seer_loop *loop, size_t *at) {
  size_t n = 16;  // none begins where the allocation does
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    at[b] = n;
    if (seer_loop_is_argument(loop->buf[b].storage))
      n += (bytes_of(&loop->buf[b]) + 15) / 16 * 16 + 16;
  }
  return n;
}

typedef struct {
  const seer_device_driver *is;
  seer_device *device;
} runner;

static void run(const runner *r, const seer_loop *loop, const char *symbol,
    const seer_device_image *image, void *const *data, seer_arena *arena) {
  seer_device_module *module;
  seer_device_queue *queue;
  size_t *at = SEER_NEW_ARRAY(arena, size_t, loop->n_buf + 1), n_bytes = place(loop, at);
  void *memory, *args[SEER_DEVICE_MAX_ARGS];
  uint32_t n_args = 0;
  fine(r->is->load(r->device, image, 1, &module, says, sizeof says));
  fine(r->is->queue_create(r->device, &queue, says, sizeof says));
  fine(r->is->alloc(r->device, n_bytes, &memory, says, sizeof says));
  fine(r->is->fill(queue, memory, 255, n_bytes, says, sizeof says));
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (!seer_loop_is_argument(buf->storage)) continue;
    args[n_args++] = (char *)memory + at[b];
    if (is_read(buf))
      fine(r->is->upload(queue, args[n_args - 1], data[b], bytes_of(buf), says, sizeof says));
  }
  for (uint32_t p = 0; p < loop->n_phase; p++) {
    seer_device_kernel *kernel;
    const char *name = seer_arena_printf(arena, "%s_p%u", symbol, p);
    const seer_device_launch launch = {
        (uint32_t)seer_loop_phase_parts(loop, p), (uint32_t)seer_items_of_phase(loop, p), 0};
    fine(r->is->kernel_create(queue, module, name, &launch, &kernel, says, sizeof says));
    fine(r->is->launch(queue, kernel, args, n_args, says, sizeof says));
    fine(r->is->sync(queue, says, sizeof says));
    r->is->kernel_destroy(queue, kernel);
  }
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (seer_loop_is_argument(loop->buf[b].storage) && !is_read(&loop->buf[b]))
      fine(r->is->download(
          queue, data[b], (char *)memory + at[b], bytes_of(&loop->buf[b]), says, sizeof says));
  }
  fine(r->is->sync(queue, says, sizeof says));
  r->is->free(r->device, memory);
  r->is->queue_destroy(queue);
  r->is->unload(r->device, module);
}

static seer_device_image opencl_text(const seer_loop *loop, const char *symbol, seer_arena *arena) {
  seer_kernel kernel;
  must(seer_gpu_write(loop, SEER_KERNEL_OPENCL_C, symbol, arena, &kernel));
  const char *text =
      seer_arena_printf(arena, "%s%.*s", seer_source_prelude(seer_dialect_find("opencl"), arena),
          (int)kernel.n_object_bytes, (const char *)kernel.object);
  return (seer_device_image){SEER_IMAGE_OPENCL_C, 0, "", text, strlen(text)};
}

// All, or each `step`th.
static void check(const seer_device_driver *is, uint32_t step) {
  seer_arena *arena = seer_arena_create("test");
  runner r = {is, NULL};
  seer_rng rng;
  seer_rng_init(&rng, 5);
  const seer_loop *loops[N_BLOCK_PROGRAMS];
  const char *symbols[N_BLOCK_PROGRAMS];
  seer_device_image image;
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    loops[k] = block_program_parse(
        &block_programs[k], block_program_text(&block_programs[k], arena), arena);
    symbols[k] = seer_arena_printf(arena, "k%u", k);
  }
  if (is == &seer_device_cuda) {  // one module with all kernels
    const char *wrong = mock_image_of_loops(loops, symbols, N_BLOCK_PROGRAMS, 90, arena, &image);
    if (wrong) fail_msg("%s", wrong);
  }
  fine(is->open(0, &r.device, says, sizeof says));
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k += step) {
    void **data = block_program_data(loops[k], &rng, arena);
    if (is == &seer_device_opencl) image = opencl_text(loops[k], symbols[k], arena);
    run(&r, loops[k], symbols[k], &image, data, arena);
    const char *wrong = block_program_compare(&block_programs[k], loops[k], data, arena);
    if (wrong) fail_msg("%s: %s", is->name, wrong);
  }
  is->close(r.device);
  seer_arena_destroy(arena);
}

static void programs_run_on_opencls_row(void **state) {
  (void)state;
  check(&seer_device_opencl, 3);  // test_block_opencl has all
}

static void programs_run_on_cudas_row(void **state) {
  (void)state;
  check(&seer_device_cuda, 1);
  assert_int_equal(mock_cuda_ask(MOCK_BROKEN_RULES), 0);
  assert_int_equal(mock_cuda_ask(MOCK_LEAKS), 0);
  assert_true(mock_cuda_ask(MOCK_LAUNCHES) >= N_BLOCK_PROGRAMS);
}

int main(int argc, char **argv) {
  (void)argc;
  mock_cuda_begin(argv);
  setenv("POCL_DEVICES", "pthread", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_run_on_opencls_row),
      cmocka_unit_test(programs_run_on_cudas_row),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
