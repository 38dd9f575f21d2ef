// draft.c - how many candidates a second one core drafts: sampled (knobs drawn, normalised, frame,
// checked), and framed alone (normalise + frame + check of drawn schedules). Usage: draft [file.dag
// ...]; without files, built-in examples.
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static seer_status run(const char *name, const char *text, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("draft");
  seer_dag *dag;
  seer_sketch_list *list;
  seer_target target = {.kind = SEER_TARGET_CPU,
      .threads = 2,
      .vector_bytes = 64,
      .n_vector_registers = 32,
      .n_fma_ports = 1,
      .fma_latency_cycles = 4,
      .l1_bytes = 32 << 10,
      .l2_bytes = 1 << 20,
      .l3_bytes = 32 << 20};
  seer_status status = seer_dag_parse(name, text, n_bytes, arena, &dag);
  if (!status) status = seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list);
  if (status) {
    seer_arena_destroy(arena);
    return status;
  }
  static seer_schedule kept[N_KEPT];
  seer_rng rng;
  seer_rng_init(&rng, 1);
  uint64_t n = 0, n_good = 0, rejects[SEER_REJECT_COUNT] = {0}, n_kept = 0;
  double start = now_s(), seconds;
  while ((seconds = now_s() - start) < 0.5) {
    for (int k = 0; k < 256; k++, n++) {
      seer_schedule s;
      seer_reject reject = seer_schedule_sample(list, (uint32_t)(n % list->n), &rng, &s);
      rejects[reject]++;
      if (reject != SEER_REJECT_NONE) continue;
      n_good++;
      kept[n_kept++ % N_KEPT] = s;
    }
  }
  printf("%-12s sketches %2u   sampled %8.0f/s (%.1f %% valid)", name, list->n,
      (double)n_good / seconds, 100.0 * (double)n_good / (double)n);
  uint64_t n_framed = 0;
  if (n_kept > N_KEPT) n_kept = N_KEPT;
  start = now_s();
  while (n_kept > 0 && (seconds = now_s() - start) < 0.5) {
    for (uint64_t k = 0; k < n_kept; k++, n_framed++) {
      seer_frame frame;
      seer_frame_normalise(list, &kept[k], &frame);
      rejects[seer_frame_check(list, &frame)]++;
    }
  }
  printf("   normalised, framed, checked %9.0f/s (%.2f us)", (double)n_framed / seconds,
      1e6 * seconds / (double)n_framed);
  uint64_t n_mutated = 0;
  start = now_s();
  while (n_kept > 0 && (seconds = now_s() - start) < 0.5) {
    for (uint64_t k = 0; k < n_kept; k++) {
      seer_schedule child;
      n_mutated += seer_schedule_mutate(list, &rng, &kept[k], &child) == SEER_REJECT_NONE;
    }
  }
  printf("   mutated %8.0f/s\n", (double)n_mutated / seconds);
  seer_arena_destroy(arena);
  return SEER_OK;
}

static seer_status run_file(const char *path) {
  static char text[1 << 20];
  FILE *file = fopen(path, "rb");
  if (!file) return SEER_FAIL(IO, "%s cannot be read", path);
  size_t n = fread(text, 1, sizeof text, file);
  fclose(file);
  return run(path, text, n);
}

int main(int argc, char **argv) {
  seer_status status = SEER_OK;
  if (argc < 2) {
    status = run("conv 3x3", conv_text, sizeof conv_text - 1);
    status = seer_status_join(status, run("gemm", gemm_text, sizeof gemm_text - 1));
  }
  for (int k = 1; k < argc; k++) status = seer_status_join(status, run_file(argv[k]));
  if (!status) return 0;
  fprintf(stderr, "draft: %s\n", seer_status_message(status));
  seer_status_free(status);
  return 1;
}
