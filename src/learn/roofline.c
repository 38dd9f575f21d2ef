// roofline.c - DAG -> seconds that no schedule of it gets below.
// Operations: those that every point of a stage needs (their operands move with all of its axes;
// what does not can be taken out of a loop), each equal expression once. A multiplication takes a
// slot of an FMA pipe, with an addition for nothing, whatever its type (where products of integers
// take more, the bound is still one); others may use pipes beside them. Narrow types
// have more lanes, and so have products of what was narrow, and their sums: a dot product of bytes
// takes four in a slot, and eight times as many as matrices. A stage that is computed where it is
// read may leave out what nobody reads. Bytes: the caches of all threads together hold what the run
// before left there, as much as fits, whichever part that is; the rest crosses. Reading and writing
// go on at the same time.
#include "learn/roofline.h"

#include <math.h>

#include "space/warps.h"

#define OTHER_PIPES 2.0  // of the FMA pipes' operations: what all vector pipes start in a cycle
#define SPECIAL_FMAS 4.0  // of exp, tanh, ...: a polynomial of that degree is wrong in f32
// Smaller weights may lie among what stays (biases); larger ones are packed, and timed cold.
#define MIN_COLD_BYTES 65536.0

// ---- operations

typedef struct {
  const seer_dag *dag;
  const seer_dag_stage *stage;
  uint64_t large;  // axes of more than one iteration, by place in the stage
  uint64_t *axes;  // by node: those that it moves with; bit 63: known, bit 62: data
  bool *is_counted;  // by node
  double fma, other;  // of a point
  // Of a product's lanes that one of bytes takes, one of halves, one of numbers rounded to TF32:
  // less where there are instructions that multiply matrices
  double byte_share, half_share, tf32_share;
  bool has_special_units;  // of GPUs: one instruction, beside the FMA's pipes
} counter;

#define KNOWN (UINT64_C(1) << 63)
#define DATA (UINT64_C(1) << 62)

static uint64_t axes_of(counter *c, seer_expr e) {
  if (c->axes[e.i] & KNOWN) return c->axes[e.i];
  const seer_expr_pool *pool = &c->dag->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  seer_expr_op op = (seer_expr_op)node->op;
  uint64_t axes = KNOWN;
  if (op == SEER_EXPR_VAR) {
    axes |= UINT64_C(1) << (node->ref - c->stage->var0);
  } else if (op == SEER_EXPR_LOAD) {
    axes |= DATA;
    for (uint32_t k = 0; k < node->n_index; k++) axes |= axes_of(c, seer_expr_index(pool, e, k));
  } else {
    for (uint32_t k = 0; k < seer_expr_arity(op); k++) axes |= axes_of(c, node->arg[k]);
  }
  return c->axes[e.i] = axes;
}

// Bytes of what an operand was before it was widened: dot products widen on the way.
static double operand_bytes(const seer_dag *dag, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(&dag->expr, e);
  double bytes = seer_dtype_bytes((seer_dtype)node->dtype);
  while (node->op == SEER_EXPR_CAST) {
    node = seer_expr_at(&dag->expr, node->arg[0]);
    bytes = fmin(bytes, seer_dtype_bytes((seer_dtype)node->dtype));
  }
  return bytes;
}

static bool is_special(seer_expr_op op) {
  return (op >= SEER_EXPR_EXP && op <= SEER_EXPR_SIGMOID) || op == SEER_EXPR_POW;
}

// What code does without an instruction of its own, or by the way.
static bool is_free(seer_expr_op op) {
  return op == SEER_EXPR_NEG || op == SEER_EXPR_ABS || op == SEER_EXPR_NOT || op == SEER_EXPR_CAST;
}

static bool is_of_every_point(counter *c, seer_expr e) {
  uint64_t axes = axes_of(c, e);
  return (axes & DATA) && (axes & c->large) == c->large;
}

static double operand_lanes(const seer_dag *dag, const seer_expr_node *node, uint32_t arity) {
  double lanes = 1;
  for (uint32_t k = 0; k < arity; k++) lanes = fmin(lanes, operand_bytes(dag, node->arg[k]) / 4);
  return lanes;
}

static bool is_product(seer_expr_op op) {
  return op == SEER_EXPR_MUL || op == SEER_EXPR_DOT4 || seer_expr_is_dot2(op);
}

// Of a product's time that by matrices: an instruction does in 16 cycles what 256 of vectors of 16
// lanes do, of which two start in a cycle.
#define MATRIX_SHARE 0.125

