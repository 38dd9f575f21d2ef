// endpoint_fake.c - arithmetic as an endpoint. The contract: endpoint.h.
#include "base/os.h"
#include "measure/local/endpoint.h"

static const seer_endpoint_fake *fake_of(const seer_endpoint *e) {
  return (const seer_endpoint_fake *)e;
}

static seer_endpoint_facts describe(const seer_endpoint *e) { return fake_of(e)->facts; }

static seer_status ask(seer_endpoint *e, const seer_endpoint_order *order) {
  ((seer_endpoint_fake *)e)->index = order->index;
  return SEER_OK;
}

static void poll(const seer_endpoint *e, int *out_fd, uint64_t *out_until_ns) {
  *out_fd = fake_of(e)->fds[0];
  *out_until_ns = UINT64_MAX;
}

static seer_status answer(seer_endpoint *e, seer_arena *arena, bool *out_is_over,
    const void **out_payload, size_t *out_n) {
  const seer_endpoint_fake *own = fake_of(e);
  seer_text text;
  seer_text_init(&text, arena);
  own->compute(own->user, own->index, &text);
  *out_is_over = true;
  *out_payload = text.data;
  *out_n = text.n_bytes;
  return SEER_OK;
}

static seer_status restart(seer_endpoint *e) {
  (void)e;
  return SEER_OK;
}

static seer_status rise(seer_endpoint *e, bool *out_is_up) {
  (void)e;
  *out_is_up = true;
  return SEER_OK;
}

static void lost(seer_endpoint *e) {
  seer_endpoint_fake *own = (seer_endpoint_fake *)e;
  for (int i = 0; i < 2; i++) {
    seer_os_close(own->fds[i]);
    own->fds[i] = -1;
  }
}

static const seer_endpoint_desc desc = {.describe = describe,
    .ask = ask,
    .poll = poll,
    .answer = answer,
    .restart = restart,
    .rise = rise,
    .lost = lost};

seer_status seer_endpoint_fake_start(seer_endpoint_fake *out, const seer_endpoint_facts *facts,
    void (*compute)(void *, size_t, seer_text *), void *user) {
  *out = (seer_endpoint_fake){
      .endpoint = {&desc}, .facts = *facts, .compute = compute, .user = user, .fds = {-1, -1}};
  SEER_TRY(seer_os_pipe(out->fds));
  return seer_os_write_all(out->fds[1], "x", 1);
}
