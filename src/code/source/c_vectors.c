// c_vectors.c - C17 with the vector extensions of GCC and clang: the prelude has, for each number
// of lanes, the types and the helpers on them.
//
// What C has no operator for is written with comparisons and bits, which both compilers turn into
// the instructions that a processor has for it, or by way of <immintrin.h> and <arm_neon.h>, for
// vectors that are as long as a register; longer ones are halved. Nothing becomes a call: neither
// of libm nor of libgcc.
//
// Measured with GCC 12 on a Zen 5 against LLVM's objects (2026-11): on 18 schedules of three
// kernels 1.27 of their time, 1.05 when a phase's function is not inlined into the one that takes
// the table of buffers, which leaves it too few registers (KERNEL). Tiles whose weights serve
// several rows 1.25 to 1.3, since GCC reads a weight again for each of them; 0.99 when it can't
// (keep_...).
#include <stdio.h>
#include <string.h>

#include "code/source/internal.h"

static const char heading[] =
    "// Kernels in C with the vector extensions of GCC 12 and clang 14, or later. No product is "
    "to\n"
    "// become one operation with a sum where it does not say so: compile with -std=c17, or\n"
    "// -ffp-contract=off. Vectors are there already: the best are\n"
    "//   gcc -O2 -std=c17 -fno-tree-vectorize -Wno-psabi -march=...\n"
    "//   clang -O2 -std=c17 -fno-vectorize -fno-slp-vectorize -march=...\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    "// Of a variable that is only written under a condition, what was not written is not used.\n"
    "#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n"
    "#endif\n"
    "#include <math.h>\n"
    "#include <stdbool.h>\n"
    "#include <stdint.h>\n"
    "#include <string.h>\n"
    "#if defined(__x86_64__)\n"
    "#include <immintrin.h>\n"
    "#elif defined(__aarch64__)\n"
    "#include <arm_neon.h>\n"
    "#endif\n"
    "\n"
    "#ifdef __clang__\n"
    "#pragma STDC FP_CONTRACT OFF\n"
    "#endif\n"
    "#ifdef __FAST_MATH__\n"
    "#error \"NaN and the order of operations count: not with -ffast-math\"\n"
    "#endif\n"
    "// No vector goes to or comes from another file.\n"
    "#pragma GCC diagnostic ignored \"-Wpsabi\"\n"
    "#define HELPER static inline __attribute__((always_inline, unused))\n"
    "#define KERNEL static __attribute__((noinline))\n"
    "#define RESTRICT restrict\n"
    "#define INFINITY_F32 INFINITY\n"
    "#define INFINITY_F64 ((f64)INFINITY)\n"
    "#define FILL(array) ((const char *)(array))\n"
    "#define MOVE(pointer, by) ((pointer) + (by))\n"
    "#define LOAD(type, align, pointer)                                              \\\n"
    "  __extension__({                                                               \\\n"
    "    typedef type aligned_ __attribute__((may_alias, aligned(align)));           \\\n"
    "    *(const aligned_ *)(pointer);                                               \\\n"
    "  })\n"
    "#define STORE(type, align, pointer, value)                                      \\\n"
    "  do {                                                                          \\\n"
    "    typedef type aligned_ __attribute__((may_alias, aligned(align)));           \\\n"
    "    *(aligned_ *)(pointer) = (value);                                           \\\n"
    "  } while (0)\n"
    "#define PREFETCH(pointer, level) __builtin_prefetch((pointer), 0, 4 - (level))\n"
    "#define FENCE() __asm__ volatile(\"\" ::: \"memory\")\n"
    "#define CONVERT(x, type) __builtin_convertvector((x), type)\n";

// ---- one lane

