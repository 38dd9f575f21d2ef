// Large constants that are there twice: equal ones become one tensor, and of a transposed one it is
// known of what, whether a node or the file says so; what differs in one element stays apart.
#include <string.h>

#include "base/rng.h"
#include "front/pass/pass.h"
#include "support/test.h"

enum { ROWS = 700, COLUMNS = 400, N = ROWS * COLUMNS };  // 1.1 MB

extern const seer_pass_desc seer_pass_twin, seer_pass_fold;

static seer_context *context;
static seer_arena *arena;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  return seer_context_create(&context) != SEER_OK;
}

static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  seer_context_destroy(context);
  return 0;
}

// [rows, columns] out of one stream of numbers, or the transpose of that.
static float *table(bool is_turned) {
  float *data = SEER_NEW_ARRAY(arena, float, N);
  seer_rng rng;
  seer_rng_init(&rng, 7);
  for (uint32_t i = 0; i < N; i++)
    data[is_turned ? i % COLUMNS * ROWS + i / COLUMNS : i] = (float)seer_rng_f64(&rng);
  return data;
}

static seer_val constant(
    seer_graph *graph, const char *name, const float *data, int64_t rows, int64_t columns) {
  return seer_pass_add_f32(graph, name, data, (const int64_t[]){rows, columns}, 2);
}

static const seer_tensor *tensor_of(const seer_graph *graph, seer_val v) {
  return seer_graph_value(graph, v)->constant;
}

static void equal_ones_become_one(void **state) {
  (void)state;
  seer_graph *graph = seer_graph_create(arena, "g");
  float *other = table(false), *flat = table(false);
  other[N - 1] += 1;
  seer_val a = constant(graph, "a", table(false), ROWS, COLUMNS),
           b = constant(graph, "b", table(false), ROWS, COLUMNS),
           c = constant(graph, "c", other, ROWS, COLUMNS),
           d = constant(graph, "d", flat, COLUMNS, ROWS);
  must(seer_pass_twin.run(context, graph));
  assert_ptr_equal(tensor_of(graph, a), tensor_of(graph, b));
  assert_ptr_equal(tensor_of(graph, c)->data, other);
  assert_ptr_equal(tensor_of(graph, d)->data, flat);
  assert_int_equal(graph->permuted->n, 0);
}

static void a_transposed_one_is_known(void **state) {
  (void)state;
  seer_graph *graph = seer_graph_create(arena, "g");
  float *other = table(true);
  other[N / 2] += 1;
  seer_val a = constant(graph, "a", table(false), ROWS, COLUMNS),
           b = constant(graph, "b", table(true), COLUMNS, ROWS),
           c = constant(graph, "c", other, COLUMNS, ROWS);
  must(seer_pass_twin.run(context, graph));
  assert_int_equal(graph->permuted->n, 1);
  const seer_permuted *known = seer_graph_permuted(graph, tensor_of(graph, b));
  assert_non_null(known);
  assert_ptr_equal(known->of.data, tensor_of(graph, a)->data);
  assert_int_equal(known->perm[0], 1);
  assert_int_equal(known->perm[1], 0);
  assert_null(seer_graph_permuted(graph, tensor_of(graph, a)));
  assert_null(seer_graph_permuted(graph, tensor_of(graph, c)));
  seer_tensor view = *tensor_of(graph, b);  // the same bytes with other dimensions
  view.dim[0] = ROWS;
  view.dim[1] = COLUMNS;
  assert_null(seer_graph_permuted(graph, &view));
}

// Small matrices are merged, too, their transposes are not looked for; vectors stay what they are
// (networks are full of equal ones: biases of zero).
static void small_ones_become_one_if_equal(void **state) {
  (void)state;
  enum { SIDE = 40 };
  seer_graph *graph = seer_graph_create(arena, "g");
  float *data[3];
  for (uint32_t k = 0; k < 3; k++) {
    data[k] = SEER_NEW_ARRAY(arena, float, SIDE *SIDE);
    for (uint32_t i = 0; i < SIDE * SIDE; i++)
      data[k][k == 2 ? i % SIDE * SIDE + i / SIDE : i] = (float)i;
  }
  const int64_t length = SIDE * SIDE;
  seer_val a = constant(graph, "a", data[0], SIDE, SIDE),
           b = constant(graph, "b", data[1], SIDE, SIDE),
           v = seer_pass_add_f32(graph, "v", data[0], &length, 1),
           w = seer_pass_add_f32(graph, "w", data[1], &length, 1);
  constant(graph, "c", data[2], SIDE, SIDE);
  must(seer_pass_twin.run(context, graph));
  assert_ptr_equal(tensor_of(graph, a), tensor_of(graph, b));
  assert_ptr_not_equal(tensor_of(graph, v), tensor_of(graph, w));
  assert_int_equal(graph->permuted->n, 0);
}

// Equal to its own transpose: nothing to know.
static void a_symmetric_one_is_itself(void **state) {
  (void)state;
  enum { SIDE = 600 };
  seer_graph *graph = seer_graph_create(arena, "g");
  float *data = SEER_NEW_ARRAY(arena, float, SIDE *SIDE);
  for (uint32_t i = 0; i < SIDE * SIDE; i++) data[i] = (float)(i / SIDE * (i % SIDE));
  constant(graph, "a", data, SIDE, SIDE);
  must(seer_pass_twin.run(context, graph));
  assert_int_equal(graph->permuted->n, 0);
}

// Two nodes that turn the same constant, in two graphs of one model: one tensor. And turned back it
// is known to be what it was.
static void a_transpose_is_folded_once(void **state) {
  (void)state;
  const int64_t turned[2] = {COLUMNS, ROWS}, back[2] = {ROWS, COLUMNS};
  seer_graph *graph = seer_graph_create(arena, "g");
  seer_val a = constant(graph, "a", table(false), ROWS, COLUMNS), made[3];
  for (uint32_t k = 0; k < 3; k++) {
    const char *name = seer_arena_printf(arena, "t%u", k);
    made[k] = seer_graph_add_value(graph, name, SEER_DTYPE_F32, k < 2 ? turned : back, 2);
    seer_node_id id = seer_graph_add_node(
        graph, name, "", "Transpose", 13, k < 2 ? &a : &made[0], 1, &made[k], 1, NULL, 0);
    seer_graph_node(graph, id)->op = seer_op_find("", "Transpose", 13);
  }
  seer_graph *copy = seer_graph_copy(graph);
  must(seer_pass_fold.run(context, graph));
  must(seer_pass_fold.run(context, copy));
  const void *data = tensor_of(graph, made[0])->data;
  assert_memory_equal(data, table(true), N * sizeof(float));
  assert_ptr_equal(tensor_of(graph, made[1])->data, data);
  assert_ptr_equal(tensor_of(copy, made[0])->data, data);
  const seer_permuted *known = seer_graph_permuted(copy, tensor_of(copy, made[2]));
  assert_non_null(known);
  assert_ptr_equal(known->of.data, tensor_of(graph, a)->data);
  assert_int_equal(known->perm[0], 0);
  assert_int_equal(known->perm[1], 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_ones_become_one),
      cmocka_unit_test(a_transposed_one_is_known),
      cmocka_unit_test(small_ones_become_one_if_equal),
      cmocka_unit_test(a_symmetric_one_is_itself),
      cmocka_unit_test(a_transpose_is_folded_once),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
