// precision.c - versions of a network -> their times and deviations -> which one is compiled.
#include "tune/precision.h"

#include <math.h>
#include <string.h>

#include "base/os.h"
#include "choose/tables.h"
#include "library/contest.h"
#include "measure/measure.h"
#include "models/models.h"

// What `auto` gives accuracy up for: estimates stand within 5 % of what is measured, and a gain
// within that is none.
#define WORTH 0.95
// Precisions whose estimate is further above f32's are not run in turns with it.
#define WORTH_A_RUN 1.25
#define RUNS_S 1.0  // of a version against f32
#define MAX_P_SLOWER 0.05  // of a sign test, as for tuned libraries (library/verdict.h)

static const char *name_of(const seer_precise_version *v) {
  return seer_precision_name(v->precision);
}

// ---- loading

// An option that says so already stays as it is, not set.
static seer_status use_precision(const seer_precise *p, const seer_precise_version *v) {
  if (strcmp(seer_context_str(p->context, SEER_OPT_PRECISION), name_of(v)) == 0) return SEER_OK;
  return seer_context_set(p->context, "precision", name_of(v));
}

static seer_status load(
    seer_precise *p, const seer_front_source *source, seer_precision precision) {
  seer_precise_version *v = &p->version[p->n];
  *v = (seer_precise_version){.precision = precision};
  SEER_TRY(use_precision(p, v));
  SEER_TRY(seer_front_load_from(p->context, source, seer_model_build, p->arena, &v->network));
  p->n++;
  return SEER_OK;
}

static seer_status load_versions(
    seer_precise *p, const seer_front_source *source, seer_precision asked) {
  SEER_TRY(load(p, source, SEER_PRECISION_F32));
  if (!p->is_auto) return asked != SEER_PRECISION_F32 ? load(p, source, asked) : SEER_OK;
  if (seer_context_bool(p->context, SEER_OPT_STRICT_MATH)) {
    p->text = "--precision auto takes f32: --strict-math allows no other";
    return SEER_OK;
  }
  for (seer_precision k = SEER_PRECISION_F32 + 1; k < SEER_PRECISION_COUNT; k++)
    if (seer_precision_is_of(k, seer_context_target(p->context))) SEER_TRY(load(p, source, k));
  return SEER_OK;
}

seer_status seer_precise_open_from(
    seer_context *context, const seer_front_source *source, seer_arena *arena, seer_precise *out) {
  *out = (seer_precise){.context = context, .arena = arena, .text = "", .report = ""};
  const char *word = seer_arena_strdup(arena, seer_context_str(context, SEER_OPT_PRECISION));
  seer_precision asked = SEER_PRECISION_F32;
  SEER_TRY(seer_front_check_precision(context));
  out->is_auto = !seer_precision_parse(word, &asked);
  out->is_gated = out->is_auto || seer_context_is_set(context, SEER_OPT_TOLERANCE);
  out->tolerance = seer_context_f64(context, SEER_OPT_TOLERANCE);
  seer_status status = load_versions(out, source, asked);
  if (!status || strcmp(word, seer_context_str(context, SEER_OPT_PRECISION)) == 0) return status;
  // Loading sets the option: who loads again after a failure asks for what was asked for.
  return seer_status_join(status, seer_context_set(context, "precision", word));
}

seer_status seer_precise_open(
    seer_context *context, const char *model, seer_arena *arena, seer_precise *out) {
  const seer_front_source source = {.model = model};
  return seer_precise_open_from(context, &source, arena, out);
}

void seer_precise_close(seer_precise *p) {
  for (uint32_t k = 0; k < p->n; k++) seer_graph_close(p->version[k].network->graph);
  p->n = 0;
  seer_status status = seer_os_work_dir_close(&p->work);
  if (p->folder && seer_os_exists(p->folder))
    status = seer_status_join(status, seer_os_remove_tree(p->folder));
  seer_status_free(status);
  if (p->made_folder) seer_os_remove_empty(p->made_folder);
  p->folder = p->made_folder = NULL;
}

// ---- times without running

