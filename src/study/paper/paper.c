// paper.c - studies that are asked for -> what they need -> pieces of work, on several threads ->
// files. A piece is a network's accuracies with a seed, or one tuning; each has an arena of its
// own, a thread has a context of its own.
#include "study/paper/paper.h"

#include <stdatomic.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "base/os/parallel.h"
#include "base/recover.h"
#include "measure/wire/revision.h"
#include "study/paper/kept.h"
#include "study/paper/published.h"

const char *const seer_paper_policies[] = {"ansor", "ansor-quarter", "familyseer",
    "familyseer-artifact", "familyseer-model", "familyseer-foresee", "familyseer-warm",
    "familyseer-single", "seer", "round-robin"};
const size_t seer_paper_policy_count = SEER_COUNT_OF(seer_paper_policies);

// To add a study: its entry in a file study_*.c, its line here.
const seer_paper_study *const seer_paper_study_table[] = {&seer_paper_fig1, &seer_paper_fig2,
    &seer_paper_table2, &seer_paper_fig3, &seer_paper_fig4, &seer_paper_fig7, &seer_paper_table5,
    &seer_paper_fig8};
const size_t seer_paper_study_count = SEER_COUNT_OF(seer_paper_study_table);

static bool is_asked(const char *asked, const seer_paper_study *study) {
  return strcmp(asked, SEER_PAPER_ALL) == 0 || strcmp(asked, study->name) == 0;
}

bool seer_paper_has_study(const char *name) {
  for (size_t i = 0; i < seer_paper_study_count; i++)
    if (is_asked(name, seer_paper_study_table[i])) return true;
  return false;
}

#define KEPT_FOLDER "kept"

// ---- pieces of work
typedef struct {
  uint32_t network, policy, seed;
  uint32_t only;  // task; SEER_TUNING_ALL
  seer_accuracies *accuracies;  // NULL: it is a tuning
  seer_run *run;
  seer_arena *arena;
  seer_status status;
} piece;

typedef struct {
  const seer_paper_options *options;
  seer_paper_data data;
  unsigned needs;
  seer_arena *arena;
  uint64_t table_hash, pretrained_hash;  // of the files' bytes; 0: there is none
  seer_context **context;  // by thread
  uint32_t n_thread;
  size_t n_piece, cap_piece;
  piece *piece;
  _Atomic bool has_failed;
} plan;

typedef struct {
  plan *plan;
  piece *piece;
  seer_context *context;
} working;

// ---- what is kept of a study that was ended
static seer_study_kept_piece kept_piece(
    const plan *p, const piece *one, const seer_context *context) {
  const seer_paper_options *o = p->options;
  const char *what = one->accuracies
      ? seer_arena_printf(one->arena, "models samples=%u groupings=%d", o->n_samples,
            (p->needs & SEER_PAPER_GROUPINGS) != 0)
      : seer_arena_printf(one->arena,
            "policy=%s only=%u trials=%u round=%u pretrained=%s/%016" PRIx64,
            p->data.policy[one->policy], one->only, o->trials_a_task, o->round_size,
            o->pretrained ? o->pretrained : "", p->pretrained_hash);
  return (seer_study_kept_piece){seer_os_path_join(one->arena, o->folder, KEPT_FOLDER),
      seer_arena_printf(one->arena,
          "sources=%s table=%016" PRIx64
          " max-weights=%g without=%s no-pretrained=%d network=%s seed=%u %s",
          seer_revision(), p->table_hash, seer_context_f64(context, SEER_OPT_MAX_WEIGHTS),
          seer_context_str(context, SEER_OPT_WITHOUT),
          seer_context_bool(context, SEER_OPT_NO_PRETRAINED), p->data.network[one->network],
          one->seed + 1, what)};
}

static seer_status hash_file(const char *path, uint64_t *out_hash) {
  seer_os_map map;
  SEER_TRY(seer_os_map_file(path, &map));
  *out_hash = seer_hash_bytes(map.data, map.n_bytes, 1);
  seer_status status = seer_os_map_check(&map);
  seer_os_unmap(&map);
  return status;
}

static seer_status measure_models(const plan *p, piece *one, seer_context *context) {
  const seer_study_kept_piece kept = kept_piece(p, one, context);
  if (seer_study_kept_find_accuracies(&kept, one->arena, one->accuracies)) return SEER_OK;
  SEER_TRY(seer_accuracies_measure(context, p->options->times, p->data.network[one->network],
      p->options->n_samples, one->seed + 1, (p->needs & SEER_PAPER_GROUPINGS) != 0, one->arena,
      one->accuracies));
  p->options->tell(p->options->user,
      seer_arena_printf(one->arena, "%s, cost models, seed %u: %.1f s",
          p->data.network[one->network], one->seed + 1, one->accuracies->seconds));
  return seer_study_kept_write_accuracies(&kept, one->arena, one->accuracies);
}

