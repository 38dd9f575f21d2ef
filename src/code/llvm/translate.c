// translate.c - vector code -> LLVM IR, instruction by instruction. Values of vector code are
// values of LLVM; pointers are opaque, buffers are told apart by alias scopes, slots are allocas,
// which LLVM turns into registers.
#include <stdio.h>
#include <string.h>

#include "code/llvm/llvm.h"

typedef struct {
  const seer_vec_code *code;
  const seer_target *target;
  seer_arena *arena;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMValueRef fn;
  LLVMBasicBlockRef exit;
  LLVMTypeRef elem[SEER_VEC_ELEM_COUNT];
  LLVMValueRef *value;  // by instruction; NULL: not yet
  LLVMValueRef *scope, *noalias;  // by buffer of the loop, in this phase
  unsigned md_scope, md_noalias, md_invariant;
  bool has_matrices;  // the function uses some
} translator;

static const seer_vec_node *at(const translator *t, seer_vec v) { return seer_vec_at(t->code, v); }

static LLVMTypeRef lanes_of(LLVMTypeRef elem, uint32_t lanes) {
  return lanes == 1 ? elem : LLVMVectorType(elem, lanes);
}

static LLVMTypeRef type_of(const translator *t, const seer_vec_node *node) {
  return lanes_of(t->elem[node->elem], node->lanes);
}

static LLVMValueRef number(const translator *t, seer_vec_elem elem, uint64_t n) {
  return LLVMConstInt(t->elem[elem], n, false);
}

// ---- values that are in no block

static LLVMValueRef constant_lane(const translator *t, const seer_vec_node *node, uint64_t bits) {
  LLVMTypeRef type = t->elem[node->elem];
  double value;
  float single;
  if (!seer_vec_is_float((seer_vec_elem)node->elem)) return LLVMConstInt(type, bits, false);
  memcpy(&single, &bits, sizeof(single));
  memcpy(&value, &bits, sizeof(value));
  return LLVMConstReal(type, node->elem == SEER_VEC_F32 ? (double)single : value);
}

static LLVMValueRef constant(const translator *t, const seer_vec_node *node) {
  LLVMValueRef lane[SEER_VEC_MAX_LANES];
  if (node->lanes == 1) return constant_lane(t, node, node->bits);
  uint32_t width = seer_vec_elem_bits[node->elem];
  uint64_t kept = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
  for (uint32_t l = 0; l < node->lanes; l++)
    lane[l] = constant_lane(t, node, (node->bits + (uint64_t)node->imm * l) & kept);
  return LLVMConstVector(lane, node->lanes);
}

static LLVMValueRef value_of(translator *t, seer_vec v) {
  const seer_vec_node *node = at(t, v);
  if (t->value[v.i]) return t->value[v.i];
  if (node->op == SEER_VEC_CONST) t->value[v.i] = constant(t, node);
  if (node->op == SEER_VEC_UNDEF) t->value[v.i] = LLVMGetPoison(type_of(t, node));
  SEER_ASSERT(t->value[v.i], "instruction %u has no value yet", v.i);
  return t->value[v.i];
}

