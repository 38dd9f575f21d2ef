// c.c - plain C17: no extensions, no library but sqrt and, where the processor has it, fma. What
// it says of one lane serves the dialects with vectors too.
//
// Rounding to integers is done by adding 2^23 (2^52), which leaves no places behind the point: it
// needs floats to be computed as what they are (FLT_EVAL_METHOD 0).
#include <stdio.h>
#include <string.h>

#include "code/source/internal.h"

void seer_source_put_words(seer_text *text, const char *pattern, const char *const *words) {
  for (const char *at = pattern; *at; at++) {
    if (*at != '$') {
      seer_text_put_n(text, at, 1);
      continue;
    }
    at++;
    for (const char *const *word = words; *word; word += 2) {
      if ((*word)[0] == *at) seer_text_put(text, word[1]);
    }
  }
}

static const char heading[] =
    "// Kernels in plain C17. No product is to become one operation with a sum where it does not\n"
    "// say so: compile with -std=c17, or -ffp-contract=off. They call sqrtf and sqrt of <math.h>\n"
    "// (-fno-math-errno makes them instructions), and fmaf and fma where those are instructions.\n"
    "// SEER_FMA_F32(a, b, c) and SEER_FMA_F64 may be defined as something else.\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    "// Of a variable that is only written under a condition, what was not written is not used.\n"
    "#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n"
    "#endif\n"
    "#include <float.h>\n"
    "#include <math.h>\n"
    "#include <stdbool.h>\n"
    "#include <stdint.h>\n"
    "#include <string.h>\n"
    "\n"
    "#ifdef __clang__\n"
    "#pragma STDC FP_CONTRACT OFF\n"
    "#pragma clang diagnostic ignored \"-Wunused-function\"\n"
    "#endif\n"
    "#ifdef __FAST_MATH__\n"
    "#error \"NaN and the order of operations count: not with -ffast-math\"\n"
    "#endif\n"
    "#if FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2\n"
    "#error \"float must be computed as float\"\n"
    "#endif\n"
    "#ifndef SEER_FMA_F32\n"
    "#ifdef FP_FAST_FMAF\n"
    "#define SEER_FMA_F32(a, b, c) fmaf(a, b, c)\n"
    "#else\n"
    "#define SEER_FMA_F32(a, b, c) ((a) * (b) + (c))\n"
    "#endif\n"
    "#endif\n"
    "#ifndef SEER_FMA_F64\n"
    "#ifdef FP_FAST_FMA\n"
    "#define SEER_FMA_F64(a, b, c) fma(a, b, c)\n"
    "#else\n"
    "#define SEER_FMA_F64(a, b, c) ((a) * (b) + (c))\n"
    "#endif\n"
    "#endif\n"
    "#define HELPER static inline\n"
    "#define KERNEL static\n"
    "#define RESTRICT restrict\n"
    "#define INFINITY_F32 INFINITY\n"
    "#define INFINITY_F64 ((f64)INFINITY)\n"
    "#define FILL(array) ((const char *)(array))\n"
    "// A pointer may be moved out of its object and back, as it is on every machine with flat\n"
    "// memory. On addresses, uintptr_t, it would be C's own, and slower: compilers lose what they "
    "know of the object.\n"
    "#define MOVE(pointer, by) ((pointer) + (by))\n"
    "#define LOAD(type, align, pointer) load_##type(pointer)\n"
    "#define STORE(type, align, pointer, value) store_##type(pointer, value)\n"
    "#define PREFETCH(pointer, level) ((void)(pointer))\n"
    "#define FENCE() ((void)0)\n";

static const char types[] =
    "#define REPEAT2(...) __VA_ARGS__, __VA_ARGS__\n"
    "#define REPEAT4(...) REPEAT2(__VA_ARGS__), REPEAT2(__VA_ARGS__)\n"
    "#define REPEAT8(...) REPEAT4(__VA_ARGS__), REPEAT4(__VA_ARGS__)\n"
    "#define REPEAT16(...) REPEAT8(__VA_ARGS__), REPEAT8(__VA_ARGS__)\n"
    "#define REPEAT32(...) REPEAT16(__VA_ARGS__), REPEAT16(__VA_ARGS__)\n"
    "#define REPEAT64(...) REPEAT32(__VA_ARGS__), REPEAT32(__VA_ARGS__)\n"
    "\n"
    "typedef int8_t i8;\n"
    "typedef int16_t i16;\n"
    "typedef int32_t i32;\n"
    "typedef int64_t i64;\n"
    "typedef uint8_t u8;\n"
    "typedef uint16_t u16;\n"
    "typedef uint32_t u32;\n"
    "typedef uint64_t u64;\n"
    "typedef float f32;\n"
    "typedef double f64;\n"
    "\n";

