// Groupings: which tasks fall together, for DAGs written by hand and for those of built-in
// networks; families are a partition that does not depend on the order of tasks; names are stable,
// because stored models are found by them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/family.h"
#include "learn_nets.h"
#include "models/models.h"
#include "support/test.h"
#include "support/test_target.h"

static const seer_family_desc *grouping(const char *name) {
  const seer_family_desc *desc;
  must(seer_family_find(name, &desc));
  return desc;
}

// As the front makes it.
static seer_task task_of(seer_arena *arena, const char *name, const char *dag_text) {
  seer_dag *dag = learn_parse(arena, dag_text);
  return (seer_task){.name = name,
      .dag = dag,
      .key = seer_dag_hash(dag),
      .anchor_class = seer_dag_anchor_class(dag, arena)};
}

static const char product[] =
    "dag %s {\n  input $a %s[%d, 64]\n  weight $b %s[64, 96]\n"
    "  stage c role anchor [m:m<%d, n:n<96] sum[k:k<64] = $a[m, k] * $b[k, n]\n";

enum {
  GEMM,
  GEMM_OTHER_SHAPE,
  GEMM_OTHER_NAMES,
  GEMM_F64,
  GEMM_CLIP_6,
  GEMM_CLIP_7,
  CONV,
  DEPTHWISE,
  POOL,
  SOFTMAX,
  ADD,
  COPY,
  N_HAND
};

static const char *net(const char *name) {
  for (size_t i = 0; i < learn_nets_count; i++) {
    if (strcmp(learn_nets[i].name, name) == 0) return learn_nets[i].text;
  }
  fail_msg("no net %s", name);
  return NULL;
}

static void make_tasks(seer_arena *arena, seer_task out[N_HAND]) {
  const char *text[N_HAND];
  static const char clip[] =
      "%s  stage d role epilogue [m:m<30, n:n<96] = max(min($c[m, n], %d.0), 0.0)\n  output "
      "$d\n}\n";
  const char *plain = seer_arena_printf(arena, product, "one", "f32", 30, "f32", 30);
  text[GEMM] = seer_arena_printf(arena, "%s  output $c\n}\n", plain);
  text[GEMM_OTHER_SHAPE] = seer_arena_printf(
      arena, "%s  output $c\n}\n", seer_arena_printf(arena, product, "one", "f32", 17, "f32", 17));
  text[GEMM_OTHER_NAMES] =
      "dag other {\n  weight $w f32[64, 96]\n  input $x f32[30, 64]\n"
      "  stage y role anchor [i:m<30, j:n<96] sum[r:k<64] = $x[i, r] * $w[r, j]\n"
      "  output $y\n}\n";
  text[GEMM_F64] = seer_arena_printf(
      arena, "%s  output $c\n}\n", seer_arena_printf(arena, product, "one", "f64", 30, "f64", 30));
  text[GEMM_CLIP_6] = seer_arena_printf(arena, clip, plain, 6);
  text[GEMM_CLIP_7] = seer_arena_printf(arena, clip, plain, 7);
  text[CONV] = net("conv");
  text[DEPTHWISE] = net("depthwise");
  text[POOL] = net("pool");
  text[SOFTMAX] = net("softmax");
  text[ADD] = net("add");
  text[COPY] =
      "dag copy {\n  input $x f32[8, 16]\n"
      "  stage t role anchor [i<16, j<8] = $x[j, i]\n  output $t\n}\n";
  static const struct {
    const char *ops;
    uint32_t n_op;
  } fused[N_HAND] = {{"Gemm", 1}, {"Gemm", 1}, {"MatMul", 1}, {"MatMul", 1}, {"Gemm Clip", 2},
      {"Gemm Clip", 2}, {"Conv", 1}, {"Conv", 1}, {"MaxPool", 1}, {"Softmax", 1}, {"Add", 1},
      {"Transpose", 1}};
  for (uint32_t t = 0; t < N_HAND; t++) {
    out[t] = task_of(arena, "hand", text[t]);
    out[t].ops = fused[t].ops;
    out[t].n_op = fused[t].n_op;
  }
}

// Families by task, in the order of the enumeration.
static const struct {
  const char *grouping;
  uint32_t family[N_HAND];
  const char *name[N_HAND];  // by family; NULL: not asked
} expected[] = {
    // The epilogue does not matter, the type does.
    {"anchor-op", {0, 0, 0, 1, 0, 0, 2, 3, 4, 5, 6, 7},
        {"contraction.f32", "contraction.f64", "conv.f32", "depthwise.f32", "window.f32",
            "row-reduction.f32", "elementwise.f32", "movement.f32"}},
    // Depthwise ones are convolutions, a softmax is not the sums that it is made of.
    {"artifact-op", {0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5},
        {"nn.dense", "nn.conv2d", "nn.max", "nn.softmax", "add", "transpose"}},
    // Neither shapes, names nor bounds of a clip matter; operators and types do.
    {"op-sequence", {0, 0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8}, {NULL}},
    // Operators of the graph: padding is part of one, and so are the four stages of a softmax.
    {"op-count", {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}, {"1 operators", "2 operators"}},
    // A task is its operators and its shapes: what the front tells apart.
    {"single", {0, 1, 0, 2, 3, 3, 4, 5, 6, 7, 8, 9}, {NULL}},
    {"all", {0}, {"all"}},
};