// Private arrays full of one value.
static void add_fills(translator *t) {
  LLVMValueRef *cell = SEER_NEW_ARRAY(t->arena, LLVMValueRef, t->code->n_fill + 1);
  for (uint32_t k = 0; k < t->code->n_fill; k++) {
    const seer_vec_fill *fill = &t->code->fill[k];
    LLVMValueRef value = value_of(t, fill->value);
    uint32_t n = fill->n_bytes / seer_vec_elem_bytes((seer_vec_elem)at(t, fill->value)->elem);
    LLVMTypeRef type = LLVMArrayType2(LLVMTypeOf(value), n);
    LLVMValueRef init = LLVMConstNull(type);
    if (!LLVMIsNull(value)) {
      LLVMValueRef *all = SEER_NEW_ARRAY(t->arena, LLVMValueRef, n);
      for (uint32_t i = 0; i < n; i++) all[i] = value;
      init = LLVMConstArray2(LLVMTypeOf(value), all, n);
    }
    char name[32];
    snprintf(name, sizeof(name), "fill%u", k);
    cell[k] = LLVMAddGlobal(t->module, type, name);
    LLVMSetInitializer(cell[k], init);
    LLVMSetGlobalConstant(cell[k], true);
    LLVMSetLinkage(cell[k], LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(cell[k], LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(cell[k], 64);
  }
  for (uint32_t i = 1; i < t->code->n; i++) {
    const seer_vec_node *node = &t->code->node[i];
    if (node->op == SEER_VEC_FILL) t->value[i] = cell[node->imm];
  }
}

// ---- operators

static LLVMValueRef call(translator *t, const char *intrinsic, LLVMTypeRef *types, uint32_t n_types,
    LLVMValueRef *args, uint32_t n_args) {
  return seer_llvm_call(t->module, t->b, intrinsic, types, n_types, args, n_args);
}

// What an operator is in LLVM.
typedef struct {
  enum { OTHER, BINARY, NSW, ICMP, FCMP, CAST, INTRINSIC } kind;
  int code;  // LLVMOpcode or predicate
  const char *intrinsic;  // on one type
} translation;

static const translation table[SEER_VEC_OP_COUNT] = {
    [SEER_VEC_ADD] = {BINARY, LLVMAdd, NULL},
    [SEER_VEC_SUB] = {BINARY, LLVMSub, NULL},
    [SEER_VEC_MUL] = {BINARY, LLVMMul, NULL},
    [SEER_VEC_ADD_INDEX] = {NSW, LLVMAdd, NULL},
    [SEER_VEC_SUB_INDEX] = {NSW, LLVMSub, NULL},
    [SEER_VEC_MUL_INDEX] = {NSW, LLVMMul, NULL},
    [SEER_VEC_SDIV] = {BINARY, LLVMSDiv, NULL},
    [SEER_VEC_UDIV] = {BINARY, LLVMUDiv, NULL},
    [SEER_VEC_SREM] = {BINARY, LLVMSRem, NULL},
    [SEER_VEC_UREM] = {BINARY, LLVMURem, NULL},
    [SEER_VEC_AND] = {BINARY, LLVMAnd, NULL},
    [SEER_VEC_OR] = {BINARY, LLVMOr, NULL},
    [SEER_VEC_XOR] = {BINARY, LLVMXor, NULL},
    [SEER_VEC_SHL] = {BINARY, LLVMShl, NULL},
    [SEER_VEC_LSHR] = {BINARY, LLVMLShr, NULL},
    [SEER_VEC_ASHR] = {BINARY, LLVMAShr, NULL},
    [SEER_VEC_FADD] = {BINARY, LLVMFAdd, NULL},
    [SEER_VEC_FSUB] = {BINARY, LLVMFSub, NULL},
    [SEER_VEC_FMUL] = {BINARY, LLVMFMul, NULL},
    [SEER_VEC_FDIV] = {BINARY, LLVMFDiv, NULL},
    [SEER_VEC_EQ] = {ICMP, LLVMIntEQ, NULL},
    [SEER_VEC_NE] = {ICMP, LLVMIntNE, NULL},
    [SEER_VEC_SLT] = {ICMP, LLVMIntSLT, NULL},
    [SEER_VEC_SLE] = {ICMP, LLVMIntSLE, NULL},
    [SEER_VEC_SGT] = {ICMP, LLVMIntSGT, NULL},
    [SEER_VEC_SGE] = {ICMP, LLVMIntSGE, NULL},
    [SEER_VEC_ULT] = {ICMP, LLVMIntULT, NULL},
    [SEER_VEC_ULE] = {ICMP, LLVMIntULE, NULL},
    [SEER_VEC_UGT] = {ICMP, LLVMIntUGT, NULL},
    [SEER_VEC_UGE] = {ICMP, LLVMIntUGE, NULL},
    [SEER_VEC_FEQ] = {FCMP, LLVMRealOEQ, NULL},
    [SEER_VEC_FLT] = {FCMP, LLVMRealOLT, NULL},
    [SEER_VEC_FLE] = {FCMP, LLVMRealOLE, NULL},
    [SEER_VEC_FGT] = {FCMP, LLVMRealOGT, NULL},
    [SEER_VEC_FGE] = {FCMP, LLVMRealOGE, NULL},
    [SEER_VEC_FNAN] = {FCMP, LLVMRealUNO, NULL},
    [SEER_VEC_FEQ_NAN] = {FCMP, LLVMRealUEQ, NULL},
    [SEER_VEC_FNE_NAN] = {FCMP, LLVMRealUNE, NULL},
    [SEER_VEC_FGE_NAN] = {FCMP, LLVMRealUGE, NULL},
    [SEER_VEC_ZEXT] = {CAST, LLVMZExt, NULL},
    [SEER_VEC_SEXT] = {CAST, LLVMSExt, NULL},
    [SEER_VEC_TRUNC] = {CAST, LLVMTrunc, NULL},
    [SEER_VEC_SINT_FLOAT] = {CAST, LLVMSIToFP, NULL},
    [SEER_VEC_UINT_FLOAT] = {CAST, LLVMUIToFP, NULL},
    [SEER_VEC_FLOAT_SINT] = {CAST, LLVMFPToSI, NULL},
    [SEER_VEC_FLOAT_UINT] = {CAST, LLVMFPToUI, NULL},
    [SEER_VEC_FLOAT_WIDER] = {CAST, LLVMFPExt, NULL},
    [SEER_VEC_FLOAT_SHORTER] = {CAST, LLVMFPTrunc, NULL},
    [SEER_VEC_BITCAST] = {CAST, LLVMBitCast, NULL},
    [SEER_VEC_SMIN] = {INTRINSIC, 0, "llvm.smin"},
    [SEER_VEC_SMAX] = {INTRINSIC, 0, "llvm.smax"},
    [SEER_VEC_UMIN] = {INTRINSIC, 0, "llvm.umin"},
    [SEER_VEC_UMAX] = {INTRINSIC, 0, "llvm.umax"},
    [SEER_VEC_FMULADD] = {INTRINSIC, 0, "llvm.fmuladd"},
    [SEER_VEC_FABS] = {INTRINSIC, 0, "llvm.fabs"},
    [SEER_VEC_COPYSIGN] = {INTRINSIC, 0, "llvm.copysign"},
    [SEER_VEC_SQRT] = {INTRINSIC, 0, "llvm.sqrt"},
    [SEER_VEC_FLOOR] = {INTRINSIC, 0, "llvm.floor"},
    [SEER_VEC_CEIL] = {INTRINSIC, 0, "llvm.ceil"},
    [SEER_VEC_FTRUNC] = {INTRINSIC, 0, "llvm.trunc"},
    [SEER_VEC_ROUND] = {INTRINSIC, 0, "llvm.roundeven"},
    [SEER_VEC_FMINIMUM] = {INTRINSIC, 0, "llvm.minimum"},
    [SEER_VEC_FMAXIMUM] = {INTRINSIC, 0, "llvm.maximum"},
    [SEER_VEC_ANY] = {INTRINSIC, 0, "llvm.vector.reduce.or"},
};

static LLVMValueRef no_overflow(translator *t, int code, LLVMValueRef x, LLVMValueRef y) {
  if (code == LLVMAdd) return LLVMBuildNSWAdd(t->b, x, y, "");
  return code == LLVMSub ? LLVMBuildNSWSub(t->b, x, y, "") : LLVMBuildNSWMul(t->b, x, y, "");
}

static LLVMTypeRef halves(const translator *t, uint32_t lanes) {
  return lanes_of(LLVMHalfTypeInContext(t->context), lanes);
}

static LLVMValueRef splat(translator *t, const seer_vec_node *node, LLVMValueRef x) {
  LLVMTypeRef type = type_of(t, node);
  LLVMTypeRef order = LLVMVectorType(t->elem[SEER_VEC_I32], node->lanes);
  LLVMValueRef v =
      LLVMBuildInsertElement(t->b, LLVMGetPoison(type), x, number(t, SEER_VEC_I32, 0), "");
  return LLVMBuildShuffleVector(t->b, v, LLVMGetPoison(type), LLVMConstNull(order), "");
}

static LLVMValueRef half_of(translator *t, const seer_vec_node *node, LLVMValueRef x) {
  uint32_t first = node->op == SEER_VEC_HIGH_HALF ? node->lanes : 0;
  return seer_llvm_take(t->b, x, NULL, first, node->lanes, node->lanes);
}

static LLVMValueRef shuffle(
    translator *t, const seer_vec_node *node, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef lane[SEER_VEC_MAX_LANES];
  const seer_vec_order *order = &t->code->order[node->imm];
  for (uint32_t l = 0; l < order->n; l++) lane[l] = number(t, SEER_VEC_I32, order->lane[l]);
  return LLVMBuildShuffleVector(t->b, x, y, LLVMConstVector(lane, order->n), "");
}

// Those that the table has no word for.
static LLVMValueRef other_operator(translator *t, const seer_vec_node *node, LLVMValueRef *x) {
  switch ((int)node->op) {
    case SEER_VEC_NEG:
      return LLVMBuildNeg(t->b, x[0], "");
    case SEER_VEC_NOT:
      return LLVMBuildNot(t->b, x[0], "");
    case SEER_VEC_FNEG:
      return LLVMBuildFNeg(t->b, x[0], "");
    case SEER_VEC_ABS: {
      LLVMTypeRef type = LLVMTypeOf(x[0]);
      LLVMValueRef args[2] = {x[0], number(t, SEER_VEC_I1, 0)};
      return call(t, "llvm.abs", &type, 1, args, 2);
    }
    case SEER_VEC_HALF_BITS: {
      // What is computed stays in f32: LLVM would choose among halves, see a maximum in
      // "a > c ? a : c", and call fmaxf for it.
      LLVMTypeRef type = LLVMTypeOf(x[0]);
      if (!LLVMIsConstant(x[0])) x[0] = call(t, "llvm.arithmetic.fence", &type, 1, x, 1);
      LLVMValueRef half = LLVMBuildFPTrunc(t->b, x[0], halves(t, node->lanes), "");
      return LLVMBuildBitCast(t->b, half, type_of(t, node), "");
    }
    case SEER_VEC_BITS_HALF: {
      LLVMValueRef half = LLVMBuildBitCast(t->b, x[0], halves(t, node->lanes), "");
      return LLVMBuildFPExt(t->b, half, type_of(t, node), "");
    }
    case SEER_VEC_DOT4:
    case SEER_VEC_DOT2:
      return seer_llvm_dot(t->target, t->module, t->b, x[0], x[1], x[2]);
    case SEER_VEC_SELECT:
      return LLVMBuildSelect(t->b, x[0], x[1], x[2], "");
    case SEER_VEC_SPLAT:
      return splat(t, node, x[0]);
    case SEER_VEC_EXTRACT:
      return LLVMBuildExtractElement(t->b, x[0], number(t, SEER_VEC_I32, (uint64_t)node->imm), "");
    case SEER_VEC_INSERT:
      return LLVMBuildInsertElement(
          t->b, x[0], x[1], number(t, SEER_VEC_I32, (uint64_t)node->imm), "");
    case SEER_VEC_LOW_HALF:
    case SEER_VEC_HIGH_HALF:
      return half_of(t, node, x[0]);
    case SEER_VEC_SHUFFLE:
      return shuffle(t, node, x[0], x[1]);
    case SEER_VEC_PICK:
      return seer_llvm_pick(t->module, t->b, &t->code->picks[node->imm], x[0]);
    default:
      return NULL;
  }
}

// NULL: no operator.
static LLVMValueRef operate(translator *t, const seer_vec_node *node) {
  const translation *to = &table[node->op];
  LLVMValueRef x[3] = {NULL};
  uint32_t n = seer_vec_ops[node->op].n_args;
  for (uint32_t k = 0; k < n; k++) x[k] = value_of(t, node->arg[k]);
  switch (to->kind) {
    case BINARY:
      return LLVMBuildBinOp(t->b, (LLVMOpcode)to->code, x[0], x[1], "");
    case NSW:
      return no_overflow(t, to->code, x[0], x[1]);
    case ICMP:
      return LLVMBuildICmp(t->b, (LLVMIntPredicate)to->code, x[0], x[1], "");
    case FCMP:
      return LLVMBuildFCmp(t->b, (LLVMRealPredicate)to->code, x[0], x[1], "");
    case CAST: {
      int64_t low;
      seer_vec word = node->op == SEER_VEC_SINT_FLOAT
          ? seer_llvm_find_nibble(t->code, t->target, node, &low)
          : (seer_vec){0};
      if (word.i) return seer_llvm_nibble(t->module, t->b, value_of(t, word), low);
      return LLVMBuildCast(t->b, (LLVMOpcode)to->code, x[0], type_of(t, node), "");
    }
    case INTRINSIC: {
      LLVMTypeRef type = LLVMTypeOf(x[0]);
      return call(t, to->intrinsic, &type, 1, x, n);
    }
    case OTHER:
      break;
  }
  return other_operator(t, node, x);
}

// ---- memory

static LLVMValueRef no_metadata(const translator *t) {
  return LLVMMetadataAsValue(t->context, LLVMMDNodeInContext2(t->context, NULL, 0));
}

static void mark(translator *t, LLVMValueRef access, const seer_vec_node *node) {
  if (node->buf == SEER_VEC_NO_BUF) return;
  LLVMSetMetadata(access, t->md_scope, t->scope[node->buf]);
  if (t->noalias[node->buf]) LLVMSetMetadata(access, t->md_noalias, t->noalias[node->buf]);
  if (node->is_invariant) LLVMSetMetadata(access, t->md_invariant, no_metadata(t));
}

static LLVMValueRef load(translator *t, const seer_vec_node *node) {
  LLVMValueRef v = LLVMBuildLoad2(t->b, type_of(t, node), value_of(t, node->arg[0]), "");
  if (node->align != 0) LLVMSetAlignment(v, node->align);
  mark(t, v, node);
  return v;
}

static void store(translator *t, const seer_vec_node *node) {
  LLVMValueRef v = LLVMBuildStore(t->b, value_of(t, node->arg[1]), value_of(t, node->arg[0]));
  if (node->align != 0) LLVMSetAlignment(v, node->align);
  mark(t, v, node);
}

static LLVMValueRef masked(translator *t, const seer_vec_node *node) {
  bool is_load = node->op == SEER_VEC_LOAD_MASKED;
  LLVMValueRef x[3], align = number(t, SEER_VEC_I32, node->align);
  for (uint32_t k = 0; k < 3; k++) x[k] = value_of(t, node->arg[k]);
  LLVMValueRef from[4] = {x[0], align, x[1], x[2]}, to[4] = {x[1], x[0], align, x[2]};
  LLVMTypeRef types[2] = {LLVMTypeOf(is_load ? x[2] : x[1]), t->elem[SEER_VEC_PTR]};
  LLVMValueRef v = is_load ? call(t, "llvm.masked.load", types, 2, from, 4)
                           : call(t, "llvm.masked.store", types, 2, to, 4);
  mark(t, v, node);
  return v;
}

static void matrices(translator *t, const seer_vec_node *node) {
  seer_vec_matrix_regs regs = seer_vec_matrix_regs_of(node);
  bool is_access = node->op == SEER_VEC_MATRIX_LOAD || node->op == SEER_VEC_MATRIX_STORE;
  LLVMValueRef pointer = is_access ? value_of(t, node->arg[0]) : NULL;
  LLVMValueRef stride = is_access ? value_of(t, node->arg[1]) : NULL;
  t->has_matrices = true;
  switch ((int)node->op) {
    case SEER_VEC_MATRIX_SHAPES:
      seer_llvm_matrix_shapes(t->module, t->b, &t->code->shapes[node->imm]);
      break;
    case SEER_VEC_MATRIX_ZERO:
      seer_llvm_matrix_zero(t->module, t->b, regs.sum);
      break;
    case SEER_VEC_MATRIX_LOAD:
      seer_llvm_matrix_load(t->module, t->b, regs.sum, pointer, stride);
      break;
    case SEER_VEC_MATRIX_STORE:
      seer_llvm_matrix_store(t->module, t->b, regs.sum, pointer, stride);
      break;
    default:
      seer_llvm_matrix_dot(t->module, t->b, node->op == SEER_VEC_MATRIX_DOT2, regs);
  }
}

static LLVMValueRef byte_of_table(translator *t, const seer_vec_node *node, LLVMValueRef number) {
  LLVMTypeRef byte = t->elem[SEER_VEC_I8];
  LLVMValueRef at = LLVMBuildZExt(t->b, number, t->elem[SEER_VEC_I64], "");
  LLVMValueRef p = LLVMBuildGEP2(t->b, byte, value_of(t, node->arg[0]), &at, 1, "");
  LLVMValueRef v = LLVMBuildLoad2(t->b, byte, p, "");
  mark(t, v, node);
  return v;
}

static LLVMValueRef look_up(translator *t, const seer_vec_node *node) {
  LLVMValueRef number = value_of(t, node->arg[1]);
  if (node->lanes == 1) return byte_of_table(t, node, number);
  if (seer_llvm_has_lookup(t->target)) {
    LLVMTypeRef type = LLVMVectorType(t->elem[SEER_VEC_I8], SEER_VEC_TABLE_BYTES);
    LLVMValueRef all = LLVMBuildLoad2(t->b, type, value_of(t, node->arg[0]), "");
    LLVMSetAlignment(all, node->align);
    mark(t, all, node);
    return seer_llvm_lookup(t->target, t->module, t->b, all, number);
  }
  LLVMValueRef v = LLVMGetPoison(type_of(t, node));
  for (uint32_t l = 0; l < node->lanes; l++) {
    LLVMValueRef lane = LLVMConstInt(t->elem[SEER_VEC_I32], l, false);
    LLVMValueRef one = LLVMBuildExtractElement(t->b, number, lane, "");
    v = LLVMBuildInsertElement(t->b, v, byte_of_table(t, node, one), lane, "");
  }
  return v;
}

static LLVMValueRef move(translator *t, const seer_vec_node *node) {
  LLVMValueRef by = value_of(t, node->arg[1]);
  return LLVMBuildGEP2(t->b, t->elem[node->of], value_of(t, node->arg[0]), &by, 1, "");
}

static void prefetch(translator *t, const seer_vec_node *node) {
  // to read, data; LLVM counts locality: 3 is the first level
  LLVMValueRef args[4] = {value_of(t, node->arg[0]), number(t, SEER_VEC_I32, 0),
      number(t, SEER_VEC_I32, (uint64_t)(4 - node->imm)), number(t, SEER_VEC_I32, 1)};
  call(t, "llvm.prefetch", &t->elem[SEER_VEC_PTR], 1, args, 4);
}

static void fence(translator *t) {
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(t->context), NULL, 0, false);
  static const char clobbers[] = "~{memory}";
  LLVMValueRef nothing = LLVMGetInlineAsm(
      type, "", 0, clobbers, sizeof clobbers - 1, true, false, LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(t->b, type, nothing, NULL, 0, "");
}

static LLVMValueRef argument(translator *t, uint32_t n) {
  LLVMTypeRef ptr = t->elem[SEER_VEC_PTR];
  LLVMValueRef from = LLVMGetParam(t->fn, 0), at_n = number(t, SEER_VEC_I64, n);
  if (n != 0) from = LLVMBuildGEP2(t->b, ptr, from, &at_n, 1, "");
  LLVMValueRef p = LLVMBuildLoad2(t->b, ptr, from, "");
  LLVMSetAlignment(p, 8);
  LLVMSetMetadata(p, t->md_invariant, no_metadata(t));
  return p;
}

// Buffers of the kernel's own have no place among its arguments.
static uint32_t argument_of(const translator *t, uint32_t buf) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < buf; b++) n += t->code->loop->buf[b].storage != SEER_STORE_LOCAL;
  return n;
}

