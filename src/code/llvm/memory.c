// memory.c - loads and stores. Nothing outside a buffer is ever touched, and no statement
// branches:
// - a uniform condition (a row beyond its bound, a padding guard) selects between the pointer and a
// private constant
//   that is filled with the value to be read instead. Loops further in, which the condition does not depend on, advance
//   the selected pointer, so the constant is as long as they reach and the choice is made outside of them;
// - stores that must not happen go to the first bytes of the thread's scratch (the sink);
// - conditions that differ between lanes become masks of masked loads and stores, or a choice per
// lane.
#include <stdio.h>
#include <string.h>

#include "code/llvm/gen.h"

// Longest constant that stands for a row of padding; beyond that the choice is made at every step.
// 2048 channels.
#define MAX_FILL_BYTES 16384

enum { TAG_CHOOSE = 200, TAG_LOAD, TAG_FILL, TAG_LOAD_MASKED };

void seer_gen_address(
    seer_gen *g, uint32_t buf, const seer_expr *index, uint32_t n_index, seer_gen_addr *out) {
  const seer_loop_buf *decl = &g->loop->buf[buf];
  memset(out, 0, sizeof(*out));
  out->buf = buf;
  out->is_regular = true;
  out->is_inside = true;
  SEER_ASSERT(
      n_index == decl->rank, "buffer %s: %u indices, rank %u", decl->name, n_index, decl->rank);
  for (uint32_t k = 0; k < n_index && out->is_regular; k++) {
    seer_sum at;
    int64_t low, high;
    if (!seer_gen_sum_of(g, index[k], &at)) {
      out->is_regular = false;
    } else {
      if (!seer_sum_range(&at, g->lanes, &low, &high) || low < 0 || high >= decl->dim[k])
        out->is_inside = false;
      if (!seer_sum_add(&out->at, &at, decl->stride[k])) out->is_regular = false;
    }
  }
  if (out->is_regular) return;
  out->is_inside = false;
  for (uint32_t k = 0; k < n_index; k++) {
    LLVMValueRef at = seer_gen_widen(g, seer_gen_expr(g, index[k]));
    if (decl->stride[k] != 1) {
      at = LLVMBuildMul(
          g->b, at, seer_gen_splat(g, seer_gen_const_i64(g, decl->stride[k]), g->lanes), "");
    }
    out->lanes = out->lanes ? LLVMBuildAdd(g->b, out->lanes, at, "") : at;
  }
}

// The address is inside the buffer's memory whatever the run-time values are.
static bool is_safe(const seer_gen *g, const seer_gen_addr *addr) {
  int64_t low, high;
  if (!addr->is_regular || !seer_sum_range(&addr->at, g->lanes, &low, &high)) return false;
  return low >= 0 && high < g->loop->buf[addr->buf].n_elems;
}

static void mark(seer_gen *g, LLVMValueRef access, uint32_t buf, bool is_load) {
  if (!LLVMIsAInstruction(access)) return;
  const seer_gen_buf *b = &g->buf[buf];
  if (g->tile->buf[buf].is_register) return;
  LLVMSetMetadata(access, g->md_scope, b->scope);
  if (b->noalias) LLVMSetMetadata(access, g->md_noalias, b->noalias);
  if (is_load && !b->is_written && g->n_tight == 0) {
    LLVMSetMetadata(access, g->md_invariant,
        LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, NULL, 0)));
  }
}

static uint32_t alignment(const seer_gen *g, const seer_gen_addr *addr, bool is_chosen) {
  uint32_t elem = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  uint32_t align = g->buf[addr->buf].align;
  if (is_chosen || !addr->is_regular) return elem;
  uint64_t all = (uint64_t)addr->at.c;
  for (uint32_t k = 0; k < addr->at.n; k++) all |= (uint64_t)addr->at.term[k].coef;
  uint64_t lowest = all & (0 - all);
  if (lowest != 0 && lowest * elem < align) align = (uint32_t)(lowest * elem);
  return align < elem ? elem : align;
}

