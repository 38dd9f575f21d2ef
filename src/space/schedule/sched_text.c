// sched_text.c - schedules as text, by names and never by index, so that records outlive new rules
// and knobs:
//   sched "direct/simple(relu)/fuse@2(conv)" {
//     split conv.y 1:4 2:1 3:2          factors by level; the outermost part is implied
//     place pad inside conv.y.0         or: inline, root
//     parallel conv 2                   leading parallel loops
//     unroll conv 16                    copies of the register tile's body
//     items relu 128                    of a GPU's block, of a stage whose elements are dealt out
//     width a.fetch 4                   neighbours that one of its items makes together
//     pad a.fetch 1                     elements between its rows in the block's memory
//     rfactor mean 16                   inner length of a reduction in two, or its parts
//   }
// Parsing matches the sketch by its signature and knobs by name; knobs that are not named take the
// default's value. The result is normalised.
#include <string.h>

#include "base/text.h"
#include "space/frame.h"
#include "space/schedule/names.h"

const seer_sketch *seer_names_sketch(
    const seer_sketch_list *list, const char *signature, uint16_t *out_index) {
  for (uint32_t k = 0; k < list->n; k++) {
    if (strcmp(list->sketch[k]->signature, signature) != 0) continue;
    *out_index = (uint16_t)k;
    return list->sketch[k];
  }
  return NULL;
}

// -1: none
static int knob_named(const seer_sketch *sketch, const char *name) {
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    if (strcmp(sketch->knob[k].name, name) == 0) return (int)k;
  }
  return -1;
}

// "root", "inline" or the innermost enclosing loop: "conv.y.0" (stage, axis, level of that loop).
static const char *location_name(
    const seer_sketch *sketch, const seer_location *location, seer_arena *arena) {
  if (location->is_root) return "root";
  if (location->is_inline) return "inline";
  const seer_sketch_stage *at = &sketch->stage[location->at];
  const seer_sketch_loop *loop = &at->loop[location->depth - 1];
  return seer_arena_printf(arena, "%s.%s.%u", at->prefix,
      sketch->dag->stage[location->at].axis[loop->axis].name, loop->level);
}

static int find_location(
    const seer_sketch *sketch, uint32_t stage, const char *name, seer_arena *arena) {
  const seer_sketch_stage *s = &sketch->stage[stage];
  for (uint32_t k = 0; k < s->n_location; k++) {
    if (strcmp(location_name(sketch, &s->location[k], arena), name) == 0) return (int)k;
  }
  return -1;
}

// "conv.y" of "conv.y.3"
static size_t axis_part(const char *name) { return (size_t)(strrchr(name, '.') - name); }

// Of a step with a number, and of its knob's name.
static const char *const number_words[SEER_KNOB_KIND_COUNT] = {[SEER_KNOB_PARALLEL] = "parallel",
    [SEER_KNOB_UNROLL] = "unroll",
    [SEER_KNOB_ITEMS] = "items",
    [SEER_KNOB_WIDTH] = "width",
    [SEER_KNOB_PAD] = "pad",
    [SEER_KNOB_AHEAD] = "ahead",
    [SEER_KNOB_RFACTOR] = "rfactor"};

const char *seer_schedule_print(
    const seer_sketch_list *list, const seer_schedule *schedule, seer_arena *arena) {
  const seer_sketch *sketch = list->sketch[schedule->sketch];
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text, "sched \"%s\" {", sketch->signature);
  const seer_knob *last = NULL;
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    const seer_knob *knob = &sketch->knob[k];
    if (knob->kind != SEER_KNOB_FACTOR) continue;
    if (!last || last->stage != knob->stage || last->axis != knob->axis) {
      // Levels of one axis may stand apart in the list of knobs; they are printed together.
      bool is_first = true;
      for (uint32_t j = 0; j < k && is_first; j++) {
        const seer_knob *other = &sketch->knob[j];
        is_first = other->kind != SEER_KNOB_FACTOR || other->stage != knob->stage ||
            other->axis != knob->axis;
      }
      if (is_first) {
        seer_text_printf(&text, "\n  split %.*s", (int)axis_part(knob->name), knob->name);
        for (uint32_t j = k; j < sketch->n_knob; j++) {
          const seer_knob *other = &sketch->knob[j];
          if (other->kind != SEER_KNOB_FACTOR || other->stage != knob->stage ||
              other->axis != knob->axis)
            continue;
          seer_text_printf(&text, " %u:%u", other->level, schedule->knob[j]);
        }
      }
    }
    last = knob;
  }
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    const seer_knob *knob = &sketch->knob[k];
    size_t n = axis_part(knob->name);
    const char *of = seer_arena_strndup(arena, knob->name, n);
    uint16_t value = schedule->knob[k];
    // Texts from before there was the knob stay what they are.
    if (knob->kind == SEER_KNOB_AHEAD && value == 0) continue;
    switch (knob->kind) {
      case SEER_KNOB_LOCATION: {
        const seer_location *location = &sketch->stage[knob->stage].location[value];
        bool is_at = !location->is_root && !location->is_inline;
        seer_text_printf(&text, "\n  place %s %s%s", of, is_at ? "inside " : "",
            location_name(sketch, location, arena));
        break;
      }
      case SEER_KNOB_PARALLEL:
      case SEER_KNOB_UNROLL:
      case SEER_KNOB_ITEMS:
      case SEER_KNOB_WIDTH:
      case SEER_KNOB_PAD:
      case SEER_KNOB_AHEAD:
      case SEER_KNOB_RFACTOR:
        seer_text_printf(&text, "\n  %s %s %u", number_words[knob->kind], of,
            seer_knob_number(list, knob, value));
        break;
      case SEER_KNOB_FACTOR:
      case SEER_KNOB_KIND_COUNT:
        break;
    }
  }
  seer_text_put(&text, "\n}\n");
  return text.data;
}

