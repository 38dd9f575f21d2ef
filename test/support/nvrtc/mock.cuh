// mock.cuh - stands in front of CUDA C that mock.c compiles as C++.
//
// The items of a block are contexts of one thread: between two barriers they run one after another,
// in another order in each block and after each barrier. So a missing barrier gives wrong numbers.
// What this does not see: items of one warp that run together, banks, alignment.
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

static struct {
  ucontext_t context;
  bool is_done;
} mock_item[MOCK_MAX_ITEMS];
static char mock_stack[MOCK_MAX_ITEMS][MOCK_STACK_BYTES];
static ucontext_t mock_scheduler;
static void *const *mock_args;
static void (*mock_call)(void);

static void mock_barrier(void) {
  swapcontext(&mock_item[threadIdx.x].context, &mock_scheduler);
}

static void mock_begin(void) {
  mock_call();
  mock_item[threadIdx.x].is_done = true;
}

static void mock_start(int item) {
  auto &one = mock_item[item];
  one.is_done = false;
  getcontext(&one.context);
  one.context.uc_stack.ss_sp = mock_stack[item];
  one.context.uc_stack.ss_size = MOCK_STACK_BYTES;
  one.context.uc_link = &mock_scheduler;
  makecontext(&one.context, mock_begin, 0);
}

// One block. Drivers call one at a time.
static void mock_run(
    void (*call)(void), void *const *args, unsigned block, int n_items, bool has_barriers) {
  mock_args = args, mock_call = call;
  blockIdx.x = (int)block, blockDim.x = n_items;
  for (int i = 0; i < n_items && has_barriers; i++) mock_start(i);
  for (int n_done = 0, turn = (int)block; n_done < n_items; turn += 3) {
    n_done = 0;
    for (int i = 0; i < n_items; i++) {
      threadIdx.x = turn % 2 ? n_items - 1 - i : (i + turn) % n_items;
      int item = threadIdx.x;
      if (has_barriers) {
        swapcontext(&mock_scheduler, &mock_item[item].context);
      } else {
        call();
      }
      n_done += !has_barriers || mock_item[item].is_done;
    }
    if (n_done != 0 && n_done != n_items) {
      fprintf(stderr, "mock libcuda: some items of a block end before a barrier that others wait at\n");
      __builtin_abort();
    }
  }
}
