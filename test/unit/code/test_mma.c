// Products of warps in vector code: by the interpreter what a plain product in f64 comes to, for
// each type of words; fragments that are wrong are seen; what not all items of a warp come to is
// refused; and CUDA C of it is compiled by NVRTC where there are such products.
// SEER_TEST: timeout=120 cost=10
#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <string.h>

#include "base/os.h"
#include "code/gpu/build.h"
#include "code/gpu/registers.h"
#include "code/source/source.h"
#include "code/vector/vector.h"
#include "support/mock_cuda.h"
#include "support/test.h"

#define ROWS 16
#define COLUMNS 8
#define WORDS 8
#define BLOCKS 2
#define MAX_WARPS 3
#define MAX_MATRICES (BLOCKS * MAX_WARPS)

// What is wrong with the program.
typedef enum { RIGHT, OPERANDS_SWAPPED, ROWS_SWAPPED, B_TURNED, SUM_TURNED, N_PLANTED } planted;

typedef struct {
  seer_arena *arena;
  seer_loop *loop;
  seer_vec_mma_kind kind;
  uint32_t n_warps;
  uint32_t a[MAX_MATRICES][ROWS][WORDS], b[MAX_MATRICES][WORDS][COLUMNS];
  float c[MAX_MATRICES][ROWS][COLUMNS], z[MAX_MATRICES][ROWS][COLUMNS];
} scene;

static scene *open_scene(seer_vec_mma_kind kind, uint32_t n_items) {
  seer_arena *arena = seer_arena_create("test");
  scene *s = SEER_NEW(arena, scene);
  s->arena = arena;
  s->kind = kind;
  s->n_warps = n_items / 32;
  uint32_t n = s->n_warps > 0 ? BLOCKS * s->n_warps : BLOCKS;
  const char *text = seer_arena_printf(arena,
      "loop mma { input $a i32[%u] of 0 input $b i32[%u] of 1 input $c f32[%u] of 2 "
      "output $z f32[%u] of 3 phase { parallel @b < %d stage 0 { thread @i < %u stage 0 { "
      "store $z[@b * %u + @i] stage 0 = $c[@i] } } } }",
      n * ROWS * WORDS, n * WORDS * COLUMNS, n * ROWS * COLUMNS, n * ROWS * COLUMNS, BLOCKS,
      n_items, n_items);
  must(seer_loop_parse("test", text, strlen(text), arena, &s->loop));
  return s;
}

// ---- programs

static seer_vec number(seer_vec_builder *b, int64_t n) {
  return seer_vec_const(b, SEER_VEC_I64, 1, (uint64_t)n);
}

static seer_vec times(seer_vec_builder *b, seer_vec x, int64_t n) {
  return seer_vec2(b, SEER_VEC_MUL_INDEX, x, number(b, n));
}

static seer_vec plus(seer_vec_builder *b, seer_vec x, seer_vec y) {
  return seer_vec2(b, SEER_VEC_ADD_INDEX, x, y);
}

static seer_vec place(seer_vec_builder *b, uint32_t buf, seer_vec matrix, int64_t n_words,
    seer_vec row, seer_vec column) {
  seer_vec at = plus(b, plus(b, times(b, matrix, n_words), times(b, row, 8)), column);
  return seer_vec_move(b, SEER_VEC_I32, seer_vec_buffer(b, buf), at);
}

// n words from a place, so many elements on each, as a vector.
static seer_vec gather(seer_vec_builder *b, seer_vec_elem elem, seer_vec place, uint32_t buf,
    const int *on, uint32_t n) {
  seer_vec all = seer_vec_undef(b, elem, n);
  for (uint32_t k = 0; k < n; k++) {
    seer_vec from = seer_vec_move(b, SEER_VEC_I32, place, number(b, on[k]));
    all = seer_vec_insert(b, all, seer_vec_load(b, elem, 1, from, 4, buf, false), k);
  }
  return all;
}

