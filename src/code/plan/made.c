// made.c - values that are in memory behind a step -> the plan's list of them: dimensions, strides.
// A value keeps its name and its meaning through all passes (front/pass/pass.h), so that who knows
// the network by its file knows what these are.
#include <stdlib.h>

#include "code/plan/internal.h"
#include "front/onnx/dtype.h"

static void put_extent(seer_made_list *list, int64_t extent) {
  list->extent = SEER_GROW(list->arena, int64_t, list->extent, list->n_extent, &list->cap_extent);
  list->extent[list->n_extent++] = extent;
}

// Rows follow each other at the pitch; outside of them everything is dense.
static void find_strides(const seer_value *value, int64_t *out_stride) {
  int64_t stride = 1;
  for (uint32_t k = value->rank; k-- > 0;) {
    uint32_t d = value->has_layout ? value->order[k] : k;
    out_stride[d] = stride;
    stride = k + 1 == value->rank ? seer_value_pitch(value) : stride * value->dim[d];
  }
}

void seer_build_made(seer_made_list *list, const seer_value *value, uint32_t step, uint32_t arg,
    uint32_t name, bool is_on_device) {
  int64_t stride[SEER_MAX_RANK];
  seer_plan_made made = {.step = step,
      .name_string = name,
      .onnx_dtype = seer_onnx_dtype_number(value->dtype),
      .rank = value->rank,
      .first_extent = (uint32_t)list->n_extent,
      .arg = arg,
      .is_on_device = is_on_device};
  find_strides(value, stride);
  for (uint32_t d = 0; d < value->rank; d++) {
    put_extent(list, value->dim[d]);
    made.bounded |= value->size[d].i ? 1u << d : 0;
  }
  for (uint32_t d = 0; d < value->rank; d++) put_extent(list, stride[d]);
  list->made = SEER_GROW(list->arena, seer_plan_made, list->made, list->n_made, &list->cap_made);
  list->made[list->n_made++] = made;
}

// Of one step in the order in which they were put, which is that of their arguments.
static int by_step(const void *a, const void *b) {
  const seer_plan_made *x = a, *y = b;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  return (x->arg > y->arg) - (x->arg < y->arg);
}

void seer_build_sort_made(seer_made_list *list) {
  if (list->n_made > 0) qsort(list->made, list->n_made, sizeof *list->made, by_step);
}
