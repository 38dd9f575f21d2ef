// The pass that makes values parts of others' memory: where they lie, and what is left alone. That
// networks compute the same with it, test/property/test_parts.c has for random ones.
#include <stdio.h>
#include <string.h>

#include "front/pass/pass.h"
#include "support/net_eval.h"
#include "support/test.h"

#define CONV(out, in) "%" #out " f32 = Conv \"" #out "\" v13 (%" #in ", $w)\n"

static seer_arena *arena;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  return 0;
}

// `body` behind an input of four channels and weights from four to four.
static seer_network *network_of(const char *body) {
  return net_check_text(
      seer_arena_printf(arena,
          "graph \"g\" { input %%x f32[1,4,3,2] const $w f32[4,4,1,1] = splat 0.25\n%s}", body),
      1e-5, arena);
}

static const seer_value *value_of(const seer_graph *graph, const char *name) {
  for (uint32_t v = 1; v < graph->n_value; v++)
    if (strcmp(graph->value[v].name, name) == 0) return &graph->value[v];
  fail_msg("no value '%s'", name);
  return NULL;
}

// `name` begins `offset` elements behind the start of `base` and has rows at `pitch`; base NULL:
// its memory is its own.
static void lies(const seer_network *network, const char *name, const char *base, int64_t offset,
    int64_t pitch) {
  const seer_value *value = value_of(network->graph, name);
  if (!base) {
    assert_int_equal(value->base.i, 0);
    return;
  }
  if (value->base.i == 0) fail_msg("'%s' is no part", name);
  assert_string_equal(seer_graph_value(network->graph, value->base)->name, base);
  assert_int_equal(value->offset, offset);
  assert_int_equal(value->pitch, pitch);
}

static uint32_t count_steps(const seer_network *network, seer_step_kind kind) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < network->n_step; k++) n += network->step[k].kind == kind;
  return n;
}

static void parts_are_written_in_place(void **state) {
  (void)state;
  seer_network *network = network_of(CONV(a, x) CONV(b,
      a) "%c f32 = Concat \"c\" v13 (%a, %b) {axis=-3}\n"
         "%d f32 = MaxPool \"d\" v12 (%c) {kernel_shape=[2,2]} output %d\n");
  lies(network, "a", "c", 0, 8);
  lies(network, "b", "c", 4, 8);
  lies(network, "c", NULL, 0, 0);
  assert_int_equal(count_steps(network, SEER_STEP_COPY), 0);
  assert_int_equal(count_steps(network, SEER_STEP_KERNEL), 3);
  assert_int_equal(count_steps(network, SEER_STEP_VIEW), 2);
}

// Each Concat begins with the one before, or with its parts: one memory for all.
static void chains_share_one_memory(void **state) {
  (void)state;
  static const char *const last[] = {"%c, %e", "%a, %b, %e"};
  for (int k = 0; k < 2; k++) {
    seer_network *network = network_of(seer_arena_printf(arena,
        "const $v f32[4,8,1,1] = splat 0.5\n%s"
        "%%c f32 = Concat \"c\" v13 (%%a, %%b) {axis=1}\n"
        "%%e f32 = Conv \"e\" v13 (%%c, $v)\n"
        "%%f f32 = Concat \"f\" v13 (%s) {axis=1}\n"
        "%%g f32 = MaxPool \"g\" v12 (%%f) {kernel_shape=[2,2]} output %%g\n",
        CONV(a, x) CONV(b, a), last[k]));
    lies(network, "a", "f", 0, 12);
    lies(network, "b", "f", 4, 12);
    lies(network, "c", "f", 0, 12);
    lies(network, "e", "f", 8, 12);
    assert_int_equal(count_steps(network, SEER_STEP_COPY), 0);
  }
}

