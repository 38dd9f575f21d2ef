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

#include "code/source/lanes.h"

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
    "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || \\\n"
    "    (defined(__riscv_flen) && __riscv_flen >= 64)\n"
    "#define HAS_FMA\n"
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
    "// not _cvtsh_ss: GCC takes a register of zeros for it, which kernels have none to spare for\n"
    "HELPER f32 bits_half_i16(i16 x) {\n"
    "  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128((u16)x)));\n"
    "}\n"
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
  const char *op, *immediate, *neon;
} rounding[] = {
    {"floor", "_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC", "vrndm"},
    {"ceil", "_MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC", "vrndp"},
    {"ftrunc", "_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC", "vrnd"},
    {"round", "_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC", "vrndn"},
};

static void put_one_lane(seer_text *text) {
  seer_text_put(text, one_lane);
  seer_text_put(text, "#if defined(__SSE4_1__)\n");
  for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++)
    seer_source_put_words(text, one_lane_rounding,
        (const char *const[]){"O", rounding[k].op, "M", rounding[k].immediate, NULL});
  seer_text_put(text, "#elif defined(__aarch64__)\n");
  for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++) {
    const char *const words[] = {"O", rounding[k].op, "I", rounding[k].neon, NULL};
    seer_source_put_words(text,
        "HELPER f32 $O_f32(f32 x) { return vget_lane_f32($I_f32(vdup_n_f32(x)), 0); }\n"
        "HELPER f64 $O_f64(f64 x) { return vget_lane_f64($I_f64(vdup_n_f64(x)), 0); }\n",
        words);
  }
  seer_text_put(text, "#else\n");
  seer_source_put_rounding(text);
  seer_text_put(text, "#endif\n");
  seer_text_put(text, one_lane_halves);
  seer_source_put_halves(text);
  seer_text_put(text, "#endif\n");
}

// ---- several lanes

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
    "HELPER $V copysign_$V($V x, $V y) { return ($V)((($M)x & ~$S) | (($M)y & $S)); }\n";

static const char of_minimum[] =
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

