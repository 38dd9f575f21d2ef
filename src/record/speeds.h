// speeds.h - how fast a machine is, as its records have it: peak and bandwidths, which the analytic
// model goes by.
// - A tuning measures them. A speed in the records stays unless this machine is now more than a
//   twentieth faster: it can do what it has done, and a shared one is slow for moments at a time.
//   So a tuning that goes on has the untuned choices that it had before.
// - Who does not measure (compile, tasks) has them from there, and with them the untuned choices
//   that the tuning held its winners against. Without records they are estimated (setup/target.h).
// What --target says to be measured is believed, by both. Speeds that came with somebody else's
// records are not.
//
// Threads: one, that of the records. Errors: those of the records and of measuring.
#ifndef SEER_RECORD_SPEEDS_H
#define SEER_RECORD_SPEEDS_H

#include "record/record.h"

// `records` may be NULL: nothing is known. The context's target is measured from now on.
SEER_MUST_USE seer_status seer_speeds_measure(seer_context *context, seer_records *records);
// The context's target has the speeds of these records, if they have any.
SEER_MUST_USE seer_status seer_speeds_recall(seer_context *context, seer_records *records);

#endif
