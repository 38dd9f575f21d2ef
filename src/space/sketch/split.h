// split.h - what the files share that make reductions in two, of lengths that are a knob's: split.c
// (Ansor's, all its reduction axes as one), split_blocks.c (parts of one axis, for the grid) and
// variant.c (the DAGs for given lengths).
// Internal to space/sketch. Errors: none; what does not fit is asked for before.
#ifndef SEER_SPACE_SKETCH_SPLIT_H
#define SEER_SPACE_SKETCH_SPLIT_H

#include "space/rule.h"
#include "space/schedule/factorise.h"

// What the reduction was, in the pool of its DAG and of all copies.
struct seer_plan_split {
  seer_dag_stage was;
  seer_plan_part part;
  uint8_t axis;  // BLOCKS: the one that is in parts
  int64_t extent;  // of all its reduction axes; BLOCKS: of that one
  uint32_t n_length;
  uint16_t length[SEER_FACTORISE_MAX_INNERMOST];  // BLOCKS: numbers of parts
};

// Whether a plan may have one more split, of so many lengths.
bool seer_split_has_room(const seer_plan *plan, uint32_t n_length);
// stage: that writes the parts. split: kept, with the plan
void seer_split_add(seer_plan *plan, uint32_t stage, const seer_plan_split *split);

// The body of a stage over other variables: `map` has one for each of the DAG. Where `predicate`
// is not fulfilled (none: {0}) nothing is read, and it is the combiner's neutral element.
seer_expr seer_split_body(
    seer_dag *dag, const seer_dag_stage *was, const seer_expr *map, seer_expr predicate);

// Makes stage `parts` and the one behind it for this inner length.
void seer_split_fill(seer_dag *dag, const seer_plan_split *split, uint32_t parts, int64_t length);

// Makes the stages of a split in BLOCKS for n_part parts: `writer`, which writes them, what
// computes them if that is another (cache-write), and the sum behind it. What reads fetches goes on
// to do so. plan->dag: what `dag` is a copy of.
void seer_split_fill_blocks(const seer_plan *plan, seer_dag *dag, const seer_plan_split *split,
    uint32_t writer, int64_t n_part);

#endif
