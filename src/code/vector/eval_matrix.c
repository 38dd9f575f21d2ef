// eval_matrix.c - the matrices of a call, word by word.
#include <string.h>

#include "code/vector/eval.h"

void seer_vec_set_shapes(seer_vec_machine *m, const seer_vec_shapes *shapes) {
  memset(m->matrix, 0, sizeof(m->matrix));
  for (uint32_t k = 0; shapes && k < SEER_VEC_MATRICES; k++) {
    m->matrix[k].rows = shapes->rows[k];
    m->matrix[k].columns = shapes->columns[k];
  }
}

// NULL: it has no shape.
static seer_vec_held_matrix *matrix_of(seer_vec_machine *m, uint32_t id, uint32_t k) {
  if (m->matrix[k].rows > 0) return &m->matrix[k];
  seer_vec_fault(m, id, "matrix %u has no shape", k);
  return NULL;
}

static bool access_matrix(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  seer_vec_held_matrix *x = matrix_of(m, id, seer_vec_matrix_regs_of(node).sum);
  seer_vec_object *o = x ? seer_vec_object_of(m, id) : NULL;
  bool is_store = node->op == SEER_VEC_MATRIX_STORE;
  if (!o || !seer_vec_is_known(m, id, 1, "what is between rows")) return false;
  int64_t base = (int64_t)*seer_vec_lanes_of(m, node->arg[0]),
          stride = (int64_t)*seer_vec_lanes_of(m, node->arg[1]);
  for (uint32_t r = 0; r < x->rows; r++) {
    if (!seer_vec_is_inside(m, id, o, base + r * stride, 4 * x->columns)) return false;
    for (uint32_t c = 0; c < x->columns; c++) {
      int64_t offset = base + r * stride + 4 * (int64_t)c;
      if (!is_store) {
        memcpy(&x->bits[r][c], o->bytes + offset, 4);
        x->is_hazy[r][c] = !seer_vec_is_written(o, offset, 4);
        continue;
      }
      if (x->is_hazy[r][c] && o->is_shared) {
        seer_vec_fault(m, id, "row %u, column %u is not known, and others read it", r, c);
        return false;
      }
      memcpy(o->bytes + offset, &x->bits[r][c], 4);
      if (o->known) memset(o->known + offset, !x->is_hazy[r][c], 4);
    }
  }
  return true;
}

// Row by column, by the operator on one lane.
static bool multiply_matrices(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  seer_vec_matrix_regs regs = seer_vec_matrix_regs_of(node);
  bool is_halves = node->op == SEER_VEC_MATRIX_DOT2;
  seer_vec_held_matrix *sum = matrix_of(m, id, regs.sum);
  const seer_vec_held_matrix *x = matrix_of(m, id, regs.x), *y = matrix_of(m, id, regs.y);
  if (!sum || !x || !y) return false;
  if (sum->rows != x->rows || sum->columns != y->columns || x->columns != y->rows) {
    seer_vec_fault(m, id, "%u by %u is no product of %u by %u and %u by %u", sum->rows,
        sum->columns, x->rows, x->columns, y->rows, y->columns);
    return false;
  }
  for (uint32_t r = 0; r < sum->rows; r++) {
    for (uint32_t c = 0; c < sum->columns; c++) {
      for (uint32_t k = 0; k < x->columns; k++) {
        uint64_t made = 0;
        if (!seer_vec_apply(is_halves ? SEER_VEC_DOT2 : SEER_VEC_DOT4, SEER_VEC_I32,
                is_halves ? SEER_VEC_F32 : SEER_VEC_I32, x->bits[r][k], y->bits[k][c],
                sum->bits[r][c], &made)) {
          seer_vec_fault(m, id, "is not defined in row %u, column %u", r, c);
          return false;
        }
        sum->bits[r][c] = (uint32_t)made;
        sum->is_hazy[r][c] |= x->is_hazy[r][k] || y->is_hazy[k][c];
      }
    }
  }
  return true;
}

static bool clear_matrix(seer_vec_machine *m, uint32_t id) {
  seer_vec_held_matrix *x = matrix_of(m, id, seer_vec_matrix_regs_of(&m->code->node[id]).sum);
  if (!x) return false;
  memset(x->bits, 0, sizeof(x->bits));
  memset(x->is_hazy, 0, sizeof(x->is_hazy));
  return true;
}

bool seer_vec_run_matrices(seer_vec_machine *m, uint32_t id) {
  const seer_vec_node *node = &m->code->node[id];
  switch ((int)node->op) {
    case SEER_VEC_MATRIX_SHAPES:
      seer_vec_set_shapes(m, &m->code->shapes[node->imm]);
      return true;
    case SEER_VEC_MATRIX_ZERO:
      return clear_matrix(m, id);
    case SEER_VEC_MATRIX_LOAD:
    case SEER_VEC_MATRIX_STORE:
      return access_matrix(m, id);
    default:
      return multiply_matrices(m, id);
  }
}
