// Views, shape arithmetic and movement: by emission and by their own folds.
#include <math.h>
#include <string.h>

#include "op_case.h"

static void ints_in(op_case *c, uint32_t n, const int64_t *values) {
  double v[8];
  for (uint32_t k = 0; k < n; k++) v[k] = (double)values[k];
  case_const(c, SEER_DTYPE_I64, 1, (int64_t[]){n}, v);
}

static void expect_same_elements(op_case *c) {
  for (int64_t i = 0; i < tensor_elems(&c->y[0]); i++) assert_true(c->y[0].v[i] == c->x[0].v[i]);
}

static void run_reshape(uint32_t rank, const int64_t *dim, uint32_t n, const int64_t *shape,
    bool allowzero, uint32_t y_rank, const int64_t *y_dim) {
  for (int folded = 0; folded < 2; folded++) {
    op_case *c = case_open("Reshape", 14);
    if (folded)
      case_weight(c, SEER_DTYPE_F32, rank, dim);
    else
      case_in(c, SEER_DTYPE_F32, rank, dim);
    ints_in(c, n, shape);
    if (allowzero) case_i(c, "allowzero", 1);
    if (folded)
      case_fold(c);
    else
      case_run(c);
    expect_dims(&c->y[0], y_rank, y_dim);
    expect_same_elements(c);
    case_close(c);
  }
}

static void test_reshape(void **state) {
  (void)state;
  run_reshape(DIMS(2, 3, 4, 5), DIMS(2, 3, 20), false, DIMS(2, 3, 20));
  run_reshape(DIMS(2, 3, 4, 5), DIMS(0, -1), false, DIMS(2, 60));
  run_reshape(DIMS(2, 60), DIMS(0, 3, 4, 5), false, DIMS(2, 3, 4, 5));
  run_reshape(DIMS(2, 6, 4), DIMS(4, 3, 2, 2), false, DIMS(4, 3, 2, 2));
  run_reshape(DIMS(6, 4), DIMS(3, 8), false, DIMS(3, 8));
  run_reshape(DIMS(1, 7, 1), DIMS(7), false, DIMS(7));
  run_reshape(DIMS(7), DIMS(1, 1, 7, 1), false, DIMS(1, 1, 7, 1));
  run_reshape(DIMS(1, 1), 0, NULL, false, 0, NULL);
  run_reshape(DIMS(2, 3, 4, 5), DIMS(2, 3, 2, 2, 5), true, DIMS(2, 3, 2, 2, 5));
  op_case *c = case_open("Reshape", 14);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  ints_in(c, DIMS(4, -1));
  case_expect_error(c, "input 0 is [2,3], cannot become [4,-1]");
  case_close(c);
  c = case_open("Reshape", 14);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  ints_in(c, DIMS(-1, -1));
  case_expect_error(c, "shape has -1 at 0 and 1");
  case_close(c);
  c = case_open("Reshape", 14);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  ints_in(c, DIMS(-2, 3));
  case_expect_error(c, "must be -1 or more");
  case_close(c);
  c = case_open("Reshape", 14);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  ints_in(c, DIMS(0, -1));
  case_i(c, "allowzero", 1);
  case_expect_error(c, "cannot become [0,-1]");
  case_close(c);
}

static void test_flatten_squeeze(void **state) {
  (void)state;
  for (int64_t axis = -4; axis <= 4; axis++) {
    op_case *c = case_open("Flatten", 13);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 4, 5));
    case_i(c, "axis", axis);
    case_run(c);
    int64_t dim[4] = {2, 3, 4, 5}, rows = 1;
    for (int64_t d = 0; d < (axis < 0 ? axis + 4 : axis); d++) rows *= dim[d];
    expect_dims(&c->y[0], DIMS(rows, 120 / rows));
    expect_same_elements(c);
    case_close(c);
  }
  for (int form = 0; form < 4; form++) {  // attribute, input, no axes, unsqueeze
    op_case *c = case_open(form == 3 ? "Unsqueeze" : "Squeeze", form == 0 ? 11 : 13);
    if (form == 3)
      case_in(c, SEER_DTYPE_F32, DIMS(3, 5));
    else
      case_in(c, SEER_DTYPE_F32, DIMS(1, 3, 1, 5));
    if (form == 0) case_ints(c, "axes", DIMS(0, -2));
    if (form == 1) ints_in(c, DIMS(2));
    if (form == 3) ints_in(c, DIMS(-1, 0, 2));
    case_run(c);
    if (form == 0 || form == 2) expect_dims(&c->y[0], DIMS(3, 5));
    if (form == 1) expect_dims(&c->y[0], DIMS(1, 3, 5));
    if (form == 3) expect_dims(&c->y[0], DIMS(1, 3, 1, 5, 1));
    expect_same_elements(c);
    case_close(c);
  }
  op_case *c = case_open("Squeeze", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 3));
  ints_in(c, DIMS(1));
  case_expect_error(c, "'axes' names dimension 1 of [1,3], must have extent 1");
  case_close(c);
  static const char *const same[] = {"Identity", "Dropout"};
  for (int k = 0; k < 2; k++) {
    c = case_open(same[k], 13);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 4));
    case_run(c);
    expect_same_elements(c);
    case_close(c);
  }
}

