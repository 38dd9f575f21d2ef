// mock.cuh - stands in front of CUDA C that mock.c compiles as C++.
//
// The items of a block are contexts of one thread: between two barriers they run one after another,
// in another order in each block and after each barrier. So a missing barrier gives wrong numbers.
// At a product of a warp its 32 items wait for each other, and for nobody else. What this does not
// see: which product in the text it is that they have come to, banks, alignment.
#include <ucontext.h>

#include <stdio.h>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(n_items, n_blocks)
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() mock_barrier()

struct mock_number {
  int x;
};
static mock_number threadIdx, blockIdx, blockDim;

template <typename to, typename from>
static inline to mock_bits(from x) {
  to y;
  static_assert(sizeof x == sizeof y, "as many bits");
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}
static inline float __int_as_float(int x) { return mock_bits<float>(x); }
static inline int __float_as_int(float x) { return mock_bits<int>(x); }
static inline double __longlong_as_double(long long x) { return mock_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return mock_bits<long long>(x); }
static inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
static inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

// support/mock_cuda.h has the same.
typedef struct {
  const char *name;
  void (*run)(void *const *buffers, unsigned block);
  unsigned n_args, n_items, group_bytes;
  unsigned long long scratch_bytes;
} mock_kernel;

#define MOCK_STACK_BYTES (64 << 10)
#define MOCK_MAX_ITEMS 1024
#define MOCK_MAX_COPIES 256

enum mock_place { MOCK_GOES_ON, MOCK_AT_BARRIER, MOCK_AT_MMA, MOCK_DONE };

// Words of a product of a warp: what an item brings to it, and has from it.
struct mock_words {
  int kind;
  float c[4];
  unsigned a[4], b[2];
};
enum { MOCK_F16, MOCK_BF16, MOCK_TF32 };

static struct {
  ucontext_t context;
  mock_place place;
  mock_words words;
} mock_item[MOCK_MAX_ITEMS];
static char mock_stack[MOCK_MAX_ITEMS][MOCK_STACK_BYTES];
static ucontext_t mock_scheduler;
static void *const *mock_args;
static void (*mock_call)(void);

static void mock_fail(const char *what) {
  fprintf(stderr, "mock libcuda: %s\n", what);
  __builtin_abort();
}

static void mock_wait(int item, mock_place place) {
  mock_item[item].place = place;
  swapcontext(&mock_item[item].context, &mock_scheduler);
}

static void mock_barrier(void) { mock_wait(threadIdx.x, MOCK_AT_BARRIER); }

// ---- products of warps, as PTX has their fragments

