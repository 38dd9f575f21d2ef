// matrix.c - matrices at an address: rows a constant number of bytes apart.
#include "code/access/access.h"

seer_vec seer_gen_matrix_pointer(seer_gen *g, const seer_gen_addr *addr) {
  return seer_access_pointer(g, addr, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1);
}

void seer_gen_load_matrix(seer_gen *g, const seer_gen_addr *addr, uint32_t matrix, int64_t stride) {
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  seer_vec_matrix_load(g->b, matrix, seer_gen_matrix_pointer(g, addr),
      seer_gen_const_i64(g, stride), align, addr->buf);
}

void seer_gen_store_matrix(
    seer_gen *g, const seer_gen_addr *addr, uint32_t matrix, int64_t stride) {
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  seer_vec_matrix_store(g->b, matrix, seer_gen_matrix_pointer(g, addr),
      seer_gen_const_i64(g, stride), align, addr->buf);
}
