// text.c - the text form of tile IR (doc/ir/tile.md): loop IR's under another first word, with what
// was decided behind all else in the headers of FORs and ALLOCs.
#include <string.h>

#include "base/map.h"
#include "base/table.h"
#include "code/tile/pass.h"

static const char *const mode_names[] = {
    [SEER_TILE_LOOP] = "loop", [SEER_TILE_COPIES] = "copies", [SEER_TILE_LANES] = "lanes"};

// ---- printing

static void print_for(const seer_tile_for *of, seer_text *text) {
  seer_text_printf(text, " as %s", mode_names[of->mode]);
  if (of->mode == SEER_TILE_LOOP && of->step != 1) seer_text_printf(text, " by %u", of->step);
  if (of->mode == SEER_TILE_LANES) seer_text_printf(text, " %u", of->lanes);
  if (of->is_chunk_loop) seer_text_put(text, " looped");
  if (of->is_register_choice) seer_text_put(text, " always");
  if (of->is_tight) seer_text_put(text, " tight");
  if (of->is_matrix) seer_text_put(text, " matrix");
  if (of->is_of_warps) seer_text_put(text, " warps");
  if (of->takes_turns) seer_text_put(text, " turns");
  if (of->is_interchanged) seer_text_put(text, " interchanged");
}

static void print_note(void *user, uint32_t id, seer_text *text) {
  const seer_tile *tile = user;
  const seer_loop_node *node = &tile->loop->node[id];
  if (node->kind == SEER_NODE_FOR) {
    print_for(&tile->of[id], text);
    return;
  }
  const seer_tile_buf *buf = &tile->buf[node->buf[0]];
  if (buf->is_register)
    seer_text_put(text, " in registers");
  else
    seer_text_printf(text, " at %" PRIu64, buf->scratch_offset);
}

const char *seer_tile_print(const seer_tile *tile, seer_arena *arena) {
  seer_loop_notes notes = {"tile", (void *)tile, print_note, NULL};
  return seer_loop_print_noted(tile->loop, &notes, arena);
}

// ---- hashing

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
      c == '.' || c == '-';
}

// The variable's number in the order of the text.
static uint64_t number_of(seer_table *seen, const char *name, size_t n) {
  uint64_t key = seer_hash_bytes(name, n, 0), next = seen->n;
  if (seer_table_add(seen, key)) *seer_table_values(seen, key) = next;
  return *seer_table_values(seen, key);
}

uint64_t seer_tile_hash(const seer_tile *tile, seer_arena *scratch) {
  static const char limit[] = "copies ";
  const char *at = seer_tile_print(tile, scratch);
  seer_table seen = {.n_values = 1};
  uint64_t hash = 0;
  // The limit of a loop: "for @x < 8 copies 4 as loop". What became of it is "as copies".
  bool is_after_as = false;
  while (*at) {
    size_t n = 0;
    if (*at == '@') {
      while (is_word(at[1 + n])) n++;
      hash = seer_hash_u64(number_of(&seen, at + 1, n), hash + 1);
      n++;
    } else if (!is_after_as && strncmp(at, limit, strlen(limit)) == 0) {
      n = strlen(limit);
      while (at[n] >= '0' && at[n] <= '9') n++;
    } else {
      n = 1;
      while (at[n] && at[n] != '@' && at[n - 1] != ' ') n++;
      hash = seer_hash_bytes(at, n, hash);
      is_after_as = n == 3 && strncmp(at, "as ", 3) == 0;
    }
    at += n;
  }
  seer_table_destroy(&seen);
  return hash;
}

// ---- parsing

// What was read of FORs and ALLOCs, before there is a loop to make a tile of.
typedef struct {
  seer_arena *arena;
  size_t n, cap;
  struct note {
    uint32_t id;
    seer_tile_for of;
    seer_tile_buf buf;
  } * note;
} reader;

static seer_status parse_in(seer_scan *scan, int64_t high, int64_t *out) {
  SEER_TRY(seer_scan_i64(scan, out));
  if (*out >= 0 && *out <= high) return SEER_OK;
  return seer_scan_fail(scan, "%" PRId64 " is not in [0, %" PRId64 "]", *out, high);
}