static void add_times(const seer_precise *p, seer_precise_version *v) {
  const seer_target *target = seer_context_target(p->context);
  bool is_recorded = true;
  for (uint32_t t = 0; t < v->network->n_task; t++) {
    const seer_choice *c = &v->choices[t];
    double weight = v->network->task[t].weight;
    double recorded = c->network_seconds > 0 ? c->network_seconds : c->seconds;
    v->estimate_s += weight * seer_choose_estimate(target, c->sketches, &c->schedule).seconds;
    v->recorded_s += weight * recorded;
    is_recorded = is_recorded && recorded > 0;
  }
  if (!is_recorded) v->recorded_s = 0;
}

static seer_status choose_one(seer_precise *p, seer_precise_version *v, seer_precise_how how) {
  SEER_TRY(use_precision(p, v));
  if (how == SEER_PRECISE_COMPILE)
    SEER_TRY(seer_choose_by_options(p->context, v->network, p->arena, &v->choices, &v->counts));
  else
    SEER_TRY(seer_choose(p->context, v->network, NULL, 1, p->arena, &v->choices, &v->counts));
  if (p->n > 1) add_times(p, v);
  return SEER_OK;
}

seer_status seer_precise_choose(seer_precise *p, seer_precise_how how) {
  bool has_to_choose = p->n > 1 || how == SEER_PRECISE_COMPILE;
  for (uint32_t k = 0; k < p->n && has_to_choose; k++) SEER_TRY(choose_one(p, &p->version[k], how));
  return SEER_OK;
}

// The best that is known of both: runs, records, the model.
typedef struct {
  double own_s, f32_s;
  bool is_expected;
  const char *how;
} times;

static times times_of(const seer_precise *p, const seer_precise_version *v) {
  const seer_precise_version *f32 = &p->version[0];
  if (v->run_s > 0) return (times){v->run_s, v->f32_run_s, false, "in turns, both untuned"};
  if (v->recorded_s > 0 && f32->recorded_s > 0)
    return (times){v->recorded_s, f32->recorded_s, false, "by the records"};
  return (times){v->estimate_s, f32->estimate_s, true, "by the estimate"};
}

// ---- libraries that are compared

// Without dumps, which are of what is compiled.
static seer_status build_quietly(const seer_precise *p, const seer_precise_version *v,
    const seer_choice *choices, seer_build_kept *kept) {
  const char *dump = seer_context_str(p->context, SEER_OPT_DUMP);
  SEER_TRY(use_precision(p, v));
  if (*dump) SEER_TRY(seer_context_set(p->context, "dump", ""));
  seer_status status =
      seer_choice_build(p->context, v->network, choices, SEER_BUILD_LIBRARY, kept, v->folder);
  if (*dump) status = seer_status_join(status, seer_context_set(p->context, "dump", dump));
  return status;
}

// Of a GPU: what --devices names, or the driver's first one.
static bool runs_here(const seer_precise *p) {
  const seer_target *target = seer_context_target(p->context);
  seer_status status = target->kind == SEER_TARGET_CPU ? seer_target_check_here(target)
                                                       : seer_measure_check_devices(p->context);
  bool runs = !status;
  seer_status_free(status);
  return runs;
}

// For this machine, untuned.
static seer_status build_for_processors(const seer_precise *p, const seer_precise_version *v) {
  const seer_target own = *seer_context_target(p->context);
  seer_target here;
  seer_choice *choices = NULL;
  seer_choose_counts counts;
  SEER_TRY(seer_target_parse("native", p->arena, &here));
  seer_context_set_target(p->context, &here);
  seer_status status = seer_choose(p->context, v->network, NULL, 1, p->arena, &choices, &counts);
  if (!status) status = build_quietly(p, v, choices, NULL);
  seer_context_set_target(p->context, &own);
  return status;
}

