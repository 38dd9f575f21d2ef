// study_models.c - figures 1 and 2 and table 2: what cost models order, by whom they were taught.
#include <math.h>
#include <string.h>

#include "learn/family.h"
#include "study/paper/picture.h"
#include "study/paper/published.h"
#include "study/paper/study.h"

typedef enum { HELD_OUT, SEEN, PEAK, N_FIGURE } figure;

static double figure_of(const seer_accuracy *a, figure which) {
  return which == HELD_OUT ? a->held_out : which == SEEN ? a->seen : a->peak;
}

// The mean over tasks that have the figure.
static double of_tasks(const seer_accuracies *a, uint32_t g, figure which) {
  double sum = 0;
  uint32_t n = 0;
  for (uint32_t t = 0; t < a->n_task; t++) {
    double value = figure_of(&a->of[g][t], which);
    if (isnan(value)) continue;
    sum += value;
    n++;
  }
  return n ? sum / n : NAN;
}

// Of networks [first, first + n).
static seer_interval interval_of(
    const seer_paper_data *d, uint32_t first, uint32_t n, uint32_t g, figure which) {
  double *values = SEER_NEW_ARRAY(d->arena, double, (size_t)n * d->n_seed);
  for (uint32_t w = 0; w < n; w++)
    for (uint32_t s = 0; s < d->n_seed; s++)
      values[w * d->n_seed + s] = of_tasks(seer_paper_accuracies(d, first + w, s), g, which);
  return seer_bootstrap(values, n, d->n_seed, d->arena);
}

static const char *percent(
    const seer_paper_data *d, uint32_t first, uint32_t n, uint32_t g, figure which) {
  return seer_cell_interval(d->arena, interval_of(d, first, n, g, which), 100, 1);
}

// ---- figure 1
static uint32_t grouping_named(const char *name) {
  uint32_t g = 0;
  while (strcmp(seer_family_table[g]->name, name) != 0) g++;
  return g;
}

// One model for all, one for each family by the default grouping, one for each task.
static bool is_of_three(uint32_t g) {
  return g == 0 || g == grouping_named("all") || g == grouping_named("single");
}

static bool has_grouping(const seer_paper_data *d, uint32_t g, bool only_three) {
  if (only_three && !is_of_three(g)) return false;
  return seer_paper_accuracies(d, 0, 0)->n_family[g] > 0;
}

static void put_groupings_csv(
    const seer_paper_data *d, seer_text *csv, const char *head, bool only_three) {
  seer_text_printf(
      csv, "network,seed,%s,task,families,fitted_on,held_out,accuracy,accuracy_seen,peak\n", head);
  for (uint32_t w = 0; w < d->n_network; w++)
    for (uint32_t s = 0; s < d->n_seed; s++) {
      const seer_accuracies *a = seer_paper_accuracies(d, w, s);
      for (uint32_t g = 0; g < a->n_grouping; g++)
        for (uint32_t t = 0; has_grouping(d, g, only_three) && t < a->n_task; t++)
          seer_text_printf(csv, "%s,%u,%s,%s,%u,%u,%u,%.6g,%.6g,%.6g\n",
              seer_cell_csv(d->arena, d->network[w]), s + 1, seer_family_table[g]->name,
              seer_cell_csv(d->arena, a->task_name[t]), a->n_family[g], a->n_fitted[t],
              a->n_held_out[t], a->of[g][t].held_out, a->of[g][t].seen, a->of[g][t].peak);
    }
}

static void write_fig1(const seer_paper_data *d, seer_text *csv, seer_page *page) {
  put_groupings_csv(d, csv, "models", true);
  const uint32_t groupings[] = {grouping_named("all"), 0, grouping_named("single")};
  static const char *const said[] = {
      "one model for all", "one for each family", "one for each task"};
  seer_page_paragraph(page,
      "Of pairs of a task's schedules that no model was fitted on, how many are in the right "
      "order (%), mean over tasks; 50 is chance. The paper draws this, and gives no numbers in its "
      "text.");
  static const char *const columns[] = {
      "network", "one model for all", "one for each family", "one for each task"};
  seer_page_table(page, columns, 4);
  for (uint32_t w = 0; w <= d->n_network; w++) {
    bool is_all = w == d->n_network;
    const char *cells[4] = {is_all ? "mean" : d->network[w]};
    for (uint32_t k = 0; k < 3; k++)
      cells[k + 1] = is_all ? percent(d, 0, d->n_network, groupings[k], HELD_OUT)
                            : percent(d, w, 1, groupings[k], HELD_OUT);
    seer_page_row(page, cells);
  }
  seer_page_end_table(page);
  seer_picture_bar bars[3];
  for (uint32_t k = 0; k < 3; k++)
    bars[k] = (seer_picture_bar){said[k], interval_of(d, 0, d->n_network, groupings[k], HELD_OUT)};
  seer_text svg;
  seer_text_init(&svg, page->arena);
  seer_picture_bars(&svg, "pairs in the right order, held out", 0.5, 1, bars, 3);
  seer_page_picture(page, &svg);
}

const seer_paper_study seer_paper_fig1 = {"fig1",
    "Figure 1: accuracy of one model, of a model for each family, and for each task",
    SEER_PAPER_MODELS, write_fig1};

// ---- figure 2
typedef enum { OWN, RELATIVE, STRANGER, N_RELATIONS } relation;

static relation relation_of(const seer_accuracies *a, uint32_t by, uint32_t t) {
  if (by == t) return OWN;
  return a->family_of[0][by] == a->family_of[0][t] ? RELATIVE : STRANGER;
}

