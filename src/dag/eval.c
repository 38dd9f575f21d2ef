// eval.c - the interpreter of DAG: the reference for everything else.
// Stage elements are computed when they are first needed and kept (dense array in the stage's dtype
// + bitmap), so one output element costs what it depends on, and the whole buffer costs each
// element once. A stage's bodies become one flat program in postorder, once. An instruction works
// on a batch of up to LANES points along one axis of the stage: along the last spatial axis when a
// run of outputs is wanted, or along the innermost reduction axis. An instruction that does not
// depend on the lane axis is done once per batch. A load whose indices are affine is a base and a
// stride. Reductions combine in row-major order of their axes whatever the lanes are.
#include <string.h>

#include "dag/dag.h"

#define LANES 256
#define NO_REG UINT32_MAX

typedef struct {
  uint8_t op, dtype, arg_dtype;
  bool is_affine;  // LOAD: offset = base + sum coef[k] * axis k
  uint32_t axes;  // bit k: depends on axis k
  uint32_t arg[3];  // registers; LOAD: arg[0] predicate or NO_REG, arg[1] otherwise
  uint32_t ref;  // VAR: axis; LOAD: buffer
  int64_t base, coef[SEER_DAG_MAX_AXES];
  uint32_t index[SEER_MAX_RANK];  // LOAD, not affine: registers
} instr;

typedef struct {
  instr *code;  // instruction k writes register k; NULL: not compiled yet
  uint32_t n;
  uint32_t result[SEER_DAG_MAX_VALUES];
  seer_scalar *reg;  // n x LANES
  int64_t *offset;  // LANES, of the load in progress
  void *data[SEER_DAG_MAX_VALUES];
  uint64_t *done;  // bitmap of points
  int64_t n_points, n_done;
  seer_dtype dtype[SEER_DAG_MAX_VALUES];
} stage_state;

struct seer_dag_eval {
  const seer_dag *dag;
  seer_arena *arena;
  const void *input[SEER_DAG_MAX_BUFFERS];
  stage_state stage[SEER_DAG_MAX_STAGES];
  uint32_t *reg_of;  // by expression: register + 1 while its stage is compiled
};

// ---- compiling

typedef struct {
  seer_dag_eval *eval;
  const seer_dag_stage *stage;
  instr *code;
  size_t n, cap;
} compiler;

static uint32_t compile(compiler *c, seer_expr e);

static int64_t row_pitch(const seer_dag_buf *buf) {  // stage buffers are dense in here
  if (buf->rank == 0) return 1;
  return buf->kind == SEER_BUF_STAGE ? buf->dim[buf->rank - 1] : buf->pitch;
}

static void dim_strides(const seer_dag_buf *buf, int64_t *stride) {
  int64_t step = row_pitch(buf);
  for (uint32_t k = buf->rank; k-- > 0;) {
    stride[k] = k + 1 == buf->rank ? 1 : step;
    if (k + 1 < buf->rank) step *= buf->dim[k];
  }
}

// Guarded indices may be absurd where the guard is false: no overflow trap for those.
static int64_t wrap_mul_add(int64_t sum, int64_t a, int64_t b) {
  return (int64_t)((uint64_t)sum + (uint64_t)a * (uint64_t)b);
}

