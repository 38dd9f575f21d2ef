// source_cases.c - see source_cases.h. Cases: one instruction on one type each, that is applied to
// N values of each argument, the first of which are pairs of edges.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "source_cases.h"
#include "support/dot2_check.h"
#include "support/test.h"

enum { PAIRS = 16, N = 512, MAX_CASES = 512 };  // N values of each argument; edges in pairs first

static const seer_dtype dtype_of[SEER_VEC_ELEM_COUNT] = {[SEER_VEC_I8] = SEER_DTYPE_I8,
    [SEER_VEC_I16] = SEER_DTYPE_I16,
    [SEER_VEC_I32] = SEER_DTYPE_I32,
    [SEER_VEC_I64] = SEER_DTYPE_I64,
    [SEER_VEC_F32] = SEER_DTYPE_F32,
    [SEER_VEC_F64] = SEER_DTYPE_F64};

typedef struct {
  seer_vec_op op;
  seer_vec_elem elem, to;  // of the arguments, of the value
} op_case;

typedef struct {
  seer_arena *arena;
  seer_loop *loop;
  seer_vec_code *code;
  seer_vec_builder b;
  uint32_t lanes;
  void *data[40];  // by buffer: arguments of each type, then the output
  uint32_t output;
  uint32_t n_seen, every;  // of so many cases one is tried: they take long to compile
  uint32_t n_case;
  op_case one[MAX_CASES];
} world;

static uint32_t buffer_of(seer_vec_elem elem, uint32_t k) {
  return ((uint32_t)elem - SEER_VEC_I8) * 3 + k;
}

// ---- values

static uint64_t edge_of(seer_vec_elem elem, uint32_t k) {
  static const int64_t ints[PAIRS] = {0, 1, -1, INT64_MIN, INT64_MAX, 2, -2, 0x7f7f7f7f, -128, 127,
      255, -32768, 65535, INT32_MIN, INT32_MAX, -0x7f7f7f80};
  static const double reals[PAIRS] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 0x1p-149, 3e38,
      8388609.0, -0.75, 2147483648.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
  uint32_t bits = seer_vec_elem_bits[elem];
  if (!seer_vec_is_float(elem)) {
    if (ints[k] == INT64_MIN) return UINT64_C(1) << (bits - 1);
    if (ints[k] == INT64_MAX) return (UINT64_C(1) << (bits - 1)) - 1;
    return (uint64_t)ints[k];
  }
  float single = (float)reals[k];
  uint64_t all = 0;
  memcpy(&all, bits == 32 ? (const void *)&single : (const void *)&reals[k], bits / 8);
  return all;
}

// Around the limits of the integers, and at exponents where that is decided.
static uint64_t drawn_of(seer_vec_elem elem, seer_rng *rng) {
  static const double limits[] = {127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65535.0, 65536.0,
      2147483520.0, 2147483647.0, 2147483648.0, 4294967040.0, 4294967295.0, 4294967296.0, 0x1p63,
      0x1p64, 65504.0, 65520.0, 6.1e-5, 5.96e-8, 2.98e-8};
  uint64_t bits = seer_rng_u64(rng);
  if (!seer_vec_is_float(elem) || bits % 4 == 0) return seer_rng_u64(rng);
  double x = limits[seer_rng_below(rng, SEER_COUNT_OF(limits))];
  if (bits % 4 == 1) x += seer_rng_f64(rng) - 0.5;
  if (bits % 4 == 2) x = (seer_rng_f64(rng) - 0.5) * (double)(UINT64_C(1) << (bits >> 58));
  if (bits & 64) x = -x;
  float single = (float)x;
  uint64_t all = 0;
  memcpy(&all, elem == SEER_VEC_F32 ? (void *)&single : (void *)&x, seer_vec_elem_bytes(elem));
  return all;
}

static uint64_t get(const void *data, uint32_t bytes, uint64_t i) {
  uint64_t all = 0;
  memcpy(&all, (const char *)data + i * bytes, bytes);
  return all;
}

static uint32_t add_buffer(
    world *w, const char *name, seer_dtype dtype, seer_loop_storage storage, int64_t n) {
  seer_loop_buf buf = {.name = name, .dtype = dtype, .storage = storage, .rank = 1, .n_elems = n};
  buf.dim[0] = n;
  buf.stride[0] = 1;
  uint32_t id = seer_loop_add_buf(w->loop, &buf);
  w->data[id] = seer_arena_alloc(w->arena, (size_t)n * seer_dtype_bytes(dtype), 64);
  return id;
}

