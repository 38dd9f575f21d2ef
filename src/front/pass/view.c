// view.c - which reshapes and transposes are free, given physical orders.
// Both sides are cut into atoms: the coarsest pieces that are whole dimensions, or whole parts of
// dimensions, of either side. [1,C,H,W] -> [1,g,C/g,H*W] has the atoms g, C/g, and (H,W) together.
// Memory is the same on both sides iff the atoms lie in the same sequence. Dimensions of extent 1
// have no place in memory and are left out. Where rows lie apart, both sides must have the same
// rows.
#include <string.h>

#include "front/pass/pass.h"

enum { MAX_ATOMS = 2 * SEER_MAX_RANK };

typedef struct {
  uint32_t n;
  // Dimensions [in0, in1) of the input as one piece, likewise of the output; where a dimension is
  // cut into several atoms they stand in the list from outer to inner.
  struct {
    uint32_t in0, in1, out0, out1;
  } atom[MAX_ATOMS];
} atom_list;

static bool add_atom(atom_list *atoms, uint32_t in0, uint32_t in1, uint32_t out0, uint32_t out1) {
  if (atoms->n == MAX_ATOMS) return false;
  atoms->atom[atoms->n].in0 = in0;
  atoms->atom[atoms->n].in1 = in1;
  atoms->atom[atoms->n].out0 = out0;
  atoms->atom[atoms->n++].out1 = out1;
  return true;
}

// One group of dimensions with equal products on both sides, cut as finely as the extents divide.
static bool cut_group(atom_list *atoms, const seer_value *in, uint32_t i0, uint32_t i1,
    const seer_value *out, uint32_t j0, uint32_t j1) {
  uint32_t n_before = atoms->n;
  uint32_t i = i0, j = j0;
  int64_t left_in = 1, left_out = 1;
  while (i < i1 || j < j1 || left_in > 1 || left_out > 1) {
    while (left_in == 1 && i < i1) left_in = in->dim[i++];
    while (left_out == 1 && j < j1) left_out = out->dim[j++];
    if (left_in == 1 || left_out == 1) break;
    int64_t piece = seer_min_i64(left_in, left_out);
    if (left_in % piece || left_out % piece) {
      // 6x4 -> 8x3: no common pieces; the group is one atom, if it is in one piece on both sides.
      atoms->n = n_before;
      return add_atom(atoms, i0, i1, j0, j1);
    }
    if (!add_atom(atoms, i - 1, i, j - 1, j)) return false;
    left_in /= piece;
    left_out /= piece;
  }
  return true;
}

static bool reshape_atoms(const seer_value *in, const seer_value *out, atom_list *atoms) {
  uint32_t i = 0, j = 0;
  while (i < in->rank || j < out->rank) {
    uint32_t i0 = i, j0 = j;
    int64_t a = 1, b = 1;
    if (i < in->rank) a = in->dim[i++];
    if (j < out->rank) b = out->dim[j++];
    while (a != b) {
      if (a < b) {
        if (i == in->rank) return false;
        a *= in->dim[i++];
      } else {
        if (j == out->rank) return false;
        b *= out->dim[j++];
      }
    }
    if (!cut_group(atoms, in, i0, i, out, j0, j)) return false;
  }
  return true;
}

static bool transpose_atoms(const seer_node *node, const seer_value *in, atom_list *atoms) {
  uint8_t perm[SEER_MAX_RANK];
  uint32_t out_of_in[SEER_MAX_RANK] = {0};
  seer_transpose_perm(node, in->rank, perm);
  for (uint32_t k = 0; k < in->rank; k++) out_of_in[perm[k]] = k;
  for (uint32_t d = 0; d < in->rank; d++) {
    if (in->dim[d] != 1 && !add_atom(atoms, d, d + 1, out_of_in[d], out_of_in[d] + 1)) return false;
  }
  return true;
}

static bool find_atoms(const seer_graph *graph, const seer_node *node, atom_list *atoms) {
  *atoms = (atom_list){0};
  bool is_transpose = node->op == &seer_op_transpose;
  if (!node->op || (node->op->fuse != SEER_FUSE_VIEW && !is_transpose) || node->n_in < 1 ||
      node->n_out != 1)
    return false;
  const seer_value *in = seer_graph_value(graph, node->in[0]),
                   *out = seer_graph_value(graph, node->out[0]);
  if (in->dtype != out->dtype || seer_value_elems(in) != seer_value_elems(out) ||
      seer_value_elems(in) <= 0)
    return false;
  return is_transpose ? transpose_atoms(node, in, atoms) : reshape_atoms(in, out, atoms);
}

