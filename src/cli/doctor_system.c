// doctor_system.c - a machine's small files -> findings. See doctor.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/processors.h"
#include "cli/doctor.h"

#define GIB 1073741824.0
#define LITTLE_MEMORY (1 * GIB)
#define NO_MEMORY (0.25 * GIB)  // a network of a hundred megabytes is compiled in about that

// A file's first line, without blanks around it; "" where there is none.
static const char *read_line(const char *root, const char *path, char *out, size_t n_out) {
  char whole[512];
  (void)snprintf(whole, sizeof whole, "%s%s", root, path);
  if (!seer_processors_read(whole, out, n_out)) return "";
  out[strcspn(out, "\n")] = '\0';
  return out;
}

// ---- processors

// "0-3,8" -> 5
static uint32_t count_list(const char *list) {
  uint32_t n = 0;
  while (*list >= '0' && *list <= '9') {
    uint64_t from = seer_processors_number(&list), to = from;
    if (*list == '-') {
      list++;
      to = seer_processors_number(&list);
    }
    if (to >= from) n += (uint32_t)(to - from + 1);
    if (*list != ',') break;
    list++;
  }
  return n;
}

static void look_at_processors(const seer_device_machine *machine, seer_doctor_report *r) {
  seer_processors own;
  char line[512];
  seer_processors_by_core(machine->root, &machine->allowed, &own);
  uint32_t n_online =
      count_list(read_line(machine->root, "/sys/devices/system/cpu/online", line, sizeof line));
  uint32_t threads = seer_processors_cut(own.n_cores, machine->quota);
  r->topic = "threads";
  const char *text = seer_arena_printf(r->arena, "%u processor%s on %u core%s", own.n,
      own.n == 1 ? "" : "s", own.n_cores, own.n_cores == 1 ? "" : "s");
  if (machine->quota > 0 && machine->quota < own.n)
    seer_doctor_add(r, SEER_DOCTOR_NOTE,
        machine->quota < 1 ? "grant a whole processor at least: times are of nothing otherwise"
                           : "a quota stops all threads at once for the rest of its period: pin to "
                             "whole processors instead (cpuset) where times matter",
        "%s, of which the control groups grant %.4g: %u thread%s by default", text, machine->quota,
        threads, threads == 1 ? "" : "s");
  else if (n_online > own.n)
    seer_doctor_add(r, SEER_DOCTOR_NOTE,
        "taskset or a cpuset keeps the others from this process; tune where the library will run",
        "%s, of %u that the machine has", text, n_online);
  else
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "%s; a library runs on %u thread%s by default", text,
        threads, threads == 1 ? "" : "s");
}

// As --devices cpu would split it.
static void look_at_nodes(const seer_device_machine *machine, seer_doctor_report *r) {
  seer_device_machine one_a_node = *machine;
  one_a_node.threads = 0;
  one_a_node.quota = 0;
  seer_device_list nodes;
  r->topic = "memory nodes";
  seer_status status = seer_devices_parse("cpu", &one_a_node, r->arena, &nodes);
  if (!status && nodes.n > 1)
    seer_doctor_add(r, SEER_DOCTOR_NOTE,
        "tune --devices cpu makes a library for the threads of one node, on several at a time",
        "%u NUMA nodes: a library for all cores reads memory that is far from half of them",
        nodes.n);
  else if (!status)
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "one");
  seer_status_free(status);
}

// ---- clocks and load

// The governor of the first processor that is not at "performance"; else that of the last.
static const char *find_governor(const seer_device_machine *machine, char *out, size_t n_out) {
  const char *found = "";
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE && (!*found || strcmp(found, "performance") == 0);
       cpu++) {
    if (!CPU_ISSET(cpu, &machine->allowed)) continue;
    char path[96];
    (void)snprintf(
        path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", cpu);
    found = read_line(machine->root, path, out, n_out);
    if (!*found) break;
  }
  return found;
}

static void look_at_clocks(const seer_device_machine *machine, seer_doctor_report *r) {
  char governor[64], boost[64], no_turbo[64];
  const char *name = find_governor(machine, governor, sizeof governor);
  const char *is_boosting =
      read_line(machine->root, "/sys/devices/system/cpu/cpufreq/boost", boost, sizeof boost);
  const char *is_held = read_line(
      machine->root, "/sys/devices/system/cpu/intel_pstate/no_turbo", no_turbo, sizeof no_turbo);
  bool knows = *is_boosting || *is_held, turbo = *is_boosting == '1' || *is_held == '0';
  const char *about = !knows ? "" : turbo ? ", turbo on" : ", turbo off";
  r->topic = "clock";
  if (!*name)
    seer_doctor_add(r, SEER_DOCTOR_OK, "",
        "the system does not say what sets it, as in most virtual machines%s", about);
  else if (strcmp(name, "performance") != 0)
    seer_doctor_add(r, SEER_DOCTOR_NOTE,
        "where times matter: cpupower frequency-set -g performance",
        "the governor '%s' lets processors slow down between runs%s", name, about);
  else
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "governor performance%s", about);
}

static void look_at_load(const seer_device_machine *machine, seer_doctor_report *r) {
  double load = seer_os_load(machine->root);
  uint32_t n = seer_processors_cut((uint32_t)CPU_COUNT(&machine->allowed), machine->quota);
  r->topic = "load";
  if (load > 0.25 * n)
    seer_doctor_add(r, load > n ? SEER_DOCTOR_WARNING : SEER_DOCTOR_NOTE,
        "tune when nothing else runs: what is timed beside other work says little",
        "%.2f in the last minute, on %u processor%s", load, n, n == 1 ? "" : "s");
  else
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "%.2f in the last minute", load);
}

// ---- memory

static void look_at_pages(const seer_device_machine *machine, seer_doctor_report *r) {
  char line[128];
  const char *text =
      read_line(machine->root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line);
  r->topic = "huge pages";
  if (strstr(text, "[never]"))
    seer_doctor_add(r, SEER_DOCTOR_WARNING,
        "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        "off: weights and activations lie in pages of 4 KiB, which costs large networks time");
  else if (strstr(text, "[always]") || strstr(text, "[madvise]"))
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "%s",
        strstr(text, "[always]") ? "for all memory" : "where asked for, as libraries do");
  else
    seer_doctor_add(r, SEER_DOCTOR_NOTE, "", "the system does not say whether there are any");
}

static void look_at_memory(const seer_device_machine *machine, seer_doctor_report *r) {
  double n_bytes = (double)seer_os_available_bytes(machine->root);
  seer_doctor_verdict verdict = n_bytes == 0 ? SEER_DOCTOR_OK
      : n_bytes < NO_MEMORY                  ? SEER_DOCTOR_WARNING
      : n_bytes < LITTLE_MEMORY              ? SEER_DOCTOR_NOTE
                                             : SEER_DOCTOR_OK;
  r->topic = "memory";
  if (n_bytes == 0)
    seer_doctor_add(r, verdict, "", "the system does not say how much is free");
  else
    seer_doctor_add(r, verdict,
        verdict == SEER_DOCTOR_OK ? ""
                                  : "a tuning has a process for each device, each with a copy of "
                                    "what it times",
        "%.1f GiB free", n_bytes / GIB);
}

void seer_doctor_read_system(const seer_device_machine *machine, seer_doctor_report *report) {
  look_at_processors(machine, report);
  look_at_nodes(machine, report);
  look_at_load(machine, report);
  look_at_clocks(machine, report);
  look_at_pages(machine, report);
  look_at_memory(machine, report);
}
