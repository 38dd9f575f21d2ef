// distance.h - how far from each other are the processors that a pool's threads are on? A line of
// memory that another thread has read takes 3 to 6 ns to write where the two are near each other,
// 20 to 30 ns where they are not, and a virtual machine's processors are near now and far later
// (doc/decisions, 55). Steps whose threads read what others wrote take longer then, and no kernel
// that is timed by itself shows it.
//
// Memory: the caller's. Threads: those of the pool; one caller. Errors: none.
#ifndef SEER_MEASURE_DISTANCE_H
#define SEER_MEASURE_DISTANCE_H

#include "runtime/pool.h"

// Beyond this they are far from each other [ns].
#define SEER_DISTANCE_FAR_NS 12.0

// What a line takes thread 0 to write that another thread has read, of the thread for which that is
// most [ns]; each in the best of some tries, as what disturbs one only ever takes longer. 0: not
// known, or there is one thread. Takes about a millisecond for each thread.
double seer_distance_ns(seer_pool *pool);

#endif
