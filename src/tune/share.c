// share.c - tasks with the same weights -> groups -> one packed form for each group.
// A weight's packed form follows from the factors of the axes that index it; rows (batch, tokens,
// pixels) are no such axes. So a schedule that is carried from one set of shapes to another keeps
// the form, and what is left to choose is how rows are tiled: a small evolution by the analytic
// model over mutants that keep the form.
#include "tune/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/rng.h"
#include "learn/cost.h"
#include "space/nest.h"
#include "tune/choose.h"

// Smaller weights (biases, scales) may lie there twice.
#define MIN_BYTES 16384
#define GENERATIONS 4
#define MUTANTS 96
#define LOOKED_AT 24  // mutants of a generation whose form is worked out, best first
#define MAX_TRIES 4

static double buf_bytes(const seer_dag_buf *buf) {
  return (double)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
}

static uint64_t hash_pack(const seer_pack *pack) {
  uint64_t hash = seer_hash_u64(pack->source_buf, pack->n);
  for (uint32_t k = 0; k < pack->n; k++) {
    hash = seer_hash_u64(pack->dim[k].source_dim, hash);
    hash = seer_hash_u64((uint64_t)pack->dim[k].stride, hash);
    hash = seer_hash_u64((uint64_t)pack->dim[k].extent, hash);
  }
  return hash;
}

static uint64_t loop_form(const seer_loop *loop, const seer_sketch *sketch) {
  uint64_t form = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    uint32_t source = buf->storage == SEER_STORE_PACKED ? buf->pack->source_buf : buf->dag_buf;
    const seer_dag_buf *from = &sketch->dag->buf[source];
    bool is_weight = buf->storage == SEER_STORE_PACKED ||
        (buf->storage == SEER_STORE_INPUT && from->kind == SEER_BUF_WEIGHT);
    if (!is_weight || buf_bytes(from) < MIN_BYTES) continue;
    uint64_t own = buf->storage == SEER_STORE_PACKED ? hash_pack(buf->pack)
                                                     : seer_hash_u64(source, UINT64_MAX);
    if (from->kind == SEER_BUF_STAGE) own = seer_hash_str(sketch->formulation, own);
    form += own;  // in whatever order they are read
  }
  return form;
}

seer_status seer_share_form(
    const seer_sketch_list *sketches, const seer_schedule *schedule, uint64_t *out_form) {
  seer_arena *arena = seer_arena_create("form");
  seer_loop *loop = NULL;
  seer_status status = seer_loop_lower(sketches, schedule, arena, &loop);
  if (!status) *out_form = loop_form(loop, sketches->sketch[schedule->sketch]);
  seer_arena_destroy(arena);
  return status;
}

// ---- groups

static uint32_t find_root(uint32_t *root, uint32_t t) {
  while (root[t] != t) t = root[t] = root[root[t]];
  return t;
}

// Tasks of equal structure that read the same large constant at the same place.
static uint32_t *find_groups(const seer_network *network, seer_arena *arena) {
  uint32_t *root = SEER_NEW_ARRAY(arena, uint32_t, network->n_task + 1);
  for (uint32_t t = 0; t < network->n_task; t++) root[t] = t;
  seer_map *reader = seer_map_create(arena);
  for (uint32_t s = 0; s < network->n_set; s++) {
    const seer_network *set = network->set[s];
    for (uint32_t k = 0; k < set->n_step; k++) {
      const seer_step *step = &set->step[k];
      if (step->kind != SEER_STEP_KERNEL && step->kind != SEER_STEP_COPY) continue;
      uint64_t structure = network->task[step->task].key.structure;
      for (uint32_t b = 0; b < step->dag->n_buf; b++) {
        const seer_dag_buf *buf = &step->dag->buf[b];
        if (buf->kind != SEER_BUF_WEIGHT || buf_bytes(buf) < MIN_BYTES) continue;
        const seer_tensor *tensor = seer_graph_value(set->graph, step->value_of_buf[b])->constant;
        if (!tensor) continue;
        uint64_t key = seer_hash_u64((uintptr_t)tensor->data, seer_hash_u64(b, structure)), other;
        if (seer_map_get(reader, key, &other))
          root[find_root(root, step->task)] = find_root(root, (uint32_t)other);
        else
          seer_map_set(reader, key, step->task);
      }
    }
  }
  for (uint32_t t = 0; t < network->n_task; t++) root[t] = find_root(root, t);
  return root;
}

// ---- schedules of a given form

typedef struct {
  seer_schedule schedule;
  double seconds;  // by the model
} draft;

static int by_seconds(const void *a, const void *b) {
  const draft *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
  uint64_t p = seer_schedule_hash(&x->schedule), q = seer_schedule_hash(&y->schedule);
  return p < q ? -1 : p > q;
}

typedef struct {
  const seer_sketch_list *sketches;
  const seer_target *target;
  seer_summariser *summariser;
  uint64_t form;
  uint32_t n_elite;
  draft elite[SEER_SHARE_OFFERS];  // of the form, best first
} breeder;

static double model_seconds(const breeder *b, const seer_schedule *schedule) {
  return seer_analytic_seconds(seer_summarise(b->summariser, schedule), b->target);
}

static void keep(breeder *b, const draft *d) {
  for (uint32_t k = 0; k < b->n_elite; k++)
    if (seer_schedule_equal(&b->elite[k].schedule, &d->schedule)) return;
  if (b->n_elite < SEER_SHARE_OFFERS)
    b->elite[b->n_elite++] = *d;
  else if (by_seconds(d, &b->elite[SEER_SHARE_OFFERS - 1]) < 0)
    b->elite[SEER_SHARE_OFFERS - 1] = *d;
  qsort(b->elite, b->n_elite, sizeof *b->elite, by_seconds);
}

