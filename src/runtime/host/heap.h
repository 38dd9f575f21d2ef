// heap.h - heaps of items in an array, the greatest at the root. Private to runtime/host.
#ifndef SEER_RUNTIME_HOST_HEAP_H
#define SEER_RUNTIME_HOST_HEAP_H

#include <stdbool.h>
#include <stdint.h>

// Defines, for items of `type` that `is_less(a, b)` puts in order:
//   sift(heap, at, n, x)     puts x where it belongs at or below `at`, which is free
//   make_heap(heap, n)       of n items in any order
//   take_root(heap, n)       out of a heap of n, which has n - 1 then: heap[n - 1] is free
// Which child is greater is no branch: of data in no order it would be guessed wrong half of the
// time. The gap that a root leaves goes down to the end first, and what was last climbs from there:
// most often it belongs there.
#define SEER_HOST_HEAP(type, is_less)                                            \
  static inline void sift(type *heap, uint32_t at, uint32_t n, type x) {         \
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {                 \
      if (child + 1 < n) child += is_less(heap[child], heap[child + 1]);         \
      if (!is_less(x, heap[child])) break;                                       \
      heap[at] = heap[child];                                                    \
    }                                                                            \
    heap[at] = x;                                                                \
  }                                                                              \
  static inline void make_heap(type *heap, uint32_t n) {                         \
    for (uint32_t at = n / 2; at-- > 0;) sift(heap, at, n, heap[at]);            \
  }                                                                              \
  static inline type take_root(type *heap, uint32_t n) {                         \
    const type root = heap[0], last = heap[--n];                                 \
    uint32_t at = 0;                                                             \
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {                 \
      if (child + 1 < n) child += is_less(heap[child], heap[child + 1]);         \
      heap[at] = heap[child];                                                    \
    }                                                                            \
    for (uint32_t up; at > 0 && is_less(heap[up = (at - 1) / 2], last); at = up) \
      heap[at] = heap[up];                                                       \
    heap[at] = last;                                                             \
    return root;                                                                 \
  }

#endif
