// build.c - the order of a build: kernels, then plans and weights (each needs the kernels'
// arguments), then the link, then everything is renamed into place. Until the renames nothing in
// the destination changes; weights come first and model.so last, and model.so refuses weights of
// another build.
#include <string.h>

#include "base/recover.h"
#include "code/build/internal.h"
#include "front/limit.h"

static void log_phase(const seer_context *context, const char *what, uint64_t *start) {
  uint64_t now = seer_os_now_ns();
  seer_log(context, "build", 1, "%s: %.3f s", what, (double)(now - *start) * 1e-9);
  *start = now;
}

typedef struct {
  const seer_context *context;
  const seer_network *network;
  const seer_choice *choice;
  seer_build_kind kind;
  const char *out_dir, *work_dir;
  seer_built_kernels kernels;
  seer_weight_file *weights;
  seer_arena *arena;
  bool is_back;  // not left because memory ran out: then the kernels' arenas are gone already
} build;

static seer_status build_into(build *b) {
  const seer_context *context = b->context;
  const seer_network *network = b->network;
  const seer_choice *choice = b->choice;
  seer_build_kind kind = b->kind;
  const char *out_dir = b->out_dir, *work_dir = b->work_dir;
  seer_built_kernels *kernels = &b->kernels;
  seer_weight_file **weights = &b->weights;
  seer_arena *arena = b->arena;
  uint64_t start = seer_os_now_ns();
  seer_built_ties **ties;
  SEER_TRY(seer_build_find_ties(context, network, choice, arena, &ties));
  SEER_TRY(seer_build_kernels(context, network, choice, ties, arena, kernels));
  log_phase(context, "kernels", &start);
  const char *weights_path = seer_os_path_join(arena, work_dir, "weights.bin");
  uint64_t file_bytes = network->graph->file_bytes;
  uint64_t max_bytes = file_bytes ? seer_front_limit_bytes(context, file_bytes) : UINT64_MAX;
  SEER_TRY(seer_weight_file_create(weights_path, max_bytes, arena, weights));
  seer_built_plan *plan = SEER_NEW_ARRAY(arena, seer_built_plan, network->n_set);
  for (uint32_t s = 0; s < network->n_set; s++)
    SEER_TRY(seer_build_plan(context, network, s, kernels, choice, *weights, arena, &plan[s]));
  uint64_t weight_bytes, weight_hash;
  SEER_TRY(seer_weight_file_finish(*weights, &weight_bytes, &weight_hash));
  for (uint32_t s = 0; s < network->n_set; s++) {
    plan[s].header.weight_bytes = weight_bytes;
    plan[s].header.weight_hash = weight_hash;
  }
  log_phase(context, "weights", &start);
  const char *json = seer_build_json(context, network, kernels, choice, plan, arena);
  seer_built_library library;
  SEER_TRY(seer_build_library(plan, network->n_set, json, arena, &library));
  const char *name = kind == SEER_BUILD_OBJECT ? "model.o" : "model.so";
  const char *so_path = seer_os_path_join(arena, work_dir, name);
  SEER_TRYF(kind == SEER_BUILD_OBJECT
          ? seer_build_relink(context, kernels, &library, work_dir, so_path, arena)
          : seer_build_link(context, kernels, &library, work_dir, so_path, arena),
      "linking %s", name);
  log_phase(context, "link", &start);
  SEER_TRY(seer_graph_check_files(network->graph));

  const char *header = seer_build_header(network, arena);
  const char *json_path = seer_os_path_join(arena, work_dir, "model.json");
  const char *header_path = seer_os_path_join(arena, work_dir, "model.h");
  SEER_TRY(seer_os_write_file(json_path, json, strlen(json)));
  SEER_TRY(seer_os_write_file(header_path, header, strlen(header)));
  SEER_TRY(seer_os_rename(weights_path, seer_os_path_join(arena, out_dir, "weights.bin")));
  SEER_TRY(seer_os_rename(json_path, seer_os_path_join(arena, out_dir, "model.json")));
  SEER_TRY(seer_os_rename(header_path, seer_os_path_join(arena, out_dir, "model.h")));
  return seer_os_rename(so_path, seer_os_path_join(arena, out_dir, name));
}

static seer_status build_and_come_back(void *user) {
  build *b = user;
  seer_status status = build_into(b);
  b->is_back = true;
  return status;
}

seer_status seer_build_model_as(const seer_context *context, const seer_network *network,
    const seer_choice *choice, seer_build_kind kind, const char *out_dir) {
  const seer_target *target = seer_context_target(context);
  if (target->kind != SEER_TARGET_CPU)
    return SEER_FAIL(
        UNSUPPORTED, "a model for '%s': only CPU targets can be built", target->triple);
  SEER_TRY(seer_build_can_link(target));
  SEER_TRY(seer_os_make_dirs(out_dir));
  seer_arena *arena = seer_arena_create("build");
  build b = {.context = context,
      .network = network,
      .choice = choice,
      .kind = kind,
      .out_dir = out_dir,
      .arena = arena};
  seer_os_work_dir work;
  seer_status status = seer_os_work_dir_open(out_dir, ".build", arena, &work);
  if (!status) {
    b.work_dir = work.path;
    status = seer_front_limited(context, network->graph->file_bytes, build_and_come_back, &b);
    seer_weight_file_close(b.weights);
    if (b.is_back) seer_build_kernels_clear(&b.kernels);
    status = seer_status_join(status, seer_os_work_dir_close(&work));
  }
  seer_arena_destroy(arena);
  return status;
}

seer_status seer_build_model(const seer_context *context, const seer_network *network,
    const seer_choice *choice, const char *out_dir) {
  return seer_build_model_as(context, network, choice, SEER_BUILD_LIBRARY, out_dir);
}
