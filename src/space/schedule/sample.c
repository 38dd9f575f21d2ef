// sample.c - random schedules of a sketch (of the space ansor: ansor.c): knobs stage by stage, then
// one frame, from which the numbers of parallel loops are drawn and the result is checked. A draft
// that fails is drawn again a few times.
#include <string.h>

#include "space/schedule/ansor.h"
#include "space/schedule/draw.h"

#define MAX_TRIES 8

seer_reject seer_schedule_sample(const seer_sketch_list *list, uint32_t sketch, seer_rng *rng,
    seer_schedule *out, seer_frame *out_frame) {
  SEER_ASSERT(sketch < list->n, "sketch %u of %u", sketch, list->n);
  const seer_sketch *s = list->sketch[sketch];
  seer_reject reject = SEER_REJECT_NONE;
  seer_frame own, *frame = out_frame ? out_frame : &own;
  if (list->space == SEER_SPACE_ANSOR) return seer_ansor_sample(list, sketch, rng, out, frame);
  for (int tries = 0; tries < MAX_TRIES; tries++) {
    memset(out, 0, sizeof *out);
    out->sketch = (uint16_t)sketch;
    out->n = (uint16_t)s->n_knob;
    for (uint32_t k = 0; k < s->n_split; k++) {
      uint16_t knob = s->split_knob[k];
      out->knob[knob] = (uint16_t)seer_rng_below(rng, s->knob[knob].n_values);
    }
    seer_draw draw = {list, seer_sketch_of(list, out), rng, out->knob};
    for (uint32_t k = 0; k < s->n_order; k++) {
      uint32_t stage = s->order[k];
      seer_draw_stage(&draw, stage);
      uint16_t parallel = s->stage[stage].parallel_knob;
      if (parallel != SEER_NO_KNOB) out->knob[parallel] = s->stage[stage].max_parallel;
    }
    seer_frame_normalise(list, out, frame);
    seer_draw_parallel(&draw, frame);
    reject = seer_frame_check(list, frame);
    if (reject == SEER_REJECT_NONE) return reject;
  }
  return reject;
}
