// The order of steps: what only one side of a branch needs stands in it, however sides and loops
// hold each other; the rest in front. A network is written down by its steps' names.
#include <string.h>

#include "base/text.h"
#include "front/front.h"
#include "runtime/plan.h"
#include "support/test.h"

static seer_context *context;
static seer_arena *arena;

static int setup(void **state) {
  (void)state;
  seer_status status = seer_context_create(&context);
  seer_status_free(status);
  arena = seer_arena_create("test");
  return status != SEER_OK;
}

static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  seer_context_destroy(context);
  return 0;
}

static void write_steps(const seer_network *network, uint32_t from, uint32_t to, seer_text *text) {
  for (uint32_t s = from; s < to; s++) {
    const seer_step *step = &network->step[s];
    if (text->n_bytes > 0) seer_text_put(text, " ");
    seer_text_put(text, step->name);
    if (step->kind == SEER_STEP_LOOP_BEGIN) {
      seer_text_put(text, "[");
      write_steps(network, s + 1, s + 1 + step->n_body, text);
      seer_text_put(text, "]");
      s += step->n_body + 1;
      assert_int_equal(network->step[s].kind, SEER_STEP_LOOP_END);
    }
    if (step->kind != SEER_STEP_BRANCH) continue;
    seer_text_put(text, "(");
    write_steps(network, s + 1, s + 1 + step->n_then, text);
    seer_text_put(text, " |");
    s += step->n_then;
    write_steps(network, s + 1, s + 1 + step->n_else, text);
    seer_text_put(text, " )");
    s += step->n_else;
  }
}

// $w f32[3,3]; inputs c and d, conditions, n and x f32[3,3].
static seer_status build(const char *nodes, seer_network **out_network) {
  const char *text = seer_arena_printf(arena,
      "graph \"g\" {\n  input %%c bool[]\n  input %%d bool[]\n  input %%n i64[]\n"
      "  input %%x f32[3,3]\n  const $w f32[3,3] = splat 0.5\n%s}\n",
      nodes);
  seer_graph *graph;
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(context, graph));
  return seer_network_build(context, graph, arena, out_network);
}

static const char *order_of(const char *nodes) {
  seer_network *network;
  must(build(nodes, &network));
  seer_text out;
  seer_text_init(&out, arena);
  write_steps(network, 0, network->n_step, &out);
  return out.data;
}

#define MUL(out, in) "  %" out " f32 = MatMul \"" out "\" v13 (%" in ", $w)\n"
#define MUL2(out, a, b) "  %" out " f32 = MatMul \"" out "\" v13 (%" a ", %" b ")\n"
#define BRANCH(out, c, yes, no) \
  "  %" out " f32 = Branch \"" out "\" v1 domain \"seer\" (%" c ", %" yes ", %" no ")\n"

static void sides(void **state) {
  (void)state;
  // What both read stays; chains go whole; what is an output stays, though one side reads it.
  assert_string_equal(order_of(MUL("both", "x") MUL("p", "x") MUL("q", "p") MUL2("yes", "q", "both")
                              MUL("seen", "x") MUL2("no", "both", "seen") BRANCH("y", "c", "yes",
                                  "no") MUL("z", "y") "  output %z\n  output %seen\n"),
      "both seen y( p q yes | no ) z");
  // A side of nothing, and results that stand outside.
  assert_string_equal(
      order_of(MUL("yes", "x") BRANCH("y", "c", "yes", "x") "  output %y\n"), "y( yes | )");
  assert_string_equal(order_of(MUL("yes", "x") MUL2("both", "x", "x") BRANCH(
                          "y", "c", "yes", "both") MUL2("z", "y", "both") "  output %z\n"),
      "both y( yes | ) z");
}

static void nested(void **state) {
  (void)state;
  assert_string_equal(order_of(MUL("p", "x") MUL("q", "p") MUL2("r", "p", "p")
                              BRANCH("i", "d", "q", "r") MUL("yes", "i") MUL("s", "x")
                                  MUL("no", "s") BRANCH("y", "c", "yes", "no") "  output %y\n"),
      "y( p i( q | r ) yes | s no )");
  // Read in sides of sides of both: above them.
  assert_string_equal(
      order_of(MUL("p", "x") MUL("q", "p") MUL2("r", "p", "x") BRANCH("i", "d", "q", "x")
              BRANCH("j", "d", "x", "r") BRANCH("y", "c", "i", "j") "  output %y\n"),
      "p y( i( q | ) | j( | r ) )");
}

#define LOOP(number, value, first)                                               \
  "  %" number " i64, %" number ".go bool, %" value " f32 = LoopBegin \"" number \
  "\" v1 domain \"seer\" (%n, _, %" first ")\n"
#define END(out, number, value)                                                       \
  "  %" out " f32, %" out ".n i64 = LoopEnd \"" out "\" v1 domain \"seer\" (%" number \
  ".go, %" value ", %" number ") {n_carried = 1, bound = 1}\n"

static void loops(void **state) {
  (void)state;
  // A loop is in a side whole, with what is computed for it once.
  assert_string_equal(
      order_of(MUL("first", "x") LOOP("k", "v", "first") MUL("once", "x") MUL2("w1", "v", "once")
              END("yes", "k", "w1") MUL("no", "x") BRANCH("y", "c", "yes", "no") "  output %y\n"),
      "y( first once k[ w1] | no )");
  // A side in a loop holds what depends on the iteration: the rest is computed once, in front.
  assert_string_equal(order_of(LOOP("k", "v", "x") MUL("p", "v") MUL("once", "x") MUL2("no", "v",
                          "once") BRANCH("b", "c", "p", "no") END("y", "k", "b") "  output %y\n"),
      "once k[ b( p | no )]");
}

