// Several sets of input shapes: one reading, copies that do not touch each other, one list of
// tasks.
#include <string.h>

#include "front/sets.h"
#include "support/net_eval.h"
#include "support/test.h"

static seer_context *context;
static seer_arena *arena;
static const char *path;

static const char text[] =
    "graph \"g\" {\n"
    "  input %x f32[?,6]\n"
    "  input %y f32[3,6]\n"
    "  const $w f32[6,4] = splat 0.5\n"
    "  const $s i64[2] = [-1,2]\n"
    "  %a f32 = MatMul \"a\" v13 (%x, $w)\n"
    "  %b f32 = MatMul \"b\" v13 (%y, $w)\n"
    "  %c f32 = Reshape \"c\" v13 (%a, $s)\n"
    "  %d f32 = Shape \"d\" v13 (%x)\n"
    "  output %c\n  output %b\n  output %d\n}\n";

static int setup(void **state) {
  (void)state;
  seer_status status = seer_context_create(&context);
  seer_status_free(status);
  arena = seer_arena_create("test");
  const char *dir = NULL;
  must(seer_os_temp_dir("familyseer-sets", arena, &dir));
  path = seer_os_path_join(arena, dir, "g.graph");
  must(seer_os_write_file(path, text, sizeof text - 1));
  return status != SEER_OK;
}

static int teardown(void **state) {
  (void)state;
  must(seer_os_remove_tree(seer_os_path_dir(arena, path)));
  seer_arena_destroy(arena);
  seer_context_destroy(context);
  return 0;
}

static void give(const char *shapes) { must(seer_context_set(context, "input-shapes", shapes)); }

static void a_copy_is_independent(void **state) {
  (void)state;
  seer_graph *graph;
  must(seer_graph_parse("test", text, sizeof text - 1, arena, &graph));
  seer_graph *copy = seer_graph_copy(graph);
  assert_string_equal(seer_graph_print(copy, arena), text);
  must(seer_front_resolve(copy, "x:5x6", NULL));
  must(seer_front_run_passes(context, copy));
  assert_string_equal(seer_graph_print(graph, arena), text);
  must(seer_front_resolve(graph, "x:7x6", NULL));
  assert_int_equal(seer_graph_value(graph, graph->output[0])->dim[0], 14);
  assert_int_equal(seer_graph_value(copy, copy->output[0])->dim[0], 10);
  for (size_t v = 1; v < copy->n_value; v++)
    if (strcmp(copy->value[v].name, "w") == 0)
      assert_ptr_equal(copy->value[v].constant, graph->value[v].constant);
}

static void sets_share_tasks(void **state) {
  (void)state;
  give("x:1x6");
  give("x:5x6");
  give("x:3x6");
  seer_network *network;
  must(seer_front_load(context, path, NULL, arena, &network));
  assert_int_equal(network->n_set, 3);
  assert_ptr_equal(network->set[0], network);
  assert_string_equal(network->set[1]->shapes, "x[5,6] y[3,6]");
  // [1,6], [5,6] and [3,6] by [6,4]; the last stands for %y in each set and for %x in one. And the
  // copy of a constant to the last output: its content is no part of a task.
  assert_int_equal(network->n_task, 4);
  uint32_t n = 0, most = 0;
  for (uint32_t t = 0; t < 4; t++) {
    uint32_t sum = 0;
    assert_int_equal(network->task[t].id, t);
    for (uint32_t s = 0; s < 3; s++) sum += network->set[s]->count[t];
    assert_int_equal(sum, network->task[t].weight);
    n += sum;
    if (sum > most) most = sum;
  }
  assert_int_equal(n, 9);
  assert_int_equal(most, 4);
  for (uint32_t s = 0; s < 3; s++) {
    const seer_network *set = network->set[s];
    assert_ptr_equal(set->task, network->task);
    for (uint32_t k = 0; k < set->n_step; k++)
      if (set->step[k].kind == SEER_STEP_KERNEL)
        assert_int_equal(
            set->step[k].content, seer_dag_hash(network->task[set->step[k].task].dag).content);
    const void **out = net_eval_steps(set, 7, arena);
    assert_int_equal(((const int64_t *)out[2])[0], s == 0 ? 1 : s == 1 ? 5 : 3);
  }
  seer_graph_close(network->graph);
}

static void refused(const char *const *shapes, uint32_t n, const char *why) {
  for (uint32_t k = 0; k < n; k++) give(shapes[k]);
  seer_network *network;
  seer_status status = seer_front_load(context, path, NULL, arena, &network);
  assert_non_null(status);
  if (!strstr(seer_status_message(status), why))
    fail_msg("%s: not '%s'", seer_status_message(status), why);
  seer_status_free(status);
  assert_null(network);
}

static void equal_sets_are_refused(void **state) {
  (void)state;
  refused((const char *const[]){"x:2x6", "x:1x6", "x:2x6"}, 3, "sets 1 and 3 are the same: x[2,6]");
}
static void defaults_count_as_shapes(void **state) {
  (void)state;
  refused((const char *const[]){"y:3x6", "y:3x6"}, 2, "sets 1 and 2 are the same: x[1,6] y[3,6]");
}
static void all_sets_name_the_same_inputs(void **state) {
  (void)state;
  refused(
      (const char *const[]){"x:2x6,y:3x6", "x:1x6"}, 2, "set 2 ('x:1x6') does not name input 'y'");
}
static void an_impossible_set_is_named(void **state) {
  (void)state;
  refused((const char *const[]){"x:2x6", "x:1x7"}, 2, "for input shapes 'x:1x7'");
}

static void names_may_have_colons(void **state) {
  (void)state;
  must(seer_sets_check((const char *const[]){"a:0:2x3,b:1", "b:2;a:0:4x5"}, 2));
  seer_status status = seer_sets_check((const char *const[]){"a:0:2x3", "a:1:2x3"}, 2);
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "does not name input 'a:0'"));
  seer_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_copy_is_independent, setup, teardown),
      cmocka_unit_test_setup_teardown(sets_share_tasks, setup, teardown),
      cmocka_unit_test_setup_teardown(equal_sets_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(defaults_count_as_shapes, setup, teardown),
      cmocka_unit_test_setup_teardown(all_sets_name_the_same_inputs, setup, teardown),
      cmocka_unit_test_setup_teardown(an_impossible_set_is_named, setup, teardown),
      cmocka_unit_test_setup_teardown(names_may_have_colons, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