static seer_status measure_run(const plan *p, piece *one, seer_context *context) {
  const seer_paper_options *o = p->options;
  seer_tuning_options options = {.times = o->times,
      .path = o->path,
      .network = p->data.network[one->network],
      .only = one->only,
      .policy = p->data.policy[one->policy],
      .cost_model = "",
      .seed = one->seed + 1,
      .trials_a_task = o->trials_a_task,
      .round_size = o->round_size,
      .pretrained = o->pretrained};
  const seer_study_kept_piece kept = kept_piece(p, one, context);
  if (seer_study_kept_find_run(&kept, o->times, one->arena, one->run)) return SEER_OK;
  SEER_TRY(seer_run_measure(context, &options, one->arena, one->run));
  o->tell(o->user,
      seer_arena_printf(one->arena, "%s, %s%s%s, seed %u: %u trials in %.1f s", options.network,
          options.policy, one->only == SEER_TUNING_ALL ? "" : " on ",
          one->only == SEER_TUNING_ALL ? "" : one->run->task[0].name, one->seed + 1,
          one->run->n_trial, one->run->seconds));
  return seer_study_kept_write_run(&kept, o->times, one->arena, one->run);
}

static seer_status work(void *user) {
  const working *w = user;
  const plan *p = w->plan;
  piece *one = w->piece;
  seer_status status =
      one->accuracies ? measure_models(p, one, w->context) : measure_run(p, one, w->context);
  if (!status) return SEER_OK;
  return seer_status_context(status, "%s, %s", p->data.network[one->network],
      one->accuracies ? "cost models" : p->data.policy[one->policy]);
}

static void do_piece(void *user, uint32_t part, uint32_t thread) {
  plan *p = user;
  if (atomic_load(&p->has_failed)) return;
  working w = {p, &p->piece[part], p->context[thread]};
  w.piece->status = seer_recover(work, &w);
  if (w.piece->status) atomic_store(&p->has_failed, true);
}

// ---- the plan
static piece *add_piece(plan *p, uint32_t network, uint32_t policy, uint32_t seed, uint32_t only) {
  p->piece = SEER_GROW(p->arena, piece, p->piece, p->n_piece, &p->cap_piece);
  piece *one = &p->piece[p->n_piece++];
  *one = (piece){.network = network, .policy = policy, .seed = seed, .only = only};
  one->arena = seer_arena_create("study");
  return one;
}

static void plan_models(plan *p) {
  seer_paper_data *d = &p->data;
  d->accuracies = SEER_NEW_ARRAY(p->arena, seer_accuracies, (size_t)d->n_network * d->n_seed);
  for (uint32_t i = 0; i < d->n_network * d->n_seed; i++)
    add_piece(p, i / d->n_seed, 0, i % d->n_seed, SEER_TUNING_ALL)->accuracies = &d->accuracies[i];
}

static void plan_runs(plan *p) {
  seer_paper_data *d = &p->data;
  uint32_t n = d->n_network * d->n_policy * d->n_seed;
  d->run = SEER_NEW_ARRAY(p->arena, seer_run, n);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t s = i % d->n_seed, policy = i / d->n_seed % d->n_policy;
    add_piece(p, i / d->n_seed / d->n_policy, policy, s, SEER_TUNING_ALL)->run = &d->run[i];
  }
}

static seer_status plan_alone(plan *p) {
  seer_paper_data *d = &p->data;
  d->alone = SEER_NEW_ARRAY(p->arena, seer_run *, (size_t)d->n_network * d->n_seed);
  for (uint32_t i = 0; i < d->n_network * d->n_seed; i++) {
    uint32_t w = i / d->n_seed;
    seer_network *network;
    const seer_times_task *const *of;
    SEER_TRY(seer_tuning_network(p->options->times, d->network[w], p->arena, &network, &of));
    d->alone[i] = SEER_NEW_ARRAY(p->arena, seer_run, network->n_task);
    for (uint32_t t = 0; t < network->n_task; t++)
      add_piece(p, w, 0, i % d->n_seed, t)->run = &d->alone[i][t];
  }
  return SEER_OK;
}

// The reference in front of those that were asked for.
static seer_status choose_policies(plan *p) {
  const seer_paper_options *o = p->options;
  const char **policy = SEER_NEW_ARRAY(p->arena, const char *, o->n_policy + 1);
  policy[p->data.n_policy++] = seer_paper_policies[0];
  for (uint32_t k = 0; k < o->n_policy; k++) {
    seer_policy found;
    SEER_TRY(seer_policy_find(o->policy[k], &found));
    if (strcmp(o->policy[k], policy[0]) != 0) policy[p->data.n_policy++] = o->policy[k];
  }
  if (!(p->needs & SEER_PAPER_POLICIES)) p->data.n_policy = 1;
  p->data.policy = policy;
  return SEER_OK;
}

