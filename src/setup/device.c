// device.c - "cpu:0-3,cpu:4-7" -> sets of processors. The contract: device.h.
#include "setup/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/net.h"

#define MAX_NODES 256
#define LIST_BYTES 4096

static const char *const kind_names[SEER_DEVICE_KIND_COUNT] = {
    "cpu", "fake", "runner", "opencl", "cuda"};
const char *seer_device_kind_name(seer_device_kind kind) { return kind_names[kind]; }

uint32_t seer_device_first_number(const seer_device_list *devices) {
  return devices->n > 0 ? devices->device[0].number : 0;
}

// ---- the machine

seer_device_machine seer_device_machine_here(uint32_t threads) {
  seer_device_machine here = {.root = "", .quota = seer_processors_quota(""), .threads = threads};
  CPU_ZERO(&here.allowed);
  (void)sched_getaffinity(0, sizeof here.allowed, &here.allowed);
  return here;
}

// What a file of the system lists, "0-3,8". False: there is no such file.
static bool read_list(const char *path, cpu_set_t *out) {
  char text[LIST_BYTES];
  CPU_ZERO(out);
  if (!seer_processors_read(path, text, sizeof text)) return false;
  for (const char *at = text; *at >= '0' && *at <= '9';) {
    uint64_t from = seer_processors_number(&at), to = from;
    if (*at == '-') {
      at++;
      to = seer_processors_number(&at);
    }
    for (uint64_t cpu = from; cpu <= to && cpu < CPU_SETSIZE; cpu++) CPU_SET((size_t)cpu, out);
    if (*at != ',') break;
    at++;
  }
  return true;
}

void seer_device_with_siblings(const char *root, const cpu_set_t *set, cpu_set_t *out) {
  *out = *set;
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, set)) continue;
    char path[512];
    cpu_set_t siblings;
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
        root, cpu);
    if (read_list(path, &siblings)) CPU_OR(out, out, &siblings);
  }
}

bool seer_devices_share_a_core(const char *root, const seer_device_list *devices,
    const seer_tuning_device **out_one, const seer_tuning_device **out_other) {
  for (uint32_t i = 0; i < devices->n; i++) {
    cpu_set_t cores, both;
    seer_device_with_siblings(root, &devices->device[i].processors, &cores);
    for (uint32_t k = i + 1; k < devices->n; k++) {
      CPU_AND(&both, &cores, &devices->device[k].processors);
      if (CPU_COUNT(&both) == 0) continue;
      *out_one = &devices->device[i];
      *out_other = &devices->device[k];
      return true;
    }
  }
  return false;
}

// Hybrid processors have small cores: what is fast there says little of the others.
static bool is_small_core(const char *root, uint32_t cpu) {
  char path[512];
  cpu_set_t small;
  snprintf(path, sizeof path, "%s/sys/devices/cpu_atom/cpus", root);
  return read_list(path, &small) && CPU_ISSET(cpu, &small);
}

static uint32_t first_of(const cpu_set_t *set) {
  uint32_t cpu = 0;
  while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, set)) cpu++;
  return cpu;
}

// ---- named processors

// Digits at *at, which moves behind them; at most CPU_SETSIZE. False: there are none.
static bool read_number(const char **at, uint32_t *out) {
  if (**at < '0' || **at > '9') return false;
  for (*out = 0; **at >= '0' && **at <= '9'; ++*at) {
    *out = *out * 10 + (uint32_t)(**at - '0');
    if (*out > CPU_SETSIZE) *out = CPU_SETSIZE;
  }
  return true;
}

static seer_status add_processor(
    seer_tuning_device *device, uint32_t cpu, const cpu_set_t *allowed, const cpu_set_t *taken) {
  if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, allowed))
    return SEER_FAIL(
        INVALID, "device %s: processor %u is not there, or may not be used", device->name, cpu);
  if (CPU_ISSET(cpu, taken) || CPU_ISSET(cpu, &device->processors))
    return SEER_FAIL(
        INVALID, "device %s: processor %u is named twice; devices share none", device->name, cpu);
  CPU_SET(cpu, &device->processors);
  device->n_processors++;
  return SEER_OK;
}

static seer_status no_device(const seer_tuning_device *device) {
  return SEER_FAIL(INVALID,
      "device '%s' is none; allowed: cpu:N, cpu:N-M, more of these behind a +, as in cpu:0-3+8, "
      "and cpu alone for all that there is room for; runner:HOST[:PORT] for a familyseer-runner "
      "elsewhere; fake:N for --measure fake",
      device->name);
}

