// facts.cu - what a CUDA device does and costs, measured: the constants of an estimate by waves.
// Prints one JSON object.
//
//   nvcc -O3 -std=c++17 -arch=native bench/gpu/facts.cu -o facts -lcuda -lnvrtc && ./facts > f.json
//
// Takes about 15 s and 2 GiB of device memory. Units are in the names: _gb_s is 1e9 bytes a second,
// _us microseconds, _ns nanoseconds, _cycles those of a multiprocessor's clock, _mib 2^20 bytes.
// Every rate is the median of several runs, by events; what is said by cycles is read off the
// multiprocessor's own counter, so clocks do not enter. null: this device has no such instruction.
//
//   noise            a kernel of 10 us again and again, alone and as 40 nodes of a graph: quartiles
//                    over the median, in six series with pauses between
//   dram_*, l2_*     bytes a second of the whole device; l2_read_gb_s by the size [MiB] of what is
//                    read again and again; l2_holds_mib the largest size that is read at a rate
//                    nearer to L2's (that of 8 MiB) than to DRAM's
//   shared_cycles    cycles that a warp's request takes of the pipe, by lanes in one bank (degree 1
//                    to 32) and by width, with all of a multiprocessor's warps asking
//   fma_*, mma_*     operations of a multiprocessor in a cycle, and of the device in a second
//   latency_cycles   of one load that depends on the one before
//   barrier_cycles   of one __syncthreads by threads of the block, alone on its multiprocessor
//   launch_us        what one more kernel costs: in a stream (there the host is the limit), as a node
//                    of a graph, with a programmatic dependence (sm_90); host_* the host's own time
//   waves            time of n blocks of equal work over that of one full wave, by blocks resident
//                    on a multiprocessor and n in waves: arithmetic, and reading DRAM
//   module_ms        to build and load one kernel of 512 FMAs a step: NVRTC to cubin and to PTX, and
//                    the driver on each
//
// Devices: sm_75 and later with CUDA 13; sm_70 needs the toolkit 12, as 13 has no code for it.
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvrtc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#define CHECK(call)                                                               \
  do {                                                                            \
    cudaError_t check_error = (call);                                             \
    if (check_error != cudaSuccess) fail(#call, cudaGetErrorString(check_error)); \
  } while (0)

static void fail(const char *call, const char *why) {
  fprintf(stderr, "facts: %s: %s\n", call, why);
  exit(1);
}

static int processors, major, minor;  // of the device

static int attribute(cudaDeviceAttr which) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

static double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

struct Spread {
  double low, q1, median, q3;
};

static Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t n = values.size();
  return {values[0], values[n / 4], values[n / 2], values[3 * n / 4]};
}

// Device time [us] of `launch`, which enqueues on the default stream: `repeats` times after one
// that is not counted.
template <class Launch>
static Spread timed(Launch launch, int repeats) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<double> times;
  for (int i = -1; i < repeats; i++) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaGetLastError());
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 0) times.push_back(ms * 1e3);
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return spread(times);
}

template <class T>
static T *device_array(size_t n) {
  T *memory = nullptr;
  CHECK(cudaMalloc(&memory, n * sizeof(T)));
  CHECK(cudaMemset(memory, 0, n * sizeof(T)));
  return memory;
}

// ---- memory: bytes a second

__global__ void copy_words(const float4 *from, float4 *to, size_t n) {
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    to[i] = from[i];
}

__global__ void fill_words(float4 *to, size_t n) {
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    to[i] = make_float4(1, 2, 3, 4);
}

// Reads n words `total` / n times around, past L1, eight loads of a thread in flight.
__global__ void read_words(const float4 *from, size_t n, size_t total, float *out) {
  size_t stride = (size_t)gridDim.x * blockDim.x,
         at = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) % n;
  size_t step = stride % n;
  float sum = 0;
  for (size_t done = 0; done < total; done += 8 * stride) {
    float4 words[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
      words[i] = __ldcg(from + at);
      at += step;
      if (at >= n) at -= n;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) sum += words[i].x + words[i].y + words[i].z + words[i].w;
  }
  if (sum == 1.5f) *out = sum;
}

