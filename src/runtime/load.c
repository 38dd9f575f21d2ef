// load.c - model.so -> its table of functions, for programs that find models while running. Not in
// the archive that is linked into model.so.
#include "runtime/exec.h"

typedef int seer_rt_not_empty;

#ifndef SEER_RT_EMBEDDED

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_PATH 4096
#define N_BITS 64  // of a file's identity, two characters each

static seer_rt_code refuse(
    const char *so_path, const seer_model_api *api, char *message, size_t message_bytes) {
  if (!api)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "%s: a library, but no model (it lacks seer_model_v1)", so_path);
  return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
      "%s: a model of another version: interface %u with a table of %u bytes, must be 1 with at "
      "least %zu",
      so_path, api->abi_version, api->struct_size, offsetof(seer_model_api, session_bind_input));
}

// Processors that libraries are made for, by ELF's number of them.
static const struct {
  uint16_t number;
  const char *name;
} machines[] = {{EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, "riscv64"}};

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#else
#define OWN_MACHINE EM_NONE
#endif

// Whose library it is that is of no use here; NULL where that is not why. The loader's own words
// for it are "No such file or directory".
static const char *other_machine(const char *path) {
  unsigned char header[20];  // up to e_machine
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  bool is_elf = read(fd, header, sizeof header) == (ssize_t)sizeof header &&
      memcmp(header, ELFMAG, SELFMAG) == 0;
  close(fd);
  uint16_t number = (uint16_t)(header[18] | header[19] << 8);
  for (size_t k = 0; is_elf && k < sizeof machines / sizeof machines[0]; k++) {
    if (machines[k].number == number && number != OWN_MACHINE) return machines[k].name;
  }
  return NULL;
}

static seer_rt_code refuse_library(
    const char *so_path, const char *path, char *message, size_t message_bytes) {
  const char *why = dlerror(), *machine = other_machine(path);
  if (machine)
    return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "%s: a library for %s processors, of which this is none", so_path, machine);
  return seer_rt_fail(SEER_RT_NOT_FOUND, message, message_bytes, "%s", why);
}

// Which file is at `path`: its number, and when it was last written to. (fstat is no symbol of
// glibc 2.17.)
static bool identify(const char *path, uint64_t *out_identity) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_known = syscall(SYS_fstat, fd, &info) == 0;
  close(fd);
  if (!is_known) return false;
  uint64_t written = (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
  *out_identity = (uint64_t)info.st_ino * 0x9e3779b97f4a7c15u ^ written;
  return true;
}

// The same file by another spelling of its path, which its identity decides: "/." or "//" for each
// bit, between folder and name.
static bool spell(const char *path, uint64_t identity, char out[MAX_PATH]) {
  const char *name = strrchr(path, '/') + 1;
  size_t n_folder = (size_t)(name - path) - 1, n_name = strlen(name);
  if (n_folder + 2 * N_BITS + 1 + n_name >= MAX_PATH) return false;
  memcpy(out, path, n_folder);
  char *at = out + n_folder;
  for (int k = 0; k < N_BITS; k++) {
    *at++ = '/';
    *at++ = identity >> k & 1 ? '.' : '/';
  }
  *at++ = '/';
  memcpy(at, name, n_name + 1);
  return true;
}

// The library that is at `path` now. glibc's loader knows one by its path, and gives the old one
// while that is open, where a new one has been put in its place.
static void *open_now(const char *path) {
  void *known = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!known) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  uint64_t identity;
  char other[MAX_PATH];
  bool is_spelled = identify(path, &identity) && spell(path, identity, other);
  void *library = dlopen(is_spelled ? other : path, RTLD_NOW | RTLD_LOCAL);
  dlclose(known);
  return library;
}

seer_rt_code seer_model_load(const char *so_path, void **out_library,
    const seer_model_api **out_api, char *message, size_t message_bytes) {
  *out_library = NULL;
  *out_api = NULL;
  // dlopen searches the system's folders for a name without a slash.
  char path[MAX_PATH];
  int n = snprintf(path, sizeof path, "%s%s", strchr(so_path, '/') ? "" : "./", so_path);
  if (n < 0 || (size_t)n >= sizeof path)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "path of the model is too long");
  void *library = open_now(path);
  if (!library) return refuse_library(so_path, path, message, message_bytes);
  const seer_model_api *(*get)(void) = NULL;
  void *symbol = dlsym(library, "seer_model_v1");
  memcpy(&get, &symbol, sizeof get);
  const seer_model_api *api = get ? get() : NULL;
  // Libraries made before a member was appended are used without it.
  if (!api || api->abi_version != 1 || !SEER_API_HAS(api, selected)) {
    seer_rt_code code = refuse(so_path, api, message, message_bytes);
    dlclose(library);
    return code;
  }
  *out_library = library;
  *out_api = api;
  return SEER_RT_OK;
}

void seer_model_unload(void *library) {
  if (library) dlclose(library);
}

#endif