static const char one_lane[] =
    "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)\n"
    "HELPER f32 fmuladd_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }\n"
    "HELPER f64 fmuladd_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }\n"
    "#else\n"
    "HELPER f32 fmuladd_f32(f32 a, f32 b, f32 c) { return a * b + c; }\n"
    "HELPER f64 fmuladd_f64(f64 a, f64 b, f64 c) { return a * b + c; }\n"
    "#endif\n"
    "#if defined(__x86_64__)\n"
    "HELPER f32 sqrt_f32(f32 x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }\n"
    "HELPER f64 sqrt_f64(f64 x) {\n"
    "  return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(x), _mm_set_sd(x)));\n"
    "}\n"
    "#else  // with -fno-math-errno it is an instruction\n"
    "HELPER f32 sqrt_f32(f32 x) { return __builtin_sqrtf(x); }\n"
    "HELPER f64 sqrt_f64(f64 x) { return __builtin_sqrt(x); }\n"
    "#endif\n";

// $O: helper; $M: immediate of the instruction
static const char one_lane_rounding[] =
    "HELPER f32 $O_f32(f32 x) {\n"
    "  const __m128 all = _mm_set_ss(x);\n"
    "  return _mm_cvtss_f32(_mm_round_ss(all, all, $M));\n"
    "}\n"
    "HELPER f64 $O_f64(f64 x) {\n"
    "  const __m128d all = _mm_set_sd(x);\n"
    "  return _mm_cvtsd_f64(_mm_round_sd(all, all, $M));\n"
    "}\n";

static const char one_lane_halves[] =
    "#if defined(__F16C__)\n"
    "HELPER f32 bits_half_i16(i16 x) { return _cvtsh_ss((u16)x); }\n"
    "HELPER i16 half_bits_f32(f32 x) { return (i16)_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }\n"
    "#elif defined(__ARM_FP16_FORMAT_IEEE)\n"
    "HELPER f32 bits_half_i16(i16 x) {\n"
    "  __fp16 half;\n"
    "  memcpy(&half, &x, sizeof(x));\n"
    "  return half;\n"
    "}\n"
    "HELPER i16 half_bits_f32(f32 x) {\n"
    "  const __fp16 half = (__fp16)x;\n"
    "  i16 r;\n"
    "  memcpy(&r, &half, sizeof(r));\n"
    "  return r;\n"
    "}\n"
    "#else\n";

static const struct {
  const char *op, *immediate, *builtin, *neon;
} rounding[] = {
    {"floor", "_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC", "floor", "vrndm"},
    {"ceil", "_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC", "ceil", "vrndp"},
    {"ftrunc", "_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC", "trunc", "vrnd"},
    {"round", "_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC", "roundeven", "vrndn"},
};

static void put_one_lane(seer_text *text) {
  seer_text_put(text, one_lane);
  seer_text_put(text, "#if defined(__SSE4_1__)\n");
  for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++)
    seer_source_put_words(text, one_lane_rounding,
        (const char *const[]){"O", rounding[k].op, "M", rounding[k].immediate, NULL});
  seer_text_put(text, "#elif defined(__aarch64__)\n");
  for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++) {
    const char *const words[] = {"O", rounding[k].op, "B", rounding[k].builtin, NULL};
    seer_source_put_words(text,
        "HELPER f32 $O_f32(f32 x) { return __builtin_$Bf(x); }\n"
        "HELPER f64 $O_f64(f64 x) { return __builtin_$B(x); }\n",
        words);
  }
  seer_text_put(text, "#else\n");
  seer_source_put_rounding(text);
  seer_text_put(text, "#endif\n");
  seer_text_put(text, one_lane_halves);
  seer_source_put_halves(text);
  seer_text_put(text, "#endif\n");
}

// ---- several lanes. Words of the patterns:
//   $V vector     $E its element     $N lanes     $H half a vector
//   $M masks for it: integers of its element's width; $U the same without sign
//   $L, $G        lanes of x: the first half, the second
//   $S            the sign's bit, as an integer of that width
static const char of_any[] =
    "HELPER $V splat_$V($E x) { return ($V){REPEAT$N(x)}; }\n"
    "HELPER $V select_$V($M m, $V a, $V b) { return ($V)((m & ($M)a) | (~m & ($M)b)); }\n";

