// ops.c - the tables of operators and element types.
#include "code/vector/vector.h"

const seer_vec_op_info seer_vec_ops[SEER_VEC_OP_COUNT] = {
#define FOLDED true
#define KEPT false
#define SEER_VEC_OP(name, text, n_args, rule, fold) {text, n_args, SEER_VEC_##rule, fold},
#include "code/vector/ops.inc"
#undef SEER_VEC_OP
#undef KEPT
#undef FOLDED
};

const char *const seer_vec_elem_names[SEER_VEC_ELEM_COUNT] = {
    "void", "i1", "i8", "i16", "i32", "i64", "f32", "f64", "ptr"};
const char *const seer_vec_mma_names[SEER_VEC_MMA_KIND_COUNT] = {"f16", "bf16", "tf32"};
const uint8_t seer_vec_elem_bits[SEER_VEC_ELEM_COUNT] = {0, 1, 8, 16, 32, 64, 32, 64, 0};
