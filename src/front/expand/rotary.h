// rotary.h - rotary embeddings: pairs of a head's numbers, turned by angles that grow with a
// token's position. Memory, threads and failures are expand.h's.
#ifndef SEER_FRONT_EXPAND_ROTARY_H
#define SEER_FRONT_EXPAND_ROTARY_H

#include "front/expand/expand.h"

// x, of `rank` dimensions `dim`, with the first `width` numbers of its last dimension turned, whose
// pairs are neighbours (`is_interleaved`) or half of them apart. cosine, sine: like x, with width /
// 2 as their last dimension; they may broadcast.
seer_val seer_rotary_turned(seer_expand *e, seer_val x, const int64_t *dim, uint32_t rank,
    int64_t width, seer_val cosine, seer_val sine, bool is_interleaved);

#endif