// c + a * b of each warp of two blocks, words as PTX has them in its fragments.
static seer_vec_code *build(const scene *s, planted what) {
  static const int of_a[] = {0, 64, 4, 68}, of_a_swapped[] = {0, 4, 64, 68}, of_b[] = {0, 32},
                   of_b_turned[] = {0, 4}, of_c[] = {0, 1, 64, 65}, of_c_turned[] = {0, 8, 64, 72};
  seer_vec_code *code = seer_vec_code_create(s->loop, s->arena);
  seer_vec_builder b;
  seer_vec_begin_phase(&b, code, "mma_p0");
  seer_vec item = seer_vec_item(&b), part = seer_vec_part(&b);
  seer_vec warp = seer_vec2(&b, SEER_VEC_UDIV, item, number(&b, 32));
  seer_vec lane = seer_vec2(&b, SEER_VEC_UREM, item, number(&b, 32));
  seer_vec g = seer_vec2(&b, SEER_VEC_UDIV, lane, number(&b, 4));
  seer_vec t = seer_vec2(&b, SEER_VEC_UREM, lane, number(&b, 4));
  seer_vec matrix = plus(&b, times(&b, part, s->n_warps), warp), t2 = times(&b, t, 2);
  bool is_turned = what == SUM_TURNED;
  seer_vec a_at = place(&b, 0, matrix, 128, g, t);
  seer_vec b_at =
      what == B_TURNED ? place(&b, 1, matrix, 64, g, t) : place(&b, 1, matrix, 64, t, g);
  seer_vec c_at = place(&b, 2, matrix, 128, is_turned ? t2 : g, is_turned ? g : t2);
  seer_vec z_at = place(&b, 3, matrix, 128, g, t2);
  seer_vec x = gather(&b, SEER_VEC_I32, a_at, 0, what == ROWS_SWAPPED ? of_a_swapped : of_a, 4);
  seer_vec y = gather(&b, SEER_VEC_I32, b_at, 1, what == B_TURNED ? of_b_turned : of_b, 2);
  seer_vec c = gather(&b, SEER_VEC_F32, c_at, 2, is_turned ? of_c_turned : of_c, 4);
  if (what == OPERANDS_SWAPPED) {  // the words of b in front
    seer_vec other = x;
    x = seer_vec_insert(&b, x, seer_vec_extract(&b, y, 0), 0);
    x = seer_vec_insert(&b, x, seer_vec_extract(&b, y, 1), 1);
    y = seer_vec_insert(&b, y, seer_vec_extract(&b, other, 0), 0);
    y = seer_vec_insert(&b, y, seer_vec_extract(&b, other, 1), 1);
  }
  seer_vec z = seer_vec_mma(&b, s->kind, c, x, y);
  for (uint32_t k = 0; k < 4; k++) {
    seer_vec to = seer_vec_move(&b, SEER_VEC_I32, z_at, number(&b, of_c[k]));
    seer_vec_store(&b, seer_vec_extract(&b, z, k), to, 4, 3);
  }
  return code;
}

static seer_status run(scene *s, const seer_vec_code *code) {
  void *data[] = {s->a, s->b, s->c, s->z};
  seer_status status = seer_vec_verify(code);
  return status ? status : seer_vec_eval(code, data, NULL);
}

// ---- plain products

static double single_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return (double)value;
}

