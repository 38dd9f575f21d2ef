// cmd_verify.c - familyseer verify: a compiled model against the network as its file has it, on the
// same inputs, for each set of input shapes. The reference is untiled code, a kernel for each node,
// with no pass run; each node's result is in turn held against the DAG's interpreter on the values
// that it had, so that what code generation may do wrong to both does not stay unseen. With
// --against onnxruntime the judge is ONNX Runtime, which shares nothing with it (cli/against.h).
// What the references share with what they judge: doc/verify.md.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/against.h"
#include "cli/bound.h"
#include "cli/use.h"
#include "models/models.h"
#include "tune/select/gather.h"
#include "tune/select/plain.h"
#include "tune/verify/steps.h"
#include "tune/verify/tolerance.h"

// Iterations of the interpreter for all steps of a set: a second or two.
#define INTERPRETER_BUDGET 3e7

typedef struct {
  seer_context *context;
  const char *model;  // as the user names it
  const char *against, *python;
  double rtol;  // -1: by the types
  seer_use tuned, literal;
  const char *dir;  // of the literal library
  seer_network *network;  // the literal one
} comparison;

static seer_status build_literal(comparison *c, seer_arena *arena) {
  SEER_TRY(seer_context_find_target(c->context));
  SEER_TRY(seer_front_load_literal(c->context, c->model, seer_model_build, arena, &c->network));
  seer_choice *choices = NULL;
  SEER_TRY(seer_plain_choices(c->context, c->network, arena, &choices));
  return seer_select_build(c->context, c->network, choices, SEER_BUILD_LIBRARY, c->dir);
}

// The set of `tuned` with the inputs of the set that `reference` has selected.
static seer_status select_same(seer_use *tuned, const seer_use *reference, const char *model) {
  bool is_same = tuned->n_inputs == reference->n_inputs && tuned->n_outputs <= reference->n_outputs;
  const char *wanted = seer_use_shapes(reference, reference->set);
  int32_t set = 0;
  while (is_same && strcmp(seer_use_shapes(tuned, set), wanted) != 0 && ++set < tuned->n_sets) {
  }
  is_same = is_same && set < tuned->n_sets;
  if (is_same) SEER_TRY(seer_use_select(tuned, set));
  for (int32_t i = 0; i < tuned->n_outputs && is_same; i++)
    is_same = seer_use_declared(tuned, i)->n_bytes == seer_use_declared(reference, i)->n_bytes;
  if (is_same) return SEER_OK;
  return SEER_FAIL(
      INVALID, "%s was not made from %s, or with other --input-shapes", tuned->path, model);
}

// Both, on the same inputs. A network may end its run (a side of an If that could not be built):
// then both do, with the same words, and there is nothing to compare.
static seer_status run_both(seer_use *tuned, seer_use *reference) {
  seer_status a = seer_use_run(tuned), b = seer_use_run(reference);
  if (!a && !b) return SEER_OK;
  bool is_same = a && b &&
      strcmp(seer_status_message(a) + strlen(tuned->path),
          seer_status_message(b) + strlen(reference->path)) == 0;
  if (is_same) {
    seer_status_free(b);
    return seer_status_context(a,
        "untiled code ends in the same way; other inputs (-i, --fill, --seed) may lead elsewhere");
  }
  seer_status status = SEER_FAIL(INVALID, "%s: %s, untiled code: %s: DIFFERS", tuned->path,
      a ? seer_status_message(a) : "runs", b ? seer_status_message(b) : "runs");
  seer_status_free(a);
  seer_status_free(b);
  return status;
}

// ---- the outputs

static double tolerance_of(const comparison *c, int32_t output) {
  if (c->rtol >= 0) return c->rtol;
  const seer_graph *graph = c->network->set[c->literal.set]->graph;
  return seer_verify_tolerance(graph, graph->output[output]);
}

