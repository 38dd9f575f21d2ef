// json.h - what commands print as JSON.
// Threads: any. Memory: as said.
#ifndef SEER_CLI_JSON_H
#define SEER_CLI_JSON_H

#include <jansson.h>

#include "base/status.h"

// Prints it as one line and gives up the reference. NULL, which jansson's functions give where
// there is no memory, is RESOURCE.
SEER_MUST_USE seer_status seer_cli_put_json(json_t *object);

#endif
