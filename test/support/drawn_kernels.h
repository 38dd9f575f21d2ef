// drawn_kernels.h - random schedules for GPUs as kernels: which kinds of sketches they came from,
// and numbers for them.
#ifndef SEER_TEST_DRAWN_KERNELS_H
#define SEER_TEST_DRAWN_KERNELS_H

#include "code/vector/vector.h"
#include "support/random_programs.h"

typedef enum {
  DRAWN_TILE,
  DRAWN_FUSE,  // a tile whose reader is the DAG's own, and no copy made for it
  DRAWN_FETCH,
  DRAWN_CROSSTHREAD,
  DRAWN_FLAT,
  DRAWN_AHEAD,  // a tile whose fetches are a step ahead
  DRAWN_PARTS,  // a product whose reduction is in parts over the grid
  DRAWN_KIND_COUNT
} drawn_kind;

bool drawn_has(const random_program *program, drawn_kind kind);

// Which programs a test takes of those that are drawn, until it has `most`. SEER_PROPERTY_PAIRS=n
// asks for so many in place of what the test does.
typedef struct {
  uint32_t most, n, n_of[DRAWN_KIND_COUNT];
  uint32_t n_dealt;  // with neither a tile nor a sum that items share
} drawn_choice;
#define DRAWN_OF 4  // of so many times `most` programs, and of ten times as many if they must be
drawn_choice drawn_choose(uint32_t most);
// There are not enough yet, and this is one of those that say much: of a kind of which less than a
// sixth is, while there is such a kind; and of what is only dealt out a quarter is enough.
bool drawn_wants(const drawn_choice *choice, const random_program *program);
void drawn_take(drawn_choice *choice, const random_program *program);
// Prints all counts, and fails the test where a sixth of `most` is not of each kind, or they are
// fewer.
void drawn_check(const drawn_choice *choice);

// The code of an item, verified; its kernels' names begin with `symbol`. NULL: *out_wrong says why.
seer_vec_code *drawn_code(
    const random_program *program, const char *symbol, seer_arena *arena, const char **out_wrong);

// Other numbers for a random DAG, as random_dag_input; with `is_hard` some in operands of float
// types are NaN, infinities and -0. What is expected of them is exact still.
loop_expect *drawn_expect(
    const seer_sketch_list *list, uint64_t seed, bool is_hard, seer_arena *arena);

#endif
