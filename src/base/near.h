// near.h - lists of names: which are in one that blanks separate (aliases, operators of a task,
// commands of an option), and which was meant, for "did you mean" in messages.
// Threads: any; what changes is in the caller's storage.
#ifndef SEER_BASE_NEAR_H
#define SEER_BASE_NEAR_H

#include "base/base.h"

// Letters to insert, drop, replace, or swap with the next one (optimal string alignment), whatever
// their case; _ is -. SIZE_MAX where a name has 64 letters or more.
size_t seer_name_distance(const char *a, const char *b);

// Names are offered one by one; `best` is the nearest so far, NULL while none is near. All are kept
// as long as the struct.
typedef struct {
  const char *wanted, *best;
  size_t distance;
} seer_near;
seer_near seer_near_to(const char *wanted);
void seer_near_offer(seer_near *near, const char *name);

// The next word of a list: begins at the result, has *out_n bytes; *io_at moves behind it. NULL: no
// more.
const char *seer_words_next(const char **io_at, size_t *out_n);
bool seer_words_have(const char *words, const char *word);
// Which of n words (of an enum, in its order) `word` is; n: none.
size_t seer_words_find(const char *const *words, size_t n, const char *word);
// Appends a word to a list in the caller's storage, cut where that ends.
void seer_words_add(char *list, size_t n_bytes, const char *word);

#endif