static void test_constants(void **state) {
  (void)state;
  op_case *c = case_open("Shape", 15);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 4, 5));
  case_i(c, "start", 1);
  case_i(c, "end", -1);
  case_fold(c);
  expect_dims(&c->y[0], DIMS(2));
  expect_values(c, 0, (double[]){3, 4});
  case_close(c);
  c = case_open("Shape", 13);
  case_in(c, SEER_DTYPE_F32, 0, NULL);
  case_fold(c);
  expect_dims(&c->y[0], DIMS(0));
  case_close(c);
  c = case_open("Size", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 4));
  case_fold(c);
  expect_values(c, 0, (double[]){24});
  case_close(c);
  c = case_open("Constant", 13);
  case_ints(c, "value_ints", DIMS(4, -5));
  case_fold(c);
  expect_dims(&c->y[0], DIMS(2));
  expect_values(c, 0, (double[]){4, -5});
  case_close(c);
  c = case_open("Constant", 13);
  case_f(c, "value_float", 1.5);
  case_fold(c);
  assert_int_equal(c->y[0].dtype, SEER_DTYPE_F32);
  expect_dims(&c->y[0], 0, NULL);
  expect_values(c, 0, (double[]){1.5});
  case_close(c);
  c = case_open("Constant", 13);
  case_s(c, "value_string", "x");
  case_expect_error(c, "only numbers");
  case_close(c);
  for (int folded = 0; folded < 2; folded++) {
    c = case_open("ConstantOfShape", 9);
    ints_in(c, DIMS(3, 1, 5));
    int64_t seven = 7;
    seer_tensor value = {
        .dtype = SEER_DTYPE_I64, .rank = 1, .dim = {1}, .data = &seven, .n_bytes = 8};
    c->attr[c->n_attr++] = (seer_attr){.name = "value", .kind = SEER_ATTR_TENSOR, .tensor = &value};
    if (folded)
      case_fold(c);
    else
      case_run(c);
    expect_dims(&c->y[0], DIMS(3, 1, 5));
    assert_int_equal(c->y[0].dtype, SEER_DTYPE_I64);
    for (int i = 0; i < 15; i++) assert_true(c->y[0].v[i] == 7);
    case_close(c);
  }
  c = case_open("Range", 11);
  case_const(c, SEER_DTYPE_I64, 0, NULL, (double[]){10});
  case_const(c, SEER_DTYPE_I64, 0, NULL, (double[]){3});
  case_const(c, SEER_DTYPE_I64, 0, NULL, (double[]){-2});
  case_fold(c);
  expect_dims(&c->y[0], DIMS(4));
  expect_values(c, 0, (double[]){10, 8, 6, 4});
  case_close(c);
  for (int stash = 0; stash < 2; stash++) {
    c = case_open("Range", 27);
    case_const(c, SEER_DTYPE_F16, 0, NULL, (double[]){2040});
    case_const(c, SEER_DTYPE_F16, 0, NULL, (double[]){2052});
    case_const(c, SEER_DTYPE_F16, 0, NULL, (double[]){3});
    case_i(c, "stash_type", stash);
    if (stash) {
      case_fold(c);  // 2043 + 3 and so on in f32: rounded once each
      expect_values(c, 0, (double[]){2040, 2043, 2046, 2048});
    } else {
      case_expect_error(c, "attribute 'stash_type' is 0, must be 1");
    }
    case_close(c);
  }
}

