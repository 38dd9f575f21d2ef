// opt_forms.h - familyseer opt below graphs: a DAG, perhaps with a schedule behind it, loops, or
// tiles -> the forms that follow.
#ifndef SEER_CLI_OPT_FORMS_H
#define SEER_CLI_OPT_FORMS_H

#include "cli/command.h"
#include "dag/dag.h"

// True if this is one of these texts, by its first word: dag, loop, tile.
bool seer_cli_is_form(const char *text, size_t n_bytes);
// Prints what `passes` names (one word), or the form itself: parsed, verified and printed again.
//   source  for messages
// Errors: INVALID with line and column; usage for a word that does not follow from this form.
SEER_MUST_USE seer_status seer_cli_opt_form(seer_context *context, const char *source,
    const char *text, size_t n_bytes, const char *passes, seer_arena *arena);
// The files that --dump names, for a DAG under its untuned schedule.
SEER_MUST_USE seer_status seer_cli_opt_dump(
    seer_context *context, const seer_dag *dag, const char *name, seer_arena *arena);

#endif
