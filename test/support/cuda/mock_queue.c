// mock_queue.c - see mock.h: streams, events, graphs, and what is done.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/cuda/mock.h"

#define MAX_ITEMS 1024
#define BY_ANY_THREAD 2
#define AS_NODE 1

HIDDEN int mock_n_launches;
int mock_n_launches;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// ---- what is queued

static void append(list *to, const operation *o) {
  operation *copy = malloc(sizeof *copy);
  *copy = *o;
  copy->next = NULL;
  if (to->last) {
    to->last->next = copy;
  } else {
    to->first = copy;
  }
  to->last = copy;
}

void mock_forget(list *operations) {
  for (operation *next, *o = operations->first; o; o = next) {
    next = o->next;
    free(o);
  }
  *operations = (list){0};
}

static void run_blocks(const operation *o) {
  const mock_kernel *k = o->function->kernel;
  void *buffers[MOCK_MAX_ARGS + 1], *scratch = NULL;
  if (posix_memalign(&scratch, 64, k->scratch_bytes + 1) != 0) abort();
  for (uint32_t a = 0; a < k->n_args; a++) buffers[a] = mock_memory_at(o->args[a]);
  buffers[k->n_args] = scratch;
  // In an order that nobody relies on.
  for (uint32_t b = o->n_blocks; b-- > 0;) {
    memset(scratch, 0xFF, k->scratch_bytes);
    k->run(buffers, b);
  }
  free(scratch);
}

static result launch(const context *in, const operation *o) {
  const module *of = (const module *)o->function->head.of;
  mock_n_launches++;
  if (mock_counts_to("lost") || of->is_wild) return LAUNCH_FAILED;
  while (of->stalls) pause();
  for (uint32_t a = 0; a < o->function->kernel->n_args; a++) {
    if (mock_is_inside(in, o->args[a], 1)) continue;
    mock_broken("%s: argument %u is no address of the device", o->function->kernel->name, a);
    return ILLEGAL_ADDRESS;
  }
  run_blocks(o);
  return 0;
}

static result run(const context *in, const operation *o) {
  bool is_there = true;
  if (o->action == UPLOAD || o->action == COPY || o->action == FILL)
    is_there = mock_is_inside(in, o->to, o->n_bytes);
  if (o->action == DOWNLOAD || o->action == COPY)
    is_there = is_there && mock_is_inside(in, o->from, o->n_bytes);
  if (!is_there) {
    mock_broken("memory was freed that a copy is of");
    return ILLEGAL_ADDRESS;
  }
  switch (o->action) {
    case UPLOAD:
      memcpy(mock_memory_at(o->to), o->host_from, o->n_bytes);
      return 0;
    case DOWNLOAD:
      memcpy(o->host_to, mock_memory_at(o->from), o->n_bytes);
      return 0;
    case COPY:
      memcpy(mock_memory_at(o->to), mock_memory_at(o->from), o->n_bytes);
      return 0;
    case FILL:
      memset(mock_memory_at(o->to), o->byte, o->n_bytes);
      return 0;
    case LAUNCH:
      return launch(in, o);
    case RECORD:
      o->event->at_s = now_s();
      o->event->is_pending = false;
      return 0;
  }
  return 0;
}

result mock_run_all(stream *s) {
  context *in = (context *)s->head.of;
  for (operation *o = s->queued.first; o && in->lost == 0; o = o->next) in->lost = run(in, o);
  mock_forget(&s->queued);
  return in->lost;
}

static result queue(stream *s, const operation *o) {
  if (s->is_broken) return CAPTURE_INVALIDATED;
  append(s->is_capturing ? &s->captured : &s->queued, o);
  return 0;
}

// A capture that something has been asked for which it cannot hold.
static result break_capture(stream *s, const char *call) {
  (void)call;
  s->is_broken = true;
  return CAPTURE_UNSUPPORTED;
}

// ---- streams

API result cuStreamCreate(void **out, unsigned flags) {
  result is;
  context *in = mock_enter("cuStreamCreate", &is);
  if (!in) return is;
  if (flags > 1) return mock_leave(INVALID_VALUE);
  *out = mock_object(sizeof(stream), STREAM, &in->head);
  return mock_leave(0);
}

API result cuStreamDestroy_v2(void *handle) {
  result is;
  context *in = mock_enter("cuStreamDestroy", &is);
  if (!in) return is;
  stream *s = mock_known(in, handle, STREAM, "cuStreamDestroy");
  if (!s) return mock_leave(INVALID_HANDLE);
  if (s->is_capturing) mock_broken("cuStreamDestroy: it captures");
  is = mock_run_all(s);
  mock_forget(&s->captured);
  s->head.is_dead = true;
  return mock_leave(is);
}

