// table.c - the dialects that kernels can be printed in.
// To add one: write its prelude and its entry in a file of its own, add one line here; the cases of
// test/unit/code/test_source.c run in every dialect that this machine has a compiler for.
#include <string.h>

#include "code/source/internal.h"

const seer_dialect *const seer_dialect_table[] = {
    &seer_dialect_c,
    &seer_dialect_c_vectors,
    &seer_dialect_opencl,
    &seer_dialect_cuda,
};
const size_t seer_dialect_table_count = SEER_COUNT_OF(seer_dialect_table);

const seer_dialect *seer_dialect_of(const seer_target *target) {
  return seer_target_is_plain(target) ? &seer_dialect_c : &seer_dialect_c_vectors;
}

const seer_dialect *seer_dialect_find(const char *name) {
  for (size_t k = 0; k < seer_dialect_table_count; k++) {
    if (strcmp(seer_dialect_table[k]->name, name) == 0) return seer_dialect_table[k];
  }
  return NULL;
}
