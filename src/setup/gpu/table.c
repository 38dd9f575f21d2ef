// table.c - GPUs that are known by name, and the architectures that they are of.
//
// To add a device: a line in `seer_gpu_table`; to add an architecture: one in `architectures`,
// oldest first. `familyseer list targets` and `devices` show it then, and test_setup_occupancy
// holds it against CUDA's own header.
//
// Sources. Limits: the table of compute capabilities in the CUDA C++ programming guide. Checked on
// 2026-11-27: all of them but the units and the schedulers against NVIDIA's own constants
// (cuda/__device/arch_traits.h of CCCL, 004ad198); blocks of a processor, its workgroup bytes,
// units and schedulers against cuda_occupancy.h of CUDA 13.0 (test_setup_occupancy); items and
// blocks of a processor and the workgroup bytes of a block as it is against what ptxas 13.0 warns
// of (peer_gpu_limits; sm_70 by 12.9's); items, blocks, registers and workgroup bytes of sm_90
// against what an H200 reports (bench/gpu/facts-h200.json).
// Rates: NVIDIA's white papers and data sheets, as others list them (the papers themselves were not
// at hand), held against the devices' published TFLOP/s by processors x rate x clock
// (test_setup_gpu). No card but an H200 was there to measure.
#include "setup/gpu/gpu.h"

#include <string.h>

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

// From a kernel's end to what the next one writes, as nodes of a captured graph: 0.99 us on an H200
// (doc/decisions, 81). Nobody publishes it: taken for all of CUDA's.
#define CUDA_LAUNCH_S 0.99e-6
// What an H200 takes (the same measurement): loads from memory, L2, L1 and a block's memory
// [cycles], and a barrier: 15, 29 and 78 cycles of 1, 8 and 32 warps. Vendors do not publish them:
// taken for all of CUDA's.
#define CUDA_DRAM_CYCLES 638
#define CUDA_L2_CYCLES 287
#define CUDA_L1_CYCLES 41
#define CUDA_WORKGROUP_CYCLES 34
#define CUDA_BARRIER_CYCLES 13
#define CUDA_BARRIER_WARP_CYCLES 2
// Published of V100, A100 and H100 by L2's bandwidth (3,133, 7,219 and 8,986 GB/s, tables of others
// than the vendor): 26, 47 and 34 bytes; an H200 has 33.7 by 8 MiB that all read. The least of
// them, nearly.
#define CUDA_L2_CYCLE_BYTES 30
// An assumption: OpenCL has no graphs to speak of, and queues take some microseconds.
#define OPENCL_LAUNCH_S 5e-6
#define LANES_LAUNCH_S 1e-5

// ---- architectures

typedef struct {
  uint32_t architecture;
  uint32_t max_processor_items, max_processor_blocks;
  uint32_t max_block_kib, processor_kib;  // of workgroup memory
  uint32_t bytes_unit, bytes_reserved;
  // Tensor cores: what every device of the architecture does at least, sums in f32. Of sm_75, sm_86
  // and sm_89 there are devices that do twice as much.
  uint32_t n_fmas, f16_flops, bf16_flops, tf32_flops;
} architecture;

static const architecture architectures[] = {
    // sm, items, blocks, KiB of a block and of a processor, unit, reserved, FMAs, f16, bf16, tf32
    {70, 2048, 32, 96, 96, 256, 0, 64, 1024, 0, 0},
    {75, 1024, 16, 64, 64, 256, 0, 64, 512, 0, 0},
    {80, 2048, 32, 163, 164, 128, 1024, 64, 2048, 2048, 1024},
    {86, 1536, 16, 99, 100, 128, 1024, 128, 512, 512, 256},
    {89, 1536, 24, 99, 100, 128, 1024, 128, 512, 512, 256},
    {90, 2048, 32, 227, 228, 128, 1024, 128, 4096, 4096, 2048},
    {100, 2048, 32, 227, 228, 128, 1024, 128, 8192, 8192, 4096},
    {120, 1536, 24, 99, 100, 128, 1024, 128, 512, 512, 256},
};

static seer_target begin(seer_target_kind kind) {
  return (seer_target){.kind = kind, .model_name = "", .triple = "", .cpu = "", .features = ""};
}