static void put_halves(const seer_source_vector *x) {
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

static const char *kind_of(const seer_source_vector *x) {
  return x->elem == SEER_VEC_F32 ? "ps" : "pd";
}

// Lane by lane, by the helper on one lane.
static void put_by_lanes(const seer_source_vector *x, const char *op, uint32_t n_args) {
  seer_text pattern;
  seer_text_init(&pattern, x->text->arena);
  seer_text_printf(&pattern,
      "HELPER $V %s_$V(%s) {\n  for (int l = 0; l < $N; l++) a[l] = %s_$E(%s);\n  return a;\n}\n",
      op, n_args == 3 ? "$V a, $V b, $V c" : "$V a", op, n_args == 3 ? "a[l], b[l], c[l]" : "a[l]");
  seer_source_put_lanes(x, pattern.data);
}

// One instruction of NEON: `arguments` of a, b, ..., in its order.
static void put_neon(const seer_source_vector *x, const char *op, const char *neon,
    const char *head, const char *arguments) {
  seer_text pattern;
  seer_text_init(&pattern, x->text->arena);
  seer_text_printf(
      &pattern, "HELPER $V %s_$V(%s) { return ($V)%sq_$E(%s); }\n", op, head, neon, arguments);
  seer_source_put_lanes(x, pattern.data);
}

// clang contracts where it is told to; GCC is given the instruction.
static void put_fmuladd(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  seer_text_put(x->text, "#if defined(__clang__)\n");
  seer_source_put_lanes(x,
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
    seer_source_put_lanes(x, pattern.data);
  }
  if (x->bytes == 16) {
    seer_text_put(x->text, "#elif defined(__aarch64__)\n");
    put_neon(x, "fmuladd", "vfma", "$V a, $V b, $V c", "($R)c, ($R)a, ($R)b");
  }
  seer_text_put(x->text, "#elif defined(HAS_FMA)\n");
  if (x->bytes > 16)
    seer_source_put_by_halves(x, "fmuladd", 3);
  else
    put_by_lanes(x, "fmuladd", 3);
  seer_text_put(x->text, "#else\n");
  seer_source_put_lanes(x, "HELPER $V fmuladd_$V($V a, $V b, $V c) { return a * b + c; }\n");
  seer_text_put(x->text, "#endif\n");
}

static void put_one_instruction(
    const seer_source_vector *x, const char *op, const char *x86, const char *immediate) {
  seer_text pattern;
  seer_text_init(&pattern, x->text->arena);
  seer_text_printf(&pattern, "HELPER $V %s_$V($V x) { return ($V)%s_%s_%s(x%s%s); }\n", op,
      seer_source_register_of(x)->prefix, x86, kind_of(x), immediate[0] ? ", " : "", immediate);
  seer_source_put_lanes(x, pattern.data);
}

// a > b ? a : b and a < b ? a : b, of which MAXPS and MINPS are exactly this.
static void put_extremes(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  if (r) {
    seer_text_printf(x->text, "#if %s\n", r->if_simple);
    seer_text pattern;
    seer_text_init(&pattern, x->text->arena);
    seer_text_printf(&pattern,
        "HELPER $V larger_$V($V a, $V b) { return ($V)%s_max_%s(a, b); }\n"
        "HELPER $V smaller_$V($V a, $V b) { return ($V)%s_min_%s(a, b); }\n",
        r->prefix, kind_of(x), r->prefix, kind_of(x));
    seer_source_put_lanes(x, pattern.data);
    seer_text_put(x->text, "#else\n");
  }
  seer_source_put_lanes(x,
      "HELPER $V larger_$V($V a, $V b) { return select_$V(($M)(a > b), a, b); }\n"
      "HELPER $V smaller_$V($V a, $V b) { return select_$V(($M)(a < b), a, b); }\n");
  if (r) seer_text_put(x->text, "#endif\n");
}

// FMIN and FMAX let NaN through and know the zeros apart.
static void put_minimum(const seer_source_vector *x) {
  bool has_neon = x->bytes >= 16;
  if (has_neon) seer_text_put(x->text, "#if defined(__aarch64__)\n");
  if (x->bytes == 16) {
    put_neon(x, "fminimum", "vmin", "$V x, $V y", "($R)x, ($R)y");
    put_neon(x, "fmaximum", "vmax", "$V x, $V y", "($R)x, ($R)y");
  } else if (has_neon) {
    seer_source_put_by_halves(x, "fminimum", 2);
    seer_source_put_by_halves(x, "fmaximum", 2);
  }
  if (has_neon) seer_text_put(x->text, "#else\n");
  seer_source_put_lanes(x, of_minimum);
  if (has_neon) seer_text_put(x->text, "#endif\n");
}

static void put_sqrt(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  if (r) {
    seer_text_printf(x->text, "#if %s\n", r->if_simple);
    put_one_instruction(x, "sqrt", "sqrt", "");
    if (x->bytes == 16) {
      seer_text_put(x->text, "#elif defined(__aarch64__)\n");
      put_neon(x, "sqrt", "vsqrt", "$V x", "($R)x");
    }
    seer_text_put(x->text, "#else\n");
  }
  if (x->bytes > 16)
    seer_source_put_by_halves(x, "sqrt", 1);
  else
    put_by_lanes(x, "sqrt", 1);
  if (r) seer_text_put(x->text, "#endif\n");
}

static void put_rounding(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  if (r) {
    seer_text_printf(x->text, "#if %s\n", r->if_rounding);
    for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++)
      put_one_instruction(
          x, rounding[k].op, x->bytes == 64 ? "roundscale" : "round", rounding[k].immediate);
  }
  if (r && x->bytes == 16) {
    seer_text_put(x->text, "#elif defined(__aarch64__)\n");
    for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++)
      put_neon(x, rounding[k].op, rounding[k].neon, "$V x", "($R)x");
  }
  if (x->bytes > 16) {
    seer_text_printf(
        x->text, "#%s defined(__SSE4_1__) || defined(__aarch64__)\n", r ? "elif" : "if");
    for (size_t k = 0; k < SEER_COUNT_OF(rounding); k++)
      seer_source_put_by_halves(x, rounding[k].op, 1);
  }
  bool is_only = !r && x->bytes <= 16;
  if (!is_only) seer_text_put(x->text, "#else\n");
  seer_source_put_lanes(x, of_rounding);
  if (!is_only) seer_text_put(x->text, "#endif\n");
}

