// Options: environment, limits, messages; log and dumps.
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "setup/context.h"
#include "support/test.h"

static seer_context *context;

static int setup(void **state) {
  (void)state;
  clearenv();
  seer_status status = seer_context_create(&context);
  seer_status_free(status);
  return status != SEER_OK;
}

static int teardown(void **state) {
  (void)state;
  seer_context_destroy(context);
  return 0;
}

static void fails(seer_status status, const char *message) {
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  assert_string_equal(seer_status_message(status), message);
  seer_status_free(status);
}

static void names_are_unique_and_defaults_allowed(void **state) {
  (void)state;  // context_create asserts the defaults
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    const seer_option_desc *o = &seer_option_table[i];
    assert_true(strlen(o->name) > 0 && strlen(o->doc) > 0);
    assert_int_equal(strspn(o->name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(o->name));
    for (size_t j = 0; j < i; j++) assert_string_not_equal(o->name, seer_option_table[j].name);
    bool takes_value;
    assert_true(seer_context_has_option(o->name, &takes_value));
    assert_int_equal(takes_value, o->type != SEER_OPTION_BOOL);
    assert_false(seer_context_is_set(context, (seer_option)i));
  }
}

static void values_are_typed(void **state) {
  (void)state;
  assert_int_equal(seer_context_i64(context, SEER_OPT_TRIALS), -1);
  must(seer_context_set(context, "trials", "640"));
  assert_int_equal(seer_context_i64(context, SEER_OPT_TRIALS), 640);
  assert_true(seer_context_is_set(context, SEER_OPT_TRIALS));
  must(seer_context_set(context, "foresee", "0.5"));
  assert_true(seer_context_f64(context, SEER_OPT_FORESEE) == 0.5);
  must(seer_context_set(context, "SEER_TIME_BUDGET", "1h30m5s"));
  assert_true(seer_context_f64(context, SEER_OPT_TIME_BUDGET) == 5405);
  must(seer_context_set(context, "time_budget", "90"));
  assert_true(seer_context_f64(context, SEER_OPT_TIME_BUDGET) == 90);
  must(seer_context_set(context, "target-latency", "200us"));
  assert_true(seer_context_f64(context, SEER_OPT_TARGET_LATENCY) > 199e-6 &&
      seer_context_f64(context, SEER_OPT_TARGET_LATENCY) < 201e-6);
  assert_true(seer_context_bool(context, SEER_OPT_PIN));
  must(seer_context_set(context, "pin", "off"));
  assert_false(seer_context_bool(context, SEER_OPT_PIN));
  must(seer_context_set(context, "json", ""));
  assert_true(seer_context_bool(context, SEER_OPT_JSON));
  must(seer_context_set(context, "emit", "c"));
  assert_string_equal(seer_context_str(context, SEER_OPT_EMIT), "c");
  assert_string_equal(seer_context_str(context, SEER_OPT_RECORDS), "");
  must(seer_context_set(context, "input", "a=1.npy"));
  must(seer_context_set(context, "input", "b=2.npy"));
  assert_int_equal(seer_context_n_values(context, SEER_OPT_INPUT), 2);
  assert_string_equal(seer_context_value(context, SEER_OPT_INPUT, 0), "a=1.npy");
  assert_string_equal(seer_context_value(context, SEER_OPT_INPUT, 1), "b=2.npy");
}

// What a command does not take it does not find either, wherever it looks; flags are the user's.
static void a_command_has_its_own_environment_only(void **state) {
  (void)state;
  setenv("SEER_EARLY_STOPPING", "20", 1);
  setenv("SEER_SEEDS", "7", 1);
  setenv("SEER_INPUT_SHAPES", "x:1x2", 1);
  seer_context *own = NULL, *plain = seer_context_create_default();
  must(seer_context_create(&own));
  must(seer_context_set(own, "trials", "3"));
  seer_context_restrict(own, "study");
  assert_false(seer_context_is_set(own, SEER_OPT_EARLY_STOPPING));
  assert_int_equal(seer_context_i64(own, SEER_OPT_EARLY_STOPPING), -1);
  assert_int_equal(seer_context_i64(own, SEER_OPT_SEEDS), 7);
  assert_int_equal(seer_context_n_values(own, SEER_OPT_INPUT_SHAPES), 1);
  assert_int_equal(seer_context_i64(own, SEER_OPT_TRIALS), 3);
  seer_context_restrict(own, "pretrain");
  assert_int_equal(seer_context_i64(own, SEER_OPT_SEEDS), 3);  // its default
  assert_int_equal(seer_context_n_values(own, SEER_OPT_INPUT_SHAPES), 0);
  for (seer_option o = 0; o < SEER_OPT_COUNT; o++) assert_false(seer_context_is_set(plain, o));
  seer_context_destroy(plain);
  seer_context_destroy(own);
  clearenv();
}

// A set of input shapes by flag is not one more beside that of the environment.
static void flags_replace_a_list_of_the_environment(void **state) {
  (void)state;
  setenv("SEER_INPUT_SHAPES", "x:1x2", 1);
  seer_context *own = NULL;
  must(seer_context_create(&own));
  unsetenv("SEER_INPUT_SHAPES");
  assert_int_equal(seer_context_n_values(own, SEER_OPT_INPUT_SHAPES), 1);
  assert_string_equal(seer_context_value(own, SEER_OPT_INPUT_SHAPES, 0), "x:1x2");
  must(seer_context_set(own, "input-shapes", "x:3x4,y:5"));
  must(seer_context_set(own, "input-shapes", "x:6x7,y:8"));
  assert_int_equal(seer_context_n_values(own, SEER_OPT_INPUT_SHAPES), 2);
  assert_string_equal(seer_context_value(own, SEER_OPT_INPUT_SHAPES, 0), "x:3x4,y:5");
  assert_string_equal(seer_context_value(own, SEER_OPT_INPUT_SHAPES, 1), "x:6x7,y:8");
  seer_context_destroy(own);
}

