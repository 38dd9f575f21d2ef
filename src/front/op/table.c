// table.c - the operators that familyseer knows, in the order of doc/operators.md.
// To add one: write its entry in the file of its family (a new file for a new family), add one line
// here, and a test in test/unit/front/test_op_<family>.c against a hand-written loop.
#include <string.h>

#include "front/op/util.h"

// clang-format off
#define OPS(X)                                                                                    \
  X(conv) X(conv_transpose) X(gemm) X(matmul)                                                     \
  X(max_pool) X(average_pool) X(global_average_pool) X(global_max_pool)                           \
  X(batch_norm) X(lrn) X(softmax) X(log_softmax)                                                  \
  X(layer_norm) X(instance_norm) X(group_norm) X(mvn) X(lp_norm)                                  \
  X(relu) X(leaky_relu) X(prelu) X(clip) X(sigmoid) X(hard_sigmoid) X(hard_swish) X(tanh) X(elu)  \
  X(selu) X(celu) X(softplus) X(softsign) X(mish) X(thresholded_relu) X(gelu)                     \
  X(exp) X(log) X(sqrt) X(erf) X(sin) X(cos) X(neg) X(abs) X(sign) X(floor) X(ceil) X(round)      \
  X(reciprocal) X(is_nan) X(is_inf) X(shrink) X(not) X(cast) X(cast_like)                                      \
  X(tan) X(cosh) X(sinh) X(asinh) X(acosh) X(atanh) X(atan) X(asin) X(acos)                       \
  X(add) X(sub) X(mul) X(div) X(mod) X(pow) X(min) X(max) X(sum) X(mean)                          \
  X(equal) X(less) X(greater) X(less_or_equal) X(greater_or_equal)                                \
  X(and) X(or) X(xor) X(where)                                                                    \
  X(bitwise_and) X(bitwise_or) X(bitwise_xor) X(bitwise_not) X(bit_shift)                         \
  X(reduce_sum) X(reduce_mean) X(reduce_max) X(reduce_min) X(reduce_prod)                         \
  X(reduce_sum_square) X(reduce_l1) X(reduce_l2) X(reduce_log_sum) X(reduce_log_sum_exp)          \
  X(arg_max) X(arg_min) X(hardmax)                                                                           \
  X(reshape) X(flatten) X(squeeze) X(unsqueeze) X(identity) X(dropout)                            \
  X(transpose) X(concat) X(split) X(slice) X(expand) X(tile) X(pad)                               \
  X(gather) X(gather_elements) X(depth_to_space) X(space_to_depth)                                \
  X(trilu) X(cum_sum) X(one_hot) X(einsum) X(resize)                                                        \
  X(shape) X(size) X(constant) X(constant_of_shape) X(range)
// clang-format on

#define DECLARE(id) extern const seer_op_desc seer_op_##id;
OPS(DECLARE)
#undef DECLARE

const seer_op_desc *const seer_op_table[] = {
#define ENTRY(id) &seer_op_##id,
    OPS(ENTRY)
#undef ENTRY
};
const size_t seer_op_table_count = SEER_COUNT_OF(seer_op_table);

const seer_op_desc *seer_op_find(const char *domain, const char *name, int32_t opset) {
  if (!domain || strcmp(domain, "ai.onnx") == 0) domain = "";
  for (size_t i = 0; i < seer_op_table_count; i++) {
    const seer_op_desc *op = seer_op_table[i];
    if (opset >= op->opset_min && opset <= op->opset_max && strcmp(op->name, name) == 0 &&
        strcmp(op->domain, domain) == 0) {
      return op;
    }
  }
  return NULL;
}