static void compile_load(compiler *c, seer_expr e, instr *in) {
  const seer_expr_pool *pool = &c->eval->dag->expr;
  const seer_expr_node node = *seer_expr_at(pool, e);
  int64_t stride[SEER_MAX_RANK];
  dim_strides(&c->eval->dag->buf[node.ref], stride);
  in->ref = node.ref;
  in->is_affine = true;
  for (uint32_t k = 0; k < node.n_index && in->is_affine; k++) {
    seer_affine a;
    in->is_affine = seer_expr_affine(pool, seer_expr_index(pool, e, k), &a);
    if (!in->is_affine) break;
    in->base = wrap_mul_add(in->base, a.constant, stride[k]);
    for (uint32_t t = 0; t < a.n; t++) {
      uint32_t axis = a.term[t].var - c->stage->var0;
      SEER_ASSERT(axis < (uint32_t)c->stage->n_space + c->stage->n_reduce,
          "stage %s: foreign variable %u", c->stage->name, a.term[t].var);
      in->coef[axis] = wrap_mul_add(in->coef[axis], a.term[t].coef, stride[k]);
    }
  }
  if (in->is_affine) {
    for (uint32_t k = 0; k < SEER_DAG_MAX_AXES; k++) in->axes |= in->coef[k] != 0 ? 1u << k : 0u;
  } else {
    for (uint32_t k = 0; k < node.n_index; k++) {
      in->index[k] = compile(c, seer_expr_index(pool, e, k));
      in->axes |= c->code[in->index[k]].axes;
    }
  }
  in->arg[0] = in->arg[1] = NO_REG;
  if (node.arg[0].i != 0) {
    for (int k = 0; k < 2; k++) {
      in->arg[k] = compile(c, node.arg[k]);
      in->axes |= c->code[in->arg[k]].axes;
    }
  }
}

static const instr *at(const compiler *c, uint32_t reg) {
  SEER_ASSERT(
      c->code && reg < c->n, "stage %s: register %u of %zu", c->stage->name, reg, (size_t)c->n);
  return &c->code[reg];
}

static uint32_t compile(compiler *c, seer_expr e) {
  seer_dag_eval *eval = c->eval;
  if (eval->reg_of[e.i] != 0) return eval->reg_of[e.i] - 1;
  const seer_expr_node node = *seer_expr_at(&eval->dag->expr, e);
  instr in = {.op = node.op, .dtype = node.dtype, .arg_dtype = node.dtype};
  if (node.op == SEER_EXPR_LOAD) {
    compile_load(c, e, &in);
  } else if (node.op == SEER_EXPR_VAR) {
    in.ref = node.ref - c->stage->var0;
    SEER_ASSERT(in.ref < (uint32_t)c->stage->n_space + c->stage->n_reduce,
        "stage %s: foreign variable %u", c->stage->name, node.ref);
    in.axes = 1u << in.ref;
  } else {
    for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node.op); k++) {
      in.arg[k] = compile(c, node.arg[k]);
      in.axes |= at(c, in.arg[k])->axes;
      if (k == 0) in.arg_dtype = at(c, in.arg[0])->dtype;
    }
    // the bits
    if (node.op == SEER_EXPR_CONST_F || node.op == SEER_EXPR_CONST_I) in.base = node.value.i;
  }
  c->code = SEER_GROW(eval->arena, instr, c->code, c->n, &c->cap);
  c->code[c->n] = in;
  eval->reg_of[e.i] = (uint32_t)++c->n;
  return (uint32_t)c->n - 1;
}

static void prepare_stage(seer_dag_eval *eval, uint32_t s) {
  const seer_dag_stage *stage = &eval->dag->stage[s];
  stage_state *state = &eval->stage[s];
  compiler c = {.eval = eval, .stage = stage};
  memset(eval->reg_of, 0, eval->dag->expr.n * sizeof(uint32_t));
  for (uint32_t v = 0; v < stage->n_values; v++) state->result[v] = compile(&c, stage->body[v]);
  state->n = (uint32_t)c.n;
  state->reg = SEER_NEW_ARRAY(eval->arena, seer_scalar, c.n * LANES);
  state->offset = SEER_NEW_ARRAY(eval->arena, int64_t, LANES);
  for (uint32_t k = 0; k < state->n; k++) {
    if (c.code[k].op == SEER_EXPR_CONST_F || c.code[k].op == SEER_EXPR_CONST_I) {
      state->reg[(size_t)k * LANES].i = c.code[k].base;
    }
  }
  state->n_points = 1;
  for (uint32_t k = 0; k < stage->n_space; k++) state->n_points *= stage->axis[k].extent;
  for (uint32_t v = 0; v < stage->n_values; v++) {
    state->dtype[v] = eval->dag->buf[stage->out[v]].dtype;
    size_t n_bytes = (size_t)state->n_points * seer_dtype_bytes(state->dtype[v]);
    state->data[v] = seer_arena_alloc(eval->arena, n_bytes, 16);
  }
  state->done = SEER_NEW_ARRAY(eval->arena, uint64_t, (size_t)state->n_points / 64 + 1);
  state->code = c.code;
}

