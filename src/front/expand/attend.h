// attend.h - softmax(scale * q k^T + bias) v, which all forms of attention share; what they differ
// in (masks, windows, what earlier tokens left) is theirs, and comes as what is added to the
// scores. Memory, threads and failures are expand.h's.
// Shapes: q [batch, heads, n, d], k [batch, groups, m, d], v [batch, groups, m, value_d]; scores
// and whatever broadcasts to them [batch, heads, n, m]. Heads are the queries'; groups, which
// divide them, those of keys and values: head h reads group h / (heads / groups).
#ifndef SEER_FRONT_EXPAND_ATTEND_H
#define SEER_FRONT_EXPAND_ATTEND_H

#include "front/expand/expand.h"

// What is made on the way, in this order; the numbers are ONNX's for them.
typedef enum {
  SEER_ATTEND_SCALED,  // scale * q k^T
  SEER_ATTEND_CAPPED,
  SEER_ATTEND_BIASED,  // all that softmax reads
  SEER_ATTEND_SHARES,  // what it gives
  SEER_ATTEND_COUNT
} seer_attend_step;

#define SEER_ATTEND_MAX_BIAS 3

typedef struct {
  int64_t batch, heads, groups;
  int64_t n, m;  // queries, keys
  int64_t d, value_d;
  seer_dtype dtype;  // of q, k, v: f32 or f64
  double scale;
  double cap;  // scores are bent to lie within it, cap * tanh(score / cap); 0: not
  seer_val bias[SEER_ATTEND_MAX_BIAS];  // added to the scores one after another; 0: none
  seer_val hidden;  // bool: -infinity instead of the scores; 0: none
  // Of the scores' type, broadcasts to [batch, heads, 1, 1]: one more score of each head, of a key
  // without a value, which takes its share; 0: none
  seer_val sink;
  seer_val blind;  // bool [.., n, 1]: queries that see no key and get zeros; 0: none
  seer_dtype softmax;  // the type that scores are rounded to for softmax; NONE: dtype
  // Left by seer_attend.
  seer_val made[SEER_ATTEND_COUNT];
} seer_attend_form;

// [batch, heads, n, value_d]
seer_val seer_attend(seer_expand *e, seer_attend_form *form, seer_val q, seer_val k, seer_val v);

// [batch, tokens, heads * d] -> [batch, heads, tokens, d], and back.
seer_val seer_attend_split(
    seer_expand *e, seer_val x, int64_t batch, int64_t tokens, int64_t heads, int64_t d);
seer_val seer_attend_joined(
    seer_expand *e, seer_val x, int64_t batch, int64_t tokens, int64_t heads, int64_t d);
// x [batch, heads, tokens, d] behind the `before` tokens of `past`.
seer_val seer_attend_after(seer_expand *e, seer_val past, int64_t before, seer_val x);
// Numbers 0 to n - 1 as a constant of `rank` dimensions `dim`, which have n elements.
SEER_MUST_USE seer_status seer_attend_places(seer_expand *e, seer_dtype dtype, int64_t n,
    const int64_t *dim, uint32_t rank, seer_val *out_places);
// `cache`, of dimensions `dim`, with the n rows of x along dimension `axis` (the others are
// equal) at the places at[b or 0, k] (i64[dim[0] or 1, n]): a ScatterND, which writes no more than
// those where the cache is an input that shares memory with the output (--share).
SEER_MUST_USE seer_status seer_attend_put(seer_expand *e, seer_val cache, const int64_t *dim,
    uint32_t axis, seer_val x, int64_t n, seer_val at, seer_val *out_cache);
// 1 / sqrt(d), or the attribute 'scale' where it is given (and, for com.microsoft, above 0).
double seer_attend_scale(const seer_expand *e, int64_t d);

#endif