// One output against what is expected of it; says what it found.
static bool compare_output(
    const comparison *c, int32_t i, const seer_io_info *expected, const void *data) {
  const seer_use *tuned = &c->tuned;
  const seer_io_info io = seer_use_output(tuned, i);
  uint64_t n = 1;
  for (int32_t k = 0; k < io.rank; k++) n *= (uint64_t)io.dim[k];
  const char *name = seer_text_safe(tuned->arena, io.name);
  if (io.rank != expected->rank ||
      memcmp(io.dim, expected->dim, (size_t)io.rank * sizeof io.dim[0]) != 0) {
    printf("%-24s is %s, must be %s: DIFFERS\n", name,
        seer_shape_text(io.dim, io.rank, tuned->arena),
        seer_shape_text(expected->dim, expected->rank, tuned->arena));
    return false;
  }
  seer_difference d = seer_compare(io.onnx_dtype, tuned->output[i], data, n, tolerance_of(c, i),
      seer_context_f64(c->context, SEER_OPT_ATOL));
  printf("%-24s max error %.3g (%.3g of the largest, %g): %s\n", name, d.max_error,
      d.max_expected > 0 ? d.max_error / d.max_expected : d.max_error, d.max_expected,
      d.is_ok ? "ok" : "DIFFERS");
  return d.is_ok;
}

// ---- the literal library against the interpreter

// The literal network's values lie in its outputs and inputs.
typedef struct {
  seer_use *use;
  const seer_graph *graph;
  int32_t *input, *output;  // by value: 1 + index; 0: none
  seer_io_info *io;  // by output, after the run
} kept_values;

static seer_seen_value see_value(void *user, seer_val v) {
  const kept_values *kept = user;
  if (kept->input[v.i] > 0) return (seer_seen_value){kept->use->input[kept->input[v.i] - 1], NULL};
  if (kept->output[v.i] == 0) return (seer_seen_value){NULL, NULL};
  int32_t i = kept->output[v.i] - 1;
  return (seer_seen_value){kept->use->output[i], kept->io[i].dim};
}

static kept_values keep_values(const comparison *c, seer_use *use, seer_arena *arena) {
  const seer_graph *graph = c->network->set[use->set]->graph;
  kept_values kept = {use, graph, SEER_NEW_ARRAY(arena, int32_t, graph->n_value),
      SEER_NEW_ARRAY(arena, int32_t, graph->n_value),
      SEER_NEW_ARRAY(arena, seer_io_info, graph->n_output + 1)};
  for (uint32_t i = 0; i < graph->n_input; i++) kept.input[graph->input[i].i] = (int32_t)i + 1;
  for (uint32_t i = 0; i < graph->n_output; i++) {
    kept.output[graph->output[i].i] = (int32_t)i + 1;
    kept.io[i] = seer_use_output(use, (int32_t)i);
  }
  return kept;
}

static seer_status judge_literal(comparison *c, bool *out_is_ok) {
  seer_arena *arena = c->literal.arena;
  kept_values kept = keep_values(c, &c->literal, arena);
  seer_steps_verdict v;
  SEER_TRY(seer_verify_steps(c->network->set[c->literal.set], see_value, &kept, INTERPRETER_BUDGET,
      (uint64_t)seer_context_i64(c->context, SEER_OPT_SEED), arena, &v));
  if (v.wrong[0]) {
    printf("%-24s node '%s' (%s) %s: DIFFERS\n", "reference", seer_text_safe(arena, v.wrong_node),
        v.wrong_ops, v.wrong);
    *out_is_ok = false;
    return SEER_OK;
  }
  printf("%-24s %u nodes agree with the interpreter in %.0f of %.0f elements", "reference",
      v.n_judged, v.n_compared, v.n_elems);
  if (v.n_runtime > 0) printf("; %u are functions of the runtime", v.n_runtime);
  if (v.n_unseen > 0) printf("; %u are in loops, or about sizes that data decide", v.n_unseen);
  printf(": ok\n");
  return SEER_OK;
}

static seer_status compare(comparison *c, bool *out_is_ok) {
  SEER_TRY(seer_use_fill(c->context, &c->tuned));
  SEER_TRY(seer_use_fill(c->context, &c->literal));
  SEER_TRY(run_both(&c->tuned, &c->literal));
  if (c->tuned.n_sets > 1) printf("%s\n", seer_use_shapes(&c->tuned, c->tuned.set));
  for (int32_t i = 0; i < c->tuned.n_outputs; i++) {
    const seer_io_info expected = seer_use_output(&c->literal, i);
    *out_is_ok = compare_output(c, i, &expected, c->literal.output[i]) && *out_is_ok;
  }
  return judge_literal(c, out_is_ok);
}

// ---- ONNX Runtime

