// dialects.c - OpenCL C 1.2 and CUDA C: each a prelude that makes the words of the printer of what
// the language has, and a frame for kernels. Helpers on one lane are those of plain C (c.c).
//
// CUDA C is for NVRTC, which has no headers: without --use_fast_math, and with --fmad=false, so
// that no product becomes one operation with a sum where it does not say so.
//
// OpenCL's compilers for processors make vectors of items. Neighbours are one load or store only
// if an item's number in 32 bits, times bytes, cannot wrap: ITEMS says so, since Intel's compiler
// does not take it from the block's size that the kernel requires. Nor does it say that FMAs are
// fast (FP_FAST_FMAF): then the compiler may make one of a product and a sum, here alone; mad is a
// call until late, and keeps loops from being written out. Oclgrind knows no assumptions, and is
// left without both (SEER_UNSAID). doc/decisions, 112.
//
// Where the text itself is compiled for a processor (PoCL; others first make SPIR of it) a kernel
// has another form, in which items that follow each other are lanes of vectors (spread.c): each
// block's first item of so many does what all of them do.
#include "code/source/internal.h"

static const char opencl[] =
    "// Kernels in OpenCL C 1.2: global size is blocks times items, local size items. No product "
    "is\n"
    "// to become one operation with a sum where it does not say so.\n"
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#endif\n"
    "#define HELPER static inline\n"
    "#define RESTRICT restrict\n"
    "#define INFINITY_F32 INFINITY\n"
    "#define INFINITY_F64 ((f64)INFINITY)\n"
    "#define INT32_MIN (-2147483647 - 1)\n"
    "#define INT64_MIN (-9223372036854775807L - 1)\n"
    "#define INT64_C(x) x##L\n"
    "#define UINT64_C(x) x##UL\n"
    "#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)\n"
    "#define N_ITEMS() ((i32)get_local_size(0))\n"
    "#define LOAD_GLOBAL(type, align, pointer) (*(const __global type *)(pointer))\n"
    "#define LOAD_GROUP(type, align, pointer) (*(const __local type *)(pointer))\n"
    "#define STORE_GLOBAL(type, align, pointer, value) (*(__global type *)(pointer) = (value))\n"
    "#define STORE_GROUP(type, align, pointer, value) (*(__local type *)(pointer) = (value))\n"
    "typedef char i8;\n"
    "typedef short i16;\n"
    "typedef int i32;\n"
    "typedef long i64;\n"
    "typedef uchar u8;\n"
    "typedef ushort u16;\n"
    "typedef uint u32;\n"
    "typedef ulong u64;\n"
    "typedef float f32;\n"
    "typedef char2 i8x2;\n"
    "typedef char4 i8x4;\n"
    "typedef char8 i8x8;\n"
    "typedef short2 i16x2;\n"
    "typedef short4 i16x4;\n"
    "typedef short8 i16x8;\n"
    "typedef int2 i32x2;\n"
    "typedef int4 i32x4;\n"
    "typedef long2 i64x2;\n"
    "typedef float2 f32x2;\n"
    "typedef float4 f32x4;\n"
    "#define PACK2(type, a, b) ((type)(a, b))\n"
    "#define PACK4(type, a, b, c, d) ((type)(a, b, c, d))\n"
    "#define PACK8(type, a, b, c, d, e, f, g, h) ((type)(a, b, c, d, e, f, g, h))\n"
    "#define bitcast_f32_i32(x) as_int(x)\n"
    "#define bitcast_i32_f32(x) as_float(x)\n"
    "HELPER f32 sqrt_f32(f32 x) { return sqrt(x); }\n"
    "#ifdef FP_FAST_FMAF\n"
    "HELPER f32 fmuladd_f32(f32 a, f32 b, f32 c) { return fma(a, b, c); }\n"
    "#elif defined(SEER_UNSAID)\n"
    "HELPER f32 fmuladd_f32(f32 a, f32 b, f32 c) { return a * b + c; }\n"
    "#else\n"
    "HELPER f32 fmuladd_f32(f32 a, f32 b, f32 c) {\n"
    "#pragma OPENCL FP_CONTRACT ON\n"
    "  return a * b + c;\n"
    "}\n"
    "#endif\n"
    "#if defined(__has_builtin) && !defined(SEER_UNSAID)\n"
    "#if __has_builtin(__builtin_assume)\n"
    "#define ITEMS(n) __builtin_assume(get_local_id(0) < (n))\n"
    "#endif\n"
    "#endif\n"
    "#ifndef ITEMS\n"
    "#define ITEMS(n) ((void)0)\n"
    "#endif\n"
    // So many at most: a vector that is longer than the processor's cannot be passed to a function.
    "#if defined(__AVX512F__) || defined(__aarch64__)\n"
    "#define ITEMS_ARE_LANES 16\n"
    "#elif defined(__AVX__)\n"
    "#define ITEMS_ARE_LANES 8\n"
    "#elif defined(__x86_64__)\n"
    "#define ITEMS_ARE_LANES 4\n"
    "#endif\n"
    "#ifdef ITEMS_ARE_LANES\n"
    "typedef float8 f32x8;\n"
    "typedef float16 f32x16;\n"
    "typedef int8 i32x8;\n"
    "typedef int16 i32x16;\n"
    "#define LOAD_ITEMS(n, pointer) vload##n(0, (const __global f32 *)(pointer))\n"
    "#define STORE_ITEMS(n, pointer, value) vstore##n(value, 0, (__global f32 *)(pointer))\n"
    "#define FROM __global const char *\n"
    "#define INTO __global char *\n"
    // Of every other element; what lies behind the last one is not loaded.
    "#define LOAD_ALTERNATE(n, pointer) \\\n"
    "  ((f32x##n)(LOAD_ITEMS(n, pointer).even, LOAD_ITEMS(n, (pointer) + (n - 1) * 4).odd))\n"
    "HELPER f32x4 load_apart_f32x4(FROM p, i32 by) {\n"
    "  if (by == 8) return LOAD_ALTERNATE(4, p);\n"
    "  return (f32x4)(*(__global const f32 *)p, *(__global const f32 *)(p + by), \\\n"
    "      *(__global const f32 *)(p + 2 * by), *(__global const f32 *)(p + 3 * by));\n"
    "}\n"
    "HELPER void store_apart_f32x4(INTO p, i32 by, f32x4 x) {\n"
    "  *(__global f32 *)p = x.s0;\n"
    "  *(__global f32 *)(p + by) = x.s1;\n"
    "  *(__global f32 *)(p + 2 * by) = x.s2;\n"
    "  *(__global f32 *)(p + 3 * by) = x.s3;\n"
    "}\n"
    "#define APART(n, half) \\\n"
    "  HELPER f32x##n load_apart_f32x##n(FROM p, i32 by) { \\\n"
    "    if (by == 8) return LOAD_ALTERNATE(n, p); \\\n"
    "    return (f32x##n)( \\\n"
    "        load_apart_f32x##half(p, by), load_apart_f32x##half(p + half * by, by)); \\\n"
    "  } \\\n"
    "  HELPER void store_apart_f32x##n(INTO p, i32 by, f32x##n x) { \\\n"
    "    store_apart_f32x##half(p, by, x.lo); \\\n"
    "    store_apart_f32x##half(p + half * by, by, x.hi); \\\n"
    "  }\n"
    // For some items only: accesses of the others are not made.
    "HELPER f32x4 load_some_apart_f32x4(FROM p, i32 by, i32x4 m) {\n"
    "  f32x4 x = 0.0f;\n"
    "  if (m.s0) x.s0 = *(__global const f32 *)p;\n"
    "  if (m.s1) x.s1 = *(__global const f32 *)(p + by);\n"
    "  if (m.s2) x.s2 = *(__global const f32 *)(p + 2 * by);\n"
    "  if (m.s3) x.s3 = *(__global const f32 *)(p + 3 * by);\n"
    "  return x;\n"
    "}\n"
    "HELPER void store_some_apart_f32x4(INTO p, i32 by, f32x4 x, i32x4 m) {\n"
    "  if (m.s0) *(__global f32 *)p = x.s0;\n"
    "  if (m.s1) *(__global f32 *)(p + by) = x.s1;\n"
    "  if (m.s2) *(__global f32 *)(p + 2 * by) = x.s2;\n"
    "  if (m.s3) *(__global f32 *)(p + 3 * by) = x.s3;\n"
    "}\n"
    "#define SOME_APART(n, half) \\\n"
    "  HELPER f32x##n load_some_apart_f32x##n(FROM p, i32 by, i32x##n m) { \\\n"
    "    if (all(m)) return load_apart_f32x##n(p, by); \\\n"
    "    return (f32x##n)(load_some_apart_f32x##half(p, by, m.lo), \\\n"
    "        load_some_apart_f32x##half(p + half * by, by, m.hi)); \\\n"
    "  } \\\n"
    "  HELPER void store_some_apart_f32x##n(INTO p, i32 by, f32x##n x, i32x##n m) { \\\n"
    "    store_some_apart_f32x##half(p, by, x.lo, m.lo); \\\n"
    "    store_some_apart_f32x##half(p + half * by, by, x.hi, m.hi); \\\n"
    "  }\n"
    "HELPER f32x4 load_some_f32x4(FROM p, i32x4 m) { return load_some_apart_f32x4(p, 4, m); }\n"
    "HELPER void store_some_f32x4(INTO p, f32x4 x, i32x4 m) {\n"
    "  store_some_apart_f32x4(p, 4, x, m);\n"
    "}\n"
    "#define SOME(n, half) \\\n"
    "  HELPER f32x##n load_some_f32x##n(FROM p, i32x##n m) { \\\n"
    "    return (f32x##n)( \\\n"
    "        load_some_f32x##half(p, m.lo), load_some_f32x##half(p + half * 4, m.hi)); \\\n"
    "  } \\\n"
    "  HELPER void store_some_f32x##n(INTO p, f32x##n x, i32x##n m) { \\\n"
    "    store_some_f32x##half(p, x.lo, m.lo); \\\n"
    "    store_some_f32x##half(p + half * 4, x.hi, m.hi); \\\n"
    "  }\n"
    "#define EXTREMES(n) \\\n"
    "  HELPER f32x##n fminimum_f32x##n(f32x##n x, f32x##n y) { \\\n"
    "    const f32x##n zero = as_float##n(as_int##n(x) | as_int##n(y)); \\\n"
    "    const f32x##n r = x < y ? x : x == y ? zero : y; \\\n"
    "    return x != x ? x : r; \\\n"
    "  } \\\n"
    "  HELPER f32x##n fmaximum_f32x##n(f32x##n x, f32x##n y) { \\\n"
    "    const f32x##n zero = as_float##n(as_int##n(x) & as_int##n(y)); \\\n"
    "    const f32x##n r = x > y ? x : x == y ? zero : y; \\\n"
    "    return x != x ? x : r; \\\n"
    "  }\n"
    // An integer of each item: that of the first one and so many steps
    "#define STEPS_4 ((i32x4)(0, 1, 2, 3))\n"
    "#define STEPS_8 ((i32x8)(STEPS_4, STEPS_4 + 4))\n"
    "#define STEPS_16 ((i32x16)(STEPS_8, STEPS_8 + 8))\n"
    "#define STEPS(n, first, by) ((i32x##n)(first) + STEPS_##n * (i32x##n)(by))\n"
    "EXTREMES(4)\n"
    "#if ITEMS_ARE_LANES >= 8\n"
    "APART(8, 4)\n"
    "SOME_APART(8, 4)\n"
    "EXTREMES(8)\n"
    "#if defined(__AVX__)\n"
    "typedef f32 f32r8 __attribute__((vector_size(32)));\n"
    "typedef i32 i32r8 __attribute__((vector_size(32)));\n"
    "typedef union { f32x8 x; f32r8 r; } f32u8;\n"
    "typedef union { i32x8 x; i32r8 r; } i32u8;\n"
    "HELPER f32x8 load_some_f32x8(FROM p, i32x8 m) {\n"
    "  const i32u8 mask = {.x = m};\n"
    "  const f32u8 all = {.r = __builtin_ia32_maskloadps256((const f32r8 *)(u64)p, mask.r)};\n"
    "  return all.x;\n"
    "}\n"
    "HELPER void store_some_f32x8(INTO p, f32x8 x, i32x8 m) {\n"
    "  const i32u8 mask = {.x = m};\n"
    "  const f32u8 all = {.x = x};\n"
    "  __builtin_ia32_maskstoreps256((f32r8 *)(u64)p, mask.r, all.r);\n"
    "}\n"
    "#else\n"
    "SOME(8, 4)\n"
    "#endif\n"
    "#endif\n"
    "#if ITEMS_ARE_LANES >= 16\n"
    "APART(16, 8)\n"
    "SOME_APART(16, 8)\n"
    "SOME(16, 8)\n"
    "EXTREMES(16)\n"
    "#endif\n"
    "#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)\n"
    "#define FMULADD_ITEMS(a, b, c) fma(a, b, c)\n"
    "#else\n"
    "#define FMULADD_ITEMS(a, b, c) ((a) * (b) + (c))\n"
    "#endif\n"
    "#endif\n"
    "#ifdef cl_khr_fp64\n"
    "typedef double f64;\n"
    "typedef double2 f64x2;\n"
    "#define bitcast_f64_i64(x) as_long(x)\n"
    "#define bitcast_i64_f64(x) as_double(x)\n"
    "HELPER f64 sqrt_f64(f64 x) { return sqrt(x); }\n"
    "HELPER f64 fmuladd_f64(f64 a, f64 b, f64 c) { return fma(a, b, c); }\n"
    "#endif\n";