// What a Split gives and a Concat joins again in order is the whole; who reads a part of it reads
// it there.
static void halves_that_are_joined_again(void **state) {
  (void)state;
  seer_network *network = network_of(
      "const $v f32[8,4,1,1] = splat 0.5 const $n i64[2] = [4,4]\n"
      "%s f32 = Conv \"s\" v13 (%x, $v)\n"
      "%l f32, %r f32 = Split \"split\" v13 (%s, $n) {axis=1}\n" CONV(
          t, r) "%u f32 = Add \"u\" v13 (%t, %r)\n" CONV(z, u)
          CONV(y, r) "%c f32 = Concat \"c\" v13 (%l, %r, %z) {axis=1}\n"
                     "%d f32 = MaxPool \"d\" v12 (%c) {kernel_shape=[2,2]} output %d output %y\n");
  lies(network, "s", "c", 0, 12);
  lies(network, "z", "c", 8, 12);
  lies(network, "r", "c", 4, 12);
  assert_int_equal(count_steps(network, SEER_STEP_COPY), 0);
}

// All of them, and nothing else: the whole itself.
static void halves_alone(void **state) {
  (void)state;
  seer_network *network = network_of("const $n i64[2] = [2,2]\n" CONV(s,
      x) "%l f32, %r f32 = Split \"split\" v13 (%s, $n) {axis=1}\n"
         "%c f32 = Concat \"c\" v13 (%l, %r) {axis=1}\n"
         "%d f32 = MaxPool \"d\" v12 (%c) {kernel_shape=[2,2]} output %d\n");
  lies(network, "s", "c", 0, 0);
  assert_int_equal(count_steps(network, SEER_STEP_KERNEL), 2);
  assert_int_equal(count_steps(network, SEER_STEP_COPY), 0);
}

// Images stand behind each other in memory; rows of one image can be anywhere.
static void outer_dimensions(void **state) {
  (void)state;
  for (int n = 1; n <= 2; n++) {
    seer_network *network = net_check_text(
        seer_arena_printf(arena,
            "graph \"g\" { input %%x f32[%d,4,3,2] const $w f32[4,4,1,1] = splat 0.25\n%s"
            "%%c f32 = Concat \"c\" v13 (%%a, %%b) {axis=2}\n"
            "%%d f32 = MaxPool \"d\" v12 (%%c) {kernel_shape=[2,2]} output %%d }",
            n, CONV(a, x) CONV(b, a)),
        1e-5, arena);
    lies(network, "b", n == 1 ? "c" : NULL, 24, 0);
  }
}

// 3 channels of f32: what follows begins at 12 bytes.
static void parts_begin_at_multiples_of_8_bytes(void **state) {
  (void)state;
  seer_network *network =
      network_of("const $v f32[3,4,1,1] = splat 0.5\n%a f32 = Conv \"a\" v13 (%x, $v)\n" CONV(b,
          x) "%c f32 = Concat \"c\" v13 (%a, %b) {axis=1} %e f32 = Concat \"e\" v13 (%b, %a) "
             "{axis=1}\n"
             "%d f32 = MaxPool \"d\" v12 (%c) {kernel_shape=[2,2]}\n"
             "%f f32 = MaxPool \"f\" v12 (%e) {kernel_shape=[2,2]} output %d output %f\n");
  lies(network, "b", "e", 0, 7);
  lies(network, "a", "e", 4, 7);
  assert_int_equal(count_steps(network, SEER_STEP_COPY), 1);
}

// The caller's input and output, and a part that is there already, are copied alone.
static void what_cannot_be_part_is_copied_alone(void **state) {
  (void)state;
  static const char *const other[] = {"%x", "%a", "%b"};
  for (int k = 0; k < 3; k++) {
    seer_network *network = network_of(seer_arena_printf(arena,
        "%s%%c f32 = Concat \"c\" v13 (%%a, %s) {axis=1}\n"
        "%%d f32 = MaxPool \"d\" v12 (%%c) {kernel_shape=[2,2]} output %%d output %%b\n",
        CONV(a, x) CONV(b, a), other[k]));
    lies(network, "a", "c", 0, 8);
    lies(network, seer_arena_printf(arena, "%s.part", other[k] + 1), "c", 4, 8);
    assert_int_equal(count_steps(network, SEER_STEP_COPY), 1);
  }
}