static seer_status keep_if_of_form(breeder *b, const seer_schedule *schedule) {
  uint64_t form;
  SEER_TRY(seer_share_form(b->sketches, schedule, &form));
  draft d = {*schedule, model_seconds(b, schedule)};
  if (form == b->form) keep(b, &d);
  return SEER_OK;
}

static seer_status breed(breeder *b, seer_rng *rng) {
  draft *pool = malloc(MUTANTS * sizeof *pool);
  if (!pool) return SEER_FAIL(RESOURCE, "no memory for %d schedules", MUTANTS);
  seer_status status = SEER_OK;
  for (int g = 0; g < GENERATIONS && b->n_elite > 0 && !status; g++) {
    uint32_t n = 0;
    for (int k = 0; k < MUTANTS; k++) {
      const seer_schedule *parent = &b->elite[seer_rng_below(rng, b->n_elite)].schedule;
      for (int i = 0; i < MAX_TRIES; i++) {
        if (seer_schedule_mutate(b->sketches, rng, parent, &pool[n].schedule) != SEER_REJECT_NONE)
          continue;
        pool[n].seconds = model_seconds(b, &pool[n].schedule);
        n++;
        break;
      }
    }
    qsort(pool, n, sizeof *pool, by_seconds);
    for (uint32_t k = 0; k < n && k < LOOKED_AT && !status; k++)
      status = keep_if_of_form(b, &pool[k].schedule);
  }
  free(pool);
  return status;
}

static seer_status make_offer(uint32_t task, const seer_choice *own, const seer_choice *leader,
    uint64_t form, const seer_target *target, seer_share_offer *out) {
  *out = (seer_share_offer){.task = task, .form = form, .own = own};
  seer_arena *arena = seer_arena_create("share");
  breeder b = {.sketches = own->sketches,
      .target = target,
      .summariser = seer_summariser_create(own->sketches, arena),
      .form = form};
  seer_schedule carried;
  seer_status status = SEER_OK;
  if (seer_schedule_refit(leader->sketches, &leader->schedule, own->sketches, &carried) ==
      SEER_REJECT_NONE)
    status = keep_if_of_form(&b, &carried);
  seer_rng rng;
  seer_rng_init_stream(&rng, 1, task);
  if (!status) status = breed(&b, &rng);
  double own_s = model_seconds(&b, &own->schedule);
  out->n = b.n_elite;
  for (uint32_t k = 0; k < b.n_elite; k++) {
    out->schedule[k] = b.elite[k].schedule;
    out->ratio[k] = b.elite[k].seconds > own_s ? b.elite[k].seconds / own_s : 1;
  }
  seer_arena_destroy(arena);
  return status;
}

// ---- the choice

static double weight_of(
    const seer_network *network, const seer_target *target, const seer_choice *choice, uint32_t t) {
  double seconds = choice[t].seconds > 0
      ? choice[t].seconds
      : seer_choose_estimate(target, choice[t].sketches, &choice[t].schedule).seconds;
  return seconds * network->task[t].weight;
}

static seer_status share_group(const seer_network *network, const seer_target *target,
    double max_loss, seer_share_judge judge, void *user, const uint32_t *member, uint32_t n,
    seer_choice *choice, seer_share_counts *counts) {
  uint32_t leader = member[0];
  double most = -1;
  for (uint32_t k = 0; k < n; k++) {
    double weight = weight_of(network, target, choice, member[k]);
    if (weight > most) {
      most = weight;
      leader = member[k];
    }
  }
  uint64_t wanted, form;
  SEER_TRY(seer_share_form(choice[leader].sketches, &choice[leader].schedule, &wanted));
  for (uint32_t k = 0; k < n; k++) {
    uint32_t t = member[k];
    SEER_TRY(seer_share_form(choice[t].sketches, &choice[t].schedule, &form));
    if (form == wanted) continue;
    seer_share_offer offer;
    SEER_TRY(make_offer(t, &choice[t], &choice[leader], wanted, target, &offer));
    seer_choice shared = choice[t];
    double ratio = 0;
    SEER_TRYF(judge(user, &offer, &shared, &ratio), "task %u, %s", t, network->task[t].name);
    bool is_shared = ratio > 0 && ratio <= 1 + max_loss;
    if (is_shared) choice[t] = shared;
    *(is_shared ? &counts->n_adapted : &counts->n_apart) += 1;
  }
  return SEER_OK;
}

seer_status seer_share_weights(const seer_network *network, const seer_target *target,
    double max_loss, seer_share_judge judge, void *user, seer_choice *choice,
    seer_share_counts *out_counts) {
  *out_counts = (seer_share_counts){0, 0};
  if (network->n_set == 1) return SEER_OK;
  seer_arena *arena = seer_arena_create("groups");
  uint32_t *root = find_groups(network, arena);
  uint32_t *member = SEER_NEW_ARRAY(arena, uint32_t, network->n_task + 1);
  seer_status status = SEER_OK;
  for (uint32_t r = 0; r < network->n_task && !status; r++) {
    uint32_t n = 0;
    for (uint32_t t = 0; t < network->n_task && root[r] == r; t++)
      if (root[t] == r) member[n++] = t;
    if (n > 1)
      status = share_group(network, target, max_loss, judge, user, member, n, choice, out_counts);
  }
  seer_arena_destroy(arena);
  return status;
}
