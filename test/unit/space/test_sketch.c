// test_sketch.c - which sketches the rules give: signatures word for word, Ansor's counts, knob
// names; and that the DAGs that cache-write, rfactor and cache-read have rewritten compute what the
// canonical one does.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "space_nets.h"
#include "support/loop_check.h"
#include "support/random_dag.h"
#include "support/test.h"

static void expect_signatures(
    const char *net, seer_space_kind space, const char *const *expected, size_t n) {
  seer_arena *arena = seer_arena_create("test");
  seer_target target = space_target(4);
  seer_sketch_list *list =
      space_sketches(arena, space_parse(arena, space_net_text(net)), &target, space);
  for (size_t k = 0; k < n && k < list->n; k++)
    assert_string_equal(list->sketch[k]->signature, expected[k]);
  assert_int_equal(list->n, n);
  seer_arena_destroy(arena);
}
#define EXPECT(net, space, ...)                                       \
  do {                                                                \
    const char *const expected[] = {__VA_ARGS__};                     \
    expect_signatures(net, space, expected, SEER_COUNT_OF(expected)); \
  } while (0)

static void test_golden(void **state) {
  (void)state;
  EXPECT("gemm_relu", SEER_SPACE_FULL, "direct/simple(relu)/fuse@2(C)",
      "direct/simple(relu)/fuse@1(C)", "direct/simple(relu)/cacheread(A)/fuse@2(C)",
      "direct/simple(relu)/tile(C)", "direct/simple(relu)/cacheread(A)/fuse@1(C)",
      "direct/simple(relu)/cacheread(A)/tile(C)");
  EXPECT("conv", SEER_SPACE_FULL, "direct/simple(relu)/inline(bias)/fuse@2(conv)/simple(pad)",
      "direct/simple(relu)/inline(bias)/fuse@1(conv)/simple(pad)",
      "direct/simple(relu)/inline(bias)/tile(conv)/simple(pad)",
      "winograd4/simple(relu)/inline(bias)/inline(conv)/tile(wm)/transform(wv)",
      "winograd4/simple(relu)/inline(bias)/inline(conv)/block(wm)/transform(wv)",
      "winograd2/simple(relu)/inline(bias)/inline(conv)/tile(wm)/transform(wv)",
      "winograd2/simple(relu)/inline(bias)/inline(conv)/block(wm)/transform(wv)");
  EXPECT("depthwise", SEER_SPACE_FULL, "direct/simple(act)/fuse@2(dw)/simple(pad)",
      "direct/simple(act)/fuse@1(dw)/simple(pad)", "direct/simple(act)/tile(dw)/simple(pad)");
  EXPECT("pool", SEER_SPACE_FULL, "direct/simple(max)");
  EXPECT("softmax_rows", SEER_SPACE_FULL, "direct/simple(out)/lanes(sm)/simple(ex)/lanes(mx)",
      "direct/simple(out)/lanes(sm)/simple(ex)/simple(mx)",
      "direct/simple(out)/simple(sm)/simple(ex)/lanes(mx)",
      "direct/simple(out)/simple(sm)/simple(ex)/simple(mx)");
  EXPECT("mean", SEER_SPACE_FULL, "direct/simple(mean)/simple(sum)",
      "direct/simple(mean)/chunks(sum)");  // threads that keep the rows that they wrote
  EXPECT("mean", SEER_SPACE_ANSOR, "direct/simple(mean)/simple(sum)",
      "direct/simple(mean)/rfactor@inner(sum)", "direct/simple(mean)/rfactor@outer(sum)");
  EXPECT("row_mean", SEER_SPACE_ANSOR, "direct/simple(mean)/rfactor@inner(sum)",
      "direct/simple(mean)/simple(sum)", "direct/simple(mean)/rfactor@outer(sum)");
  EXPECT("row_mean", SEER_SPACE_FULL, "direct/simple(mean)/lanes(sum)",
      "direct/simple(mean)/simple(sum)");
  EXPECT("channels_first", SEER_SPACE_FULL, "direct/turn(act)/inline(turned)",
      "direct/simple(act)/inline(turned)");
  EXPECT("channels_first", SEER_SPACE_ANSOR, "direct/simple(act)/simple(turned)");
  EXPECT("bn_relu_conv", SEER_SPACE_FULL, "direct/tile(conv)/simple(act)/inline(scale)",
      "direct/cachewrite(conv)/fuse@2(conv)/simple(act)/inline(scale)",
      "direct/cachewrite(conv)/fuse@1(conv)/simple(act)/inline(scale)");
  EXPECT("bn_relu_conv", SEER_SPACE_ANSOR, "direct/tile(conv)/inline(act)/inline(scale)",
      "direct/cachewrite(conv)/fuse@2(conv)/inline(act)/inline(scale)",
      "direct/cachewrite(conv)/fuse@1(conv)/inline(act)/inline(scale)");
}

