// Calls of operators of users: plans that are damaged in their part of it, libraries that are
// linked with other tables, and attributes as the operator gets them.
#include <string.h>

#include "runtime/host.h"
#include "runtime/host/custom.h"
#include "support/test.h"

typedef struct {
  seer_plan_header header;
  seer_plan_custom custom;
  seer_plan_attribute attribute[3];
  int64_t ints[2];
  float floats[2];
  uint32_t string[2];
  char strings[24];
} plan;

static plan sound_plan(void) {
  plan p = {.header = {.n_bytes = sizeof p, .n_host = 1},
      .custom = {.domain_string = 1, .name_string = 6, .n_attribute = 3},
      .attribute = {{10, SEER_OPERATOR_INTS, 2, offsetof(plan, ints)},
          {12, SEER_OPERATOR_FLOAT, 1, offsetof(plan, floats)},
          {14, SEER_OPERATOR_STRINGS, 2, offsetof(plan, string)}},
      .ints = {-3, 5},
      .floats = {0.5f},
      .string = {16, 18},
      .strings = "\0acme\0Cap\0i\0f\0s\0a\0bc"};
  p.header.strings_offset = offsetof(plan, strings);
  p.header.strings_bytes = sizeof p.strings;
  return p;
}

static const seer_plan_host sound_host = {
    .function = SEER_HOST_CUSTOM, .n_in = 1, .n_out = 1, .param = {offsetof(plan, custom)}};
static const seer_plan_tensor sound_tensors[2] = {
    {.onnx_dtype = 1, .rank = 1, .dim = {4}}, {.onnx_dtype = 1, .rank = 1, .dim = {4}}};

static void test_damaged(void **state) {
  (void)state;
  const plan sound = sound_plan();
  assert_null(seer_rt_custom_check(&sound.header, &sound_host, sound_tensors));
#define DAMAGED(change)                                                \
  do {                                                                 \
    plan p = sound;                                                    \
    seer_plan_host host = sound_host;                                  \
    seer_plan_tensor tensor[2] = {sound_tensors[0], sound_tensors[1]}; \
    change;                                                            \
    assert_non_null(seer_rt_custom_check(&p.header, &host, tensor));   \
  } while (0)
  DAMAGED(host.n_out = SEER_OPERATOR_MAX_TENSORS);
  DAMAGED(host.param[0] = 0);
  DAMAGED(host.param[0] += 4);
  DAMAGED(host.param[0] = sizeof p);
  DAMAGED(host.param[0] = -8);
  DAMAGED(tensor[1].size_arg[0] = 1);
  DAMAGED(p.custom.domain_string = sizeof p.strings);
  DAMAGED(p.custom.name_string = UINT32_MAX);
  DAMAGED(p.custom.n_attribute = 1000);
  DAMAGED(p.custom.n_attribute = UINT32_MAX);
  DAMAGED(p.attribute[0].kind = 6);
  DAMAGED(p.attribute[0].kind = -1);
  DAMAGED(p.attribute[0].kind = SEER_OPERATOR_INT);  // of two
  DAMAGED(p.attribute[0].n = UINT32_MAX);
  DAMAGED(p.attribute[0].offset = sizeof p - 8);
  DAMAGED(p.attribute[0].offset += 4);
  DAMAGED(p.attribute[1].name_string = sizeof p.strings);
  DAMAGED(p.attribute[2].offset = 0);
  DAMAGED(p.string[1] = sizeof p.strings);
#undef DAMAGED
}

static int no_shape(seer_operator_call *call) { return seer_operator_fail(call, 1, "unused"); }
static int no_run(const seer_operator_call *call) { return (int)call->n_input; }
static const seer_operator entries[] = {
    {"acme", "Other", no_shape, no_run, NULL}, {"acme", "Cap", no_shape, no_run, NULL}};
static const seer_operator_table good = {SEER_OPERATOR_VERSION, 2, entries};
static const seer_operator_table newer = {SEER_OPERATOR_VERSION + 1, 2, entries};

static seer_rt_code open_with(const seer_operator_table *table, uint32_t index, char message[200]) {
  plan p = sound_plan();
  p.custom.index = index;
  const seer_operator_table *const tables[] = {table, NULL};
  const seer_model_source source = {.operators = table ? tables : NULL};
  seer_rt_set set = {.plan = &p.header, .host = &sound_host, .strings = p.strings};
  seer_rt_code code = seer_rt_custom_open(&source, &set, message, 200);
  seer_rt_custom_close(&set);
  seer_rt_custom_close(&set);
  return code;
}

static void test_tables(void **state) {
  (void)state;
  char message[200] = "";
  assert_int_equal(open_with(&good, 1, message), SEER_RT_OK);
  assert_int_equal(open_with(&good, 0, message), SEER_RT_CORRUPT);
  assert_non_null(strstr(message, "'Cap' of 'acme'"));
  assert_int_equal(open_with(&good, 2, message), SEER_RT_CORRUPT);
  assert_int_equal(open_with(&newer, 1, message), SEER_RT_CORRUPT);
  assert_int_equal(open_with(NULL, 1, message), SEER_RT_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_damaged), cmocka_unit_test(test_tables)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
