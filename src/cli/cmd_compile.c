// cmd_compile.c - familyseer compile: a network and the best schedules that are known -> model.so
// (or an object, its source, or kernels for a GPU) and what belongs to it. Never measures times;
// what a lower precision changes in the outputs is measured, before anything is written
// (tune/compile.h).
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/command.h"
#include "tune/compile.h"

// Of GPUs, in place of a library: a folder of kernels.
#define KERNELS "kernels"

// Other words of --emit, and what there is afterwards.
static const struct {
  const char *word, *file;
} emits[] = {[SEER_BUILD_LIBRARY] = {"so", "model.so"},
    [SEER_BUILD_OBJECT] = {"obj", "model.o"},
    [SEER_BUILD_SOURCE] = {"c", "Makefile"}};

static void tell(
    const seer_precise *precise, seer_build_kind kind, const char *out_dir, double seconds) {
  const seer_network *network = precise->taken->network;
  const seer_choose_counts counts = precise->taken->counts;
  uint32_t n_step = 0;
  for (uint32_t s = 0; s < network->n_set; s++) n_step += network->set[s]->n_step;
  fprintf(stderr, "%u of %u tasks tuned, %u from relatives; %u steps", counts.n_record,
      network->n_task, counts.n_sibling, n_step);
  if (network->n_set > 1) fprintf(stderr, " for %u sets of shapes", network->n_set);
  if (counts.n_apart)
    fprintf(stderr, ", %u tasks with weights packed for them alone", counts.n_apart);
  fprintf(stderr, ": %s/%s in %.1f s\n", out_dir, emits[kind].file, seconds);
  if (kind == SEER_BUILD_SOURCE) fprintf(stderr, "make -C %s makes model.so of it\n", out_dir);
}

static void hear_loaded(void *user, const seer_network *network) {
  uint64_t *start = user;
  seer_cli_print_notices(network);
  *start = seer_os_now_ns();
}

static void tell_kernels(
    const seer_emitted *done, const char *precision, const char *out_dir, double seconds) {
  fprintf(stderr, "%u kernels of %u tasks, untuned", done->n_kernel, done->n_task);
  if (done->n_without) fprintf(stderr, ", %u tasks without one", done->n_without);
  if (done->n_host)
    fprintf(stderr, ", %u step%s on the host", done->n_host, done->n_host == 1 ? "" : "s");
  if (done->register_error > 0)
    fprintf(stderr, "; %u spill, registers were estimated to %.0f %% (median)", done->n_spilling,
        100 * done->register_error);
  if (strcmp(precision, "f32") != 0)
    fprintf(stderr, "; what %s changes in outputs is not judged of kernels", precision);
  fprintf(stderr, "; %s%s: %s/kernels.txt in %.1f s\n", *done->compiler ? "compiled by " : "",
      *done->compiler ? done->compiler : "not compiled, no OpenCL device is here", out_dir,
      seconds);
}

static seer_status run_kernels(seer_compile_request *request) {
  seer_context *context = request->context;
  const seer_target *target = seer_context_target(context);
  char name[SEER_TARGET_NAME_BYTES];
  seer_target_name(target, name);
  if (target->kind == SEER_TARGET_CPU)
    return SEER_FAIL(INVALID,
        "--emit " KERNELS " is for GPUs, and target %s is a processor: --target cuda:sm_90", name);
  if (seer_context_bool(context, SEER_OPT_STRICT))
    return SEER_FAIL(NOT_FOUND, "--strict: target %s: no task of a GPU has a record yet", name);
  seer_arena *arena = seer_arena_create("kernels");
  seer_emitted done;
  uint64_t *start = request->user;
  seer_status status = seer_compile_kernels(request, arena, &done);
  if (!status)
    tell_kernels(&done, seer_context_str(context, SEER_OPT_PRECISION), request->folder,
        (double)(seer_os_now_ns() - *start) * 1e-9);
  seer_arena_destroy(arena);
  return status;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  const char *out_dir = seer_context_str(context, SEER_OPT_OUTPUT);
  if (!*out_dir) return seer_usage_error("-o DIR is missing: where model.so goes");
  const char *emit = seer_context_str(context, SEER_OPT_EMIT);
  size_t kind = 0;
  while (kind + 1 < SEER_COUNT_OF(emits) && strcmp(emit, emits[kind].word) != 0) kind++;
  bool is_kernels = strcmp(emit, KERNELS) == 0;
  SEER_TRY(seer_context_find_any_target(context));
  uint64_t start = 0;
  seer_compile_request request = {.context = context,
      .model = argv[0],
      .kind = (seer_build_kind)kind,
      .folder = out_dir,
      .hear_loaded = hear_loaded,
      .user = &start};
  if (is_kernels) return run_kernels(&request);
  seer_arena *arena = seer_arena_create("model");
  seer_precise precise = {0};
  seer_status status = seer_compile(&request, arena, &precise);
  if (!status) tell(&precise, request.kind, out_dir, (double)(seer_os_now_ns() - start) * 1e-9);
  seer_precise_close(&precise);
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_compile = {
    .name = "compile",
    .args =
        "MODEL -o DIR [-O0|-O1|-O2|-O3] [--input-shapes x:1x3x224x224]... [--bind NAME=x.npy]... "
        "[--target TARGET] [--emit so|obj|c|kernels] [--precision bf16|f16|tf32|auto [--tolerance "
        "X] "
        "[-i "
        "NAME=x.npy]...]",
    .doc =
        "writes model.so (or model.o, or C), model.h, weights.bin, model.json from the best "
        "schedules "
        "known; measures no times",
    .example =
        "  familyseer compile my.onnx -o out\n"
        "  familyseer compile my.onnx -o out --target aarch64-linux-gnu\n",
    .flags = "output input-shapes threads target precision tolerance bind records opt-level emit",
    .min_args = 1,
    .max_args = 1,
    .takes_gpus = true,
    .run = run,
};
