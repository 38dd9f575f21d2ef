// text.c - GPUs as text, both ways, and their part of the keys. The contract: gpu.h.
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/near.h"
#include "setup/gpu/gpu.h"

#define MOST_BLOCK_BYTES 1073741824.0
#define MOST_NUMBER 999999  // of devices
#define MOST_CYCLE 1e6  // operations or bytes of a processor

static const seer_field gpu_fields[] = {
    SEER_FIELD("arch", ARCHITECTURE, gpu.architecture, 1, 999),
    SEER_FIELD("model", TEXT, model_name, 0, 0),
    SEER_FIELD("processors", COUNT, gpu.n_processors, 1, 4096),
    SEER_FIELD("warp", COUNT, gpu.warp_items, 1, 128),
    SEER_FIELD("schedulers", COUNT, gpu.n_schedulers, 1, 64),
    // As block programs have at most (space/items/items.h).
    SEER_FIELD("block-items", COUNT, gpu.max_block_items, 1, 1024),
    SEER_FIELD("processor-items", COUNT, gpu.max_processor_items, 1, 65536),
    SEER_FIELD("processor-blocks", COUNT, gpu.max_processor_blocks, 1, 1024),
    SEER_FIELD("registers", COUNT, gpu.n_registers, 0, 16777216),
    SEER_FIELD("item-registers", COUNT, gpu.max_item_registers, 0, 4096),
    SEER_FIELD("register-unit", COUNT, gpu.warp_register_unit, 0, 65536),
    SEER_FIELD("block-bytes", BYTES, gpu.block_bytes, 1024, MOST_BLOCK_BYTES),
    SEER_FIELD("max-block-bytes", BYTES, gpu.max_block_bytes, 1024, MOST_BLOCK_BYTES),
    SEER_FIELD("processor-bytes", BYTES, gpu.processor_bytes, 1024, MOST_BLOCK_BYTES),
    SEER_FIELD("bytes-unit", BYTES, gpu.block_bytes_unit, 1, 65536),
    SEER_FIELD("bytes-reserved", BYTES, gpu.block_bytes_reserved, 0, 65536),
    SEER_FIELD("l2", BYTES, gpu.l2_bytes, 0, SEER_FIELD_MOST_BYTES),
    SEER_FIELD("dram-gbs", RATE, gpu.dram_gbs, 1e-3, SEER_FIELD_MOST_RATE),
    SEER_FIELD("clock-ghz", RATE, gpu.clock_ghz, 1e-3, 100),
    SEER_FIELD("fmas", COUNT, gpu.n_fmas, 1, MOST_CYCLE),
    SEER_FIELD("f16-flops", COUNT, gpu.f16_flops, 0, MOST_CYCLE),
    SEER_FIELD("bf16-flops", COUNT, gpu.bf16_flops, 0, MOST_CYCLE),
    SEER_FIELD("tf32-flops", COUNT, gpu.tf32_flops, 0, MOST_CYCLE),
    SEER_FIELD("banks", COUNT, gpu.n_banks, 1, 1024),
    SEER_FIELD("cycle-bytes", COUNT, gpu.workgroup_cycle_bytes, 1, MOST_CYCLE),
    SEER_FIELD("l2-cycle-bytes", RATE, gpu.l2_cycle_bytes, 1e-3, MOST_CYCLE),
    SEER_FIELD("dram-cycles", COUNT, gpu.dram_cycles, 1, 100000),
    SEER_FIELD("l2-cycles", COUNT, gpu.l2_cycles, 1, 100000),
    SEER_FIELD("l1-cycles", COUNT, gpu.l1_cycles, 1, 100000),
    SEER_FIELD("workgroup-cycles", COUNT, gpu.workgroup_cycles, 1, 100000),
    SEER_FIELD("barrier-cycles", COUNT, gpu.barrier_cycles, 0, 100000),
    SEER_FIELD("barrier-warp-cycles", COUNT, gpu.barrier_warp_cycles, 0, 100000),
    SEER_FIELD("launch-s", RATE, gpu.launch_s, 0, 1),
    SEER_FIELD("lanes", FLAG, gpu.items_are_lanes, 0, 1),
    SEER_FIELD("measured", FLAG, is_measured, 0, 1),
};
_Static_assert(SEER_COUNT_OF(gpu_fields) <= SEER_FIELDS_MAX, "room for what was given");
const seer_fields seer_gpu_fields = {gpu_fields, SEER_COUNT_OF(gpu_fields)};

// ---- names

static const seer_target_kind kinds[] = {SEER_TARGET_CUDA, SEER_TARGET_OPENCL};