static double of_relation(const seer_accuracies *a, relation of) {
  double sum = 0;
  uint32_t n = 0;
  for (uint32_t by = 0; by < a->n_task; by++)
    for (uint32_t t = 0; t < a->n_task; t++) {
      double value = a->cross[by * a->n_task + t];
      if (relation_of(a, by, t) != of || isnan(value)) continue;
      sum += value;
      n++;
    }
  return n ? sum / n : NAN;
}

static seer_interval interval_of_relation(
    const seer_paper_data *d, uint32_t first, uint32_t n, relation of) {
  double *values = SEER_NEW_ARRAY(d->arena, double, (size_t)n * d->n_seed);
  for (uint32_t w = 0; w < n; w++)
    for (uint32_t s = 0; s < d->n_seed; s++)
      values[w * d->n_seed + s] = of_relation(seer_paper_accuracies(d, first + w, s), of);
  return seer_bootstrap(values, n, d->n_seed, d->arena);
}

static void put_matrix(const seer_paper_data *d, uint32_t w, seer_page *page) {
  const seer_accuracies *first = seer_paper_accuracies(d, w, 0);
  uint32_t n = first->n_task;
  double *mean = SEER_NEW_ARRAY(d->arena, double, (size_t)n *n);
  for (uint32_t s = 0; s < d->n_seed; s++)
    for (uint32_t i = 0; i < n * n; i++)
      mean[i] += seer_paper_accuracies(d, w, s)->cross[i] / d->n_seed;
  seer_text svg;
  seer_text_init(&svg, page->arena);
  seer_picture_matrix(&svg,
      seer_arena_printf(d->arena, "%s: fitted on (row), asked about (column)", d->network[w]),
      first->task_name, mean, n, 0.5);
  seer_page_picture(page, &svg);
}

static void write_fig2(const seer_paper_data *d, seer_text *csv, seer_page *page) {
  static const char *const relation_names[N_RELATIONS] = {"own", "family", "other"};
  seer_text_put(csv, "network,seed,fitted_on,asked_about,kinship,accuracy\n");
  for (uint32_t w = 0; w < d->n_network; w++)
    for (uint32_t s = 0; s < d->n_seed; s++) {
      const seer_accuracies *a = seer_paper_accuracies(d, w, s);
      for (uint32_t i = 0; i < a->n_task * a->n_task; i++) {
        uint32_t by = i / a->n_task, t = i % a->n_task;
        seer_text_printf(csv, "%s,%u,%s,%s,%s,%.6g\n", seer_cell_csv(d->arena, d->network[w]),
            s + 1, seer_cell_csv(d->arena, a->task_name[by]),
            seer_cell_csv(d->arena, a->task_name[t]), relation_names[relation_of(a, by, t)],
            a->cross[i]);
      }
    }
  seer_page_paragraph(page,
      "A model that was fitted on one task's schedules is asked about another's: pairs in the "
      "right order (%). Families are those of anchor-op. The paper's claim is that relatives are "
      "ordered well and others badly; it draws the matrix, and gives no numbers in its text.");
  static const char *const columns[] = {
      "network", "the task itself", "others of its family", "other families"};
  seer_page_table(page, columns, 4);
  for (uint32_t w = 0; w <= d->n_network; w++) {
    bool is_all = w == d->n_network;
    const char *cells[4] = {is_all ? "mean" : d->network[w]};
    for (int k = 0; k < N_RELATIONS; k++)
      cells[k + 1] = seer_cell_interval(d->arena,
          is_all ? interval_of_relation(d, 0, d->n_network, (relation)k)
                 : interval_of_relation(d, w, 1, (relation)k),
          100, 1);
    seer_page_row(page, cells);
  }
  seer_page_end_table(page);
  for (uint32_t w = 0; w < d->n_network; w++) put_matrix(d, w, page);
}

const seer_paper_study seer_paper_fig2 = {
    "fig2", "Figure 2: what one task's model says of another's", SEER_PAPER_MODELS, write_fig2};

// ---- table 2
static const char *mean_families(const seer_paper_data *d, uint32_t g) {
  double sum = 0;
  for (uint32_t w = 0; w < d->n_network; w++) sum += seer_paper_accuracies(d, w, 0)->n_family[g];
  return seer_cell_number(d->arena, sum / d->n_network, 1);
}

static void write_table2(const seer_paper_data *d, seer_text *csv, seer_page *page) {
  put_groupings_csv(d, csv, "grouping", false);
  seer_page_paragraph(page,
      seer_arena_printf(d->arena,
          "Pairs in the right order (%%): of schedules that were held out, and of those that the "
          "models were fitted on; and the best time held out over the best among the %d that score "
          "highest (%%). Mean over networks and tasks. The paper does not say how it counts "
          "accuracy, nor on what.",
          SEER_ACCURACY_PEAK));
  static const char *const columns[] = {
      "grouping", "families a network", "held out", "fitted on", "best of 16", "paper"};
  seer_page_table(page, columns, 6);
  for (uint32_t g = 0; g < seer_family_table_count; g++) {
    if (!has_grouping(d, g, false)) continue;
    const char *name = seer_family_table[g]->name, *cells[6] = {name, mean_families(d, g)};
    for (int k = 0; k < N_FIGURE; k++) cells[k + 2] = percent(d, 0, d->n_network, g, (figure)k);
    cells[5] = seer_cell_number(d->arena, 100 * seer_published_find("table2", name, "").cpu, 1);
    seer_page_row(page, cells);
  }
  seer_page_end_table(page);
}

const seer_paper_study seer_paper_table2 = {"table2", "Table 2: accuracy of each grouping",
    SEER_PAPER_MODELS | SEER_PAPER_GROUPINGS, write_table2};
