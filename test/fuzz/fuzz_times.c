// Bytes as a table of times: as the text that a file is compressed from where they begin with '{',
// else as the file itself. Read or refused; what is read is written and read again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "fuzz/fuzz.h"
#include "measure/times/times.h"

static void must(seer_status status) {
  if (!status) return;
  (void)fprintf(stderr, "%s\n", seer_status_message(status));
  abort();
}

static void put(int fd, const void *data, size_t n_bytes) {
  if (ftruncate(fd, 0) || pwrite(fd, data, n_bytes, 0) != (ssize_t)n_bytes) abort();
}

// As gzip does it.
static void put_packed(int fd, const uint8_t *data, size_t n_bytes, seer_arena *arena) {
  z_stream z = {0};
  if (deflateInit2(&z, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  size_t cap = deflateBound(&z, n_bytes);
  unsigned char *out = seer_arena_alloc(arena, cap, 1);
  z.next_in = (unsigned char *)(uintptr_t)data;
  z.avail_in = (uInt)n_bytes;
  z.next_out = out;
  z.avail_out = (uInt)cap;
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
  put(fd, out, cap - z.avail_out);
  deflateEnd(&z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  static int in = -1;
  if (in < 0) in = memfd_create("times", 0);
  if (in < 0) abort();
  if (n_bytes == 0) return 0;
  seer_arena *arena = seer_arena_create("fuzz");
  if (data[0] == '{')
    put_packed(in, data, n_bytes, arena);
  else
    put(in, data, n_bytes);
  const char *path = seer_arena_printf(arena, "/proc/self/fd/%d", in);
  seer_times times, again;
  seer_status status = seer_times_read(path, arena, &times);
  if (!status) {
    char folder[] = "/tmp/seer-fuzz-times.XXXXXX";
    if (!mkdtemp(folder)) abort();
    const char *file = seer_arena_printf(arena, "%s/t.gz", folder);
    must(seer_times_write(&times, file));
    must(seer_times_read(file, arena, &again));
    if (again.n_task != times.n_task) abort();
    for (uint32_t t = 0; t < times.n_task; t++)
      if (again.task[t].n_time != times.task[t].n_time) abort();
    (void)unlink(file);
    (void)rmdir(folder);
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
  return 0;
}
