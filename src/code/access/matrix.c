// matrix.c - matrices at an address: rows a constant number of bytes apart.
#include "code/access/access.h"

seer_vec seer_gen_load_matrix(seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem,
    seer_vec_matrix shape, int64_t stride) {
  enum { TAG_MATRIX = 240 };
  seer_vec p = seer_access_pointer(g, addr, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1);
  seer_vec apart = seer_gen_const_i64(g, stride);
  seer_vec v = seer_gen_memo_find(g, TAG_MATRIX, p, apart, seer_vec_matrix_imm(shape));
  if (v.i != 0) return v;
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  v = seer_vec_matrix_load(g->b, elem, shape, p, apart, align, addr->buf);
  seer_gen_memo_add(g, TAG_MATRIX, p, apart, seer_vec_matrix_imm(shape), v);
  return v;
}

void seer_gen_store_matrix(
    seer_gen *g, const seer_gen_addr *addr, seer_vec value, seer_vec_matrix shape, int64_t stride) {
  seer_vec p = seer_access_pointer(g, addr, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1);
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  seer_vec_matrix_store(g->b, shape, value, p, seer_gen_const_i64(g, stride), align, addr->buf);
}