static double read_rate(const float4 *memory, size_t bytes, size_t total_bytes, float *out) {
  int blocks = processors * 4, threads = 512;
  size_t round = (size_t)blocks * threads * 8,
         total = (total_bytes / 16 + round - 1) / round * round;
  double us =
      timed([&] { read_words<<<blocks, threads>>>(memory, bytes / 16, total, out); }, 7).median;
  return (double)total * 16 / us * 1e-3;
}

static void print_memory() {
  const size_t big = (size_t)1 << 30;
  float4 *a = device_array<float4>(big / 16), *b = device_array<float4>(big / 16);
  float *out = device_array<float>(1);
  size_t n = big / 16;
  double copy = timed([&] { copy_words<<<processors * 8, 512>>>(a, b, n); }, 9).median;
  double fill = timed([&] { fill_words<<<processors * 8, 512>>>(b, n); }, 9).median;
  double dram = read_rate(a, big, big, out);
  printf("\"dram_copy_gb_s\": %.0f,\n\"dram_read_gb_s\": %.0f,\n\"dram_write_gb_s\": %.0f,\n",
      2e-3 * big / copy, dram, 1e-3 * big / fill);
  printf("\"l2_read_gb_s\": {");
  double l2 = 0;
  int holds = 0;
  const int sizes[] = {
      1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64, 80, 96, 128, 256};
  for (int mib : sizes) {
    double rate = read_rate(a, (size_t)mib << 20, big, out);
    if (mib == 8) l2 = rate;
    if (mib > 8 && rate > (l2 + dram) / 2) holds = mib;
    printf("%s\"%d\": %.0f", mib == 1 ? "" : ", ", mib, rate);
  }
  printf("},\n\"l2_holds_mib\": %d,\n", holds);
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
}

// ---- shared memory: cycles of a request

// `words` of each lane begin at word `first`; a request is one load of WIDTH words. out: cycles of
// the block.
template <int WIDTH>
__global__ void load_shared(const int *first, int rounds, long long *cycles, unsigned *out) {
  __shared__ __align__(16) unsigned words[1024 * 4];
  for (int i = threadIdx.x; i < 1024 * 4; i += blockDim.x) words[i] = i;
  unsigned at = (unsigned)__cvta_generic_to_shared(words + first[threadIdx.x % 32]), sum = 0;
  __syncthreads();
  long long begin = clock64();
  for (int r = 0; r < rounds; r++) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      unsigned x = 0, y = 0, z = 0, w = 0;
      if (WIDTH == 1) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(at));
      if (WIDTH == 2)
        asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "r"(at));
      if (WIDTH == 4)
        asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                     : "r"(at));
      sum ^= x ^ y ^ z ^ w;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = clock64() - begin;
  if (sum == 12345) *out = sum;
}

