// cmd_verify.c - familyseer verify: a compiled model against the network as its file has it, on the
// same inputs, for each set of input shapes. The reference is untiled code, a kernel for each node,
// with no pass run; each node's result is in turn held against the DAG's interpreter on the values
// that it had, so that what code generation may do wrong to both does not stay unseen. With
// --against onnxruntime the judge is ONNX Runtime, which shares nothing with it (cli/against.h).
// With --layers what each step leaves in memory is held against the judge's values, too
// (cli/layers.h). What the references share with what they judge: doc/verify.md.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/os.h"
#include "choose/plain.h"
#include "choose/tables.h"
#include "cli/against.h"
#include "cli/command.h"
#include "cli/layers.h"
#include "cli/verify_report.h"
#include "library/binding.h"
#include "library/description.h"
#include "library/steps.h"
#include "library/tolerance.h"
#include "library/use.h"
#include "models/models.h"

// Iterations of the interpreter for all steps of a set: a second or two.
#define INTERPRETER_BUDGET 3e7

typedef struct {
  seer_context *context;
  const char *model;  // as the user names it
  const char *python;
  bool is_peer, has_layers;
  double rtol, atol;  // rtol -1: by the types
  seer_precision products;  // what the library was made with
  bool flushes_denormals;  // so was it
  seer_use tuned, literal;  // literal: not open where ONNX Runtime is asked
  const char *dir;  // of the literal library, and of files for ONNX Runtime
  seer_network *network;  // the literal one
  seer_arena *arena;
  seer_verify_report report;
} comparison;

static seer_status build_literal(comparison *c, seer_arena *arena) {
  seer_choice *choices = NULL;
  SEER_TRY(seer_plain_choices(c->context, c->network, arena, &choices));
  SEER_TRY(seer_choice_build(c->context, c->network, choices, SEER_BUILD_LIBRARY, NULL, c->dir));
  return seer_use_open(c->context, c->dir, "", c->tuned.pool, false, arena, &c->literal);
}

// ---- sets

static const seer_graph *graph_of(const comparison *c, uint32_t set) {
  return c->network->set[set]->graph;
}

static bool has_outputs_of(const comparison *c, const seer_graph *graph) {
  const seer_use *tuned = &c->tuned;
  bool is_same = true;
  for (int32_t i = 0; i < tuned->n_outputs && is_same; i++) {
    const seer_value *value = seer_graph_value(graph, graph->output[i]);
    is_same = seer_use_declared(tuned, i)->n_bytes ==
        (uint64_t)seer_value_elems(value) * seer_dtype_bytes(value->dtype);
  }
  return is_same;
}

// The library's set with the inputs of the network's set `set`.
static seer_status select_same(comparison *c, uint32_t set) {
  seer_use *tuned = &c->tuned;
  const seer_graph *graph = graph_of(c, set);
  const char *wanted = c->network->set[set]->shapes;
  bool is_same =
      (uint32_t)tuned->n_inputs == graph->n_input && (uint32_t)tuned->n_outputs <= graph->n_output;
  int32_t own = is_same && graph->n_input > 0 ? seer_use_find(tuned, wanted) : 0;
  is_same = is_same && own >= 0;
  if (is_same) SEER_TRY(seer_use_select(tuned, own));
  if (is_same && has_outputs_of(c, graph)) return SEER_OK;
  return SEER_FAIL(
      INVALID, "%s was not made from %s, or with other --input-shapes", tuned->path, c->model);
}

// ---- runs

// What the judge has, by output of the set's graph, and what the library's run left.
typedef struct {
  seer_expected expected;
  seer_layers_verdict layers;  // with --layers
} answers;

// Where denormals are flushed, what is below the smallest normal number of f32 is as good as zero.
static double atol_of(const comparison *c) {
  return c->flushes_denormals ? fmax(c->atol, FLT_MIN) : c->atol;
}

// The library's run. What its steps leave is looked at on the way.
static seer_status run_tuned(comparison *c, answers *a) {
  return c->has_layers ? seer_layers_judge(&c->tuned, &a->expected, c->rtol, atol_of(c), &a->layers)
                       : seer_use_run(&c->tuned);
}

static void expect_literal(comparison *c, const seer_graph *graph, answers *a) {
  seer_use *literal = &c->literal;
  seer_io_info *io = SEER_NEW_ARRAY(c->arena, seer_io_info, graph->n_output + 1);
  for (uint32_t i = 0; i < graph->n_output; i++) io[i] = seer_use_output(literal, (int32_t)i);
  a->expected = (seer_expected){graph, io, (const void *const *)literal->output, c->products};
}

