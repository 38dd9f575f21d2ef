// The C interface beside tuning: networks in memory, what was loaded, codes, operators without
// support, events, stops, other forms of a library.
// SEER_TEST: timeout=240
#include <seer/familyseer.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "front/front.h"
#include "onnx.pb-c.h"
#include "support/test.h"

typedef struct {
  seer_arena *arena;
  const char *folder;
  seer_tuner *tuner;
  const char *stop_at;  // an event's kind: stops once there
  uint32_t n_event, n_note, n_bad, n_of_task, n_best;
  char last[4096];  // text of the last event that has one
} world;

static const char *in_folder(const world *w, const char *name) {
  return seer_os_path_join(w->arena, w->folder, name);
}

static void check(const world *w, int failed) {
  if (failed) fail_msg("%s", seer_tuner_message(w->tuner));
  assert_int_equal(seer_tuner_code(w->tuner), SEER_RT_OK);
}

static void refused(const world *w, int failed, seer_rt_code code, const char *text) {
  if (!failed || seer_tuner_code(w->tuner) != (int)code ||
      !strstr(seer_tuner_message(w->tuner), text))
    fail_msg("%d, %s: '%s', should be %s: '...%s...'", failed,
        seer_tuner_code_text(seer_tuner_code(w->tuner)), seer_tuner_message(w->tuner),
        seer_rt_code_text((int)code), text);
}

static void set(const world *w, const char *option, const char *value) {
  check(w, seer_tuner_set(w->tuner, option, value));
}

static void hear(void *user, const seer_tuner_event *event) {
  world *w = user;
  const seer_tuner_task *task =
      event->task >= 0 ? seer_tuner_task_at(w->tuner, (uint32_t)event->task) : NULL;
  w->n_event++;
  w->n_note += strcmp(event->kind, "note") == 0;
  w->n_of_task += task != NULL;
  w->n_best += strcmp(event->kind, "best") == 0 && event->after_ms > 0 &&
      (event->before_ms == 0 || event->after_ms < event->before_ms);
  if (task ? strcmp(task->name, event->task_name) != 0 : event->task_name[0] != '\0') w->n_bad++;
  if (strcmp(event->kind, "measurement") == 0 && (!task || event->budget_trials != 24)) w->n_bad++;
  if (event->text[0]) (void)snprintf(w->last, sizeof w->last, "%s", event->text);
  if (w->stop_at && strcmp(event->kind, w->stop_at) == 0) seer_tuner_stop(w->tuner);
}

static void open_tuner(world *w) {
  assert_int_equal(seer_tuner_create(&w->tuner), 0);
  set(w, "device-lock", in_folder(w, "lock"));
  set(w, "ignore-records", "1");
  set(w, "threads", "1");
  set(w, "untuned-drafts", "64");
  seer_tuner_listen(w->tuner, hear, w);
}

static int setup(void **state) {
  static world w;
  memset(&w, 0, sizeof w);
  w.arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w.arena, &w.folder));
  open_tuner(&w);
  *state = &w;
  return 0;
}

static int teardown(void **state) {
  world *w = *state;
  seer_tuner_destroy(w->tuner);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
  return 0;
}

static void again(world *w) {
  seer_tuner_destroy(w->tuner);
  open_tuner(w);
}

// ---- networks

#define NET(input, nodes)                   \
  "graph \"net\" {\n"                       \
  "  input %x f32[" input                   \
  "]\n"                                     \
  "  const $w f32[8,6] = splat 0.5\n" nodes \
  "  output %y\n"                           \
  "}\n"

static const char mlp[] = NET("4,8",
    "  %m ? = MatMul \"m\" v13 (%x, $w)\n"
    "  %y ? = Relu \"r\" v13 (%m)\n");
static const char any_batch[] = NET("?,8", "  %y ? = MatMul \"m\" v13 (%x, $w)\n");
static const char strange[] = NET("4,8",
    "  %a ? = Wibble \"a\" v13 (%x)\n"
    "  %b ? = Wibble \"b\" v13 (%a)\n"
    "  %c ? = com.example.Wobble \"c\" v13 (%b)\n"
    "  %y ? = MatMul \"m\" v13 (%c, $w)\n");

static char *bytes_of(const world *w, const char *text, size_t *out_n) {
  seer_graph *graph;
  const char *path = in_folder(w, "net.onnx");
  char *bytes;
  must(seer_graph_parse("test", text, strlen(text), w->arena, &graph));
  must(seer_onnx_write(graph, path));
  must(seer_os_read_file(path, w->arena, 1 << 20, &bytes, out_n));
  return bytes;
}

