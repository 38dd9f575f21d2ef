// kept.c - kernels that are kept from one batch to the next ones. The contract: inside.h.
#include <math.h>
#include <string.h>

#include "measure/local/inside.h"

// Of a round, those are kept that may be witnesses of the next ones, or in the finals: no slower
// than so many times the best.
#define KEPT_NEAR 1.1

static uint64_t kept_key(uint32_t task, const seer_schedule *schedule) {
  return seer_hash_u64(seer_schedule_hash(schedule), task + 1);
}

static bool find_kept(seer_measurer *m, uint64_t key, seer_built *out) {
  for (uint32_t k = 0; k < m->n_kept; k++) {
    if (m->kept[k].key != key) continue;
    m->kept[k].used = ++m->n_uses;
    if (out) *out = m->kept[k].build;
    return true;
  }
  return false;
}

bool seer_kept_find(seer_measurer *m, const seer_measure_request *request, seer_built *out) {
  return find_kept(m, kept_key(request->task, &request->schedule), out);
}

// A free place, or that of whom nobody has asked for longest: never one of the batch in hand.
static seer_kept_kernel *kept_place(seer_measurer *m) {
  if (m->n_kept < SEER_LOCAL_MAX_KEPT) return &m->kept[m->n_kept++];
  seer_kept_kernel *oldest = &m->kept[0];
  for (uint32_t k = 1; k < SEER_LOCAL_MAX_KEPT; k++) {
    if (m->kept[k].used < oldest->used) oldest = &m->kept[k];
  }
  seer_arena_destroy(oldest->arena);
  return oldest;
}

static void keep(seer_measurer *m, uint64_t key, seer_built *build) {
  seer_kept_kernel *place = kept_place(m);
  seer_arena *arena = seer_arena_create("kept kernel");
  seer_kernel *kernel = seer_arena_memdup(arena, build->kernel, sizeof(*kernel));
  kernel->symbol = seer_arena_strdup(arena, kernel->symbol);
  kernel->object = seer_arena_memdup(arena, kernel->object, kernel->n_object_bytes);
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    const seer_pack *pack = kernel->arg[a].pack;
    if (pack) kernel->arg[a].pack = seer_arena_memdup(arena, pack, sizeof(*pack));
  }
  build->kernel = kernel;
  *place = (seer_kept_kernel){key, ++m->n_uses, arena, *build};
}

void seer_kept_add_near_best(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_built *builds, const seer_measure_result *results) {
  double best_s = INFINITY;
  for (uint32_t i = 0; i < n; i++) {
    if (requests[i].best_seconds > 0) best_s = fmin(best_s, requests[i].best_seconds);
    if (builds[i].is_built && results[i].cls == SEER_MEASURED_OK)
      best_s = fmin(best_s, results[i].seconds);
  }
  for (uint32_t i = 0; i < n; i++) {
    bool is_timed = builds[i].is_built && results[i].cls == SEER_MEASURED_OK && !results[i].is_twin;
    bool is_near = !results[i].is_raced_out && results[i].seconds <= KEPT_NEAR * best_s;
    if (!is_timed || (!is_near && !requests[i].is_witness)) continue;
    uint64_t key = kept_key(requests[i].task, &requests[i].schedule);
    if (!find_kept(m, key, NULL)) keep(m, key, &builds[i]);
  }
}

// Jobs that have a kernel already are not built.
static seer_status build(seer_measurer *m, const seer_measure_request *requests, uint32_t n,
    seer_built *builds, seer_measure_result *results) {
  seer_queue queue;
  seer_queue_init(&queue, n, m->batch);
  for (uint32_t i = 0; i < n; i++)
    if (builds[i].is_built) seer_queue_built(&queue, i, true);
  const seer_build_batch batch = {&m->tasks, m->batch, &queue, requests, builds, results};
  return seer_builders_build(&m->builders, &batch);
}

seer_status seer_kept_build(seer_measurer *m, uint32_t task, const seer_schedule *schedules,
    uint32_t n, seer_built *out_builds, seer_measure_result *out_results) {
  seer_arena_reset(m->batch);
  memset(out_builds, 0, n * sizeof(*out_builds));
  memset(out_results, 0, n * sizeof(*out_results));
  seer_measure_request requests[SEER_MEASURE_MAX_CONTENDERS + 1] = {0};
  bool is_new[SEER_MEASURE_MAX_CONTENDERS + 1];
  for (uint32_t i = 0; i < n; i++) {
    requests[i] = (seer_measure_request){.task = task, .schedule = schedules[i]};
    is_new[i] = !find_kept(m, kept_key(task, &schedules[i]), &out_builds[i]);
  }
  SEER_TRY(build(m, requests, n, out_builds, out_results));
  for (uint32_t i = 0; i < n; i++) {
    if (!out_builds[i].is_lost || out_results[i].cls == SEER_MEASURED_BUILD_TIMEOUT) continue;
    out_builds[i] = (seer_built){.is_built = false};
    memset(&out_results[i], 0, sizeof(out_results[i]));
    SEER_TRY(build(m, &requests[i], 1, &out_builds[i], &out_results[i]));
  }
  for (uint32_t i = 0; i < n; i++) {
    if (is_new[i] && out_builds[i].is_built) keep(m, kept_key(task, &schedules[i]), &out_builds[i]);
  }
  return SEER_OK;
}