static world *world_create(uint32_t lanes, const char *name, seer_arena *arena) {
  world *w = SEER_NEW(arena, world);
  w->arena = arena;
  w->lanes = lanes;
  w->every = 1;
  w->loop = seer_loop_create(arena, name);
  seer_rng rng;
  seer_rng_init(&rng, lanes);
  for (seer_vec_elem e = SEER_VEC_I8; e <= SEER_VEC_F64; e++) {
    for (uint32_t k = 0; k < 3; k++) {
      const char *buffer = seer_arena_printf(arena, "%s.%u", seer_vec_elem_names[e], k);
      uint32_t id = add_buffer(w, buffer, dtype_of[e], SEER_STORE_INPUT, N);
      SEER_ASSERT(id == buffer_of(e, k), "buffer %u", id);
      uint32_t bytes = seer_vec_elem_bytes(e);
      for (uint32_t i = 0; i < N; i++) {
        uint32_t which = k == 0 ? i % PAIRS : k == 1 ? i / PAIRS : (i * 7 + 3) % PAIRS;
        uint64_t bits = i < PAIRS * PAIRS ? edge_of(e, which) : drawn_of(e, &rng);
        memcpy((char *)w->data[id] + i * bytes, &bits, bytes);
      }
    }
  }
  w->output = add_buffer(w, "out", SEER_DTYPE_I8, SEER_STORE_OUTPUT, (int64_t)MAX_CASES * N * 8);
  w->code = seer_vec_code_create(w->loop, arena);
  w->code->scratch_bytes = 256;
  seer_vec_begin_phase(&w->b, w->code, seer_arena_printf(arena, "%s_p0", name));
  return w;
}

// ---- operators that compute

static void add_case(world *w, seer_vec_op op, seer_vec_elem elem, seer_vec_elem to) {
  if (w->n_seen++ % w->every != 0) return;
  SEER_ASSERT(w->n_case < MAX_CASES, "%u cases", w->n_case);
  w->one[w->n_case++] = (op_case){op, elem, to};
}

static bool is_between(seer_vec_op op, seer_vec_op low, seer_vec_op high) {
  return op >= low && op <= high;
}

static void add_conversions(world *w) {
  for (seer_vec_elem from = SEER_VEC_I1; from <= SEER_VEC_I64; from++) {
    for (seer_vec_elem to = SEER_VEC_I1; to <= SEER_VEC_I64; to++) {
      if (to > from) add_case(w, SEER_VEC_ZEXT, from, to);
      if (to > from) add_case(w, SEER_VEC_SEXT, from, to);
      if (to < from) add_case(w, SEER_VEC_TRUNC, from, to);
    }
    for (seer_vec_elem f = SEER_VEC_F32; f <= SEER_VEC_F64; f++) {
      add_case(w, SEER_VEC_SINT_FLOAT, from, f);
      add_case(w, SEER_VEC_UINT_FLOAT, from, f);
      if (from == SEER_VEC_I1) continue;
      add_case(w, SEER_VEC_FLOAT_SINT, f, from);
      add_case(w, SEER_VEC_FLOAT_UINT, f, from);
    }
  }
  add_case(w, SEER_VEC_FLOAT_WIDER, SEER_VEC_F32, SEER_VEC_F64);
  add_case(w, SEER_VEC_FLOAT_SHORTER, SEER_VEC_F64, SEER_VEC_F32);
  add_case(w, SEER_VEC_HALF_BITS, SEER_VEC_F32, SEER_VEC_I16);
  add_case(w, SEER_VEC_BITS_HALF, SEER_VEC_I16, SEER_VEC_F32);
  add_case(w, SEER_VEC_BITCAST, SEER_VEC_I32, SEER_VEC_F32);
  add_case(w, SEER_VEC_BITCAST, SEER_VEC_F32, SEER_VEC_I32);
  add_case(w, SEER_VEC_BITCAST, SEER_VEC_I64, SEER_VEC_F64);
  add_case(w, SEER_VEC_BITCAST, SEER_VEC_F64, SEER_VEC_I64);
}

static void add_cases(world *w) {
  for (int k = SEER_VEC_ADD; k <= SEER_VEC_FGE_NAN; k++) {
    seer_vec_op op = (seer_vec_op)k;
    bool is_truth = seer_vec_ops[op].rule == SEER_VEC_TRUTH;
    bool is_index = is_between(op, SEER_VEC_ADD_INDEX, SEER_VEC_MUL_INDEX);
    bool is_float = op >= SEER_VEC_FADD;
    for (seer_vec_elem e = SEER_VEC_I1; e <= SEER_VEC_F64; e++) {
      if (seer_vec_is_float(e) != is_float || (is_index && e != SEER_VEC_I64)) continue;
      bool is_of_words = op == SEER_VEC_DOT4 || op == SEER_VEC_DOT2;
      if (is_of_words && e != SEER_VEC_I32) continue;
      bool is_bit = !is_between(op, SEER_VEC_SDIV, SEER_VEC_UREM) &&
          !is_between(op, SEER_VEC_SHL, SEER_VEC_ASHR);
      if (e == SEER_VEC_I1 && !is_bit) continue;
      add_case(w, op, e, is_truth ? SEER_VEC_I1 : op == SEER_VEC_DOT2 ? SEER_VEC_F32 : e);
    }
  }
  add_conversions(w);
}

static bool is_to_integer(const op_case *c) {
  return c->op == SEER_VEC_FLOAT_SINT || c->op == SEER_VEC_FLOAT_UINT;
}

