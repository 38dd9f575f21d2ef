// c_convert.c - C with vector extensions: helpers that convert lanes. Floats to integers;
// integers of other widths; floats from and to the bits of their halves.
#include <stdio.h>

#include "code/source/lanes.h"

// ---- floats to integers

// What is narrower than 32 bits fits an i32, with and without sign.
static void put_to_integers(
    seer_text *text, seer_vec_elem from, seer_vec_elem to, uint32_t lanes, bool is_signed) {
  uint32_t bits = seer_vec_elem_bits[to];
  seer_source_vector f = seer_source_vector_of(text, from, lanes),
                     i = seer_source_vector_of(text, to, lanes);
  seer_text_printf(text, "HELPER %s float_%s_%s_%s(%s x) { return ", i.v,
      is_signed ? "sint" : "uint", f.v, i.v, f.v);
  if (bits < 32)
    seer_text_printf(text, "trunc_i32x%u_%s(CONVERT(x, i32x%u))", lanes, i.v, lanes);
  else
    seer_text_printf(text, "(%s)CONVERT(x, %s%ux%u)", i.v, is_signed ? "i" : "u", bits, lanes);
  seer_text_put(text, "; }\n");
}

// ---- integers of other widths

// GCC takes vectors apart for steps by more than a factor of two.
static void put_steps(
    seer_text *text, seer_vec_elem from, seer_vec_elem to, uint32_t lanes, const char *sign) {
  int step = to > from ? 1 : -1;
  for (int e = (int)from; e != (int)to; e += step) seer_text_put(text, "CONVERT(");
  seer_text_printf(text, "(%s%ux%u)x", sign, seer_vec_elem_bits[from], lanes);
  for (int e = (int)from; e != (int)to; e += step)
    seer_text_printf(text, ", %s%ux%u)", sign, seer_vec_elem_bits[e + step], lanes);
}

// A vector of 4, 8, 16, ... bytes as the register that instructions take.
static const char *as_register(uint32_t bytes) {
  return bytes == 4 ? "_mm_cvtsi32_si128((i32)x)"
      : bytes == 8  ? "_mm_cvtsi64_si128((i64)x)"
      : bytes == 16 ? "(__m128i)x"
      : bytes == 32 ? "(__m256i)x"
                    : NULL;
}

static void put_extension(
    seer_text *text, seer_vec_elem from, seer_vec_elem to, uint32_t lanes, bool is_signed) {
  seer_source_vector x = seer_source_vector_of(text, from, lanes),
                     y = seer_source_vector_of(text, to, lanes);
  const seer_source_register *r = seer_source_register_of(&y);
  const char *argument = as_register(x.bytes), *op = is_signed ? "sext" : "zext";
  bool is_direct = r && argument;
  if (is_direct) {
    bool is_bytes = y.bytes == 64 && from == SEER_VEC_I8 && to == SEER_VEC_I16;
    seer_text_printf(text, "#if defined(%s)\nHELPER %s %s_%s_%s(%s x) {\n",
        y.bytes == 16       ? "__SSE4_1__"
            : y.bytes == 32 ? "__AVX2__"
            : is_bytes      ? "__AVX512BW__"
                            : "__AVX512F__",
        y.v, op, x.v, y.v, x.v);
    seer_text_printf(text, "  return (%s)%s_cvtep%s%u_epi%u(%s);\n}\n#else\n", y.v, r->prefix,
        is_signed ? "i" : "u", seer_vec_elem_bits[from], seer_vec_elem_bits[to], argument);
  }
  seer_text_printf(text, "HELPER %s %s_%s_%s(%s x) { return (%s)", y.v, op, x.v, y.v, x.v, y.v);
  put_steps(text, from, to, lanes, is_signed ? "i" : "u");
  seer_text_put(text, "; }\n");
  if (is_direct) seer_text_put(text, "#endif\n");
}

static void put_widths(seer_text *text, uint32_t lanes) {
  for (seer_vec_elem from = SEER_VEC_I8; from <= SEER_VEC_I64; from++) {
    seer_source_vector x = seer_source_vector_of(text, from, lanes);
    for (seer_vec_elem to = SEER_VEC_I8; to <= SEER_VEC_I64; to++) {
      seer_source_vector y = seer_source_vector_of(text, to, lanes);
      if (to > from) {
        put_extension(text, from, to, lanes, true);
        put_extension(text, from, to, lanes, false);
      } else if (to < from) {
        seer_text_printf(text, "HELPER %s trunc_%s_%s(%s x) { return ", y.v, x.v, y.v, x.v);
        put_steps(text, from, to, lanes, "i");
        seer_text_put(text, "; }\n");
      }
    }
  }
}

// ---- halves of floats

