// block.h - stands in for the prelude of a printed CUDA kernel, so that the same text compiles as
// C++ and runs on a CPU.
//
// The items of a block are contexts of one thread. Between two barriers they run one after another,
// in an order drawn anew each time; a block's shared memory begins as NaNs, and what is copied
// asynchronously arrives when it is waited for, not before. So a missing barrier or wait, a fetch
// that is too short and a wrong index give wrong numbers, or none. What this does not see: items of
// one warp that run together, banks, alignment.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <vector>

struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

struct copy {
  char *to;
  const char *from;
  int bytes, there;
};

struct item {
  ucontext_t context;
  std::vector<char> stack;
  std::vector<std::vector<copy>> groups;  // of copies that were committed, then the open one
  bool done;
};

static std::vector<item> items;
static std::vector<float> handed;
static char *block_pool;
static int item_at, group_at;
static ucontext_t scheduler;

#define KERNEL(n) extern "C" void
#define ITEM item_at
#define GROUP group_at
#define SHARED char *pool = block_pool;
#define BARRIER() swapcontext(&items[item_at].context, &scheduler)
#define COPY_ASYNC(n, target, source, present) \
  items[item_at].groups.back().push_back({(char *)(target), (const char *)(source), n, present})
#define LET_OTHERS_BEGIN()
#define AFTER_OTHERS()
#define COPY_COMMIT() items[item_at].groups.emplace_back()
#define COPY_WAIT(n) wait_copies(n)

static inline void wait_copies(size_t left) {
  auto &groups = items[item_at].groups;
  for (; groups.size() > left + 1; groups.erase(groups.begin()))
    for (const copy &c : groups[0]) {
      if (c.there)
        memcpy(c.to, c.from, (size_t)c.bytes);
      else
        memset(c.to, 0, (size_t)c.bytes);
    }
}

static inline float from_item(float value, int mask) {
  handed[(size_t)item_at] = value;
  BARRIER();
  float other = handed[(size_t)(item_at ^ mask)];
  BARRIER();
  return other;
}
#define FROM_ITEM(value, mask) from_item(value, mask)

typedef void kernel(const float *, const float *, float *);
static kernel *running;
static const float *run_a, *run_b;
static float *run_c;

static void run_item() {
  running(run_a, run_b, run_c);
  items[item_at].done = true;
}

// Runs the blocks one after another. Returns false where some items of a block ended before a
// barrier that others wait at.
extern "C" bool run_grid(kernel *function, int grid, int n_items, int shared, const float *a,
    const float *b, float *c, unsigned seed) {
  running = function, run_a = a, run_b = b, run_c = c;
  items.resize((size_t)n_items);
  handed.resize((size_t)n_items);
  std::vector<int> order((size_t)n_items);
  std::vector<float> pool((size_t)shared / 4 + 4);
  block_pool = (char *)(((uintptr_t)pool.data() + 15) & ~(uintptr_t)15);
  for (group_at = 0; group_at < grid; group_at++) {
    for (float &word : pool) word = NAN;
    for (int i = 0; i < n_items; i++) {
      item &one = items[(size_t)i];
      order[(size_t)i] = i;
      one.stack.resize(64 << 10);
      one.groups.assign(1, {});
      one.done = false;
      getcontext(&one.context);
      one.context.uc_stack.ss_sp = one.stack.data();
      one.context.uc_stack.ss_size = one.stack.size();
      one.context.uc_link = &scheduler;
      makecontext(&one.context, run_item, 0);
    }
    for (int n_done = 0; n_done < n_items;) {
      for (size_t i = order.size() - 1; i > 0; i--) {
        seed = seed * 1664525u + 1013904223u;
        int other = order[(seed >> 8) % (i + 1)];
        order[(seed >> 8) % (i + 1)] = order[i], order[i] = other;
      }
      n_done = 0;
      for (int i : order) {
        item_at = i;
        swapcontext(&scheduler, &items[(size_t)i].context);
        n_done += items[(size_t)i].done;
      }
      if (n_done != 0 && n_done != n_items) return false;
    }
  }
  return true;
}
