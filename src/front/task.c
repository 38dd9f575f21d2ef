// task.c - groups of nodes -> DAGs, tasks and steps.
// Each group is emitted, node by node, into one DAG; values that only the group knows become its
// stages. DAGs with equal (structure, shape) keys, in the same order, are one task, tuned once;
// each step has its own DAG, because literals may differ, and the values that its buffers stand
// for. Steps whose DAGs are the same in everything have one: an unrolled recurrence has thousands
// of them, at 50 KB each.
#include <ctype.h>
#include <string.h>

#include "base/map.h"
#include "base/near.h"
#include "front/fuse.h"
#include "front/op/util.h"
#include "front/order.h"
#include "front/pass/pass.h"

typedef struct {
  const seer_context *context;
  seer_graph *graph;
  seer_arena *arena, *scratch;
  seer_network *network;
  seer_map *task_of_number, *step_of_dag;  // in `scratch`; grow between two groups only
  size_t cap_task;
} builder;

// ---- readable names: "conv 3x3 s2 112x112x32->64 +relu"

static void put_dims(seer_text *text, const seer_value *value) {
  uint32_t first = value->rank > 1 && value->dim[0] == 1 ? 1 : 0;
  for (uint32_t k = first; k < value->rank; k++) {
    seer_text_printf(text, "%s%" PRId64, k > first ? "x" : "", value->dim[k]);
  }
}

static void put_lower(seer_text *text, const char *word) {
  for (; *word; word++) {
    char c = (char)tolower((unsigned char)*word);
    seer_text_put_n(text, &c, 1);
  }
}

static void put_anchor(seer_text *text, const seer_graph *graph, const seer_node *node) {
  if (node->op->label) {
    node->op->label(text, graph, node);
    return;
  }
  const seer_value *in = node->n_in && node->in[0].i ? seer_graph_value(graph, node->in[0]) : NULL;
  put_lower(text, node->op_type);
  const seer_attr *kernel = seer_node_attr_ints(node, "kernel_shape");
  if (kernel) seer_op_put_window(text, node, kernel->ints, kernel->n);
  seer_text_put(text, " ");
  if (in && in->rank > 2 && node->op->fuse == SEER_FUSE_REDUCTION && !in->constant)
    seer_op_put_spatial(text, in);
  else
    put_dims(text, seer_graph_value(graph, node->out[0]));
}

static const char *task_name(const seer_graph *graph, const seer_group *group, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (uint32_t k = 0; k < group->n; k++) {
    if (!group->is_prologue[k]) continue;
    put_lower(&text, graph->node[group->node[k]].op_type);
    seer_text_put(&text, "+ ");
  }
  put_anchor(&text, graph, &graph->node[group->anchor]);
  for (uint32_t k = 0; k < group->n; k++) {
    if (group->is_prologue[k] || group->node[k] == group->anchor) continue;
    seer_text_put(&text, " +");
    put_lower(&text, graph->node[group->node[k]].op_type);
  }
  return text.data;
}

// A name that the DAG's text form accepts.
static const char *dag_name(const seer_node *node, seer_arena *arena) {
  char *name = seer_arena_printf(arena, "%s", node->op_type);
  for (char *c = name; *c; c++) {
    *c = (char)tolower((unsigned char)*c);
    if (!isalnum((unsigned char)*c)) *c = '_';
  }
  if (!isalpha((unsigned char)name[0])) name[0] = 'n';
  return name;
}

// ---- emission

static uint64_t dag_number(const seer_dag_key *key) {
  return seer_hash_u64(key->content, seer_task_number(key, NULL, 0));
}

uint64_t seer_task_number(const seer_dag_key *key, const uint32_t *numbers, uint32_t n_buf) {
  uint64_t number = seer_hash_u64(key->structure, seer_hash_u64(key->shape, 0));
  for (uint32_t k = 0; k < n_buf; k++) number = seer_hash_u64(numbers[k], number);
  return number;
}

// The numbers of a DAG's buffers, by which those of DAGs with equal keys stand for each other.
typedef struct {
  uint32_t n, of[SEER_DAG_MAX_BUFFERS];
} numbers;

static numbers numbers_of(const seer_dag *dag) {
  numbers n = {.n = dag->n_buf};
  seer_dag_numbers(dag, n.of);
  return n;
}

static bool is_same_order(const numbers *a, const numbers *b) {
  return a->n == b->n && memcmp(a->of, b->of, a->n * sizeof a->of[0]) == 0;
}

// Which buffer of the step's DAG stands for buffer `k` of what was emitted; UINT32_MAX: none, as
// nothing reads it.
static uint32_t place_of(const numbers *emitted, const numbers *own, uint32_t k) {
  if (is_same_order(emitted, own)) return k;
  if (emitted->of[k] == 0) return UINT32_MAX;
  for (uint32_t b = 0; b < own->n; b++)
    if (own->of[b] == emitted->of[k]) return b;
  SEER_ASSERT(false, "buffer %u of %u has no number %u in a DAG of the same key", k, own->n,
      emitted->of[k]);
  return 0;
}

