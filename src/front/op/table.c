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
  X(scatter_elements) X(scatter) X(scatter_nd) X(gather_nd) X(top_k) X(reverse_sequence)          \
  X(shape) X(size) X(constant) X(constant_of_shape) X(range) X(non_zero)          \
  X(non_max_suppression) X(unique)                                                                \
  X(quantize_linear) X(dequantize_linear) X(dynamic_quantize)                                     \
  X(matmul_integer) X(conv_integer) X(qlinear_matmul) X(qlinear_conv)                             \
  X(rnn) X(gru) X(lstm) X(if) X(loop) X(scan)                                                     \
  X(sequence_construct) X(sequence_empty) X(sequence_length) X(sequence_at) X(sequence_insert)    \
  X(sequence_erase) X(split_to_sequence) X(concat_from_sequence) X(sequence_map)                  \
  X(optional) X(optional_has_element) X(optional_get_element)                                     \
  X(nll_loss) X(cross_entropy)                                                                    \
  X(hann_window) X(hamming_window) X(blackman_window) X(dft) X(stft) X(mel_weights) X(tf_idf)     \
  X(center_crop_pad) X(col2im) X(affine_grid) X(compress) X(upsample)                             \
  X(simplified_layer_norm)                                                                        \
  X(ms_fused_matmul) X(ms_dynamic_quantize_matmul) X(ms_gelu) X(ms_bias_gelu) X(ms_fast_gelu)     \
  X(ms_quick_gelu) X(ms_skip_layer_norm) X(ms_skip_rms_norm) X(ms_attention)                      \
  X(ms_multi_head_attention) X(ms_embed_layer_norm) X(ms_nhwc_max_pool)                           \
  X(ms_matmul_integer_to_float) X(ms_qgemm) X(ms_dynamic_quantize_lstm)                           \
  X(ms_qlinear_add) X(ms_qlinear_mul) X(ms_qlinear_sigmoid) X(ms_qlinear_leaky_relu)              \
  X(ms_qlinear_softmax) X(ms_qlinear_concat) X(ms_qlinear_average_pool)                           \
  X(ms_qlinear_global_average_pool)
// Forms that ended with an old opset, under the names of others above: no list shows them.
#define OLD_OPS(X)                                                                                \
  X(old_add) X(old_sub) X(old_mul) X(old_div) X(old_pow) X(old_equal) X(old_less) X(old_greater)  \
  X(old_and) X(old_or) X(old_xor) X(old_prelu) X(scan_8)
// What composites are made of besides: runs on the host, or says what sizes are. No list shows
// them.
#define INNER_OPS(X)                                                                              \
  X(host_non_zero) X(host_nms) X(host_unique) X(sized) X(at_bound) X(index) X(loop_begin)         \
  X(loop_end) X(branch)
// clang-format on

#define DECLARE(id) extern const seer_op_desc seer_op_##id;
OPS(DECLARE)
OLD_OPS(DECLARE)
INNER_OPS(DECLARE)
#undef DECLARE

const seer_op_desc *const seer_op_table[] = {
#define ENTRY(id) &seer_op_##id,
    OPS(ENTRY)};
const size_t seer_op_table_count = SEER_COUNT_OF(seer_op_table);
static const seer_op_desc *const old_table[] = {OLD_OPS(ENTRY) INNER_OPS(ENTRY)};
#undef ENTRY

static const seer_op_desc *find_in(const seer_op_desc *const *table, size_t n, const char *domain,
    const char *name, int32_t opset) {
  for (size_t i = 0; i < n; i++) {
    const seer_op_desc *op = table[i];
    if (opset >= op->opset_min && opset <= op->opset_max && strcmp(op->name, name) == 0 &&
        strcmp(op->domain, domain) == 0) {
      return op;
    }
  }
  return NULL;
}

const seer_op_desc *seer_op_find(const char *domain, const char *name, int32_t opset) {
  if (!domain || strcmp(domain, "ai.onnx") == 0) domain = "";
  const seer_op_desc *op = find_in(seer_op_table, seer_op_table_count, domain, name, opset);
  return op ? op : find_in(old_table, SEER_COUNT_OF(old_table), domain, name, opset);
}
