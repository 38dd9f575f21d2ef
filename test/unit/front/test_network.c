// The verifier of a network's steps: it takes what front/order.c makes, and refuses it with any
// length changed, with loops and branches that cross, and with what is read where it is not made.
#include <string.h>

#include "base/text.h"
#include "front/front.h"
#include "runtime/plan.h"
#include "support/test.h"

static seer_context *context;
static seer_arena *arena;
static seer_network *network;

#define MUL(out, a, b) "%" out " f32 = MatMul \"" out "\" v13 (%" a ", %" b ")\n"
#define BRANCH(out, c, yes, no) \
  "%" out " f32 = Branch \"" out "\" v1 domain \"seer\" (%" c ", %" yes ", %" no ")\n"
#define LOOP(number, value, first)                                             \
  "%" number " i64, %" number ".go bool, %" value " f32 = LoopBegin \"" number \
  "\" v1 domain \"seer\" (%n, _, %" first ")\n"
#define END(out, number, value)                                                                    \
  "%" out " f32, %" out ".n i64 = LoopEnd \"" out "\" v1 domain \"seer\" (%" number ".go, %" value \
  ", %" number ") {n_carried = 1, bound = 1}\n"

static seer_status build(const char *nodes) {
  const char *text = seer_arena_printf(arena,
      "graph \"g\" {\n input %%c bool[]\n input %%d bool[]\n input %%n i64[]\n"
      " input %%x f32[3,3]\n%s}\n",
      nodes);
  seer_graph *graph;
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  return seer_network_build(context, graph, arena, &network);
}

// first k[ j[ p] i( a u[ w] | b ) q] y( e1 e2 | h1 ) z
static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  must(seer_context_create(&context));
  must(build(MUL("first", "x", "x") LOOP("k", "v", "first") LOOP("j", "t", "x") MUL("p", "t", "v")
          END("jz", "j", "p") MUL("a", "jz", "v") LOOP("u", "s", "a") MUL("w", "s", "v") END(
              "uz", "u", "w") MUL("b", "jz", "jz") BRANCH("i", "d", "uz", "b") MUL("q", "i", "v")
              END("kz", "k", "q") MUL("e1", "kz", "x") MUL("e2", "e1", "x") MUL("h1", "x", "kz")
                  BRANCH("y", "c", "e2", "h1") MUL("z", "y", "x") "output %z\n"));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  seer_context_destroy(context);
  return 0;
}

static uint32_t step_of(const char *name) {
  for (uint32_t s = 0; s < network->n_step; s++)
    if (strcmp(network->step[s].name, name) == 0) return s;
  fail_msg("no step '%s'", name);
  return 0;
}

#define STEP(name) network->step[step_of(name)]

static void refuses(const char *text) {
  seer_status status = seer_network_verify(network);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  if (!strstr(seer_status_message(status), text))
    fail_msg("says \"%s\", should say \"%s\"", seer_status_message(status), text);
  seer_status_free(status);
}

static void takes_what_is_built(void **state) {
  (void)state;
  must(seer_network_verify(network));
  assert_int_equal(STEP("k").kind, SEER_STEP_LOOP_BEGIN);
  assert_int_equal(STEP("kz").kind, SEER_STEP_LOOP_END);
  assert_int_equal(STEP("y").kind, SEER_STEP_BRANCH);
  assert_int_equal(STEP("k").n_body, step_of("kz") - step_of("k") - 1);
  assert_int_equal(STEP("j").n_body, 1);
  assert_int_equal(STEP("u").n_body, 1);
  assert_int_equal(STEP("i").n_then, 4);  // the loop with its ends
  assert_int_equal(STEP("i").n_else, 1);
  assert_int_equal(STEP("y").n_then, 2);
  assert_int_equal(STEP("y").n_else, 1);
  assert_int_equal(STEP("z").n_body + STEP("z").n_then + STEP("z").n_else, 0);
}

