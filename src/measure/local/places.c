// places.c - named devices -> processors of devices and of builders. The contract: places.h.
#include "measure/local/places.h"

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

void seer_local_places_of_drivers(const seer_device_list *devices,
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
}