// Both, on the same inputs. A network may end its run (a side of an If that could not be built):
// then both do, with the same words, and there is nothing to compare.
static seer_status run_both(comparison *c, const seer_graph *graph, answers *a) {
  const seer_use *tuned = &c->tuned, *reference = &c->literal;
  seer_status literal_status = seer_use_run(&c->literal);
  expect_literal(c, graph, a);
  seer_status status = run_tuned(c, a);
  if (!status && !literal_status) return SEER_OK;
  bool is_same = status && literal_status &&
      strcmp(seer_status_message(status) + strlen(tuned->path),
          seer_status_message(literal_status) + strlen(reference->path)) == 0;
  if (is_same) {
    seer_status_free(literal_status);
    return seer_status_context(status,
        "untiled code ends in the same way; other inputs (-i, --fill, --seed) may lead elsewhere");
  }
  seer_status different = SEER_FAIL(INVALID, "%s: %s, untiled code: %s: DIFFERS", tuned->path,
      status ? seer_status_message(status) : "runs",
      literal_status ? seer_status_message(literal_status) : "runs");
  seer_status_free(status);
  seer_status_free(literal_status);
  return different;
}

// ---- the outputs

// One output against what is expected of it; says what it found.
static bool compare_output(comparison *c, int32_t i, const answers *a, double rtol) {
  const seer_use *tuned = &c->tuned;
  const seer_io_info io = seer_use_output(tuned, i), *expected = &a->expected.io[i];
  uint64_t n = 1;
  for (int32_t k = 0; k < io.rank; k++) n *= (uint64_t)io.dim[k];
  bool is_shaped = io.rank == expected->rank &&
      memcmp(io.dim, expected->dim, (size_t)io.rank * sizeof io.dim[0]) == 0;
  seer_difference d = {0};
  if (is_shaped)
    d = seer_compare(io.onnx_dtype, tuned->output[i], a->expected.data[i], n, rtol, atol_of(c));
  seer_report_output(&c->report, &io, expected, is_shaped ? &d : NULL);
  if (is_shaped && c->products != SEER_PRECISION_F32) {
    seer_deviation deviation = seer_deviation_of_output(&io, tuned->output[i], a->expected.data[i]);
    seer_report_precision(&c->report, c->products, &deviation);
  }
  return d.is_ok;
}

static bool compare_outputs(comparison *c, const answers *a) {
  const seer_graph *graph = a->expected.graph;
  const double *tolerance = seer_verify_tolerances(graph, c->products, c->arena);
  bool is_ok = true;
  for (int32_t i = 0; i < c->tuned.n_outputs; i++) {
    double rtol = c->rtol < 0 ? tolerance[graph->output[i].i] : c->rtol;
    is_ok = compare_output(c, i, a, rtol) && is_ok;
  }
  if (!c->has_layers) return is_ok;
  seer_report_layers(&c->report, &a->layers);
  return is_ok && !a->layers.wrong.name;
}

// ---- the literal library against the interpreter

// The literal network's values lie in its outputs and inputs.
typedef struct {
  seer_use *use;
  const seer_graph *graph;
  int32_t *input, *output;  // by value: 1 + index; 0: none
  const seer_io_info *io;  // by output, after the run
} kept_values;

static seer_seen_value see_value(void *user, seer_val v) {
  const kept_values *kept = user;
  if (kept->input[v.i] > 0) return (seer_seen_value){kept->use->input[kept->input[v.i] - 1], NULL};
  if (kept->output[v.i] == 0) return (seer_seen_value){NULL, NULL};
  int32_t i = kept->output[v.i] - 1;
  return (seer_seen_value){kept->use->output[i], kept->io[i].dim};
}

static kept_values keep_values(comparison *c, const answers *a) {
  const seer_graph *graph = a->expected.graph;
  kept_values kept = {&c->literal, graph, SEER_NEW_ARRAY(c->arena, int32_t, graph->n_value),
      SEER_NEW_ARRAY(c->arena, int32_t, graph->n_value), a->expected.io};
  for (uint32_t i = 0; i < graph->n_input; i++) kept.input[graph->input[i].i] = (int32_t)i + 1;
  for (uint32_t i = 0; i < graph->n_output; i++) kept.output[graph->output[i].i] = (int32_t)i + 1;
  return kept;
}

