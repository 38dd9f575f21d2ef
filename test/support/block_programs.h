// block_programs.h - the block programs of test/data/block, with what each computes by plain loops
// that know nothing of it, and the text of each with faults planted.
#ifndef SEER_TEST_BLOCK_PROGRAMS_H
#define SEER_TEST_BLOCK_PROGRAMS_H

#include "base/rng.h"
#include "base/status.h"
#include "space/loop.h"

// Inputs are buffers 0 to n_input - 1 of the loop, its one output is buffer n_input; all are f32.
typedef struct {
  const char *name;
  uint32_t n_input;
  void (*compute)(const float *const *input, float *output);
  float tolerance;  // of the largest value
} block_program;

#define N_BLOCK_PROGRAMS 6
extern const block_program block_programs[N_BLOCK_PROGRAMS];
const block_program *block_program_named(const char *name);

// A program that copies $x to $y through a block's memory, eight elements of `type` an item.
seer_loop *block_copy(const char *type, seer_arena *arena);

// The text of the file.
const char *block_program_text(const block_program *program, seer_arena *arena);
seer_loop *block_program_parse(const block_program *program, const char *text, seer_arena *arena);
// By buffer of the loop: inputs are new numbers of both signs, the output is full of NaN.
void **block_program_data(const seer_loop *loop, seer_rng *rng, seer_arena *arena);
// NULL, or where the output is not what the inputs come to.
const char *block_program_compare(
    const block_program *program, const seer_loop *loop, void *const *data, seer_arena *arena);

// What went wrong is what items do to each other, or a read of what was not written.
bool block_program_is_of_items(seer_status status);

// A fault: in the text of a program, the `at`-th place of `old` becomes `new`.
typedef struct {
  const char *program, *what, *old_text, *new_text;
  uint32_t at;
  // Who sees it, whatever the numbers: verify (by arithmetic on the form, or by going through the
  // accesses), and the interpreter. What neither sees, the answer must show.
  bool by_verify, by_eval;
  bool is_short;  // something is read that was not written, without a race
} block_fault;
extern const block_fault block_faults[];
extern const uint32_t n_block_faults;
const char *block_fault_text(const block_fault *fault, seer_arena *arena);

#endif
