// gpu_order.c - the estimate's order of GPU kernels against measured times, without a device.
//   zcat bench/gpu/products-h200.jsonl.gz | gpu_order [--all] [--rows | --choice]
// Of the products of the table (bench/gpu/shapes.py, doc/decisions/81) the schedule of the same tiles
// is made here, and what the estimate says of it for an H200 is held against the time: by shape
// Spearman's rank correlation, how much slower than the best of them the first one and the best of
// the first ten are, and the estimate over the time. Convolutions are products of their pixels.
// Parts of a block's items, swizzles and kernels that begin early are left out: the space has none of
// that. By default, so are fetches ahead and tiles that lie by depth; --all has these,
// as far as the profile can be told (test/support/gpu_measured.h).
// --choice: of each shape the default schedule and the untuned choice, what the estimate says of them,
// and the times of the three measured kernels (without fetches ahead) whose tiles are most
// like theirs, with how far they are: doublings of parts, items, sums and steps.
// --rows: each as a row of C, for the test's sample, and nothing else.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "learn/feature.h"
#include "search/unmeasured.h"
#include "support/gpu_measured.h"


typedef struct {
  const char *name;
  uint32_t m, n, k;
} shape;
static const shape shapes[] = {{"bert_qkv", 128, 1024, 1024}, {"bert_up", 128, 4096, 1024},
    {"bert_down", 128, 1024, 4096}, {"gpt2_qkv", 1, 2304, 768}, {"r50_s1_3x3", 56 * 56, 64, 576},
    {"r50_s1_1x1", 56 * 56, 256, 64}, {"r50_s2_3x3", 28 * 28, 128, 1152},
    {"r50_s2_1x1", 28 * 28, 512, 128}, {"r50_s3_3x3", 14 * 14, 256, 2304},
    {"r50_s3_1x1", 14 * 14, 1024, 256}, {"r50_s4_3x3", 49, 512, 4608},
    {"r50_s4_1x1", 49, 2048, 512}, {"r50_s3_down", 28 * 28, 512, 256},
    {"mbv2_pointwise", 14 * 14, 96, 384}};

enum { MOST = 2000 };
typedef struct {
  uint32_t n, n_left_out;
  double estimate[MOST], us[MOST], registers[MOST], resident[MOST];
  gpu_measured row[MOST];
} column;
static column columns[SEER_COUNT_OF(shapes)];

static uint32_t int_of(const json_t *knobs, const char *name) {
  return (uint32_t)json_integer_value(json_object_get(knobs, name));
}

static void read_list(const json_t *knobs, const char *name, uint32_t n, uint32_t *out) {
  for (uint32_t i = 0; i < n; i++)
    out[i] = (uint32_t)json_integer_value(json_array_get(json_object_get(knobs, name), i));
}

static bool is_text(const json_t *knobs, const char *name, const char *text) {
  const char *value = json_string_value(json_object_get(knobs, name));
  return value && strcmp(value, text) == 0;
}

// False: not of today's space, or (is_all) of none that can be told.
static bool read_line(const json_t *line, const shape *s, bool is_all, gpu_measured *out) {
  const json_t *knobs = json_object_get(line, "knobs"), *us = json_object_get(line, "us");
  if (!us || !json_object_get(knobs, "split")) return false;
  *out = (gpu_measured){.m = s->m, .n = s->n, .k = s->k, .us = json_real_value(us)};
  read_list(knobs, "m", 4, out->of_m);
  read_list(knobs, "n", 4, out->of_n);
  read_list(knobs, "k", 2, out->of_k);
  out->by_depth = is_text(knobs, "a_order", "km");
  out->wide_a = int_of(knobs, "vec_a");
  out->wide_b = int_of(knobs, "vec_b");
  out->pad_a = int_of(knobs, "pad_a");
  out->pad_b = int_of(knobs, "pad_b");
  out->split = int_of(knobs, "split");
  out->unroll = int_of(knobs, "unroll");
  const char *buffers = json_string_value(json_object_get(knobs, "buffers"));
  if (strncmp(buffers, "async", 5) == 0) out->ahead = (uint32_t)(buffers[5] - '1');
  if (strcmp(buffers, "regs") == 0) out->ahead = 1;
  bool is_left_out = int_of(knobs, "parts") != 1 || int_of(knobs, "swizzle") != 0 ||
      int_of(knobs, "early") != 0 || int_of(knobs, "wide") != 0 || int_of(knobs, "packed") != 1;
  if (is_left_out) return false;
  return is_all || (out->ahead == 0 && !out->by_depth);
}

