// words.h - constant weights of 2, 4 or 8 bits, quantised by blocks along what is summed over, as
// words of 32 bits: what BlockMatMul and BlockGather read (op/blocks.c), and what lies in
// weights.bin. A row is [blocks, words of a block]; in a word lies the first code lowest. Codes are
// signed (what is unsigned has its highest bit turned over, and its zero point is as much less), or
// unsigned where zero points are real numbers. Codes behind the last are 0, and what they are
// multiplied with is 0, too.
// Private to src/front. Memory: new constants are in the graph's arena. One thread, as for its
// graph. Failures are the caller's to name node and operator.
#ifndef SEER_FRONT_EXPAND_WORDS_H
#define SEER_FRONT_EXPAND_WORDS_H

#include "front/expand/expand.h"

// Codes of n rows by k, an element each: element (n, k) lies at n * at_n + k * at_k.
typedef struct {
  const seer_tensor *codes;  // i2, u2, i4, u4, i8 or u8
  int64_t n, k, at_n, at_k;
  int64_t block;  // along k, at least 1; the last one may be shorter
  // Element (n, block) at n * zero_at_n + block * zero_at_block; NULL: they are 0. Of codes' type.
  const seer_tensor *zero;
  int64_t zero_at_n, zero_at_block;
} seer_block_codes;

// [n, blocks, words] and, where any is not 0, zero points i8[n, blocks] (else 0). False: codes are
// of another type, or blocks end within words.
bool seer_words_of_codes(seer_graph *graph, const char *name, const seer_block_codes *from,
    seer_val *out_words, seer_val *out_zero);
// The same of codes that lie in bytes, lowest first, each block of `block` codes in bytes of its
// own: data[n, blocks, block * bits / 8]; zero points in bytes, too, each row in bytes of its own.
// zero NULL: the middle, 2^(bits - 1). is_unsigned: codes stay so, and zero points are the
// caller's.
typedef struct {
  uint32_t bits;
  int64_t n, n_block, block;
  const uint8_t *data, *zero;
  bool is_unsigned;
} seer_block_bytes;
void seer_words_of_bytes(seer_graph *graph, const char *name, const seer_block_bytes *from,
    seer_val *out_words, seer_val *out_zero);

#endif