// $T: an integer or a float; $B: its bytes
static const char bytes_of[] =
    "HELPER $T load_$T(const char *p) {\n"
    "  $T x;\n"
    "  memcpy(&x, p, $B);\n"
    "  return x;\n"
    "}\n"
    "HELPER void store_$T(char *p, $T x) { memcpy(p, &x, $B); }\n";

// $I: an integer; $U: without sign; $W: at least as wide as int
static const char integers[] =
    "HELPER $I smin_$I($I a, $I b) { return a < b ? a : b; }\n"
    "HELPER $I smax_$I($I a, $I b) { return a > b ? a : b; }\n"
    "HELPER $I umin_$I($I a, $I b) { return ($U)a < ($U)b ? a : b; }\n"
    "HELPER $I umax_$I($I a, $I b) { return ($U)a > ($U)b ? a : b; }\n"
    "HELPER $I abs_$I($I a) { return a < 0 ? ($I)-($W)a : a; }\n";

// $F: a float; $I: the integer of its width
static const char bits_of[] =
    "HELPER $I bitcast_$F_$I($F x) {\n"
    "  $I r;\n"
    "  memcpy(&r, &x, sizeof(r));\n"
    "  return r;\n"
    "}\n"
    "HELPER $F bitcast_$I_$F($I x) {\n"
    "  $F r;\n"
    "  memcpy(&r, &x, sizeof(r));\n"
    "  return r;\n"
    "}\n";

// $S: its sign's bit
static const char floats[] =
    "HELPER $F fabs_$F($F x) { return bitcast_$I_$F(bitcast_$F_$I(x) & ~$S); }\n"
    "HELPER $F copysign_$F($F x, $F y) {\n"
    "  return bitcast_$I_$F((bitcast_$F_$I(x) & ~$S) | (bitcast_$F_$I(y) & $S));\n"
    "}\n"
    "HELPER $F fminimum_$F($F x, $F y) {\n"
    "  const $F zero = bitcast_$I_$F(bitcast_$F_$I(x) | bitcast_$F_$I(y));\n"
    "  const $F r = x < y ? x : x == y ? zero : y;\n"
    "  return x != x ? x : r;\n"
    "}\n"
    "HELPER $F fmaximum_$F($F x, $F y) {\n"
    "  const $F zero = bitcast_$I_$F(bitcast_$F_$I(x) & bitcast_$F_$I(y));\n"
    "  const $F r = x > y ? x : x == y ? zero : y;\n"
    "  return x != x ? x : r;\n"
    "}\n";

// $P: the smallest float of which all and all above are integers
static const char rounding[] =
    "HELPER $F round_$F($F x) {\n"
    "  const $F a = fabs_$F(x);\n"
    "  return a < $P ? copysign_$F((a + $P) - $P, x) : x;\n"
    "}\n"
    "HELPER $F floor_$F($F x) {\n"
    "  const $F r = round_$F(x);\n"
    "  return r > x ? r - 1 : r;\n"
    "}\n"
    "HELPER $F ceil_$F($F x) {\n"
    "  const $F r = round_$F(x);\n"
    "  return copysign_$F(r < x ? r + 1 : r, x);\n"
    "}\n"
    "HELPER $F ftrunc_$F($F x) { return copysign_$F(floor_$F(fabs_$F(x)), x); }\n";

static const char products_of_bytes[] =
    "HELPER i32 dot4_i32(i32 a, i32 b, i32 c) {\n"
    "  u32 sum = (u32)c;\n"
    "  for (int k = 0; k < 32; k += 8) sum += (u32)((i32)((u32)a >> k & 255) * (i8)((u32)b >> "
    "k));\n"
    "  return (i32)sum;\n"
    "}\n";

static const char tables[] =
    "HELPER i8 lookup_i8(const char *p, i8 number) { return (i8)p[(u8)number]; }\n";

static const char products_of_halves[] =
    "HELPER f32 dot2_i32(i32 a, i32 b, f32 c) {\n"
    "  // products of bf16 are exact in f32\n"
    "  c += bitcast_i32_f32((i32)((u32)a << 16)) * bitcast_i32_f32((i32)((u32)b << 16));\n"
    "  return c + bitcast_i32_f32(a & -65536) * bitcast_i32_f32(b & -65536);\n"
    "}\n";

