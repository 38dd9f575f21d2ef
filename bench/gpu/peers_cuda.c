// peers_cuda.c - what NVIDIA's own libraries take for shapes of the paper's networks, called from C:
// cuBLASLt's products of BERT-Large with 128 tokens (f32, TF32, f16), and cuDNN's convolutions of
// ResNet-50 v1 at batch 1 (f32 without TF32, both layouts), each by the fastest of the algorithms
// that the library proposes.
//
// Prints a JSON object a line. Nothing is linked, no header of theirs is needed: what is called is
// declared here, and a library that is not there is a line that says so. Status 1: no device.
//
// Times: nodes of a captured graph, so launches cost what they do in a network; weights in turns
// from as many copies as are twice the last-level cache, so they are as cold as in a network.
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NODES 24  // of a graph
#define N_REPLAYS 11
#define COLD_BYTES (160u << 20)
#define WORKSPACE_BYTES (64u << 20)
#define MOST_ALGORITHMS 8

// ---- CUDA's runtime

typedef void *stream, *graph, *executable, *event;
static struct {
  int (*alloc)(void **, size_t);
  int (*release)(void *);
  int (*clear)(void *, int, size_t);
  int (*stream_create)(stream *);
  int (*begin)(stream, int);
  int (*end)(stream, graph *);
  int (*instantiate)(executable *, graph, unsigned long long);
  int (*launch)(executable, stream);
  int (*executable_destroy)(executable);
  int (*graph_destroy)(graph);
  int (*event_create)(event *);
  int (*event_record)(event, stream);
  int (*event_sync)(event);
  int (*elapsed)(float *, event, event);
  int (*sync)(void);
  int (*last_error)(void);
} cuda;
static stream queue;
static event marks[2];
static uint8_t *weights, *workspace, *values, *results;

typedef struct {
  const char *name;
  void *place;
} function;

static void *open_first(const char *const *names, size_t n) {
  for (size_t k = 0; k < n; k++) {
    void *library = dlopen(names[k], RTLD_NOW | RTLD_GLOBAL);
    if (library) return library;
  }
  return NULL;
}

// The name of what is missing, or NULL.
static const char *find(void *library, const function *all, size_t n) {
  for (size_t k = 0; k < n; k++) {
    void *at = dlsym(library, all[k].name);
    if (!at) return all[k].name;
    memcpy(all[k].place, &at, sizeof at);
  }
  return NULL;
}
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *open_cuda(void) {
  static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
  const function all[] = {{"cudaMalloc", &cuda.alloc}, {"cudaFree", &cuda.release},
      {"cudaMemset", &cuda.clear}, {"cudaStreamCreate", &cuda.stream_create},
      {"cudaStreamBeginCapture", &cuda.begin}, {"cudaStreamEndCapture", &cuda.end},
      {"cudaGraphInstantiateWithFlags", &cuda.instantiate}, {"cudaGraphLaunch", &cuda.launch},
      {"cudaGraphExecDestroy", &cuda.executable_destroy}, {"cudaGraphDestroy", &cuda.graph_destroy},
      {"cudaEventCreate", &cuda.event_create}, {"cudaEventRecord", &cuda.event_record},
      {"cudaEventSynchronize", &cuda.event_sync}, {"cudaEventElapsedTime", &cuda.elapsed},
      {"cudaDeviceSynchronize", &cuda.sync}, {"cudaGetLastError", &cuda.last_error}};
  void *library = open_first(names, COUNT(names));
  if (!library) return "libcudart is not there";
  if (find(library, all, COUNT(all))) return "libcudart is too old";
  if (cuda.stream_create(&queue) || cuda.event_create(&marks[0]) || cuda.event_create(&marks[1]))
    return "no device";
  uint8_t **const memory[] = {&weights, &workspace, &values, &results};
  const size_t bytes[] = {COLD_BYTES, WORKSPACE_BYTES, 64u << 20, 64u << 20};
  for (size_t k = 0; k < COUNT(memory); k++) {
    void *at = NULL;
    if (cuda.alloc(&at, bytes[k]) || cuda.clear(at, 0, bytes[k])) return "no memory";
    *memory[k] = at;
  }
  return NULL;
}