static uint32_t count(const char *net, seer_space_kind space) {
  seer_arena *arena = seer_arena_create("test");
  seer_target target = space_target(4);
  uint32_t n = space_sketches(arena, space_parse(arena, space_net_text(net)), &target, space)->n;
  seer_arena_destroy(arena);
  return n;
}

// The counts that Ansor's own tests state, with 4 cores. Winograd is not a DAG that we get (it is a
// formulation of ours). The matmul of 8x8x512: Ansor's two rfactor sketches and three of tiling, as
// here.
static void test_ansor_counts(void **state) {
  (void)state;
  assert_int_equal(count("matmul", SEER_SPACE_ANSOR), 3);
  assert_int_equal(count("matmul_8_8_512", SEER_SPACE_ANSOR), 5);
  assert_int_equal(count("chained_matmul", SEER_SPACE_ANSOR), 9);
  assert_int_equal(count("conv_nchw", SEER_SPACE_ANSOR), 3);
  assert_int_equal(count("pool", SEER_SPACE_ANSOR), 1);
  assert_int_equal(count("min_rows", SEER_SPACE_ANSOR), 3);
  assert_int_equal(count("softmax", SEER_SPACE_ANSOR), 9);
  assert_int_equal(count("scalar_sum", SEER_SPACE_ANSOR), 3);
}

static bool has_rule(const char *net, const char *rule) {
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, net);
  bool found = false;
  for (uint32_t k = 0; k < list->n; k++) found |= strstr(list->sketch[k]->signature, rule) != NULL;
  seer_arena_destroy(arena);
  return found;
}

static void test_rules_beyond_ansor(void **state) {
  (void)state;
  assert_true(has_rule("depthwise_pointwise", "block(dw)"));
  assert_true(has_rule("attention", "cacheread(k)"));  // K is read transposed
  assert_false(has_rule("attention", "cacheread(q)"));
  assert_true(has_rule("attention", "block(s)"));
  assert_true(has_rule("gemm_relu", "cacheread(A)"));  // rows 3 KiB apart
  assert_false(has_rule("gemm_relu", "cacheread(B)"));  // weights are packed when compiling
  assert_true(has_rule("scalar_sum", "chunks(C)"));
  assert_true(has_rule("scalar_sum", "chunks+lanes(C)"));  // each thread its own rows, as vectors
}

static void test_knob_names(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
  static const char *const expected[] = {"pad.x.1", "pad.c.1", "conv.y.1", "conv.x.1", "conv.oc.1",
      "conv.y.2", "conv.x.2", "conv.oc.2", "conv.y.3", "conv.x.3", "conv.oc.3", "conv.ky.1",
      "conv.kx.1", "conv.ic.1", "pad.at", "pad.parallel", "conv.unroll", "conv.parallel"};
  const seer_sketch *fused = list->sketch[0], *plain = list->sketch[2];
  assert_int_equal(fused->n_knob, SEER_COUNT_OF(expected));
  for (uint32_t k = 0; k < fused->n_knob; k++) {
    assert_string_equal(fused->knob[k].name, expected[k]);
    // Every knob of the fused sketch has its like in the unfused one: schedules carry over.
    bool found = false;
    for (uint32_t j = 0; j < plain->n_knob; j++)
      found |= strcmp(plain->knob[j].name, expected[k]) == 0;
    assert_true(found);
  }
  seer_arena_destroy(arena);
}