// Any length of any step, made any other that fits a number of steps, or none.
static void any_other_length_is_found(void **state) {
  (void)state;
  uint32_t n_tried = 0;
  for (uint32_t s = 0; s < network->n_step; s++) {
    seer_step *step = &network->step[s];
    uint32_t *const length[] = {&step->n_body, &step->n_then, &step->n_else};
    for (uint32_t k = 0; k < 3; k++) {
      const uint32_t right = *length[k];
      for (uint32_t wrong = 0; wrong < network->n_step + 3; wrong++) {
        *length[k] = wrong == network->n_step + 2 ? UINT32_MAX : wrong;
        if (*length[k] == right) continue;
        seer_status status = seer_network_verify(network);
        if (!status) fail_msg("'%s' with length %u of %u passes", step->name, wrong, right);
        assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
        seer_status_free(status);
        n_tried++;
      }
      *length[k] = right;
    }
  }
  assert_true(n_tried > 500);
  must(seer_network_verify(network));
}

static void sides_that_share_their_steps_wrongly(void **state) {
  (void)state;
  STEP("y").n_then--, STEP("y").n_else++;
  refuses("'y' reads 'e2', which is not made before");
  STEP("y").n_then += 2, STEP("y").n_else -= 2;
  refuses("'y' reads 'h1', which is made in a loop or a side of a branch that has ended");
  STEP("y").n_then = 0, STEP("y").n_else = 3;
  refuses("'y' reads 'e2', which is not made before");
  STEP("y").n_then = 4, STEP("y").n_else = 0;
  refuses("'z' reads 'y', which is not made before");
  STEP("y").n_then = UINT32_MAX, STEP("y").n_else = 4;  // 3 in all
  refuses("branch 'y' has sides of 4294967295 and 4 steps, where 4 are left");
}

static void swap(const char *a, const char *b) {
  const seer_step kept = STEP(a);
  uint32_t at = step_of(b);
  STEP(a) = network->step[at];
  network->step[at] = kept;
}

static void crossing(void **state) {
  (void)state;
  // An end for another's.
  STEP("k").n_body = STEP("j").n_body + 1 + 1;
  refuses("loop 'k' has 3 steps, behind which is 'i', not its end");
  STEP("k").n_body--;
  refuses("loop 'k' has 2 steps, behind which is 'jz', not its end");
  STEP("k").n_body = step_of("kz") - step_of("k") - 1;
  STEP("j").n_body = step_of("kz") - step_of("j") - 1;
  refuses("loop 'j' has 9 steps and an end, where 9 are left");
  STEP("j").n_body = 1;
  must(seer_network_verify(network));
  // A loop that begins in a side and ends behind it.
  STEP("i").n_then -= 1;
  refuses("loop 'u' has 1 steps and an end, where 1 are left");
  STEP("i").n_then += 1;
  // Ends that have changed places: [ j [ ... ] ... ] with the wrong names.
  swap("jz", "kz");
  refuses("not its end");
  swap("jz", "kz");
  // An end without a begin.
  swap("w", "uz");
  refuses("loop 'u' has 1 steps, behind which is 'w', not its end");
  STEP("u").n_body = 0;
  refuses("'uz' reads 'w', which is not made before");
  swap("first", "uz");
  refuses("'uz' ends no loop that begins in the same body or side");
}

static void wrong_kinds_and_orders(void **state) {
  (void)state;
  STEP("y").kind = SEER_STEP_HOST;
  refuses("'y' (Branch) is a step of another kind");
  STEP("y").kind = SEER_STEP_BRANCH;
  STEP("uz").kind = SEER_STEP_HOST;
  refuses("not its end");
  STEP("uz").kind = SEER_STEP_LOOP_END;
  STEP("z").n_then = 1;
  refuses("'z' has the length of a loop or a branch and is none");
  STEP("z").n_then = 0;
  swap("e1", "e2");
  refuses("'e2' reads 'e1', which is not made before");
  swap("e1", "e2");
  network->n_step--;
  refuses("output 'z' is not made before");
  network->n_step++;
  const seer_step kept = STEP("h1");
  STEP("h1") = STEP("e1");
  refuses("'e1' makes 'e1', which was made before");
  network->step[step_of("z") - 1] = kept;
  must(seer_network_verify(network));
}

