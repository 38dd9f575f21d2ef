// build.c - the order of a build: kernels, then plans and weights (each needs the kernels'
// arguments), then what is made of them (the link, or the sources), then everything is renamed into
// place. Until the renames nothing in the destination changes; weights come first and model.so (or
// the Makefile) last, and a model refuses weights of another build.
#include <string.h>
#include <xxhash.h>

#include "base/recover.h"
#include "code/artefact/internal.h"
#include "code/dump.h"
#include "front/custom/custom.h"
#include "front/limit.h"

static const seer_build_form forms[] = {
    [SEER_BUILD_LIBRARY] = {"model.so", "LLVM", seer_build_can_link, seer_build_begin_objects,
        seer_build_end_objects, seer_build_object_kernel, seer_build_link, NULL, true},
    [SEER_BUILD_OBJECT] = {"model.o", "LLVM", seer_build_can_link, seer_build_begin_objects,
        seer_build_end_objects, seer_build_object_kernel, seer_build_relink, NULL, true},
    [SEER_BUILD_SOURCE] = {"Makefile", "C", seer_build_can_write, NULL, NULL,
        seer_build_source_kernel, seer_build_sources, seer_build_tidy_sources, false},
};

// The same of GPUs. `check` NULL: there is none.
static const seer_build_form device_forms[] = {
    [SEER_BUILD_LIBRARY] = {"model.so", "the device's compiler", seer_build_can_use_device,
        seer_build_begin_device, seer_build_end_device, seer_build_device_kernel, seer_build_link,
        NULL, true},
    [SEER_BUILD_OBJECT] = {"model.o", "the device's compiler", seer_build_can_use_device,
        seer_build_begin_device, seer_build_end_device, seer_build_device_kernel, seer_build_relink,
        NULL, true},
    [SEER_BUILD_SOURCE] = {"Makefile", NULL, NULL, NULL, NULL, NULL, NULL, NULL, false},
};

static seer_status find_form(
    const seer_target *target, seer_build_kind kind, const seer_build_form **out) {
  *out = target->kind == SEER_TARGET_CPU ? &forms[kind] : &device_forms[kind];
  if ((*out)->check) return SEER_OK;
  return SEER_FAIL(
      UNSUPPORTED, "libraries for GPUs are not written as C yet: --emit so, obj or kernels");
}

// Of a network that has such operators, those of users; else NULL.
static const seer_custom *find_custom(const seer_network *network) {
  for (uint32_t s = 0; s < network->n_set; s++) {
    const seer_graph *graph = network->set[s]->graph;
    for (uint32_t k = 1; k < graph->n_node; k++)
      if (!graph->node[k].is_dead && seer_custom_of(&graph->node[k])) return graph->custom;
  }
  return NULL;
}

static void log_phase(const seer_context *context, const char *what, uint64_t *start) {
  uint64_t now = seer_os_now_ns();
  seer_log(context, "build", 1, "%s: %.3f s", what, (double)(now - *start) * 1e-9);
  *start = now;
}

// ---- what is linked

