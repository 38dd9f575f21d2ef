// info.h - what `familyseer info` prints of a network: to stdout, as text or with --json as one
// object.
#ifndef SEER_CLI_INFO_H
#define SEER_CLI_INFO_H

#include "cli/command.h"
// a file or a built-in network
SEER_MUST_USE seer_status seer_info_network(seer_context *context, const char *model);

#endif
