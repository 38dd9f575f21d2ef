// Which processors devices and builders have.
#include <string.h>

#include "base/os.h"
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

static seer_status find_of_drivers(const char *text, const bool *is_cpu, uint32_t n_processors,
    double quota, seer_local_places *out) {
  const seer_device_machine machine = {
      .root = "/no/such/folder", .allowed = from_to(0, n_processors - 1), .quota = quota};
  seer_device_list list;
  assert_null(seer_devices_parse(text, &machine, arena, &list));
  return seer_local_places_of_drivers(&list, is_cpu, &machine, 0, n_processors, "opencl:0", out);
}

// Devices of OpenCL that are this machine's processors.
static void devices_that_are_processors_share_them(void **state) {
  (void)state;
  static const bool none[3] = {false}, all[3] = {true, true, true}, last[2] = {false, true};
  seer_local_places p;
  assert_null(find_of_drivers("", all, 2, 0, &p));  // one has what builders have
  assert_true(p.n_devices == 1 && p.n_places == 1 && p.n_builders == 2);
  assert_string_equal(p.name[0], "opencl:0");
  are(&p.device[0], 0, 1);
  assert_null(find_of_drivers("opencl:1", all, 2, 0, &p));
  are(&p.device[0], 0, 1);
  assert_null(find_of_drivers("opencl:0,opencl:1", all, 2, 0, &p));
  assert_true(p.n_devices == 2 && p.n_places == 2 && p.n_builders == 2);
  are(&p.device[0], 0, 0);
  are(&p.device[1], 1, 1);
  are(&p.place[1], 1, 1);
  assert_string_equal(p.name[1], "opencl:1");
  assert_null(find_of_drivers("opencl:0,opencl:1,opencl:2", all, 8, 0, &p));
  assert_true(p.n_devices == 3 && p.n_places == 1 && p.n_builders == 2);
  are(&p.device[2], 4, 5);
  are(&p.place[0], 6, 7);
  assert_null(find_of_drivers("opencl:0,opencl:1", all, 8, 4, &p));  // control groups grant four
  are(&p.device[1], 2, 3);
  assert_null(find_of_drivers("cuda:0,cuda:1", none, 2, 0, &p));  // neither is timed on processors
  assert_true(p.n_devices == 2 && p.n_places == 1 && p.n_builders == 2);
  are(&p.place[0], 0, 1);
  assert_null(find_of_drivers("opencl:0,opencl:1", last, 2, 0, &p));
  are(&p.device[1], 0, 1);
  seer_status status = find_of_drivers("opencl:0,opencl:1", all, 1, 0, &p);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  seer_status_free(status);
}

// Of four processors that are two cores, 0 with 2 and 1 with 3.
static void a_share_is_of_whole_cores(void **state) {
  (void)state;
  const char *root;
  assert_null(seer_os_temp_dir("seer-places", arena, &root));
  static const bool all[4] = {true, true, true, true};
  for (uint32_t k = 0; k < 4; k++) {
    char path[256], text[8];
    (void)snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology", root, k);
    assert_null(seer_os_make_dirs(path));
    (void)snprintf(path, sizeof path,
        "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", root, k);
    (void)snprintf(text, sizeof text, "%u,%u\n", k % 2, k % 2 + 2);
    assert_null(seer_os_write_file(path, text, strlen(text)));
  }
  const seer_device_machine machine = {.root = root, .allowed = from_to(0, 3)};
  seer_device_list list;
  seer_local_places p;
  assert_null(seer_devices_parse("opencl:0,opencl:1", &machine, arena, &list));
  assert_null(seer_local_places_of_drivers(&list, all, &machine, 0, 4, "opencl:0", &p));
  for (uint32_t k = 0; k < 4; k++) assert_true(CPU_ISSET(k, &p.device[k % 2]));
  assert_true(CPU_COUNT(&p.device[0]) == 2 && CPU_COUNT(&p.device[1]) == 2);
  assert_int_equal(p.n_builders, 4);
  // more devices than cores
  assert_null(seer_devices_parse("opencl:0,opencl:1,opencl:2,opencl:3", &machine, arena, &list));
  assert_null(seer_local_places_of_drivers(&list, all, &machine, 0, 4, "opencl:0", &p));
  are(&p.device[3], 3, 3);
  assert_null(seer_os_remove_tree(root));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(places_are_found, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          devices_that_are_processors_share_them, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(a_share_is_of_whole_cores, arena_open, arena_close)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
