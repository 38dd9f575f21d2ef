// network.c - what the steps of a network read and make, and whether they can be run as they stand.
// The verifier goes through bodies and sides by the lengths that the steps say, as code/artefact
// does. Each body and each side is a scope: what is made in it can be read there, in what it holds,
// and by what closes it, which is the loop's end, or the branch whose side it is. So a length that
// is wrong is found even where all still lies whole within each other: a side that is too long has
// a step whose result is read outside, one that is too short lacks what the branch takes from it.
#include <string.h>

#include "front/images.h"
#include "runtime/plan.h"

const seer_node *seer_step_node(const seer_graph *graph, const seer_step *step) {
  switch (step->kind) {
    case SEER_STEP_KERNEL:
    case SEER_STEP_VIEW:
    case SEER_STEP_COPY:
      return NULL;
    case SEER_STEP_HOST:
    case SEER_STEP_LOOP_BEGIN:
    case SEER_STEP_LOOP_END:
    case SEER_STEP_BRANCH:
      return seer_graph_node(graph, step->node);
  }
  return NULL;
}

uint32_t seer_step_n_images(const seer_network *network, const seer_step *step) {
  return step->stretch ? network->stretch[step->stretch - 1].n_images : 1;
}

bool seer_step_has_task(const seer_step *step) {
  return step->kind == SEER_STEP_KERNEL || step->kind == SEER_STEP_COPY;
}

uint32_t seer_network_find_task(const seer_network *network, uint32_t hint, const char *step) {
  for (uint32_t k = 0; k < network->n_step; k++) {
    const seer_step *own = &network->step[(hint + k) % network->n_step];
    if (seer_step_has_task(own) && strcmp(own->name, step) == 0) return own->task;
  }
  return UINT32_MAX;
}

uint32_t seer_step_n_values(const seer_graph *graph, const seer_step *step) {
  const seer_node *node = seer_step_node(graph, step);
  if (node) return node->n_in + node->n_out;
  return step->kind == SEER_STEP_VIEW ? 2 : step->dag->n_buf;
}

seer_val seer_step_value(
    const seer_graph *graph, const seer_step *step, uint32_t k, bool *out_is_made) {
  const seer_node *node = seer_step_node(graph, step);
  if (node) {
    *out_is_made = k >= node->n_in;
    return *out_is_made ? node->out[k - node->n_in] : node->in[k];
  }
  *out_is_made = step->kind == SEER_STEP_VIEW ? k == 1 : step->dag->buf[k].is_output;
  if (step->kind == SEER_STEP_VIEW) return *out_is_made ? step->view_out : step->view_in;
  return step->value_of_buf[k];
}

seer_step_kind seer_step_kind_of_op(const seer_op_desc *op) {
  switch (op->control) {
    case SEER_CONTROL_NONE:
      return op->host ? SEER_STEP_HOST : SEER_STEP_KERNEL;
    case SEER_CONTROL_LOOP_BEGIN:
      return SEER_STEP_LOOP_BEGIN;
    case SEER_CONTROL_LOOP_END:
      return SEER_STEP_LOOP_END;
    case SEER_CONTROL_BRANCH:
      return SEER_STEP_BRANCH;
  }
  return SEER_STEP_KERNEL;
}

// ---- verify

enum { NOT_MADE = 0, ROOT = 1 };  // ids of scopes

typedef struct {
  const seer_network *network;
  uint32_t *made_in;  // by value: the scope
  // by value: whether it is made by views, and how many of them are still to come
  bool *is_of_views;
  uint32_t *n_to_come;
  bool *is_open;  // by scope
  uint32_t n_scope;
} verifier;

static uint32_t open_scope(verifier *f) {
  f->is_open[f->n_scope] = true;
  return f->n_scope++;
}

