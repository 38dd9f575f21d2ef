// edit.h - changes of a DAG that is there: stages put before others, made anew, renamed; loads sent
// to other buffers. Buffers keep their ids (arguments are bound by them), new ones are appended;
// stages from a new one on move up by one. A DAG that is edited has no dag->access: when it is
// whole again, seer_dag_finish. The caller's mistakes are assertions, as in building;
// seer_dag_verify judges the result.
// One thread edits.
#ifndef SEER_DAG_EDIT_H
#define SEER_DAG_EDIT_H

#include "dag/dag.h"

// Starts a stage as seer_dag_add_stage does, but before stage `before`, whose index it gets.
// seer_dag_set_body ends it. Returns `before`.
uint32_t seer_dag_insert_stage(seer_dag *dag, uint32_t before, const char *name,
    seer_stage_role role, const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce);

// Starts a stage anew: other axes, new variables, no bodies; seer_dag_set_body ends it. It keeps
// its name, tolerance and buffers, which take the new dimensions; those of an output must be the
// old ones. `axes` may be the stage's own.
void seer_dag_reopen_stage(seer_dag *dag, uint32_t stage, seer_stage_role role,
    const seer_dag_axis *axes, uint32_t n_space, uint32_t n_reduce);

// A stage of one value, which nobody reads yet, computes `body` in its place, which may be of
// another type. Returns the buffer, the one that it had.
uint32_t seer_dag_replace_body(seer_dag *dag, uint32_t stage, seer_expr body);

// Whether dimensions [first, first + n) of a buffer can be one: its rows follow each other there.
bool seer_dag_may_merge(const seer_dag_buf *buf, uint32_t first, uint32_t n);

// They are one, in which each element is where it was in memory, also of an input or output. What
// reads the buffer and the stage that makes it are to be made anew.
void seer_dag_merge_dims(seer_dag *dag, uint32_t buf, uint32_t first, uint32_t n);

// Stage and buffers, as if it had been built under this name.
void seer_dag_rename_stage(seer_dag *dag, uint32_t stage, const char *name);

// What stage `stage` computes goes to new buffers, named `name`; a stage behind it, with the old
// name and buffers, copies them. The computing stage stays at `stage` and keeps its variables.
void seer_dag_insert_copy(seer_dag *dag, uint32_t stage, const char *name);

// Loads of buffer `from` in a stage read `to` in its place, whose dimension d is the other's
// dimension order[d].
void seer_dag_redirect_loads(
    seer_dag *dag, uint32_t stage, uint32_t from, uint32_t to, const uint8_t *order);

#endif
