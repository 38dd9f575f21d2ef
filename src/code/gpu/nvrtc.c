// nvrtc.c - the library by dlopen. What is called of it is declared here, as its manual has it: its
// header is not on every machine that builds this.
#include "code/gpu/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef struct nvrtc_program *program;
typedef int result;  // 0: it went well

#define FUNCTIONS(X)                                                                          \
  X(result, nvrtcVersion, (int *, int *))                                                     \
  X(result, nvrtcGetNumSupportedArchs, (int *))                                               \
  X(result, nvrtcGetSupportedArchs, (int *))                                                  \
  X(const char *, nvrtcGetErrorString, (result))                                              \
  X(result, nvrtcCreateProgram,                                                               \
      (program *, const char *, const char *, int, const char *const *, const char *const *)) \
  X(result, nvrtcDestroyProgram, (program *))                                                 \
  X(result, nvrtcCompileProgram, (program, int, const char *const *))                         \
  X(result, nvrtcGetProgramLogSize, (program, size_t *))                                      \
  X(result, nvrtcGetProgramLog, (program, char *))                                            \
  X(result, nvrtcGetCUBINSize, (program, size_t *))                                           \
  X(result, nvrtcGetCUBIN, (program, char *))                                                 \
  X(result, nvrtcGetPTXSize, (program, size_t *))                                             \
  X(result, nvrtcGetPTX, (program, char *))

#define MAX_PROCESSORS 128
// What it has allocated for good stays known to it.
#define HOW (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)

struct seer_nvrtc {
  void *library, *builtins;
  uint32_t version;
  int n_processor, processor[MAX_PROCESSORS];
#define POINTER(type, name, args) type(*name) args;
  FUNCTIONS(POINTER)
#undef POINTER
};

static const char *const names[] = {
    "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"};

static seer_status find_functions(seer_nvrtc *n, const char *path) {
  struct {
    const char *name;
    void **place;
  } all[] = {
#define PLACE(type, name, args) {#name, (void **)&n->name},
      FUNCTIONS(PLACE)
#undef PLACE
  };
  for (size_t k = 0; k < SEER_COUNT_OF(all); k++) {
    *all[k].place = dlsym(n->library, all[k].name);
    if (!*all[k].place)
      return SEER_FAIL(
          NOT_FOUND, "%s has no %s: it is no NVRTC, or too old a one", path, all[k].name);
  }
  int major, minor;
  if (n->nvrtcVersion(&major, &minor) != 0 || n->nvrtcGetNumSupportedArchs(&n->n_processor) != 0 ||
      n->n_processor > MAX_PROCESSORS || n->nvrtcGetSupportedArchs(n->processor) != 0)
    return SEER_FAIL(NOT_FOUND, "%s does not say what it makes code for", path);
  n->version = (uint32_t)(major * 100 + minor);
  return SEER_OK;
}

// What it opens itself when it compiles, found by name beside it: what runs this process may look
// only where the program says (AddressSanitizer does). If it is not there, NVRTC says so.
static void open_builtins(seer_nvrtc *n, const char *path) {
  char name[512];
  const char *end = strrchr(path, '/');
  if (!end) return;
  int length = snprintf(name, sizeof(name), "%.*s/libnvrtc-builtins.so.%u.%u", (int)(end - path),
      path, n->version / 100, n->version % 100);
  if (length > 0 && (size_t)length < sizeof(name)) n->builtins = dlopen(name, HOW);
}

// NVIDIA's compiler calls this of the driver, where there is one, without a look whether it has it:
// with a libcuda that is none of NVIDIA's it would end the process.
static seer_status check_driver(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) return SEER_OK;
  bool is_whole = dlsym(driver, "cuGetExportTable") != NULL;
  dlclose(driver);
  if (is_whole) return SEER_OK;
  return SEER_FAIL(NOT_FOUND,
      "the libcuda.so.1 that is found here has no cuGetExportTable, which NVRTC calls: it is no "
      "driver of NVIDIA's");
}

seer_status seer_nvrtc_open(const char *path, seer_nvrtc **out) {
  *out = NULL;
  seer_nvrtc *n = calloc(1, sizeof(*n));
  if (!n) return SEER_FAIL(RESOURCE, "no memory for NVRTC's table");
  const char *why = NULL;
  if (path) {
    n->library = dlopen(path, HOW);
    if (!n->library) why = dlerror();
  }
  for (size_t k = 0; !path && !n->library && k < SEER_COUNT_OF(names); k++) {
    n->library = dlopen(names[k], HOW);
    if (!n->library && !why) why = dlerror();
  }
  seer_status status = n->library
      ? find_functions(n, path ? path : "libnvrtc")
      : SEER_FAIL(NOT_FOUND,
            "NVIDIA's compiler (NVRTC, of the CUDA toolkit or of nvidia-cuda-nvrtc-cu12 from PyPI) "
            "is not to be had: %s",
            why ? why : "no reason is given");
  if (!status) status = check_driver();
  if (status) {
    seer_nvrtc_close(n);
    return status;
  }
  if (path) open_builtins(n, path);
  *out = n;
  return SEER_OK;
}

