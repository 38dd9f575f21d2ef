// library.c - model.so and weights.bin -> models and sessions whose steps a bench can run one by
// one. The library is loaded as any program loads it; what it keeps to itself is looked up in the
// file's own table of symbols (System V ABI, ELF-64), which linking leaves there.
#include "library.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

#include "base/os.h"

enum { LINE = 64 };

struct bench_library {
  const char *folder;
  const uint8_t *base;  // where it is loaded
  const Elf64_Sym *symbol;
  size_t n_symbol;
  const char *names;
  seer_model_source source;
};

_Noreturn void bench_fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
  exit(1);
}

// ---- loading

static void read_symbols(
    bench_library *library, const char *path, void *handle, seer_arena *arena) {
  char *data = NULL;
  size_t n_bytes = 0;
  struct link_map *map = NULL;
  if (seer_os_read_file(path, arena, (size_t)1 << 30, &data, &n_bytes) ||
      n_bytes < sizeof(Elf64_Ehdr) || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
    bench_fail(path, "cannot be read");
  const Elf64_Ehdr *header = (const void *)data;
  const Elf64_Shdr *section = (const void *)(data + header->e_shoff);
  for (uint32_t i = 0; i < header->e_shnum; i++) {
    if (section[i].sh_type != SHT_SYMTAB) continue;
    library->base = (const uint8_t *)map->l_addr;
    library->symbol = (const void *)(data + section[i].sh_offset);
    library->n_symbol = section[i].sh_size / sizeof(Elf64_Sym);
    library->names = data + section[section[i].sh_link].sh_offset;
    return;
  }
  bench_fail(path, "a library without names: compile it again");
}

static const void *find(const bench_library *of, const char *name) {
  for (size_t i = 0; i < of->n_symbol; i++)
    if (strcmp(of->names + of->symbol[i].st_name, name) == 0)
      return of->base + of->symbol[i].st_value;
  bench_fail(name, "is not in the library");
}

bench_library *bench_library_load(const char *folder, seer_arena *arena) {
  char message[512] = "";
  bench_library *library = SEER_NEW(arena, bench_library);
  const char *path = seer_os_path_join(arena, folder, "model.so");
  void *handle = NULL;
  const seer_model_api *api = NULL;
  if (seer_model_load(path, &handle, &api, message, sizeof message) != SEER_RT_OK)
    bench_fail(path, message);
  read_symbols(library, path, handle, arena);
  library->folder = folder;
  library->source = (seer_model_source){
      .blob = find(library, "seer_plan_blob"),
      .n_blob_bytes = *(const uint64_t *)find(library, "seer_plan_blob_bytes"),
      .kernels = (const seer_phase_function *)find(library, "seer_plan_kernels"),
      .weights_path = seer_os_path_join(arena, folder, "weights.bin"),
  };
  return library;
}

uint64_t bench_library_code_bytes(const bench_library *library, seer_phase_function function) {
  uint64_t at = (uint64_t)((uintptr_t)function - (uintptr_t)library->base);
  for (size_t i = 0; i < library->n_symbol; i++)
    if (library->symbol[i].st_value == at && library->symbol[i].st_size > 0)
      return library->symbol[i].st_size;
  return 0;
}

// ---- opening

seer_model *bench_library_open(const bench_library *library) {
  char message[512] = "";
  seer_model *model = NULL;
  if (seer_rt_open(&library->source, &model, message, sizeof message) != SEER_RT_OK)
    bench_fail(library->folder, message);
  const seer_rt_set *of = &model->set[0];
  for (uint32_t s = 0; s < of->plan->n_step; s++) {
    uint32_t kind = of->step[s].kind;
    if (kind != SEER_PLAN_KERNEL && kind != SEER_PLAN_COPY_BYTES && kind != SEER_PLAN_VIEW)
      bench_fail(bench_step_name(of, s), "a step that is no kernel, copy or view");
  }
  return model;
}

static void bind(seer_session *session, const seer_model *model, seer_arena *arena) {
  char message[256];
  for (int32_t i = 0; i < seer_rt_n_inputs(model); i++) {
    uint64_t n = seer_rt_input(model, i)->n_bytes;
    void *memory = seer_arena_alloc(arena, n, LINE);
    if (seer_rt_session_bind_input(session, i, memory, n, message, sizeof message) != SEER_RT_OK)
      bench_fail("input", message);
  }
  for (int32_t i = 0; i < seer_rt_n_outputs(model); i++) {
    uint64_t n = seer_rt_output(model, i)->n_bytes;
    void *memory = seer_arena_alloc(arena, n, LINE);
    if (seer_rt_session_bind_output(session, i, memory, n, message, sizeof message) != SEER_RT_OK)
      bench_fail("output", message);
  }
}

seer_session *bench_library_session(const seer_model *model, seer_pool *pool, seer_arena *arena) {
  char message[512] = "";
  seer_session *session = NULL;
  if (seer_rt_session_create(model, pool, &session, message, sizeof message) != SEER_RT_OK)
    bench_fail("session", message);
  bind(session, model, arena);
  if (seer_rt_session_run(session, message, sizeof message) != SEER_RT_OK)
    bench_fail("run", message);
  return session;
}
