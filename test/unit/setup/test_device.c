// --devices: what a text names, what is refused with which words, and how a machine is divided.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "setup/device.h"
#include "support/test_arena.h"

static seer_device_machine of(uint32_t n, uint32_t threads) {
  seer_device_machine machine = {.root = "/no/such/folder", .threads = threads};
  CPU_ZERO(&machine.allowed);
  for (uint32_t k = 0; k < n; k++) CPU_SET(k, &machine.allowed);
  return machine;
}

static void processors_are_named(void **state) {
  (void)state;
  const seer_device_machine machine = of(12, 0);
  seer_device_list list;
  assert_null(seer_devices_parse("", &machine, arena, &list));
  assert_int_equal(list.n, 0);
  assert_null(seer_devices_parse("cpu:0-2+8,cpu:3-6", &machine, arena, &list));
  assert_int_equal(list.n, 2);
  assert_string_equal(list.device[0].name, "cpu:0-2+8");
  assert_int_equal(list.device[0].n_processors, 4);
  assert_int_equal(list.device[1].slot, 1);
  for (uint32_t k = 0; k < 12; k++) {
    assert_int_equal(CPU_ISSET(k, &list.device[0].processors) != 0, k < 3 || k == 8);
    assert_int_equal(CPU_ISSET(k, &list.device[1].processors) != 0, k >= 3 && k < 7);
  }
  assert_null(seer_devices_parse("fake:0,fake:7", &machine, arena, &list));
  assert_int_equal(list.device[1].kind, SEER_DEVICE_FAKE);
  assert_int_equal(list.device[1].n_processors, 0);
}

static void what_is_wrong_is_quoted(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"cp", "'cp' is none; allowed: cpu:N"},
      {"cpu:", "'cpu:' is none"}, {"gpu:0", "'gpu:0' is none"}, {"cpu:x", "'cpu:x' is none"},
      {"cpu:1-", "'cpu:1-' is none"}, {"cpu:3-1", "'cpu:3-1' is none"},
      {"cpu:1+", "'cpu:1+' is none"}, {"cpu:-1", "is none"}, {"cpu:1 ", "is none"},
      {",cpu:1", "'' is none"}, {"cpu:1,", "the last one is missing"}, {",", "'' is none"},
      {"cpu,cpu:1", "'cpu' is none"}, {"fake:", "is none"}, {"fake:0-1", "is none"},
      {"fake:1,fake:1", "device fake:1 is named twice"}, {"cpu:12", "processor 12 is not there"},
      {"cpu:0-99999999999", "is not there"},
      {"cpu:0-3,cpu:3-6", "device cpu:3-6: processor 3 is named twice"},
      {"cpu:1+1", "processor 1 is named twice"},
      {"cpu:0-1,cpu:2", "device cpu:2 has 1 processors, cpu:0-1 has 2"},
      {"cpu:0,fake:1", "device fake:1 is of kind fake, cpu:0 of kind cpu"}, {"cuda:x", "'cuda:x'"},
      {"opencl:1+2", "'opencl:1+2'"}, {"opencl:", "'opencl:'"},
      {"cpu:0,opencl:1", "device opencl:1 is of kind opencl, cpu:0 of kind cpu"},
      {"opencl:1,opencl:1", "device opencl:1 is named twice"}};
  const seer_device_machine machine = of(12, 0);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    seer_device_list list;
    seer_status status = seer_devices_parse(cases[k][0], &machine, arena, &list);
    assert_non_null(status);
    if (!strstr(seer_status_message(status), cases[k][1]))
      fail_msg("'%s': %s", cases[k][0], seer_status_message(status));
    seer_status_free(status);
  }
  seer_device_machine granted = machine;
  granted.quota = 1.5;
  seer_device_list list;
  seer_status status = seer_devices_parse("cpu:0,cpu:1", &granted, arena, &list);
  assert_non_null(strstr(seer_status_message(status), "2 processors"));
  seer_status_free(status);
}

