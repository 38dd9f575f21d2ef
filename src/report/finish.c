// finish.c - figures of tasks -> shares that add up, an order, colours.
#include <stdlib.h>

#include "report/data.h"

double seer_report_run_s(const seer_report_data *data) {
  return data->latency_s > 0 ? data->latency_s : data->sum_s;
}

typedef struct {
  uint32_t task;  // UINT32_MAX: what is no task's
  double seconds, left;
} part;

static int by_left(const void *a, const void *b) {
  const part *x = a, *y = b;
  return x->left != y->left ? (x->left < y->left) - (x->left > y->left)
                            : (x->task > y->task) - (x->task < y->task);
}

static int by_seconds(const void *a, const void *b) {
  const part *x = a, *y = b;
  return x->seconds != y->seconds ? (x->seconds < y->seconds) - (x->seconds > y->seconds)
                                  : (x->task > y->task) - (x->task < y->task);
}

// Each is rounded down; what is left to 1000 goes to those that lost most by that.
static void share_out(seer_report_data *data, part *parts, uint32_t n) {
  int left = 1000;
  for (uint32_t k = 0; k < n; k++) {
    double exact = 1000 * parts[k].seconds / data->total_s;
    int whole = (int)exact;
    parts[k].left = exact - whole;
    left -= whole;
    if (parts[k].task == UINT32_MAX)
      data->rest_tenths = whole;
    else
      data->task[parts[k].task].tenths = whole;
  }
  qsort(parts, n, sizeof *parts, by_left);
  for (uint32_t k = 0; k < n && left > 0 && parts[k].left > 0; k++, left--) {
    if (parts[k].task == UINT32_MAX)
      data->rest_tenths++;
    else
      data->task[parts[k].task].tenths++;
  }
}

void seer_report_finish(seer_report_data *data) {
  uint32_t n = data->n_task;
  part *parts = SEER_NEW_ARRAY(data->arena, part, n + 1);
  data->order = SEER_NEW_ARRAY(data->arena, uint32_t, n + 1);
  double sum_s = 0;
  for (uint32_t t = 0; t < n; t++) {
    seer_report_task *task = &data->task[t];
    task->one_s = data->latency_s > 0 && task->network_s > 0 ? task->network_s
        : task->best_s > 0                                   ? task->best_s
                                                             : task->estimate_s;
    parts[t] = (part){.task = t, .seconds = task->weight * task->one_s};
    sum_s += parts[t].seconds;
    data->bound_s += task->weight * task->bound_s;
  }
  // The rest is what is no task's; times that were taken alone may come to more than the whole.
  double run_s = seer_report_run_s(data);
  data->total_s = run_s > sum_s ? run_s : sum_s;
  parts[n] = (part){.task = UINT32_MAX, .seconds = data->total_s - sum_s};
  qsort(parts, n, sizeof *parts, by_seconds);
  for (uint32_t k = 0; k < n; k++) {
    data->order[k] = parts[k].task;
    data->task[parts[k].task].colour = k < SEER_REPORT_COLOURS ? k : SEER_REPORT_COLOURS;
  }
  if (data->total_s > 0) share_out(data, parts, n + 1);
}
