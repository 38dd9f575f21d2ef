// feature.c - nest summary -> rows of named numbers for the cost model, one per statement.
// 82 columns, most of which say in another way what Ansor's 164 (OSDI'20, appendix) do: work by
// kind of operation, the loops around it, and for the target and its three largest operands bytes,
// moved bytes by cache level, stride, reuse and tile. Strides and touched bytes are exact for
// affine indices, the packed layout is the one that is measured, and every statement has a row of
// its own. Not in them are Ansor's reuse distance and type of reuse, its curve of intensity over
// the loops (three levels of cache stand for its ten points), its columns of each allocation, its
// fifth operand, and the one-hot positions of annotations; columns of the analytic model (cycles,
// register need, imbalance) stand beside them, which Ansor has not.

#include "learn/feature.h"

#include <math.h>

#include "learn/profile.h"

enum {
#define SEER_COLUMN(name) COLUMN_##name,
#include "learn/feature.inc"
#undef SEER_COLUMN
  N_COLUMN
};

static const char *const names[] = {
#define SEER_COLUMN(name) #name,
#include "learn/feature.inc"
#undef SEER_COLUMN
};

#define N_ACCESS_COLUMNS (COLUMN_a_kind - COLUMN_target_kind)

static float slog(double x) { return (float)log2(1.0 + (x > 0 ? x : 0)); }

static void fill_access(const seer_nest_access *access, const seer_access_profile *ap, float *out) {
  out[0] = (float)access->storage + 1.0F;
  out[1] = access->is_guarded;
  out[2] = slog(ap->bytes);
  for (int l = 0; l < 3; l++) out[3 + l] = slog(ap->moved[l]);
  out[6] = slog(ap->run_bytes);
  out[7] = slog(ap->innermost_stride);
  out[8] = slog(ap->reuse);
  out[9] = slog(ap->tile_elems);
  bool has_rows = access->rank > 1 && access->storage != SEER_NEST_PACKED;
  out[10] = has_rows && access->row_pitch * access->elem_bytes % 1024 == 0;
}

static void fill_accesses(
    const seer_nest_statement *st, const seer_access_profile *profile, float *row) {
  bool is_used[SEER_NEST_MAX_ACCESSES] = {false};
  for (uint32_t slot = 0; slot < 4; slot++) {
    uint32_t best = SEER_NEST_MAX_ACCESSES;
    for (uint32_t a = 0; a < st->n_access; a++) {
      if (is_used[a] || (slot == 0) != st->access[a].is_write) continue;
      if (best == SEER_NEST_MAX_ACCESSES || profile[a].moved[0] > profile[best].moved[0]) best = a;
    }
    if (best == SEER_NEST_MAX_ACCESSES) continue;
    is_used[best] = true;
    fill_access(
        &st->access[best], &profile[best], row + COLUMN_target_kind + slot * N_ACCESS_COLUMNS);
  }
}