// What is defined for every value: no division by 0 or overflow, no shift by too much, no float
// that does not fit (3 in its place).
static uint64_t tame_bits(const op_case *c, uint32_t k, uint64_t x) {
  uint32_t bits = seer_vec_elem_bits[c->elem];
  uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  if (is_between(c->op, SEER_VEC_ADD_INDEX, SEER_VEC_MUL_INDEX))
    return (uint64_t)((int64_t)x >> 34);
  uint64_t unused, three = c->elem == SEER_VEC_F32 ? 0x40400000 : UINT64_C(0x4008000000000000);
  if (is_to_integer(c)) return seer_vec_apply(c->op, c->elem, c->to, x, 0, 0, &unused) ? x : three;
  if (k == 1 && is_between(c->op, SEER_VEC_SDIV, SEER_VEC_UREM)) return x == 0 || x == all ? 3 : x;
  if (k == 1 && is_between(c->op, SEER_VEC_SHL, SEER_VEC_ASHR)) return x & (bits - 1);
  return x;
}

static seer_vec tame_float(world *w, const op_case *c, seer_vec x) {
  seer_vec_builder *b = &w->b;
  bool is_signed = c->op == SEER_VEC_FLOAT_SINT;
  double beyond = ldexp(1.0, (int)seer_vec_elem_bits[c->to] - is_signed);
  seer_vec low = seer_vec_real(b, c->elem, w->lanes, is_signed ? -beyond : 0);
  seer_vec high = seer_vec_real(b, c->elem, w->lanes, beyond);
  seer_vec is_above = seer_vec2(b, SEER_VEC_FGE, seer_vec1(b, SEER_VEC_FTRUNC, x), low);
  seer_vec fits = seer_vec2(b, SEER_VEC_AND, is_above, seer_vec2(b, SEER_VEC_FLT, x, high));
  return seer_vec_select(b, fits, x, seer_vec_real(b, c->elem, w->lanes, 3));
}

static seer_vec tame(world *w, const op_case *c, uint32_t k, seer_vec x) {
  seer_vec_builder *b = &w->b;
  uint32_t bits = seer_vec_elem_bits[c->elem];
  if (is_to_integer(c)) return tame_float(w, c, x);
  seer_vec zero = seer_vec_const(b, c->elem, w->lanes, 0), all;
  if (is_between(c->op, SEER_VEC_ADD_INDEX, SEER_VEC_MUL_INDEX))
    return seer_vec2(b, SEER_VEC_ASHR, x, seer_vec_const(b, c->elem, w->lanes, 34));
  if (k == 1 && is_between(c->op, SEER_VEC_SHL, SEER_VEC_ASHR))
    return seer_vec2(b, SEER_VEC_AND, x, seer_vec_const(b, c->elem, w->lanes, bits - 1));
  if (k != 1 || !is_between(c->op, SEER_VEC_SDIV, SEER_VEC_UREM)) return x;
  all = seer_vec_const(b, c->elem, w->lanes, UINT64_MAX);
  seer_vec is_bad = seer_vec2(
      b, SEER_VEC_OR, seer_vec2(b, SEER_VEC_EQ, x, zero), seer_vec2(b, SEER_VEC_EQ, x, all));
  return seer_vec_select(b, is_bad, seer_vec_const(b, c->elem, w->lanes, 3), x);
}

// DOT2 adds its words' products to an f32.
static seer_vec_elem argument_elem(const op_case *c, uint32_t k) {
  return c->op == SEER_VEC_DOT2 && k == 2 ? SEER_VEC_F32 : c->elem;
}

// Argument k of lanes i, i + 1, ...; i1: whether an i32 is negative.
static seer_vec load_argument(world *w, seer_vec_elem elem, uint32_t k, seer_vec i) {
  seer_vec_elem from = elem == SEER_VEC_I1 ? SEER_VEC_I32 : elem;
  uint32_t buf = buffer_of(from, k);
  seer_vec p = seer_vec_move(&w->b, from, seer_vec_buffer(&w->b, buf), i);
  seer_vec x =
      seer_vec_load(&w->b, from, w->lanes, p, (uint16_t)seer_vec_elem_bytes(from), buf, true);
  if (elem != SEER_VEC_I1) return x;
  return seer_vec2(&w->b, SEER_VEC_SLT, x, seer_vec_const(&w->b, from, w->lanes, 0));
}

static uint64_t argument_bits(const world *w, seer_vec_elem elem, uint32_t k, uint32_t i) {
  seer_vec_elem from = elem == SEER_VEC_I1 ? SEER_VEC_I32 : elem;
  uint64_t x = get(w->data[buffer_of(from, k)], seer_vec_elem_bytes(from), i);
  return elem == SEER_VEC_I1 ? x >> 31 & 1 : x;
}

// Into the output's part number `part`.
static void store_result(world *w, uint32_t part, seer_vec value, seer_vec i) {
  seer_vec_builder *b = &w->b;
  if (seer_vec_at(w->code, value)->elem == SEER_VEC_I1)
    value = seer_vec_to(b, SEER_VEC_ZEXT, value, SEER_VEC_I8);
  seer_vec_elem elem = (seer_vec_elem)seer_vec_at(w->code, value)->elem;
  seer_vec p = seer_vec_move(b, SEER_VEC_I8, seer_vec_buffer(b, w->output),
      seer_vec_const(b, SEER_VEC_I64, 1, (uint64_t)part * N * 8));
  p = seer_vec_move(b, elem, p, i);
  seer_vec_store(b, value, p, 1, w->output);
}