static double f16_of(uint32_t bits) {
  int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
  double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
      : exponent == 0           ? ldexp(mantissa, -24)
                                : ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

// Of 11 bits, halfway away from 0.
static double tf32_of(uint32_t bits) {
  int exponent;
  double value = single_of(bits), mantissa = frexp(value, &exponent);
  if (!isfinite(value) || value == 0) return value;
  if (exponent < -125) {
    mantissa = ldexp(mantissa, exponent + 125);
    exponent = -125;
  }
  return (double)(float)ldexp(round(ldexp(mantissa, 11)), exponent - 11);
}

// The k-th number of a word.
static double number_of(seer_vec_mma_kind kind, uint32_t word, uint32_t k) {
  uint32_t half = k == 0 ? word & 0xFFFF : word >> 16;
  if (kind == SEER_VEC_MMA_TF32) return tf32_of(word);
  return kind == SEER_VEC_MMA_F16 ? f16_of(half) : single_of(half << 16);
}

// Whether an element of the answer is what is promised.
static bool is_right(const scene *s, uint32_t m, uint32_t r, uint32_t c) {
  uint32_t n_numbers = s->kind == SEER_VEC_MMA_TF32 ? 1 : 2;
  double sum = (double)s->c[m][r][c], magnitude = fabs(sum), got = (double)s->z[m][r][c];
  for (uint32_t w = 0; w < WORDS; w++) {
    for (uint32_t k = 0; k < n_numbers; k++) {
      double one = number_of(s->kind, s->a[m][r][w], k) * number_of(s->kind, s->b[m][w][c], k);
      sum += one;
      magnitude += fabs(one);
    }
  }
  if (isnan(sum)) return isnan(got);
  if (isinf(sum)) return got == sum;
  if (magnitude > 1e38) return true;  // it may overflow on its way
  double bound = (1 + WORDS * n_numbers) * ldexp(magnitude, -23) + ldexp(1, -149);
  return fabs(got - sum) <= bound;
}

static bool is_all_right(const scene *s) {
  for (uint32_t m = 0; m < BLOCKS * s->n_warps; m++) {
    for (uint32_t r = 0; r < ROWS; r++) {
      for (uint32_t c = 0; c < COLUMNS; c++)
        if (!is_right(s, m, r, c)) return false;
    }
  }
  return true;
}

static uint32_t half_word(seer_vec_mma_kind kind, seer_rng *rng, bool is_moderate) {
  uint32_t any = (uint32_t)seer_rng_u64(rng) & 0xFFFF;
  if (!is_moderate) return any;  // NaN, infinities, numbers below the normal ones
  return kind == SEER_VEC_MMA_F16 ? (any & 0x83FF) | (uint32_t)(11 + any % 7) << 10
                                  : (any & 0x807F) | (uint32_t)(123 + any % 7) << 7;
}

static uint32_t any_word(seer_vec_mma_kind kind, seer_rng *rng, bool is_moderate) {
  uint32_t any = (uint32_t)seer_rng_u64(rng);
  if (kind != SEER_VEC_MMA_TF32)
    return half_word(kind, rng, is_moderate) | half_word(kind, rng, is_moderate) << 16;
  if (any % 8 == 0) any = (any & ~0x1FFFu) | 0x1000;  // halfway
  return is_moderate ? (any & 0x807FFFFF) | (uint32_t)(123 + any % 7) << 23 : any;
}

// One number in 64 is any bits, or none.
static void fill(scene *s, seer_rng *rng, bool is_moderate) {
#define SOME (is_moderate || !seer_rng_chance(rng, 1.0 / 64))
  for (uint32_t m = 0; m < MAX_MATRICES; m++) {
    for (uint32_t k = 0; k < ROWS * WORDS; k++)
      s->a[m][k / WORDS][k % WORDS] = any_word(s->kind, rng, SOME);
    for (uint32_t k = 0; k < WORDS * COLUMNS; k++)
      s->b[m][k / COLUMNS][k % COLUMNS] = any_word(s->kind, rng, SOME);
    for (uint32_t k = 0; k < ROWS * COLUMNS; k++)
      s->c[m][k / COLUMNS][k % COLUMNS] = (float)single_of(
          any_word(SEER_VEC_MMA_TF32, rng, SOME) & (is_moderate ? UINT32_MAX : 0xBFFFFFFF));
  }
#undef SOME
}

// ---- tests

static void products_are_plain_products(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 109);
  for (uint32_t trial = 0; trial < 36; trial++) {
    scene *s = open_scene((seer_vec_mma_kind)(trial % 3), 32 * (1 + trial / 3 % MAX_WARPS));
    fill(s, &rng, trial % 4 == 0);
    const seer_vec_code *code = build(s, RIGHT);
    const char *text = seer_vec_print(code, s->arena);
    seer_vec_code *back;
    must(seer_vec_parse("test", text, strlen(text), s->loop, s->arena, &back));
    assert_string_equal(seer_vec_print(back, s->arena), text);
    must(run(s, back));
    if (!is_all_right(s)) fail_msg("trial %u: %s", trial, text);
    seer_arena_destroy(s->arena);
  }
}

static void wrong_fragments_are_seen(void **state) {
  (void)state;
  seer_rng rng;
  seer_rng_init(&rng, 110);
  for (uint32_t what = RIGHT; what < N_PLANTED; what++) {
    for (int kind = 0; kind < SEER_VEC_MMA_KIND_COUNT; kind++) {
      scene *s = open_scene((seer_vec_mma_kind)kind, 64);
      fill(s, &rng, true);
      if (what == SUM_TURNED) memset(s->b, 0, sizeof(s->b));
      seer_status status = run(s, build(s, (planted)what));
      bool is_seen = status != NULL || !is_all_right(s);
      seer_status_free(status);
      if (is_seen != (what != RIGHT)) fail_msg("planted %u, kind %d", what, kind);
      seer_arena_destroy(s->arena);
    }
  }
}

static const char mma[] = "f32x4 = mma f32x4 0.0, i32x4 7, i32x2 5 of bf16";