static void fill_row(const seer_nest *nest, const seer_nest_statement *st,
    const seer_target *target, double seconds, float *row) {
  seer_statement_profile p;
  seer_access_profile access[SEER_NEST_MAX_ACCESSES];
  seer_profile_statement(nest, st, target, &p, access);
  for (uint32_t c = 0; c < N_COLUMN; c++) row[c] = 0;
  row[COLUMN_program_log_seconds] = (float)-log2(seconds);
  row[COLUMN_program_statements] = (float)nest->n_statement;
  row[COLUMN_program_local_bytes] = slog((double)nest->local_bytes);
  row[COLUMN_program_packed_bytes] = slog((double)nest->packed_bytes);
  double n = st->iterations;
  row[COLUMN_iterations] = slog(n);
  row[COLUMN_padding] = (float)(st->padded_iterations / n);
  row[COLUMN_fma] = slog(n * (double)st->n_fma);
  row[COLUMN_add] = slog(n * (double)st->n_add);
  row[COLUMN_mul] = slog(n * (double)st->n_mul);
  row[COLUMN_div] = slog(n * (double)st->n_div);
  row[COLUMN_cmp] = slog(n * (double)st->n_cmp);
  row[COLUMN_special] = slog(n * (double)st->n_special);
  row[COLUMN_int_ops] = slog(n * (double)st->n_int);
  row[COLUMN_is_reduction] = st->is_reduction;
  double outer = 1, reduce = 1, inexact = 0;
  for (uint32_t l = 0; l < st->first_own; l++) outer *= (double)st->loop[l].extent;
  for (uint32_t l = 0; l < st->n_loop; l++) inexact += !st->loop[l].is_exact;
  for (uint32_t l = st->first_tile; l-- > 0 && st->loop[l].is_reduce;)
    reduce *= (double)st->loop[l].extent;
  row[COLUMN_n_loops] = (float)st->n_loop;
  row[COLUMN_outer_iterations] = slog(outer);
  row[COLUMN_tile_rows] = slog(p.rows);
  row[COLUMN_tile_vectors] = slog(p.vectors);
  row[COLUMN_vector_lanes] = (float)(p.lanes / seer_target_lanes(target));
  row[COLUMN_registers] = (float)(p.registers / target->n_vector_registers);
  row[COLUMN_innermost_extent] =
      st->first_tile ? slog((double)st->loop[st->first_tile - 1].extent) : 0;
  row[COLUMN_reduce_inside] = slog(reduce);
  row[COLUMN_max_unroll] = slog(st->max_unroll);
  row[COLUMN_inexact_loops] = (float)inexact;
  row[COLUMN_parts] = slog(p.parts);
  double per_thread = p.parts / target->threads;
  row[COLUMN_imbalance] = (float)(ceil(per_thread) / per_thread);
  row[COLUMN_part_iterations] = slog(n / p.parts);
  row[COLUMN_issue_cycles] = slog(p.issue_cycles);
  row[COLUMN_load_cycles] = slog(p.load_cycles);
  row[COLUMN_issue_share] = (float)(p.issue_cycles / (p.issue_cycles + p.load_cycles + 1e-9));
  row[COLUMN_cycles] = slog(p.cycles);
  double ops = n *
      (double)(2 * st->n_fma + st->n_add + st->n_mul + st->n_div + st->n_cmp + 8 * st->n_special);
  for (int l = 0; l < 3; l++) {
    row[COLUMN_to_l1_bytes + l] = slog(p.moved[l]);
    row[COLUMN_intensity_l1 + l] = slog(16 * ops / (p.moved[l] + 1));
  }
  row[COLUMN_crossing_bytes] = slog(p.crossing);
  fill_accesses(st, access, row);
}

static uint32_t extract(
    const seer_nest *nest, const seer_target *target, double seconds, float *out_rows) {
  _Static_assert(N_COLUMN <= SEER_FEATURE_MAX, "more columns than callers make room for");
  for (uint32_t i = 0; i < nest->n_statement; i++) {
    fill_row(nest, &nest->statement[i], target, seconds, out_rows + i * N_COLUMN);
  }
  return nest->n_statement;
}

const seer_feature_set seer_feature_seer = {
    "seer", "work, loops, caches and the analytic model", 3, N_COLUMN, names, extract, false};

// To add a set: its file, its line.
const seer_feature_set *const seer_feature_set_table[] = {
    &seer_feature_seer, &seer_feature_program, &seer_feature_ansor, &seer_feature_gpu};
const size_t seer_feature_set_table_count = SEER_COUNT_OF(seer_feature_set_table);

const seer_feature_set *seer_feature_set_of(const seer_feature_set *wanted, seer_target_kind kind) {
  bool is_of_items = kind != SEER_TARGET_CPU;
  if (wanted->is_of_items == is_of_items) return wanted;
  size_t k = 0;
  while (seer_feature_set_table[k]->is_of_items != is_of_items) k++;
  return seer_feature_set_table[k];
}
