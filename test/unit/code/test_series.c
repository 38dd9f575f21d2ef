// Copies of plain stores: which loops of series (exp, erf ...) stay loops, whose statements take
// turns, and which stand inside of a loop over their vectors; and the order of instructions that
// take turns.
#include <math.h>
#include <string.h>

#include "code/gen/generate.h"
#include "support/test.h"
#include "support/ways.h"
#include "vector_code.h"

// ---- what tile IR decides, for AVX-512

typedef struct {
  const char *what, *body, *says;
} decision;

#define LOOP_OF(rows, bound, statement)      \
  "      unroll @i < " rows " stage 0" bound \
  " {\n        vector @j < 16 stage 0 {\n"   \
  "          store $y[@o * " rows " + @i, @j] stage 0 = " statement "\n        }\n      }\n"

#define COPIES_OF(rows, columns, store, behind)                        \
  "      unroll @i < " rows " stage 0 {\n        vector @j < " columns \
  " stage 0 {\n          " store                                       \
  " $y[@o * 8 + @i, @j] stage 0 = $x[@o * 8 + @i, @j]\n        }\n" behind "      }\n"

static const decision decisions[] = {
    {"copies beyond what is decoded", LOOP_OF("32", "", "erf($x[@o * 32 + @i, @j])"),
        "@i < 32 stage 0 as loop by 4 turns"},
    {"that do not divide", LOOP_OF("30", "", "erf($x[@o * 30 + @i, @j])"),
        "@i < 30 stage 0 as loop by 3 turns"},
    {"two series", LOOP_OF("32", "", "exp(tanh($x[@o * 32 + @i, @j]))"),
        "@i < 32 stage 0 as loop by 2 turns"},
    {"few copies", LOOP_OF("4", "", "erf($x[@o * 4 + @i, @j])"), "@i < 4 stage 0 as copies turns"},
    {"no series", LOOP_OF("32", "", "($x[@o * 32 + @i, @j] + 1.0)"), "@i < 32 stage 0 as copies {"},
    {"a bound", LOOP_OF("32", " bound @o * -32 + 40", "erf($x[@o * 32 + @i, @j])"),
        "as copies turns"},
    {"registers that copies choose",
        "      alloc $l stage 0\n      unroll @k < 8 stage 0 {\n        vector @l < 16 stage 0 {\n"
        "          store $l[@k, @l] stage 0 = exp($x[@o * 8 + @k, @l])\n        }\n      }\n"
        "      unroll @i < 8 stage 1 {\n        vector @j < 16 stage 1 {\n"
        "          store $y[@o * 8 + @i, @j] stage 1 = erf($l[@i, @j])\n        }\n      }\n",
        "@i < 8 stage 1 as copies turns"},
    {"sums",
        "      unroll @i < 32 stage 0 {\n        vector @j < 16 stage 0 {\n"
        "          sum $y[@o, @j] stage 0 = exp($x[@o * 32 + @i, @j])\n        }\n      }\n",
        "@i < 32 stage 0 as copies {"},
    {"copies of several vectors", COPIES_OF("8", "48", "store", ""),
        "@i < 8 stage 0 as copies interchanged"},
    {"of one", COPIES_OF("8", "16", "store", ""), "@i < 8 stage 0 as copies {"},
    {"too few", COPIES_OF("7", "48", "store", ""), "@i < 7 stage 0 as copies {"},
    {"that are summed up", COPIES_OF("8", "48", "sum", ""), "@i < 8 stage 0 as copies {"},
    {"that are not alone", COPIES_OF("8", "48", "store", "  store $y[@o, 63] stage 0 = 1.0\n"),
        "@i < 8 stage 0 as copies {"},
    {"whose vectors choose registers",
        "      alloc $l stage 0\n      unroll @i < 8 stage 0 {\n        vector @j < 32 stage 0 {\n"
        "          store $l[@i, @j] stage 0 = $x[@o * 8 + @i, @j]\n        }\n      }\n"
        "      unroll @k < 8 stage 1 {\n        vector @m < 32 stage 1 {\n"
        "          store $y[@o * 8 + @k, @m] stage 1 = $l[@k, @m]\n        }\n      }\n",
        "@i < 8 stage 0 as copies {"},
};

static seer_loop *loop_of(const char *body, seer_arena *arena) {
  seer_loop *loop;
  const char *text = seer_arena_printf(arena,
      "loop series {\n  input $x f32[64, 64] of 0\n  output $y f32[64, 64] of 1\n"
      "  local $l f32[8, 32] of 2\n  phase {\n    parallel @o < 2 stage 0 {\n%s    }\n  }\n}\n",
      body);
  must(seer_loop_parse("test", text, strlen(text), arena, &loop));
  return loop;
}

static seer_gen_machine avx512(seer_arena *arena) {
  seer_target target;
  must(seer_target_parse("x86_64-linux-gnu -cpu=x86-64-v4", arena, &target));
  return seer_gen_machine_of(&target);
}