// A loop whose begin does not depend on the loop that it is in stays there if its body does.
static void loops_in_loops(void **state) {
  (void)state;
  assert_string_equal(order_of(LOOP("k", "v", "x") LOOP("j", "u", "x") MUL2("p", "u", "v") END(
                          "z", "j", "p") MUL2("q", "z", "v") END("y", "k", "q") "  output %y\n"),
      "k[ j[ p] q]");
  assert_string_equal(order_of(LOOP("k", "v", "x") LOOP("j", "u", "x") LOOP("i", "t", "x") MUL2(
                          "p", "t", "v") END("a", "i", "p") MUL2("b", "u", "a") END("z", "j", "b")
                              MUL2("q", "z", "v") END("y", "k", "q") "  output %y\n"),
      "k[ i[ p] j[ b] q]");
  // One that depends on nothing inside runs once, in front.
  assert_string_equal(order_of(LOOP("k", "v", "x") LOOP("j", "u", "x") MUL("p", "u") END(
                          "z", "j", "p") MUL2("q", "z", "v") END("y", "k", "q") "  output %y\n"),
      "j[ p] k[ q]");
  // So do the steps that stood in such a loop without need, whoever else reads them: it may not
  // run.
  assert_string_equal(order_of(LOOP("k", "v", "x") LOOP("j", "u", "x") MUL("once", "x")
                              MUL2("p", "u", "once") END("z", "j", "p") MUL2("q", "z", "v")
                                  MUL2("r", "q", "once") END("y", "k", "r") "  output %y\n"),
      "once j[ p] k[ q r]");
  // Two that have nothing to do with each other, one across the end of the other.
  assert_string_equal(order_of(LOOP("k", "v", "x") LOOP("j", "u", "x") MUL("p", "v") MUL("q", "u")
                              END("y", "k", "p") END("z", "j", "q") "  output %y\n  output %z\n"),
      "k[ p] j[ q]");
}

#define HALF(out, c, yes, tie)                                                      \
  "  %" out " f32 = Branch \"" out "\" v1 domain \"seer\" (%" c ", %" yes ", _" tie \
  ") {why = \"reasons\"}\n"

// Of a branch with one side: in the loop that it is tied to, and nowhere but where its result is
// read.
static void half_branches(void **state) {
  (void)state;
  assert_string_equal(
      order_of(MUL("yes", "x") HALF("y", "c", "yes", "") "  output %y\n"), "y( yes | )");
  assert_string_equal(order_of(MUL("p", "x") HALF("i", "d", "p", "") MUL("yes", "i") MUL("no", "x")
                              BRANCH("y", "c", "yes", "no") "  output %y\n"),
      "y( i( p | ) yes | no )");
  assert_string_equal(order_of(LOOP("k", "v", "x") MUL("p", "x") HALF("b", "c", "p", ", %k")
                              MUL2("q", "b", "v") END("y", "k", "q") "  output %y\n"),
      "p k[ b( | ) q]");
}

// What must not run without need is refused where it would.
static void deep_half_branches(void **state) {
  (void)state;
  enum { N = SEER_PLAN_MAX_DEPTH + 3 };
  seer_text text;
  seer_network *network;
  seer_text_init(&text, arena);
  seer_text_put(&text, MUL("p", "x") HALF("y0", "d", "p", ""));
  for (int k = 0; k < N; k++) {
    seer_text_printf(&text, "  %%p%d f32 = MatMul \"p%d\" v13 (%%y%d, $w)\n", k, k, k);
    seer_text_printf(&text, "  %%y%d f32 = Branch \"y%d\" v1 domain \"seer\" (%%c, %%p%d, %%x)\n",
        k + 1, k + 1, k);
  }
  seer_text_printf(&text, "  output %%y%d\n", N);
  seer_status status = build(text.data, &network);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "one side of 'y0' cannot be built: reasons"));
  seer_status_free(status);
}

// Deeper than plans may be: the first ones stand in front, and have no sides.
static void deep(void **state) {
  (void)state;
  enum { N = SEER_PLAN_MAX_DEPTH + 3 };
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, MUL("y0", "x"));
  for (int k = 0; k < N; k++) {
    seer_text_printf(&text, "  %%p%d f32 = MatMul \"p%d\" v13 (%%y%d, $w)\n", k, k, k);
    seer_text_printf(&text, "  %%y%d f32 = Branch \"y%d\" v1 domain \"seer\" (%%c, %%p%d, %%x)\n",
        k + 1, k + 1, k);
  }
  seer_text_printf(&text, "  output %%y%d\n", N);
  const char *order = order_of(text.data);
  uint32_t n_open = 0, n_most = 0;
  for (const char *at = order; *at; at++) {
    n_open += *at == '(';
    n_open -= *at == ')';
    if (n_open > n_most) n_most = n_open;
  }
  assert_int_equal(n_most, SEER_PLAN_MAX_DEPTH + 1);  // the innermost is empty
  assert_non_null(strstr(order, "y2( | ) p2 y3( | ) p3 "));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(sides, setup, teardown),
      cmocka_unit_test_setup_teardown(nested, setup, teardown),
      cmocka_unit_test_setup_teardown(loops, setup, teardown),
      cmocka_unit_test_setup_teardown(loops_in_loops, setup, teardown),
      cmocka_unit_test_setup_teardown(half_branches, setup, teardown),
      cmocka_unit_test_setup_teardown(deep_half_branches, setup, teardown),
      cmocka_unit_test_setup_teardown(deep, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
