// compile.h - the compiler as one function: a model file -> a library, of what is known and without
// measuring times. What the command `compile` and seer_tuner_compile do, and a tuning that ends
// before it has begun; a tuning is the same with a search before the choice, and more judges
// (tune.h).
//
// Memory: what it leaves is in the arena of `precise`. One thread. What is found on the way is said
// (seer_say).
#ifndef SEER_TUNE_COMPILE_H
#define SEER_TUNE_COMPILE_H

#include "code/emit.h"
#include "tune/precision.h"

typedef struct {
  seer_context *context;  // with a target
  const char *model;  // as seer_front_load takes it
  seer_build_kind kind;
  const char *folder;  // where the library goes
  // Once the model is loaded, at f32. May be NULL; `user` is theirs.
  void (*hear_loaded)(void *user, const seer_network *network);
  void *user;
} seer_compile_request;

// precise  zeros, and the model is loaded into it; or as seer_precise_open has left it, and `model`
//          and `hear_loaded` are not looked at. To be closed whatever is returned.
// arena    of what is loaded
// Errors: those of loading, choosing, building; INVALID --tolerance does not allow what the
// precision changes. The folder is then as it was.
SEER_MUST_USE seer_status seer_compile(
    const seer_compile_request *request, seer_arena *arena, seer_precise *precise);

// The kernels of a network's tasks for a GPU, untuned, in files (code/emit.h).
// The same stages as far as schedules, and then text and a compiler in place of a library.
//   request  the target is a GPU; `kind` is not looked at
//   out      its text is in `arena`
// Errors: those of loading, of sketches and of seer_emit_kernels; UNSUPPORTED --precision
// other than f32, which is judged by runs of libraries.
SEER_MUST_USE seer_status seer_compile_kernels(
    const seer_compile_request *request, seer_arena *arena, seer_emitted *out);
// The same of a network that is loaded; `model` and `hear_loaded` are not looked at.
SEER_MUST_USE seer_status seer_compile_kernels_of(const seer_compile_request *request,
    const seer_network *network, seer_arena *arena, seer_emitted *out);

#endif
