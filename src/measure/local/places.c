// places.c - named devices -> processors of devices and of builders. The contract: places.h.
#include "measure/local/places.h"

#include <string.h>

static void take_away(cpu_set_t *from, const cpu_set_t *what) {
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, what)) CPU_CLR(cpu, from);
}

// What nothing is timed on; where there is more than siblings of what is, without those.
static cpu_set_t others(const seer_device_list *devices, const seer_device_machine *machine) {
  cpu_set_t timed, cores, left = machine->allowed, apart = machine->allowed;
  CPU_ZERO(&timed);
  for (uint32_t k = 0; k < devices->n; k++) CPU_OR(&timed, &timed, &devices->device[k].processors);
  seer_device_with_siblings(machine->root, &timed, &cores);
  take_away(&left, &timed);
  take_away(&apart, &cores);
  return CPU_COUNT(&apart) > 0 ? apart : left;
}

void seer_local_places_find(const seer_device_list *devices, const seer_device_machine *machine,
    uint32_t n_builders, uint32_t n_threads, seer_local_places *out) {
  *out = (seer_local_places){.n_devices = 1, .n_places = 1, .name = {"cpu"}};
  out->device[0] = out->place[0] = machine->allowed;
  out->n_builders = n_threads;
  if (devices->n > 0) {
    out->n_devices = devices->n;
    for (uint32_t k = 0; k < devices->n; k++) {
      out->name[k] = devices->device[k].name;
      out->device[k] = devices->device[k].processors;
    }
    out->place[0] = others(devices, machine);
    out->n_builders = (uint32_t)CPU_COUNT(&out->place[0]);
    if (out->n_builders == 0) {
      out->n_places = devices->n;
      memcpy(out->place, out->device, sizeof out->place);
      out->n_builders = devices->n * devices->device[0].n_processors;
    }
  }
  if (n_builders > 0) out->n_builders = n_builders;
}

// A device that runs on processors beside others that do has some for itself: whole cores, or
// processors where there are fewer cores than devices.
static uint32_t deal_out(const seer_device_machine *machine, uint32_t n, cpu_set_t *out) {
  seer_processors by_core;
  seer_processors_by_core(machine->root, &machine->allowed, &by_core);
  uint32_t n_cores = seer_processors_cut(by_core.n_cores, machine->quota),
           n_all = seer_processors_cut(by_core.n, machine->quota);
  bool is_by_core = n_cores >= n;
  uint32_t each = (is_by_core ? n_cores : n_all) / n;
  for (uint32_t k = 0; k < n; k++) {
    cpu_set_t first;
    CPU_ZERO(&first);
    for (uint32_t i = 0; i < each; i++) CPU_SET(by_core.order[k * each + i], &first);
    out[k] = first;
    if (!is_by_core) continue;
    seer_device_with_siblings(machine->root, &first, &out[k]);
    CPU_AND(&out[k], &out[k], &machine->allowed);
  }
  return each;
}

seer_status seer_local_places_of_drivers(const seer_device_list *devices, const bool *is_cpu,
    const seer_device_machine *machine, uint32_t n_builders, uint32_t n_threads, const char *name,
    seer_local_places *out) {
  *out = (seer_local_places){
      .n_devices = devices->n > 0 ? devices->n : 1, .n_places = 1, .name = {name}};
  for (uint32_t k = 0; k < out->n_devices; k++) {
    out->device[k] = machine->allowed;
    if (devices->n > 0) out->name[k] = devices->device[k].name;
  }
  out->place[0] = machine->allowed;
  out->n_builders = n_builders > 0 ? n_builders : n_threads;
  seer_device_list of_cpu = {.n = 0};
  for (uint32_t k = 0; k < devices->n; k++)
    if (is_cpu[k]) of_cpu.device[of_cpu.n++] = devices->device[k];
  if (of_cpu.n < 2) return SEER_OK;
  cpu_set_t share[SEER_DEVICES_MAX];
  if (deal_out(machine, of_cpu.n, share) == 0)
    return SEER_FAIL(INVALID,
        "%u devices run on processors of this machine, and this process may use %u at a time: each "
        "is timed on some of its own",
        of_cpu.n, seer_processors_cut((uint32_t)CPU_COUNT(&machine->allowed), machine->quota));
  for (uint32_t k = 0, i = 0; k < devices->n; k++)
    if (is_cpu[k]) out->device[k] = share[i++];
  if (of_cpu.n < devices->n) return SEER_OK;
  for (uint32_t i = 0; i < of_cpu.n; i++) {
    of_cpu.device[i].processors = share[i];
    of_cpu.device[i].n_processors = (uint32_t)CPU_COUNT(&share[i]);
  }
  seer_local_places_find(&of_cpu, machine, n_builders, n_threads, out);
  return SEER_OK;
}