static void test_transpose(void **state) {
  (void)state;
  static const int64_t perms[][4] = {{0, 2, 3, 1}, {3, 1, 0, 2}, {0, 1, 2, 3}, {3, 2, 1, 0}};
  for (int k = 0; k < 8; k++) {
    const int64_t *perm = perms[k % 4];
    op_case *c = case_open("Transpose", 13);
    if (k / 4)
      case_weight(c, SEER_DTYPE_F32, DIMS(2, 3, 4, 5));
    else
      case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 4, 5));
    if (k % 4 != 3) case_ints(c, "perm", 4, perm);  // the default is reversed
    if (k / 4)
      case_fold(c);
    else
      case_run(c);
    double *expected = new_values(c, 0);
    int64_t at[4] = {0}, i = 0;
    do {
      int64_t from[4];
      for (int d = 0; d < 4; d++) from[perm[d]] = at[d];
      expected[i++] = tensor_at(&c->x[0], from);
    } while (next_index(at, c->y[0].dim, 4));
    expect_values(c, 0, expected);
    case_close(c);
  }
  op_case *c = case_open("Transpose", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_ints(c, "perm", DIMS(1, 1));
  case_expect_error(c, "'perm' names 1 twice");
  case_close(c);
}

// ONNX counts no dimension of `perm` from the end, and names each once.
static void test_transpose_perm(void **state) {
  (void)state;
  static const struct {
    uint32_t n;
    int64_t perm[4];
    const char *says;
  } cases[] = {{3, {-1, 0, 1}, "is -1, must be in [0, 3)"}, {3, {0, 2, 3}, "is 3, must be in"},
      {3, {0, 0, 1}, "names 0 twice"}, {2, {1, 0}, "has 2 entries, must have 3"},
      {4, {0, 1, 2, 3}, "has 4 entries, must have 3"},
      {3, {INT64_C(1) << 32, 1, 2}, "must be in [0, 3)"}, {3, {0, 1, INT64_MIN}, "must be in"}};
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    op_case *c = case_open("Transpose", 13);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 4));
    case_ints(c, "perm", cases[k].n, cases[k].perm);
    case_expect_error(c, cases[k].says);
    case_close(c);
  }
}

