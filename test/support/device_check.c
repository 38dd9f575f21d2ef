// device_check.c - see device_check.h.
#include "support/device_check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "support/test.h"

#define N 1024  // numbers, 16 blocks of 64
#define BLOCKS (N / DEVICE_CHECK_ITEMS)
#define BYTES (N * sizeof(float))

const char device_check_opencl[] =
    "__kernel void add(__global const float *a, __global const float *b, __global float *y) {\n"
    "  const size_t i = get_global_id(0);\n"
    "  y[i] = a[i] + b[i];\n"
    "}\n"
    "__kernel __attribute__((reqd_work_group_size(64, 1, 1)))\n"
    "void turn(__global const float *x, __global float *y) {\n"
    "  __local float block[64];\n"
    "  block[get_local_id(0)] = x[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  y[get_global_id(0)] = block[63 - get_local_id(0)];\n"
    "}\n"
    "@ this is not read";

static const seer_device_launch launch_add = {BLOCKS, DEVICE_CHECK_ITEMS, 0};
static const seer_device_launch launch_turn = {BLOCKS, DEVICE_CHECK_ITEMS, 256};

static void fine_at(seer_rt_code code, const char *message, const char *file, int line) {
  if (code == SEER_RT_OK) return;
  print_error("code %d: %s\n", (int)code, message);
  _fail(file, line);
}
static char says[2048];
#define fine(call) fine_at((call), says, __FILE__, __LINE__)

// The call fails so, and says so.
static void refused_at(seer_rt_code code, seer_rt_code expected, const char *part,
    const char *message, const char *file, int line) {
  if (code == expected && strstr(message, part)) return;
  print_error("code %d: %s\n", (int)code, code == SEER_RT_OK ? "" : message);
  print_error("expected code %d: ...%s...\n", (int)expected, part);
  _fail(file, line);
}
#define refused(call, expected, part) \
  refused_at((call), (expected), (part), says, __FILE__, __LINE__)

typedef struct {
  const seer_device_driver *is;
  seer_device *device;
  seer_device_module *module;
  seer_device_queue *queue;
  seer_device_kernel *add, *turn;
  float *memory;  // of the device: 4 N numbers
} scene;

static scene begin(void **state) {
  const device_case *c = *state;
  scene s = {.is = c->driver};
  void *memory;
  fine(s.is->open(c->index, &s.device, says, sizeof says));
  fine(s.is->load(s.device, c->images, c->n_images, &s.module, says, sizeof says));
  fine(s.is->queue_create(s.device, &s.queue, says, sizeof says));
  fine(s.is->kernel_create(s.queue, s.module, "add", &launch_add, &s.add, says, sizeof says));
  fine(s.is->kernel_create(s.queue, s.module, "turn", &launch_turn, &s.turn, says, sizeof says));
  fine(s.is->alloc(s.device, 4 * BYTES, &memory, says, sizeof says));
  assert_int_equal((uintptr_t)memory % 256, 0);
  s.memory = memory;
  return s;
}

static void end(scene *s) {
  s->is->kernel_destroy(s->queue, s->add);
  s->is->kernel_destroy(s->queue, s->turn);
  s->is->kernel_destroy(s->queue, NULL);
  s->is->queue_destroy(s->queue);
  s->is->queue_destroy(NULL);
  s->is->unload(s->device, s->module);
  s->is->unload(s->device, NULL);
  s->is->free(s->device, s->memory);
  s->is->free(s->device, NULL);
  s->is->close(s->device);
  s->is->close(NULL);
}

static void launch_3(
    const scene *s, seer_device_kernel *kernel, const void *a, const void *b, const void *y) {
  void *args[] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, (void *)(uintptr_t)y};
  fine(s->is->launch(s->queue, kernel, args, 3, says, sizeof says));
}

static void launch_2(const scene *s, seer_device_kernel *kernel, const void *x, const void *y) {
  void *args[] = {(void *)(uintptr_t)x, (void *)(uintptr_t)y};
  fine(s->is->launch(s->queue, kernel, args, 2, says, sizeof says));
}

static void upload(const scene *s, void *to, const void *from, uint64_t n_bytes) {
  fine(s->is->upload(s->queue, to, from, n_bytes, says, sizeof says));
}
static void download(const scene *s, void *to, const void *from, uint64_t n_bytes) {
  fine(s->is->download(s->queue, to, from, n_bytes, says, sizeof says));
}
static void sync_all(const scene *s) { fine(s->is->sync(s->queue, says, sizeof says)); }

static float turned(const float *x, uint32_t i) {
  return x[i / DEVICE_CHECK_ITEMS * DEVICE_CHECK_ITEMS + DEVICE_CHECK_ITEMS - 1 -
      i % DEVICE_CHECK_ITEMS];
}

// ---- the checks

