// arena.h - bump allocation by lifetime: model, task, round, scratch.
// Memory comes zeroed. When memory runs out, or a limit, the innermost seer_recover returns
// RESOURCE (base/recover.h; the runtime does not use arenas). Freed memory is poisoned under ASan,
// filled with 0xA5 otherwise.
//
// Threads: an arena is one thread's at a time, different ones are independent. While a seer_recover
// is open on the thread that made an arena, only that thread may destroy it.
#ifndef SEER_BASE_ARENA_H
#define SEER_BASE_ARENA_H

#include <stdarg.h>

#include "base/base.h"

typedef struct seer_arena seer_arena;
typedef struct {
  void *block;
  size_t used_bytes;
} seer_arena_mark;

seer_arena *seer_arena_create(const char *name);  // owned; seer_arena_destroy
void seer_arena_destroy(seer_arena *arena);  // NULL is fine
void *seer_arena_alloc(seer_arena *arena, size_t size_bytes, size_t align_bytes);  // zeroed
#define SEER_NEW(arena, type) ((type *)seer_arena_alloc((arena), sizeof(type), _Alignof(type)))
#define SEER_NEW_ARRAY(arena, type, n) \
  ((type *)seer_arena_alloc((arena), sizeof(type) * (size_t)(n), _Alignof(type)))

// Doubles an array that lives in `arena` when *n_cap == n; old bytes are copied, the rest is
// zeroed. Use: items = SEER_GROW(arena, item, items, n, &cap);
void *seer_arena_grow(
    seer_arena *arena, void *items, size_t item_bytes, size_t align_bytes, size_t n, size_t *cap);
#define SEER_GROW(arena, type, items, n, cap) \
  ((type *)seer_arena_grow((arena), (items), sizeof(type), _Alignof(type), (n), (cap)))

// Copies, in `arena`.
char *seer_arena_strdup(seer_arena *arena, const char *text);
char *seer_arena_strndup(seer_arena *arena, const char *text, size_t n);
void *seer_arena_memdup(seer_arena *arena, const void *bytes, size_t n_bytes);
SEER_PRINTF(2, 3) char *seer_arena_printf(seer_arena *arena, const char *format, ...);

seer_arena_mark seer_arena_save(const seer_arena *arena);
// frees all that came after `mark`
void seer_arena_rewind(seer_arena *arena, seer_arena_mark mark);
void seer_arena_reset(seer_arena *arena);  // frees all, keeps one block
// For tests.
size_t seer_arena_bytes(const seer_arena *arena);  // bytes handed out

#endif