// What only a text can say: loops that cross, no end or two, a body's values behind its end.
static void graphs_that_cannot_be_ordered(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {LOOP("k", "v", "x") MUL("p", "v", "x") "output %p\n", "loop 'k' has no end"},
      {LOOP("k", "v", "x") LOOP("j", "u", "v") MUL("p", "u", "v") END("z", "k", "p")
              END("y", "j", "p") "output %y output %z\n",
          "'z' ends a loop that it is not the end of, or not in"},
      {LOOP("k", "v", "x") MUL("p", "v", "x") END("z", "k", "p")
              END("y", "k", "p") "output %y output %z\n",
          "'y' ends a loop that it is not the end of, or not in"},
      {LOOP("k", "v", "x") MUL("p", "v", "x") END("z", "k", "p") MUL("a", "z", "x")
              BRANCH("y", "c", "a", "x") "output %y output %p\n",
          "output 'p' is made in a loop or a side of a branch that has ended"},
      {LOOP("k", "v", "x") MUL("p", "v", "x") END("z", "k", "p") MUL("a", "z", "v") "output %a\n",
          "'a' reads 'v', which is made in a loop or a side of a branch that has ended"},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_status status = build(cases[k][0]);
    assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
    if (!strstr(seer_status_message(status), cases[k][1]))
      fail_msg("case %zu: \"%s\"", k, seer_status_message(status));
    seer_status_free(status);
  }
}

// A loop around `depth` others, of which order.c has made a neighbour.
static void wrap(int depth) {
  seer_text text;
  seer_text_init(&text, arena);
  for (int k = 0; k < depth; k++)
    seer_text_printf(&text,
        "%%k%d i64, %%g%d bool, %%v%d f32 = LoopBegin \"k%d\" v1 domain \"seer\" (%%n, _, "
        "%%%s%d)\n",
        k + 1, k + 1, k + 1, k + 1, k ? "v" : "first", k);
  seer_text_printf(&text, "%%z%d f32 = MatMul \"mul\" v13 (%%v%d, %%v%d)\n", depth, depth, depth);
  for (int k = depth; k > 0; k--)
    seer_text_printf(&text,
        "%%z%d f32, %%n%d i64 = LoopEnd \"z%d\" v1 domain \"seer\" (%%g%d, %%z%d, %%k%d) "
        "{n_carried = 1, bound = 1}\n",
        k - 1, k - 1, k - 1, k, k, k);
  must(build(seer_arena_printf(arena, "%s%s%s", MUL("first0", "x", "x"), text.data,
      LOOP("o", "w", "x") MUL("p", "w", "z0") END("y", "o", "p") "output %y\n")));
  uint32_t o = step_of("o");
  assert_int_equal(o, 2 * depth + 2);
  assert_int_equal(network->step[o].n_body, 1);
  const seer_step begin = network->step[o];
  memmove(network->step + 1, network->step, o * sizeof *network->step);
  network->step[0] = begin;
  network->step[0].n_body += o;
}

static void too_deep(void **state) {
  (void)state;
  wrap(SEER_PLAN_MAX_DEPTH - 1);
  must(seer_network_verify(network));
  wrap(SEER_PLAN_MAX_DEPTH);
  refuses("'mul' is in 33 loops and branches, must be in at most 32");
}

