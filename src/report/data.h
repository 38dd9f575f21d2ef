// data.h - what a report says, apart from how it is shown. The campaign fills it (gather.c), or
// a page that was written before (data.c reads what it wrote into it); page.c and compare.c show
// it, by the pieces of charts.c, network.c and tasks.c.
//
// Memory: all in the data's arena, texts safe to show but not yet escaped. Threads: one at a time.
// 0 and "" stand for what is not known.
#ifndef SEER_REPORT_DATA_H
#define SEER_REPORT_DATA_H

#include <jansson.h>

#include "base/text.h"
#include "measure/measure.h"

enum {
  SEER_REPORT_COLOURS = 10,  // of the tasks with the largest shares; all others are grey
  SEER_REPORT_MAX_ROOFS = 4,
  SEER_REPORT_MAX_STEPS = 4096  // that are shown; of longer networks the first ones
};

typedef struct {
  double elapsed_s, estimate_s;
  uint32_t trials;
} seer_report_point;

typedef struct {
  const char *name, *family, *key, *state, *ops;
  double weight;  // how often in a run; of several sets of shapes the mean
  double flops, bytes;  // of one: operations; what it reads and writes
  // Of one. network_s: where the library was run; estimate_s: untuned, by the analytic model
  double bound_s, untuned_s, best_s, network_s, estimate_s;
  double pair_untuned_s, pair_s, speedup;  // in pairs, by which the winner was accepted
  uint32_t n_pairs, n_trial, n_raced, n_twin, failed[SEER_MEASURED_COUNT];
  bool has_winner, is_fallen;
  const char *verdict;  // what was said when its winner was judged
  const char *schedule, *loops;
  // seer_report_finish
  double one_s;  // what one takes: in the network, else alone, else by the estimate
  int tenths;  // its share of the whole [0.1 %]; all of them and the rest are 1000
  uint32_t colour;  // SEER_REPORT_COLOURS: grey
} seer_report_task;

typedef struct {
  uint32_t task, n_images;
  const char *name;
  uint32_t n_from;  // steps whose values it reads, each once, ascending
  const uint32_t *from;
} seer_report_step;

typedef struct {
  const char *name;
  double gbs;  // GB/s, all threads
} seer_report_roof;

typedef struct {
  const char *name, *value;
} seer_report_pair;

typedef struct {
  seer_arena *arena;
  const char *model, *machine;
  double latency_s;  // the whole library by itself
  double untuned_s, tuned_s, speedup;  // of the library in turns with the untuned one
  uint32_t n_pairs;
  double sum_s, sum_untuned_s;  // of the tasks, each measured alone
  double elapsed_s, search_s, learn_s, check_s;
  uint32_t trials, restored, raced_out, twins, failed[SEER_MEASURED_COUNT];
  uint64_t drafted, scored;
  uint32_t n_task, n_step, n_point, n_roof, n_rejected, n_set, n_setting, n_note, n_family;
  seer_report_task *task;
  const seer_report_step *step;  // kernels and copies of the first set of shapes, as they run
  const seer_report_point *point;
  seer_report_roof roof[SEER_REPORT_MAX_ROOFS];  // the fastest first
  double peak_gflops;  // all threads
  const seer_report_pair *rejected, *set, *setting;  // reasons, sets of shapes: with figures
  const char *const *note;
  const char *verdict, *precision;
  // seer_report_finish
  double total_s;  // of which shares are: the latency, or the sum of tasks
  double bound_s;  // of all tasks together
  int rest_tenths;  // what is no task's
  uint32_t *order;  // tasks, the largest share first
} seer_report_data;

// Shares, order and colours, of what is known. Of data in which all else is set.
void seer_report_finish(seer_report_data *data);
// What a run takes, as it is told: the latency, else the sum of the tasks.
double seer_report_run_s(const seer_report_data *data);

// ---- data.c
// The data as JSON in an element of the page that nobody sees, and from such a page. Schedules and
// notes stay behind: two reports are compared without them.
// Errors: INVALID where the page has none, or none that can be read; INVALID of what is too large.
json_t *seer_report_json(const seer_report_data *data);  // the caller's
void seer_report_put_data(seer_text *html, const seer_report_data *data);
SEER_MUST_USE seer_status seer_report_read(
    const char *path, seer_arena *arena, seer_report_data *out);

// ---- page.c
// The beginning of a page, up to its heading, and its end.
void seer_report_put_head(seer_text *html, const char *title, const char *about);
void seer_report_put_end(seer_text *html);
void seer_report_put_page(seer_text *html, const seer_report_data *data);

// ---- compare.c
// Tasks of two reports that are one by what they compute, those that differ most first.
typedef struct {
  const seer_report_task *a, *b;  // NULL: the other one's alone
  double a_s, b_s;  // of all its runs in a run; 0: not known
} seer_report_match;
// [*out_n], in `arena`.
seer_report_match *seer_report_match_tasks(
    const seer_report_data *a, const seer_report_data *b, seer_arena *arena, uint32_t *out_n);
// Colours of `b` become those of the same tasks in `a`.
void seer_report_put_comparison(seer_text *html, const seer_report_data *a, seer_report_data *b);

// ---- words.c
// "3.214 ms": four digits at most, three of what is below a millisecond, with a blank that does not
// wrap.
const char *seer_report_time(seer_arena *arena, double seconds);
// Three significant digits, whole numbers as they are; no exponent.
const char *seer_report_number(seer_arena *arena, double value, const char *unit);
const char *seer_report_ratio(seer_arena *arena, double ratio);  // "2.50×"; "-": 0
const char *seer_report_share(seer_arena *arena, int tenths);  // "12.3 %"
void seer_report_put_lines(seer_text *html, const char *text);  // escaped, line by line
// A figure of the head: what it is, the figure (HTML), and what there is to say about it.
void seer_report_put_figure(
    seer_text *html, const char *name, const char *figure, const char *note, bool is_large);

// ---- charts.c: SVG
typedef struct {
  const char *name;
  const seer_report_data *data;
} seer_report_curve;
void seer_report_put_curves(
    seer_text *html, const seer_report_curve *curves, uint32_t n, bool by_trials);
void seer_report_put_roofline(seer_text *html, const seer_report_data *data);
// The time of a run split by task, as long as its share of `scale_s`.
void seer_report_put_bar(
    seer_text *html, const seer_report_data *data, const char *name, double scale_s);

// ---- network.c
void seer_report_put_network(seer_text *html, const seer_report_data *data);

// ---- tasks.c
void seer_report_put_tasks(seer_text *html, const seer_report_data *data);
void seer_report_put_details(seer_text *html, const seer_report_data *data);
void seer_report_put_refused(seer_text *html, const seer_report_data *data);

#endif