// ---- parsing

typedef struct {
  const seer_sketch_list *list;
  const seer_sketch *sketch;
  seer_schedule *out;
  seer_scan scan;
  seer_arena *arena;
} parser;

static seer_status find_knob(
    parser *p, const char *stage, const char *suffix, seer_knob_kind kind, int *out_knob) {
  const char *name = seer_arena_printf(p->arena, "%s.%s", stage, suffix);
  *out_knob = knob_named(p->sketch, name);
  bool fits = *out_knob >= 0 && p->sketch->knob[*out_knob].kind == kind;
  return fits ? SEER_OK
              : seer_scan_fail(&p->scan, "sketch %s has no knob %s", p->sketch->signature, name);
}

static seer_status parse_split(parser *p) {
  const char *of;
  SEER_TRY(seer_scan_name(&p->scan, p->arena, &of));
  int64_t level, value;
  while (seer_scan_try_i64(&p->scan, &level)) {
    int knob;
    SEER_TRY(seer_scan_expect(&p->scan, ":"));
    SEER_TRY(seer_scan_i64(&p->scan, &value));
    SEER_TRY(
        find_knob(p, of, seer_arena_printf(p->arena, "%" PRId64, level), SEER_KNOB_FACTOR, &knob));
    if (value < 1 || value > SEER_MAX_FACTOR) {
      return seer_scan_fail(
          &p->scan, "factor %" PRId64 " of %s, allowed are 1 to %d", value, of, SEER_MAX_FACTOR);
    }
    p->out->knob[knob] = (uint16_t)value;
  }
  return SEER_OK;
}

static seer_status parse_place(parser *p) {
  const char *of, *where;
  int knob;
  SEER_TRY(seer_scan_name(&p->scan, p->arena, &of));
  SEER_TRY(find_knob(p, of, "at", SEER_KNOB_LOCATION, &knob));
  if (seer_scan_try(&p->scan, "inline")) {
    where = "inline";
  } else if (seer_scan_try(&p->scan, "root")) {
    where = "root";
  } else {
    SEER_TRY(seer_scan_expect(&p->scan, "inside"));
    SEER_TRY(seer_scan_name(&p->scan, p->arena, &where));
  }
  int at = find_location(p->sketch, p->sketch->knob[knob].stage, where, p->arena);
  if (at < 0) return seer_scan_fail(&p->scan, "%s cannot be placed at %s", of, where);
  p->out->knob[knob] = (uint16_t)at;
  return SEER_OK;
}

static seer_status parse_number(parser *p, seer_knob_kind kind) {
  const char *of, *allowed = "";
  int found;
  int64_t value;
  SEER_TRY(seer_scan_name(&p->scan, p->arena, &of));
  SEER_TRY(seer_scan_i64(&p->scan, &value));
  SEER_TRY(find_knob(p, of, number_words[kind], kind, &found));
  const seer_knob *knob = &p->sketch->knob[found];
  for (uint16_t k = 0; k < knob->n_values; k++) {
    uint16_t number = seer_knob_number(p->list, knob, k);
    p->out->knob[found] = k;
    if (number == value) return SEER_OK;
    allowed = seer_arena_printf(p->arena, "%s%s%u", allowed, k > 0 ? ", " : "", number);
  }
  if (kind == SEER_KNOB_PARALLEL)
    return seer_scan_fail(&p->scan, "%s has at most %u parallel loops", of, knob->n_values - 1u);
  return seer_scan_fail(&p->scan, "%" PRId64 " is no %s of %s: %s", value,
      kind == SEER_KNOB_UNROLL ? "unroll limit" : number_words[kind], of, allowed);
}

static bool try_number(parser *p, seer_knob_kind *out) {
  for (int kind = 0; kind < SEER_KNOB_KIND_COUNT; kind++) {
    if (!number_words[kind] || !seer_scan_try(&p->scan, number_words[kind])) continue;
    *out = (seer_knob_kind)kind;
    return true;
  }
  return false;
}

static seer_status parse(parser *p) {
  const char *signature;
  uint16_t index = 0;
  SEER_TRY(seer_scan_expect(&p->scan, "sched"));
  SEER_TRY(seer_scan_string(&p->scan, p->arena, &signature));
  p->sketch = seer_names_sketch(p->list, signature, &index);
  if (!p->sketch) return seer_scan_fail(&p->scan, "no sketch \"%s\"", signature);
  seer_schedule_default(p->list, index, p->out);
  SEER_TRY(seer_scan_expect(&p->scan, "{"));
  while (!seer_scan_try(&p->scan, "}")) {
    seer_knob_kind kind;
    if (seer_scan_try(&p->scan, "split")) {
      SEER_TRY(parse_split(p));
    } else if (seer_scan_try(&p->scan, "place")) {
      SEER_TRY(parse_place(p));
    } else if (try_number(p, &kind)) {
      SEER_TRY(parse_number(p, kind));
    } else {
      return seer_scan_fail(&p->scan,
          "a step is split, place, parallel, unroll, items, width, pad, ahead or rfactor");
    }
  }
  if (!seer_scan_at_end(&p->scan)) return seer_scan_fail(&p->scan, "text after the schedule");
  seer_schedule_normalise(p->list, p->out);
  return SEER_OK;
}

seer_status seer_schedule_parse(const seer_sketch_list *list, const char *source, const char *text,
    size_t n_bytes, seer_schedule *out) {
  parser p = {.list = list, .out = out, .arena = seer_arena_create("schedule text")};
  seer_scan_init(&p.scan, source, text, n_bytes);
  seer_status status = parse(&p);
  seer_arena_destroy(p.arena);
  return status;
}
