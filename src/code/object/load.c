// load.c - what was read, in memory that is written first and executed afterwards. Every object has
// pages of its own, code and constants apart.
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/processors.h"
#include "code/object/internal.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

static seer_status fill(const seer_object *object, seer_loaded *loaded) {
  uint8_t *memory = loaded->memory;
  SEER_TRY(seer_object_place(object, memory, (uint64_t)(uintptr_t)memory));
  char *code = loaded->memory;
  __builtin___clear_cache(code, code + object->n_code_bytes);  // of instructions
  uint64_t n_constant_bytes = object->n_memory_bytes - object->n_code_bytes;
  bool is_ready = mprotect(memory, object->n_code_bytes, PROT_READ | PROT_EXEC) == 0 &&
      (n_constant_bytes == 0 ||
          mprotect(memory + object->n_code_bytes, n_constant_bytes, PROT_READ) == 0);
  if (is_ready) return SEER_OK;
  return SEER_FAIL(RESOURCE, "the system lets no memory be executed (mprotect): kernels can't run");
}

static seer_status find_phases(const seer_object *object, const seer_loaded *loaded,
    const char *symbol, uint32_t n_phase, seer_kernel_phase *out_phase) {
  for (uint32_t p = 0; p < n_phase; p++) {
    char name[256];
    uint64_t at = 0;
    int n = snprintf(name, sizeof name, "%s_p%u", symbol, p);
    if (n < 0 || (size_t)n >= sizeof name)
      return SEER_FAIL(INVALID, "object: a symbol of %zu characters", strlen(symbol));
    SEER_TRY(seer_object_find(object, name, &at));
    uintptr_t function = (uintptr_t)loaded->memory + at;
    memcpy(&out_phase[p], &function, sizeof out_phase[p]);
  }
  return SEER_OK;
}

seer_status seer_object_load(const void *bytes, size_t n_bytes, const char *symbol,
    uint32_t n_phase, seer_kernel_phase *out_phase, seer_loaded *out_loaded) {
  *out_loaded = (seer_loaded){0};
  seer_object object;
  SEER_TRY(seer_object_read(bytes, n_bytes, (uint64_t)sysconf(_SC_PAGESIZE), &object));
  if (object.machine != OWN_MACHINE)
    return SEER_FAIL(UNSUPPORTED, "object: for another processor than this (ELF's machine %u, %u)",
        object.machine, OWN_MACHINE);
  (void)seer_processors_ask_for_tiles();  // a target has them only where this is granted
  void *memory =
      mmap(NULL, object.n_memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return SEER_FAIL(RESOURCE, "no memory for a kernel of %zu bytes", n_bytes);
  *out_loaded = (seer_loaded){memory, object.n_memory_bytes};
  seer_status status = fill(&object, out_loaded);
  if (!status) status = find_phases(&object, out_loaded, symbol, n_phase, out_phase);
  if (status) seer_object_unload(out_loaded);
  return status;
}

void seer_object_unload(seer_loaded *loaded) {
  if (loaded->memory) (void)munmap(loaded->memory, loaded->n_bytes);
  *loaded = (seer_loaded){0};
}
