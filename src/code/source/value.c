// value.c - the right side of a value's definition. Most operators are a pattern: C's own operator,
// or the name of a helper of the prelude. Integers are signed (i32, i32x8); what wraps or has no
// sign is computed in unsigned ones.
#include <string.h>

#include "code/source/internal.h"

// In patterns:
//   $0 $1 $2  the arguments
//   $T        the type of the value
//   $A        the type of the first argument
//   $V        $A without sign
//   $U        the same, and at least 32 bits for one lane: C would compute in int
//   $!        not: of one bit, or of masks
//   $N        how many items are lanes
static const char *const of_op[SEER_VEC_OP_COUNT] = {
    [SEER_VEC_ADD] = "($T)(($U)$0 + ($U)$1)",
    [SEER_VEC_SUB] = "($T)(($U)$0 - ($U)$1)",
    [SEER_VEC_MUL] = "($T)(($U)$0 * ($U)$1)",
    [SEER_VEC_ADD_INDEX] = "$0 + $1",
    [SEER_VEC_SUB_INDEX] = "$0 - $1",
    [SEER_VEC_MUL_INDEX] = "$0 * $1",
    [SEER_VEC_NEG] = "($T)-($U)$0",
    [SEER_VEC_SDIV] = "($T)($0 / $1)",
    [SEER_VEC_UDIV] = "($T)(($V)$0 / ($V)$1)",
    [SEER_VEC_SREM] = "($T)($0 % $1)",
    [SEER_VEC_UREM] = "($T)(($V)$0 % ($V)$1)",
    [SEER_VEC_AND] = "$0 & $1",
    [SEER_VEC_OR] = "$0 | $1",
    [SEER_VEC_XOR] = "$0 ^ $1",
    [SEER_VEC_NOT] = "~$0",
    [SEER_VEC_SHL] = "($T)(($U)$0 << ($U)$1)",
    [SEER_VEC_LSHR] = "($T)(($V)$0 >> ($V)$1)",
    [SEER_VEC_ASHR] = "($T)($0 >> $1)",
    [SEER_VEC_SMIN] = "smin_$A($0, $1)",
    [SEER_VEC_SMAX] = "smax_$A($0, $1)",
    [SEER_VEC_UMIN] = "umin_$A($0, $1)",
    [SEER_VEC_UMAX] = "umax_$A($0, $1)",
    [SEER_VEC_ABS] = "abs_$A($0)",
    [SEER_VEC_DOT4] = "dot4_$A($0, $1, $2)",
    [SEER_VEC_DOT2] = "dot2_$A($0, $1, $2)",
    [SEER_VEC_EQ] = "$0 == $1",
    [SEER_VEC_NE] = "$0 != $1",
    [SEER_VEC_SLT] = "$0 < $1",
    [SEER_VEC_SLE] = "$0 <= $1",
    [SEER_VEC_SGT] = "$0 > $1",
    [SEER_VEC_SGE] = "$0 >= $1",
    [SEER_VEC_ULT] = "($V)$0 < ($V)$1",
    [SEER_VEC_ULE] = "($V)$0 <= ($V)$1",
    [SEER_VEC_UGT] = "($V)$0 > ($V)$1",
    [SEER_VEC_UGE] = "($V)$0 >= ($V)$1",
    [SEER_VEC_FADD] = "$0 + $1",
    [SEER_VEC_FSUB] = "$0 - $1",
    [SEER_VEC_FMUL] = "$0 * $1",
    [SEER_VEC_FDIV] = "$0 / $1",
    [SEER_VEC_FNEG] = "-$0",
    [SEER_VEC_FMULADD] = "fmuladd_$A($0, $1, $2)",
    [SEER_VEC_FABS] = "fabs_$A($0)",
    [SEER_VEC_COPYSIGN] = "copysign_$A($0, $1)",
    [SEER_VEC_SQRT] = "sqrt_$A($0)",
    [SEER_VEC_FLOOR] = "floor_$A($0)",
    [SEER_VEC_CEIL] = "ceil_$A($0)",
    [SEER_VEC_FTRUNC] = "ftrunc_$A($0)",
    [SEER_VEC_ROUND] = "round_$A($0)",
    [SEER_VEC_FMINIMUM] = "fminimum_$A($0, $1)",
    [SEER_VEC_FMAXIMUM] = "fmaximum_$A($0, $1)",
    [SEER_VEC_FEQ] = "$0 == $1",
    [SEER_VEC_FLT] = "$0 < $1",
    [SEER_VEC_FLE] = "$0 <= $1",
    [SEER_VEC_FGT] = "$0 > $1",
    [SEER_VEC_FGE] = "$0 >= $1",
    [SEER_VEC_FNAN] = "($0 != $0) | ($1 != $1)",
    [SEER_VEC_FEQ_NAN] = "!(($0 < $1) | ($0 > $1))",
    [SEER_VEC_FNE_NAN] = "$0 != $1",
    [SEER_VEC_FGE_NAN] = "!($0 < $1)",
    [SEER_VEC_ZEXT] = "($T)($V)$0",
    [SEER_VEC_SEXT] = "($T)$0",
    [SEER_VEC_TRUNC] = "($T)$0",
    [SEER_VEC_SINT_FLOAT] = "($T)$0",
    [SEER_VEC_UINT_FLOAT] = "($T)($V)$0",
    [SEER_VEC_FLOAT_SINT] = "($T)$0",
    [SEER_VEC_FLOAT_UINT] = "($T)($O)$0",
    [SEER_VEC_FLOAT_WIDER] = "($T)$0",
    [SEER_VEC_FLOAT_SHORTER] = "($T)$0",
    [SEER_VEC_HALF_BITS] = "half_bits_$A($0)",
    [SEER_VEC_BITS_HALF] = "bits_half_$A($0)",
    [SEER_VEC_BITCAST] = "bitcast_$A_$T($0)",
    [SEER_VEC_SELECT] = "$0 ? $1 : $2",
};