// One call of a library, with weights from `at`; false: it fails.
typedef bool (*call)(void *user, const void *at);

static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static bool replay(executable ready, float *out_ms) {
  return !cuda.event_record(marks[0], queue) && !cuda.launch(ready, queue) &&
      !cuda.event_record(marks[1], queue) && !cuda.event_sync(marks[1]) &&
      !cuda.elapsed(out_ms, marks[0], marks[1]);
}

// Microseconds of a call: the median over replays of a graph of N_NODES; NAN: it cannot be done.
static double time_of(call one, void *user, size_t weight_bytes) {
  size_t step = (weight_bytes + 255) / 256 * 256, n_copies = COLD_BYTES / step;
  graph captured = NULL;
  executable ready = NULL;
  float ms[N_REPLAYS];
  if (n_copies == 0 || !one(user, weights) || cuda.sync()) {
    (void)cuda.last_error();
    return NAN;
  }
  bool is_fine = !cuda.begin(queue, 2 /* relaxed */);
  for (size_t k = 0; k < N_NODES && is_fine; k++)
    is_fine = one(user, weights + k * (n_copies / N_NODES + 1) % n_copies * step);
  if (cuda.end(queue, &captured)) is_fine = false;
  if (is_fine) is_fine = !cuda.instantiate(&ready, captured, 0);
  float unused;
  if (is_fine) is_fine = replay(ready, &unused);
  for (size_t k = 0; k < N_REPLAYS && is_fine; k++) is_fine = replay(ready, &ms[k]);
  if (ready) (void)cuda.executable_destroy(ready);
  if (captured) (void)cuda.graph_destroy(captured);
  (void)cuda.last_error();
  if (!is_fine) return NAN;
  qsort(ms, N_REPLAYS, sizeof *ms, by_value);
  return (double)ms[N_REPLAYS / 2] * 1e3 / N_NODES;
}

// ---- cuBLASLt

enum { R_32F = 0, R_16F = 2, COMPUTE_32F = 68, COMPUTE_TF32 = 77, MAX_WORKSPACE = 1 };
typedef void *handle, *descriptor;
typedef struct {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
} proposal;
static struct {
  int (*create)(handle *);
  int (*describe)(descriptor *, int compute, int scale);
  int (*layout)(descriptor *, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*preference)(descriptor *);
  int (*prefer)(descriptor, int attribute, const void *value, size_t bytes);
  int (*propose)(handle, descriptor, descriptor, descriptor, descriptor, descriptor, descriptor,
      int, proposal *, int *);
  int (*multiply)(handle, descriptor, const void *alpha, const void *a, descriptor, const void *b,
      descriptor, const void *beta, const void *c, descriptor, void *d, descriptor,
      const void *algorithm, void *workspace, size_t bytes, stream);
} lt;

typedef struct {
  handle of;
  descriptor product, a, b, c;
  const proposal *by;
} product;

// Columns first: the transposed result is weights times values.
static bool multiply(void *user, const void *at) {
  const product *p = user;
  const float one = 1, zero = 0;
  return lt.multiply(p->of, p->product, &one, at, p->a, values, p->b, &zero, results, p->c, results,
             p->c, p->by->algorithm, workspace, WORKSPACE_BYTES, queue) == 0;
}