// The graph values that the DAG's inputs and outputs stand for. Only the group's operands can be.
static void bind_values(const builder *b, const seer_group *group, const seer_emit *emit,
    const numbers *emitted, const numbers *own, seer_step *step) {
  const seer_dag *dag = step->dag;
  step->value_of_buf = SEER_NEW_ARRAY(b->arena, seer_val, dag->n_buf);
  for (uint32_t k = 0; k < group->n; k++) {
    const seer_node *node = &b->graph->node[group->node[k]];
    for (uint32_t i = 0; i < node->n_in + node->n_out; i++) {
      seer_val v = i < node->n_in ? node->in[i] : node->out[i - node->n_in];
      uint32_t buf = emit->buf_of_value[v.i];
      if (v.i == 0 || buf == 0) continue;
      uint32_t at = place_of(emitted, own, buf - 1);
      if (at == UINT32_MAX) continue;
      bool is_bound = dag->buf[at].kind != SEER_BUF_STAGE || dag->buf[at].is_output;
      if (is_bound) step->value_of_buf[at] = v;
    }
  }
}

// The DAG of an earlier step that is like this one, or is the same in another order: kernels, which
// know buffers by their places in a DAG, are shared by content. NULL: this is the first. In
// io_order: the numbers of `dag`, then of what is returned.
static const seer_dag *find_like(
    const builder *b, const seer_dag *dag, const seer_dag_key *key, numbers *io_order) {
  uint64_t step;
  if (!seer_map_get(b->step_of_dag, dag_number(key), &step)) return NULL;
  const seer_dag *earlier = b->network->step[step].dag;
  const numbers of = numbers_of(earlier);
  if (is_same_order(io_order, &of) && !seer_dag_is_like(dag, earlier)) return NULL;
  *io_order = of;
  return earlier;
}

// *out_order: the numbers of the step's DAG.
static seer_status emit_group(builder *b, const seer_group *group, seer_step *step,
    seer_dag_key *out_key, numbers *out_order) {
  const seer_graph *graph = b->graph;
  seer_arena_mark before = seer_arena_save(b->arena);
  seer_dag *dag = seer_dag_create(b->arena, dag_name(&graph->node[group->anchor], b->arena));
  seer_emit emit;
  // The table of buffers is as long as the graph has values: not one for each group.
  seer_arena_mark mark = seer_arena_save(b->scratch);
  seer_emit_init(&emit, graph, dag, b->scratch);
  emit.arena = b->arena;
  for (uint32_t k = 0; k < group->n; k++) {
    const seer_node *node = &graph->node[group->node[k]];
    emit.default_role = group->is_prologue[k] ? SEER_STAGE_PROLOGUE : SEER_STAGE_EPILOGUE;
    SEER_TRYF(seer_emit_node(&emit, node), "node '%s' (%s)", node->name, node->op_type);
  }
  // Outputs: what others read. Inputs are the values that were loaded and not made here.
  const seer_node *last = &graph->node[group->node[group->n - 1]];
  for (uint32_t k = 0; k < last->n_out; k++) {
    uint32_t v = last->out[k].i;
    if (v == 0) continue;
    if (emit.buf_of_value[v] == 0) {
      return SEER_FAIL(
          INTERNAL, "node '%s' (%s): output %u was not emitted", last->name, last->op_type, k);
    }
    seer_emit_output(&emit, last->out[k], graph->value[v].pitch);
  }
  seer_dag_finish(dag);
  SEER_TRY(seer_dag_verify(dag));
  *out_key = seer_dag_hash(dag);
  step->content = out_key->content;
  const numbers emitted = numbers_of(dag);
  *out_order = emitted;
  step->dag = find_like(b, dag, out_key, out_order);
  if (step->dag)
    seer_arena_rewind(b->arena, before);
  else
    step->dag = dag;
  bind_values(b, group, &emit, &emitted, out_order, step);
  seer_arena_rewind(b->scratch, mark);
  return SEER_OK;
}

static void add_ops(const builder *b, const seer_group *group, seer_task *task) {
  for (uint32_t k = 0; k < group->n; k++)
    task->ops = seer_task_join_ops(task->ops, b->graph->node[group->node[k]].op_type, b->arena);
}