// Where lanes are several and that is no operator of C on vectors.
static const char *const of_lanes[SEER_VEC_OP_COUNT] = {
    [SEER_VEC_FNAN] = "($T)(($0 != $0) | ($1 != $1))",
    [SEER_VEC_FEQ_NAN] = "($T)~(($0 < $1) | ($0 > $1))",
    [SEER_VEC_FGE_NAN] = "($T)~($0 < $1)",
    [SEER_VEC_ZEXT] = "zext_$A_$T($0)",
    [SEER_VEC_SEXT] = "sext_$A_$T($0)",
    [SEER_VEC_TRUNC] = "trunc_$A_$T($0)",
    [SEER_VEC_SINT_FLOAT] = "CONVERT($0, $T)",
    [SEER_VEC_UINT_FLOAT] = "CONVERT(($V)$0, $T)",
    [SEER_VEC_FLOAT_SINT] = "float_sint_$A_$T($0)",
    [SEER_VEC_FLOAT_UINT] = "float_uint_$A_$T($0)",
    [SEER_VEC_FLOAT_WIDER] = "CONVERT($0, $T)",
    [SEER_VEC_FLOAT_SHORTER] = "CONVERT($0, $T)",
    [SEER_VEC_BITCAST] = "($T)$0",
};

// Of f32 where items are lanes, by the language's own functions.
static const char *const of_items[SEER_VEC_OP_COUNT] = {
    [SEER_VEC_FADD] = "$0 + $1",
    [SEER_VEC_FSUB] = "$0 - $1",
    [SEER_VEC_FMUL] = "$0 * $1",
    [SEER_VEC_FDIV] = "$0 / $1",
    [SEER_VEC_FNEG] = "-$0",
    [SEER_VEC_FMULADD] = "FMULADD_ITEMS($0, $1, $2)",
    [SEER_VEC_FABS] = "fabs($0)",
    [SEER_VEC_COPYSIGN] = "copysign($0, $1)",
    [SEER_VEC_SQRT] = "sqrt($0)",
    [SEER_VEC_FLOOR] = "floor($0)",
    [SEER_VEC_CEIL] = "ceil($0)",
    [SEER_VEC_FTRUNC] = "trunc($0)",
    [SEER_VEC_ROUND] = "rint($0)",
    [SEER_VEC_FEQ] = "$0 == $1",
    [SEER_VEC_FLT] = "$0 < $1",
    [SEER_VEC_FLE] = "$0 <= $1",
    [SEER_VEC_FGT] = "$0 > $1",
    [SEER_VEC_FGE] = "$0 >= $1",
    [SEER_VEC_FNAN] = "($0 != $0) | ($1 != $1)",
    [SEER_VEC_FEQ_NAN] = "~(($0 < $1) | ($0 > $1))",
    [SEER_VEC_FNE_NAN] = "$0 != $1",
    [SEER_VEC_FGE_NAN] = "~($0 < $1)",
    [SEER_VEC_FMINIMUM] = "fminimum_f32x$N($0, $1)",
    [SEER_VEC_FMAXIMUM] = "fmaximum_f32x$N($0, $1)",
    [SEER_VEC_SELECT] = "$0 ? $1 : $2",
};