// A whole that is the caller's, of which the kernel would do more, or of a constant.
static void wholes_that_stay_kernels(void **state) {
  (void)state;
  seer_network *network =
      network_of(CONV(a, x) CONV(b, a) "%c f32 = Concat \"c\" v13 (%a, %b) {axis=1} output %c\n");
  lies(network, "a", NULL, 0, 0);
  network = network_of(CONV(a,
      x) "%b f32 = Relu \"b\" v13 (%x) %c f32 = Concat \"c\" v13 (%a, %b) {axis=1}\n"
         "%d f32 = Tanh \"d\" v13 (%c) output %d\n");
  lies(network, "a", NULL, 0, 0);
  network = network_of(CONV(a,
      x) "const $k f32[1,4,3,2] = splat 2\n"
         "%c f32 = Concat \"c\" v13 (%a, $k) {axis=1}\n"
         "%d f32 = MaxPool \"d\" v12 (%c) {kernel_shape=[2,2]} output %d\n");
  lies(network, "a", NULL, 0, 0);
}

// Channels joined, pixels flattened, and the levels joined: views of parts are parts.
static void views_go_with_their_parts(void **state) {
  (void)state;
  seer_network *network =
      network_of("const $n i64[3] = [1,8,6] const $p i64[4] = [1,8,12,1]\n" CONV(a, x) CONV(
          b, a) CONV(e, x) CONV(f,
          e) "%c f32 = Concat \"c\" v13 (%a, %b) {axis=1}\n"
             "%g f32 = Concat \"g\" v13 (%e, %f) {axis=1}\n"
             "%h f32 = Reshape \"h\" v13 (%c, $n)\n"
             "%i f32 = Reshape \"i\" v13 (%g, $n)\n"
             "%j f32 = Concat \"j\" v13 (%h, %i) {axis=2}\n"
             "%k f32 = Reshape \"k\" v13 (%j, $p)\n"
             "%l f32 = MaxPool \"l\" v12 (%k) {kernel_shape=[2,1]} output %l\n");
  lies(network, "c", "j", 0, 0);
  lies(network, "i", "j", 48, 0);
  lies(network, "b", "j", 4, 8);
  lies(network, "f", "j", 52, 8);
  assert_int_equal(count_steps(network, SEER_STEP_COPY), 0);
}

// What a part's bytes begin at, as the pass has it for a target.
static seer_graph *placed_for(const char *target, const char *text) {
  seer_context *context;
  seer_graph *graph;
  must(seer_context_create(&context));
  must(seer_context_set(context, "target", target));
  must(seer_context_find_any_target(context));
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(context, graph));
  seer_context_destroy(context);
  return graph;
}

// Items of a GPU read and write 16 bytes at a time. 2 and 6 channels of f32, 4 and 4; of f64 2 and
// 2.
static void items_want_16_bytes(void **state) {
  (void)state;
  static const struct {
    const char *type;
    int first, second;  // channels
    bool is_part;  // for items
  } cases[] = {{"f32", 6, 2, false}, {"f32", 4, 3, true}, {"f32", 2, 6, false}, {"f32", 8, 4, true},
      {"f64", 1, 3, false}, {"f64", 2, 1, true}};
  static const char *const targets[] = {"cpu", "cuda:sm_90", "opencl:generic"};
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    for (size_t t = 0; t < SEER_COUNT_OF(targets); t++) {
      const char *text = seer_arena_printf(arena,
          "graph \"g\" { input %%x %s[1,3,2,%d] input %%y %s[1,3,2,%d]\n"
          "%%a %s = Relu \"a\" v14 (%%x)\n%%b %s = Relu \"b\" v14 (%%y)\n"
          "%%c %s = Concat \"c\" v13 (%%a, %%b) {axis=3}\n"
          "%%l %s = Softmax \"l\" v13 (%%a) {axis=1} %%r %s = Softmax \"r\" v13 (%%b) {axis=1}\n"
          "%%d %s = Softmax \"d\" v13 (%%c) {axis=1} output %%d output %%l output %%r }",
          cases[k].type, cases[k].first, cases[k].type, cases[k].second, cases[k].type,
          cases[k].type, cases[k].type, cases[k].type, cases[k].type, cases[k].type);
      const seer_graph *graph = placed_for(t == 0 ? "native" : targets[t], text);
      bool is_part = value_of(graph, "b")->base.i != 0;
      if (is_part != (t == 0 || cases[k].is_part))
        fail_msg("%s, %d and %d channels of %s: %s", targets[t], cases[k].first, cases[k].second,
            cases[k].type, is_part ? "a part" : "no part");
    }
  }
}