// "0-3+8"
static seer_status read_processors(
    const char *at, const cpu_set_t *allowed, const cpu_set_t *taken, seer_tuning_device *device) {
  for (;;) {
    uint32_t from, to;
    bool is_range = read_number(&at, &from);
    to = from;
    if (is_range && *at == '-') {
      at++;
      is_range = read_number(&at, &to) && from <= to;
    }
    if (!is_range || (*at && *at != '+')) return no_device(device);
    for (uint32_t cpu = from; cpu <= to; cpu++)
      SEER_TRY(add_processor(device, cpu, allowed, taken));
    if (!*at++) return SEER_OK;
  }
}

static bool has_kind(const char *name, const char *kind, const char **out_rest) {
  size_t n = strlen(kind);
  if (strncmp(name, kind, n) != 0 || name[n] != ':') return false;
  *out_rest = name + n + 1;
  return true;
}

seer_status seer_device_read_address(const char *address, uint16_t port, seer_arena *arena,
    const char **out_host, uint16_t *out_port) {
  *out_port = port;
  const char *wrong = seer_net_read_address(address, strlen(address), arena, out_host, out_port);
  if (!wrong) return SEER_OK;
  return SEER_FAIL(INVALID,
      "'%s' is no address of a runner: %s; allowed: HOST, HOST:PORT, [IPv6], [IPv6]:PORT", address,
      wrong);
}

static seer_status read_device(const seer_device_machine *machine, const cpu_set_t *taken,
    seer_arena *arena, seer_tuning_device *device) {
  static const seer_device_kind numbered[] = {SEER_DEVICE_OPENCL, SEER_DEVICE_CUDA};
  const char *rest = "";
  for (size_t i = 0; i < SEER_COUNT_OF(numbered); i++) {
    if (!has_kind(device->name, kind_names[numbered[i]], &rest)) continue;
    device->kind = numbered[i];
    return read_number(&rest, &device->number) && !*rest ? SEER_OK : no_device(device);
  }
  if (has_kind(device->name, kind_names[SEER_DEVICE_CPU], &rest))
    return read_processors(rest, &machine->allowed, taken, device);
  if (has_kind(device->name, kind_names[SEER_DEVICE_RUNNER], &rest)) {
    device->kind = SEER_DEVICE_RUNNER;
    const char *host;
    uint16_t port;
    return seer_device_read_address(rest, 1, arena, &host, &port);
  }
  uint32_t number;
  device->kind = SEER_DEVICE_FAKE;
  bool is_fake = has_kind(device->name, kind_names[SEER_DEVICE_FAKE], &rest);
  return is_fake && read_number(&rest, &number) && !*rest ? SEER_OK : no_device(device);
}

// What is timed on one device is to hold for the others.
static seer_status check_alike(const seer_device_machine *machine, const seer_tuning_device *first,
    const seer_tuning_device *other) {
  static const char why[] = "all devices of a tuning must be alike";
  if (first->kind != other->kind)
    return SEER_FAIL(INVALID, "device %s is of kind %s, %s of kind %s: %s", other->name,
        kind_names[other->kind], first->name, kind_names[first->kind], why);
  if (first->n_processors != other->n_processors)
    return SEER_FAIL(INVALID, "device %s has %u processors, %s has %u: %s", other->name,
        other->n_processors, first->name, first->n_processors, why);
  if (first->kind == SEER_DEVICE_CPU &&
      is_small_core(machine->root, first_of(&first->processors)) !=
          is_small_core(machine->root, first_of(&other->processors)))
    return SEER_FAIL(INVALID, "devices %s and %s have cores of two sorts, large and small: %s",
        first->name, other->name, why);
  return SEER_OK;
}

static seer_tuning_device *add_device(seer_device_list *list, const char *name) {
  seer_tuning_device *device = &list->device[list->n];
  *device = (seer_tuning_device){.slot = list->n++, .name = name};
  return device;
}

static seer_status read_list_of_devices(const char *text, const seer_device_machine *machine,
    seer_arena *arena, seer_device_list *out) {
  cpu_set_t taken;
  CPU_ZERO(&taken);
  for (const char *at = text; *at;) {
    size_t n = strcspn(at, ",");
    if (out->n == SEER_DEVICES_MAX)
      return SEER_FAIL(INVALID, "devices %s: more than %d", text, SEER_DEVICES_MAX);
    seer_tuning_device *device = add_device(out, seer_arena_strndup(arena, at, n));
    SEER_TRY(read_device(machine, &taken, arena, device));
    for (uint32_t k = 0; k + 1 < out->n && device->kind != SEER_DEVICE_CPU; k++)
      if (strcmp(out->device[k].name, device->name) == 0)
        return SEER_FAIL(INVALID, "device %s is named twice", device->name);
    CPU_OR(&taken, &taken, &device->processors);
    SEER_TRY(check_alike(machine, &out->device[0], device));
    at += n;
    if (*at == ',' && !*++at)
      return SEER_FAIL(INVALID, "devices %s: the last one is missing", text);
  }
  uint32_t n_all = (uint32_t)CPU_COUNT(&taken);
  if (machine->quota > 0 && n_all > machine->quota)
    return SEER_FAIL(INVALID,
        "devices %s: %u processors, and this process's control groups grant it %g at a time", text,
        n_all, machine->quota);
  return SEER_OK;
}

