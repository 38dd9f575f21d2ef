// parallel.h - the parts of one piece of work on several threads, which live as long as it does.
// Threads: any may call; `part` is called on several at a time.
#ifndef SEER_BASE_OS_PARALLEL_H
#define SEER_BASE_OS_PARALLEL_H

#include "base/base.h"

#define SEER_PARALLEL_MAX_THREADS 64

// `thread`: who works, 0 (the caller) up to the number of threads; no two parts are worked on by
// one at a time. What may run out of memory in a part stands in a seer_recover of its own.
typedef void (*seer_parallel_part)(void *user, uint32_t part, uint32_t thread);

// Calls part(user, p, thread) for every p < n_parts, in that order as threads become free, and
// returns when all are done. At most n_threads (0: as many as this process may use), n_parts and
// SEER_PARALLEL_MAX_THREADS; fewer when the system has no more: they are not needed.
void seer_parallel(uint32_t n_threads, uint32_t n_parts, seer_parallel_part part, void *user);
// How many threads that may be: what a caller needs places for.
uint32_t seer_parallel_threads(uint32_t n_threads, uint32_t n_parts);

#endif
