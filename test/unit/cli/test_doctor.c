// doctor: machines that are made of files, and what is found of each.
#include "cli/doctor.h"

#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "support/test_arena.h"

static void put(const char *root, const char *path, const char *text) {
  const char *full = seer_os_path_join(arena, root, path);
  assert_null(seer_os_make_dirs(seer_os_path_dir(arena, full)));
  assert_null(seer_os_write_file(full, text, strlen(text)));
}

// Two processors, quiet, with all that a library wants.
static seer_device_machine make_machine(void) {
  seer_device_machine machine = {.root = NULL};
  assert_null(seer_os_temp_dir("seer-doctor", arena, &machine.root));
  CPU_ZERO(&machine.allowed);
  CPU_SET(0, &machine.allowed);
  CPU_SET(1, &machine.allowed);
  put(machine.root, "sys/devices/system/cpu/online", "0-1\n");
  put(machine.root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  put(machine.root, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  put(machine.root, "sys/devices/system/cpu/cpufreq/boost", "1\n");
  put(machine.root, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  put(machine.root, "proc/loadavg", "0.10 0.20 0.30 1/200 4711\n");
  put(machine.root, "proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    8388608 kB\n");
  return machine;
}

static seer_doctor_report look(const seer_device_machine *machine) {
  seer_doctor_report report = {.arena = arena};
  seer_doctor_read_system(machine, &report);
  return report;
}

static void expect(const seer_doctor_report *report, const char *topic, seer_doctor_verdict verdict,
    const char *text) {
  for (uint32_t i = 0; i < report->n; i++) {
    const seer_doctor_finding *f = &report->finding[i];
    if (strcmp(f->topic, topic) != 0) continue;
    if (f->verdict != verdict || !strstr(f->text, text))
      fail_msg("%s: %s, %s", topic, seer_doctor_verdict_name(f->verdict), f->text);
    assert_true(verdict != SEER_DOCTOR_OK || !*f->advice);
    return;
  }
  fail_msg("nothing of %s", topic);
}

static void a_fine_machine(void **state) {
  (void)state;
  const seer_device_machine machine = make_machine();
  const seer_doctor_report report = look(&machine);
  for (uint32_t i = 0; i < report.n; i++)
    assert_int_equal(report.finding[i].verdict, SEER_DOCTOR_OK);
  expect(&report, "threads", SEER_DOCTOR_OK, "2 processors on 2 cores");
  expect(&report, "memory nodes", SEER_DOCTOR_OK, "one");
  expect(&report, "clock", SEER_DOCTOR_OK, "governor performance, turbo on");
  expect(&report, "huge pages", SEER_DOCTOR_OK, "where asked for");
  expect(&report, "memory", SEER_DOCTOR_OK, "8.0 GiB");
  expect(&report, "load", SEER_DOCTOR_OK, "0.10");
  assert_null(seer_os_remove_tree(machine.root));
}

static void each_that_is_wrong(void **state) {
  (void)state;
  seer_device_machine machine = make_machine();
  put(machine.root, "sys/devices/system/cpu/online", "0-3,8\n");
  put(machine.root, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  put(machine.root, "sys/devices/system/cpu/cpufreq/boost", "0\n");
  put(machine.root, "sys/devices/system/node/node0/cpulist", "0\n");
  put(machine.root, "sys/devices/system/node/node1/cpulist", "1-3,8\n");
  put(machine.root, "sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  put(machine.root, "proc/loadavg", "2.50 0.20 0.30 1/200 4711\n");
  put(machine.root, "proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    131072 kB\n");
  seer_doctor_report report = look(&machine);
  expect(&report, "threads", SEER_DOCTOR_NOTE, "2 processors on 2 cores, of 5");
  expect(&report, "memory nodes", SEER_DOCTOR_NOTE, "2 NUMA nodes");
  expect(&report, "clock", SEER_DOCTOR_NOTE,
      "'powersave' lets processors slow down between runs, turbo off");
  expect(&report, "huge pages", SEER_DOCTOR_WARNING, "off");
  expect(&report, "load", SEER_DOCTOR_WARNING, "2.50 in the last minute, on 2 processors");
  expect(&report, "memory", SEER_DOCTOR_WARNING, "0.1 GiB");
  machine.quota = 1.5;
  put(machine.root, "proc/loadavg", "0.90 0.20 0.30 1/200 4711\n");
  report = look(&machine);
  expect(&report, "threads", SEER_DOCTOR_NOTE, "the control groups grant 1.5: 1 thread by default");
  expect(&report, "load", SEER_DOCTOR_NOTE, "on 1 processor");
  assert_null(seer_os_remove_tree(machine.root));
}

// What the system does not say is nobody's fault.
static void a_machine_that_says_nothing(void **state) {
  (void)state;
  seer_device_machine machine = make_machine();
  assert_null(seer_os_remove_tree(machine.root));
  const seer_doctor_report report = look(&machine);
  expect(&report, "clock", SEER_DOCTOR_OK, "does not say");
  expect(&report, "memory", SEER_DOCTOR_OK, "does not say");
  expect(&report, "huge pages", SEER_DOCTOR_NOTE, "does not say");
  for (uint32_t i = 0; i < report.n; i++)
    assert_int_not_equal(report.finding[i].verdict, SEER_DOCTOR_WARNING);
}

// Times are the machine's: that there are some is all that holds on each.
static void times_are_found(void **state) {
  (void)state;
  seer_doctor_report report = {.arena = arena};
  seer_doctor_time(2, &report);
  assert_true(report.n >= 2 && report.n <= 3);
  assert_string_equal(report.finding[0].topic, "noise");
  assert_string_equal(report.finding[1].topic, "cores");
  for (uint32_t k = 0; k < 2 * SEER_DOCTOR_MAX; k++)
    seer_doctor_add(&report, SEER_DOCTOR_OK, "", "finding %u", k);
  assert_int_equal(report.n, SEER_DOCTOR_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_fine_machine, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(each_that_is_wrong, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(a_machine_that_says_nothing, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(times_are_found, arena_open, arena_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