static void test_concat_split(void **state) {
  (void)state;
  for (int k = 0; k < 8; k++) {
    int64_t axis = k % 4;
    op_case *c = case_open("Concat", 13);
    for (int64_t part = 0; part < 4; part++) {
      int64_t dim[4] = {2, 3, 4, 5};
      dim[axis] = part == 2 ? 0 : part + 1;  // an empty one among them
      if (k / 4)
        case_weight(c, SEER_DTYPE_F32, 4, dim);
      else
        case_in(c, SEER_DTYPE_F32, 4, dim);
    }
    case_i(c, "axis", k % 2 ? axis : axis - 4);
    if (k / 4)
      case_fold(c);
    else
      case_run(c);
    assert_int_equal(c->y[0].dim[axis], 7);
    double *expected = new_values(c, 0);
    int64_t at[4] = {0}, i = 0;
    do {
      int64_t from[4], part = 0;
      memcpy(from, at, sizeof from);
      while (from[axis] >= c->x[part].dim[axis]) from[axis] -= c->x[part++].dim[axis];
      expected[i++] = tensor_at4(&c->x[part], from[0], from[1], from[2], from[3]);
    } while (next_index(at, c->y[0].dim, 4));
    expect_values(c, 0, expected);
    case_close(c);
  }
  for (int form = 0; form < 4; form++) {  // attribute, input, equal parts with a rest, folded
    op_case *c = case_open("Split", form == 0 ? 11 : 18);
    if (form == 3)
      case_weight(c, SEER_DTYPE_F32, DIMS(2, 7, 3));
    else
      case_in(c, SEER_DTYPE_F32, DIMS(2, 7, 3));
    c->n_out = 3;
    int64_t sizes[3] = {3, form == 2 ? 3 : 2, form == 2 ? 1 : 2};
    if (form == 0) case_ints(c, "split", 3, sizes);
    if (form == 1 || form == 3) ints_in(c, 3, sizes);
    if (form == 2) case_i(c, "num_outputs", 3);
    case_i(c, "axis", -2);
    if (form == 3)
      case_fold(c);
    else
      case_run(c);
    for (uint32_t k = 0, start = 0; k < 3; start += (uint32_t)sizes[k++]) {
      expect_dims(&c->y[k], DIMS(2, sizes[k], 3));
      for (int64_t i = 0; i < tensor_elems(&c->y[k]); i++) {
        int64_t a = i / 3 / sizes[k], b = i / 3 % sizes[k] + start;
        assert_true(c->y[k].v[i] == c->x[0].v[(a * 7 + b) * 3 + i % 3]);
      }
    }
    case_close(c);
  }
  op_case *c = case_open("Concat", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_in(c, SEER_DTYPE_F32, DIMS(3, 3));
  case_i(c, "axis", 1);
  case_expect_error(c, "input 1 is [3,3], must be as input 0, [2,3], but for dimension 1");
  case_close(c);
  c = case_open("Split", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(7));
  c->n_out = 2;
  case_expect_error(c, "dimension 0 is 7, cannot be split into 2 equal parts");
  case_close(c);
}

// What a task cannot hold is refused, not asserted.
static void test_limits(void **state) {
  (void)state;
  op_case *c = case_open("Concat", 13);
  for (int k = 0; k < 150; k++) case_in(c, SEER_DTYPE_F32, DIMS(1, 2));
  case_i(c, "axis", 0);
  case_expect_emit_error(c, "150 inputs and 1 outputs are too many for one task");
  case_close(c);
  c = case_open("ReduceSum", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 2));
  case_expect_emit_error(c, "12 dimensions, 12 of them reduced");
  case_close(c);
  c = case_open("Identity", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 0));
  case_expect_emit_error(c, "has no elements");
  case_close(c);
  c = case_open("Shape", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 3));
  case_expect_emit_error(c, "can only be folded away");
  case_close(c);
  c = case_open("Expand", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 1));
  ints_in(c, DIMS(1 << 30, 1 << 30));
  case_expect_error(c, "more than 2^48 elements");
  case_close(c);
  c = case_open("Conv", 13);  // nothing to divide by the largest group
  case_in(c, SEER_DTYPE_F32, DIMS(1, 0, 5, 5));
  case_in(c, SEER_DTYPE_F32, DIMS(0, 7, 3, 3));
  case_i(c, "group", INT64_MAX);
  case_expect_error(c, "must be channels / group");
  case_close(c);
}

static void test_slice(void **state) {
  (void)state;
  static const struct {
    int64_t start, end, step, n, first;  // of an extent of 7: n elements from `first`
  } cases[] = {{1, 5, 1, 4, 1}, {0, 100, 2, 4, 0}, {-3, INT64_MAX, 1, 3, 4}, {5, 1, -1, 4, 5},
      {-1, INT64_MIN, -3, 3, 6}, {100, -100, -2, 4, 6}, {3, 3, 1, 0, 3}, {-100, 2, 1, 2, 0},
      {2, 7, INT64_MAX, 1, 2}};
  for (size_t k = 0; k < 2 * SEER_COUNT_OF(cases); k++) {
    size_t i = k / 2;
    bool folded = k % 2;
    if (cases[i].n == 0 && !folded) continue;
    op_case *c = case_open("Slice", 13);
    if (folded)
      case_weight(c, SEER_DTYPE_F32, DIMS(2, 7, 3));
    else
      case_in(c, SEER_DTYPE_F32, DIMS(2, 7, 3));
    // int64 extremes pass through the harness's doubles: written straight into the constants.
    const int64_t given[4] = {cases[i].start, cases[i].end, -2, cases[i].step};
    for (int p = 0; p < 4; p++) {
      uint32_t in = case_const(c, SEER_DTYPE_I64, DIMS(1), (double[]){0});
      *(int64_t *)(uintptr_t)seer_graph_value(c->graph, c->in[in])->constant->data = given[p];
    }
    if (folded)
      case_fold(c);
    else
      case_run(c);
    expect_dims(&c->y[0], DIMS(2, cases[i].n, 3));
    int64_t step = cases[i].step == INT64_MAX ? 1 : cases[i].step;
    for (int64_t e = 0; e < tensor_elems(&c->y[0]); e++) {
      int64_t at = cases[i].first + e / 3 % cases[i].n * step;
      assert_true(c->y[0].v[e] == c->x[0].v[(e / 3 / cases[i].n * 7 + at) * 3 + e % 3]);
    }
    case_close(c);
  }
  op_case *c = case_open("Slice", 9);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 7));
  case_ints(c, "starts", DIMS(0, 2));
  case_ints(c, "ends", DIMS(1, -1));
  case_run(c);
  expect_dims(&c->y[0], DIMS(1, 4));
  expect_values(c, 0, &c->x[0].v[2]);
  case_close(c);
  c = case_open("Slice", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 7));
  ints_in(c, DIMS(0, 0));
  ints_in(c, DIMS(1));
  case_expect_error(c, "must have the same number of entries");
  case_close(c);
}

