// study_trials.c - figures 3 and 4: which tasks Ansor's scheduler spends its trials on, and what
// each would have if all got the same.
#include <math.h>

#include "study/paper/picture.h"
#include "study/paper/study.h"

// ---- figure 3
static double mean_trials(const seer_paper_data *d, uint32_t w, uint32_t t) {
  double sum = 0;
  for (uint32_t s = 0; s < d->n_seed; s++) sum += seer_paper_run(d, w, 0, s)->task[t].n_trial;
  return sum / d->n_seed;
}

static double mean_all_trials(const seer_paper_data *d, uint32_t w) {
  double sum = 0;
  for (uint32_t s = 0; s < d->n_seed; s++) sum += seer_paper_run(d, w, 0, s)->n_trial;
  return sum / d->n_seed;
}

static seer_interval trials_of(const seer_paper_data *d, uint32_t w, uint32_t t) {
  double *values = SEER_NEW_ARRAY(d->arena, double, d->n_seed);
  for (uint32_t s = 0; s < d->n_seed; s++) values[s] = seer_paper_run(d, w, 0, s)->task[t].n_trial;
  return seer_bootstrap(values, 1, d->n_seed, d->arena);
}

static void put_trials(const seer_paper_data *d, uint32_t w, seer_page *page) {
  const seer_run *first = seer_paper_run(d, w, 0, 0);
  seer_picture_bar *bars = SEER_NEW_ARRAY(d->arena, seer_picture_bar, first->n_task);
  double most = 1;
  for (uint32_t t = 0; t < first->n_task; t++) {
    bars[t] = (seer_picture_bar){first->task[t].name, trials_of(d, w, t)};
    most = fmax(most, bars[t].value.high);
  }
  seer_text svg;
  seer_text_init(&svg, page->arena);
  seer_picture_bars(&svg, seer_arena_printf(d->arena, "%s: trials by task", d->network[w]), 0, most,
      bars, first->n_task);
  seer_page_picture(page, &svg);
}

static void write_fig3(const seer_paper_data *d, seer_text *csv, seer_page *page) {
  seer_text_put(csv, "network,seed,task,count,trials,share,untuned_s,best_s,known_s\n");
  for (uint32_t w = 0; w < d->n_network; w++)
    for (uint32_t s = 0; s < d->n_seed; s++) {
      const seer_run *run = seer_paper_run(d, w, 0, s);
      for (uint32_t t = 0; t < run->n_task; t++) {
        const seer_run_task *task = &run->task[t];
        seer_text_printf(csv, "%s,%u,%s,%g,%u,%.6g,%.7g,%.7g,%.7g\n",
            seer_cell_csv(d->arena, d->network[w]), s + 1, seer_cell_csv(d->arena, task->name),
            task->count, task->n_trial, (double)task->n_trial / run->n_trial, task->untuned_s,
            task->best_s, task->known_s);
      }
    }
  seer_page_paragraph(page,
      seer_arena_printf(d->arena,
          "Trials that each task gets under ansor, %u a task on average. The paper shows that few "
          "tasks get most of them.",
          d->trials_a_task));
  static const char *const columns[] = {"network", "tasks", "trials", "most", "least",
      "share of the task with most (%)", "equal share (%)"};
  seer_page_table(page, columns, 7);
  for (uint32_t w = 0; w < d->n_network; w++) {
    uint32_t n = seer_paper_run(d, w, 0, 0)->n_task;
    double most = 0, least = INFINITY, all = mean_all_trials(d, w);
    for (uint32_t t = 0; t < n; t++) {
      most = fmax(most, mean_trials(d, w, t));
      least = fmin(least, mean_trials(d, w, t));
    }
    const char *cells[] = {d->network[w], seer_cell_number(d->arena, n, 0),
        seer_cell_number(d->arena, all, 0), seer_cell_number(d->arena, most, 0),
        seer_cell_number(d->arena, least, 0), seer_cell_number(d->arena, 100 * most / all, 1),
        seer_cell_number(d->arena, 100.0 / n, 1)};
    seer_page_row(page, cells);
  }
  seer_page_end_table(page);
  for (uint32_t w = 0; w < d->n_network; w++) put_trials(d, w, page);
}