// ---- loads

static bool is_done(const stage_state *state, int64_t point) {
  return state->done[point / 64] >> (point % 64) & 1;
}

static void compute_run(seer_dag_eval *eval, uint32_t s, int64_t point, int64_t n);

// Sees to it that the points at offset[0 .. n) of stage `s` are computed; -1: not wanted.
static void ensure(seer_dag_eval *eval, uint32_t s, const int64_t *offset, int64_t n) {
  stage_state *state = &eval->stage[s];
  if (state->code == NULL) prepare_stage(eval, s);
  if (state->n_done == state->n_points) return;
  const seer_dag_stage *stage = &eval->dag->stage[s];
  int64_t row = stage->n_space > 0 ? stage->axis[stage->n_space - 1].extent : 1;
  for (int64_t k = 0; k < n; k++) {
    if (offset[k] < 0 || is_done(state, offset[k])) continue;
    int64_t run = 1, row_end = seer_round_up(offset[k] + 1, row);
    while (k + run < n && offset[k + run] == offset[k] + run && offset[k + run] < row_end &&
        !is_done(state, offset[k + run])) {
      run++;
    }
    compute_run(eval, s, offset[k], run);
  }
}

static const seer_scalar *reg_at(const stage_state *state, uint32_t reg) {
  return &state->reg[(size_t)reg * LANES];
}

static int64_t lane_step(const stage_state *state, uint32_t reg, uint32_t lane_axis) {
  return state->code[reg].axes >> lane_axis & 1;
}

// Offsets of a load's lanes, -1 where its predicate is false.
static void load_offsets(seer_dag_eval *eval, stage_state *state, const instr *in,
    const int64_t *at, uint32_t lane_axis, int64_t n) {
  const seer_dag_buf *buf = &eval->dag->buf[in->ref];
  int64_t *offset = state->offset;
  const seer_scalar *p = in->arg[0] == NO_REG ? NULL : reg_at(state, in->arg[0]);
  int64_t p_step = p ? lane_step(state, in->arg[0], lane_axis) : 0;
  if (in->is_affine) {
    int64_t base = in->base;
    for (uint32_t k = 0; k < SEER_DAG_MAX_AXES; k++) {
      if (in->axes >> k & 1) base = wrap_mul_add(base, in->coef[k], at[k]);
    }
    for (int64_t l = 0; l < n; l++) offset[l] = wrap_mul_add(base, l, in->coef[lane_axis]);
    if (p) {
      for (int64_t l = 0; l < n; l++) offset[l] = p[l * p_step].i ? offset[l] : -1;
    }
    return;
  }
  int64_t stride[SEER_MAX_RANK];
  dim_strides(buf, stride);
  for (int64_t l = 0; l < n; l++) {
    offset[l] = -1;
    if (p && !p[l * p_step].i) continue;
    int64_t sum = 0;
    for (uint32_t k = 0; k < buf->rank; k++) {
      int64_t i = reg_at(state, in->index[k])[l * lane_step(state, in->index[k], lane_axis)].i;
      SEER_ASSERT(i >= 0 && i < buf->dim[k], "$%s: index %u is %" PRId64 ", dimension %" PRId64,
          buf->name, k, i, buf->dim[k]);
      sum += i * stride[k];
    }
    offset[l] = sum;
  }
}