static const char of_halves[] =
    "HELPER $H low_$V($V x) { return ($H){$L}; }\n"
    "HELPER $H high_$V($V x) { return ($H){$G}; }\n"
    "HELPER $V join_$V($H low, $H high) {\n"
    "  $V r;\n"
    "  memcpy(&r, &low, sizeof(low));\n"
    "  memcpy((char *)&r + sizeof(low), &high, sizeof(high));\n"
    "  return r;\n"
    "}\n";

static const char of_integers[] =
    "HELPER $V smin_$V($V a, $V b) { return select_$V(($V)(a < b), a, b); }\n"
    "HELPER $V smax_$V($V a, $V b) { return select_$V(($V)(a > b), a, b); }\n"
    "HELPER $V umin_$V($V a, $V b) { return select_$V(($V)(($U)a < ($U)b), a, b); }\n"
    "HELPER $V umax_$V($V a, $V b) { return select_$V(($V)(($U)a > ($U)b), a, b); }\n"
    "HELPER $V abs_$V($V a) { return select_$V(($V)(a < 0), ($V)-($U)a, a); }\n";

static const char of_floats[] =
    "HELPER $V fabs_$V($V x) { return ($V)(($M)x & ~$S); }\n"
    "HELPER $V copysign_$V($V x, $V y) { return ($V)((($M)x & ~$S) | (($M)y & $S)); }\n"
    "HELPER $V fminimum_$V($V x, $V y) {\n"
    "  const $M zero = ($M)(x == y) & ($M)x;  // of both signs\n"
    "  const $V r = ($V)(($M)select_$V(($M)(x < y), x, y) | zero);\n"
    "  return select_$V(($M)(x == x), r, x);\n"
    "}\n"
    "HELPER $V fmaximum_$V($V x, $V y) {\n"
    "  const $M zero = ~($M)(x == y) | ($M)x;\n"
    "  const $V r = ($V)(($M)select_$V(($M)(x > y), x, y) & zero);\n"
    "  return select_$V(($M)(x == x), r, x);\n"
    "}\n";

// $P: the smallest float of which all and all above are integers
static const char of_rounding[] =
    "HELPER $V round_$V($V x) {\n"
    "  const $V a = fabs_$V(x);\n"
    "  return select_$V(($M)(a < $P), copysign_$V((a + $P) - $P, x), x);\n"
    "}\n"
    "HELPER $V floor_$V($V x) {\n"
    "  const $V r = round_$V(x);\n"
    "  return select_$V(($M)(r > x), r - 1, r);\n"
    "}\n"
    "HELPER $V ceil_$V($V x) {\n"
    "  const $V r = round_$V(x);\n"
    "  return copysign_$V(select_$V(($M)(r < x), r + 1, r), x);\n"
    "}\n"
    "HELPER $V ftrunc_$V($V x) { return copysign_$V(floor_$V(fabs_$V(x)), x); }\n";

static const char masked_lanes[] =
    "HELPER $V load_masked_$V(const char *p, $M m, $V x) {\n"
    "  for (int l = 0; l < $N; l++) {\n"
    "    if (m[l]) x[l] = LOAD($E, 1, p + l * (int)sizeof($E));\n"
    "  }\n"
    "  return x;\n"
    "}\n"
    "HELPER void store_masked_$V(char *p, $M m, $V x) {\n"
    "  for (int l = 0; l < $N; l++) {\n"
    "    if (m[l]) STORE($E, 1, p + l * (int)sizeof($E), x[l]);\n"
    "  }\n"
    "}\n";

// With the instructions of AVX: $R the register's type, $I of its mask, $Q its prefix, $K kind of
// elements, $C the element's C type.
static const char masked_avx[] =
    "HELPER $V load_masked_$V(const char *p, $M m, $V x) {\n"
    "  return select_$V(m, ($V)$Q_maskload_$K((const $C *)p, ($I)m), x);\n"
    "}\n"
    "HELPER void store_masked_$V(char *p, $M m, $V x) {\n"
    "  $Q_maskstore_$K(($C *)p, ($I)m, ($R)x);\n"
    "}\n";

