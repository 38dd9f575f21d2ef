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
// Texts that go in are copied; those that come out are the tuner's. What returns int returns 0, or
// 1 where something was at fault that seer_tuner_message tells. Candidates are built and run by
// processes of the program `familyseer`, which is looked for beside the library, then in the bin
// folder of its installation; the option worker-path names another.
#ifndef SEER_FAMILYSEER_H
#define SEER_FAMILYSEER_H

#include <stdint.h>

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

// Every flag of the command line, without its dashes: doc/options.md has them. Before load. What
// may be given several times is set several times: "input-shapes" with "x:1x8" for a set of shapes,
// "bind" with "axes=axes.npy", "rate=16000" or "axes=[0,1]" for an input that is to be a constant.
int seer_tuner_set(seer_tuner *tuner, const char *option, const char *value);
// An ONNX file, or the name of a built-in network. Once.
int seer_tuner_load(seer_tuner *tuner, const char *model);

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
} seer_tuner_event;  // later versions may append to it
// Called from within tune, and with notes from compile, in the thread that called; the event ends
// with the call. A tuner
// has one listener, kept with `user` until another one (NULL: none) or destroy.
typedef void (*seer_tuner_listener)(void *user, const seer_tuner_event *event);
void seer_tuner_listen(seer_tuner *tuner, seer_tuner_listener listener, void *user);

// Continues from the records, tunes until the budget is used up (without one: 5 minutes, or it is
// done, see the option until-done) or stop was called, and checks what won. Then the library is
// built in a temporary folder (within that of the option output, where it is set) and takes turns
// with the untuned one, some seconds beyond the budget (not with the option measure where that is
// no measuring of this machine); tasks that are slower in it are untuned from then on, in the
// records too. Once; a call that could not begin (bad options, records that another process holds)
// may be made again. 1 also if something went wrong on the way (the records' disk is full,
// processes cannot be started any more): the search has ended early then, and compile writes what
// had been found. No signal handler or mask of the process is touched; descriptors are closed on
// exec, and worker processes end with the process that began them: a fork of it does not keep them
// alive.
int seer_tuner_tune(seer_tuner *tuner);
// Ends tune soon, with all that is known kept: the search, or the wait for another tuner, in which
// case nothing was measured, and tune returns 0. From a listener, another thread or a signal
// handler, at any time before destroy.
void seer_tuner_stop(seer_tuner *tuner);
// Writes model.so, model.h, weights.bin and model.json into `folder`, all or nothing: the library
// that tune has judged, or, without tune, one with the best that the records hold.
int seer_tuner_compile(seer_tuner *tuner, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