static void build_cases(world *w) {
  uint32_t loop;
  seer_vec n = seer_vec_const(&w->b, SEER_VEC_I64, 1, N / w->lanes);
  seer_vec_begin_loop(&w->b, n, true, &loop);
  seer_vec i = seer_vec_counter(&w->b, loop, w->lanes);
  for (uint32_t c = 0; c < w->n_case; c++) {
    const op_case *one = &w->one[c];
    seer_vec x[3] = {{0}};
    for (uint32_t k = 0; k < seer_vec_ops[one->op].n_args; k++)
      x[k] = tame(w, one, k, load_argument(w, argument_elem(one, k), k, i));
    uint32_t n_args = seer_vec_ops[one->op].n_args;
    bool is_given = seer_vec_ops[one->op].rule == SEER_VEC_GIVEN && n_args == 1;
    seer_vec r = is_given ? seer_vec_to(&w->b, one->op, x[0], one->to)
        : n_args == 1     ? seer_vec1(&w->b, one->op, x[0])
        : n_args == 2     ? seer_vec2(&w->b, one->op, x[0], x[1])
                          : seer_vec3(&w->b, one->op, x[0], x[1], x[2]);
    store_result(w, c, r, i);
  }
  seer_vec_end(&w->b);
}

static bool is_nan_bits(seer_vec_elem elem, uint64_t x) {
  return elem == SEER_VEC_F32 ? (x & 0x7FFFFFFF) > 0x7F800000
                              : (x & INT64_MAX) > UINT64_C(0x7FF0000000000000);
}

// Any NaN is as good as another, but where bits are only moved.
static bool is_same(const op_case *c, uint64_t want, uint64_t got) {
  bool is_moved = c->op == SEER_VEC_FNEG || c->op == SEER_VEC_FABS || c->op == SEER_VEC_COPYSIGN ||
      c->op == SEER_VEC_BITCAST;
  if (want == got) return true;
  if (c->op == SEER_VEC_HALF_BITS) return (want & 0x7FFF) > 0x7C00 && (got & 0x7FFF) > 0x7C00;
  return seer_vec_is_float(c->to) && !is_moved && is_nan_bits(c->to, want) &&
      is_nan_bits(c->to, got);
}

static bool is_dot2(const uint64_t *x, uint64_t got) {
  uint32_t a = (uint32_t)x[0], b = (uint32_t)x[1];
  float c, sum;
  memcpy(&c, &x[2], sizeof c);
  memcpy(&sum, &got, sizeof sum);
  return dot2_allows(&a, 1, &b, 1, 1, c, sum);
}

// a * b + c in two steps.
static uint64_t rounded_twice(const op_case *c, const uint64_t *x) {
  uint64_t product, sum;
  seer_vec_apply(SEER_VEC_FMUL, c->elem, c->to, x[0], x[1], 0, &product);
  seer_vec_apply(SEER_VEC_FADD, c->elem, c->to, product, x[2], 0, &sum);
  return sum;
}

static void check_cases(const world *w, const char *how) {
  for (uint32_t c = 0; c < w->n_case; c++) {
    const op_case *one = &w->one[c];
    const char *out = (const char *)w->data[w->output] + (size_t)c * N * 8;
    uint32_t bytes = one->to == SEER_VEC_I1 ? 1 : seer_vec_elem_bytes(one->to);
    for (uint32_t i = 0; i < N; i++) {
      uint64_t x[3] = {0}, want, got = get(out, bytes, i);
      for (uint32_t k = 0; k < seer_vec_ops[one->op].n_args; k++)
        x[k] = tame_bits(one, k, argument_bits(w, argument_elem(one, k), k, i));
      if (!seer_vec_apply(one->op, one->elem, one->to, x[0], x[1], x[2], &want)) continue;
      if (is_same(one, want, got)) continue;
      if (one->op == SEER_VEC_DOT2 && is_dot2(x, got)) continue;
      if (one->op == SEER_VEC_FMULADD && is_same(one, rounded_twice(one, x), got)) continue;
      fail_msg("%s: %s of %u lanes, %s -> %s, element %u: of %" PRIx64 ", %" PRIx64 ", %" PRIx64
               " it gives %" PRIx64 ", expected %" PRIx64,
          how, seer_vec_ops[one->op].text, w->lanes, seer_vec_elem_names[one->elem],
          seer_vec_elem_names[one->to], i, x[0], x[1], x[2], got, want);
    }
  }
}

// ---- between lanes, memory, control: kernels with what is expected of them

typedef struct {
  world *w;
  uint32_t n_part;
  seer_vec_elem elem[80];  // of the output's parts
  uint64_t want[80][N];
  bool is_open[80][N];  // anything may stand there
} shaped;

static void expect(shaped *s, uint32_t part, seer_vec_elem elem) {
  s->elem[part] = elem;
  if (part >= s->n_part) s->n_part = part + 1;
}

static seer_vec whole(world *w, int64_t value) {
  return seer_vec_const(&w->b, SEER_VEC_I64, 1, (uint64_t)value);
}

