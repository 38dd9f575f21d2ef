// c_bytes.c - what is done to bytes and halves in C, on vectors as long as a register: products of
// them, by the instruction that there is for it, or by exact ones on numbers of 16 bits (llvm/dot.c
// says why); and looking them up in a table of 256, by instructions that pick bytes of registers
// (llvm/lookup.c). Longer vectors by halves, others lane by lane.
#include <stdio.h>

#include "code/source/lanes.h"

// ---- products

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

// ---- tables

// $I: the register's type; $A, $Z: as the longest register, and back
static const char of_vbmi[] =
    "HELPER $V lookup_$V(const char *p, $V number) {\n"
    "  const __m512i n = $A(($I)number);\n"
    "  const __m512i low = _mm512_permutex2var_epi8(_mm512_loadu_si512(p), n, "
    "_mm512_loadu_si512(p + 64));\n"
    "  const __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(p + 128), n, "
    "_mm512_loadu_si512(p + 192));\n"
    "  return ($V)$Z(_mm512_mask_blend_epi8(_mm512_movepi8_mask(n), low, high));\n"
    "}\n";

// A sixteenth of the table at a time: numbers of others get a high bit, which gives 0. $P: the
// instructions' prefix; $B: 16 bytes in each half of a register; $O: or
static const char of_shuffles[] =
    "HELPER $V lookup_$V(const char *p, $V number) {\n"
    "  $I found = ($I)splat_$V(0);\n"
    "  for (int k = 0; k < 16; k++) {\n"
    "    const $I piece = $B(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * k)));\n"
    "    const $I of_piece = $P_sub_epi8(($I)number, $P_set1_epi8((char)(16 * k)));\n"
    "    const $I n = $P_adds_epu8(of_piece, $P_set1_epi8(0x70));\n"
    "    found = ($I)(($V)found | ($V)$P_shuffle_epi8(piece, n));\n"
    "  }\n"
    "  return ($V)found;\n"
    "}\n";

static const char of_table_neon[] =
    "HELPER $V lookup_$V(const char *p, $V number) {\n"
    "  const uint8_t *table = (const uint8_t *)p;\n"
    "  const uint8x16_t n = (uint8x16_t)number, by = vdupq_n_u8(64);\n"
    "  const uint8x16_t n1 = n - by, n2 = n1 - by, n3 = n2 - by;\n"
    "  uint8x16_t found = vqtbl4q_u8(vld1q_u8_x4(table), n);\n"
    "  found = vqtbx4q_u8(found, vld1q_u8_x4(table + 64), n1);\n"
    "  found = vqtbx4q_u8(found, vld1q_u8_x4(table + 128), n2);\n"
    "  return ($V)vqtbx4q_u8(found, vld1q_u8_x4(table + 192), n3);\n"
    "}\n";

static const char of_table_halves[] =
    "HELPER $V lookup_$V(const char *p, $V number) {\n"
    "  return join_$V(lookup_$H(p, low_$V(number)), lookup_$H(p, high_$V(number)));\n"
    "}\n";

static const char of_table_lanes[] =
    "HELPER $V lookup_$V(const char *p, $V number) {\n"
    "  for (int l = 0; l < $N; l++) number[l] = (i8)p[(u8)number[l]];\n"
    "  return number;\n"
    "}\n";

void seer_source_put_lookup_lanes(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  if (r) {
    char reg[16], as_longest[32], back[32];
    bool is_longest = x->bytes == 64;
    snprintf(reg, sizeof(reg), "__m%ui", x->bytes * 8);
    snprintf(as_longest, sizeof(as_longest), "_mm512_castsi%u_si512", x->bytes * 8);
    snprintf(back, sizeof(back), "_mm512_castsi512_si%u", x->bytes * 8);
    const char *const words[] = {"V", x->v, "I", reg, "P", r->prefix, "A",
        is_longest ? "" : as_longest, "Z", is_longest ? "" : back, "B",
        x->bytes == 32 ? "_mm256_broadcastsi128_si256" : "", NULL};
    seer_text_put(x->text, "#if defined(__AVX512VBMI__) && defined(__AVX512BW__)\n");
    seer_source_put_words(x->text, of_vbmi, words);
    if (!is_longest) {
      seer_text_printf(x->text, "#elif defined(%s)\n", x->bytes == 32 ? "__AVX2__" : "__SSSE3__");
      seer_source_put_words(x->text, of_shuffles, words);
    }
    if (x->bytes == 16) {
      seer_text_put(x->text, "#elif defined(__aarch64__)\n");
      seer_source_put_lanes(x, of_table_neon);
    }
    seer_text_put(x->text, "#else\n");
  }
  seer_source_put_lanes(x, x->bytes > 16 ? of_table_halves : of_table_lanes);
  if (r) seer_text_put(x->text, "#endif\n");
}

// ---- halves, bf16: their bits above 16 zeros are what they are in f32

static const char of_halves[] =
    "HELPER $V dot2_$M($M a, $M b, $V c) {\n"
    "  c = fmuladd_$V(($V)(($U)a << 16), ($V)(($U)b << 16), c);\n"
    "  return fmuladd_$V(($V)(a & -65536), ($V)(b & -65536), c);\n"
    "}\n";

// $I, $B: the register's types, of f32 and of bf16
static const char of_bf16[] =
    "HELPER $V dot2_$M($M a, $M b, $V c) {\n"
    "  return ($V)$P_dpbf16_ps(($I)c, ($B)a, ($B)b);\n"
    "}\n";

static const char of_neon_bf16[] =
    "#elif defined(__aarch64__) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)\n"
    "HELPER $V dot2_$M($M a, $M b, $V c) {\n"
    "  return ($V)vbfdotq_f32((float32x4_t)c, (bfloat16x8_t)a, (bfloat16x8_t)b);\n"
    "}\n";

// $K: half of the lanes
static const char of_longer[] =
    "HELPER $V dot2_$M($M a, $M b, $V c) {\n"
    "  return join_$V(dot2_$K(low_$M(a), low_$M(b), low_$V(c)),\n"
    "      dot2_$K(high_$M(a), high_$M(b), high_$V(c)));\n"
    "}\n";

void seer_source_put_dot_halves(const seer_source_vector *x) {
  const seer_source_register *r = seer_source_register_of(x);
  char reg[16], half_reg[16];
  snprintf(reg, sizeof(reg), "__m%u", x->bytes * 8);
  snprintf(half_reg, sizeof(half_reg), "__m%ubh", x->bytes * 8);
  const char *const words[] = {"V", x->v, "M", x->mask, "U", x->u, "I", reg, "B", half_reg, "P",
      r ? r->prefix : "", "K", x->mask_half, NULL};
  if (r) {
    // seer_target_dots_halves says why not with AMX.
    seer_text_printf(x->text, "#if defined(__AVX512BF16__)%s && !defined(__AMX_TILE__)\n",
        x->bytes == 64 ? "" : " && defined(__AVX512VL__)");
    seer_source_put_words(x->text, of_bf16, words);
    if (x->bytes == 16) seer_source_put_words(x->text, of_neon_bf16, words);
    seer_text_put(x->text, "#else\n");
  }
  seer_source_put_words(x->text, x->bytes > 64 ? of_longer : of_halves, words);
  if (r) seer_text_put(x->text, "#endif\n");
}
