// replay.c - the code of many schedules by two builds of familyseer: which objects are equal, which
// of those that are not is faster, and what takes longer to build. tool/replay.sh (make replay)
// builds the two and asks each of them.
//   replay corpus FILE [LINES...]       writes a corpus: built-in networks, random DAGs, and the
//                                       records of LINES (records export)
//   replay build CORPUS FOLDER [--every K] [--threads N]
//                                       compiles all (or every K-th) into FOLDER; what was there
//                                       keeps the shorter of two times to build
//   replay compare BEFORE AFTER [--limit RATIO]
//                                       of two such folders; status 1 when an outcome is another,
//                                       an answer is wrong, or a kernel is slower than by RATIO
//   replay times BEFORE AFTER           of building
// A corpus has a JSON object a line, with the fields of `records export` that say what is compiled.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/map.h"
#include "base/os.h"
#include "base/os/parallel.h"
#include "base/rng.h"
#include "base/stats.h"
#include "code/kernel.h"
#include "support/random_dag.h"
#include "front/front.h"
#include "models/models.h"
#include "space/lower.h"
#include "choose/choose.h"

#define LEVELS 5
#define SAMPLES 2  // of a network's task, beside its untuned choice
#define RANDOM_DAGS 260
#define RANDOM_SKETCHES 4  // of one of them
#define DRAWS 30  // of a sampler that refuses
#define PAIRS 15  // turns of two kernels, in one round
// Rounds while the median is above the limit: a kernel is called slower only if nearly all of what
// its median can be is above (a shared machine is off by a tenth for a second now and then).
#define ROUNDS 6
#define TURN_S 2e-3  // at least, of one of them

static void die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "replay: %s\n", seer_status_message(status));
  seer_status_free(status);
  exit(2);
}

static double cpu_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- the corpus
typedef struct {
  FILE *file;
  seer_arena *arena;
  const char *level[LEVELS];  // texts of targets
  seer_target target[LEVELS];
  seer_rng rng;
  uint64_t n;
} corpus;

static void find_levels(corpus *c) {
  static const char *const cpu[LEVELS - 1] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  for (uint32_t k = 0; k + 1 < LEVELS; k++)
    c->level[k] =
        seer_arena_printf(c->arena, "x86_64-linux-gnu -cpu=%s -threads=2", cpu[k]);
  // The last one has all that the code generator makes use of.
  char *text;
  size_t n;
  die(seer_os_read_file(SEER_SOURCE_DIR "/test/targets/server.target", c->arena, 1 << 16, &text, &n));
  text[strcspn(text, "\n")] = '\0';
  c->level[LEVELS - 1] = text;
  for (uint32_t k = 0; k < LEVELS; k++) die(seer_target_parse(c->level[k], c->arena, &c->target[k]));
}

static void put_line(
    corpus *c, const char *name, const char *target, const char *dag, const char *schedule) {
  json_t *line = json_pack("{s:{s:s}, s:{s:s, s:s}, s:s}", "target", "text", target, "workload",
      "name", name, "dag", dag, "schedule", schedule);
  if (!line || json_dumpf(line, c->file, JSON_COMPACT) != 0 || fputc('\n', c->file) == EOF)
    die(SEER_FAIL(IO, "the corpus cannot be written"));
  json_decref(line);
  c->n++;
}

static seer_sketch_list *sketches_for(
    corpus *c, const seer_dag *dag, uint32_t level, seer_arena *arena) {
  seer_sketch_list *list;
  die(seer_sketch_generate(dag, &c->target[level], SEER_SPACE_FULL, arena, &list));
  return list;
}

static void put_schedule(corpus *c, const char *name, uint32_t level, const seer_sketch_list *list,
    const seer_dag *dag, const seer_schedule *schedule, seer_arena *arena) {
  put_line(c, name, c->level[level], seer_dag_print(dag, arena),
      seer_schedule_print(list, schedule, arena));
}

