// recover.c - open calls as a stack of longjmp points, one stack a thread.
// A point has lists of what was made within it. When its call returns, they go to the point around
// it: whoever fails next releases what is still there. A point inherits the limits of
// those around it, so only the innermost is looked at.
#include "base/recover.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct {
  seer_recover_owned newest, oldest;  // its ends
} owned_list;

typedef struct point point;
struct point {
  point *outer;
  owned_list objects, memory;
  int64_t start_bytes, limit_bytes;  // of the thread's counter; INT64_MAX: no limit
  uint64_t ops_left, ops_done;  // done is counted apart: what is left may be raised meanwhile
  const seer_recover_limits *limits;  // whose these are; NULL: none
  const volatile sig_atomic_t *stop;  // NULL: none
  bool is_stopped;  // that is why it was left
  char message[320];
  jmp_buf at;
};

static _Thread_local point *innermost;
// may be negative: memory of another thread was freed here
static _Thread_local int64_t held_bytes;
static _Thread_local uint64_t allocations_left = UINT64_MAX;

// ---- the lists

static void init_list(owned_list *list) {
  list->newest.older = &list->oldest;
  list->oldest.newer = &list->newest;
}

static void put_newest(owned_list *list, seer_recover_owned *owned) {
  owned->newer = &list->newest;
  owned->older = list->newest.older;
  owned->older->newer = owned;
  list->newest.older = owned;
}

void seer_recover_own(seer_recover_owned *owned, void (*release)(void *), void *what) {
  *owned = (seer_recover_owned){.release = release, .what = what};
  if (innermost) put_newest(&innermost->objects, owned);
}

void seer_recover_own_memory(seer_recover_owned *owned, void (*release)(void *), void *what) {
  *owned = (seer_recover_owned){.release = release, .what = what};
  if (innermost) put_newest(&innermost->memory, owned);
}

void seer_recover_disown(seer_recover_owned *owned) {
  if (!owned->newer) return;
  owned->newer->older = owned->older;
  owned->older->newer = owned->newer;
  owned->newer = owned->older = NULL;
}

static void release_all(owned_list *list) {
  while (list->newest.older != &list->oldest) {
    seer_recover_owned *owned = list->newest.older;
    seer_recover_disown(owned);
    owned->release(owned->what);
  }
}

// What a call that ended well has made is from now on the business of the call around it.
static void hand_over(owned_list *list, owned_list *to) {
  while (list->oldest.newer != &list->newest) {
    seer_recover_owned *owned = list->oldest.newer;
    seer_recover_disown(owned);
    if (to) put_newest(to, owned);
  }
}

// ---- calls

// Alone in a function, so that nothing that longjmp may forget is read afterwards.
static seer_status run(point *p, seer_recover_call call, void *user) {
  if (setjmp(p->at) != 0) {
    innermost = p->outer;  // what is released may run out, too
    release_all(&p->objects);
    release_all(&p->memory);
    return p->is_stopped ? SEER_FAIL(STOPPED, "stopped") : SEER_FAIL(RESOURCE, "%s", p->message);
  }
  seer_status status = call(user);
  innermost = p->outer;
  hand_over(&p->objects, p->outer ? &p->outer->objects : NULL);
  hand_over(&p->memory, p->outer ? &p->outer->memory : NULL);
  return status;
}

seer_status seer_recover_within(
    const seer_recover_limits *limits, seer_recover_call call, void *user) {
  point p = {.outer = innermost, .limit_bytes = INT64_MAX, .ops_left = UINT64_MAX};
  init_list(&p.objects);
  init_list(&p.memory);
  p.start_bytes = held_bytes;
  if (innermost) {
    p.start_bytes = innermost->start_bytes;
    p.limit_bytes = innermost->limit_bytes;
    p.ops_left = innermost->ops_left;
    p.limits = innermost->limits;
    p.stop = innermost->stop;
  }
  if (limits && limits->stop) p.stop = limits->stop;
  if (limits && limits->bytes > 0 && limits->bytes < (uint64_t)INT64_MAX / 4 &&
      held_bytes + (int64_t)limits->bytes < p.limit_bytes) {
    p.limit_bytes = held_bytes + (int64_t)limits->bytes;
    p.start_bytes = held_bytes;
    p.limits = limits;
  }
  if (limits && limits->ops > 0 && limits->ops < UINT64_MAX / 4 && limits->ops < p.ops_left) {
    p.ops_left = limits->ops;
    p.limits = limits;
  }
  innermost = &p;
  seer_status status = run(&p, call, user);
  if (p.outer && p.outer->ops_left != UINT64_MAX) {
    p.outer->ops_left -= p.ops_done < p.outer->ops_left ? p.ops_done : p.outer->ops_left;
    p.outer->ops_done += p.ops_done;
  }
  return status;
}

