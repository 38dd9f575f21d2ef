// published.h - what FamilySeer's authors report, as data, to stand beside what is found here. To
// add a figure: its line in published.c.
#ifndef SEER_STUDY_PAPER_PUBLISHED_H
#define SEER_STUDY_PAPER_PUBLISHED_H

#include "base/base.h"

typedef struct {
  const char *study, *what;  // "fig7", "80"
  const char *network;  // as the paper calls it; "": of all
  const char *ours;  // the built-in network that is the same one; "": none
  double cpu, gpu;  // NAN: not said; accuracies, which are of no machine, stand under cpu
} seer_published;

extern const seer_published seer_published_table[];
extern const size_t seer_published_count;
extern const char seer_published_source[];

// By our network ("gpt2_small:sequence=128" is gpt2_small), or "" for what is said of all. Where
// the paper does not say: one whose numbers are NAN.
seer_published seer_published_find(const char *study, const char *what, const char *network);

#endif
