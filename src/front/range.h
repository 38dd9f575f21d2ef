// range.h - one library for any batch of a range, --input-shapes 'x:1..32x3x224x224'.
//
// What. A few sizes of the range are sets of shapes like others. A batch in between is run as
// several of them, each on the next part of the caller's inputs and outputs: 5 = 4 + 1. Nothing is
// copied or padded, so each input and output must be as many blocks as the batch has images, one
// behind another, and block b of the outputs must depend on block b of the inputs alone, in the
// same way for each b and each size.
//
// How that is known. Of the graphs, as they are resolved: all sets have the same nodes over the
// same constants and their values the same shapes, but for one dimension that is as many times as
// large as the batch (seer_range_check_same). So what a set computes follows from its batch's size
// in no other way than by that dimension. And of the steps, as they are lowered: each computes
// images apart, by the same shifts that let a batch run image by image (seer_range_prove,
// images.h).
//
// Memory: in the arena that is given. One thread.
#ifndef SEER_FRONT_RANGE_H
#define SEER_FRONT_RANGE_H

#include "front/front.h"

// What to do about a network whose batch cannot be cut up, as errors end.
#define SEER_RANGE_INSTEAD "list the sizes that are needed: --input-shapes, once for each"

// The sizes that get a set, ascending: both ends, powers of two, and 1 where some size of the range
// is no sum of the others. Each size of the range is a sum of them. 1 <= first <= last. Pure.
uint32_t seer_range_sizes(int64_t first, int64_t last, int64_t out[SEER_RANGE_MAX_SETS]);

// Which set a batch of n runs first, out_next[n] = 1 + its index, for n up to sizes[n_set - 1]; the
// rest is run as a batch of that size is. 0: n is no sum of sizes. What takes the least time all in
// all, then the fewest runs. A size that has a set is run by it.
//   seconds  by set, of one run; > 0
//   out_next room for sizes[n_set - 1] + 1
// Pure. Cost O(last * n_set).
void seer_range_split(
    const int64_t *sizes, const double *seconds, uint32_t n_set, uint32_t *out_next);

// What --input-shapes gives, as texts of sets: those that are given, or those of the range.
//   out_range  NULL: there is none; is_ranged is not known yet
// Errors: INVALID ranges that differ, a range beside other sets; as seer_shapes_parse_ranges.
SEER_MUST_USE seer_status seer_range_expand(const char *const *given, uint32_t n_given,
    seer_arena *arena, seer_range **out_range, const char *const **out_shapes, uint32_t *out_n);

// A constant (NULL: none) whose first dimension is `batch` blocks of the same *out_block bytes.
// Pure.
bool seer_range_is_repeated(const seer_tensor *tensor, int64_t batch, size_t *out_block);

// That set `s` is set 0 but for its batch, both graphs as they were resolved. Sets is_ranged.
// Errors: INVALID an input that changes in another way; UNSUPPORTED names the node.
SEER_MUST_USE seer_status seer_range_check_same(
    seer_range *range, const seer_graph *first, const seer_graph *graph, uint32_t s);

// That the network, for a batch of size[s], computes images apart; before seer_images_make.
// Errors: UNSUPPORTED names the step, or the output that is no image by image.
SEER_MUST_USE seer_status seer_range_prove(
    const seer_range *range, const seer_network *network, uint32_t s);

#endif
