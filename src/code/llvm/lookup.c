// lookup.c - LOOKUP in LLVM: bytes out of a table of 256, by instructions that pick bytes of
// registers.
//
//   AVX512-VBMI    vpermi2b: out of two registers, by the low bits of the number
//   SSSE3 ...      pshufb: out of 16 bytes
//   AArch64        tbl: out of 64 bytes
//
// Each takes out of a piece of the table. All pieces are asked, by the low bits; the bits above say
// which answer it is, one choice between two of them after the other.
#include <string.h>

#include "code/llvm/llvm.h"
#include "setup/isa.h"

typedef enum { PERMUTE, SHUFFLE, TABLE } way;

// An instruction whose result has so many lanes, out of a piece of so many bytes.
typedef struct {
  way way;
  uint32_t lanes, piece;
  const char *intrinsic, *features;  // NULL: all of the architecture have it
} instruction;

// Fewer pieces first, then longer registers.
static const instruction of_x86[] = {
    {PERMUTE, 64, 128, "llvm.x86.avx512.vpermi2var.qi.512", "avx512vbmi"},
    {PERMUTE, 32, 64, "llvm.x86.avx512.vpermi2var.qi.256", "avx512vbmi,avx512vl"},
    {SHUFFLE, 64, 16, "llvm.x86.avx512.pshuf.b.512", "avx512bw"},
    {SHUFFLE, 32, 16, "llvm.x86.avx2.pshuf.b", "avx2"},
    {SHUFFLE, 16, 16, "llvm.x86.ssse3.pshuf.b.128", "ssse3"},
};
static const instruction of_arm[] = {{TABLE, 16, 64, "llvm.aarch64.neon.tbl4", NULL}};

// Of the first way that there is: the widest that is no longer than `lanes`, else the shortest.
static const instruction *choose(const seer_target *target, uint32_t lanes) {
  const instruction *all = of_x86, *best = NULL;
  size_t n = SEER_COUNT_OF(of_x86);
  seer_isa isa;
  if (!seer_isa_of(target->triple, &isa) || isa == SEER_ISA_RISCV64) return NULL;
  if (isa == SEER_ISA_AARCH64) {
    all = of_arm;
    n = SEER_COUNT_OF(of_arm);
  }
  for (size_t k = 0; k < n; k++) {
    if (all[k].lanes > target->vector_bytes) continue;
    if (all[k].features && !seer_target_has(target, all[k].features)) continue;
    if (best && (best->way != all[k].way || best->piece != all[k].piece)) break;
    if (!best || best->lanes > lanes) best = &all[k];
  }
  return best;
}

bool seer_llvm_has_lookup(const seer_target *target) { return choose(target, 1) != NULL; }

// ---- LLVM's values

typedef struct {
  const seer_target *target;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMTypeRef i8;
  LLVMValueRef table;
} maker;

static LLVMValueRef all(const maker *m, uint32_t lanes, uint64_t value) {
  LLVMValueRef lane[SEER_VEC_MAX_LANES];
  for (uint32_t l = 0; l < lanes; l++) lane[l] = LLVMConstInt(m->i8, value, false);
  return LLVMConstVector(lane, lanes);
}

static LLVMValueRef call(const maker *m, const char *name, LLVMValueRef *arg, uint32_t n) {
  LLVMTypeRef type = LLVMTypeOf(arg[0]);
  return seer_llvm_call(m->module, m->b, name, &type, 1, arg, n);
}

// Out of the table from byte `first` on, by the low bits of `number`.
static LLVMValueRef out_of_piece(
    const maker *m, const instruction *one, uint32_t first, LLVMValueRef number) {
  LLVMValueRef arg[5];
  uint32_t n = one->lanes;
  switch (one->way) {
    case PERMUTE:
      arg[0] = seer_llvm_take(m->b, m->table, NULL, first, n, n);
      arg[1] = number;
      arg[2] = seer_llvm_take(m->b, m->table, NULL, first + n, n, n);
      return call(m, one->intrinsic, arg, 3);
    case SHUFFLE:  // in each 16 bytes of the register by itself
      arg[0] = seer_llvm_take(m->b, m->table, NULL, first, one->piece, n);
      arg[1] = LLVMBuildAnd(m->b, number, all(m, n, one->piece - 1), "");
      return call(m, one->intrinsic, arg, 2);
    case TABLE:
      for (uint32_t k = 0; k < 4; k++)
        arg[k] = seer_llvm_take(m->b, m->table, NULL, first + k * n, n, n);
      arg[4] = LLVMBuildAnd(m->b, number, all(m, n, one->piece - 1), "");
      return call(m, one->intrinsic, arg, 5);
  }
  return NULL;
}

// Of the table's `n_bytes` from `first` on.
static LLVMValueRef out_of(
    const maker *m, const instruction *one, uint32_t first, uint32_t n_bytes, LLVMValueRef number) {
  if (n_bytes == one->piece) return out_of_piece(m, one, first, number);
  uint32_t half = n_bytes / 2;
  LLVMValueRef low = out_of(m, one, first, half, number);
  LLVMValueRef high = out_of(m, one, first + half, half, number);
  LLVMValueRef bit = LLVMBuildAnd(m->b, number, all(m, one->lanes, half), "");
  LLVMValueRef is_high = LLVMBuildICmp(m->b, LLVMIntNE, bit, all(m, one->lanes, 0), "");
  return LLVMBuildSelect(m->b, is_high, high, low, "");
}

// Of a power of two of lanes, none fewer than the shortest register has.
static LLVMValueRef on_lanes(const maker *m, uint32_t lanes, LLVMValueRef number) {
  const instruction *one = choose(m->target, lanes);
  if (one->lanes == lanes) return out_of(m, one, 0, SEER_VEC_TABLE_BYTES, number);
  uint32_t half = lanes / 2;
  LLVMValueRef part[2];
  for (uint32_t k = 0; k < 2; k++)
    part[k] = on_lanes(m, half, seer_llvm_take(m->b, number, NULL, k * half, half, half));
  return seer_llvm_take(m->b, part[0], part[1], 0, lanes, lanes);
}

LLVMValueRef seer_llvm_lookup(const seer_target *target, LLVMModuleRef module,
    LLVMBuilderRef builder, LLVMValueRef table, LLVMValueRef number) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  maker m = {.target = target, .module = module, .b = builder, .table = table};
  m.i8 = LLVMInt8TypeInContext(context);
  uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(number)), whole = choose(target, lanes)->lanes;
  while (whole < lanes) whole *= 2;
  if (whole == lanes) return on_lanes(&m, lanes, number);
  LLVMValueRef found = on_lanes(&m, whole, seer_llvm_take(m.b, number, NULL, 0, whole, whole));
  return seer_llvm_take(m.b, found, NULL, 0, lanes, lanes);
}