static void load(world *w, const char *text) {
  size_t n;
  const char *bytes = bytes_of(w, text, &n);
  check(w, seer_tuner_load_bytes(w->tuner, bytes, n, NULL));
}

// ---- what was loaded

static void what_was_loaded(void **state) {
  world *w = *state;
  assert_int_equal(seer_tuner_n_sets(w->tuner), 0);
  assert_null(seer_tuner_input(w->tuner, 0, 0));
  set(w, "input-shapes", "x:2x8");
  set(w, "input-shapes", "x:4x8");
  load(w, any_batch);
  assert_int_equal(seer_tuner_n_sets(w->tuner), 2);
  assert_int_equal(seer_tuner_n_inputs(w->tuner), 1);
  assert_int_equal(seer_tuner_n_outputs(w->tuner), 1);
  for (uint32_t s = 0; s < 2; s++) {
    const seer_io_info *x = seer_tuner_input(w->tuner, s, 0),
                       *y = seer_tuner_output(w->tuner, s, 0);
    assert_string_equal(x->name, "x");
    assert_string_equal(y->name, "y");
    assert_int_equal(x->onnx_dtype, 1);
    assert_int_equal(x->rank, 2);
    assert_int_equal(x->dim[0], s ? 4 : 2);
    assert_int_equal(y->dim[1], 6);
    assert_int_equal(x->n_bytes, s ? 128 : 64);
    assert_int_equal(x->bounded, 0);
  }
  assert_null(seer_tuner_input(w->tuner, 2, 0));
  assert_null(seer_tuner_output(w->tuner, 0, 1));
  double share = 0;
  uint32_t n = seer_tuner_n_tasks(w->tuner);
  assert_int_equal(n, 2);
  for (uint32_t k = 0; k < n; k++) {
    const seer_tuner_task *task = seer_tuner_task_at(w->tuner, k);
    assert_int_equal(strlen(task->key), 33);
    assert_string_equal(task->operators, "MatMul");
    assert_int_equal(task->weight, 1);
    assert_true(task->name[0] && task->flops > 0);
    share += task->share;
  }
  assert_true(share > 0.999999 && share < 1.000001);
  assert_null(seer_tuner_task_at(w->tuner, n));
  assert_string_equal(seer_version(), SEER_VERSION);
}

static void notices_are_heard(void **state) {
  world *w = *state;
  load(w, any_batch);
  assert_int_equal(w->n_note, 1);
  assert_non_null(strstr(w->last, "unknown batch size taken as 1"));
}

// ---- tensors by pointer

static void *arena_alloc(void *arena, size_t n) { return seer_arena_alloc(arena, n, 16); }
static void arena_free(void *arena, void *memory) { (void)arena, (void)memory; }

// The same bytes, but the weights are external data at bytes 4 to 196 of "weights/w".
static char *externalise(const world *w, const char *bytes, size_t n, size_t *out_n) {
  static Onnx__StringStringEntryProto entry[3];
  static Onnx__StringStringEntryProto *entries[3];
  static char *texts[3][2] = {{"location", "weights/w"}, {"offset", "4"}, {"length", "192"}};
  ProtobufCAllocator allocator = {arena_alloc, arena_free, w->arena};
  Onnx__ModelProto *model = onnx__model_proto__unpack(&allocator, n, (const uint8_t *)bytes);
  assert_non_null(model);
  Onnx__TensorProto *tensor = model->graph->initializer[0];
  for (int k = 0; k < 3; k++) {
    onnx__string_string_entry_proto__init(&entry[k]);
    entry[k].key = texts[k][0];
    entry[k].value = texts[k][1];
    entries[k] = &entry[k];
  }
  tensor->has_raw_data = 0;
  tensor->has_data_location = 1;
  tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  tensor->n_external_data = 3;
  tensor->external_data = entries;
  uint8_t *out = seer_arena_alloc(w->arena, onnx__model_proto__get_packed_size(model), 16);
  *out_n = onnx__model_proto__pack(model, out);
  return (char *)out;
}

static char *weights_of(const world *w, const char *folder, size_t *out_n) {
  char *data;
  check(w, seer_tuner_compile(w->tuner, in_folder(w, folder)));
  must(seer_os_read_file(seer_os_path_join(w->arena, in_folder(w, folder), "weights.bin"), w->arena,
      1 << 20, &data, out_n));
  return data;
}

