// waiter.h - who waits for something that another process holds, a file of records or the machine:
// when it gives up, and where it says that it waits.
#ifndef SEER_BASE_WAITER_H
#define SEER_BASE_WAITER_H

#include <stdbool.h>

// Both are called on the thread that waits; `user` is theirs.
typedef struct {
  bool (*is_over)(void *user);  // true: nothing is waited for any more; NULL: it never is
  void (*tell)(void *user, const char *text);  // once, when the wait begins; the text is borrowed
  void *user;
} seer_waiter;

static inline bool seer_waiter_is_over(const seer_waiter *waiter) {
  return waiter->is_over && waiter->is_over(waiter->user);
}

#endif