// Lanes in reverse order, the last one replaced, halves swapped, one in all, every other one of two
// vectors (part 0 to 4), of each type.
static void lanes_move(shaped *s, seer_vec i, seer_vec_elem elem, uint32_t part) {
  world *w = s->w;
  seer_vec_builder *b = &w->b;
  uint32_t lanes = w->lanes;
  seer_vec x = load_argument(w, elem, 0, i), y = load_argument(w, elem, 1, i);
  seer_vec reversed = seer_vec_undef(b, elem, lanes);
  for (uint32_t l = 0; l < lanes; l++)
    reversed = seer_vec_insert(b, reversed, seer_vec_extract(b, x, lanes - 1 - l), l);
  store_result(w, part, reversed, i);
  seer_vec last = seer_vec_insert(b, x, seer_vec_extract(b, y, 0), lanes - 1);
  store_result(w, part + 1, last, i);
  seer_vec high = seer_vec_half(b, x, true), low = seer_vec_half(b, x, false);
  store_result(w, part + 2, high, i);
  store_result(w, part + 2, low, seer_vec2(b, SEER_VEC_ADD_INDEX, i, whole(w, lanes / 2)));
  store_result(w, part + 3, seer_vec_splat(b, seer_vec_extract(b, x, lanes / 2), lanes), i);
  uint16_t odd[SEER_VEC_MAX_LANES];
  for (uint32_t l = 0; l < lanes; l++) odd[l] = (uint16_t)(2 * l + 1);
  store_result(w, part + 4, seer_vec_shuffle(b, x, y, odd), i);
  for (uint32_t k = 0; k < 5; k++) expect(s, part + k, elem == SEER_VEC_I1 ? SEER_VEC_I8 : elem);
  for (uint32_t at = 0; at < N; at++) {
    uint32_t l = at % lanes, first = at - l;
    s->want[part][at] = argument_bits(w, elem, 0, first + lanes - 1 - l);
    s->want[part + 1][at] =
        l == lanes - 1 ? argument_bits(w, elem, 1, first) : argument_bits(w, elem, 0, at);
    s->want[part + 2][at] = argument_bits(w, elem, 0, first + (l + lanes / 2) % lanes);
    s->want[part + 3][at] = argument_bits(w, elem, 0, first + lanes / 2);
    uint32_t from = 2 * l + 1;
    s->want[part + 4][at] = argument_bits(w, elem, from / lanes, first + from % lanes);
  }
}

// The larger and the smaller, as comparisons say it: the second, if one is NaN or both are zeros.
static void extremes(shaped *s, seer_vec i, seer_vec_elem elem, uint32_t part) {
  world *w = s->w;
  seer_vec x = load_argument(w, elem, 0, i), y = load_argument(w, elem, 1, i);
  for (uint32_t k = 0; k < 2; k++) {
    seer_vec_op op = k == 0 ? SEER_VEC_FGT : SEER_VEC_FLT;
    store_result(w, part + k, seer_vec_select(&w->b, seer_vec2(&w->b, op, x, y), x, y), i);
    expect(s, part + k, elem);
    for (uint32_t at = 0; at < N; at++) {
      uint64_t a = argument_bits(w, elem, 0, at), c = argument_bits(w, elem, 1, at), is_first;
      seer_vec_apply(op, elem, SEER_VEC_I1, a, c, 0, &is_first);
      s->want[part + k][at] = is_first ? a : c;
    }
  }
}

static bool is_masked(const world *w, uint32_t at) {
  return (argument_bits(w, SEER_VEC_I8, 0, at) & 0x80) != 0 &&
      (argument_bits(w, SEER_VEC_I64, 1, at) & 1) != 0;
}

// A mask of two widths chooses between values, and what is loaded and stored; of each type.
static void masks(shaped *s, seer_vec i, seer_vec_elem elem, uint32_t part) {
  world *w = s->w;
  seer_vec_builder *b = &w->b;
  uint32_t lanes = w->lanes, buf = buffer_of(elem, 2);
  seer_vec zero8 = seer_vec_const(b, SEER_VEC_I8, lanes, 0);
  seer_vec m = seer_vec2(b, SEER_VEC_SLT, load_argument(w, SEER_VEC_I8, 0, i), zero8);
  seer_vec odd = seer_vec_to(b, SEER_VEC_TRUNC, load_argument(w, SEER_VEC_I64, 1, i), SEER_VEC_I1);
  m = seer_vec2(b, SEER_VEC_AND, m, odd);
  seer_vec x = load_argument(w, elem, 0, i), y = load_argument(w, elem, 1, i);
  store_result(w, part, seer_vec_select(b, m, x, y), i);
  seer_vec p = seer_vec_move(b, elem, seer_vec_buffer(b, buf), i);
  uint32_t align = seer_vec_elem_bytes(elem);
  store_result(w, part + 1, seer_vec_load_masked(b, p, m, y, align, buf, true), i);
  seer_vec q = seer_vec_move(
      b, SEER_VEC_I8, seer_vec_buffer(b, w->output), whole(w, (int64_t)(part + 2) * N * 8));
  seer_vec_store_masked(b, x, seer_vec_move(b, elem, q, i), m, align, w->output);
  seer_vec is_any = seer_vec_any(b, m);
  store_result(w, part + 3, seer_vec_select(b, is_any, x, y), i);
  for (uint32_t k = 0; k < 4; k++) expect(s, part + k, elem);
  for (uint32_t at = 0; at < N; at++) {
    bool is_on = is_masked(w, at), any = false;
    for (uint32_t l = 0; l < lanes; l++) any = any || is_masked(w, at - at % lanes + l);
    uint64_t a = argument_bits(w, elem, 0, at), c = argument_bits(w, elem, 1, at);
    s->want[part][at] = is_on ? a : c;
    s->want[part + 1][at] = is_on ? argument_bits(w, elem, 2, at) : c;
    s->want[part + 2][at] = is_on ? a : UINT64_MAX >> (64 - seer_vec_elem_bits[elem]);
    s->want[part + 3][at] = any ? a : c;
  }
}

