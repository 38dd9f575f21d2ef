// lanes.c - see lanes.h.
#include "code/source/lanes.h"

#include <stdio.h>

seer_source_vector seer_source_vector_of(seer_text *text, seer_vec_elem elem, uint32_t lanes) {
  uint32_t bits = seer_vec_elem_bits[elem];
  seer_source_vector x = {.elem = elem, .lanes = lanes, .bytes = lanes * bits / 8, .text = text};
  snprintf(x.v, sizeof(x.v), "%sx%u", seer_vec_elem_names[elem], lanes);
  snprintf(x.half, sizeof(x.half), "%sx%u", seer_vec_elem_names[elem], lanes / 2);
  snprintf(x.mask, sizeof(x.mask), "i%ux%u", bits, lanes);
  snprintf(x.mask_half, sizeof(x.mask_half), "i%ux%u", bits, lanes / 2);
  snprintf(x.u, sizeof(x.u), "u%ux%u", bits, lanes);
  snprintf(x.n, sizeof(x.n), "%u", lanes);
  x.sign = bits == 32 ? "INT32_MIN" : "INT64_MIN";
  return x;
}

void seer_source_put_lanes(const seer_source_vector *x, const char *pattern) {
  bool is_f32 = x->elem == SEER_VEC_F32;
  const char *const words[] = {"V", x->v, "E", seer_vec_elem_names[x->elem], "N", x->n, "H",
      x->half, "M", x->mask, "U", x->u, "S", x->sign, "P", is_f32 ? "0x1p23f" : "0x1p52", "R",
      is_f32 ? "float32x4_t" : "float64x2_t", NULL};
  seer_source_put_words(x->text, pattern, words);
}

void seer_source_put_by_halves(const seer_source_vector *x, const char *op, uint32_t n_args) {
  static const char *const head[] = {"$V a", "$V a, $V b", "$V a, $V b, $V c"};
  static const char *const low[] = {
      "low_$V(a)", "low_$V(a), low_$V(b)", "low_$V(a), low_$V(b), low_$V(c)"};
  static const char *const high[] = {
      "high_$V(a)", "high_$V(a), high_$V(b)", "high_$V(a), high_$V(b), high_$V(c)"};
  uint32_t k = n_args - 1;
  seer_text pattern;
  seer_text_init(&pattern, x->text->arena);
  seer_text_printf(&pattern, "HELPER $V %s_$V(%s) {\n  return join_$V(%s_$H(%s), %s_$H(%s));\n}\n",
      op, head[k], op, low[k], op, high[k]);
  seer_source_put_lanes(x, pattern.data);
}

static const seer_source_register regs[] = {
    {16, "_mm", "defined(__x86_64__)", "defined(__FMA__)", "defined(__SSE4_1__)"},
    {32, "_mm256", "defined(__AVX__)", "defined(__FMA__)", "defined(__AVX__)"},
    {64, "_mm512", "defined(__AVX512F__)", "defined(__AVX512F__)", "defined(__AVX512F__)"},
};

const seer_source_register *seer_source_register_of(const seer_source_vector *x) {
  for (size_t k = 0; k < SEER_COUNT_OF(regs); k++) {
    if (regs[k].bytes == x->bytes) return &regs[k];
  }
  return NULL;
}
