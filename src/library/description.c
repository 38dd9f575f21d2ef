// description.c - members of model.json as texts.
#include "library/description.h"

#include "base/text.h"

seer_status seer_description_read(const char *path, const char *text, json_t **out_info) {
  json_error_t error;
  *out_info = json_loads(text, 0, &error);
  if (*out_info) return SEER_OK;
  return SEER_FAIL(CORRUPT, "%s: its description is damaged: %s", path, error.text);
}

const char *seer_description_raw(const json_t *object, const char *key) {
  const char *s = json_string_value(json_object_get(object, key));
  return s ? s : "";
}

const char *seer_description_text(const json_t *object, const char *key, seer_arena *arena) {
  return seer_text_safe(arena, seer_description_raw(object, key));
}
