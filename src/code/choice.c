// choice.c - the zero-trial choice: the first sketch (the list is sorted by what is likely to be good without search)
// with its default knobs; for -O0 the last sketch in which no stage is tiled.
#include "code/choice.h"

#include <string.h>

static bool is_plain(const seer_sketch *sketch) {
  for (uint32_t s = 0; s < sketch->dag->n_stage; s++)
    if (sketch->stage[s].role == SEER_ROLE_TILED || sketch->stage[s].role == SEER_ROLE_FOLLOW) return false;
  return true;
}

seer_status seer_default_choice(const seer_context *context, const seer_dag *dag, int64_t opt_level, seer_arena *arena,
    seer_choice *out_choice) {
  const seer_target *target = seer_context_target(context);
  bool is_ansor = strcmp(seer_context_str(context, SEER_OPT_SPACE), "ansor") == 0;
  seer_sketch_list *list = NULL;
  SEER_TRYF(seer_sketch_generate(dag, target, is_ansor ? SEER_SPACE_ANSOR : SEER_SPACE_FULL, arena, &list),
      "making sketches of %s", dag->name);
  uint32_t sketch = 0;
  if (opt_level == 0)
    for (uint32_t i = 0; i < list->n; i++)
      if (is_plain(list->sketch[i])) sketch = i;
  *out_choice = (seer_choice){.sketches = list, .source = opt_level == 0 ? "naive" : "default"};
  seer_schedule_default(list, sketch, &out_choice->schedule);
  return SEER_OK;
}

seer_status seer_default_choices(const seer_context *context, const seer_network *network, int64_t opt_level,
    seer_arena *arena, seer_choice **out_choices) {
  seer_choice *choices = SEER_NEW_ARRAY(arena, seer_choice, network->n_task + 1);
  for (uint32_t t = 0; t < network->n_task; t++)
    SEER_TRYF(seer_default_choice(context, network->task[t].dag, opt_level, arena, &choices[t]), "task %u (%s)", t,
        network->task[t].name);
  *out_choices = choices;
  return SEER_OK;
}
