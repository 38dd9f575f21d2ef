// range.c - a network for any batch of a range -> how each size is run by the plans that there are,
// and the first plan's part about it. What a plan takes is the sum of its tasks: as measured, else
// as the analytic model has it.
#include "front/range.h"
#include "code/plan/make.h"
#include "learn/feature.h"
#include "setup/shapes.h"
#include "space/nest.h"

_Static_assert(SEER_SHAPES_MAX_BATCH <= SEER_PLAN_MAX_BATCH, "a plan holds what can be asked for");

static double seconds_of(const seer_choice *choice, const seer_target *target) {
  if (choice->network_seconds > 0) return choice->network_seconds;
  if (choice->seconds > 0) return choice->seconds;
  seer_arena *scratch = seer_arena_create("range");
  const seer_nest *nest =
      seer_summarise(seer_summariser_create(choice->sketches, scratch), &choice->schedule);
  double seconds = seer_analytic_seconds(nest, target);
  seer_arena_destroy(scratch);
  return seconds;
}

void seer_build_range(const seer_context *context, const seer_network *network,
    const seer_choice *choice, seer_arena *arena, seer_built_plan *first) {
  const seer_range *range = network->range;
  if (!range) return;
  double *of_task = SEER_NEW_ARRAY(arena, double, network->n_task + 1);
  double seconds[SEER_RANGE_MAX_SETS] = {0};
  uint32_t size[SEER_RANGE_MAX_SETS];
  for (uint32_t t = 0; t < network->n_task; t++)
    of_task[t] = seconds_of(&choice[t], seer_context_target(context));
  for (uint32_t s = 0; s < range->n; s++) {
    size[s] = (uint32_t)range->size[s];
    for (uint32_t t = 0; t < network->n_task; t++)
      seconds[s] += network->set[s]->count[t] * of_task[t];
  }
  uint32_t n_size = (uint32_t)range->last + 1, n_input = network->graph->n_input;
  uint32_t *next = SEER_NEW_ARRAY(arena, uint32_t, n_size);
  uint8_t *ranged = SEER_NEW_ARRAY(arena, uint8_t, n_input + 1);
  seer_range_split(range->size, seconds, range->n, next);
  for (uint32_t i = 0; i < n_input; i++) ranged[i] = range->is_ranged[i];
  seer_plan_range part = {.first = (uint32_t)range->first, .last = (uint32_t)range->last};
  seer_text *body = &first->body;
  part.size_offset = (uint32_t)seer_text_put_aligned(body, size, range->n * sizeof *size, 8);
  part.next_offset = (uint32_t)seer_text_put_aligned(body, next, n_size * sizeof *next, 8);
  part.ranged_offset = (uint32_t)seer_text_put_aligned(body, ranged, n_input, 8);
  first->header.range_offset = (uint32_t)seer_text_put_aligned(body, &part, sizeof part, 8);
  first->next = next;
}