static void print_row(const char *name, const gpu_measured *p) {
  printf("    {\"%s\", {%u, %u, %u, {%u, %u, %u, %u}, {%u, %u, %u, %u}, {%u, %u}, %s, %u, %u, %u, "
         "%u, %u, %u, %u, %.2f}},\n",
      name, p->m, p->n, p->k, p->of_m[0], p->of_m[1], p->of_m[2], p->of_m[3], p->of_n[0],
      p->of_n[1], p->of_n[2], p->of_n[3], p->of_k[0], p->of_k[1], p->by_depth ? "true" : "false",
      p->wide_a, p->wide_b, p->pad_a, p->pad_b, p->ahead, p->split, p->unroll, p->us);
}

static void take(const json_t *line, const seer_target *target, bool is_all, bool is_rows) {
  const char *name = json_string_value(json_object_get(line, "shape"));
  for (uint32_t s = 0; name && s < SEER_COUNT_OF(shapes); s++) {
    gpu_measured p;
    column *c = &columns[s];
    if (strcmp(name, shapes[s].name) != 0 || !read_line(line, &shapes[s], is_all, &p)) continue;
    seer_kernel_profile kernels[SEER_PROFILE_MAX_KERNELS];
    uint32_t n;
    if (c->n == MOST || !gpu_measured_profile(&p, target, kernels, &n)) {
      c->n_left_out++;
      continue;
    }
    if (is_rows) print_row(name, &p);
    c->row[c->n] = p;
    c->us[c->n] = p.us;
    double registers = json_number_value(json_object_get(line, "registers"));
    c->registers[c->n] = fabs(kernels[0].estimated_registers / registers - 1);
    double resident = json_number_value(json_object_get(line, "resident"));
    c->resident[c->n] = fabs(kernels[0].resident / resident - 1);
    c->estimate[c->n++] = 1e6 * seer_kernels_seconds(kernels, n, target);
  }
}

// ---- what is chosen

static double doublings(const gpu_measured *a, const gpu_measured *b) {
  const double x[] = {a->split, a->of_m[1], a->of_n[1], (double)a->of_m[0] * a->of_m[2] * a->of_m[3],
      (double)a->of_n[0] * a->of_n[2] * a->of_n[3], (double)a->of_k[0] * a->of_k[1]};
  const double y[] = {b->split, b->of_m[1], b->of_n[1], (double)b->of_m[0] * b->of_m[2] * b->of_m[3],
      (double)b->of_n[0] * b->of_n[2] * b->of_n[3], (double)b->of_k[0] * b->of_k[1]};
  double sum = 0;
  for (size_t k = 0; k < SEER_COUNT_OF(x); k++) sum += fabs(log2(x[k] / y[k]));
  return sum;
}

static void must(seer_status status) {
  if (!status) return;
  fprintf(stderr, "gpu_order: %s\n", seer_status_message(status));
  exit(2);
}

static void read_knob(const seer_sketch *sketch, const seer_knob *knob, uint16_t value,
    gpu_measured *out) {
  const seer_sketch_stage *stage = &sketch->stage[knob->stage];
  if (knob->kind == SEER_KNOB_RFACTOR) out->split = knob->number[value];
  if (knob->kind != SEER_KNOB_FACTOR || stage->role != SEER_ROLE_TILED) return;
  uint32_t from_last = sketch->dag->stage[knob->stage].n_space - 1u - knob->axis;
  if (knob->is_reduce)
    out->of_k[knob->level - 1] = value;
  else
    (from_last == 0 ? out->of_n : out->of_m)[knob->level - 1] = value;
}

// The default schedule's tiles, or the untuned choice's.
static void choose(const gpu_measured *of, const seer_target *target, bool is_default,
    gpu_measured *out, double *out_estimate_s) {
  seer_arena *arena = seer_arena_create("measured");
  seer_sketch_list *list;
  must(seer_sketch_generate(gpu_measured_dag(of, arena), target, SEER_SPACE_FULL, arena, &list));
  seer_unmeasured_options options = {
      .sketches = list, .target = target, .seed = 1, .n_drafts = 20000, .n_stale = 4096};
  seer_unmeasured found;
  must(seer_unmeasured_find(&options, &found));
  if (is_default) seer_schedule_default(list, 0, &found.schedule);
  const seer_nest *nest = seer_summarise(seer_summariser_create(list, arena), &found.schedule);
  *out_estimate_s = seer_analytic_seconds(nest, target);
  const seer_sketch *sketch = seer_sketch_of(list, &found.schedule);
  *out = *of;
  for (uint32_t i = 0; i < 4; i++) out->of_m[i] = out->of_n[i] = 1;
  out->of_k[0] = out->of_k[1] = 1;
  for (uint32_t k = 0; k < sketch->n_knob; k++)
    read_knob(sketch, &sketch->knob[k], found.schedule.knob[k], out);
  seer_arena_destroy(arena);
}

