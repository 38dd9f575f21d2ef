// table.c - the sketch rules in the order in which they are tried on a stage (stages from the last
// to the first). To add one: a file here with a seer_rule, a line below that says why it stands
// where it stands; raise SEER_RULE_SET_VERSION (record/record.h) if sketches that exist get another
// signature.
#include "space/rule.h"

extern const seer_rule seer_rule_const, seer_rule_inline, seer_rule_const_index,
    seer_rule_transform, seer_rule_rfactor, seer_rule_cache_read, seer_rule_cache_write,
    seer_rule_crossthread, seer_rule_splitk, seer_rule_fetch, seer_rule_block, seer_rule_fuse,
    seer_rule_tile, seer_rule_turn, seer_rule_simple;

const seer_rule *const seer_rule_table[] = {
    // what is known when compiling is no stage of the kernel: before everything
    &seer_rule_const,
    &seer_rule_inline,  // stops: an inlined stage has no loops
    &seer_rule_const_index,  // stops: a transform is never tiled
    &seer_rule_transform,  // likewise, where it is no reduction
    &seer_rule_crossthread,  // goes on: the same reduction, an item each result, competes
    &seer_rule_splitk,  // before cache-write, of which its parts are to be
    &seer_rule_rfactor,  // before tiling: its parts are plain reductions
    &seer_rule_cache_read,  // decides the operand's copy, then the same stage is tried again
    &seer_rule_cache_write,  // gives fuse a reader where there is none
    &seer_rule_fetch,  // decides the operands' copies; stops, and the same stage is tried again
    &seer_rule_block,  // goes on: the same stage at the root competes
    &seer_rule_fuse,  // goes on, except after cache-write
    &seer_rule_tile,  // stops
    &seer_rule_turn,  // goes on: its axes in their order compete
    &seer_rule_simple,  // everything that is left
};
const size_t seer_rule_table_count = SEER_COUNT_OF(seer_rule_table);
