// cmd_devices.c - familyseer devices: what is known about this machine, the speeds measured now;
// about the devices that drivers have here, and GPUs, by the table of those that are built in.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/drivers.h"
#include "cli/json.h"
#include "measure/measure.h"
#include "measure/remote/remote.h"
#include "setup/gpu/gpu.h"

// ---- GPUs

// Where its rates are from.
static const char *source_of(const seer_target *t) {
  if (t->is_measured) return "measured";
  return seer_target_has_own_rates(t) ? "published" : "assumed";
}

// Of a processor's rate a cycle.
static double tflops(const seer_target_gpu *gpu, double a_cycle) {
  return a_cycle * gpu->n_processors * gpu->clock_ghz * 1e-3;
}

static const char *architecture_of(const seer_target_gpu *gpu, char out[16]) {
  out[0] = '\0';
  if (gpu->architecture) (void)snprintf(out, 16, "sm_%u", gpu->architecture);
  return out;
}

static json_t *gpu_json(const seer_target *t, seer_arena *arena) {
  const seer_target_gpu *gpu = &t->gpu;
  char name[SEER_TARGET_NAME_BYTES], architecture[16];
  seer_target_name(t, name);
  return json_pack(
      "{s:s, s:s, s:s, s:s, s:s, s:i, s:f, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, "
      "s:f, s:s}",
      "name", name, "kind", seer_target_kind_name(t->kind), "model", t->model_name, "architecture",
      architecture_of(gpu, architecture), "rates", source_of(t), "processors",
      (int)gpu->n_processors, "clock_ghz", gpu->clock_ghz, "block_items", (int)gpu->max_block_items,
      "processor_items", (int)gpu->max_processor_items, "processor_blocks",
      (int)gpu->max_processor_blocks, "block_bytes", (json_int_t)gpu->block_bytes,
      "max_block_bytes", (json_int_t)gpu->max_block_bytes, "processor_bytes",
      (json_int_t)gpu->processor_bytes, "l2_bytes", (json_int_t)gpu->l2_bytes, "peak_gflops",
      seer_gpu_gflops(gpu), "f16_gflops", 1e3 * tflops(gpu, gpu->f16_flops), "bf16_gflops",
      1e3 * tflops(gpu, gpu->bf16_flops), "tf32_gflops", 1e3 * tflops(gpu, gpu->tf32_flops),
      "dram_gbs", gpu->dram_gbs, "target", seer_target_print(t, arena));
}

static json_t *gpus_json(seer_arena *arena) {
  json_t *array = json_array();
  for (size_t i = 0; i < seer_gpu_table_count; i++) {
    seer_target target;
    seer_gpu_of_device(&seer_gpu_table[i], &target);
    json_array_append_new(array, gpu_json(&target, arena));
  }
  return array;
}

static void print_gpu_row(const seer_gpu_device *device) {
  seer_target target;
  char architecture[16];
  seer_gpu_of_device(device, &target);
  const seer_target_gpu *gpu = &target.gpu;
  printf("  %-15s %-6s %10u %5.2f %7.1f ", device->name, architecture_of(gpu, architecture),
      gpu->n_processors, gpu->clock_ghz, seer_gpu_gflops(gpu) * 1e-3);
  if (gpu->f16_flops)
    printf("%7.0f", tflops(gpu, gpu->f16_flops));
  else
    printf("%7s", "-");
  printf(" %6.0f %6g %10g  %-10s %s\n", gpu->dram_gbs, (double)gpu->l2_bytes / 1048576,
      (double)gpu->max_block_bytes / 1024, source_of(&target), target.model_name);
}

static void print_gpus(seer_arena *arena) {
  printf(
      "\nGPUs that are known, for --target of compile and tune. f32, "
      "and "
      "f16 on tensor cores, in TFLOP/s\n");
  printf("  %-15s %-6s %10s %5s %7s %7s %6s %6s %10s  %-10s %s\n", "target", "arch", "processors",
      "GHz", "f32", "f16", "GB/s", "L2 MiB", "shared KiB", "rates are", "device");
  for (size_t i = 0; i < seer_gpu_table_count; i++) print_gpu_row(&seer_gpu_table[i]);
  printf("  an architecture alone, as a plain device: %s\n", seer_gpu_architectures(arena));
}

