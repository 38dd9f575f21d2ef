// What a model may take: memory that runs out anywhere on its way to tasks is an error, limits name
// the node, and what is not in the file is counted.
#include <string.h>
#include <unistd.h>

#include "front/front.h"
#include "front/limit.h"
#include "support/test.h"

static seer_context *context;
static seer_arena *arena;
static const char *folder;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  if (seer_context_create(&context)) return 1;
  return seer_os_temp_dir("test_limit", arena, &folder) ? 1 : 0;
}

static int teardown(void **state) {
  (void)state;
  seer_status_free(seer_os_remove_tree(folder));
  seer_context_destroy(context);
  seer_arena_destroy(arena);
  return 0;
}

static const char *write_model(const char *name, const char *text) {
  seer_graph *graph;
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  const char *path = seer_os_path_join(arena, folder, name);
  must(seer_onnx_write(graph, path));
  return path;
}

static const char small_text[] =
    "graph \"net\" {\n"
    "  input %x f32[1,3,6,6]\n"
    "  const $w f32[4,3,3,3] = splat 0.5\n"
    "  const $n i64[2] = [1,64]\n"
    "  %c ? = Conv \"conv\" v13 (%x, $w) {group=1, pads=[1,1,1,1], strides=[1,1]}\n"
    "  %r ? = Relu \"relu\" v13 (%c)\n"
    "  %z ? = ConstantOfShape \"fill\" v13 ($n)\n"
    "  %m ? = ReduceSum \"sum\" v13 (%z) {keepdims=0}\n"
    "  %y ? = Add \"add\" v13 (%r, %m)\n"
    "  output %y\n"
    "}\n";

typedef struct {
  const char *path;
  seer_arena *into;
  seer_network *network;
} loading;

static seer_status load(void *user) {
  loading *l = user;
  return seer_front_load(context, l->path, NULL, l->into, &l->network);
}

// The n-th allocation fails, for each n: an error, nothing left open, and the next try works.
static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  loading l = {write_model("small.onnx", small_text), NULL, NULL};
  uint64_t n = 0;
  for (bool is_done = false; !is_done; n++) {
    l.into = seer_arena_create("into");
    seer_recover_fail_after(n);
    seer_status status = seer_recover(load, &l);
    seer_recover_fail_after(UINT64_MAX);
    is_done = !status;
    if (status) {
      assert_int_equal(seer_status_code(status), SEER_CODE_RESOURCE);
      assert_non_null(strstr(seer_status_message(status), "out of memory: "));
      seer_status_free(status);
    } else {
      seer_graph_close(l.network->graph);
    }
    seer_arena_destroy(l.into);
  }
  assert_true(n > 20);
}

static void expect_limit(const char *text, const char *first, const char *second) {
  loading l = {write_model("limited.onnx", text), arena, NULL};
  seer_status status = seer_recover(load, &l);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_RESOURCE);
  const char *message = seer_status_message(status);
  bool is_clear = strstr(message, first) && strstr(message, second) &&
      strstr(message, "--model-memory raises the limit");
  if (!is_clear) fail_msg("%s", message);
  seer_status_free(status);
}

static void what_is_over_the_limit_is_named(void **state) {
  (void)state;
  expect_limit(
      "graph \"net\" {\n"
      "  input %x f32[1,4]\n"
      "  const $n i64[2] = [16384,8192]\n"
      "  %z ? = ConstantOfShape \"large fill\" v13 ($n)\n"
      "  %m ? = ReduceSum \"sum\" v13 (%z) {keepdims=0}\n"
      "  %y ? = Add \"add\" v13 (%x, %m)\n"
      "  output %y\n"
      "}\n",
      "asks for 512.0 MiB", "folding node 'large fill' (ConstantOfShape)");
  expect_limit(
      "graph \"net\" {\n"
      "  input %x f32[1,4]\n"
      "  const $n i64[] = [16000000]\n"
      "  %a ? = HannWindow \"first\" v17 ($n)\n"
      "  %b ? = HannWindow \"second\" v17 ($n)\n"
      "  %c ? = Add \"sum\" v17 (%a, %b)\n"
      "  %m ? = ReduceMax \"max\" v17 (%c) {keepdims=0}\n"
      "  %y ? = Add \"add\" v17 (%x, %m)\n"
      "  output %y\n"
      "}\n",
      "asks for ", "resolving node 'second' (HannWindow)");
}

// With a higher limit the same is read: so it is the limit that refused it.
static void the_option_raises_the_limit(void **state) {
  (void)state;
  const char *text =
      "graph \"net\" {\n"
      "  input %x f32[1,4]\n"
      "  const $n i64[2] = [1000,1000]\n"
      "  %z ? = ConstantOfShape \"fill\" v13 ($n)\n"
      "  %m ? = ReduceSum \"sum\" v13 (%z) {keepdims=0}\n"
      "  %y ? = Add \"add\" v13 (%x, %m)\n"
      "  output %y\n"
      "}\n";
  must(seer_context_set(context, "model-memory", "0.002"));
  expect_limit(text, "asks for 3.8 MiB", "'fill'");
  must(seer_context_set(context, "model-memory", "0.1"));
  loading l = {write_model("raised.onnx", text), arena, NULL};
  must(seer_recover(load, &l));
  seer_graph_close(l.network->graph);
}

// A file that is cut short between reading and compiling: the packed weights would be zeros.
static void files_that_are_cut_short_are_noticed(void **state) {
  (void)state;
  loading l = {write_model("cut.onnx", small_text), arena, NULL};
  must(seer_recover(load, &l));
  must(seer_graph_check_files(l.network->graph));
  assert_int_equal(truncate(l.path, 10), 0);
  seer_status status = seer_graph_check_files(l.network->graph);
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "cut short"));
  seer_status_free(status);
  seer_graph_close(l.network->graph);
}

static void names_stay_apart_and_short(void **state) {
  (void)state;
  char name[SEER_GRAPH_NAME_BYTES];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  assert_string_equal(seer_graph_join_names(arena, "", "b"), "b");
  assert_string_equal(seer_graph_join_names(arena, "a", "b"), "a/b");
  const char *once = seer_graph_join_names(arena, name, name);
  const char *twice = seer_graph_join_names(arena, once, name);
  assert_true(strlen(once) <= SEER_GRAPH_NAME_BYTES && strlen(twice) <= SEER_GRAPH_NAME_BYTES);
  assert_string_not_equal(once, seer_graph_join_names(arena, name, name + 1));
  assert_string_not_equal(once, twice);
  seer_graph *graph = seer_graph_create(arena, "g");
  for (uint32_t k = 0; k < 5000; k++) {
    const char *fresh = seer_graph_fresh_name(graph, "v");
    const char *expected = k == 0 ? "v" : seer_arena_printf(arena, "v.%u", k);
    assert_string_equal(fresh, expected);
    if (k % 2) (void)seer_graph_add_value(graph, fresh, SEER_DTYPE_F32, NULL, 0);
  }
  (void)seer_graph_add_value(graph, "w.1", SEER_DTYPE_F32, NULL, 0);
  assert_string_equal(seer_graph_fresh_name(graph, "w"), "w");
  assert_string_equal(seer_graph_fresh_name(graph, "w"), "w.2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(memory_may_run_out_anywhere, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_over_the_limit_is_named, setup, teardown),
      cmocka_unit_test_setup_teardown(the_option_raises_the_limit, setup, teardown),
      cmocka_unit_test_setup_teardown(files_that_are_cut_short_are_noticed, setup, teardown),
      cmocka_unit_test_setup_teardown(names_stay_apart_and_short, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