static void put_sample(corpus *c, const char *name, const seer_dag *dag, uint32_t level,
    uint32_t sketch, seer_arena *arena) {
  seer_sketch_list *list = sketches_for(c, dag, level, arena);
  seer_schedule schedule;
  for (int i = 0; i < DRAWS; i++) {
    if (seer_schedule_sample(list, sketch % list->n, &c->rng, &schedule, NULL) != SEER_REJECT_NONE)
      continue;
    put_schedule(c, name, level, list, dag, &schedule, arena);
    return;
  }
}

static void put_untuned(
    corpus *c, const char *name, const seer_dag *dag, uint32_t level, seer_arena *arena) {
  seer_sketch_list *list = sketches_for(c, dag, level, arena);
  seer_schedule schedule;
  double seconds;
  die(seer_choose_untuned(&c->target[level], list, 0, 1, 0, &schedule, &seconds));
  put_schedule(c, name, level, list, dag, &schedule, arena);
}

// Each task once, whichever networks have it.
static void put_networks(corpus *c) {
  seer_context *context;
  die(seer_context_create(&context));
  die(seer_context_set(context, "target", c->level[2]));
  die(seer_context_find_target(context));
  seer_map *seen = seer_map_create(c->arena);
  uint32_t nth = 0;
  for (size_t m = 0; m < seer_model_table_count; m++) {
    seer_arena *arena = seer_arena_create("network");
    seer_graph *graph;
    seer_network *network;
    die(seer_model_outline(seer_model_table[m]->name, "", arena, &graph));
    die(seer_front_resolve(graph, "", NULL));
    die(seer_front_run_passes(context, graph));
    die(seer_network_build(context, graph, arena, &network));
    for (uint32_t t = 0; t < network->n_task; t++) {
      const seer_task *task = &network->task[t];
      uint64_t key = seer_hash_u64(task->key.structure, task->key.shape);
      if (seer_map_get(seen, key, NULL)) continue;
      seer_map_set(seen, key, 1);
      put_untuned(c, task->name, task->dag, nth % LEVELS, arena);
      for (uint32_t s = 0; s < SAMPLES; s++)
        put_sample(c, task->name, task->dag, (nth + s + 1) % LEVELS, nth + s, arena);
      nth++;
    }
    seer_graph_close(graph);
    seer_arena_destroy(arena);
  }
  seer_context_destroy(context);
}

static void put_random(corpus *c) {
  for (uint64_t seed = 0; seed < RANDOM_DAGS; seed++) {
    seer_arena *arena = seer_arena_create("random");
    seer_dag *dag = random_dag_of(seed, arena);
    const char *name = seer_arena_printf(arena, "random %d", (int)seed);
    for (uint32_t s = 0; s < RANDOM_SKETCHES; s++)
      put_sample(c, name, dag, (uint32_t)(seed + s) % LEVELS, (uint32_t)seed + s, arena);
    seer_arena_destroy(arena);
  }
}

// ---- lines
typedef struct {
  const char *name, *target, *dag, *schedule;
} triple;

typedef struct {
  seer_arena *arena;
  size_t n, cap;
  triple *at;
} triples;

// False: no object, or one that lacks a field.
static bool read_triple(triples *all, const char *line, triple *out) {
  json_t *object = json_loads(line, 0, NULL);
  const char *name, *target, *dag, *schedule;
  bool is_one = object &&
      json_unpack(object, "{s:{s:s}, s:{s:s, s:s}, s:s}", "target", "text", &target, "workload",
          "name", &name, "dag", &dag, "schedule", &schedule) == 0;
  if (is_one)
    *out = (triple){seer_arena_strdup(all->arena, name), seer_arena_strdup(all->arena, target),
        seer_arena_strdup(all->arena, dag), seer_arena_strdup(all->arena, schedule)};
  json_decref(object);
  return is_one;
}

static void read_lines(const char *path, triples *all) {
  FILE *file = fopen(path, "r");
  if (!file) die(SEER_FAIL(IO, "%s cannot be read: %s", path, strerror(errno)));
  char *line = NULL;
  size_t cap = 0;
  for (uint32_t n = 1; getline(&line, &cap, file) > 0; n++) {
    all->at = SEER_GROW(all->arena, triple, all->at, all->n, &all->cap);
    if (!read_triple(all, line, &all->at[all->n++]))
      die(SEER_FAIL(INVALID, "%s:%u: not a line of a corpus", path, n));
  }
  free(line);
  fclose(file);
}

