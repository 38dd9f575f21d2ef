// space_nets.h - DAGs as text and a made-up target for the tests of space/.
#ifndef SEER_TEST_SPACE_NETS_H
#define SEER_TEST_SPACE_NETS_H

#include "space/frame.h"

typedef struct {
  const char *name;
  const char *text;
} space_net;

extern const space_net space_nets[];
extern const size_t space_nets_count;

const char *space_net_text(const char *name);
// fails the test if it does not parse and verify
seer_dag *space_parse(seer_arena *arena, const char *text);
seer_target space_target(uint32_t threads);  // AVX-512: 16 lanes, 32 registers
seer_sketch_list *space_sketches(
    seer_arena *arena, const seer_dag *dag, const seer_target *target, seer_space_kind space);
// Of a net by its name: the full space, for 2 threads.
seer_sketch_list *space_net_sketches(seer_arena *arena, const char *name);

#endif
