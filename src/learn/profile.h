// profile.h - what one statement of a nest summary asks of the machine: issue cycles of its
// register tile, bytes that move into each level of cache. Shared by the features and by the
// analytic model.
// Pure, over the caller's storage: safe from any thread.
#ifndef SEER_LEARN_PROFILE_H
#define SEER_LEARN_PROFILE_H

#include "setup/target.h"
#include "space/nest.h"

typedef struct {
  double bytes;  // touched over all iterations (footprint)
  double moved[3];  // bytes that come into L1, L2, L3 over the whole statement
  double run_bytes;  // longest contiguous piece touched by the tile and the innermost loop
  // elements between iterations of the innermost loop that is not part of the tile
  double innermost_stride;
  double tile_elems;  // distinct elements of one register tile
  double reuse;  // iterations of the outermost-to-innermost loop nest per distinct element
} seer_access_profile;

typedef struct {
  double lanes;  // vector lanes in use per vector (1: scalar)
  double vectors;  // vectors along the vectorised axis in one tile
  double rows;  // product of the tile's other loops
  double registers;  // accumulators + operands
  double tile_runs;  // how often the tile's body is executed (padded)
  double issue_cycles;  // of one execution of the tile's body: arithmetic
  double load_cycles;  // of one execution: loads and stores that hit L1
  double cycles;  // of the whole statement, one thread, data in L1
  double moved[3];  // bytes that come into L1, L2, L3, all accesses together
  // Bytes that threads read or write outside of their shares of arguments and of what other phases
  // left: lines that pass from one core's caches to another's, and back (doc/decisions, 55).
  double crossing;
  double parts;
} seer_statement_profile;

// `nest` has the statement among others; NULL: what others do with the same buffers is not known,
// and crosses no threads. out_access: n_access of them, or NULL where nobody asks.
void seer_profile_statement(const seer_nest *nest, const seer_nest_statement *statement,
    const seer_target *target, seer_statement_profile *out, seer_access_profile *out_access);

#endif
