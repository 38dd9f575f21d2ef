// Vector code of block programs: text, what is unsound, what items do to each other, and what the
// accesses of a warp come to.
#include <string.h>

#include "code/vector/vector.h"
#include "support/test.h"

// Two blocks of 64 items.
static const char loop_text[] =
    "loop items { input $x f32[4096] of 0 output $y f32[128] of 1 workgroup $t f32[2048] of 2\n"
    "workgroup $d f32[64] of 3 late\n"
    "phase { parallel @b < 2 stage 0 { alloc $t stage 0 thread @i < 64 stage 0 {\n"
    "store $y[@b * 64 + @i] stage 0 = $x[@i] } } } }";

static const char head[] =
    "    %0 i64 = part\n"
    "    %1 i64 = item\n"
    "    %2 ptr = buffer $x\n"
    "    %3 ptr = buffer $y\n"
    "    %4 ptr = buffer $t\n"
    "    %5 i64 = mul_index %0, i64 64\n"
    "    %6 i64 = add_index %5, %1\n"
    "    %7 ptr = move %3, %6 of f32\n";

typedef struct {
  seer_arena *arena;
  seer_loop *loop;
  float x[4096], y[128];
} scene;

static scene *open_scene(void) {
  seer_arena *arena = seer_arena_create("test");
  scene *s = SEER_NEW(arena, scene);
  s->arena = arena;
  must(seer_loop_parse("test", loop_text, strlen(loop_text), arena, &s->loop));
  for (int k = 0; k < 4096; k++) s->x[k] = (float)k;
  return s;
}

static const char *text_of(const scene *s, const char *body) {
  return seer_arena_printf(
      s->arena, "vector items {\n  scratch 0\n  phase items_p0 {\n%s%s  }\n}\n", head, body);
}

static seer_status run(scene *s, const char *body, seer_vec_traffic *traffic) {
  const char *text = text_of(s, body);
  seer_vec_code *code;
  void *data[4] = {s->x, s->y, NULL, NULL};
  must(seer_vec_parse("test", text, strlen(text), s->loop, s->arena, &code));
  seer_status status = seer_vec_verify(code);
  return status ? status : seer_vec_eval_traffic(code, data, NULL, traffic);
}

// The item that is 63 less its number has written what each of them reads.
static const char exchange[] =
    "    %8 ptr = move %4, %1 of f32\n"
    "    %9 ptr = move %2, %1 of f32\n"
    "    %10 f32 = load %9 $x\n"
    "    store %8, %10 $t\n"
    "    barrier\n"
    "    %11 i64 = sub_index i64 63, %1\n"
    "    %12 ptr = move %4, %11 of f32\n"
    "    %13 f32 = load %12 $t\n"
    "    store %7, %13 $y\n";

static void items_exchange(void **state) {
  (void)state;
  scene *s = open_scene();
  const char *text = text_of(s, exchange);
  seer_vec_code *code;
  must(seer_vec_parse("test", text, strlen(text), s->loop, s->arena, &code));
  assert_string_equal(seer_vec_print(code, s->arena), text);
  must(run(s, exchange, NULL));
  for (int k = 0; k < 128; k++) assert_true(s->y[k] == (float)(63 - k % 64));
  seer_arena_destroy(s->arena);
}

// Each item's element of $d, %11, is copied from $x.
#define COPIED                                                                          \
  "    %8 ptr = move %2, %1 of f32\n    %9 f32 = load %8 $x\n    %10 ptr = buffer $d\n" \
  "    %11 ptr = move %10, %1 of f32\n    copy %11, %9 $d\n"

static void copies_arrive(void **state) {
  (void)state;
  scene *s = open_scene();
  static const char body[] = COPIED
      "    arrive\n    barrier\n    %12 i64 = sub_index i64 63, %1\n"
      "    %13 ptr = move %10, %12 of f32\n    %14 f32 = load %13 $d\n    store %7, %14 $y\n";
  const char *text = text_of(s, body);
  seer_vec_code *code;
  must(seer_vec_parse("test", text, strlen(text), s->loop, s->arena, &code));
  assert_string_equal(seer_vec_print(code, s->arena), text);
  must(run(s, body, NULL));
  for (int k = 0; k < 128; k++) assert_true(s->y[k] == (float)(63 - k % 64));
  seer_arena_destroy(s->arena);
}

static void faults_are_found(void **state) {
  (void)state;
  static const struct {
    const char *body, *says;
  } cases[] = {
      {"    %8 i1 = slt %1, i64 8\n    when %8 {\n      barrier\n    }\n", "not all items"},
      {"    loop %1 {\n      %8 i64 = counter 1\n      barrier\n    }\n", "not all items"},
      {"    %8 i1 = slt %1, i64 8\n    leave_unless %8\n", "some items of a block leave"},
      {"    %8 ptr = scratch\n", "no scratch"},
      {"    store %4, f32 1.0 $t\n", "another item writes it, too"},
      {"    %8 f32 = load %4 $t\n    store %7, %8 $y\n", "not known"},
      {"    %8 ptr = move %4, %1 of f32\n    store %8, f32 1.0 $t\n    %9 f32 = load %4 $t\n"
       "    store %7, %9 $y\n",
          "another item writes it"},
      {"    store %3, f32 1.0 $y\n", "another item's"},
      // Blocks write the same elements.
      {"    %8 ptr = move %3, %1 of f32\n    store %8, f32 1.0 $y\n", "another item's"},
      {"    %8 ptr = move %4, %1 of f32\n    %9 ptr = move %8, i64 2000 of f32\n"
       "    store %9, f32 1.0 $t\n",
          "bytes 8192 to 8196 of 8192"},
      // Copies: what is on its way is not there, neither without the wait nor without the barrier.
      {COPIED "    barrier\n    %12 f32 = load %11 $d\n    store %7, %12 $y\n", "not known"},
      {COPIED "    arrive\n    %12 f32 = load %11 $d\n    store %7, %12 $y\n",
          "on its way until the next barrier"},
      {"    %8 ptr = move %2, %1 of f32\n    %9 f32 = load %8 $x\n    copy %4, %9 $t\n",
          "its buffer is not late"},
      {"    %8 ptr = buffer $d\n    copy %8, f32 0 $d\n", "no load of 4, 8 or 16 bytes"},
      {"    %8 ptr = buffer $d\n    %9 ptr = move %2, %1 of f32\n    %10 i1 = slt %1, i64 8\n"
       "    %11 f32 = load_masked %9, %10, f32 1.0 $x\n    copy %8, %11 $d\n",
          "with zeros otherwise"},
  };
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    scene *s = open_scene();
    seer_status status = run(s, cases[k].body, NULL);
    if (!status || !strstr(seer_status_message(status), cases[k].says))
      fail_msg("%s: %s", cases[k].says, status ? seer_status_message(status) : "nothing");
    seer_status_free(status);
    seer_arena_destroy(s->arena);
  }
}

