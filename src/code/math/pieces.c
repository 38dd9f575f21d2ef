// pieces.c - functions by pieces: a polynomial for each of sixteen ranges of the argument, whose
// coefficients are picked by its number (SEER_VEC_PICK; fitted by tool/fit_math.py).
#include "code/gen/gen.h"

// erf around k/4, by powers of what x is more. The first piece's error is relative, and the last
// one is raised by 2e-8 at its end, so that 1 is reached. Over all floats 2.3 ulp in the first
// piece and 1.2 in the others, and none is above 1.
#define POWERS 7
static const double erf_piece[SEER_VEC_PICKS][POWERS] = {
    {0, 1.128379164, 0, -0.3761227182, 0, 0.1122105466, 0},
    {0.2763263902, 1.060014123, -0.2650035180, -0.3091673519, 0.1269770386, 0.07961269146,
        -0.04019345882},
    {0.5204998778, 0.8787825811, -0.4393912747, -0.1464648995, 0.1830757554, 0.007469493763,
        -0.04969053078},
    {0.7111556337, 0.6429310768, -0.4821982984, 0.02678488022, 0.1506860515, -0.05274087638,
        -0.02679134429},
    {0.8427007930, 0.4151075037, -0.4151075045, 0.1383659402, 0.06918646335, -0.06877128365,
        0.004445356232},
    {0.9229001283, 0.2365211240, -0.2956514115, 0.1675350178, -0.006157158278, -0.04708152855,
        0.02110179790},
    {0.9661051465, 0.1189302873, -0.1783954374, 0.1387530067, -0.04459792123, -0.01499500005,
        0.01924307778},
    {0.9866716712, 0.05277499341, -0.09235624181, 0.09015857361, -0.04810249485, 0.006459197427,
        0.008988372723},
    {0.9953222650, 0.02066698394, -0.04133396835, 0.04822368773, -0.03444560320, 0.01299668187,
        0.0005149698472},
    {0.9985372834, 0.007142318739, -0.01607021631, 0.02172469870, -0.01908377959, 0.01063916056,
        -0.002869243850},
    {0.9995930480, 0.002178284453, -0.005445710185, 0.008349975218, -0.008622479304, 0.006132036773,
        -0.002789266131},
    {0.9998993781, 0.0005862775156, -0.001612262560, 0.002760251129, -0.003258078940,
        0.002773433118, -0.001660413958},
    {0.9999779095, 0.0001392532150, -0.0004177593559, 0.0007890171243, -0.001044344600,
        0.001027234000, -0.0007427672578},
    {0.9999956972, 0.00002918909662, -0.00009486445425, 0.0001957732526, -0.0002865369218,
        0.0003184594963, -0.0002664007190},
    {0.9999992569, 0.000005399451244, -0.00001889804503, 0.00004228299228, -0.00006770416086,
        0.00008371583655, -0.00007895254561},
    {0.9999998863, 0.000001061439057, -0.000003305387448, 0.000007966104773, -0.00001383679108,
        0.00001881934027, -0.00001966617104},
};
// Where the last piece ends, within half a unit of 1.
#define ERF_END 3.87
// Added to a number below 2^21 it leaves quarters, in the lowest bits.
#define QUARTERS 3145728.0

static seer_vec coefficient(seer_gen *g, seer_vec piece, uint32_t power) {
  seer_vec_picks of;
  for (uint32_t k = 0; k < SEER_VEC_PICKS; k++) of.value[k] = (float)erf_piece[k][power];
  return seer_vec_pick(g->b, piece, &of);
}

seer_vec seer_gen_erf_by_pieces(seer_gen *g, seer_vec x) {
  seer_vec_builder *b = g->b;
  seer_vec magic = seer_gen_real_like(g, x, QUARTERS);
  seer_vec a = seer_gen_float_extreme(
      g, false, seer_gen_real_like(g, x, ERF_END), seer_vec1(b, SEER_VEC_FABS, x));
  seer_vec z = seer_vec2(b, SEER_VEC_FADD, a, magic);
  seer_vec t = seer_vec2(b, SEER_VEC_FSUB, a, seer_vec2(b, SEER_VEC_FSUB, z, magic));
  seer_vec piece = seer_vec_to(b, SEER_VEC_BITCAST, z, SEER_VEC_I32);
  seer_vec y = coefficient(g, piece, POWERS - 1);
  for (uint32_t k = POWERS - 1; k-- > 0;)
    y = seer_vec3(b, SEER_VEC_FMULADD, y, t, coefficient(g, piece, k));
  return y;
}