static void best_product(handle of, uint32_t m, uint32_t n, uint32_t k, int type, int compute) {
  static const char *const names[] = {"f32", "", "f16"};
  const uint64_t bytes = WORKSPACE_BYTES;
  product p = {.of = of};
  descriptor preference = NULL;
  proposal all[MOST_ALGORITHMS];
  int n_found = 0, chosen = -1;
  double best = INFINITY;
  bool is_fine = !lt.describe(&p.product, compute, R_32F) && !lt.layout(&p.a, type, n, k, n) &&
      !lt.layout(&p.b, type, k, m, k) && !lt.layout(&p.c, type, n, m, n) &&
      !lt.preference(&preference) && !lt.prefer(preference, MAX_WORKSPACE, &bytes, sizeof bytes) &&
      !lt.propose(of, p.product, p.a, p.b, p.c, p.c, preference, MOST_ALGORITHMS, all, &n_found);
  for (int i = 0; i < n_found && is_fine; i++) {
    p.by = &all[i];
    double us = time_of(multiply, &p, (size_t)n * k * (type == R_32F ? 4 : 2));
    if (us < best) best = us, chosen = i;
  }
  printf("{\"library\": \"cuBLASLt\", \"shape\": \"%ux%ux%u\", \"type\": \"%s\"", m, n, k,
      compute == COMPUTE_TF32 ? "tf32" : names[type]);
  if (chosen < 0)
    printf(", \"why\": \"%s\"}\n", is_fine ? "none of its proposals runs" : "it refuses the shape");
  else
    printf(", \"us\": %.3f, \"proposals\": %d, \"chosen\": %d}\n", best, n_found, chosen);
  (void)fflush(stdout);
}

static void all_products(void) {
  static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  const function all[] = {{"cublasLtCreate", &lt.create},
      {"cublasLtMatmulDescCreate", &lt.describe}, {"cublasLtMatrixLayoutCreate", &lt.layout},
      {"cublasLtMatmulPreferenceCreate", &lt.preference},
      {"cublasLtMatmulPreferenceSetAttribute", &lt.prefer},
      {"cublasLtMatmulAlgoGetHeuristic", &lt.propose}, {"cublasLtMatmul", &lt.multiply}};
  static const uint32_t shapes[][3] = {
      {128, 1024, 1024}, {128, 4096, 1024}, {128, 1024, 4096}, {1, 2304, 768}};
  void *library = open_first(names, COUNT(names));
  const char *missing = library ? find(library, all, COUNT(all)) : "the library";
  handle of = NULL;
  if (missing || lt.create(&of)) {
    printf("{\"library\": \"cuBLASLt\", \"why\": \"%s is not there\"}\n",
        missing ? missing : "a handle");
    return;
  }
  for (size_t s = 0; s < COUNT(shapes); s++) {
    const uint32_t *shape = shapes[s];
    best_product(of, shape[0], shape[1], shape[2], R_32F, COMPUTE_32F);
    best_product(of, shape[0], shape[1], shape[2], R_32F, COMPUTE_TF32);
    best_product(of, shape[0], shape[1], shape[2], R_16F, COMPUTE_32F);
  }
}

// ---- cuDNN

enum { NCHW = 0, NHWC = 1, FLOAT = 0, CROSS_CORRELATION = 1, FMA_MATH = 3, N_FORWARD = 8 };
static struct {
  int (*create)(handle *);
  int (*set_stream)(handle, stream);
  int (*tensor)(descriptor *);
  int (*set_tensor)(descriptor, int format, int type, int n, int c, int h, int w);
  int (*filter)(descriptor *);
  int (*set_filter)(descriptor, int type, int format, int k, int c, int h, int w);
  int (*convolution)(descriptor *);
  int (*set_convolution)(descriptor, int, int, int, int, int, int, int mode, int type);
  int (*set_math)(descriptor, int);
  int (*workspace)(handle, descriptor x, descriptor w, descriptor conv, descriptor y, int algorithm,
      size_t *out_bytes);
  int (*forward)(handle, const void *alpha, descriptor x, const void *, descriptor w, const void *,
      descriptor conv, int algorithm, void *, size_t, const void *beta, descriptor y, void *);
} dnn;

typedef struct {
  uint32_t channels, size, filters, window, stride;
} layer;

typedef struct {
  handle of;
  descriptor x, w, conv, y;
  int algorithm;
  size_t workspace_bytes;
} convolution;

static bool convolve(void *user, const void *at) {
  const convolution *c = user;
  const float one = 1, zero = 0;
  return dnn.forward(c->of, &one, c->x, values, c->w, at, c->conv, c->algorithm, workspace,
             c->workspace_bytes, &zero, c->y, results) == 0;
}