// ---- control

static void block(translator *t, const seer_vec_block *block);

static LLVMBasicBlockRef new_block(translator *t) {
  return LLVMAppendBasicBlockInContext(t->context, t->fn, "");
}

static LLVMValueRef count_up(
    translator *t, LLVMValueRef phi, LLVMBasicBlockRef before, int64_t step) {
  LLVMValueRef zero = number(t, SEER_VEC_I64, 0);
  LLVMAddIncoming(phi, &zero, &before, 1);
  LLVMValueRef next = LLVMBuildNSWAdd(t->b, phi, number(t, SEER_VEC_I64, (uint64_t)step), "");
  if (step > 0) LLVMSetNUW(next, true);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(t->b);
  LLVMAddIncoming(phi, &next, &from, 1);
  return next;
}

static void loop(translator *t, const seer_vec_node *node) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(t->b), body = new_block(t), done = new_block(t);
  LLVMValueRef n = value_of(t, node->arg[0]), zero = number(t, SEER_VEC_I64, 0);
  if (node->imm)
    LLVMBuildBr(t->b, body);
  else
    LLVMBuildCondBr(t->b, LLVMBuildICmp(t->b, LLVMIntSGT, n, zero, ""), body, done);
  LLVMPositionBuilderAtEnd(t->b, body);
  // The counter of iterations is the last one.
  uint32_t counter[SEER_VEC_MAX_COUNTERS], n_counter = 0, id = node->body[0].first;
  for (; id != 0 && t->code->node[id].op == SEER_VEC_COUNTER; id = t->code->node[id].next) {
    SEER_ASSERT(n_counter < SEER_COUNT_OF(counter), "%u counters", n_counter);
    counter[n_counter++] = id;
    t->value[id] = LLVMBuildPhi(t->b, t->elem[SEER_VEC_I64], "");
  }
  block(t, &(seer_vec_block){.first = id});
  for (uint32_t k = n_counter - 1; k-- > 0;)
    count_up(t, t->value[counter[k]], before, t->code->node[counter[k]].imm);
  LLVMValueRef next = count_up(t, t->value[counter[n_counter - 1]], before, 1);
  LLVMBuildCondBr(t->b, LLVMBuildICmp(t->b, LLVMIntULT, next, n, ""), body, done);
  LLVMPositionBuilderAtEnd(t->b, done);
}