static void test_names_are_unique(void **state) {
  (void)state;
  seer_target target = space_target(2);
  for (size_t i = 0; i < space_nets_count; i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_sketch_list *list =
        space_sketches(arena, space_parse(arena, space_nets[i].text), &target, SEER_SPACE_FULL);
    for (uint32_t k = 0; k < list->n; k++) {
      for (uint32_t other = 0; other < k; other++) {
        assert_string_not_equal(list->sketch[k]->signature, list->sketch[other]->signature);
      }
      const seer_sketch *s = list->sketch[k];
      for (uint32_t a = 0; a < s->n_knob; a++) {
        for (uint32_t b = 0; b < a; b++) assert_string_not_equal(s->knob[a].name, s->knob[b].name);
      }
    }
    seer_arena_destroy(arena);
  }
}

// What a canonical DAG is given, and the interpreter of what it gives.
typedef struct {
  const seer_dag *dag;
  void *data[SEER_DAG_MAX_BUFFERS];
  seer_dag_eval *eval;
  seer_rng rng;
} canonical;

// The place in memory of `index` in buffer `from` as an index of `to`, which may have several of
// its dimensions in one.
static void same_place(const seer_dag_buf *from, const int64_t *index, const seer_dag_buf *to,
    int64_t out[SEER_MAX_RANK]) {
  int64_t offset = 0;
  for (uint32_t d = 0; d < from->rank; d++)
    offset = offset * (d + 1u == from->rank ? from->pitch : from->dim[d]) + index[d];
  for (uint32_t d = to->rank; d-- > 0;) {
    int64_t length = d + 1u == to->rank ? to->pitch : to->dim[d];
    out[d] = offset % length;
    offset /= length;
  }
}

// The DAG verifies and gives the canonical DAG's outputs, whose buffers keep their ids.
static void compare_dag(
    canonical *c, const seer_dag *dag, const char *signature, seer_arena *arena) {
  seer_status status = seer_dag_verify(dag);
  if (status) fail_msg("%s: %s", signature, seer_status_message(status));
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t b = 0; b < c->dag->n_buf; b++) {
    assert_string_equal(dag->buf[b].name, c->dag->buf[b].name);
    if (c->data[b]) seer_dag_eval_set_input(eval, b, c->data[b]);
  }
  for (uint32_t b = 0; b < c->dag->n_buf; b++) {
    const seer_dag_buf *buf = &c->dag->buf[b];
    for (int probe = 0; probe < 20 && buf->is_output; probe++) {
      int64_t index[SEER_MAX_RANK];
      for (uint32_t d = 0; d < buf->rank; d++)
        index[d] = seer_rng_range(&c->rng, 0, buf->dim[d] - 1);
      int64_t there[SEER_MAX_RANK];
      same_place(buf, index, &dag->buf[b], there);
      double want = seer_dag_eval_at(c->eval, b, index), got = seer_dag_eval_at(eval, b, there);
      bool is_close = fabs(want - got) <= 1e-5 * fabs(want) || (isnan(want) && isnan(got));
      if (!is_close)
        fail_msg("%s: %s is %g, not %g\n%s", signature, buf->name, got, want,
            seer_dag_print(dag, arena));
    }
  }
}

// Of all sketches, of every variant: how many DAGs were not the canonical one.
static uint32_t compare_dags(const seer_sketch_list *list, seer_arena *arena, uint64_t seed) {
  canonical c = {.dag = list->dag, .eval = seer_dag_eval_create(list->dag, arena)};
  seer_rng_init(&c.rng, seed);
  for (uint32_t b = 0; b < c.dag->n_buf; b++) {
    if (c.dag->buf[b].kind == SEER_BUF_STAGE) continue;
    c.data[b] = random_dag_input(c.dag, b, &c.rng, arena);
    seer_dag_eval_set_input(c.eval, b, c.data[b]);
  }
  uint32_t n_rewritten = 0;
  for (uint32_t k = 0; k < list->n; k++) {
    const seer_sketch *sketch = list->sketch[k];
    for (uint32_t v = 0; v < sketch->n_variant && sketch->dag != c.dag; v++, n_rewritten++)
      compare_dag(&c, sketch->variant[v]->dag, sketch->signature, arena);
  }
  return n_rewritten;
}