static seer_status make_folder(seer_precise *p) {
  const char *out_dir = seer_context_str(p->context, SEER_OPT_OUTPUT);
  if (!*out_dir) return seer_os_temp_dir("familyseer-precision", p->arena, &p->folder);
  if (!seer_os_exists(out_dir)) p->made_folder = out_dir;
  SEER_TRY(seer_os_make_dirs(out_dir));
  SEER_TRY(seer_os_work_dir_open(out_dir, ".build", p->arena, &p->work));
  p->folder = p->work.path;
  return SEER_OK;
}

static seer_status build(seer_precise *p, seer_precise_version *v) {
  if (v->folder) return SEER_OK;
  if (!p->folder) SEER_TRY(make_folder(p));
  v->folder = seer_os_path_join(p->arena, p->folder, name_of(v));
  seer_status status =
      runs_here(p) ? build_quietly(p, v, v->choices, p->kept) : build_for_processors(p, v);
  if (status) v->folder = NULL;  // who was stopped may ask again
  return status;
}

// A run that these inputs end, at a side of an If that could not be built, is no answer.
static seer_status take_unsupported(
    const seer_precise *p, const seer_precise_version *v, seer_status status, const char *what) {
  if (!status || seer_status_code(status) != SEER_CODE_UNSUPPORTED) return status;
  seer_say(p->context, "%s is not %s f32: %s; other inputs (-i, --fill, --seed) may lead elsewhere",
      name_of(v), what, seer_status_message(status));
  seer_status_free(status);
  return SEER_OK;
}

// The library of v in `folder` with that of f32, which is built.
static seer_status compare_built(seer_precise *p, seer_precise_version *v, const char *folder) {
  seer_status status =
      seer_deviations_find(p->context, folder, p->version[0].folder, p->arena, &v->deviations);
  v->is_compared = !status;
  return take_unsupported(p, v, status, "compared with");
}

static seer_status compare(seer_precise *p, seer_precise_version *v) {
  SEER_TRY(build(p, &p->version[0]));
  SEER_TRY(build(p, v));
  return compare_built(p, v, v->folder);
}

// Of a GPU it says where both have run.
static const char *deviations_text(
    const seer_precise *p, const seer_precise_version *v, const char *state) {
  const seer_target *target = seer_context_target(p->context);
  const char *where = target->kind == SEER_TARGET_CPU ? ""
      : !runs_here(p) ? ", code for processors in place of the target's"
                      : seer_arena_printf(p->arena, ", both on this machine's %s",
                            seer_target_kind_name(target->kind));
  return seer_arena_printf(p->arena, "%s against f32%s%s, on the same inputs:\n%s", name_of(v),
      state, where, seer_deviations_text(&v->deviations, p->arena));
}

// NULL: within --tolerance.
static const char *why_not(const seer_precise *p, const seer_precise_version *v) {
  if (!v->is_compared)
    return "could not be compared with f32, so that --tolerance is not known to hold";
  const seer_output_deviation *worst = seer_deviations_worst(&v->deviations);
  if (!worst || worst->deviation.relative <= p->tolerance) return NULL;
  return seer_arena_printf(p->arena,
      "is off by %.3g of the largest f32 value in output '%s'%s%s, --tolerance allows %g",
      worst->deviation.relative, worst->output, worst->shapes ? " for " : "",
      worst->shapes ? worst->shapes : "", p->tolerance);
}

static seer_status gate(const seer_precise *p, const seer_precise_version *v) {
  const char *why = p->is_gated ? why_not(p, v) : NULL;
  return why ? SEER_FAIL(INVALID, "--precision %s %s: no library is written", name_of(v), why)
             : SEER_OK;
}

// ---- in turns

static seer_status run_in_turns(seer_precise *p, const seer_precise_version *v, const char *folder,
    double seconds, seer_pairs_summary *out) {
  seer_contest contest = {p->context, v->network, folder, p->version[0].folder, seconds};
  seer_contest_times taken = {.task = SEER_NEW_ARRAY(p->arena, seer_pairs, v->network->n_task + 1)};
  *out = (seer_pairs_summary){.speedup = 1};
  seer_status status = seer_contest_run(&contest, NULL, &taken);
  if (!status) seer_pairs_summarise(&taken.whole, out);
  return take_unsupported(p, v, status, "timed against");
}

