// study_policies.c - figures 7 and 8 and table 5: when policies are where Ansor's ends, what they
// end with, and the way there.
#include <math.h>

#include "study/paper/picture.h"
#include "study/paper/published.h"
#include "study/paper/study.h"

// ---- figure 7
static const struct {
  double share;
  const char *percent;
} shares[] = {{0.8, "80"}, {0.9, "90"}, {1, "100"}};
enum { N_SHARE = SEER_COUNT_OF(shares) };

static seer_sooner sooner(
    const seer_paper_data *d, uint32_t w, uint32_t p, uint32_t s, size_t k, bool from_warm) {
  return seer_run_sooner(
      seer_paper_run(d, w, p, s), seer_paper_run(d, w, 0, s), shares[k].share, from_warm);
}

static void put_sooner_csv(const seer_paper_data *d, seer_text *csv) {
  seer_text_put(csv, "network,policy,seed,counted_from,percent,ansor_trials,trials,speedup\n");
  for (uint32_t w = 0; w < d->n_network; w++)
    for (uint32_t p = 0; p < d->n_policy; p++)
      for (uint32_t i = 0; i < d->n_seed * 2 * N_SHARE; i++) {
        uint32_t s = i / (2 * N_SHARE), k = i % N_SHARE;
        bool from_warm = i / N_SHARE % 2 == 1;
        seer_sooner one = sooner(d, w, p, s, k, from_warm);
        seer_text_printf(csv, "%s,%s,%u,%s,%s,%u,", seer_cell_csv(d->arena, d->network[w]),
            d->policy[p], s + 1, from_warm ? "warm-up" : "start", shares[k].percent, one.reference);
        if (one.own == UINT32_MAX)
          seer_text_printf(csv, "never,%.6g\n", one.speedup);
        else
          seer_text_printf(csv, "%u,%.6g\n", one.own, one.speedup);
      }
}

// "2.10 [1.80, 2.45], never 1 of 18": geometric mean over networks.
static const char *sooner_cell(
    const seer_paper_data *d, uint32_t p, size_t k, bool from_warm, double *io_most) {
  uint32_t n_never = 0, n = d->n_network * d->n_seed;
  double *values = SEER_NEW_ARRAY(d->arena, double, n);
  for (uint32_t i = 0; i < n; i++) {
    seer_sooner one = sooner(d, i / d->n_seed, p, i % d->n_seed, k, from_warm);
    values[i] = one.speedup;
    n_never += one.own == UINT32_MAX;
    if (one.own != UINT32_MAX && one.speedup > *io_most) *io_most = one.speedup;
  }
  seer_interval mean = seer_bootstrap_factors(values, d->n_network, d->n_seed, d->arena);
  const char *cell = seer_cell_interval(d->arena, mean, 1, 2);
  return n_never ? seer_arena_printf(d->arena, "%s, never %u of %u", cell, n_never, n) : cell;
}

static void put_published(const seer_paper_data *d, seer_page *page, bool is_gpu) {
  static const char *const what[] = {"80", "90", "100", "most"};
  const char *cells[5] = {is_gpu ? "paper: familyseer, GPU" : "paper: familyseer, CPU"};
  for (size_t k = 0; k < SEER_COUNT_OF(what); k++) {
    seer_published p = seer_published_find("fig7", what[k], "");
    cells[k + 1] = seer_cell_number(d->arena, is_gpu ? p.gpu : p.cpu, 2);
  }
  seer_page_row(page, cells);
}

static void put_sooner_table(const seer_paper_data *d, seer_page *page, bool from_warm) {
  seer_page_paragraph(page,
      from_warm ? "From the end of the warm-up, as the paper counts: trials up to the end of the "
                  "round with which each task has a time are left out, each policy's own."
                : "From the start:");
  static const char *const columns[] = {
      "policy", "80 % of Ansor's result", "90 %", "100 %", "at most"};
  seer_page_table(page, columns, 5);
  for (uint32_t p = 0; p < d->n_policy; p++) {
    const char *cells[5] = {d->policy[p]};
    double most = -INFINITY;
    for (size_t k = 0; k < N_SHARE; k++) cells[k + 1] = sooner_cell(d, p, k, from_warm, &most);
    cells[4] = seer_cell_number(d->arena, most, 1);
    seer_page_row(page, cells);
  }
  if (from_warm) {
    put_published(d, page, false);
    put_published(d, page, true);
  }
  seer_page_end_table(page);
}