static const char cuda[] =
    "// Kernels in CUDA C: one-dimensional grid and blocks. No product is to become one operation\n"
    "// with a sum where it does not say so: compile with --fmad=false.\n"
    "#define HELPER static __device__ inline\n"
    "#define RESTRICT __restrict__\n"
    "#define INFINITY_F32 __int_as_float(0x7f800000)\n"
    "#define INFINITY_F64 __longlong_as_double(0x7ff0000000000000LL)\n"
    "#ifndef INT32_MIN\n"
    "#define INT32_MIN (-2147483647 - 1)\n"
    "#define INT64_MIN (-9223372036854775807LL - 1)\n"
    "#define INT64_C(x) x##LL\n"
    "#define UINT64_C(x) x##ULL\n"
    "#endif\n"
    "#define BARRIER() __syncthreads()\n"
    "#define N_ITEMS() ((i32)blockDim.x)\n"
    "#define LOAD_GLOBAL(type, align, pointer) (*(const type *)(pointer))\n"
    "#define LOAD_GROUP(type, align, pointer) (*(const type *)(pointer))\n"
    "#define STORE_GLOBAL(type, align, pointer, value) (*(type *)(pointer) = (value))\n"
    "#define STORE_GROUP(type, align, pointer, value) (*(type *)(pointer) = (value))\n"
    "typedef signed char i8;\n"
    "typedef short i16;\n"
    "typedef int i32;\n"
    "typedef long long i64;\n"
    "typedef unsigned char u8;\n"
    "typedef unsigned short u16;\n"
    "typedef unsigned int u32;\n"
    "typedef unsigned long long u64;\n"
    "typedef float f32;\n"
    "typedef double f64;\n"
    "#define LANES2(type, bytes) struct __align__(bytes) type##x2 { type s0, s1; }\n"
    "#define LANES4(type, bytes) struct __align__(bytes) type##x4 { type s0, s1, s2, s3; }\n"
    "#define LANES8(type, bytes) \\\n"
    "  struct __align__(bytes) type##x8 { type s0, s1, s2, s3, s4, s5, s6, s7; }\n"
    "LANES2(i8, 2);\n"
    "LANES4(i8, 4);\n"
    "LANES8(i8, 8);\n"
    "LANES2(i16, 4);\n"
    "LANES4(i16, 8);\n"
    "LANES8(i16, 16);\n"
    "LANES2(i32, 8);\n"
    "LANES4(i32, 16);\n"
    "LANES2(i64, 16);\n"
    "LANES2(f32, 8);\n"
    "LANES4(f32, 16);\n"
    "LANES2(f64, 16);\n"
    "#define PACK2(type, a, b) (type{a, b})\n"
    "#define PACK4(type, a, b, c, d) (type{a, b, c, d})\n"
    "#define PACK8(type, a, b, c, d, e, f, g, h) (type{a, b, c, d, e, f, g, h})\n"
    "#define bitcast_f32_i32(x) __float_as_int(x)\n"
    "#define bitcast_i32_f32(x) __int_as_float(x)\n"
    "#define bitcast_f64_i64(x) __double_as_longlong(x)\n"
    "#define bitcast_i64_f64(x) __longlong_as_double(x)\n"
    "HELPER f32 sqrt_f32(f32 x) { return __fsqrt_rn(x); }\n"
    "HELPER f64 sqrt_f64(f64 x) { return __dsqrt_rn(x); }\n"
    "HELPER f32 fmuladd_f32(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }\n"
    "HELPER f64 fmuladd_f64(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }\n"
    "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\n"
    "#define MMA(name, shape, types) \\\n"
    "  HELPER f32x4 mma_##name(f32x4 c, i32x4 a, i32x2 b) { \\\n"
    "    asm volatile(\"mma.sync.aligned.\" shape \".row.col.f32.\" types \".f32 \" \\\n"
    "        \"{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\" \\\n"
    "        : \"+f\"(c.s0), \"+f\"(c.s1), \"+f\"(c.s2), \"+f\"(c.s3) \\\n"
    "        : \"r\"(a.s0), \"r\"(a.s1), \"r\"(a.s2), \"r\"(a.s3), \"r\"(b.s0), \"r\"(b.s1)); \\\n"
    "    return c; \\\n"
    "  }\n"
    "MMA(f16, \"m16n8k16\", \"f16.f16\")\n"
    "MMA(bf16, \"m16n8k16\", \"bf16.bf16\")\n"
    "MMA(of_tf32, \"m16n8k8\", \"tf32.tf32\")\n"
    // So many bytes from `from`, or zeros; no word of it is read or known before ARRIVE.
    "#define COPIES(bytes, cache) \\\n"
    "  HELPER void copy_##bytes(char *to, const char *from, bool is) { \\\n"
    "    asm volatile(\"cp.async.\" cache \".shared.global [%0], [%1], \" #bytes \", %2;\" \\\n"
    "        :: \"r\"((u32)__cvta_generic_to_shared(to)), \"l\"(from), \"r\"(is ? bytes : 0) \\\n"
    "        : \"memory\"); \\\n"
    "  }\n"
    "COPIES(4, \"ca\")\n"
    "COPIES(8, \"ca\")\n"
    "COPIES(16, \"cg\")\n"
    "#define COPY(bytes, to, from, is) copy_##bytes(to, from, is)\n"
    "#define ARRIVE() asm volatile(\"cp.async.wait_all;\" ::: \"memory\")\n"
    "HELPER i32 tf32_i32(i32 x) {\n"
    "  i32 y;\n"
    "  asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(y) : \"f\"(__int_as_float(x)));\n"
    "  return y;\n"
    "}\n"
    "HELPER f32x4 mma_tf32(f32x4 c, i32x4 a, i32x2 b) {\n"
    "  a = i32x4{tf32_i32(a.s0), tf32_i32(a.s1), tf32_i32(a.s2), tf32_i32(a.s3)};\n"
    "  return mma_of_tf32(c, a, i32x2{tf32_i32(b.s0), tf32_i32(b.s1)});\n"
    "}\n"
    "#endif\n";