static seer_status join_plans(seer_built_plan *plan, uint32_t n, const char *json,
    seer_arena *arena, seer_built_library *out) {
  *out = (seer_built_library){0};
  size_t n_bytes = 0;
  for (uint32_t s = 0; s < n; s++) {
    seer_plan_header *header = &plan[s].header;
    const char *text = s == 0 ? json : "";
    header->json_bytes = (uint32_t)strlen(text) + 1;
    header->json_offset =
        (uint32_t)seer_text_put_aligned(&plan[s].body, text, header->json_bytes, 8);
    header->n_bytes = (uint32_t)plan[s].body.n_bytes;
    if (plan[s].body.n_bytes > UINT32_MAX)
      return SEER_FAIL(UNSUPPORTED, "the plan has %zu bytes, at most 4 GiB", plan[s].body.n_bytes);
    n_bytes = (n_bytes + SEER_PLAN_ALIGN - 1) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN + header->n_bytes;
    out->n_phase += header->n_phase;
  }
  uint8_t *bytes = seer_arena_alloc(arena, n_bytes, SEER_PLAN_ALIGN);
  memset(bytes, 0, n_bytes);
  out->phase_symbol = SEER_NEW_ARRAY(arena, const char *, out->n_phase + 1);
  size_t at = 0;
  uint32_t n_phase = 0;
  for (uint32_t s = 0; s < n; s++) {
    at = (at + SEER_PLAN_ALIGN - 1) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN;
    memcpy(bytes + at, plan[s].body.data, plan[s].body.n_bytes);
    memcpy(bytes + at, &plan[s].header, sizeof plan[s].header);
    at += plan[s].body.n_bytes;
    for (uint32_t i = 0; i < plan[s].header.n_phase; i++)
      out->phase_symbol[n_phase++] = plan[s].phase_symbol[i];
  }
  uint64_t begins[SEER_PLAN_MAX_SETS];
  uint32_t n_found = 0;
  const char *wrong = seer_library_check(bytes, n_bytes, begins, &n_found);
  // Sizes come from the network and from schedules: what is too large is said, not asserted.
  if (wrong)
    return SEER_FAIL(UNSUPPORTED, "a library of these kernels could not be run: %s", wrong);
  SEER_ASSERT(n_found == n, "%u plans of %u", n_found, n);
  out->blob = bytes;
  out->n_bytes = n_bytes;
  out->hash = XXH3_64bits(bytes, n_bytes);
  return SEER_OK;
}

// ---- the build

typedef struct {
  seer_build_scope scope;
  const seer_choice *choice;
  seer_step_packs *const *packs;
  const char *out_dir;
  seer_built_kernels kernels;
  seer_weight_file *weights;
  seer_built_files files;
  seer_arena *arena;
  bool is_back;  // not left because memory ran out: then the kernels' arenas are gone already
} build;

static bool flushes_denormals(const build *b) {
  return seer_context_bool(b->scope.context, SEER_OPT_FLUSH_DENORMALS);
}

// Of C for any processor the runtime finds out where it is compiled.
static seer_status check_mode(const build *b) {
  const seer_target *target = seer_context_target(b->scope.context);
  if (target->kind != SEER_TARGET_CPU && flushes_denormals(b))
    return SEER_FAIL(UNSUPPORTED, "--flush-denormals: kernels of GPUs keep denormal numbers");
  bool has_mode = target->kind != SEER_TARGET_CPU || seer_target_is_c(target) ||
      strncmp(target->triple, "x86_64", 6) == 0 || strncmp(target->triple, "aarch64", 7) == 0;
  if (has_mode || !flushes_denormals(b)) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED,
      "--flush-denormals: the runtime knows no such mode of %s, only of x86_64 and aarch64",
      target->triple);
}

// All plans, and the weights that they read.
static seer_status plan_all(build *b, seer_built_plan *plan) {
  const seer_context *context = b->scope.context;
  const seer_network *network = b->scope.network;
  const char *path = seer_build_add_file(&b->files, "weights.bin");
  uint64_t file_bytes = network->graph->file_bytes;
  uint64_t max_bytes = file_bytes ? seer_front_limit_bytes(context, file_bytes) : UINT64_MAX;
  const seer_weight_answers *known = seer_build_kept_weights(&b->scope, &b->kernels, path);
  SEER_TRY(known ? seer_weight_file_recall(known, b->arena, &b->weights)
                 : seer_weight_file_create(path, max_bytes, b->arena, &b->weights));
  for (uint32_t s = 0; s < network->n_set; s++)
    SEER_TRY(seer_build_plan(
        context, network, s, &b->kernels, b->choice, b->weights, b->arena, &plan[s]));
  seer_build_range(context, network, b->choice, b->arena, &plan[0]);
  uint64_t weight_bytes, weight_hash;
  SEER_TRY(seer_weight_file_finish(b->weights, &weight_bytes, &weight_hash));
  for (uint32_t s = 0; s < network->n_set; s++) {
    plan[s].header.weight_bytes = weight_bytes;
    plan[s].header.weight_hash = weight_hash;
    plan[s].header.flushes_denormals = flushes_denormals(b);
  }
  return SEER_OK;
}

