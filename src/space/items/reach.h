// reach.h - of a nest of items, the accesses to one WORKGROUP or PRIVATE buffer, and which loops
// have to be gone through to meet each element that they touch. Loops whose variable none of them
// depends on (by an index, a guard, a bound or a LET in one of these) are gone into once.
//
// Memory: all is in the arena that is given. Threads: pure.
#ifndef SEER_SPACE_REACH_H
#define SEER_SPACE_REACH_H

#include "space/items/items.h"

// What must hold for an access to happen.
typedef struct {
  seer_expr is;
  bool holds;  // it, or its contrary
} seer_reach_guard;
#define SEER_REACH_MAX_GUARDS 8

typedef struct {
  uint32_t store;  // node of the statement
  bool is_write;
  const seer_expr *index;
  uint32_t n_index;
  uint32_t n_guard;
  seer_reach_guard guard[SEER_REACH_MAX_GUARDS];
} seer_reach_access;

typedef enum { SEER_REACH_SKIP, SEER_REACH_ONCE, SEER_REACH_EACH } seer_reach_how;

typedef struct {
  uint32_t buf;
  uint32_t n_access, cap_access;
  seer_reach_access *access;  // in the order of the statements; reads of one before its write
  uint32_t *first;  // by node: of a STORE, its first access (those of one follow each other)
  uint8_t *how;  // by node: seer_reach_how, of FORs and STOREs in the nest
  bool *needs;  // by variable: what indices, guards and bounds depend on
  // A guard depends on data, and was left out: some of these reads may not take place.
  bool is_most;
} seer_reach;

// Of the nest at node `nest`. *out_any is false where it does not touch `buf`.
//   def  by variable: its FOR or LET node
// Errors: UNSUPPORTED: an index that depends on data.
SEER_MUST_USE seer_status seer_reach_find(const seer_loop *loop, uint32_t nest, uint32_t buf,
    const uint32_t *def, seer_arena *arena, seer_reach *out, bool *out_any);

// Adds to `needs` (by variable) the variables of `e`, and those that LETs among all of them need.
void seer_reach_need(const seer_loop *loop, const uint32_t *def, seer_expr e, bool *needs);

#endif