// The bits of an f16, no NaN, converted and then in all lanes; and one of those lanes.
static void spread_halves(shaped *s, seer_vec i, uint32_t part) {
  world *w = s->w;
  seer_vec_builder *b = &w->b;
  uint32_t lanes = w->lanes;
  seer_vec x = load_argument(w, SEER_VEC_I16, 0, i);
  x = seer_vec2(b, SEER_VEC_AND, x, seer_vec_const(b, SEER_VEC_I16, lanes, 0x7BFF));
  seer_vec half = seer_vec_to(b, SEER_VEC_BITS_HALF, seer_vec_extract(b, x, 1), SEER_VEC_F32);
  seer_vec all = seer_vec_splat(b, half, lanes);
  store_result(w, part, all, i);
  store_result(w, part + 1, seer_vec_insert(b, all, seer_vec_extract(b, all, 0), lanes - 1), i);
  for (uint32_t at = 0; at < N; at++) {
    uint64_t bits = argument_bits(w, SEER_VEC_I16, 0, at - at % lanes + 1) & 0x7BFF;
    seer_vec_apply(SEER_VEC_BITS_HALF, SEER_VEC_I16, SEER_VEC_F32, bits, 0, 0, &s->want[part][at]);
    s->want[part + 1][at] = s->want[part][at];
  }
  for (uint32_t k = 0; k < 2; k++) expect(s, part + k, SEER_VEC_F32);
}

// Out of a table in the middle of a buffer.
static void look_ups(shaped *s, seer_vec i, uint32_t part) {
  enum { FIRST = 3 };
  world *w = s->w;
  uint32_t buf = buffer_of(SEER_VEC_I8, 1);
  seer_vec p = seer_vec_move(&w->b, SEER_VEC_I8, seer_vec_buffer(&w->b, buf), whole(w, FIRST));
  seer_vec number = load_argument(w, SEER_VEC_I8, 2, i);
  store_result(w, part, seer_vec_lookup(&w->b, p, number, 1, buf, true), i);
  expect(s, part, SEER_VEC_I8);
  for (uint32_t at = 0; at < N; at++) {
    uint64_t of = argument_bits(w, SEER_VEC_I8, 2, at);
    s->want[part][at] = argument_bits(w, SEER_VEC_I8, 1, FIRST + (uint32_t)of);
  }
}

static void between_lanes(shaped *s) {
  world *w = s->w;
  uint32_t loop, part = 0;
  seer_vec_begin_loop(&w->b, whole(w, N / w->lanes), true, &loop);
  seer_vec i = seer_vec_counter(&w->b, loop, w->lanes);
  for (seer_vec_elem e = SEER_VEC_I1; e <= SEER_VEC_F64; e++, part += 5) lanes_move(s, i, e, part);
  for (seer_vec_elem e = SEER_VEC_I8; e <= SEER_VEC_F64; e++, part += 4) masks(s, i, e, part);
  extremes(s, i, SEER_VEC_F32, part);
  extremes(s, i, SEER_VEC_F64, part + 2);
  spread_halves(s, i, part + 4);
  seer_vec_end(&w->b);
}

static seer_vec slot_at(world *w, seer_vec slot, int64_t elems) {
  return seer_vec_move(&w->b, SEER_VEC_I32, slot, whole(w, elems));
}

