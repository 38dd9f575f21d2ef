// confine.h - this process gives up what it will not need, for good: for workers, which run code
// that was made of what came over a network. Three steps, of which each holds by itself:
//
//   files   no file is written, made, renamed, removed or executed any more, no TCP connection made,
//           nobody outside signalled (Landlock); cores are not dumped. What is open stays open.
//   calls   only system calls of a list are made any more (seccomp): memory, threads of its own,
//           clocks, waiting, and bytes over what is open. Any other ends the process with SIGSYS.
//   descriptors   no new ones
//
// x86-64 and aarch64. A process that sanitizers watch needs more than the list has: for it,
// nothing of this is there.
#ifndef SEER_BASE_CONFINE_H
#define SEER_BASE_CONFINE_H

#include "base/status.h"

// Whether the system grants `calls`; else why it does not, a literal. Changes nothing.
bool seer_confine_is_there(const char **out_why_not);

// Files. Holds for this thread and those that it starts later: call it before there are others.
// Where the system has no Landlock, cores are not dumped, and seer_confine_calls is what there is.
// Errors: UNSUPPORTED: the system does not do what it says it can.
SEER_MUST_USE seer_status seer_confine_files(void);

// Calls and descriptors. Holds for all threads. Bytes go out by `fd` and by standard error only,
// and come in by whatever is open. Errors: UNSUPPORTED, as above, and where seer_confine_is_there
// is false.
SEER_MUST_USE seer_status seer_confine_calls(int fd);

// ---- hosts: processes that start workers and reach others over sockets that they open (a fleet's
// worker, which a broker talks to). They need more, and so do the workers that they start, which
// keep all this for good and give up the rest themselves:
//
//   files   as above, but that `program` is executed, with the loader that it names, and TCP
//           connections are made. Nothing else is executed, unless `program` is a script: which
//           programs that needs is not known. No port is listened at.
//   calls   those of a longer list; any other fails, with EPERM. No file is opened for writing.

// program  NULL: none. As seer_confine_files.
SEER_MUST_USE seer_status seer_confine_files_of_host(const char *program);
// As seer_confine_calls.
SEER_MUST_USE seer_status seer_confine_calls_of_host(void);

#endif
