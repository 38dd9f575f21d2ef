// pretrain.c - sources -> groups of samples -> a model of all of them -> a file.
#include "study/pretrain.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "learn/pretrained.h"
#include "measure/times/times.h"
#include "record/record.h"
#include "record/sound.h"

// A task of a source.
typedef struct {
  const seer_dag *dag;
  seer_space_kind space;
  seer_records *records;  // with its workload, or
  int64_t workload;
  const seer_times_task *times;
  const seer_target *target;  // that its columns are of
} group;

typedef struct {
  seer_context *context;
  const seer_pretrain_options *options;
  seer_pretrain_counts *counts;
  seer_arena *arena;
  const seer_target *target;
  uint32_t n_records;
  seer_records **records;
  uint32_t n_group;
  size_t cap_group;
  group *groups;
  seer_bank *bank;
} pretrainer;

static void add_group(pretrainer *p, group g) {
  p->groups = SEER_GROW(p->arena, group, p->groups, p->n_group, &p->cap_group);
  p->groups[p->n_group++] = g;
}

// ---- sources
typedef struct {
  pretrainer *p;
  seer_records *records;
} source;

static seer_status take_workload(void *user, const seer_record_workload *workload) {
  const source *from = user;
  seer_dag *dag;
  seer_status status = seer_dag_parse(
      workload->name, workload->dag_text, strlen(workload->dag_text), from->p->arena, &dag);
  if (!status) status = seer_dag_verify(dag);
  if (status) {  // by rules that are no more
    from->p->counts->n_unusable++;
    seer_status_free(status);
    return SEER_OK;
  }
  seer_dag_finish(dag);
  add_group(from->p,
      (group){.dag = dag,
          .space = SEER_SPACE_FULL,
          .records = from->records,
          .workload = workload->id,
          .target = from->p->target});
  return SEER_OK;
}

static bool is_left_out(const pretrainer *p, const seer_times_task *task) {
  for (uint32_t u = 0; u < task->n_use; u++) {
    for (uint32_t k = 0; k < p->options->n_left_out; k++)
      if (strcmp(task->use[u].network, p->options->left_out[k]) == 0) return true;
  }
  return false;
}

static seer_status take_times(pretrainer *p, const char *path) {
  seer_times *times = SEER_NEW(p->arena, seer_times);
  seer_target *target = SEER_NEW(p->arena, seer_target);
  SEER_TRY(seer_times_read(path, p->arena, times));
  SEER_TRYF(seer_target_parse(times->target, p->arena, target), "%s", path);
  if (seer_target_feature_key(target) != seer_target_feature_key(p->target)) {
    p->counts->n_foreign++;
    return SEER_OK;
  }
  for (uint32_t t = 0; t < times->n_task; t++) {
    const seer_times_task *task = &times->task[t];
    if (task->space != SEER_SPACE_FULL || is_left_out(p, task)) continue;
    add_group(p, (group){.dag = task->dag, .space = task->space, .times = task, .target = target});
  }
  return SEER_OK;
}

static seer_status is_compressed(const char *path, bool *out) {
  seer_os_map map;
  SEER_TRY(seer_os_map_file(path, &map));
  const uint8_t *bytes = map.data;
  *out = map.n_bytes > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
  seer_os_unmap(&map);
  return SEER_OK;
}

static seer_status take_source(pretrainer *p, const char *path) {
  bool has_times;
  SEER_TRY(is_compressed(path, &has_times));
  if (has_times) return take_times(p, path);
  seer_records **records = &p->records[p->n_records];
  SEER_TRY(seer_records_open_to_read(p->context, path, records));
  p->n_records++;
  source from = {p, *records};
  return seer_records_each_workload(*records, take_workload, &from);
}

// ---- samples
typedef struct {
  pretrainer *p;
  uint32_t task;
  const seer_target *target;
  seer_summariser *summariser;
  seer_record_rule rule;
  float *rows;
} reading;