void seer_nvrtc_close(seer_nvrtc *nvrtc) {
  if (!nvrtc) return;
  if (nvrtc->library) dlclose(nvrtc->library);
  if (nvrtc->builtins) dlclose(nvrtc->builtins);
  free(nvrtc);
}

uint32_t seer_nvrtc_version(const seer_nvrtc *nvrtc) { return nvrtc->version; }

bool seer_nvrtc_knows(const seer_nvrtc *nvrtc, uint32_t sm) {
  for (int k = 0; k < nvrtc->n_processor; k++) {
    if ((uint32_t)nvrtc->processor[k] == sm) return true;
  }
  return false;
}

// ---- building

typedef struct {
  seer_nvrtc *n;
  program program;
  const char *name;
  seer_arena *arena;
} job;

static seer_status checked(const job *j, const char *what, result r) {
  if (r == 0) return SEER_OK;
  return SEER_FAIL(INTERNAL, "%s: NVRTC, %s: %s", j->name, what, j->n->nvrtcGetErrorString(r));
}

static seer_status compile(const job *j, uint32_t sm) {
  const char *options[] = {seer_arena_printf(j->arena, "--gpu-architecture=sm_%u", sm),
      "--fmad=false", "--std=c++17", "--device-as-default-execution-space"};
  result r = j->n->nvrtcCompileProgram(j->program, SEER_COUNT_OF(options), options);
  if (r == 0) return SEER_OK;
  size_t n_bytes = 0;
  char *log = NULL;
  if (j->n->nvrtcGetProgramLogSize(j->program, &n_bytes) == 0 && n_bytes > 1) {
    log = seer_arena_alloc(j->arena, n_bytes + 1, 1);
    if (j->n->nvrtcGetProgramLog(j->program, log) != 0) log = NULL;
  }
  return SEER_FAIL(INVALID, "%s for sm_%u: %s%s%s", j->name, sm, j->n->nvrtcGetErrorString(r),
      log ? ":\n" : "", log ? log : "");
}

static seer_status take(const job *j, seer_nvrtc_program *out) {
  size_t n_ptx = 0;
  SEER_TRY(
      checked(j, "how long its code is", j->n->nvrtcGetCUBINSize(j->program, &out->n_cubin_bytes)));
  SEER_TRY(checked(j, "how long its PTX is", j->n->nvrtcGetPTXSize(j->program, &n_ptx)));
  char *cubin = seer_arena_alloc(j->arena, out->n_cubin_bytes + 1, 16);
  char *ptx = seer_arena_alloc(j->arena, n_ptx + 1, 1);
  SEER_TRY(checked(j, "its code", j->n->nvrtcGetCUBIN(j->program, cubin)));
  SEER_TRY(checked(j, "its PTX", j->n->nvrtcGetPTX(j->program, ptx)));
  out->cubin = cubin;
  out->ptx = ptx;
  return seer_cubin_read(cubin, out->n_cubin_bytes, j->arena, &out->kernels);
}

seer_status seer_nvrtc_build(seer_nvrtc *nvrtc, const char *name, const char *const *texts,
    uint32_t n_texts, uint32_t sm, seer_arena *arena, seer_nvrtc_program *out) {
  *out = (seer_nvrtc_program){0};
  if (!seer_nvrtc_knows(nvrtc, sm)) {
    return SEER_FAIL(UNSUPPORTED, "%s: NVRTC %u.%u makes no code for sm_%u", name,
        nvrtc->version / 100, nvrtc->version % 100, sm);
  }
  seer_text all;
  seer_text_init(&all, arena);
  for (uint32_t k = 0; k < n_texts; k++) seer_text_put(&all, texts[k]);
  job j = {.n = nvrtc, .name = name, .arena = arena};
  seer_status status = checked(
      &j, "a program", nvrtc->nvrtcCreateProgram(&j.program, all.data, name, 0, NULL, NULL));
  if (!status) status = compile(&j, sm);
  if (!status) status = take(&j, out);
  if (j.program) (void)nvrtc->nvrtcDestroyProgram(&j.program);
  return status;
}
