// einsum.c - Einsum: a product of inputs, summed over the labels that the output lacks, as one
// stage.
//   "bij,bjk->bik": axes b, i, k; reduction j; body in0[b, i, j] * in1[b, j, k]
// An ellipsis stands for leading dimensions that broadcast; its labels are numbers, counted from
// the last one.
#include <ctype.h>
#include <string.h>

#include "front/op/util.h"

#define MAX_OPERANDS 8
#define MAX_LABELS (52 + SEER_MAX_RANK)
enum { UNSEEN = -1 };

typedef struct {
  uint32_t n;
  uint8_t label[SEER_MAX_RANK];
} term;

typedef struct {
  uint32_t n_in;
  term in[MAX_OPERANDS], out;
  int64_t extent[MAX_LABELS];  // UNSEEN: does not occur
} equation;

static int label_of(char c) {
  if (islower((unsigned char)c)) return c - 'a';
  return isupper((unsigned char)c) ? 26 + c - 'A' : -1;
}

// One term from *at up to ',' or the arrow or the end. `rank` < 0: the output's, whose ellipsis has
// n_dots labels.
static seer_status read_term(
    const char **at, const char *text, int rank, uint32_t n_dots, term *out) {
  uint32_t letters = 0;
  for (const char *c = *at; *c && *c != ',' && *c != '-'; c++) letters += label_of(*c) >= 0;
  if (rank >= 0) {
    if (letters > (uint32_t)rank)
      return SEER_FAIL(INVALID, "'%s': %u labels for an input of rank %d", text, letters, rank);
    n_dots = (uint32_t)rank - letters;
  }
  bool has_dots = false;
  out->n = 0;
  for (; **at && **at != ',' && **at != '-'; (*at)++) {
    int label = label_of(**at);
    if (**at == ' ') continue;
    if (label >= 0) {
      if (out->n == SEER_MAX_RANK) return SEER_FAIL(UNSUPPORTED, "'%s': too many labels", text);
      out->label[out->n++] = (uint8_t)label;
    } else if (strncmp(*at, "...", 3) == 0 && !has_dots) {
      has_dots = true;
      *at += 2;
      for (uint32_t d = n_dots; d > 0 && out->n < SEER_MAX_RANK; d--)
        out->label[out->n++] = (uint8_t)(52 + d - 1);
    } else {
      return SEER_FAIL(INVALID, "'%s': '%c' is no label, comma, arrow or ellipsis", text, **at);
    }
  }
  if (rank >= 0 && out->n != (uint32_t)rank)
    return SEER_FAIL(INVALID, "'%s': %u labels for an input of rank %d", text, out->n, rank);
  return SEER_OK;
}

// Without an arrow: the ellipsis, then the labels that occur once, in the order of the alphabet
// (capitals first, as in ASCII).
static void implicit_output(equation *e, uint32_t n_dots) {
  uint32_t count[MAX_LABELS] = {0};
  for (uint32_t k = 0; k < e->n_in; k++)
    for (uint32_t d = 0; d < e->in[k].n; d++) count[e->in[k].label[d]]++;
  e->out.n = 0;
  for (uint32_t d = n_dots; d > 0; d--) e->out.label[e->out.n++] = (uint8_t)(52 + d - 1);
  for (uint32_t i = 0; i < 52; i++) {
    uint32_t label = i < 26 ? 26 + i : i - 26;
    if (count[label] == 1 && e->out.n < SEER_MAX_RANK) e->out.label[e->out.n++] = (uint8_t)label;
  }
}

static seer_status set_extents(
    const seer_graph *graph, const seer_node *node, const char *text, equation *e) {
  for (uint32_t label = 0; label < MAX_LABELS; label++) e->extent[label] = UNSEEN;
  for (uint32_t k = 0; k < e->n_in; k++) {
    const seer_value *x = seer_graph_value(graph, node->in[k]);
    for (uint32_t d = 0; d < x->rank; d++) {
      int64_t *extent = &e->extent[e->in[k].label[d]];
      if (*extent == UNSEEN || *extent == 1) *extent = x->dim[d];
      if (x->dim[d] != *extent && x->dim[d] != 1)
        return SEER_FAIL(INVALID,
            "'%s': dimension %u of input %u is %" PRId64 ", elsewhere it is %" PRId64, text, d, k,
            x->dim[d], *extent);
    }
  }
  for (uint32_t d = 0; d < e->out.n; d++) {
    bool is_twice = false;
    for (uint32_t i = 0; i < d; i++) is_twice = is_twice || e->out.label[i] == e->out.label[d];
    if (is_twice || e->extent[e->out.label[d]] == UNSEEN)
      return SEER_FAIL(INVALID, "'%s': a label of the output is %s", text,
          is_twice ? "there twice" : "in no input");
  }
  return SEER_OK;
}

