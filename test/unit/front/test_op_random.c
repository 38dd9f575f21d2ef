// Every operator with random inputs and attributes, sane and not: each either says what is wrong or
// yields shapes, a DAG that verifies, values that do not depend on the layout, and a fold that
// agrees with the DAG.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op_case.h"

#define N_CASES 800  // of an operator

static const uint64_t seed = 20240607;

static int64_t odd_int(seer_rng *rng) {
  static const int64_t odd[] = {INT64_MAX, INT64_MIN, INT32_MAX, -1000000, 1 << 30, 0};
  return seer_rng_chance(rng, 0.06) ? odd[seer_rng_below(rng, 6)] : seer_rng_range(rng, -3, 4);
}

static seer_dtype random_dtype(seer_rng *rng) {
  static const seer_dtype dtypes[] = {
      SEER_DTYPE_I64, SEER_DTYPE_I32, SEER_DTYPE_BOOL, SEER_DTYPE_U8, SEER_DTYPE_F64};
  return dtypes[seer_rng_below(rng, 5)];
}

static bool is_in(const char *list, const char *word) {  // lists end with a blank
  size_t n = strlen(word);
  for (const char *at = list; (at = strstr(at, word)); at++) {
    if ((at == list || at[-1] == ' ') && at[n] == ' ') return true;
  }
  return false;
}

// Names from the entry's list, with whatever type comes.
static void random_attrs(op_case *c, const char *names, seer_rng *rng, uint32_t rank) {
  static const char *const words[] = {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "reflect",
      "edge", "wrap", "constant", "tanh", "CRD", "nonsense", ""};
  while (*names && c->n_attr < 12) {
    size_t n = strcspn(names, " ");
    const char *name = seer_arena_strndup(c->arena, names, n);
    names += n + (names[n] == ' ');
    bool is_strict = (strncmp(c->op, "Conv", 4) == 0 &&
                         is_in("group kernel_shape output_shape output_padding ", name)) ||
        strcmp(name, "p") == 0;
    if (strcmp(name, "equation") == 0) {
      static const char *const equations[] = {"...,...", "...", "ij,jk->ik", "bij,bjk", "...i->...",
          "i...,i...->...", "ii", "ij,ij->j", "abcd,abcd->ac", "no->sense"};
      case_s(c, name, equations[seer_rng_below(rng, SEER_COUNT_OF(equations))]);
      continue;
    }
    if (strcmp(name, "direction") == 0) {
      case_s(c, name, seer_rng_chance(rng, 0.5) ? "LEFT" : "RIGHT");
      continue;
    }
    if (strcmp(name, "pooled_shape") == 0) {
      const int64_t size[2] = {seer_rng_range(rng, 0, 4), seer_rng_range(rng, 1, 4)};
      case_ints(c, name, 2, size);
      continue;
    }
    if (strcmp(name, "num_groups") == 0) {
      case_i(c, name, seer_rng_range(rng, 0, 2));
      continue;
    }
    if (seer_rng_chance(rng, is_strict ? 0.9 : 0.5)) continue;
    bool is_list = is_in(
        "pads axes dilations kernel_shape strides starts ends perm split shape output_shape "
        "output_padding ",
        name);
    bool is_word = is_in("auto_pad mode approximate ", name);
    bool is_float = is_in(
        "alpha beta gamma epsilon bias min max value momentum ratio value_float lambd ", name);
    if (seer_rng_chance(rng, 0.03)) is_list = !is_list;  // of the wrong kind
    if (is_list) {
      int64_t list[12];
      uint32_t most = strcmp(name, "pads") == 0 ? 2 * rank : rank;
      uint32_t count = (uint32_t)seer_rng_below(rng, most + 1);
      if (seer_rng_chance(rng, 0.7))
        count = rank > 2 && n > 4 ? (most - (strcmp(name, "pads") ? 2 : 4)) : most;
      bool is_positive = seer_rng_chance(rng, 0.8);
      for (uint32_t k = 0; k < count; k++)
        list[k] = is_positive ? seer_rng_range(rng, n > 6, 2) : odd_int(rng);
      if (strcmp(name, "perm") == 0) {
        for (uint32_t k = 0; k < count; k++) list[k] = (k + 1) % count;
      }
      case_ints(c, name, count, list);
    } else if (is_word) {
      case_s(c, name, words[seer_rng_below(rng, 12)]);
    } else if (is_float) {
      case_f(c, name, seer_rng_f64(rng) * 2 - 0.5);
    } else {
      case_i(c, name, odd_int(rng));
    }
  }
}

