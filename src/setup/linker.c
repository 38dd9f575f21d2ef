// linker.c - where ld.lld and what it links with lie, and a run of it as a process.
#include "setup/linker.h"

#include <string.h>

#include "base/os.h"

#ifndef SEER_BUILD_DIR
#define SEER_BUILD_DIR "."
#endif
#ifndef SEER_INSTALL_LIBDIR
#define SEER_INSTALL_LIBDIR "/usr/local/lib/familyseer"
#endif
#ifndef SEER_LLD
#define SEER_LLD "/usr/bin/ld.lld-19"
#endif

const char *seer_linker_here(void) {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv)
  return "riscv64";
#else
  return "";
#endif
}

// Beside this program or library (a build folder), in the installation that it is in
// (bin/familyseer, lib/libfamilyseer.so), where the build or the installation put it.
const char *seer_linker_archive(seer_isa isa, const char *name, seer_arena *arena) {
  const char *self = NULL, *folder[4] = {NULL};
  if (strcmp(seer_isa_name(isa), seer_linker_here()) != 0)
    name = seer_os_path_join(arena, seer_isa_name(isa), name);
  bool is_library;
  seer_status status = seer_os_self_path(arena, &self, &is_library);
  if (!status) {
    folder[0] = seer_os_path_dir(arena, self);
    folder[1] =
        seer_os_path_join(arena, folder[0], is_library ? "familyseer" : "../lib/familyseer");
  }
  seer_status_free(status);
  folder[2] = SEER_BUILD_DIR;
  folder[3] = SEER_INSTALL_LIBDIR;
  for (uint32_t i = 0; i < SEER_COUNT_OF(folder); i++) {
    const char *path = folder[i] ? seer_os_path_join(arena, folder[i], name) : NULL;
    if (path && seer_os_exists(path)) return path;
  }
  return NULL;
}

seer_status seer_linker_first(
    const char *const *paths, uint32_t n, const char *what, const char **out_path) {
  for (uint32_t i = 0; i < n; i++) {
    if (!seer_os_exists(paths[i])) continue;
    *out_path = paths[i];
    return SEER_OK;
  }
  return SEER_FAIL(NOT_FOUND, "%s is not installed", what);
}

static const char *const linkers[] = {SEER_LLD, "/usr/bin/ld.lld-19", "/usr/lib/llvm-19/bin/ld.lld",
    "/usr/bin/ld.lld", "/usr/local/bin/ld.lld"};

seer_status seer_linker_find(seer_arena *arena, const char **out_path) {
  const char *self = NULL;
  seer_status status = seer_os_self_path(arena, &self, &(bool){false});
  if (!status) *out_path = seer_os_path_join(arena, seer_os_path_dir(arena, self), "ld.lld");
  const bool is_beside = !status && seer_os_exists(*out_path);
  seer_status_free(status);
  if (is_beside) return SEER_OK;
  return seer_linker_first(linkers, SEER_COUNT_OF(linkers), "ld.lld (package lld-19)", out_path);
}

// Libraries made of src/runtime/libc.inc and operator_libc.inc, beside the archive: names of libc,
// without the symbol versions of the libc that this machine happens to have.
static const char *const stubs[SEER_LINKER_STUBS] = {
    "libseer_stub_c.so", "libseer_stub_pthread.so", "libseer_stub_dl.so"};

static seer_status find_stub(
    const char *archive, const char *name, seer_arena *arena, const char **out_path) {
  *out_path = seer_os_path_join(arena, seer_os_path_dir(arena, archive), name);
  if (seer_os_exists(*out_path)) return SEER_OK;
  return SEER_FAIL(
      NOT_FOUND, "%s (what model.so is linked against) is not beside %s", name, archive);
}

seer_status seer_linker_stubs(
    const char *archive, seer_arena *arena, const char *out_path[SEER_LINKER_STUBS]) {
  for (uint32_t i = 0; i < SEER_LINKER_STUBS; i++)
    SEER_TRY(find_stub(archive, stubs[i], arena, &out_path[i]));
  return SEER_OK;
}

seer_status seer_linker_maths(const char *archive, seer_arena *arena, const char **out_path) {
  return find_stub(archive, "libseer_stub_m.so", arena, out_path);
}

seer_status seer_linker_try(const char *const *argv, const char *log_path, seer_arena *arena,
    int *out_exit_status, const char **out_log) {
  seer_os_spawn_options options = {.argv = argv, .stdout_path = log_path, .stderr_path = log_path};
  seer_os_process process = {0};
  *out_log = "";
  SEER_TRY(seer_os_spawn(&options, &process));
  bool is_done = false;
  seer_status status =
      seer_os_wait(&process, (uint64_t)300 * 1000000000u, &is_done, out_exit_status);
  seer_os_kill(&process);
  if (status) return status;
  if (!is_done) return SEER_FAIL(TIMEOUT, "%s took more than 5 minutes", argv[0]);
  if (*out_exit_status == 0) return SEER_OK;
  char *log = NULL;
  size_t n = 0;
  seer_status_free(seer_os_read_file(log_path, arena, 1 << 20, &log, &n));
  if (log) *out_log = log;
  return SEER_OK;
}

seer_status seer_linker_run(const char *const *argv, const char *log_path, seer_arena *arena) {
  int exit_status = 0;
  const char *log;
  SEER_TRY(seer_linker_try(argv, log_path, arena, &exit_status, &log));
  if (exit_status == 0) return SEER_OK;
  return SEER_FAIL(INTERNAL, "%s ended with status %d: %s", argv[0], exit_status, log);
}
