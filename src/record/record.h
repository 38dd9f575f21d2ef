// record.h - what was measured, kept in one SQLite file (WAL). Keys are canonical and versioned, in
// two parts (structure, shape); schedules are stored as text (signature, knobs by name), never by
// index.
//
// Whose word counts
// - A record says where it was measured (its provenance). What comes from another file, by import
//   or by merge, is from elsewhere whatever it says of itself: its state is kept as what was found
//   there, its times are nobody's here. A tuning measures such schedules first; `compile` takes one
//   at -O3 only, where the analytic model prefers it to the untuned one. Who knows where a file
//   comes from says so (--trust-records): then what was measured there counts as if it had been
//   measured here.
// - Each task has at most one winner on a target: the schedule that was accepted here, or by
//   somebody who is trusted. It is a record of its own with what its pairs with the untuned one
//   showed, and it is what `compile` takes. accept.h has the rule by which it keeps or loses its
//   place.
// - Times of a formula or of a table (--measure fake, replay) are nobody's: they are stored as
//   those of another machine, which only who works with the same measurer sees. They are no winners
//   of `compile`, no transfers, no samples of `pretrain`, unless --measure asks for them.
// - Every record is checked before it is used, from a file of lines or of ours (sound.h).
//
// Memory: an open file is owned, by open and close; texts in a record that goes in are borrowed,
// and in one that a visit is given they live until it returns. Threads: one at a time for each open
// file; several programs may have one file open. Errors: IO, CORRUPT, RESOURCE of the file; TIMEOUT
// when another holds it. What was begun and not committed is not there.
#ifndef SEER_RECORD_RECORD_H
#define SEER_RECORD_RECORD_H

#include "base/waiter.h"
#include "front/front.h"
#include "measure/measure.h"
#include "setup/context.h"
#include "space/sketch.h"

#define SEER_RULE_SET_VERSION 2

typedef enum {
  SEER_RECORD_MEASURED,
  SEER_RECORD_CHECKED,
  SEER_RECORD_ACCEPTED,
  SEER_RECORD_REFUSED
} seer_record_state;
const char *seer_record_state_name(seer_record_state state);

typedef enum {
  SEER_RECORD_HERE,
  SEER_RECORD_ELSEWHERE,  // imported
  SEER_RECORD_TRUSTED,  // imported, and the user vouches for it
} seer_record_provenance;
const char *seer_record_provenance_name(seer_record_provenance provenance);

typedef enum {
  SEER_RECORD_SOUND,
  SEER_RECORD_KNOWN,  // a line that was there already
  SEER_RECORD_MALFORMED,
  SEER_RECORD_BAD_TARGET,
  SEER_RECORD_BAD_TASK,
  SEER_RECORD_OTHER_RULES,  // its sketch or knobs are not of this version
  SEER_RECORD_BEYOND_LIMITS,  // registers, local buffers, parts
  SEER_RECORD_BAD_TIME,
  SEER_RECORD_TOO_FAST,
  SEER_RECORD_VERDICT_COUNT
} seer_record_verdict;
const char *seer_record_verdict_text(seer_record_verdict verdict);  // "made by other rules"
typedef struct {
  uint32_t n[SEER_RECORD_VERDICT_COUNT];
} seer_record_counts;
// "2 known already, 1 faster than the machine can be"; "" where all are sound. In `arena`.
const char *seer_record_counts_print(const seer_record_counts *counts, seer_arena *arena);
uint32_t seer_record_counts_bad(const seer_record_counts *counts);  // neither sound nor known

typedef struct seer_records seer_records;