// With those of AVX-512: $T the test that makes a mask of vectors.
static const char masked_avx512[] =
    "HELPER $V load_masked_$V(const char *p, $M m, $V x) {\n"
    "  return ($V)$Q_mask_loadu_$K(($R)x, $T(($I)m, ($I)m), p);\n"
    "}\n"
    "HELPER void store_masked_$V(char *p, $M m, $V x) {\n"
    "  $Q_mask_storeu_$K(p, $T(($I)m, ($I)m), ($R)x);\n"
    "}\n";

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

typedef struct {
  seer_vec_elem elem;
  uint32_t lanes, bytes;
  char v[16], half[16], mask[16], mask_half[16], u[16], n[8];
  const char *sign;
  seer_text *text;
} vector;

static vector vector_of(seer_text *text, seer_vec_elem elem, uint32_t lanes) {
  uint32_t bits = seer_vec_elem_bits[elem];
  vector x = {.elem = elem, .lanes = lanes, .bytes = lanes * bits / 8, .text = text};
  snprintf(x.v, sizeof(x.v), "%sx%u", seer_vec_elem_names[elem], lanes);
  snprintf(x.half, sizeof(x.half), "%sx%u", seer_vec_elem_names[elem], lanes / 2);
  snprintf(x.mask, sizeof(x.mask), "i%ux%u", bits, lanes);
  snprintf(x.mask_half, sizeof(x.mask_half), "i%ux%u", bits, lanes / 2);
  snprintf(x.u, sizeof(x.u), "u%ux%u", bits, lanes);
  snprintf(x.n, sizeof(x.n), "%u", lanes);
  x.sign = bits == 32 ? "INT32_MIN" : "INT64_MIN";
  return x;
}

static void put(const vector *x, const char *pattern) {
  const char *const words[] = {"V", x->v, "E", seer_vec_elem_names[x->elem], "N", x->n, "H",
      x->half, "M", x->mask, "U", x->u, "S", x->sign, "P",
      x->elem == SEER_VEC_F32 ? "0x1p23f" : "0x1p52", NULL};
  seer_source_put_words(x->text, pattern, words);
}

static void put_halves(const vector *x) {
  seer_text low, high;
  seer_text_init(&low, x->text->arena);
  seer_text_init(&high, x->text->arena);
  for (uint32_t l = 0; l < x->lanes / 2; l++) {
    seer_text_printf(&low, "%sx[%u]", l == 0 ? "" : ", ", l);
    seer_text_printf(&high, "%sx[%u]", l == 0 ? "" : ", ", l + x->lanes / 2);
  }
  const char *const words[] = {"V", x->v, "H", x->half, "L", low.data, "G", high.data, NULL};
  seer_source_put_words(x->text, of_halves, words);
}

// ---- instructions of vectors as long as a register

typedef struct {
  uint32_t bytes;
  const char *prefix, *if_simple, *if_fma, *if_rounding;
} reg;
static const reg regs[] = {
    {16, "_mm", "defined(__x86_64__)", "defined(__FMA__)", "defined(__SSE4_1__)"},
    {32, "_mm256", "defined(__AVX__)", "defined(__FMA__)", "defined(__AVX__)"},
    {64, "_mm512", "defined(__AVX512F__)", "defined(__AVX512F__)", "defined(__AVX512F__)"},
};

static const reg *reg_of(const vector *x) {
  for (size_t k = 0; k < SEER_COUNT_OF(regs); k++) {
    if (regs[k].bytes == x->bytes) return &regs[k];
  }
  return NULL;
}

static const char *kind_of(const vector *x) { return x->elem == SEER_VEC_F32 ? "ps" : "pd"; }

// "fma_f32x8" by halves: op(x) of so many arguments.
static void put_by_halves(const vector *x, const char *op, uint32_t n_args) {
  static const char *const head[] = {"$V a", "$V a, $V b, $V c"};
  static const char *const low[] = {"low_$V(a)", "low_$V(a), low_$V(b), low_$V(c)"};
  static const char *const high[] = {"high_$V(a)", "high_$V(a), high_$V(b), high_$V(c)"};
  uint32_t k = n_args == 3;
  seer_text pattern;
  seer_text_init(&pattern, x->text->arena);
  seer_text_printf(&pattern, "HELPER $V %s_$V(%s) {\n  return join_$V(%s_$H(%s), %s_$H(%s));\n}\n",
      op, head[k], op, low[k], op, high[k]);
  put(x, pattern.data);
}

