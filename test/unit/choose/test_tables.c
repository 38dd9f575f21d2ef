// Which constants are read in another step's packed form: an embedding whose head is tied to it,
// and not where somebody needs the rows as they lie, where it would cost too much, or where it is
// forbidden.
#include <string.h>

#include "choose/choose.h"
#include "choose/tables.h"
#include "support/test.h"
#include "support/test_target.h"

static seer_context *context;
static seer_arena *arena;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  must(seer_context_create(&context));
  return 0;
}

static void be_on(const char *machine) {
  seer_target target = test_target_read(machine, arena);
  seer_context_set_target(context, &target);
}

static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  seer_context_destroy(context);
  return 0;
}

static const char head[] =
    "graph \"g\" { input %ids i64[4] const $w f32[20000,32] = splat 0.5\n"
    "const $d f32[32,32] = splat 0.25\n"
    "%x f32 = Gather \"embed\" v13 ($w, %ids) {axis=0} %y f32 = MatMul \"dense\" v13 (%x, $d)\n"
    "%z f32 = Softmax \"soft\" v13 (%y) {axis=-1}\n";

static seer_network *load(const char *rest) {
  const char *text = seer_arena_printf(arena, "%s%s", head, rest);
  seer_graph *graph;
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(context, graph));
  seer_network *network;
  must(seer_network_build(context, graph, arena, &network));
  return network;
}

// How many constants are tied; *out_pack the last one's form.
static uint32_t count_ties(const seer_network *network, int64_t opt_level, seer_pack *out_pack) {
  seer_choice *choice;
  seer_choose_counts counts;
  must(seer_choose(context, network, NULL, opt_level, arena, &choice, &counts));
  seer_step_packs **ties;
  must(seer_choice_tables(context, network, choice, arena, &ties));
  uint32_t n = 0;
  for (uint32_t s = 0; s < network->n_step; s++) {
    if (ties[0][s].n == 0) continue;
    n += ties[0][s].n;
    *out_pack = ties[0][s].pack[0];
    const seer_step *step = &network->step[s];
    assert_string_equal(
        seer_graph_value(network->graph, step->value_of_buf[out_pack->source_buf])->name, "w");
  }
  return n;
}

static const char tied[] =
    "%t f32 = Transpose \"turn\" v13 ($w) {perm=[1,0]} %o f32 = MatMul \"head\" v13 (%z, %t)\n"
    "output %o }";

static void a_tied_head(void **state) {
  (void)state;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    be_on(test_target_names[m]);
    seer_pack pack = {0};
    seer_network *network = load(tied);
    for (int64_t level = 0; level < 2; level++) {
      assert_int_equal(count_ties(network, level, &pack), 1);
      const int64_t dim[2] = {20000, 32};
      assert_true(seer_pack_is_radix(&pack, dim, 2));
    }
    assert_true(pack.n > 2);  // tiles, not just turned
    must(seer_context_set(context, "share-weights", "0"));
    assert_int_equal(count_ties(network, 1, &pack), 0);
    must(seer_context_set(context, "share-weights", "0.2"));
  }
}

static void somebody_needs_it_as_it_lies(void **state) {
  (void)state;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    be_on(test_target_names[m]);
    seer_pack pack;
    assert_int_equal(count_ties(load("const $from i64[1] = [0] const $to i64[1] = [1]\n"
                                     "%t f32 = Transpose \"turn\" v13 ($w) {perm=[1,0]}\n"
                                     "%o f32 = MatMul \"head\" v13 (%z, %t)\n"
                                     "%x0 f32 = Slice \"first\" v13 (%z, $from, $to, $from)\n"
                                     "%all f32 = Mul \"all\" v13 (%x0, $w)\n"
                                     "output %o output %all }"),
                         1, &pack),
        0);
  }
}

static void nobody_packs_it(void **state) {
  (void)state;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    be_on(test_target_names[m]);
    seer_pack pack;
    assert_int_equal(count_ties(load("output %z }"), 1, &pack), 0);
  }
}

// All rows are gathered, and the product is with one of them: then the gather is the work.
static void too_dear(void **state) {
  (void)state;
  for (uint32_t m = 0; m < TEST_TARGETS; m++) {
    be_on(test_target_names[m]);
    seer_pack pack;
    assert_int_equal(count_ties(load("input %many i64[300000]\n"
                                     "%m f32 = Gather \"all\" v13 ($w, %many) {axis=0}\n"
                                     "%t f32 = Transpose \"turn\" v13 ($w) {perm=[1,0]}\n"
                                     "%o f32 = MatMul \"head\" v13 (%z, %t)\n"
                                     "output %o output %m }"),
                         1, &pack),
        0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tied_head),
      cmocka_unit_test(somebody_needs_it_as_it_lies),
      cmocka_unit_test(nobody_packs_it),
      cmocka_unit_test(too_dear),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