static seer_status make_plan(plan *p, const seer_context *context) {
  const seer_paper_options *o = p->options;
  for (size_t i = 0; i < seer_paper_study_count; i++)
    if (is_asked(o->study, seer_paper_study_table[i])) p->needs |= seer_paper_study_table[i]->needs;
  p->data = (seer_paper_data){.n_network = o->n_network,
      .n_seed = o->n_seed,
      .network = o->network,
      .trials_a_task = o->trials_a_task,
      .n_samples = o->n_samples,
      .arena = p->arena};
  SEER_TRY(choose_policies(p));
  SEER_TRY(hash_file(o->path, &p->table_hash));
  if (o->pretrained && o->pretrained[0]) SEER_TRY(hash_file(o->pretrained, &p->pretrained_hash));
  if (p->needs & SEER_PAPER_MODELS) plan_models(p);
  if (p->needs & (SEER_PAPER_REFERENCE | SEER_PAPER_POLICIES)) plan_runs(p);
  if (p->needs & SEER_PAPER_ALONE) SEER_TRY(plan_alone(p));
  p->n_thread = seer_parallel_threads(
      (uint32_t)seer_context_i64(context, SEER_OPT_SEARCH_THREADS), (uint32_t)p->n_piece);
  p->context = SEER_NEW_ARRAY(p->arena, seer_context *, p->n_thread);
  for (uint32_t t = 0; t < p->n_thread; t++) {
    SEER_TRY(seer_tuning_context(o->times, o->path, context, p->arena, &p->context[t]));
    SEER_TRY(seer_context_set(p->context[t], "search-threads", "1"));
  }
  return SEER_OK;
}

static seer_status take_status(plan *p) {
  seer_status first = SEER_OK;
  for (size_t i = 0; i < p->n_piece; i++) {
    seer_status own = p->piece[i].status;
    p->piece[i].status = SEER_OK;
    if (!first)
      first = own;
    else
      seer_status_free(own);
  }
  return first;
}

// ---- files
static const char *about(const plan *p) {
  const seer_paper_options *o = p->options;
  return seer_arena_printf(p->arena,
      "Table %s, made on %s: %u networks, %u seeds, %u trials a task, models fitted on at most %u "
      "schedules a task. In brackets the 95 %% interval of a bootstrap over seeds, which is of "
      "what chance does, not of what other networks would do; of one seed it is a point. The "
      "paper's numbers: %s; its machines and networks are others.",
      seer_os_path_base(o->path), o->times->target, p->data.n_network, p->data.n_seed,
      o->trials_a_task, o->n_samples, seer_published_source);
}

static seer_status write_files(plan *p) {
  const seer_paper_options *o = p->options;
  SEER_TRY(seer_os_make_dirs(o->folder));
  seer_page page;
  seer_page_begin(&page, "FamilySeer's studies on a table of measured times", p->arena);
  seer_page_paragraph(&page, about(p));
  for (size_t i = 0; i < seer_paper_study_count; i++) {
    const seer_paper_study *study = seer_paper_study_table[i];
    if (!is_asked(o->study, study)) continue;
    seer_text csv;
    seer_text_init(&csv, p->arena);
    seer_page_heading(&page, study->title);
    study->write(&p->data, &csv, &page);
    const char *file = seer_arena_printf(p->arena, "%s.csv", study->name);
    SEER_TRY(
        seer_os_write_file(seer_os_path_join(p->arena, o->folder, file), csv.data, csv.n_bytes));
  }
  return seer_page_write(&page, seer_os_path_join(p->arena, o->folder, "study.html"),
      seer_os_path_join(p->arena, o->folder, "study.md"));
}

seer_status seer_paper_make(const seer_context *context, const seer_paper_options *options) {
  seer_arena *arena = seer_arena_create("paper");
  plan p = {.options = options, .arena = arena};
  seer_status status = make_plan(&p, context);
  // What cannot be written in the end is said before the studies; of what cannot be studied nothing
  // is left behind.
  if (!status) status = seer_os_make_dirs(options->folder);
  if (!status)
    status = seer_os_check_writable(seer_os_path_join(arena, options->folder, "study.html"));
  if (!status) {
    seer_parallel(p.n_thread, (uint32_t)p.n_piece, do_piece, &p);
    status = take_status(&p);
  }
  if (!status) status = write_files(&p);
  // It has ended well: what was kept is in the files.
  if (!status) status = seer_os_remove_tree(seer_os_path_join(arena, options->folder, KEPT_FOLDER));
  for (uint32_t t = 0; p.context && t < p.n_thread; t++) seer_context_destroy(p.context[t]);
  for (size_t i = 0; i < p.n_piece; i++) seer_arena_destroy(p.piece[i].arena);
  seer_arena_destroy(arena);
  return status;
}
