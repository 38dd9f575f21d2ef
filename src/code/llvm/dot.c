// dot.c - DOT4 and DOT2 in LLVM: the instruction that a processor has for it, else others.
//
// DOT4, exact by all of them:
//   AVX512-VNNI, AVX-VNNI  vpdpbusd
//   SSE2, AVX2, AVX-512BW  bytes at even and at odd places as numbers of 16 bits, two pmaddwd. Not
//                          pmaddubsw, whose sums of two saturate at 16 bits
//   AArch64, i8mm          usdot
//   AArch64, dotprod       sdot of a - 128, and the 128 sums of b: a * b = (a - 128) * b + 128 * b
//   others                 four products of numbers of 32 bits
// DOT2:
//   AVX512-BF16, no AMX    vdpbf16ps: a rounding for each product; numbers below 2^-126 are 0
//   AArch64, bf16          bfdot: the products' sum and its sum with the third, rounded to odd
//   others                 two multiply-adds on what the halves are in f32, which is their bits
//
// What is made of one argument alone (its bytes at even places) is the same value wherever the
// argument is: passes make it once for all the rows or columns of a tile.
#include "code/llvm/llvm.h"
#include "setup/isa.h"

typedef enum { VNNI, MADD, USDOT, SDOT, HALVES } way;

// An instruction on a register of so many lanes.
typedef struct {
  way way;
  uint32_t lanes;
  const char *intrinsic, *features;  // NULL: all of the architecture have it
} instruction;

// Of each way the widest first. The shorter ones of AVX512-VNNI need AVX512-VL, which no processor
// with it lacks, but a list of features may.
static const instruction of_x86[] = {
    {VNNI, 16, "llvm.x86.avx512.vpdpbusd.512", "avx512vnni"},
    {VNNI, 8, "llvm.x86.avx512.vpdpbusd.256", "avx512vnni,avx512vl"},
    {VNNI, 8, "llvm.x86.avx512.vpdpbusd.256", "avxvnni"},
    {VNNI, 4, "llvm.x86.avx512.vpdpbusd.128", "avx512vnni,avx512vl"},
    {VNNI, 4, "llvm.x86.avx512.vpdpbusd.128", "avxvnni"},
    {MADD, 16, "llvm.x86.avx512.pmaddw.d.512", "avx512bw"},
    {MADD, 8, "llvm.x86.avx2.pmadd.wd", "avx2"},
    {MADD, 4, "llvm.x86.sse2.pmadd.wd", NULL},
};
static const instruction of_arm[] = {
    {USDOT, 4, "llvm.aarch64.neon.usdot", "i8mm"},
    {SDOT, 4, "llvm.aarch64.neon.sdot", "dotprod"},
};
static const instruction of_x86_halves[] = {
    {HALVES, 16, "llvm.x86.avx512bf16.dpbf16ps.512", "avx512bf16"},
    {HALVES, 8, "llvm.x86.avx512bf16.dpbf16ps.256", "avx512bf16,avx512vl"},
    {HALVES, 4, "llvm.x86.avx512bf16.dpbf16ps.128", "avx512bf16,avx512vl"},
};
static const instruction of_arm_halves[] = {{HALVES, 4, "llvm.aarch64.neon.bfdot", "bf16"}};

// Of the first way that there is: the widest that is no longer than `lanes`, else the shortest.
static const instruction *choose(const seer_target *target, bool is_halves, uint32_t lanes) {
  static const struct {
    const instruction *all;
    size_t n;
  } lists[][2] = {{{of_x86, SEER_COUNT_OF(of_x86)}, {of_x86_halves, SEER_COUNT_OF(of_x86_halves)}},
      {{of_arm, SEER_COUNT_OF(of_arm)}, {of_arm_halves, SEER_COUNT_OF(of_arm_halves)}}};
  const instruction *best = NULL;
  seer_isa isa;
  if (!seer_isa_of(target->triple, &isa) || isa == SEER_ISA_RISCV64) return NULL;
  if (is_halves && !seer_target_dots_halves(target)) return NULL;
  const instruction *all = lists[isa == SEER_ISA_AARCH64][is_halves].all;
  size_t n = lists[isa == SEER_ISA_AARCH64][is_halves].n;
  for (size_t k = 0; k < n; k++) {
    if (all[k].lanes * 4 > target->vector_bytes) continue;  // no register of LLVM's then
    if (all[k].features && !seer_target_has(target, all[k].features)) continue;
    if (best && best->way != all[k].way) break;
    if (!best || best->lanes > lanes) best = &all[k];
  }
  return best;
}