// ":h100" of "cuda:h100 ...", " ..." of "cuda ..."; NULL: it is of no such kind.
static const char *rest_of(const char *text, seer_target_kind kind) {
  const char *name = seer_target_kind_name(kind);
  size_t n = strlen(name);
  bool is_it = strncmp(text, name, n) == 0 && (!text[n] || strchr(": \t,", text[n]));
  return is_it ? text + n : NULL;
}

bool seer_target_text_is_gpu(const char *text) {
  text += strspn(text, " \t,");
  for (size_t k = 0; k < SEER_COUNT_OF(kinds); k++)
    if (rest_of(text, kinds[k])) return true;
  return false;
}

bool seer_gpu_read_number(
    const char *text, seer_target_kind *out_kind, uint32_t *out_number, const char **out_rest) {
  text += strspn(text, " \t,");
  for (size_t k = 0; k < SEER_COUNT_OF(kinds); k++) {
    const char *at = rest_of(text, kinds[k]);
    if (!at || *at != ':' || at[1] < '0' || at[1] > '9') continue;
    uint32_t number = 0;
    for (at++; *at >= '0' && *at <= '9'; at++)
      if (number <= MOST_NUMBER) number = number * 10 + (uint32_t)(*at - '0');
    if (*at && !strchr(" \t,", *at)) return false;  // "cuda:3d"
    *out_kind = kinds[k];
    *out_number = number;
    *out_rest = at;
    return true;
  }
  return false;
}

void seer_gpu_name(const seer_target *target, char out[SEER_TARGET_NAME_BYTES]) {
  const char *kind = seer_target_kind_name(target->kind);
  for (size_t i = 0; i < seer_gpu_table_count; i++) {
    const seer_gpu_device *device = &seer_gpu_table[i];
    if (device->kind != target->kind || device->architecture != target->gpu.architecture ||
        strcmp(device->model_name, target->model_name) != 0)
      continue;
    (void)snprintf(out, SEER_TARGET_NAME_BYTES, "%s", device->name);
    return;
  }
  if (target->gpu.architecture)
    (void)snprintf(out, SEER_TARGET_NAME_BYTES, "%s:sm_%u", kind, target->gpu.architecture);
  else
    (void)snprintf(out, SEER_TARGET_NAME_BYTES, "%s", kind);
}

// ---- parsing

static seer_status no_device(const char *name, seer_target_kind kind, seer_arena *arena) {
  seer_text known;
  seer_text_init(&known, arena);
  seer_near near = seer_near_to(name);
  for (size_t i = 0; i < seer_gpu_table_count; i++) {
    seer_near_offer(&near, seer_gpu_table[i].name);
    if (seer_gpu_table[i].kind == kind)
      seer_text_printf(&known, "%s%s", known.n_bytes ? ", " : "", seer_gpu_table[i].name);
  }
  if (kind == SEER_TARGET_CUDA)
    seer_text_printf(&known, ", and architectures alone: %s", seer_gpu_architectures(arena));
  return SEER_FAIL(INVALID, "target '%s' is not known%s%s%s; known are %s", name,
      near.best ? ", did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "",
      known.data);
}

// "sm_90", and nothing behind it -> 90; 0: it is none.
static uint32_t read_architecture(const char *text) {
  uint32_t number = 0;
  if (strncmp(text, "sm_", 3) != 0 || text[3] == '0') return 0;
  for (text += 3; *text >= '0' && *text <= '9' && number < 1000; text++)
    number = number * 10 + (uint32_t)(*text - '0');
  return *text ? 0 : number;
}

// "cuda -arch=sm_90": the option says what the rest begins with.
static seer_status begin_cuda(const char *options, seer_arena *arena, seer_target *out) {
  const char *value = NULL;
  for (const char *word, *at = options; (word = seer_fields_next_word(&at, arena)) != NULL;)
    if (strncmp(word, "-arch=", 6) == 0) value = word + 6;
  if (value && seer_gpu_of_architecture(read_architecture(value), out)) return SEER_OK;
  const char *known = seer_gpu_architectures(arena);
  if (value)
    return SEER_FAIL(INVALID, "target: -arch=%s is not known; known are those of %s", value, known);
  return SEER_FAIL(INVALID,
      "target: cuda without -arch=; a device has a name, as cuda:h100, and an architecture too: %s",
      known);
}