// What inner loops mostly do: an unguarded affine load of f32 from memory that is complete.
static bool quick_load(seer_dag_eval *eval, const instr *in, seer_scalar *out, const int64_t *at,
    uint32_t lane_axis, int64_t n) {
  const seer_dag_buf *buf = &eval->dag->buf[in->ref];
  if (!in->is_affine || in->arg[0] != NO_REG || buf->dtype != SEER_DTYPE_F32) return false;
  const char *data = eval->input[in->ref];
  int64_t n_elems;
  if (buf->kind == SEER_BUF_STAGE) {
    const stage_state *from = &eval->stage[buf->stage];
    if (from->code == NULL || from->n_done < from->n_points) return false;
    data = from->data[buf->value];
    n_elems = from->n_points;
  } else {
    n_elems = seer_dag_buf_elems(buf);
  }
  int64_t base = in->base, step = in->coef[lane_axis];
  for (uint32_t k = 0; in->axes >> k != 0; k++) base += in->coef[k] * at[k];
  int64_t end = base + step * (n - 1);
  if (data == NULL || seer_min_i64(base, end) < 0 || seer_max_i64(base, end) >= n_elems)
    return false;
  data += base * 4;
  for (int64_t l = 0; l < n; l++) {
    float x;
    memcpy(&x, data + l * step * 4, 4);
    out[l].f = (double)x;
  }
  return true;
}

static void do_load(seer_dag_eval *eval, stage_state *state, const instr *in, seer_scalar *out,
    const int64_t *at, uint32_t lane_axis, int64_t n) {
  if (quick_load(eval, in, out, at, lane_axis, n)) return;
  const seer_dag_buf *buf = &eval->dag->buf[in->ref];
  load_offsets(eval, state, in, at, lane_axis, n);
  const int64_t *offset = state->offset;
  const void *data = eval->input[in->ref];
  int64_t n_elems = seer_dag_buf_elems(buf);
  if (buf->kind == SEER_BUF_STAGE) {
    n_elems = n_elems / buf->pitch * row_pitch(buf);
  } else {
    SEER_ASSERT(data != NULL, "input $%s is not set", buf->name);
  }
  bool is_guarded = in->arg[0] != NO_REG;
  for (int64_t l = 0; l < n; l++) {
    bool fine = offset[l] < n_elems && (offset[l] >= 0 || (is_guarded && offset[l] == -1));
    SEER_ASSERT(fine, "$%s: offset %" PRId64 " of %" PRId64, buf->name, offset[l], n_elems);
  }
  if (buf->kind == SEER_BUF_STAGE) {
    ensure(eval, buf->stage, offset, n);
    data = eval->stage[buf->stage].data[buf->value];
  }
  const seer_scalar *other = is_guarded ? reg_at(state, in->arg[1]) : NULL;
  int64_t other_step = is_guarded ? lane_step(state, in->arg[1], lane_axis) : 0;
  for (int64_t l = 0; l < n; l++) {
    out[l] = offset[l] < 0 ? other[l * other_step] : seer_scalar_load(buf->dtype, data, offset[l]);
  }
}

// ---- running a batch: lanes are at[lane_axis] .. + n - 1

#define LOOP_F32(expression)                 \
  for (int64_t l = 0; l < m; l++) {          \
    double x = a[l * sa].f, y = b[l * sb].f; \
    out[l].f = (double)(float)(expression);  \
  }                                          \
  return true
#define LOOP_I64(expression)                  \
  for (int64_t l = 0; l < m; l++) {           \
    int64_t x = a[l * sa].i, y = b[l * sb].i; \
    out[l].i = (expression);                  \
  }                                           \
  return true

// The operators that most bodies consist of, without a call per lane; the same results as
// seer_scalar_apply.
static bool quick_op(const instr *in, seer_scalar *out, int64_t m, const seer_scalar *a, int64_t sa,
    const seer_scalar *b, int64_t sb) {
  if (in->arg_dtype == SEER_DTYPE_F32) {
    switch ((int)in->op) {
      case SEER_EXPR_ADD:
        LOOP_F32(x + y);
      case SEER_EXPR_SUB:
        LOOP_F32(x - y);
      case SEER_EXPR_MUL:
        LOOP_F32(x * y);
      case SEER_EXPR_DIV:
        LOOP_F32(x / y);
      case SEER_EXPR_MAX:
        LOOP_F32(x > y || x != x ? x : y);
      case SEER_EXPR_MIN:
        LOOP_F32(x < y || x != x ? x : y);
      default:
        return false;
    }
  }
  if (in->arg_dtype == SEER_DTYPE_I64) {
    switch ((int)in->op) {
      case SEER_EXPR_ADD:
        LOOP_I64((int64_t)((uint64_t)x + (uint64_t)y));
      case SEER_EXPR_MUL:
        LOOP_I64((int64_t)((uint64_t)x * (uint64_t)y));
      case SEER_EXPR_LT:
        LOOP_I64(x < y);
      case SEER_EXPR_LE:
        LOOP_I64(x <= y);
      case SEER_EXPR_GT:
        LOOP_I64(x > y);
      case SEER_EXPR_GE:
        LOOP_I64(x >= y);
      default:
        return false;
    }
  }
  if (in->arg_dtype == SEER_DTYPE_BOOL) {
    switch ((int)in->op) {
      case SEER_EXPR_AND:
        LOOP_I64(x & y);
      case SEER_EXPR_OR:
        LOOP_I64(x | y);
      default:
        return false;
    }
  }
  return false;
}

