// familyseer.h - tuning and compiling networks from a program of one's own: what the commands
// `tune` and `compile` do, by the same functions. A tuning ends with the tuned library in turns
// with the untuned one; what is slower there is untuned in what is compiled.
// Link with libfamilyseer (pkg-config familyseer). What comes out is run with runtime.h, which
// needs nothing of this.
//
//   seer_tuner *tuner;
//   int failed = seer_tuner_create(&tuner) || seer_tuner_set(tuner, "time-budget", "2m") ||
//       seer_tuner_load(tuner, "mobilenet_v2") || seer_tuner_tune(tuner) ||
//       seer_tuner_compile(tuner, "out");
//   if (failed) fprintf(stderr, "%s\n", seer_tuner_message(tuner));
//   seer_tuner_destroy(tuner);
//
// "mobilenet_v2" is built in; the path of an ONNX file stands there as well.
//
// Texts that go in are copied; those that come out are the tuner's, until it is destroyed where
// nothing else is said. What returns int returns 0, or 1 where something was at fault that
// seer_tuner_message tells, and seer_tuner_code for programs. Candidates are built and run by
// processes of the program `familyseer`, which is looked for beside the library, then in the bin
// folder of its installation; the option worker-path names another.
#ifndef SEER_FAMILYSEER_H
#define SEER_FAMILYSEER_H

// What holds between versions: functions are only ever added, and structs that come out only ever
// appended to. A program that reads what was appended needs a library of that version or a later
// one (seer_version).
#include <stddef.h>
#include <stdint.h>

#include "seer/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// One network on its way from file to library. One thread at a time uses it; several may exist, but
// only one at a time measures on a machine, whoever's process it is: a second one waits (event
// "wait"), and seer_tuner_stop ends the wait.
typedef struct seer_tuner seer_tuner;

// 1 if the environment holds an option (SEER_TIME_BUDGET=...) that cannot be; also then there is a
// tuner to ask and to destroy. NULL only if memory is out.
int seer_tuner_create(seer_tuner **out_tuner);
void seer_tuner_destroy(seer_tuner *tuner);  // NULL: nothing
// What was at fault in the last call that returned 1: one text, until the next call. "" if nothing.
const char *seer_tuner_message(const seer_tuner *tuner);
// Its kind, by the runtime's codes: SEER_RT_UNSUPPORTED, ..., SEER_RT_OK if nothing. A call that
// seer_tuner_stop has ended is SEER_RT_STOPPED.
int seer_tuner_code(const seer_tuner *tuner);
// "ok", "invalid", "not found", ...: seer_rt_code_text of runtime.h, for languages that cannot use
// what a header defines. Never NULL.
const char *seer_tuner_code_text(int code);
// Of the library: "1.2.3". Owned by nobody.
const char *seer_version(void);

// Every flag of the command line, without its dashes: doc/options.md has them. Before load. What
// may be given several times is set several times: "input-shapes" with "x:1x8" for a set of shapes,
// "bind" with "axes=axes.npy", "rate=16000" or "axes=[0,1]" for an input that is to be a constant.
int seer_tuner_set(seer_tuner *tuner, const char *option, const char *value);
// An ONNX file, or the name of a built-in network. Once; one that failed may be made again.
int seer_tuner_load(seer_tuner *tuner, const char *model);
// The bytes of an ONNX file, which are kept, where they lie, until destroy. folder: where the files
// of its external data are; NULL: it has none but those that were given. Records know it by the
// name of its graph.
int seer_tuner_load_bytes(seer_tuner *tuner, const void *data, size_t n_bytes, const char *folder);
// External data in memory, before load_bytes: what its tensors name as `location`, in place of a
// file, so that weights need not be copied into a protobuf. Offsets and lengths are as in a file;
// a location given twice counts as it was last. Kept as the bytes are; at a multiple of the bytes
// of an element nothing is copied.
int seer_tuner_give(seer_tuner *tuner, const char *location, const void *data, size_t n_bytes);

// Why loading failed, where it is operators: each that is not supported, once. Until the next load.
typedef struct {
  const char *op;  // "Foo"; with its domain where that is not ONNX's: "com.example.Foo"
  uint32_t count;  // nodes
  const char *reason;
} seer_tuner_missing;
uint32_t seer_tuner_n_missing(const seer_tuner *tuner);
// or NULL
const seer_tuner_missing *seer_tuner_missing_at(const seer_tuner *tuner, uint32_t index);

