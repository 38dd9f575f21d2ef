// words.c - codes of weights -> words, and zero points of what the words hold.
#include "front/expand/words.h"

#include <string.h>

enum { WORD_BITS = 32 };

static seer_val add_constant(seer_graph *graph, const char *name, seer_dtype dtype,
    const int64_t *dim, uint32_t rank, const void *data) {
  seer_tensor tensor = {.dtype = dtype, .rank = (uint8_t)rank, .data = data};
  memcpy(tensor.dim, dim, rank * sizeof *dim);
  tensor.n_bytes = (size_t)seer_dims_elems(dim, rank) * seer_dtype_bytes(dtype);
  return seer_graph_add_constant(graph, seer_graph_fresh_name(graph, name), &tensor);
}

static uint32_t *new_words(seer_graph *graph, int64_t n) {
  seer_recover_work((uint64_t)n);
  return seer_arena_alloc(graph->arena, (size_t)n * sizeof(uint32_t) + 1, 64);
}

static int8_t *new_zeros(seer_graph *graph, int64_t n) {
  return seer_arena_alloc(graph->arena, (size_t)n + 1, 64);
}

// 0 where all are.
static seer_val add_zeros(
    seer_graph *graph, const char *name, const int8_t *zero, int64_t n, int64_t n_block) {
  bool is_any = false;
  for (int64_t i = 0; i < n * n_block; i++) is_any |= zero[i] != 0;
  if (!is_any) return (seer_val){0};
  name = seer_arena_printf(graph->arena, "%s.zero", name);
  return add_constant(graph, name, SEER_DTYPE_I8, (int64_t[]){n, n_block}, 2, zero);
}

// ---- an element each

static bool is_code(seer_dtype dtype) {
  return seer_dtype_is_byte(dtype) || seer_dtype_is_small_int(dtype);
}

// Codes [from, to) of a row, from a word's lowest bits on.
static uint32_t word_of(
    const uint8_t *row, int64_t step, int64_t from, int64_t to, uint32_t bits, uint32_t turn) {
  uint32_t word = 0, mask = (1u << bits) - 1u, low = 0;
  for (int64_t k = from; k < to; k++, low += bits) word |= ((row[k * step] ^ turn) & mask) << low;
  return word;
}

bool seer_words_of_codes(seer_graph *graph, const char *name, const seer_block_codes *from,
    seer_val *out_words, seer_val *out_zero) {
  seer_dtype dtype = from->codes->dtype;
  if (!is_code(dtype)) return false;
  uint32_t bits = seer_dtype_bits(dtype), turn = seer_dtype_is_signed(dtype) ? 0 : 1u << (bits - 1);
  int64_t n_block = seer_ceil_div(from->k, from->block), per_word = WORD_BITS / bits;
  int64_t n_word = seer_ceil_div(from->block, per_word);
  if (n_block > 1 && from->block % per_word != 0) return false;
  uint32_t *words = new_words(graph, from->n * n_block * n_word);
  int8_t *zero = new_zeros(graph, from->n * n_block);
  seer_recover_work((uint64_t)from->n * (uint64_t)from->k);
  for (int64_t n = 0; n < from->n; n++) {
    const uint8_t *row = (const uint8_t *)from->codes->data + n * from->at_n;
    for (int64_t b = 0; b < n_block; b++) {
      int64_t at = n * from->zero_at_n + b * from->zero_at_block;
      int64_t point = from->zero ? seer_dtype_load_i64(from->zero->dtype, from->zero->data, at) : 0;
      zero[n * n_block + b] = (int8_t)(point - turn);
      for (int64_t q = 0; q < n_word; q++) {
        int64_t k = (b * n_word + q) * per_word, end = seer_min_i64(k + per_word, from->k);
        words[(n * n_block + b) * n_word + q] = word_of(row, from->at_k, k, end, bits, turn);
      }
    }
  }
  *out_words =
      add_constant(graph, name, SEER_DTYPE_I32, (int64_t[]){from->n, n_block, n_word}, 3, words);
  *out_zero = add_zeros(graph, name, zero, from->n, n_block);
  return true;
}

// ---- in bytes

static uint32_t word_of_bytes(const uint8_t *byte) {
  return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

void seer_words_of_bytes(seer_graph *graph, const char *name, const seer_block_bytes *from,
    seer_val *out_words, seer_val *out_zero) {
  int64_t n_word = from->block * from->bits / WORD_BITS, all = from->n * from->n_block;
  uint32_t middle = 1u << (from->bits - 1), mask = (1u << from->bits) - 1u;
  uint32_t turn = 0;
  for (uint32_t low = 0; low < WORD_BITS && !from->is_unsigned; low += from->bits)
    turn |= middle << low;
  uint32_t *words = new_words(graph, all * n_word);
  for (int64_t i = 0; i < all * n_word; i++)
    words[i] = word_of_bytes(from->data + (size_t)i * sizeof *words) ^ turn;
  *out_words = add_constant(
      graph, name, SEER_DTYPE_I32, (int64_t[]){from->n, from->n_block, n_word}, 3, words);
  *out_zero = (seer_val){0};
  if (!from->zero || from->is_unsigned) return;
  int64_t row = seer_ceil_div(from->n_block * from->bits, 8);
  int8_t *zero = new_zeros(graph, all);
  for (int64_t i = 0; i < all; i++) {
    int64_t low = i % from->n_block * from->bits;
    uint32_t byte = from->zero[i / from->n_block * row + low / 8];
    zero[i] = (int8_t)((int)(byte >> low % 8 & mask) - (int)middle);
  }
  *out_zero = add_zeros(graph, name, zero, from->n, from->n_block);
}
