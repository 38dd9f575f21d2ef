// pass.h - the decisions of tile IR, one a file, in the order of the table. Internal to code/tile.
#ifndef SEER_CODE_TILE_PASS_H
#define SEER_CODE_TILE_PASS_H

#include "code/tile/tile.h"

enum {
  SEER_TILE_GIVES_MODES = 1,
  SEER_TILE_GIVES_REGISTERS = 2,
  SEER_TILE_GIVES_WINDOWS = 4,
  SEER_TILE_GIVES_PLACES = 8
};

typedef struct {
  const char *name, *summary;
  uint32_t needs, gives;  // SEER_TILE_GIVES_...
  void (*run)(seer_tile *tile);
} seer_tile_pass;

extern const seer_tile_pass seer_tile_passes[];
extern const size_t seer_tile_pass_count;

void seer_tile_modes(seer_tile *tile);  // modes.c
void seer_tile_registers(seer_tile *tile);  // registers.c
void seer_tile_windows(seer_tile *tile);  // windows.c
void seer_tile_places(seer_tile *tile);  // places.c

#endif
