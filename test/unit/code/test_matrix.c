// Reductions that are products of matrices: words that lie in memory, and words of bytes, whole
// matrices and such that are not full, several of rows and of columns, several loops of the
// reduction, rows further apart than they are long; and tiles that are cut into no equal ones,
// which vectors do. The interpreter of vector code judges them everywhere, the instructions are run
// where this machine has them, against plain C.
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code/gen/generate.h"
#include "support/dot2_check.h"
#include "support/jit_check.h"
#include "support/test.h"

#define TARGET "x86_64-linux-gnu -cpu=x86-64-v4 -features=+avx512vnni,+amx-tile,+amx-int8,+amx-bf16"

enum { MAX_WORDS = 1 << 15 };

typedef enum { WORDS, BYTES, HALVES } factors;

// Rows are others * rows; the reduction is steps * depth words.
typedef struct {
  uint32_t others, rows, columns, steps, depth;
  bool is_matrix;
} shape;

static const shape shapes[] = {{1, 16, 16, 1, 16, true}, {1, 32, 32, 2, 32, true},
    {1, 14, 48, 3, 12, true}, {2, 7, 32, 1, 9, true}, {1, 4, 8, 1, 4, true},
    {1, 33, 16, 2, 20, true}, {3, 8, 32, 1, 64, true}, {1, 64, 16, 1, 18, true},
    {1, 20, 48, 1, 16, true}, {6, 5, 3, 2, 4, true}, {1, 16, 80, 1, 16, true},
    {1, 20, 64, 1, 16, false}, {1, 17, 16, 1, 16, true}, {1, 27, 37, 1, 16, true},
    {1, 16, 16, 1, 17, false}, {1, 3, 16, 1, 16, false}, {1, 16, 16, 4, 3, true},
    {1, 16, 16, 1, 3, false}, {2, 8, 32, 2, 9, true}, {7, 4, 16, 1, 16, true},
    {9, 8, 16, 1, 16, false}};

static const char *text_of(const shape *s, factors what, seer_arena *arena) {
  uint32_t depth = s->steps * s->depth;
  const char *sum = what == HALVES ? "f32" : "i32";
  const char *word = "$a[@y, @x * 2, @r * %u + @k]";
  if (what == BYTES)
    word =
        "(cast.i32($a[@y, @x * 2, (@r * %u + @k) * 4]) | "
        "shl(cast.i32($a[@y, @x * 2, (@r * %u + @k) * 4 + 1]), 8:i32) | "
        "shl(cast.i32($a[@y, @x * 2, (@r * %u + @k) * 4 + 2]), 16:i32) | "
        "shl(cast.i32($a[@y, @x * 2, (@r * %u + @k) * 4 + 3]), 24:i32))";
  const char *first = seer_arena_printf(arena, word, s->depth, s->depth, s->depth, s->depth);
  return seer_arena_printf(arena,
      "loop matrices {\n"
      "  input $a %s[%u, %u, %u] of 0\n"
      "  input $b i32[%u, %u] of 1\n"
      "  input $c %s[%u, %u, %u] of 2\n"
      "  output $z %s[%u, %u, %u] of 3\n"
      "  phase {\n"
      "    for @p < %u stage 0 {\n"
      "      for @q < %u stage 0 {\n"
      "        vector @v < %u stage 0 {\n"
      "          init $z[@p, @q, @v] stage 0 = $c[@p, @q, @v]\n"
      "        }\n"
      "      }\n"
      "    }\n"
      "    for @r < %u stage 0 reduce {\n"
      "      for @k < %u stage 0 reduce {\n"
      "        unroll @y < %u stage 0 {\n"
      "          unroll @x < %u stage 0 {\n"
      "            vector @j < %u stage 0 {\n"
      "              sum $z[@y, @x, @j] stage 0 = %s(%s, $b[@r * %u + @k, @j])\n"
      "            }\n"
      "          }\n"
      "        }\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n",
      what == BYTES ? "u8" : "i32", s->others, 2 * s->rows, what == BYTES ? 4 * depth : depth,
      depth, s->columns, sum, s->others, s->rows, s->columns, sum, s->others, s->rows, s->columns,
      s->others, s->rows, s->columns, s->steps, s->depth, s->others, s->rows, s->columns,
      what == HALVES ? "dot2" : "dot4", first, s->depth);
}

// Half of the bytes are extremes.
static uint32_t random_word(factors what, seer_rng *rng) {
  static const uint8_t edge[] = {0, 127, 128, 255};
  uint32_t word = 0;
  if (what == HALVES) return dot2_word(rng, seer_rng_chance(rng, 0.98));
  for (uint32_t k = 0; k < 4; k++)
    word = word << 8 |
        (seer_rng_chance(rng, 0.5) ? edge[seer_rng_below(rng, 4)] : (uint8_t)seer_rng_u64(rng));
  return word;
}

static uint32_t plain(const uint32_t *x, const uint32_t *y, size_t step, size_t n, uint32_t sum) {
  for (size_t k = 0; k < n; k++) {
    for (uint32_t i = 0; i < 32; i += 8)
      sum += (uint32_t)((int32_t)(x[k] >> i & 255) * (int32_t)(int8_t)(y[k * step] >> i & 255));
  }
  return sum;
}

typedef struct {
  uint32_t a[MAX_WORDS], b[MAX_WORDS], c[MAX_WORDS], z[MAX_WORDS];
} memory;

