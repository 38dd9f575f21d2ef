// eval_warp.c - products of warps: the words that the items hold, put together as two matrices and
// a sum of rows by columns. What is summed is exact but for f64's rounding, and rounded once.
#include <string.h>

#include "code/vector/eval.h"
#include "dag/dtype.h"

#define ROWS 16
#define COLUMNS 8
#define WORDS 8

typedef struct {
  uint32_t bits;
  bool is_hazy;
} word;

typedef struct {
  word a[ROWS][WORDS], b[WORDS][COLUMNS], c[ROWS][COLUMNS];
} operands;

static word *of_a(operands *o, uint32_t lane, uint32_t k) {
  return &o->a[lane / 4 + k % 2 * 8][lane % 4 + k / 2 * 4];
}
static word *of_b(operands *o, uint32_t lane, uint32_t k) {
  return &o->b[lane % 4 + k * 4][lane / 4];
}
static word *of_c(operands *o, uint32_t lane, uint32_t k) {
  return &o->c[lane / 4 + k / 2 * 8][lane % 4 * 2 + k % 2];
}

static word word_of(const seer_vec_machine *m, seer_vec v, uint32_t k) {
  return (word){(uint32_t)seer_vec_lanes_of(m, v)[k], seer_vec_haze_of(m, v)[k]};
}

static void take_words(seer_vec_machine *m, uint32_t id, uint32_t first, operands *out) {
  const seer_vec_node *node = &m->code->node[id];
  for (uint32_t lane = 0; lane < SEER_VEC_WARP; lane++) {
    seer_vec_set_item(m, first + lane);
    for (uint32_t k = 0; k < 4; k++) *of_c(out, lane, k) = word_of(m, node->arg[0], k);
    for (uint32_t k = 0; k < 4; k++) *of_a(out, lane, k) = word_of(m, node->arg[1], k);
    for (uint32_t k = 0; k < 2; k++) *of_b(out, lane, k) = word_of(m, node->arg[2], k);
  }
}

static double single_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return (double)value;
}

// To 11 bits, to nearest, ties away from 0.
static double rounded(uint32_t bits) {
  bool is_finite = (bits >> 23 & 255) != 255;
  return single_of(is_finite ? (bits + 0x1000u) & ~0x1FFFu : bits);
}

static double product_of(seer_vec_mma_kind kind, uint32_t x, uint32_t y) {
  if (kind == SEER_VEC_MMA_TF32) return rounded(x) * rounded(y);
  const seer_float_format *format =
      seer_dtype_format(kind == SEER_VEC_MMA_F16 ? SEER_DTYPE_F16 : SEER_DTYPE_BF16);
  double sum = 0;
  for (uint32_t k = 0; k < 32; k += 16)
    sum += seer_float_from_bits(format, (uint16_t)(x >> k)) *
        seer_float_from_bits(format, (uint16_t)(y >> k));
  return sum;
}

static void multiply(seer_vec_mma_kind kind, operands *o) {
  for (uint32_t r = 0; r < ROWS; r++) {
    for (uint32_t c = 0; c < COLUMNS; c++) {
      word *sum = &o->c[r][c];
      double value = single_of(sum->bits);
      for (uint32_t k = 0; k < WORDS; k++) {
        value += product_of(kind, o->a[r][k].bits, o->b[k][c].bits);
        sum->is_hazy |= o->a[r][k].is_hazy || o->b[k][c].is_hazy;
      }
      float single = (float)value;
      memcpy(&sum->bits, &single, sizeof(single));
    }
  }
}

static void give_words(seer_vec_machine *m, uint32_t id, uint32_t first, operands *o) {
  for (uint32_t lane = 0; lane < SEER_VEC_WARP; lane++) {
    seer_vec_set_item(m, first + lane);
    m->is_hazy[id] = false;
    for (uint32_t k = 0; k < 4; k++) {
      const word *sum = of_c(o, lane, k);
      seer_vec_lanes_of(m, (seer_vec){id})[k] = sum->is_hazy ? 0 : sum->bits;
      seer_vec_haze_of(m, (seer_vec){id})[k] = sum->is_hazy;
      m->is_hazy[id] |= sum->is_hazy;
    }
  }
}

// Warps may stay away, but not some of a warp's items.
static bool is_of_whole_warps(seer_vec_machine *m, uint32_t id, const uint32_t *item, uint32_t n) {
  uint32_t k = 0;
  while (k < n) {
    uint32_t warp = item[k] / SEER_VEC_WARP, first = k;
    while (k < n && item[k] / SEER_VEC_WARP == warp) k++;
    if (k - first == SEER_VEC_WARP) continue;
    seer_vec_fault(m, id, "%u of %d items of warp %u come to it", k - first, SEER_VEC_WARP, warp);
    return false;
  }
  return true;
}

bool seer_vec_run_mma(seer_vec_machine *m, uint32_t id, const uint32_t *item, uint32_t n) {
  operands o;
  if (!is_of_whole_warps(m, id, item, n)) return false;
  for (uint32_t k = 0; k < n; k += SEER_VEC_WARP) {
    take_words(m, id, item[k], &o);
    multiply((seer_vec_mma_kind)m->code->node[id].imm, &o);
    give_words(m, id, item[k], &o);
  }
  return true;
}