// Lane by lane, by the helper on one lane.
static void put_by_lanes(const vector *x, const char *op, uint32_t n_args) {
  seer_text pattern;
  seer_text_init(&pattern, x->text->arena);
  seer_text_printf(&pattern,
      "HELPER $V %s_$V(%s) {\n  for (int l = 0; l < $N; l++) a[l] = %s_$E(%s);\n  return a;\n}\n",
      op, n_args == 3 ? "$V a, $V b, $V c" : "$V a", op, n_args == 3 ? "a[l], b[l], c[l]" : "a[l]");
  put(x, pattern.data);
}

// clang contracts where it is told to; GCC is given the instruction.
static void put_fmuladd(const vector *x) {
  const reg *r = reg_of(x);
  seer_text_put(x->text, "#if defined(__clang__)\n");
  put(x,
      "HELPER $V fmuladd_$V($V a, $V b, $V c) {\n"
      "#pragma clang fp contract(fast)\n"
      "  return a * b + c;\n"
      "}\n");
  if (r) {
    seer_text_printf(x->text, "#elif %s\n", r->if_fma);
    seer_text pattern;
    seer_text_init(&pattern, x->text->arena);
    seer_text_printf(&pattern,
        "HELPER $V fmuladd_$V($V a, $V b, $V c) { return ($V)%s_fmadd_%s(a, b, c); }\n", r->prefix,
        kind_of(x));
    put(x, pattern.data);
  }
  seer_text_put(x->text, "#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)\n");
  if (x->bytes > 16)
    put_by_halves(x, "fmuladd", 3);
  else
    put_by_lanes(x, "fmuladd", 3);
  seer_text_put(x->text, "#else\n");
  put(x, "HELPER $V fmuladd_$V($V a, $V b, $V c) { return a * b + c; }\n");
  seer_text_put(x->text, "#endif\n");
}

static void put_one_instruction(
    const vector *x, const char *op, const char *x86, const char *immediate) {
  seer_text pattern;
  seer_text_init(&pattern, x->text->arena);
  seer_text_printf(&pattern, "HELPER $V %s_$V($V x) { return ($V)%s_%s_%s(x%s%s); }\n", op,
      reg_of(x)->prefix, x86, kind_of(x), immediate[0] ? ", " : "", immediate);
  put(x, pattern.data);
}

static void put_neon(const vector *x, const char *op, const char *neon) {
  seer_text pattern;
  seer_text_init(&pattern, x->text->arena);
  const char *bits = x->elem == SEER_VEC_F32 ? "32" : "64";
  seer_text_printf(&pattern, "HELPER $V %s_$V($V x) { return ($V)%sq_f%s((float%sx%s_t)x); }\n", op,
      neon, bits, bits, x->n);
  put(x, pattern.data);
}

// a > b ? a : b and a < b ? a : b, of which MAXPS and MINPS are exactly this.
static void put_extremes(const vector *x) {
  const reg *r = reg_of(x);
  if (r) {
    seer_text_printf(x->text, "#if %s\n", r->if_simple);
    seer_text pattern;
    seer_text_init(&pattern, x->text->arena);
    seer_text_printf(&pattern,
        "HELPER $V larger_$V($V a, $V b) { return ($V)%s_max_%s(a, b); }\n"
        "HELPER $V smaller_$V($V a, $V b) { return ($V)%s_min_%s(a, b); }\n",
        r->prefix, kind_of(x), r->prefix, kind_of(x));
    put(x, pattern.data);
    seer_text_put(x->text, "#else\n");
  }
  put(x,
      "HELPER $V larger_$V($V a, $V b) { return select_$V(($M)(a > b), a, b); }\n"
      "HELPER $V smaller_$V($V a, $V b) { return select_$V(($M)(a < b), a, b); }\n");
  if (r) seer_text_put(x->text, "#endif\n");
}

