// arena.c - bump allocation in a chain of blocks, newest first.
// Blocks come from calloc, so bytes never handed out before are known to be zero (above
// `dirty_bytes`) and large fresh blocks cost no page until they are touched; only reused bytes are
// cleared. One freed block of ordinary size is kept as a spare, so that a save / rewind pair around
// a block's end does not go to malloc each time.
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/recover.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(at, n) ASAN_POISON_MEMORY_REGION((at), (n))
#define UNPOISON(at, n) ASAN_UNPOISON_MEMORY_REGION((at), (n))
#else
#define POISON(at, n) memset((at), 0xA5, (n))
#define UNPOISON(at, n) ((void)0)
#endif

enum { FIRST_BLOCK_BYTES = 16 << 10, MAX_BLOCK_BYTES = 4 << 20, BLOCK_ALIGN = 64 };

typedef struct block block;
struct block {
  block *below;
  size_t size_bytes, used_bytes;
  size_t dirty_bytes;  // bytes above were never handed out: still zero
  uint8_t *data;  // aligned to BLOCK_ALIGN
};

struct seer_arena {
  char name[32];
  seer_recover_owned owned;
  block *top, *spare;
  size_t next_bytes;
};

// Zeroed. The limit is asked before the system is: what is over it is never touched.
static void *take(size_t n_bytes, const char *name) {
  seer_recover_take(n_bytes, name);
  void *memory = calloc(1, n_bytes);
  if (!memory) {
    seer_recover_give(n_bytes);
    seer_recover_out_of_memory(n_bytes, name);
  }
  return memory;
}

static void destroy(void *arena) { seer_arena_destroy(arena); }

seer_arena *seer_arena_create(const char *name) {
  seer_arena *arena = take(sizeof *arena, name);
  seer_recover_own_memory(&arena->owned, destroy, arena);
  snprintf(arena->name, sizeof arena->name, "%s", name);
  arena->next_bytes = FIRST_BLOCK_BYTES;
  return arena;
}

static void free_block(block *b) {
  if (!b) return;
  UNPOISON(b->data, b->size_bytes);
  seer_recover_give(sizeof *b + BLOCK_ALIGN + b->size_bytes);
  free(b);
}

void seer_arena_destroy(seer_arena *arena) {
  if (!arena) return;
  for (block *b = arena->top; b;) {
    block *below = b->below;
    free_block(b);
    b = below;
  }
  free_block(arena->spare);
  seer_recover_disown(&arena->owned);
  seer_recover_give(sizeof *arena);
  free(arena);
}

static block *push_block(seer_arena *arena, size_t n_bytes) {
  block *b = arena->spare;
  if (b && b->size_bytes >= n_bytes) {
    arena->spare = NULL;
  } else {
    size_t size = arena->next_bytes > n_bytes ? arena->next_bytes : n_bytes;
    if (size > SIZE_MAX / 2) seer_recover_out_of_memory(n_bytes, arena->name);
    b = take(sizeof *b + BLOCK_ALIGN + size, arena->name);
    b->size_bytes = size;
    b->data = (uint8_t *)(((uintptr_t)(b + 1) + BLOCK_ALIGN - 1) & ~(uintptr_t)(BLOCK_ALIGN - 1));
#ifdef HAS_ASAN
    POISON(b->data, b->size_bytes);
#endif
    if (arena->next_bytes < MAX_BLOCK_BYTES) arena->next_bytes *= 2;
  }
  b->used_bytes = 0;
  b->below = arena->top;
  arena->top = b;
  return b;
}

