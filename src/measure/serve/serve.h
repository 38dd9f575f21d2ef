// serve.h - a worker of a fleet: takes rounds of tunings from the broker that --fleet names, builds
// and times them on this machine, and answers; until a signal, or until its measurer is lost. It
// works for tunings that have its very sources and its target, in turns by their priority. What it
// sends are letters (fleet/letter.h); it is sent no code.
//
// Threads: one serves; it has two more of its own.
#ifndef SEER_MEASURE_SERVE_SERVE_H
#define SEER_MEASURE_SERVE_SERVE_H

#include <signal.h>

#include "setup/context.h"

// The context's target is this machine's. *is_stopped, set by a signal: what is in hand is done and
// answered, or given back when leave_fd can be read; what waits is given back. A broker
// that is not there yet is waited for. Errors: those of the options, of a broker that refuses this
// worker, and of the measurer.
SEER_MUST_USE seer_status seer_serve(
    const seer_context *context, const volatile sig_atomic_t *is_stopped, int leave_fd);

#endif