static void test_pad(void **state) {
  (void)state;
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  for (int k = 0; k < 12; k++) {
    const char *mode = modes[k / 3];
    int form = k % 3;  // attributes; inputs; inputs with axes and a cut
    int64_t begin[3] = {0, 2, 1}, end[3] = {0, 1, 3};
    if (form == 2) begin[1] = -1, end[1] = 0;
    op_case *c = case_open("Pad", form ? 19 : 2);
    case_in(c, SEER_DTYPE_F32, DIMS(2, 4, 5));
    if (form == 0) {
      case_ints(c, "pads", DIMS(0, 2, 1, 0, 1, 3));
      case_f(c, "value", 1.5);
    } else {
      if (form == 1) ints_in(c, DIMS(0, 2, 1, 0, 1, 3));
      if (form == 2) ints_in(c, DIMS(1, -1, 3, 0));
      case_const(c, SEER_DTYPE_F32, 0, NULL, (double[]){1.5});
      if (form == 2) ints_in(c, DIMS(-1, 1));
    }
    case_s(c, "mode", mode);
    case_run(c);
    expect_dims(&c->y[0], DIMS(2, 4 + begin[1] + end[1], 9));
    double *expected = new_values(c, 0);
    int64_t at[3] = {0}, i = 0;
    do {
      int64_t from[3];
      bool is_inside = true;
      for (int d = 0; d < 3; d++) {
        int64_t n = c->x[0].dim[d], p = at[d] - begin[d];
        is_inside = is_inside && p >= 0 && p < n;
        if (mode[0] == 'r') p = p < 0 ? -p : p >= n ? 2 * (n - 1) - p : p;
        if (mode[0] == 'e') p = p < 0 ? 0 : p >= n ? n - 1 : p;
        if (mode[0] == 'w') p = (p + 10 * n) % n;
        from[d] = p;
      }
      expected[i++] = mode[0] == 'c' && !is_inside ? 1.5 : tensor_at(&c->x[0], from);
    } while (next_index(at, c->y[0].dim, 3));
    expect_values(c, 0, expected);
    case_close(c);
  }
  op_case *c = case_open("Pad", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 4));
  ints_in(c, DIMS(0, 4, 0, 0));
  case_s(c, "mode", "reflect");
  case_expect_error(c, "'pads' has 4 for dimension 1 of extent 4, at most 3");
  case_close(c);
  c = case_open("Pad", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(2, 4));
  ints_in(c, DIMS(0, 4, 0));
  case_expect_error(c, "'pads' has 3 entries, must have 4");
  case_close(c);
}