bool seer_gpu_of_architecture(uint32_t number, seer_target *out) {
  const architecture *a = NULL;
  for (size_t i = 0; i < SEER_COUNT_OF(architectures); i++)
    if (architectures[i].architecture == number) a = &architectures[i];
  if (!a) return false;
  *out = begin(SEER_TARGET_CUDA);
  out->gpu = (seer_target_gpu){.architecture = number,
      .n_processors = 16,
      .warp_items = 32,
      .n_schedulers = 4,
      .max_block_items = 1024,
      .max_processor_items = a->max_processor_items,
      .max_processor_blocks = a->max_processor_blocks,
      .n_registers = 65536,
      .max_item_registers = 255,
      .warp_register_unit = 256,
      .block_bytes = KIB(48),
      .max_block_bytes = KIB(a->max_block_kib),
      .processor_bytes = KIB(a->processor_kib),
      .block_bytes_unit = a->bytes_unit,
      .block_bytes_reserved = a->bytes_reserved,
      .l2_bytes = MIB(4),
      .dram_gbs = 300,
      .clock_ghz = 1.5,
      .n_fmas = a->n_fmas,
      .f16_flops = a->f16_flops,
      .bf16_flops = a->bf16_flops,
      .tf32_flops = a->tf32_flops,
      .n_banks = 32,
      .workgroup_cycle_bytes = 128,
      .l2_cycle_bytes = CUDA_L2_CYCLE_BYTES,
      .dram_cycles = CUDA_DRAM_CYCLES,
      .l2_cycles = CUDA_L2_CYCLES,
      .l1_cycles = CUDA_L1_CYCLES,
      .workgroup_cycles = CUDA_WORKGROUP_CYCLES,
      .barrier_cycles = CUDA_BARRIER_CYCLES,
      .barrier_warp_cycles = CUDA_BARRIER_WARP_CYCLES,
      .launch_s = CUDA_LAUNCH_S};
  return true;
}

const char *seer_gpu_architectures(seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (size_t i = 0; i < SEER_COUNT_OF(architectures); i++)
    seer_text_printf(&text, "%scuda:sm_%u", i ? " " : "", architectures[i].architecture);
  return text.data;
}

// ---- OpenCL

// 32 KiB of local memory are the least that OpenCL 1.2 allows (full profile); 256 items of a block
// are what drivers of AMD's and Intel's GPUs take without being asked for more. The rest is a small
// device of no vendor, whose waits are an assumption: rather long, so that what hides them is
// liked. Registers are the compiler's secret, so they limit nothing.
void seer_gpu_of_opencl(seer_target *out) {
  *out = begin(SEER_TARGET_OPENCL);
  out->gpu = (seer_target_gpu){.n_processors = 16,
      .warp_items = 32,
      .n_schedulers = 1,
      .max_block_items = 256,
      .max_processor_items = 1024,
      .max_processor_blocks = 16,
      .block_bytes = KIB(32),
      .max_block_bytes = KIB(32),
      .processor_bytes = KIB(64),
      .block_bytes_unit = 256,
      .l2_bytes = MIB(2),
      .dram_gbs = 200,
      .clock_ghz = 1.5,
      .n_fmas = 64,
      .n_banks = 32,
      .workgroup_cycle_bytes = 128,
      .l2_cycle_bytes = 32,
      .dram_cycles = 700,
      .l2_cycles = 300,
      .l1_cycles = 100,
      .workgroup_cycles = 60,
      .barrier_cycles = 20,
      .barrier_warp_cycles = 4,
      .launch_s = OPENCL_LAUNCH_S};
}

// Two pipes for vectors, of four instructions a cycle; a core orders its loads by itself, so that
// little waits; a block is a task of the driver's threads, its items a loop, which a barrier cuts.
void seer_gpu_of_lanes(uint32_t n_lanes, seer_target *out) {
  seer_gpu_of_opencl(out);
  seer_target_gpu *gpu = &out->gpu;
  gpu->items_are_lanes = true;
  gpu->warp_items = n_lanes;
  gpu->n_fmas = 2 * n_lanes;
  gpu->n_schedulers = 4;
  gpu->max_processor_items = gpu->max_block_items;
  gpu->max_processor_blocks = 1;
  gpu->n_banks = n_lanes;
  gpu->workgroup_cycle_bytes = 2 * sizeof(float) * n_lanes;
  gpu->dram_gbs = 20;
  gpu->dram_cycles = 100;
  gpu->l2_cycles = 10;
  gpu->l1_cycles = 2;
  gpu->workgroup_cycles = 2;
  gpu->barrier_cycles = 20;
  gpu->barrier_warp_cycles = 20;
  gpu->launch_s = LANES_LAUNCH_S;
}