static int corpus_main(int argc, char **argv) {
  corpus c = {.arena = seer_arena_create("corpus")};
  find_levels(&c);
  seer_rng_init(&c.rng, 1);
  c.file = fopen(argv[0], "w");
  if (!c.file) die(SEER_FAIL(IO, "%s cannot be written: %s", argv[0], strerror(errno)));
  put_networks(&c);
  uint64_t n_networks = c.n;
  put_random(&c);
  uint64_t n_random = c.n - n_networks;
  triples winners = {.arena = c.arena};
  for (int k = 1; k < argc; k++) read_lines(argv[k], &winners);
  for (size_t k = 0; k < winners.n; k++) {
    const triple *t = &winners.at[k];
    put_line(&c, t->name, t->target, t->dag, t->schedule);
  }
  if (fclose(c.file) != 0) die(SEER_FAIL(IO, "%s cannot be written", argv[0]));
  printf("%s: %d triples, %d of networks, %d of random DAGs, %zu of tunings\n", argv[0], (int)c.n,
      (int)n_networks, (int)n_random, winners.n);
  seer_arena_destroy(c.arena);
  return 0;
}

// ---- building: FOLDER/index.json has an object for each triple, FOLDER/<number>.o its object
typedef struct {
  const triples *all;
  const char *folder;
  json_t **entry;  // by triple; NULL: not asked for
  uint32_t every;
} build;

static json_t *describe(const seer_kernel *kernel) {
  json_t *parts = json_array(), *args = json_array();
  for (uint32_t p = 0; p < kernel->n_phase; p++)
    json_array_append_new(parts, json_integer(kernel->n_parts[p]));
  for (uint32_t a = 0; a < kernel->n_arg; a++)
    json_array_append_new(args,
        json_pack("{s:i, s:i, s:I}", "storage", (int)kernel->arg[a].storage, "dtype",
            (int)kernel->arg[a].dtype, "bytes", (json_int_t)kernel->arg[a].n_bytes));
  return json_pack("{s:o, s:o, s:i}", "parts", parts, "args", args, "code_bytes",
      (int)kernel->code_bytes);
}

static seer_status build_triple(
    const build *b, const triple *t, size_t nth, seer_arena *arena, json_t **out) {
  seer_target *target = SEER_NEW(arena, seer_target);
  seer_dag *dag;
  seer_sketch_list *list;
  seer_schedule schedule;
  seer_loop *loop;
  seer_kernel *kernel = SEER_NEW(arena, seer_kernel);
  seer_codegen *codegen;
  SEER_TRY(seer_target_parse(t->target, arena, target));
  SEER_TRY(seer_dag_parse(t->name, t->dag, strlen(t->dag), arena, &dag));
  SEER_TRY(seer_sketch_generate(dag, target, SEER_SPACE_FULL, arena, &list));
  SEER_TRY(seer_schedule_parse(list, t->name, t->schedule, strlen(t->schedule), &schedule));
  SEER_TRY(seer_loop_lower(list, &schedule, arena, &loop));
  SEER_TRY(seer_codegen_create(NULL, target, &codegen));
  double start = cpu_s();
  seer_status status = seer_codegen_build(codegen, loop, "kernel", arena, kernel);
  double seconds = cpu_s() - start;
  const char *path = seer_arena_printf(arena, "%s/%05u.o", b->folder, (unsigned)nth);
  if (!status) status = seer_os_write_file(path, kernel->object, kernel->n_object_bytes);
  if (!status) {
    *out = describe(kernel);
    json_object_set_new(*out, "build_s", json_real(seconds));
  }
  seer_codegen_destroy(codegen);
  return status;
}

