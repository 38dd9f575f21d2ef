// lines.c - memory that the threads of a network take from each other: replays the steps of a
// compiled library on one thread as if on several, and finds which pages of its activations each of
// them touches.
//   build/bench/lines FOLDER [--threads N] [--steps] [--json]
// FOLDER holds model.so and weights.bin; N from 1 to 64 (2), whatever this machine has. A line that
// another core has read takes 27 ns to write where the two share no cache, and one's own 0.7 (two
// threads of Zen 4, 2026-11): what networks take beyond their kernels may be that.
//   written    bytes that the steps write
//   contested  of these, what another thread has read since its writer last wrote it, and does not
//              write in the same phase
//   foreign    bytes that are read by another thread than the one that last wrote them
// --steps: the same by step, with the steps whose reading made its bytes contested, largest first.
//
// Each thread has its block of neighbouring parts of each phase, as in pool.c; one after another
// they run with all pages protected, and the faults tell: the first of a page is a touch, the
// second one a write (so no processor's error code is needed). Three runs, as what stands where
// depends on the run before; the last one counts.
//   [activations][scratch that threads share]   seen
//   weights, inputs, outputs, scratch of each thread   not seen: read only, or nobody else's
// A page is the unit: where two threads' lines meet in one, both are taken to touch all of it.
// Threads that take parts of others' blocks, as they do when they are done early, are not replayed.
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "library.h"

enum { MAX_THREADS = 64, N_RUNS = 3, MAX_READERS = 3 };

// ---- which pages a thread touches

// A signal's handler is given nothing: this is what it works on.
static struct {
  uint8_t *base;
  size_t n_page, page_bytes;
  uint64_t thread;  // a bit: who is replayed now
  uint64_t *touched, *written;  // by page: bits of threads
} watch;

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  size_t page = ((uintptr_t)info->si_addr - (uintptr_t)watch.base) / watch.page_bytes;
  if (page >= watch.n_page || watch.written[page] & watch.thread) {
    signal(number, SIG_DFL);  // none of ours: it comes again, and ends the program
    return;
  }
  bool is_write = watch.touched[page] & watch.thread;
  (is_write ? watch.written : watch.touched)[page] |= watch.thread;
  int allow = is_write ? PROT_READ | PROT_WRITE : PROT_READ;
  if (mprotect(watch.base + page * watch.page_bytes, watch.page_bytes, allow) == 0) return;
  static const char why[] = "lines: more changes of protection than vm.max_map_count allows\n";
  if (write(STDERR_FILENO, why, sizeof why - 1) < 0) _exit(2);
  _exit(1);
}

static void protect(int allow) {
  if (mprotect(watch.base, watch.n_page * watch.page_bytes, allow) != 0)
    bench_fail("protection of memory", strerror(errno));
}

// The session's activations and shared scratch, which lie at its start.
static void watch_session(const seer_session *session, seer_arena *arena) {
  const seer_rt_set *of = session->selected->of;
  const uint8_t *end = session->memory;
  for (uint32_t i = 0; i < of->plan->n_arg; i++) {
    const seer_plan_arg *arg = &of->arg[i];
    if (arg->kind != SEER_ARG_ARENA && arg->kind != SEER_ARG_SHARED) continue;
    const uint8_t *its_end = (const uint8_t *)session->selected->buffer[i] + arg->n_bytes;
    if (its_end > end) end = its_end;
  }
  watch.base = session->memory;
  watch.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  watch.n_page = ((size_t)(end - watch.base) + watch.page_bytes - 1) / watch.page_bytes;
  watch.touched = SEER_NEW_ARRAY(arena, uint64_t, watch.n_page);
  watch.written = SEER_NEW_ARRAY(arena, uint64_t, watch.n_page);
  madvise(watch.base, watch.n_page * watch.page_bytes, MADV_NOHUGEPAGE);  // no need to split them
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGSEGV, &action, NULL) != 0) bench_fail("SIGSEGV", strerror(errno));
}

// ---- replaying

// What a thread last did with a page, in phases from the start on; 0: nothing yet.
typedef struct {
  uint32_t read_time, write_time;
  uint32_t read_step;
} touch;

typedef struct {
  uint64_t n_written, n_contested, n_foreign;  // pages
  uint32_t reader[MAX_READERS];  // steps; those with a page at least
  uint64_t n_read[MAX_READERS];  // pages
} step_lines;

typedef struct {
  const seer_bound_plan *at;
  uint32_t n_thread;
  uint8_t *scratch;  // NULL: none
  uint64_t n_scratch_bytes;
  touch *touch;  // [page][thread]
  int8_t *last_writer;  // by page; -1: none yet
  uint32_t time;
  uint64_t *blame;  // by step: pages that the present step found contested because of it
  step_lines *step;
} replay;

