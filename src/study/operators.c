// operators.c - words of a task's name -> operators: "op+" stands in front of the anchor, "+op"
// behind it, and the anchor is the first word without a plus; its sizes follow.
#include "study/operators.h"

#include <string.h>
#include <strings.h>

#include "base/near.h"
#include "front/front.h"

// Labels of anchors (seer_op_desc.label) that are not the operator's name.
static const char *const labels[][2] = {{"dwconv", "Conv"}, {"deconv", "ConvTranspose"}};

static const char *operator_of(const char *word) {
  for (size_t i = 0; i < SEER_COUNT_OF(labels); i++)
    if (strcmp(labels[i][0], word) == 0) return labels[i][1];
  for (size_t i = 0; i < seer_op_table_count; i++)
    if (strcasecmp(seer_op_table[i]->name, word) == 0) return seer_op_table[i]->name;
  return word;
}

const char *seer_operators_of_name(const char *name, seer_arena *arena, uint32_t *out_n) {
  const char *at = name, *ops = "";
  bool has_anchor = false;
  size_t n;
  *out_n = 0;
  for (const char *word = seer_words_next(&at, &n); word; word = seer_words_next(&at, &n)) {
    bool is_behind = word[0] == '+', is_before = word[n - 1] == '+';
    bool is_size = !is_behind && !is_before && has_anchor;
    if (is_size || n <= (size_t)is_behind + is_before) continue;
    has_anchor |= !is_behind && !is_before;
    const char *op = seer_arena_strndup(arena, word + is_behind, n - is_behind - is_before);
    ops = seer_task_join_ops(ops, operator_of(op), arena);
    ++*out_n;
  }
  return ops;
}
