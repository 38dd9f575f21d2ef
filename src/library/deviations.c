// deviations.c - two libraries -> a deviation for each output of each set of input shapes.
#include "library/deviations.h"

#include <math.h>
#include <string.h>

#include "front/onnx/dtype.h"

json_t *seer_json_number(double x) {
  return isfinite(x) ? json_real(x) : json_string(isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

// ---- finding

typedef struct {
  const seer_context *context;
  seer_use found, expected;
  seer_arena *arena;
  size_t cap;
  seer_deviations *out;
} comparison;

seer_deviation seer_deviation_of_output(
    const seer_io_info *io, const void *found, const void *expected) {
  uint64_t n = 1, row = io->rank > 0 ? (uint64_t)io->dim[io->rank - 1] : 0;
  for (int32_t k = 0; k < io->rank; k++) n *= (uint64_t)io->dim[k];
  return seer_deviation_measure(seer_onnx_dtype(io->onnx_dtype), found, expected, n, row);
}

static bool has_same_shape(const seer_io_info *a, const seer_io_info *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

static void compare_output(comparison *c, int32_t i) {
  const seer_io_info io = seer_use_output(&c->found, i), own = seer_use_output(&c->expected, i);
  seer_deviations *out = c->out;
  seer_output_deviation o = {
      .shapes = c->found.n_sets > 1 ? seer_use_shapes(&c->found, c->found.set) : NULL,
      .output = seer_arena_strdup(c->arena, seer_text_safe(c->arena, io.name)),  // outlives it
      .is_shaped = has_same_shape(&io, &own)};
  if (o.is_shaped)
    o.deviation = seer_deviation_of_output(&io, c->found.output[i], c->expected.output[i]);
  else
    o.deviation = (seer_deviation){.largest = INFINITY, .relative = INFINITY};
  out->output = SEER_GROW(c->arena, seer_output_deviation, out->output, out->n, &c->cap);
  out->output[out->n++] = o;
}

static seer_status compare_set(comparison *c, int32_t set) {
  SEER_TRY(seer_use_select(&c->found, set));
  SEER_TRY(seer_use_select(&c->expected, set));
  SEER_TRY(seer_use_fill(c->context, &c->found));
  SEER_TRY(seer_use_fill(c->context, &c->expected));
  SEER_TRY(seer_use_run(&c->expected));
  SEER_TRY(seer_use_run(&c->found));
  for (int32_t i = 0; i < c->found.n_outputs; i++) compare_output(c, i);
  return SEER_OK;
}

static seer_status compare_sets(comparison *c) {
  int32_t first = 0, n = c->found.n_sets;
  if (seer_context_n_values(c->context, SEER_OPT_INPUT) > 0) {
    SEER_TRY(seer_use_choose(c->context, &c->found));
    first = c->found.set;
    n = 1;
  }
  for (int32_t set = first; set < first + n; set++) SEER_TRY(compare_set(c, set));
  return SEER_OK;
}

seer_status seer_deviations_find(seer_context *context, const char *folder,
    const char *expected_folder, seer_arena *arena, seer_deviations *out) {
  *out = (seer_deviations){0};
  comparison c = {.context = context, .arena = arena, .out = out};
  seer_status status = seer_use_open(context, expected_folder, "", NULL, true, arena, &c.expected);
  if (!status) status = seer_use_open(context, folder, "", c.expected.pool, false, arena, &c.found);
  if (!status) status = compare_sets(&c);
  seer_use_close(&c.found);
  seer_use_close(&c.expected);
  return status;
}

const seer_output_deviation *seer_deviations_worst(const seer_deviations *deviations) {
  const seer_output_deviation *worst = NULL;
  for (uint32_t i = 0; i < deviations->n; i++) {
    const seer_output_deviation *o = &deviations->output[i];
    if (!worst || o->deviation.relative > worst->deviation.relative) worst = o;
  }
  return worst;
}

// ---- saying

const char *seer_deviation_text(const seer_deviation *d, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text, "max error %.3g (%.3g of the largest, %g), mean %.3g, cosine %.9g",
      d->largest, d->relative, d->largest_expected, d->mean, d->cosine);
  if (d->n_row > 0)
    seer_text_printf(&text, ", argmax agrees in %" PRIu64 " of %" PRIu64 " row%s", d->n_row_agree,
        d->n_row, d->n_row == 1 ? "" : "s");
  if (d->n_apart > 0)
    seer_text_printf(&text,
        "; %" PRIu64 " of %" PRIu64
        " elements are NaN or infinite in one and not the same in the "
        "other",
        d->n_apart, d->n);
  if (d->n_alike > 0)
    seer_text_printf(&text,
        "; %" PRIu64 " of %" PRIu64 " elements are NaN, or the same infinity, in both", d->n_alike,
        d->n);
  return text.data;
}

const char *seer_deviations_text(const seer_deviations *deviations, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "");
  for (uint32_t i = 0; i < deviations->n; i++) {
    const seer_output_deviation *o = &deviations->output[i];
    seer_text_printf(&text, "  %s%s%s: %s\n", o->output, o->shapes ? " for " : "",
        o->shapes ? o->shapes : "",
        o->is_shaped ? seer_deviation_text(&o->deviation, arena)
                     : "has another shape than at f32, which data decide");
  }
  return text.data;
}

void seer_deviation_to_json(const seer_deviation *d, json_t *object) {
  json_object_set_new(object, "max_error", seer_json_number(d->largest));
  json_object_set_new(object, "relative_error", seer_json_number(d->relative));
  json_object_set_new(object, "mean_error", seer_json_number(d->mean));
  json_object_set_new(object, "cosine", seer_json_number(d->cosine));
  json_object_set_new(object, "rows", json_integer((json_int_t)d->n_row));
  json_object_set_new(object, "argmax_agrees", json_integer((json_int_t)d->n_row_agree));
  json_object_set_new(object, "not_finite_in_one", json_integer((json_int_t)d->n_apart));
  json_object_set_new(object, "not_finite_in_both", json_integer((json_int_t)d->n_alike));
}

json_t *seer_deviations_json(const seer_deviations *deviations) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < deviations->n; i++) {
    const seer_output_deviation *o = &deviations->output[i];
    json_t *object = json_pack("{s:s, s:b}", "name", o->output, "same_shape", o->is_shaped);
    if (o->shapes) json_object_set_new(object, "shapes", json_string(o->shapes));
    if (o->is_shaped) seer_deviation_to_json(&o->deviation, object);
    json_array_append_new(list, object);
  }
  return list;
}
