// observe.c - what is to be seen of a plan's steps: how long each takes, as it runs in the network,
// what of that its threads wait, and what it takes when everything that it touches is in a cache;
// and, while somebody looks on, the values of the network that each has left in memory. The plan
// lists those (seer_plan_made); what fusing has removed is in no list.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/host.h"
#include "runtime/runner.h"
#include "runtime/session.h"

#define MAX_SAMPLES 1000u  // of a step; of more runs the last ones count

typedef struct {
  uint32_t n_step, cap;  // steps; room for samples of each
  uint32_t n_natural, n_again;  // runs of either kind
  // by step, then sample [s]: as it runs in the network; threads busy, on average; the same when
  // the step is run again at once
  float *natural, *busy, *again;
  seer_pool_times times;
  seer_image_times image;
} clocks;

static const char *step_kind_name(const seer_rt_set *of, const seer_plan_step *step) {
  switch ((seer_plan_step_kind)step->kind) {
    case SEER_PLAN_KERNEL:
    case SEER_PLAN_LAUNCH:
      return "kernel";
    case SEER_PLAN_VIEW:
      return "view";
    case SEER_PLAN_COPY_BYTES:
    case SEER_PLAN_COPY_ON_DEVICE:
      return "copy";
    case SEER_PLAN_UPLOAD:
      return "upload";
    case SEER_PLAN_DOWNLOAD:
      return "download";
    case SEER_PLAN_HOST:
      return of->host[step->first_phase].function == SEER_HOST_CUSTOM ? "custom" : "host";
    case SEER_PLAN_LOOP:
      return "loop";
    case SEER_PLAN_BRANCH:
      return "branch";
    case SEER_PLAN_FAIL:
      return "fail";
    case SEER_PLAN_IMAGES:
      return "images";
  }
  return "";
}

// ---- the caller's array: its elements may be shorter or longer than ours

typedef struct {
  uint8_t *data;
  size_t step_bytes;
} step_list;

static void put_step(const step_list *list, uint32_t i, const seer_step_info *info) {
  size_t n = list->step_bytes < sizeof *info ? list->step_bytes : sizeof *info;
  uint8_t *at = list->data + i * list->step_bytes;
  memcpy(at, info, n);
  memset(at + n, 0, list->step_bytes - n);
}

static seer_step_info describe(const seer_rt_set *of, uint32_t i) {
  const seer_plan_step *step = &of->step[i];
  return (seer_step_info){
      .name = of->strings + step->name_string,
      .kind = step_kind_name(of, step),
      .source = of->strings + step->source_string,
      .flops = step->flops,
  };
}

static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

// The median of the samples so far, which are sorted for it. 0: there are none.
static double median(float *samples, uint32_t n_taken, uint32_t cap) {
  uint32_t n = n_taken < cap ? n_taken : cap;
  if (n == 0) return 0;
  qsort(samples, n, sizeof *samples, by_value);
  return n % 2 ? (double)samples[n / 2]
               : 0.5 * ((double)samples[n / 2 - 1] + (double)samples[n / 2]);
}

static void tell(const seer_rt_set *of, const clocks *c, const step_list *list) {
  for (uint32_t i = 0; i < c->n_step; i++) {
    seer_step_info info = describe(of, i);
    size_t at = (size_t)i * c->cap;
    info.seconds = median(c->natural + at, c->n_natural, c->cap);
    if (of->step[i].kind == SEER_PLAN_KERNEL) {
      double busy = median(c->busy + at, c->n_natural, c->cap);
      info.wait_seconds = info.seconds - busy;
      if (c->n_again > 0) info.cold_seconds = busy - median(c->again + at, c->n_again, c->cap);
    }
    put_step(list, i, &info);
  }
}

// ---- running

static bool make_clocks(clocks *c, uint32_t n_step, uint32_t n_runs, uint32_t n_threads) {
  *c = (clocks){.n_step = n_step, .cap = n_runs < MAX_SAMPLES ? n_runs : MAX_SAMPLES};
  size_t n = (size_t)n_step * c->cap + 1;
  c->natural = calloc(n, sizeof *c->natural);
  c->busy = calloc(n, sizeof *c->busy);
  c->again = calloc(n, sizeof *c->again);
  size_t n_lanes = (n_threads > 0 ? n_threads : 1) * sizeof *c->times.lanes;
  c->times.lanes = aligned_alloc(_Alignof(seer_pool_lane), n_lanes);
  c->image.n_threads = n_threads;
  c->image.seconds = calloc((size_t)n_step + 1, sizeof(double));
  c->image.busy = calloc((size_t)n_step + 1, sizeof(double));
  c->image.of_thread = calloc((size_t)n_step * n_threads + 1, sizeof(double));
  return c->natural && c->busy && c->again && c->times.lanes && c->image.seconds && c->image.busy &&
      c->image.of_thread;
}

