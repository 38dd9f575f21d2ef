// Inputs that --bind makes constants: files and values, the shapes that follow, everything that is
// refused, several sets of shapes.
#include <string.h>

#include "front/bind.h"
#include "front/sets.h"
#include "setup/npy.h"
#include "support/test.h"

static seer_context *context;
static seer_arena *arena;
static const char *dir;

static const char text[] =
    "graph \"g\" {\n"
    "  input %x f32[?,6]\n"
    "  input %shape i64[?]\n"
    "  input %flag bool[1,1]\n"
    "  input %half bf16[2]\n"
    "  input %four i4[2]\n"
    "  input %any f32\n"
    "  const $w f32[6,4] = splat 0.5\n"
    "  %a f32 = MatMul \"a\" v13 (%x, $w)\n"
    "  %b f32 = Reshape \"b\" v13 (%a, %shape)\n"
    "  %c f32 = Identity \"c\" v13 (%any)\n"
    "  %d i4 = Identity \"d\" v13 (%four)\n"
    "  %e bf16 = Identity \"e\" v13 (%half)\n"
    "  %f bool = Identity \"f\" v13 (%flag)\n"
    "  output %b\n  output %c\n  output %d\n  output %e\n  output %f\n}\n";

static int setup(void **state) {
  (void)state;
  must(seer_context_create(&context));
  arena = seer_arena_create("test");
  must(seer_os_temp_dir("familyseer-bind", arena, &dir));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  must(seer_os_remove_tree(dir));
  seer_arena_destroy(arena);
  seer_context_destroy(context);
  return 0;
}

static const char *write_npy(int32_t onnx_dtype, int64_t n, const void *data, size_t n_bytes) {
  static int count;
  const char *path = seer_os_path_join(arena, dir, seer_arena_printf(arena, "%d.npy", count++));
  seer_npy npy = {
      .onnx_dtype = onnx_dtype, .rank = 1, .dim = {n}, .n_bytes = n_bytes, .data = data};
  must(seer_npy_write(path, &npy));
  return path;
}

static void give(const char *name, const char *value) {
  must(seer_context_set(context, "bind", seer_arena_printf(arena, "%s=%s", name, value)));
}

static seer_graph *parse(void) {
  seer_graph *graph;
  must(seer_graph_parse("test", text, sizeof text - 1, arena, &graph));
  return graph;
}

static const seer_tensor *constant(const seer_graph *graph, const char *name) {
  for (size_t v = 1; v < graph->n_value; v++)
    if (strcmp(graph->value[v].name, name) == 0) return graph->value[v].constant;
  return NULL;
}

static void values_and_files_become_constants(void **state) {
  (void)state;
  const int64_t shape[] = {2, -1};
  const uint16_t half[] = {0x3F80, 0xC000};
  const int8_t four[] = {-8, 0x15};  // of 0x15 only the low bits are the type's
  give("shape", write_npy(7, 2, shape, sizeof shape));
  give("half", write_npy(4, 2, half, sizeof half));
  give("four", write_npy(3, 2, four, sizeof four));
  give("flag", "true");
  give("any", "[[1.5, 2]]");
  seer_graph *graph = parse();
  must(seer_graph_bind(context, graph));
  assert_int_equal(graph->n_bound, 5);
  assert_int_equal(graph->n_input, 1);
  assert_string_equal(seer_graph_inputs_text(graph, arena), "x f32[?,6]");
  assert_string_equal(seer_bound_text(&graph->bound[0], arena), "shape i64[2] = [2, -1]");
  assert_string_equal(seer_bound_text(&graph->bound[1], arena), "half bf16[2] = [1, -2]");
  assert_string_equal(seer_bound_text(&graph->bound[2], arena), "four i4[2] = [-8, 5]");
  assert_string_equal(seer_bound_text(&graph->bound[3], arena), "flag bool[1,1] = [[true]]");
  assert_string_equal(seer_bound_text(&graph->bound[4], arena), "any f32[1,2] = [[1.5, 2]]");
  assert_memory_equal(constant(graph, "shape")->data, shape, sizeof shape);
  assert_int_equal(((const int8_t *)constant(graph, "four")->data)[1], 5);
  must(seer_graph_verify(graph));
  // What reads a bound shape is as fixed as if the file had it.
  must(seer_front_resolve(graph, "x:3x6,shape:2", NULL));
  assert_string_equal(
      seer_value_type_text(seer_graph_value(graph, graph->output[0]), arena), "f32[2,6]");
}

