// pass.c - the passes, in their order. To add one: write <name>.c with its entry
// `const seer_tile_pass seer_tile_pass_<name>`, add a line here (what it needs must be given by
// those above it), and a rule to verify.c if what it decides can be wrong.
#include "code/tile/pass.h"

// clang-format off
#define PASSES(X)                                                                                 \
  X(facts)                                                                                        \
  X(modes)                                                                                        \
  X(matrices)                                                                                     \
  X(warps)                                                                                        \
  X(registers)                                                                                    \
  X(series)                                                                                       \
  X(windows)                                                                                      \
  X(places)
// clang-format on

#define DECLARE(name) extern const seer_tile_pass seer_tile_pass_##name;
PASSES(DECLARE)
#undef DECLARE

static const seer_tile_pass *const passes[] = {
#define ENTRY(name) &seer_tile_pass_##name,
    PASSES(ENTRY)
#undef ENTRY
};

seer_tile *seer_tile_create(
    const seer_loop *loop, const seer_tile_machine *machine, seer_arena *arena) {
  seer_tile *tile = seer_tile_begin(loop, machine, arena);
  for (size_t p = 0; p < SEER_COUNT_OF(passes); p++) {
    const seer_tile_pass *pass = passes[p];
    SEER_ASSERT(
        (pass->needs & ~tile->gives) == 0, "pass %s comes before what it needs", pass->name);
    pass->run(tile);
    tile->gives |= pass->gives;
  }
  return tile;
}