static void run_batch(
    seer_dag_eval *eval, uint32_t s, const int64_t *at, uint32_t lane_axis, int64_t n) {
  stage_state *state = &eval->stage[s];
  for (uint32_t k = 0; k < state->n; k++) {
    const instr *in = &state->code[k];
    seer_scalar *out = &state->reg[(size_t)k * LANES];
    int64_t m = in->axes >> lane_axis & 1 ? n : 1;
    if (in->op == SEER_EXPR_CONST_F || in->op == SEER_EXPR_CONST_I) continue;
    if (in->op == SEER_EXPR_VAR) {
      for (int64_t l = 0; l < m; l++) out[l].i = at[in->ref] + l;
      continue;
    }
    if (in->op == SEER_EXPR_LOAD) {
      do_load(eval, state, in, out, at, lane_axis, m);
      continue;
    }
    uint32_t arity = seer_expr_arity((seer_expr_op)in->op);
    const seer_scalar *arg[3];
    int64_t step[3];
    for (uint32_t j = 0; j < 3; j++) {
      uint32_t r = j < arity ? in->arg[j] : in->arg[0];
      arg[j] = reg_at(state, r);
      step[j] = lane_step(state, r, lane_axis);
    }
    if (quick_op(in, out, m, arg[0], step[0], arg[1], step[1])) continue;
    for (int64_t l = 0; l < m; l++) {
      out[l] = seer_scalar_apply((seer_expr_op)in->op, (seer_dtype)in->dtype,
          (seer_dtype)in->arg_dtype, arg[0][l * step[0]], arg[1][l * step[1]], arg[2][l * step[2]]);
    }
  }
}

// ---- stages

// Next point of axes first .. last - 1, in row-major order; false after the last.
static bool next_point(const seer_dag_stage *stage, int64_t *at, uint32_t first, uint32_t last) {
  for (uint32_t k = last; k-- > first;) {
    if (++at[k] < stage->axis[k].extent) return true;
    at[k] = 0;
  }
  return false;
}

static void combine_lanes(
    seer_dag_eval *eval, uint32_t s, uint32_t lane_axis, int64_t n, seer_scalar *acc) {
  const seer_dag_stage *stage = &eval->dag->stage[s];
  stage_state *state = &eval->stage[s];
  if (stage->combiner == SEER_COMBINE_SUM && state->dtype[0] == SEER_DTYPE_F32 &&
      stage->n_values == 1) {
    const seer_scalar *v = reg_at(state, state->result[0]);
    int64_t step = lane_step(state, state->result[0], lane_axis);
    float sum = (float)acc[0].f;
    for (int64_t l = 0; l < n; l++) sum += (float)v[l * step].f;
    acc[0].f = (double)sum;
    return;
  }
  for (int64_t l = 0; l < n; l++) {
    seer_scalar value[SEER_DAG_MAX_VALUES];
    for (uint32_t v = 0; v < stage->n_values; v++) {
      value[v] = reg_at(state, state->result[v])[l * lane_step(state, state->result[v], lane_axis)];
    }
    seer_combiner_apply(stage->combiner, state->dtype, stage->n_values, acc, value);
  }
}