// A private constant of at least `n_bytes`, filled with `value` (a constant of memory type).
static LLVMValueRef fill_cell(
    seer_gen *g, LLVMValueRef value, int64_t n_bytes, uint32_t elem_bytes) {
  int64_t size = 64;
  while (size < n_bytes) size *= 2;
  char name[64];
  for (uint32_t k = 0;; k++) {  // one global for each value and size
    snprintf(name, sizeof(name), "fill%" PRId64 ".%u", size, k);
    LLVMValueRef old = LLVMGetNamedGlobal(g->module, name);
    int64_t n = size / elem_bytes;
    LLVMTypeRef type = LLVMArrayType2(LLVMTypeOf(value), (uint64_t)n);
    LLVMValueRef init = LLVMConstNull(type);
    if (!LLVMIsNull(value)) {
      LLVMValueRef *all = SEER_NEW_ARRAY(g->arena, LLVMValueRef, n);
      for (int64_t i = 0; i < n; i++) all[i] = value;
      init = LLVMConstArray2(LLVMTypeOf(value), all, (uint64_t)n);
    }
    if (old && LLVMGetInitializer(old) != init) continue;
    if (old) return old;
    LLVMValueRef cell = LLVMAddGlobal(g->module, type, name);
    LLVMSetInitializer(cell, init);
    LLVMSetGlobalConstant(cell, true);
    LLVMSetLinkage(cell, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(cell, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(cell, 64);
    return cell;
  }
}

static LLVMValueRef choose(seer_gen *g, LLVMValueRef cond, LLVMValueRef p, LLVMValueRef other) {
  bool is_true;
  if (!cond || (seer_gen_const_bool(cond, &is_true) && is_true)) return p;
  LLVMValueRef v = seer_gen_memo_find(g, TAG_CHOOSE, cond, p, (int64_t)(intptr_t)other);
  if (v) return v;
  v = LLVMBuildSelect(g->b, cond, p, other, "");
  seer_gen_memo_add(g, TAG_CHOOSE, cond, p, (int64_t)(intptr_t)other, v);
  return v;
}

// Pointer to lane 0 of a regular address; where `cond` (or NULL) is false, to something else with
// room for `width` elements: the sink, or a constant full of `fill`.
static LLVMValueRef pointer(seer_gen *g, const seer_gen_addr *addr, LLVMValueRef cond,
    uint32_t cond_depth, LLVMValueRef fill, int64_t width) {
  const seer_sum *at = &addr->at;
  seer_dtype dtype = g->loop->buf[addr->buf].dtype;
  LLVMTypeRef elem = seer_gen_memory_type(g, dtype);
  uint32_t elem_bytes = seer_dtype_bytes(dtype);
  LLVMValueRef p = g->buf[addr->buf].base;
  uint32_t n_outer = at->n;
  int64_t span = 0, bias = 0;
  if (cond && fill) {
    while (n_outer > 0 && at->term[n_outer - 1].depth > cond_depth) n_outer--;
    for (uint32_t k = n_outer; k < at->n && n_outer < at->n; k++) {
      const seer_sum_term *t = &at->term[k];
      int64_t reach, coef = t->coef < 0 ? -t->coef : t->coef;
      if (t->low == INT64_MIN || t->high == INT64_MAX ||
          __builtin_mul_overflow(coef, t->high - t->low, &reach) ||
          (span + reach + width) * elem_bytes > MAX_FILL_BYTES) {
        n_outer = at->n;  // too far: choose at every step
        span = bias = 0;
        break;
      }
      span += reach;
      bias += seer_min_i64(t->coef * t->low, t->coef * t->high);
    }
  }
  for (uint32_t k = 0; k < n_outer; k++) {
    p = seer_gen_gep(g, elem, p, seer_gen_term_value(g, &at->term[k], 1));
  }
  if (!cond) return seer_gen_gep_const(g, elem, p, at->c);
  p = seer_gen_gep_const(g, elem, p, at->c);
  LLVMValueRef other = g->scratch;
  if (fill)
    other = seer_gen_gep_const(
        g, elem, fill_cell(g, fill, (span + width) * elem_bytes, elem_bytes), -bias);
  p = choose(g, cond, p, other);
  for (uint32_t k = n_outer; k < at->n; k++) {
    p = seer_gen_gep(g, elem, p, seer_gen_term_value(g, &at->term[k], 1));
  }
  return p;
}

static LLVMValueRef lane_of(seer_gen *g, LLVMValueRef v, uint32_t lane) {
  return LLVMBuildExtractElement(g->b, v, LLVMConstInt(g->i32, lane, false), "");
}

static LLVMValueRef plain_load(
    seer_gen *g, const seer_gen_addr *addr, LLVMTypeRef type, LLVMValueRef p, uint32_t align) {
  bool is_fixed = !g->buf[addr->buf].is_written && !g->tile->buf[addr->buf].is_register;
  if (is_fixed) {
    LLVMValueRef v = seer_gen_memo_find(g, TAG_LOAD, p, type, g->fence);
    if (v) return v;
  }
  LLVMValueRef v = LLVMBuildLoad2(g->b, type, p, "");
  LLVMSetAlignment(v, align);
  mark(g, v, addr->buf, true);
  if (is_fixed) seer_gen_memo_add(g, TAG_LOAD, p, type, g->fence, v);
  return v;
}

// Pointer of one lane of any address.
static LLVMValueRef lane_pointer(
    seer_gen *g, const seer_gen_addr *addr, LLVMTypeRef elem, LLVMValueRef base, uint32_t lane) {
  if (addr->is_regular) return seer_gen_gep_const(g, elem, base, addr->at.lane * (int64_t)lane);
  return seer_gen_gep(g, elem, g->buf[addr->buf].base, lane_of(g, addr->lanes, lane));
}

static LLVMValueRef masked_load(seer_gen *g, const seer_gen_addr *addr, LLVMTypeRef elem,
    LLVMValueRef p, LLVMValueRef mask, LLVMValueRef passthru) {
  bool is_fixed = !g->buf[addr->buf].is_written;
  if (is_fixed) {
    LLVMValueRef v = seer_gen_memo_find(g, TAG_LOAD_MASKED, p, mask, (int64_t)(intptr_t)passthru);
    if (v) return v;
  }
  LLVMTypeRef types[2] = {LLVMVectorType(elem, g->lanes), g->ptr};
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  LLVMValueRef args[4] = {p, LLVMConstInt(g->i32, align, false), mask, passthru};
  LLVMValueRef v = seer_gen_call(g, "llvm.masked.load", types, 2, args, 4);
  mark(g, v, addr->buf, true);
  if (is_fixed) seer_gen_memo_add(g, TAG_LOAD_MASKED, p, mask, (int64_t)(intptr_t)passthru, v);
  return v;
}

// Lanes one by one: strides other than 1, gathers, masks that the target has no instruction for.
static LLVMValueRef load_lanes(seer_gen *g, const seer_gen_addr *addr, LLVMTypeRef elem,
    LLVMValueRef uniform, uint32_t depth, LLVMValueRef mask, LLVMValueRef fill) {
  LLVMValueRef v = LLVMGetPoison(LLVMVectorType(elem, g->lanes)), base = NULL, cell = NULL;
  uint32_t elem_bytes = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  bool at_base = addr->is_regular && addr->at.lane > 0 && !mask &&
      (addr->at.lane * (int64_t)g->lanes) * elem_bytes <= MAX_FILL_BYTES;
  if (addr->is_regular) {
    base = pointer(g, addr, at_base ? uniform : NULL, depth, fill,
        addr->at.lane * (int64_t)(g->lanes - 1) + 1);
  }
  if (!at_base && (uniform || mask)) cell = fill_cell(g, fill, 64, elem_bytes);
  for (uint32_t l = 0; l < g->lanes; l++) {
    LLVMValueRef p = lane_pointer(g, addr, elem, base, l);
    if (cell) {
      LLVMValueRef cond = mask ? lane_of(g, mask, l) : NULL;
      p = choose(g, seer_gen_and(g, uniform, cond), p, cell);
    }
    LLVMValueRef one = plain_load(g, addr, elem, p, elem_bytes);
    v = LLVMBuildInsertElement(g->b, v, one, LLVMConstInt(g->i32, l, false), "");
  }
  return v;
}

// ---- conditions

typedef struct {
  LLVMValueRef uniform, mask;  // NULL: true
  uint32_t depth;  // of `uniform`
} condition;

static void and_uniform(seer_gen *g, condition *c, LLVMValueRef v, uint32_t depth) {
  LLVMValueRef both = seer_gen_and(g, c->uniform, v);
  if (both == c->uniform) return;
  c->uniform = both;
  if (depth > c->depth) c->depth = depth;
}

// The parts of a conjunction that are not known to hold.
static void conjunction(seer_gen *g, seer_expr e, condition *c) {
  const seer_expr_node *node = seer_gen_at(g, e);
  if (node->op == SEER_EXPR_AND && node->dtype == SEER_DTYPE_BOOL) {
    conjunction(g, node->arg[0], c);
    conjunction(g, node->arg[1], c);
    return;
  }
  if (seer_gen_is_true(g, e)) return;
  seer_gen_value v = seer_gen_expr(g, e);
  if (v.is_vec) {
    c->mask = seer_gen_and(g, c->mask, v.v);
  } else {
    and_uniform(g, c, v.v, seer_gen_expr_depth(g, e));
  }
}

static bool is_never(const condition *c) {
  bool is_true;
  return c->uniform && seer_gen_const_bool(c->uniform, &is_true) && !is_true;
}

static LLVMValueRef any_lane(seer_gen *g, LLVMValueRef mask) {
  LLVMTypeRef type = LLVMTypeOf(mask);
  return seer_gen_call(g, "llvm.vector.reduce.or", &type, 1, &mask, 1);
}

// A LOCAL buffer in registers: the address is a constant. What the conditions exclude is read as it
// is, or 0.
static seer_gen_value load_reg(seer_gen *g, const seer_gen_addr *addr) {
  const seer_loop_buf *decl = &g->loop->buf[addr->buf];
  LLVMTypeRef elem = seer_gen_memory_type(g, decl->dtype);
  SEER_ASSERT(addr->is_regular && addr->at.n == 0, "buffer %s is in registers", decl->name);
  bool is_vec = addr->at.lane != 0;
  int64_t width = is_vec ? (int64_t)g->lanes : 1;
  LLVMTypeRef type = is_vec ? LLVMVectorType(elem, g->lanes) : elem;
  LLVMValueRef v = LLVMConstNull(type), base = g->buf[addr->buf].base;
  uint32_t align = seer_dtype_bytes(decl->dtype);
  if (addr->at.c >= 0 && addr->at.c + width <= decl->n_elems) {
    v = plain_load(g, addr, type, seer_gen_gep_const(g, elem, base, addr->at.c), align);
  } else {  // a guard's lanes that are inside
    for (int64_t l = 0; l < width && is_vec; l++) {
      int64_t at = addr->at.c + l;
      if (at < 0 || at >= decl->n_elems) continue;
      LLVMValueRef one = plain_load(g, addr, elem, seer_gen_gep_const(g, elem, base, at), align);
      v = LLVMBuildInsertElement(
          g->b, v, one, LLVMConstInt(g->i32, (unsigned long long)l, false), "");
    }
  }
  return (seer_gen_value){.v = seer_gen_from_memory(g, decl->dtype, v), .is_vec = is_vec};
}

seer_gen_value seer_gen_load(seer_gen *g, seer_expr e) {
  const seer_expr_node *node = seer_gen_at(g, e);
  const seer_expr *index = &g->loop->expr.index[node->index0];
  seer_dtype dtype = (seer_dtype)node->dtype;
  LLVMTypeRef elem = seer_gen_memory_type(g, dtype);
  condition guard = {0};
  seer_gen_value otherwise = {0};
  if (node->arg[0].i != 0) {
    conjunction(g, node->arg[0], &guard);
    if (is_never(&guard)) return seer_gen_expr(g, node->arg[1]);
    if (guard.uniform || guard.mask) otherwise = seer_gen_expr(g, node->arg[1]);
  }
  seer_gen_addr addr;
  seer_gen_address(g, node->ref, index, node->n_index, &addr);
  seer_gen_value loaded;
  bool is_filled = false;  // `otherwise` came out of the load itself
  if (g->tile->buf[node->ref].is_register) {
    loaded = load_reg(g, &addr);
  } else {
    condition c = guard;
    bool is_lane = !addr.is_regular || addr.at.lane != 0;
    if (!is_safe(g, &addr)) {
      for (uint32_t k = 0; k < g->n_pred; k++) {
        const seer_gen_pred *p = &g->pred[k];
        if (p->var == SEER_GEN_NO_VAR ||
            seer_tile_index_depends(g->tile, index, node->n_index, p->var)) {
          and_uniform(g, &c, p->cond, p->depth);
        }
      }
      if (is_lane && g->lane_mask) c.mask = seer_gen_and(g, c.mask, g->lane_mask);
    }
    if (is_never(&c)) return (seer_gen_value){.v = LLVMConstNull(seer_gen_type(g, dtype))};
    LLVMValueRef fill = LLVMConstNull(elem);
    bool is_const = otherwise.v && !otherwise.is_vec && LLVMIsConstant(otherwise.v);
    if (is_const) fill = seer_gen_to_memory(g, dtype, otherwise.v);
    is_filled = is_const && LLVMIsConstant(fill);
    if (!is_filled) fill = LLVMConstNull(elem);
    uint32_t elem_bytes = seer_dtype_bytes(dtype);
    if (!is_lane) {
      if (c.mask) {  // the same address for all lanes, read if any lane means it
        LLVMValueRef any =
            any_lane(g, g->lane_mask ? seer_gen_and(g, c.mask, g->lane_mask) : c.mask);
        and_uniform(g, &c, any, g->depth);
        is_filled = false;
      }
      LLVMValueRef p = pointer(g, &addr, c.uniform, c.depth, fill, 1);
      loaded.v = plain_load(g, &addr, elem, p, alignment(g, &addr, c.uniform != NULL));
      loaded.is_vec = false;
    } else {
      loaded.is_vec = true;
      if (addr.is_regular && addr.at.lane == 1 && !c.mask) {
        LLVMValueRef p = pointer(g, &addr, c.uniform, c.depth, fill, g->lanes);
        loaded.v = plain_load(
            g, &addr, LLVMVectorType(elem, g->lanes), p, alignment(g, &addr, c.uniform != NULL));
        if (!c.uniform) seer_gen_prefetch(g, index, node->n_index, &addr, p);
      } else if (addr.is_regular && addr.at.lane == 1 && elem_bytes >= g->masked_bytes) {
        LLVMValueRef p = pointer(g, &addr, c.uniform, c.depth, fill, g->lanes);
        loaded.v = masked_load(g, &addr, elem, p, c.mask, seer_gen_splat(g, fill, g->lanes));
      } else {
        loaded.v = load_lanes(g, &addr, elem, c.uniform, c.depth, c.mask, fill);
      }
    }
    loaded.v = seer_gen_from_memory(g, dtype, loaded.v);
  }
  if (is_filled || !otherwise.v) return loaded;
  if (guard.uniform && !guard.mask && !loaded.is_vec && !otherwise.is_vec) {
    return (seer_gen_value){.v = seer_gen_select(g, guard.uniform, loaded.v, otherwise.v)};
  }
  LLVMValueRef v = seer_gen_widen(g, loaded), other = seer_gen_widen(g, otherwise);
  if (guard.mask) v = LLVMBuildSelect(g->b, guard.mask, v, other, "");
  if (guard.uniform) v = seer_gen_select(g, guard.uniform, v, other);
  return (seer_gen_value){.v = v, .is_vec = true};
}

// ---- targets of stores

seer_gen_value seer_gen_load_target(
    seer_gen *g, const seer_gen_addr *addr, LLVMValueRef uniform, LLVMValueRef mask) {
  seer_dtype dtype = g->loop->buf[addr->buf].dtype;
  LLVMTypeRef elem = seer_gen_memory_type(g, dtype);
  if (g->tile->buf[addr->buf].is_register) return load_reg(g, addr);
  seer_gen_value v = {.is_vec = !addr->is_regular || addr->at.lane != 0};
  if (!v.is_vec) {
    LLVMValueRef p = pointer(g, addr, uniform, 0, NULL, 1);
    v.v = plain_load(g, addr, elem, p, alignment(g, addr, uniform != NULL));
  } else if (addr->is_regular && addr->at.lane == 1 && !mask) {
    LLVMValueRef p = pointer(g, addr, uniform, 0, NULL, g->lanes);
    v.v =
        plain_load(g, addr, LLVMVectorType(elem, g->lanes), p, alignment(g, addr, uniform != NULL));
  } else if (addr->is_regular && addr->at.lane == 1 && seer_dtype_bytes(dtype) >= g->masked_bytes) {
    LLVMValueRef p = pointer(g, addr, uniform, 0, NULL, g->lanes);
    v.v = masked_load(g, addr, elem, p, mask, LLVMConstNull(LLVMVectorType(elem, g->lanes)));
  } else {
    v.v = load_lanes(g, addr, elem, uniform, 0, mask, LLVMConstNull(elem));
  }
  v.v = seer_gen_from_memory(g, dtype, v.v);
  return v;
}

static void plain_store(
    seer_gen *g, const seer_gen_addr *addr, LLVMValueRef v, LLVMValueRef p, uint32_t align) {
  LLVMValueRef s = LLVMBuildStore(g->b, v, p);
  LLVMSetAlignment(s, align);
  mark(g, s, addr->buf, false);
}

void seer_gen_store_target(seer_gen *g, const seer_gen_addr *addr, seer_gen_value value,
    LLVMValueRef uniform, LLVMValueRef mask) {
  const seer_loop_buf *decl = &g->loop->buf[addr->buf];
  LLVMTypeRef elem = seer_gen_memory_type(g, decl->dtype);
  uint32_t elem_bytes = seer_dtype_bytes(decl->dtype);
  bool is_lane = !addr->is_regular || addr->at.lane != 0, is_true;
  if (uniform && seer_gen_const_bool(uniform, &is_true)) {
    if (!is_true) return;
    uniform = NULL;
  }
  LLVMValueRef v = seer_gen_to_memory(g, decl->dtype, is_lane ? seer_gen_widen(g, value) : value.v);
  if (g->tile->buf[addr->buf].is_register) {
    SEER_ASSERT(addr->is_regular && addr->at.n == 0, "buffer %s is in registers", decl->name);
    if (!is_lane && value.is_vec) v = lane_of(g, v, g->lanes - 1);
    int64_t width = is_lane ? (int64_t)g->lanes : 1;
    if (addr->at.c < 0 || addr->at.c + width > decl->n_elems) return;
    plain_store(
        g, addr, v, seer_gen_gep_const(g, elem, g->buf[addr->buf].base, addr->at.c), elem_bytes);
    return;
  }
  if (!is_lane && !value.is_vec) {
    if (mask) uniform = seer_gen_and(g, uniform, lane_of(g, mask, 0));
    plain_store(
        g, addr, v, pointer(g, addr, uniform, 0, NULL, 1), alignment(g, addr, uniform != NULL));
  } else if (addr->is_regular && addr->at.lane == 1 && !mask) {
    LLVMValueRef p = pointer(g, addr, uniform, 0, NULL, g->lanes);
    plain_store(g, addr, v, p, alignment(g, addr, uniform != NULL));
  } else if (addr->is_regular && addr->at.lane == 1 && elem_bytes >= g->masked_bytes) {
    LLVMTypeRef types[2] = {LLVMTypeOf(v), g->ptr};
    LLVMValueRef p = pointer(g, addr, uniform, 0, NULL, g->lanes);
    LLVMValueRef args[4] = {v, p, LLVMConstInt(g->i32, elem_bytes, false), mask};
    mark(g, seer_gen_call(g, "llvm.masked.store", types, 2, args, 4), addr->buf, false);
  } else {  // lane by lane; of several lanes with one address the last one wins
    LLVMValueRef base = addr->is_regular ? pointer(g, addr, NULL, 0, NULL, 1) : NULL;
    for (uint32_t l = 0; l < g->lanes; l++) {
      LLVMValueRef p = lane_pointer(g, addr, elem, base, l);
      LLVMValueRef cond = seer_gen_and(g, uniform, mask ? lane_of(g, mask, l) : NULL);
      plain_store(g, addr, lane_of(g, v, l), choose(g, cond, p, g->scratch), elem_bytes);
    }
  }
}
