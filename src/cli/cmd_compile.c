// cmd_compile.c - familyseer compile: a network and the best schedules that are known -> model.so
// (or an object, or its source) and what belongs to it. Never measures times; what a lower
// precision changes in the outputs is measured, before anything is written (tune/precision.h).
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/command.h"
#include "tune/precision.h"

// Words of --emit, and what there is afterwards.
static const struct {
  const char *word, *file;
} emits[] = {[SEER_BUILD_LIBRARY] = {"so", "model.so"},
    [SEER_BUILD_OBJECT] = {"obj", "model.o"},
    [SEER_BUILD_SOURCE] = {"c", "Makefile"}};

// What was decided; `start` is when that began.
static seer_status compile_decided(
    const seer_precise *precise, seer_build_kind kind, const char *out_dir, uint64_t start) {
  const seer_network *network = precise->taken->network;
  const seer_choose_counts counts = precise->taken->counts;
  SEER_TRY(seer_precise_write(precise, kind, out_dir));
  uint32_t n_step = 0;
  for (uint32_t s = 0; s < network->n_set; s++) n_step += network->set[s]->n_step;
  fprintf(stderr, "%u of %u tasks tuned, %u from relatives; %u steps", counts.n_record,
      network->n_task, counts.n_sibling, n_step);
  if (network->n_set > 1) fprintf(stderr, " for %u sets of shapes", network->n_set);
  if (counts.n_apart)
    fprintf(stderr, ", %u tasks with weights packed for them alone", counts.n_apart);
  fprintf(stderr, ": %s/%s in %.1f s\n", out_dir, emits[kind].file,
      (double)(seer_os_now_ns() - start) * 1e-9);
  if (kind == SEER_BUILD_SOURCE) fprintf(stderr, "make -C %s makes model.so of it\n", out_dir);
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  const char *out_dir = seer_context_str(context, SEER_OPT_OUTPUT);
  if (!*out_dir) return seer_usage_error("-o DIR is missing: where model.so goes");
  const char *emit = seer_context_str(context, SEER_OPT_EMIT);
  size_t kind = 0;
  while (kind + 1 < SEER_COUNT_OF(emits) && strcmp(emit, emits[kind].word) != 0) kind++;
  SEER_TRY(seer_context_find_target(context));
  seer_arena *arena = seer_arena_create("model");
  seer_precise precise;
  seer_status status = seer_precise_open(context, argv[0], arena, &precise);
  if (!status) seer_cli_print_notices(precise.version[0].network);
  uint64_t start = seer_os_now_ns();
  if (!status) status = seer_precise_decide(&precise, SEER_PRECISE_COMPILE);
  if (!status) status = compile_decided(&precise, (seer_build_kind)kind, out_dir, start);
  seer_precise_close(&precise);
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_compile = {
    .name = "compile",
    .args =
        "MODEL -o DIR [-O0|-O1|-O2|-O3] [--input-shapes x:1x3x224x224]... [--bind NAME=x.npy]... "
        "[--target TARGET] [--emit so|obj|c] [--precision bf16|f16|auto [--tolerance X] [-i "
        "NAME=x.npy]...]",
    .doc =
        "writes model.so (or model.o, or C), model.h, weights.bin, model.json from the best "
        "schedules "
        "known; measures no times",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
