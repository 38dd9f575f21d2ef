// share.c - tasks with the same weights -> groups -> one packed form for each group.
// A weight's packed form follows from the factors of the axes that index it; rows (batch, tokens,
// pixels) are no such axes. So a schedule that is carried from one set of shapes to another keeps
// the form, and what is left to choose is how rows are tiled: a small evolution by the analytic
// model over mutants that keep the form.
#include "choose/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/rng.h"
#include "base/roots.h"
#include "choose/choose.h"
#include "learn/feature.h"
#include "space/lower.h"
#include "space/nest.h"

// Smaller weights may lie there twice, once for each form: biases and scales of up to 1024
// channels. They hardly ever do, being read by the axes of a larger weight of the same task, whose
// form is made one; and a thousand of them are 4 MB. A task that has only such would be made slower
// for nothing.
#define MIN_BYTES 4096
#define GENERATIONS 4
#define MUTANTS 96
#define LOOKED_AT 24  // mutants of a generation whose form is worked out, best first
#define MAX_TRIES 4
#define MAX_FORMS 3  // of a group, that are tried

static double buf_bytes(const seer_dag_buf *buf) {
  return (double)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
}

// A weight is told by its extents, not by its number: DAGs of one operator may differ around it.
static uint64_t hash_source(const seer_dag_buf *buf) {
  uint64_t hash = seer_hash_u64(buf->rank, (uint64_t)buf->dtype);
  for (uint32_t k = 0; k < buf->rank; k++) hash = seer_hash_u64((uint64_t)buf->dim[k], hash);
  return hash;
}

static uint64_t hash_pack(const seer_pack *pack, uint64_t hash) {
  hash = seer_hash_u64(pack->n, hash);
  for (uint32_t k = 0; k < pack->n; k++) {
    hash = seer_hash_u64(pack->dim[k].source_dim, hash);
    hash = seer_hash_u64((uint64_t)pack->dim[k].stride, hash);
    hash = seer_hash_u64((uint64_t)pack->dim[k].extent, hash);
  }
  return hash;
}

static uint64_t shared_key(uint32_t group, const seer_dag_buf *buf) {
  return seer_hash_u64(group, hash_source(buf));
}

static uint64_t loop_form(
    const seer_loop *loop, const seer_sketch *sketch, const seer_share_weight_list *weights) {
  uint64_t form = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    uint32_t source = buf->storage == SEER_STORE_PACKED ? buf->pack->source_buf : buf->dag_buf;
    const seer_dag_buf *from = &sketch->dag->buf[source];
    bool is_weight = buf->storage == SEER_STORE_PACKED ||
        (buf->storage == SEER_STORE_INPUT && from->kind == SEER_BUF_WEIGHT);
    bool is_own = from->kind == SEER_BUF_WEIGHT &&
        !seer_map_get(weights->shared, shared_key(weights->group, from), NULL);
    if (!is_weight || is_own) continue;
    uint64_t own = hash_source(from);
    if (buf->storage == SEER_STORE_PACKED) own = hash_pack(buf->pack, own);
    if (from->kind == SEER_BUF_STAGE) own = seer_hash_str(sketch->formulation, own);
    form += own;  // in whatever order they are read
  }
  return form;
}

seer_status seer_share_form(const seer_sketch_list *sketches, const seer_schedule *schedule,
    const seer_share_weight_list *weights, uint64_t *out_form) {
  seer_arena *arena = seer_arena_create("form");
  seer_loop *loop = NULL;
  seer_status status = seer_loop_lower(sketches, schedule, arena, &loop);
  if (!status) *out_form = loop_form(loop, seer_sketch_of(sketches, schedule), weights);
  seer_arena_destroy(arena);
  return status;
}

// ---- groups

typedef void (*weight_visit)(void *user, uint32_t task, const seer_dag_buf *buf, uint64_t key);

// Every large constant of every step. `key`: of the constant and the kind of the task. (Structures
// may differ between tasks of a kind: a batch of one is broadcast where a larger one is indexed.)
static void each_weight(const seer_network *network, weight_visit visit, void *user) {
  for (uint32_t s = 0; s < network->n_set; s++) {
    const seer_network *set = network->set[s];
    for (uint32_t k = 0; k < set->n_step; k++) {
      const seer_step *step = &set->step[k];
      if (!seer_step_has_task(step)) continue;
      uint64_t kind = seer_hash_str(network->task[step->task].anchor_class, 0);
      for (uint32_t b = 0; b < step->dag->n_buf; b++) {
        const seer_dag_buf *buf = &step->dag->buf[b];
        if (buf->kind != SEER_BUF_WEIGHT || buf_bytes(buf) < MIN_BYTES) continue;
        const seer_tensor *tensor = seer_graph_value(set->graph, step->value_of_buf[b])->constant;
        if (tensor) visit(user, step->task, buf, seer_hash_u64((uintptr_t)tensor->data, kind));
      }
    }
  }
}

