// load_object.c - on a processor that is not this machine's: loads an object of one phase, whose
// arguments are an output and an input, and runs it.
//   load_object OBJECT SYMBOL PARTS ELEMENTS   f64 of stdin -> f64 of stdout; refused: status 3
#include <stdio.h>
#include <stdlib.h>

#include "code/object/object.h"

#define ROUNDS 3  // the same pages are used again
#define MAX_BYTES (1 << 20)

#if defined(__aarch64__)
// libgcc's, which is not here: lines of 64 bytes are the shortest that there are in use.
void __clear_cache(void *from, void *to) {
  for (char *at = from; at < (char *)to; at += 64)
    __asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
  __asm__ volatile("dsb ish" : : : "memory");
  for (char *at = from; at < (char *)to; at += 64)
    __asm__ volatile("ic ivau, %0" : : "r"(at) : "memory");
  __asm__ volatile("dsb ish\n\tisb" : : : "memory");
}
#endif

int main(int argc, char **argv) {
  FILE *file = argc == 5 ? fopen(argv[1], "rb") : NULL;
  if (!file) return 2;
  char *bytes = malloc(MAX_BYTES);
  size_t n_bytes = fread(bytes, 1, MAX_BYTES, file), n = (size_t)atoi(argv[4]);
  double *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
  void *scratch = aligned_alloc(64, MAX_BYTES);
  void *const buffers[] = {y, x, scratch};
  if (fclose(file) != 0 || fread(x, sizeof *x, n, stdin) != n) return 2;
  for (int round = 0; round < ROUNDS; round++) {
    seer_kernel_phase phase;
    seer_loaded loaded;
    seer_status status = seer_object_load(bytes, n_bytes, argv[2], 1, &phase, &loaded);
    if (status) {
      fprintf(stderr, "%s\n", seer_status_message(status));
      return 3;
    }
    for (int part = 0; part < atoi(argv[3]); part++) phase(buffers, (uint32_t)part);
    seer_object_unload(&loaded);
  }
  return fwrite(y, sizeof *y, n, stdout) == n ? 0 : 2;
}