template <int WIDTH>
static double shared_cycles(const std::vector<int> &first) {
  const int rounds = 64, threads = 1024;
  int *lanes = device_array<int>(32);
  long long *cycles = device_array<long long>(processors);
  CHECK(cudaMemcpy(lanes, first.data(), 32 * sizeof(int), cudaMemcpyHostToDevice));
  for (int i = 0; i < 3; i++)
    load_shared<WIDTH><<<processors, threads>>>(lanes, rounds, cycles, (unsigned *)lanes);
  std::vector<long long> all(processors);
  CHECK(cudaMemcpy(all.data(), cycles, processors * sizeof(long long), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(lanes));
  CHECK(cudaFree(cycles));
  std::nth_element(all.begin(), all.begin() + processors / 2, all.end());
  return (double)all[processors / 2] / (rounds * 16.0 * (threads / 32));
}

static void print_shared() {
  printf("\"shared_cycles\": {\"degree\": [");
  for (int degree = 1; degree <= 32; degree++) {
    std::vector<int> first(32);
    for (int lane = 0; lane < 32; lane++) first[lane] = lane % degree * 32 + lane / degree;
    printf("%s%.2f", degree == 1 ? "" : ", ", shared_cycles<1>(first));
  }
  std::vector<int> same(32, 0), pairs(32), quads(32), fours(32);
  for (int lane = 0; lane < 32; lane++) {
    pairs[lane] = lane * 2;
    quads[lane] = lane * 4;
    fours[lane] = lane / 8 * 4;  // 4 addresses, each of 8 lanes, as a tile's rows are read
  }
  printf(
      "], \"same_word\": %.2f, \"bytes_8\": %.2f, \"bytes_16\": %.2f, \"bytes_16_of_4_addresses\": "
      "%.2f, "
      "\"bytes_16_same\": %.2f},\n",
      shared_cycles<1>(same), shared_cycles<2>(pairs), shared_cycles<4>(quads),
      shared_cycles<4>(fours), shared_cycles<4>(same));
}

// ---- arithmetic

__global__ void fma_chains(float *out, int rounds, float a, float b, long long *cycles) {
  float x[16];
#pragma unroll
  for (int i = 0; i < 16; i++) x[i] = threadIdx.x + i;
  __syncthreads();
  long long begin = clock64();
  for (int r = 0; r < rounds; r++) {
#pragma unroll
    for (int i = 0; i < 64; i++) x[i % 16] = fmaf(x[i % 16], a, b);
  }
  __syncthreads();
  if (threadIdx.x == 0 && cycles) cycles[blockIdx.x] = clock64() - begin;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) sum += x[i];
  if (sum == 1.5f) *out = sum;
}

enum Kind { F16, BF16, TF32 };

// Eight independent sums of 16x8 a warp; F16 and BF16: a depth of 16, TF32 8.
template <int KIND>
__global__ void mma_chains(float *out, int rounds, long long *cycles) {
  float d[8][4] = {};
#if __CUDA_ARCH__ >= 800
  unsigned a[4] = {threadIdx.x, 1, 2, 3}, b[2] = {threadIdx.x, 5};
  __syncthreads();
  long long begin = clock64();
  for (int r = 0; r < rounds; r++) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      float *c = d[i];
#define MMA(SHAPE)                                                                                \
  asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
      if (KIND == F16) MMA("m16n8k16.row.col.f32.f16.f16.f32");
      if (KIND == BF16) MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
      if (KIND == TF32) MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#undef MMA
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = clock64() - begin;
#endif
  float sum = 0;
  for (int i = 0; i < 8; i++) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
  if (sum == 1.5f) *out = sum;
}

static double median_cycles(const long long *cycles) {
  std::vector<long long> all(processors);
  CHECK(cudaMemcpy(all.data(), cycles, processors * sizeof(long long), cudaMemcpyDeviceToHost));
  std::nth_element(all.begin(), all.begin() + processors / 2, all.end());
  return (double)all[processors / 2];
}

template <int KIND>
static void print_mma(const char *name, double flops_each, float *out, long long *cycles) {
  if (major < 8) {
    printf("\"mma_%s\": null,\n", name);
    return;
  }
  printf("\"mma_%s\": {", name);
  const int rounds = 4096;
  double best = 0, flops_cycle = 0;
  for (int warps : {4, 8, 16}) {
    auto launch = [&] { mma_chains<KIND><<<processors, warps * 32>>>(out, rounds, cycles); };
    double us = timed(launch, 5).median, flops = flops_each * 8.0 * rounds * warps;
    best = std::max(best, flops * processors / us * 1e-6);
    flops_cycle = std::max(flops_cycle, flops / median_cycles(cycles));
    printf("\"flop_cycle_%d_warps\": %.0f, ", warps, flops / median_cycles(cycles));
  }
  printf("\"flop_cycle\": %.0f, \"tflops\": %.1f},\n", flops_cycle, best);
}