static void put_sqrt(const vector *x) {
  const reg *r = reg_of(x);
  if (r) {
    seer_text_printf(x->text, "#if %s\n", r->if_simple);
    put_one_instruction(x, "sqrt", "sqrt", "");
    if (x->bytes == 16) {
      seer_text_put(x->text, "#elif defined(__aarch64__)\n");
      put_neon(x, "sqrt", "vsqrt");
    }
    seer_text_put(x->text, "#else\n");
  }
  if (x->bytes > 16)
    put_by_halves(x, "sqrt", 1);
  else
    put_by_lanes(x, "sqrt", 1);
  if (r) seer_text_put(x->text, "#endif\n");
}

static void put_rounding(const vector *x) {
  const reg *r = reg_of(x);
  if (r) {
    seer_text_printf(x->text, "#if %s\n", r->if_rounding);
    for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++)
      put_one_instruction(
          x, rounding[k].op, x->bytes == 64 ? "roundscale" : "round", rounding[k].immediate);
  }
  if (r && x->bytes == 16) {
    seer_text_put(x->text, "#elif defined(__aarch64__)\n");
    for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++)
      put_neon(x, rounding[k].op, rounding[k].neon);
  }
  if (x->bytes > 16) {
    seer_text_printf(
        x->text, "#%s defined(__SSE4_1__) || defined(__aarch64__)\n", r ? "elif" : "if");
    for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++) put_by_halves(x, rounding[k].op, 1);
  }
  bool is_only = !r && x->bytes <= 16;
  if (!is_only) seer_text_put(x->text, "#else\n");
  put(x, of_rounding);
  if (!is_only) seer_text_put(x->text, "#endif\n");
}

// ---- conversions that saturate

// $F floats -> $I integers, by way of $W, which hold all that is left of the floats ($R: as $I);
// $B, $H: the
// least and the greatest that is meant; $C: bounds are exact, or (else) the greatest float below
// the bound is less than the greatest integer.
static const char to_narrow[] =
    "HELPER $I float_$O_$F_$I($F x) {\n"
    "  x = select_$F(($M)(x > $B), x, splat_$F($B));\n"
    "  x = select_$F(($M)(x < $H), x, splat_$F($H));\n"
    "  return $R;\n"
    "}\n";
static const char to_narrow_signed[] =
    "HELPER $I float_$O_$F_$I($F x) {\n"
    "  x = ($F)(($M)x & ($M)(x == x));\n"
    "  x = select_$F(($M)(x > $B), x, splat_$F($B));\n"
    "  x = select_$F(($M)(x < $H), x, splat_$F($H));\n"
    "  return $R;\n"
    "}\n";
static const char to_wide[] =
    "HELPER $I float_$O_$F_$I($F x) {\n"
    "  const $M is_above = ($M)(x >= $H);\n"
    "  x = select_$F(($M)(x > $B), x, splat_$F($B));\n"
    "  x = ($F)(($M)x & ~is_above);\n"
    "  return select_$I(CONVERT(is_above, $I), splat_$I($G), ($I)CONVERT(x, $W));\n"
    "}\n";
static const char to_wide_signed[] =
    "HELPER $I float_$O_$F_$I($F x) {\n"
    "  const $M is_above = ($M)(x >= $H);\n"
    "  x = ($F)(($M)x & ($M)(x == x) & ~is_above);\n"
    "  x = select_$F(($M)(x > $B), x, splat_$F($B));\n"
    "  return select_$I(CONVERT(is_above, $I), splat_$I($G), CONVERT(x, $W));\n"
    "}\n";