typedef struct {
  int64_t id;  // 0: not stored yet
  int64_t campaign;  // in the file: session
  int64_t workload, target;
  const char *schedule;  // text form
  seer_measured_class cls;
  seer_record_state state;
  bool is_raced_out, is_twin;
  seer_record_provenance provenance;  // in the file: place
  // Where the candidate came from, as seer_proposal.origin; "pairs": measured in turns only;
  // "network": one occurrence of the task in the whole library, which says more of what is compiled
  // than any measurement of the kernel alone, and nothing of how it compares with those.
  const char *origin;
  double seconds;  // lower quartile of its samples; of pairs: the median
  // The campaign's drift reference at that time; 0: none. Times in here are as they were measured:
  // who goes on from them (campaign.h) divides by how it has moved since the campaign's first one.
  double reference_s;
  uint32_t n_samples;
  double sample[SEER_MEASURE_MAX_SAMPLES];
  double predicted;  // score, or 0
  uint32_t round;
  const char *message;
  // That measured it: "" where that is not known, or, worker, where the tuning's own machine did.
  const char *worker, *device;
  // Of a record that took turns with another schedule (n_pairs > 0; its `seconds` are ab.seconds).
  seer_measure_ab ab;
  const char *baseline;  // that schedule, as text; "" : not known
  int64_t judged;  // when: seconds since 1970; 0: now
} seer_record;

// The file that `path` names: "" is the user's own, <cache folder>/records.sqlite. `path` itself,
// or in `arena`.
SEER_MUST_USE seer_status seer_records_path(
    const char *path, seer_arena *arena, const char **out_path);
// `path` as above. Makes it, or checks it before anything is written:
// CORRUPT says that it is damaged, INVALID that it is something else or of a later version; the
// file is unchanged then. A file of an earlier version becomes one of today's.
SEER_MUST_USE seer_status seer_records_open(
    const seer_context *context, const char *path, seer_records **out_records);
// For who only asks: the file is never written to, and none is made (NOT_FOUND). Where nobody else
// has it open it is read without locks; when somebody begins to write to it then, whatever reads it
// returns TIMEOUT, and it is to be opened anew.
SEER_MUST_USE seer_status seer_records_open_to_read(
    const seer_context *context, const char *path, seer_records **out_records);
// The file that the options name; NULL with --ignore-records, where the user's own file is to be
// read and there is none yet, and where a tuning's times come from a table or a formula (--measure
// replay, fake) and no file is named: the user's own is for what was measured.
SEER_MUST_USE seer_status seer_records_open_by_options(
    const seer_context *context, bool is_to_write, seer_records **out_records);
void seer_records_close(seer_records *records);  // NULL: nothing
// Ids of a target and of a workload, added if they are not there. The speeds of a target that was
// measured are what is stored of it from now on (speeds.h).
SEER_MUST_USE seer_status seer_records_target(
    seer_records *records, const seer_target *target, int64_t *out_id);
SEER_MUST_USE seer_status seer_records_workload(seer_records *records, const seer_dag *dag,
    seer_dag_key key, const char *name, int64_t *out_id);
// The same for those who only read: 0 if it is not there, of which nothing is known.
SEER_MUST_USE seer_status seer_records_find_workload(
    seer_records *records, seer_dag_key key, int64_t *out_id);
// Whose records may serve `target`: its own id (or 0) first, then, oldest first, those of machines
// with the same features and as many threads. Schedules of these are valid here; their times are
// not of here.
#define SEER_RECORD_MAX_TARGETS 8
SEER_MUST_USE seer_status seer_records_find_targets(seer_records *records,
    const seer_target *target, int64_t out_ids[SEER_RECORD_MAX_TARGETS], uint32_t *out_n);
// All workloads, in the order in which they came. Texts live until the visit returns.
typedef struct {
  int64_t id;
  const char *name, *dag_text;
} seer_record_workload;
typedef seer_status (*seer_record_visit_workload)(void *user, const seer_record_workload *workload);
SEER_MUST_USE seer_status seer_records_each_workload(
    seer_records *records, seer_record_visit_workload visit, void *user);
SEER_MUST_USE seer_status seer_records_campaign(seer_records *records, const seer_context *context,
    const char *model, const char *policy, int64_t *out_id);
// The first drift reference that the records have of a campaign on a target; 0: none.
SEER_MUST_USE seer_status seer_records_first_reference(
    seer_records *records, int64_t campaign, int64_t target, double *out_s);