static void when(translator *t, const seer_vec_node *node) {
  LLVMBasicBlockRef side[2] = {new_block(t), new_block(t)}, join = new_block(t);
  LLVMBuildCondBr(t->b, value_of(t, node->arg[0]), side[0], side[1]);
  for (uint32_t k = 0; k < 2; k++) {
    LLVMPositionBuilderAtEnd(t->b, side[k]);
    block(t, &node->body[k]);
    LLVMBuildBr(t->b, join);
  }
  LLVMPositionBuilderAtEnd(t->b, join);
}

static void leave_unless(translator *t, const seer_vec_node *node) {
  LLVMBasicBlockRef inside = new_block(t);
  LLVMBuildCondBr(t->b, value_of(t, node->arg[0]), inside, t->exit);
  LLVMPositionBuilderAtEnd(t->b, inside);
}

// NULL: it gives no value.
static LLVMValueRef instruction(translator *t, const seer_vec_node *node) {
  if (seer_vec_is_of_matrices(node)) {
    matrices(t, node);
    return NULL;
  }
  switch ((int)node->op) {
    case SEER_VEC_PART:
      return LLVMBuildZExt(t->b, LLVMGetParam(t->fn, 1), t->elem[SEER_VEC_I64], "");
    case SEER_VEC_ITEM:
    case SEER_VEC_BARRIER:
    case SEER_VEC_MMA:
      SEER_ASSERT(false, "%s: a processor has no items", seer_vec_ops[node->op].text);
    case SEER_VEC_BUFFER:
      return argument(t, argument_of(t, node->buf));
    case SEER_VEC_SCRATCH:
      return argument(t, argument_of(t, t->code->loop->n_buf));
    case SEER_VEC_MOVE:
      return move(t, node);
    case SEER_VEC_LOAD:
      return load(t, node);
    case SEER_VEC_LOOKUP:
      return look_up(t, node);
    case SEER_VEC_STORE:
      store(t, node);
      return NULL;
    case SEER_VEC_LOAD_MASKED:
    case SEER_VEC_STORE_MASKED:
      return masked(t, node);
    case SEER_VEC_PREFETCH:
      prefetch(t, node);
      return NULL;
    case SEER_VEC_FENCE:
      fence(t);
      return NULL;
    case SEER_VEC_LOOP:
      loop(t, node);
      return NULL;
    case SEER_VEC_WHEN:
      when(t, node);
      return NULL;
    case SEER_VEC_LEAVE_UNLESS:
      leave_unless(t, node);
      return NULL;
    default:
      return operate(t, node);
  }
}