seer_status seer_recover(seer_recover_call call, void *user) {
  return seer_recover_within(NULL, call, user);
}

void seer_recover_raise(uint64_t bytes, uint64_t ops) {
  const int64_t most_bytes = INT64_MAX / 2;
  const uint64_t most_ops = UINT64_MAX / 2;
  for (point *p = innermost; p; p = p->outer) {
    if (p->limit_bytes != INT64_MAX)
      p->limit_bytes = bytes < (uint64_t)(most_bytes - p->limit_bytes)
          ? p->limit_bytes + (int64_t)bytes
          : most_bytes;
    if (p->ops_left != UINT64_MAX)
      p->ops_left = ops < most_ops - p->ops_left ? p->ops_left + ops : most_ops;
  }
}

static double mib(int64_t n_bytes) { return (double)n_bytes / 1048576; }

SEER_NORETURN static void leave(point *p) { longjmp(p->at, 1); }

// ---- limits

void seer_recover_work(uint64_t ops) {
  point *p = innermost;
  if (p && p->stop && *p->stop) {
    p->is_stopped = true;
    leave(p);
  }
  if (!p || p->ops_left == UINT64_MAX) return;
  if (ops <= p->ops_left) {
    p->ops_left -= ops;
    p->ops_done += ops;
    return;
  }
  snprintf(p->message, sizeof p->message,
      "asks for %.3g operations, of which %.3g are left to %s; %s raises the limit", (double)ops,
      (double)p->ops_left, p->limits->whose, p->limits->raised_by);
  leave(p);
}

uint64_t seer_recover_work_left(void) { return innermost ? innermost->ops_left : UINT64_MAX; }

bool seer_recover_can_take(uint64_t n_bytes) {
  return !innermost || innermost->limit_bytes == INT64_MAX ||
      (n_bytes <= INT64_MAX / 2 && held_bytes <= innermost->limit_bytes - (int64_t)n_bytes);
}

void seer_recover_take(uint64_t n_bytes, const char *what) {
  point *p = innermost;
  if (!seer_recover_can_take(n_bytes)) {
    snprintf(p->message, sizeof p->message,
        "asks for %.1f MiB (%s) where %.1f of %.1f MiB are used that %s may take; %s raises the "
        "limit",
        (double)n_bytes / 1048576, what, mib(held_bytes - p->start_bytes),
        mib(p->limit_bytes - p->start_bytes), p->limits->whose, p->limits->raised_by);
    leave(p);
  }
  if (allocations_left == 0) seer_recover_out_of_memory(n_bytes, what);
  if (allocations_left != UINT64_MAX) allocations_left--;
  held_bytes += (int64_t)n_bytes;
}

void seer_recover_give(uint64_t n_bytes) { held_bytes -= (int64_t)n_bytes; }

void seer_recover_fail_after(uint64_t n) { allocations_left = n; }

// ---- no memory

void seer_recover_out_of_memory(uint64_t n_bytes, const char *what) {
  point *p = innermost;
  if (!p) {
    fprintf(stderr, "familyseer: out of memory: %s asked for %" PRIu64 " bytes\n", what, n_bytes);
    abort();
  }
  snprintf(p->message, sizeof p->message, "out of memory: %s asked for %.1f MiB", what,
      (double)n_bytes / 1048576);
  leave(p);
}

seer_status seer_recover_headroom(uint64_t bytes, const char *what) {
  void *probe = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED)
    return SEER_FAIL(
        RESOURCE, "out of memory: %s needs up to %.0f MiB", what, (double)bytes / 1048576);
  munmap(probe, bytes);
  return SEER_OK;
}