static seer_status build_into(build *b) {
  const seer_context *context = b->scope.context;
  const seer_network *network = b->scope.network;
  const seer_build_form *form = b->scope.form;
  seer_arena *arena = b->arena;
  uint64_t start = seer_os_now_ns();
  const seer_custom *custom = find_custom(network);
  if (custom && !form->takes_objects)
    return SEER_FAIL(UNSUPPORTED,
        "operators of --operators are objects, and --emit c writes C: --emit so or obj");
  SEER_TRY(check_mode(b));
  SEER_TRY(seer_build_kernels(&b->scope, b->choice, b->packs, arena, &b->kernels));
  log_phase(context, "kernels", &start);
  seer_built_plan *plan = SEER_NEW_ARRAY(arena, seer_built_plan, network->n_set);
  SEER_TRY(plan_all(b, plan));
  log_phase(context, "weights", &start);
  const char *json = seer_build_json(context, network, &b->kernels, b->choice, plan, arena);
  const char *header = seer_build_header(network, arena);
  SEER_TRY(seer_build_put_file(&b->files, "model.json", json, strlen(json)));
  SEER_TRY(seer_build_put_file(&b->files, "model.h", header, strlen(header)));
  seer_built_library library;
  SEER_TRY(join_plans(plan, network->n_set, json, arena, &library));
  library.name = network->graph->name;
  library.custom = custom;
  SEER_TRYF(form->finish(context, &b->kernels, &library, &b->files), "making %s", form->file);
  log_phase(context, "link", &start);
  SEER_TRY(seer_graph_check_files(network->graph));
  SEER_TRY(seer_build_put_in_place(&b->files, b->out_dir));
  return form->tidy ? form->tidy(&b->files, b->out_dir) : SEER_OK;
}

static seer_status build_and_come_back(void *user) {
  build *b = user;
  seer_status status = build_into(b);
  b->is_back = true;
  return status;
}

static seer_status keep(void *user) {
  build *b = user;
  seer_build_keep(&b->scope, &b->kernels, seer_weight_file_answers(b->weights),
      seer_os_path_join(b->arena, b->out_dir, "weights.bin"));
  return SEER_OK;
}

seer_status seer_build_model(const seer_context *context, const seer_network *network,
    const seer_choice *choice, seer_step_packs *const *packs, seer_build_kind kind,
    seer_build_kept *kept, const char *out_dir) {
  const seer_build_form *form;
  SEER_TRY(find_form(seer_context_target(context), kind, &form));
  SEER_TRY(form->check(context, out_dir));
  SEER_TRY(seer_os_make_dirs(out_dir));
  seer_arena *arena = seer_arena_create("build");
  bool keeps = kind == SEER_BUILD_LIBRARY && !seer_dump_any(context);
  build b = {.scope = {context, network, form, keeps ? kept : NULL},
      .choice = choice,
      .packs = packs,
      .out_dir = out_dir,
      .arena = arena};
  seer_os_work_dir work;
  seer_status status = seer_os_work_dir_open(out_dir, ".build", arena, &work);
  if (!status) {
    b.files = (seer_built_files){.arena = arena, .work_dir = work.path};
    status = seer_front_limited(context, network->graph->file_bytes, build_and_come_back, &b);
    seer_weight_file_close(b.weights);
    if (!status && b.scope.kept) status = seer_recover(keep, &b);
    if (b.is_back) seer_build_kernels_clear(&b.kernels);
    status = seer_status_join(status, seer_os_work_dir_close(&work));
  }
  seer_arena_destroy(arena);
  return status;
}

seer_status seer_build_move(const char *from, const char *to) {
  static const char *const names[] = {"weights.bin", "model.json", "model.h", "model.so"};
  seer_arena *arena = seer_arena_create("move");
  seer_built_files files = {.arena = arena, .work_dir = from};
  for (size_t i = 0; i < SEER_COUNT_OF(names); i++) seer_build_add_file(&files, names[i]);
  seer_status status = seer_os_make_dirs(to);
  if (!status) status = seer_build_put_in_place(&files, to);
  seer_arena_destroy(arena);
  return status;
}
