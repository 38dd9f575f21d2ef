// images.h - a batch, image by image: which steps of a network run for one image after another, or
// for an image a thread, in place of once for the whole batch.
//
// Why. The values of a batch are as many times as large as those of one image, and what fits into a
// cache for one does not for eight: a step then writes to memory what the next one reads from
// there. Run image by image, values stay where they are made, and only those of one image are
// needed; an image a thread spares the hand-over between steps as well. Against that stand weights,
// which are read again for each image, and kernels of less work. What is better the estimate of
// choose.c says for the target, never the user; doc/decisions/76-images.md has the measurements.
//
// What. A stretch is a number of steps one after another, at the top level of the network (in no
// loop or branch), each a kernel that computes n images apart, or a view. Its kernels' DAGs are
// those of one image, so that they are the tasks, records and code that the network has with a
// batch of 1, and compute each image to the bit as that does. An image of a value is an n-th of its
// memory: n blocks, one behind another. What is made before a stretch and what is read behind it
// has memory for all images; what is made and read in it only, that for one (for one a thread).
//
//   step       0    1    2    3    4    5           [0 1 2] for image 0, 1, ... n-1, then 3, 4, 5
//              `--stretch--'                          for all images
//
// Memory: in the network's arena. One thread. What cannot be told apart runs whole: nothing fails.
#ifndef SEER_FRONT_IMAGES_H
#define SEER_FRONT_IMAGES_H

#include "front/front.h"

#define SEER_IMAGES_MAX 4096  // images of a batch; larger ones run whole

// What a DAG computes of one of n images.
//   dag         borrowed, finished
//   n           images, >= 2
//   io_is_split by buffer: whether its first dimension holds n images, one behind another, each as
//               many elements as the others. In: of inputs (others are ignored). Out: of all buffers
//   out_one     the DAG for one image, finished, in `arena`: the same buffers and stages, the first
//               dimension of what is split an n-th
//   out_why     where the answer is false: the stage and what about it, in `arena`
// True if every output is split, and its block i is what out_one computes from block i of the
// inputs that are split and all of the others. Proved by shifts: when the first axis moves on by a
// block, each index into what is split moves on by one there, and nothing else moves.
bool seer_images_one(const seer_dag *dag, uint32_t n, bool io_is_split[SEER_DAG_MAX_BUFFERS],
    seer_arena *arena, seer_dag **out_one, const char **out_why);

// Whether n blocks of the two values are the same bytes, or those of the one lie in those of the
// other.
bool seer_images_are_same_blocks(const seer_graph *graph, seer_val a, seer_val b, uint32_t n);

// Whether a buffer of a step of a stretch of n images holds one image of this value.
bool seer_images_is_one(const seer_graph *graph, seer_val v, const seer_dag_buf *buf, uint32_t n);

// Bytes and arithmetic of a step that can be run image by image, for choose.c. Views: all 0.
typedef struct {
  // Of one image: bytes that are its own, read and written; floating-point operations.
  double read, written, flops;
  double weights;  // bytes that all images read
} seer_images_cost;
typedef struct {
  uint32_t first, n_step;
  bool is_apart;
} seer_images_choice;
// The steps that are best run image by image, of n_step in a row that all can be.
//   target  threads and sizes of caches; no speed that is measured, so that a compilation chooses what
//           the tuning before it chose
//   out     room for n_step; in order, disjoint
// Returns how many. Pure. Cost O(n_step^2).
uint32_t seer_images_choose(const seer_target *target, uint32_t n_images,
    const seer_images_cost *step, uint32_t n_step, seer_images_choice *out);

// Sets the network's stretches: steps, tasks. By option --images: "auto" as above; "whole", "each",
// "apart": none, or as many steps as can be, one image after another or an image a thread (tests).
// The network's batch is the first dimension of its first input that has one above 1. Without a
// target in the context (seer_context_find_target) nothing is done.
SEER_MUST_USE seer_status seer_images_make(
    const seer_context *context, seer_network *network, seer_arena *arena);

#endif