static void print_arithmetic() {
  float *out = device_array<float>(1);
  long long *cycles = device_array<long long>(processors);
  const int rounds = 8192;
  printf("\"fma_cycle\": {");
  double best = 0, mhz = 0;
  for (int warps : {4, 8, 16, 32}) {
    auto launch = [&] { fma_chains<<<processors, warps * 32>>>(out, rounds, 0.5f, 1.0f, cycles); };
    double us = timed(launch, 5).median, fmas = 64.0 * rounds * warps * 32;
    best = std::max(best, 2 * fmas * processors / us * 1e-6);
    mhz = median_cycles(cycles) / us;
    printf("%s\"%d_warps\": %.1f", warps == 4 ? "" : ", ", warps, fmas / median_cycles(cycles));
  }
  printf("},\n\"fma_tflops\": %.1f,\n\"clock_mhz_in_short_kernels\": %.0f,\n", best, mhz);
  double us =
      timed([&] { fma_chains<<<processors, 1024>>>(out, 400 * rounds, 0.5f, 1.0f, cycles); }, 2)
          .median;
  printf("\"clock_mhz_under_load\": %.0f,\n\"load_ms\": %.0f,\n", median_cycles(cycles) / us,
      us * 1e-3);
  print_mma<F16>("f16", 2.0 * 16 * 8 * 16, out, cycles);
  print_mma<BF16>("bf16", 2.0 * 16 * 8 * 16, out, cycles);
  print_mma<TF32>("tf32", 2.0 * 16 * 8 * 8, out, cycles);
}

// ---- latencies

// One thread follows indices; MODE 0: through L1, 1: past it, 2: in shared memory.
template <int MODE>
__global__ void chase(
    const unsigned *next, int warm_up, int steps, long long *cycles, unsigned *out) {
  __shared__ unsigned inner[2048];
  if (MODE == 2)
    for (int i = 0; i < 2048; i++) inner[i] = (i * 33 + 1) % 2048;
  unsigned at = 0;
  long long begin = 0;
  for (int i = -warm_up; i < steps; i++) {
    if (i == 0) begin = clock64();
    if (MODE == 0) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(at) : "l"(next + at));
    if (MODE == 1) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(next + at));
    if (MODE == 2) at = *(volatile unsigned *)(inner + at);
  }
  *cycles = clock64() - begin;
  *out = at;
}

// A cycle through `bytes` of memory in random order, a step of 128 bytes at least.
static unsigned *chain(size_t bytes) {
  size_t n = bytes / 128;
  std::vector<unsigned> order(n), next(bytes / 4);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin() + 1, order.end(), std::mt19937(7));
  for (size_t i = 0; i < n; i++) next[(size_t)order[i] * 32] = order[(i + 1) % n] * 32;
  unsigned *memory = device_array<unsigned>(bytes / 4);
  CHECK(cudaMemcpy(memory, next.data(), bytes, cudaMemcpyHostToDevice));
  return memory;
}

template <int MODE>
static double chase_cycles(size_t bytes, int warm_up) {
  unsigned *memory = chain(bytes), *out = device_array<unsigned>(1);
  long long *cycles = device_array<long long>(1), result = 0;
  const int steps = 8192;
  chase<MODE><<<1, 1>>>(memory, warm_up, steps, cycles, out);
  CHECK(cudaMemcpy(&result, cycles, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(memory));
  return (double)result / steps;
}

__global__ void barriers(long long *cycles) {
  __syncthreads();
  long long begin = clock64();
#pragma unroll 16
  for (int i = 0; i < 256; i++) __syncthreads();
  if (threadIdx.x == 0) *cycles = clock64() - begin;
}

static void print_latencies() {
  printf("\"latency_cycles\": {\"dram\": %.0f, \"l2\": %.0f, \"l1\": %.0f, \"shared\": %.0f},\n",
      chase_cycles<1>((size_t)512 << 20, 64), chase_cycles<1>((size_t)4 << 20, 4 << 13),
      chase_cycles<0>(16 << 10, 128), chase_cycles<2>(16 << 10, 128));
  long long *cycles = device_array<long long>(1), result = 0;
  printf("\"barrier_cycles\": {");
  for (int threads = 32; threads <= 1024; threads *= 2) {
    for (int i = 0; i < 2; i++) barriers<<<1, threads>>>(cycles);
    CHECK(cudaMemcpy(&result, cycles, sizeof result, cudaMemcpyDeviceToHost));
    printf("%s\"%d\": %.1f", threads == 32 ? "" : ", ", threads, result / 256.0);
  }
  printf("},\n");
}

// ---- launches

__global__ void nothing() {}

__global__ void little(float *memory) {  // 16 bytes of each thread, read and written
  float4 *at = (float4 *)memory + blockIdx.x * blockDim.x + threadIdx.x;
  float4 value = *at;
  value.x += 1;
  *at = value;
}

__global__ void nothing_after() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

static void launch_after(cudaStream_t stream) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(processors);
  config.blockDim = dim3(128);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, nothing_after));
}