// ---- LLVM's values

typedef struct {
  const seer_target *target;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMTypeRef i8, i16, i32, f32, bf16;
  bool is_halves;
} maker;

static uint32_t lanes_of(LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

// `value` in all lanes, as many as `like` has.
static LLVMValueRef all(LLVMTypeRef elem, uint32_t lanes, uint64_t value) {
  LLVMValueRef lane[SEER_VEC_MAX_LANES * 2];
  SEER_ASSERT(lanes <= SEER_COUNT_OF(lane), "%u lanes", lanes);
  for (uint32_t l = 0; l < lanes; l++) lane[l] = LLVMConstInt(elem, value, false);
  return lanes == 1 ? lane[0] : LLVMConstVector(lane, lanes);
}

static LLVMValueRef take(
    const maker *m, LLVMValueRef x, LLVMValueRef y, uint32_t first, uint32_t lanes) {
  return seer_llvm_take(m->b, x, y, first, lanes, lanes);
}

// x, followed by lanes that are anything.
static LLVMValueRef lengthen(const maker *m, LLVMValueRef x, uint32_t lanes) {
  if (lanes_of(x) == lanes) return x;
  if (lanes_of(x) > 1) return take(m, x, NULL, 0, lanes);
  LLVMValueRef none = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x), lanes));
  return LLVMBuildInsertElement(m->b, none, x, LLVMConstInt(m->i32, 0, false), "");
}

static LLVMValueRef shorten(const maker *m, LLVMValueRef x, uint32_t lanes) {
  if (lanes_of(x) == lanes) return x;
  if (lanes > 1) return take(m, x, NULL, 0, lanes);
  return LLVMBuildExtractElement(m->b, x, LLVMConstInt(m->i32, 0, false), "");
}

// Calls an instruction; its arguments are taken as the types that it wants.
static LLVMValueRef call(
    const maker *m, const instruction *one, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
  LLVMTypeRef overload[2] = {LLVMVectorType(m->is_halves ? m->f32 : m->i32, one->lanes),
      m->is_halves ? LLVMVectorType(m->bf16, one->lanes * 2)
                   : LLVMVectorType(m->i8, one->lanes * 4)};
  LLVMValueRef arg[3] = {x, y, z};
  return seer_llvm_call(m->module, m->b, one->intrinsic, overload, 2, arg, z ? 3 : 2);
}

// ---- ways

static LLVMValueRef by_words(const maker *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc) {
  uint32_t n = lanes_of(a);
  LLVMValueRef mask = all(m->i32, n, 255), top = all(m->i32, n, 24);
  for (uint32_t k = 0; k < 4; k++) {
    LLVMValueRef x = LLVMBuildLShr(m->b, a, all(m->i32, n, 8 * k), "");
    LLVMValueRef y = LLVMBuildShl(m->b, b, all(m->i32, n, 24 - 8 * k), "");
    x = LLVMBuildAnd(m->b, x, mask, "");
    y = LLVMBuildAShr(m->b, y, top, "");
    acc = LLVMBuildAdd(m->b, acc, LLVMBuildMul(m->b, x, y, ""), "");
  }
  return acc;
}

// The lower halves' product is added first, as vdpbf16ps does last.
static LLVMValueRef by_fmas(const maker *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc) {
  uint32_t n = lanes_of(a);
  LLVMTypeRef type = LLVMTypeOf(acc);
  LLVMValueRef sixteen = all(m->i32, n, 16), high = all(m->i32, n, 0xFFFF0000);
  for (uint32_t k = 0; k < 2; k++) {
    LLVMValueRef x = k ? LLVMBuildAnd(m->b, a, high, "") : LLVMBuildShl(m->b, a, sixteen, "");
    LLVMValueRef y = k ? LLVMBuildAnd(m->b, b, high, "") : LLVMBuildShl(m->b, b, sixteen, "");
    LLVMValueRef arg[3] = {
        LLVMBuildBitCast(m->b, x, type, ""), LLVMBuildBitCast(m->b, y, type, ""), acc};
    acc = seer_llvm_call(m->module, m->b, "llvm.fmuladd", &type, 1, arg, 3);
  }
  return acc;
}

