// Operators that are steps on the host from some size on: the runtime's function gives what their
// DAG gives by the interpreter, and small ones stay kernels.
#include <stdio.h>
#include <string.h>

#include "support/net_eval.h"
#include "support/test.h"

static seer_arena *arena;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  seer_arena_destroy(arena);
  return 0;
}

// The graph of `body`, whose results are %y and, where `more` is there, %z; n steps on the host.
static void check(uint32_t n, const char *head, const char *body, const char *more) {
  const char *text = seer_arena_printf(
      arena, "graph \"g\" {\n%s  %s\n  output %%y\n%s}\n", head, body, more ? more : "");
  const seer_network *network = net_check_text(text, 1e-5, arena);
  uint32_t found = 0;
  for (uint32_t k = 0; k < network->n_step; k++) found += network->step[k].kind == SEER_STEP_HOST;
  if (found != n) fail_msg("%u steps on the host, must be %u\n%s", found, n, text);
}

static const char *const joins[] = {"none", "add", "mul", "min", "max"};
static const char *const types[] = {"f32", "f16", "bf16", "f64", "i32", "i8", "u8", "bool"};

static void scatter_elements(void **state) {
  (void)state;
  for (uint32_t t = 0; t < SEER_COUNT_OF(types); t++) {
    for (uint32_t j = 0; j < SEER_COUNT_OF(joins); j++) {
      for (uint32_t n = 4; n <= 24; n += 20) {
        const char *head = seer_arena_printf(arena,
            "  input %%x %s[3,5,4]\n  input %%i i64[2,%u,4]\n  input %%u %s[2,%u,4]\n", types[t], n,
            types[t], n);
        check(n > 4, head,
            seer_arena_printf(arena,
                "%%y ? = ScatterElements \"s\" v18 (%%x, %%i, %%u) {axis=1, reduction=\"%s\"}",
                joins[j]),
            NULL);
      }
    }
  }
}

static void scatter_nd(void **state) {
  (void)state;
  for (uint32_t t = 0; t < SEER_COUNT_OF(types); t++) {
    for (uint32_t j = 0; j < SEER_COUNT_OF(joins); j++) {
      for (uint32_t n = 2; n <= 22; n += 20) {
        const char *head = seer_arena_printf(arena,
            "  input %%x %s[4,5,3]\n  input %%i i32[2,%u,2]\n  input %%u %s[2,%u,3]\n", types[t], n,
            types[t], n);
        check(n > 2, head,
            seer_arena_printf(
                arena, "%%y ? = ScatterND \"s\" v18 (%%x, %%i, %%u) {reduction=\"%s\"}", joins[j]),
            NULL);
      }
    }
  }
}

// What is the same everywhere is one element, which the host repeats.
static void to_constant(void **state) {
  (void)state;
  const char *head = "  input %i i64[40,1]\n  input %u f32[40,7]\n  const $shape i64[2] = [6,7]\n";
  check(1, head,
      "%x ? = ConstantOfShape \"c\" v9 ($shape)\n"
      "  %y ? = ScatterND \"s\" v18 (%x, %i, %u) {reduction=\"add\"}",
      NULL);
}

static void top_k(void **state) {
  (void)state;
  for (uint32_t t = 0; t + 1 < SEER_COUNT_OF(types); t++) {
    for (uint32_t axis = 0; axis < 3; axis++) {
      for (uint32_t n = 30; n <= 50; n += 20) {
        for (uint32_t largest = 0; largest < 2; largest++) {
          uint32_t dim[3] = {3, 3, 3};
          dim[axis] = n;
          const char *head =
              seer_arena_printf(arena, "  input %%x %s[%u,%u,%u]\n  const $k i64[1] = [7]\n",
                  types[t], dim[0], dim[1], dim[2]);
          check(n > 32, head,
              seer_arena_printf(arena,
                  "%%y ?, %%z ? = TopK \"t\" v11 (%%x, $k) {axis=%u, largest=%u}", axis, largest),
              "  output %z\n");
        }
      }
    }
  }
}

static void running(void **state) {
  (void)state;
  static const char *const names[] = {"CumSum \"c\" v14", "CumProd \"c\" v26"};
  for (uint32_t t = 0; t + 1 < SEER_COUNT_OF(types); t++) {
    for (uint32_t form = 0; form < 24; form++) {
      for (uint32_t n = 30; n <= 50; n += 20) {
        uint32_t dim[3] = {3, 3, 3}, axis = form / 4 % 3;
        dim[axis] = n;
        const char *head =
            seer_arena_printf(arena, "  input %%x %s[%u,%u,%u]\n  const $axis i64[] = [%u]\n",
                types[t], dim[0], dim[1], dim[2], axis);
        check(n > 32, head,
            seer_arena_printf(arena, "%%y ? = %s (%%x, $axis) {exclusive=%u, reverse=%u}",
                names[form / 12], form & 1, form / 2 & 1),
            NULL);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(scatter_elements, setup, teardown),
      cmocka_unit_test_setup_teardown(scatter_nd, setup, teardown),
      cmocka_unit_test_setup_teardown(to_constant, setup, teardown),
      cmocka_unit_test_setup_teardown(top_k, setup, teardown),
      cmocka_unit_test_setup_teardown(running, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