static void build_part(void *user, uint32_t part, uint32_t thread) {
  (void)thread;
  const build *b = user;
  size_t nth = (size_t)part * b->every;
  const triple *t = &b->all->at[nth];
  seer_arena *arena = seer_arena_create("triple");
  json_t *entry = NULL;
  seer_status status = build_triple(b, t, nth, arena, &entry);
  if (status) entry = json_pack("{s:s}", "refused", seer_status_message(status));
  json_object_set_new(entry, "name", json_string(t->name));
  json_object_set_new(entry, "target", json_string(t->target));
  b->entry[nth] = entry;
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static const char *index_path(const char *folder, seer_arena *arena) {
  return seer_os_path_join(arena, folder, "index.json");
}

static int build_main(int argc, char **argv) {
  if (argc < 2) return -1;
  build b = {.folder = argv[1], .every = 1};
  uint32_t n_threads = 0;
  for (int k = 2; k + 1 < argc; k += 2) {
    if (strcmp(argv[k], "--every") == 0) b.every = (uint32_t)strtoul(argv[k + 1], NULL, 10);
    if (strcmp(argv[k], "--threads") == 0) n_threads = (uint32_t)strtoul(argv[k + 1], NULL, 10);
  }
  if (b.every == 0) return -1;
  seer_arena *arena = seer_arena_create("replay");
  triples all = {.arena = arena};
  read_lines(argv[0], &all);
  die(seer_os_make_dirs(b.folder));
  b.all = &all;
  b.entry = SEER_NEW_ARRAY(arena, json_t *, all.n + 1);
  uint32_t n = (uint32_t)((all.n + b.every - 1) / b.every);
  seer_parallel(n_threads, n, build_part, &b);
  json_t *index = json_load_file(index_path(b.folder, arena), 0, NULL), *out = json_array();
  uint32_t n_refused = 0;
  for (size_t i = 0; i < all.n; i++) {
    json_t *entry = b.entry[i] ? b.entry[i] : json_null();
    double before = json_number_value(json_object_get(json_array_get(index, i), "build_s"));
    if (before > 0 && before < json_number_value(json_object_get(entry, "build_s")))
      json_object_set_new(entry, "build_s", json_real(before));
    n_refused += json_object_get(entry, "refused") != NULL;
    json_array_append_new(out, entry);
  }
  char *text = json_dumps(out, JSON_INDENT(1));
  if (!text) die(SEER_FAIL(INTERNAL, "the index has no text"));
  die(seer_os_write_file(index_path(b.folder, arena), text, strlen(text)));
  printf("%s: %u compiled, %u refused\n", b.folder, n - n_refused, n_refused);
  free(text);
  json_decref(out);
  json_decref(index);
  seer_arena_destroy(arena);
  return 0;
}

// ---- comparing

static json_t *read_index(const char *folder, seer_arena *arena) {
  json_error_t error;
  json_t *index = json_load_file(index_path(folder, arena), 0, &error);
  if (!json_is_array(index)) die(SEER_FAIL(INVALID, "%s: no index: %s", folder, error.text));
  return index;
}

static double geometric_mean(const double *ratio, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += log(ratio[i]);
  return n ? exp(sum / (double)n) : 1;
}

// One of two kernels of a triple, loaded.
typedef struct {
  seer_loaded loaded;
  seer_kernel kernel;
  seer_kernel_phase phase[SEER_DAG_MAX_STAGES];
  void **buffers;
} runnable;

// What a kernel's entry and object say; false: not as the other one.
static void read_kernel(const char *folder, size_t nth, const json_t *entry, seer_arena *arena,
    seer_kernel *out) {
  const json_t *parts = json_object_get(entry, "parts"), *args = json_object_get(entry, "args");
  *out = (seer_kernel){.symbol = "kernel",
      .n_phase = (uint32_t)json_array_size(parts),
      .n_arg = (uint32_t)json_array_size(args)};
  for (uint32_t p = 0; p < out->n_phase; p++)
    out->n_parts[p] = (uint32_t)json_integer_value(json_array_get(parts, p));
  for (uint32_t a = 0; a < out->n_arg; a++) {
    const json_t *arg = json_array_get(args, a);
    out->arg[a] = (seer_kernel_arg){
        .storage = (seer_loop_storage)json_integer_value(json_object_get(arg, "storage")),
        .dtype = (seer_dtype)json_integer_value(json_object_get(arg, "dtype")),
        .n_bytes = (uint64_t)json_integer_value(json_object_get(arg, "bytes"))};
  }
  char *bytes;
  die(seer_os_read_file(seer_arena_printf(arena, "%s/%05u.o", folder, (unsigned)nth), arena,
      (size_t)1 << 30, &bytes, &out->n_object_bytes));
  out->object = bytes;
}

// Small numbers of every type: integers are indices as often as not, and 0 and 1 are within all.
static void fill(void *data, uint64_t n_bytes, seer_dtype dtype, uint32_t seed) {
  if (dtype != SEER_DTYPE_F32) {
    memset(data, 0, n_bytes);
    return;
  }
  float *at = data;
  for (uint64_t i = 0; i < n_bytes / sizeof(float); i++)
    at[i] = (float)((i * 37 + seed * 11) % 17) * 0.125F - 1.0F;
}

static void load(runnable *r, seer_arena *arena) {
  die(seer_kernel_load(&r->kernel, r->phase, &r->loaded));
  r->buffers = SEER_NEW_ARRAY(arena, void *, r->kernel.n_arg + 1);
  for (uint32_t a = 0; a < r->kernel.n_arg; a++) {
    size_t n = ((size_t)r->kernel.arg[a].n_bytes + 127) & ~(size_t)63;
    r->buffers[a] = aligned_alloc(64, n);
    if (!r->buffers[a]) die(SEER_FAIL(RESOURCE, "no memory for %zu bytes", n));
    fill(r->buffers[a], n, r->kernel.arg[a].dtype, a);
  }
}

static void unload(runnable *r) {
  for (uint32_t a = 0; a < r->kernel.n_arg; a++) free(r->buffers[a]);
  seer_object_unload(&r->loaded);
}

static void run(const runnable *r) {
  for (uint32_t p = 0; p < r->kernel.n_phase; p++)
    for (uint32_t part = 0; part < r->kernel.n_parts[p]; part++) r->phase[p](r->buffers, part);
}

static double time_runs(const runnable *r, uint32_t n) {
  double start = cpu_s();
  for (uint32_t i = 0; i < n; i++) run(r);
  return (cpu_s() - start) / n;
}

static bool same_answer(const runnable *a, const runnable *b) {
  for (uint32_t k = 0; k < a->kernel.n_arg; k++) {
    if (a->kernel.arg[k].storage != SEER_STORE_OUTPUT) continue;
    if (a->kernel.arg[k].dtype != SEER_DTYPE_F32) {
      if (memcmp(a->buffers[k], b->buffers[k], a->kernel.arg[k].n_bytes) != 0) return false;
      continue;
    }
    const float *x = a->buffers[k], *y = b->buffers[k];
    double most = 0, apart = 0;
    for (uint64_t i = 0; i < a->kernel.arg[k].n_bytes / sizeof(float); i++) {
      if (isnan(x[i]) && isnan(y[i])) continue;
      most = fmax(most, fabs((double)x[i]));
      double distance = fabs((double)x[i] - (double)y[i]);
      if (!(distance <= apart)) apart = distance;
    }
    if (!(apart <= 1e-4 * fmax(most, 1))) return false;
  }
  return true;
}

// after / before, by turns.
typedef struct {
  double median;  // 0: the answers are not the same
  double low;  // the median is above it, but for one time in forty
} pair_ratio;

// The k-th smallest of n values is below their median's true place but for one time in forty.
static size_t low_rank(size_t n) {
  double k = ((double)n - 1.96 * sqrt((double)n)) / 2;
  return k > 1 ? (size_t)k - 1 : 0;
}

static void take_turns(const runnable *before, const runnable *after, uint32_t n, double *ratio) {
  for (uint32_t i = 0; i < PAIRS; i++) {
    bool is_first = i % 2 == 0;
    double a = time_runs(is_first ? before : after, n), b = time_runs(is_first ? after : before, n);
    ratio[i] = is_first ? b / a : a / b;
  }
}

static pair_ratio time_pair(const runnable *before, const runnable *after, double limit) {
  run(before);
  run(after);
  pair_ratio r = {0};
  if (!same_answer(before, after)) return r;
  double once = fmax(time_runs(before, 1), 1e-8), ratio[ROUNDS * PAIRS], sorted[ROUNDS * PAIRS];
  uint32_t n = once < TURN_S ? (uint32_t)(TURN_S / once) : 1;
  size_t n_pairs = 0;
  for (uint32_t round = 0; round < ROUNDS && (round == 0 || r.median > limit); round++) {
    take_turns(before, after, n, ratio + n_pairs);
    n_pairs += PAIRS;
    memcpy(sorted, ratio, n_pairs * sizeof(*ratio));
    seer_sort_f64(sorted, n_pairs);
    r = (pair_ratio){seer_sorted_median(sorted, n_pairs), sorted[low_rank(n_pairs)]};
  }
  return r;
}

typedef enum { EQUAL, REFUSED_BY_BOTH, OTHER_OUTCOME, OTHER_SHAPE, OTHER_CODE } difference;

static difference tell_apart(const json_t *before, const json_t *after, const seer_kernel *a,
    const seer_kernel *b) {
  bool was_refused = json_object_get(before, "refused"), is_refused = json_object_get(after, "refused");
  if (was_refused != is_refused) return OTHER_OUTCOME;
  if (is_refused) return REFUSED_BY_BOTH;
  if (a->n_object_bytes == b->n_object_bytes &&
      memcmp(a->object, b->object, a->n_object_bytes) == 0)
    return EQUAL;
  bool same_shape = json_equal(json_object_get(before, "parts"), json_object_get(after, "parts")) &&
      json_equal(json_object_get(before, "args"), json_object_get(after, "args"));
  return same_shape ? OTHER_CODE : OTHER_SHAPE;
}

typedef struct {
  uint32_t n[OTHER_CODE + 1], n_wrong, n_slow;
  size_t n_ratio;
  double *ratio, worst, limit;
} comparison;

static void compare_triple(comparison *c, size_t nth, const char *const folder[2],
    const json_t *const entry[2]) {
  seer_arena *arena = seer_arena_create("pair");
  runnable *r = SEER_NEW_ARRAY(arena, runnable, 2);
  for (int k = 0; k < 2; k++)
    if (!json_object_get(entry[k], "refused"))
      read_kernel(folder[k], nth, entry[k], arena, &r[k].kernel);
  difference d = tell_apart(entry[0], entry[1], &r[0].kernel, &r[1].kernel);
  c->n[d]++;
  const char *name = json_string_value(json_object_get(entry[0], "name")),
             *target_text = json_string_value(json_object_get(entry[0], "target"));
  if (d == OTHER_OUTCOME || d == OTHER_SHAPE)
    printf("%05u %s: %s\n", (unsigned)nth, name,
        d == OTHER_SHAPE ? "other phases, parts or arguments" : "refused by one of the builds");
  seer_target target;
  die(seer_target_parse(target_text, arena, &target));
  seer_status missing = seer_target_check_here(&target);
  if (d == OTHER_CODE && !missing) {
    for (int k = 0; k < 2; k++) load(&r[k], arena);
    pair_ratio ratio = time_pair(&r[0], &r[1], c->limit);
    bool is_slower = ratio.low > c->limit;
    if (ratio.median > 0) c->ratio[c->n_ratio++] = ratio.median;
    if (ratio.median > c->worst) c->worst = ratio.median;
    c->n_wrong += ratio.median <= 0;
    c->n_slow += is_slower;
    printf("%05u %s: ", (unsigned)nth, name);
    if (ratio.median > 0)
      printf("%.3f of the time before, %.3f at least%s\n", ratio.median, ratio.low,
          is_slower ? ", SLOWER" : "");
    else
      printf("ANOTHER ANSWER\n");
    for (int k = 0; k < 2; k++) unload(&r[k]);
  }
  seer_status_free(missing);
  seer_arena_destroy(arena);
}

static int compare_main(int argc, char **argv) {
  if (argc < 2) return -1;
  seer_arena *arena = seer_arena_create("compare");
  const char *const folder[2] = {argv[0], argv[1]};
  json_t *index[2] = {read_index(folder[0], arena), read_index(folder[1], arena)};
  size_t n = json_array_size(index[0]);
  if (n != json_array_size(index[1])) die(SEER_FAIL(INVALID, "of two corpora"));
  comparison c = {.ratio = SEER_NEW_ARRAY(arena, double, n + 1), .limit = 1.03};
  if (argc > 3 && strcmp(argv[2], "--limit") == 0) c.limit = strtod(argv[3], NULL);
  for (size_t i = 0; i < n; i++) {
    const json_t *entry[2] = {json_array_get(index[0], i), json_array_get(index[1], i)};
    if (json_is_object(entry[0]) && json_is_object(entry[1])) compare_triple(&c, i, folder, entry);
  }
  printf("%u equal, %u refused by both, %u with other code, %u with another shape, %u refused by one\n",
      c.n[EQUAL], c.n[REFUSED_BY_BOTH], c.n[OTHER_CODE], c.n[OTHER_SHAPE], c.n[OTHER_OUTCOME]);
  if (c.n_ratio > 0 || c.n_wrong > 0)
    printf("%zu timed in turns: geometric mean %.3f, worst %.3f; %u slower by %.2f, %u with another answer\n",
        c.n_ratio, geometric_mean(c.ratio, c.n_ratio), c.worst, c.n_slow, c.limit, c.n_wrong);
  int status = c.n_slow > 0 || c.n_wrong > 0 || c.n[OTHER_OUTCOME] > 0 || c.n[OTHER_SHAPE] > 0;
  for (int k = 0; k < 2; k++) json_decref(index[k]);
  seer_arena_destroy(arena);
  return status;
}

static int times_main(int argc, char **argv) {
  if (argc < 2) return -1;
  seer_arena *arena = seer_arena_create("times");
  json_t *before = read_index(argv[0], arena), *after = read_index(argv[1], arena);
  size_t n = json_array_size(before), n_ratio = 0;
  double *ratio = SEER_NEW_ARRAY(arena, double, n + 1), sum[2] = {0}, longest = 0;
  const char *slowest = "none";
  for (size_t i = 0; i < n; i++) {
    const json_t *b = json_array_get(before, i), *a = json_array_get(after, i);
    double was = json_number_value(json_object_get(b, "build_s")),
           is = json_number_value(json_object_get(a, "build_s"));
    if (was <= 0 || is <= 0) continue;
    ratio[n_ratio++] = is / was;
    sum[0] += was;
    sum[1] += is;
    if (is <= longest) continue;
    longest = is;
    slowest = json_string_value(json_object_get(a, "name"));
  }
  printf("%zu kernels: time to build %.3f of that before (geometric mean), %.3f in all; longest %.0f ms, %s\n",
      n_ratio, geometric_mean(ratio, n_ratio), sum[0] > 0 ? sum[1] / sum[0] : 1, longest * 1e3, slowest);
  json_decref(before);
  json_decref(after);
  seer_arena_destroy(arena);
  return 0;
}

int main(int argc, char **argv) {
  int status = -1;
  if (argc > 2 && strcmp(argv[1], "corpus") == 0) status = corpus_main(argc - 2, argv + 2);
  if (argc > 2 && strcmp(argv[1], "build") == 0) status = build_main(argc - 2, argv + 2);
  if (argc > 2 && strcmp(argv[1], "compare") == 0) status = compare_main(argc - 2, argv + 2);
  if (argc > 2 && strcmp(argv[1], "times") == 0) status = times_main(argc - 2, argv + 2);
  if (status >= 0) return status;
  fprintf(stderr,
      "usage: replay corpus FILE [LINES...] | build CORPUS FOLDER [--every K] [--threads N] | "
      "compare BEFORE AFTER [--limit RATIO] | times BEFORE AFTER\n");
  return 2;
}