// Steps that are alike have one DAG, which binds values of their own; other literals, other sizes
// and other operands make another.
static void steps_that_are_alike_have_one_dag(void **state) {
  (void)state;
#define CLIP(out, x, low, high) \
  "%" out " f32 = Clip \"" out "\" v6 (%" x ") {min = float " low ", max = float " high "}\n"
  must(build(MUL("a", "x", "x") MUL("b", "a", "x") MUL("c1", "b", "b")
          CLIP("u", "c1", "0.25", "2.0") MUL("f", "u", "x") CLIP("v", "f", "0.25", "2.0")
              MUL("e", "v", "v") CLIP("w", "e", "0.25", "1.5") "output %w\noutput %b\n"));
  const seer_step *a = &STEP("a"), *b = &STEP("b"), *c = &STEP("c1"), *d = &STEP("f"),
                  *e = &STEP("e");
  assert_int_equal(network->n_step, 5);
  assert_ptr_equal(a->dag, network->task[a->task].dag);
  assert_ptr_equal(c->dag, network->task[c->task].dag);
  assert_ptr_not_equal(a->dag, b->dag);  // one operand, two
  assert_int_equal(c->task, e->task);
  assert_ptr_not_equal(c->dag, e->dag);  // other literals
  assert_ptr_not_equal(c->dag, d->dag);
  must(build(MUL("a", "x", "x") MUL("b", "a", "x") MUL("c1", "b", "x")
          MUL("f", "c1", "c1") "output %f\n"));
  b = &STEP("b"), c = &STEP("c1"), d = &STEP("f"), a = &STEP("a");
  assert_ptr_equal(b->dag, c->dag);
  assert_ptr_equal(a->dag, d->dag);
  assert_true((b->value_of_buf[0].i == c->value_of_buf[0].i) !=
      (b->value_of_buf[1].i == c->value_of_buf[1].i));  // %x, and what each has for itself
  assert_int_equal(b->content, c->content);
}

// The same arithmetic, its operands in another order: one DAG and one kernel, whose buffers stand
// for what the step's own operands are.
static void steps_in_another_order(void **state) {
  (void)state;
#define ONE(op, out, x) "%" out " f32 = " op " \"" out "\" v13 (%" x ")\n"
#define JOIN(out, x, y) "%" out " f32 = Concat \"" out "\" v13 (%" x ", %" y ") {axis=0}\n"
  must(build(MUL("a", "x", "x") MUL("b", "a", "x") ONE("Relu", "r", "a") ONE("Exp", "e", "b")
          JOIN("s", "r", "e") ONE("Exp", "f", "a") ONE("Relu", "q", "b")
              JOIN("t", "q", "f") "output %a\noutput %b\noutput %s\noutput %t\n"));
  const seer_step *s = &network->step[2], *t = &network->step[3];
  assert_int_equal(network->n_step, 4);
  assert_int_equal(s->task, t->task);
  assert_ptr_equal(s->dag, t->dag);
  uint32_t n_crossed = 0;
  for (uint32_t k = 0; k < s->dag->n_buf; k++) {
    if (s->dag->buf[k].kind == SEER_BUF_STAGE) continue;
    const char *of_s = seer_graph_value(network->graph, s->value_of_buf[k])->name,
               *of_t = seer_graph_value(network->graph, t->value_of_buf[k])->name;
    assert_string_equal(of_t, of_s[0] == 'a' ? "b" : "a");
    n_crossed++;
  }
  assert_int_equal(n_crossed, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(takes_what_is_built, setup, teardown),
      cmocka_unit_test_setup_teardown(any_other_length_is_found, setup, teardown),
      cmocka_unit_test_setup_teardown(sides_that_share_their_steps_wrongly, setup, teardown),
      cmocka_unit_test_setup_teardown(crossing, setup, teardown),
      cmocka_unit_test_setup_teardown(wrong_kinds_and_orders, setup, teardown),
      cmocka_unit_test_setup_teardown(graphs_that_cannot_be_ordered, setup, teardown),
      cmocka_unit_test_setup_teardown(too_deep, setup, teardown),
      cmocka_unit_test_setup_teardown(steps_that_are_alike_have_one_dag, setup, teardown),
      cmocka_unit_test_setup_teardown(steps_in_another_order, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