// What runs on the host knows no pitch.
static void hosts_read_values_of_their_own(void **state) {
  (void)state;
  static const char text[] =
      "graph \"g\" { input %x f32[1,4,3,2] const $w f32[4,4,1,1] = splat 0.25\n" CONV(a, x) CONV(
          b, a) "%c f32 = Concat \"c\" v13 (%a, %b) {axis=1}\n"
                "%d f32 = MaxPool \"d\" v12 (%c) {kernel_shape=[2,2]}\n"
                "%n i64 = NonZero \"n\" v13 (%b) output %d output %n }";
  seer_context *context;
  seer_graph *graph;
  assert_null(seer_context_create(&context));
  assert_null(seer_graph_parse("test", text, strlen(text), arena, &graph));
  assert_null(seer_front_resolve(graph, "", NULL));
  assert_null(seer_front_run_passes(context, graph));
  assert_int_equal(value_of(graph, "b")->base.i, 0);
  assert_int_not_equal(value_of(graph, "a")->base.i, 0);
  seer_context_destroy(context);
}

// A text may say anything.
static void false_places_are_refused(void **state) {
  (void)state;
  static const char *const place[] = {
      "in %nobody at 0", "in %a at 0", "in %b at 1", "in %b at -4", "in %x at 0", "in %y at 0"};
  for (size_t k = 0; k < SEER_COUNT_OF(place); k++) {
    const char *text = seer_arena_printf(arena,
        "graph \"g\" { input %%x f32[2,4] %%a f32[2,4] %s = Relu \"a\" v13 (%%x)\n"
        "%%b f32[2,4] = Relu \"b\" v13 (%%a) %%y f32[2,4] = Relu \"y\" v13 (%%b) output %%y }",
        place[k]);
    seer_graph *graph;
    seer_status status = seer_graph_parse("test", text, strlen(text), arena, &graph);
    assert_non_null(status);
    seer_status_free(status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(parts_are_written_in_place, setup, teardown),
      cmocka_unit_test_setup_teardown(chains_share_one_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(halves_that_are_joined_again, setup, teardown),
      cmocka_unit_test_setup_teardown(halves_alone, setup, teardown),
      cmocka_unit_test_setup_teardown(outer_dimensions, setup, teardown),
      cmocka_unit_test_setup_teardown(parts_begin_at_multiples_of_8_bytes, setup, teardown),
      cmocka_unit_test_setup_teardown(what_cannot_be_part_is_copied_alone, setup, teardown),
      cmocka_unit_test_setup_teardown(wholes_that_stay_kernels, setup, teardown),
      cmocka_unit_test_setup_teardown(views_go_with_their_parts, setup, teardown),
      cmocka_unit_test_setup_teardown(items_want_16_bytes, setup, teardown),
      cmocka_unit_test_setup_teardown(hosts_read_values_of_their_own, setup, teardown),
      cmocka_unit_test_setup_teardown(false_places_are_refused, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