// Several vectors of lanes come to one before its lanes come to a number: a chain of 8, not of 32.
static void test_lanes_in_two_steps(void **state) {
  (void)state;
  static const char text[] =
      "dag total {\n  input $A f32[3, 331]\n"
      "  stage C role anchor [m<3] sum[k<331] = $A[m, k]\n  output $C\n}\n";
  seer_arena *arena = seer_arena_create("test");
  seer_target target = space_target(2);
  seer_sketch_list *list =
      space_sketches(arena, space_parse(arena, text), &target, SEER_SPACE_FULL);
  const seer_dag *dag = list->sketch[0]->dag;
  uint32_t lanes = target.vector_bytes / 4;
  assert_string_equal(list->sketch[0]->signature, "direct/lanes(C)");
  assert_int_equal(dag->n_stage, 3);
  for (uint32_t s = 0; s < 2; s++) {
    assert_string_equal(dag->stage[s].name, s == 0 ? "C.part" : "C.lanes");
    assert_int_equal(dag->stage[s].axis[1].extent, s == 0 ? 4 * lanes : lanes);
  }
  assert_int_equal(dag->stage[1].axis[2].extent, 4);
  assert_int_equal(dag->stage[2].axis[1].extent, lanes);
  seer_arena_destroy(arena);
}

// Parts of reductions that do not divide them: what is beyond the end changes no least of positive
// numbers, no greatest of negative ones, and no product.
static void test_parts_of_all_combiners(void **state) {
  (void)state;
  static const char *const text[] = {
      "dag least {\n  input $A f32[3, 331]\n"
      "  stage C role anchor [m<3] min[k<331] = $A[m, k] * $A[m, k] + 1.0\n  output $C\n}\n",
      "dag squares {\n  input $A f32[3, 331]\n"
      "  stage C role anchor [m<3] min[k<331] = $A[m, k] * $A[m, k]\n  output $C\n}\n",
      "dag greatest {\n  input $A f32[3, 331]\n"
      "  stage C role anchor [m<3] max[k<331] = $A[m, k] - 100.0\n  output $C\n}\n",
      "dag product {\n  input $A f32[3, 331]\n"
      "  stage C role anchor [m<3] prod[k<331] = $A[m, k] * 0.01 + 1.0\n  output $C\n}\n",
      "dag total {\n  input $A f32[3, 331]\n"
      "  stage C role anchor [m<3] sum[k<331] = $A[m, k] + 1.0\n  output $C\n}\n"};
  seer_target target = space_target(2);
  for (size_t i = 0; i < SEER_COUNT_OF(text); i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = space_parse(arena, text[i]);
    uint32_t n = compare_dags(space_sketches(arena, dag, &target, SEER_SPACE_FULL), arena, i);
    assert_true(n > 0);
    seer_arena_destroy(arena);
  }
}

static void test_rewritten_dags_are_equal(void **state) {
  (void)state;
  static const char *const nets[] = {"row_mean", "min_rows", "scalar_sum", "matmul_8_8_512",
      "depthwise_pointwise", "attention", "primes", "softmax_rows"};
  seer_target target = space_target(2);
  uint32_t n_rewritten = 0;
  for (size_t i = 0; i < SEER_COUNT_OF(nets); i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = space_parse(arena, space_net_text(nets[i]));
    n_rewritten += compare_dags(space_sketches(arena, dag, &target, SEER_SPACE_FULL), arena, i);
    seer_arena_destroy(arena);
  }
  assert_true(n_rewritten > 50);
  n_rewritten = 0;
  for (uint64_t seed = 0; seed < 100; seed++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = random_dag_of(seed, arena);
    n_rewritten += compare_dags(space_sketches(arena, dag, &target, SEER_SPACE_FULL), arena, seed);
    seer_arena_destroy(arena);
  }
  assert_true(n_rewritten > 50);
}

