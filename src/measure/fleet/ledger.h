// ledger.h - the jobs that a tuner has out: each gets one answer, however often it was sent and
// answered. What comes twice, or belongs to no job, is counted and changes nothing.
//
// Pure. Memory: a job's is in its own arena, until it is removed; results are the caller's.
// Threads: one.
#ifndef SEER_MEASURE_FLEET_LEDGER_H
#define SEER_MEASURE_FLEET_LEDGER_H

#include "measure/fleet/letter.h"

typedef struct seer_ledger_job {
  seer_arena *arena;
  seer_letter_job letter;  // its candidates' texts are in the arena
  const char *worker;  // that alone may have it; NULL: any
  uint32_t n_workers_lost;  // that alone had it
  bool is_missing;  // it was taken from there, and no answer came
  uint32_t n_missed;  // how often
  double least_s;  // no answer's time is shorter
  const char *at;  // its entry in the stream, in the arena; NULL: it is not there
  seer_measure_result *results;  // letter.n of them; of a COMPARE: NULL
  seer_message_compared *compared;  // of a COMPARE
  uint32_t asked_of;  // the device of the question; of a round: 0
  bool is_done, is_foreseen;  // foreseen: nobody has asked yet
  bool is_forgone;  // and nobody will; it stands here until the broker has been told
  char lost[SEER_MEASURE_MESSAGE_BYTES];  // "": it was done; else why not
  uint32_t device;  // that has done it
  // Who has it in hand, by its number; for how long, and for how long it may (holders.h).
  uint32_t holder, n_holders;  // n_holders: one after the other, of this entry
  double held_s, allowed_s;
  bool was_sent_as_maybe;
  bool was_said_lost;  // once, and that is not believed yet
  uint32_t said_by, said_attempt;  // by whom, and of which letter
  struct seer_ledger_job *next;
} seer_ledger_job;
#define SEER_LEDGER_NOBODY UINT32_MAX

typedef struct {
  uint64_t session, n_numbers;
  uint32_t n;  // jobs
  seer_ledger_job *first;  // in the order in which they were added
  uint32_t n_duplicates, n_strange;  // answers that were not taken
} seer_ledger;

// NULL: there is none.
seer_ledger_job *seer_ledger_find(const seer_ledger *ledger, uint64_t number);
// A job of `n` candidates, with the next number; its letter is to be filled.
seer_ledger_job *seer_ledger_add(seer_ledger *ledger, seer_job_kind kind, uint32_t n);
void seer_ledger_remove(seer_ledger *ledger, seer_ledger_job *job);
void seer_ledger_clear(seer_ledger *ledger);

// ---- what is foreseen
typedef struct {
  uint64_t task;  // key
  uint32_t asked_of, n, n_pairs;
  const char *const *schedule;
} seer_ledger_question;
// Jobs that were foreseen of just this question, the same device included, and were not asked yet:
// in order, at most n_max.
uint32_t seer_ledger_find_foreseen(const seer_ledger *ledger, const seer_ledger_question *question,
    uint32_t n_max, seer_ledger_job **out);
// Is all done that was foreseen of this task as certain?
bool seer_ledger_is_settled(const seer_ledger *ledger, uint64_t task);
// What was foreseen of it and not asked will not be.
void seer_ledger_forgo(seer_ledger *ledger, uint64_t task);

// ---- answers
typedef enum {
  SEER_LEDGER_TAKEN,
  SEER_LEDGER_DOUBTED,  // "lost", and nobody else has said so: it is to be sent again
  SEER_LEDGER_DUPLICATE,  // or not wanted any more
  SEER_LEDGER_STRANGE  // of another session, not what was asked, or of times that cannot be
} seer_ledger_verdict;
// `device` that it comes from.
seer_ledger_verdict seer_ledger_take(
    seer_ledger *ledger, const seer_letter_answer *answer, uint32_t device);
// It ends without an answer.
void seer_ledger_lose(
    seer_ledger_job *job, uint32_t device, seer_measured_class cls, const char *why);

#endif
