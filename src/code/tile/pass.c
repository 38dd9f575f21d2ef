// pass.c - the passes, in their order.
#include "code/tile/pass.h"

static const seer_tile_pass passes[] = {
    {"facts", "what follows from the loops alone", 0, SEER_TILE_GIVES_FACTS, seer_tile_facts},
    {"modes", "loops that stay, copies, lanes", SEER_TILE_GIVES_FACTS, SEER_TILE_GIVES_MODES,
        seer_tile_modes},
    {"registers", "local buffers whose every address is a constant", SEER_TILE_GIVES_MODES,
        SEER_TILE_GIVES_REGISTERS, seer_tile_registers},
    {"windows", "unrolled windows that must not share their loads", SEER_TILE_GIVES_MODES,
        SEER_TILE_GIVES_WINDOWS, seer_tile_windows},
    {"places", "the other local buffers' places in a thread's scratch",
        SEER_TILE_GIVES_MODES | SEER_TILE_GIVES_REGISTERS, SEER_TILE_GIVES_PLACES,
        seer_tile_places},
};

seer_tile *seer_tile_create(
    const seer_loop *loop, const seer_tile_machine *machine, seer_arena *arena) {
  seer_tile *tile = seer_tile_begin(loop, machine, arena);
  for (size_t p = 0; p < SEER_COUNT_OF(passes); p++) {
    const seer_tile_pass *pass = &passes[p];
    SEER_ASSERT(
        (pass->needs & ~tile->gives) == 0, "pass %s comes before what it needs", pass->name);
    pass->run(tile);
    tile->gives |= pass->gives;
  }
  return tile;
}
