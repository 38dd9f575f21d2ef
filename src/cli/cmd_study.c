// cmd_study.c - familyseer study collect|gather|regret|fig1|...: tables of measured times, and what
// policies and models are worth by them. Sub-commands are rows of `studies`, or studies of the
// paper (study/paper/study.h).
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "cli/command.h"
#include "measure/lock.h"
#include "models/models.h"
#include "study/collect.h"
#include "study/from_records.h"
#include "study/paper/paper.h"
#include "study/regret.h"
#include "study/tuning.h"
#include "tune/scheduler.h"

// A signal handler has no other way to say it.
static volatile sig_atomic_t is_stopped;

static void on_interrupt(int signal_number) {
  (void)signal_number;
  is_stopped = 1;
}

// ---- collect
static void tell(void *user, const char *text) {
  (void)user;
  fprintf(stderr, "%s\n", text);
}

// "models/resnet18.onnx" is resnet18.
static const char *network_name(const char *model, seer_arena *arena) {
  const char *base = seer_os_path_base(model), *dot = strrchr(base, '.');
  bool has_suffix = dot && strcmp(dot, ".onnx") == 0;
  return seer_arena_strndup(arena, base, has_suffix ? (size_t)(dot - base) : strlen(base));
}

// The table that is there, or a new one.
static seer_status open_table(
    seer_context *context, const char *path, seer_arena *arena, seer_times *out) {
  const seer_target *target = seer_context_target(context);
  if (!seer_os_exists(path)) {
    seer_times_begin(target, arena, out);
    return seer_times_write(out, path);  // what cannot be written is said before the work
  }
  SEER_TRY(seer_times_read(path, arena, out));
  return seer_times_check_target(out, path, target);
}

static void print_counts(const seer_collect_options *options, const seer_collect_counts *counts) {
  printf(
      "%s: %u tasks, %u schedules: %u within %.2g %%, %u not after %d visits, %u failed, %u open\n",
      options->path, counts->n_task, counts->n_schedule, counts->n_precise,
      100 * options->half_interval, counts->n_visited, SEER_COLLECT_MAX_VISITS, counts->n_failed,
      counts->n_open);
}

static seer_status collect_loaded(seer_context *context, const seer_collect_network *networks,
    uint32_t n, seer_collect_options *options, seer_arena *arena) {
  seer_times times;
  seer_collect_counts counts;
  SEER_TRY(open_table(context, options->path, arena, &times));
  SEER_TRY(seer_collect(context, networks, n, options, &times, &counts));
  print_counts(options, &counts);
  return SEER_OK;
}

static seer_status collect_all(seer_context *context, int argc, char **argv,
    seer_collect_options *options, seer_arena *arena) {
  SEER_TRY(seer_context_measure_target(context));
  seer_collect_network *networks = SEER_NEW_ARRAY(arena, seer_collect_network, argc);
  seer_status status = SEER_OK;
  uint32_t n = 0;
  for (int i = 0; i < argc && !status; i++) {
    seer_network *network = NULL;
    status = seer_front_load(context, argv[i], seer_model_build, arena, &network);
    if (status) break;
    seer_cli_print_notices(network);
    networks[n++] = (seer_collect_network){network_name(argv[i], arena), network};
  }
  if (!status) status = collect_loaded(context, networks, n, options, arena);
  for (uint32_t k = 0; k < n; k++) seer_graph_close(networks[k].network->graph);
  return status;
}

static bool is_over(void *user) {
  (void)user;
  return is_stopped;
}

static seer_status run_collect(seer_context *context, int argc, char **argv, seer_arena *arena) {
  const char *shapes;
  SEER_TRY(seer_cli_one_shape(context, &shapes));
  seer_collect_options options = {
      .n_schedules = (uint32_t)seer_context_i64(context, SEER_OPT_SCHEDULES),
      .n_heaviest = (uint32_t)seer_context_i64(context, SEER_OPT_HEAVIEST),
      .half_interval = seer_context_f64(context, SEER_OPT_HALF_INTERVAL),
      .time_s = seer_context_is_set(context, SEER_OPT_TIME_BUDGET)
          ? seer_context_f64(context, SEER_OPT_TIME_BUDGET)
          : 0,
      .path = seer_context_str(context, SEER_OPT_OUTPUT),
      .is_stopped = &is_stopped,
      .tell = tell};
  if (!options.path[0])
    return seer_usage_error("study collect: -o FILE, where the table is to be, is missing");
  seer_measure_choice measure;
  SEER_TRY(seer_measure_find(seer_context_str(context, SEER_OPT_MEASURE), arena, &measure));
  const seer_waiter waiter = {is_over, tell, NULL};
  seer_measure_lock device;
  bool is_given_up;
  struct sigaction action = {.sa_handler = on_interrupt}, interrupt, terminate;
  sigaction(SIGINT, &action, &interrupt);
  sigaction(SIGTERM, &action, &terminate);
  seer_status status =
      seer_measure_lock_take(context, measure.desc, &waiter, &device, &is_given_up);
  if (!status && !is_given_up) status = collect_all(context, argc, argv, &options, arena);
  sigaction(SIGINT, &interrupt, NULL);
  sigaction(SIGTERM, &terminate, NULL);
  seer_measure_lock_release(&device);
  return status;
}

