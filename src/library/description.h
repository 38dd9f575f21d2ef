// description.h - model.json as a compiled library carries it, for the commands that show or use
// it. What it says is text from a file: for a terminal it is made safe.
#ifndef SEER_LIBRARY_DESCRIPTION_H
#define SEER_LIBRARY_DESCRIPTION_H

#include <jansson.h>

#include "base/arena.h"
#include "base/status.h"

// `text`: what info_json gave of the library at `path`. *out_info: to be released with json_decref.
SEER_MUST_USE seer_status seer_description_read(
    const char *path, const char *text, json_t **out_info);
// A member as it stands there, for comparing; "" where there is no such text.
const char *seer_description_raw(const json_t *object, const char *key);
// The same for showing, in `arena` where it had to be made safe.
const char *seer_description_text(const json_t *object, const char *key, seer_arena *arena);

#endif
