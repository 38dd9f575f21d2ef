// reply.h - bytes of a server as replies, as they come in. Nothing of a server is believed: what is
// no reply by the protocol (RESP2), is nested more than 7 deep, or is larger than was allowed is
// CORRUPT, and the memory that one reply takes, what it only announces included, is of that size.
// Threads: one at a time.
#ifndef SEER_MEASURE_FLEET_REPLY_H
#define SEER_MEASURE_FLEET_REPLY_H

#include "measure/fleet/redis.h"

typedef struct seer_redis_reader seer_redis_reader;

// max_bytes  of one reply, as it is sent and as it is held
// Owned; NULL: no memory.
seer_redis_reader *seer_redis_reader_create(size_t max_bytes);
void seer_redis_reader_destroy(seer_redis_reader *reader);  // NULL is fine

// What came in next. Errors: CORRUPT, RESOURCE: the reader is of no use then.
SEER_MUST_USE seer_status seer_redis_reader_feed(
    seer_redis_reader *reader, const void *data, size_t n_bytes);
// The next reply, in `arena`, which has to be the same one until it is whole: NULL before that.
SEER_MUST_USE seer_status seer_redis_reader_next(
    seer_redis_reader *reader, seer_arena *arena, const seer_redis_reply **out);

#endif
