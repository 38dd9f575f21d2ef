// dump.h - the forms that a kernel has on its way, as files: what --dump asks for.
#ifndef SEER_CODE_DUMP_H
#define SEER_CODE_DUMP_H

#include "code/kernel.h"
#include "space/frame.h"

// All borrowed.
typedef struct {
  const char *name;  // of the files, before the dot
  const seer_dag *dag;  // .task
  const seer_sketch_list *list;  // .sketch: the signature of each, and the schedule
  const seer_schedule *schedule;
  // .loop; .tile, .vector, .c, .llvm, .asm and .feature (comma-separated, a row a statement) follow
  const seer_loop *loop;
} seer_dump_forms;

// One of them, in `arena`; NULL: there is no such form, or it does not follow from what is given (a
// loop alone).
const char *seer_dump_print(const seer_context *context, seer_codegen *codegen, const char *kind,
    const seer_dump_forms *forms, seer_arena *arena);
// "task, sketch, ...", in `arena`; of a loop alone only those that follow from it.
const char *seer_dump_names(bool has_dag, seer_arena *arena);
bool seer_dump_any(const seer_context *context);
// Writes those that --dump names. In parallel on distinct names.
//   codegen  NULL: LLVM has nothing to do with this kernel, so .llvm and .asm are left out
// Errors: IO.
SEER_MUST_USE seer_status seer_dump_write(
    const seer_context *context, seer_codegen *codegen, const seer_dump_forms *forms);

#endif