static seer_status judge(uint32_t n_items, const char *body) {
  scene *s = open_scene(SEER_VEC_MMA_BF16, n_items);
  const char *text = seer_arena_printf(s->arena,
      "vector mma {\n  scratch 0\n  phase mma_p0 {\n    %%0 i64 = item\n    %%1 i64 = part\n"
      "    %%2 ptr = buffer $c\n%s  }\n}\n",
      body);
  seer_vec_code *code = NULL;
  seer_status status = seer_vec_parse("test", text, strlen(text), s->loop, s->arena, &code);
  if (!status) status = run(s, code);
  seer_arena_destroy(s->arena);
  return status;
}

static void what_is_no_whole_warp_is_refused(void **state) {
  (void)state;
  static const struct {
    uint32_t n_items;
    const char *body, *says;  // NULL: it runs
  } cases[] = {
      {64, "%4 @", NULL},
      {48, "%4 @", "no multiple of 32"},
      {16, "%4 @", "no multiple of 32"},
      {64, "%4 i1 = slt %0, i64 32 when %4 { %5 @ }", "not all items of a warp"},
      {64, "%4 i64 = load %2 $c loop %4 { %5 i64 = counter 1 %6 @ }", "the buffer is of f32"},
      {64, "%4 f32 = load %2 $c %5 i1 = flt %4, f32 0.5 when %5 { %6 @ }",
          "not all items of a warp"},
      {64, "loop %0 { %5 i64 = counter 1 %6 @ }", "not all items of a warp"},
      {64, "%4 i64 = urem %0, i64 32 %5 i1 = slt %4, i64 8 when %5 { %6 @ }",
          "not all items of a warp"},
      {64, "%4 i64 = udiv %0, i64 48 %5 i1 = slt %4, i64 1 when %5 { %6 @ }",
          "not all items of a warp"},
      {64, "%4 i64 = udiv %0, i64 32 %5 i1 = slt %4, i64 1 when %5 { %6 @ }", NULL},
      {96, "%4 i64 = lshr %0, i64 6 %5 i1 = slt %4, i64 1 when %5 { %6 @ }", NULL},
      {64, "%4 i64 = lshr %0, i64 4 %5 i1 = slt %4, i64 1 when %5 { %6 @ }",
          "not all items of a warp"},
      {64, "%4 i1 = slt %1, i64 1 when %4 { %5 @ }", NULL},
      {64, "%4 f32x4 = mma f32x4 0.0, i32x2 7, i32x2 5 of f16", "must be i32x4"},
      {64, "%4 f32x4 = mma f32x4 0.0, i32x4 7, i32x4 5 of f16", "must be i32x2"},
      {64, "%4 f32x4 = mma f32x2 0.0, i32x4 7, i32x2 5 of f16", "must be f32x4"},
      {64, "%4 i32x4 = mma f32x4 0.0, i32x4 7, i32x2 5 of f16", "must be f32x4"},
      {64, "%4 f32x4 = mma f32x4 0.0, i32x4 7, i32x2 5 of f8", "f16, bf16 or tf32"},
      {64,
          "%4 f32x4 = mma f32x4 0.0, i32x4 undef, i32x2 5 of f16 %5 f32 = extract %4 lane 0 "
          "%6 ptr = buffer $z %7 i64 = mul_index %1, i64 64 %8 i64 = add_index %7, %0 "
          "%9 ptr = move %6, %8 of f32 store %9, %5 $z",
          "not known"},
  };
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    char body[512];
    const char *at = strchr(cases[k].body, '@');
    if (at)
      snprintf(
          body, sizeof(body), "%.*s%s%s", (int)(at - cases[k].body), cases[k].body, mma, at + 1);
    else
      snprintf(body, sizeof(body), "%s", cases[k].body);
    seer_status status = judge(cases[k].n_items, body);
    const char *said = status ? seer_status_message(status) : "it runs";
    if (!cases[k].says != !status || (status && !strstr(said, cases[k].says)))
      fail_msg("%s: %s", body, said);
    seer_status_free(status);
  }
}