// A reduction over several axes is one over a fused one in two: for every length of the two, those
// that divide the axes' products, those that they divide, and others.
static void test_split_dags_are_equal(void **state) {
  (void)state;
  static const char *const text[] = {
      "dag total {\n  input $A f32[5, 12, 3, 20, 2]\n"
      "  stage C role anchor [m<3, n<2] sum[y<5, x<12, c<20] = $A[y, x, m, c, n]\n  output $C\n}\n",
      "dag window {\n  input $A f32[2, 9, 9, 8]\n"
      "  stage C role anchor [n<2, y<2, x<3] max[b<1, ky<4, kx<6, c<8] ="
      " $A[n, y * 5 + ky, x + kx, c] if y * 5 + ky < 9 else -1.0\n  output $C\n}\n",
      "dag places {\n  input $A f32[3, 14, 15]\n"
      "  stage C role anchor [m<3] argmax[y<14, x<15] = ($A[m, y, x], y * 15 + x)\n"
      "  output $C.1\n}\n"};
  seer_target target = space_target(4);
  for (size_t i = 0; i < SEER_COUNT_OF(text); i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = space_parse(arena, text[i]);
    uint32_t n = compare_dags(space_sketches(arena, dag, &target, SEER_SPACE_ANSOR), arena, i);
    print_message("%s: %u DAGs\n", dag->name, n);
    assert_true(n >= 20);
    seer_arena_destroy(arena);
  }
  for (uint64_t seed = 0; seed < 100; seed++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = random_dag_of(seed, arena);
    compare_dags(space_sketches(arena, dag, &target, SEER_SPACE_ANSOR), arena, seed);
    seer_arena_destroy(arena);
  }
}

// A product in parts over a GPU's grid, and the parts added up: any number of parts, a last one
// that is shorter, padding within the product, an axis among others, a reader that takes the sum
// in.
static void test_dags_in_parts_are_equal(void **state) {
  (void)state;
  static const char *const text[] = {
      "dag product {\n  input $A f32[5, 116]\n  weight $W f32[7, 116]\n"
      "  stage C role anchor [m<5, n<7] sum[k<116] = $A[m, k] * $W[n, k]\n"
      "  stage relu role epilogue [m<5, n<7] = max($C[m, n], 0.0)\n  output $relu\n}\n",
      "dag conv {\n  input $x f32[6, 5, 29]\n  weight $W f32[3, 3, 29, 4]\n"
      "  stage C role anchor [y<6, x<5, o:out_channel<4]"
      " sum[ky<3, kx<3, c:in_channel<29] ="
      " $W[ky, kx, c, o] * ($x[y + ky - 1, x + kx - 1, c]"
      " if (y + ky >= 1) & (y + ky < 7) & ((x + kx >= 1) & (x + kx < 6)) else 0.0)\n"
      "  output $C\n}\n",
      "dag more {\n  input $A f32[4, 48]\n  weight $W f32[48, 6]\n"
      "  stage C role anchor [m<4, n<6] sum[k<48] = $A[m, k] * $W[k, n] + 1.0\n  output $C\n}\n"};
  seer_arena *targets = seer_arena_create("targets");
  seer_target target;
  must(seer_target_parse("cuda:sm_80", targets, &target));
  for (size_t i = 0; i < SEER_COUNT_OF(text); i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = space_parse(arena, text[i]);
    uint32_t n = compare_dags(space_sketches(arena, dag, &target, SEER_SPACE_FULL), arena, i);
    print_message("%s: %u DAGs\n", dag->name, n);
    assert_true(n >= 3);
    seer_arena_destroy(arena);
  }
  for (uint64_t seed = 0; seed < 100; seed++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag = random_dag_of(seed, arena);
    compare_dags(space_sketches(arena, dag, &target, SEER_SPACE_FULL), arena, seed);
    seer_arena_destroy(arena);
  }
  seer_arena_destroy(targets);
}