static void tensors_by_pointer(void **state) {
  world *w = *state;
  size_t n, n_outside, n_whole, n_given;
  const char *bytes = bytes_of(w, mlp, &n), *outside = externalise(w, bytes, n, &n_outside);
  float weights[49] = {0};
  for (int k = 1; k < 49; k++) weights[k] = 0.5f;
  check(w, seer_tuner_load_bytes(w->tuner, bytes, n, NULL));
  const char *whole = weights_of(w, "whole", &n_whole);
  again(w);
  refused(w, seer_tuner_load_bytes(w->tuner, outside, n_outside, NULL), SEER_RT_INVALID,
      "'weights/w', but the model does not come from a file");
  check(w, seer_tuner_give(w->tuner, "weights/w", weights, sizeof weights - 1));
  refused(w, seer_tuner_load_bytes(w->tuner, outside, n_outside, NULL), SEER_RT_INVALID,
      "bytes 4 to 196 of memory of 195");
  check(w, seer_tuner_give(w->tuner, "weights/w", weights, sizeof weights));
  check(w, seer_tuner_load_bytes(w->tuner, outside, n_outside, NULL));
  const char *given = weights_of(w, "given", &n_given);
  assert_int_equal(n_given, n_whole);
  assert_memory_equal(given, whole, n_whole);
  refused(w, seer_tuner_give(w->tuner, "v", weights, 4), SEER_RT_INVALID, "before a network");
  // In a file of the folder, where nothing is given.
  again(w);
  must(seer_os_make_dirs(in_folder(w, "weights")));
  must(seer_os_write_file(in_folder(w, "weights/w"), weights, sizeof weights));
  check(w, seer_tuner_load_bytes(w->tuner, outside, n_outside, w->folder));
  given = weights_of(w, "file", &n_given);
  assert_memory_equal(given, whole, n_whole);
}

// ---- codes

static void codes(void **state) {
  world *w = *state;
  size_t n;
  refused(w, seer_tuner_set(w->tuner, "no-such", "1"), SEER_RT_INVALID, "no-such");
  refused(w, seer_tuner_load(w->tuner, "nowhere.onnx"), SEER_RT_NOT_FOUND, "nowhere.onnx");
  refused(w, seer_tuner_load_bytes(w->tuner, "nonsense", 8, NULL), SEER_RT_INVALID, "bytes in");
  refused(w, seer_tuner_load_bytes(w->tuner, NULL, 0, NULL), SEER_RT_INVALID, "bytes in memory");
  refused(w, seer_tuner_compile(w->tuner, "out"), SEER_RT_INVALID, "no network is loaded");
  assert_int_equal(seer_tuner_n_missing(w->tuner), 0);
  const char *bytes = bytes_of(w, strange, &n);
  refused(w, seer_tuner_load_bytes(w->tuner, bytes, n, NULL), SEER_RT_UNSUPPORTED, "Wibble");
  assert_int_equal(seer_tuner_n_missing(w->tuner), 2);
  const seer_tuner_missing *first = seer_tuner_missing_at(w->tuner, 0),
                           *second = seer_tuner_missing_at(w->tuner, 1);
  assert_string_equal(first->op, "Wibble");
  assert_int_equal(first->count, 2);
  assert_non_null(strstr(first->reason, "operator set 13"));
  assert_string_equal(second->op, "com.example.Wobble");
  assert_int_equal(second->count, 1);
  assert_null(seer_tuner_missing_at(w->tuner, 2));
  load(w, mlp);
  assert_int_equal(seer_tuner_n_missing(w->tuner), 0);
  static const char *const names[] = {"ok", "invalid", "unsupported", "not found", "io", "corrupt",
      "resource", "internal", "busy", "device", "timeout", "stopped", "unknown"};
  for (int k = 0; k < (int)SEER_COUNT_OF(names); k++)
    assert_string_equal(seer_tuner_code_text(k), names[k]);
  assert_string_equal(seer_tuner_code_text(-1), "unknown");
}

// ---- stops

// Each ends one call, and the same may be asked again.
static void stops(void **state) {
  world *w = *state;
  seer_tuner_stop(w->tuner);
  refused(w, seer_tuner_load(w->tuner, "mobilenet_v2"), SEER_RT_STOPPED, "stopped");
  size_t n;
  const char *bytes = bytes_of(w, mlp, &n);
  seer_tuner_stop(w->tuner);
  refused(w, seer_tuner_load_bytes(w->tuner, bytes, n, NULL), SEER_RT_STOPPED, "stopped");
  load(w, mlp);
  seer_tuner_stop(w->tuner);
  refused(w, seer_tuner_compile(w->tuner, in_folder(w, "out")), SEER_RT_STOPPED, "stopped");
  assert_false(seer_os_exists(seer_os_path_join(w->arena, in_folder(w, "out"), "model.so")));
  seer_tuner_stop(w->tuner);
  refused(w, seer_tuner_emit(w->tuner, "obj", in_folder(w, "out")), SEER_RT_STOPPED, "stopped");
  check(w, seer_tuner_compile(w->tuner, in_folder(w, "out")));
  assert_true(seer_os_exists(seer_os_path_join(w->arena, in_folder(w, "out"), "model.so")));
}