// Lanes of f32 that a product takes, or one that is as good as a word of several.
static double product_lanes(const counter *c, const seer_expr_node *node) {
  double lanes = operand_lanes(c->dag, node, 2);
  bool is_float = seer_dtype_is_float((seer_dtype)node->dtype);
  bool is_of_bytes = node->op == SEER_EXPR_DOT4 || (!is_float && lanes <= 0.25);
  bool is_of_halves = seer_expr_is_dot2((seer_expr_op)node->op) || (is_float && lanes <= 0.5);
  if (is_of_bytes) return lanes * c->byte_share;
  if (seer_warps_is_of_tf32(&c->dag->expr, node)) return lanes * c->tf32_share;
  return is_of_halves ? lanes * c->half_share : lanes;
}

// Of a term of a sum: a product is added in the lanes in which it was made.
static double sum_lanes(const counter *c, seer_expr term) {
  const seer_expr_node *node = seer_expr_at(&c->dag->expr, term);
  return is_product((seer_expr_op)node->op) ? product_lanes(c, node)
                                            : fmin(1, operand_bytes(c->dag, term) / 4);
}

static void count(counter *c, seer_expr e) {
  if (c->is_counted[e.i]) return;
  c->is_counted[e.i] = true;
  const seer_expr_node *node = seer_expr_at(&c->dag->expr, e);
  seer_expr_op op = (seer_expr_op)node->op;
  uint32_t arity = op == SEER_EXPR_LOAD ? 0 : seer_expr_arity(op);
  seer_expr byte;
  if (arity == 0 || seer_expr_is_word_load(&c->dag->expr, e, &byte)) return;
  // Of a choice only the condition is sure to be computed.
  if (op == SEER_EXPR_SELECT) arity = 1;
  for (uint32_t k = 0; k < arity; k++) count(c, node->arg[k]);
  double lanes = operand_lanes(c->dag, node, arity);
  if (op == SEER_EXPR_SELECT || is_free(op) || !is_of_every_point(c, e)) return;
  if (is_special(op) && c->has_special_units)
    c->other += lanes;
  else if (is_special(op))
    c->fma += SPECIAL_FMAS * lanes;
  else if (is_product(op))
    c->fma += product_lanes(c, node);
  else
    c->other += lanes;
}

static void count_stage(counter *c, double iterations, double *out_fma, double *out_other) {
  const seer_dag_stage *s = c->stage;
  c->fma = c->other = 0;
  c->large = 0;
  for (uint32_t k = 0; k < (uint32_t)s->n_space + s->n_reduce; k++) {
    if (s->axis[k].extent > 1) c->large |= UINT64_C(1) << k;
  }
  for (uint32_t v = 0; v < s->n_values; v++) {
    count(c, s->body[v]);
    bool adds = s->n_reduce > 0 && !(v > 0 && seer_combiner_is_arg(s->combiner));
    if (adds && is_of_every_point(c, s->body[v])) c->other += sum_lanes(c, s->body[v]);
  }
  *out_fma += iterations * c->fma;
  *out_other += iterations * c->other;
}

// Tensor cores: an FMA of halves takes so much of one in f32, and bytes are taken to go twice as
// fast, which no kind of them exceeds. A product has half a lane, or a quarter.
static double tensor_share(const seer_target_gpu *gpu) {
  double flops = fmax(gpu->f16_flops, gpu->bf16_flops);
  return flops > 0 ? 4.0 * gpu->n_fmas / flops : 1;
}

static void set_shares(counter *c, const seer_target *target) {
  if (target->kind != SEER_TARGET_CPU) {
    double tf32_flops = target->gpu.tf32_flops;
    c->byte_share = c->half_share = tensor_share(&target->gpu);
    c->tf32_share = tf32_flops > 0 ? 2.0 * target->gpu.n_fmas / tf32_flops : 1;
    c->has_special_units = true;
    return;
  }
  c->tf32_share = 1;
  c->byte_share = seer_target_multiplies_bytes(target) ? MATRIX_SHARE : 1;
  c->half_share = seer_target_multiplies_halves(target) ? MATRIX_SHARE : 1;
}

// A scheduler begins one instruction of a warp in a cycle, whatever pipe it is for: two of what was
// counted, where it is a product with a sum.
static double seconds_of_items(const seer_target_gpu *gpu, double fma, double other) {
  double begun = (double)gpu->n_schedulers * gpu->warp_items;
  double cycles = fmax(fma / gpu->n_fmas, (fma + other) / (2 * fmax(begun, gpu->n_fmas)));
  return cycles / (gpu->n_processors * gpu->clock_ghz * 1e9);
}

