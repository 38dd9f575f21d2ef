// print.c - kernels: for each phase a function that anyone can call, and one with an argument for
// each buffer. Only arguments of functions say to every compiler that they do not overlap.
#include <ctype.h>
#include <string.h>

#include "code/source/internal.h"
#include "code/vector/internal.h"
#include "space/items/items.h"

static void put_block(seer_source *s, seer_vec_block block);

static void begin_line(seer_source *s) {
  for (uint32_t k = 0; k < s->indent; k++) seer_text_put(s->text, "  ");
}

// ---- names

static const char *piece_name(const seer_source *s, const seer_source_piece *piece) {
  uint32_t k = 0;
  while (s->phase->slot[k].i != piece->slot) k++;
  return seer_arena_printf(s->arena, "s%u_%" PRId64, k, piece->at);
}

static const char *pointer_type(const seer_source *s, seer_vec v) {
  const char *type = s->fact[v.i].is_read_only ? "const char *" : "char *";
  const seer_source_frame *frame = s->dialect->frame;
  if (!frame) return type;
  const char *space = seer_source_is_of_group(s, v) ? frame->group : frame->global;
  return seer_arena_printf(s->arena, "%s%s", space, type);
}

// The macro of an access: where pointers say what they lead to, there is one for each.
static const char *access_word(const seer_source *s, const char *word, seer_vec pointer) {
  if (!s->dialect->frame) return word;
  bool is_group = seer_source_is_of_group(s, pointer);
  return seer_arena_printf(s->arena, "%s_%s", word, is_group ? "GROUP" : "GLOBAL");
}

// ---- accesses

// The variable, or the lane of one, that an access to a slot means; NULL: it is bytes, at
// `*out_pointer` with the given alignment.
static const char *variable_of(
    seer_source *s, const seer_vec_node *access, const char **out_pointer, uint32_t *out_align) {
  uint32_t slot;
  int64_t at;
  bool is_slot = seer_source_into_slot(s, access->arg[0], &slot, &at);
  const seer_vec_node *value = seer_source_accessed(s, access);
  uint32_t bytes = seer_vec_elem_bytes((seer_vec_elem)value->elem);
  *out_align = access->align ? access->align : bytes * value->lanes;
  if (!is_slot) {
    *out_pointer = seer_source_pointer(s, access->arg[0]);
    return NULL;
  }
  const seer_source_piece *piece = seer_source_piece_of(s, slot, at);
  const char *name = piece_name(s, piece);
  if (piece->elem == SEER_VEC_VOID) {
    uint64_t from = (uint64_t)(at - piece->at);
    uint64_t lowest = from & (0 - from);
    if (lowest != 0 && lowest < *out_align) *out_align = (uint32_t)lowest;
    if (*out_align > 64) *out_align = 64;
    *out_pointer = seer_arena_printf(s->arena, "%s + %" PRIu64, name, from);
    return NULL;
  }
  if (value->lanes == piece->lanes) return name;
  return seer_arena_printf(s->arena, "%s[%" PRId64 "]", name, (at - piece->at) / bytes);
}

static const char *type_name(const seer_source *s, const seer_vec_node *value) {
  return seer_source_type(s, (seer_vec_elem)value->elem, value->lanes);
}

// Of the variable that a value is kept in.
static const char *value_type(const seer_source *s, uint32_t id) {
  if (s->fact[id].is_spread)
    return seer_arena_printf(
        s->arena, "%sx%u", s->code->node[id].elem == SEER_VEC_I1 ? "i32" : "f32", s->n_spread);
  return s->fact[id].is_short ? "i32" : type_name(s, &s->code->node[id]);
}

// What a masked load of an item is where it is not done: constants, if there are several lanes.
static const char *otherwise(seer_source *s, seer_vec v) {
  const seer_vec_node *node = seer_source_at(s, v);
  if (node->lanes == 1) return seer_source_operand(s, v);
  const char *one[SEER_SOURCE_MAX_LANES];
  for (uint32_t l = 0; l < node->lanes; l++)
    one[l] = seer_source_literal(s, (seer_vec_elem)node->elem, 1, node->bits, 0);
  return seer_source_lanes(s, type_name(s, node), one, node->lanes);
}