static void write_fig7(const seer_paper_data *d, seer_text *csv, seer_page *page) {
  put_sooner_csv(d, csv);
  seer_page_paragraph(page,
      "How many times fewer trials than ansor, of the same seed, until the latency is at or below "
      "ansor's last one over 0.8, 0.9 and 1; at least a first round. Geometric mean over "
      "networks. A policy that never gets there counts as if it did with its last trial, so that a "
      "mean with any of those is an upper bound; their number stands beside it. The paper "
      "measures time, on other machines and networks.");
  put_sooner_table(d, page, false);
  put_sooner_table(d, page, true);
}

const seer_paper_study seer_paper_fig7 = {
    "fig7", "Figure 7: trials until Ansor's result is reached", SEER_PAPER_POLICIES, write_fig7};

// ---- table 5
// Ansor's latency over the policy's: above 1 is better.
static double relative(const seer_paper_data *d, uint32_t w, uint32_t p, uint32_t s) {
  double own = seer_paper_run(d, w, p, s)->latency_s,
         reference = seer_paper_run(d, w, 0, s)->latency_s;
  return isfinite(own) && isfinite(reference) ? reference / own : NAN;
}

static seer_interval relative_of(const seer_paper_data *d, uint32_t first, uint32_t n, uint32_t p) {
  double *values = SEER_NEW_ARRAY(d->arena, double, (size_t)n * d->n_seed);
  for (uint32_t i = 0; i < n * d->n_seed; i++)
    values[i] = relative(d, first + i / d->n_seed, p, i % d->n_seed);
  return seer_bootstrap_factors(values, n, d->n_seed, d->arena);
}

static void put_published_networks(const seer_paper_data *d, seer_page *page) {
  static const char *const columns[] = {"paper: familyseer over Ansor", "CPU", "GPU"};
  seer_page_table(page, columns, 3);
  for (size_t i = 0; i < seer_published_count; i++) {
    const seer_published *p = &seer_published_table[i];
    if (!p->network[0]) continue;
    const char *cells[] = {
        p->network, seer_cell_number(d->arena, p->cpu, 3), seer_cell_number(d->arena, p->gpu, 3)};
    seer_page_row(page, cells);
  }
  seer_page_end_table(page);
}

static void write_table5(const seer_paper_data *d, seer_text *csv, seer_page *page) {
  seer_text_put(csv, "network,policy,seed,trials,latency_s,ansor_s,relative,known_s,wall_s\n");
  for (uint32_t w = 0; w < d->n_network; w++)
    for (uint32_t p = 0; p < d->n_policy; p++)
      for (uint32_t s = 0; s < d->n_seed; s++) {
        const seer_run *run = seer_paper_run(d, w, p, s);
        seer_text_printf(csv, "%s,%s,%u,%u,%.7g,%.7g,%.6g,%.7g,%.3g\n",
            seer_cell_csv(d->arena, d->network[w]), d->policy[p], s + 1, run->n_trial,
            run->latency_s, seer_paper_run(d, w, 0, s)->latency_s, relative(d, w, p, s),
            run->known_s, run->seconds);
      }
  seer_page_paragraph(page,
      seer_arena_printf(d->arena,
          "Ansor's latency over the policy's after %u trials a task, of the same seed; above 1 is "
          "better. The last row is the geometric mean.",
          d->trials_a_task));
  uint32_t n_column = d->n_policy + 3;
  const char **cells = SEER_NEW_ARRAY(d->arena, const char *, n_column);
  cells[0] = "network";
  for (uint32_t p = 0; p < d->n_policy; p++) cells[p + 1] = d->policy[p];
  cells[n_column - 2] = "paper, CPU";
  cells[n_column - 1] = "paper, GPU";
  seer_page_table(page, cells, n_column);
  for (uint32_t w = 0; w <= d->n_network; w++) {
    bool is_all = w == d->n_network;
    cells[0] = is_all ? "geometric mean" : d->network[w];
    for (uint32_t p = 0; p < d->n_policy; p++)
      cells[p + 1] = seer_cell_interval(
          d->arena, is_all ? relative_of(d, 0, d->n_network, p) : relative_of(d, w, 1, p), 1, 3);
    seer_published paper = seer_published_find("table5", "", is_all ? "" : d->network[w]);
    cells[n_column - 2] = seer_cell_number(d->arena, paper.cpu, 3);
    cells[n_column - 1] = seer_cell_number(d->arena, paper.gpu, 3);
    seer_page_row(page, cells);
  }
  seer_page_end_table(page);
  put_published_networks(d, page);
}

const seer_paper_study seer_paper_table5 = {
    "table5", "Table 5: what policies end with", SEER_PAPER_POLICIES, write_table5};