static void print_near(const column *c, const gpu_measured *p) {
  bool is_taken[MOST] = {false};
  for (uint32_t k = 0; k < 3; k++) {
    uint32_t at = MOST;
    for (uint32_t i = 0; i < c->n; i++) {
      bool counts = !is_taken[i] && c->row[i].ahead == 0;
      if (counts && (at == MOST || doublings(&c->row[i], p) < doublings(&c->row[at], p))) at = i;
    }
    if (at == MOST) return;
    is_taken[at] = true;
    printf(" %.2f (%.1f)", c->row[at].us, doublings(&c->row[at], p));
  }
}

static void report_choice(const seer_target *target) {
  for (uint32_t s = 0; s < SEER_COUNT_OF(shapes); s++) {
    const column *c = &columns[s];
    const gpu_measured shape_of = {
        .m = shapes[s].m, .n = shapes[s].n, .k = shapes[s].k, .split = 1};
    for (int is_default = 1; is_default >= 0; is_default--) {
      gpu_measured chosen;
      double seconds;
      choose(&shape_of, target, is_default, &chosen, &seconds);
      printf("%-16s %-8s %2u parts %2ux%-3u items %2ux%-2u sums %3u deep, estimate %7.2f us; like it, measured:",
          shapes[s].name, is_default ? "default" : "chosen", chosen.split, chosen.of_m[1], chosen.of_n[1],
          chosen.of_m[0] * chosen.of_m[2] * chosen.of_m[3],
          chosen.of_n[0] * chosen.of_n[2] * chosen.of_n[3], chosen.of_k[0] * chosen.of_k[1],
          1e6 * seconds);
      print_near(c, &chosen);
      printf("\n");
    }
  }
}

// ---- how it orders

static double best_of_first(const column *c, uint32_t n_first) {
  bool is_taken[MOST] = {false};
  double best = INFINITY;
  for (uint32_t k = 0; k < n_first && k < c->n; k++) {
    uint32_t at = MOST;
    for (uint32_t i = 0; i < c->n; i++)
      if (!is_taken[i] && (at == MOST || c->estimate[i] < c->estimate[at])) at = i;
    is_taken[at] = true;
    best = fmin(best, c->us[at]);
  }
  return best;
}

static void report(void) {
  double ranks[SEER_COUNT_OF(shapes)];
  static double ratio[SEER_COUNT_OF(shapes) * MOST], registers[SEER_COUNT_OF(shapes) * MOST],
      resident[SEER_COUNT_OF(shapes) * MOST];
  uint32_t n_rank = 0, n_ratio = 0, n_all = 0;
  for (uint32_t s = 0; s < SEER_COUNT_OF(shapes); s++) {
    column *c = &columns[s];
    if (c->n < 3) continue;
    double best = INFINITY, own[MOST], worst_of_ten = best_of_first(c, 10);
    for (uint32_t i = 0; i < c->n; i++) {
      best = fmin(best, c->us[i]);
      own[i] = ratio[n_ratio++] = c->estimate[i] / c->us[i];
      resident[n_all] = c->resident[i];
      registers[n_all++] = c->registers[i];
    }
    ranks[n_rank] = gpu_measured_rank(c->estimate, c->us, c->n);
    printf("%-16s n %4u (and %u without a schedule) rank %6.3f, first %.2f of the best, of 10 %.2f; "
           "estimate %.2f of the time\n",
        shapes[s].name, c->n, c->n_left_out, ranks[n_rank], best_of_first(c, 1) / best,
        worst_of_ten / best, seer_median(own, c->n));
    n_rank++;
  }
  double factor = seer_median(ratio, n_ratio);
  for (uint32_t i = 0; i < n_ratio; i++) ratio[i] = fabs(log(ratio[i] / factor));
  printf("median rank %.3f; estimate %.2f of the time, and with one factor for all %.0f %% off; "
         "registers %.0f %% off, blocks in hand %.0f %%\n",
      seer_median(ranks, n_rank), factor, 100 * (exp(seer_median(ratio, n_ratio)) - 1),
      100 * seer_median(registers, n_all), 100 * seer_median(resident, n_all));
}

int main(int argc, char **argv) {
  bool is_all = false, is_rows = false, is_choice = false;
  for (int k = 1; k < argc; k++) {
    is_all |= strcmp(argv[k], "--all") == 0;
    is_rows |= strcmp(argv[k], "--rows") == 0;
    is_choice |= strcmp(argv[k], "--choice") == 0;
  }
  seer_arena *arena = seer_arena_create("order");
  seer_target target;
  must(seer_target_parse("cuda:h200", arena, &target));
  char *line = NULL;
  size_t cap = 0;
  while (getline(&line, &cap, stdin) > 0) {
    json_t *parsed = json_loads(line, 0, NULL);
    if (parsed) take(parsed, &target, is_all || is_choice, is_rows);
    json_decref(parsed);
  }
  free(line);
  if (is_choice)
    report_choice(&target);
  else if (!is_rows)
    report();
  seer_arena_destroy(arena);
  return 0;
}