// Parts 0 to 2: a slot of vectors with lanes read one by one, one of two types that overlap, a sum
// that is carried over a loop.
static void slots(shaped *s, seer_vec i) {
  world *w = s->w;
  seer_vec_builder *b = &w->b;
  uint32_t lanes = w->lanes;
  seer_vec x = load_argument(w, SEER_VEC_I32, 0, i), y = load_argument(w, SEER_VEC_I32, 1, i);
  seer_vec slot = seer_vec_slot(b, SEER_VEC_I32, 1, 2 * lanes, 64);
  seer_vec_store(b, x, slot, 4, SEER_VEC_NO_BUF);
  seer_vec_store(b, y, slot_at(w, slot, lanes), 4, SEER_VEC_NO_BUF);
  seer_vec one = seer_vec_load(
      b, SEER_VEC_I32, 1, slot_at(w, slot, lanes + lanes / 2), 4, SEER_VEC_NO_BUF, false);
  seer_vec_store(b, one, slot_at(w, slot, lanes - 1), 4, SEER_VEC_NO_BUF);
  store_result(w, 0, seer_vec_load(b, SEER_VEC_I32, lanes, slot, 4, SEER_VEC_NO_BUF, false), i);

  seer_vec mixed = seer_vec_slot(b, SEER_VEC_I32, 1, 2 * lanes, 64);
  seer_vec_store(b, x, mixed, 4, SEER_VEC_NO_BUF);
  seer_vec_store(b, y, slot_at(w, mixed, lanes), 4, SEER_VEC_NO_BUF);
  int64_t shift = lanes == 1 ? 1 : lanes / 2;
  store_result(w, 1,
      seer_vec_load(b, SEER_VEC_I32, lanes, slot_at(w, mixed, shift), 4, SEER_VEC_NO_BUF, false),
      i);

  seer_vec sum = seer_vec_slot(b, SEER_VEC_I32, lanes, 1, 64);
  uint32_t loop;
  seer_vec_store(b, y, sum, 4, SEER_VEC_NO_BUF);
  seer_vec_begin_loop(b, whole(w, 3), false, &loop);
  seer_vec old = seer_vec_load(b, SEER_VEC_I32, lanes, sum, 4, SEER_VEC_NO_BUF, false);
  seer_vec_store(b, seer_vec2(b, SEER_VEC_ADD, old, x), sum, 4, SEER_VEC_NO_BUF);
  seer_vec_end(b);
  store_result(w, 2, seer_vec_load(b, SEER_VEC_I32, lanes, sum, 4, SEER_VEC_NO_BUF, false), i);
  for (uint32_t at = 0; at < N; at++) {
    uint32_t l = at % lanes, first = at - l;
    uint64_t a = argument_bits(w, SEER_VEC_I32, 0, at), c = argument_bits(w, SEER_VEC_I32, 1, at);
    s->want[0][at] = l == lanes - 1 ? argument_bits(w, SEER_VEC_I32, 1, first + lanes / 2) : a;
    uint32_t from = l + (uint32_t)shift;
    s->want[1][at] = from < lanes ? argument_bits(w, SEER_VEC_I32, 0, first + from)
                                  : argument_bits(w, SEER_VEC_I32, 1, first + from - lanes);
    s->want[2][at] = (uint32_t)(c + 3 * a);
  }
}

// Part 3: padding in front of the values, from a constant that a pointer is moved out of and back;
// part 4: only where a condition on the position holds; part 5: constants that differ by lane.
static void pointers(shaped *s, seer_vec i) {
  world *w = s->w;
  seer_vec_builder *b = &w->b;
  uint32_t lanes = w->lanes, buf = buffer_of(SEER_VEC_I32, 0);
  seer_vec fill = seer_vec_filled(b, seer_vec_const(b, SEER_VEC_I32, 1, 77), N * 32);
  seer_vec p = seer_vec_buffer(b, buf), is_late = seer_vec2(b, SEER_VEC_SGE, i, whole(w, N / 2));
  seer_vec other = seer_vec_move(b, SEER_VEC_I32, fill, whole(w, -16));
  seer_vec chosen = seer_vec_select(b, is_late, p, other);
  chosen = seer_vec_move(b, SEER_VEC_I32, chosen, seer_vec_select(b, is_late, i, whole(w, 16)));
  seer_vec_prefetch(b, chosen, 1);
  seer_vec_fence(b);
  store_result(w, 3, seer_vec_load(b, SEER_VEC_I32, lanes, chosen, 4, buf, true), i);
  seer_vec_begin_when(b, is_late);
  store_result(w, 4, seer_vec_const(b, SEER_VEC_I32, lanes, 5), i);
  seer_vec_otherwise(b);
  store_result(w, 4, seer_vec_series(b, SEER_VEC_I32, lanes, -3, 2), i);
  seer_vec_end(b);
  seer_vec x = load_argument(w, SEER_VEC_F32, 0, i);
  seer_vec_store(
      b, x, seer_vec_scratch(b), 64 < lanes * 4 ? 64 : (uint16_t)(lanes * 4), SEER_VEC_NO_BUF);
  store_result(w, 5,
      seer_vec_load(b, SEER_VEC_F32, lanes, seer_vec_scratch(b), 4, SEER_VEC_NO_BUF, false), i);
  for (uint32_t at = 0; at < N; at++) {
    bool late = at - at % lanes >= N / 2;
    s->want[3][at] = late ? argument_bits(w, SEER_VEC_I32, 0, at) : 77;
    s->want[4][at] = late ? 5 : (uint32_t)(-3 + 2 * (int32_t)(at % lanes));
    s->want[5][at] = argument_bits(w, SEER_VEC_F32, 0, at);
  }
}

// Part 6: float constants that are hard to write.
static void constants(shaped *s, seer_vec i) {
  static const uint32_t hard[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x80000000, 1,
      0x00800000, 0x7F7FFFFF, 0x3DCCCCCD, 0x4B800001};
  world *w = s->w;
  for (uint32_t k = 0; k < SEER_COUNT_OF(hard); k++) {
    seer_vec c = seer_vec_const(&w->b, SEER_VEC_F32, 1, hard[k]);
    seer_vec at = seer_vec2(&w->b, SEER_VEC_ADD_INDEX, whole(w, k),
        seer_vec2(&w->b, SEER_VEC_MUL_INDEX, i, whole(w, 0)));
    store_result(w, 6, c, at);
    s->want[6][k] = hard[k];
  }
  for (uint32_t k = SEER_COUNT_OF(hard); k < N; k++) s->is_open[6][k] = true;
}