// Of a LOAD_MASKED of an item: all its lanes have one.
static seer_vec condition_of(const seer_source *s, const seer_vec_node *load) {
  return load->lanes > 1 ? seer_source_at(s, load->arg[1])->arg[0] : load->arg[1];
}

// What is accessed for items that `mask` has only; NULL: for all of them.
static const char *load_items(
    seer_source *s, const char *pointer, int64_t apart, const char *mask) {
  if (mask && apart == 4)
    return seer_arena_printf(s->arena, "load_some_f32x%u(%s, %s)", s->n_spread, pointer, mask);
  if (mask)
    return seer_arena_printf(
        s->arena, "load_some_apart_f32x%u(%s, %" PRId64 ", %s)", s->n_spread, pointer, apart, mask);
  return apart == 4 ? seer_arena_printf(s->arena, "LOAD_ITEMS(%u, %s)", s->n_spread, pointer)
                    : seer_arena_printf(s->arena, "load_apart_f32x%u(%s, %" PRId64 ")", s->n_spread,
                          pointer, apart);
}

static void put_store_items(seer_source *s, const char *pointer, int64_t apart, seer_vec value) {
  const char *all = seer_source_widened(s, value, seer_source_operand(s, value));
  const char *some = s->mask ? seer_arena_printf(s->arena, ", %s", s->mask) : "";
  const char *word = s->mask ? "store_some" : "store";
  if (apart == 4 && !s->mask)
    seer_text_printf(s->text, "STORE_ITEMS(%u, %s, %s);\n", s->n_spread, pointer, all);
  else if (apart == 4)
    seer_text_printf(s->text, "%s_f32x%u(%s, %s%s);\n", word, s->n_spread, pointer, all, some);
  else
    seer_text_printf(s->text, "%s_apart_f32x%u(%s, %" PRId64 ", %s%s);\n", word, s->n_spread,
        pointer, apart, all, some);
}

static const char *lane_pointer(seer_source *s, seer_vec pointer, int64_t lane) {
  return seer_arena_printf(
      s->arena, "MOVE(%s, %" PRId64 ")", seer_source_pointer(s, pointer), 4 * lane);
}

static void put_store_spread(seer_source *s, const seer_vec_node *node) {
  uint32_t lanes = seer_source_at(s, node->arg[1])->lanes;
  int64_t apart = s->fact[node - s->code->node].apart;
  seer_vec lane[SEER_SOURCE_MAX_LANES] = {node->arg[1]};
  if (lanes > 1) (void)seer_source_row(s, node->arg[1], lane);
  for (uint32_t l = 0; l < lanes; l++) {
    if (l > 0) begin_line(s);
    put_store_items(s, lane_pointer(s, node->arg[0], l), apart, lane[l]);
  }
}

// A lane of what each item loads, from `pointer` on.
static const char *load_spread(seer_source *s, const seer_vec_node *node, const char *pointer) {
  int64_t apart = s->fact[node - s->code->node].apart;
  if (node->op == SEER_VEC_LOAD) return load_items(s, pointer, apart, s->mask);
  seer_vec cond = condition_of(s, node);
  bool is_one = !s->fact[cond.i].is_spread;
  const char *mask = seer_source_operand(s, cond), *all, *no = otherwise(s, node->arg[2]);
  const char *some = is_one ? s->mask
      : s->mask             ? seer_arena_printf(s->arena, "%s & %s", s->mask, mask)
                            : mask;
  if (node->lanes > 1)
    no = seer_source_literal(s, SEER_VEC_F32, 1, seer_source_at(s, node->arg[2])->bits, 0);
  if (apart != 0)
    all = load_items(s, pointer, apart, some);
  else
    all = seer_arena_printf(s->arena, "(f32x%u)(%s%s%sLOAD_GLOBAL(f32, 4, %s)%s)", s->n_spread,
        is_one ? "" : "any(", is_one ? "" : some, is_one ? "" : ") ? ", pointer,
        is_one ? "" : " : 0.0f");
  return seer_arena_printf(
      s->arena, "%s ? %s : %s", mask, all, seer_source_widened(s, node->arg[2], no));
}

// A lane of what each item has loaded several of.
static const char *extract_spread(seer_source *s, const seer_vec_node *node) {
  const seer_vec_node *all = seer_source_at(s, node->arg[0]);
  return load_spread(s, all, lane_pointer(s, all->arg[0], node->imm));
}