static void print_gpu(const seer_target *t, seer_arena *arena) {
  const seer_target_gpu *gpu = &t->gpu;
  char name[SEER_TARGET_NAME_BYTES], architecture[16];
  seer_target_name(t, name);
  printf("device      %s: %s%s%s; compile and tune make libraries for it\n", name,
      t->model_name[0] ? t->model_name : "a plain device", gpu->architecture ? ", " : "",
      architecture_of(gpu, architecture));
  printf("processors  %u at %g GHz, %u scheduler%s each, warps of %u items\n", gpu->n_processors,
      gpu->clock_ghz, gpu->n_schedulers, gpu->n_schedulers == 1 ? "" : "s", gpu->warp_items);
  printf("blocks      at most %u items; a processor has %u items and %u blocks in hand\n",
      gpu->max_block_items, gpu->max_processor_items, gpu->max_processor_blocks);
  if (gpu->n_registers)
    printf("registers   %u a processor, at most %u an item\n", gpu->n_registers,
        gpu->max_item_registers);
  printf("shared      %g KiB a block, at most %g, of %g a processor; %u banks, %u bytes a cycle\n",
      (double)gpu->block_bytes / 1024, (double)gpu->max_block_bytes / 1024,
      (double)gpu->processor_bytes / 1024, gpu->n_banks, gpu->workgroup_cycle_bytes);
  printf("caches      L2 %g MiB shared\n", (double)gpu->l2_bytes / 1048576);
  printf("peak        %.1f TFLOP/s f32", seer_gpu_gflops(gpu) * 1e-3);
  const struct {
    const char *name;
    uint32_t a_cycle;
  } tensor[] = {{"f16", gpu->f16_flops}, {"bf16", gpu->bf16_flops}, {"tf32", gpu->tf32_flops}};
  for (size_t i = 0; i < SEER_COUNT_OF(tensor); i++)
    if (tensor[i].a_cycle)
      printf(", %s on tensor cores %.0f", tensor[i].name, tflops(gpu, tensor[i].a_cycle));
  printf(", %s\n", source_of(t));
  printf("bandwidth   memory %g GB/s, %s\n", gpu->dram_gbs, source_of(t));
  printf("launch      %g us from kernel to kernel\n", gpu->launch_s * 1e6);
  printf("target      %s\n", seer_target_print(t, arena));
}

static seer_status show_gpu(seer_context *context) {
  const seer_target *target = seer_context_target(context);
  seer_arena *arena = seer_context_arena(context);
  if (seer_context_is_set(context, SEER_OPT_DEVICES)) return seer_target_check_cpu(target);
  if (seer_context_bool(context, SEER_OPT_JSON)) return seer_cli_put_json(gpu_json(target, arena));
  print_gpu(target, arena);
  return SEER_OK;
}

// ---- this machine

// Takes `drivers` over.
static seer_status print_json(const seer_target *t, const char *text,
    const seer_device_list *groups, json_t *drivers, seer_arena *arena) {
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
  if (drivers) json_object_set_new(device, "drivers", drivers);
  json_object_set_new(device, "gpus", gpus_json(arena));
  return seer_cli_put_json(device);
}

// What `tune --devices cpu` would time on, or what was named.
static seer_status find_groups(seer_context *context, seer_device_list *out) {
  *out = *seer_context_devices(context);
  if (out->n > 0) return SEER_OK;
  int64_t threads = seer_context_i64(context, SEER_OPT_THREADS);
  const seer_device_machine machine = seer_device_machine_here(threads > 0 ? (uint32_t)threads : 0);
  return seer_devices_parse("cpu", &machine, seer_context_arena(context), out);
}

static void print_here(const seer_context *context, const seer_device_list *groups) {
  const seer_target *t = seer_context_target(context);
  printf("device      cpu: %s (%s)\n", t->model_name, t->cpu);
  printf("threads     %u\n", t->threads);
  printf("vectors     %u registers of %u f32 lanes, %u FMA a cycle\n", t->n_vector_registers,
      seer_target_lanes(t), t->n_fma_ports);
  printf("caches      L1 %g KiB, L2 %g KiB a core, L3 %g MiB shared\n", (double)t->l1_bytes / 1024,
      (double)t->l2_bytes / 1024, (double)t->l3_bytes / 1048576);
  printf("peak        %.1f GFLOP/s f32, one thread, measured\n", t->peak_gflops);
  printf("bandwidth   L2 %.1f, L3 %.1f, memory %.1f GB/s, one thread, measured\n", t->l2_gbs,
      t->l3_gbs, t->dram_gbs);
  printf("devices     ");
  for (uint32_t k = 0; k < groups->n; k++) printf("%s%s", k ? "," : "", groups->device[k].name);
  uint32_t n_threads =
      seer_measure_is_elsewhere(context) ? t->threads : groups->device[0].n_processors;
  printf(" (tune --devices), %u thread%s each\n", n_threads, n_threads == 1 ? "" : "s");
}

static seer_status run_devices(seer_context *context, int argc, char **argv) {
  if (argc > 0) return seer_cli_drivers_job(argc, argv);
  SEER_TRY(seer_context_find_any_target(context));
  if (seer_context_target(context)->kind != SEER_TARGET_CPU) return show_gpu(context);
  SEER_TRY(seer_remote_find_target(context));
  bool is_here = !seer_measure_is_elsewhere(context);
  if (is_here) SEER_TRY(seer_context_measure_target(context));
  seer_arena *arena = seer_context_arena(context);
  const char *text = seer_target_print(seer_context_target(context), arena);
  seer_device_list groups;
  SEER_TRY(find_groups(context, &groups));
  json_t *drivers = NULL;  // of a board nothing is asked
  if (is_here) SEER_TRY(seer_cli_drivers_find(context, 0, &drivers));
  if (seer_context_bool(context, SEER_OPT_JSON))
    return print_json(seer_context_target(context), text, &groups, drivers, arena);
  print_here(context, &groups);
  printf("target      %s\n", text);
  if (drivers) seer_cli_drivers_print(drivers);
  json_decref(drivers);
  print_gpus(arena);
  return SEER_OK;
}

const seer_command seer_command_devices = {
    .name = "devices",
    .args = "[--target TARGET] [--devices LIST] [--json]",
    .doc =
        "this machine, or a board: instruction set, caches, measured peak and bandwidths; devices "
        "that OpenCL and CUDA have here, and GPUs that are known",
    .max_args = 3,  // a job of drivers.h
    .takes_gpus = true,
    .run = run_devices,
};