static void a_bool_is_0_or_1(void **state) {
  (void)state;
  const uint8_t odd[] = {7};
  const char *path = write_npy(9, 1, odd, 1);
  seer_graph *graph;
  static const char one[] =
      "graph \"g\" { input %c bool[1] %y bool = Not \"n\" v13 (%c) output %y }";
  must(seer_graph_parse("test", one, sizeof one - 1, arena, &graph));
  give("c", path);
  must(seer_graph_bind(context, graph));
  assert_int_equal(*(const uint8_t *)constant(graph, "c")->data, 1);
  must(seer_front_resolve(graph, "", NULL));
  assert_int_equal(*(const uint8_t *)seer_graph_value(graph, graph->output[0])->constant->data, 0);
}

static void refused(const char *name, const char *value, const char *why) {
  seer_context *own = context;
  must(seer_context_create(&context));
  give(name, value);
  seer_graph *graph = parse();
  seer_status status = seer_graph_bind(context, graph);
  if (!status) status = seer_front_resolve(graph, "x:1x6,shape:2", NULL);
  if (!status) fail_msg("%s=%s was taken", name, value);
  if (!strstr(seer_status_message(status), why))
    fail_msg("%s=%s: %s, not '%s'", name, value, seer_status_message(status), why);
  seer_status_free(status);
  seer_context_destroy(context);
  context = own;
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  const int32_t ints[] = {2, -1};
  const int64_t longs[] = {1, 2, 3};
  refused("shap", "[1]", "no input is named 'shap', did you mean 'shape'? inputs are x f32[?,6], ");
  refused("w", "[1]", "'w' is a constant of the model (f32[6,4]) and no input");
  refused("zzzzzz", "[1]", "no input is named 'zzzzzz'; inputs are");
  refused("shape", "[1.5]", "must be a whole number");
  refused("shape", "[[1]]", "the value is i64[1,1], input 'shape' is i64[?]");
  refused("shape", "3", "the value is i64[], input 'shape' is i64[?]");
  refused("shape", "[1,2,3]", "input 'shape' is bound to 3 by --bind, '2' is another shape");
  refused("x", "[[1,2,3,4,5]]", "the value is f32[1,5], input 'x' is f32[?,6]");
  refused("half", "[1]", "the value is bf16[1], input 'half' is bf16[2]");
  refused("shape", write_npy(6, 2, ints, sizeof ints),
      "the file has elements of i32, input 'shape' has i64");
  refused("half", write_npy(6, 2, ints, sizeof ints),
      "the file has elements of i32, input 'half' has bf16, in a file as u16");
  refused("four", write_npy(7, 3, longs, sizeof longs), "input 'four' has i4, in a file as i8");
  refused("shape", "missing.npy", "missing.npy");
  refused("shape", dir, dir);
  const char *bad = seer_os_path_join(arena, dir, "bad.npy");
  must(seer_os_write_file(bad, "\x93NUMPY\x01", 7));
  refused("shape", bad, "not a .npy file");
  static const char words[] =
      "\x93NUMPY\x01\0\x3e\0{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }     \n";
  must(seer_os_write_file(bad, words, sizeof words - 1));
  refused("shape", bad, "elements of type '<U3'");
  must(seer_context_set(context, "bind", "shape"));
  seer_status status = seer_graph_bind(context, parse());
  assert_non_null(strstr(seer_status_message(status), "'shape' must be NAME=x.npy"));
  seer_status_free(status);
}

