// words.h - what formulations of products in words of 32 bits share (dot4.c, dot2.c): the reduction
// axis along which the factors' elements are neighbours in memory is taken in groups, or, where
// there is none (channels first), another one that a dimension of theirs follows.
//   sum k: x[.., k] * w[.., k]  ->  sum q: dot(xw[.., q], ww[.., q])
//   xw[.., q] = the parts x[.., n q .. n q + n - 1]   made beforehand or where they are read, as the
//                                                 stage's location knob says; of neighbours it is one
//                                                 load (seer_expr_is_word)
//   ww[.., q] = likewise; of weights              evaluated when compiling, packed
// Where the axis is no multiple of n, the last word's other parts are 0 in both, so that nothing is
// read from beyond a row. xw takes the place of a stage that pads x for nobody else.
// Private to src/space/formulation; pure but for the DAG that is changed.
#ifndef SEER_SPACE_FORMULATION_WORDS_H
#define SEER_SPACE_FORMULATION_WORDS_H

#include "dag/dag.h"

typedef struct {
  seer_expr part;  // of the type that words are made of (seer_expr_word_parts)
  bool is_weight;  // it is a load of constants
  // Found by seer_words_match, but of weights: the only load in `part`, and which of its dimensions
  // follows the axis.
  seer_expr load;
  uint32_t dim;
} seer_word_factor;

typedef struct {
  seer_expr_op op;  // of two words: DOT4, DOT2
  uint32_t stage;  // the anchor: a sum of products of the factors
  seer_word_factor factor[2];  // at most one of them a weight
  uint32_t axis;  // found by seer_words_match: what is taken in groups
} seer_word_product;

// `dag` is finished. An axis of less than `min_extent` is left alone. False: none fits, or a
// factor is more than one load with operators on single elements around it.
bool seer_words_match(const seer_dag *dag, int64_t min_extent, seer_word_product *product);
// Changes `dag`, a clone of the finished one that was matched, which is finished then; false: it
// has no room for the stages.
bool seer_words_make(const seer_dag *matched, seer_dag *dag, seer_word_product *product);

#endif