static void tasks_that_fall_together(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_task tasks[N_HAND];
  make_tasks(arena, tasks);
  assert_int_equal(SEER_COUNT_OF(expected), seer_family_table_count);
  for (size_t g = 0; g < SEER_COUNT_OF(expected); g++) {
    assert_string_equal(seer_family_table[g]->name, expected[g].grouping);
    seer_families families;
    seer_families_build(seer_family_table[g], tasks, N_HAND, arena, &families);
    uint32_t n = 0;
    for (uint32_t t = 0; t < N_HAND; t++) {
      uint32_t want = expected[g].family[t];
      if (families.family_of[t] != want)
        fail_msg("%s: task %u is in family %u, not %u", expected[g].grouping, t,
            families.family_of[t], want);
      n = want + 1 > n ? want + 1 : n;
    }
    assert_int_equal(families.n_family, n);
    for (uint32_t f = 0; f < n && expected[g].name[f]; f++)
      assert_string_equal(families.name[f], expected[g].name[f]);
  }
  seer_arena_destroy(arena);
}

// A key is a function of the task alone, and says the same of the same task in another place, and
// of its text parsed again.
static void keys_are_stable(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test"), *other = seer_arena_create("other");
  seer_task tasks[N_HAND], again[N_HAND];
  make_tasks(arena, tasks);
  make_tasks(other, again);
  for (size_t g = 0; g < seer_family_table_count; g++) {
    const seer_family_desc *desc = seer_family_table[g];
    for (uint32_t t = 0; t < N_HAND; t++) {
      again[t].id = 100 + t;
      again[t].weight = 3;
      again[t].ops = seer_arena_printf(other, "%s Round", tasks[t].ops);  // of other subgraphs
      assert_string_equal(desc->key(&tasks[t], arena), desc->key(&again[t], other));
    }
  }
  // A task of its own is told apart by its shape where names are equal, and by its name.
  const seer_family_desc *single = grouping("single");
  const char *key = single->key(&tasks[GEMM], arena);
  assert_ptr_equal(strstr(key, "hand #"), key);
  assert_string_not_equal(key, single->key(&tasks[GEMM_OTHER_SHAPE], arena));
  tasks[GEMM].name = "product";
  assert_string_not_equal(key, single->key(&tasks[GEMM], arena));
  seer_arena_destroy(arena);
  seer_arena_destroy(other);
}

// Each task is in exactly one family, none is empty, they are numbered as they are first seen, and
// two tasks are in one where their keys are equal.
static void check_partition(const seer_family_desc *desc, const seer_task *tasks, uint32_t n_task,
    const seer_families *families, seer_arena *arena) {
  uint32_t n = 0;
  for (uint32_t t = 0; t < n_task; t++) {
    uint32_t f = families->family_of[t];
    const char *key = desc->key(&tasks[t], arena);
    assert_in_range(f, 0, n);  // no number is left out
    n += f == n;
    assert_string_equal(families->name[f], key);
    for (uint32_t u = 0; u < t; u++) {
      bool is_equal = strcmp(key, desc->key(&tasks[u], arena)) == 0;
      assert_int_equal(families->family_of[u] == f, is_equal);
    }
  }
  assert_int_equal(families->n_family, n);
}

// The same tasks from the last to the first: other numbers, the same families.
static void check_order(const seer_family_desc *desc, const seer_task *tasks, uint32_t n_task,
    const seer_families *families, seer_arena *arena) {
  seer_task *reversed = SEER_NEW_ARRAY(arena, seer_task, n_task);
  for (uint32_t t = 0; t < n_task; t++) reversed[t] = tasks[n_task - 1 - t];
  seer_families other;
  seer_families_build(desc, reversed, n_task, arena, &other);
  assert_int_equal(other.n_family, families->n_family);
  for (uint32_t t = 0; t < n_task; t++)
    assert_string_equal(
        families->name[families->family_of[t]], other.name[other.family_of[n_task - 1 - t]]);
}

// Every family of `fine` is within one of `coarse`.
static void check_refines(const seer_families *fine, const seer_families *coarse, uint32_t n_task) {
  for (uint32_t t = 0; t < n_task; t++) {
    for (uint32_t u = 0; u < t; u++) {
      if (fine->family_of[t] == fine->family_of[u])
        assert_int_equal(coarse->family_of[t], coarse->family_of[u]);
    }
  }
}