// Of integers that differ from item to item, which are 32 bits there: masks.
static const char *const of_steps[SEER_VEC_OP_COUNT] = {
    [SEER_VEC_EQ] = "$0 == $1",
    [SEER_VEC_NE] = "$0 != $1",
    [SEER_VEC_SLT] = "$0 < $1",
    [SEER_VEC_SLE] = "$0 <= $1",
    [SEER_VEC_SGT] = "$0 > $1",
    [SEER_VEC_SGE] = "$0 >= $1",
    [SEER_VEC_ULT] = "as_uint$N($0) < as_uint$N($1)",
    [SEER_VEC_ULE] = "as_uint$N($0) <= as_uint$N($1)",
    [SEER_VEC_UGT] = "as_uint$N($0) > as_uint$N($1)",
    [SEER_VEC_UGE] = "as_uint$N($0) >= as_uint$N($1)",
};

// On i1, where 1 is -1 with a sign: what the operators of integers come to.
static const char *const of_truth[SEER_VEC_OP_COUNT] = {
    [SEER_VEC_ADD] = "$0 ^ $1",
    [SEER_VEC_SUB] = "$0 ^ $1",
    [SEER_VEC_MUL] = "$0 & $1",
    [SEER_VEC_NEG] = "$0",
    [SEER_VEC_ABS] = "$0",
    [SEER_VEC_NOT] = "$!$0",
    [SEER_VEC_SMIN] = "$0 | $1",
    [SEER_VEC_SMAX] = "$0 & $1",
    [SEER_VEC_UMIN] = "$0 & $1",
    [SEER_VEC_UMAX] = "$0 | $1",
    [SEER_VEC_EQ] = "$!($0 ^ $1)",
    [SEER_VEC_NE] = "$0 ^ $1",
    [SEER_VEC_SLT] = "$0 & ($!$1)",
    [SEER_VEC_SLE] = "$0 | ($!$1)",
    [SEER_VEC_SGT] = "($!$0) & $1",
    [SEER_VEC_SGE] = "($!$0) | $1",
    [SEER_VEC_ULT] = "($!$0) & $1",
    [SEER_VEC_ULE] = "($!$0) | $1",
    [SEER_VEC_UGT] = "$0 & ($!$1)",
    [SEER_VEC_UGE] = "$0 | ($!$1)",
    [SEER_VEC_ZEXT] = "($T)$0",
    [SEER_VEC_SEXT] = "($T)-$0",
    [SEER_VEC_SINT_FLOAT] = "($T)-$0",
    [SEER_VEC_UINT_FLOAT] = "($T)$0",
};

// ---- operands

// A name, or an expression that stands without brackets.
const char *seer_source_operand(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  switch ((int)node->op) {
    case SEER_VEC_CONST:
      return seer_source_literal(s, (seer_vec_elem)node->elem, node->lanes, node->bits, node->imm);
    case SEER_VEC_UNDEF:
      return node->lanes == 1 ? "0"
                              : seer_arena_printf(s->arena, "(%s){0}",
                                    seer_source_type(s, (seer_vec_elem)node->elem, node->lanes));
    case SEER_VEC_PART:
      return "part";
    case SEER_VEC_ITEM:
      return "item";
    default:
      break;
  }
  if (node->elem == SEER_VEC_PTR) return seer_source_pointer(s, v);
  SEER_ASSERT(s->fact[v.i].number != 0, "value %u is used where it is not defined", v.i);
  return seer_arena_printf(s->arena, "v%u", s->fact[v.i].number);
}