// Loading sets the precision that it is at; who loads again asks for what was asked for.
static void a_stopped_load_keeps_its_options(void **state) {
  world *w = *state;
  set(w, "precision", "auto");
  seer_tuner_stop(w->tuner);
  refused(w, seer_tuner_load(w->tuner, "mlp"), SEER_RT_STOPPED, "stopped");
  load(w, mlp);
  check(w, seer_tuner_compile(w->tuner, in_folder(w, "out")));
  assert_non_null(strstr(w->last, "--precision auto takes"));
}

// Whatever it is doing: with a precision to compare libraries of, a search, or nothing yet.
static void a_stopped_tuning_keeps_what_is_known(void **state) {
  static const char *const precisions[] = {"bf16", "f32"};
  static const char *const at[] = {NULL, "round-end"};
  world *w = *state;
  for (int p = 0; p < 2; p++) {
    for (int k = 0; k < 2; k++) {
      again(w);
      w->stop_at = at[k];
      set(w, "precision", precisions[p]);
      set(w, "measure", "fake");
      set(w, "trials", "100000");
      set(w, "worker-path", SEER_BUILD_DIR "/familyseer");
      set(w, "records", in_folder(w, "records"));
      load(w, mlp);
      if (!at[k]) seer_tuner_stop(w->tuner);
      check(w, seer_tuner_tune(w->tuner));
      w->stop_at = NULL;
      seer_tuner_stop(w->tuner);
      refused(w, seer_tuner_compile(w->tuner, in_folder(w, "out")), SEER_RT_STOPPED, "stopped");
      check(w, seer_tuner_compile(w->tuner, in_folder(w, "out")));
    }
  }
}

// ---- events

static void events_have_tasks_and_a_budget(void **state) {
  world *w = *state;
  set(w, "measure", "fake");
  set(w, "trials", "24");
  set(w, "worker-path", SEER_BUILD_DIR "/familyseer");
  set(w, "records", in_folder(w, "records"));
  load(w, mlp);
  check(w, seer_tuner_tune(w->tuner));
  assert_int_equal(w->n_bad, 0);
  assert_true(w->n_of_task > 24 && w->n_of_task < w->n_event);
  assert_true(w->n_best > 0);
}

// ---- other forms

static void emits(void **state) {
  static const char *const forms[][2] = {{"so", "model.so"}, {"obj", "model.o"}, {"c", "Makefile"}};
  world *w = *state;
  refused(w, seer_tuner_emit(w->tuner, "so", "out"), SEER_RT_INVALID, "no network is loaded");
  load(w, mlp);
  for (size_t k = 0; k < SEER_COUNT_OF(forms); k++) {
    check(w, seer_tuner_emit(w->tuner, forms[k][0], in_folder(w, forms[k][0])));
    assert_true(
        seer_os_exists(seer_os_path_join(w->arena, in_folder(w, forms[k][0]), forms[k][1])));
  }
  refused(w, seer_tuner_emit(w->tuner, "exe", in_folder(w, "exe")), SEER_RT_INVALID, "'exe'");
  refused(w, seer_tuner_emit(w->tuner, "kernels", in_folder(w, "kernels")), SEER_RT_INVALID,
      "is a processor");
  again(w);
  set(w, "target", "opencl:generic");
  load(w, mlp);
  check(w, seer_tuner_emit(w->tuner, "kernels", in_folder(w, "kernels")));
  assert_true(seer_os_exists(seer_os_path_join(w->arena, in_folder(w, "kernels"), "kernels.txt")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_was_loaded, setup, teardown),
      cmocka_unit_test_setup_teardown(notices_are_heard, setup, teardown),
      cmocka_unit_test_setup_teardown(tensors_by_pointer, setup, teardown),
      cmocka_unit_test_setup_teardown(codes, setup, teardown),
      cmocka_unit_test_setup_teardown(stops, setup, teardown),
      cmocka_unit_test_setup_teardown(a_stopped_load_keeps_its_options, setup, teardown),
      cmocka_unit_test_setup_teardown(a_stopped_tuning_keeps_what_is_known, setup, teardown),
      cmocka_unit_test_setup_teardown(events_have_tasks_and_a_budget, setup, teardown),
      cmocka_unit_test_setup_teardown(emits, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