static replay *open_replay(const seer_session *session, uint32_t n_thread, seer_arena *arena) {
  replay *r = SEER_NEW(arena, replay);
  r->at = session->selected;
  r->n_thread = n_thread;
  r->n_scratch_bytes = n_thread * r->at->scratch_stride;
  if (r->n_scratch_bytes > 0) {
    r->scratch = seer_rt_pages_alloc(r->n_scratch_bytes);
    if (!r->scratch) bench_fail("memory", "there is none");
  }
  watch_session(session, arena);
  uint32_t n_step = r->at->of->plan->n_step;
  r->touch = SEER_NEW_ARRAY(arena, touch, watch.n_page * n_thread);
  r->last_writer = SEER_NEW_ARRAY(arena, int8_t, watch.n_page);
  memset(r->last_writer, -1, watch.n_page * sizeof *r->last_writer);
  r->blame = SEER_NEW_ARRAY(arena, uint64_t, n_step);
  r->step = SEER_NEW_ARRAY(arena, step_lines, n_step);
  return r;
}

// Who read the page last, of those that did since thread `t` wrote it and do not write it now;
// NULL: nobody.
static const touch *reader_since(const replay *r, const touch *by, uint32_t t, uint64_t written) {
  const touch *latest = NULL;
  for (uint32_t u = 0; u < r->n_thread; u++)
    if (!(written >> u & 1) && by[u].read_time > by[t].write_time &&
        (!latest || by[u].read_time > latest->read_time))
      latest = &by[u];
  return latest;
}

// What the threads of a phase of step `s` did to one page. Who reads and writes it counts as a
// writer.
static void settle_page(replay *r, size_t page, uint32_t s) {
  touch *by = &r->touch[page * r->n_thread];
  step_lines *lines = &r->step[s];
  uint64_t written = watch.written[page], read = watch.touched[page] & ~written;
  int last_writer = r->last_writer[page];
  watch.written[page] = watch.touched[page] = 0;
  for (uint32_t t = 0; t < r->n_thread; t++) {
    if (!(read >> t & 1)) continue;
    lines->n_foreign += last_writer >= 0 && last_writer != (int)t;
    by[t].read_time = r->time;
    by[t].read_step = s;
  }
  for (uint32_t t = 0; t < r->n_thread; t++) {
    if (!(written >> t & 1)) continue;
    const touch *reader = reader_since(r, by, t, written);
    lines->n_written++;
    lines->n_contested += reader != NULL;
    if (reader) r->blame[reader->read_step]++;
    by[t].write_time = r->time;
    r->last_writer[page] = (int8_t)t;
  }
}

// After each phase.
static void settle(replay *r, uint32_t s) {
  protect(PROT_READ | PROT_WRITE);
  r->time++;
  for (size_t p = 0; p < watch.n_page; p++)
    if (watch.touched[p] != 0) settle_page(r, p, s);
}

static void run_block(
    const replay *r, const seer_plan_step *step, uint32_t phase, uint32_t thread) {
  void *buffers[SEER_PLAN_MAX_ARGS + 1];
  memcpy(buffers, r->at->buffer + step->first_arg, step->n_arg * sizeof *buffers);
  buffers[step->n_arg] = r->scratch ? r->scratch + thread * r->at->scratch_stride : NULL;
  uint64_t n = r->at->n_parts[phase];
  uint64_t first = n * thread / r->n_thread, end = n * (thread + 1) / r->n_thread;
  if (n == 1) first = 0, end = thread == 0;  // no hand-over for one part: the caller's
  watch.thread = UINT64_C(1) << thread;
  protect(PROT_NONE);
  for (uint64_t part = first; part < end; part++)
    r->at->of->kernels[phase](buffers, (uint32_t)part);
}

static void run_copy(const replay *r, const seer_plan_step *step) {
  void *const *buffer = r->at->buffer + step->first_arg;
  watch.thread = 1;
  protect(PROT_NONE);
  memmove(buffer[1], buffer[0], step->n_bytes);
}

// The steps with the most pages, out of `blame`, which is empty then.
static void name_readers(replay *r, step_lines *lines) {
  for (uint32_t k = 0; k < MAX_READERS; k++) {
    uint32_t most = 0;
    for (uint32_t s = 1; s < r->at->of->plan->n_step; s++)
      if (r->blame[s] > r->blame[most]) most = s;
    lines->reader[k] = most;
    lines->n_read[k] = r->blame[most];
    r->blame[most] = 0;
  }
  memset(r->blame, 0, r->at->of->plan->n_step * sizeof *r->blame);
}

static void run_step(replay *r, uint32_t s) {
  const seer_plan_step *step = &r->at->of->step[s];
  r->step[s] = (step_lines){0};
  if (step->kind == SEER_PLAN_COPY_BYTES) {
    run_copy(r, step);
    settle(r, s);
  }
  for (uint32_t k = 0; step->kind == SEER_PLAN_KERNEL && k < step->n_phase; k++) {
    for (uint32_t t = 0; t < r->n_thread; t++) run_block(r, step, step->first_phase + k, t);
    settle(r, s);
  }
  name_readers(r, &r->step[s]);
}

// ---- telling

static double kib(uint64_t n_page) { return (double)(n_page * watch.page_bytes) / 1024; }