const char *seer_source_mask(seer_source *s, seer_vec v, uint32_t bits) {
  const seer_vec_node *node = seer_source_at(s, v);
  const char *type = seer_source_mask_type(s, bits, node->lanes);
  if (node->op == SEER_VEC_CONST)
    return seer_arena_printf(s->arena, "splat_%s(%s)", type, node->bits ? "-1" : "0");
  if (node->op == SEER_VEC_UNDEF) return seer_arena_printf(s->arena, "(%s){0}", type);
  if (node->op == SEER_VEC_SPLAT)
    return seer_arena_printf(s->arena, "splat_%s(-%s)", type, seer_source_operand(s, node->arg[0]));
  const char *name = seer_source_operand(s, v);
  if (s->fact[v.i].mask_bits == bits) return name;
  uint32_t own = s->fact[v.i].mask_bits;
  return seer_arena_printf(s->arena, "%s_%s_%s(%s)", own < bits ? "sext" : "trunc",
      seer_source_mask_type(s, own, node->lanes), type, name);
}

const char *seer_source_widened(const seer_source *s, seer_vec v, const char *text) {
  if (s->fact[v.i].is_spread) return text;
  return seer_arena_printf(s->arena, "(f32x%u)(%s)", s->n_spread, text);
}

// An argument of what is spread.
static const char *spread_argument(seer_source *s, const seer_vec_node *node, uint32_t k) {
  seer_vec v = node->arg[k];
  const char *text = seer_source_operand(s, v);
  seer_vec_elem elem = (seer_vec_elem)seer_source_at(s, v)->elem;
  if (elem == SEER_VEC_F32) return seer_source_widened(s, v, text);
  if (s->fact[v.i].is_spread || (node->op == SEER_VEC_SELECT && k == 0)) return text;
  if (elem == SEER_VEC_I1) return seer_arena_printf(s->arena, "(i32x%u)(-%s)", s->n_spread, text);
  if (s->fact[v.i].step == 0) return seer_arena_printf(s->arena, "(i32x%u)(%s)", s->n_spread, text);
  return seer_arena_printf(
      s->arena, "STEPS(%u, %s, %" PRId64 ")", s->n_spread, text, s->fact[v.i].step);
}

// The k-th argument; masks have `bits` bits.
static const char *argument(seer_source *s, const seer_vec_node *node, uint32_t k, uint32_t bits) {
  bool is_mask = seer_source_is_mask(seer_source_at(s, node->arg[k]));
  const seer_source_fact *own = &s->fact[node - s->code->node];
  if (own->is_spread) return spread_argument(s, node, k);
  bool is_wider = node->elem == SEER_VEC_I64 && !own->is_short && s->fact[node->arg[k].i].is_short;
  if (is_wider) return seer_arena_printf(s->arena, "(i64)%s", seer_source_operand(s, node->arg[k]));
  return is_mask ? seer_source_mask(s, node->arg[k], bits) : seer_source_operand(s, node->arg[k]);
}

// ---- patterns

static const char *without_sign(const char *type, const seer_source *s) {
  return type[0] == 'i' ? seer_arena_printf(s->arena, "u%s", type + 1) : type;
}

static const char *type_of(const seer_source *s, seer_vec v, uint32_t mask_bits) {
  const seer_vec_node *node = seer_source_at(s, v);
  return seer_source_is_mask(node) ? seer_source_mask_type(s, mask_bits, node->lanes)
                                   : seer_source_type(s, (seer_vec_elem)node->elem, node->lanes);
}

