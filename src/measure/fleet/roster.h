// roster.h - which workers a tuning has: those at its fleet that are of its sources and work for
// its target. Each gets a number when it is first seen, and keeps it; one that has not been heard
// of for a while is left out until it is heard of again. Workers that do not fit are named once,
// with the reason. One that answers nonsense is left out for good.
//
// Memory: names of its workers are in the roster's arena, those at the broker its own, until it is
// cleared. Threads: one.
#ifndef SEER_MEASURE_FLEET_ROSTER_H
#define SEER_MEASURE_FLEET_ROSTER_H

#include "measure/fleet/hub.h"

typedef struct {
  const char *id, *devices;  // devices: "cpu:0, cpu:1"
  bool is_there, is_dismissed;
  uint32_t n_builders, n_nonsense;  // nonsense: answers
  double build_s, run_s;  // what it gives a build and a run at most
} seer_roster_worker;
#define SEER_ROSTER_MOST_NONSENSE 3  // then it gets nothing more: one may have been bad luck

typedef struct {
  const seer_context *context;
  seer_arena *arena;  // borrowed
  seer_message_hello own;
  const char *measurer;  // that workers are to have: "local"
  uint32_t n, n_there;
  seer_roster_worker worker[SEER_MEASURE_MAX_DEVICES];
  uint32_t n_refused;  // that were named
  uint64_t refused[SEER_MEASURE_MAX_DEVICES];  // hashes of their names
  bool is_full;  // somebody was one more than there may be
  uint32_t n_unsealed;  // letters that could not be read, last time
  seer_arena *names;  // of those that the broker has named last
  uint32_t n_names;
  const char **name;
} seer_roster;
void seer_roster_clear(seer_roster *roster);

// All workers that the broker has just now; it waits for two replies. Errors: those of the hub.
SEER_MUST_USE seer_status seer_roster_look(seer_roster *roster, seer_hub *hub, seer_arena *scratch);
// The same without waiting: the letters of those that were named last, if there are any, are asked
// for, and who is there now; then what the replies say, in this order. True: somebody is new, whose
// letter is to be asked for.
SEER_MUST_USE seer_status seer_roster_ask(
    const seer_roster *roster, seer_hub *hub, seer_arena *scratch, bool *out_has_letters);
void seer_roster_hear_letters(
    seer_roster *roster, const seer_hub *hub, const seer_redis_reply *letters, seer_arena *scratch);
bool seer_roster_hear_names(seer_roster *roster, const seer_redis_reply *names);
// One letter of them. False: it does not fit. For tests.
bool seer_roster_see(seer_roster *roster, const seer_letter_worker *letter);
// It has answered nonsense. True: once too often, and it is left out from now on.
bool seer_roster_blame(seer_roster *roster, uint32_t worker, const char *why);
// It is left out from now on. False: it is already.
bool seer_roster_dismiss(seer_roster *roster, uint32_t worker, const char *why);
// By name; UINT32_MAX: it is none of this tuning's.
uint32_t seer_roster_find(const seer_roster *roster, const char *id);

// Every worker of a fleet, for whoever asks: in `arena`, those that are sealed with another key
// left out and counted. One that is sealed and cannot be read is of another version, and is there
// with that alone.
SEER_MUST_USE seer_status seer_roster_list(seer_hub *hub, seer_arena *arena,
    seer_letter_worker **out, uint32_t *out_n, uint32_t *out_n_unsealed);

#endif
