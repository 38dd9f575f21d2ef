// Ingredients of policies can be left out, each and all of them; what is unknown, what a policy
// does not have, and what would change nothing is refused.
#include "tune/scheduler/ingredient.h"

#include <string.h>

#include "support/test.h"

static const seer_ingredient_basis everything = {.has_pool = false, .has_records = true};

static const seer_scheduler_desc *policy_of(const char *name) {
  seer_policy policy;
  must(seer_policy_find(name, &policy));
  return policy.policy;
}

static void refuses(const char *policy, const char *list, seer_ingredient_basis basis,
    const char *what, seer_arena *arena) {
  const seer_scheduler_desc *out;
  seer_status status = seer_policy_without(policy_of(policy), list, &basis, arena, &out);
  if (!status) fail_msg("not refused: %s without %s", policy, list);
  if (!strstr(seer_status_message(status), what))
    fail_msg("'%s' is not in: %s", what, seer_status_message(status));
  seer_status_free(status);
}

static bool is_same(const seer_scheduler_desc *a, const seer_scheduler_desc *b) {
  seer_policy_traits x = *a->traits, y = *b->traits;
  bool is_same_search = memcmp(x.search, y.search, sizeof *x.search) == 0;
  x.search = y.search = NULL;
  return is_same_search && memcmp(&x, &y, sizeof x) == 0;
}

static void each_can_be_left_out(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_scheduler_desc *whole = policy_of("seer"), *less, *before = NULL;
  seer_policy_traits traits = *whole->traits;
  for (size_t i = 0; i < seer_ingredient_table_count; i++) {
    const seer_ingredient *ingredient = seer_ingredient_table[i];
    assert_true(ingredient->doc[0] != '\0');
    // The default has all of them but one.
    bool is_others = strcmp(ingredient->name, "families") == 0;
    const seer_scheduler_desc *having = is_others ? policy_of("familyseer") : whole;
    if (is_others) refuses("seer", ingredient->name, everything, "does not have it", arena);
    must(seer_policy_without(having, ingredient->name, &everything, arena, &less));
    if (is_same(having, less)) fail_msg("without %s nothing is changed", ingredient->name);
    if (before && is_same(before, less)) fail_msg("%s is the one before", ingredient->name);
    assert_true(less->next == having->next);
    assert_string_equal(less->name, having->name);
    before = less;
  }
  assert_memory_equal(&traits, whole->traits, sizeof traits);  // the policy is as it was
  must(seer_policy_without(whole, "", &everything, arena, &less));
  assert_ptr_equal(less, whole);
  must(seer_policy_without(whole, "alike,racing,racing", &everything, arena, &less));
  assert_true(less->traits->search->alike_cost == 0 && !less->traits->is_raced);
  assert_true(less->traits->tries_transfers && less->traits->has_witnesses);
  seer_arena_destroy(arena);
}

static void what_changes_nothing_is_refused(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const seer_ingredient_basis table = {.has_pool = true};
  refuses(
      "seer", "racings", everything, "there is no ingredient 'racings'; allowed: transfers", arena);
  refuses("seer", "racing,", everything, "there is no ingredient ''", arena);
  refuses("ansor", "racing", everything, "policy ansor does not have it; it has: ", arena);
  refuses("ansor", "families", everything, "does not have it", arena);
  refuses("familyseer-foresee", "families", everything, "does not have it", arena);
  refuses("seer", "alike,racing", table, "--without racing would change nothing", arena);
  refuses("seer", "evolution", table, "neither drawn nor bred", arena);
  refuses("seer", "transfers", table, "no records are read", arena);
  const seer_scheduler_desc *less;
  must(seer_policy_without(policy_of("ansor"), "random", &table, arena, &less));
  assert_true(less->traits->search->random_share == 0);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_can_be_left_out), cmocka_unit_test(what_changes_nothing_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