void *seer_arena_alloc(seer_arena *arena, size_t size_bytes, size_t align_bytes) {
  SEER_ASSERT(
      align_bytes > 0 && (align_bytes & (align_bytes - 1)) == 0 && align_bytes <= BLOCK_ALIGN,
      "alignment %zu", align_bytes);
  if (size_bytes == 0) size_bytes = 1;  // distinct, never NULL
  block *b = arena->top;
  size_t start = b ? (b->used_bytes + align_bytes - 1) & ~(align_bytes - 1) : 0;
  if (!b || start > b->size_bytes || b->size_bytes - start < size_bytes) {
    b = push_block(arena, size_bytes);
    start = 0;
  }
  uint8_t *at = b->data + start;
  size_t end = start + size_bytes;
  UNPOISON(at, size_bytes);
  if (start < b->dirty_bytes) memset(at, 0, (end < b->dirty_bytes ? end : b->dirty_bytes) - start);
  if (end > b->dirty_bytes) b->dirty_bytes = end;
  b->used_bytes = end;
  return at;
}

void *seer_arena_grow(
    seer_arena *arena, void *items, size_t item_bytes, size_t align_bytes, size_t n, size_t *cap) {
  if (n < *cap) return items;
  size_t new_cap = *cap ? *cap * 2 : 8;
  SEER_ASSERT(new_cap <= SIZE_MAX / 2 / item_bytes, "%zu items of %zu bytes", new_cap, item_bytes);
  void *grown = seer_arena_alloc(arena, new_cap * item_bytes, align_bytes);
  if (n) memcpy(grown, items, n * item_bytes);
  *cap = new_cap;
  return grown;
}

char *seer_arena_strndup(seer_arena *arena, const char *text, size_t n) {
  char *copy = seer_arena_alloc(arena, n + 1, 1);
  if (n) memcpy(copy, text, n);
  return copy;
}

char *seer_arena_strdup(seer_arena *arena, const char *text) {
  return seer_arena_strndup(arena, text, strlen(text));
}

void *seer_arena_memdup(seer_arena *arena, const void *bytes, size_t n_bytes) {
  void *copy = seer_arena_alloc(arena, n_bytes, _Alignof(max_align_t));
  if (n_bytes) memcpy(copy, bytes, n_bytes);
  return copy;
}

char *seer_arena_printf(seer_arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  SEER_ASSERT(n >= 0, "format '%s' gives %d", format, n);
  char *text = seer_arena_alloc(arena, (size_t)n + 1, 1);
  vsnprintf(text, (size_t)n + 1, format, again);
  va_end(again);
  return text;
}

seer_arena_mark seer_arena_save(const seer_arena *arena) {
  return (seer_arena_mark){arena->top, arena->top ? arena->top->used_bytes : 0};
}

static void pop_block(seer_arena *arena) {
  block *b = arena->top;
  arena->top = b->below;
  bool keep = b->size_bytes <= MAX_BLOCK_BYTES &&
      (!arena->spare || arena->spare->size_bytes < b->size_bytes);
  if (keep) {
    free_block(arena->spare);
    if (b->used_bytes) POISON(b->data, b->used_bytes);
    arena->spare = b;
  } else {
    free_block(b);
  }
}

void seer_arena_rewind(seer_arena *arena, seer_arena_mark mark) {
  while (arena->top && arena->top != mark.block) pop_block(arena);
  SEER_ASSERT(arena->top == mark.block, "arena '%s': mark is not of this arena or was rewound",
      arena->name);
  block *b = arena->top;
  if (!b) return;
  SEER_ASSERT(mark.used_bytes <= b->used_bytes, "arena '%s': mark at %zu, used %zu", arena->name,
      mark.used_bytes, b->used_bytes);
  if (b->used_bytes > mark.used_bytes)
    POISON(b->data + mark.used_bytes, b->used_bytes - mark.used_bytes);
  b->used_bytes = mark.used_bytes;
}

void seer_arena_reset(seer_arena *arena) { seer_arena_rewind(arena, (seer_arena_mark){NULL, 0}); }

size_t seer_arena_bytes(const seer_arena *arena) {
  size_t n = 0;
  for (const block *b = arena->top; b; b = b->below) n += b->used_bytes;
  return n;
}