static seer_status compare_with_onnxruntime(comparison *c, bool *out_is_ok) {
  const seer_graph *graph = c->network->set[c->literal.set]->graph;
  seer_against answers;
  SEER_TRY(seer_use_fill(c->context, &c->tuned));
  SEER_TRY(seer_use_run(&c->tuned));
  SEER_TRY(seer_against_onnxruntime(
      c->context, c->python, c->model, &c->tuned, graph, c->dir, &answers));
  if (c->tuned.n_sets > 1) printf("%s\n", seer_use_shapes(&c->tuned, c->tuned.set));
  for (int32_t i = 0; i < c->tuned.n_outputs; i++)
    *out_is_ok = compare_output(c, i, &answers.io[i], answers.data[i]) && *out_is_ok;
  printf("%-24s ONNX Runtime %s\n", "reference", answers.version);
  return SEER_OK;
}

// All sets of input shapes that the reference has, or the one that the given inputs are of.
static seer_status compare_sets(comparison *c) {
  seer_use *literal = &c->literal;
  bool has_inputs = seer_context_n_values(c->context, SEER_OPT_INPUT) > 0, is_ok = true;
  bool is_peer = strcmp(c->against, "onnxruntime") == 0;
  if (has_inputs) SEER_TRY(seer_use_choose(c->context, literal));
  int32_t first = has_inputs ? literal->set : 0;
  int32_t end = has_inputs ? first + 1 : literal->n_sets;
  for (int32_t set = first; set < end; set++) {
    SEER_TRY(seer_use_select(literal, set));
    SEER_TRY(select_same(&c->tuned, literal, c->model));
    SEER_TRY(is_peer ? compare_with_onnxruntime(c, &is_ok) : compare(c, &is_ok));
  }
  return is_ok ? SEER_OK
               : SEER_FAIL(INVALID, "%s: outputs differ from %s of %s", c->tuned.path,
                     is_peer ? "ONNX Runtime's" : "those of untiled code", c->model);
}

// The sets of a library as --input-shapes has them, unless the user gave some.
static seer_status take_shapes(seer_context *context, seer_use *use) {
  if (use->n_sets == 1 || seer_context_n_values(context, SEER_OPT_INPUT_SHAPES) > 0) return SEER_OK;
  for (int32_t set = 0; set < use->n_sets; set++) {
    seer_text text;
    seer_text_init(&text, use->arena);
    for (int32_t i = 0; i < use->n_inputs; i++) {
      const seer_io_info *io = use->api->set_input(use->model, set, i);
      if (io->rank == 0) continue;
      seer_text_printf(&text, "%s%s:", text.n_bytes > 0 ? "," : "", io->name);
      for (int32_t k = 0; k < io->rank; k++)
        seer_text_printf(&text, "%s%" PRId64, k > 0 ? "x" : "", io->dim[k]);
    }
    SEER_TRY(seer_context_set(context, "input-shapes", text.n_bytes > 0 ? text.data : ""));
  }
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  seer_arena *arena = seer_arena_create("verify");
  comparison c = {.context = context,
      .model = argv[1],
      .against = seer_context_str(context, SEER_OPT_AGAINST),
      .python = seer_context_str(context, SEER_OPT_PYTHON),
      .rtol = seer_context_f64(context, SEER_OPT_RTOL)};
  if (!seer_context_is_set(context, SEER_OPT_RTOL)) c.rtol = -1;
  seer_status status = seer_use_open(
      context, argv[0], seer_context_str(context, SEER_OPT_WEIGHTS), NULL, false, arena, &c.tuned);
  if (!status) status = take_shapes(context, &c.tuned);
  if (!status) status = seer_bound_take(context, &c.tuned);
  if (!status) status = seer_os_temp_dir("familyseer-verify", arena, &c.dir);
  if (!status) status = build_literal(&c, arena);
  if (!status) status = seer_use_open(context, c.dir, "", c.tuned.pool, false, arena, &c.literal);
  if (!status) status = seer_bound_compare(&c.tuned, &c.literal);
  if (!status) status = compare_sets(&c);
  seer_use_close(&c.literal);
  seer_use_close(&c.tuned);
  if (c.network) seer_graph_close(c.network->graph);
  if (c.dir) status = seer_status_join(status, seer_os_remove_tree(c.dir));
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_verify = {
    .name = "verify",
    .args =
        "MODEL.so MODEL [--input-shapes ...] [--bind NAME=x.npy]... [-i NAME=x.npy]... [--rtol R] "
        "[--against onnxruntime]",
    .doc = "compares a compiled model with the network as its file has it, or with ONNX Runtime",
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