// The atoms' numbers in the physical sequence of one side; false when an atom of several dimensions
// is not in one piece.
static bool sequence(
    const atom_list *atoms, const seer_value *value, bool is_out, uint32_t *out_sequence) {
  uint8_t order[SEER_MAX_RANK];
  seer_pass_order(value, order);
  uint32_t n = 0;
  for (uint32_t p = 0; p < value->rank; p++) {
    for (uint32_t a = 0; a < atoms->n; a++) {
      uint32_t d0 = is_out ? atoms->atom[a].out0 : atoms->atom[a].in0;
      uint32_t d1 = is_out ? atoms->atom[a].out1 : atoms->atom[a].in1;
      if (d0 != order[p]) continue;
      for (uint32_t d = d0 + 1, q = p + 1; d < d1; d++, q++) {
        if (q >= value->rank || order[q] != d) return false;
      }
      out_sequence[n++] = a;
    }
  }
  return n == atoms->n;
}

bool seer_pass_is_view(const seer_graph *graph, const seer_node *node) {
  atom_list atoms;
  if (!find_atoms(graph, node, &atoms)) return false;
  const seer_value *in = seer_graph_value(graph, node->in[0]),
                   *out = seer_graph_value(graph, node->out[0]);
  if (in->base.i != out->base.i || (in->base.i && in->offset != out->offset)) return false;
  bool has_rows = in->pitch && in->pitch == out->pitch && seer_value_row(in) == seer_value_row(out);
  if ((in->pitch || out->pitch) && !has_rows) return false;
  uint32_t from[MAX_ATOMS], to[MAX_ATOMS];
  if (!sequence(&atoms, in, false, from) || !sequence(&atoms, out, true, to)) return false;
  return memcmp(from, to, atoms.n * sizeof *from) == 0;
}

// Of dimensions of extent 1 and then dimension 0: that one first. Where they stand changes nothing
// in memory, but images of a batch are looked for in what comes first (images.h).
static void put_batch_first(const seer_value *value, uint8_t *order) {
  uint32_t n_one = 0;
  while (n_one < value->rank && value->dim[order[n_one]] == 1) n_one++;
  if (n_one == 0 || n_one == value->rank || order[n_one] != 0) return;
  memmove(order + 1, order, n_one);
  order[0] = 0;
}

bool seer_pass_view_order(
    const seer_graph *graph, const seer_node *node, bool backward, uint8_t *out_order) {
  atom_list atoms;
  if (!find_atoms(graph, node, &atoms)) return false;
  const seer_value *given = seer_graph_value(graph, backward ? node->out[0] : node->in[0]);
  const seer_value *wanted = seer_graph_value(graph, backward ? node->in[0] : node->out[0]);
  uint32_t seq[MAX_ATOMS];
  if (!sequence(&atoms, given, backward, seq)) return false;
  // Dimensions of extent 1 first, but behind a batch; then the others as their atoms come. A
  // dimension's atoms must come in one run.
  bool is_placed[SEER_MAX_RANK] = {false};
  uint32_t n = 0;
  for (uint32_t d = 0; d < wanted->rank; d++) {
    if (wanted->dim[d] == 1) {
      out_order[n++] = (uint8_t)d;
      is_placed[d] = true;
    }
  }
  for (uint32_t k = 0; k < atoms.n; k++) {
    uint32_t a = seq[k];
    uint32_t d0 = backward ? atoms.atom[a].in0 : atoms.atom[a].out0;
    uint32_t d1 = backward ? atoms.atom[a].in1 : atoms.atom[a].out1;
    bool continues = n > 0 && out_order[n - 1] == d0 && k > 0 && seq[k - 1] + 1 == a;
    if (continues) continue;
    for (uint32_t d = d0; d < d1; d++) {
      if (wanted->dim[d] == 1) continue;
      if (is_placed[d]) return false;
      is_placed[d] = true;
      out_order[n++] = (uint8_t)d;
    }
  }
  if (n != wanted->rank) return false;
  put_batch_first(wanted, out_order);
  return true;
}
