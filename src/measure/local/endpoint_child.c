// endpoint_child.c - a runner process as an endpoint. The contract: endpoint.h.
#include "base/os.h"
#include "measure/local/endpoint.h"

static seer_endpoint_child *child_of(seer_endpoint *e) { return (seer_endpoint_child *)e; }

static seer_endpoint_facts describe(const seer_endpoint *e) {
  return ((const seer_endpoint_child *)e)->facts;
}

static seer_status ask(seer_endpoint *e, const seer_endpoint_order *order) {
  seer_endpoint_child *own = child_of(e);
  SEER_TRY(seer_child_ask(&own->child, order->index, order->task, order->type, order->message));
  own->type = order->type;
  own->limit_ns = (uint64_t)(order->limit_s * 1e9);
  own->until_ns = seer_os_now_ns() + SEER_CHILD_SET_UP_NS;
  return SEER_OK;
}

static void poll(const seer_endpoint *e, int *out_fd, uint64_t *out_until_ns) {
  const seer_endpoint_child *own = (const seer_endpoint_child *)e;
  *out_fd = own->child.fd;
  *out_until_ns = own->until_ns;
  if (own->child.is_starting) seer_child_await(&own->child, out_fd, out_until_ns);
}

static seer_status answer(seer_endpoint *e, seer_arena *arena, bool *out_is_over,
    const void **out_payload, size_t *out_n) {
  seer_endpoint_child *own = child_of(e);
  uint64_t now = seer_os_now_ns();
  bool has_begun = false;
  seer_status status = seer_child_hear(&own->child, own->type, arena,
      own->until_ns > now ? own->until_ns - now : 0, &has_begun, out_payload, out_n);
  *out_is_over = !has_begun;
  if (!status && has_begun) own->until_ns = seer_os_now_ns() + own->limit_ns;
  if (!status || seer_status_code(status) != SEER_CODE_IO) return status;
  seer_status_free(status);
  char why[SEER_MEASURE_MESSAGE_BYTES];
  seer_child_bury(&own->child, why, sizeof why);
  return SEER_FAIL(IO, "%s", why);
}

static seer_status restart(seer_endpoint *e) { return seer_child_restart(&child_of(e)->child); }

static seer_status rise(seer_endpoint *e, bool *out_is_up) {
  return seer_child_rise(&child_of(e)->child, out_is_up);
}

static void lost(seer_endpoint *e) { seer_child_clear(&child_of(e)->child); }

static const seer_endpoint_desc desc = {.describe = describe,
    .ask = ask,
    .poll = poll,
    .answer = answer,
    .restart = restart,
    .rise = rise,
    .lost = lost};

seer_status seer_endpoint_child_start(seer_endpoint_child *out, const seer_child_home *home,
    const seer_endpoint_facts *facts, uint64_t patience_ns) {
  *out = (seer_endpoint_child){.endpoint = {&desc}, .facts = *facts};
  const char *job = facts->address ? "caller" : facts->device_flag ? "device" : "runner";
  seer_child_init(&out->child, home, job, facts->address, facts->processors);
  out->child.device_flag = facts->device_flag;
  return seer_child_start(&out->child, patience_ns);
}