static double compute_seconds(const seer_dag *dag, const seer_target *target) {
  seer_arena *arena = seer_arena_create("roofline");
  counter c = {.dag = dag,
      .axes = SEER_NEW_ARRAY(arena, uint64_t, dag->expr.n + 1),
      .is_counted = SEER_NEW_ARRAY(arena, bool, dag->expr.n + 1)};
  double fma = 0, other = 0, iterations[SEER_DAG_MAX_STAGES];
  set_shares(&c, target);
  seer_dag_count_iterations(dag, iterations);
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    c.stage = &dag->stage[s];
    if (!c.stage->is_const) count_stage(&c, iterations[s], &fma, &other);
  }
  seer_arena_destroy(arena);
  if (target->kind != SEER_TARGET_CPU) return seconds_of_items(&target->gpu, fma, other);
  // The peak counts two operations for a slot.
  double slots = fmax(fma, (fma + other) / (2 * OTHER_PIPES));
  return 2 * slots / (target->peak_gflops * 1e9 * target->threads);
}

// ---- bytes

// Of what one run reads and writes, what cannot have stayed in caches of `held` bytes.
static double crossing(const seer_dag_io *io, double cold_bytes, double held) {
  double cold = io->large_weights, warm = io->read - cold;
  double cycle = fmax(cold_bytes, cold);  // is read from one run to the next
  double in = fmax(0, warm - held);
  if (cycle > 0) in += cold * fmax(0, 1 - held / cycle);
  return fmax(in, fmax(0, io->written - held));
}

// Of what a kernel leaves, L2 alone is there for the next one; its rate bounds what all processors
// read together, and no schedule has to.
static seer_roofline of_items(const seer_dag *dag, const seer_target *target, double cold_bytes) {
  const seer_target_gpu *gpu = &target->gpu;
  seer_dag_io io = seer_dag_count_io(dag, MIN_COLD_BYTES);
  double bytes = crossing(&io, cold_bytes, (double)gpu->l2_bytes);
  return (seer_roofline){.compute_s = compute_seconds(dag, target),
      .level_s[2] = bytes / (gpu->dram_gbs * 1e9),
      .launch_s = gpu->launch_s};
}

seer_roofline seer_roofline_build(
    const seer_dag *dag, const seer_target *target, double cold_bytes) {
  if (target->kind != SEER_TARGET_CPU) return of_items(dag, target, cold_bytes);
  double n = target->threads, l1 = n * (double)target->l1_bytes, l2 = n * (double)target->l2_bytes,
         l3 = (double)target->l3_bytes, rate = n * 1e9;
  seer_dag_io io = seer_dag_count_io(dag, MIN_COLD_BYTES);
  seer_roofline out = {.compute_s = compute_seconds(dag, target)};
  // A level that is not there says nothing.
  if (l2 > 0) out.level_s[0] = crossing(&io, cold_bytes, l1) / (target->l2_gbs * rate);
  if (l3 > 0) out.level_s[1] = crossing(&io, cold_bytes, l1 + l2) / (target->l3_gbs * rate);
  out.level_s[2] = crossing(&io, cold_bytes, l1 + l2 + l3) / (target->dram_gbs * rate);
  return out;
}

double seer_roofline_seconds(const seer_dag *dag, const seer_target *target, double cold_bytes) {
  seer_roofline r = seer_roofline_build(dag, target, cold_bytes);
  double bytes_s = fmax(r.level_s[0], fmax(r.level_s[1], r.level_s[2]));
  // What is published is the most that there is.
  bool is_most = target->kind != SEER_TARGET_CPU && !target->is_measured;
  return r.launch_s + fmax(r.compute_s, is_most ? bytes_s : bytes_s / SEER_ROOFLINE_BEST_BANDWIDTH);
}

// Another formulation may need less arithmetic than the task's own DAG.
double seer_roofline_task_seconds(const seer_dag *dag, const seer_sketch_list *sketches,
    const seer_target *target, double cold_bytes) {
  double least = seer_roofline_seconds(dag, target, cold_bytes);
  for (uint32_t k = 0; k < sketches->n; k++)
    least = fmin(least, seer_roofline_seconds(sketches->sketch[k]->dag, target, cold_bytes));
  return least;
}
