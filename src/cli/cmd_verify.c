// cmd_verify.c - familyseer verify: a compiled model against untiled code of the same network, on
// the same inputs, for each set of input shapes. No other runtime is needed: the plainest code is
// simple enough to be the reference, and differs from tuned code in everything that tuning changes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/bound.h"
#include "cli/use.h"
#include "models/models.h"
#include "tune/select/gather.h"
#include "tune/select/plain.h"

static seer_status build_reference(
    seer_context *context, const char *model, const char *dir, seer_arena *arena) {
  SEER_TRY(seer_context_find_target(context));
  seer_network *network = NULL;
  SEER_TRY(seer_front_load(context, model, seer_model_build, arena, &network));
  seer_choice *choices = NULL;
  seer_status status = seer_plain_choices(context, network, arena, &choices);
  if (!status) status = seer_select_build(context, network, choices, SEER_BUILD_LIBRARY, dir);
  seer_graph_close(network->graph);
  return status;
}

// The set of `tuned` with the inputs of the set that `reference` has selected.
static seer_status select_same(seer_use *tuned, const seer_use *reference, const char *model) {
  bool is_same = tuned->n_inputs == reference->n_inputs && tuned->n_outputs == reference->n_outputs;
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

static seer_status compare(
    seer_context *context, seer_use *tuned, seer_use *reference, bool *out_is_ok) {
  SEER_TRY(seer_use_fill(context, tuned));
  SEER_TRY(seer_use_fill(context, reference));
  SEER_TRY(run_both(tuned, reference));
  if (tuned->n_sets > 1) printf("%s\n", seer_use_shapes(tuned, tuned->set));
  for (int32_t i = 0; i < tuned->n_outputs; i++) {
    const seer_io_info now = seer_use_output(tuned, i), *io = &now;
    const seer_io_info other = seer_use_output(reference, i);
    uint64_t n = 1;
    for (int32_t k = 0; k < io->rank; k++) n *= (uint64_t)io->dim[k];
    if (memcmp(io->dim, other.dim, (size_t)io->rank * sizeof io->dim[0]) != 0) {
      printf("%-24s is %s, untiled code says %s: DIFFERS\n", seer_text_safe(tuned->arena, io->name),
          seer_shape_text(io->dim, io->rank, tuned->arena),
          seer_shape_text(other.dim, other.rank, tuned->arena));
      *out_is_ok = false;
      continue;
    }
    seer_difference d = seer_compare(io->onnx_dtype, tuned->output[i], reference->output[i], n,
        seer_context_f64(context, SEER_OPT_RTOL), seer_context_f64(context, SEER_OPT_ATOL));
    printf("%-24s max error %.3g (%.3g of the largest, %g): %s\n",
        seer_text_safe(tuned->arena, io->name), d.max_error,
        d.max_expected > 0 ? d.max_error / d.max_expected : d.max_error, d.max_expected,
        d.is_ok ? "ok" : "DIFFERS");
    *out_is_ok = *out_is_ok && d.is_ok;
  }
  return SEER_OK;
}

// All sets of input shapes that the reference has, or the one that the given inputs are of.
static seer_status compare_sets(
    seer_context *context, seer_use *tuned, seer_use *reference, const char *model) {
  bool has_inputs = seer_context_n_values(context, SEER_OPT_INPUT) > 0, is_ok = true;
  if (has_inputs) SEER_TRY(seer_use_choose(context, reference));
  int32_t first = has_inputs ? reference->set : 0;
  int32_t end = has_inputs ? first + 1 : reference->n_sets;
  for (int32_t set = first; set < end; set++) {
    SEER_TRY(seer_use_select(reference, set));
    SEER_TRY(select_same(tuned, reference, model));
    SEER_TRY(compare(context, tuned, reference, &is_ok));
  }
  return is_ok
      ? SEER_OK
      : SEER_FAIL(INVALID, "%s: outputs differ from untiled code of %s", tuned->path, model);
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
  seer_use tuned = {0}, reference = {0};
  const char *dir = NULL;
  seer_status status = seer_use_open(
      context, argv[0], seer_context_str(context, SEER_OPT_WEIGHTS), NULL, false, arena, &tuned);
  if (!status) status = take_shapes(context, &tuned);
  if (!status) status = seer_bound_take(context, &tuned);
  if (!status) status = seer_os_temp_dir("familyseer-verify", arena, &dir);
  if (!status) status = build_reference(context, argv[1], dir, arena);
  if (!status) status = seer_use_open(context, dir, "", tuned.pool, false, arena, &reference);
  if (!status) status = seer_bound_compare(&tuned, &reference);
  if (!status) status = compare_sets(context, &tuned, &reference, argv[1]);
  seer_use_close(&reference);
  seer_use_close(&tuned);
  if (dir) status = seer_status_join(status, seer_os_remove_tree(dir));
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_verify = {
    .name = "verify",
    .args =
        "MODEL.so MODEL [--input-shapes ...] [--bind NAME=x.npy]... [-i NAME=x.npy]... [--rtol R]",
    .doc = "compares a compiled model with untiled code of the same network",
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
