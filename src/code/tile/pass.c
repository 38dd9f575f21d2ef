#include "code/tile/pass.h"

const seer_tile_pass seer_tile_passes[] = {
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
const size_t seer_tile_pass_count = SEER_COUNT_OF(seer_tile_passes);