static void random_inputs(
    op_case *c, const seer_op_desc *op, seer_rng *rng, bool all_const, uint32_t *out_rank) {
  uint32_t n = op->n_in_max == 255 ? (uint32_t)seer_rng_range(rng, op->n_in_min, 4)
                                   : (uint32_t)seer_rng_range(rng, op->n_in_min, op->n_in_max);
  seer_dtype dtype = seer_rng_chance(rng, 0.7) ? SEER_DTYPE_F32 : random_dtype(rng);
  uint32_t rank = (uint32_t)seer_rng_below(rng, 6);
  if (seer_rng_chance(rng, 0.5)) rank = 4;
  int64_t dim[6], base[6];
  for (uint32_t d = 0; d < 6; d++)
    base[d] = seer_rng_chance(rng, 0.03) ? 0 : seer_rng_range(rng, 1, 5);
  if (strcmp(op->name, "Gemm") == 0 && seer_rng_chance(rng, 0.8)) rank = 2;
  bool has_regions = strcmp(op->name, "RoiAlign") == 0 || strcmp(op->name, "MaxRoiPool") == 0;
  if (has_regions && seer_rng_chance(rng, 0.9)) rank = 4;
  if (is_in("Gemm MatMul ", op->name) && seer_rng_chance(rng, 0.8)) {
    for (uint32_t d = 1; d < 6; d++) base[d] = base[0];
  }
  bool are_alike = seer_rng_chance(rng, 0.7);
  *out_rank = rank;
  for (uint32_t k = 0; k < n; k++) {
    memcpy(dim, base, sizeof dim);
    uint32_t r = rank;
    bool is_ints = k > 0 && n > 1 &&
        is_in("Reshape Slice Expand Tile Pad Split Gather Squeeze Unsqueeze ReduceSum ReduceMean ",
            op->name);
    bool is_one_int = k == 1 && is_in("Trilu CumSum CumProd OneHot TopK ", op->name);
    if (k >= op->n_in_min && seer_rng_chance(rng, 0.2)) {
      case_absent(c);
      continue;
    }
    if (k > 0 && !are_alike) {
      r = (uint32_t)seer_rng_below(rng, 5);
      for (uint32_t d = 0; d < r; d++) dim[d] = seer_rng_range(rng, 0, 3);
    }
    if (strcmp(op->name, "BatchNormalization") == 0 && k > 0) r = 1, dim[0] = base[1];
    if (is_in("Conv ConvTranspose ", op->name) && k == 1)
      r = rank, dim[0] = dim[1] = base[1], dim[2] = dim[3] = seer_rng_range(rng, 1, 3);
    if (is_in("Conv ConvTranspose ", op->name) && k == 2) r = 1, dim[0] = base[1];
    if (is_in("InstanceNormalization GroupNormalization ", op->name) && k > 0)
      r = 1, dim[0] = base[1];
    if (strcmp(op->name, "LayerNormalization") == 0 && k > 0 && rank > 0)
      r = 1, dim[0] = base[rank - 1];
    if (strcmp(op->name, "OneHot") == 0 && k == 2) r = 1, dim[0] = 2;
    if (has_regions && k > 0) {
      r = k == 1 ? 2 : 1;
      dim[0] = 3;
      dim[1] = op->n_in_max == 3 ? 4 : 5;
    }
    if (is_in("GatherND ScatterND ", op->name) && k == 1) r = 2, dim[0] = 2, dim[1] = 1;
    if (strcmp(op->name, "ScatterND") == 0 && k == 2) r = rank, dim[0] = 2;
    if (strcmp(op->name, "ReverseSequence") == 0 && k == 1) r = 1, dim[0] = base[1];
    if (is_in("QuantizeLinear DequantizeLinear ", op->name) && k > 0) r = 0;
    if (strcmp(op->name, "Resize") == 0 && k > 0) {
      double scales[6];
      for (uint32_t d = 0; d < 6; d++) scales[d] = 0.5 * (double)seer_rng_range(rng, 1, 4);
      if (k == (c->opset < 11 ? 1 : 2))
        case_const(c, SEER_DTYPE_F32, 1, (int64_t[]){rank}, scales);
      else
        case_absent(c);
      continue;
    }
    if (is_one_int) {
      case_const(c, SEER_DTYPE_I64, 0, NULL, (double[]){(double)seer_rng_range(rng, -1, 3)});
      continue;
    }
    if (is_ints) {
      double values[12];
      uint32_t count = (uint32_t)seer_rng_range(rng, 0, 8);
      if (seer_rng_chance(rng, 0.6)) count = strcmp(op->name, "Pad") == 0 ? 2 * rank : rank;
      if (strcmp(op->name, "Slice") == 0 && seer_rng_chance(rng, 0.95)) count = rank > 0;
      for (uint32_t i = 0; i < count; i++) values[i] = (double)seer_rng_range(rng, -1, 4);
      case_const(c, seer_rng_chance(rng, 0.95) ? SEER_DTYPE_I64 : SEER_DTYPE_F32, 1,
          (int64_t[]){count}, values);
      continue;
    }
    bool is_const = all_const || seer_rng_chance(rng, 0.2);
    seer_dtype own = seer_rng_chance(rng, 0.97) ? dtype : random_dtype(rng);
    if (k == 0 && strcmp(op->name, "Where") == 0) own = SEER_DTYPE_BOOL;
    if (k == 1 && strncmp(op->name, "GatherElements", 6) == 0) own = SEER_DTYPE_I64;
    if (k == 1 && strncmp(op->name, "Scatter", 7) == 0) own = SEER_DTYPE_I64;
    if (k == 1 && strcmp(op->name, "ReverseSequence") == 0) own = SEER_DTYPE_I64;
    if (k == 2 && strcmp(op->name, "RoiAlign") == 0) own = SEER_DTYPE_I64;
    if (k == 1 && strcmp(op->name, "GatherND") == 0) own = SEER_DTYPE_I64;
    if (k == 0 && strcmp(op->name, "DequantizeLinear") == 0) own = SEER_DTYPE_I8;
    if (k == 2 && is_in("QuantizeLinear DequantizeLinear ", op->name)) own = SEER_DTYPE_I8;
    if (strncmp(op->name, "Bit", 3) == 0 && seer_rng_chance(rng, 0.9)) own = SEER_DTYPE_U32;
    if (is_const)
      case_weight(c, own, r, dim);
    else
      case_in(c, own, r, dim);
  }
}

