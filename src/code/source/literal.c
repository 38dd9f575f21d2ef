// literal.c - names of types, and constants so that the compiler reads the same bits.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/source/internal.h"

const char *seer_source_type(const seer_source *s, seer_vec_elem elem, uint32_t lanes) {
  if (elem == SEER_VEC_I1 && lanes == 1) return "bool";
  if (lanes == 1) return seer_vec_elem_names[elem];
  return seer_arena_printf(s->arena, "%sx%u", seer_vec_elem_names[elem], lanes);
}

seer_vec_elem seer_source_int_of_bits(uint32_t bits) {
  return bits == 8 ? SEER_VEC_I8
      : bits == 16 ? SEER_VEC_I16
      : bits == 32 ? SEER_VEC_I32
                   : SEER_VEC_I64;
}

const char *seer_source_mask_type(const seer_source *s, uint32_t bits, uint32_t lanes) {
  return seer_source_type(s, seer_source_int_of_bits(bits), lanes);
}

// The largest macros first: REPEAT64(REPEAT4(x)).
const char *seer_source_repeat(const seer_source *s, const char *item, uint64_t n) {
  for (uint64_t left = n; left > 1;) {
    unsigned by = left >= 64 ? 64 : (unsigned)left;
    item = seer_arena_printf(s->arena, "REPEAT%u(%s)", by, item);
    left /= by;
  }
  return item;
}

// The fewest digits that give the same number.
static const char *float_text(const seer_source *s, seer_vec_elem elem, double value) {
  char text[40];
  bool is_single = elem == SEER_VEC_F32;
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof(text), "%.*g", digits, value);
    bool is_same = is_single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
    if (is_same) break;
  }
  bool has_point = strpbrk(text, ".e") != NULL;
  return seer_arena_printf(s->arena, "%s%s%s", text, has_point ? "" : ".0", is_single ? "f" : "");
}

static const char *float_literal(const seer_source *s, seer_vec_elem elem, uint64_t bits) {
  float single;
  double value;
  memcpy(&single, &bits, sizeof(single));
  memcpy(&value, &bits, sizeof(value));
  bool is_single = elem == SEER_VEC_F32;
  if (is_single) value = (double)single;
  if (isfinite(value)) return float_text(s, elem, value);
  if (isinf(value))
    return seer_arena_printf(
        s->arena, "%sINFINITY_%s", signbit(value) ? "-" : "", is_single ? "F32" : "F64");
  return is_single
      ? seer_arena_printf(s->arena, "bitcast_i32_f32((i32)0x%08" PRIX32 "u)", (uint32_t)bits)
      : seer_arena_printf(s->arena, "bitcast_i64_f64((i64)UINT64_C(0x%016" PRIX64 "))", bits);
}

static const char *int_literal(const seer_source *s, seer_vec_elem elem, uint64_t bits) {
  uint32_t above = 64 - seer_vec_elem_bits[elem];
  int64_t value = (int64_t)(bits << above) >> above;
  if (elem == SEER_VEC_I1) return bits & 1 ? "true" : "false";
  if (value == INT64_MIN) return "INT64_MIN";
  if (value == INT32_MIN) return elem == SEER_VEC_I64 ? "((i64)INT32_MIN)" : "INT32_MIN";
  bool is_long = value > INT32_MAX || value < INT32_MIN;
  return seer_arena_printf(s->arena, is_long ? "INT64_C(%" PRId64 ")" : "%" PRId64, value);
}

static const char *one_lane(const seer_source *s, seer_vec_elem elem, uint64_t bits) {
  return seer_vec_is_float(elem) ? float_literal(s, elem, bits) : int_literal(s, elem, bits);
}

const char *seer_source_literal(
    const seer_source *s, seer_vec_elem elem, uint32_t lanes, uint64_t bits, int64_t step) {
  if (lanes == 1) return one_lane(s, elem, bits);
  const char *type = seer_source_type(s, elem, lanes);
  if (step == 0) return seer_arena_printf(s->arena, "splat_%s(%s)", type, one_lane(s, elem, bits));
  seer_text text;
  seer_text_init(&text, s->arena);
  seer_text_printf(&text, "((%s){", type);
  for (uint32_t l = 0; l < lanes; l++)
    seer_text_printf(
        &text, "%s%s", l == 0 ? "" : ", ", int_literal(s, elem, bits + (uint64_t)step * l));
  seer_text_put(&text, "})");
  return text.data;
}
