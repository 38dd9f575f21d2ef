// steps.c - a literal network and the values of a run -> the first step that the interpreter does
// not agree with.
#include "library/steps.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "dag/dag.h"
#include "setup/npy.h"

typedef struct {
  const seer_network *network;
  seer_see_value see;
  void *user;
  double budget;  // iterations for one step
  uint64_t seed;
  bool flushes_denormals;
  seer_arena *arena, *scratch;
  seer_steps_verdict *out;
} judge;

// What one step of sums in another order may be off by, relative to the largest element.
static double step_tolerance(seer_dtype dtype) {
  const seer_float_format *format = seer_dtype_format(dtype);
  // One unit in the last place of the largest element: both round, and what they round differs.
  if (format) return ldexp(1, -format->mantissa_bits);
  if (dtype == SEER_DTYPE_F64) return 1e-9;
  return dtype == SEER_DTYPE_F32 ? 1e-4 : 0;
}

// The value as the DAG reads it: at its bounds. What lies beyond the sizes is any number: zeros.
static const void *at_bounds(const judge *j, seer_val v, seer_seen_value seen) {
  const seer_value *value = seer_graph_value(j->network->graph, v);
  bool is_same = !seen.dim || memcmp(seen.dim, value->dim, value->rank * sizeof value->dim[0]) == 0;
  if (is_same) return seen.data;
  uint32_t elem_bytes = seer_dtype_bytes(value->dtype);
  int64_t n = seer_dims_elems(seen.dim, value->rank);
  uint8_t *whole =
      seer_arena_alloc(j->scratch, (size_t)seer_value_elems(value) * elem_bytes + 1, 64);
  memset(whole, 0, (size_t)seer_value_elems(value) * elem_bytes);
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i, to = 0, stride = 1;
    for (uint32_t d = value->rank; d-- > 0;) {
      to += rest % seen.dim[d] * stride;
      rest /= seen.dim[d];
      stride *= value->dim[d];
    }
    memcpy(whole + to * elem_bytes, (const uint8_t *)seen.data + i * elem_bytes, elem_bytes);
  }
  return whole;
}

static double smallest_normal(seer_dtype dtype) {
  return dtype == SEER_DTYPE_F32 ? FLT_MIN : dtype == SEER_DTYPE_F64 ? DBL_MIN : 0;
}

// What kernels take it for. (Halves are computed in f32, of which theirs are normal numbers.)
static const void *as_read(const judge *j, seer_val v, const void *data) {
  const seer_value *value = seer_graph_value(j->network->graph, v);
  double least = smallest_normal(value->dtype);
  if (!j->flushes_denormals || least == 0) return data;
  int64_t n = seer_value_elems(value);
  uint32_t elem_bytes = seer_dtype_bytes(value->dtype);
  uint8_t *copy = seer_arena_alloc(j->scratch, (size_t)n * elem_bytes + 1, 64);
  memcpy(copy, data, (size_t)n * elem_bytes);
  for (int64_t i = 0; i < n; i++)
    if (fabs(seer_dtype_load_f64(value->dtype, copy, i)) < least)
      memset(copy + i * elem_bytes, 0, elem_bytes);
  return copy;
}

static seer_seen_value see(const judge *j, seer_val v) {
  const seer_value *value = seer_graph_value(j->network->graph, v);
  if (value->constant) return (seer_seen_value){value->constant->data, NULL};
  return j->see(j->user, v);
}

// ---- comparing

typedef struct {
  const judge *j;
  const seer_step *step;
  seer_dag_eval *eval;
  uint32_t buf;
  const int64_t *dim;  // that the run found
  const void *found;
  double tolerance;  // absolute
  bool is_wrong;
} result;

