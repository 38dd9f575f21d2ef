// watch.c - a run with somebody looking on: after each step, the values of the network that it has
// left in memory, where they lie. The plan lists them (seer_plan_made); what fusing has removed is
// in no list.
#include "runtime/session.h"

const char *seer_step_kind_name(uint32_t kind) {
  switch ((seer_plan_step_kind)kind) {
    case SEER_PLAN_KERNEL:
      return "kernel";
    case SEER_PLAN_VIEW:
      return "view";
    case SEER_PLAN_COPY_BYTES:
      return "copy";
    case SEER_PLAN_HOST:
      return "host";
    case SEER_PLAN_LOOP:
      return "loop";
    case SEER_PLAN_BRANCH:
      return "branch";
    case SEER_PLAN_FAIL:
      return "fail";
  }
  return "";
}

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

void seer_session_show(seer_session *session, uint32_t i) {
  const seer_bound_plan *at = session->selected;
  const seer_rt_set *of = at->of;
  for (uint32_t k = first_made(of, i); k < of->plan->n_made && of->made[k].step == i; k++) {
    const seer_plan_made *made = &of->made[k];
    const int64_t *dim = of->extent + made->first_extent;
    const seer_made_value value = {.struct_bytes = sizeof value,
        .step = (int32_t)i,
        .step_name = of->strings + of->step[i].name_string,
        .step_kind = seer_step_kind_name(of->step[i].kind),
        .name = of->strings + made->name_string,
        .onnx_dtype = made->onnx_dtype,
        .rank = made->rank,
        .dim = dim,
        .stride = dim + made->rank,
        .bounded = made->bounded,
        .data = at->buffer[made->arg]};
    session->watcher(session->watcher_user, &value);
  }
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