static const char *load(seer_source *s, const seer_vec_node *node) {
  const char *pointer, *type = type_name(s, node);
  uint32_t align;
  const char *variable = variable_of(s, node, &pointer, &align);
  if (variable) return variable;
  if (s->fact[node - s->code->node].is_spread) return load_spread(s, node, pointer);
  const char *word = access_word(s, "LOAD", node->arg[0]);
  if (node->op == SEER_VEC_LOAD)
    return seer_arena_printf(s->arena, "%s(%s, %u, %s)", word, type, align, pointer);
  if (s->dialect->frame)
    return seer_arena_printf(s->arena, "%s ? %s(%s, %u, %s) : %s",
        seer_source_operand(s, condition_of(s, node)), word, type, align, pointer,
        otherwise(s, node->arg[2]));
  uint32_t bits = seer_vec_elem_bits[node->elem];
  return seer_arena_printf(s->arena, "load_masked_%s(%s, %s, %s)", type, pointer,
      seer_source_mask(s, node->arg[1], bits), seer_source_operand(s, node->arg[2]));
}

static const char *look_up(seer_source *s, const seer_vec_node *node) {
  return seer_arena_printf(s->arena, "lookup_%s(%s, %s)", type_name(s, node),
      seer_source_pointer(s, node->arg[0]), seer_source_operand(s, node->arg[1]));
}

static void put_store(seer_source *s, const seer_vec_node *node) {
  if (s->fact[node - s->code->node].is_spread) {
    put_store_spread(s, node);
    return;
  }
  const seer_vec_node *value = seer_source_accessed(s, node);
  const char *pointer, *type = type_name(s, value), *text = seer_source_operand(s, node->arg[1]);
  uint32_t align;
  const char *variable = variable_of(s, node, &pointer, &align);
  if (variable) {
    if ((value->op == SEER_VEC_ADD || value->op == SEER_VEC_DOT4) && value->lanes > 1)
      text = seer_arena_printf(s->arena, "ordered_%s(%s)", type, text);
    if (s->mask)  // the others keep what they had
      text = seer_arena_printf(
          s->arena, "%s ? %s : %s", s->mask, seer_source_widened(s, node->arg[1], text), variable);
    seer_text_printf(s->text, "%s = %s;\n", variable, text);
  } else if (node->op == SEER_VEC_STORE) {
    seer_text_printf(s->text, "%s(%s, %u, %s, %s);\n", access_word(s, "STORE", node->arg[0]), type,
        align, pointer, text);
  } else {
    const char *mask = seer_source_mask(s, node->arg[2], seer_vec_elem_bits[value->elem]);
    seer_text_printf(s->text, "store_masked_%s(%s, %s, %s);\n", type, pointer, mask, text);
  }
}

// Of what is loaded nothing is in a register: the load is written here.
static void put_copy(seer_source *s, const seer_vec_node *node) {
  const seer_vec_node *load = seer_source_at(s, node->arg[1]);
  bool is_masked = load->op == SEER_VEC_LOAD_MASKED;
  seer_text_printf(s->text, "COPY(%u, %s, %s, %s);\n", seer_vec_access_bytes(s->code, node),
      seer_source_pointer(s, node->arg[0]), seer_source_pointer(s, load->arg[0]),
      is_masked ? seer_source_operand(s, condition_of(s, load)) : "1");
}

// ---- values

static void give_name(seer_source *s, uint32_t id) { s->fact[id].number = ++s->n_name; }

// Has no definition of its own: it is written where it is used, or an argument.
static bool is_in_place(const seer_source *s, uint32_t id) {
  const seer_vec_node *node = &s->code->node[id];
  int64_t by;
  if (s->fact[id].is_spread && node->lanes > 1) return true;
  if (seer_vec_is_load(node) && s->code->node[s->fact[id].user].op == SEER_VEC_COPY) return true;
  switch ((int)node->op) {
    case SEER_VEC_PART:
    case SEER_VEC_ITEM:
    case SEER_VEC_BUFFER:
    case SEER_VEC_SCRATCH:
    case SEER_VEC_COUNTER:
      return true;
    case SEER_VEC_MOVE:
      return seer_vec_const_int(s->code, node->arg[1], &by);
    case SEER_VEC_SPLAT:
      return seer_source_is_mask(node);
    case SEER_VEC_INSERT:
      return s->fact[id].is_later;
    default:
      return false;
  }
}