void device_check_numbers(void **state) {
  const device_case *c = *state;
  seer_device_info info;
  seer_device *device;
  uint32_t n = 0, n_fine = 0;
  fine(c->driver->count(&n, says, sizeof says));
  assert_true(n > c->index);
  for (uint32_t k = 0; k < n; k++) {
    seer_rt_code code = c->driver->describe(k, &info, says, sizeof says);
    if (code == SEER_RT_UNSUPPORTED) continue;  // it says why
    fine(code);
    n_fine++;
    assert_true(strlen(info.name) > 0 && strlen(info.driver) > 0 && info.n_processors > 0);
    assert_true(info.max_items >= 64 && info.group_bytes >= 16384 && info.memory_bytes > 0);
  }
  assert_true(n_fine > 0);
  fine(c->driver->describe(c->index, &info, says, sizeof says));
  fine(c->driver->open(c->index, &device, says, sizeof says));
  assert_memory_equal(c->driver->info(device), &info, sizeof info);
  c->driver->close(device);
  refused(c->driver->describe(n, &info, says, sizeof says), SEER_RT_NOT_FOUND, "number");
  refused(c->driver->open(n, &device, says, sizeof says), SEER_RT_NOT_FOUND, "number");
  assert_null(device);
  assert_int_equal(c->driver->open(n, &device, NULL, 0), SEER_RT_NOT_FOUND);
}

void device_check_work(void **state) {
  scene s = begin(state);
  static float in[2 * N], out[4 * N];
  float *y = s.memory + 2 * N;
  for (uint32_t k = 0; k < 2 * N; k++) in[k] = (float)(k * 7 % 1000);
  upload(&s, s.memory, in, 2 * BYTES);
  fine(s.is->fill(s.queue, y, 255, 2 * BYTES, says, sizeof says));
  launch_3(&s, s.add, s.memory, s.memory + N, y);
  // Values lie at multiples of 16 bytes within others.
  launch_3(&s, s.add, s.memory + 4, s.memory + 12, y + N);
  download(&s, out, s.memory, 4 * BYTES);
  sync_all(&s);
  for (uint32_t k = 0; k < N; k++) {
    assert_true(out[2 * N + k] == in[k] + in[N + k]);
    assert_true(out[3 * N + k] == in[4 + k] + in[12 + k]);
  }
  launch_2(&s, s.turn, s.memory, y);
  fine(s.is->copy(s.queue, y + N + 8, y + 4, 64, says, sizeof says));
  fine(s.is->fill(s.queue, (uint8_t *)y + 5, 0xA5, 6, says, sizeof says));
  fine(s.is->copy(s.queue, y, y + N, 0, says, sizeof says));
  memset(out, 0, sizeof out);
  download(&s, out, y, 2 * BYTES);
  sync_all(&s);
  for (uint32_t k = 3; k < N; k++) assert_true(out[k] == turned(in, k));
  for (uint32_t k = 0; k < 16; k++) assert_true(out[N + 8 + k] == turned(in, 4 + k));
  for (uint32_t k = 5; k < 11; k++) assert_int_equal(((uint8_t *)out)[k], 0xA5);
  assert_true(out[N + 7] == in[11] + in[19] && out[N + 24] == in[28] + in[36]);
  end(&s);
}

void device_check_order(void **state) {
  scene s = begin(state);
  static float ones[N], out[N];
  for (uint32_t k = 0; k < N; k++) ones[k] = 1;
  float *one = s.memory, *x = s.memory + N, *y = s.memory + 2 * N;
  upload(&s, one, ones, BYTES);
  fine(s.is->fill(s.queue, x, 0, BYTES, says, sizeof says));
  for (uint32_t k = 0; k < 100; k++) {
    launch_3(&s, s.add, x, one, y);
    fine(s.is->copy(s.queue, x, y, BYTES, says, sizeof says));
  }
  download(&s, out, x, BYTES);
  sync_all(&s);
  for (uint32_t k = 0; k < N; k++) assert_true(out[k] == 100);
  sync_all(&s);  // nothing to wait for
  end(&s);
}

typedef struct {
  const scene *of;
  uint32_t seed;
  bool is_right;
  char says[512];
} worker;