static void find_task(builder *b, const seer_group *group, const seer_dag_key *key,
    const numbers *order, seer_step *step) {
  seer_network *network = b->network;
  uint64_t number = seer_task_number(key, order->of, order->n), id;
  if (!seer_map_get(b->task_of_number, number, &id)) {
    network->task = SEER_GROW(b->arena, seer_task, network->task, network->n_task, &b->cap_task);
    id = network->n_task++;
    seer_map_set(b->task_of_number, number, id);
    network->task[id] = (seer_task){.id = (uint32_t)id,
        .name = task_name(b->graph, group, b->arena),
        .dag = step->dag,
        .key = *key,
        .number = number,
        .flops = seer_dag_flops(step->dag),
        .anchor_class = seer_dag_anchor_class(step->dag, b->arena),
        .ops = "",
        .n_op = group->n};
  }
  add_ops(b, group, &network->task[id]);
  network->task[id].weight++;
  step->task = (uint32_t)id;
}

static void add_view(builder *b, const seer_node *node, seer_val in, seer_val out) {
  b->network->step[b->network->n_step++] =
      (seer_step){.kind = SEER_STEP_VIEW, .name = node->name, .view_in = in, .view_out = out};
}

// A step for each part: they are made at different times.
static void add_views(builder *b, const seer_node *node) {
  for (uint32_t k = 0; k < (node->op->joins_parts ? node->n_in : 1); k++)
    for (uint32_t i = 0; i < node->n_out; i++)
      if (node->out[i].i) add_view(b, node, node->in[k], node->out[i]);
}

static size_t count_steps(const seer_graph *graph, const seer_group *groups, size_t n_group) {
  size_t n = 0;
  for (size_t g = 0; g < n_group; g++) {
    const seer_node *node = &graph->node[groups[g].anchor];
    n += groups[g].kind == SEER_STEP_VIEW ? (size_t)node->n_in + node->n_out : 1;
  }
  return n;
}

static seer_status build_steps(builder *b, const seer_group *groups, size_t n_group) {
  for (size_t g = 0; g < n_group; g++) {
    const seer_group *group = &groups[g];
    const seer_node *anchor = &b->graph->node[group->anchor];
    if (group->kind == SEER_STEP_VIEW) {
      add_views(b, anchor);
      continue;
    }
    seer_step *step = &b->network->step[b->network->n_step];
    *step = (seer_step){.kind = group->kind, .name = anchor->name};
    if (!seer_step_has_task(step)) {
      step->node = (seer_node_id){group->anchor};
    } else {
      seer_dag_key key = {0};
      numbers order = {0};
      SEER_TRYF(emit_group(b, group, step, &key, &order), "building the task of node '%s' (%s)",
          anchor->name, anchor->op_type);
      find_task(b, group, &key, &order, step);
      uint64_t number = dag_number(&key), first;
      if (!seer_map_get(b->step_of_dag, number, &first))
        seer_map_set(b->step_of_dag, number, b->network->n_step);
    }
    b->network->n_step++;
  }
  return SEER_OK;
}

seer_status seer_network_build(
    const seer_context *context, seer_graph *graph, seer_arena *arena, seer_network **out_network) {
  *out_network = NULL;
  builder b = {.context = context, .graph = graph, .arena = arena};
  b.scratch = seer_arena_create("network");
  seer_group *groups;
  size_t n_group;
  seer_status status = seer_fuse(context, graph, b.scratch, &groups, &n_group);
  if (!status) {
    b.task_of_number = seer_map_create(b.scratch);
    b.step_of_dag = seer_map_create(b.scratch);
    b.network = SEER_NEW(arena, seer_network);
    b.network->graph = graph;
    b.network->notice = "";
    b.network->shapes = "";
    b.network->step = SEER_NEW_ARRAY(arena, seer_step, count_steps(graph, groups, n_group));
    status = build_steps(&b, groups, n_group);
    if (!status) status = seer_order_steps(b.network, b.scratch);
    if (!status) status = seer_network_verify(b.network);
    b.network->n_set = 1;
    b.network->set = SEER_NEW(arena, seer_network *);
    b.network->set[0] = b.network;
  }
  seer_arena_destroy(b.scratch);
  if (!status) *out_network = b.network;
  return status;
}

const char *seer_task_join_ops(const char *ops, const char *more, seer_arena *arena) {
  const char *op;
  for (size_t n; (op = seer_words_next(&more, &n));) {
    const char *name = seer_arena_strndup(arena, op, n);
    if (!seer_words_have(ops, name))
      ops = seer_arena_printf(arena, "%s%s%s", ops, ops[0] ? " " : "", name);
  }
  return ops;
}

const char *seer_network_notice(const seer_network *network, uint32_t set) {
  const char *notice = network->set[set]->notice;
  for (uint32_t k = 0; k < set; k++)
    if (strcmp(notice, network->set[k]->notice) == 0) return "";
  return notice;
}

double seer_network_flops(const seer_network *network) {
  double total = 0;
  for (uint32_t k = 0; k < network->n_task; k++)
    total += network->task[k].flops * network->task[k].weight;
  return total;
}