// The interpreter does not count on verify.
static void parts_of_warps_are_a_fault(void **state) {
  (void)state;
  scene *s = open_scene(SEER_VEC_MMA_BF16, 64);
  const char *text = seer_arena_printf(s->arena,
      "vector mma { scratch 0 phase mma_p0 { %%0 i64 = item %%1 i1 = slt %%0, i64 40 when %%1 { "
      "%%2 %s } } }",
      mma);
  void *data[] = {s->a, s->b, s->c, s->z};
  seer_vec_code *code;
  must(seer_vec_parse("test", text, strlen(text), s->loop, s->arena, &code));
  seer_status status = seer_vec_eval(code, data, NULL);
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "8 of 32 items of warp 1"));
  seer_status_free(status);
  seer_arena_destroy(s->arena);
}

static void other_dialects_say_that_they_have_none(void **state) {
  (void)state;
  scene *s = open_scene(SEER_VEC_MMA_F16, 32);
  const seer_vec_code *code = build(s, RIGHT);
  for (uint32_t k = 0; k < seer_dialect_table_count; k++) {
    const char *text;
    seer_status status = seer_source_print(code, seer_dialect_table[k], s->arena, &text);
    if (seer_dialect_table[k] == seer_dialect_find("cuda")) {
      must(status);
      continue;
    }
    assert_non_null(status);
    assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
    assert_non_null(strstr(seer_status_message(status), "products of warps"));
    seer_status_free(status);
  }
  seer_arena_destroy(s->arena);
}

static void targets_say_whether_they_have_it(void **state) {
  (void)state;
  static const struct {
    const char *target;
    bool has;
  } cases[] = {{"cuda:sm_70", false}, {"cuda:sm_75", false}, {"cuda:sm_80", true},
      {"cuda:h100", true}, {"opencl:generic", false}, {"c", false}};
  seer_arena *arena = seer_arena_create("test");
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_target target;
    must(seer_target_parse(cases[k].target, arena, &target));
    if (seer_target_has_mma(&target) != cases[k].has) fail_msg("%s", cases[k].target);
  }
  seer_arena_destroy(arena);
}

// Eight sums in a loop are 32 registers throughout, and the words of a product 6.
static void registers_are_counted(void **state) {
  (void)state;
  scene *s = open_scene(SEER_VEC_MMA_F16, 32);
  seer_vec_code *code = seer_vec_code_create(s->loop, s->arena);
  seer_vec_builder b;
  uint32_t loop;
  static const int on[] = {0, 1, 2, 3};
  seer_vec_begin_phase(&b, code, "mma_p0");
  seer_vec slot = seer_vec_slot(&b, SEER_VEC_F32, 4, 8, 16), at[8];
  for (int64_t k = 0; k < 8; k++) {
    at[k] = k == 0 ? slot : seer_vec_move(&b, SEER_VEC_F32, slot, number(&b, 4 * k));
    seer_vec_store(&b, seer_vec_real(&b, SEER_VEC_F32, 4, 0), at[k], 16, SEER_VEC_NO_BUF);
  }
  seer_vec i = seer_vec_begin_loop(&b, number(&b, 4), true, &loop);
  seer_vec x = gather(&b, SEER_VEC_I32,
      seer_vec_move(&b, SEER_VEC_I32, seer_vec_buffer(&b, 0), times(&b, i, 4)), 0, on, 4);
  seer_vec y = gather(&b, SEER_VEC_I32, seer_vec_buffer(&b, 1), 1, on, 2);
  for (uint32_t k = 0; k < 8; k++) {
    seer_vec c = seer_vec_load(&b, SEER_VEC_F32, 4, at[k], 16, SEER_VEC_NO_BUF, false);
    seer_vec_store(&b, seer_vec_mma(&b, SEER_VEC_MMA_F16, c, x, y), at[k], 16, SEER_VEC_NO_BUF);
  }
  seer_vec_end(&b);
  for (uint32_t k = 0; k < 8; k++) {
    seer_vec c = seer_vec_load(&b, SEER_VEC_F32, 4, at[k], 16, SEER_VEC_NO_BUF, false);
    seer_vec_store(&b, seer_vec_extract(&b, c, 0), seer_vec_buffer(&b, 3), 4, 3);
  }
  must(seer_vec_verify(code));
  seer_gpu_registers r = seer_gpu_estimate_registers(code, 0);
  if (r.values < 38 || r.values > 42) fail_msg("%u", r.values);
  seer_arena_destroy(s->arena);
}

#define VENV \
  SEER_SOURCE_DIR "/.venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"