// One output; lanes run along the innermost reduction axis.
static void reduce_point(seer_dag_eval *eval, uint32_t s, int64_t *at, seer_scalar *acc) {
  const seer_dag_stage *stage = &eval->dag->stage[s];
  uint32_t last = (uint32_t)stage->n_space + stage->n_reduce - 1;
  seer_combiner_init(stage->combiner, eval->stage[s].dtype, stage->n_values, acc);
  for (uint32_t k = stage->n_space; k <= last; k++) at[k] = 0;
  do {
    for (int64_t from = 0; from < stage->axis[last].extent; from += LANES) {
      int64_t n = seer_min_i64(LANES, stage->axis[last].extent - from);
      at[last] = from;
      run_batch(eval, s, at, last, n);
      combine_lanes(eval, s, last, n, acc);
    }
    at[last] = 0;
  } while (next_point(stage, at, stage->n_space, last));
}

// A run of outputs at once; lanes run along the last spatial axis.
static void reduce_run(seer_dag_eval *eval, uint32_t s, int64_t *at, int64_t n, seer_scalar *acc) {
  const seer_dag_stage *stage = &eval->dag->stage[s];
  stage_state *state = &eval->stage[s];
  uint32_t lane_axis = (uint32_t)stage->n_space - 1,
           n_axes = (uint32_t)stage->n_space + stage->n_reduce;
  uint32_t nv = stage->n_values;
  for (int64_t l = 0; l < n; l++)
    seer_combiner_init(stage->combiner, state->dtype, nv, &acc[l * nv]);
  for (uint32_t k = stage->n_space; k < n_axes; k++) at[k] = 0;
  bool is_quick =
      stage->combiner == SEER_COMBINE_SUM && state->dtype[0] == SEER_DTYPE_F32 && nv == 1;
  do {
    run_batch(eval, s, at, lane_axis, n);
    if (is_quick) {
      const seer_scalar *v = reg_at(state, state->result[0]);
      int64_t step = lane_step(state, state->result[0], lane_axis);
      for (int64_t l = 0; l < n; l++) acc[l].f = (double)((float)acc[l].f + (float)v[l * step].f);
      continue;
    }
    for (int64_t l = 0; l < n; l++) {
      seer_scalar value[SEER_DAG_MAX_VALUES];
      for (uint32_t v = 0; v < nv; v++) {
        value[v] =
            reg_at(state, state->result[v])[l * lane_step(state, state->result[v], lane_axis)];
      }
      seer_combiner_apply(stage->combiner, state->dtype, nv, &acc[l * nv], value);
    }
  } while (next_point(stage, at, stage->n_space, n_axes));
}

static void store_point(stage_state *state, int64_t point, uint32_t v, seer_scalar value) {
  seer_scalar_store(state->dtype[v], state->data[v], point, value);
}

static void mark_done(stage_state *state, int64_t point, int64_t n) {
  for (int64_t p = point; p < point + n; p++) state->done[p / 64] |= (uint64_t)1 << (p % 64);
  state->n_done += n;
}

static void compute_batch(seer_dag_eval *eval, uint32_t s, int64_t point, int64_t n) {
  const seer_dag_stage *stage = &eval->dag->stage[s];
  stage_state *state = &eval->stage[s];
  int64_t at[SEER_DAG_MAX_AXES] = {0}, rest = point;
  for (uint32_t k = stage->n_space; k-- > 0;) {
    at[k] = rest % stage->axis[k].extent;
    rest /= stage->axis[k].extent;
  }
  uint32_t nv = stage->n_values, lane_axis = stage->n_space > 0 ? (uint32_t)stage->n_space - 1 : 0;
  if (stage->n_reduce == 0) {
    run_batch(eval, s, at, lane_axis, n);
    for (uint32_t v = 0; v < nv; v++) {
      const seer_scalar *r = reg_at(state, state->result[v]);
      int64_t step = stage->n_space > 0 ? lane_step(state, state->result[v], lane_axis) : 0;
      for (int64_t l = 0; l < n; l++) store_point(state, point + l, v, r[l * step]);
    }
  } else if (n > stage->axis[stage->n_space + stage->n_reduce - 1].extent) {
    seer_scalar acc[LANES * SEER_DAG_MAX_VALUES];
    reduce_run(eval, s, at, n, acc);
    for (int64_t l = 0; l < n; l++) {
      for (uint32_t v = 0; v < nv; v++) store_point(state, point + l, v, acc[l * nv + v]);
    }
  } else {
    int64_t first = stage->n_space > 0 ? at[stage->n_space - 1] : 0;
    for (int64_t l = 0; l < n; l++) {
      seer_scalar acc[SEER_DAG_MAX_VALUES];
      if (stage->n_space > 0) at[stage->n_space - 1] = first + l;
      reduce_point(eval, s, at, acc);
      for (uint32_t v = 0; v < nv; v++) store_point(state, point + l, v, acc[v]);
    }
  }
  mark_done(state, point, n);
}

