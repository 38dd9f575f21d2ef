// cmd_verify.c - familyseer verify: a compiled model against untiled code of the same network, on
// the same inputs. No other runtime is needed: the plainest code is simple enough to be the
// reference, and differs from tuned code in everything that tuning changes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/use.h"
#include "code/choice.h"
#include "models/models.h"

static seer_status build_reference(
    seer_context *context, const char *model, const char *dir, seer_arena *arena) {
  SEER_TRY(seer_context_find_target(context));
  seer_network *network = NULL;
  SEER_TRY(seer_front_load(context, model, seer_model_build, arena, &network));
  seer_choice *choices = NULL;
  seer_status status = seer_default_choices(context, network, 0, arena, &choices);
  if (!status) status = seer_build_model(context, network, choices, dir);
  seer_graph_close(network->graph);
  return status;
}

static seer_status same_shapes(const seer_use *a, const seer_use *b, const char *model) {
  bool is_same = a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs;
  for (int32_t i = 0; i < a->n_inputs && is_same; i++)
    is_same = a->api->input(a->model, i)->n_bytes == b->api->input(b->model, i)->n_bytes;
  for (int32_t i = 0; i < a->n_outputs && is_same; i++)
    is_same = a->api->output(a->model, i)->n_bytes == b->api->output(b->model, i)->n_bytes;
  if (is_same) return SEER_OK;
  return SEER_FAIL(
      INVALID, "%s was not made from %s, or with other --input-shapes", a->path, model);
}

static seer_status compare(
    seer_context *context, seer_use *tuned, seer_use *reference, const char *model) {
  SEER_TRY(same_shapes(tuned, reference, model));
  SEER_TRY(seer_use_fill(context, tuned));
  SEER_TRY(seer_use_fill(context, reference));
  SEER_TRY(seer_use_run(tuned));
  SEER_TRY(seer_use_run(reference));
  bool is_ok = true;
  for (int32_t i = 0; i < tuned->n_outputs; i++) {
    const seer_io_info now = seer_use_output(tuned, i), *io = &now;
    const seer_io_info other = seer_use_output(reference, i);
    uint64_t n = 1;
    for (int32_t k = 0; k < io->rank; k++) n *= (uint64_t)io->dim[k];
    if (memcmp(io->dim, other.dim, (size_t)io->rank * sizeof io->dim[0]) != 0) {
      printf("%-24s is %s, untiled code says %s: DIFFERS\n", io->name,
          seer_shape_text(io->dim, io->rank, tuned->arena),
          seer_shape_text(other.dim, other.rank, tuned->arena));
      is_ok = false;
      continue;
    }
    seer_difference d = seer_compare(io->onnx_dtype, tuned->output[i], reference->output[i], n,
        seer_context_f64(context, SEER_OPT_RTOL), seer_context_f64(context, SEER_OPT_ATOL));
    printf("%-24s max error %.3g (%.3g of the largest, %g): %s\n", io->name, d.max_error,
        d.max_expected > 0 ? d.max_error / d.max_expected : d.max_error, d.max_expected,
        d.is_ok ? "ok" : "DIFFERS");
    is_ok = is_ok && d.is_ok;
  }
  return is_ok
      ? SEER_OK
      : SEER_FAIL(INVALID, "%s: outputs differ from untiled code of %s", tuned->path, model);
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  seer_arena *arena = seer_arena_create("verify");
  seer_use tuned = {0}, reference = {0};
  const char *dir = NULL;
  seer_status status = seer_use_open(context, argv[0], NULL, false, arena, &tuned);
  if (!status) status = seer_os_temp_dir("familyseer-verify", arena, &dir);
  if (!status) status = build_reference(context, argv[1], dir, arena);
  if (!status) status = seer_use_open(context, dir, tuned.pool, false, arena, &reference);
  if (!status) status = compare(context, &tuned, &reference, argv[1]);
  seer_use_close(&reference);
  seer_use_close(&tuned);
  if (dir) status = seer_status_join(status, seer_os_remove_tree(dir));
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_verify = {
    .name = "verify",
    .args = "MODEL.so MODEL [--input-shapes ...] [-i NAME=x.npy]... [--rtol R]",
    .doc = "compares a compiled model with untiled code of the same network",
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