// ---- figure 8
#define POINTS 64  // of a picture's line
#define WORST 1.6  // times the table's best: what is slower is cut off

// Mean over seeds of latency over the table's best; not finite until all seeds have one.
static double above_known(const seer_paper_data *d, uint32_t w, uint32_t p, uint32_t n_trial) {
  double sum = 0;
  for (uint32_t s = 0; s < d->n_seed; s++) {
    const seer_run *run = seer_paper_run(d, w, p, s);
    sum += seer_run_latency_after(run, n_trial) / run->known_s / d->n_seed;
  }
  return sum;
}

static void put_curves(const seer_paper_data *d, uint32_t w, seer_page *page) {
  double most = 1;
  for (uint32_t p = 0; p < d->n_policy; p++)
    for (uint32_t s = 0; s < d->n_seed; s++) most = fmax(most, seer_paper_run(d, w, p, s)->n_trial);
  seer_picture_line *lines = SEER_NEW_ARRAY(d->arena, seer_picture_line, d->n_policy);
  for (uint32_t p = 0; p < d->n_policy; p++) {
    double *x = SEER_NEW_ARRAY(d->arena, double, POINTS + 1),
           *y = SEER_NEW_ARRAY(d->arena, double, POINTS + 1);
    for (int i = 0; i <= POINTS; i++) {
      x[i] = floor(most * i / POINTS);
      y[i] = above_known(d, w, p, (uint32_t)x[i]);
    }
    lines[p] = (seer_picture_line){d->policy[p], POINTS + 1, x, y};
  }
  seer_picture_axes axes = {
      seer_arena_printf(d->arena, "%s: latency over the table's best", d->network[w]), "trials",
      most, 1, WORST};
  seer_text svg;
  seer_text_init(&svg, page->arena);
  seer_picture_lines(&svg, &axes, lines, d->n_policy);
  seer_page_picture(page, &svg);
}

static seer_interval after_share(const seer_paper_data *d, uint32_t p, double share) {
  double *values = SEER_NEW_ARRAY(d->arena, double, (size_t)d->n_network * d->n_seed);
  for (uint32_t i = 0; i < d->n_network * d->n_seed; i++) {
    const seer_run *run = seer_paper_run(d, i / d->n_seed, p, i % d->n_seed);
    uint32_t n_trial = (uint32_t)(share * d->trials_a_task * run->n_task);
    double latency_s = seer_run_latency_after(run, n_trial);
    values[i] = isfinite(latency_s) ? latency_s / run->known_s : NAN;
  }
  return seer_bootstrap_factors(values, d->n_network, d->n_seed, d->arena);
}

static void write_fig8(const seer_paper_data *d, seer_text *csv, seer_page *page) {
  seer_text_put(csv, "network,policy,seed,trials,measuring_s,latency_s\n");
  for (uint32_t w = 0; w < d->n_network; w++)
    for (uint32_t p = 0; p < d->n_policy; p++)
      for (uint32_t s = 0; s < d->n_seed; s++) {
        const seer_run *run = seer_paper_run(d, w, p, s);
        for (uint32_t i = 0; i < run->n_point; i++)
          if (isfinite(run->point[i].latency_s))
            seer_text_printf(csv, "%s,%s,%u,%u,%.6g,%.7g\n", seer_cell_csv(d->arena, d->network[w]),
                d->policy[p], s + 1, run->point[i].trial, run->point[i].measuring_s,
                run->point[i].latency_s);
      }
  seer_page_paragraph(page,
      "Latency over that of the table's best schedules. seer and round-robin begin with the "
      "untuned choice; a published policy has a latency once each task has been measured. In the "
      "table the geometric mean over networks, of those that have one.");
  static const double parts[] = {0.125, 0.25, 0.5, 1};
  static const char *const columns[] = {"policy", "after 1/8 of the trials", "1/4", "1/2", "all"};
  seer_page_table(page, columns, 5);
  for (uint32_t p = 0; p < d->n_policy; p++) {
    const char *cells[5] = {d->policy[p]};
    for (size_t k = 0; k < SEER_COUNT_OF(parts); k++)
      cells[k + 1] = seer_cell_interval(d->arena, after_share(d, p, parts[k]), 1, 3);
    seer_page_row(page, cells);
  }
  seer_page_end_table(page);
  for (uint32_t w = 0; w < d->n_network; w++) put_curves(d, w, page);
}

const seer_paper_study seer_paper_fig8 = {
    "fig8", "Figure 8: latency over trials", SEER_PAPER_POLICIES, write_fig8};
