// sides.h - of a library with a device: which of a value's two copies is good, the host's or the
// device's, while steps are put into the plan one after another; copies from one to the other are
// put where a step needs what is not there. Internal to code/plan.
//
// All of a root's memory is one thing here. A step that writes a part of it alone (one operand of a
// concatenation) has the rest brought to its side first.
//
// Loops and branches. Whatever way led to a step, the same must be good: what a body or a side has
// changed is brought back to where it was good before (seer_sides_leave_...). What a loop carries,
// and what a branch results in, is moved on one side, which is chosen when it is entered: the
// host's where steps of the host make it.
#ifndef SEER_CODE_PLAN_SIDES_H
#define SEER_CODE_PLAN_SIDES_H

#include "code/plan/internal.h"

typedef enum { SEER_SIDE_HOST = 1, SEER_SIDE_DEVICE = 2 } seer_side;

// Puts a step that copies all of a root to `to`.
typedef void (*seer_put_copy)(void *user, uint32_t root, seer_side to);

typedef struct {
  const seer_places *places;
  seer_put_copy put;
  void *user;
  uint8_t *good;  // by root: sides; 0: neither. NULL: there is no device, and nothing is done
  uint32_t *maker;  // by value: its step; UINT32_MAX: none
} seer_sides;

//   has_device  else `out` does nothing
void seer_sides_begin(
    seer_sides *out, const seer_places *places, bool has_device, seer_put_copy put, void *user);
// A step is about to read the value on `side` (0 is no value).
void seer_sides_need(seer_sides *sides, seer_val v, seer_side side);
// The same of the sizes of its dimensions, on the host.
void seer_sides_need_sizes(seer_sides *sides, seer_val v);
// A step is about to write it there; and has written it.
void seer_sides_will_make(seer_sides *sides, seer_val v, seer_side side);
void seer_sides_made(seer_sides *sides, seer_val v, seer_side side);
bool seer_sides_is_on_device_alone(const seer_sides *sides, seer_val v);

// ---- loops
typedef struct {
  uint32_t begin, end;  // steps of the network
  uint8_t *entry;  // by root: as it was before the body
  uint8_t *kept;  // by root: what a body that writes it must leave; 0: nothing
  bool *is_written;  // by root
  seer_side *side;  // by what the loop carries or collects: where it is moved
} seer_sides_loop;
// Behind it the loop's step is put, then its body.
void seer_sides_enter_loop(seer_sides *sides, uint32_t begin, uint32_t end, seer_sides_loop *out);
void seer_sides_end_body(seer_sides *sides, const seer_sides_loop *loop);  // still in it
void seer_sides_leave_loop(seer_sides *sides, const seer_sides_loop *loop);

// ---- branches
typedef struct {
  uint32_t step;
  uint8_t *entry, *then_good;  // by root
  seer_side *side;  // by result: where it is when the branch is done
} seer_sides_branch;
// Behind it the branch's step is put, then for each of both sides: begin, its steps, end.
void seer_sides_enter_branch(seer_sides *sides, uint32_t step, seer_sides_branch *out);
void seer_sides_begin_side(seer_sides *sides, const seer_sides_branch *branch);
//   is_built  else it ends the run
void seer_sides_end_side(seer_sides *sides, seer_sides_branch *branch, bool is_else, bool is_built);

#endif