// ---- devices

// Clock: the published boost clock, which is also what the published TFLOP/s are of. Of an H100 the
// 67 TFLOP/s in f32 are of 1.98 GHz, and the 989 of its tensor cores of 1.83: they stand here for a
// cycle of the former.
// The H200 is measured (bench/gpu/facts-h200.json, doc/decisions, 81): reads of DRAM (4.8 TB/s are
// published), FMAs of a loop of nothing else, tensor cores by mma.sync from registers; by wgmma
// cuBLASLt does 773 TFLOP/s, 2,960 a cycle and processor. Its L2 is what is reported; 40 MiB of it
// are at full speed.
const seer_gpu_device seer_gpu_table[] = {
    // name, kind, model, sm, processors, GHz, MiB, GB/s, FMAs, f16, bf16, tf32, bytes from L2,
    // measured, lanes
    {"cuda:v100", SEER_TARGET_CUDA, "NVIDIA V100 SXM2", 70, 80, 1.53, 6, 900, 0, 0, 0, 0, 26, false,
        0},
    {"cuda:t4", SEER_TARGET_CUDA, "NVIDIA T4", 75, 40, 1.59, 4, 320, 0, 1024, 0, 0, 0, false, 0},
    {"cuda:a100", SEER_TARGET_CUDA, "NVIDIA A100 SXM 80GB", 80, 108, 1.41, 40, 2039, 0, 0, 0, 0, 47,
        false, 0},
    {"cuda:rtx4090", SEER_TARGET_CUDA, "NVIDIA GeForce RTX 4090", 89, 128, 2.52, 72, 1008, 0, 0, 0,
        0, 0, false, 0},
    {"cuda:h100", SEER_TARGET_CUDA, "NVIDIA H100 SXM 80GB", 90, 132, 1.98, 50, 3350, 0, 3785, 3785,
        1893, 33.7, false, 0},
    {"cuda:h200", SEER_TARGET_CUDA, "NVIDIA H200", 90, 132, 1.98, 60, 4497, 125, 2660, 2660, 1330,
        33.7, true, 0},
    {"opencl:generic", SEER_TARGET_OPENCL, "generic OpenCL device", 0, 16, 1.5, 2, 200, 0, 0, 0, 0,
        0, false, 0},
    {"opencl:cpu", SEER_TARGET_OPENCL, "processors behind OpenCL", 0, 8, 3, 2, 20, 0, 0, 0, 0, 0,
        false, 8},
};
const size_t seer_gpu_table_count = SEER_COUNT_OF(seer_gpu_table);

static uint32_t either(uint32_t own, uint32_t usual) { return own ? own : usual; }

void seer_gpu_of_device(const seer_gpu_device *device, seer_target *out) {
  bool is_known = true;
  if (device->n_lanes > 0)
    seer_gpu_of_lanes(device->n_lanes, out);
  else if (device->kind == SEER_TARGET_OPENCL)
    seer_gpu_of_opencl(out);
  else
    is_known = seer_gpu_of_architecture(device->architecture, out);
  SEER_ASSERT(is_known, "%s: architecture %u", device->name, device->architecture);
  seer_target_gpu *gpu = &out->gpu;
  out->model_name = device->model_name;
  out->is_measured = device->is_measured;
  gpu->n_processors = device->n_processors;
  gpu->clock_ghz = device->clock_ghz;
  gpu->l2_bytes = MIB(device->l2_mib);
  gpu->dram_gbs = device->dram_gbs;
  if (device->l2_cycle_bytes > 0) gpu->l2_cycle_bytes = device->l2_cycle_bytes;
  gpu->n_fmas = either(device->n_fmas, gpu->n_fmas);
  gpu->f16_flops = either(device->f16_flops, gpu->f16_flops);
  gpu->bf16_flops = either(device->bf16_flops, gpu->bf16_flops);
  gpu->tf32_flops = either(device->tf32_flops, gpu->tf32_flops);
}