static const char *moved(seer_source *s, const seer_vec_node *node) {
  uint32_t bytes = seer_vec_elem_bytes((seer_vec_elem)node->of);
  const char *base = seer_source_pointer(s, node->arg[0]);
  const char *by = seer_source_operand(s, node->arg[1]);
  if (bytes == 1) return seer_arena_printf(s->arena, "MOVE(%s, %s)", base, by);
  bool is_wider = s->fact[node->arg[1].i].is_short && !s->fact[node - s->code->node].takes_short;
  return seer_arena_printf(
      s->arena, "MOVE(%s, %s%s * %u)", base, is_wider ? "(i64)" : "", by, bytes);
}

// A vector from memory that is used more than once is to be loaded once; one that is only
// converted, always alike, need not be: compilers convert it once, with the load in that
// instruction.
static const char *kept(seer_source *s, uint32_t id, const char *text) {
  const seer_vec_node *node = &s->code->node[id];
  uint32_t slot;
  int64_t at;
  bool is_variable = seer_source_into_slot(s, node->arg[0], &slot, &at);
  if (node->lanes == 1 || !s->fact[id].has_kinds || is_variable || s->dialect->frame) return text;
  return seer_arena_printf(s->arena, "keep_%s(%s)", type_name(s, node), text);
}

static void put_value(seer_source *s, uint32_t id) {
  const seer_vec_node *node = &s->code->node[id];
  seer_vec v = {id};
  if (s->fact[id].n_uses == 0 || is_in_place(s, id)) return;
  const char *text, *type;
  if (node->op == SEER_VEC_MOVE)
    text = moved(s, node);
  else if (node->op == SEER_VEC_LOAD || node->op == SEER_VEC_LOAD_MASKED)
    text = kept(s, id, load(s, node));
  else if (node->op == SEER_VEC_LOOKUP)
    text = look_up(s, node);
  else if (node->op == SEER_VEC_EXTRACT && s->fact[id].is_spread)
    text = extract_spread(s, node);
  else
    text = seer_source_value(s, v);
  if (node->elem == SEER_VEC_PTR)
    type = pointer_type(s, v);
  else if (seer_source_is_mask(node))
    type = seer_arena_printf(
        s->arena, "%s ", seer_source_mask_type(s, s->fact[id].mask_bits, node->lanes));
  else
    type = seer_arena_printf(s->arena, "%s ", value_type(s, id));
  give_name(s, id);
  begin_line(s);
  if (node->elem == SEER_VEC_PTR)
    seer_text_printf(s->text, "%sconst v%u = %s;\n", type, s->fact[id].number, text);
  else
    seer_text_printf(s->text, "const %sv%u = %s;\n", type, s->fact[id].number, text);
}

// ---- control

static void put_counters(seer_source *s, seer_vec_block body, uint32_t main_counter) {
  const char *before = s->fact[main_counter].is_short ? "i32 " : "i64 ";
  for (uint32_t id = body.first; id != 0; id = s->code->node[id].next) {
    if (s->code->node[id].op != SEER_VEC_COUNTER) break;
    if (id != main_counter && s->fact[id].n_uses == 0) continue;
    give_name(s, id);
    seer_text_printf(s->text, "%sv%u = 0", before, s->fact[id].number);
    before = ", ";
  }
}

static void put_steps(seer_source *s, seer_vec_block body) {
  const char *before = "";
  for (uint32_t id = body.first; id != 0; id = s->code->node[id].next) {
    const seer_vec_node *node = &s->code->node[id];
    if (node->op != SEER_VEC_COUNTER) break;
    if (s->fact[id].number == 0) continue;
    if (node->imm == 1)
      seer_text_printf(s->text, "%sv%u++", before, s->fact[id].number);
    else
      seer_text_printf(s->text, "%sv%u += %" PRId64, before, s->fact[id].number, node->imm);
    before = ", ";
  }
}