static const char *word(seer_source *s, seer_vec v, uint32_t bits, char letter) {
  const seer_vec_node *node = seer_source_at(s, v);
  if (letter == 'T' && s->fact[v.i].is_short) return "i32";
  if (letter == 'T') return type_of(s, v, bits);
  if (letter == 'O') return without_sign(type_of(s, v, bits), s);
  if (letter == '!') return node->lanes == 1 && !s->fact[v.i].is_spread ? "!" : "~";
  if (letter == 'N') return seer_arena_printf(s->arena, "%u", s->n_spread);
  if (letter >= '0' && letter <= '2') return argument(s, node, (uint32_t)(letter - '0'), bits);
  const char *type = type_of(s, node->arg[0], bits);
  if (s->fact[v.i].takes_short && strcmp(type, "i64") == 0) type = "i32";
  if (letter == 'A') return type;
  const seer_vec_node *first = seer_source_at(s, node->arg[0]);
  bool is_small = first->lanes == 1 && seer_vec_elem_bits[first->elem] < 32;
  return letter == 'U' && is_small ? "u32" : without_sign(type, s);
}

static const char *fill_in(seer_source *s, seer_vec v, uint32_t bits, const char *pattern) {
  seer_text text;
  seer_text_init(&text, s->arena);
  for (const char *at = pattern; *at; at++) {
    if (*at == '$')
      seer_text_put(&text, word(s, v, bits, *++at));
    else
      seer_text_put_n(&text, at, 1);
  }
  return text.data;
}

// ---- masks, and what is made of them

static const char *of_mask(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  uint32_t bits = seer_vec_elem_bits[node->elem];
  switch ((int)node->op) {
    case SEER_VEC_ZEXT:
      return fill_in(s, v, bits, "$0 & 1");
    case SEER_VEC_SEXT:
      return fill_in(s, v, bits, "$0");
    case SEER_VEC_UINT_FLOAT:
      return fill_in(s, v, 32, "CONVERT($0 & 1, $T)");
    case SEER_VEC_SINT_FLOAT:
      return fill_in(s, v, 32, "CONVERT($0, $T)");
    default:
      return fill_in(
          s, v, s->fact[v.i].mask_bits, of_truth[node->op] ? of_truth[node->op] : of_op[node->op]);
  }
}

// Integers of less than 32 bits become floats by way of i32: that is an instruction, the other not.
static const char *widened(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  const char *way = seer_source_type(s, SEER_VEC_I32, node->lanes);
  const char *op = node->op == SEER_VEC_SINT_FLOAT ? "sext" : "zext";
  return fill_in(s, v, 0, seer_arena_printf(s->arena, "CONVERT(%s_$A_%s($0), $T)", op, way));
}

// ---- between lanes

static const char *select_lanes(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  uint32_t bits =
      node->elem == SEER_VEC_I1 ? s->fact[v.i].mask_bits : seer_vec_elem_bits[node->elem];
  bool is_one = seer_source_at(s, node->arg[0])->lanes == 1;
  seer_vec_op extreme = seer_source_extreme(s, node);
  if (extreme != SEER_VEC_UNDEF && node->lanes == 1)
    return fill_in(s, v, bits, extreme == SEER_VEC_FGT ? "$1 > $2 ? $1 : $2" : "$1 < $2 ? $1 : $2");
  if (extreme != SEER_VEC_UNDEF)
    return fill_in(
        s, v, bits, extreme == SEER_VEC_FGT ? "larger_$T($1, $2)" : "smaller_$T($1, $2)");
  return fill_in(s, v, bits, is_one ? "$0 ? $1 : $2" : "select_$T($0, $1, $2)");
}

// Lane l of what a row of INSERTs begins with.
static const char *lane_of(seer_source *s, seer_vec v, uint32_t bits, uint32_t l) {
  const seer_vec_node *node = seer_source_at(s, v);
  if (node->op == SEER_VEC_UNDEF) return "0";
  if (node->op == SEER_VEC_CONST) {
    uint64_t value = bits ? 0 - node->bits : node->bits + (uint64_t)node->imm * l;
    return seer_source_literal(s, bits ? SEER_VEC_I64 : (seer_vec_elem)node->elem, 1, value, 0);
  }
  if (node->op == SEER_VEC_SPLAT && bits)
    return seer_arena_printf(s->arena, "-%s", seer_source_operand(s, node->arg[0]));
  const char *all =
      bits ? seer_source_mask(s, v, s->fact[v.i].mask_bits) : seer_source_operand(s, v);
  return seer_arena_printf(s->arena, "%s[%u]", all, l);
}