static void best_convolution(handle of, const layer *l, int format) {
  convolution c = {.of = of};
  const int channels = (int)l->channels, size = (int)l->size, filters = (int)l->filters;
  const int window = (int)l->window, stride = (int)l->stride, pad = window / 2;
  const int out = (size + 2 * pad - window) / stride + 1;
  int chosen = -1;
  double best = INFINITY;
  bool is_fine = !dnn.tensor(&c.x) && !dnn.tensor(&c.y) && !dnn.filter(&c.w) &&
      !dnn.convolution(&c.conv) && !dnn.set_tensor(c.x, format, FLOAT, 1, channels, size, size) &&
      !dnn.set_tensor(c.y, format, FLOAT, 1, filters, out, out) &&
      !dnn.set_filter(c.w, FLOAT, format, filters, channels, window, window) &&
      !dnn.set_convolution(c.conv, pad, pad, stride, stride, 1, 1, CROSS_CORRELATION, FLOAT) &&
      !dnn.set_math(c.conv, FMA_MATH);
  for (int k = 0; k < N_FORWARD && is_fine; k++) {
    c.algorithm = k;
    if (dnn.workspace(of, c.x, c.w, c.conv, c.y, k, &c.workspace_bytes) ||
        c.workspace_bytes > WORKSPACE_BYTES)
      continue;
    double us = time_of(convolve, &c, (size_t)filters * l->channels * l->window * l->window * 4);
    if (us < best) best = us, chosen = k;
  }
  printf(
      "{\"library\": \"cuDNN\", \"shape\": \"%ux%u, %u of %ux%u, stride %u\", \"layout\": \"%s\", "
      "\"type\": \"f32\"",
      l->channels, l->size, l->filters, l->window, l->window, l->stride,
      format == NCHW ? "planes" : "channels last");
  if (chosen < 0)
    printf(
        ", \"why\": \"%s\"}\n", is_fine ? "none of its algorithms runs" : "it refuses the shape");
  else
    printf(", \"us\": %.3f, \"chosen\": %d}\n", best, chosen);
  (void)fflush(stdout);
}

static void all_convolutions(void) {
  static const char *const names[] = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"};
  const function all[] = {{"cudnnCreate", &dnn.create}, {"cudnnSetStream", &dnn.set_stream},
      {"cudnnCreateTensorDescriptor", &dnn.tensor}, {"cudnnSetTensor4dDescriptor", &dnn.set_tensor},
      {"cudnnCreateFilterDescriptor", &dnn.filter}, {"cudnnSetFilter4dDescriptor", &dnn.set_filter},
      {"cudnnCreateConvolutionDescriptor", &dnn.convolution},
      {"cudnnSetConvolution2dDescriptor", &dnn.set_convolution},
      {"cudnnSetConvolutionMathType", &dnn.set_math},
      {"cudnnGetConvolutionForwardWorkspaceSize", &dnn.workspace},
      {"cudnnConvolutionForward", &dnn.forward}};
  static const layer layers[] = {{3, 224, 64, 7, 2}, {64, 56, 64, 1, 1}, {64, 56, 64, 3, 1},
      {64, 56, 256, 1, 1}, {256, 56, 64, 1, 1}, {256, 56, 512, 1, 2}, {128, 56, 128, 3, 2},
      {128, 28, 128, 3, 1}, {128, 28, 512, 1, 1}, {512, 28, 128, 1, 1}, {256, 14, 256, 3, 1},
      {256, 14, 1024, 1, 1}, {1024, 14, 256, 1, 1}, {512, 7, 512, 3, 1}, {512, 7, 2048, 1, 1},
      {2048, 7, 512, 1, 1}};
  void *library = open_first(names, COUNT(names));
  const char *missing = library ? find(library, all, COUNT(all)) : "the library";
  handle of = NULL;
  if (missing || dnn.create(&of) || dnn.set_stream(of, queue)) {
    printf(
        "{\"library\": \"cuDNN\", \"why\": \"%s is not there\"}\n", missing ? missing : "a handle");
    return;
  }
  for (size_t k = 0; k < COUNT(layers); k++) {
    best_convolution(of, &layers[k], NCHW);
    best_convolution(of, &layers[k], NHWC);
  }
}

int main(void) {
  const char *why = open_cuda();
  if (why) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }
  all_products();
  all_convolutions();
  return 0;
}
