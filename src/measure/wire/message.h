// message.h - what the tuner and its workers tell each other, as payloads of wire.h. Schedules go
// by the names of their sketch and knobs, never by numbers.
// `put` writes a message, `get` reads one: every number within its range, every length within the
// payload, nothing behind the last field; else CORRUPT. What a message says of a task can be held
// against the task only by who has it: `fits` does, before anything follows an index of it.
// In `get`, texts, packs and objects are copied into `arena`; nothing points into the payload.
//
// Threads: any. After CORRUPT `out` is of no use.
#ifndef SEER_MEASURE_WIRE_MESSAGE_H
#define SEER_MEASURE_WIRE_MESSAGE_H

#include "code/constant.h"
#include "measure/measure.h"
#include "measure/wire/wire.h"

// HELLO: what a worker is made of and works for; all but its speed must be the tuner's.
typedef struct {
  const char *version, *revision;  // measure/wire/revision.h
  uint64_t target_key;
  double peak_gflops;  // of one thread, as its target says
} seer_message_hello;
// This program's, for a target; NULL: for none, whose key and speed are 0.
seer_message_hello seer_message_hello_here(const seer_target *target);
// Errors: INVALID: `other` is another program than `own`; the message goes on from who it is: "is
// of version 0.2.0, this program is of 0.1.0".
SEER_MUST_USE seer_status seer_message_program_fits(
    const seer_message_hello *own, const seer_message_hello *other);
// The same, and that it works for the same target.
SEER_MUST_USE seer_status seer_message_hello_fits(
    const seer_message_hello *own, const seer_message_hello *other);

// TASK
typedef struct {
  uint32_t id;
  seer_space_kind space;
  double tolerance;  // of the list of sketches
  // of the network's packed weights: timed cold above the last-level cache
  uint64_t network_weight_bytes;
  const char *dag;  // text form
} seer_message_task;

// BUILD
typedef struct {
  uint32_t task;
  const char *schedule;  // text form
} seer_message_build;

// BUILT: a kernel, or why there is none.
typedef struct {
  bool is_ok;
  double seconds;
  char message[SEER_MEASURE_MESSAGE_BYTES];
  uint64_t object_hash;
  seer_kernel kernel;
} seer_message_built;

// RUN; RAN is a seer_measure_result
typedef struct {
  uint32_t task;
  double best_seconds;
  seer_timing timing;
  seer_kernel kernel;
} seer_message_run;

// CHECK: a candidate and its reference, and what evaluates the constants that both pack; CHECKED is
// a seer_measure_result
typedef struct {
  uint32_t task;
  const char *schedule[2];
  seer_kernel kernel[2];
  seer_constant_kernels constants;
} seer_message_check;

// COMPARE: n contenders, then the baseline
typedef struct {
  uint32_t task, n_pairs, n;
  seer_kernel kernel[SEER_MEASURE_MAX_CONTENDERS + 1];
} seer_message_compare;

// COMPARED: pair[n * n_pairs], contender by contender, or why there is none (cls not OK, n 0)
typedef struct {
  seer_measured_class cls;
  char message[SEER_MEASURE_MESSAGE_BYTES];
  uint32_t n, n_pairs;
  seer_measure_pair pair[SEER_MEASURE_MAX_CONTENDERS * SEER_MEASURE_MAX_PAIRS];
} seer_message_compared;

void seer_message_put_hello(seer_text *out, const seer_message_hello *message);
void seer_message_put_task(seer_text *out, const seer_message_task *message);
void seer_message_put_build(seer_text *out, const seer_message_build *message);
void seer_message_put_built(seer_text *out, const seer_message_built *message);
void seer_message_put_run(seer_text *out, const seer_message_run *message);
void seer_message_put_check(seer_text *out, const seer_message_check *message);
void seer_message_put_compare(seer_text *out, const seer_message_compare *message);
void seer_message_put_result(seer_text *out, const seer_measure_result *message);
void seer_message_put_compared(seer_text *out, const seer_message_compared *message);

// Parts of messages, for those that are made of others (fleet/letter.c). `get` refuses as fields
// do.
void seer_message_put_timing(seer_text *out, const seer_timing *timing);
seer_timing seer_message_get_timing(seer_wire_reader *reader);
void seer_message_get_result_fields(seer_wire_reader *reader, seer_measure_result *out);
void seer_message_get_compared_fields(seer_wire_reader *reader, seer_message_compared *out);
void seer_message_get_hello_fields(
    seer_wire_reader *reader, seer_arena *arena, seer_message_hello *out);
void seer_message_put_text(seer_text *out, const char *text);
const char *seer_message_get_schedule(seer_wire_reader *reader, seer_arena *arena);

SEER_MUST_USE seer_status seer_message_get_hello(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_hello *out);
SEER_MUST_USE seer_status seer_message_get_task(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_task *out);
SEER_MUST_USE seer_status seer_message_get_build(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_build *out);
SEER_MUST_USE seer_status seer_message_get_built(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_built *out);
SEER_MUST_USE seer_status seer_message_get_run(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_run *out);
SEER_MUST_USE seer_status seer_message_get_check(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_check *out);
SEER_MUST_USE seer_status seer_message_get_compare(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_compare *out);
SEER_MUST_USE seer_status seer_message_get_result(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_measure_result *out);
SEER_MUST_USE seer_status seer_message_get_compared(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_compared *out);

// A schedule of the list from its text, one that candidates may be. CORRUPT: it is none here, or
// means another one here: what is at a limit of these sketches.
SEER_MUST_USE seer_status seer_message_read_schedule(
    const seer_sketch_list *list, const char *text, seer_arena *arena, seer_schedule *out);
// A kernel of the task `dag` that can be run, an object or (has_items) one of a block program: its
// arguments are buffers that the task has, of their sizes. `sketch` (NULL: nothing is packed from
// real weights): what its packed arguments are made from.
SEER_MUST_USE seer_status seer_message_fits_kernel(
    const seer_dag *dag, const seer_sketch *sketch, bool has_items, const seer_kernel *kernel);

#endif