// Kernels of one module, each queue its own.
static void *work(void *arg) {
  worker *w = arg;
  const seer_device_driver *is = w->of->is;
  seer_device_queue *queue = NULL;
  seer_device_kernel *add = NULL;
  float in[N], out[N] = {0};
  void *memory = NULL;
  size_t n = sizeof w->says;
  seer_rt_code code = is->queue_create(w->of->device, &queue, w->says, n);
  if (!code) code = is->kernel_create(queue, w->of->module, "add", &launch_add, &add, w->says, n);
  if (!code) code = is->alloc(w->of->device, 2 * BYTES, &memory, w->says, n);
  w->is_right = true;
  for (uint32_t turn = 0; turn < 50 && !code; turn++) {
    for (uint32_t k = 0; k < N; k++) in[k] = (float)(k + turn + w->seed);
    void *args[] = {memory, memory, (float *)memory + N};
    code = is->upload(queue, memory, in, BYTES, w->says, n);
    if (!code) code = is->launch(queue, add, args, 3, w->says, n);
    if (!code) code = is->download(queue, out, args[2], BYTES, w->says, n);
    if (!code) code = is->sync(queue, w->says, n);
    for (uint32_t k = 0; k < N; k++) w->is_right &= out[k] == 2 * in[k];
  }
  w->is_right &= !code;
  is->free(w->of->device, memory);
  is->kernel_destroy(queue, add);
  is->queue_destroy(queue);
  return NULL;
}

void device_check_threads(void **state) {
  scene s = begin(state);
  worker workers[2] = {{.of = &s, .seed = 1}, {.of = &s, .seed = 100}};
  pthread_t threads[2];
  for (uint32_t k = 0; k < 2; k++)
    assert_int_equal(pthread_create(&threads[k], NULL, work, &workers[k]), 0);
  for (uint32_t k = 0; k < 2; k++) pthread_join(threads[k], NULL);
  for (uint32_t k = 0; k < 2; k++) {
    if (!workers[k].is_right) fail_msg("thread %u: %s", k, workers[k].says);
  }
  end(&s);
}

void device_check_marks(void **state) {
  scene s = begin(state);
  seer_device_mark *mark[3], *never;
  double first, second, both;
  for (uint32_t k = 0; k < 3; k++) fine(s.is->mark_create(s.queue, &mark[k], says, sizeof says));
  fine(s.is->mark_create(s.queue, &never, says, sizeof says));
  fine(s.is->fill(s.queue, s.memory, 0, 4 * BYTES, says, sizeof says));
  for (uint32_t turn = 0; turn < 2; turn++) {  // a mark may be set again
    for (uint32_t k = 0; k < 3; k++) {
      fine(s.is->mark_set(s.queue, mark[k], says, sizeof says));
      for (uint32_t i = 0; i < 20; i++)
        launch_3(&s, s.add, s.memory, s.memory + N, s.memory + 2 * N);
    }
    sync_all(&s);
  }
  fine(s.is->elapsed(s.queue, mark[0], mark[1], &first, says, sizeof says));
  fine(s.is->elapsed(s.queue, mark[1], mark[2], &second, says, sizeof says));
  fine(s.is->elapsed(s.queue, mark[0], mark[2], &both, says, sizeof says));
  assert_true(first > 0 && second > 0);
  assert_true(both > 0.999 * (first + second) && both < 1.001 * (first + second));
  refused(s.is->elapsed(s.queue, mark[0], never, &both, says, sizeof says), SEER_RT_INVALID,
      "never set");
  for (uint32_t k = 0; k < 3; k++) s.is->mark_destroy(s.queue, mark[k]);
  s.is->mark_destroy(s.queue, never);
  s.is->mark_destroy(s.queue, NULL);
  end(&s);
}

void device_check_graphs(void **state) {
  scene s = begin(state);
  if (!s.is->has_graphs) {
    assert_true(!s.is->graph_begin && !s.is->graph_end && !s.is->graph_run);
    end(&s);
    skip();
  }
  seer_device_graph *graph, *none;
  seer_device_mark *from, *to;
  void *memory;
  double seconds;
  fine(s.is->host_alloc(s.device, 2 * BYTES, &memory, says, sizeof says));
  fine(s.is->mark_create(s.queue, &from, says, sizeof says));
  fine(s.is->mark_create(s.queue, &to, says, sizeof says));
  float *in = memory, *out = in + N, *x = s.memory, *y = s.memory + N, *z = s.memory + 2 * N;
  fine(s.is->graph_begin(s.queue, says, sizeof says));
  fine(s.is->mark_set(s.queue, from, says, sizeof says));
  upload(&s, x, in, BYTES);
  fine(s.is->fill(s.queue, y, 0, BYTES, says, sizeof says));
  fine(s.is->copy(s.queue, y, x, BYTES / 2, says, sizeof says));
  launch_3(&s, s.add, x, y, z);
  launch_2(&s, s.turn, z, y);
  download(&s, out, y, BYTES);
  fine(s.is->mark_set(s.queue, to, says, sizeof says));
  for (uint32_t k = 0; k < N; k++) in[k] = 1, out[k] = -1;
  fine(s.is->graph_end(s.queue, &graph, says, sizeof says));
  sync_all(&s);
  for (uint32_t k = 0; k < N; k++) assert_true(out[k] == -1);  // kept, not done
  for (uint32_t turn = 0; turn < 3; turn++) {
    float sum[N];
    for (uint32_t k = 0; k < N; k++) in[k] = (float)(k * (turn + 1) % 512);
    for (uint32_t k = 0; k < N; k++) sum[k] = in[k] + (k < N / 2 ? in[k] : 0);
    fine(s.is->graph_run(s.queue, graph, says, sizeof says));
    sync_all(&s);
    for (uint32_t k = 0; k < N; k++) assert_true(out[k] == turned(sum, k));
  }
  fine(s.is->elapsed(s.queue, from, to, &seconds, says, sizeof says));
  assert_true(seconds >= 0);
  // What cannot be kept is refused, and the queue is as it was.
  fine(s.is->graph_begin(s.queue, says, sizeof says));
  refused(s.is->sync(s.queue, says, sizeof says), SEER_RT_INVALID, "");
  launch_3(&s, s.add, x, y, z);
  sync_all(&s);
  refused(s.is->graph_end(s.queue, &none, says, sizeof says), SEER_RT_INVALID, "");
  s.is->graph_destroy(s.queue, graph);
  s.is->graph_destroy(s.queue, NULL);
  s.is->mark_destroy(s.queue, from);
  s.is->mark_destroy(s.queue, to);
  s.is->host_free(s.device, memory);
  end(&s);
}

