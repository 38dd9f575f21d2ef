// roots.h - sets that only grow together (union-find): root[v] leads from a member to the one that
// stands for its set, which is its own root. Start with root[v] = v; joining is root[a] = b for two
// roots.
// Asking writes, too: one thread at a time.
#ifndef SEER_BASE_ROOTS_H
#define SEER_BASE_ROOTS_H

#include <stdint.h>

// Shortens the way on the way.
static inline uint32_t seer_root_of(uint32_t *root, uint32_t v) {
  while (root[v] != v) v = root[v] = root[root[v]];
  return v;
}

#endif
