// schedule.h - a schedule = a sketch + a vector of knobs. Small, fixed size: copied by memcpy,
// hashed in nanoseconds. Only inner factors are stored; the outermost is implied (ceiling). A
// factor need not divide its extent.
//
// Threads: any; lists of sketches are only read, a seer_rng is its caller's. Errors: a verdict says
// why there is no schedule, and `out` is of no use then.
#ifndef SEER_SPACE_SCHEDULE_H
#define SEER_SPACE_SCHEDULE_H

#include "base/arena.h"
#include "base/rng.h"
#include "base/status.h"

#define SEER_SCHEDULE_MAX_KNOBS 124
#define SEER_MAX_FACTOR 4096

typedef struct {
  uint16_t sketch;  // index into the task's sketches
  uint16_t n;
  uint16_t knob[SEER_SCHEDULE_MAX_KNOBS];
} seer_schedule;

typedef struct seer_sketch_list seer_sketch_list;  // sketch.h

// Why there is no schedule.
typedef enum {
  SEER_REJECT_NONE,
  SEER_REJECT_REGISTERS,
  SEER_REJECT_LOCAL_BYTES,
  SEER_REJECT_TOO_MANY_PARTS,
  SEER_REJECT_PADDING,
  SEER_REJECT_NO_MATCH,
  SEER_REJECT_UNROLL,
  SEER_REJECT_DUPLICATE,
  SEER_REJECT_SPACE,
  SEER_REJECT_WEIGHTS,  // packed weights beyond what the user allows
  SEER_REJECT_POOL,  // not among those that a search is restricted to
  SEER_REJECT_SAME_CODE,  // the same loops as of another
  SEER_REJECT_ITEMS,  // of a GPU's block: too many, or warps that they do not fill
  SEER_REJECT_COUNT
} seer_reject;
const char *seer_reject_name(seer_reject reject);

// Clamps factors to their extents, locations to valid ones, unused knobs to canonical values.
// Idempotent.
void seer_schedule_normalise(const seer_sketch_list *list, seer_schedule *schedule);
uint64_t seer_schedule_hash(const seer_schedule *schedule);  // of a normalised one
bool seer_schedule_equal(const seer_schedule *a, const seer_schedule *b);
// What is drawn below is normalised and checked, so its frame is at hand: who goes on to summarise
// it takes it along, others pass NULL for out_frame. Set only where a schedule comes of it.
struct seer_frame;
// A random schedule of sketch `sketch`, or why not.
seer_reject seer_schedule_sample(const seer_sketch_list *list, uint32_t sketch, seer_rng *rng,
    seer_schedule *out, struct seer_frame *out_frame);
// Always valid: sequential loops, moderate tiles. Deterministic.
void seer_schedule_default(const seer_sketch_list *list, uint32_t sketch, seer_schedule *out);
// In the full space: changes one knob (factors are moved between levels of an axis or redrawn;
// register tile jointly; location; parallel; unroll), or jumps to another sketch (re-fitted). In
// the space ansor: one mutation as Ansor has it, with its weights; the child may equal its parent.
seer_reject seer_schedule_mutate(const seer_sketch_list *list, seer_rng *rng,
    const seer_schedule *parent, seer_schedule *out, struct seer_frame *out_frame);
seer_reject seer_schedule_cross(const seer_sketch_list *list, seer_rng *rng, const seer_schedule *a,
    const seer_schedule *b, seer_schedule *out, struct seer_frame *out_frame);
// Those one step away from a normalised schedule, all valid and each once: of each knob that is in
// use the next value up and the next down (neighbour.c says which values count). Others change only
// as far as they must: outer factors that a larger inner one leaves no room for, and what a stage
// needs that had no loops, or no parallel ones, where it stood before. *out: in `arena`. How many.
#define SEER_SCHEDULE_MAX_NEIGHBOURS (2 * SEER_SCHEDULE_MAX_KNOBS)
uint32_t seer_schedule_neighbours(const seer_sketch_list *list, const seer_schedule *schedule,
    seer_arena *arena, seer_schedule **out);
// Carries a schedule over to another task by knob names and the sketch's signature.
seer_reject seer_schedule_refit(const seer_sketch_list *from, const seer_schedule *schedule,
    const seer_sketch_list *to, seer_schedule *out);
// The same to a given sketch of `to`.
seer_reject seer_schedule_refit_to(const seer_sketch_list *from, const seer_schedule *schedule,
    const seer_sketch_list *to, uint32_t sketch, seer_schedule *out, struct seer_frame *out_frame);
// Validity beyond the knobs' own domains: register tile, local bytes, number of parts. In the space
// ansor only what could not be built or run: local bytes and parts.
seer_reject seer_schedule_check(const seer_sketch_list *list, const seer_schedule *schedule);
// Readable steps; parse matches sketch by signature and knobs by name. Errors: INVALID with line
// and column, what was found and what the sketches have.
const char *seer_schedule_print(
    const seer_sketch_list *list, const seer_schedule *schedule, seer_arena *arena);
SEER_MUST_USE seer_status seer_schedule_parse(const seer_sketch_list *list, const char *source,
    const char *text, size_t n_bytes, seer_schedule *out);

#endif
