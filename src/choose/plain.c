// plain.c - untiled code for every task: what -O0 compiles, and what tuned code is held against.
#include "choose/plain.h"

#include <string.h>

#include "choose/choose.h"
#include "choose/untuned.h"

// The plain schedule: no tiles (all factors 1 but the vector's), nothing computed inside another
// stage's loops, no unrolling. It differs from tuned code in everything that tuning changes, which
// is what makes it a check.
static void make_plain(const seer_sketch_list *list, uint32_t sketch, seer_schedule *out) {
  seer_schedule_default(list, sketch, out);
  const seer_schedule usual = *out;
  const seer_sketch *s = list->sketch[sketch];
  for (uint32_t k = 0; k < s->n_knob && k < SEER_SCHEDULE_MAX_KNOBS; k++) {
    const seer_knob *knob = &s->knob[k];
    switch (knob->kind) {
      case SEER_KNOB_FACTOR:
        out->knob[k] =
            knob->is_vector ? (uint16_t)seer_max_i64(1, s->stage[knob->stage].vector_lanes) : 1;
        break;
      case SEER_KNOB_LOCATION:
        out->knob[k] = (uint16_t)(knob->n_values - 1);  // the root comes last
        break;
      case SEER_KNOB_UNROLL:
      case SEER_KNOB_AHEAD:
        out->knob[k] = 0;
        break;
      case SEER_KNOB_PARALLEL:
      case SEER_KNOB_ITEMS:
      case SEER_KNOB_WIDTH:
      case SEER_KNOB_PAD:
      case SEER_KNOB_RFACTOR:
      case SEER_KNOB_KIND_COUNT:
        break;
    }
  }
  seer_schedule_normalise(list, out);
  if (seer_schedule_check(list, out) != SEER_REJECT_NONE) *out = usual;
}

// The first sketch of the canonical DAG's own formulation, one without tiling if there is any.
static uint32_t plain_sketch(const seer_sketch_list *list) {
  uint32_t best = UINT32_MAX;
  for (uint32_t i = 0; i < list->n; i++) {
    const seer_sketch *sketch = list->sketch[i];
    bool is_tiled = false;
    for (uint32_t s = 0; s < sketch->dag->n_stage; s++)
      is_tiled = is_tiled || sketch->stage[s].role == SEER_ROLE_TILED;
    if (strcmp(sketch->formulation, "direct") != 0) continue;
    if (!is_tiled) return i;
    if (best == UINT32_MAX) best = i;
  }
  return best != UINT32_MAX ? best : 0;
}

seer_space_kind seer_choice_space(const seer_context *context) {
  bool is_ansor = strcmp(seer_context_str(context, SEER_OPT_SPACE), "ansor") == 0;
  return is_ansor ? SEER_SPACE_ANSOR : SEER_SPACE_FULL;
}

static double most_error(const seer_context *context) {
  bool is_strict = seer_context_bool(context, SEER_OPT_STRICT_MATH);
  return is_strict ? 0 : seer_context_f64(context, SEER_OPT_TOLERANCE);
}

seer_status seer_choice_sketches(const seer_context *context, const seer_dag *dag,
    seer_arena *arena, seer_sketch_list **out_list) {
  double tolerance = most_error(context);
  SEER_TRY(seer_sketch_generate(
      dag, seer_context_target(context), seer_choice_space(context), arena, out_list));
  seer_sketch_keep_within(*out_list, tolerance);
  return SEER_OK;
}

seer_status seer_plain_choices(const seer_context *context, const seer_network *network,
    seer_arena *arena, seer_choice **out_choices) {
  seer_choice *choices = SEER_NEW_ARRAY(arena, seer_choice, network->n_task + 1);
  for (uint32_t t = 0; t < network->n_task; t++) {
    seer_sketch_list *list = NULL;
    SEER_TRYF(seer_sketch_generate(network->task[t].dag, seer_context_target(context),
                  seer_choice_space(context), arena, &list),
        "task %u (%s)", t, network->task[t].name);
    choices[t] = (seer_choice){.sketches = list, .origin = SEER_ORIGIN_PLAIN};
    make_plain(list, plain_sketch(list), &choices[t].schedule);
  }
  *out_choices = choices;
  return SEER_OK;
}

seer_status seer_choice_of_items(const seer_context *context, const seer_network *network,
    bool is_plain, seer_arena *arena, seer_choice **out_choices) {
  if (is_plain) return seer_plain_choices(context, network, arena, out_choices);
  seer_choice *choices = SEER_NEW_ARRAY(arena, seer_choice, network->n_task + 1);
  seer_untuned_task *asked = SEER_NEW_ARRAY(arena, seer_untuned_task, network->n_task + 1);
  double max_weights = seer_context_f64(context, SEER_OPT_MAX_WEIGHTS);
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_task *task = &network->task[t];
    seer_sketch_list *list = NULL;
    SEER_TRYF(
        seer_choice_sketches(context, task->dag, arena, &list), "task %u (%s)", t, task->name);
    choices[t] = (seer_choice){.sketches = list, .origin = SEER_ORIGIN_UNTUNED};
    asked[t] = (seer_untuned_task){.task = t,
        .sketches = list,
        .max_packed_bytes = seer_choose_max_packed_bytes(max_weights, task->dag)};
  }
  const seer_untuned_how how = {.target = seer_context_target(context),
      .seed = (uint64_t)seer_context_i64(context, SEER_OPT_SEED),
      .n_drafts = (uint32_t)seer_context_i64(context, SEER_OPT_UNTUNED_DRAFTS),
      .n_threads = (uint32_t)seer_context_i64(context, SEER_OPT_SEARCH_THREADS)};
  SEER_TRY(seer_untuned_choose(&how, asked, network->n_task));
  for (uint32_t t = 0; t < network->n_task; t++) choices[t].schedule = asked[t].schedule;
  *out_choices = choices;
  return SEER_OK;
}
