// fork.c - a page that the system wipes in children (MADV_WIPEONFORK): no handler to register,
// which would outlive a library that is unloaded, and no system call when the word is read.
#include "runtime/fork.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

_Atomic uint32_t *seer_fork_word_create(void) {
  void *page = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (madvise(page, page_bytes(), MADV_WIPEONFORK) == 0) return page;
  munmap(page, page_bytes());
  return NULL;
}

void seer_fork_word_destroy(_Atomic uint32_t *word) {
  if (word) munmap((void *)word, page_bytes());
}