// A transform in the manner of Winograd's: V[e] = sum over r of B[e, r] * x[.. + r], B an
// expression of the indices. Its index axes are unrolled into the tile; the loops compute what the
// DAG says, random schedules too.
static void test_transform(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test"), *scratch = seer_arena_create("scratch");
  seer_dag *dag = space_parse(arena,
      "dag transform {\n"
      "  input $x f32[18, 21]\n"
      "  weight $w f32[4, 21, 5]\n"
      "  stage v role transform_in [e<4, t:x<8, c:in_channel<21] sum[r<4] ="
      " select(r == e, 1.0, select((r + e == 2) & (e != 1), -1.0, 0.0)) * $x[t * 2 + r, c]\n"
      "  stage m role anchor [e<4, t:x<8, o:out_channel<5] sum[c:in_channel<21] = $v[e, t, c] * "
      "$w[e, c, o]\n"
      "  stage y role transform_out [t:x<8, p<2, o:out_channel<5] sum[e<4] ="
      " select(e == p, 1.0, select(e == p + 2, -1.0, 0.0)) * $m[e, t, o]\n"
      "  output $y\n"
      "}\n");
  seer_target target = space_target(2);
  seer_sketch_list *list = space_sketches(arena, dag, &target, SEER_SPACE_FULL);
  assert_string_equal(list->sketch[0]->signature, "direct/constindex(y)/tile(m)/constindex(v)");
  const seer_sketch_stage *v = &list->sketch[0]->stage[0];
  assert_int_equal(v->n_loop, 5);  // t c | r e c
  assert_int_equal(v->first_tile_loop, 2);
  bool has_block = false;
  loop_expect *expect = loop_expect_make(list, 1, arena);
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (uint32_t k = 0; k < list->n; k++) {
    has_block |= strstr(list->sketch[k]->signature, "block(m)") != NULL;
    for (uint64_t n = 0; n < 10; n++) {
      seer_schedule s;
      if (n == 0) {
        seer_schedule_default(list, k, &s);
      } else if (seer_schedule_sample(list, k, &rng, &s, NULL) != SEER_REJECT_NONE) {
        continue;
      }
      const char *wrong = loop_check(expect, &s, SEER_LOWER_FAULT_NONE, n, scratch, NULL);
      if (wrong) fail_msg("%s\n%s", wrong, seer_schedule_print(list, &s, arena));
      seer_arena_reset(scratch);
    }
  }
  assert_true(has_block);
  seer_arena_destroy(scratch);
  seer_arena_destroy(arena);
}

// 60 reductions in a row: far more knobs than a schedule has; there is a sketch all the same.
static void test_too_many_knobs(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_dag *dag = seer_dag_create(arena, "long");
  int64_t dim[3] = {8, 9, 5};
  uint32_t from = seer_dag_add_input(dag, "x", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, dim, 3, 0);
  for (int k = 0; k < 60; k++) {
    seer_dag_axis axis[4] = {{"a", 8, SEER_AXIS_OTHER}, {"b", 9, SEER_AXIS_OTHER},
        {"c", 5, SEER_AXIS_OTHER}, {"r", 5, SEER_AXIS_OTHER}};
    uint32_t stage = seer_dag_add_stage(dag, "s", SEER_STAGE_ANCHOR, axis, 3, 1);
    seer_expr index[3] = {
        seer_dag_var(dag, stage, 0), seer_dag_var(dag, stage, 1), seer_dag_var(dag, stage, 3)};
    seer_expr body = seer_dag_load(dag, from, index);
    from = seer_dag_set_body(dag, stage, SEER_COMBINE_MAX, &body, 1);
  }
  seer_dag_mark_output(dag, from, 0);
  seer_dag_finish(dag);
  seer_target target = space_target(2);
  seer_sketch_list *list = space_sketches(arena, dag, &target, SEER_SPACE_FULL);
  assert_int_equal(list->n, 1);
  assert_true(list->sketch[0]->n_knob <= SEER_SCHEDULE_MAX_KNOBS && list->sketch[0]->n_knob > 100);
  seer_schedule schedule;
  seer_schedule_default(list, 0, &schedule);
  assert_int_equal(seer_schedule_check(list, &schedule), SEER_REJECT_NONE);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden),
      cmocka_unit_test(test_ansor_counts),
      cmocka_unit_test(test_rules_beyond_ansor),
      cmocka_unit_test(test_knob_names),
      cmocka_unit_test(test_names_are_unique),
      cmocka_unit_test(test_rewritten_dags_are_equal),
      cmocka_unit_test(test_split_dags_are_equal),
      cmocka_unit_test(test_dags_in_parts_are_equal),
      cmocka_unit_test(test_lanes_in_two_steps),
      cmocka_unit_test(test_parts_of_all_combiners),
      cmocka_unit_test(test_transform),
      cmocka_unit_test(test_too_many_knobs),
  };
  return cmocka_run_group_tests_name("space/sketch", tests, NULL, NULL);
}