static const char halves[] =
    "HELPER f32 bits_half_i16(i16 x) {\n"
    "  const u32 w = (u16)x, magnitude = (w & 0x7fff) << 13;\n"
    "  u32 r = (u32)bitcast_f32_i32(bitcast_i32_f32((i32)magnitude) * 0x1p112f);\n"
    "  if (magnitude > 0x7bffu << 13) r = magnitude | 0x7f800000;  // infinity, NaN\n"
    "  return bitcast_i32_f32((i32)(r | (w & 0x8000) << 16));\n"
    "}\n"
    "HELPER i16 half_bits_f32(f32 x) {\n"
    "  const u32 w = (u32)bitcast_f32_i32(x), magnitude = w & 0x7fffffff;\n"
    "  // below the least normal number, adding 0.5 does the rounding\n"
    "  const u32 small = (u32)bitcast_f32_i32(fabs_f32(x) + 0.5f) - (126u << 23);\n"
    "  const u32 normal = (magnitude + 0xfff - (112u << 23) + (magnitude >> 13 & 1)) >> 13;\n"
    "  u32 r = magnitude < 113u << 23 ? small : normal;\n"
    "  if (r > 0x7bff) r = 0x7c00;\n"
    "  if (magnitude > 0x7f800000) r = 0x7e00;\n"
    "  return (i16)(r | (w >> 16 & 0x8000));\n"
    "}\n";

static const char roots[] =
    "HELPER f32 sqrt_f32(f32 x) { return sqrtf(x); }\n"
    "HELPER f64 sqrt_f64(f64 x) { return sqrt(x); }\n"
    "HELPER f32 fmuladd_f32(f32 a, f32 b, f32 c) { return SEER_FMA_F32(a, b, c); }\n"
    "HELPER f64 fmuladd_f64(f64 a, f64 b, f64 c) { return SEER_FMA_F64(a, b, c); }\n";

static const char *const of_f32[] = {"F", "f32", "I", "i32", "S", "INT32_MIN", NULL};
static const char *const of_f64[] = {"F", "f64", "I", "i64", "S", "INT64_MIN", NULL};

static void put_operators(seer_text *text) {
  for (seer_vec_elem e = SEER_VEC_I8; e <= SEER_VEC_I64; e++) {
    char u[8];
    snprintf(u, sizeof(u), "u%u", seer_vec_elem_bits[e]);
    const char *work = seer_vec_elem_bits[e] < 32 ? "u32" : u;
    seer_source_put_words(text, integers,
        (const char *const[]){"I", seer_vec_elem_names[e], "U", u, "W", work, NULL});
  }
  seer_source_put_words(text, floats, of_f32);
  seer_text_put(text, products_of_bytes);
  seer_text_put(text, products_of_halves);
}

void seer_source_put_scalars(seer_text *text) {
  seer_text_put(text, types);
  for (seer_vec_elem e = SEER_VEC_I8; e <= SEER_VEC_F64; e++) {
    char bytes[8];
    snprintf(bytes, sizeof(bytes), "%u", seer_vec_elem_bytes(e));
    seer_source_put_words(
        text, bytes_of, (const char *const[]){"T", seer_vec_elem_names[e], "B", bytes, NULL});
  }
  seer_source_put_words(text, bits_of, of_f32);
  seer_source_put_words(text, bits_of, of_f64);
  put_operators(text);
  seer_source_put_words(text, floats, of_f64);
  seer_text_put(text, tables);
}

static void put_rounding(seer_text *text, bool is_double) {
  seer_source_put_words(text, rounding,
      is_double ? (const char *const[]){"F", "f64", "P", "0x1p52", NULL}
                : (const char *const[]){"F", "f32", "P", "0x1p23f", NULL});
}

void seer_source_put_rounding(seer_text *text) {
  put_rounding(text, false);
  put_rounding(text, true);
}

void seer_source_put_singles(seer_text *text) {
  put_operators(text);
  put_rounding(text, false);
  seer_text_put(text, halves);
}

void seer_source_put_doubles(seer_text *text) {
  seer_source_put_words(text, floats, of_f64);
  put_rounding(text, true);
}

void seer_source_put_halves(seer_text *text) { seer_text_put(text, halves); }

static void put_prelude(seer_text *text) {
  seer_text_put(text, heading);
  seer_source_put_scalars(text);
  seer_source_put_rounding(text);
  seer_source_put_halves(text);
  seer_text_put(text, roots);
}

const seer_dialect seer_dialect_c = {.name = "c",
    .doc = "plain C17, one lane, for any compiler",
    .max_lanes = 1,
    .put_prelude = put_prelude};
