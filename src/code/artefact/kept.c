// kept.c - what one build leaves for the next ones of the process: kernels by what they are made
// from, and where the weights of a library lie. Nothing is guessed: a kernel's key is the text of
// all that its code depends on, the weights' the kernels of all steps in their order.
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "code/artefact/internal.h"

// Weights of a library that was built.
typedef struct {
  uint64_t key;
  const char *path;
  seer_os_file_id id;
  seer_weight_answers answers;
} kept_weights;

struct seer_build_kept {
  seer_arena *arena;
  seer_map *kernel_of;  // key -> index + 1
  seer_built_kernel *kernel;
  size_t n_kernel, cap_kernel;
  kept_weights *weights;
  size_t n_weights, cap_weights;
  uint32_t n_found;
};

seer_build_kept *seer_build_kept_create(void) {
  seer_arena *arena = seer_arena_create("kept builds");
  seer_build_kept *kept = SEER_NEW(arena, seer_build_kept);
  kept->arena = arena;
  kept->kernel_of = seer_map_create(arena);
  return kept;
}

void seer_build_kept_destroy(seer_build_kept *kept) {
  if (kept) seer_arena_destroy(kept->arena);
}

uint32_t seer_build_kept_found(const seer_build_kept *kept) { return kept->n_found; }

// ---- kernels

uint64_t seer_build_hash_packs(const seer_step_packs *packs) {
  uint64_t hash = 0;
  for (uint32_t k = 0; k < packs->n; k++) {
    const seer_pack *pack = &packs->pack[k];
    hash = seer_hash_u64(pack->n, seer_hash_u64(pack->source_buf + 1, hash));
    for (uint32_t d = 0; d < pack->n; d++) {
      hash = seer_hash_u64(pack->dim[d].source_dim, hash);
      hash = seer_hash_u64((uint64_t)pack->dim[d].stride, hash);
      hash = seer_hash_u64((uint64_t)pack->dim[d].extent, hash);
    }
  }
  return hash;
}

// Of a network each precision is another one.
static const char *key_of(
    const seer_build_scope *scope, const seer_built_kernel *k, seer_arena *arena) {
  return seer_arena_printf(arena, "%p %p %u %016" PRIx64 " %016" PRIx64 " %s",
      (const void *)scope->network, (const void *)scope->form, k->step->task, k->step->content,
      seer_build_hash_packs(k->packs), k->schedule_text);
}

bool seer_build_kept_find(const seer_build_scope *scope, seer_arena *arena, seer_built_kernel *k) {
  uint64_t index;
  const seer_build_kept *kept = scope->kept;
  if (!kept || !seer_map_get_str(kept->kernel_of, key_of(scope, k, arena), &index)) return false;
  const seer_built_kernel *from = &kept->kernel[index - 1];
  k->kernel = from->kernel;
  k->n_arg = from->n_arg;
  k->n_image = from->n_image;
  memcpy(k->image, from->image, sizeof k->image);
  k->is_kept = true;
  return true;
}

// What lies in the build's arenas is copied.
static void keep_kernel(const seer_build_scope *scope, const seer_built_kernel *k) {
  seer_build_kept *kept = scope->kept;
  seer_arena *arena = kept->arena;
  kept->kernel =
      SEER_GROW(arena, seer_built_kernel, kept->kernel, kept->n_kernel, &kept->cap_kernel);
  seer_built_kernel *to = &kept->kernel[kept->n_kernel++];
  *to = (seer_built_kernel){.kernel = k->kernel, .n_arg = k->n_arg, .n_image = k->n_image};
  to->kernel.symbol = seer_arena_strdup(arena, k->kernel.symbol);
  to->kernel.object = seer_arena_memdup(arena, k->kernel.object, k->kernel.n_object_bytes);
  for (uint32_t i = 0; i < k->kernel.n_arg; i++)
    if (k->kernel.arg[i].pack)
      to->kernel.arg[i].pack =
          seer_arena_memdup(arena, k->kernel.arg[i].pack, sizeof *k->kernel.arg[i].pack);
  for (uint32_t i = 0; i < k->n_image; i++) {
    to->image[i] = k->image[i];
    to->image[i].made_for = seer_arena_strdup(arena, k->image[i].made_for);
    to->image[i].data = seer_arena_memdup(arena, k->image[i].data, k->image[i].n_bytes);
  }
  seer_map_set_str(kept->kernel_of, key_of(scope, k, arena), kept->n_kernel);
}

// ---- weights

static uint64_t key_of_weights(const seer_build_scope *scope, const seer_built_kernels *kernels) {
  uint64_t key = seer_hash_u64((uintptr_t)scope->network, (uintptr_t)scope->form);
  for (uint32_t s = 0; s < scope->network->n_set; s++)
    for (uint32_t i = 0; i < scope->network->set[s]->n_step; i++) {
      uint32_t index = kernels->of_step[s][i];
      if (index == UINT32_MAX) continue;
      const seer_built_kernel *k = &kernels->kernel[index];
      key = seer_hash_u64(k->step->content, seer_hash_u64(k->step->task, key));
      key = seer_hash_u64(seer_build_hash_packs(k->packs), key);
      key = seer_hash_str(k->schedule_text, key);
    }
  return key;
}

// A library's file may have been replaced since, or be gone with its folder.
static bool is_there(const kept_weights *w) {
  seer_os_file_id now;
  seer_os_identify(w->path, &now);
  return now.file != 0 && memcmp(&now, &w->id, sizeof now) == 0;
}

const seer_weight_answers *seer_build_kept_weights(
    const seer_build_scope *scope, const seer_built_kernels *kernels, const char *path) {
  const seer_build_kept *kept = scope->kept;
  uint64_t key = kept ? key_of_weights(scope, kernels) : 0;
  for (size_t i = kept ? kept->n_weights : 0; i-- > 0;) {
    const kept_weights *w = &kept->weights[i];
    if (w->key != key || !is_there(w)) continue;
    seer_status status = seer_os_link(w->path, path);  // not on every file system
    bool is_linked = !status;
    seer_status_free(status);
    if (is_linked) return &w->answers;
  }
  return NULL;
}

void seer_build_keep(const seer_build_scope *scope, const seer_built_kernels *kernels,
    const seer_weight_answers *answers, const char *weights_path) {
  seer_build_kept *kept = scope->kept;
  for (uint32_t i = 0; i < kernels->n; i++) {
    const seer_built_kernel *k = &kernels->kernel[i];
    kept->n_found += k->is_kept;
    if (!k->is_kept) keep_kernel(scope, k);
  }
  kept_weights w = {.key = key_of_weights(scope, kernels),
      .path = seer_arena_strdup(kept->arena, weights_path),
      .answers = *answers};
  seer_os_identify(weights_path, &w.id);
  w.answers.place =
      seer_arena_memdup(kept->arena, answers->place, answers->n * sizeof *answers->place);
  kept->weights =
      SEER_GROW(kept->arena, kept_weights, kept->weights, kept->n_weights, &kept->cap_weights);
  kept->weights[kept->n_weights++] = w;
}
