// The graph's data structure and its text form: a text that is parsed, printed and parsed again
// stays the same; damage is named.
#include <string.h>

#include "front/graph.h"
#include "support/test.h"

static const char mlp[] =
    "graph \"mlp\" {\n"
    "  input %x f32[1,4]\n"
    "  const $w f32[4,3] = splat 0.5\n"
    "  const $b f32[3] = [0.25,-1,inf]\n"
    "  const $\"a/b:0\" i64[2] = [-1,9223372036854775807]\n"
    "  %h f32[1,3] = Gemm \"dense 1\" v13 ($w, $b, _) {alpha=float 1.5, transB=1, axes=[1,2], "
    "mode=\"con\\\"st\", "
    "s=strings [\"a\",\"\"], f=floats [0.1,2], t=tensor f32[2] [1,2]}\n"
    "  %y f32[1,3] order(1,0) pitch 19, _ = Relu \"relu\" v14 domain \"my.ops\" (%h)\n"
    "  %\"odd name\" ?[?,3] = \"strange op\" \"n\" v1 (%y, $\"a/b:0\")\n"
    "  %late f32 = Abs \"abs\" v13 (%\"odd name\")\n"
    "  output %late\n"
    "}\n";

static seer_graph *parse(seer_arena *arena, const char *text) {
  seer_graph *graph;
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  return graph;
}

static void text_is_a_fixpoint(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  assert_string_equal(seer_graph_print(parse(arena, mlp), arena), mlp);
  seer_arena_destroy(arena);
}

static void long_constants_are_hex(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_graph *graph = seer_graph_create(arena, "g");
  float data[100];
  for (int k = 0; k < 100; k++) data[k] = (float)k * 0.1f;
  seer_tensor tensor = {SEER_DTYPE_F32, 1, {100}, data, sizeof data};
  seer_graph_mark_output(graph, seer_graph_add_constant(graph, "c", &tensor));
  const char *text = seer_graph_print(graph, arena);
  assert_non_null(strstr(text, "hex \""));
  seer_graph *again = parse(arena, text);
  assert_memory_equal(again->value[1].constant->data, data, sizeof data);
  assert_string_equal(seer_graph_print(again, arena), text);
  assert_non_null(strstr(seer_graph_print_brief(graph, arena), "elided 0x"));
  seer_arena_destroy(arena);
}

static void refuses(const char *text, const char *why) {
  seer_arena *arena = seer_arena_create("test");
  seer_graph *graph;
  seer_status status = seer_graph_parse("test", text, strlen(text), arena, &graph);
  if (!status) fail_msg("accepted: %s", text);
  if (!strstr(seer_status_message(status), why))
    fail_msg("'%s' lacks '%s'", seer_status_message(status), why);
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static void damage_is_named(void **state) {
  (void)state;
  refuses("graph \"g\" { input %x f32[1] output %y }", "no value is named 'y'");
  refuses("graph \"g\" { input %x f32[1] input %x f32[1] }", "two values are named 'x'");
  refuses("graph \"g\" { input %x q32[1] }", "no element type");
  refuses("graph \"g\" { const $x f32[3] = [1,2] }", "expected ','");
  refuses("graph \"g\" { const $x f32[?] = splat 1 }", "fixed type");
  refuses("graph \"g\" { const $x f32[99999999999,99999999999] = splat 1 }", "fixed type");
  refuses("graph \"g\" { input %x f32[2,3] order(0,0) }", "permutation");
  refuses("graph \"g\" { %y f32[1] = Relu \"r\" x3 () }", "version");
  // Every prefix of a sound text is an error, never a crash.
  seer_arena *arena = seer_arena_create("test");
  for (size_t n = 0; n + 2 < sizeof mlp; n++) {
    seer_graph *graph;
    seer_status status = seer_graph_parse("test", mlp, n, arena, &graph);
    assert_non_null(status);
    seer_status_free(status);
    seer_arena_reset(arena);
  }
  seer_arena_destroy(arena);
}

// x -> a -> b -> y, with the nodes added backwards.
static void sorting_orders_and_finds_cycles(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_graph *graph = seer_graph_create(arena, "g");
  int64_t dim[] = {2};
  seer_val v[4];
  const char *names[] = {"x", "a", "b", "y"};
  for (int k = 0; k < 4; k++) v[k] = seer_graph_add_value(graph, names[k], SEER_DTYPE_F32, dim, 1);
  seer_graph_mark_input(graph, v[0]);
  seer_graph_mark_output(graph, v[3]);
  for (int k = 3; k > 0; k--)
    seer_graph_add_node(graph, names[k], "", "Relu", 13, &v[k - 1], 1, &v[k], 1, NULL, 0);
  seer_status status = seer_graph_verify(graph);
  assert_non_null(status);
  seer_status_free(status);
  assert_null(seer_graph_sort(graph));
  assert_null(seer_graph_verify(graph));
  assert_string_equal(graph->node[1].name, "a");
  assert_string_equal(graph->node[3].name, "y");
  assert_int_equal(graph->value[v[2].i].producer.i, 2);
  assert_int_equal(seer_graph_n_uses(graph, v[1]), 1);
  assert_int_equal(seer_graph_n_uses(graph, v[3]), 1);
  seer_graph_uses uses = seer_graph_index_uses(graph, arena);
  assert_int_equal(uses.first[v[1].i + 1] - uses.first[v[1].i], 1);
  assert_int_equal(uses.node[uses.first[v[1].i]], 2);
  assert_int_equal(uses.first[v[3].i + 1] - uses.first[v[3].i], 0);
  graph->node[1].in[0] = v[2];
  status = seer_graph_sort(graph);
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "cycle"));
  seer_status_free(status);
  seer_arena_destroy(arena);
}

static void sizes_do_not_overflow(void **state) {
  (void)state;
  int64_t huge[] = {INT64_MAX, 2}, with_zero[] = {INT64_MAX, INT64_MAX, 0}, unknown[] = {0, -1};
  assert_int_equal(seer_dims_elems(huge, 2), -1);
  assert_int_equal(seer_dims_elems(with_zero, 3), 0);
  assert_int_equal(seer_dims_elems(unknown, 2), -1);
  assert_int_equal(seer_dims_elems(NULL, 0), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_a_fixpoint),
      cmocka_unit_test(long_constants_are_hex),
      cmocka_unit_test(damage_is_named),
      cmocka_unit_test(sorting_orders_and_finds_cycles),
      cmocka_unit_test(sizes_do_not_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