static step_lines sum_of(const replay *r) {
  step_lines sum = {0};
  for (uint32_t s = 0; s < r->at->of->plan->n_step; s++) {
    sum.n_written += r->step[s].n_written;
    sum.n_contested += r->step[s].n_contested;
    sum.n_foreign += r->step[s].n_foreign;
  }
  return sum;
}

// Of its first phase.
static uint32_t n_parts(const replay *r, uint32_t s) {
  const seer_plan_step *step = &r->at->of->step[s];
  return step->kind == SEER_PLAN_KERNEL ? r->at->n_parts[step->first_phase] : 1;
}

static void tell_step(const replay *r, uint32_t s) {
  const seer_rt_set *of = r->at->of;
  const step_lines *lines = &r->step[s];
  printf("%-40.40s %6u %10.0f %10.0f %10.0f ", bench_step_name(of, s), n_parts(r, s),
      kib(lines->n_written), kib(lines->n_contested), kib(lines->n_foreign));
  for (uint32_t k = 0; k < MAX_READERS && lines->n_read[k] > 0; k++)
    printf(" %s %.0f", bench_step_name(of, lines->reader[k]), kib(lines->n_read[k]));
  putchar('\n');
}

static void tell(const replay *r, bool is_by_step) {
  if (is_by_step) {
    printf("%-40s %6s %10s %10s %10s  %s\n", "step [KiB]", "parts", "written", "contested",
        "foreign", "because read by");
    for (uint32_t s = 0; s < r->at->of->plan->n_step; s++) tell_step(r, s);
  }
  step_lines sum = sum_of(r);
  printf("  written     %10.0f KiB\n", kib(sum.n_written));
  printf("  contested   %10.0f KiB %6.1f %%\n", kib(sum.n_contested),
      sum.n_written > 0 ? 100.0 * (double)sum.n_contested / (double)sum.n_written : 0.0);
  printf("  foreign     %10.0f KiB\n", kib(sum.n_foreign));
}

static json_t *json_bytes(uint64_t n_page) {
  return json_integer((json_int_t)(n_page * watch.page_bytes));
}

static json_t *json_lines(const step_lines *lines) {
  return json_pack("{s:o, s:o, s:o}", "written_bytes", json_bytes(lines->n_written),
      "contested_bytes", json_bytes(lines->n_contested), "foreign_bytes",
      json_bytes(lines->n_foreign));
}

static json_t *json_step(const replay *r, uint32_t s) {
  const step_lines *lines = &r->step[s];
  json_t *to = json_lines(lines), *readers = json_array();
  for (uint32_t k = 0; k < MAX_READERS && lines->n_read[k] > 0; k++)
    json_array_append_new(readers,
        json_pack("{s:s, s:o}", "name", bench_step_name(r->at->of, lines->reader[k]), "bytes",
            json_bytes(lines->n_read[k])));
  json_object_set_new(to, "name", json_string(bench_step_name(r->at->of, s)));
  json_object_set_new(to, "parts", json_integer(n_parts(r, s)));
  json_object_set_new(to, "readers", readers);
  return to;
}

static void tell_json(const replay *r) {
  step_lines sum = sum_of(r);
  json_t *all = json_lines(&sum), *steps = json_array();
  for (uint32_t s = 0; s < r->at->of->plan->n_step; s++)
    json_array_append_new(steps, json_step(r, s));
  json_object_set_new(all, "threads", json_integer(r->n_thread));
  json_object_set_new(all, "page_bytes", json_bytes(1));
  json_object_set_new(all, "steps", steps);
  if (json_dumpf(all, stdout, JSON_COMPACT) != 0) bench_fail("JSON", "cannot be written");
  putchar('\n');
  json_decref(all);
}

int main(int argc, char **argv) {
  const char *folder = NULL;
  int n_thread = 2;
  bool is_by_step = false, as_json = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      n_thread = atoi(argv[++i]);
    else if (strcmp(argv[i], "--steps") == 0)
      is_by_step = true;
    else if (strcmp(argv[i], "--json") == 0)
      as_json = true;
    else
      folder = argv[i];
  }
  if (!folder || folder[0] == '-' || n_thread < 1 || n_thread > MAX_THREADS) {
    fprintf(stderr, "usage: lines FOLDER [--threads 1..%d] [--steps] [--json]\n", MAX_THREADS);
    return 2;
  }
  seer_arena *arena = seer_arena_create("lines");
  seer_model *model = bench_library_open(bench_library_load(folder, arena));
  seer_session *session = bench_library_session(model, NULL, arena);
  replay *r = open_replay(session, (uint32_t)n_thread, arena);
  for (int run = 0; run < N_RUNS; run++)
    for (uint32_t s = 0; s < r->at->of->plan->n_step; s++) run_step(r, s);
  if (as_json)
    tell_json(r);
  else
    tell(r, is_by_step);
  seer_rt_pages_free(r->scratch, r->n_scratch_bytes);
  seer_rt_session_destroy(session);
  seer_rt_close(model);
  seer_arena_destroy(arena);
  return 0;
}
