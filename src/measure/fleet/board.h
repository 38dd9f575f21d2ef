// board.h - what a tuning has at its fleet's broker: its tasks and jobs are put there, answers are
// taken, workers looked for. The truth is here and in the records: whatever the broker has lost is
// put there again, and what comes twice is taken once (ledger.h).
//
// Memory: its own, until it is cleared. Threads: one.
#ifndef SEER_MEASURE_FLEET_BOARD_H
#define SEER_MEASURE_FLEET_BOARD_H

#include "measure/fleet/ledger.h"
#include "measure/fleet/roster.h"

typedef struct {
  seer_message_task message;
  uint64_t key;
} seer_board_task;

typedef struct {
  const seer_context *context;
  seer_arena *arena, *scratch;  // scratch: of a step
  seer_hub hub;
  seer_roster roster;
  seer_ledger ledger;
  size_t n, cap;
  seer_board_task *task;
  char last[64];  // answer that was read
  bool is_by_name;  // rounds go to certain workers: one takes some that is of no use
  bool is_doubting;  // an answer was of no use: whose job that was is to be found out
  bool is_there;  // what this tuning needs at the broker, as far as is known
  uint32_t n_connections;  // of the hub, when that was seen
  uint64_t looked_ns, kept_ns, heard_ns, held_ns;
  uint32_t n_tunings;  // that the broker has
  double away_s;  // what a question and its reply take, of late
  uint64_t alone_ns;  // since when nobody is there, or no broker; 0: somebody is
  double patience_s;  // for that
  seer_measure_bias bias[SEER_MEASURE_MAX_DEVICES];  // of its workers, for people
} seer_board;

// For workers of `target`; the fleet is the options'. A broker that is not there yet is waited for
// by steps. Errors: those of hub.h that no waiting mends.
SEER_MUST_USE seer_status seer_board_init(
    seer_board *board, const seer_context *context, const seer_target *target);
// What it had at the broker goes, as far as that can be reached.
void seer_board_clear(seer_board *board);

// Texts are kept. Before the first step, or between any two.
uint64_t seer_board_add_task(seer_board *board, const seer_message_task *task);
// Everything goes out that is to, and answers are taken that come within wait_ns: jobs of the
// ledger are done. A broker that is away is waited for. Errors: DEVICE: there was no broker, or no
// worker that fits, for too long; or the broker refuses what is asked of it.
SEER_MUST_USE seer_status seer_board_step(seer_board *board, uint64_t wait_ns);
// What no worker has begun need not be begun; the ledger is empty then.
void seer_board_recall(seer_board *board);

#endif