// Two calls: the second leaves at once.
static void memory_and_control(shaped *s) {
  world *w = s->w;
  uint32_t loop;
  seer_vec is_first = seer_vec2(&w->b, SEER_VEC_SLT, seer_vec_part(&w->b), whole(w, 1));
  seer_vec_leave_unless(&w->b, is_first);
  seer_vec n = seer_vec2(&w->b, SEER_VEC_SDIV,
      seer_vec_select(&w->b, is_first, whole(w, N), whole(w, 1)), whole(w, w->lanes));
  seer_vec_begin_loop(&w->b, n, false, &loop);
  seer_vec i = seer_vec_counter(&w->b, loop, w->lanes);
  slots(s, i);
  pointers(s, i);
  constants(s, i);
  look_ups(s, i, 7);
  seer_vec_end(&w->b);
  for (uint32_t part = 0; part < 7; part++) expect(s, part, part < 5 ? SEER_VEC_I32 : SEER_VEC_F32);
}

static void check_shaped(const shaped *s, const char *how) {
  for (uint32_t part = 0; part < s->n_part; part++) {
    const char *out = (const char *)s->w->data[s->w->output] + (size_t)part * N * 8;
    for (uint32_t at = 0; at < N; at++) {
      uint64_t got = get(out, seer_vec_elem_bytes(s->elem[part]), at), want = s->want[part][at];
      if (got != want && !s->is_open[part][at])
        fail_msg("%s: %s, %u lanes, part %u, element %u is %" PRIx64 ", expected %" PRIx64, how,
            s->w->loop->name, s->w->lanes, part, at, got, want);
    }
  }
}

// ---- all cases in one dialect

enum { MAX_WORLDS = 24 };
struct source_cases {
  seer_arena *arena;
  source_batch *batch;
  uint32_t n;
  world *computing[MAX_WORLDS];
  shaped *lanes[MAX_WORLDS], *control[MAX_WORLDS];
};

static void add(source_cases *s, world *w) {
  static const uint32_t n_parts[] = {2}, once[] = {1};
  bool leaves = strncmp(w->loop->name, "control", 7) == 0;
  const char *wrong = source_batch_add(s->batch, w->code, leaves ? n_parts : once, w->data);
  if (wrong) fail_msg("%s", wrong);
}

static shaped *add_shaped(
    source_cases *s, uint32_t lanes, const char *name, void (*build)(shaped *)) {
  shaped *one = SEER_NEW(s->arena, shaped);
  one->w = world_create(lanes, seer_arena_printf(s->arena, "%s_%u", name, lanes), s->arena);
  build(one);
  add(s, one->w);
  return one;
}

source_cases *source_cases_create(
    const char *dialect, const uint32_t *lanes, uint32_t n, uint32_t every) {
  seer_arena *arena = seer_arena_create("source_cases");
  source_cases *s = SEER_NEW(arena, source_cases);
  *s = (source_cases){.arena = arena, .batch = source_batch_create(dialect, arena), .n = n};
  for (uint32_t k = 0; k < n; k++) {
    world *w = world_create(lanes[k], seer_arena_printf(arena, "ops_%u", lanes[k]), arena);
    w->every = every;
    w->n_seen = k;
    add_cases(w);
    build_cases(w);
    add(s, w);
    s->computing[k] = w;
    if (lanes[k] > 1) s->lanes[k] = add_shaped(s, lanes[k], "lanes", between_lanes);
    s->control[k] = add_shaped(s, lanes[k], "control", memory_and_control);
  }
  return s;
}

void source_cases_destroy(source_cases *s) { seer_arena_destroy(s->arena); }

typedef const char *(*runner)(
    source_batch *batch, const source_machine *machine, const char *cc, const char *flags);

static bool run_and_check(
    source_cases *s, runner run, const source_machine *machine, const char *cc, const char *flags) {
  const char *missing = source_missing(machine, cc, s->arena);
  if (missing) {
    print_message("NOT RUN, there is no %s: %s %s\n", missing, cc, flags);
    return false;
  }
  const char *wrong = run(s->batch, machine, cc, flags);
  if (wrong) fail_msg("%s", wrong);
  const char *how = seer_arena_printf(s->arena, "%s %s", cc, flags);
  for (uint32_t k = 0; k < s->n; k++) {
    check_cases(s->computing[k], how);
    if (s->lanes[k]) check_shaped(s->lanes[k], how);
    check_shaped(s->control[k], how);
  }
  return true;
}

bool source_cases_run(
    source_cases *s, const source_machine *machine, const char *cc, const char *flags) {
  return run_and_check(s, source_batch_run, machine, cc, flags);
}

bool source_cases_run_alone(
    source_cases *s, const source_machine *machine, const char *cc, const char *flags) {
  return run_and_check(s, source_batch_run_alone, machine, cc, flags);
}

void source_cases_check_calls(
    source_cases *s, const source_machine *machine, const char *cc, const char *flags) {
  if (source_missing(machine, cc, s->arena)) return;
  const char *calls = source_batch_calls(s->batch, machine, cc, flags);
  if (*calls) fail_msg("%s %s: calls %s", machine ? machine->gcc : cc, flags, calls);
}
