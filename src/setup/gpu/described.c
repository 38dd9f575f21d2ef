// described.c - a device as its driver describes it -> a target. What no driver says (registers of
// a processor, rates, waits) is the table's device where the driver's name is one of it, else that
// of a plain device.
#include <string.h>

#include "setup/gpu/gpu.h"

#define MOST_PROCESSORS 4096  // these as the text form has them (text.c)
#define MOST_BLOCK_ITEMS 1024
#define LEAST_LANES 4  // else items are not made into vectors
#define MOST_LANES 64
#define LEAST_BLOCK_BYTES 1024
#define MOST_BLOCK_BYTES (UINT64_C(1) << 30)

// What drivers call the devices of the table, where it is not the table's own name. By what
// nvidia-smi shows of them; only that of the H200, which is the table's, was seen here.
static const struct {
  const char *driver, *model;
} other_names[] = {{"Tesla V100-SXM2-16GB", "NVIDIA V100 SXM2"},
    {"Tesla V100-SXM2-32GB", "NVIDIA V100 SXM2"}, {"Tesla T4", "NVIDIA T4"},
    {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 SXM 80GB"},
    {"NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM 80GB"}};

static const seer_gpu_device *find_device(const char *name, uint32_t architecture) {
  for (size_t i = 0; i < SEER_COUNT_OF(other_names); i++)
    if (strcmp(other_names[i].driver, name) == 0) name = other_names[i].model;
  for (size_t i = 0; i < seer_gpu_table_count; i++) {
    const seer_gpu_device *device = &seer_gpu_table[i];
    if (device->kind == SEER_TARGET_CUDA && device->architecture == architecture &&
        strcmp(device->model_name, name) == 0)
      return device;
  }
  return NULL;
}

// The text form has no quotes and control characters.
static const char *safe_name(const char *name, seer_arena *arena) {
  char *out = seer_arena_strdup(arena, name);
  for (char *c = out; *c; c++)
    if ((unsigned char)*c < ' ' || *c == '"') *c = ' ';
  return out;
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most) {
  return value < least ? least : value > most ? most : value;
}

// Whole warps; a device whose blocks are smaller than a warp has smaller ones.
static void set_items(seer_target_gpu *gpu, uint32_t max_items) {
  uint32_t most = (uint32_t)within(max_items, 1, MOST_BLOCK_ITEMS);
  while (gpu->warp_items > most) gpu->warp_items /= 2;
  gpu->max_block_items = most / gpu->warp_items * gpu->warp_items;
  if (gpu->max_processor_items < gpu->max_block_items)
    gpu->max_processor_items = gpu->max_block_items;
}

// OpenCL has one number for a block, and none for a processor.
static void set_block_bytes(seer_target_gpu *gpu, uint64_t n_bytes) {
  gpu->block_bytes = gpu->max_block_bytes = within(n_bytes, LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES);
  if (gpu->processor_bytes < gpu->max_block_bytes) gpu->processor_bytes = gpu->max_block_bytes;
}

seer_status seer_gpu_of_described(
    seer_target_kind kind, const seer_device_info *info, seer_arena *arena, seer_target *out) {
  const seer_gpu_device *device = NULL;
  if (kind == SEER_TARGET_CUDA) device = find_device(info->name, info->architecture);
  if (device)
    seer_gpu_of_device(device, out);
  else if (info->is_cpu && info->n_lanes >= LEAST_LANES && info->n_lanes <= MOST_LANES)
    seer_gpu_of_lanes(info->n_lanes, out);
  else if (kind == SEER_TARGET_OPENCL)
    seer_gpu_of_opencl(out);
  else if (!seer_gpu_of_architecture(info->architecture, out))
    return SEER_FAIL(UNSUPPORTED, "%s is of architecture sm_%u; known are %s", info->name,
        info->architecture, seer_gpu_architectures(arena));
  seer_target_gpu *gpu = &out->gpu;
  if (!device) out->model_name = safe_name(info->name, arena);
  const uint32_t n = (uint32_t)within(info->n_processors, 1, MOST_PROCESSORS);
  if (device && n != gpu->n_processors) out->is_measured = false;  // a part of it
  gpu->n_processors = n;
  if (info->clock_mhz > 0) gpu->clock_ghz = 1e-3 * info->clock_mhz;
  if (info->cache_bytes > 0) gpu->l2_bytes = info->cache_bytes;
  set_items(gpu, info->max_items);
  // CUDA's number is of a block as it is; what more it may ask for is its architecture's.
  if (kind == SEER_TARGET_OPENCL)
    set_block_bytes(gpu, info->group_bytes);
  else
    gpu->block_bytes = within(info->group_bytes, LEAST_BLOCK_BYTES, gpu->max_block_bytes);
  return SEER_OK;
}