const char *seer_source_lanes(
    seer_source *s, const char *type, const char *const *one, uint32_t lanes) {
  bool is_packed = s->dialect->frame != NULL;
  seer_text text;
  seer_text_init(&text, s->arena);
  if (is_packed)
    seer_text_printf(&text, "PACK%u(%s, ", lanes, type);
  else
    seer_text_printf(&text, "(%s){", type);
  for (uint32_t l = 0; l < lanes; l++) {
    if (l > 0) seer_text_put(&text, l % 8 == 0 ? ",\n        " : ", ");
    seer_text_put(&text, one[l]);
  }
  seer_text_put(&text, is_packed ? ")" : "}");
  return text.data;
}

// A row of INSERTs: all lanes at once, if there are that many.
static const char *insert(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  uint32_t bits = s->fact[v.i].mask_bits;
  const char *lane[SEER_SOURCE_MAX_LANES] = {0};
  seer_vec at = v;
  do {
    const seer_vec_node *one = seer_source_at(s, at);
    const char *text = seer_source_operand(s, one->arg[1]);
    if (!lane[one->imm]) lane[one->imm] = bits ? seer_arena_printf(s->arena, "-%s", text) : text;
    at = one->arg[0];
  } while (s->fact[at.i].is_later);
  for (uint32_t l = 0; l < node->lanes; l++)
    if (!lane[l]) lane[l] = lane_of(s, at, bits, l);
  return seer_source_lanes(s, type_of(s, v, bits), lane, node->lanes);
}

static const char *shuffle(seer_source *s, const seer_vec_node *node, uint32_t bits) {
  const seer_vec_order *order = &s->code->order[node->imm];
  seer_text text;
  seer_text_init(&text, s->arena);
  seer_text_printf(&text, "__builtin_shufflevector(%s, %s", argument(s, node, 0, bits),
      argument(s, node, 1, bits));
  for (uint32_t l = 0; l < order->n; l++) {
    seer_text_put(&text, l % 16 == 0 ? ",\n        " : ", ");
    seer_text_printf(&text, "%u", order->lane[l]);
  }
  seer_text_put(&text, ")");
  return text.data;
}

// Vectors of constants are put together where they are used.
static const char *packed(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  const char *lane[SEER_SOURCE_MAX_LANES];
  if (node->op != SEER_VEC_CONST && node->op != SEER_VEC_UNDEF) return seer_source_operand(s, v);
  for (uint32_t l = 0; l < node->lanes; l++) lane[l] = lane_of(s, v, 0, l);
  return seer_source_lanes(s, type_of(s, v, 0), lane, node->lanes);
}

static const char *between_lanes(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  const seer_vec_node *first = seer_source_at(s, node->arg[0]);
  uint32_t bits = s->fact[v.i].mask_bits, from = s->fact[node->arg[0].i].mask_bits;
  if (from == 0) from = 32;
  switch ((int)node->op) {
    case SEER_VEC_SPLAT:
      if (seer_source_is_spread_half(s, node))
        return seer_arena_printf(s->arena, "bits_half_i16x%u(splat_i16x%u(%s))", node->lanes,
            node->lanes, seer_source_operand(s, first->arg[0]));
      return fill_in(s, v, bits, "splat_$T($0)");
    case SEER_VEC_EXTRACT:
      if (first->lanes == 1) return fill_in(s, v, from, "$0");
      if (first->op == SEER_VEC_SPLAT && !seer_source_is_spread_half(s, first))
        return seer_source_operand(s, first->arg[0]);
      if (s->dialect->frame)
        return seer_arena_printf(
            s->arena, "LANE(%s, %" PRId64 ")", argument(s, node, 0, from), node->imm);
      return seer_arena_printf(s->arena, "%s[%" PRId64 "]%s", argument(s, node, 0, from), node->imm,
          first->elem == SEER_VEC_I1 ? " != 0" : "");
    case SEER_VEC_INSERT:
      return insert(s, v);
    case SEER_VEC_LOW_HALF:
      return fill_in(s, v, bits, "low_$A($0)");
    case SEER_VEC_HIGH_HALF:
      return fill_in(s, v, bits, "high_$A($0)");
    case SEER_VEC_SHUFFLE:
      return shuffle(s, node, bits);
    case SEER_VEC_ANY:
      return fill_in(s, v, from, first->lanes == 1 ? "$0" : "any_$A($0)");
    case SEER_VEC_SELECT:
      return select_lanes(s, v);
    case SEER_VEC_MMA:
      return seer_arena_printf(s->arena, "mma_%s(%s, %s, %s)", seer_vec_mma_names[node->imm],
          packed(s, node->arg[0]), packed(s, node->arg[1]), packed(s, node->arg[2]));
    default:
      return NULL;
  }
}

