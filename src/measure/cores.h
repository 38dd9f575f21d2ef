// cores.h - has each thread of a pool a core of its own, at this moment? A virtual machine's
// processors may be threads of one core for milliseconds or seconds, and then what is timed takes
// twice as long, or hardly longer, as it computes or waits for memory: no factor puts that right.
// So times are taken when it is over (doc/decisions, 49).
//
// Memory: the caller's. Threads: those of the pool; one caller. Errors: none.
#ifndef SEER_MEASURE_CORES_H
#define SEER_MEASURE_CORES_H

#include "runtime/pool.h"

// How many times as long a computation takes when all threads do it as when one does: 1 where each
// has a core, 2 where two share one. Takes 30 us. For benches.
double seer_cores_crowding(seer_pool *pool);

typedef struct {
  double least;  // crowding of the best moment so far; 0: never looked
  uint64_t began_ns, waited_ns;
} seer_cores;  // zeros, to begin with
// Is this crowding about as low as it ever was? Threads may be more than there are cores. For
// tests.
bool seer_cores_note_crowding(seer_cores *cores, double crowding);
// The same of this moment.
bool seer_cores_are_free(seer_cores *cores, seer_pool *pool);
// Until they are; for 0.2 s at most, and for a second and a tenth of all the time since the first
// call, which learns what there is to expect.
void seer_cores_await(seer_cores *cores, seer_pool *pool);

#endif