static void bad_values_say_what_is_allowed(void **state) {
  (void)state;
  fails(seer_context_set(context, "trials", "12x"),
      "option 'trials' is '12x', must be a whole number");
  fails(seer_context_set(context, "trials", "-1"),
      "option 'trials' is '-1', must be from 0 to 1e+09");
  fails(seer_context_set(context, "trials", "99999999999999999999"),
      "option 'trials' is '99999999999999999999', must be a whole number");
  fails(seer_context_set(context, "foresee", "nan"), "option 'foresee' is 'nan', must be a number");
  fails(seer_context_set(context, "foresee", "1.5"),
      "option 'foresee' is '1.5', must be from 0 to 1");
  fails(seer_context_set(context, "emit", "s"),
      "option 'emit' is 's', must be one of so|obj|c|kernels");
  fails(seer_context_set(context, "emit", ""),
      "option 'emit' is '', must be one of so|obj|c|kernels");
  fails(seer_context_set(context, "json", "maybe"),
      "option 'json' is 'maybe', must be 1 or 0, true or false, yes or no, on or off");
  static const char *const bad[] = {
      "5 minutes", "m", "", "5x", "1h 5m", "h1", "-5", "1h5", "nan", "inf"};
  for (size_t i = 0; i < SEER_COUNT_OF(bad); i++) {
    seer_status status = seer_context_set(context, "time-budget", bad[i]);
    if (!status) fail_msg("accepted '%s'", bad[i]);
    seer_status_free(status);
  }
  assert_false(seer_context_is_set(context, SEER_OPT_TIME_BUDGET));
}

static void unknown_names_get_a_suggestion(void **state) {
  (void)state;
  fails(
      seer_context_set(context, "trails", "1"), "unknown option 'trails', did you mean 'trials'?");
  fails(seer_context_set(context, "zzzzzzzz", "1"),
      "unknown option 'zzzzzzzz'; `familyseer list options` names all");
  assert_string_equal(seer_option_nearest("time"), "time-budget");
  assert_string_equal(seer_option_nearest("jsno"), "json");
  assert_string_equal(seer_option_nearest("SEER_OUTPT"), "output");
  assert_false(seer_context_has_option("nope", NULL));
}

static void environment_is_read_and_checked(void **state) {
  (void)state;
  seer_context *other;
  setenv("SEER_TRIALS", "7", 1);
  setenv("SEERNOT", "7", 1);
  setenv("SEER_FLEET_PASSWORD", "geheim", 1);  // no option
  must(seer_context_create(&other));
  assert_int_equal(seer_context_i64(other, SEER_OPT_TRIALS), 7);
  must(seer_context_set(other, "trials", "8"));
  assert_int_equal(seer_context_i64(other, SEER_OPT_TRIALS), 8);
  seer_context_destroy(other);
  setenv("SEER_TRAILS", "7", 1);
  fails(seer_context_create(&other),
      "unknown option 'SEER_TRAILS', did you mean 'trials'?\n  while reading the environment "
      "variable SEER_TRAILS");
  assert_null(other);
  clearenv();
}

static void log_levels_by_topic(void **state) {
  (void)state;
  assert_true(seer_log_on(context, "search", 0));  // always said
  assert_false(seer_log_on(context, "search", 1));
  must(seer_context_set(context, "log", "search:2,measure"));
  assert_true(seer_log_on(context, "search", 2));
  assert_false(seer_log_on(context, "search", 3));
  assert_true(seer_log_on(context, "measure", 1));
  assert_false(seer_log_on(context, "measure", 2));
  assert_false(seer_log_on(context, "sea", 1));
  must(seer_context_set(context, "log", "all:3,search:1"));
  assert_true(seer_log_on(context, "anything", 3));
  assert_false(seer_log_on(context, "search", 2));
}

static void dumps_go_to_their_folder(void **state) {
  (void)state;
  seer_arena *arena = seer_context_arena(context);
  const char *folder;
  must(seer_os_temp_dir("seer-dump", arena, &folder));
  must(seer_context_set(context, "dump", "loop,asm"));
  must(seer_context_set(context, "dump-dir", seer_os_path_join(arena, folder, "new")));
  assert_true(seer_dump_on(context, "loop"));
  assert_false(seer_dump_on(context, "task"));
  must(seer_dump(context, "loop", "a/../b c", "text", 4));
  char *data;
  must(seer_os_read_file(
      seer_os_path_join(arena, folder, "new/a_.._b_c.loop"), arena, 10, &data, NULL));
  assert_string_equal(data, "text");
  must(seer_os_remove_tree(folder));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(names_are_unique_and_defaults_allowed, setup, teardown),
      cmocka_unit_test_setup_teardown(values_are_typed, setup, teardown),
      cmocka_unit_test_setup_teardown(a_command_has_its_own_environment_only, setup, teardown),
      cmocka_unit_test_setup_teardown(flags_replace_a_list_of_the_environment, setup, teardown),
      cmocka_unit_test_setup_teardown(bad_values_say_what_is_allowed, setup, teardown),
      cmocka_unit_test_setup_teardown(unknown_names_get_a_suggestion, setup, teardown),
      cmocka_unit_test_setup_teardown(environment_is_read_and_checked, setup, teardown),
      cmocka_unit_test_setup_teardown(log_levels_by_topic, setup, teardown),
      cmocka_unit_test_setup_teardown(dumps_go_to_their_folder, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