typedef struct {
  uint32_t *root;  // by task
  seer_map *reader;  // constant and kind -> a task that reads it
  seer_map *is_shared;  // likewise, when there are several
  seer_map *shared;  // group and extents of such a constant
} grouping;

static void join_readers(void *user, uint32_t task, const seer_dag_buf *buf, uint64_t key) {
  (void)buf;
  grouping *g = user;
  uint64_t other;
  if (!seer_map_get(g->reader, key, &other)) {
    seer_map_set(g->reader, key, task);
  } else if (other != task) {
    g->root[seer_root_of(g->root, task)] = seer_root_of(g->root, (uint32_t)other);
    seer_map_set(g->is_shared, key, 1);
  }
}

static void note_shared(void *user, uint32_t task, const seer_dag_buf *buf, uint64_t key) {
  grouping *g = user;
  if (seer_map_get(g->is_shared, key, NULL))
    seer_map_set(g->shared, shared_key(seer_root_of(g->root, task), buf), 1);
}

static void find_groups(const seer_network *network, seer_arena *arena, grouping *g) {
  g->root = SEER_NEW_ARRAY(arena, uint32_t, network->n_task + 1);
  for (uint32_t t = 0; t < network->n_task; t++) g->root[t] = t;
  g->reader = seer_map_create(arena);
  g->is_shared = seer_map_create(arena);
  g->shared = seer_map_create(arena);
  each_weight(network, join_readers, g);
  each_weight(network, note_shared, g);
  for (uint32_t t = 0; t < network->n_task; t++) g->root[t] = seer_root_of(g->root, t);
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
  const seer_share_weight_list *weights;
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
  SEER_TRY(seer_share_form(b->sketches, schedule, b->weights, &form));
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
        if (seer_schedule_mutate(b->sketches, rng, parent, &pool[n].schedule, NULL) !=
            SEER_REJECT_NONE)
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

// In: what is asked of which task; out: the schedules.
static seer_status make_offer(
    const seer_choice *leader, const seer_target *target, seer_share_offer *offer) {
  const seer_choice *unshared = offer->unshared;
  seer_arena *arena = seer_arena_create("share");
  breeder b = {.sketches = unshared->sketches,
      .target = target,
      .summariser = seer_summariser_create(unshared->sketches, arena),
      .weights = offer->weights,
      .form = offer->form};
  seer_schedule carried;
  seer_status status = SEER_OK;
  if (seer_schedule_refit(leader->sketches, &leader->schedule, unshared->sketches, &carried) ==
      SEER_REJECT_NONE)
    status = keep_if_of_form(&b, &carried);
  seer_rng rng;
  seer_rng_init_stream(&rng, 1, offer->task);
  if (!status) status = breed(&b, &rng);
  double unshared_s = model_seconds(&b, &unshared->schedule);
  offer->n = b.n_elite;
  for (uint32_t k = 0; k < b.n_elite; k++) {
    offer->schedule[k] = b.elite[k].schedule;
    offer->ratio[k] = b.elite[k].seconds > unshared_s ? b.elite[k].seconds / unshared_s : 1;
  }
  seer_arena_destroy(arena);
  return status;
}

// ---- the choice

// A group of tasks and what each would give for one of their forms.
typedef struct {
  seer_share_weight_list weights;
  uint32_t n;
  uint32_t *task;
  double *weight;  // share of the network's time
  uint64_t *form;  // its own
  seer_share_offer *offer, *best_offer;  // n == 0 and form == own form: nothing to change
} group;

static double time_share(
    const seer_network *network, const seer_target *target, const seer_choice *choice, uint32_t t) {
  double seconds = choice[t].seconds > 0
      ? choice[t].seconds
      : seer_choose_estimate(target, choice[t].sketches, &choice[t].schedule).seconds;
  return seconds * network->task[t].weight;
}

// What `leader`'s form would cost, by the model: tasks that would not take it, then time.
static seer_status price_form(const group *g, uint32_t leader, const seer_target *target,
    double max_loss, const seer_choice *choice, uint32_t *out_n_apart, double *out_time) {
  *out_n_apart = 0;
  *out_time = 0;
  for (uint32_t k = 0; k < g->n; k++) {
    uint64_t form = g->form[leader];
    g->offer[k] = (seer_share_offer){
        .task = g->task[k], .weights = &g->weights, .form = form, .unshared = &choice[g->task[k]]};
    double ratio = 1;
    if (g->form[k] != form) {
      SEER_TRY(make_offer(&choice[g->task[leader]], target, &g->offer[k]));
      bool may_take = g->offer[k].n > 0 && g->offer[k].ratio[0] <= 1 + max_loss;
      if (may_take) ratio = g->offer[k].ratio[0];
      *out_n_apart += !may_take;
    }
    *out_time += g->weight[k] * ratio;
  }
  return SEER_OK;
}

// The heaviest tasks' forms are tried. *out_form: the best, with its offers in best_offer.
static seer_status choose_form(group *g, const seer_target *target, double max_loss,
    const seer_choice *choice, uint64_t *out_form) {
  uint32_t least_apart = UINT32_MAX, n_tried = 0;
  double least_time = 0;
  uint64_t tried[MAX_FORMS];
  bool *is_done = calloc(g->n, sizeof *is_done);
  if (!is_done) return SEER_FAIL(RESOURCE, "no memory for %u tasks", g->n);
  seer_status status = SEER_OK;
  for (uint32_t i = 0; i < g->n && n_tried < MAX_FORMS && !status; i++) {
    uint32_t leader = UINT32_MAX;
    for (uint32_t k = 0; k < g->n; k++)
      if (!is_done[k] && (leader == UINT32_MAX || g->weight[k] > g->weight[leader])) leader = k;
    is_done[leader] = true;
    bool is_known = false;
    for (uint32_t k = 0; k < n_tried; k++) is_known = is_known || tried[k] == g->form[leader];
    if (is_known) continue;
    tried[n_tried++] = g->form[leader];
    uint32_t n_apart;
    double time;
    status = price_form(g, leader, target, max_loss, choice, &n_apart, &time);
    if (status || n_apart > least_apart || (n_apart == least_apart && time >= least_time)) continue;
    least_apart = n_apart;
    least_time = time;
    *out_form = g->form[leader];
    memcpy(g->best_offer, g->offer, g->n * sizeof *g->offer);
  }
  free(is_done);
  return status;
}

static seer_status share_group(const seer_network *network, const seer_target *target,
    double max_loss, seer_share_trial trial, void *user, group *g, seer_choice *choice,
    seer_share_counts *counts) {
  bool is_same = true;
  for (uint32_t k = 0; k < g->n; k++) {
    const seer_choice *of_task = &choice[g->task[k]];
    SEER_TRY(seer_share_form(of_task->sketches, &of_task->schedule, &g->weights, &g->form[k]));
    g->weight[k] = time_share(network, target, choice, g->task[k]);
    is_same = is_same && g->form[k] == g->form[0];
  }
  if (is_same) return SEER_OK;
  uint64_t form = 0;
  SEER_TRY(choose_form(g, target, max_loss, choice, &form));
  for (uint32_t k = 0; k < g->n; k++) {
    uint32_t t = g->task[k];
    if (g->form[k] == form) continue;
    seer_choice shared = choice[t];
    double ratio = 0;
    SEER_TRYF(
        trial(user, &g->best_offer[k], &shared, &ratio), "task %u, %s", t, network->task[t].name);
    bool is_shared = ratio > 0 && ratio <= 1 + max_loss;
    if (is_shared) choice[t] = shared;
    *(is_shared ? &counts->n_adapted : &counts->n_apart) += 1;
  }
  return SEER_OK;
}

seer_status seer_share_weights(const seer_network *network, const seer_target *target,
    double max_loss, seer_share_trial trial, void *user, seer_choice *choice,
    seer_share_counts *out_counts) {
  *out_counts = (seer_share_counts){0, 0};
  seer_arena *arena = seer_arena_create("groups");
  uint32_t n_task = network->n_task;
  grouping found;
  find_groups(network, arena, &found);
  group g = {.weights = {found.shared, 0},
      .task = SEER_NEW_ARRAY(arena, uint32_t, n_task + 1),
      .weight = SEER_NEW_ARRAY(arena, double, n_task + 1),
      .form = SEER_NEW_ARRAY(arena, uint64_t, n_task + 1),
      .offer = SEER_NEW_ARRAY(arena, seer_share_offer, n_task + 1),
      .best_offer = SEER_NEW_ARRAY(arena, seer_share_offer, n_task + 1)};
  seer_status status = SEER_OK;
  for (uint32_t r = 0; r < n_task && !status; r++) {
    g.n = 0;
    g.weights.group = r;
    for (uint32_t t = 0; t < n_task && found.root[r] == r; t++)
      if (found.root[t] == r) g.task[g.n++] = t;
    if (g.n > 1)
      status = share_group(network, target, max_loss, trial, user, &g, choice, out_counts);
  }
  seer_arena_destroy(arena);
  return status;
}