static void block(translator *t, const seer_vec_block *block) {
  for (uint32_t id = block->first; id != 0; id = t->code->node[id].next)
    t->value[id] = instruction(t, &t->code->node[id]);
}

// ---- phases

static LLVMMetadataRef md_text(const translator *t, const char *text) {
  return LLVMMDStringInContext2(t->context, text, strlen(text));
}

static LLVMValueRef md_list(const translator *t, LLVMMetadataRef *part, uint32_t n) {
  return LLVMMetadataAsValue(t->context, LLVMMDNodeInContext2(t->context, part, n));
}

// One alias scope per buffer: different buffers never overlap.
static void make_scopes(translator *t, const char *name) {
  uint32_t n = t->code->loop->n_buf;
  LLVMMetadataRef domain_text = md_text(t, name);
  LLVMMetadataRef domain = LLVMMDNodeInContext2(t->context, &domain_text, 1);
  LLVMMetadataRef *scope = SEER_NEW_ARRAY(t->arena, LLVMMetadataRef, n + 1);
  LLVMMetadataRef *others = SEER_NEW_ARRAY(t->arena, LLVMMetadataRef, n + 1);
  for (uint32_t b = 0; b < n; b++) {
    LLVMMetadataRef parts[2] = {md_text(t, t->code->loop->buf[b].name), domain};
    scope[b] = LLVMMDNodeInContext2(t->context, parts, 2);
  }
  for (uint32_t b = 0; b < n; b++) {
    uint32_t n_others = 0;
    for (uint32_t k = 0; k < n; k++) {
      if (k != b) others[n_others++] = scope[k];
    }
    t->scope[b] = md_list(t, &scope[b], 1);
    t->noalias[b] = n_others ? md_list(t, others, n_others) : NULL;
  }
}