static LLVMValueRef by_madd(
    const maker *m, const instruction *one, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc) {
  uint32_t n = one->lanes * 2;
  LLVMTypeRef halves = LLVMVectorType(m->i16, n);
  LLVMValueRef eight = all(m->i16, n, 8);
  a = LLVMBuildBitCast(m->b, a, halves, "");
  b = LLVMBuildBitCast(m->b, b, halves, "");
  LLVMValueRef a_even = LLVMBuildAnd(m->b, a, all(m->i16, n, 255), "");
  LLVMValueRef a_odd = LLVMBuildLShr(m->b, a, eight, "");
  LLVMValueRef b_even = LLVMBuildAShr(m->b, LLVMBuildShl(m->b, b, eight, ""), eight, "");
  LLVMValueRef b_odd = LLVMBuildAShr(m->b, b, eight, "");
  LLVMValueRef even = call(m, one, a_even, b_even, NULL), odd = call(m, one, a_odd, b_odd, NULL);
  return LLVMBuildAdd(m->b, acc, LLVMBuildAdd(m->b, even, odd, ""), "");
}

static LLVMValueRef by_sdot(
    const maker *m, const instruction *one, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc) {
  LLVMValueRef flip = all(m->i32, one->lanes, 0x80808080), zero = all(m->i32, one->lanes, 0);
  LLVMValueRef sums = call(m, one, zero, flip, b);  // -128 times those of b
  acc = call(m, one, acc, LLVMBuildXor(m->b, a, flip, ""), b);
  return LLVMBuildSub(m->b, acc, sums, "");
}

// Of as many lanes as the instruction has.
static LLVMValueRef on_register(
    const maker *m, const instruction *one, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc) {
  switch (one->way) {
    case VNNI:
    case USDOT:
    case HALVES:
      return call(m, one, acc, a, b);
    case MADD:
      return by_madd(m, one, a, b, acc);
    case SDOT:
      return by_sdot(m, one, a, b, acc);
  }
  return NULL;
}

// Of a power of two of lanes, none fewer than the shortest register has.
static LLVMValueRef on_lanes(
    const maker *m, uint32_t lanes, LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc) {
  const instruction *one = choose(m->target, m->is_halves, lanes);
  if (one->lanes == lanes) return on_register(m, one, a, b, acc);
  uint32_t half = lanes / 2;
  LLVMValueRef part[2];
  for (uint32_t k = 0; k < 2; k++)
    part[k] = on_lanes(m, half, take(m, a, NULL, k * half, half), take(m, b, NULL, k * half, half),
        take(m, acc, NULL, k * half, half));
  return take(m, part[0], part[1], 0, lanes);
}

LLVMValueRef seer_llvm_dot(const seer_target *target, LLVMModuleRef module, LLVMBuilderRef builder,
    LLVMValueRef a, LLVMValueRef b, LLVMValueRef acc) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  maker m = {.target = target, .module = module, .b = builder};
  m.i8 = LLVMInt8TypeInContext(context);
  m.i16 = LLVMInt16TypeInContext(context);
  m.i32 = LLVMInt32TypeInContext(context);
  m.f32 = LLVMFloatTypeInContext(context);
  m.bf16 = LLVMBFloatTypeInContext(context);
  m.is_halves = LLVMTypeOf(acc) != LLVMTypeOf(a);
  uint32_t lanes = lanes_of(a);
  const instruction *one = choose(target, m.is_halves, lanes);
  if (!one) return m.is_halves ? by_fmas(&m, a, b, acc) : by_words(&m, a, b, acc);
  uint32_t whole = one->lanes;
  while (whole < lanes) whole *= 2;
  LLVMValueRef sum =
      on_lanes(&m, whole, lengthen(&m, a, whole), lengthen(&m, b, whole), lengthen(&m, acc, whole));
  return shorten(&m, sum, lanes);
}