static seer_status parse_for(seer_scan *scan, seer_tile_for *of) {
  uint32_t mode = 0;
  int64_t number;
  SEER_TRY(seer_scan_expect(scan, "as"));
  while (mode < SEER_COUNT_OF(mode_names) && !seer_scan_try(scan, mode_names[mode])) mode++;
  if (mode == SEER_COUNT_OF(mode_names))
    return seer_scan_fail(scan, "expected 'loop', 'copies' or 'lanes'");
  *of = (seer_tile_for){.mode = (seer_tile_mode)mode, .step = 1};
  if (of->mode == SEER_TILE_LOOP && seer_scan_try(scan, "by")) {
    SEER_TRY(parse_in(scan, UINT16_MAX, &number));
    of->step = (uint16_t)number;
  }
  if (of->mode == SEER_TILE_LANES) {
    SEER_TRY(parse_in(scan, UINT16_MAX, &number));
    of->lanes = (uint16_t)number;
    of->is_chunk_loop = seer_scan_try(scan, "looped");
  }
  of->is_register_choice = of->mode == SEER_TILE_COPIES && seer_scan_try(scan, "always");
  of->is_tight = seer_scan_try(scan, "tight");
  of->is_matrix = of->mode == SEER_TILE_LOOP && seer_scan_try(scan, "matrix");
  of->is_of_warps = of->mode == SEER_TILE_LOOP && seer_scan_try(scan, "warps");
  of->takes_turns = seer_scan_try(scan, "turns");
  of->is_interchanged = seer_scan_try(scan, "interchanged");
  return SEER_OK;
}

static seer_status parse_alloc(seer_scan *scan, seer_tile_buf *buf) {
  int64_t number;
  buf->is_register = seer_scan_try(scan, "in");
  if (buf->is_register) return seer_scan_expect(scan, "registers");
  SEER_TRY(seer_scan_expect(scan, "at"));
  SEER_TRY(parse_in(scan, INT64_MAX, &number));
  buf->scratch_offset = (uint64_t)number;
  return SEER_OK;
}

static seer_status parse_note(
    void *user, seer_scan *scan, uint32_t id, const seer_loop_node *node) {
  reader *r = user;
  r->note = SEER_GROW(r->arena, struct note, r->note, r->n, &r->cap);
  struct note *note = &r->note[r->n++];
  *note = (struct note){.id = id};
  return node->kind == SEER_NODE_FOR ? parse_for(scan, &note->of) : parse_alloc(scan, &note->buf);
}

static void take(seer_tile *tile, const struct note *note) {
  const seer_loop_node *node = &tile->loop->node[note->id];
  if (node->kind == SEER_NODE_FOR) {
    seer_tile_for *of = &tile->of[note->id], facts = *of;
    *of = note->of;
    of->is_exact = facts.is_exact;
    of->bound_low = facts.bound_low;
    return;
  }
  const seer_loop_buf *decl = &tile->loop->buf[node->buf[0]];
  seer_tile_buf *buf = &tile->buf[node->buf[0]];
  buf->is_register = note->buf.is_register;
  buf->scratch_offset = note->buf.scratch_offset;
  if (!buf->is_register) seer_tile_reserve(tile, decl, buf->scratch_offset);
}

seer_status seer_tile_parse(const char *source, const char *text, size_t n_bytes,
    const seer_tile_machine *machine, seer_arena *arena, seer_tile **out_tile) {
  *out_tile = NULL;
  reader r = {.arena = arena};
  seer_loop_notes notes = {"tile", &r, NULL, parse_note};
  seer_loop *loop;
  SEER_TRY(seer_loop_parse_noted(source, text, n_bytes, &notes, arena, &loop));
  seer_tile *tile = seer_tile_begin(loop, machine, arena);
  seer_tile_facts(tile);
  if (tile->needs_sink) tile->scratch_bytes = SEER_TILE_SINK_BYTES;
  for (size_t k = 0; k < r.n; k++) take(tile, &r.note[k]);
  *out_tile = tile;
  return SEER_OK;
}