// `n` points of one row, none of them computed yet.
static void compute_run(seer_dag_eval *eval, uint32_t s, int64_t point, int64_t n) {
  for (int64_t from = 0; from < n; from += LANES)
    compute_batch(eval, s, point + from, seer_min_i64(LANES, n - from));
}

// ---- the interface

seer_dag_eval *seer_dag_eval_create(const seer_dag *dag, seer_arena *arena) {
  seer_dag_eval *eval = SEER_NEW(arena, seer_dag_eval);
  eval->dag = dag;
  eval->arena = arena;
  eval->reg_of = SEER_NEW_ARRAY(arena, uint32_t, dag->expr.n);
  return eval;
}

void seer_dag_eval_set_input(seer_dag_eval *eval, uint32_t buf, const void *data) {
  SEER_ASSERT(buf < eval->dag->n_buf && eval->dag->buf[buf].kind != SEER_BUF_STAGE,
      "buffer %u is no input", buf);
  eval->input[buf] = data;
}

double seer_dag_eval_at(seer_dag_eval *eval, uint32_t buf, const int64_t *index) {
  SEER_ASSERT(buf < eval->dag->n_buf, "buffer %u of %u", buf, eval->dag->n_buf);
  const seer_dag_buf *b = &eval->dag->buf[buf];
  int64_t stride[SEER_MAX_RANK], offset = 0;
  dim_strides(b, stride);
  for (uint32_t k = 0; k < b->rank; k++) {
    SEER_ASSERT(index[k] >= 0 && index[k] < b->dim[k],
        "$%s: index %u is %" PRId64 ", dimension %" PRId64, b->name, k, index[k], b->dim[k]);
    offset += index[k] * stride[k];
  }
  if (b->kind != SEER_BUF_STAGE) {
    SEER_ASSERT(eval->input[buf] != NULL, "input $%s is not set", b->name);
    return seer_dtype_load_f64(b->dtype, eval->input[buf], offset);
  }
  ensure(eval, b->stage, &offset, 1);
  return seer_dtype_load_f64(b->dtype, eval->stage[b->stage].data[b->value], offset);
}

void seer_dag_eval_all(seer_dag_eval *eval, uint32_t buf, void *out_data) {
  SEER_ASSERT(buf < eval->dag->n_buf, "buffer %u of %u", buf, eval->dag->n_buf);
  const seer_dag_buf *b = &eval->dag->buf[buf];
  size_t elem_bytes = seer_dtype_bytes(b->dtype);
  int64_t row = b->rank > 0 ? b->dim[b->rank - 1] : 1;
  int64_t n_rows = seer_dag_buf_elems(b) / b->pitch, from_pitch = row_pitch(b);
  for (int64_t r = 0; r < n_rows; r++) {
    const char *from = eval->input[buf];
    if (b->kind == SEER_BUF_STAGE) {
      for (int64_t x = 0; x < row; x += LANES) {
        int64_t offset[LANES], n = seer_min_i64(LANES, row - x);
        for (int64_t l = 0; l < n; l++) offset[l] = r * row + x + l;
        ensure(eval, b->stage, offset, n);
      }
      from = eval->stage[b->stage].data[b->value];
    }
    SEER_ASSERT(from != NULL, "input $%s is not set", b->name);
    memcpy((char *)out_data + (size_t)(r * b->pitch) * elem_bytes,
        from + (size_t)(r * from_pitch) * elem_bytes, (size_t)row * elem_bytes);
  }
}
