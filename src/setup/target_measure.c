// target_measure.c - the peak and the bandwidths of one thread, by running loops that do nothing
// else. Peak: twelve independent chains of vector FMAs (latency 4 to 5 x at most 2 pipes needs 10;
// 16 registers hold 12 and the operands). Fed: the same with a load from the innermost cache for
// every two FMAs. Bandwidth: eight streams of vector loads, xor'd, over a
// buffer that sits in one level. The build compiles this file with -O2 and contraction on, whatever
// the build type.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/os.h"
#include "setup/target_table.h"

typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef uint64_t u64x2 __attribute__((vector_size(16)));
typedef uint64_t u64x4 __attribute__((vector_size(32)));
typedef uint64_t u64x8 __attribute__((vector_size(64)));

enum { N_CHAINS = 12, N_STREAMS = 8 };
#define PEAK_STRETCH_S 2e-4

typedef void (*fma_kernel)(const float *data, float *out, uint64_t n);
typedef uint64_t (*read_kernel)(const void *data, size_t n_bytes);

#define REPEAT_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define DECLARE(i) a##i = x * (float)(i),
#define STEP(i) a##i = a##i * x + y;
#define SUM(i) sum += a##i;
// As a register tile of six rows and two vectors does: a load for every two FMAs, as an instruction
// of its own.
#if defined(__x86_64__)
#define IN_REGISTER(row) __asm__("" : "+x"(row))
#elif defined(__aarch64__)
#define IN_REGISTER(row) __asm__("" : "+w"(row))
#endif
#define LOAD_STEP(vec, i, j) \
  {                          \
    vec row = in[i / 2];     \
    IN_REGISTER(row);        \
    a##i = a##i * row + y;   \
    a##j = a##j * row + y;   \
  }
#define FMA_STEPS(vec) REPEAT_12(STEP)
#define FED_STEPS(vec)                 \
  __asm__ volatile("" : : : "memory"); \
  LOAD_STEP(vec, 0, 1)                 \
  LOAD_STEP(vec, 2, 3)                 \
  LOAD_STEP(vec, 4, 5)                 \
  LOAD_STEP(vec, 6, 7)                 \
  LOAD_STEP(vec, 8, 9)                 \
  LOAD_STEP(vec, 10, 11)
// data: six vectors of 0.5. Every chain tends to 2, so nothing overflows or becomes denormal.
#define FMA_KERNEL(name, vec, STEPS)                                                      \
  __attribute__((noinline)) static void name(const float *data, float *out, uint64_t n) { \
    const vec *in = (const void *)data;                                                   \
    vec x = in[0], y = x + x;                                                             \
    vec REPEAT_12(DECLARE) sum = y;                                                       \
    for (uint64_t k = 0; k < n; k++) {                                                    \
      STEPS(vec)                                                                          \
    }                                                                                     \
    REPEAT_12(SUM)                                                                        \
    memcpy(out, &sum, sizeof sum);                                                        \
  }

// n_bytes is a multiple of 8 vectors.
#define READ_KERNEL(name, vec)                                                       \
  __attribute__((noinline)) static uint64_t name(const void *data, size_t n_bytes) { \
    const vec *at = data, *end = at + n_bytes / sizeof(vec);                         \
    vec a = {0}, b = {0}, c = {0}, d = {0};                                          \
    for (; at < end; at += N_STREAMS) {                                              \
      a ^= at[0] ^ at[4];                                                            \
      b ^= at[1] ^ at[5];                                                            \
      c ^= at[2] ^ at[6];                                                            \
      d ^= at[3] ^ at[7];                                                            \
    }                                                                                \
    a ^= b ^ c ^ d;                                                                  \
    return a[0] ^ a[1];                                                              \
  }

FMA_KERNEL(fma_16, f32x4, FMA_STEPS)
FMA_KERNEL(fed_16, f32x4, FED_STEPS)
READ_KERNEL(read_16, u64x2)
#if defined(__x86_64__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#define IN_AVX2 __attribute__((target("avx2,fma")))
#define IN_AVX512 __attribute__((target("avx512f,prefer-vector-width=512")))
IN_AVX2 FMA_KERNEL(fma_32, f32x8, FMA_STEPS)
IN_AVX2 FMA_KERNEL(fed_32, f32x8, FED_STEPS)
IN_AVX2 READ_KERNEL(read_32, u64x4)
#ifdef __clang__
#undef IN_AVX512
#define IN_AVX512 __attribute__((target("avx512f"), min_vector_width(512)))
#endif
IN_AVX512 FMA_KERNEL(fma_64, f32x16, FMA_STEPS)
IN_AVX512 FMA_KERNEL(fed_64, f32x16, FED_STEPS)
IN_AVX512 READ_KERNEL(read_64, u64x8)
#pragma GCC diagnostic pop
#endif

    static double seconds_since(uint64_t start) {
  return (double)(seer_os_now_ns() - start) * 1e-9;
}

// Best of several stretches of about stretch_s: an interruption makes one slow, nothing makes one
// fast.
static double measure_gflops(fma_kernel kernel, uint32_t lanes, double stretch_s, double budget_s) {
  _Alignas(64) float data[N_CHAINS / 2 * 16];
  for (size_t i = 0; i < SEER_COUNT_OF(data); i++) data[i] = 0.5f;
  float out[16];
  uint64_t n = 1 << 12, begin = seer_os_now_ns();
  double best = 0;
  kernel(data, out, n);
  do {
    uint64_t start = seer_os_now_ns();
    kernel(data, out, n);
    double seconds = seconds_since(start);
    if (seconds < 0.8 * stretch_s) {
      double factor = seconds > 0 ? stretch_s / seconds : 2;
      n = (uint64_t)((double)n * (factor < 16 ? factor : 16)) + 1;
      continue;
    }
    double gflops = 2.0 * N_CHAINS * lanes * (double)n / seconds * 1e-9;
    if (gflops > best) best = gflops;
  } while (best <= 0 || seconds_since(begin) < budget_s);
  return best;
}