static void put_saturating(
    seer_text *text, seer_vec_elem from, seer_vec_elem to, uint32_t lanes, bool is_signed) {
  uint32_t bits = seer_vec_elem_bits[to], places = from == SEER_VEC_F32 ? 24 : 53;
  uint32_t magnitude = is_signed ? bits - 1 : bits;
  bool is_exact = magnitude <= places;
  vector f = vector_of(text, from, lanes), i = vector_of(text, to, lanes);
  char low[24], high[24], greatest[24], way[16];
  const char *suffix = from == SEER_VEC_F32 ? "f" : "";
  snprintf(
      low, sizeof(low), is_signed ? "-0x1p%u%s" : "0x0p%u%s", is_signed ? bits - 1 : 0, suffix);
  if (is_exact)
    snprintf(high, sizeof(high), "%" PRIu64 ".0%s", (UINT64_C(1) << magnitude) - 1, suffix);
  else
    snprintf(high, sizeof(high), "0x1p%u%s", magnitude, suffix);
  snprintf(greatest, sizeof(greatest), is_signed ? "INT%u_MAX" : "-1", bits);
  // u32 and u64 keep their type; what fits goes through i32
  if (bits < 32)
    snprintf(way, sizeof(way), "i32x%u", lanes);
  else
    snprintf(way, sizeof(way), "%c%ux%u", is_signed ? 'i' : 'u', bits, lanes);
  const char *result = bits < 32
      ? seer_arena_printf(text->arena, "trunc_%s_%s(CONVERT(x, %s))", way, i.v, way)
      : seer_arena_printf(text->arena, "(%s)CONVERT(x, %s)", i.v, way);
  const char *const words[] = {"F", f.v, "I", i.v, "M", f.mask, "W", way, "R", result, "B", low,
      "H", high, "G", greatest, "O", is_signed ? "sint" : "uint", NULL};
  const char *pattern = is_exact ? (is_signed ? to_narrow_signed : to_narrow)
                                 : (is_signed ? to_wide_signed : to_wide);
  seer_source_put_words(text, pattern, words);
}

// ---- masked accesses

static void put_masked(const vector *x) {
  const reg *r = reg_of(x);
  bool is_float = seer_vec_is_float(x->elem);
  uint32_t bits = seer_vec_elem_bits[x->elem];
  char kind[16], test[32], c_type[16], reg_type[16], mask_type[16];
  const char *wide = x->bytes == 16 ? "128" : x->bytes == 32 ? "256" : "512";
  const char *suffix = is_float ? (bits == 32 ? "" : "d") : "i";
  if (r) {
    snprintf(kind, sizeof(kind), "epi%u", bits);
    snprintf(test, sizeof(test), "%s_test_epi%u_mask", r->prefix, bits);
    snprintf(reg_type, sizeof(reg_type), "__m%s%s", wide, suffix);
    snprintf(mask_type, sizeof(mask_type), "__m%si", wide);
    seer_text_printf(x->text, "#if %s%s\n",
        bits < 32 ? "defined(__AVX512BW__)" : "defined(__AVX512F__)",
        x->bytes < 64 ? " && defined(__AVX512VL__)" : "");
    const char *const words[] = {"V", x->v, "M", x->mask, "Q", r->prefix, "K",
        is_float ? kind_of(x) : kind, "T", test, "R", reg_type, "I", mask_type, NULL};
    seer_source_put_words(x->text, masked_avx512, words);
  }
  if (r && bits >= 32 && x->bytes < 64) {
    snprintf(kind, sizeof(kind), "epi%u", bits);
    snprintf(c_type, sizeof(c_type), "%s",
        is_float         ? bits == 32 ? "float" : "double"
            : bits == 32 ? "int"
                         : "long long");
    seer_text_printf(x->text, "#elif defined(%s)\n", is_float ? "__AVX__" : "__AVX2__");
    const char *const words[] = {"V", x->v, "M", x->mask, "Q", r->prefix, "K",
        is_float ? kind_of(x) : kind, "C", c_type, "R", reg_type, "I", mask_type, NULL};
    seer_source_put_words(x->text, masked_avx, words);
  }
  if (r) seer_text_put(x->text, "#else\n");
  put(x, masked_lanes);
  if (r) seer_text_put(x->text, "#endif\n");
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
  vector x = vector_of(text, from, lanes), y = vector_of(text, to, lanes);
  const reg *r = reg_of(&y);
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
    vector x = vector_of(text, from, lanes);
    for (seer_vec_elem to = SEER_VEC_I8; to <= SEER_VEC_I64; to++) {
      vector y = vector_of(text, to, lanes);
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
    seer_text_printf(
        text, "#if defined(%s)\n%s", half_instructions[k].if_there, half_instructions[k].pattern);
    before = "elif";
  }
  seer_text_printf(text, "#%s defined(__F16C__) || defined(__ARM_FP16_FORMAT_IEEE)\n", before);
  seer_source_put_words(
      text, lanes <= 4 ? of_half_floats_by_lanes : of_half_floats_by_halves, words);
  seer_text_put(text, "#else\n");
  seer_source_put_words(text, of_half_floats, words);
  seer_text_put(text, "#endif\n");
}