static seer_status begin(
    const char *name, const char *options, seer_arena *arena, seer_target *out) {
  for (size_t i = 0; i < seer_gpu_table_count; i++) {
    if (strcmp(seer_gpu_table[i].name, name) != 0) continue;
    seer_gpu_of_device(&seer_gpu_table[i], out);
    return SEER_OK;
  }
  const char *rest = rest_of(name, SEER_TARGET_CUDA);
  if (!rest) {
    if (*rest_of(name, SEER_TARGET_OPENCL)) return no_device(name, SEER_TARGET_OPENCL, arena);
    seer_gpu_of_opencl(out);
    return SEER_OK;
  }
  if (!*rest) return begin_cuda(options, arena, out);
  if (seer_gpu_of_architecture(read_architecture(rest + 1), out)) return SEER_OK;
  return no_device(name, SEER_TARGET_CUDA, arena);
}

static seer_status at_most(const char *name, uint64_t value, const char *other, uint64_t most) {
  if (value <= most) return SEER_OK;
  return SEER_FAIL(INVALID, "target: -%s=%" PRIu64 " must be at most %s, which is %" PRIu64, name,
      value, other, most);
}

// Facts that each are possible, and together are not.
static seer_status check(const seer_target_gpu *gpu) {
  if (gpu->warp_items & (gpu->warp_items - 1))
    return SEER_FAIL(INVALID, "target: -warp=%u must be a power of two", gpu->warp_items);
  if (gpu->n_banks & (gpu->n_banks - 1))
    return SEER_FAIL(INVALID, "target: -banks=%u must be a power of two", gpu->n_banks);
  if (gpu->max_block_items % gpu->warp_items)
    return SEER_FAIL(INVALID, "target: -block-items=%u must be a multiple of -warp, which is %u",
        gpu->max_block_items, gpu->warp_items);
  SEER_TRY(
      at_most("block-items", gpu->max_block_items, "-processor-items", gpu->max_processor_items));
  SEER_TRY(at_most("block-bytes", gpu->block_bytes, "-max-block-bytes", gpu->max_block_bytes));
  SEER_TRY(at_most("max-block-bytes", gpu->max_block_bytes, "-processor-bytes less -bytes-reserved",
      gpu->processor_bytes -
          (gpu->block_bytes_reserved < gpu->processor_bytes ? gpu->block_bytes_reserved
                                                            : gpu->processor_bytes)));
  bool is_known = gpu->n_registers > 0;
  if (is_known != (gpu->max_item_registers > 0) || is_known != (gpu->warp_register_unit > 0))
    return SEER_FAIL(INVALID,
        "target: -registers=%u, -item-registers=%u and -register-unit=%u must all be known, or all "
        "0",
        gpu->n_registers, gpu->max_item_registers, gpu->warp_register_unit);
  return at_most("item-registers", gpu->max_item_registers, "-registers", gpu->n_registers);
}

seer_status seer_gpu_parse(
    const char *name, const char *options, seer_arena *arena, seer_target *out) {
  seer_target target;
  bool given[SEER_FIELDS_MAX] = {false};
  SEER_TRY(begin(name, options, arena, &target));
  uint32_t architecture = target.gpu.architecture;
  for (const char *word; (word = seer_fields_next_word(&options, arena)) != NULL;) {
    SEER_TRY(seer_fields_set(&seer_gpu_fields, word, arena, &target, given));
    if (target.gpu.architecture == architecture) continue;
    return SEER_FAIL(INVALID, "target: '%s' contradicts %s", word, name);
  }
  SEER_TRY(check(&target.gpu));
  *out = target;
  return SEER_OK;
}

// ---- keys

// A block that may be run on one of them may be on the other.
uint64_t seer_gpu_feature_key(const seer_target *target, uint64_t h) {
  const seer_target_gpu *gpu = &target->gpu;
  const uint64_t facts[] = {gpu->architecture, gpu->warp_items, gpu->max_block_items,
      gpu->n_registers, gpu->max_item_registers, gpu->block_bytes, gpu->max_block_bytes};
  for (size_t i = 0; i < SEER_COUNT_OF(facts); i++) h = seer_hash_u64(facts[i], h);
  return gpu->items_are_lanes ? seer_hash_u64(1, h) : h;
}

uint64_t seer_gpu_key(const seer_target *target, uint64_t h) {
  const seer_target_gpu *gpu = &target->gpu;
  const uint64_t facts[] = {gpu->n_processors, gpu->n_schedulers, gpu->max_processor_items,
      gpu->max_processor_blocks, gpu->warp_register_unit, gpu->processor_bytes,
      gpu->block_bytes_unit, gpu->block_bytes_reserved, gpu->l2_bytes, gpu->n_banks};
  h = seer_hash_str(target->model_name ? target->model_name : "", h);
  for (size_t i = 0; i < SEER_COUNT_OF(facts); i++) h = seer_hash_u64(facts[i], h);
  return h;
}
