// remote.h - a runner on another machine: a board that times what is built here. Device
// `runner:HOST[:PORT]` of a tuning or of a fleet's worker is one.
//
//   tuner ── socket ── caller ══ TCP, sealed ══ familyseer-runner ── socket ── runner
//
// The caller (ask.c) is a worker process like any other: what its parent says goes to the board,
// and comes back, as it is. On the board the program familyseer-runner (answer.c, main.c; without
// LLVM) takes one caller at a time, starts a runner for it and relays in turn. Both ends have the
// same secret, in a file; whoever has it not is refused before anything is read of what he says,
// and nothing but what was sealed by its holder is loaded and run. The runner itself never sees it.
//
// What is said on the link before the relay begins, in messages of wire.h:
//   ASK     caller: who it is, and what for: the target, threads; or only what the board is
//   TOLD    board: it begins; or what it is; or why not
// and what ends it:
//   ENDED   board: the runner ended, with this status
//
// Threads: one.
#ifndef SEER_MEASURE_REMOTE_REMOTE_H
#define SEER_MEASURE_REMOTE_REMOTE_H

#include "measure/wire/hmac.h"
#include "measure/wire/message.h"
#include "setup/context.h"

#define SEER_REMOTE_PORT 7337  // where nobody says another one
#define SEER_REMOTE_MAX_TARGET_BYTES 65536

typedef struct {
  seer_message_hello hello;
  bool is_question;  // what the board is; then the rest is not there
  const char *target;  // text
  uint32_t threads;
  bool is_pinned;
} seer_remote_ask;

// Of `hello` the program counts; its target is none.
typedef struct {
  seer_message_hello hello;
  const char *refusal;  // "": none
  const char *target;  // what the board is, measured; "": not asked
} seer_remote_told;

void seer_remote_put_ask(seer_text *out, const seer_remote_ask *message);
void seer_remote_put_told(seer_text *out, const seer_remote_told *message);
void seer_remote_put_ended(seer_text *out, int exit_status);
void seer_remote_put_refused(seer_text *out, seer_status status);
// CORRUPT; texts in `arena`.
SEER_MUST_USE seer_status seer_remote_get_ask(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_remote_ask *out);
SEER_MUST_USE seer_status seer_remote_get_told(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_remote_told *out);
SEER_MUST_USE seer_status seer_remote_get_ended(
    const void *payload, size_t n_bytes, int *out_exit_status);
// Always an error: the one that was put, IO for all that may pass.
SEER_MUST_USE seer_status seer_remote_get_refused(const void *payload, size_t n_bytes);

// The secret that a file holds, of 16 to 4096 bytes. INVALID: it is shorter or longer; IO,
// NOT_FOUND.
SEER_MUST_USE seer_status seer_remote_read_key(const char *path, seer_hmac_key *out);

// ---- here
// seer_context_find_target; and where the first device of option DEVICES is a runner elsewhere,
// that one's target and speeds are the context's if no other target is named; if it is named and
// the same, its speeds. Errors: no such board, or it refuses.
SEER_MUST_USE seer_status seer_remote_find_target(seer_context *context);
// The caller: a worker process, whose parent is at the other end of the socket `fd`, for the runner
// at `address` ("pi4:7337"). Where there is none, the parent is told why. Ends the process as the
// runner has ended, when that has.
SEER_MUST_USE seer_status seer_remote_call(seer_context *context, const char *address, int fd);

// ---- on the board
typedef struct {
  const char *address;  // to listen at; NULL: all of this machine's
  uint16_t port;  // 0: one that is free
  const char *key_path;
  const char *program;  // this one's path, of which runners are made by `--runner FD`
  const char *through;  // program that starts it: an emulator; NULL: nothing does
  bool is_confined;
  uint64_t max_memory_bytes;  // address space of a runner
} seer_remote_options;
// This machine with its speeds, as --target takes it, in `arena`.
SEER_MUST_USE seer_status seer_remote_describe(seer_arena *arena, const char **out_target);
// Serves callers one after the other and does not end; says on stdout where it listens. Errors: of
// the key and of the address.
SEER_MUST_USE seer_status seer_remote_serve(const seer_remote_options *options);

#endif