// The counter that says when it ends: the one that is used anyway, if there is one.
static uint32_t main_counter_of(const seer_source *s, seer_vec_block body) {
  uint32_t first = 0;
  for (uint32_t id = body.first; id != 0; id = s->code->node[id].next) {
    const seer_vec_node *node = &s->code->node[id];
    if (node->op != SEER_VEC_COUNTER) break;
    if (node->imm == 1) first = id;
  }
  SEER_ASSERT(first != 0, "a loop without a counter by 1");
  return first;
}

static void put_loop(seer_source *s, const seer_vec_node *node) {
  seer_vec_block body = node->body[0];
  uint32_t main_counter = main_counter_of(s, body);
  const char *n = seer_source_operand(s, node->arg[0]);
  if (s->dialect->frame) seer_text_put(s->text, s->dialect->frame->loop);
  seer_text_put(s->text, "for (");
  put_counters(s, body, main_counter);
  seer_text_printf(s->text, "; v%u < %s; ", s->fact[main_counter].number, n);
  put_steps(s, body);
  seer_text_put(s->text, ") {\n");
  put_block(s, body);
  begin_line(s);
  seer_text_put(s->text, "}\n");
}

// One side of a WHEN, for those items that `mask` has, if there are any.
static void put_side(seer_source *s, seer_vec_block block, const char *mask) {
  const char *outer = s->mask;
  if (block.first == 0) return;
  s->mask = seer_arena_printf(s->arena, "m%u", ++s->n_name);
  begin_line(s);
  seer_text_printf(s->text, "const i32x%u %s = %s;\n", s->n_spread, s->mask, mask);
  begin_line(s);
  seer_text_printf(s->text, "if (any(%s)) {\n", s->mask);
  put_block(s, block);
  begin_line(s);
  seer_text_put(s->text, "}\n");
  s->mask = outer;
}

// Items differ in which side they do: where all do the first one it is written for all of them, and
// else both sides are done.
static void put_when_spread(seer_source *s, const seer_vec_node *node) {
  const char *cond = seer_source_operand(s, node->arg[0]);
  const char *outer = s->mask ? seer_arena_printf(s->arena, "%s & ", s->mask) : "";
  seer_text_put(s->text, "{\n");
  if (!s->mask) {
    s->indent++;
    begin_line(s);
    seer_text_printf(s->text, "if (all(%s)) {\n", cond);
    put_block(s, node->body[0]);
    begin_line(s);
    seer_text_put(s->text, "} else {\n");
  }
  s->indent++;
  put_side(s, node->body[0], seer_arena_printf(s->arena, "%s%s", outer, cond));
  put_side(s, node->body[1], seer_arena_printf(s->arena, "%s~%s", outer, cond));
  s->indent--;
  if (!s->mask) {
    begin_line(s);
    seer_text_put(s->text, "}\n");
    s->indent--;
  }
  begin_line(s);
  seer_text_put(s->text, "}\n");
}

static void put_when(seer_source *s, const seer_vec_node *node) {
  if (s->fact[node - s->code->node].is_spread) {
    put_when_spread(s, node);
    return;
  }
  seer_text_printf(s->text, "if (%s) {\n", seer_source_operand(s, node->arg[0]));
  put_block(s, node->body[0]);
  begin_line(s);
  if (node->body[1].first != 0) {
    seer_text_put(s->text, "} else {\n");
    put_block(s, node->body[1]);
    begin_line(s);
  }
  seer_text_put(s->text, "}\n");
}

static void put_act(seer_source *s, const seer_vec_node *node) {
  begin_line(s);
  switch ((int)node->op) {
    case SEER_VEC_STORE:
    case SEER_VEC_STORE_MASKED:
      put_store(s, node);
      break;
    case SEER_VEC_COPY:
      put_copy(s, node);
      break;
    case SEER_VEC_ARRIVE:
      seer_text_put(s->text, "ARRIVE();\n");
      break;
    case SEER_VEC_PREFETCH:
      seer_text_printf(
          s->text, "PREFETCH(%s, %" PRId64 ");\n", seer_source_pointer(s, node->arg[0]), node->imm);
      break;
    case SEER_VEC_FENCE:
      seer_text_put(s->text, "FENCE();\n");
      break;
    case SEER_VEC_BARRIER:
      seer_text_put(s->text, "BARRIER();\n");
      break;
    case SEER_VEC_LEAVE_UNLESS:
      seer_text_printf(s->text, "if (!%s) return;\n", seer_source_operand(s, node->arg[0]));
      break;
    case SEER_VEC_LOOP:
      put_loop(s, node);
      break;
    case SEER_VEC_WHEN:
      put_when(s, node);
      break;
    default:
      SEER_ASSERT(false, "%s gives no value", seer_vec_ops[node->op].text);
  }
}

