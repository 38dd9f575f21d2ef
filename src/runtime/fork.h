// fork.h - telling a process from its children: after fork a child has a copy of all memory, but
// none of the other threads.
#ifndef SEER_RUNTIME_FORK_H
#define SEER_RUNTIME_FORK_H

#include <stdatomic.h>
#include <stdint.h>

// A word that is 0 at first, and 0 again in every child, whatever it held in the parent. Owned:
// free it by seer_fork_word_destroy. NULL where the system cannot (Linux before 4.14) or memory is
// out. Cost: a page.
_Atomic uint32_t *seer_fork_word_create(void);
void seer_fork_word_destroy(_Atomic uint32_t *word);  // NULL: nothing

#endif
