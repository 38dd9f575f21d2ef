// near.c - the distance between two names, row by row of its table.
#include "base/near.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LETTERS = 64 };

static char fold_letter(char c) { return c == '_' ? '-' : (char)tolower((unsigned char)c); }

size_t seer_name_distance(const char *a, const char *b) {
  size_t rows[3][MAX_LETTERS];
  size_t n = strlen(b);
  if (n >= MAX_LETTERS || strlen(a) >= MAX_LETTERS) return SIZE_MAX;
  size_t *above2 = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= n; j++) above[j] = above2[j] = j;
  for (size_t i = 0; a[i]; i++) {
    row[0] = i + 1;
    for (size_t j = 0; j < n; j++) {
      size_t best = above[j] + (fold_letter(a[i]) != fold_letter(b[j]));
      if (row[j] + 1 < best) best = row[j] + 1;
      if (above[j + 1] + 1 < best) best = above[j + 1] + 1;
      bool is_swap = i > 0 && j > 0 && fold_letter(a[i]) == fold_letter(b[j - 1]) &&
          fold_letter(a[i - 1]) == fold_letter(b[j]);
      if (is_swap && above2[j - 1] + 1 < best) best = above2[j - 1] + 1;
      row[j + 1] = best;
    }
    size_t *oldest = above2;
    above2 = above;
    above = row;
    row = oldest;
  }
  return above[n];
}

seer_near seer_near_to(const char *wanted) {
  return (seer_near){.wanted = wanted, .distance = strlen(wanted) / 3 + 1};
}

void seer_near_offer(seer_near *near, const char *name) {
  size_t d = seer_name_distance(near->wanted, name), n = strlen(near->wanted);
  // What was typed as the beginning of a name ("time" for "time-budget") is near too.
  if (n >= 3 && strncmp(near->wanted, name, n) == 0 && d > 1) d = 1;
  if (d >= near->distance) return;
  near->distance = d;
  near->best = name;
}

// ---- words

const char *seer_words_next(const char **io_at, size_t *out_n) {
  const char *word = *io_at + strspn(*io_at, " ");
  *out_n = strcspn(word, " ");
  *io_at = word + *out_n;
  return *out_n > 0 ? word : NULL;
}

size_t seer_words_find(const char *const *words, size_t n, const char *word) {
  size_t i = 0;
  while (i < n && strcmp(word, words[i]) != 0) i++;
  return i;
}

bool seer_words_have(const char *words, const char *word) {
  size_t n = strlen(word), n_next;
  for (const char *next; (next = seer_words_next(&words, &n_next));)
    if (n_next == n && memcmp(next, word, n) == 0) return true;
  return false;
}

void seer_words_add(char *list, size_t n_bytes, const char *word) {
  size_t n = strlen(list);
  (void)snprintf(list + n, n_bytes - n, "%s%s", n > 0 ? " " : "", word);
}