// ---- as many as there is room for

// The first processor of each core that may be used, ascending; of two sorts, the large ones.
static uint32_t list_cores(const seer_device_machine *machine, uint16_t *out) {
  seer_processors order;
  uint32_t n = 0;
  seer_processors_by_core(machine->root, &machine->allowed, &order);
  for (uint32_t i = 0; i < order.n_cores; i++)
    if (!is_small_core(machine->root, order.order[i])) out[n++] = order.order[i];
  return n;
}

// "cpu:0-3", or "cpu:0+2+4"
static const char *name_of(const uint16_t *cpu, uint32_t n, seer_arena *arena) {
  char text[CPU_SETSIZE * 6];
  size_t at = (size_t)snprintf(text, sizeof text, "cpu:");
  for (uint32_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && cpu[end] == cpu[end - 1] + 1; end++) continue;
    const char *plus = i ? "+" : "";
    if (end - i == 1)
      at += (size_t)snprintf(text + at, sizeof text - at, "%s%u", plus, cpu[i]);
    else
      at += (size_t)snprintf(text + at, sizeof text - at, "%s%u-%u", plus, cpu[i], cpu[end - 1]);
  }
  return seer_arena_strdup(arena, text);
}

// Cores by NUMA node; those of no node are one.
static uint32_t split_by_node(const seer_device_machine *machine, const uint16_t *core,
    uint32_t n_core, uint16_t *out_node_of) {
  uint32_t n_node = 0;
  for (uint32_t i = 0; i < n_core; i++) out_node_of[i] = MAX_NODES;
  for (uint32_t k = 0; k < MAX_NODES; k++) {
    char path[512];
    cpu_set_t of_node;
    snprintf(path, sizeof path, "%s/sys/devices/system/node/node%u/cpulist", machine->root, k);
    bool has_any = false;
    if (!read_list(path, &of_node)) continue;
    for (uint32_t i = 0; i < n_core; i++) {
      if (!CPU_ISSET(core[i], &of_node)) continue;
      out_node_of[i] = (uint16_t)n_node;
      has_any = true;
    }
    n_node += has_any;
  }
  bool has_rest = false;
  for (uint32_t i = 0; i < n_core; i++) {
    if (out_node_of[i] != MAX_NODES) continue;
    out_node_of[i] = (uint16_t)n_node;
    has_rest = true;
  }
  return n_node + has_rest;
}

static seer_status find_devices(
    const seer_device_machine *machine, seer_arena *arena, seer_device_list *out) {
  uint16_t core[CPU_SETSIZE], node_of[CPU_SETSIZE], own[CPU_SETSIZE];
  uint32_t n_core = list_cores(machine, core),
           n_node = split_by_node(machine, core, n_core, node_of), each = machine->threads,
           most = seer_processors_cut(n_core, machine->quota), n_used = 0;
  if (each == 0) {  // one a node, of as many as the smallest one has
    uint32_t n_of[MAX_NODES + 1] = {0};
    for (uint32_t i = 0; i < n_core; i++) n_of[node_of[i]]++;
    each = n_core;
    for (uint32_t k = 0; k < n_node; k++) each = n_of[k] < each ? n_of[k] : each;
    if (each > most) each = most;
  }
  for (uint32_t k = 0; k < n_node; k++) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_core && out->n < SEER_DEVICES_MAX; i++) {
      if (node_of[i] != k) continue;
      own[n++] = core[i];
      if (n < each || n_used + each > most) continue;
      seer_tuning_device *device = add_device(out, name_of(own, n, arena));
      for (; n > 0; n--) CPU_SET(own[n - 1], &device->processors);
      device->n_processors = each;
      n_used += each;
    }
  }
  if (out->n > 0) return SEER_OK;
  return SEER_FAIL(
      INVALID, "devices cpu: no NUMA node has %u cores that may be used, of %u in all", each, most);
}

seer_status seer_devices_parse(const char *text, const seer_device_machine *machine,
    seer_arena *arena, seer_device_list *out) {
  out->n = 0;
  if (strcmp(text, kind_names[SEER_DEVICE_CPU]) == 0) return find_devices(machine, arena, out);
  return read_list_of_devices(text, machine, arena, out);
}