static void loops_are_decided(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(decisions); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_gen_machine machine = avx512(arena);
    seer_tile *tile = seer_tile_create(loop_of(decisions[k].body, arena), &machine.tile, arena);
    const char *text = seer_tile_print(tile, arena);
    if (!strstr(text, decisions[k].says))
      fail_msg("%s: no \"%s\" in\n%s", decisions[k].what, decisions[k].says, text);
    must(seer_tile_verify(tile));
    seer_arena_destroy(arena);
  }
}

static uint32_t count(const char *text, const char *end, const char *what) {
  uint32_t n = 0;
  for (const char *at = strstr(text, what); at && at < end; at = strstr(at + 1, what)) n++;
  return n;
}

// Of the seven picks of each of four statements more than three's stand in front of the first
// store.
static void statements_take_turns(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_gen_machine machine = avx512(arena);
  seer_vec_code *code;
  must(seer_gen_code(loop_of(decisions[0].body, arena), &machine, "test", arena, &code));
  must(seer_vec_verify(code));
  const char *text = seer_vec_print(code, arena), *end = text + strlen(text);
  assert_int_equal(count(text, end, " = pick"), 28);
  assert_int_equal(count(text, end, "store "), 4);
  assert_in_range(count(text, strstr(text, "store "), " = pick"), 22, 28);
  seer_arena_destroy(arena);
}

// A store for each copy where it stands inside of a loop over whole vectors, and as many as there
// are vectors of copies where the last one is not whole.
static void copies_stand_inside_of_vectors(void **state) {
  (void)state;
  const struct {
    const char *body;
    uint32_t n_store;
  } cases[] = {{COPIES_OF("8", "48", "store", ""), 8}, {COPIES_OF("8", "40", "store", ""), 24}};
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_gen_machine machine = avx512(arena);
    seer_vec_code *code;
    must(seer_gen_code(loop_of(cases[k].body, arena), &machine, "test", arena, &code));
    must(seer_vec_verify(code));
    const char *text = seer_vec_print(code, arena);
    assert_int_equal(count(text, text + strlen(text), "store "), cases[k].n_store);
    seer_arena_destroy(arena);
  }
}

// ---- instructions by turns

typedef struct {
  seer_arena *arena;
  seer_loop *loop;
  seer_vec_code *code;
  seer_vec_builder b;
  seer_vec in, out, other;  // pointers
  seer_vec mark[4];
} bench;

static bench open_bench(void) {
  bench w = {.arena = seer_arena_create("test")};
  w.loop = vector_code_loop(w.arena);
  w.code = seer_vec_code_create(w.loop, w.arena);
  seer_vec_begin_phase(&w.b, w.code, "test_p0");
  w.in = seer_vec_buffer(&w.b, vector_code_buf(w.loop, "in"));
  w.out = seer_vec_buffer(&w.b, vector_code_buf(w.loop, "f32"));
  return w;
}

static seer_vec load(bench *w, const char *from, seer_vec pointer, int64_t at) {
  seer_vec by = seer_vec_const(&w->b, SEER_VEC_I64, 1, (uint64_t)at);
  seer_vec place = seer_vec_move(&w->b, SEER_VEC_F32, pointer, by);
  return seer_vec_load(&w->b, SEER_VEC_F32, 4, place, 4, vector_code_buf(w->loop, from), false);
}

static void store(bench *w, seer_vec value, int64_t at) {
  seer_vec by = seer_vec_const(&w->b, SEER_VEC_I64, 1, (uint64_t)at);
  seer_vec place = seer_vec_move(&w->b, SEER_VEC_F32, w->out, by);
  seer_vec_store(&w->b, value, place, 4, vector_code_buf(w->loop, "f32"));
}

// What the code leaves in $f32.
static const float *result(bench *w) {
  must(seer_vec_verify(w->code));
  void **data = vector_code_data(w->loop, w->arena);
  must(seer_vec_eval(w->code, data, NULL));
  return data[vector_code_buf(w->loop, "f32")];
}

// out[4 k ..] = (in[4 k ..] + shared) squared; `shared` is in[0 ..] cubed, of the first part, where
// it is ready later than the other parts could ask for it.
static void build_parts(bench *w, uint32_t n) {
  seer_vec shared = {0};
  for (uint32_t k = 0; k < n; k++) {
    w->mark[k] = seer_vec_end_of_block(&w->b);
    seer_vec x = load(w, "in", w->in, 4 * k);
    if (k == 0) shared = seer_vec2(&w->b, SEER_VEC_FMUL, seer_vec2(&w->b, SEER_VEC_FMUL, x, x), x);
    seer_vec sum = seer_vec2(&w->b, SEER_VEC_FADD, x, shared);
    store(w, seer_vec2(&w->b, SEER_VEC_FMUL, sum, sum), 4 * k);
  }
}