// ---- masked accesses

static void put_masked(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
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
  seer_source_put_lanes(x, masked_lanes);
  if (r) seer_text_put(x->text, "#endif\n");
}

// ---- all of it

static void put_types(seer_text *text, uint32_t lanes) {
  for (seer_vec_elem e = SEER_VEC_I8; e <= SEER_VEC_F64; e++) {
    seer_source_vector x = seer_source_vector_of(text, e, lanes);
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
static void put_keep(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  if (r) {
    seer_text_printf(x->text, "#if !defined(__clang__) && %s\n", r->if_simple);
    seer_source_put_lanes(x,
        "HELPER $V keep_$V($V x) {\n"
        "  __asm__(\"\" : \"+v\"(x));\n"
        "  return x;\n"
        "}\n"
        "#else\n");
  }
  seer_source_put_lanes(x, "HELPER $V keep_$V($V x) { return x; }\n");
  if (r) seer_text_put(x->text, "#endif\n");
}

// A sum that goes on. GCC would add up the products of several steps before, which then are more
// than there are registers for: of a gemm in i8, 128 x 256 x 256, AVX2 ran 8.80 million
// instructions, 7.91 with this, 8.24 as LLVM has it; NEON had 32 of 56 multiply-adds (GCC 12).
static void put_ordered(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  if (r) {
    seer_text_printf(x->text, "#if !defined(__clang__) && %s\n", r->if_simple);
    seer_source_put_lanes(x, "HELPER $V ordered_$V($V x) { return keep_$V(x); }\n");
  }
  if (x->bytes == 16) {
    seer_text_put(x->text, "#elif !defined(__clang__) && defined(__aarch64__)\n");
    seer_source_put_lanes(x,
        "HELPER $V ordered_$V($V x) {\n"
        "  __asm__(\"\" : \"+w\"(x));\n"
        "  return x;\n"
        "}\n");
  }
  if (r) seer_text_put(x->text, "#else\n");
  seer_source_put_lanes(x, "HELPER $V ordered_$V($V x) { return x; }\n");
  if (r) seer_text_put(x->text, "#endif\n");
}

static void put_any(const seer_source_vector *x) {
  seer_source_put_lanes(x,
      x->lanes == 2 ? "HELPER bool any_$V($V m) { return (m[0] | m[1]) != 0; }\n"
                    : "HELPER bool any_$V($V m) { return any_$H(low_$V(m) | high_$V(m)); }\n");
}

static void put_lanes(seer_text *text, uint32_t lanes) {
  seer_text_printf(text, "\n// ---- %u lanes\n", lanes);
  for (seer_vec_elem e = SEER_VEC_I8; e <= SEER_VEC_F64; e++) {
    seer_source_vector x = seer_source_vector_of(text, e, lanes);
    seer_source_put_lanes(&x, of_any);
    put_keep(&x);
    if (lanes > 2) put_halves(&x);
    if (seer_vec_is_float(e)) {
      seer_source_put_lanes(&x, of_floats);
      put_minimum(&x);
      put_extremes(&x);
      put_fmuladd(&x);
      put_sqrt(&x);
      put_rounding(&x);
      if (e == SEER_VEC_F32) seer_source_put_dot_halves(&x);
    } else {
      seer_source_put_lanes(&x, of_integers);
      put_ordered(&x);
      put_any(&x);
      if (e == SEER_VEC_I8) seer_source_put_lookup_lanes(&x);
      if (e == SEER_VEC_I32) seer_source_put_dot_lanes(&x);
    }
    put_masked(&x);
  }
  seer_source_put_conversions(text, lanes);
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