static seer_status read_equation(const seer_graph *graph, const seer_node *node, equation *e) {
  const char *text = seer_node_attr_s(node, "equation", ""), *at = text;
  memset(e, 0, sizeof *e);
  e->n_in = node->n_in;
  if (e->n_in > MAX_OPERANDS)
    return SEER_FAIL(UNSUPPORTED, "%u inputs, at most %d", e->n_in, MAX_OPERANDS);
  uint32_t n_dots = 0;
  for (uint32_t k = 0; k < e->n_in; k++) {
    const seer_value *x = NULL;
    SEER_TRY(seer_op_in(graph, node, k, &x));
    SEER_TRY(seer_op_same_dtype(seer_graph_value(graph, node->in[0]), x, k));
    if (k > 0 && *at++ != ',')
      return SEER_FAIL(INVALID, "'%s' has %u terms for %u inputs", text, k, e->n_in);
    SEER_TRY(read_term(&at, text, (int)x->rank, 0, &e->in[k]));
    for (uint32_t d = 0; d < e->in[k].n; d++)
      if (e->in[k].label[d] >= 52 && e->in[k].label[d] - 51u > n_dots)
        n_dots = e->in[k].label[d] - 51u;
  }
  if (*at == 0) {
    implicit_output(e, n_dots);
  } else if (strncmp(at, "->", 2) == 0) {
    at += 2;
    SEER_TRY(read_term(&at, text, -1, n_dots, &e->out));
  }
  if (*at != 0) return SEER_FAIL(INVALID, "'%s': expected the end at '%s'", text, at);
  return set_extents(graph, node, text, e);
}

static seer_status infer_einsum(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values) {
  (void)arena;
  equation e;
  SEER_TRY(read_equation(graph, node, &e));
  int64_t dim[SEER_MAX_RANK];
  for (uint32_t d = 0; d < e.out.n; d++) dim[d] = e.extent[e.out.label[d]];
  return seer_op_set(&out_values[0], seer_graph_value(graph, node->in[0])->dtype, dim, e.out.n);
}

static seer_status emit_einsum(seer_emit *emit, const seer_node *node) {
  equation e;
  SEER_TRY(read_equation(emit->graph, node, &e));
  seer_dag_axis reduce[MAX_LABELS];
  seer_expr at[SEER_MAX_RANK], var[MAX_LABELS], of_label[MAX_LABELS];
  uint8_t reduced[MAX_LABELS];
  uint32_t n_reduce = 0;
  for (uint32_t label = 0; label < MAX_LABELS; label++) {
    bool is_free = e.extent[label] == UNSEEN;
    for (uint32_t d = 0; d < e.out.n; d++) is_free = is_free || e.out.label[d] == label;
    if (is_free) continue;
    reduced[n_reduce] = (uint8_t)label;
    reduce[n_reduce++] = (seer_dag_axis){NULL, e.extent[label], SEER_AXIS_OTHER};
  }
  if (e.out.n + n_reduce > SEER_DAG_MAX_AXES)
    return SEER_FAIL(UNSUPPORTED, "%u labels, at most %d", e.out.n + n_reduce, SEER_DAG_MAX_AXES);
  uint32_t stage = seer_emit_stage(emit, node, 0,
      n_reduce ? SEER_STAGE_ANCHOR : seer_op_stage_role(emit), NULL, reduce, n_reduce, at, var);
  for (uint32_t d = 0; d < e.out.n; d++) of_label[e.out.label[d]] = at[d];
  for (uint32_t r = 0; r < n_reduce; r++) of_label[reduced[r]] = var[r];
  seer_expr body = {0};
  for (uint32_t k = 0; k < e.n_in; k++) {
    const seer_value *x = seer_emit_in(emit, node, k);
    seer_expr index[SEER_MAX_RANK];
    for (uint32_t d = 0; d < x->rank; d++)
      index[d] = x->dim[d] == 1 ? seer_op_int(emit, 0) : of_label[e.in[k].label[d]];
    seer_expr one = seer_emit_load(emit, node, k, index);
    body = k == 0 ? one : seer_op_2(emit, SEER_EXPR_MUL, body, one);
  }
  seer_emit_body(emit, node, 0, stage, n_reduce ? SEER_COMBINE_SUM : SEER_COMBINE_NONE, body);
  return SEER_OK;
}

SEER_OP_ENTRY(einsum, "Einsum", 12, 1, SEER_OP_ANY, 1, SEER_FUSE_ANCHOR, "equation", .rtol = 1e-4,
    .atol = 1e-5, .infer = infer_einsum, .emit = emit_einsum,
    .doc = "up to 8 inputs, implicit output, repeated labels, ellipsis")