// ---- all of it

static void put_types(seer_text *text, uint32_t lanes) {
  for (seer_vec_elem e = SEER_VEC_I8; e <= SEER_VEC_F64; e++) {
    vector x = vector_of(text, e, lanes);
    const char *const names[] = {seer_vec_elem_names[e], x.v, x.u};
    uint32_t bits = seer_vec_elem_bits[e];
    seer_text_printf(
        text, "typedef %s %s __attribute__((vector_size(%u)));\n", names[0], names[1], x.bytes);
    if (!seer_vec_is_float(e))
      seer_text_printf(
          text, "typedef u%u %s __attribute__((vector_size(%u)));\n", bits, names[2], x.bytes);
  }
}

// An empty instruction that gives back what it takes, so that nobody knows what it gives.
static void put_keep(const vector *x) {
  const reg *r = reg_of(x);
  if (r) {
    seer_text_printf(x->text, "#if !defined(__clang__) && %s\n", r->if_simple);
    put(x,
        "HELPER $V keep_$V($V x) {\n"
        "  __asm__(\"\" : \"+v\"(x));\n"
        "  return x;\n"
        "}\n"
        "#else\n");
  }
  put(x, "HELPER $V keep_$V($V x) { return x; }\n");
  if (r) seer_text_put(x->text, "#endif\n");
}

static void put_any(const vector *x) {
  put(x,
      x->lanes == 2 ? "HELPER bool any_$V($V m) { return (m[0] | m[1]) != 0; }\n"
                    : "HELPER bool any_$V($V m) { return any_$H(low_$V(m) | high_$V(m)); }\n");
}

static void put_lanes(seer_text *text, uint32_t lanes) {
  seer_text_printf(text, "\n// ---- %u lanes\n", lanes);
  for (seer_vec_elem e = SEER_VEC_I8; e <= SEER_VEC_F64; e++) {
    vector x = vector_of(text, e, lanes);
    put(&x, of_any);
    put_keep(&x);
    if (lanes > 2) put_halves(&x);
    if (seer_vec_is_float(e)) {
      put(&x, of_floats);
      put_extremes(&x);
      put_fmuladd(&x);
      put_sqrt(&x);
      put_rounding(&x);
    } else {
      put(&x, of_integers);
      put_any(&x);
    }
    put_masked(&x);
  }
  put_widths(text, lanes);
  for (seer_vec_elem to = SEER_VEC_I8; to <= SEER_VEC_I64; to++) {
    for (int k = 0; k < 4; k++)
      put_saturating(text, k < 2 ? SEER_VEC_F32 : SEER_VEC_F64, to, lanes, k % 2 == 0);
  }
  put_half_floats(text, lanes);
}

static void put_prelude(seer_text *text) {
  seer_text_put(text, heading);
  seer_source_put_scalars(text);
  put_one_lane(text);
  seer_text_put(text, "\n");
  for (uint32_t lanes = 2; lanes <= SEER_SOURCE_MAX_LANES; lanes *= 2) put_types(text, lanes);
  for (uint32_t lanes = 2; lanes <= SEER_SOURCE_MAX_LANES; lanes *= 2) put_lanes(text, lanes);
}

const seer_dialect seer_dialect_c_vectors = {.name = "c-vectors",
    .doc = "C17 with the vector extensions of GCC and clang",
    .max_lanes = SEER_SOURCE_MAX_LANES,
    .put_prelude = put_prelude};
