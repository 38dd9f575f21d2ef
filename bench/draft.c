// draft.c - candidates a second: sampled (knobs drawn, normalised, checked), normalised alone,
// mutated, summarised and estimated, by processor time; drafted (sampled, summarised, estimated by the analytic model) and
// rated (also features and the learned models), as the search does it, by the clock, for 1 thread
// and for each number that is given. Usage: draft [--threads N,N...] [file.dag ...]; without files,
// built-in examples. SEER_TARGET=cuda:h200 draft: of GPUs. `draft --times N` does each kind of work
// N times in place of half a second, and says how many candidates came of it: for a count of
// instructions, which no load disturbs (valgrind --tool=callgrind --toggle-collect=seer_draft).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "learn/bank.h"
#include "setup/context.h"
#include "space/frame.h"
#include "space/nest.h"
#include "search/draft.h"

static const char conv_text[] =
    "dag conv {\n"
    "  input $x f32[1, 56, 56, 64]\n"
    "  weight $w f32[64, 3, 3, 64]\n"
    "  weight $b f32[64]\n"
    "  stage pad role pad [n:batch<1, y:y<58, x:x<58, c:in_channel<64] = "
    "$x[n, y - 1, x - 1, c] if (y >= 1) & (y < 57) & ((x >= 1) & (x < 57)) else 0.0\n"
    "  stage conv role anchor [n:batch<1, y:y<56, x:x<56, oc:out_channel<64] "
    "sum[ky:ky<3, kx:kx<3, ic:in_channel<64] = $pad[n, y + ky, x + kx, ic] * $w[oc, ky, kx, ic]\n"
    "  stage bias role epilogue [n:batch<1, y:y<56, x:x<56, oc:out_channel<64] = $conv[n, y, x, "
    "oc] + $b[oc]\n"
    "  stage relu role epilogue [n:batch<1, y:y<56, x:x<56, oc:out_channel<64] = max($bias[n, y, "
    "x, oc], 0.0)\n"
    "  output $relu\n"
    "}\n";

static const char gemm_text[] =
    "dag gemm {\n"
    "  input $A f32[126, 1024]\n"
    "  weight $B f32[1024, 1024]\n"
    "  stage C role anchor [m:m<126, n:n<1024] sum[k:k<1024] = $A[m, k] * $B[k, n]\n"
    "  output $C\n"
    "}\n";

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);  // one core, whatever else runs
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define N_KEPT 512
#define MAX_COUNTS 8

typedef struct {
  uint32_t n, threads[MAX_COUNTS];
  uint64_t times;  // each kind of work is done so often; 0: for half a second
} thread_counts;

typedef struct {
  const seer_sketch_list *list;
  const seer_target *target;
  const thread_counts *counts;
  seer_arena *arena;
  seer_summariser *summariser;
  seer_frame frame;
  seer_rng rng;
  uint64_t n_kept;
  seer_schedule kept[N_KEPT];
} bench;

// A kind of work, done with kept schedule k (or a new one): false if nothing came of it.
typedef bool (*work)(bench *b, uint64_t k);

static bool sample(bench *b, uint64_t k) {
  seer_schedule s;
  if (seer_schedule_sample(b->list, (uint32_t)(k % b->list->n), &b->rng, &s, NULL) !=
      SEER_REJECT_NONE)
    return false;
  b->kept[b->n_kept++ % N_KEPT] = s;
  return true;
}

static bool normalise(bench *b, uint64_t k) {
  seer_frame_normalise(b->list, &b->kept[k % N_KEPT], &b->frame);
  return seer_frame_check(b->list, &b->frame) == SEER_REJECT_NONE;
}

static bool mutate(bench *b, uint64_t k) {
  seer_schedule child;
  return seer_schedule_mutate(b->list, &b->rng, &b->kept[k % N_KEPT], &child, NULL) ==
      SEER_REJECT_NONE;
}

static bool summarise(bench *b, uint64_t k) {
  return seer_summarise(b->summariser, &b->kept[k % N_KEPT])->n_statement > 0;
}

static bool estimate(bench *b, uint64_t k) {
  return seer_analytic_seconds(seer_summarise(b->summariser, &b->kept[k % N_KEPT]), b->target) > 0;
}

static bool is_done(const bench *b, uint64_t n, double seconds) {
  return b->counts->times ? n >= b->counts->times : seconds >= 0.5;
}

static void say(const bench *b, const char *what, uint64_t n_good, double seconds) {
  if (b->counts->times)
    printf("  %s %8llu", what, (unsigned long long)n_good);
  else
    printf("  %s %8.0f/s", what, (double)n_good / seconds);
}

static void measure(bench *b, const char *what, work one) {
  uint64_t n = 0, n_good = 0;
  double start = now_s(), seconds = 0;
  while (!is_done(b, n, seconds)) {
    for (int k = 0; k < 256; k++, n++) n_good += one(b, n);
    seconds = now_s() - start;
  }
  say(b, what, n_good, seconds);
}