static void expect_sums(const shape *s, factors what, const memory *m, const char *who) {
  uint32_t depth = s->steps * s->depth;
  for (uint32_t k = 0; k < s->others * s->rows * s->columns; k++) {
    uint32_t row = k / s->columns, column = k % s->columns;
    const uint32_t *x = m->a + (size_t)row * 2 * depth, *y = m->b + column;
    float c, got;
    memcpy(&c, &m->c[k], sizeof(c));
    memcpy(&got, &m->z[k], sizeof(got));
    bool is_right = what == HALVES ? dot2_allows(x, 1, y, s->columns, depth, c, got)
                                   : m->z[k] == plain(x, y, s->columns, depth, m->c[k]);
    if (!is_right)
      fail_msg("%s, %u x %u rows of %u words, %u columns: row %u, column %u is %" PRId32 " (%g)",
          who, s->others, s->rows, depth, s->columns, row, column, (int32_t)m->z[k], (double)got);
  }
}

static bool has_matrices(const char *text) { return strstr(text, "matrix_dot") != NULL; }

static void judge(
    const shape *s, factors what, const seer_target *target, jit_runner *runner, seer_rng *rng) {
  static memory m;
  seer_arena *arena = seer_arena_create("test");
  const char *text = text_of(s, what, arena);
  seer_loop *loop;
  seer_vec_code *code, *again;
  must(seer_loop_parse("test", text, strlen(text), arena, &loop));
  must(seer_loop_verify(loop));
  seer_gen_machine machine = seer_gen_machine_of(target);
  must(seer_tile_verify(seer_tile_create(loop, &machine.tile, arena)));
  must(seer_gen_code(loop, &machine, "test", arena, &code));
  must(seer_vec_verify(code));
  const char *printed = seer_vec_print(code, arena);
  if (has_matrices(printed) != s->is_matrix) fail_msg("%s%s", text, printed);
  must(seer_vec_parse("printed", printed, strlen(printed), loop, arena, &again));
  assert_string_equal(seer_vec_print(again, arena), printed);
  for (uint32_t k = 0; k < MAX_WORDS; k++) {
    m.a[k] = random_word(what, rng);
    m.b[k] = random_word(what, rng);
    float start = (float)(seer_rng_f64(rng) - 0.5);
    memcpy(&m.c[k], &start, sizeof(start));
  }
  void *const data[] = {m.a, m.b, m.c, m.z};
  must(seer_vec_eval(code, data, rng));
  expect_sums(s, what, &m, "interpreter");
  if (!runner) {
    seer_arena_destroy(arena);
    return;
  }
  memset(m.z, 0, sizeof(m.z));
  const char *wrong = jit_run(runner, loop, data, seer_rng_u64(rng), arena);
  if (wrong) fail_msg("%s\n%s", wrong, text);
  expect_sums(s, what, &m, "instructions");
  seer_arena_destroy(arena);
}

static void each_shape(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_rng rng;
  seer_rng_init(&rng, 3);
  seer_target target;
  must(seer_target_parse(TARGET, arena, &target));
  seer_status lacks = seer_target_check_here(&target);
  if (lacks) print_message("interpreted only: %s\n", seer_status_message(lacks));
  jit_runner *runner = lacks ? NULL : jit_runner_create(&target);
  seer_status_free(lacks);
  for (size_t k = 0; k < SEER_COUNT_OF(shapes); k++) {
    judge(&shapes[k], WORDS, &target, runner, &rng);
    judge(&shapes[k], BYTES, &target, runner, &rng);
    judge(&shapes[k], HALVES, &target, runner, &rng);
  }
  if (runner) jit_runner_destroy(runner);
  seer_arena_destroy(arena);
}

// What LLVM makes of them, whether or not it can be run here.
static void they_are_instructions(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  must(seer_target_parse(TARGET, arena, &target));
  jit_runner *runner = jit_runner_create(&target);
  static const char *const expected[] = {"tdpbusd", "tdpbusd", "tdpbf16ps"};
  for (uint32_t what = 0; what < SEER_COUNT_OF(expected); what++) {
    const char *text = text_of(&shapes[1], (factors)what, arena);
    seer_loop *loop;
    must(seer_loop_parse("test", text, strlen(text), arena, &loop));
    const char *code = seer_codegen_print(jit_runner_codegen(runner), loop, true, arena);
    bool is_whole =
        strstr(code, expected[what]) && strstr(code, "ldtilecfg") && strstr(code, "tilerelease");
    if (!is_whole) fail_msg("no %s:\n%s", expected[what], code);
  }
  jit_runner_destroy(runner);
  seer_arena_destroy(arena);
}

// In a process that has not looked at what this machine is: whoever loads kernels has asked the
// system for tiles.
static int run_alone(void) {
  seer_arena *arena = seer_arena_create("test");
  seer_rng rng;
  seer_rng_init(&rng, 5);
  seer_target target;
  must(seer_target_parse(TARGET, arena, &target));
  jit_runner *runner = jit_runner_create(&target);
  judge(&shapes[0], WORDS, &target, runner, &rng);
  jit_runner_destroy(runner);
  seer_arena_destroy(arena);
  return 0;
}

static void whoever_loads_asks(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_target target;
  must(seer_target_parse(TARGET, arena, &target));
  seer_status lacks = seer_target_check_here(&target);
  bool is_here = !lacks;
  seer_status_free(lacks);
  seer_arena_destroy(arena);
  if (!is_here) skip();
  char *const argv[] = {"/proc/self/exe", "alone", NULL};
  pid_t child = fork();
  if (child == 0) {
    execv(argv[0], argv);
    _exit(127);
  }
  int how = 0;
  assert_true(child > 0 && waitpid(child, &how, 0) == child);
  assert_true(WIFEXITED(how));
  assert_int_equal(WEXITSTATUS(how), 0);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "alone") == 0) return run_alone();
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_shape),
      cmocka_unit_test(they_are_instructions), cmocka_unit_test(whoever_loads_asks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