// Variables stand in the entry, in front of all else.
static void add_slots(translator *t, const seer_vec_phase *phase) {
  for (uint32_t k = 0; k < phase->n_slot; k++) {
    const seer_vec_node *slot = at(t, phase->slot[k]);
    LLVMTypeRef type = lanes_of(t->elem[slot->of], slot->lanes);
    if (slot->imm != 1) type = LLVMArrayType2(type, (uint64_t)slot->imm);
    LLVMValueRef v = LLVMBuildAlloca(t->b, type, "");
    LLVMSetAlignment(v, slot->align);
    t->value[phase->slot[k].i] = v;
  }
}

static LLVMValueRef function(translator *t, const seer_vec_phase *phase) {
  LLVMTypeRef params[2] = {t->elem[SEER_VEC_PTR], t->elem[SEER_VEC_I32]};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(t->context), params, 2, false);
  t->fn = LLVMAddFunction(t->module, phase->name, type);
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(t->context, t->fn, "entry");
  LLVMBasicBlockRef start = new_block(t);
  t->exit = new_block(t);
  LLVMPositionBuilderAtEnd(t->b, entry);
  add_slots(t, phase);
  LLVMBuildBr(t->b, start);
  LLVMPositionBuilderAtEnd(t->b, start);
  make_scopes(t, phase->name);
  t->has_matrices = false;
  block(t, &phase->body);
  LLVMBuildBr(t->b, t->exit);
  LLVMPositionBuilderAtEnd(t->b, t->exit);
  if (t->has_matrices) seer_llvm_matrix_end(t->module, t->b);
  LLVMBuildRetVoid(t->b);
  return t->fn;
}