// A later part's instruction stays behind what it uses of the first one's.
static void values_come_before_their_uses(void **state) {
  (void)state;
  for (uint32_t n = 1; n <= 4; n++) {
    bench w = open_bench();
    build_parts(&w, n);
    seer_vec_take_turns(&w.b, w.mark, n);
    store(&w, seer_vec_real(&w.b, SEER_VEC_F32, 4, 5), 4 * n);  // the block goes on
    const float *got = result(&w);
    for (uint32_t k = 0; k < 4 * n; k++) {
      float sum = (float)k + (float)(k % 4 * (k % 4) * (k % 4));
      assert_true(got[k] == sum * sum);
    }
    assert_true(got[4 * n] == 5);
    const char *text = seer_vec_print(w.code, w.arena);
    const char *first = strstr(text, " = load"), *second = strstr(first + 1, " = load");
    if (n > 1) assert_true(second < strstr(text, " = fmul"));
    seer_arena_destroy(w.arena);
  }
}

// What one part stores another one reads: as they were.
static void memory_keeps_its_order(void **state) {
  (void)state;
  bench w = open_bench();
  for (uint32_t k = 0; k < 2; k++) {
    w.mark[k] = seer_vec_end_of_block(&w.b);
    seer_vec x = k == 0 ? load(&w, "in", w.in, 4) : load(&w, "f32", w.out, 0);
    store(&w, seer_vec2(&w.b, SEER_VEC_FADD, x, x), 4 * k);
  }
  const char *before = seer_vec_print(w.code, w.arena);
  seer_vec_take_turns(&w.b, w.mark, 2);
  assert_string_equal(seer_vec_print(w.code, w.arena), before);
  const float *got = result(&w);
  for (uint32_t k = 0; k < 4; k++) assert_true(got[4 + k] == 4 * (float)(4 + k));
  seer_arena_destroy(w.arena);
}

// Nor do blocks of their own.
static void blocks_stay(void **state) {
  (void)state;
  bench w = open_bench();
  uint32_t id;
  for (uint32_t k = 0; k < 2; k++) {
    w.mark[k] = seer_vec_end_of_block(&w.b);
    seer_vec x = load(&w, "in", w.in, 4 * k);
    (void)seer_vec_begin_loop(&w.b, seer_vec_const(&w.b, SEER_VEC_I64, 1, 2), true, &id);
    store(&w, seer_vec2(&w.b, SEER_VEC_FADD, x, x), 4 * k);
    seer_vec_end(&w.b);
  }
  const char *before = seer_vec_print(w.code, w.arena);
  seer_vec_take_turns(&w.b, w.mark, 2);
  assert_string_equal(seer_vec_print(w.code, w.arena), before);
  seer_arena_destroy(w.arena);
}

// ---- lanes of a pick: as many as the stage's narrowest element has

enum { BYTES = 64 + 32 + 16 + 8 + 3 };

static const processor_way processors[] = {{"x86_64-linux-gnu -cpu=x86-64-v4", "vpermps", ""},
    {"x86_64-linux-gnu -cpu=x86-64-v3", "", "vpermps"}, {"native", "", ""}};

static const char *text_of_bytes(uint32_t n, seer_arena *arena) {
  return seer_arena_printf(arena,
      "loop bytes {\n  input $x u8[%u] of 0\n  output $y u8[%u] of 1\n  phase {\n"
      "    vector @i < %u stage 0 {\n      store $y[@i] stage 0 = "
      "cast.u8(round(erf(cast.f32($x[@i]) * 0.015625) * 200.0))\n    }\n  }\n}\n",
      n, n, n);
}

static void run_bytes(const processor_way *way, jit_runner *runner, seer_loop *loop, uint32_t n,
    seer_rng *rng, seer_arena *arena) {
  static uint8_t x[BYTES], y[BYTES];
  void *const data[] = {x, y};
  for (uint32_t k = 0; k < n; k++) x[k] = (uint8_t)seer_rng_below(rng, 256);
  const char *wrong = jit_run(runner, loop, data, 1, arena);
  if (wrong) fail_msg("%s, %u bytes: %s", way->target, n, wrong);
  for (uint32_t k = 0; k < n; k++) {
    double want = erf(x[k] * 0.015625) * 200;
    if (fabs(want - y[k]) > 0.501)
      fail_msg("%s, %u bytes: %u of %u, expected %g", way->target, n, y[k], x[k], want);
  }
}

static void picks_are_of_any_width(void **state) {
  (void)state;
  static const uint32_t sizes[] = {1, 2, 4, 7, 8, 16, 32, 64, BYTES};
  ways_check(&(ways){processors, SEER_COUNT_OF(processors), sizes, SEER_COUNT_OF(sizes),
      text_of_bytes, run_bytes});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(loops_are_decided),
      cmocka_unit_test(statements_take_turns), cmocka_unit_test(copies_stand_inside_of_vectors),
      cmocka_unit_test(values_come_before_their_uses), cmocka_unit_test(memory_keeps_its_order),
      cmocka_unit_test(blocks_stay), cmocka_unit_test(picks_are_of_any_width)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