static void free_clocks(clocks *c) {
  free(c->natural);
  free(c->busy);
  free(c->again);
  free(c->times.lanes);
  free(c->image.seconds);
  free(c->image.busy);
  free(c->image.of_thread);
}

static void reset_images(clocks *c) {
  memset(c->image.seconds, 0, c->n_step * sizeof(double));
  memset(c->image.busy, 0, c->n_step * sizeof(double));
  memset(c->image.of_thread, 0, (size_t)c->n_step * c->image.n_threads * sizeof(double));
}

// The steps of the stretch at step i of a run that ended just now: each has what it took for all
// images, the stretch what is left.
static void note_images(const seer_rt_set *of, clocks *c, uint32_t i, uint32_t nth, bool twice) {
  float *left = &c->natural[(size_t)i * c->cap + nth];
  for (uint32_t k = i + 1; k < seer_session_step_after(of, i); k++) {
    size_t at = (size_t)k * c->cap + nth;
    (twice ? c->again : c->busy)[at] = (float)c->image.busy[k];
    if (twice) continue;
    c->natural[at] = (float)c->image.seconds[k];
    *left = *left > c->natural[at] ? *left - c->natural[at] : 0;
  }
}

// A loop's or branch's time holds that of what it runs; a stretch's does not. `twice`: the second
// run of each kernel is what counts. A kernel may be run again as long as no output lies on its
// inputs, which holds for all (code/plan/plan.c).
static seer_rt_code run_timed(seer_session *session, clocks *c, bool twice) {
  const seer_rt_set *of = session->selected->of;
  uint32_t nth = (twice ? c->n_again++ : c->n_natural++) % c->cap;
  seer_rt_code code = SEER_RT_OK;
  const seer_runner *runner = session->model->runner;
  seer_pool_begin(session->pool);
  reset_images(c);
  if (runner) code = runner->begin(session);
  double before = seer_pool_now_s();
  for (uint32_t i = 0; i < c->n_step && code == SEER_RT_OK; i = seer_session_step_after(of, i)) {
    size_t at = (size_t)i * c->cap + nth;
    if (twice && of->step[i].kind == SEER_PLAN_KERNEL) code = seer_session_run_step(session, i);
    c->times.mean_s = 0;
    if (code == SEER_RT_OK) code = seer_session_run_step(session, i);
    double after = seer_pool_now_s();
    bool is_on_device = SEER_PLAN_IS_ON_DEVICE(of->step[i].kind);  // timed by its own clock
    if (!twice) c->natural[at] = (float)(is_on_device ? c->times.mean_s : after - before);
    (twice ? c->again : c->busy)[at] = (float)c->times.mean_s;
    if (of->step[i].kind == SEER_PLAN_IMAGES) note_images(of, c, i, nth, twice);
    before = after;
  }
  if (runner && code == SEER_RT_OK) code = runner->end(session);
  seer_pool_end(session->pool);
  return code;
}

static seer_rt_code run_all(seer_session *session, clocks *c, uint32_t n_runs) {
  seer_rt_code code = SEER_RT_OK;
  session->times = &c->times;
  session->image_times = &c->image;
  for (uint32_t run = 0; run < n_runs / 4 && code == SEER_RT_OK; run++)
    code = run_timed(session, c, true);
  for (uint32_t run = 0; run < n_runs && code == SEER_RT_OK; run++)
    code = run_timed(session, c, false);
  session->times = NULL;
  session->image_times = NULL;
  if (n_runs > 0) session->selected->has_run = code == SEER_RT_OK;
  return code;
}