static void put_block(seer_source *s, seer_vec_block block) {
  s->indent++;
  for (uint32_t id = block.first; id != 0; id = s->code->node[id].next) {
    const seer_vec_node *node = &s->code->node[id];
    if (node->elem == SEER_VEC_VOID)
      put_act(s, node);
    else
      put_value(s, id);
  }
  s->indent--;
}

// ---- functions

static bool is_used_in_phase(const seer_source *s, seer_vec_op op, uint32_t buf) {
  for (size_t k = 0; k < s->n_order; k++) {
    const seer_vec_node *node = &s->code->node[s->order[k]];
    if (node->op == op && s->fact[s->order[k]].n_uses > 0 &&
        (op != SEER_VEC_BUFFER || node->buf == buf))
      return true;
  }
  return false;
}

// What the function with named arguments takes, and what it is given.
static void put_arguments(seer_source *s, seer_text *given) {
  const char *before = "";
  uint32_t n_arg = 0;
  for (uint32_t b = 0; b <= s->code->loop->n_buf; b++) {
    bool is_scratch = b == s->code->loop->n_buf;
    if (!is_scratch && s->code->loop->buf[b].storage == SEER_STORE_LOCAL) continue;
    uint32_t at = n_arg++;
    if (!is_used_in_phase(s, is_scratch ? SEER_VEC_SCRATCH : SEER_VEC_BUFFER, b)) continue;
    seer_loop_storage storage = is_scratch ? SEER_STORE_LOCAL : s->code->loop->buf[b].storage;
    bool is_input = storage == SEER_STORE_INPUT || storage == SEER_STORE_PACKED;
    seer_text_printf(s->text, "%s%schar *RESTRICT %s", before, is_input ? "const " : "",
        is_scratch ? "scratch" : seer_source_buffer_name(s, b));
    seer_text_printf(given, "%sbuffers[%u]", before, at);
    before = ", ";
  }
  if (is_used_in_phase(s, SEER_VEC_PART, 0)) {
    seer_text_printf(s->text, "%si64 part", before);
    seer_text_printf(given, "%spart", before);
    before = ", ";
  }
  if (before[0] == '\0') seer_text_put(s->text, "void");
}

static void put_slots(seer_source *s) {
  for (size_t k = 0; k < s->n_piece; k++) {
    const seer_source_piece *piece = &s->piece[k];
    if (piece->elem == SEER_VEC_VOID)
      seer_text_printf(s->text, "  _Alignas(64) char %s[%" PRId64 "];\n", piece_name(s, piece),
          piece->end - piece->at);
    else if (piece->is_spread)
      seer_text_printf(s->text, "  f32x%u %s;\n", s->n_spread, piece_name(s, piece));
    else
      seer_text_printf(s->text, "  %s %s;\n", seer_source_type(s, piece->elem, piece->lanes),
          piece_name(s, piece));
  }
}

// Compilers warn of variables that are only written.
static void put_unread(seer_source *s) {
  for (size_t k = 0; k < s->n_piece; k++) {
    if (!s->piece[k].is_read)
      seer_text_printf(s->text, "  (void)%s;\n", piece_name(s, &s->piece[k]));
  }
}

static void put_body(seer_source *s) {
  put_slots(s);
  put_block(s, s->phase->body);
  put_unread(s);
}

static void find_items(seer_source *s, uint32_t phase) {
  seer_source_find_facts(s);
  seer_source_find_short(s, phase);
  s->n_name = 0;
}