// NULL: it can be read here.
static const char *why_unreadable(const verifier *f, seer_val v) {
  const seer_value *value = seer_graph_value(f->network->graph, v);
  if (value->constant || value->producer.i == 0) return NULL;
  if (f->made_in[v.i] == NOT_MADE) return "is not made before";
  if (f->n_to_come[v.i] > 0) return "lacks a part that is made later";
  bool is_open = f->is_open[f->made_in[v.i]];
  return is_open ? NULL : "is made in a loop or a side of a branch that has ended";
}

static seer_status read_value(const verifier *f, const char *reader, seer_val v) {
  const char *why = v.i ? why_unreadable(f, v) : NULL;
  if (!why) return SEER_OK;
  return SEER_FAIL(INVALID, "'%s' reads '%s', which %s", reader,
      seer_graph_value(f->network->graph, v)->name, why);
}

static seer_status read_values(
    const verifier *f, const char *reader, const seer_val *values, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) SEER_TRY(read_value(f, reader, values[k]));
  return SEER_OK;
}

// A whole is made by a view for each of its parts, the last of them in the innermost scope: parts
// of one that is made in a side may be made in front of the branch.
static seer_status make_value(verifier *f, const seer_step *step, seer_val v, uint32_t scope) {
  if (v.i == 0) return SEER_OK;
  bool is_view = step->kind == SEER_STEP_VIEW;
  bool is_first = f->made_in[v.i] == NOT_MADE;
  if (is_view && f->n_to_come[v.i] > 0) f->n_to_come[v.i]--;
  bool is_next_part = is_view && f->is_of_views[v.i] && f->is_open[f->made_in[v.i]];
  f->is_of_views[v.i] = is_view;
  if (!is_first && !is_next_part)
    return SEER_FAIL(INVALID, "'%s' makes '%s', which was made before", step->name,
        seer_graph_value(f->network->graph, v)->name);
  f->made_in[v.i] = scope;
  return SEER_OK;
}

static seer_status make_values(
    verifier *f, const seer_step *step, const seer_node *node, uint32_t scope) {
  for (uint32_t k = 0; k < node->n_out; k++) SEER_TRY(make_value(f, step, node->out[k], scope));
  return SEER_OK;
}

static seer_status verify_kind(const verifier *f, const seer_step *step) {
  const seer_node *node = seer_step_node(f->network->graph, step);
  if (node && seer_step_kind_of_op(node->op) != step->kind)
    return SEER_FAIL(INVALID, "'%s' (%s) is a step of another kind", step->name, node->op_type);
  bool is_loop = step->kind == SEER_STEP_LOOP_BEGIN, is_branch = step->kind == SEER_STEP_BRANCH;
  if ((step->n_body > 0 && !is_loop) || (step->n_then + step->n_else > 0 && !is_branch))
    return SEER_FAIL(INVALID, "'%s' has the length of a loop or a branch and is none", step->name);
  return SEER_OK;
}

static seer_status verify_part(
    verifier *f, uint32_t from, uint32_t to, uint32_t depth, uint32_t scope);

// The loop that begins at step s and ends before `to`.
static seer_status verify_loop(
    verifier *f, uint32_t s, uint32_t to, uint32_t depth, uint32_t scope) {
  const seer_graph *graph = f->network->graph;
  const seer_step *step = &f->network->step[s], *end = step + 1 + step->n_body;
  const seer_node *begin = seer_step_node(graph, step);
  if (step->n_body >= to - s - 1)
    return SEER_FAIL(INVALID, "loop '%s' has %u steps and an end, where %u are left", step->name,
        step->n_body, to - s - 1);
  const seer_node *last = seer_step_node(graph, end);
  if (end->kind != SEER_STEP_LOOP_END || last->in[last->n_in - 1].i != begin->out[0].i)
    return SEER_FAIL(INVALID, "loop '%s' has %u steps, behind which is '%s', not its end",
        step->name, step->n_body, end->name);
  SEER_TRY(read_values(f, step->name, begin->in, begin->n_in));
  uint32_t body = open_scope(f);
  SEER_TRY(make_values(f, step, begin, body));
  SEER_TRY(verify_part(f, s + 1, s + 1 + step->n_body, depth + 1, body));
  SEER_TRY(verify_kind(f, end));
  SEER_TRY(read_values(f, end->name, last->in, last->n_in));
  f->is_open[body] = false;
  return make_values(f, end, last, scope);
}

