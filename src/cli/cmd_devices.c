// cmd_devices.c - familyseer devices: what is known about this machine, the speeds measured now.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "measure/measure.h"
#include "measure/remote/remote.h"

static seer_status print_json(
    const seer_target *t, const char *text, const seer_device_list *groups) {
  json_t *device = json_pack(
      "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:s}",
      "kind", "cpu", "model", t->model_name, "triple", t->triple, "cpu", t->cpu, "features",
      t->features, "threads", (int)t->threads, "lanes", (int)seer_target_lanes(t), "registers",
      (int)t->n_vector_registers, "fma_ports", (int)t->n_fma_ports, "l1_bytes",
      (json_int_t)t->l1_bytes, "l2_bytes", (json_int_t)t->l2_bytes, "l3_bytes",
      (json_int_t)t->l3_bytes, "peak_gflops", t->peak_gflops, "l2_gbs", t->l2_gbs, "l3_gbs",
      t->l3_gbs, "dram_gbs", t->dram_gbs, "target", text);
  json_t *names = json_array();
  for (uint32_t k = 0; k < groups->n; k++)
    json_array_append_new(names, json_string(groups->device[k].name));
  json_object_set_new(device, "devices", names);
  char *dump = device ? json_dumps(device, JSON_COMPACT) : NULL;
  json_decref(device);
  if (!dump) return SEER_FAIL(RESOURCE, "out of memory for JSON");
  puts(dump);
  free(dump);
  return SEER_OK;
}

// What `tune --devices cpu` would time on, or what was named.
static seer_status find_groups(seer_context *context, seer_device_list *out) {
  *out = *seer_context_devices(context);
  if (out->n > 0) return SEER_OK;
  int64_t threads = seer_context_i64(context, SEER_OPT_THREADS);
  const seer_device_machine machine = seer_device_machine_here(threads > 0 ? (uint32_t)threads : 0);
  return seer_devices_parse("cpu", &machine, seer_context_arena(context), out);
}

static seer_status run_devices(seer_context *context, int argc, char **argv) {
  (void)argc;
  (void)argv;
  SEER_TRY(seer_remote_find_target(context));
  if (!seer_measure_is_elsewhere(context)) SEER_TRY(seer_context_measure_target(context));
  const seer_target target = *seer_context_target(context);
  const char *text = seer_target_print(&target, seer_context_arena(context));
  seer_device_list groups;
  SEER_TRY(find_groups(context, &groups));
  if (seer_context_bool(context, SEER_OPT_JSON)) return print_json(&target, text, &groups);
  printf("device      cpu: %s (%s)\n", target.model_name, target.cpu);
  printf("threads     %u\n", target.threads);
  printf("vectors     %u registers of %u f32 lanes, %u FMA a cycle\n", target.n_vector_registers,
      seer_target_lanes(&target), target.n_fma_ports);
  printf("caches      L1 %g KiB, L2 %g KiB a core, L3 %g MiB shared\n",
      (double)target.l1_bytes / 1024, (double)target.l2_bytes / 1024,
      (double)target.l3_bytes / 1048576);
  printf("peak        %.1f GFLOP/s f32, one thread, measured\n", target.peak_gflops);
  printf("bandwidth   L2 %.1f, L3 %.1f, memory %.1f GB/s, one thread, measured\n", target.l2_gbs,
      target.l3_gbs, target.dram_gbs);
  printf("devices     ");
  for (uint32_t k = 0; k < groups.n; k++) printf("%s%s", k ? "," : "", groups.device[k].name);
  uint32_t n_threads =
      seer_measure_is_elsewhere(context) ? target.threads : groups.device[0].n_processors;
  printf(" (tune --devices), %u thread%s each\n", n_threads, n_threads == 1 ? "" : "s");
  printf("target      %s\n", text);
  return SEER_OK;
}

const seer_command seer_command_devices = {
    .name = "devices",
    .args = "[--target TARGET] [--devices LIST] [--json]",
    .doc = "this machine, or a board: instruction set, caches, measured peak and bandwidths",
    .run = run_devices,
};
