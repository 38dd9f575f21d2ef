// json.c - see json.h.
#include "cli/json.h"

#include <stdio.h>
#include <stdlib.h>

seer_status seer_cli_put_json(json_t *object) {
  char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
  json_decref(object);
  if (!line) return SEER_FAIL(RESOURCE, "out of memory for JSON");
  puts(line);
  free(line);
  return SEER_OK;
}