static void compare_fold(op_case *c) {
  tensor emitted[8];
  memcpy(emitted, c->y, sizeof emitted);
  seer_tensor out[8] = {0};
  seer_status status = c->node->op->fold(c->graph, c->node, c->arena, out);
  if (status) fail_msg("%s: emitted but not folded: %s", c->op, seer_status_message(status));
  for (uint32_t k = 0; k < c->n_out; k++) {
    for (int64_t i = 0; i < tensor_elems(&emitted[k]); i++) {
      double a = emitted[k].v[i], b = seer_dtype_load_f64(out[k].dtype, out[k].data, i);
      const seer_op_desc *op = c->node->op;  // sums are in another order
      bool is_same =
          a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= op->atol + op->rtol * fabs(b);
      if (!is_same) fail_msg("%s: emitted %g, folded %g", c->op, a, b);
    }
  }
}

// What happened: 0 refused by inference, 1 not emitted, 2 evaluated.
static int run_one(const seer_op_desc *op, uint64_t stream, bool *out_folded) {
  seer_rng rng;
  seer_rng_init_stream(&rng, seed, stream);
  op_case *c = case_open(op->name, (int32_t)seer_rng_range(&rng, op->opset_min, op->opset_max));
  uint32_t rank = 0;
  bool all_const = seer_rng_chance(&rng, 0.25);
  random_inputs(c, op, &rng, all_const, &rank);
  random_attrs(c, op->attrs, &rng, rank ? rank : 1);
  c->n_out = op->n_out_min;
  if (strcmp(op->name, "Split") == 0) c->n_out = (uint32_t)seer_rng_range(&rng, 1, 3);
  int outcome = 0;
  seer_status status = case_try_infer(c);
  if (!status) {
    outcome = 1;
    int64_t n = 0;
    for (uint32_t k = 0; k < c->n_out; k++) n += tensor_elems(&c->y[k]);
    if (n < 20000) status = case_try_run(c);
    if (!status && n < 20000) outcome = 2;
    bool are_const = c->n_in > 0;
    for (uint32_t k = 0; k < c->n_in; k++) {
      are_const = are_const && (!c->in[k].i || seer_graph_value(c->graph, c->in[k])->constant);
    }
    if (outcome == 2 && op->fold && are_const) {
      compare_fold(c);
      *out_folded = true;
    }
  }
  if (status) {
    assert_true(strlen(seer_status_message(status)) > 8);
    seer_code code = seer_status_code(status);
    if (code != SEER_CODE_INVALID && code != SEER_CODE_UNSUPPORTED && code != SEER_CODE_RESOURCE) {
      fail_msg("%s (stream %" PRIu64 "): %s", op->name, stream, seer_status_message(status));
    }
    // A DAG that does not verify is our fault, whatever the model was.
    if (outcome == 1 && code == SEER_CODE_INVALID) {
      fail_msg("%s (stream %" PRIu64 "): %s", op->name, stream, seer_status_message(status));
    }
    seer_status_free(status);
  }
  case_close(c);
  return outcome;
}

static void test_random(void **state) {
  (void)state;
  for (size_t i = 0; i < seer_op_table_count; i++) {
    if (seer_op_table[i]->fuse == SEER_FUSE_COMPOSITE) continue;  // test_expand.c
    uint32_t count[3] = {0};
    for (uint64_t k = 0; k < N_CASES; k++) {
      bool folded = false;
      count[run_one(seer_op_table[i], i * 1000 + k, &folded)]++;
    }
    // Those have no inputs that a random one could be.
    bool only_folds = strcmp(seer_op_table[i]->name, "ConstantOfShape") == 0 ||
        (!seer_op_table[i]->emit && seer_op_table[i]->fuse != SEER_FUSE_VIEW);
    if (!only_folds && count[2] < 8) {
      fail_msg("%s: only %u of %u cases evaluated (%u refused, %u not emitted)",
          seer_op_table[i]->name, count[2], (unsigned)N_CASES, count[0], count[1]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
