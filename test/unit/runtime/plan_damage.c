#include "plan_damage.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "runtime/runner/check.h"

int plan_damage(int (*setup)(void **state), void *plan, size_t n_bytes, uint64_t seed) {
  seer_rng rng;
  seer_rng_init(&rng, seed);
  int refused = 0;
  for (int round = 0; round < 20000; round++) {
    setup(NULL);
    uint8_t *bytes = plan;
    size_t limit = round % 2 ? n_bytes : sizeof(seer_plan_header);
    for (uint64_t n = 1 + seer_rng_below(&rng, 3); n > 0; n--)
      bytes[seer_rng_below(&rng, limit)] =
          (uint8_t)(seer_rng_chance(&rng, 0.5) ? seer_rng_u64(&rng) : 255);
    size_t n_left = round % 5 == 0 ? seer_rng_below(&rng, n_bytes) : n_bytes;
    void *copy = malloc(n_left > 0 ? n_left : 1);
    memcpy(copy, plan, n_left);
    const char *wrong = seer_plan_check(copy, n_left);
    const seer_plan_header *header = copy;
    if (!wrong && header->device_offset) wrong = seer_device_check(copy, copy);
    if (wrong) refused++;
    free(copy);
  }
  return refused;
}