static seer_status outline(const char *name, const char *options, const seer_graph *like,
    seer_arena *arena, seer_graph **out_graph) {
  (void)like;
  return seer_model_outline(name, options, arena, out_graph);
}

enum { ANCHOR_OP, ARTIFACT_OP, OP_SEQUENCE, OP_COUNT, SINGLE, ALL, N_GROUPING };

static void check_network(const char *name, const char *const *classes, uint32_t n_class) {
  seer_arena *arena = seer_arena_create("test");
  seer_context *context;
  seer_network *network;
  must(seer_context_create(&context));
  must(seer_context_set(context, "target", test_target_text("laptop", arena)));
  must(seer_context_find_target(context));
  must(seer_front_load(context, name, outline, arena, &network));
  seer_families families[N_GROUPING];
  for (size_t g = 0; g < N_GROUPING; g++) {
    const seer_family_desc *desc = seer_family_table[g];
    seer_families_build(desc, network->task, network->n_task, arena, &families[g]);
    check_partition(desc, network->task, network->n_task, &families[g], arena);
    check_order(desc, network->task, network->n_task, &families[g], arena);
  }
  for (size_t g = 0; g < N_GROUPING; g++) {
    check_refines(&families[SINGLE], &families[g], network->n_task);
    check_refines(&families[g], &families[ALL], network->n_task);
  }
  check_refines(&families[OP_SEQUENCE], &families[OP_COUNT], network->n_task);
  assert_int_equal(families[SINGLE].n_family, network->n_task);
  assert_int_equal(families[ALL].n_family, 1);
  assert_true(families[OP_SEQUENCE].n_family < network->n_task);
  assert_int_equal(families[ANCHOR_OP].n_family, n_class);
  for (uint32_t f = 0; f < n_class; f++)
    assert_string_equal(families[ANCHOR_OP].name[f], classes[f]);
  if (getenv("SHOW")) {
    for (uint32_t t = 0; t < network->n_task; t++)
      printf("%s: %s, %s, %s\n", network->task[t].name,
          families[ARTIFACT_OP].name[families[ARTIFACT_OP].family_of[t]],
          families[OP_COUNT].name[families[OP_COUNT].family_of[t]], network->task[t].ops);
  }
  seer_graph_close(network->graph);
  seer_context_destroy(context);
  seer_arena_destroy(arena);
}

static void families_of_networks(void **state) {
  (void)state;
  static const char *const mobilenet[] = {
      "conv.f32", "depthwise.f32", "contraction.f32", "window.f32"};
  static const char *const resnet[] = {"conv.f32", "window.f32", "contraction.f32"};
  static const char *const bert[] = {
      "elementwise.f32", "contraction.f32", "row-reduction.f32", "movement.f32"};
  check_network("mobilenet_v2", mobilenet, SEER_COUNT_OF(mobilenet));
  check_network("resnet18", resnet, SEER_COUNT_OF(resnet));
  check_network("bert_base", bert, SEER_COUNT_OF(bert));
}

// A convolution, with the window's stride and dilation, of so many output channels.
static seer_task conv_of(seer_arena *arena, int stride, int dilation, int n_channel) {
  static const char text[] =
      "dag conv {\n  input $x f32[1, 40, 40, 16]\n  weight $w f32[%d, 3, 3, 16]\n"
      "  stage c role anchor [n:batch<1, y:y<10, x:x<10, oc:out_channel<%d] sum[ky:ky<3, kx:kx<3, "
      "ic:in_channel<16] = $x[n, %s + %s, %s + %s, ic] * $w[oc, ky, kx, ic]\n  output $c\n}\n";
  const char *at[4] = {"y", "ky", "x", "kx"};
  for (int k = 0; k < 4; k++) {
    int by = k % 2 ? dilation : stride;
    if (by > 1) at[k] = seer_arena_printf(arena, "%s * %d", at[k], by);
  }
  seer_task task = task_of(arena, "conv",
      seer_arena_printf(arena, text, n_channel, n_channel, at[0], at[1], at[2], at[3]));
  task.ops = "Conv Relu";
  return task;
}

// Shapes are ignored, strides and dilations are not: they are constants of the indices.
static void sequences_have_strides(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  static const int forms[][2] = {{1, 1}, {2, 1}, {3, 1}, {1, 2}, {2, 2}, {1, 3}};
  const seer_family_desc *desc = grouping("op-sequence");
  for (size_t i = 0; i < SEER_COUNT_OF(forms); i++) {
    seer_task a = conv_of(arena, forms[i][0], forms[i][1], 32);
    seer_task same = conv_of(arena, forms[i][0], forms[i][1], 48);
    assert_string_equal(desc->key(&a, arena), desc->key(&same, arena));
    for (size_t k = 0; k < i; k++) {
      seer_task b = conv_of(arena, forms[k][0], forms[k][1], 32);
      assert_string_not_equal(desc->key(&a, arena), desc->key(&b, arena));
    }
  }
  seer_arena_destroy(arena);
}