// What is compared is the median of ratios of pairs: the time beside f32's follows from that.
static seer_status time_version(seer_precise *p, seer_precise_version *v) {
  seer_pairs_summary s;
  if (v->estimate_s > WORTH_A_RUN * p->version[0].estimate_s) return SEER_OK;
  SEER_TRY(build(p, &p->version[0]));
  SEER_TRY(build(p, v));
  SEER_TRY(run_in_turns(p, v, v->folder, RUNS_S, &s));
  if (s.n == 0) return SEER_OK;
  v->f32_run_s = s.untuned_s;
  v->run_s = s.untuned_s / s.speedup;
  return SEER_OK;
}

static const char *slower_text(
    const seer_precise *p, const seer_precise_version *v, const times *t) {
  return seer_arena_printf(p->arena,
      "%s is %sslower than f32 on this target: %.4g ms, f32 %.4g ms %s", name_of(v),
      t->is_expected ? "expected to be " : "", t->own_s * 1e3, t->f32_s * 1e3, t->how);
}

// ---- which

static void note(seer_text *text, const seer_precise_version *v, const times *t, const char *why) {
  seer_text_printf(text, "%s%s (%.4g ms, f32 %.4g ms %s) %s", text->n_bytes > 0 ? "; " : "",
      name_of(v), t->own_s * 1e3, t->f32_s * 1e3, t->how, why);
}

static double ratio_of(const seer_precise *p, const seer_precise_version *v) {
  times t = times_of(p, v);
  return t.own_s / t.f32_s;
}

// The fastest first.
static uint32_t order(seer_precise *p, seer_precise_version *by_time[SEER_PRECISIONS]) {
  uint32_t n = 0;
  for (uint32_t k = 1; k < p->n; k++) {
    seer_precise_version *v = &p->version[k];
    uint32_t at = n++;
    for (; at > 0 && ratio_of(p, by_time[at - 1]) > ratio_of(p, v); at--)
      by_time[at] = by_time[at - 1];
    by_time[at] = v;
  }
  return n;
}

static seer_status take_fastest(seer_precise *p) {
  seer_precise_version *by_time[SEER_PRECISIONS];
  uint32_t n = order(p, by_time);
  seer_text why;
  seer_text_init(&why, p->arena);
  for (uint32_t k = 0; k < n && p->taken == &p->version[0]; k++) {
    seer_precise_version *v = by_time[k];
    times t = times_of(p, v);
    if (!(t.own_s <= WORTH * t.f32_s)) {
      note(&why, v, &t, "is not 5 % faster");
      continue;
    }
    SEER_TRY(compare(p, v));
    const char *problem = why_not(p, v);
    if (!problem) p->taken = v;
    note(&why, v, &t, problem ? problem : "is the fastest within --tolerance");
  }
  p->text = seer_arena_printf(
      p->arena, "--precision auto takes %s: %s", name_of(p->taken), why.data ? why.data : "");
  return SEER_OK;
}

// One that was asked for is taken, whatever time it takes.
static seer_status take_asked(seer_precise *p) {
  seer_precise_version *v = p->taken = &p->version[1];
  SEER_TRY(compare(p, v));
  times t = times_of(p, v);
  // Estimates that are nearer to each other say nothing.
  if (t.own_s * WORTH > t.f32_s) seer_say(p->context, "%s", slower_text(p, v, &t));
  return gate(p, v);
}

static seer_status take_auto(seer_precise *p, seer_precise_how how) {
  for (uint32_t k = 1; k < p->n && how == SEER_PRECISE_TUNE; k++)
    SEER_TRY(time_version(p, &p->version[k]));
  if (p->n > 1) SEER_TRY(take_fastest(p));
  seer_say(p->context, "%s", p->text);
  return SEER_OK;
}

seer_status seer_precise_take(seer_precise *p, seer_precise_how how) {
  p->taken = &p->version[0];
  seer_status status = p->is_auto ? take_auto(p, how) : p->n > 1 ? take_asked(p) : SEER_OK;
  if (p->taken->is_compared)
    seer_say(p->context, "%s",
        deviations_text(p, p->taken, how == SEER_PRECISE_COMPILE ? "" : ", both untuned"));
  SEER_TRY(status);
  return use_precision(p, p->taken);
}

