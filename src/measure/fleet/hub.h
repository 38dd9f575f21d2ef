// hub.h - a fleet's broker as tuner and workers see it: a connection that comes back by itself, the
// places where letters lie, and the seal that all have in common.
//
//   familyseer:workers           set of workers' names
//   familyseer:worker:<name>     WORKER, for some seconds; its worker writes it again and again
//   familyseer:tunings           set of sessions, 16 hexadecimal digits
//   familyseer:tuning:<s>        TUNING, for a minute, as above
//   familyseer:tasks:<s>         hash: a task's key -> TASK
//   familyseer:jobs:<s>          stream of JOBs, for the group "workers"
//   familyseer:jobs:<s>:<name>   the same for one worker
//   familyseer:answers:<s>       stream of ANSWERs, each under its worker's name
//
// Whatever stands at a place may be gone at any time: who has put it there puts it there again.
//
// Memory: a hub keeps its own. Threads: one at a time for each.
#ifndef SEER_MEASURE_FLEET_HUB_H
#define SEER_MEASURE_FLEET_HUB_H

#include "measure/fleet/letter.h"
#include "measure/fleet/redis.h"
#include "setup/context.h"

#define SEER_HUB_WORKER_MS 10000  // how long a worker counts as there without saying so
#define SEER_HUB_TUNING_MS 60000
#define SEER_HUB_GROUP "workers"

typedef struct {
  const seer_context *context;
  seer_arena *arena;
  seer_redis_address address;
  seer_hmac_key key;
  seer_redis *redis;  // NULL: not connected
  uint32_t n_connections;  // that were made so far
  uint64_t retry_ns, pause_ns;  // until when nothing is tried
  uint64_t n_sent, n_received;  // bytes, of connections that are over
} seer_hub;

// The fleet that --fleet names, with the password of the URL, of --fleet-password-file or of the
// environment, and the key of --fleet-key's file, or else of that password.
// Nothing is connected yet. Errors: INVALID, IO of the file.
SEER_MUST_USE seer_status seer_hub_init(seer_hub *hub, const seer_context *context);
void seer_hub_clear(seer_hub *hub);
// Errors: those of redis.h, at once. Who would rather wait for a broker that is not there yet
// (seer_hub_is_away) goes on to send: that tries again.
SEER_MUST_USE seer_status seer_hub_connect(seer_hub *hub);
// Replies that are still to come are not waited for: the next command has a new connection. To be
// called by who gives up between `send` and the last `receive`.
void seer_hub_drop(seer_hub *hub);
static inline bool seer_hub_is_connected(const seer_hub *hub) { return hub->redis != NULL; }

// Commands go out one behind the other (`send`), and then their replies are taken in that order
// (`receive`), so that many of them cost one way there and back; `ask` is one of each. A lost
// connection is made again by the next `send`; replies that were still to come are lost with it.
// Errors: IO: nobody there; it is tried again when a pause is over, and until then this says so at
// once. Of the first connection also those that no waiting mends (redis.h). An error of the
// server's is a reply.
//
// Words are as printf makes them, parted by blanks; a word "?" is the next of `more`.
SEER_MUST_USE SEER_PRINTF(3, 4) seer_status
    seer_hub_send(seer_hub *hub, const seer_redis_word *more, const char *format, ...);
SEER_MUST_USE seer_status seer_hub_send_words(
    seer_hub *hub, const seer_redis_word *words, size_t n);
// The command may wait there for block_ns.
SEER_MUST_USE seer_status seer_hub_receive(
    seer_hub *hub, uint64_t block_ns, seer_arena *arena, const seer_redis_reply **out);
SEER_MUST_USE SEER_PRINTF(5, 6) seer_status seer_hub_ask(seer_hub *hub, seer_arena *arena,
    const seer_redis_reply **out, const seer_redis_word *more, const char *format, ...);
// `n` replies, and nothing of them. An error of the server's fails (DEVICE, in its words), but for
// one that says that a group is there already.
SEER_MUST_USE seer_status seer_hub_skip(seer_hub *hub, uint32_t n, seer_arena *arena);
// DEVICE, with the server's words, where the reply is an error of the server's.
SEER_MUST_USE seer_status seer_hub_refusal(const seer_hub *hub, const seer_redis_reply *reply);
// Does the status say that the broker cannot be reached just now?
bool seer_hub_is_away(seer_status status);

// A letter under the fleet's seal for its place, as a word of a command, in `arena`.
SEER_MUST_USE seer_status seer_hub_seal(const seer_hub *hub, const char *place, seer_wire_type type,
    const seer_text *payload, seer_arena *arena, seer_redis_word *out);

const char *seer_hub_place(seer_arena *arena, const char *kind, uint64_t session);
const char *seer_hub_place_of_worker(seer_arena *arena, uint64_t session, const char *worker);
uint64_t seer_hub_traffic(const seer_hub *hub);  // bytes, both ways

#endif
