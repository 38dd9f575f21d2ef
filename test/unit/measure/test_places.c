// Which processors devices and builders have.
#include <string.h>

#include "measure/local/places.h"
#include "support/test_arena.h"

static cpu_set_t from_to(uint32_t from, uint32_t to) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t k = from; k <= to; k++) CPU_SET(k, &set);
  return set;
}

static void find(const char *text, uint32_t n_builders, seer_local_places *out) {
  const seer_device_machine machine = {.root = "/no/such/folder", .allowed = from_to(0, 7)};
  seer_device_list list;
  assert_null(seer_devices_parse(text, &machine, arena, &list));
  seer_local_places_find(&list, &machine, n_builders, 6, out);
}

static void are(const cpu_set_t *set, uint32_t from, uint32_t to) {
  const cpu_set_t expected = from_to(from, to);
  assert_true(CPU_EQUAL(set, &expected));
}

static void places_are_found(void **state) {
  (void)state;
  seer_local_places p;
  find("", 0, &p);  // all for both
  assert_true(p.n_devices == 1 && p.n_places == 1 && p.n_builders == 6);
  are(&p.device[0], 0, 7);
  are(&p.place[0], 0, 7);
  assert_string_equal(p.name[0], "cpu");
  find("cpu:0-1,cpu:2-3", 0, &p);  // others are left
  assert_true(p.n_devices == 2 && p.n_places == 1 && p.n_builders == 4);
  are(&p.device[1], 2, 3);
  are(&p.place[0], 4, 7);
  find("cpu:0-3,cpu:4-7", 0, &p);  // none is left: each has a device's
  assert_true(p.n_devices == 2 && p.n_places == 2 && p.n_builders == 8);
  are(&p.place[0], 0, 3);
  are(&p.place[1], 4, 7);
  find("cpu:0-3,cpu:4-7", 3, &p);
  assert_int_equal(p.n_builders, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(places_are_found, arena_open, arena_close)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