static double mock_half(unsigned bits) {
  int exponent = bits >> 10 & 31, digits = bits & 1023;
  double value = exponent == 31 ? (digits ? __builtin_nan("") : __builtin_inf())
      : exponent == 0           ? __builtin_ldexp(digits, -24)
                                : __builtin_ldexp(1024 + digits, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

// The k-th number of a word; of tf32 the second is 0.
static double mock_number(int kind, unsigned word, int k) {
  if (kind == MOCK_F16) return mock_half(word >> 16 * k & 0xFFFF);
  if (kind == MOCK_BF16) return mock_bits<float>(k ? word & 0xFFFF0000u : word << 16);
  if (k) return 0;
  bool is_finite = (word >> 23 & 255) != 255;
  return mock_bits<float>(is_finite ? (word + 0x1000) & ~0x1FFFu : word);
}

static void mock_multiply(int first) {
  static double x[16][16], y[16][8];
  int kind = mock_item[first].words.kind;
  for (int lane = 0; lane < 32; lane++) {
    const mock_words &w = mock_item[first + lane].words;
    if (w.kind != kind) mock_fail("a warp's items come to different products");
    int g = lane / 4, t = lane % 4;
    for (int k = 0; k < 2; k++) {
      for (int i = 0; i < 4; i++)
        x[g + i % 2 * 8][2 * (t + i / 2 * 4) + k] = mock_number(kind, w.a[i], k);
      for (int i = 0; i < 2; i++) y[2 * (t + i * 4) + k][g] = mock_number(kind, w.b[i], k);
    }
  }
  for (int lane = 0; lane < 32; lane++) {
    mock_words &w = mock_item[first + lane].words;
    for (int i = 0; i < 4; i++) {
      double sum = w.c[i];
      for (int k = 0; k < 16; k++)
        sum += x[lane / 4 + i / 2 * 8][k] * y[k][lane % 4 * 2 + i % 2];
      w.c[i] = (float)sum;
    }
    mock_item[first + lane].place = MOCK_GOES_ON;
  }
}

template <typename sums, typename rows, typename columns>
static sums mock_mma(int kind, sums c, rows a, columns b) {
  int item = threadIdx.x;
  mock_item[item].words = {kind, {c.s0, c.s1, c.s2, c.s3},
      {(unsigned)a.s0, (unsigned)a.s1, (unsigned)a.s2, (unsigned)a.s3},
      {(unsigned)b.s0, (unsigned)b.s1}};
  mock_wait(item, MOCK_AT_MMA);
  const float *z = mock_item[item].words.c;
  return sums{z[0], z[1], z[2], z[3]};
}
#define mma_f16(c, a, b) mock_mma(MOCK_F16, c, a, b)
#define mma_bf16(c, a, b) mock_mma(MOCK_BF16, c, a, b)
#define mma_tf32(c, a, b) mock_mma(MOCK_TF32, c, a, b)

// ---- copies: what is copied is there when the item has waited for it, and until then it is not

struct mock_copy {
  char *to;
  int bytes;
  char data[16];
};
static struct {
  int n;
  mock_copy copy[MOCK_MAX_COPIES];
} mock_underway[MOCK_MAX_ITEMS];

static void mock_send(int bytes, char *to, const char *from, bool is) {
  auto &all = mock_underway[threadIdx.x];
  if (all.n == MOCK_MAX_COPIES) mock_fail("an item has too many copies on their way");
  if ((unsigned long)to % bytes || (unsigned long)from % bytes) mock_fail("a copy is not aligned");
  mock_copy &one = all.copy[all.n++];
  one.to = to;
  one.bytes = bytes;
  for (int k = 0; k < bytes; k++) one.data[k] = is ? from[k] : 0;
  for (int k = 0; k < bytes; k++) to[k] = (char)-1;
}

static void mock_arrive(void) {
  auto &all = mock_underway[threadIdx.x];
  for (int c = 0; c < all.n; c++)
    for (int k = 0; k < all.copy[c].bytes; k++) all.copy[c].to[k] = all.copy[c].data[k];
  all.n = 0;
}
#define COPY(bytes, to, from, is) mock_send(bytes, to, from, is)
#define ARRIVE() mock_arrive()

// ---- blocks

static void mock_begin(void) {
  mock_call();
  mock_item[threadIdx.x].place = MOCK_DONE;
}

static void mock_start(int item) {
  auto &one = mock_item[item];
  one.place = MOCK_GOES_ON;
  getcontext(&one.context);
  one.context.uc_stack.ss_sp = mock_stack[item];
  one.context.uc_stack.ss_size = MOCK_STACK_BYTES;
  one.context.uc_link = &mock_scheduler;
  makecontext(&one.context, mock_begin, 0);
}

// Multiplies in the warps whose items have all come to it; whether there are any.
static bool mock_multiply_all(int n_items) {
  bool is_any = false;
  for (int first = 0; first < n_items; first += 32) {
    int n = 0;
    for (int item = first; item < first + 32 && item < n_items; item++)
      n += mock_item[item].place == MOCK_AT_MMA;
    if (n == 0) continue;
    if (n != 32) mock_fail("not all items of a warp come to a product");
    mock_multiply(first);
    is_any = true;
  }
  return is_any;
}

// Lets all items go on that are at a barrier; false: all are done.
static bool mock_pass_barrier(int n_items) {
  int n_done = 0;
  for (int item = 0; item < n_items; item++) {
    n_done += mock_item[item].place == MOCK_DONE;
    if (mock_item[item].place == MOCK_AT_BARRIER) mock_item[item].place = MOCK_GOES_ON;
  }
  if (n_done != 0 && n_done != n_items)
    mock_fail("some items of a block end before a barrier that others wait at");
  return n_done == 0;
}

// One block. Drivers call one at a time.
static void mock_run(
    void (*call)(void), void *const *args, unsigned block, int n_items, bool waits) {
  mock_args = args, mock_call = call;
  blockIdx.x = (int)block, blockDim.x = n_items;
  for (int i = 0; i < n_items && waits; i++) mock_start(i);
  for (int turn = (int)block;; turn += 3) {
    for (int i = 0; i < n_items; i++) {
      threadIdx.x = turn % 2 ? n_items - 1 - i : (i + turn) % n_items;
      int item = threadIdx.x;
      if (!waits)
        call();
      else if (mock_item[item].place == MOCK_GOES_ON)
        swapcontext(&mock_scheduler, &mock_item[item].context);
    }
    if (!waits || (!mock_multiply_all(n_items) && !mock_pass_barrier(n_items))) return;
  }
}