static seer_status judge_literal(comparison *c, uint32_t set, const answers *a, bool *out_is_ok) {
  kept_values kept = keep_values(c, a);
  seer_steps_verdict v;
  SEER_TRY(seer_verify_steps(c->network->set[set], see_value, &kept, INTERPRETER_BUDGET,
      (uint64_t)seer_context_i64(c->context, SEER_OPT_SEED), c->flushes_denormals, c->arena, &v));
  seer_report_nodes(&c->report, &v);
  *out_is_ok = *out_is_ok && !v.wrong[0];
  return SEER_OK;
}

// ---- one set, all sets

static void begin_set(comparison *c) {
  seer_report_set(&c->report, seer_use_shapes(&c->tuned, c->tuned.set), c->tuned.n_sets > 1);
}

static seer_status compare(comparison *c, uint32_t set, bool *out_is_ok) {
  answers a = {0};
  SEER_TRY(seer_use_select(&c->literal, (int32_t)set));
  SEER_TRY(seer_use_fill(c->context, &c->tuned));
  SEER_TRY(seer_use_fill(c->context, &c->literal));
  SEER_TRY(run_both(c, graph_of(c, set), &a));
  begin_set(c);
  *out_is_ok = compare_outputs(c, &a) && *out_is_ok;
  return judge_literal(c, set, &a, out_is_ok);
}

static seer_status compare_with_onnxruntime(comparison *c, uint32_t set, bool *out_is_ok) {
  const seer_graph *graph = graph_of(c, set);
  seer_against against;
  SEER_TRY(seer_use_fill(c->context, &c->tuned));
  SEER_TRY(seer_against_onnxruntime(
      c->context, c->python, c->model, &c->tuned, graph, c->has_layers, c->dir, &against));
  answers a = {.expected = {graph, against.io, against.data, c->products}};
  SEER_TRY(run_tuned(c, &a));
  begin_set(c);
  *out_is_ok = compare_outputs(c, &a) && *out_is_ok;
  seer_report_judge(&c->report, seer_arena_printf(c->arena, "ONNX Runtime %s", against.version));
  return SEER_OK;
}

// The set that the given inputs are of; *out_n of them from *out_first on.
static seer_status choose_sets(comparison *c, uint32_t *out_first, uint32_t *out_n) {
  *out_first = 0;
  *out_n = c->network->n_set;
  if (seer_context_n_values(c->context, SEER_OPT_INPUT) == 0 || *out_n == 1) return SEER_OK;
  SEER_TRY(seer_use_choose(c->context, &c->tuned));
  const char *wanted = seer_use_shapes(&c->tuned, c->tuned.set);
  while (*out_first < *out_n && strcmp(c->network->set[*out_first]->shapes, wanted) != 0)
    ++*out_first;
  if (*out_first == *out_n)
    return SEER_FAIL(INVALID, "the inputs are %s, of which --input-shapes has no set", wanted);
  *out_n = 1;
  return SEER_OK;
}

// All sets of input shapes that the reference has, or the one that the given inputs are of.
static seer_status compare_sets(comparison *c) {
  bool is_ok = true;
  uint32_t first, n;
  SEER_TRY(choose_sets(c, &first, &n));
  for (uint32_t set = first; set < first + n; set++) {
    SEER_TRY(select_same(c, set));
    SEER_TRY(c->is_peer ? compare_with_onnxruntime(c, set, &is_ok) : compare(c, set, &is_ok));
  }
  SEER_TRY(seer_report_end(&c->report, is_ok));
  return is_ok ? SEER_OK
               : SEER_FAIL(INVALID, "%s: %s differ from %s of %s", c->tuned.path,
                     c->has_layers ? "values" : "outputs",
                     c->is_peer ? "ONNX Runtime's" : "those of untiled code", c->model);
}

// A set of a library, or a size of its range, as --input-shapes has it.
static seer_status give_shapes(seer_context *context, const seer_use *use, int32_t set) {
  seer_text text;
  seer_text_init(&text, use->arena);
  for (int32_t i = 0; i < use->n_inputs; i++) {
    const seer_io_info *io = use->api->set_input(use->model, set, i);
    if (io->rank == 0) continue;
    seer_text_printf(&text, "%s%s:", text.n_bytes > 0 ? "," : "", io->name);
    for (int32_t k = 0; k < io->rank; k++)
      seer_text_printf(&text, "%s%" PRId64, k > 0 ? "x" : "", io->dim[k]);
  }
  return seer_context_set(context, "input-shapes", text.n_bytes > 0 ? text.data : "");
}

