// deviation.h - what a lower precision has changed in an output: its values, held against those of
// the same network at f32 on the same inputs, in the measures that people judge by.
//
// What is no number is told, never averaged: elements that are NaN in both, or the same infinity,
// are equal; those that are NaN or infinite in one of both, or another infinity, are `n_apart`, and
// make the largest error infinite. Mean and cosine are of what is finite in both.
// Pure: any thread. Cost: three passes over the elements.
#ifndef SEER_LIBRARY_DEVIATION_H
#define SEER_LIBRARY_DEVIATION_H

#include "dag/dtype.h"

typedef struct {
  uint64_t n;  // elements
  uint64_t n_apart;  // of them not finite in both, and not the same
  uint64_t n_alike;  // not finite, and the same in both
  double largest;  // |found - expected|
  double largest_expected;  // |expected|, of the finite
  double relative;  // largest / largest_expected; 0 / 0 is 0, anything else / 0 infinity
  double mean;  // of |found - expected|; 0 where nothing is finite
  double cosine;  // of both as vectors: 1 where both are 0 (or nothing is finite), 0 where one is
  // Rows along the last axis, and those whose largest element is at the same place: the first of
  // several that are equal; a NaN counts as larger than all numbers. Rows of less than two elements
  // have no choice: then both are 0.
  uint64_t n_row, n_row_agree;
} seer_deviation;

//   found, expected  n elements of `dtype`, dense
//   row              elements of a row, a divisor of n; 0 or 1: there are no rows
seer_deviation seer_deviation_measure(
    seer_dtype dtype, const void *found, const void *expected, uint64_t n, uint64_t row);

#endif