static void nvrtc_compiles_it(void **state) {
  (void)state;
  static const char *const has[] = {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"};
  static const uint32_t sms[] = {70, 75, 80, 90};
  glob_t found;
  seer_nvrtc *nvrtc;
  if (glob(VENV, 0, NULL, &found) != 0) fail_msg("tool/deps.sh gpu installs %s", VENV);
  must(seer_nvrtc_open(found.gl_pathv[0], &nvrtc));
  globfree(&found);
  for (uint32_t k = 0; k < SEER_COUNT_OF(has) * SEER_COUNT_OF(sms); k++) {
    scene *s = open_scene((seer_vec_mma_kind)(k % SEER_COUNT_OF(has)), 64);
    uint32_t sm = sms[k / SEER_COUNT_OF(has)];
    const char *text;
    seer_nvrtc_program program;
    must(seer_source_print(build(s, RIGHT), seer_dialect_find("cuda"), s->arena, &text));
    seer_kernel built,
        kernel = {.symbol = "mma",
            .n_phase = 1,
            .has_mma = true,
            .format = SEER_KERNEL_CUDA_C,
            .object = text,
            .n_object_bytes = strlen(text)};
    seer_status status = seer_gpu_build_cuda(nvrtc, sm, &kernel, s->arena, &program, &built);
    if (sm < 80) {
      assert_non_null(status);
      assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
      seer_status_free(status);
    } else {
      must(status);
      if (!strstr(program.ptx, has[s->kind])) fail_msg("no %s: %s", has[s->kind], program.ptx);
      bool rounds = strstr(program.ptx, "cvt.rna.tf32.f32") != NULL;
      assert_true(rounds == (s->kind == SEER_VEC_MMA_TF32));
      assert_int_equal(program.kernels.kernel[0].frame_bytes, 0);
    }
    seer_arena_destroy(s->arena);
  }
  seer_nvrtc_close(nvrtc);
}

// ---- without a device: the mock of NVRTC makes C++ of the text, whose warps come together

#define MOCK SEER_BUILD_DIR "/mock/libmock_nvrtc.so"

static void run_image(scene *s, const seer_nvrtc_program *program) {
  const char *folder;
  must(seer_os_temp_dir("mma", s->arena, &folder));
  const char *path = seer_os_path_join(s->arena, folder, "image.so");
  must(seer_os_write_file(path, program->cubin, program->n_cubin_bytes));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail_msg("%s", dlerror());
  const mock_kernel *kernel = dlsym(library, "mock_kernels");
  assert_non_null(kernel);
  assert_int_equal(kernel->n_items, 32 * s->n_warps);
  void *const args[] = {s->a, s->b, s->c, s->z};
  for (uint32_t block = 0; block < BLOCKS; block++) kernel->run(args, block);
  dlclose(library);
  must(seer_os_remove_tree(folder));
}

static void cuda_is_run_without_a_device(void **state) {
  (void)state;
  seer_nvrtc *nvrtc;
  seer_rng rng;
  seer_rng_init(&rng, 111);
  must(seer_nvrtc_open(MOCK, &nvrtc));
  for (uint32_t k = 0; k < 2 * SEER_VEC_MMA_KIND_COUNT; k++) {
    scene *s = open_scene((seer_vec_mma_kind)(k / 2), 32 * (1 + k % 3));
    planted what = k % 2 == 0 ? RIGHT : ROWS_SWAPPED;
    const char *texts[2] = {seer_source_prelude(seer_dialect_find("cuda"), s->arena)};
    seer_nvrtc_program program;
    fill(s, &rng, what != RIGHT);
    must(seer_source_print(build(s, what), seer_dialect_find("cuda"), s->arena, &texts[1]));
    must(seer_nvrtc_build(nvrtc, "mma", texts, 2, 80, s->arena, &program));
    run_image(s, &program);
    if (is_all_right(s) != (what == RIGHT))
      fail_msg("kind %d, planted %d", (int)s->kind, (int)what);
    seer_arena_destroy(s->arena);
  }
  seer_nvrtc_close(nvrtc);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_plain_products),
      cmocka_unit_test(wrong_fragments_are_seen),
      cmocka_unit_test(what_is_no_whole_warp_is_refused),
      cmocka_unit_test(parts_of_warps_are_a_fault),
      cmocka_unit_test(other_dialects_say_that_they_have_none),
      cmocka_unit_test(targets_say_whether_they_have_it),
      cmocka_unit_test(registers_are_counted),
      cmocka_unit_test(nvrtc_compiles_it),
      cmocka_unit_test(cuda_is_run_without_a_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
