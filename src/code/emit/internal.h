// internal.h - the parts of emitting kernels. Internal to code/emit.
//   emit.c   tasks -> files, on all threads; the folder
//   table.c  what is said of them
#ifndef SEER_CODE_EMIT_INTERNAL_H
#define SEER_CODE_EMIT_INTERNAL_H

#include "code/emit.h"
#include "learn/roofline.h"
#include "setup/gpu/occupancy.h"

typedef struct {
  const char *name;
  uint32_t n_blocks, n_items;
  uint64_t group_bytes;  // of a block's memory, as the text has it
  double seconds;  // by the estimate; 0: it says nothing of it
  uint32_t estimate;  // of an item's registers
  bool is_compiled;  // then these are the compiler's
  uint32_t registers, frame_bytes;
  seer_occupancy occupancy;  // with the compiler's registers, else the estimated ones
} seer_emit_kernel;

typedef struct {
  const seer_task *task;
  const char *file;  // without its ending
  const char *why;  // not NULL: there is no kernel
  const char *schedule;  // as seer_schedule_print has it
  seer_dag_io io;
  seer_roofline roofline;
  double bound_s;
  double estimate_s;  // of all its kernels
  uint32_t n_kernel;
  seer_emit_kernel *kernel;
} seer_emit_task;

typedef struct {
  const seer_emit_request *request;
  const seer_target *target;
  const char *compiler;  // ""
  seer_emit_task *task;  // network->n_task
} seer_emit_tables;

const char *seer_emit_text(const seer_emit_tables *tables, seer_arena *arena);
SEER_MUST_USE seer_status seer_emit_json(
    const seer_emit_tables *tables, seer_arena *arena, const char **out_json);

// Why the runtime carries a step out itself; NULL: it is a kernel's, or a view.
const char *seer_emit_why_host(const seer_step *step);

#endif