// ---- gather
static void print_gathered(const char *name, const seer_gather_counts *counts) {
  printf("%s: %u schedules of %u tasks", name, counts->n_schedule, counts->n_task);
  if (counts->n_known > 0) printf("; %u known already", counts->n_known);
  if (counts->n_left_out > 0) printf("; %u of a moment", counts->n_left_out);
  if (counts->n_unsound > 0) printf("; %u of no use today", counts->n_unsound);
  printf("\n");
}

// text: NETWORK=RECORDS.
static seer_status gather_one(
    seer_context *context, const char *text, seer_arena *arena, seer_times *times) {
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return seer_usage_error("study gather: '%s' is no NETWORK=RECORDS", text);
  const char *model = seer_arena_strndup(arena, text, (size_t)(equals - text));
  const char *name = network_name(model, arena);
  seer_network *network = NULL;
  seer_records *records = NULL;
  seer_gather_counts counts;
  seer_status status = seer_front_load(context, model, seer_model_build, arena, &network);
  if (!status) status = seer_records_open_to_read(context, equals + 1, &records);
  if (!status) status = seer_gather(context, name, network, records, times, &counts);
  if (!status) print_gathered(name, &counts);
  seer_records_close(records);
  if (network) seer_graph_close(network->graph);
  return status;
}

static seer_status run_gather(seer_context *context, int argc, char **argv, seer_arena *arena) {
  const char *shapes, *path = seer_context_str(context, SEER_OPT_OUTPUT);
  SEER_TRY(seer_cli_one_shape(context, &shapes));
  if (!path[0])
    return seer_usage_error("study gather: -o FILE, where the table is to be, is missing");
  SEER_TRY(seer_os_check_writable(path));
  SEER_TRY(seer_context_find_target(context));
  seer_times times;
  if (seer_os_exists(path))
    SEER_TRY(open_table(context, path, arena, &times));
  else
    seer_times_begin(seer_context_target(context), arena, &times);
  for (int i = 0; i < argc; i++)
    SEER_TRYF(gather_one(context, argv[i], arena, &times), "%s", argv[i]);
  return seer_times_write(&times, path);
}

// ---- lists
// Those of --networks, or all that the table has.
static seer_status choose_networks(const seer_context *context, const seer_times *times,
    const char *path, seer_arena *arena, const char *const **out, uint32_t *out_n) {
  const char *const *known, *wanted = seer_context_str(context, SEER_OPT_NETWORKS);
  uint32_t n_known = *out_n = seer_tuning_networks(times, arena, &known);
  *out = known;
  if (!wanted[0]) return SEER_OK;
  *out_n = seer_cli_words(wanted, arena, out);
  for (uint32_t k = 0; k < *out_n; k++) {
    uint32_t i = 0;
    while (i < n_known && strcmp(known[i], (*out)[k]) != 0) i++;
    if (i < n_known) continue;
    seer_text names;
    seer_text_init(&names, arena);
    for (i = 0; i < n_known; i++) seer_text_printf(&names, "%s%s", i ? ", " : "", known[i]);
    return SEER_FAIL(INVALID, "--networks: %s has no network '%s'; it has %s", path, (*out)[k],
        n_known ? names.data : "none");
  }
  return SEER_OK;
}

// ---- regret
typedef struct {
  seer_context *context, *tuning;  // the command's, and that of its tunings, which set options
  const char *path;
  seer_times times;
  uint32_t n_seed;
  // What is measured: networks x policies x cost models.
  uint32_t n_network, n_policy, n_model;
  const char *const *network, *const *policy, *const *model;
  seer_regret *result;  // [network][policy][model][seed]
  seer_arena *arena;
} regrets;