static double measure_gbs(read_kernel kernel, const void *data, size_t n_bytes, double budget_s) {
  uint64_t begin = seer_os_now_ns();
  volatile uint64_t sink = kernel(data, n_bytes);
  double best = 0;
  size_t repeats = 1;
  do {
    uint64_t start = seer_os_now_ns();
    for (size_t i = 0; i < repeats; i++) sink = sink ^ kernel(data, n_bytes);
    double seconds = seconds_since(start);
    double gbs = (double)n_bytes * (double)repeats / seconds * 1e-9;
    if (gbs > best) best = gbs;
    if (seconds < 1e-3) repeats *= 2;
  } while (seconds_since(begin) < budget_s);
  return best;
}

typedef struct {
  fma_kernel fma, fed;
  read_kernel read;
} kernels;

static seer_status choose(const seer_target *target, kernels *out) {
  *out = (kernels){fma_16, fed_16, read_16};
  SEER_TRY(seer_target_check_cpu(target));
#if defined(__x86_64__)
  if (strncmp(target->triple, "x86_64-", 7) != 0)
    return SEER_FAIL(UNSUPPORTED, "target %s can't be measured on this machine, which is x86_64",
        target->triple);
  if (target->vector_bytes == 64) {
    if (!__builtin_cpu_supports("avx512f"))
      return SEER_FAIL(UNSUPPORTED, "this machine has no AVX-512 to measure");
    *out = (kernels){fma_64, fed_64, read_64};
  } else if (target->vector_bytes == 32) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
      return SEER_FAIL(UNSUPPORTED, "this machine has no AVX2 with FMA to measure");
    *out = (kernels){fma_32, fed_32, read_32};
  }
#else
  if (strncmp(target->triple, "aarch64-", 8) != 0)
    return SEER_FAIL(UNSUPPORTED, "target %s can't be measured on this machine", target->triple);
#endif
  return SEER_OK;
}

enum {
  GRANULE = N_STREAMS * 64,
  MOST_L3_READ = 16 << 20,
  LEAST_DRAM_READ = 64 << 20,
  MOST_READ = 256 << 20
};  // bytes

// Whole granules of what is to be read, at most MOST_READ; 0 where there is nothing.
static size_t buffer_bytes(uint64_t n_bytes) {
  if (n_bytes > MOST_READ) n_bytes = MOST_READ;
  if (n_bytes && n_bytes < GRANULE) n_bytes = GRANULE;
  return (size_t)(n_bytes / GRANULE * GRANULE);
}

static seer_status take_pages(size_t n_bytes, void **out_data) {
  *out_data = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*out_data == MAP_FAILED)
    return SEER_FAIL(RESOURCE, "no %zu bytes to measure the memory's speed", n_bytes);
  madvise(*out_data, n_bytes, MADV_HUGEPAGE);
  memset(*out_data, 1, n_bytes);  // real pages: untouched ones are all the same page of zeros
  return SEER_OK;
}

seer_status seer_target_peak_now(
    const seer_target *target, double stretch_s, double budget_s, double *out_gflops) {
  kernels k;
  SEER_TRY(choose(target, &k));
  *out_gflops = measure_gflops(k.fma, seer_target_lanes(target), stretch_s, budget_s);
  return SEER_OK;
}

seer_status seer_target_fed_now(
    const seer_target *target, double stretch_s, double budget_s, double *out_gflops) {
  kernels k;
  SEER_TRY(choose(target, &k));
  *out_gflops = measure_gflops(k.fed, seer_target_lanes(target), stretch_s, budget_s);
  return SEER_OK;
}

seer_status seer_target_measure(seer_target *target) {
  kernels k;
  SEER_TRY(choose(target, &k));
  // A level's buffer is twice the level above at least, and half of the level at most.
  size_t l2 = buffer_bytes(target->l2_bytes / 2);
  uint64_t l3 = target->l3_bytes / 2;
  if (l3 > MOST_L3_READ) l3 = MOST_L3_READ;
  if (l3 && l3 < target->l2_bytes * 2) l3 = target->l2_bytes * 2;
  size_t n_l3 = buffer_bytes(l3), dram = buffer_bytes(target->l3_bytes * 4);
  if (dram < LEAST_DRAM_READ) dram = LEAST_DRAM_READ;
  size_t n_bytes = dram > n_l3 ? dram : n_l3;
  if (n_bytes < l2) n_bytes = l2;
  void *data;
  SEER_TRY(take_pages(n_bytes, &data));
  target->peak_gflops = measure_gflops(k.fma, seer_target_lanes(target), PEAK_STRETCH_S, 0.1);
  target->dram_gbs = measure_gbs(k.read, data, dram, 0.06);
  target->l3_gbs = n_l3 ? measure_gbs(k.read, data, n_l3, 0.03) : target->dram_gbs;
  target->l2_gbs = l2 ? measure_gbs(k.read, data, l2, 0.03) : target->l3_gbs;
  target->is_measured = true;
  munmap(data, n_bytes);
  return SEER_OK;
}