static void compare_at(result *r, const int64_t *index) {
  const seer_dag_buf *buf = &r->step->dag->buf[r->buf];
  int64_t at = 0;
  for (uint32_t d = 0; d < buf->rank; d++) at = at * r->dim[d] + index[d];
  double want = seer_dag_eval_at(r->eval, r->buf, index);
  double got = seer_dtype_load_f64(buf->dtype, r->found, at);
  r->j->out->n_compared++;
  bool is_same = got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= r->tolerance;
  if (is_same || r->is_wrong) return;
  seer_text text;
  seer_text_init(&text, r->j->arena);
  seer_text_put(&text, "[");
  for (uint32_t d = 0; d < buf->rank; d++)
    seer_text_printf(&text, "%s%" PRId64, d > 0 ? "," : "", index[d]);
  seer_text_printf(&text, "] of %s is %.9g, the interpreter says %.9g",
      seer_shape_text(r->dim, buf->rank, r->j->arena), got, want);
  r->is_wrong = true;
  r->j->out->wrong = text.data;
}

static double largest(seer_dtype dtype, const void *data, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = fabs(seer_dtype_load_f64(dtype, data, i));
    if (isfinite(x) && x > most) most = x;
  }
  return most;
}

static void compare_all(result *r, uint32_t rank, int64_t n) {
  int64_t index[SEER_MAX_RANK] = {0};
  for (int64_t i = 0; i < n; i++) {
    compare_at(r, index);
    for (uint32_t d = rank; d-- > 0 && ++index[d] == r->dim[d];) index[d] = 0;
  }
}

// Corners, where every bound meets; ends of rows, which tails of vectors make; others by chance.
static void compare_sample(result *r, uint32_t rank, int64_t n) {
  enum { N_CORNERS = 16, TAIL = 17 };
  seer_rng rng;
  seer_rng_init_stream(&rng, r->j->seed, r->step->content);
  for (int64_t k = 0; k < n; k++) {
    int64_t index[SEER_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) {
      int64_t last = r->dim[d] - 1;
      bool is_end = k >= N_CORNERS && k % 3 == 0 && d + 1 == rank;
      index[d] = k < N_CORNERS ? ((k >> (d % 4)) & 1 ? last : 0)
          : is_end             ? last - seer_rng_range(&rng, 0, seer_min_i64(TAIL - 1, last))
                               : seer_rng_range(&rng, 0, last);
    }
    compare_at(r, index);
  }
}

// Numbers that come out of floats may lie on either side of where they are cut.
static bool reads_floats(const seer_dag *dag) {
  for (uint32_t b = 0; b < dag->n_buf; b++)
    if (dag->buf[b].kind != SEER_BUF_STAGE && seer_dtype_is_float(dag->buf[b].dtype)) return true;
  return false;
}

static bool finds_places(const seer_dag *dag) {
  for (uint32_t s = 0; s < dag->n_stage; s++)
    if (seer_combiner_is_arg(dag->stage[s].combiner)) return true;
  return false;
}

static void judge_result(judge *j, const seer_step *step, seer_dag_eval *eval, uint32_t b) {
  const seer_dag *dag = step->dag;
  const seer_dag_buf *buf = &dag->buf[b];
  seer_seen_value seen = see(j, step->value_of_buf[b]);
  result r = {j, step, eval, b, seen.dim ? seen.dim : buf->dim, seen.data, 0, false};
  int64_t n = seer_dims_elems(r.dim, buf->rank);
  if (n <= 0) return;
  if (seer_dtype_is_float(buf->dtype))
    r.tolerance = step_tolerance(buf->dtype) * largest(buf->dtype, seen.data, n) +
        (j->flushes_denormals ? smallest_normal(buf->dtype) : 0);
  else if (buf->dtype != SEER_DTYPE_BOOL && reads_floats(dag) && !finds_places(dag))
    r.tolerance = 1;
  double iterations[SEER_DAG_MAX_STAGES], all = 1;
  seer_dag_count_iterations(dag, iterations);
  for (uint32_t s = 0; s < dag->n_stage; s++) all += iterations[s];
  j->out->n_elems += (double)n;
  double n_sample = fmax(64, floor(j->budget * (double)n / all));
  if (n_sample >= (double)n)
    compare_all(&r, buf->rank, n);
  else
    compare_sample(&r, buf->rank, (int64_t)n_sample);
}