static seer_regret *results_of(
    const regrets *r, uint32_t network, uint32_t policy, uint32_t model) {
  return &r->result[((network * r->n_policy + policy) * r->n_model + model) * r->n_seed];
}

// "default": the policy's own.
static const char *model_option(const char *name) {
  return strcmp(name, "default") == 0 ? "" : name;
}

// 0: the policy's.
static uint32_t round_size(const seer_context *context) {
  bool is_given = seer_context_is_set(context, SEER_OPT_ROUND_SIZE);
  return is_given ? (uint32_t)seer_context_i64(context, SEER_OPT_ROUND_SIZE) : 0;
}

static seer_status measure_all(regrets *r) {
  for (uint32_t w = 0; w < r->n_network; w++) {
    for (uint32_t p = 0; p < r->n_policy; p++) {
      for (uint32_t m = 0; m < r->n_model; m++) {
        for (uint32_t s = 0; s < r->n_seed; s++) {
          seer_regret *out = &results_of(r, w, p, m)[s];
          const seer_tuning_options options = {.times = &r->times,
              .path = r->path,
              .network = r->network[w],
              .only = SEER_TUNING_ALL,
              .policy = r->policy[p],
              .cost_model = model_option(r->model[m]),
              .seed = s + 1,
              .round_size = round_size(r->context),
              .pretrained = seer_context_str(r->context, SEER_OPT_PRETRAINED)};
          SEER_TRYF(seer_regret_measure(r->tuning, &options, out), "%s, policy %s", r->network[w],
              r->policy[p]);
          fprintf(stderr, "%s, %s %s, seed %u: %u trials of %u tasks in %.1f s\n", r->network[w],
              r->policy[p], r->model[m], s + 1, out->n_trial, out->n_task, out->seconds);
        }
      }
    }
  }
  return SEER_OK;
}

typedef struct {
  double mean, least, most;
} spread;

static spread spread_of(const regrets *r, const seer_regret *of, uint32_t budget) {
  spread out = {0, INFINITY, -INFINITY};
  for (uint32_t s = 0; s < r->n_seed; s++) {
    double value = of[s].regret[budget];
    out.mean += value / r->n_seed;
    out.least = fmin(out.least, value);
    out.most = fmax(out.most, value);
  }
  return out;
}

// Mean over what has any; NAN: nothing has.
static double mean_of(double sum, uint32_t n) { return n ? sum / n : NAN; }

static void print_learnt(const regrets *r, const seer_regret *of) {
  double rank = 0, recall = 0;
  uint32_t n_rank = 0, n_recall = 0;
  for (uint32_t s = 0; s < r->n_seed; s++) {
    rank += of[s].n_rounds ? of[s].rank_correlation : 0;
    n_rank += of[s].n_rounds > 0;
    recall += of[s].n_recalled ? of[s].recall : 0;
    n_recall += of[s].n_recalled > 0;
  }
  if (n_rank)
    printf("  %6.2f", mean_of(rank, n_rank));
  else
    printf("  %6s", "-");
  if (n_recall)
    printf("  %6.2f\n", mean_of(recall, n_recall));
  else
    printf("  %6s\n", "-");
}

static void print_head(const char *title) {
  printf("%s\n  %-12s %-9s", title, "policy", "model");
  for (int b = 0; b < SEER_REGRET_BUDGETS; b++) printf("  %16u", seer_regret_budgets[b]);
}

static void print_network(const regrets *r, uint32_t w) {
  print_head(seer_arena_printf(r->arena,
      "%s, %u tasks: regret in %% after so many trials a task, mean [least, most] of %u seeds; "
      "rank "
      "correlation; recall",
      r->network[w], results_of(r, w, 0, 0)->n_task, r->n_seed));
  printf("  %6s  %6s\n", "rank", "recall");
  for (uint32_t p = 0; p < r->n_policy; p++) {
    for (uint32_t m = 0; m < r->n_model; m++) {
      const seer_regret *of = results_of(r, w, p, m);
      printf("  %-12s %-9s", r->policy[p], r->model[m]);
      for (uint32_t b = 0; b < SEER_REGRET_BUDGETS; b++) {
        spread s = spread_of(r, of, b);
        printf("  %16s",
            seer_arena_printf(
                r->arena, "%.1f [%.1f, %.1f]", 100 * s.mean, 100 * s.least, 100 * s.most));
      }
      print_learnt(r, of);
    }
  }
}

