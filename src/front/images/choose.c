// choose.c - which of some steps in a row are run image by image: those where it moves less, by an
// estimate of what a byte costs where it comes from.
//
// What a step reads was written by the step before, and comes from the smallest cache that holds it
// (and the step's weights): for all images, or for one. What it writes goes where other values were
// before: lines that are not in a cache are read first and written back later, so that a byte
// counts twice. Weights are read once for all images where a step is whole; for each image where it
// is not, from what holds those of the whole stretch. At the ends of a stretch values lie in memory
// for all images, whatever runs image by image. With all threads on each image the hand-over
// between two steps comes once an image; an image a thread, once a stretch, but some threads may
// have an image more than others. Least sum over all ways to cut: dynamic programming.
//
// Speeds are nominal, not measured: the order of a few numbers of caches decides, and a compilation
// must find the tasks that the tuning before it has made, with speeds measured or not.
#include <math.h>

#include "front/images.h"

// GB/s of a thread from L2, L3 and memory, and GFLOP/s a lane: between those of the machines in
// test/targets.
static const double l2_gbs = 130, l3_gbs = 32, dram_gbs = 13, gflops_a_lane = 9;
// What a thread has of L3: it is shared by all cores of a processor, of which a virtual machine has
// a few and is told the size of all. (Two cores of 300 MB: steps of MobileNetV2 that write 14 to 38
// MB for 8 images took 1.6 to 2.7 times as long as image by image, and as long as those when run
// again at once, on lines that were there: memory's speed, not L3's. 2026-11.)
#define L3_BYTES_A_THREAD (4.0 * 1048576)
// As the analytic model has it (learn/analytic.c).
#define PHASE_SECONDS 2.7e-6
// Part of its time that steps must gain by the estimate: what it does not see (kernels of more
// work) is worth as much.
#define MIN_GAIN 0.03

typedef struct {
  const seer_target *target;
  double n_images, threads;
  double rounds;  // images that the busiest thread has, an image a thread
} costs;

typedef enum { L2, L3, DRAM } level;

// What holds so many bytes, on which so many threads work together.
static level level_of(const costs *c, double bytes, double n_threads) {
  double l3 = L3_BYTES_A_THREAD * n_threads, all = (double)c->target->l3_bytes;
  if (bytes <= (double)c->target->l2_bytes * n_threads) return L2;
  return bytes <= (all < l3 ? all : l3) ? L3 : DRAM;
}

// Seconds of one thread.
static double read_seconds(level from, double bytes) {
  const double gbs[] = {l2_gbs, l3_gbs, dram_gbs};
  return bytes * 1e-9 / gbs[from];
}

static double write_seconds(level to, double bytes) {
  return (to == L2 ? 1 : 2) * read_seconds(to, bytes);
}

// What `n` images at a time read and write, for one of them.
static double reading(const costs *c, const seer_images_cost *step, double n, double n_threads) {
  return read_seconds(level_of(c, n * step->read + step->weights, n_threads), step->read);
}

static double writing(const costs *c, const seer_images_cost *step, double n, double n_threads) {
  return write_seconds(level_of(c, n * (step->read + step->written), n_threads), step->written);
}

static bool is_kernel(const seer_images_cost *step) { return step->read + step->written > 0; }

static double computing(const costs *c, const seer_images_cost *step) {
  double lanes = (double)c->target->vector_bytes / 4;
  return step->flops / (1e9 * gflops_a_lane * (lanes > 1 ? lanes : 1));
}

static double phase_seconds(const costs *c) { return c->threads > 1 ? PHASE_SECONDS : 0; }

static double whole_seconds(const costs *c, const seer_images_cost *step) {
  if (!is_kernel(step)) return 0;
  double n = c->n_images;
  double one =
      reading(c, step, n, c->threads) + writing(c, step, n, c->threads) + computing(c, step);
  return (n * one + read_seconds(DRAM, step->weights)) / c->threads + phase_seconds(c);
}