static seer_status add_sample(
    reading *r, const seer_schedule *schedule, double seconds, bool is_raced_out) {
  const seer_feature_set *features = seer_bank_features(r->p->bank);
  const seer_nest *nest = seer_summarise(r->summariser, schedule);
  seer_sample sample = seer_sample_of(nest, r->target, features, r->rows);
  sample.task = r->task;
  sample.seconds = seconds;
  sample.is_raced_out = is_raced_out;
  r->p->counts->n_sample++;
  return seer_bank_add(r->p->bank, &sample, 1);
}

static seer_status take_record(void *user, const seer_record *record) {
  reading *r = user;
  seer_schedule schedule;
  bool has_time = record->cls == SEER_MEASURED_OK;
  if (!seer_record_is_own_time(record)) return SEER_OK;
  if (seer_record_examine(&r->rule, record, &schedule, NULL) != SEER_RECORD_SOUND) {
    r->p->counts->n_unusable++;
    return SEER_OK;
  }
  return add_sample(r, &schedule, has_time ? record->seconds : 0, record->is_raced_out);
}

static seer_status read_records(reading *r, const group *g) {
  int64_t targets[SEER_RECORD_MAX_TARGETS];
  uint32_t n;
  SEER_TRY(seer_records_find_targets(g->records, r->target, targets, &n));
  for (uint32_t k = 0; k < n; k++)
    SEER_TRY(seer_records_each(g->records, g->workload, targets[k], take_record, r));
  return SEER_OK;
}

static seer_status read_times(
    reading *r, const group *g, const seer_sketch_list *sketches, seer_arena *arena) {
  seer_times_pool pool;
  seer_times_pool_make(g->times, sketches, arena, &pool);
  r->p->counts->n_unusable += pool.n_refused;
  for (uint32_t i = 0; i < pool.n; i++)
    SEER_TRY(add_sample(r, &pool.schedule[i], pool.time[i]->seconds, false));
  return SEER_OK;
}

static seer_status read_group(pretrainer *p, uint32_t k, seer_arena *arena) {
  const group *g = &p->groups[k];
  seer_sketch_list *sketches;
  SEER_TRY(seer_sketch_generate(g->dag, g->target, g->space, arena, &sketches));
  size_t n_float = SEER_NEST_MAX_STATEMENTS * seer_bank_features(p->bank)->n_column;
  reading r = {.p = p,
      .task = k,
      .target = g->target,
      .summariser = seer_summariser_create(sketches, arena),
      .rule = seer_record_rule_of(sketches),
      .rows = SEER_NEW_ARRAY(arena, float, n_float)};
  return g->records ? read_records(&r, g) : read_times(&r, g, sketches, arena);
}

static seer_status read_groups(pretrainer *p) {
  for (uint32_t k = 0; k < p->n_group; k++) {
    uint32_t before = p->counts->n_sample;
    seer_arena *arena = seer_arena_create("pretrain");
    seer_status status = read_group(p, k, arena);
    seer_arena_destroy(arena);
    SEER_TRY(status);
    p->counts->n_task += p->counts->n_sample > before;
  }
  return SEER_OK;
}

// ---- all of it
static seer_status work(pretrainer *p) {
  for (uint32_t k = 0; k < p->options->n_path; k++) SEER_TRY(take_source(p, p->options->paths[k]));
  SEER_TRY(seer_pretrained_create(p->n_group, &p->bank));
  SEER_TRY(read_groups(p));
  if (p->counts->n_sample == 0)
    return SEER_FAIL(NOT_FOUND,
        "nothing that was measured on a machine with the features and the "
        "%u threads of the target",
        p->target->threads);
  SEER_TRY(seer_bank_train(p->bank, 0));
  return seer_bank_save(p->bank, p->options->path);
}

seer_status seer_pretrain(
    seer_context *context, const seer_pretrain_options *options, seer_pretrain_counts *out) {
  *out = (seer_pretrain_counts){0};
  pretrainer p = {.context = context,
      .options = options,
      .counts = out,
      .arena = seer_arena_create("pretrain"),
      .target = seer_context_target(context)};
  p.records = SEER_NEW_ARRAY(p.arena, seer_records *, options->n_path + 1);
  seer_status status = work(&p);
  seer_bank_destroy(p.bank);
  for (uint32_t k = 0; k < p.n_records; k++) seer_records_close(p.records[k]);
  seer_arena_destroy(p.arena);
  return status;
}
