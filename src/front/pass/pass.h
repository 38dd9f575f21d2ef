// pass.h - what the graph passes share. Private to src/front.
// A pass gets a sorted, verified, resolved graph and leaves one; seer_front_run_passes verifies
// after each (SEER_VERIFY=1) and drops what became dead.
// A value's name says what it holds, before and after: a pass that makes something else where a
// value was gives it a fresh name (seer_graph_fresh_name), as `verify --layers` takes values of one
// name for the same.
//
// Memory: what passes add is in the graph's arena. One thread. A pass that fails leaves the graph
// half changed: of no use but to be closed.
#ifndef SEER_FRONT_PASS_PASS_H
#define SEER_FRONT_PASS_PASS_H

#include "front/front.h"

// Marks nodes dead whose outputs nobody needs, and clears optional outputs that nobody reads
// (out[k] = 0; the first output stays, operators are emitted by it).
void seer_pass_remove_dead(seer_graph *graph);

// Folds `node` when all that it reads is constant (or only shapes matter and they are fixed) and
// neither the result is larger than `max_elems` nor the work more than `max_ops` scalar operations.
// *out_did false: not foldable, or too large; the node stays.
SEER_MUST_USE seer_status seer_pass_fold_node(
    seer_graph *graph, seer_node_id node, int64_t max_elems, double max_ops, bool *out_did);

// resolve.c: `node`, a composite that a pass has added (its op is set), gives way to its parts.
SEER_MUST_USE seer_status seer_pass_expand_node(seer_graph *graph, seer_node_id node);

// ---- view.c: nodes that move no memory
// `node` is reshape-like or a Transpose, and its output's elements, in the output's physical order,
// are its input's in the input's physical order: both are the same bytes.
bool seer_pass_is_view(const seer_graph *graph, const seer_node *node);
// The physical order for node's output (input, when backward) that would make it such a view, given
// the order of the other side. False when there is none.
bool seer_pass_view_order(
    const seer_graph *graph, const seer_node *node, bool backward, uint8_t *out_order);
// Physical order of a value: its own, or 0,1,2,...
void seer_pass_order(const seer_value *value, uint8_t *out_order);

// ---- part.c: nodes that move no memory because one side is part of the other
// The node joins or gives parts, and all of them lie where they are to lie in the other side's
// memory: nothing moves.
bool seer_pass_is_in_place(const seer_graph *graph, const seer_node *node);

// ---- width/reader.c: values that are narrower in memory than where they are used
// A Cast to a wider type, or a DequantizeLinear by constant scales, of data. (Not to 64 bits.)
bool seer_pass_widens(const seer_graph *graph, const seer_node *node);
// Move(Widen(v)) -> Widen(Move(v)): node `mover`, which alone reads what `widening` makes and gives
// elements of it, reads what is narrow, and is widened behind.
void seer_pass_put_behind(seer_graph *graph, uint32_t widening, uint32_t mover);
// Another node like `widening`, whose result `reader` reads in place of that one's.
uint32_t seer_pass_widen_again(seer_graph *graph, uint32_t widening, uint32_t reader);
// What it alone reads, elementwise, its kernel can compute on the way in.
bool seer_pass_takes_prologue(const seer_graph *graph, const seer_node *node);

// Appends a constant of f32 numbers.
seer_val seer_pass_add_f32(
    seer_graph *graph, const char *base_name, const float *data, const int64_t *dim, uint32_t rank);

// Transpose(from) -> to, which has the dimensions that it makes; resolved.
void seer_pass_add_transpose(
    seer_graph *graph, const char *name, seer_val from, const int64_t *perm, seer_val to);

// affine.c, a part of simplify: per-channel scales and shifts, BatchNormalization among them.
void seer_pass_affine(seer_graph *graph);
// The constant content of input k, NULL when absent or variable.
const seer_tensor *seer_node_constant(const seer_graph *graph, const seer_node *node, uint32_t k);
// The node that makes `v`, if it is one of `op`; else 0.
uint32_t seer_pass_maker(const seer_graph *graph, seer_val v, const seer_op_desc *op);
// What a Transpose of the two dimensions of a matrix reads, as torch writes a linear layer, where
// one makes `v`: *io_is_turned changes. Else v.
seer_val seer_pass_before_turn(const seer_graph *graph, seer_val v, bool *io_is_turned);
// The node that alone reads `v`, once; 0 when there are others, or `v` is a model output.
uint32_t seer_pass_only_reader(const seer_graph *graph, const seer_graph_uses *uses, seer_val v);

#endif
