// draft.c - candidates a second on one core: sampled (knobs drawn, normalised, checked), normalised
// alone, mutated, drafted (sampled, summarised, estimated by the analytic model: what the search
// calls a draft), scored (features and the learned models). Usage: draft [file.dag ...]; without
// files, built-in examples.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "learn/bank.h"
#include "setup/context.h"
#include "space/frame.h"

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

typedef struct {
  const seer_sketch_list *list;
  const seer_target *target;
  seer_summariser *summariser;
  seer_frame frame;
  seer_rng rng;
  uint64_t n_kept;
  seer_schedule kept[N_KEPT];
  float *rows;  // of all kept ones
  uint32_t n_rows[N_KEPT];
  double seconds[N_KEPT];
  size_t n_row;
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

// As the search does: drawn, normalised, checked, summarised, estimated.
static bool draft(bench *b, uint64_t k) {
  seer_schedule s;
  uint32_t sketch = (uint32_t)(k % b->list->n);
  if (seer_schedule_sample(b->list, sketch, &b->rng, &s, &b->frame) != SEER_REJECT_NONE)
    return false;
  const seer_nest *nest = seer_summarise_frame(b->summariser, &b->frame);
  return seer_analytic_seconds(nest, b->target) > 0;
}

static void measure(bench *b, const char *what, work one) {
  uint64_t n = 0, n_good = 0;
  double start = now_s(), seconds;
  while ((seconds = now_s() - start) < 0.5) {
    for (int k = 0; k < 256; k++, n++) n_good += one(b, n);
  }
  printf("  %s %8.0f/s", what, (double)n_good / seconds);
}

static void extract(bench *b) {
  b->n_row = 0;
  for (uint32_t k = 0; k < N_KEPT; k++) {
    const seer_nest *nest = seer_summarise(b->summariser, &b->kept[k]);
    double seconds = seer_analytic_seconds(nest, b->target);
    b->n_rows[k] =
        seer_feature_extract(nest, b->target, seconds, b->rows + b->n_row * seer_feature_count);
    b->n_row += b->n_rows[k];
  }
}

// Features and the learned model (two half bases and a residual), 512 candidates at a time.
static seer_status measure_scoring(bench *b) {
  static const uint32_t family_of[1] = {0};
  seer_bank_options options = {.n_family = 1,
      .n_task = 1,
      .family_of = family_of,
      .has_base = true,
      .model = seer_cost_table[0],
      .warm_up = 32};
  seer_bank *bank = NULL;
  SEER_TRY(seer_bank_create(&options, &bank));
  extract(b);
  const float *row = b->rows;
  seer_status status = SEER_OK;
  for (uint32_t k = 0; k < N_KEPT && !status; k++) {
    seer_sample one = {.n_row = b->n_rows[k], .rows = row};
    one.seconds = seer_analytic_seconds(seer_summarise(b->summariser, &b->kept[k]), b->target);
    status = seer_bank_add(bank, &one, 1);
    row += b->n_rows[k] * seer_feature_count;
  }
  double start = now_s(), seconds = 0;
  if (!status) status = seer_bank_train(bank, 0);
  double train_s = now_s() - start;
  uint64_t n = 0;
  static float scores[N_KEPT];
  start = now_s();
  while (!status && (seconds = now_s() - start) < 0.5) {
    extract(b);
    status = seer_bank_predict(
        bank, 0, &(seer_bank_candidates){N_KEPT, b->rows, b->n_rows, NULL}, scores);
    n += N_KEPT;
  }
  printf(
      "  scored %8.0f/s  trained on %u in %.0f ms\n", (double)n / seconds, N_KEPT, train_s * 1e3);
  seer_bank_destroy(bank);
  return status;
}

static seer_status run(
    const seer_target *target, const char *name, const char *text, size_t n_bytes) {
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
    b->rows =
        SEER_NEW_ARRAY(arena, float, (size_t)N_KEPT *SEER_NEST_MAX_STATEMENTS *seer_feature_count);
    seer_rng_init(&b->rng, 1);
    printf("%-12s sketches %2u", name, list->n);
    measure(b, "sampled", sample);
    if (b->n_kept >= N_KEPT) {
      measure(b, "normalised", normalise);
      measure(b, "mutated", mutate);
      measure(b, "drafted", draft);
      status = measure_scoring(b);
    }
  }
  seer_arena_destroy(arena);
  return status;
}

static seer_status run_file(const seer_target *target, const char *path) {
  static char text[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) return SEER_FAIL(IO, "%s cannot be read", path);
  size_t n = fread(text, 1, sizeof text, file);
  fclose(file);
  return run(target, path, text, n);
}

int main(int argc, char **argv) {
  seer_context *context = NULL;
  seer_status status = seer_context_create(&context);
  if (!status) status = seer_context_find_target(context);
  const seer_target *target = status ? NULL : seer_context_target(context);
  if (!status && argc < 2) {
    status = run(target, "conv 3x3", conv_text, sizeof conv_text - 1);
    status = seer_status_join(status, run(target, "gemm", gemm_text, sizeof gemm_text - 1));
  }
  for (int k = 1; target && k < argc; k++)
    status = seer_status_join(status, run_file(target, argv[k]));
  seer_context_destroy(context);
  if (!status) return 0;
  fprintf(stderr, "draft: %s\n", seer_status_message(status));
  seer_status_free(status);
  return 1;
}