// ---- what was loaded; 0 and NULL before it was
uint32_t seer_tuner_n_sets(const seer_tuner *tuner);  // of input shapes; 1 where none were set
uint32_t seer_tuner_n_inputs(const seer_tuner *tuner);
uint32_t seer_tuner_n_outputs(const seer_tuner *tuner);
// As the library will say it (runtime.h). NULL: there is no such set or index.
const seer_io_info *seer_tuner_input(const seer_tuner *tuner, uint32_t set, uint32_t index);
const seer_io_info *seer_tuner_output(const seer_tuner *tuner, uint32_t set, uint32_t index);
// A part of the network that is tuned by itself.
typedef struct {
  const char *name;  // "conv 3x3 s1 56x56x64->64 +add+relu"
  const char *key;  // what records know it by: of its structure and its shape
  const char *operators;  // of the nodes in it: "Conv Relu"
  uint32_t weight;  // how often the network has it, all sets together
  double flops;  // once
  double share;  // of the network's flops, all `weight` times; 0 where it has none
} seer_tuner_task;
uint32_t seer_tuner_n_tasks(const seer_tuner *tuner);
const seer_tuner_task *seer_tuner_task_at(const seer_tuner *tuner, uint32_t index);

typedef struct {
  // "start", "round", "measurement", "round-end", "best", "accept", "note", "wait", "done",
  // "verdict"; later versions may have others
  const char *kind;
  // note: what; wait: for whom (another tuner has the machine, another process the records);
  // accept: the verdict; done: why the search ended; verdict: how the library did against the
  // untuned one; else ""
  const char *text;
  double elapsed_s;
  // Sum of the times of the network's parts, each measured alone: a run of the library takes 0.9 to
  // 1.4 times that. In "verdict", the last event, what a run takes, if it could be run
  // (latency_ms).
  double estimated_ms;
  uint32_t trials;  // measurements so far
  // Of "verdict", else 0: a run of the library by itself (0: these inputs cannot be run); in turns
  // with the untuned one, what that took, and how many times as fast the tuned one was (1: it is
  // the untuned one).
  double latency_ms, untuned_ms, speedup;
  // Of "round", "measurement", "round-end", "best" and "accept": which task (seer_tuner_task_at),
  // else -1 and "".
  int32_t task;
  const char *task_name;
  // Of "best" what was known of the task (0: nothing) and what is now; of "accept" its untuned
  // schedule and the winner; else 0.
  double before_ms, after_ms;
  // Of the search, once it has begun: its end whichever comes first; 0: no limit.
  double budget_s;
  uint32_t budget_trials;
} seer_tuner_event;  // later versions may append to it
// Called from within tune, and with notes from load (what was assumed of its shapes), compile and
// emit, in the thread that called; the event ends with the call. A tuner has one listener, kept
// with `user` until another one (NULL: none) or destroy.
typedef void (*seer_tuner_listener)(void *user, const seer_tuner_event *event);
void seer_tuner_listen(seer_tuner *tuner, seer_tuner_listener listener, void *user);

// Continues from the records, tunes until the budget is used up (without one: 5 minutes, or it is
// done, see the option until-done) or stop was called, and checks what won. Then the library is
// built in a temporary folder (within that of the option output, where it is set) and takes turns
// with the untuned one, some seconds beyond the budget (not with the option measure where that is
// no measuring of this machine); tasks that are slower in it are untuned from then on, in the
// records too. What it has brought is a page in the file of the option report (without it,
// report.html in the folder of the option output; neither: none). Once; a call that could not begin
// (bad options, records that another process holds) may be made again. 1 also if something went
// wrong on the way (the records' disk is full, processes cannot be started any more): the search
// has ended early then, and compile writes what had been found. No signal handler or mask of the
// process is touched; descriptors are closed on exec, and worker processes end with the process
// that began them: a fork of it does not keep them alive.
int seer_tuner_tune(seer_tuner *tuner);
// Ends the call that is going on, or the next one, soon; each stop ends one. From a listener,
// another thread or a signal handler, at any time before destroy.
//   load, compile, emit   return 1 with SEER_RT_STOPPED, and leave nothing behind; they may be called
//                         again
//   tune                  keeps all that is known, and returns 0: it ends the search, or the wait for
//                         another tuner or a device, in which case nothing was measured. What comes
//                         behind the search goes on; a second stop ends the turns with the untuned
//                         library as they stand, or the building of either, and compile writes what
//                         the search has found, which nobody has judged as a whole then
// What the compiler has in hand is finished first: a kernel, about a second at most.
void seer_tuner_stop(seer_tuner *tuner);
// Writes model.so, model.h, weights.bin and model.json into `folder`, all or nothing: the library
// that tune has judged, or, without tune, one with the best that the records hold.
int seer_tuner_compile(seer_tuner *tuner, const char *folder);
// The same in another form, as `compile --emit`: "so" (as compile), "obj" (model.o), "c" (its
// sources and a Makefile) or, of a GPU, "kernels" (untuned, as files). `folder` as compile has it.
// Errors: INVALID another kind, or one that the target has not.
int seer_tuner_emit(seer_tuner *tuner, const char *kind, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