// Of 1 + regret, mean over seeds, less 1.
static void print_geometric_means(const regrets *r) {
  print_head("geometric mean of the networks: regret in % after so many trials a task");
  printf("\n");
  for (uint32_t p = 0; p < r->n_policy; p++) {
    for (uint32_t m = 0; m < r->n_model; m++) {
      printf("  %-12s %-9s", r->policy[p], r->model[m]);
      for (uint32_t b = 0; b < SEER_REGRET_BUDGETS; b++) {
        double sum = 0;
        for (uint32_t w = 0; w < r->n_network; w++)
          sum += log1p(spread_of(r, results_of(r, w, p, m), b).mean) / r->n_network;
        printf("  %16.1f", 100 * expm1(sum));
      }
      printf("\n");
    }
  }
}

static seer_status write_csv(const regrets *r, const char *path) {
  seer_text csv;
  seer_text_init(&csv, r->arena);
  seer_text_put(&csv,
      "network,policy,cost_model,seed,tasks,trials,trials_a_task,regret,rank_correlation,rounds,"
      "recall,recalled_tasks,seconds\n");
  for (uint32_t w = 0; w < r->n_network; w++)
    for (uint32_t p = 0; p < r->n_policy; p++)
      for (uint32_t m = 0; m < r->n_model; m++)
        for (uint32_t k = 0; k < r->n_seed * SEER_REGRET_BUDGETS; k++) {
          uint32_t s = k / SEER_REGRET_BUDGETS, b = k % SEER_REGRET_BUDGETS;
          const seer_regret *of = &results_of(r, w, p, m)[s];
          seer_text_printf(&csv, "%s,%s,%s,%u,%u,%u,%u,%.6g,%.4g,%u,%.4g,%u,%.4g\n", r->network[w],
              r->policy[p], r->model[m], s + 1, of->n_task, of->n_trial, seer_regret_budgets[b],
              of->regret[b], of->rank_correlation, of->n_rounds, of->recall, of->n_recalled,
              of->seconds);
        }
  return seer_os_write_file(path, csv.data, csv.n_bytes);
}

static seer_status compare_policies(regrets *r) {
  seer_context *context = r->context;
  SEER_TRY(seer_times_read(r->path, r->arena, &r->times));
  SEER_TRY(choose_networks(context, &r->times, r->path, r->arena, &r->network, &r->n_network));
  r->n_policy = seer_cli_words(seer_context_str(context, SEER_OPT_POLICIES), r->arena, &r->policy);
  r->n_model = seer_cli_words(seer_context_str(context, SEER_OPT_COST_MODELS), r->arena, &r->model);
  if (r->n_policy == 0 || r->n_model == 0 || r->n_network == 0)
    return SEER_FAIL(INVALID, "%s: no %s to measure", r->path,
        r->n_network == 0      ? "network"
            : r->n_policy == 0 ? "policy"
                               : "cost model");
  for (uint32_t p = 0; p < r->n_policy; p++) {
    seer_policy policy;
    SEER_TRY(seer_policy_find(r->policy[p], &policy));
  }
  r->result = SEER_NEW_ARRAY(
      r->arena, seer_regret, (size_t)r->n_network * r->n_policy * r->n_model * r->n_seed);
  // The table says which target: it is the only one that it has times of.
  SEER_TRY(seer_tuning_context(&r->times, r->path, context, r->arena, &r->tuning));
  SEER_TRY(measure_all(r));
  for (uint32_t w = 0; w < r->n_network; w++) print_network(r, w);
  if (r->n_network > 1) print_geometric_means(r);
  const char *csv = seer_context_str(context, SEER_OPT_CSV);
  return csv[0] ? write_csv(r, csv) : SEER_OK;
}

static seer_status run_regret(seer_context *context, int argc, char **argv, seer_arena *arena) {
  (void)argc;
  const char *csv = seer_context_str(context, SEER_OPT_CSV);
  if (csv[0]) SEER_TRYF(seer_os_check_writable(csv), "--csv");
  regrets r = {.context = context,
      .path = argv[0],
      .n_seed = (uint32_t)seer_context_i64(context, SEER_OPT_SEEDS),
      .arena = arena};
  seer_status status = compare_policies(&r);
  seer_context_destroy(r.tuning);
  return status;
}