// Device time [us] of one more of what `enqueue` puts into a graph: of twice `n` in a row less n.
template <class Enqueue>
static double node_us(Enqueue enqueue, double *host_us, int n = 200) {
  double times[2];
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 2; i++) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < n * (i + 1); k++) enqueue(stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    times[i] = timed([&] { CHECK(cudaGraphLaunch(exec, 0)); }, 21).median;
    double begin = now_us();
    CHECK(cudaGraphLaunch(exec, 0));
    *host_us = now_us() - begin;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
  }
  CHECK(cudaStreamDestroy(stream));
  return (times[1] - times[0]) / n;
}

static void print_launches() {
  float *memory = device_array<float>((size_t)processors * 16 * 512 * 4);
  double host = 0;
  printf("\"launch_us\": {");
  const int n = 1000;
  double begin = 0;
  double stream = timed(
      [&] {
        begin = now_us();
        for (int i = 0; i < n; i++) nothing<<<1, 32>>>();
        host = now_us() - begin;
      },
      7)
                      .median;
  printf("\"stream\": %.2f, \"host_stream\": %.2f", stream / n, host / n);
  printf(", \"node_1_block\": %.2f",
      node_us([](cudaStream_t s) { nothing<<<1, 32, 0, s>>>(); }, &host));
  printf(", \"host_graph_of_400\": %.1f", host);
  for (int blocks : {1, 8, 16})
    printf(", \"node_%d_blocks_a_processor\": %.2f", blocks,
        node_us([&](cudaStream_t s) { nothing<<<processors * blocks, 128, 0, s>>>(); }, &host));
  printf(", \"node_that_reads_and_writes\": %.2f",
      node_us([&](cudaStream_t s) { little<<<processors, 128, 0, s>>>(memory); }, &host));
  if (major >= 9)
    printf(", \"node_programmatic\": %.2f", node_us(launch_after, &host));
  else
    printf(", \"node_programmatic\": null");
  printf("},\n");
}

// ---- waves

__global__ void read_part(
    const float4 *from, int n, float *out) {  // each block reads n words of its own
  const float4 *at = from + (size_t)blockIdx.x * n;
  float sum = 0;
#pragma unroll 8
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += __ldcg(at + i).x;
  if (sum == 1.5f) *out = sum;
}

static void print_waves() {
  const double waves[] = {
      0.25, 0.5, 0.75, 1, 0 /* one block more than 1 */, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 4};
  const int threads = 256, words = 4096;
  int a_processor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  int a_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
      reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  const size_t all_words = (size_t)1 << 27;
  float *out = device_array<float>(1);
  float4 *memory = device_array<float4>(all_words);
  size_t at = 0;  // each launch reads what others have not: of 2 GiB in turns
  double host = 0;
  CHECK(cudaFuncSetAttribute(fma_chains, cudaFuncAttributeMaxDynamicSharedMemorySize, a_block));
  CHECK(cudaFuncSetAttribute(read_part, cudaFuncAttributeMaxDynamicSharedMemorySize, a_block));
  printf("\"waves\": {");
  for (int resident : {1, 2, 4, 8}) {
    int shared = std::min(a_processor / resident - reserved, a_block) & ~127;
    for (int kind = 0; kind < 2; kind++) {
      double full = 0;
      std::vector<double> times;
      for (double wave : waves) {
        int blocks = wave == 0 ? processors * resident + 1 : (int)(processors * resident * wave);
        auto enqueue = [&](cudaStream_t s) {
          if (kind == 0) {
            fma_chains<<<blocks, threads, shared, s>>>(out, 400, 0.5f, 1.0f, nullptr);
            return;
          }
          if (at + (size_t)blocks * words > all_words) at = 0;
          read_part<<<blocks, threads, shared, s>>>(memory + at, words, out);
          at += (size_t)blocks * words;
        };
        times.push_back(node_us(enqueue, &host, 10));
        if (wave == 1) full = times.back();
      }
      printf("%s\"%s_%d_resident\": {\"one_wave_us\": %.2f", resident == 1 && kind == 0 ? "" : ", ",
          kind == 0 ? "fma" : "dram", resident, full);
      for (size_t i = 0; i < times.size(); i++)
        if (waves[i] == 0)
          printf(", \"1 and a block\": %.3f", times[i] / full);
        else
          printf(", \"%g\": %.3f", waves[i], times[i] / full);
      printf("}");
    }
  }
  printf("},\n");
}

