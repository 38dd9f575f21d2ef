// shapes.c - the one parser of --input-shapes.
#include "setup/shapes.h"

#include <string.h>

static const int64_t max_size = INT64_C(1) << 40;

static const char *parse_size(const char *at, int64_t *out) {
  *out = 0;
  while (*at >= '0' && *at <= '9' && *out < max_size) *out = *out * 10 + (*at++ - '0');
  return at;
}

static seer_status check_range(const seer_named_shape *shape, uint32_t dim, int64_t last) {
  if (dim > 0)
    return SEER_FAIL(INVALID,
        "--input-shapes: '%s': only the batch, an input's first dimension, can be a range",
        shape->text);
  int64_t first = shape->dim[0];
  if (first >= 1 && last >= first && last <= SEER_SHAPES_MAX_BATCH) return SEER_OK;
  return SEER_FAIL(INVALID,
      "--input-shapes: '%s': a range of batches is LO..HI with 1 <= LO <= HI <= %d", shape->text,
      SEER_SHAPES_MAX_BATCH);
}

static seer_status parse_sizes(seer_named_shape *shape) {
  const char *at = shape->text;
  bool is_ok = true, is_last = *at == '\0';  // no sizes: a scalar
  while (is_ok && !is_last) {
    int64_t last = 0;
    uint32_t k = shape->rank;
    is_ok = k < SEER_SHAPES_MAX_RANK;
    if (!is_ok) break;
    const char *start = at, *dots = NULL;
    at = parse_size(at, &shape->dim[k]);
    is_ok = at > start;
    if (is_ok && strncmp(at, "..", 2) == 0) {
      dots = at + 2;
      at = parse_size(dots, &last);
      is_ok = at > dots;
    }
    is_last = *at == '\0';
    is_ok = is_ok && (is_last || *at == 'x');
    if (is_ok && dots) SEER_TRY(check_range(shape, k, last));
    if (is_ok && dots) shape->last = last;
    shape->rank += is_ok;
    at += !is_last;
  }
  if (is_ok) return SEER_OK;
  return SEER_FAIL(
      INVALID, "--input-shapes: '%s' is no list of sizes like 1x3x224x224", shape->text);
}

seer_status seer_shapes_parse_ranges(
    const char *text, seer_arena *arena, seer_named_shape **out_shapes, uint32_t *out_n) {
  seer_named_shape *shape = NULL;
  size_t cap = 0;
  uint32_t n_shape = 0;
  for (const char *at = text; *at;) {
    size_t n = strcspn(at, ",;");
    char *part = seer_arena_strndup(arena, at, n), *colon = strrchr(part, ':');
    at += n + (at[n] != '\0');
    if (n == 0) continue;
    if (!colon || colon == part)
      return SEER_FAIL(INVALID, "--input-shapes: '%s' must be NAME:1x3x224x224", part);
    *colon = '\0';
    shape = SEER_GROW(arena, seer_named_shape, shape, n_shape, &cap);
    shape[n_shape] = (seer_named_shape){.name = part, .text = colon + 1};
    SEER_TRY(parse_sizes(&shape[n_shape++]));
  }
  *out_shapes = shape;
  *out_n = n_shape;
  return SEER_OK;
}

seer_status seer_shapes_parse(
    const char *text, seer_arena *arena, seer_named_shape **out_shapes, uint32_t *out_n) {
  SEER_TRY(seer_shapes_parse_ranges(text, arena, out_shapes, out_n));
  for (uint32_t k = 0; k < *out_n; k++)
    if ((*out_shapes)[k].last > 0)
      return SEER_FAIL(INVALID, "--input-shapes: '%s' is a range; here it must be one size",
          (*out_shapes)[k].text);
  return SEER_OK;
}