// ---- the paper's studies
static seer_status run_paper(
    seer_context *context, const char *study, const char *path, seer_arena *arena) {
  seer_times times;
  SEER_TRY(seer_times_read(path, arena, &times));
  const char *folder = seer_context_str(context, SEER_OPT_OUTPUT);
  seer_paper_options options = {.times = &times,
      .path = path,
      .folder = folder[0] ? folder : "study",
      .study = study,
      .n_policy = (uint32_t)seer_paper_policy_count,
      .policy = seer_paper_policies,
      .n_seed = (uint32_t)seer_context_i64(context, SEER_OPT_SEEDS),
      .trials_a_task = (uint32_t)seer_context_i64(context, SEER_OPT_TRIALS_A_TASK),
      .round_size = round_size(context),
      .pretrained = seer_context_str(context, SEER_OPT_PRETRAINED),
      .n_samples = (uint32_t)seer_context_i64(context, SEER_OPT_SAMPLES),
      .tell = tell};
  if (seer_context_is_set(context, SEER_OPT_POLICIES))
    options.n_policy =
        seer_cli_words(seer_context_str(context, SEER_OPT_POLICIES), arena, &options.policy);
  SEER_TRY(choose_networks(context, &times, path, arena, &options.network, &options.n_network));
  if (options.n_network == 0) return SEER_FAIL(INVALID, "%s: no network to measure", path);
  SEER_TRY(seer_paper_make(context, &options));
  printf("%s/study.html, %s/study.md and a CSV for each study\n", options.folder, options.folder);
  return SEER_OK;
}

// ---- the command
typedef struct {
  const char *name, *needs;  // needs: what must stand behind the name
  int max_args;  // -1: any number
  seer_status (*run)(seer_context *context, int argc, char **argv, seer_arena *arena);
} study;

static const study studies[] = {
    {"collect", "NETWORK", -1, run_collect},
    {"gather", "NETWORK=RECORDS", -1, run_gather},
    {"regret", "FILE", 1, run_regret},
};

static seer_status unknown_study(const char *name) {
  seer_arena *arena = seer_arena_create("names");
  seer_text known;
  seer_text_init(&known, arena);
  for (size_t k = 0; k < SEER_COUNT_OF(studies); k++)
    seer_text_printf(&known, "%s, ", studies[k].name);
  for (size_t k = 0; k < seer_paper_study_count; k++)
    seer_text_printf(&known, "%s, ", seer_paper_study_table[k]->name);
  seer_status status =
      seer_usage_error("study: unknown '%s'; allowed: %s%s", name, known.data, SEER_PAPER_ALL);
  seer_arena_destroy(arena);
  return status;
}

static seer_status run_study(seer_context *context, int argc, char **argv) {
  bool is_paper = seer_paper_has_study(argv[0]);
  size_t k = 0;
  while (k < SEER_COUNT_OF(studies) && strcmp(argv[0], studies[k].name) != 0) k++;
  if (k == SEER_COUNT_OF(studies) && !is_paper) return unknown_study(argv[0]);
  const char *needs = is_paper ? "FILE" : studies[k].needs;
  int max_args = is_paper ? 1 : studies[k].max_args;
  if (argc < 2) return seer_usage_error("study %s: a %s is missing", argv[0], needs);
  if (max_args >= 0 && argc - 1 > max_args)
    return seer_usage_error("study %s: '%s' is one argument too many", argv[0], argv[2]);
  seer_arena *arena = seer_arena_create("study");
  seer_status status = is_paper ? run_paper(context, argv[0], argv[1], arena)
                                : studies[k].run(context, argc - 1, argv + 1, arena);
  seer_arena_destroy(arena);
  return status;
}

const seer_command seer_command_study = {
    .name = "study",
    .args =
        "collect NETWORK... -o FILE [--schedules N] [--heaviest N] [--half-interval P] "
        "[--time-budget "
        "T] | gather NETWORK=RECORDS... -o FILE | regret FILE [--policies a,b] [--cost-models a,b] "
        "[--networks a,b] [--seeds N] "
        "[--without a,b] [--csv OUT] | fig1|fig2|table2|fig3|fig4|fig7|table5|fig8|all FILE "
        "[-o DIR] [--policies a,b] [--networks a,b] [--seeds N] [--trials-a-task N] [--round-size "
        "N] [--samples N]",
    .doc =
        "tables of measured times of schedules, how far policies are from the best that a table "
        "knows, and the studies of FamilySeer's paper on one",
    .min_args = 1,
    .max_args = -1,
    .run = run_study,
};
