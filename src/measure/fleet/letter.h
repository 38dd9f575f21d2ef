// letter.h - what a tuner and the workers of its fleet leave for each other at a broker, as
// payloads of wire.h under a seal. The broker may be read and written by others: a letter is
// believed only with the seal of who has the fleet's key, at the place that it was sealed for, and
// then field by field, as all messages are (wire/message.h). There is no code in it and no path.
//
// Schedules go by names, tasks by their key; the text of a task lies beside the jobs.
// In `get`, texts and arrays are in `arena`; nothing points into the payload.
//
// Pure. Threads: any. After an error `out` is of no use.
#ifndef SEER_MEASURE_FLEET_LETTER_H
#define SEER_MEASURE_FLEET_LETTER_H

#include "measure/wire/hmac.h"
#include "measure/wire/message.h"

#define SEER_LETTER_MAX_CANDIDATES 1100  // of a round: --round-size and its witnesses
#define SEER_LETTER_MAX_ID 96  // bytes of a worker's name

// ---- seals
// frame, payload, HMAC-SHA256 over place, frame and payload. Errors: RESOURCE: too long.
SEER_MUST_USE seer_status seer_letter_seal(const seer_hmac_key *key, const char *place,
    seer_wire_type type, const seer_text *payload, seer_text *out);
// Is there the seal of who has the key? What stands in the letter is not looked at.
bool seer_letter_is_sealed(
    const seer_hmac_key *key, const char *place, const void *data, size_t n_bytes);
// The payload is within `data`. CORRUPT: cut, damaged, of another type, or sealed with another key
// or for another place.
SEER_MUST_USE seer_status seer_letter_open(const seer_hmac_key *key, const char *place,
    seer_wire_type type, const void *data, size_t n_bytes, const void **out_payload, size_t *out_n);

// ---- letters
// How fast a worker is for a tuning.
typedef struct {
  const char *worker;  // its id
  seer_measure_bias bias;
} seer_letter_bias;

// TUNING: a tuning that has work for whoever fits.
typedef struct {
  seer_message_hello hello;
  const char *measurer;  // that its workers are to have: "local"
  uint32_t priority;  // its share of a fleet beside others' (1 to 100)
  uint32_t n_bias;
  seer_letter_bias bias[SEER_MEASURE_MAX_DEVICES];  // of its workers, as far as it is known
} seer_letter_tuning;

// WORKER: what it is, and how it is.
typedef struct {
  seer_message_hello hello;
  const char *id, *target, *devices, *measurer;  // devices as it shows them: "cpu:0, cpu:1"
  uint32_t n_devices, n_builders;
  uint64_t free_bytes;  // of its machine's memory
  double load;  // processors that others of its machine keep busy
  double noise;  // how far two times of one kernel lie apart, of the larger; 0: not known yet
  double build_s, run_s;  // that it gives a build and a run of a candidate at most
  double up_s, busy_s;
  uint32_t n_rounds, n_candidates;  // done
  const char *doing;  // "17 candidates of conv2d_relu"; "": nothing
} seer_letter_worker;

typedef enum {
  SEER_JOB_MEASURE,  // candidates, a round
  SEER_JOB_CHECK,  // one candidate's answer
  SEER_JOB_COMPARE,  // contenders in turns with the last of the candidates
  SEER_JOB_KIND_COUNT
} seer_job_kind;

typedef struct {
  const char *schedule;  // text form
  double best_seconds;
  bool is_witness, has_timing;
  seer_timing timing;
} seer_letter_candidate;

// JOB
typedef struct {
  uint64_t session, number;  // of the tuning; of the job, within it
  uint32_t attempt;  // how often it was sent
  seer_job_kind kind;
  uint64_t task;  // key
  uint32_t n_pairs;  // COMPARE
  bool is_maybe;  // it may not be needed: what will be needed is done first
  uint32_t n;
  seer_letter_candidate *candidate;
} seer_letter_job;

// ANSWER: results of a MEASURE or CHECK, pairs of a COMPARE, or why there is nothing.
typedef struct {
  uint64_t session, number;
  uint32_t attempt;
  uint64_t asked;  // key of the job (seer_letter_job_key): a number alone may be another job's
  const char *worker;  // its id
  const char *lost;  // "": it was done
  seer_job_kind kind;
  uint32_t n;
  seer_measure_result *result;
  seer_message_compared *compared;
} seer_letter_answer;

void seer_letter_put_tuning(seer_text *out, const seer_letter_tuning *letter);
void seer_letter_put_worker(seer_text *out, const seer_letter_worker *letter);
void seer_letter_put_job(seer_text *out, const seer_letter_job *letter);
void seer_letter_put_answer(seer_text *out, const seer_letter_answer *letter);
SEER_MUST_USE seer_status seer_letter_get_tuning(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_letter_tuning *out);
SEER_MUST_USE seer_status seer_letter_get_worker(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_letter_worker *out);
SEER_MUST_USE seer_status seer_letter_get_job(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_letter_job *out);
SEER_MUST_USE seer_status seer_letter_get_answer(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_letter_answer *out);

// What was asked: kind, task, schedules. Jobs that ask the same have the same.
uint64_t seer_letter_job_key(const seer_letter_job *job);

// What a task is known by in a fleet: everything of it that a measurement depends on.
uint64_t seer_letter_task_key(const seer_message_task *task);

#endif