// ---- modules

static std::string module_text() {
  std::string text =
      "extern \"C\" __global__ void product(const float *a, const float *b, float *c, int n) {\n"
      "  __shared__ float as[64 * 8], bs[64 * 8];\n  float sum[8][8] = {};\n"
      "  for (int k = 0; k < n; k++) {\n    __syncthreads();\n"
      "    for (int i = threadIdx.x; i < 512; i += 64) as[i] = a[k * 512 + i], bs[i] = b[k * 512 + "
      "i];\n"
      "    __syncthreads();\n";
  for (int k = 0; k < 8; k++)
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 8; j++) {
        char line[160];
        snprintf(line, sizeof line,
            "    sum[%d][%d] += as[%d + threadIdx.x / 8 * 8] * bs[%d + threadIdx.x %% 8 * 8];\n", i,
            j, k * 64 + i, k * 64 + j);
        text += line;
      }
  return text +
      "  }\n  for (int i = 0; i < 64; i++) c[i * 64 + threadIdx.x] = sum[i / 8][i % 8];\n}\n";
}

static std::vector<char> compile(const std::string &text, bool cubin, double *ms) {
  char option[64];
  snprintf(
      option, sizeof option, "--gpu-architecture=%s_%d%d", cubin ? "sm" : "compute", major, minor);
  const char *options[] = {option};
  double begin = now_us();
  nvrtcProgram program;
  if (nvrtcCreateProgram(&program, text.c_str(), "product.cu", 0, nullptr, nullptr))
    fail("nvrtcCreateProgram", "");
  nvrtcResult result = nvrtcCompileProgram(program, 1, options);
  if (result) fail("nvrtcCompileProgram", nvrtcGetErrorString(result));
  size_t size = 0;
  cubin ? nvrtcGetCUBINSize(program, &size) : nvrtcGetPTXSize(program, &size);
  std::vector<char> image(size);
  cubin ? nvrtcGetCUBIN(program, image.data()) : nvrtcGetPTX(program, image.data());
  nvrtcDestroyProgram(&program);
  *ms = (now_us() - begin) * 1e-3;
  return image;
}

static double load_ms(const std::vector<char> &image) {
  std::vector<double> times;
  for (int i = 0; i < 5; i++) {
    CUmodule module;
    CUfunction function;
    double begin = now_us();
    if (cuModuleLoadData(&module, image.data()) ||
        cuModuleGetFunction(&function, module, "product"))
      fail("cuModuleLoadData", "");
    times.push_back((now_us() - begin) * 1e-3);
    cuModuleUnload(module);
  }
  return spread(times).median;
}

static void print_modules() {
  std::string text = module_text();
  double cubin_ms = 0, ptx_ms = 0;
  compile(text, true, &cubin_ms);  // the first one loads the compiler
  std::vector<char> cubin = compile(text, true, &cubin_ms), ptx = compile(text, false, &ptx_ms);
  printf(
      "\"module_ms\": {\"nvrtc_cubin\": %.1f, \"nvrtc_ptx\": %.1f, \"load_cubin\": %.3f, "
      "\"load_ptx\": %.1f, "
      "\"cubin_bytes\": %zu, \"ptx_bytes\": %zu},\n",
      cubin_ms, ptx_ms, load_ms(cubin), load_ms(ptx), cubin.size(), ptx.size());
}

// ---- time itself