// Code of a phase without items has none of this.
static void elsewhere_there_are_no_items(void **state) {
  (void)state;
  static const char plain[] =
      "loop plain { output $y f32[2] of 0 phase { parallel @b < 2 stage 0 { store $y[@b] stage 0 = "
      "0.0 } } }";
  static const char *const bodies[] = {"    %0 i64 = item\n", "    barrier\n"};
  seer_arena *arena = seer_arena_create("test");
  seer_loop *loop;
  must(seer_loop_parse("test", plain, strlen(plain), arena, &loop));
  for (uint32_t k = 0; k < SEER_COUNT_OF(bodies); k++) {
    const char *text = seer_arena_printf(
        arena, "vector plain {\n  scratch 0\n  phase plain_p0 {\n%s  }\n}\n", bodies[k]);
    seer_vec_code *code;
    must(seer_vec_parse("test", text, strlen(text), loop, arena, &code));
    seer_status status = seer_vec_verify(code);
    assert_non_null(status);
    assert_non_null(strstr(seer_status_message(status), "the phase has no items"));
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
}

// Items go different ways, and so many times as each of them says; then all meet.
static void items_diverge(void **state) {
  (void)state;
  scene *s = open_scene();
  must(run(s,
      "    %8 i64 = urem %1, i64 5\n"
      "    %9 i1 = slt %1, i64 32\n"
      "    %10 ptr = move %4, %1 of f32\n"
      "    store %10, f32 0 $t\n"
      "    when %9 {\n"
      "      loop %8 {\n"
      "        %11 i64 = counter 1\n"
      "        %12 f32 = load %10 $t\n"
      "        %13 f32 = fadd %12, f32 1.0\n"
      "        store %10, %13 $t\n"
      "      }\n"
      "    } else {\n"
      "      store %10, f32 100.0 $t\n"
      "    }\n"
      "    barrier\n"
      "    %14 f32 = load %10 $t\n"
      "    store %7, %14 $y\n",
      NULL));
  for (int k = 0; k < 128; k++) {
    float want = k % 64 < 32 ? (float)(k % 64 % 5) : 100;
    assert_true(s->y[k] == want);
  }
  seer_arena_destroy(s->arena);
}

typedef struct {
  const char *what, *address;
  uint64_t sectors, turns;  // of a warp
} pattern;

// Loads of a warp: of the input, sectors of 32 bytes; of the block's memory, turns of 32 banks.
static void traffic_is_counted(void **state) {
  (void)state;
  static const pattern patterns[] = {
      {"neighbours", "%1", 4, 1},
      {"one for all", "i64 7", 1, 1},
      {"every second", "%20", 8, 2},
      {"every eighth", "%21", 32, 8},
      {"rows of 32", "%22", 32, 32},
      {"rows of 33", "%23", 32, 1},
  };
  for (uint32_t k = 0; k < SEER_COUNT_OF(patterns); k++) {
    for (uint32_t is_group = 0; is_group < 2; is_group++) {
      scene *s = open_scene();
      seer_vec_traffic traffic = {0};
      const char *body = seer_arena_printf(s->arena,
          "    %%20 i64 = mul_index %%1, i64 2\n"
          "    %%21 i64 = mul_index %%1, i64 8\n"
          "    %%22 i64 = mul_index %%1, i64 32\n"
          "    %%23 i64 = mul_index %%1, i64 33\n"
          "    %%24 i1 = slt %%1, i64 32\n"
          "    when %%24 {\n"
          "      %%25 ptr = move %s, %s of f32\n"
          "      %%26 f32 = load %%25 %s\n"
          "    }\n",
          is_group ? "%4" : "%2", patterns[k].address, is_group ? "$t" : "$x");
      must(run(s, body, &traffic));
      // A warp of each of the two blocks.
      uint64_t want = 2 * (is_group ? patterns[k].turns : patterns[k].sectors);
      uint64_t got = is_group ? traffic.group_turns : traffic.sectors;
      uint64_t requests = is_group ? traffic.group_requests : traffic.requests;
      if (got != want || requests != 2)
        fail_msg("%s: %d for %d", patterns[k].what, (int)got, (int)want);
      seer_arena_destroy(s->arena);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(items_exchange),
      cmocka_unit_test(copies_arrive), cmocka_unit_test(faults_are_found),
      cmocka_unit_test(elsewhere_there_are_no_items), cmocka_unit_test(items_diverge),
      cmocka_unit_test(traffic_is_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
