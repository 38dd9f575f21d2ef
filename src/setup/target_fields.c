// target_fields.c - options of a target's text form, printed and set from a table. The contract:
// target_fields.h.
#include "setup/target_fields.h"

#include <stdlib.h>
#include <string.h>

static void print_value(const seer_field *field, const void *at, seer_text *text) {
  const char *value;
  switch (field->kind) {
    case SEER_FIELD_TEXT:
      value = *(const char *const *)at;
      seer_text_printf(text, strpbrk(value, " ,") ? "\"%s\"" : "%s", value);
      break;
    case SEER_FIELD_WORDS:
      seer_text_put(text, *(const char *const *)at);
      break;
    case SEER_FIELD_COUNT:
      seer_text_printf(text, "%u", *(const uint32_t *)at);
      break;
    case SEER_FIELD_LANES:
      seer_text_printf(text, "%u", *(const uint32_t *)at / 4);
      break;
    case SEER_FIELD_BYTES:
      seer_text_printf(text, "%" PRIu64, *(const uint64_t *)at);
      break;
    case SEER_FIELD_RATE:
      seer_text_put_f64(text, *(const double *)at);
      break;
    case SEER_FIELD_ARCHITECTURE:
      seer_text_printf(text, "sm_%u", *(const uint32_t *)at);
      break;
    case SEER_FIELD_FLAG:
      break;
  }
}

static bool is_left_out(const seer_field *field, const void *at) {
  if (field->kind == SEER_FIELD_ARCHITECTURE) return *(const uint32_t *)at == 0;
  // No words is a statement: where they are left out, the triple's own are meant.
  if (field->kind == SEER_FIELD_WORDS) return *(const char *const *)at == NULL;
  if (field->kind != SEER_FIELD_TEXT) return false;
  const char *value = *(const char *const *)at;
  return !value || !*value;
}

void seer_fields_print(const seer_fields *fields, const seer_target *target, seer_text *text) {
  for (size_t i = 0; i < fields->n; i++) {
    const seer_field *field = &fields->field[i];
    const void *at = (const char *)target + field->offset;
    if (field->kind == SEER_FIELD_FLAG) {
      if (*(const bool *)at) seer_text_printf(text, " -%s", field->name);
      continue;
    }
    if (is_left_out(field, at)) continue;
    seer_text_printf(text, " -%s=", field->name);
    print_value(field, at, text);
  }
}

size_t seer_fields_index(const seer_fields *fields, const char *name) {
  size_t i = 0;
  while (i < fields->n && strcmp(fields->field[i].name, name) != 0) i++;
  SEER_ASSERT(i < fields->n, "no option -%s", name);
  return i;
}

// ---- parsing

const char *seer_fields_next_word(const char **at, seer_arena *arena) {
  while (**at == ' ' || **at == '\t' || **at == ',') ++*at;
  const char *start = *at;
  bool quoted = false;
  for (; **at; ++*at) {
    if (**at == '"') quoted = !quoted;
    if (quoted) continue;
    if (**at == ' ' || **at == '\t') break;
    if (**at == ',' && (*at)[1] == '-') {
      size_t n = strcspn(*at + 2, "=, ");
      if ((*at)[2 + n] == '=') break;
    }
  }
  return *at == start ? NULL : seer_arena_strndup(arena, start, (size_t)(*at - start));
}

static bool parse_number(const char *text, bool is_bytes, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (end == text) return false;
  if (is_bytes && *end) {
    if (*end == 'K')
      *out *= 1024;
    else if (*end == 'M')
      *out *= 1024 * 1024;
    else if (*end == 'G')
      *out *= 1024.0 * 1024 * 1024;
    else
      return false;
    end++;
  }
  return *end == '\0';
}

static seer_status set_text(
    const seer_field *field, const char *value, seer_arena *arena, const char **out) {
  size_t n = strlen(value);
  bool is_quoted = n >= 2 && value[0] == '"' && value[n - 1] == '"';
  if (is_quoted) value = seer_arena_strndup(arena, value + 1, n - 2);
  for (const char *c = value; *c; c++) {
    if ((unsigned char)*c < ' ' || *c == '"')
      return SEER_FAIL(
          INVALID, "target: option -%s has a quote or a control character", field->name);
  }
  if (!*value && field->kind != SEER_FIELD_WORDS)
    return SEER_FAIL(INVALID, "target: option -%s has no value", field->name);
  *out = value;
  return SEER_OK;
}

static seer_status set_number(
    const seer_field *field, const char *word, const char *value, void *at) {
  double number;
  if (!parse_number(value, field->kind == SEER_FIELD_BYTES, &number) ||
      !(number >= field->min && number <= field->max) ||
      (field->kind != SEER_FIELD_RATE && number != (double)(uint64_t)number))
    return SEER_FAIL(INVALID, "target: option '%s' must be a number from %g to %g", word,
        field->min, field->max);
  if (field->kind == SEER_FIELD_RATE)
    *(double *)at = number;
  else if (field->kind == SEER_FIELD_BYTES)
    *(uint64_t *)at = (uint64_t)number;
  else
    *(uint32_t *)at = (uint32_t)number * (field->kind == SEER_FIELD_LANES ? 4 : 1);
  return SEER_OK;
}

static seer_status find(
    const seer_fields *fields, const char *word, size_t n_name, seer_arena *arena, size_t *out_i) {
  for (size_t i = 0; i < fields->n; i++) {
    const char *name = fields->field[i].name;
    if (strlen(name) != n_name || memcmp(name, word + 1, n_name) != 0) continue;
    *out_i = i;
    return SEER_OK;
  }
  seer_text known;
  seer_text_init(&known, arena);
  for (size_t k = 0; k < fields->n; k++) seer_text_printf(&known, " -%s", fields->field[k].name);
  return SEER_FAIL(INVALID, "target: unknown option '%s', known are%s", word, known.data);
}

seer_status seer_fields_set(const seer_fields *fields, const char *word, seer_arena *arena,
    seer_target *target, bool given[SEER_FIELDS_MAX]) {
  if (word[0] != '-')
    return SEER_FAIL(INVALID, "target: '%s' is not an option, options begin with '-'", word);
  size_t n_name = strcspn(word + 1, "="), i = 0;
  const char *value = word[1 + n_name] ? word + 2 + n_name : "";
  SEER_TRY(find(fields, word, n_name, arena, &i));
  const seer_field *field = &fields->field[i];
  void *at = (char *)target + field->offset;
  given[i] = true;
  switch (field->kind) {
    case SEER_FIELD_FLAG:
      *(bool *)at = true;
      return SEER_OK;
    case SEER_FIELD_TEXT:
    case SEER_FIELD_WORDS:
      return set_text(field, value, arena, (const char **)at);
    case SEER_FIELD_ARCHITECTURE:
      if (strncmp(value, "sm_", 3) != 0)
        return SEER_FAIL(INVALID, "target: option '%s' must be -%s=sm_ and a number, as sm_90",
            word, field->name);
      value += 3;
      break;
    case SEER_FIELD_COUNT:
    case SEER_FIELD_BYTES:
    case SEER_FIELD_RATE:
    case SEER_FIELD_LANES:
      break;
  }
  return set_number(field, word, value, at);
}