bool seer_source_has_spread(const seer_vec_node *node) { return of_items[node->op] != NULL; }

// The pattern of a mask that items differ in, of integers or of masks. NULL: it has none.
static const char *mask_pattern(const seer_source *s, const seer_vec_node *node) {
  bool is_value =
      seer_vec_ops[node->op].rule == SEER_VEC_SAME || seer_vec_ops[node->op].rule == SEER_VEC_TRUTH;
  if (node->elem != SEER_VEC_I1 || !is_value) return NULL;
  seer_vec_elem elem = (seer_vec_elem)seer_source_at(s, node->arg[0])->elem;
  if (elem == SEER_VEC_I1) return of_truth[node->op] ? of_truth[node->op] : of_op[node->op];
  return elem == SEER_VEC_F32 ? NULL : of_steps[node->op];
}

bool seer_source_has_mask(const seer_source *s, const seer_vec_node *node) {
  return mask_pattern(s, node) != NULL;
}

static const char *of_spread(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  const char *mask = mask_pattern(s, node);
  if (mask) return fill_in(s, v, 0, mask);
  seer_vec_op extreme = seer_source_extreme(s, node);
  if (extreme == SEER_VEC_UNDEF) return fill_in(s, v, 0, of_items[node->op]);
  return fill_in(s, v, 0, extreme == SEER_VEC_FGT ? "$1 > $2 ? $1 : $2" : "$1 < $2 ? $1 : $2");
}

const char *seer_source_value(seer_source *s, seer_vec v) {
  if (s->fact[v.i].is_spread) return of_spread(s, v);
  const seer_vec_node *node = seer_source_at(s, v);
  const seer_vec_node *first = seer_source_at(s, node->arg[0]);
  bool is_of_truth = seer_vec_ops[node->op].n_args > 0 && first->elem == SEER_VEC_I1;
  const char *text = between_lanes(s, v);
  if (text) return text;
  if (node->lanes == 1 && is_of_truth && of_truth[node->op])
    return fill_in(s, v, 0, of_truth[node->op]);
  if (node->lanes == 1) {
    bool is_same = node->op == SEER_VEC_BITCAST && node->elem == first->elem;
    if (node->op == SEER_VEC_TRUNC && node->elem == SEER_VEC_I1) return fill_in(s, v, 0, "$0 & 1");
    return fill_in(s, v, 0, is_same ? "$0" : of_op[node->op]);
  }
  if (is_of_truth) return of_mask(s, v);
  uint32_t bits = seer_vec_elem_bits[first->elem];
  if (node->op == SEER_VEC_TRUNC && node->elem == SEER_VEC_I1)
    return fill_in(s, v, bits, "-($0 & 1)");
  bool is_to_float = node->op == SEER_VEC_SINT_FLOAT || node->op == SEER_VEC_UINT_FLOAT;
  if (is_to_float && bits < 32) return widened(s, v);
  if (seer_vec_ops[node->op].rule == SEER_VEC_TRUTH && !of_lanes[node->op])
    return fill_in(s, v, bits, seer_arena_printf(s->arena, "($T)(%s)", of_op[node->op]));
  return fill_in(s, v, bits, of_lanes[node->op] ? of_lanes[node->op] : of_op[node->op]);
}
