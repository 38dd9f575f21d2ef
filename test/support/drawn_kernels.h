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
  DRAWN_KIND_COUNT
} drawn_kind;

typedef struct {
  uint32_t n, n_of[DRAWN_KIND_COUNT];
} drawn_kinds;

bool drawn_has(const random_program *program, drawn_kind kind);
void drawn_kinds_note(drawn_kinds *kinds, const random_program *program);
// A kind was met less than `least` times.
bool drawn_kinds_lack(const drawn_kinds *kinds, uint32_t least);
// Prints all counts, and fails the test where one is below `least`.
void drawn_kinds_check(const drawn_kinds *kinds, uint32_t least);

// The code of an item, verified; its kernels' names begin with `symbol`. NULL: *out_wrong says why.
seer_vec_code *drawn_code(
    const random_program *program, const char *symbol, seer_arena *arena, const char **out_wrong);

// Other numbers for a random DAG, as random_dag_input; with `is_hard` some in operands of float
// types are NaN, infinities and -0. What is expected of them is exact still.
loop_expect *drawn_expect(
    const seer_sketch_list *list, uint64_t seed, bool is_hard, seer_arena *arena);

#endif