// Committed when it returns (batched: begin/commit around a group of adds). TIMEOUT: another
// process holds the file; nothing has begun. IO also when the file is not at its path any more:
// what is written then would be lost with the last program that has it open.
SEER_MUST_USE seer_status seer_records_begin(seer_records *records);
SEER_MUST_USE seer_status seer_records_commit(seer_records *records);
void seer_records_rollback(seer_records *records);  // after a failure between the two, or of commit
// How what belongs together is written: what `write` writes, all or nothing, in a transaction. Who
// holds the file may let go of it: that is waited for, for a minute, told once, and `write` is
// called anew then. Errors: those of write, begin and commit.
typedef seer_status (*seer_records_writer)(void *user);
SEER_MUST_USE seer_status seer_records_write(
    seer_records *records, seer_records_writer write, void *user, const seer_waiter *waiter);
SEER_MUST_USE seer_status seer_records_add(seer_records *records, seer_record *record);  // sets id
SEER_MUST_USE seer_status seer_records_set_state(
    seer_records *records, int64_t id, seer_record_state state);
// All of a workload on a target, oldest first.
typedef seer_status (*seer_record_visit)(void *user, const seer_record *record);
SEER_MUST_USE seer_status seer_records_each(
    seer_records *records, int64_t workload, int64_t target, seer_record_visit visit, void *user);
// `rule` (sound.h) says which records of a task count; NULL: all that can be read. Strings in
// `arena`; out_schedule (may be NULL) is set with a rule only; out->id 0 if there is none.
struct seer_record_rule;
// The winner: what was accepted here or by somebody who is trusted.
SEER_MUST_USE seer_status seer_records_winner(seer_records *records, int64_t workload,
    int64_t target, const struct seer_record_rule *rule, seer_arena *arena, seer_record *out,
    seer_schedule *out_schedule);
// Best of at least `state`: the winner, then what was measured here, then by time, then by age.
SEER_MUST_USE seer_status seer_records_best(seer_records *records, int64_t workload, int64_t target,
    seer_record_state state, const struct seer_record_rule *rule, seer_arena *arena,
    seer_record *out, seer_schedule *out_schedule);
// What is known from elsewhere of exactly this task and target, what was accepted there first, then
// by time: different schedules, at most `max`.
SEER_MUST_USE seer_status seer_records_heard(seer_records *records, int64_t workload,
    int64_t target, const struct seer_record_rule *rule, seer_schedule *out, uint32_t max,
    uint32_t *out_n);
// `record` (sets id) is the task's winner from now on, with the pairs in it; one that was is
// "checked".
SEER_MUST_USE seer_status seer_records_accept(seer_records *records, seer_record *record);
// The task has no winner any more: its state becomes "checked" or "refused".
SEER_MUST_USE seer_status seer_records_dethrone(
    seer_records *records, int64_t workload, int64_t target, seer_record_state state);
// Same structure and target, other shapes that have an accepted record: nearest shape first (at
// most `max`).
typedef struct {
  int64_t workload;
  const char *dag_text;
  double distance;
} seer_record_near;
SEER_MUST_USE seer_status seer_records_nearest(seer_records *records, const seer_dag *dag,
    seer_dag_key key, int64_t target, seer_arena *arena, seer_record_near *out, uint32_t max,
    uint32_t *out_n);
// JSON lines. *out_dropped: records that no line can hold, with times that are no numbers.
SEER_MUST_USE seer_status seer_records_export(
    seer_records *records, const char *path, uint32_t *out_dropped);
// Adds what is sound and not known, as from elsewhere; is_trusted: as from here, but no winner of
// this machine's loses its place. Lines by what became of them in out_counts. All of the file or
// nothing.
SEER_MUST_USE seer_status seer_records_import(
    seer_records *records, const char *path, bool is_trusted, seer_record_counts *out_counts);
// The same from another file of records, which is read without trusting it and not changed. It
// should not be written to meanwhile.
SEER_MUST_USE seer_status seer_records_merge(
    seer_records *records, const char *other_path, bool is_trusted, seer_record_counts *out_counts);
// Records by soundness; what is wrong with which, to `text`.
SEER_MUST_USE seer_status seer_records_check(
    seer_records *records, seer_text *text, seer_record_counts *out_counts);

#endif