static void check_images(const device_case *c, const scene *s) {
  seer_device_module *module;
  const seer_device_image others[] = {
      {SEER_IMAGE_OPENCL, 0, "another device, of another driver", "x", 1},
      {SEER_IMAGE_CUBIN, 11, "", "x", 1}};
  refused(s->is->load(s->device, others, 2, &module, says, sizeof says), SEER_RT_UNSUPPORTED,
      "another device, of another driver");
  assert_null(module);
  refused(s->is->load(s->device, others, 2, &module, says, sizeof says), SEER_RT_UNSUPPORTED,
      s->is->info(s->device)->name);
  refused(s->is->load(s->device, NULL, 0, &module, says, sizeof says), SEER_RT_UNSUPPORTED,
      "there is nothing");
  refused(s->is->load(s->device, c->refused, 1, &module, says, sizeof says), SEER_RT_CORRUPT, "");
  assert_null(module);
}

void device_check_refusals(void **state) {
  const device_case *c = *state;
  scene s = begin(state);
  const seer_device_info *info = s.is->info(s.device);
  seer_device_kernel *kernel;
  void *memory;
  check_images(c, &s);
  refused(s.is->kernel_create(s.queue, s.module, "none", &launch_add, &kernel, says, sizeof says),
      SEER_RT_CORRUPT, "none");
  assert_null(kernel);
  seer_device_launch launch = {1, info->max_items * 2, 0};
  refused(s.is->kernel_create(s.queue, s.module, "add", &launch, &kernel, says, sizeof says),
      SEER_RT_UNSUPPORTED, "items");
  launch = (seer_device_launch){1, 64, (uint32_t)info->group_bytes + 1};
  refused(s.is->kernel_create(s.queue, s.module, "add", &launch, &kernel, says, sizeof says),
      SEER_RT_UNSUPPORTED, "block's memory");
  launch = (seer_device_launch){0, 64, 0};
  refused(s.is->kernel_create(s.queue, s.module, "add", &launch, &kernel, says, sizeof says),
      SEER_RT_INVALID, "0 blocks");
  assert_null(kernel);
  uint64_t much = UINT64_C(1) << 50;
  refused(s.is->alloc(s.device, much, &memory, says, sizeof says), SEER_RT_RESOURCE,
      "1125899906842624");
  assert_null(memory);
  refused(s.is->host_alloc(s.device, much, &memory, says, sizeof says), SEER_RT_RESOURCE,
      "1125899906842624");
  assert_null(memory);
  // None of it was the device's end.
  fine(s.is->host_alloc(s.device, 3, &memory, says, sizeof says));
  memcpy(memory, "abc", 3);
  char back[3];
  upload(&s, s.memory, memory, 3);
  download(&s, back, s.memory, 3);
  sync_all(&s);
  assert_memory_equal(back, "abc", 3);
  s.is->host_free(s.device, memory);
  s.is->host_free(s.device, NULL);
  end(&s);
}

// A child may let go of its parent's device, and nothing else; the parent goes on.
void device_check_fork(void **state) {
  scene s = begin(state);
  pid_t child = fork();
  if (child == 0) {
    char why[256] = "";
    void *memory = s.memory;
    bool is_refused = s.is->sync(s.queue, why, sizeof why) == SEER_RT_INVALID &&
        strstr(why, "forked") &&
        s.is->alloc(s.device, 16, &memory, why, sizeof why) == SEER_RT_INVALID && !memory;
    end(&s);
    _exit(is_refused ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  device_check_order(state);
  sync_all(&s);
  end(&s);
}