API result cuStreamSynchronize(void *handle) {
  result is;
  context *in = mock_enter("cuStreamSynchronize", &is);
  if (!in) return is;
  stream *s = mock_known(in, handle, STREAM, "cuStreamSynchronize");
  if (!s) return mock_leave(INVALID_HANDLE);
  if (s->is_capturing) return mock_leave(break_capture(s, "cuStreamSynchronize"));
  if (mock_option("hang", 0)) {
    pthread_mutex_unlock(&mock_lock);
    for (;;) pause();
  }
  if (mock_option("crash", 0)) abort();
  return mock_leave(mock_run_all(s));
}

// ---- copies

static result copied(const char *call, void *handle, operation o) {
  result is;
  context *in = mock_enter(call, &is);
  if (!in) return is;
  stream *s = mock_known(in, handle, STREAM, call);
  if (!s) return mock_leave(INVALID_HANDLE);
  if ((o.action != DOWNLOAD && !mock_is_inside(in, o.to, o.n_bytes)) ||
      ((o.action == DOWNLOAD || o.action == COPY) && !mock_is_inside(in, o.from, o.n_bytes))) {
    mock_broken("%s: %zu bytes that are not all in memory of the device", call, o.n_bytes);
    return mock_leave(INVALID_VALUE);
  }
  const void *host = o.action == UPLOAD ? o.host_from : o.host_to;
  if (s->is_capturing && host && !mock_is_pinned(in, host, o.n_bytes))
    return mock_leave(break_capture(s, call));
  if (o.action == COPY && o.to < o.from + o.n_bytes && o.from < o.to + o.n_bytes) {
    mock_broken("%s: the two overlap", call);
    return mock_leave(INVALID_VALUE);
  }
  return mock_leave(queue(s, &o));
}

API result cuMemcpyHtoDAsync_v2(address to, const void *from, size_t n_bytes, void *handle) {
  return copied("cuMemcpyHtoDAsync", handle,
      (operation){.action = UPLOAD, .to = to, .host_from = from, .n_bytes = n_bytes});
}

API result cuMemcpyDtoHAsync_v2(void *to, address from, size_t n_bytes, void *handle) {
  return copied("cuMemcpyDtoHAsync", handle,
      (operation){.action = DOWNLOAD, .host_to = to, .from = from, .n_bytes = n_bytes});
}

API result cuMemcpyDtoDAsync_v2(address to, address from, size_t n_bytes, void *handle) {
  return copied("cuMemcpyDtoDAsync", handle,
      (operation){.action = COPY, .to = to, .from = from, .n_bytes = n_bytes});
}

API result cuMemsetD8Async(address to, unsigned char byte, size_t n_bytes, void *handle) {
  return copied("cuMemsetD8Async", handle,
      (operation){.action = FILL, .to = to, .byte = byte, .n_bytes = n_bytes});
}

API result cuLaunchKernel(void *f, unsigned blocks, unsigned blocks_y, unsigned blocks_z,
    unsigned items, unsigned items_y, unsigned items_z, unsigned group_bytes, void *handle,
    void **args, void **extra) {
  result is;
  context *in = mock_enter("cuLaunchKernel", &is);
  if (!in) return is;
  stream *s = mock_known(in, handle, STREAM, "cuLaunchKernel");
  function *known = mock_known(in, f, FUNCTION, "cuLaunchKernel");
  if (!s || !known) return mock_leave(INVALID_HANDLE);
  const mock_kernel *k = known->kernel;
  if (blocks == 0 || blocks > INT32_MAX || blocks_y * blocks_z * items_y * items_z != 1 ||
      items == 0 || items > MAX_ITEMS || group_bytes > 49152 || extra)
    return mock_leave(INVALID_VALUE);
  if (items > k->n_items) return mock_leave(LAUNCH_OUT_OF_RESOURCES);
  if (items != k->n_items) {
    mock_broken("%s is of blocks of %u items, launched with %u", k->name, k->n_items, items);
    return mock_leave(INVALID_VALUE);
  }
  operation o = {.action = LAUNCH, .function = known, .n_blocks = blocks};
  for (uint32_t a = 0; a < k->n_args; a++) memcpy(&o.args[a], args[a], sizeof o.args[a]);
  return mock_leave(queue(s, &o));
}

// ---- events

API result cuEventCreate(void **out, unsigned flags) {
  result is;
  context *in = mock_enter("cuEventCreate", &is);
  if (!in) return is;
  if (flags != 0) mock_broken("cuEventCreate: flags %u", flags);
  *out = mock_object(sizeof(event), EVENT, &in->head);
  return mock_leave(0);
}

API result cuEventDestroy_v2(void *handle) {
  result is;
  context *in = mock_enter("cuEventDestroy", &is);
  if (!in) return is;
  event *e = mock_known(in, handle, EVENT, "cuEventDestroy");
  if (!e) return mock_leave(INVALID_HANDLE);
  e->head.is_dead = true;  // what records it may still be queued: objects stay
  return mock_leave(0);
}