// A stretch that grows from its first step on; seconds of one image and one thread.
typedef struct {
  uint32_t n_kernel;
  double inside, first;  // of all steps; what the first one reads from memory of all images, more
  double weights, most;  // bytes: of all steps; those of one image of the step with the most
} growing;

static void grow(const costs *c, growing *g, const seer_images_cost *step, double n_threads) {
  if (!is_kernel(step)) return;
  double near = reading(c, step, 1, n_threads);
  if (g->n_kernel == 0) g->first = fmax(0, reading(c, step, c->n_images, c->threads) - near);
  g->inside += near + writing(c, step, 1, n_threads) + computing(c, step);
  g->weights += step->weights;
  g->most = fmax(g->most, step->read + step->written);
  g->n_kernel++;
}

static double stretch_seconds(
    const costs *c, const growing *g, const seer_images_cost *last, bool is_apart) {
  double n_threads = is_apart ? 1 : c->threads;
  // All threads share what L3 has of the weights.
  level from = level_of(c, g->weights + g->most, n_threads);
  if (from == DRAM) from = level_of(c, g->weights + g->most * c->threads / n_threads, c->threads);
  if (from == L2 && is_apart && g->weights + g->most > (double)c->target->l2_bytes) from = L3;
  double end = fmax(0, writing(c, last, c->n_images, c->threads) - writing(c, last, 1, n_threads));
  double one = g->inside + g->first + end + read_seconds(from, g->weights);
  double cold = read_seconds(DRAM, g->weights) - read_seconds(from, g->weights);
  if (is_apart) return c->rounds * one + cold + phase_seconds(c);
  return (c->n_images * one + cold) / c->threads + c->n_images * g->n_kernel * phase_seconds(c);
}

uint32_t seer_images_choose(const seer_target *target, uint32_t n_images,
    const seer_images_cost *step, uint32_t n_step, seer_images_choice *out) {
  costs c = {target, n_images, target->threads > 0 ? target->threads : 1, 0};
  c.rounds = ceil(c.n_images / c.threads);
  seer_arena *scratch = seer_arena_create("images");
  double *best = SEER_NEW_ARRAY(scratch, double, n_step + 1);
  // By its end: where the stretch that ends there begins; itself: the step is whole.
  uint32_t *from = SEER_NEW_ARRAY(scratch, uint32_t, n_step + 1);
  bool *is_apart = SEER_NEW_ARRAY(scratch, bool, n_step + 1);
  for (uint32_t k = 1; k <= n_step; k++) best[k] = INFINITY;
  for (uint32_t i = 0; i < n_step; i++) {
    double whole = whole_seconds(&c, &step[i]);
    if (best[i] + whole < best[i + 1]) {
      best[i + 1] = best[i] + whole;
      from[i + 1] = i + 1;
    }
    for (uint32_t way = 0; way < (c.threads > 1 ? 2 : 1); way++) {
      growing g = {0};
      for (uint32_t k = i; k < n_step; k++) {
        grow(&c, &g, &step[k], way == 1 ? 1 : c.threads);
        double all = best[i] + stretch_seconds(&c, &g, &step[k], way == 1) * (1 + MIN_GAIN);
        if (!is_kernel(&step[k]) || all >= best[k + 1]) continue;
        best[k + 1] = all;
        from[k + 1] = i;
        is_apart[k + 1] = way == 1;
      }
    }
  }
  uint32_t n = 0;
  for (uint32_t k = n_step; k > 0; k = from[k] < k ? from[k] : k - 1)
    if (from[k] < k) out[n++] = (seer_images_choice){from[k], k - from[k], is_apart[k]};
  for (uint32_t a = 0, b = n; a + 1 < b; a++) {
    seer_images_choice last = out[--b];
    out[b] = out[a];
    out[a] = last;
  }
  seer_arena_destroy(scratch);
  return n;
}