static seer_status verify_branch(
    verifier *f, uint32_t s, uint32_t to, uint32_t depth, uint32_t scope) {
  const seer_step *step = &f->network->step[s];
  const seer_node *node = seer_step_node(f->network->graph, step);
  const uint32_t n[2] = {step->n_then, step->n_else}, n_out = node->n_out;
  if (n[0] > to - s - 1 || n[1] > to - s - 1 - n[0])
    return SEER_FAIL(INVALID, "branch '%s' has sides of %u and %u steps, where %u are left",
        step->name, n[0], n[1], to - s - 1);
  SEER_TRY(read_value(f, step->name, node->in[0]));
  SEER_TRY(read_values(f, step->name, node->in + 1 + 2 * n_out, node->n_in - 1 - 2 * n_out));
  for (uint32_t k = 0, first = s + 1; k < 2; first += n[k++]) {
    uint32_t side = open_scope(f);
    SEER_TRY(verify_part(f, first, first + n[k], depth + 1, side));
    SEER_TRY(read_values(f, step->name, node->in + 1 + k * n_out, n_out));
    f->is_open[side] = false;
  }
  return make_values(f, step, node, scope);
}

static seer_status verify_plain(verifier *f, const seer_step *step, uint32_t scope) {
  const seer_graph *graph = f->network->graph;
  uint32_t n = seer_step_n_values(graph, step);
  for (uint32_t part = 0; part < 2; part++) {  // first all that it reads
    for (uint32_t k = 0; k < n; k++) {
      bool is_made;
      seer_val v = seer_step_value(graph, step, k, &is_made);
      if (part == 0 && !is_made) SEER_TRY(read_value(f, step->name, v));
      if (part == 1 && is_made) SEER_TRY(make_value(f, step, v, scope));
    }
  }
  return SEER_OK;
}

// At most SEER_PLAN_MAX_DEPTH calls deep: bodies and sides that are deeper are empty.
static seer_status verify_part(
    verifier *f, uint32_t from, uint32_t to, uint32_t depth, uint32_t scope) {
  if (from < to && depth > SEER_PLAN_MAX_DEPTH)
    return SEER_FAIL(INVALID, "'%s' is in %u loops and branches, must be in at most %d",
        f->network->step[from].name, depth, SEER_PLAN_MAX_DEPTH);
  for (uint32_t s = from; s < to; s++) {
    const seer_step *step = &f->network->step[s];
    SEER_TRY(verify_kind(f, step));
    switch (step->kind) {
      case SEER_STEP_KERNEL:
      case SEER_STEP_VIEW:
      case SEER_STEP_COPY:
      case SEER_STEP_HOST:
        SEER_TRY(verify_plain(f, step, scope));
        break;
      case SEER_STEP_LOOP_BEGIN:
        SEER_TRY(verify_loop(f, s, to, depth, scope));
        s += step->n_body + 1;
        break;
      case SEER_STEP_LOOP_END:
        return SEER_FAIL(
            INVALID, "'%s' ends no loop that begins in the same body or side", step->name);
      case SEER_STEP_BRANCH:
        SEER_TRY(verify_branch(f, s, to, depth, scope));
        s += step->n_then + step->n_else;
        break;
    }
  }
  return SEER_OK;
}

// ---- stretches

// What a kernel of a stretch reads, and was made in it.
static seer_status verify_reads(
    const seer_network *network, const seer_stretch *stretch, const bool *is_made, uint32_t s) {
  const seer_step *step = &network->step[s];
  for (uint32_t b = 0; b < step->dag->n_buf; b++) {
    seer_val v = step->value_of_buf[b];
    const seer_dag_buf *buf = &step->dag->buf[b];
    bool must_be_one = v.i && (buf->is_output || is_made[v.i]);
    if (must_be_one && !seer_images_is_one(network->graph, v, buf, stretch->n_images))
      return SEER_FAIL(INVALID,
          "'%s' runs for each of %u images, and '%s' is not one of them there", step->name,
          stretch->n_images, seer_graph_value(network->graph, v)->name);
  }
  return SEER_OK;
}

