// pass.h - the decisions of tile IR, one a file, in the order of the table. Internal to code/tile.
// Memory and threads are tile.h's. Errors: none; what a pass cannot decide it leaves.
#ifndef SEER_CODE_TILE_PASS_H
#define SEER_CODE_TILE_PASS_H

#include "code/tile/tile.h"

enum {
  SEER_TILE_GIVES_FACTS = 1,
  SEER_TILE_GIVES_MODES = 2,
  SEER_TILE_GIVES_REGISTERS = 4,
  SEER_TILE_GIVES_WINDOWS = 8,
  SEER_TILE_GIVES_PLACES = 16,
  SEER_TILE_GIVES_MATRICES = 32,
  SEER_TILE_GIVES_WARPS = 64
};

// An entry of the table (pass.c).
typedef struct {
  const char *name, *summary;
  uint32_t needs, gives;  // SEER_TILE_GIVES_...
  void (*run)(seer_tile *tile);
} seer_tile_pass;

// Of the buffers that are true in inout_fixed, those stay so whose every address is known for each
// copy (lanes follow each other), and which no store leaves a dimension of. Needs modes.
void seer_tile_find_fixed(seer_tile *tile, bool *inout_fixed);

// A tile on which no pass has run.
seer_tile *seer_tile_begin(
    const seer_loop *loop, const seer_tile_machine *machine, seer_arena *arena);

void seer_tile_facts(seer_tile *tile);  // facts.c

// The scratch has room for `buf` at `offset`. Where it ends, whole cache lines.
#define SEER_TILE_ALIGN 64
uint64_t seer_tile_reserve(seer_tile *tile, const seer_loop_buf *buf, uint64_t offset);

#endif