// ---- a machine is divided
static void put(const char *root, const char *path, const char *text) {
  const char *full = seer_os_path_join(arena, root, path);
  assert_null(seer_os_make_dirs(seer_os_path_dir(arena, full)));
  assert_null(seer_os_write_file(full, text, strlen(text)));
}

// Two nodes of four cores with two threads each: processors 0-7 and, as siblings, 8-15.
static const char *make_machine(void) {
  const char *root;
  assert_null(seer_os_temp_dir("seer-device", arena, &root));
  for (uint32_t cpu = 0; cpu < 16; cpu++) {
    char path[128], text[32];
    (void)snprintf(
        path, sizeof path, "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    (void)snprintf(text, sizeof text, "%u,%u\n", cpu % 8, cpu % 8 + 8);
    put(root, path, text);
  }
  put(root, "sys/devices/system/node/node0/cpulist", "0-3,8-11\n");
  put(root, "sys/devices/system/node/node1/cpulist", "4-7,12-15\n");
  return root;
}

static const char *names(const seer_device_machine *machine) {
  seer_device_list list;
  seer_status status = seer_devices_parse("cpu", machine, arena, &list);
  if (status) {
    const char *why = seer_arena_strdup(arena, seer_status_message(status));
    seer_status_free(status);
    return why;
  }
  const char *all = "";
  for (uint32_t k = 0; k < list.n; k++) {
    assert_int_equal(CPU_COUNT(&list.device[k].processors), list.device[k].n_processors);
    all = seer_arena_printf(arena, "%s%s%s", all, k ? " " : "", list.device[k].name);
  }
  return all;
}

static void a_machine_is_divided(void **state) {
  (void)state;
  seer_device_machine machine = of(16, 0);
  machine.root = make_machine();
  assert_string_equal(names(&machine), "cpu:0-3 cpu:4-7");  // one a node, no two of a core
  machine.threads = 1;
  seer_device_list list;
  const seer_tuning_device *one, *other;
  must(seer_devices_parse("cpu:1,cpu:2,cpu:3", &machine, arena, &list));
  assert_false(seer_devices_share_a_core(machine.root, &list, &one, &other));
  must(seer_devices_parse("cpu:1,cpu:2,cpu:9", &machine, arena, &list));
  assert_true(seer_devices_share_a_core(machine.root, &list, &one, &other));
  assert_string_equal(one->name, "cpu:1");
  assert_string_equal(other->name, "cpu:9");
  assert_string_equal(names(&machine), "cpu:0 cpu:1 cpu:2 cpu:3 cpu:4 cpu:5 cpu:6 cpu:7");
  machine.threads = 3;
  assert_string_equal(names(&machine), "cpu:0-2 cpu:4-6");  // none of two nodes
  machine.threads = 2;
  machine.quota = 5;
  assert_string_equal(names(&machine), "cpu:0-1 cpu:2-3");
  machine.threads = 5;
  machine.quota = 0;
  assert_non_null(strstr(names(&machine), "no NUMA node has 5 cores"));
  machine.threads = 2;
  CPU_CLR(1, &machine.allowed);
  CPU_CLR(9, &machine.allowed);
  assert_string_equal(names(&machine), "cpu:0+2 cpu:4-5 cpu:6-7");
  put(machine.root, "sys/devices/cpu_atom/cpus", "4-7\n");  // small cores
  assert_string_equal(names(&machine), "cpu:0+2");
  seer_status status = seer_devices_parse("cpu:0,cpu:5", &machine, arena, &list);
  assert_non_null(strstr(seer_status_message(status), "cores of two sorts"));
  seer_status_free(status);
  cpu_set_t two, all;
  CPU_ZERO(&two);
  CPU_SET(3, &two);
  seer_device_with_siblings(machine.root, &two, &all);
  assert_true(CPU_COUNT(&all) == 2 && CPU_ISSET(11, &all));
  assert_null(seer_os_remove_tree(machine.root));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(processors_are_named, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(what_is_wrong_is_quoted, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(a_machine_is_divided, arena_open, arena_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