// What both have: of types and bits given.
static const char common[] =
    "#ifdef SEER_POISON\n"
    "#define POISON(buffer, bytes) \\\n"
    "  for (i32 at = item; at < bytes; at += N_ITEMS()) buffer[at] = (char)-1; \\\n"
    "  BARRIER()\n"
    "#else\n"
    "#define POISON(buffer, bytes) ((void)0)\n"
    "#endif\n"
    "#define LANE(x, lane) ((x).s##lane)\n"
    "#define MOVE(pointer, by) ((pointer) + (by))\n"
    "#define PREFETCH(pointer, level) ((void)(pointer))\n"
    "#define FENCE() ((void)0)\n";

static void put_opencl(seer_text *text) {
  seer_text_put(text, opencl);
  seer_text_put(text, common);
  seer_source_put_singles(text);
  seer_text_put(text, "#ifdef cl_khr_fp64\n");
  seer_source_put_doubles(text);
  seer_text_put(text, "#endif\n");
}

static void put_cuda(seer_text *text) {
  seer_text_put(text, cuda);
  seer_text_put(text, common);
  seer_source_put_singles(text);
  seer_source_put_doubles(text);
}

static const seer_source_frame frame_opencl = {
    .kernel = "__kernel __attribute__((reqd_work_group_size($N, 1, 1)))\nvoid $F(",
    .memory = "  __local __attribute__((aligned(64))) char $F[$N];\n",
    .numbers =
        "  ITEMS($N);\n"
        "  const i32 part = (i32)get_group_id(0), item = (i32)get_local_id(0);\n"
        "  (void)part, (void)item;\n",
    .global = "__global ",
    .group = "__local ",
    .spread = "#if ITEMS_ARE_LANES >= $N\n  if (item % $N != 0) return;\n",
    .or_spread = "#elif ITEMS_ARE_LANES >= $N\n  if (item % $N != 0) return;\n",
    .single = "#else\n",
    .end = "#endif\n",
    .loop = ""};

static const seer_source_frame frame_cuda = {
    .kernel = "extern \"C\" __global__ void __launch_bounds__($N, 1) $F(",
    .memory = "  __shared__ __align__(64) char $F[$N];\n",
    .numbers =
        "  const i32 part = (i32)blockIdx.x, item = (i32)threadIdx.x;\n"
        "  (void)part, (void)item;\n",
    .global = "",
    .group = "",
    .loop = "_Pragma(\"unroll 1\") "};

const seer_dialect seer_dialect_opencl = {.name = "opencl",
    .doc = "OpenCL C 1.2, block programs",
    .max_lanes = 8,
    .put_prelude = put_opencl,
    .frame = &frame_opencl};

const seer_dialect seer_dialect_cuda = {.name = "cuda",
    .doc = "CUDA C, block programs",
    .max_lanes = 8,
    .put_prelude = put_cuda,
    .frame = &frame_cuda,
    .has_mma = true};
