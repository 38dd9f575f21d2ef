// access.h - what the files of this folder share: pointers and loads at an address. Internal to
// code/access; the rest of the generator calls what gen.h has.
#ifndef SEER_CODE_ACCESS_H
#define SEER_CODE_ACCESS_H

#include "code/gen/gen.h"

// ---- pointer.c
// What an access says of its buffer: registers are nobody else's.
uint32_t seer_access_owner(const seer_gen *g, uint32_t buf);
// `p` where `cond` (NONE: always) holds, else `other`.
seer_vec seer_access_choose(seer_gen *g, seer_vec cond, seer_vec p, seer_vec other);
// Pointer to lane 0 of a regular address; where `cond` (or NONE) is false, to something else with
// room for `width` elements: the sink, or a constant full of `fill`.
//   cond_depth  of the innermost loop at run time that `cond` depends on
seer_vec seer_access_pointer(seer_gen *g, const seer_gen_addr *addr, seer_vec cond,
    uint32_t cond_depth, seer_vec fill, int64_t width);
// `lanes` (1: no vector) elements of the address's buffer, one behind the other.
seer_vec seer_access_load(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    uint32_t lanes, seer_vec p, uint32_t align);
// As many as the mask has lanes; `otherwise` where it is 0.
seer_vec seer_access_load_masked(
    seer_gen *g, const seer_gen_addr *addr, seer_vec p, seer_vec mask, seer_vec otherwise);
// Pointer of one lane of any address.
seer_vec seer_access_lane_pointer(
    seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem, seer_vec base, uint32_t lane);

// ---- square.c
// What seer_gen_read gives for lanes that go from row to row in copies that go along the rows,
// which are loaded as vectors; NONE: it is no such load.
seer_vec seer_access_load_turned(
    seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem, const seer_gen_condition *c);

// ---- apart.c
// Lanes that are not neighbours, or that a mask excludes which there is no instruction for: what
// seer_gen_read gives.
seer_vec seer_access_load_apart(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    const seer_gen_condition *c, seer_vec fill);

// Longest constant that stands for a row of padding; beyond that the choice is made at every step.
// 2048 channels.
#define SEER_ACCESS_MAX_FILL_BYTES 16384

#endif
