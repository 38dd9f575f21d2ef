// feature.h - features of a schedule for the cost model: one row per statement of its nest summary.
// What the columns are is a table of sets; a bank of models has one of them (bank.h), and a policy
// says which (tune/scheduler.h).
// All is pure, over the caller's storage: safe from any thread.
#ifndef SEER_LEARN_FEATURE_H
#define SEER_LEARN_FEATURE_H

#include "base/status.h"
#include "setup/target.h"
#include "space/nest.h"

#define SEER_FEATURE_MAX 256  // columns of any set

typedef struct {
  const char *name, *doc;
  uint32_t version;  // changes whenever a column's meaning does: files of models know it
  size_t n_column;  // at most SEER_FEATURE_MAX
  const char *const *column;  // their names, each different
  // Writes n rows of n_column floats, all finite; returns the number of rows, at most one a
  // statement (SEER_NEST_MAX_STATEMENTS). `seconds`: what seer_analytic_seconds says of the nest.
  uint32_t (*extract)(
      const seer_nest *nest, const seer_target *target, double seconds, float *out_rows);
  bool is_of_items;  // of GPUs' schedules, a row a kernel; else of processors'
} seer_feature_set;

// Columns of feature.inc: this project's own. A row a statement, and one of the program.
extern const seer_feature_set seer_feature_seer, seer_feature_program;
// Ansor's 164 columns for each buffer that is stored to (OSDI'20, appendix; the code in TVM), of
// the program that the nest is. No column of the analytic model is among them. They are as
// published, with what does not work in the published code: multiply-adds are never recognised,
// positions of annotations are none or mixed, an operand's lines are divided by the innermost
// loop's extent for each loop inside that does not move it, its contiguous bytes are judged by the
// region of another buffer, and what a loop touches beside is seen of earlier statements only.
// Where our programs differ from TVM's, the columns are of ours:
// - Loops of a register tile count as unrolled, its last one as vectorised, as they are annotated
//   in the nest; a loop of one iteration is none.
// - A weight that is packed has the layout that is measured: each loop that moves it is a dimension
//   of its own. (TVM extracts features before it rewrites the layout.)
// - Trips are nominal: a tile that does not divide its extent counts as if it did. TVM has none.
// - Statements of two targets (an argmax) have one row, the first target's.
// - A row's statement is an update without its init, which the published code has overwritten, too;
//   loops around both touch the target twice.
// What a nest does not know, and what stands there instead: selects and logic (they are in
// float_cmp), kinds of integer operations (all in int_addsub; none of addressing, which the
// published counts are mostly of), guards (0; a call of float_mathfunc each). Two reads of a buffer
// that move differently touch the sum of both, at most the buffer; published: their hull. Where
// some index is no sum of loops, every loop that is not known to move the buffer moves it, by 2
// elements: the published guess.
extern const seer_feature_set seer_feature_ansor;

// Columns of gpu/feature.inc.
extern const seer_feature_set seer_feature_gpu;

// `wanted`, where it is of targets of that kind, else the one that is.
const seer_feature_set *seer_feature_set_of(const seer_feature_set *wanted, seer_target_kind kind);

// The first one is the default, of processors.
extern const seer_feature_set *const seer_feature_set_table[];
extern const size_t seer_feature_set_table_count;

// The closed-form model: estimated seconds of one run (roofline by cache level, register pressure,
// vector efficiency, parallel balance; of a GPU by waves of blocks, gpu/profile.h). Filters drafts
// and gives the untuned choice.
double seer_analytic_seconds(const seer_nest *nest, const seer_target *target);

// What it is made of: each statement's even share goes to what takes it longest.
typedef struct {
  double compute_s;  // issuing instructions, data in L1; of a GPU all of it
  double level_s[3];  // bytes from L2, L3, memory
  double uneven_s;  // threads that have nothing to do while others have
  double handover_s;  // phases, parts, lines that pass between threads
} seer_analytic_terms;
// Returns the estimate, of which the terms are parts.
double seer_analytic_explain(
    const seer_nest *nest, const seer_target *target, seer_analytic_terms *out);

#endif