static void print_noise() {
  float *out = device_array<float>(1);
  const int words = 4096;
  float4 *memory = device_array<float4>((size_t)processors * 4 * words);
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<double> gaps;
  double resolution = 1e9;
  for (int i = 0; i < 2000; i++) {
    float ms = 0;
    CHECK(cudaEventRecord(begin));
    if (i % 2) nothing<<<1 + i % 64, 32>>>();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    gaps.push_back(ms * 1e6);
  }
  std::vector<double> empty;
  for (size_t i = 0; i < gaps.size(); i += 2) empty.push_back(gaps[i]);
  std::sort(gaps.begin(), gaps.end());
  for (size_t i = 1; i < gaps.size(); i++)
    if (gaps[i] - gaps[i - 1] > 0.5) resolution = std::min(resolution, gaps[i] - gaps[i - 1]);
  printf("\"event_resolution_ns\": %.0f,\n\"event_pair_us\": %.2f,\n\"noise\": {", resolution,
      spread(empty).median * 1e-3);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 40; i++)
    fma_chains<<<processors, 256, 0, stream>>>(out, 80, 0.5f, 1.0f, nullptr);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  const char *names[] = {"fma", "memory", "graph_of_40_fma"};
  for (int kind = 0; kind < 3; kind++) {
    auto launch = [&] {
      if (kind == 0) fma_chains<<<processors, 256>>>(out, 80, 0.5f, 1.0f, nullptr);
      if (kind == 1) read_part<<<processors * 4, 256>>>(memory, words, out);
      if (kind == 2) CHECK(cudaGraphLaunch(exec, 0));
    };
    printf("%s\"%s\": [", kind ? ", " : "", names[kind]);
    for (int series = 0; series < 6; series++) {
      if (series) usleep(150000);
      Spread s = timed(launch, 200);
      printf("%s{\"median_us\": %.3f, \"low\": %.3f, \"q1\": %.4f, \"q3\": %.4f}",
          series ? ", " : "", s.median / (kind == 2 ? 40 : 1), s.low / s.median, s.q1 / s.median,
          s.q3 / s.median);
    }
    printf("]");
  }
  printf("},\n");
}

int main() {
  setenv("CUDA_CACHE_DISABLE", "1", 1);  // or loading PTX would find what it made the last time
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  processors = device.multiProcessorCount, major = device.major, minor = device.minor;
  int runtime = 0, driver = 0;
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaDriverGetVersion(&driver));
  double begin = now_us();
  printf(
      "{\n\"name\": \"%s\",\n\"capability\": \"%d.%d\",\n\"runtime\": %d,\n\"driver\": "
      "%d,\n\"processors\": %d,\n",
      device.name, major, minor, runtime, driver, processors);
  printf("\"clock_mhz\": %d,\n\"memory_clock_mhz\": %d,\n\"bus_bits\": %d,\n",
      attribute(cudaDevAttrClockRate) / 1000, attribute(cudaDevAttrMemoryClockRate) / 1000,
      attribute(cudaDevAttrGlobalMemoryBusWidth));
  printf("\"l2_mib\": %.1f,\n\"memory_mib\": %zu,\n", device.l2CacheSize / 1048576.0,
      device.totalGlobalMem >> 20);
  printf(
      "\"shared_bytes\": {\"processor\": %zu, \"block\": %zu, \"block_opt_in\": %d, \"reserved\": "
      "%d},\n",
      device.sharedMemPerMultiprocessor, device.sharedMemPerBlock,
      attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
      attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  printf(
      "\"registers\": %d,\n\"threads\": {\"processor\": %d, \"block\": %d, \"warp\": "
      "%d},\n\"blocks_a_processor\": %d,\n",
      device.regsPerMultiprocessor, device.maxThreadsPerMultiProcessor, device.maxThreadsPerBlock,
      device.warpSize, attribute(cudaDevAttrMaxBlocksPerMultiprocessor));
  print_noise();
  print_memory();
  print_shared();
  print_arithmetic();
  print_latencies();
  print_launches();
  print_waves();
  print_modules();
  printf("\"took_s\": %.1f\n}\n", (now_us() - begin) * 1e-6);
  return 0;
}