// The sets of a library, unless the user gave some; the size of a range that inputs are given of.
static seer_status take_shapes(seer_context *context, seer_use *use) {
  if (use->n_sets == 1 || seer_context_n_values(context, SEER_OPT_INPUT_SHAPES) > 0) return SEER_OK;
  if (seer_context_n_values(context, SEER_OPT_INPUT) > 0) SEER_TRY(seer_use_choose(context, use));
  if (use->set >= use->n_sets) return give_shapes(context, use, use->set);
  for (int32_t set = 0; set < use->n_sets; set++) SEER_TRY(give_shapes(context, use, set));
  return SEER_OK;
}

// Whether its kernels flush denormals: those of the reference do the same then.
static seer_status take_denormals(comparison *c, const json_t *info) {
  c->flushes_denormals = *seer_description_text(info, "denormals", c->arena) != '\0';
  bool is_same = seer_context_bool(c->context, SEER_OPT_FLUSH_DENORMALS) == c->flushes_denormals;
  if (seer_context_is_set(c->context, SEER_OPT_FLUSH_DENORMALS) && !is_same)
    return SEER_FAIL(INVALID, "%s was made %s --flush-denormals", c->tuned.path,
        c->flushes_denormals ? "with" : "without");
  return seer_context_set(c->context, "flush-denormals", c->flushes_denormals ? "1" : "0");
}

// What the library says that it was made with, unless the user did; a library of an earlier version
// says nothing.
static seer_status take_precision(comparison *c) {
  json_t *info;
  const seer_use *use = &c->tuned;
  bool is_given = seer_context_is_set(c->context, SEER_OPT_PRECISION);
  SEER_TRY(seer_description_read(use->path, use->api->info_json(use->model), &info));
  const char *own = seer_arena_strdup(c->arena, seer_description_text(info, "precision", c->arena));
  seer_status status = take_denormals(c, info);
  json_decref(info);
  if (status) return status;
  if (!is_given && *own) SEER_TRY(seer_context_set(c->context, "precision", own));
  SEER_TRY(seer_front_precision(c->context, &c->products));
  if (!*own || strcmp(seer_precision_name(c->products), own) == 0) return SEER_OK;
  return SEER_FAIL(INVALID, "%s was made with --precision %s, not %s", use->path, own,
      seer_precision_name(c->products));
}

static seer_status load_and_compare(comparison *c) {
  seer_context *context = c->context;
  SEER_TRY(take_shapes(context, &c->tuned));
  SEER_TRY(seer_binding_take(context, &c->tuned));
  SEER_TRY(take_precision(c));
  SEER_TRY(seer_os_temp_dir("familyseer-verify", c->arena, &c->dir));
  SEER_TRY(seer_context_find_target(context));
  SEER_TRY(seer_front_load_literal(context, c->model, seer_model_build, c->arena, &c->network));
  SEER_TRY(seer_binding_compare(&c->tuned, c->network->graph));
  if (!c->is_peer) SEER_TRY(build_literal(c, c->arena));
  return compare_sets(c);
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  seer_arena *arena = seer_arena_create("verify");
  comparison c = {.context = context,
      .model = argv[1],
      .python = seer_context_str(context, SEER_OPT_PYTHON),
      .is_peer = strcmp(seer_context_str(context, SEER_OPT_AGAINST), "onnxruntime") == 0,
      .has_layers = seer_context_bool(context, SEER_OPT_LAYERS),
      .rtol = seer_context_f64(context, SEER_OPT_RTOL),
      .atol = seer_context_f64(context, SEER_OPT_ATOL),
      .arena = arena};
  if (!seer_context_is_set(context, SEER_OPT_RTOL)) c.rtol = -1;
  seer_report_init(&c.report, seer_context_bool(context, SEER_OPT_JSON), argv[0], argv[1], arena);
  seer_status status = seer_use_open(
      context, argv[0], seer_context_str(context, SEER_OPT_WEIGHTS), NULL, false, arena, &c.tuned);
  if (!status) status = load_and_compare(&c);
  json_decref(c.report.root);
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
        "[--against onnxruntime] [--layers] [--json]",
    .doc = "compares a compiled model with the network as its file has it, or with ONNX Runtime",
    .example =
        "  familyseer verify out/model.so my.onnx\n"
        "  familyseer verify out/model.so my.onnx --against onnxruntime -i x=x.npy\n",
    .flags = "input-shapes threads bind input rtol atol against layers precision",
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