static unsigned md_kind(const translator *t, const char *name) {
  return LLVMGetMDKindIDInContext(t->context, name, (unsigned)strlen(name));
}

void seer_llvm_translate(const seer_vec_code *code, const seer_target *target, LLVMModuleRef module,
    seer_arena *arena, LLVMValueRef *out_fn) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  translator *t = SEER_NEW(arena, translator);
  *t = (translator){
      .code = code, .target = target, .arena = arena, .context = context, .module = module};
  t->elem[SEER_VEC_VOID] = LLVMVoidTypeInContext(context);
  t->elem[SEER_VEC_I1] = LLVMInt1TypeInContext(context);
  t->elem[SEER_VEC_I8] = LLVMInt8TypeInContext(context);
  t->elem[SEER_VEC_I16] = LLVMInt16TypeInContext(context);
  t->elem[SEER_VEC_I32] = LLVMInt32TypeInContext(context);
  t->elem[SEER_VEC_I64] = LLVMInt64TypeInContext(context);
  t->elem[SEER_VEC_F32] = LLVMFloatTypeInContext(context);
  t->elem[SEER_VEC_F64] = LLVMDoubleTypeInContext(context);
  t->elem[SEER_VEC_PTR] = LLVMPointerTypeInContext(context, 0);
  t->md_scope = md_kind(t, "alias.scope");
  t->md_noalias = md_kind(t, "noalias");
  t->md_invariant = md_kind(t, "invariant.load");
  t->value = SEER_NEW_ARRAY(arena, LLVMValueRef, code->n);
  t->scope = SEER_NEW_ARRAY(arena, LLVMValueRef, code->loop->n_buf + 1);
  t->noalias = SEER_NEW_ARRAY(arena, LLVMValueRef, code->loop->n_buf + 1);
  t->b = LLVMCreateBuilderInContext(context);
  add_fills(t);
  for (uint32_t p = 0; p < code->n_phase; p++) out_fn[p] = function(t, &code->phase[p]);
  LLVMDisposeBuilder(t->b);
}
