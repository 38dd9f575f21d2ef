// count.h - how often a word stands in a text that is printed: what tests of generated code ask.
#ifndef SEER_TEST_COUNT_H
#define SEER_TEST_COUNT_H

#include <stdint.h>
#include <string.h>

// Occurrences that overlap count once.
static inline uint32_t count_words(const char *text, const char *word) {
  uint32_t n = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) n++;
  return n;
}

#endif
