// holders.h - who has which job of a tuning in hand, and whether it is due. A worker that dies
// stops to vouch for its jobs, and others take them over; one that lives, vouches and never answers
// is found out here. What a job may take follows from what is asked: each build and each run has a
// limit at its worker, which tells them when it comes.
//
// Time passes only while the broker is asked who has what: neither a tuner that was stopped nor a
// broker that was away makes anything due.
//
// Pure. Threads: one.
#ifndef SEER_MEASURE_FLEET_HOLDERS_H
#define SEER_MEASURE_FLEET_HOLDERS_H

#include "measure/fleet/ledger.h"
#include "measure/fleet/roster.h"

#define SEER_HOLDERS_GRACE_S 20.0  // for all that has no limit: starts, ways, what the broker takes

// A number of a worker; or one of these, which are none.
#define SEER_HOLDER_NOBODY SEER_LEDGER_NOBODY  // it lies there
#define SEER_HOLDER_STRANGER (UINT32_MAX - 1)  // somebody who is none of this tuning's

// `holder` has it, and had it for the last passed_s if it is the one that had it before.
void seer_holders_note(seer_ledger_job *job, uint32_t holder, double passed_s);

// For all jobs, when it was noted of each who has it: what its holder may take for it, as it may do
// all else first that it has in hand.
// n_tunings  that are served: what a worker has of each is taken to be as much
void seer_holders_allow(seer_ledger *ledger, const seer_roster *roster, uint32_t n_tunings);

// It has taken longer than that. Never of what may not be needed.
bool seer_holders_is_due(const seer_ledger_job *job);

#endif