// ---- steps

// What reads a value at its bounds sees numbers beyond its sizes that no run promises.
static bool is_about_sizes(const judge *j, const seer_step *step) {
  const seer_graph *graph = j->network->graph;
  for (uint32_t b = 0; b < step->dag->n_buf; b++) {
    seer_val v = step->value_of_buf[b];
    if (v.i == 0 || !step->dag->buf[b].is_output) continue;
    seer_node_id producer = seer_graph_value(graph, v)->producer;
    if (producer.i && strcmp(seer_graph_node(graph, producer)->domain, SEER_INNER_DOMAIN) == 0)
      return true;
  }
  return false;
}

static bool has_all(const judge *j, const seer_step *step) {
  for (uint32_t b = 0; b < step->dag->n_buf; b++)
    if (step->value_of_buf[b].i != 0 && !see(j, step->value_of_buf[b]).data) return false;
  return true;
}

static void judge_kernel(judge *j, const seer_step *step) {
  const seer_dag *dag = step->dag;
  if (!has_all(j, step) || is_about_sizes(j, step)) {
    j->out->n_unseen++;
    return;
  }
  seer_dag_eval *eval = seer_dag_eval_create(dag, j->scratch);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].kind == SEER_BUF_STAGE) continue;
    seer_val v = step->value_of_buf[b];
    seer_dag_eval_set_input(eval, b, as_read(j, v, at_bounds(j, v, see(j, v))));
  }
  for (uint32_t b = 0; b < dag->n_buf && !j->out->wrong[0]; b++)
    if (dag->buf[b].is_output) judge_result(j, step, eval, b);
  if (j->out->wrong[0]) {
    j->out->wrong_node = step->name;
    j->out->wrong_ops = j->network->task[step->task].ops;
  }
  j->out->n_judged++;
}

// Moves nothing: the same bytes.
static void judge_view(judge *j, const seer_step *step) {
  const seer_value *to = seer_graph_value(j->network->graph, step->view_out);
  seer_seen_value a = see(j, step->view_in), b = see(j, step->view_out);
  if (!a.data || !b.data || to->base.i || seer_value_is_sized(to)) {
    j->out->n_unseen++;
    return;
  }
  int64_t n = seer_value_elems(to);
  j->out->n_judged++;
  j->out->n_elems += (double)n;
  j->out->n_compared += (double)n;
  if (memcmp(a.data, b.data, (size_t)n * seer_dtype_bytes(to->dtype)) == 0) return;
  j->out->wrong_node = step->name;
  j->out->wrong_ops = "view";
  j->out->wrong = "is not what it is a view of";
}

static void judge_step(judge *j, const seer_step *step) {
  switch (step->kind) {
    case SEER_STEP_KERNEL:
    case SEER_STEP_COPY:
      judge_kernel(j, step);
      return;
    case SEER_STEP_VIEW:
      judge_view(j, step);
      return;
    case SEER_STEP_HOST:
    case SEER_STEP_LOOP_BEGIN:
    case SEER_STEP_BRANCH:
      j->out->n_runtime++;
      return;
    case SEER_STEP_LOOP_END:
      return;
  }
}

seer_status seer_verify_steps(const seer_network *network, seer_see_value see_value, void *user,
    double budget, uint64_t seed, bool flushes_denormals, seer_arena *arena,
    seer_steps_verdict *out) {
  *out = (seer_steps_verdict){.wrong_node = "", .wrong_ops = "", .wrong = ""};
  judge j = {.network = network,
      .see = see_value,
      .user = user,
      .budget = budget / fmax(1, network->n_step),
      .seed = seed,
      .flushes_denormals = flushes_denormals,
      .arena = arena,
      .out = out};
  for (uint32_t s = 0; s < network->n_step && !out->wrong[0]; s++) {
    j.scratch = seer_arena_create("step");
    judge_step(&j, &network->step[s]);
    seer_arena_destroy(j.scratch);
  }
  return SEER_OK;
}
