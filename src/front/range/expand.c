// expand.c - --input-shapes with a range -> the texts of its sets.
#include <string.h>

#include "front/range.h"
#include "setup/shapes.h"

static const char *text_of(
    const seer_named_shape *shape, uint32_t n, int64_t batch, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (uint32_t k = 0; k < n; k++) {
    seer_text_printf(&text, "%s%s:", k > 0 ? "," : "", shape[k].name);
    for (uint32_t d = 0; d < shape[k].rank; d++)
      seer_text_printf(&text, "%s%" PRId64, d > 0 ? "x" : "",
          d == 0 && shape[k].last > 0 ? batch : shape[k].dim[d]);
  }
  return text.n_bytes > 0 ? text.data : "";
}

// The first of the shapes that has a range; NULL: none has. All that have one have the same.
static seer_status find_range(
    const seer_named_shape *shape, uint32_t n, const seer_named_shape **out) {
  *out = NULL;
  for (uint32_t k = 0; k < n; k++) {
    if (shape[k].last == 0) continue;
    if (!*out) *out = &shape[k];
    if (shape[k].dim[0] != (*out)->dim[0] || shape[k].last != (*out)->last)
      return SEER_FAIL(INVALID,
          "--input-shapes: inputs '%s' and '%s' have different ranges, %s and %s; a batch is one "
          "size for all",
          (*out)->name, shape[k].name, (*out)->text, shape[k].text);
  }
  return SEER_OK;
}

seer_status seer_range_expand(const char *const *given, uint32_t n_given, seer_arena *arena,
    seer_range **out_range, const char *const **out_shapes, uint32_t *out_n) {
  *out_range = NULL;
  *out_shapes = given;
  *out_n = n_given;
  for (uint32_t s = 0; s < n_given; s++) {
    if (!strstr(given[s], "..")) continue;  // else who needs them says what is wrong with them
    seer_named_shape *shape;
    const seer_named_shape *ranged;
    uint32_t n;
    SEER_TRY(seer_shapes_parse_ranges(given[s], arena, &shape, &n));
    SEER_TRY(find_range(shape, n, &ranged));
    if (!ranged) continue;
    if (n_given > 1)
      return SEER_FAIL(INVALID,
          "--input-shapes: '%s' is a range, and %u sets are given; a range stands alone", given[s],
          n_given);
    seer_range *range = SEER_NEW(arena, seer_range);
    range->first = ranged->dim[0];
    range->last = ranged->last;
    range->n = seer_range_sizes(range->first, range->last, range->size);
    const char **text = SEER_NEW_ARRAY(arena, const char *, range->n);
    for (uint32_t k = 0; k < range->n; k++) text[k] = text_of(shape, n, range->size[k], arena);
    *out_shapes = text;
    *out_n = range->n;
    if (range->n > 1) *out_range = range;  // 4..4 is 4
  }
  return SEER_OK;
}
