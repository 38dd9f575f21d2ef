// table.c - the measurers, by name.

#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "measure/backends.h"
#include "measure/measure.h"

// To add a measurer: its file, its line here and in backends.h.
const seer_measure_desc *const seer_measure_table[] = {
    &seer_measure_local, &seer_measure_fake, &seer_measure_replay};
const size_t seer_measure_table_count = SEER_COUNT_OF(seer_measure_table);

// "x:delay=500ms" -> the bytes before the delay, and its seconds; without one all of them, and 0.
static seer_status split_delay(const char *text, size_t *out_n, double *out_delay_s) {
  static const char mark[] = ":delay=";
  const char *at = NULL;
  for (const char *next = strstr(text, mark); next; next = strstr(next + 1, mark)) at = next;
  *out_n = at ? (size_t)(at - text) : strlen(text);
  *out_delay_s = 0;
  if (!at) return SEER_OK;
  at += strlen(mark);
  bool is_time = seer_duration_parse(at, out_delay_s);
  if (is_time && *out_delay_s >= 0 && *out_delay_s <= SEER_MEASURE_MAX_DELAY_S) return SEER_OK;
  return SEER_FAIL(INVALID,
      "measurer %s: the delay is '%s', must be a time from 0 to %g seconds, as in delay=500ms",
      text, at, SEER_MEASURE_MAX_DELAY_S);
}

seer_status seer_measure_find(const char *text, seer_arena *arena, seer_measure_choice *out) {
  *out = (seer_measure_choice){0};
  size_t n_all, n;
  SEER_TRY(split_delay(text, &n_all, &out->delay_s));
  const char *own = seer_arena_strndup(arena, text, n_all);
  n = strcspn(own, ":");
  out->argument = own[n] ? own + n + 1 : "";
  char known[256] = "";
  for (size_t i = 0; i < seer_measure_table_count; i++) {
    const seer_measure_desc *desc = seer_measure_table[i];
    char form[64];
    bool has_to = desc->argument && desc->argument[0] != '[';
    (void)snprintf(
        form, sizeof form, "%s%s%s", desc->name, has_to ? ":" : "", has_to ? desc->argument : "");
    seer_words_add(known, sizeof known, form);
    if (strlen(desc->name) != n || strncmp(desc->name, own, n) != 0) continue;
    out->desc = desc;
    if (has_to && !out->argument[0])
      return SEER_FAIL(INVALID, "measurer %s: its %s is missing: %s", text, desc->argument, form);
    if (!desc->argument && own[n])
      return SEER_FAIL(INVALID,
          "measurer %s takes nothing behind its name but delay=TIME, and got '%s'", desc->name,
          out->argument);
    return SEER_OK;
  }
  return SEER_FAIL(
      INVALID, "unknown measurer '%s'; allowed: %s, each perhaps with :delay=TIME", text, known);
}

seer_status seer_measure_choose(
    const seer_context *context, seer_arena *arena, seer_measure_choice *out) {
  SEER_TRY(seer_measure_find(seer_context_str(context, SEER_OPT_MEASURE), arena, out));
  if (!seer_context_str(context, SEER_OPT_FLEET)[0]) return SEER_OK;
  *out = (seer_measure_choice){.desc = &seer_measure_fleet, .argument = ""};
  return SEER_OK;
}