const seer_paper_study seer_paper_fig3 = {
    "fig3", "Figure 3: trials of each task", SEER_PAPER_REFERENCE, write_fig3};

// ---- figure 4
static const seer_run_task *alone_of(const seer_paper_data *d, uint32_t w, uint32_t s, uint32_t t) {
  return &d->alone[w * d->n_seed + s][t].task[0];
}

static double gain_of(const seer_run_task *scheduled, const seer_run_task *alone) {
  bool has_both = scheduled->best_s > 0 && alone->best_s > 0;
  return has_both ? scheduled->best_s / alone->best_s : NAN;
}

// Of all tasks together: a latency over the other.
static double network_gain(const seer_paper_data *d, uint32_t w, uint32_t s) {
  const seer_run *run = seer_paper_run(d, w, 0, s);
  double scheduled = 0, alone = 0;
  for (uint32_t t = 0; t < run->n_task; t++) {
    if (isnan(gain_of(&run->task[t], alone_of(d, w, s, t)))) return NAN;
    scheduled += run->task[t].count * run->task[t].best_s;
    alone += run->task[t].count * alone_of(d, w, s, t)->best_s;
  }
  return scheduled / alone;
}

static seer_interval gain(const seer_paper_data *d, uint32_t w, uint32_t t, bool is_network) {
  double *values = SEER_NEW_ARRAY(d->arena, double, d->n_seed);
  for (uint32_t s = 0; s < d->n_seed; s++)
    values[s] = is_network ? network_gain(d, w, s)
                           : gain_of(&seer_paper_run(d, w, 0, s)->task[t], alone_of(d, w, s, t));
  return seer_bootstrap_factors(values, 1, d->n_seed, d->arena);
}

static void write_fig4(const seer_paper_data *d, seer_text *csv, seer_page *page) {
  seer_text_put(csv, "network,seed,task,count,trials,best_s,equal_trials,equal_best_s,gain\n");
  for (uint32_t w = 0; w < d->n_network; w++)
    for (uint32_t s = 0; s < d->n_seed; s++) {
      const seer_run *run = seer_paper_run(d, w, 0, s);
      for (uint32_t t = 0; t < run->n_task; t++) {
        const seer_run_task *task = &run->task[t], *alone = alone_of(d, w, s, t);
        seer_text_printf(csv, "%s,%u,%s,%g,%u,%.7g,%u,%.7g,%.6g\n",
            seer_cell_csv(d->arena, d->network[w]), s + 1, seer_cell_csv(d->arena, task->name),
            task->count, task->n_trial, task->best_s, alone->n_trial, alone->best_s,
            gain_of(task, alone));
      }
    }
  seer_page_paragraph(page,
      seer_arena_printf(d->arena,
          "Each task by itself with %u trials, Ansor's search and a model of its own, against what "
          "it got under ansor: time there over time alone. Above 1: it gains by an equal share.",
          d->trials_a_task));
  static const char *const columns[] = {"network", "task", "trials", "gain by an equal share"};
  seer_page_table(page, columns, 4);
  for (uint32_t w = 0; w < d->n_network; w++) {
    const seer_run *first = seer_paper_run(d, w, 0, 0);
    for (uint32_t t = 0; t <= first->n_task; t++) {
      bool is_network = t == first->n_task;
      const char *cells[] = {d->network[w], is_network ? "all tasks" : first->task[t].name,
          seer_cell_number(d->arena, is_network ? mean_all_trials(d, w) : mean_trials(d, w, t), 0),
          seer_cell_interval(d->arena, gain(d, w, t, is_network), 1, 3)};
      seer_page_row(page, cells);
    }
  }
  seer_page_end_table(page);
}

const seer_paper_study seer_paper_fig4 = {"fig4", "Figure 4: what equal budgets gain",
    SEER_PAPER_REFERENCE | SEER_PAPER_ALONE, write_fig4};