static seer_status verify_stretch(
    const seer_network *network, uint32_t k, uint32_t from, seer_arena *scratch) {
  const seer_stretch *stretch = &network->stretch[k];
  if (stretch->first < from || stretch->first > network->n_step ||
      stretch->n_step > network->n_step - stretch->first || stretch->n_images < 2)
    return SEER_FAIL(INVALID, "stretch %u has %u steps from %u on and %u images", k,
        stretch->n_step, stretch->first, stretch->n_images);
  bool *is_made = SEER_NEW_ARRAY(scratch, bool, network->graph->n_value);
  for (uint32_t s = stretch->first; s < stretch->first + stretch->n_step; s++) {
    const seer_step *step = &network->step[s];
    bool is_view = step->kind == SEER_STEP_VIEW;
    if ((!is_view && !seer_step_has_task(step)) || step->stretch != k + 1)
      return SEER_FAIL(INVALID, "'%s' can be no step of stretch %u", step->name, k);
    if (!is_view) SEER_TRY(verify_reads(network, stretch, is_made, s));
    for (uint32_t i = 0, n = seer_step_n_values(network->graph, step); i < n; i++) {
      bool is_result;
      seer_val v = seer_step_value(network->graph, step, i, &is_result);
      if (is_result) is_made[v.i] = true;
    }
  }
  return SEER_OK;
}

static seer_status verify_stretches(const seer_network *network, seer_arena *scratch) {
  uint32_t n_in = 0, end = 0;
  for (uint32_t k = 0; k < network->n_stretch; k++) {
    SEER_TRY(verify_stretch(network, k, end, scratch));
    end = network->stretch[k].first + network->stretch[k].n_step;
    n_in += network->stretch[k].n_step;
  }
  for (uint32_t s = 0; s < network->n_step; s++) {
    const seer_step *step = &network->step[s];
    if (step->stretch > 0 && n_in-- == 0)
      return SEER_FAIL(INVALID, "'%s' is in no stretch", step->name);
    if (step->kind != SEER_STEP_LOOP_BEGIN && step->kind != SEER_STEP_BRANCH) continue;
    for (uint32_t n = step->n_body + step->n_then + step->n_else; n > 0; n--)
      if (network->step[s + n].stretch > 0)
        return SEER_FAIL(
            INVALID, "'%s' is in a loop or branch and in a stretch", network->step[s + n].name);
  }
  return SEER_OK;
}

seer_status seer_network_verify(const seer_network *network) {
  const seer_graph *graph = network->graph;
  seer_arena *scratch = seer_arena_create("network-verify");
  verifier f = {.network = network,
      .made_in = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value),
      .is_of_views = SEER_NEW_ARRAY(scratch, bool, graph->n_value),
      .n_to_come = SEER_NEW_ARRAY(scratch, uint32_t, graph->n_value),
      .is_open = SEER_NEW_ARRAY(scratch, bool, 2 * (size_t)network->n_step + 2),
      .n_scope = ROOT};
  for (uint32_t s = 0; s < network->n_step; s++)
    if (network->step[s].kind == SEER_STEP_VIEW) f.n_to_come[network->step[s].view_out.i]++;
  seer_status status = verify_part(&f, 0, network->n_step, 0, open_scope(&f));
  for (uint32_t k = 0; k < graph->n_output && !status; k++) {
    const char *why = why_unreadable(&f, graph->output[k]);
    if (why)
      status = SEER_FAIL(
          INVALID, "output '%s' %s", seer_graph_value(graph, graph->output[k])->name, why);
  }
  if (!status) status = verify_stretches(network, scratch);
  seer_arena_destroy(scratch);
  return status;
}
