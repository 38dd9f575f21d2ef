// shapes.c - the one parser of --input-shapes.
#include "setup/shapes.h"

#include <string.h>

static const int64_t max_size = INT64_C(1) << 40;

static seer_status parse_sizes(seer_named_shape *shape) {
  const char *at = shape->text;
  bool is_ok = true, is_last = *at == '\0';  // no sizes: a scalar
  while (is_ok && !is_last) {
    int64_t size = 0;
    const char *start = at;
    while (*at >= '0' && *at <= '9' && size < max_size) size = size * 10 + (*at++ - '0');
    is_last = *at == '\0';
    is_ok = at > start && (is_last || *at == 'x') && shape->rank < SEER_SHAPES_MAX_RANK;
    if (is_ok) shape->dim[shape->rank++] = size;
    at += !is_last;
  }
  if (is_ok) return SEER_OK;
  return SEER_FAIL(
      INVALID, "--input-shapes: '%s' is no list of sizes like 1x3x224x224", shape->text);
}

seer_status seer_shapes_parse(
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
