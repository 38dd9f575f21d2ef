// jit_check.c - see jit_check.h.
#include "support/jit_check.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rng.h"
#include "support/isa_check.h"

struct jit_runner {
  seer_arena *arena;
  seer_target target;
  seer_codegen *codegen;
};

static sigjmp_buf crash_place;
static volatile sig_atomic_t crash_signal;

static void on_crash(int signal_number) {
  crash_signal = signal_number;
  siglongjmp(crash_place, 1);
}

jit_runner *jit_runner_create(const seer_target *target) {
  seer_arena *arena = seer_arena_create("jit runner");
  jit_runner *runner = SEER_NEW(arena, jit_runner);
  runner->arena = arena;
  seer_status status = SEER_OK;
  if (target) {
    runner->target = *target;
  } else {
    status = seer_target_detect(arena, &runner->target);
  }
  if (!status) status = seer_codegen_create(NULL, &runner->target, &runner->codegen);
  SEER_ASSERT(!status, "%s", seer_status_message(status));
  return runner;
}

void jit_runner_destroy(jit_runner *runner) {
  seer_codegen_destroy(runner->codegen);
  seer_arena_destroy(runner->arena);
}

const seer_target *jit_runner_target(const jit_runner *runner) { return &runner->target; }
seer_codegen *jit_runner_codegen(jit_runner *runner) { return runner->codegen; }

typedef struct {
  uint8_t *map;
  size_t n_map;
  uint8_t *data;
  size_t n_data;
} guarded;

#define CANARY 0x5A

static guarded guarded_new(size_t n_bytes, size_t align, bool at_end) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE),
         n_pages = (n_bytes + page - 1) / page + (n_bytes == 0);
  guarded g = {.n_map = (n_pages + 2) * page, .n_data = n_bytes};
  g.map = mmap(NULL, g.n_map, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  SEER_ASSERT(g.map != MAP_FAILED, "mmap of %zu bytes", g.n_map);
  int failed = mprotect(g.map + page, n_pages * page, PROT_READ | PROT_WRITE);
  SEER_ASSERT(!failed, "mprotect");
  memset(g.map + page, CANARY, n_pages * page);
  g.data = g.map + page;
  if (at_end) g.data += (n_pages * page - n_bytes) / align * align;
  return g;
}

// Bytes around the data must be as they were.
static bool is_intact(const guarded *g) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const uint8_t *begin = g->map + page, *end = g->map + g->n_map - page;
  for (const uint8_t *p = begin; p < end; p++) {
    if ((p < g->data || p >= g->data + g->n_data) && *p != CANARY) return false;
  }
  return true;
}

static const char *call(const seer_kernel *kernel, const seer_kernel_phase *phase,
    void *const *buffers, seer_rng *rng, seer_arena *arena) {
  struct sigaction action = {.sa_handler = on_crash}, old[3];
  static const int signals[3] = {SIGSEGV, SIGBUS, SIGFPE};
  for (int k = 0; k < 3; k++) sigaction(signals[k], &action, &old[k]);
  const char *wrong = NULL;
  if (sigsetjmp(crash_place, 1) == 0) {
    for (uint32_t p = 0; p < kernel->n_phase; p++) {
      uint32_t *order = SEER_NEW_ARRAY(arena, uint32_t, kernel->n_parts[p]);
      for (uint32_t k = 0; k < kernel->n_parts[p]; k++) order[k] = k;
      seer_rng_shuffle_u32(rng, order, kernel->n_parts[p]);
      for (uint32_t k = 0; k < kernel->n_parts[p]; k++) phase[p](buffers, order[k]);
    }
  } else {
    wrong = seer_arena_printf(arena, "the kernel crashed: %s", strsignal(crash_signal));
  }
  for (int k = 0; k < 3; k++) sigaction(signals[k], &old[k], NULL);
  return wrong;
}

// Compiles, and looks at what came out. NULL, or what is wrong.
static const char *build(
    jit_runner *runner, const seer_loop *loop, seer_kernel *out, seer_arena *arena) {
  seer_status status = seer_codegen_build(runner->codegen, loop, "kernel", arena, out);
  if (!status) return isa_check(out, &runner->target, arena);
  const char *message = seer_arena_printf(arena, "build: %s", seer_status_message(status));
  seer_status_free(status);
  return message;
}

const char *jit_compile(jit_runner *runner, const seer_loop *loop, seer_arena *arena) {
  seer_kernel *kernel = SEER_NEW(arena, seer_kernel);
  return build(runner, loop, kernel, arena);
}

const char *jit_run(jit_runner *runner, const seer_loop *loop, void *const *data, uint64_t seed,
    seer_arena *arena) {
  seer_kernel *kernel = SEER_NEW(arena, seer_kernel);
  seer_kernel_phase phase[SEER_DAG_MAX_STAGES];
  seer_loaded loaded;
  const char *unfit = build(runner, loop, kernel, arena);
  if (unfit) return unfit;
  seer_status status = seer_kernel_load(kernel, phase, &loaded);
  if (status) {
    const char *message = seer_arena_printf(arena, "load: %s", seer_status_message(status));
    seer_status_free(status);
    return message;
  }
  guarded *g = SEER_NEW_ARRAY(arena, guarded, kernel->n_arg);
  void **buffers = SEER_NEW_ARRAY(arena, void *, kernel->n_arg);
  uint32_t n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *decl = &loop->buf[b];
    if (decl->storage == SEER_STORE_LOCAL) continue;
    bool is_packed = decl->storage == SEER_STORE_PACKED;
    g[n] = guarded_new(
        kernel->arg[n].n_bytes, is_packed ? 64 : seer_dtype_bytes(decl->dtype), seed & 1);
    if (decl->storage == SEER_STORE_INPUT || is_packed) {
      memcpy(g[n].data, data[b], g[n].n_data);
    } else {
      memset(g[n].data, 0xFF, g[n].n_data);
    }
    buffers[n] = g[n].data;
    n++;
  }
  g[n] = guarded_new(kernel->scratch_bytes, 64, seed & 1);
  memset(g[n].data, 0xFF, g[n].n_data);
  buffers[n] = g[n].data;
  seer_rng rng;
  seer_rng_init(&rng, seed);
  const char *wrong = call(kernel, phase, buffers, &rng, arena);
  n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *decl = &loop->buf[b];
    if (decl->storage == SEER_STORE_LOCAL) continue;
    if (!wrong && !is_intact(&g[n]))
      wrong = seer_arena_printf(arena, "wrote outside of $%s", decl->name);
    if (decl->storage == SEER_STORE_INPUT || decl->storage == SEER_STORE_PACKED) {
      if (!wrong && memcmp(g[n].data, data[b], g[n].n_data) != 0) {
        wrong = seer_arena_printf(arena, "wrote to $%s", decl->name);
      }
    } else {
      memcpy(data[b], g[n].data, g[n].n_data);
    }
    n++;
  }
  if (!wrong && !is_intact(&g[n])) wrong = "wrote outside of the scratch";
  for (uint32_t k = 0; k < kernel->n_arg; k++) munmap(g[k].map, g[k].n_map);
  seer_object_unload(&loaded);
  return wrong;
}