static const char of_half_floats[] =
    "HELPER f32x$N bits_half_i16x$N(i16x$N x) {\n"
    "  const i32x$N w = CONVERT(x, i32x$N), magnitude = (w & 0x7fff) << 13;\n"
    "  i32x$N r = (i32x$N)((f32x$N)magnitude * 0x1p112f);\n"
    "  r = select_i32x$N(\n"
    "      (i32x$N)(magnitude > (0x7bff << 13)), magnitude | 0x7f800000, r);  // infinity, NaN\n"
    "  return (f32x$N)(r | (w & INT32_MIN));\n"
    "}\n"
    "HELPER i16x$N half_bits_f32x$N(f32x$N x) {\n"
    "  const i32x$N w = (i32x$N)x, magnitude = w & INT32_MAX;\n"
    "  // below the least normal number, adding 0.5 does the rounding\n"
    "  const i32x$N small = (i32x$N)((f32x$N)magnitude + 0.5f) - (126 << 23);\n"
    "  const i32x$N normal = (magnitude - ((112 << 23) - 0xfff) + (magnitude >> 13 & 1)) >> 13;\n"
    "  i32x$N r = select_i32x$N((i32x$N)(magnitude < (113 << 23)), small, normal);\n"
    "  r = smin_i32x$N(r, splat_i32x$N(0x7c00));\n"
    "  r = select_i32x$N((i32x$N)(magnitude > 0x7f800000), splat_i32x$N(0x7e00), r);\n"
    "  return CONVERT(r | (w >> 16 & 0x8000), i16x$N);\n"
    "}\n";

// Of lanes and of halves, where that is what the machine has an instruction for.
static const char of_half_floats_by_lanes[] =
    "HELPER f32x$N bits_half_i16x$N(i16x$N x) {\n"
    "  f32x$N r;\n"
    "  for (int l = 0; l < $N; l++) r[l] = bits_half_i16(x[l]);\n"
    "  return r;\n"
    "}\n"
    "HELPER i16x$N half_bits_f32x$N(f32x$N x) {\n"
    "  i16x$N r;\n"
    "  for (int l = 0; l < $N; l++) r[l] = half_bits_f32(x[l]);\n"
    "  return r;\n"
    "}\n";
static const char of_half_floats_by_halves[] =
    "HELPER f32x$N bits_half_i16x$N(i16x$N x) {\n"
    "  return join_f32x$N(bits_half_i16x$K(low_i16x$N(x)), bits_half_i16x$K(high_i16x$N(x)));\n"
    "}\n"
    "HELPER i16x$N half_bits_f32x$N(f32x$N x) {\n"
    "  return join_i16x$N(half_bits_f32x$K(low_f32x$N(x)), half_bits_f32x$K(high_f32x$N(x)));\n"
    "}\n";

static const struct {
  uint32_t lanes;
  const char *if_there, *pattern;
} half_instructions[] = {
    {4, "__aarch64__",
        "HELPER f32x4 bits_half_i16x4(i16x4 x) { return (f32x4)vcvt_f32_f16((float16x4_t)x); }\n"
        "HELPER i16x4 half_bits_f32x4(f32x4 x) { return (i16x4)vcvt_f16_f32((float32x4_t)x); }\n"},
    {4, "__F16C__",
        "HELPER f32x4 bits_half_i16x4(i16x4 x) {\n"
        "  return (f32x4)_mm_cvtph_ps(_mm_cvtsi64_si128((i64)x));\n"
        "}\n"
        "HELPER i16x4 half_bits_f32x4(f32x4 x) {\n"
        "  const i16x8 r = (i16x8)_mm_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);\n"
        "  return (i16x4){r[0], r[1], r[2], r[3]};\n"
        "}\n"},
    {8, "__F16C__",
        "HELPER f32x8 bits_half_i16x8(i16x8 x) { return (f32x8)_mm256_cvtph_ps((__m128i)x); }\n"
        "HELPER i16x8 half_bits_f32x8(f32x8 x) {\n"
        "  return (i16x8)_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);\n"
        "}\n"},
    {16, "__AVX512F__",
        "HELPER f32x16 bits_half_i16x16(i16x16 x) {\n"
        "  return (f32x16)_mm512_cvtph_ps((__m256i)x);\n"
        "}\n"
        "HELPER i16x16 half_bits_f32x16(f32x16 x) {\n"
        "  return (i16x16)_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);\n"
        "}\n"},
};

static void put_half_floats(seer_text *text, uint32_t lanes) {
  const char *before = "if";
  char n[16], half[16];
  snprintf(n, sizeof(n), "%u", lanes);
  snprintf(half, sizeof(half), "%u", lanes / 2);
  const char *const words[] = {"N", n, "K", half, NULL};
  for (size_t k = 0; k < SEER_COUNT_OF(half_instructions); k++) {
    if (half_instructions[k].lanes != lanes) continue;
    seer_text_printf(text, "#%s defined(%s)\n%s", before, half_instructions[k].if_there,
        half_instructions[k].pattern);
    before = "elif";
  }
  seer_text_printf(text, "#%s defined(__F16C__) || defined(__ARM_FP16_FORMAT_IEEE)\n", before);
  seer_source_put_words(
      text, lanes <= 4 ? of_half_floats_by_lanes : of_half_floats_by_halves, words);
  seer_text_put(text, "#else\n");
  seer_source_put_words(text, of_half_floats, words);
  seer_text_put(text, "#endif\n");
}

void seer_source_put_conversions(seer_text *text, uint32_t lanes) {
  put_widths(text, lanes);
  for (seer_vec_elem to = SEER_VEC_I8; to <= SEER_VEC_I64; to++) {
    for (int k = 0; k < 4; k++)
      put_to_integers(text, k < 2 ? SEER_VEC_F32 : SEER_VEC_F64, to, lanes, k % 2 == 0);
  }
  put_half_floats(text, lanes);
}
