// family_artifact.c - ONNX operator -> Relay's operator -> what stands before its underscore.
// FamilySeer's make_family_group takes the second field of a fused function's name,
// "fused_nn.conv2d_add_nn.relu", cut at underscores: the first operator, and of that what its own
// underscores leave. So nn.batch_matmul and nn.batch_flatten are one family, all global poolings
// are one, transposed convolutions are convolutions, and a function that begins with an elementwise
// operator is that operator's, whatever heavy one follows.
//
// Relay's names are those that its ONNX importer gives. Two of them depend on more than the
// operator: a product of matrices is nn.batch_matmul where both operands have a batch, else
// nn.dense; and 3x3 convolutions of stride 1 with more than 64 and less than 512 output channels
// are nn.contrib_conv2d_winograd_without_weight_transform.

#include "learn/family_artifact.h"

#include <ctype.h>
#include <string.h>

#include "base/near.h"
#include "dag/access.h"

#define WINOGRAD_MORE_THAN 64  // output channels
#define WINOGRAD_LESS_THAN 512

static const struct {
  const char *onnx, *cut;
} names[] = {
    {"ConvTranspose", "nn.conv2d"},  // nn.conv2d_transpose
    {"Gemm", "nn.dense"}, {"Flatten", "nn.batch"},  // nn.batch_flatten
    {"BatchNormalization", "nn.batch"},  // nn.batch_norm
    {"InstanceNormalization", "nn.instance"},
    {"LayerNormalization", "mean"},  // taken apart before fusing; that comes first
    {"LRN", "nn.lrn"}, {"MaxPool", "nn.max"}, {"AveragePool", "nn.avg"},
    {"GlobalMaxPool", "nn.global"}, {"GlobalAveragePool", "nn.global"}, {"Softmax", "nn.softmax"},
    {"LogSoftmax", "nn.log"}, {"Relu", "nn.relu"}, {"LeakyRelu", "nn.leaky"}, {"PRelu", "nn.prelu"},
    {"Pad", "nn.pad"}, {"Sub", "subtract"}, {"Mul", "multiply"}, {"Div", "divide"},
    {"Pow", "power"}, {"Neg", "negative"}, {"ReduceMean", "mean"}, {"ReduceSum", "sum"},
    {"ReduceMax", "max"}, {"ReduceMin", "min"}, {"ReduceProd", "prod"}, {"Gather", "take"},
    {"Concat", "concatenate"}, {"Expand", "broadcast"},  // broadcast_to
    {"Slice", "strided"},  // strided_slice
};

// An index that a window's axis and another one move: do they by 1?
static bool is_dense(const seer_access_dim *dim, uint32_t window) {
  if (!(dim->axes & window) || !(dim->axes & ~window)) return true;
  if (!seer_access_is_sum(dim)) return false;
  for (uint32_t a = 0; a < SEER_DAG_MAX_AXES; a++) {
    if (dim->axes >> a & 1 && dim->coef[a] != 1) return false;
  }
  return true;
}

static bool is_winograd(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *anchor = &dag->stage[stage];
  const seer_access_table *table = dag->access;
  uint32_t window = 0, n_window = 0;
  bool has_channels = false, has_group = false;
  for (uint32_t a = 0; a < (uint32_t)anchor->n_space + anchor->n_reduce; a++) {
    const seer_dag_axis *axis = &anchor->axis[a];
    has_group |= axis->role == SEER_AXIS_GROUP;
    if (axis->role == SEER_AXIS_OUT_CHANNEL)
      has_channels = axis->extent > WINOGRAD_MORE_THAN && axis->extent < WINOGRAD_LESS_THAN;
    if (a < anchor->n_space || (axis->role != SEER_AXIS_KY && axis->role != SEER_AXIS_KX)) continue;
    if (axis->extent != 3) return false;
    window |= 1u << a;
    n_window++;
  }
  if (n_window != 2 || !has_channels || has_group) return false;
  for (uint32_t i = table->first_load[stage]; i < table->first_load[stage + 1]; i++) {
    const seer_access *load = &table->load[i];
    for (uint32_t d = 0; d < load->rank; d++) {
      if (!is_dense(seer_access_index(table, load, d), window)) return false;
    }
  }
  return true;
}

// Both operands have an axis of the result in common, of more than one value.
static bool has_batch(const seer_dag *dag, uint32_t stage) {
  const seer_dag_stage *anchor = &dag->stage[stage];
  const seer_access_table *table = dag->access;
  uint32_t in_all = 0;
  for (uint32_t a = 0; a < anchor->n_space; a++)
    if (anchor->axis[a].extent > 1) in_all |= 1u << a;
  for (uint32_t i = table->first_load[stage]; i < table->first_load[stage + 1]; i++) {
    uint32_t axes = 0;
    for (uint32_t d = 0; d < table->load[i].rank; d++)
      axes |= seer_access_index(table, &table->load[i], d)->axes;
    in_all &= axes;
  }
  return in_all != 0;
}

static const char *conv_name(const seer_dag *dag, seer_arena *arena) {
  uint32_t stage = seer_dag_anchor(dag);
  const char *cls = seer_dag_anchor_class(dag, arena);
  uint32_t rank = dag->buf[dag->stage[stage].out[0]].rank;  // with batch and channels
  if (rank == 4 && strcmp(cls, "conv.f32") == 0 && is_winograd(dag, stage)) return "nn.contrib";
  return rank == 3 ? "nn.conv1d" : rank == 5 ? "nn.conv3d" : "nn.conv2d";
}

static const char *lower(const char *op, seer_arena *arena) {
  char *name = seer_arena_strdup(arena, op);
  for (char *c = name; *c; c++) *c = (char)tolower((unsigned char)*c);
  name[strcspn(name, "_")] = 0;
  return name;
}

const char *seer_family_artifact_op(const seer_task *task, seer_arena *arena) {
  const char *at = task->ops;
  size_t n;
  const char *first = seer_words_next(&at, &n);
  if (!first) return "";
  const char *op = seer_arena_strndup(arena, first, n);
  if (strcmp(op, "Conv") == 0) return conv_name(task->dag, arena);
  if (strcmp(op, "MatMul") == 0)
    return has_batch(task->dag, seer_dag_anchor(task->dag)) ? "nn.batch" : "nn.dense";
  for (size_t i = 0; i < SEER_COUNT_OF(names); i++) {
    if (strcmp(names[i].onnx, op) == 0) return names[i].cut;
  }
  return lower(op, arena);
}