// The forms with items as lanes, one for vectors of 16 and one for those of 8: the compiler of the
// text knows which the processor has. Of 4 only where there is no other. False: the phase has none.
static bool put_spread(seer_source *s, uint32_t phase) {
  static const uint32_t lanes[] = {16, 8, 4};
  const seer_source_frame *frame = s->dialect->frame;
  bool has_any = false;
  for (size_t k = 0; k < SEER_COUNT_OF(lanes) && !(has_any && lanes[k] < 8); k++) {
    if (seer_source_spread(s, phase, lanes[k])) {
      const char *n = seer_arena_printf(s->arena, "%u", s->n_spread = lanes[k]);
      seer_source_put_words(
          s->text, has_any ? frame->or_spread : frame->spread, (const char *const[]){"N", n, NULL});
      put_body(s);
      has_any = true;
    }
    s->n_spread = 0;
    find_items(s, phase);
  }
  if (has_any) seer_text_put(s->text, frame->single);
  return has_any;
}

static void put_items(seer_source *s, uint32_t phase) {
  const seer_source_frame *frame = s->dialect->frame;
  find_items(s, phase);
  seer_source_begin_items(s, phase);
  bool has_lanes = frame->spread && put_spread(s, phase);
  put_body(s);
  if (has_lanes) seer_text_put(s->text, frame->end);
  seer_text_put(s->text, "}\n");
}

static void put_phase(seer_source *s) {
  seer_text given;
  seer_text_init(&given, s->arena);
  seer_source_find_facts(s);
  s->n_name = 0;
  seer_text_printf(s->text, "\nKERNEL void %s_on(", s->phase->name);
  put_arguments(s, &given);
  seer_text_put(s->text, ") {\n");
  put_body(s);
  seer_text_printf(s->text,
      "}\n\nvoid %s(void *const *buffers, uint32_t part);\n"
      "void %s(void *const *buffers, uint32_t part) {\n"
      "  (void)buffers, (void)part;\n  %s_on(%s);\n}\n",
      s->phase->name, s->phase->name, s->phase->name, given.data ? given.data : "");
}

// ---- kernels

static void put_fills(seer_source *s) {
  for (uint32_t k = 0; k < s->code->n_fill; k++) {
    const seer_vec_fill *fill = &s->code->fill[k];
    const seer_vec_node *value = seer_source_at(s, fill->value);
    uint32_t bits = seer_vec_elem_bits[value->elem];
    double real;
    // Not every float can be written in a constant.
    bool is_number = !seer_vec_const_real(s->code, fill->value, &real) || real - real == 0;
    seer_vec_elem elem = is_number ? (seer_vec_elem)value->elem : seer_source_int_of_bits(bits);
    const char *one = seer_source_literal(s, elem, 1, value->bits, 0);
    uint32_t n = fill->n_bytes / (bits / 8);
    seer_text_printf(s->text, "static const _Alignas(64) %s %s[%u] = {%s};\n",
        seer_source_type(s, elem, 1), seer_source_fill_name(s, k), n,
        value->bits == 0 ? "0" : seer_source_repeat(s, one, n));
  }
}

static void put_heading(seer_source *s) {
  static const char *const role[] = {"read", "read, packed", "written", "shared by the phases", ""};
  const seer_loop *loop = s->code->loop;
  uint32_t n_arg = 0;
  seer_text_put(s->text, "\n// ");
  for (const char *at = loop->name; *at; at++)  // it ends with the line
    seer_text_put_n(s->text, isprint((unsigned char)*at) && *at != '\\' ? at : "?", 1);
  seer_text_printf(s->text, ": %u phase%s\n", s->code->n_phase, s->code->n_phase == 1 ? "" : "s");
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (!seer_loop_is_argument(buf->storage)) continue;
    seer_text_printf(s->text, "//   buffers[%u]  %s  %s[", n_arg++, seer_source_buffer_name(s, b),
        seer_dtype_name(buf->dtype));
    for (uint32_t k = 0; k < buf->rank; k++)
      seer_text_printf(s->text, "%s%" PRId64, k == 0 ? "" : ", ", buf->dim[k]);
    seer_text_printf(s->text, "], %" PRIu64 " bytes, %s\n",
        (uint64_t)buf->n_elems * seer_dtype_bytes(buf->dtype), role[buf->storage]);
  }
  if (s->dialect->frame) return;
  seer_text_printf(s->text, "//   buffers[%u]  scratch  %" PRIu64 " bytes of this thread\n", n_arg,
      s->code->scratch_bytes);
}