// Names as FamilySeer's code cuts them.
static void operators_of_the_artifact(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_family_desc *desc = grouping("artifact-op");
  static const struct {
    int stride, dilation, n_channel;
    const char *name;
  } convs[] = {{1, 1, 64, "nn.conv2d"}, {1, 1, 65, "nn.contrib"}, {1, 1, 511, "nn.contrib"},
      {1, 1, 512, "nn.conv2d"}, {2, 1, 128, "nn.conv2d"}, {1, 2, 128, "nn.conv2d"}};
  for (size_t i = 0; i < SEER_COUNT_OF(convs); i++) {
    seer_task task = conv_of(arena, convs[i].stride, convs[i].dilation, convs[i].n_channel);
    assert_string_equal(desc->key(&task, arena), convs[i].name);
  }
  // What comes first names the family, whatever else is in it.
  seer_task task = conv_of(arena, 1, 1, 128);
  static const char *const firsts[][2] = {{"Mul Conv", "multiply"}, {"Sub Conv Relu", "subtract"},
      {"ConvTranspose", "nn.conv2d"}, {"GlobalAveragePool", "nn.global"},
      {"GlobalMaxPool", "nn.global"}, {"Flatten", "nn.batch"}, {"Cast", "cast"},
      {"Reshape MatMul", "reshape"}, {"My_Op", "my"}, {"", ""}};
  for (size_t i = 0; i < SEER_COUNT_OF(firsts); i++) {
    task.ops = firsts[i][0];
    assert_string_equal(desc->key(&task, arena), firsts[i][1]);
  }
  // A product of two matrices for each of several heads, and of one matrix with rows of all.
  seer_task batch = task_of(arena, "batch",
      "dag b {\n  input $a f32[12, 8, 16]\n  input $b f32[12, 16, 24]\n"
      "  stage c role anchor [h:head<12, m:m<8, n:n<24] sum[k:k<16] = $a[h, m, k] * $b[h, k, n]\n"
      "  output $c\n}\n");
  seer_task rows = task_of(arena, "rows",
      "dag r {\n  input $a f32[12, 8, 16]\n  weight $b f32[16, 24]\n"
      "  stage c role anchor [h:head<12, m:m<8, n:n<24] sum[k:k<16] = $a[h, m, k] * $b[k, n]\n"
      "  output $c\n}\n");
  batch.ops = rows.ops = "MatMul";
  assert_string_equal(desc->key(&batch, arena), "nn.batch");
  assert_string_equal(desc->key(&rows, arena), "nn.dense");
  seer_arena_destroy(arena);
}

// The table's own names, those of the paper and of policies; what is none of them is refused with
// what there is.
static void groupings_by_name(void **state) {
  (void)state;
  static const char *const names[][2] = {{"anchor-op", "anchor-op"}, {"op", "anchor-op"},
      {"hash", "op-sequence"}, {"count", "op-count"}, {"size", "op-count"}, {"ind", "single"},
      {"none", "all"}, {"all", "all"}};
  for (size_t i = 0; i < SEER_COUNT_OF(names); i++)
    assert_string_equal(grouping(names[i][0])->name, names[i][1]);
  for (size_t g = 0; g < seer_family_table_count; g++)
    assert_ptr_equal(grouping(seer_family_table[g]->name), seer_family_table[g]);
  static const char *const others[] = {"", "anchor", "anchor-op ", "count size", "o"};
  for (size_t i = 0; i < SEER_COUNT_OF(others); i++) {
    const seer_family_desc *desc = NULL;
    seer_status status = seer_family_find(others[i], &desc);
    assert_non_null(status);
    assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
    for (size_t g = 0; g < seer_family_table_count; g++)
      assert_non_null(strstr(seer_status_message(status), seer_family_table[g]->name));
    seer_status_free(status);
    assert_null(desc);
  }
}

static void no_tasks_no_families(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  for (size_t g = 0; g < seer_family_table_count; g++) {
    seer_families families = {.n_family = 7};
    seer_families_build(seer_family_table[g], NULL, 0, arena, &families);
    assert_int_equal(families.n_family, 0);
  }
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tasks_that_fall_together),
      cmocka_unit_test(keys_are_stable), cmocka_unit_test(families_of_networks),
      cmocka_unit_test(sequences_have_strides), cmocka_unit_test(operators_of_the_artifact),
      cmocka_unit_test(groupings_by_name), cmocka_unit_test(no_tasks_no_families)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
