// binding.h - inputs that had a value when a library was compiled (--bind), as its description has
// them: for the commands that would take them for inputs.
// One thread, as all commands.
#ifndef SEER_LIBRARY_BINDING_H
#define SEER_LIBRARY_BINDING_H

#include "front/graph.h"
#include "library/use.h"

// INVALID if a bound input of the library is called `name`, and what it is bound to.
SEER_MUST_USE seer_status seer_binding_refuse(const seer_use *use, const char *name);

// Adds to --bind what the library was compiled with and the user has not given. INVALID names an
// input whose value is too long to stand in the description: the user must give it.
SEER_MUST_USE seer_status seer_binding_take(seer_context *context, const seer_use *use);

// The library has the bound inputs of `graph`, by name, type, shape and value, and no others;
// INVALID names the first difference.
SEER_MUST_USE seer_status seer_binding_compare(const seer_use *use, const seer_graph *graph);

#endif