API result cuEventRecordWithFlags(void *handle, void *in_order_of, unsigned flags) {
  result is;
  context *in = mock_enter("cuEventRecordWithFlags", &is);
  if (!in) return is;
  event *e = mock_known(in, handle, EVENT, "cuEventRecordWithFlags");
  stream *s = mock_known(in, in_order_of, STREAM, "cuEventRecordWithFlags");
  if (!e || !s) return mock_leave(INVALID_HANDLE);
  if (flags == AS_NODE && !s->is_capturing) return mock_leave(INVALID_VALUE);
  e->is_captured = s->is_capturing && flags != AS_NODE;  // it only orders what is captured
  if (e->is_captured) return mock_leave(0);
  if (!s->is_capturing) e->is_set = e->is_pending = true;
  return mock_leave(queue(s, &(operation){.action = RECORD, .event = e}));
}

API result cuEventElapsedTime(float *out, void *from, void *to) {
  result is;
  context *in = mock_enter("cuEventElapsedTime", &is);
  if (!in) return is;
  const event *a = mock_known(in, from, EVENT, "cuEventElapsedTime");
  const event *b = mock_known(in, to, EVENT, "cuEventElapsedTime");
  if (!a || !b || !a->is_set || !b->is_set || a->is_captured || b->is_captured)
    return mock_leave(INVALID_HANDLE);
  if (a->is_pending || b->is_pending) return mock_leave(NOT_READY);
  *out = (float)((b->at_s - a->at_s) * 1e3);
  return mock_leave(0);
}

// ---- graphs

API result cuStreamBeginCapture_v2(void *handle, int mode) {
  result is;
  context *in = mock_enter("cuStreamBeginCapture", &is);
  if (!in) return is;
  stream *s = mock_known(in, handle, STREAM, "cuStreamBeginCapture");
  if (!s) return mock_leave(INVALID_HANDLE);
  if (s->is_capturing) return mock_leave(ILLEGAL_STATE);
  if (mode != BY_ANY_THREAD) mock_broken("cuStreamBeginCapture: mode %d binds other calls", mode);
  s->is_capturing = true;
  s->is_broken = false;
  return mock_leave(0);
}

API result cuStreamEndCapture(void *handle, void **out) {
  result is;
  context *in = mock_enter("cuStreamEndCapture", &is);
  if (!in) return is;
  *out = NULL;
  stream *s = mock_known(in, handle, STREAM, "cuStreamEndCapture");
  if (!s) return mock_leave(INVALID_HANDLE);
  if (!s->is_capturing) {
    mock_broken("cuStreamEndCapture: none was begun");
    return mock_leave(ILLEGAL_STATE);
  }
  s->is_capturing = false;
  if (s->is_broken) {
    s->is_broken = false;
    mock_forget(&s->captured);
    return mock_leave(CAPTURE_INVALIDATED);
  }
  graph *g = mock_object(sizeof *g, GRAPH, &in->head);
  g->operations = s->captured;
  s->captured = (list){0};
  *out = g;
  return mock_leave(0);
}

static void append_all(list *to, const list *from) {
  for (const operation *o = from->first; o; o = o->next) append(to, o);
}

API result cuGraphInstantiateWithFlags(void **out, void *handle, unsigned long long flags) {
  result is;
  context *in = mock_enter("cuGraphInstantiate", &is);
  if (!in) return is;
  const graph *g = mock_known(in, handle, GRAPH, "cuGraphInstantiate");
  if (!g || flags != 0) return mock_leave(INVALID_VALUE);
  graph *instance = mock_object(sizeof *instance, INSTANCE, &in->head);
  append_all(&instance->operations, &g->operations);
  *out = instance;
  return mock_leave(0);
}

API result cuGraphLaunch(void *handle, void *in_order_of) {
  result is;
  context *in = mock_enter("cuGraphLaunch", &is);
  if (!in) return is;
  const graph *g = mock_known(in, handle, INSTANCE, "cuGraphLaunch");
  stream *s = mock_known(in, in_order_of, STREAM, "cuGraphLaunch");
  if (!g || !s) return mock_leave(INVALID_HANDLE);
  if (s->is_capturing) return mock_leave(break_capture(s, "cuGraphLaunch"));
  for (const operation *o = g->operations.first; o; o = o->next) {
    if (o->action == RECORD) o->event->is_set = o->event->is_pending = true;
    if (o->action == LAUNCH && o->function->head.is_dead) {
      mock_broken("cuGraphLaunch: a module was unloaded");
      return mock_leave(INVALID_HANDLE);
    }
  }
  append_all(&s->queued, &g->operations);
  return mock_leave(0);
}

static result end_graph(void *handle, object_kind kind, const char *call) {
  result is;
  context *in = mock_enter(call, &is);
  if (!in) return is;
  graph *g = mock_known(in, handle, kind, call);
  if (!g) return mock_leave(INVALID_HANDLE);
  mock_forget(&g->operations);
  g->head.is_dead = true;
  return mock_leave(0);
}

API result cuGraphDestroy(void *handle) { return end_graph(handle, GRAPH, "cuGraphDestroy"); }

API result cuGraphExecDestroy(void *handle) {
  return end_graph(handle, INSTANCE, "cuGraphExecDestroy");
}