static void test_gather(void **state) {
  (void)state;
  static const double indices[] = {2, -1, 0, 1, -3, 2};
  for (int k = 0; k < 18; k++) {
    int64_t axis = k % 3;
    // 0-2: indices constant, activation, scalar; 3: all constant, folded; 4, 5: i32
    int form = k / 3;
    op_case *c = case_open("Gather", 13);
    if (form == 3)
      case_weight(c, SEER_DTYPE_F32, DIMS(3, 3, 3));
    else
      case_in(c, SEER_DTYPE_F32, DIMS(3, 3, 3));
    seer_dtype dtype = form > 3 ? SEER_DTYPE_I32 : SEER_DTYPE_I64;
    int64_t n = form == 2 ? 1 : 6;
    if (form == 1 || form == 5) {
      case_in(c, dtype, DIMS(2, 3));
      memcpy(c->x[1].v, indices, sizeof indices);
    } else if (form == 2) {
      case_const(c, dtype, 0, NULL, indices);
    } else {
      case_const(c, dtype, DIMS(2, 3), indices);
    }
    case_i(c, "axis", axis);
    if (form == 3)
      case_fold(c);
    else
      case_run(c);
    assert_int_equal(tensor_elems(&c->y[0]), 9 * n);
    int64_t outer = axis == 0 ? 1 : axis == 1 ? 3 : 9, inner = 9 / outer, at = 0;
    for (int64_t o = 0; o < outer; o++) {
      for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < inner; i++) {
          int64_t from = (int64_t)indices[j] < 0 ? (int64_t)indices[j] + 3 : (int64_t)indices[j];
          assert_true(c->y[0].v[at++] == c->x[0].v[(o * 3 + from) * inner + i]);
        }
      }
    }
    case_close(c);
  }
  op_case *c = case_open("Gather", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(3));
  ints_in(c, DIMS(3));
  case_expect_error(c, "input 1 has index 3, must be in [-3, 3)");
  case_close(c);
}

static void test_expand_tile(void **state) {
  (void)state;
  for (int folded = 0; folded < 2; folded++) {
    op_case *c = case_open("Expand", 13);
    if (folded)
      case_weight(c, SEER_DTYPE_F32, DIMS(3, 1, 5));
    else
      case_in(c, SEER_DTYPE_F32, DIMS(3, 1, 5));
    ints_in(c, DIMS(2, 1, 4, 1));
    if (folded)
      case_fold(c);
    else
      case_run(c);
    expect_dims(&c->y[0], DIMS(2, 3, 4, 5));
    for (int i = 0; i < 120; i++) assert_true(c->y[0].v[i] == c->x[0].v[i / 20 % 3 * 5 + i % 5]);
    case_close(c);
  }
  op_case *c = case_open("Tile", 13);
  case_in(c, SEER_DTYPE_F32, DIMS(3, 1, 5));
  ints_in(c, DIMS(2, 4, 1));
  case_run(c);
  expect_dims(&c->y[0], DIMS(6, 4, 5));
  for (int i = 0; i < 120; i++) assert_true(c->y[0].v[i] == c->x[0].v[i / 20 % 3 * 5 + i % 5]);
  case_close(c);
}

static void test_blocks(void **state) {
  (void)state;
  for (int form = 0; form < 4; form++) {  // DCR and CRD of each
    bool is_depth = form >= 2, is_crd = form % 2 != 0;
    op_case *c = case_open(is_depth ? "DepthToSpace" : "SpaceToDepth", 28);
    if (is_depth)
      case_in(c, SEER_DTYPE_F32, DIMS(2, 8, 3, 5));
    else
      case_in(c, SEER_DTYPE_F32, DIMS(2, 3, 4, 6));
    case_i(c, "blocksize", 2);
    if (is_crd) case_s(c, "mode", "CRD");
    case_run(c);
    double *expected = new_values(c, 0);
    int64_t at[4] = {0}, i = 0, channels = is_depth ? 2 : 3;
    do {
      if (is_depth) {
        int64_t by = at[2] % 2, bx = at[3] % 2, block = by * 2 + bx;
        expected[i++] = tensor_at4(&c->x[0], at[0],
            is_crd ? at[1] * 4 + block : block * channels + at[1], at[2] / 2, at[3] / 2);
      } else {
        int64_t block = is_crd ? at[1] % 4 : at[1] / channels;
        int64_t channel = is_crd ? at[1] / 4 : at[1] % channels;
        expected[i++] =
            tensor_at4(&c->x[0], at[0], channel, at[2] * 2 + block / 2, at[3] * 2 + block % 2);
      }
    } while (next_index(at, c->y[0].dim, 4));
    expect_values(c, 0, expected);
    case_close(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reshape),
      cmocka_unit_test(test_flatten_squeeze),
      cmocka_unit_test(test_constants),
      cmocka_unit_test(test_transpose),
      cmocka_unit_test(test_transpose_perm),
      cmocka_unit_test(test_concat_split),
      cmocka_unit_test(test_slice),
      cmocka_unit_test(test_pad),
      cmocka_unit_test(test_gather),
      cmocka_unit_test(test_expand_tile),
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
