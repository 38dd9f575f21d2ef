// c_dot.c - products of bytes in C: on vectors as long as a register by the instruction that there
// is for it, or by exact ones on numbers of 16 bits (llvm/dot.c says why), longer ones by halves.
#include <stdio.h>

#include "code/source/lanes.h"

static const char of_words[] =
    "HELPER $V dot4_$V($V a, $V b, $V c) {\n"
    "  for (int k = 0; k < 32; k += 8) {\n"
    "    const $V x = ($V)(($U)a >> k & 255), y = ($V)(($U)b << (24 - k)) >> 24;\n"
    "    c = ($V)(($U)c + ($U)(x * y));\n"
    "  }\n"
    "  return c;\n"
    "}\n";

// $I: the register's type; $P, $Z: the instruction is $P_dpbusd$Z
static const char of_vnni[] =
    "HELPER $V dot4_$V($V a, $V b, $V c) {\n"
    "  return ($V)$P_dpbusd$Z(($I)c, ($I)a, ($I)b);\n"
    "}\n";

// $H: twice as many of 16 bits; $W: without sign
static const char of_madd[] =
    "HELPER $V dot4_$V($V a, $V b, $V c) {\n"
    "  const $H a_even = ($H)a & 255, a_odd = ($H)(($W)a >> 8);\n"
    "  const $H b_even = ($H)(($W)b << 8) >> 8, b_odd = ($H)b >> 8;\n"
    "  const $U even = ($U)$P_madd_epi16(($I)a_even, ($I)b_even);\n"
    "  return ($V)(($U)c + even + ($U)$P_madd_epi16(($I)a_odd, ($I)b_odd));\n"
    "}\n";

static const char of_neon[] =
    "#elif defined(__aarch64__) && defined(__ARM_FEATURE_MATMUL_INT8)\n"
    "HELPER $V dot4_$V($V a, $V b, $V c) {\n"
    "  return ($V)vusdotq_s32((int32x4_t)c, (uint8x16_t)a, (int8x16_t)b);\n"
    "}\n"
    "#elif defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)\n"
    "HELPER $V dot4_$V($V a, $V b, $V c) {\n"
    "  const int8x16_t least = vdupq_n_s8(-128);\n"
    "  const $U sums = ($U)vdotq_s32(vdupq_n_s32(0), least, (int8x16_t)b);\n"
    "  return ($V)(($U)vdotq_s32((int32x4_t)c, (int8x16_t)a ^ least, (int8x16_t)b) - sums);\n"
    "}\n";

void seer_source_put_dot_lanes(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  if (r) {
    bool is_longest = x->bytes == 64;
    char reg[16], halves[16], wide[16];
    snprintf(reg, sizeof(reg), "__m%ui", x->bytes * 8);
    snprintf(halves, sizeof(halves), "i16x%u", x->lanes * 2);
    snprintf(wide, sizeof(wide), "u16x%u", x->lanes * 2);
    const char *words[] = {"V", x->v, "U", x->u, "I", reg, "P", r->prefix, "H", halves, "W", wide,
        "Z", "_epi32", NULL};
    seer_text_printf(
        x->text, "#if defined(__AVX512VNNI__)%s\n", is_longest ? "" : " && defined(__AVX512VL__)");
    seer_source_put_words(x->text, of_vnni, words);
    if (!is_longest) {
      words[13] = "_avx_epi32";
      seer_text_put(x->text, "#elif defined(__AVXVNNI__)\n");
      seer_source_put_words(x->text, of_vnni, words);
    }
    seer_text_printf(x->text, "#elif defined(%s)\n",
        is_longest           ? "__AVX512BW__"
            : x->bytes == 32 ? "__AVX2__"
                             : "__SSE2__");
    seer_source_put_words(x->text, of_madd, words);
    if (x->bytes == 16) seer_source_put_words(x->text, of_neon, words);
    seer_text_put(x->text, "#else\n");
  }
  if (x->bytes > 16)
    seer_source_put_by_halves(x, "dot4", 3);
  else
    seer_source_put_lanes(x, of_words);
  if (r) seer_text_put(x->text, "#endif\n");
}