// A build says with dumps what it does; what was judged was built without. It is moved once.
static bool is_built(const seer_precise *p, seer_build_kind kind) {
  return p->taken->folder && kind == SEER_BUILD_LIBRARY && p->work.path &&
      seer_os_exists(p->taken->folder) && runs_here(p) &&
      !*seer_context_str(p->context, SEER_OPT_DUMP);
}

seer_status seer_precise_write(const seer_precise *p, seer_build_kind kind, const char *out_dir) {
  const seer_precise_version *v = p->taken;
  if (is_built(p, kind)) return seer_build_move(v->folder, out_dir);
  return seer_choice_build(p->context, v->network, v->choices, kind, p->kept, out_dir);
}

// ---- after a tuning

// With the schedules that are known of f32.
static seer_status build_f32_again(seer_precise *p, seer_records *records, const char **out_state) {
  seer_precise_version *f32 = &p->version[0];
  *out_state = "untuned";
  if (!records) return build(p, f32);
  SEER_TRY(
      seer_choose(p->context, f32->network, records, 2, p->arena, &f32->choices, &f32->counts));
  if (f32->counts.n_record == 0) return build(p, f32);
  *out_state = seer_arena_printf(
      p->arena, "%u of its %u tasks tuned", f32->counts.n_record, f32->network->n_task);
  f32->folder = NULL;
  return build(p, f32);
}

static seer_status finish_times(
    seer_precise *p, const char *folder, const char *state, double seconds, const char **out_text) {
  seer_precise_version *v = p->taken;
  seer_pairs_summary s;
  SEER_TRY(run_in_turns(p, v, folder, seconds, &s));
  if (s.n == 0) return SEER_OK;
  times t = {s.untuned_s / s.speedup, s.untuned_s, false,
      seer_arena_printf(p->arena, "in %u pairs (f32: %s)", s.n, state)};
  p->own_s = t.own_s;
  p->f32_s = t.f32_s;
  *out_text = s.speedup < 1 && s.p_slower < MAX_P_SLOWER
      ? slower_text(p, v, &t)
      : seer_arena_printf(p->arena, "%s against f32: %.4g ms, f32 %.4g ms %s, %.2f times as fast",
            name_of(v), t.own_s * 1e3, t.f32_s * 1e3, t.how, s.speedup);
  return SEER_OK;
}

seer_status seer_precise_finish(
    seer_precise *p, const char *folder, seer_records *records, double seconds) {
  seer_precise_version *v = p->taken;
  const char *state, *text = "";
  if (v == &p->version[0]) return SEER_OK;
  SEER_TRY(build_f32_again(p, records, &state));
  SEER_TRY(use_precision(p, v));
  SEER_TRY(compare_built(p, v, folder));
  if (v->is_compared) p->report = deviations_text(p, v, "");
  if (*p->report) seer_say(p->context, "%s", p->report);
  SEER_TRY(gate(p, v));
  if (seconds > 0) SEER_TRY(finish_times(p, folder, state, seconds, &text));
  if (*text) seer_say(p->context, "%s", text);
  p->report = seer_arena_printf(p->arena, "%s%s\n", p->report, text);
  return SEER_OK;
}

json_t *seer_precise_json(const seer_precise *p) {
  const seer_precise_version *v = p->taken;
  if (!v || (v == &p->version[0] && !p->is_auto)) return NULL;
  json_t *object =
      json_pack("{s:s, s:s, s:b, s:s, s:o}", "event", "precision", "precision", name_of(v), "auto",
          p->is_auto, "text", p->text, "outputs", seer_deviations_json(&v->deviations));
  if (object && p->f32_s > 0) {
    json_object_set_new(object, "ms", json_real(p->own_s * 1e3));
    json_object_set_new(object, "f32_ms", json_real(p->f32_s * 1e3));
  }
  return object;
}
