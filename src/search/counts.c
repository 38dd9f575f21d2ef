// counts.c - what a search counts -> sums, differences, one line.
#include "search/counts.h"

#include <string.h>

#define FIELDS (sizeof(seer_search_counts) / sizeof(uint64_t))

static const char *const cut_names[SEER_CUT_COUNT] = {"plans", "sketches", "accesses"};
const char *seer_cut_name(seer_cut cut) { return cut_names[cut]; }

// A struct of numbers of one kind, all of which are summed alike.
static void combine(seer_search_counts *into, const seer_search_counts *more, bool is_less) {
  uint64_t a[FIELDS], b[FIELDS];
  _Static_assert(sizeof a == sizeof *into, "counts have other fields than whole numbers");
  memcpy(a, into, sizeof a);
  memcpy(b, more, sizeof b);
  for (size_t i = 0; i < FIELDS; i++) a[i] = is_less ? a[i] - b[i] : a[i] + b[i];
  memcpy(into, a, sizeof a);
}

void seer_search_counts_add(seer_search_counts *into, const seer_search_counts *more) {
  combine(into, more, false);
}

void seer_search_counts_less(seer_search_counts *into, const seer_search_counts *earlier) {
  combine(into, earlier, true);
}

static void put_counts(seer_text *text, const char *title, uint32_t n, const uint64_t *count,
    const char *(*name)(uint32_t)) {
  const char *before = title;
  for (uint32_t i = 0; i < n; i++) {
    if (count[i] == 0) continue;
    seer_text_printf(text, "%s%s %" PRIu64, before, name(i), count[i]);
    before = ", ";
  }
}

static const char *reject_name(uint32_t i) { return seer_reject_name((seer_reject)i); }
static const char *cut_name(uint32_t i) { return seer_cut_name((seer_cut)i); }

const char *seer_search_counts_print(const seer_search_counts *c, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text, "drafted %" PRIu64 ", scored %" PRIu64 ", proposed %" PRIu64, c->drafted,
      c->scored, c->proposed);
  put_counts(&text, "; rejected: ", SEER_REJECT_COUNT, c->rejected, reject_name);
  put_counts(&text, "; left out: ", SEER_CUT_COUNT, c->cut, cut_name);
  return text.data;
}
