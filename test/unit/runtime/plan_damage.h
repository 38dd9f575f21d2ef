// plan_damage.h - for files of tests that have a `plan` and a `setup` that makes it anew: what is
// wrong with it is refused, and never followed.
#ifndef TEST_PLAN_DAMAGE_H
#define TEST_PLAN_DAMAGE_H

#include "support/test.h"

// What `change` makes of the plan is refused.
#define EXPECT_BAD(change)                                   \
  do {                                                       \
    setup(NULL);                                             \
    change;                                                  \
    const char *wrong = seer_plan_check(&plan, sizeof plan); \
    if (!wrong) fail_msg("accepted: %s", #change);           \
  } while (0)

// Random bytes of the plan, n_bytes at `plan` that setup makes, are changed, and some of it is cut
// off, many times: there is an answer, the runner's too, and nothing outside of it is read (ASan
// sees to it). Returns how many were refused, of 20,000.
int plan_damage(int (*setup)(void **state), void *plan, size_t n_bytes, uint64_t seed);

#endif