static seer_status check_mma(const seer_vec_code *code, const seer_dialect *dialect) {
  if (dialect->has_mma) return SEER_OK;
  if (seer_vec_has_copies(code))
    return SEER_FAIL(UNSUPPORTED, "%s: dialect %s has no copies that nobody waits for (%s)",
        code->loop->name, dialect->name, seer_vec_ops[SEER_VEC_COPY].text);
  if (!seer_vec_has_mma(code)) return SEER_OK;
  return SEER_FAIL(UNSUPPORTED, "%s: dialect %s has no products of warps (%s)", code->loop->name,
      dialect->name, seer_vec_ops[SEER_VEC_MMA].text);
}

static seer_status check_lanes(const seer_vec_code *code, const seer_dialect *dialect) {
  for (uint32_t id = 1; id < code->n; id++) {
    const seer_vec_node *node = &code->node[id];
    uint32_t lanes = node->op == SEER_VEC_SLOT ? 1 : node->lanes;
    if (lanes > dialect->max_lanes)
      return SEER_FAIL(UNSUPPORTED, "%s: %s of %u lanes; dialect %s has at most %u",
          code->loop->name, seer_vec_ops[node->op].text, lanes, dialect->name, dialect->max_lanes);
  }
  return SEER_OK;
}

// Several lanes are loaded, all of them or none, and stored, and nothing is computed on them.
static bool is_of_item(const seer_vec_code *code, const seer_vec_node *node) {
  if (node->op == SEER_VEC_SELECT && node->elem == SEER_VEC_PTR) return false;
  if (node->lanes <= 1 || node->op == SEER_VEC_SLOT) return true;
  switch ((int)node->op) {
    case SEER_VEC_LOAD_MASKED:
      return seer_vec_at(code, node->arg[1])->op == SEER_VEC_SPLAT &&
          seer_vec_is_const(code, node->arg[2]) && seer_vec_at(code, node->arg[2])->imm == 0;
    case SEER_VEC_SPLAT:
      return node->elem == SEER_VEC_I1;
    case SEER_VEC_CONST:
    case SEER_VEC_UNDEF:
    case SEER_VEC_LOAD:
    case SEER_VEC_INSERT:
    case SEER_VEC_STORE:
    case SEER_VEC_COPY:
    case SEER_VEC_MMA:
      return true;
    default:
      return false;
  }
}

// Who has items writes what items do, and nothing that is chosen, or kept in bytes.
static seer_status check_items(const seer_vec_code *code, const seer_dialect *dialect) {
  for (uint32_t p = 0; p < code->n_phase; p++) {
    if ((seer_items_of_phase(code->loop, p) > 0) == (dialect->frame != NULL)) continue;
    return SEER_FAIL(UNSUPPORTED, "%s: dialect %s %s block programs", code->loop->name,
        dialect->name, dialect->frame ? "is for" : "has no");
  }
  for (uint32_t id = 1; dialect->frame && id < code->n; id++) {
    uint8_t op = code->node[id].op;
    if (op == SEER_VEC_FILL || op == SEER_VEC_LOOKUP || op == SEER_VEC_SCRATCH ||
        op == SEER_VEC_STORE_MASKED || !is_of_item(code, &code->node[id]))
      return SEER_FAIL(UNSUPPORTED, "%s: dialect %s has no %s", code->loop->name, dialect->name,
          seer_vec_ops[op].text);
  }
  return SEER_OK;
}

const char *seer_source_prelude(const seer_dialect *dialect, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  dialect->put_prelude(&text);
  return text.data;
}

seer_status seer_source_print(const seer_vec_code *code, const seer_dialect *dialect,
    seer_arena *arena, const char **out_text) {
  SEER_TRY(check_mma(code, dialect));
  SEER_TRY(check_lanes(code, dialect));
  SEER_TRY(check_items(code, dialect));
  seer_arena *work = seer_arena_create("source");
  seer_text text;
  seer_text_init(&text, arena);
  seer_source s = {.code = code, .dialect = dialect, .arena = work, .text = &text};
  s.fact = SEER_NEW_ARRAY(work, seer_source_fact, code->n);
  put_heading(&s);
  put_fills(&s);
  for (uint32_t p = 0; p < code->n_phase; p++) {
    s.phase = &code->phase[p];
    if (dialect->frame)
      put_items(&s, p);
    else
      put_phase(&s);
  }
  seer_arena_destroy(work);
  *out_text = text.data;
  return SEER_OK;
}