// Fitted on the kept ones, whose times are their estimates.
static seer_status train(const bench *b, seer_bank **out_bank) {
  static const uint32_t family_of[1] = {0};
  static float rows[SEER_NEST_MAX_STATEMENTS * SEER_FEATURE_MAX];
  seer_bank_options options = {.n_family = 1,
      .n_task = 1,
      .family_of = family_of,
      .features = seer_feature_set_of(seer_feature_set_table[0], b->target->kind),
      .is_over_estimate = true,
      .model = seer_cost_table[0],
      .warm_up = 32};
  SEER_TRY(seer_bank_create(&options, out_bank));
  for (uint32_t k = 0; k < N_KEPT; k++) {
    const seer_nest *nest = seer_summarise(b->summariser, &b->kept[k]);
    seer_sample one = seer_sample_of(nest, b->target, seer_bank_features(*out_bank), rows);
    one.seconds = one.estimate_s;
    one.estimate_s = 0;  // nothing is said to begin with
    SEER_TRY(seer_bank_add(*out_bank, &one, 1));
  }
  double start = now_s();
  SEER_TRY(seer_bank_train(*out_bank, 0));
  printf("  trained on %u in %.0f ms", N_KEPT, (now_s() - start) * 1e3);
  return SEER_OK;
}

// As many at a time as the search drafts. bank NULL: not rated.
static seer_status measure_drafts(
    const bench *b, const char *what, const seer_bank *bank, uint32_t n_at_a_time) {
  double *weight = SEER_NEW_ARRAY(b->arena, double, b->list->n);
  for (uint32_t k = 0; k < b->list->n; k++) weight[k] = 1;
  seer_draft_order order = {
      .kind = SEER_DRAFT_DRAWN, .n = n_at_a_time, .sketch_weight = weight};
  seer_draft_pool pool;
  SEER_TRY(seer_draft_pool_create(n_at_a_time, &pool));
  const seer_table nothing = {0};
  seer_status status = SEER_OK;
  for (uint32_t c = 0; c < b->counts->n && !status; c++) {
    seer_draft_space space = {.sketches = b->list,
        .facts = seer_summariser_facts(b->summariser),
        .target = b->target,
        .known = &nothing,
        .bank = bank,
        .n_threads = b->counts->threads[c]};
    seer_search_counts counts = {0};
    uint64_t start = seer_os_now_ns();
    double seconds = 0;
    for (uint64_t i = 0; !is_done(b, i * n_at_a_time, seconds) && !status; i++) {
      seer_draft_pool_clear(&pool);
      status = seer_draft(&space, &order, 1, i, &pool, &counts);
      seconds = (double)(seer_os_now_ns() - start) * 1e-9;
    }
    say(b, what, counts.drafted, seconds);
    printf(" (%u thread%s)", b->counts->threads[c], b->counts->threads[c] == 1 ? "" : "s");
  }
  seer_draft_pool_destroy(&pool);
  return status;
}

static seer_status measure_search(const bench *b) {
  enum { UNTRAINED = 448, GENERATION = 128 };  // of one proposal (search.c)
  seer_bank *bank = NULL;
  SEER_TRY(measure_drafts(b, "drafted", NULL, UNTRAINED));
  seer_status status = train(b, &bank);
  if (!status) status = measure_drafts(b, "rated", bank, GENERATION);
  seer_bank_destroy(bank);
  return status;
}

static seer_status run(const seer_target *target, const thread_counts *counts, const char *name,
    const char *text, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("draft");
  seer_dag *dag;
  seer_sketch_list *list;
  seer_status status = seer_dag_parse(name, text, n_bytes, arena, &dag);
  if (!status) status = seer_sketch_generate(dag, target, SEER_SPACE_FULL, arena, &list);
  if (!status) {
    bench *b = SEER_NEW(arena, bench);
    b->list = list;
    b->target = target;
    b->summariser = seer_summariser_create(list, arena);
    b->counts = counts;
    b->arena = arena;
    seer_rng_init(&b->rng, 1);
    printf("%-12s sketches %2u", name, list->n);
    measure(b, "sampled", sample);
    if (b->n_kept >= N_KEPT) {
      measure(b, "normalised", normalise);
      measure(b, "mutated", mutate);
      measure(b, "summarised", summarise);
      measure(b, "these estimated", estimate);
      status = measure_search(b);
    }
    printf("\n");
  }
  seer_arena_destroy(arena);
  return status;
}

static seer_status run_file(
    const seer_target *target, const thread_counts *counts, const char *path) {
  static char text[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) return SEER_FAIL(IO, "%s cannot be read", path);
  size_t n = fread(text, 1, sizeof text, file);
  fclose(file);
  return run(target, counts, path, text, n);
}

static thread_counts parse_counts(const char *text) {
  thread_counts counts = {.n = 1, .threads = {1}};
  for (char *end = NULL; text && *text && counts.n < MAX_COUNTS; text = *end ? end + 1 : end) {
    counts.threads[counts.n++] = (uint32_t)strtoul(text, &end, 10);
  }
  return counts;
}

int main(int argc, char **argv) {
  seer_context *context = NULL;
  seer_status status = seer_context_create(&context);
  if (!status) status = seer_context_find_any_target(context);
  const seer_target *target = status ? NULL : seer_context_target(context);
  bool has_counts = argc > 2 && strcmp(argv[1], "--threads") == 0;
  bool has_times = argc > 2 && strcmp(argv[1], "--times") == 0;
  thread_counts counts = parse_counts(has_counts ? argv[2] : NULL);
  if (has_times) counts.times = strtoull(argv[2], NULL, 10);
  int first = has_counts || has_times ? 3 : 1;
  if (!status && argc <= first) {
    status = run(target, &counts, "conv 3x3", conv_text, sizeof conv_text - 1);
    status = seer_status_join(status, run(target, &counts, "gemm", gemm_text, sizeof gemm_text - 1));
  }
  for (int k = first; target && k < argc; k++)
    status = seer_status_join(status, run_file(target, &counts, argv[k]));
  seer_context_destroy(context);
  if (!status) return 0;
  fprintf(stderr, "draft: %s\n", seer_status_message(status));
  seer_status_free(status);
  return 1;
}
