// knob.c - what values of knobs stand for, the variant that they choose, and the names of what
// refuses them.
#include "space/sketch.h"

#define MAX_LIMITS 5
#define LEAST_ITEMS 32  // an ITEMS knob's values: so many, twice as many, ...

// Of Ansor's: auto_unroll_max_step.
static const struct {
  uint32_t n;
  uint16_t limit[SEER_SPACE_COUNT][MAX_LIMITS];
} unroll_limits[] = {
    [SEER_TARGET_CPU] = {4,
        {[SEER_SPACE_FULL] = {1, 4, 16, 64}, [SEER_SPACE_ANSOR] = {0, 16, 64, 512}}},
    [SEER_TARGET_CUDA] = {5,
        {[SEER_SPACE_FULL] = {0, 16, 64, 512, 1024}, [SEER_SPACE_ANSOR] = {0, 16, 64, 512, 1024}}},
    [SEER_TARGET_OPENCL] = {5,
        {[SEER_SPACE_FULL] = {0, 16, 64, 512, 1024}, [SEER_SPACE_ANSOR] = {0, 16, 64, 512, 1024}}},
};

uint32_t seer_unroll_limits(seer_target_kind kind) { return unroll_limits[kind].n; }

static uint16_t unroll_limit(seer_target_kind kind, seer_space_kind space, uint16_t value) {
  SEER_ASSERT(value < unroll_limits[kind].n, "value %u of %u", value, unroll_limits[kind].n);
  return unroll_limits[kind].limit[space][value];
}

// None; the next bank for each row; the next four, so that 16 bytes are aligned in all rows.
static const uint16_t pads[] = {0, 1, 4};

uint16_t seer_knob_number(const seer_sketch_list *list, const seer_knob *knob, uint16_t value) {
  switch (knob->kind) {
    case SEER_KNOB_UNROLL:
      return unroll_limit(list->target->kind, list->space, value);
    case SEER_KNOB_ITEMS:
      return (uint16_t)(LEAST_ITEMS << value);
    case SEER_KNOB_WIDTH:
      return (uint16_t)(1 << value);
    case SEER_KNOB_PAD:
      return pads[value];
    case SEER_KNOB_RFACTOR:
      return knob->number[value];
    case SEER_KNOB_FACTOR:
    case SEER_KNOB_LOCATION:
    case SEER_KNOB_PARALLEL:
    case SEER_KNOB_AHEAD:
    case SEER_KNOB_KIND_COUNT:
      break;
  }
  return value;
}

const seer_sketch *seer_sketch_of(const seer_sketch_list *list, const seer_schedule *schedule) {
  SEER_ASSERT(schedule->sketch < list->n, "sketch %u of %u", schedule->sketch, list->n);
  const seer_sketch *sketch = list->sketch[schedule->sketch];
  SEER_ASSERT(schedule->n == sketch->n_knob, "%u knobs, sketch %s has %u", schedule->n,
      sketch->signature, sketch->n_knob);
  uint32_t at = 0;
  for (uint32_t k = 0; k < sketch->n_split; k++) {
    uint32_t n = sketch->knob[sketch->split_knob[k]].n_values,
             value = schedule->knob[sketch->split_knob[k]];
    at = at * n + (value < n ? value : n - 1);  // as normalising would have it
  }
  return sketch->variant[at];
}

static const char *const reject_names[SEER_REJECT_COUNT] = {"none", "registers", "local-bytes",
    "too-many-parts", "padding", "no-match", "unroll", "duplicate", "space", "weights", "pool",
    "same-code", "items"};

const char *seer_reject_name(seer_reject reject) { return reject_names[reject]; }
