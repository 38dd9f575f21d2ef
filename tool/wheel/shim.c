// shim.c - what Debian's archives ask of libc that glibc 2.28 has not, made of what it has. They
// were compiled where it is there; libgcc's and libstdc++'s among them. Hidden in libfamilyseer.so;
// the linker says where something is missing.
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

// ---- 2.33: calls for files; before, headers made them of these. The number is that of the
// kernel's struct stat.
#define STAT_VERSION 1
// Names with 64 are those of what was compiled for files of any length.
#define STATS(stat, lstat, fstat, __xstat, __lxstat, __fxstat)      \
  int __xstat(int version, const char *path, struct stat *out);     \
  int __lxstat(int version, const char *path, struct stat *out);    \
  int __fxstat(int version, int fd, struct stat *out);              \
  int stat(const char *restrict path, struct stat *restrict out) {  \
    return __xstat(STAT_VERSION, path, out);                        \
  }                                                                 \
  int lstat(const char *restrict path, struct stat *restrict out) { \
    return __lxstat(STAT_VERSION, path, out);                       \
  }                                                                 \
  int fstat(int fd, struct stat *out) { return __fxstat(STAT_VERSION, fd, out); }
STATS(stat, lstat, fstat, __xstat, __lxstat, __fxstat)
STATS(stat64, lstat64, fstat64, __xstat64, __lxstat64, __fxstat64)

// ---- 2.32: whether the process has one thread, so that counters need no locked instruction. Never
// said.
char __libc_single_threaded;

// ---- 2.33: how much is allocated, in integers that are wide enough. For LLVM's statistics alone.
struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // there is no other in 2.28
  struct mallinfo was = mallinfo();
  return (struct mallinfo2){.arena = (size_t)was.arena,
      .hblkhd = (size_t)was.hblkhd,
      .uordblks = (size_t)was.uordblks,
      .fordblks = (size_t)was.fordblks};
}

// ---- 2.36: for std::random_device
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) continue;
  return number;
}

// ---- 2.35: where the unwinder finds the tables of the code at `pc`. Which libraries are loaded is
// what dl_iterate_phdr tells, as the unwinder itself asks where glibc is older.
typedef struct {
  uintptr_t pc;
  struct dl_find_object *out;
} search;

static int look(struct dl_phdr_info *info, size_t n_bytes, void *user) {
  (void)n_bytes;
  const search *s = user;
  uintptr_t start = 0, end = 0, tables = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    uintptr_t at = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && s->pc >= at && s->pc - at < part->p_memsz) {
      start = at;
      end = at + part->p_memsz;
    }
    if (part->p_type == PT_GNU_EH_FRAME) tables = at;
  }
  if (!end || !tables) return 0;
  *s->out = (struct dl_find_object){.dlfo_map_start = (void *)start,  // NOLINT: an address
      .dlfo_map_end = (void *)end,  // NOLINT
      .dlfo_eh_frame = (void *)tables};  // NOLINT
  return 1;
}

int _dl_find_object(void *pc, struct dl_find_object *out) {
  search s = {(uintptr_t)pc, out};
  return dl_iterate_phdr(look, &s) == 1 ? 0 : -1;
}

// ---- not libc's

// XGBoost is made without OpenMP here (src/learn/cost/xgboost.c asks it for one thread).
void omp_set_num_threads(int n);
void omp_set_num_threads(int n) { (void)n; }

// Debian's jansson is compiled for programs, not for libraries, and compares a stream with `stdin`,
// to name it in messages. No stream that it is given is that.
FILE *seer_no_stdin;