static void nothing_is_bound_twice(void **state) {
  (void)state;
  give("shape", "[1]");
  give("shape", "[2]");
  seer_status status = seer_graph_bind(context, parse());
  assert_non_null(strstr(
      seer_status_message(status), "input 'shape' is bound twice: 'shape=[1]' and 'shape=[2]'"));
  seer_status_free(status);
}

static void files_count_as_part_of_the_model(void **state) {
  (void)state;
  static const uint8_t many[1200000];
  must(seer_context_set(context, "model-limit", "0.001"));  // GiB
  give("any", write_npy(2, sizeof many, many, sizeof many));
  seer_status status = seer_graph_bind(context, parse());
  assert_non_null(strstr(seer_status_message(status), "is longer than the 1073741 bytes"));
  seer_status_free(status);
}

static void all_sets_are_bound(void **state) {
  (void)state;
  const char *path = seer_os_path_join(arena, dir, "g.graph");
  must(seer_os_write_file(path, text, sizeof text - 1));
  give("shape", "[4,-1]");
  give("flag", "0");
  give("any", "7");
  give("four", "[1,2]");
  give("half", "[1,2]");
  must(seer_context_set(context, "input-shapes", "x:2x6"));
  must(seer_context_set(context, "input-shapes", "x:3x6"));
  seer_network *network;
  must(seer_front_load(context, path, NULL, arena, &network));
  assert_int_equal(network->n_set, 2);
  for (int64_t s = 0; s < 2; s++) {
    const seer_graph *graph = network->set[s]->graph;
    assert_int_equal(graph->n_input, 1);
    assert_int_equal(graph->n_bound, 5);
    assert_int_equal(seer_graph_value(graph, graph->output[0])->dim[1], 2 + s);
  }
  seer_graph_close(network->graph);
}

// Two inputs whose first sizes have one name, and one whose size has another.
static seer_graph *named(void) {
  static const char inputs[] =
      "graph \"g\" { input %a f32[?,3] input %b f32[?,?] input %c f32[?] %y f32 = Identity \"y\" "
      "v13 "
      "(%a) %z f32 = Identity \"z\" v13 (%b) %w f32 = Identity \"w\" v13 (%c) output %y output %z "
      "output %w }";
  seer_graph *graph;
  must(seer_graph_parse("test", inputs, sizeof inputs - 1, arena, &graph));
  seer_graph_name_dim(graph, graph->input[0], 0, "n");
  seer_graph_name_dim(graph, graph->input[1], 0, "n");
  seer_graph_name_dim(graph, graph->input[1], 1, "m");
  seer_graph_name_dim(graph, graph->input[2], 0, "m");
  return graph;
}

static const char *types(const seer_graph *graph) {
  return seer_arena_printf(arena, "%s %s %s",
      seer_value_type_text(seer_graph_value(graph, graph->output[0]), arena),
      seer_value_type_text(seer_graph_value(graph, graph->output[1]), arena),
      seer_value_type_text(seer_graph_value(graph, graph->output[2]), arena));
}

static void sizes_of_one_name_are_one_size(void **state) {
  (void)state;
  const char *notice;
  give("a", "[[1,2,3],[4,5,6]]");
  seer_graph *graph = named();
  must(seer_graph_bind(context, graph));
  must(seer_front_resolve(graph, "c:5", &notice));
  assert_string_equal(types(graph), "f32[2,3] f32[2,5] f32[5]");
  assert_string_equal(notice, "");
  // What is given for a size itself counts.
  graph = named();
  must(seer_front_resolve(graph, "a:4x3,b:6x7", &notice));
  assert_string_equal(types(graph), "f32[4,3] f32[6,7] f32[7]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(values_and_files_become_constants, setup, teardown),
      cmocka_unit_test_setup_teardown(a_bool_is_0_or_1, setup, teardown),
      cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(nothing_is_bound_twice, setup, teardown),
      cmocka_unit_test_setup_teardown(files_count_as_part_of_the_model, setup, teardown),
      cmocka_unit_test_setup_teardown(all_sets_are_bound, setup, teardown),
      cmocka_unit_test_setup_teardown(sizes_of_one_name_are_one_size, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
