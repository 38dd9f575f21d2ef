// vector_machines.h - made-up processors: vectors of three widths, with and without masks,
// rounding, halves and extremes in hardware.
#ifndef SEER_TEST_VECTOR_MACHINES_H
#define SEER_TEST_VECTOR_MACHINES_H

#include "code/gen/generate.h"

static const seer_gen_machine vector_machines[] = {
    {.tile = {16, 16}, .l2_bytes = 1 << 18, .masked_bytes = 255},
    {.tile = {32, 16},
        .l2_bytes = 1 << 18,
        .has_half = true,
        .has_rounding = true,
        .masked_bytes = 4},
    {.tile = {64, 32},
        .l2_bytes = 1 << 20,
        .has_half = true,
        .has_rounding = true,
        .has_extremes = true,
        .masked_bytes = 1},
    {.tile = {16, 32},
        .l2_bytes = 1 << 18,
        .has_rounding = true,
        .has_extremes = true,
        .masked_bytes = 1},
    {.tile = {32, 16}, .l2_bytes = 1 << 18, .has_half = true, .masked_bytes = 255},
    {.tile = {64, 32}, .l2_bytes = 1 << 18, .masked_bytes = 4}};

#endif