static seer_rt_code time_steps(
    seer_session *session, uint32_t n_runs, const step_list *list, int32_t n_steps) {
  const seer_rt_set *of = session->selected->of;
  const uint32_t n_step = of->plan->n_step;
  seer_rt_code code = seer_session_ready(session);
  if (code != SEER_RT_OK) return code;
  if (session->selected->batch > 0)
    return SEER_SESSION_REFUSE(session, SEER_RT_UNSUPPORTED,
        "a batch of %u is run as several smaller ones, whose steps can be timed",
        session->selected->batch);
  if (list->step_bytes < SEER_STEP_INFO_FIRST_BYTES)
    return SEER_SESSION_REFUSE(session, SEER_RT_INVALID,
        "elements of %zu bytes for steps; seer_step_info has at least %zu", list->step_bytes,
        SEER_STEP_INFO_FIRST_BYTES);
  if (n_steps < 0 || (uint32_t)n_steps < n_step)
    return SEER_SESSION_REFUSE(
        session, SEER_RT_INVALID, "room for %d steps; the network has %u", n_steps, n_step);
  if (!list->data && n_step > 0)
    return SEER_SESSION_REFUSE(session, SEER_RT_INVALID, "no memory (NULL) for %u steps", n_step);
  clocks c;
  if (make_clocks(&c, n_step, n_runs, seer_pool_threads(session->pool))) {
    code = run_all(session, &c, n_runs);
    tell(of, &c, list);  // of a run that failed, too: how far it came
  } else {
    code = SEER_SESSION_REFUSE(
        session, SEER_RT_RESOURCE, "no memory for the times of %u steps", n_step);
  }
  free_clocks(&c);
  return code;
}

seer_rt_code seer_rt_session_time_steps(seer_session *session, uint32_t n_runs,
    seer_step_info *steps, size_t step_bytes, int32_t n_steps, char *message,
    size_t message_bytes) {
  if (!seer_session_enter(session, message, message_bytes))
    return seer_session_busy(message, message_bytes);
  const step_list list = {(uint8_t *)steps, step_bytes};
  seer_rt_code code = time_steps(session, n_runs, &list, n_steps);
  seer_session_leave(session);
  return code;
}

// The call of the first table: no message, elements as they were then.
seer_rt_code seer_rt_profile(seer_session *session, uint32_t n_runs, seer_step_info *steps) {
  return seer_rt_session_time_steps(
      session, n_runs, steps, SEER_STEP_INFO_FIRST_BYTES, INT32_MAX, NULL, 0);
}

// ---- values that a step has left

// The first made value of a step that is not in front of step i.
static uint32_t first_made(const seer_rt_set *of, uint32_t i) {
  uint32_t from = 0, to = of->plan->n_made;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (of->made[middle].step < i)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

seer_rt_code seer_session_show(seer_session *session, uint32_t i) {
  const seer_bound_plan *at = session->selected;
  const seer_rt_set *of = at->of;
  for (uint32_t k = first_made(of, i); k < of->plan->n_made && of->made[k].step == i; k++) {
    const seer_plan_made *made = &of->made[k];
    if (made->is_on_device) {
      seer_rt_code code = session->model->runner->show(session, made->arg);
      if (code != SEER_RT_OK) return code;
    }
    const int64_t *dim = of->extent + made->first_extent;
    const seer_made_value value = {.struct_bytes = sizeof value,
        .step = (int32_t)i,
        .step_name = of->strings + of->step[i].name_string,
        .step_kind = step_kind_name(of, &of->step[i]),
        .name = of->strings + made->name_string,
        .onnx_dtype = made->onnx_dtype,
        .rank = made->rank,
        .dim = dim,
        .stride = dim + made->rank,
        .bounded = made->bounded,
        .data = at->buffer[made->arg]};
    session->watcher(session->watcher_user, &value);
  }
  return SEER_RT_OK;
}

seer_rt_code seer_rt_session_watch(
    seer_session *session, seer_watcher watcher, void *user, char *message, size_t message_bytes) {
  if (!seer_session_enter(session, message, message_bytes))
    return seer_session_busy(message, message_bytes);
  seer_rt_code code = SEER_RT_INVALID;
  if (watcher) {
    session->watcher = watcher;
    session->watcher_user = user;
    code = seer_session_run_once(session);
    session->watcher = NULL;
  } else {
    code = SEER_SESSION_REFUSE(session, code, "there is no watcher (NULL)");
  }
  seer_session_leave(session);
  return code;
}
