// target_fields.h - the options of a target's text form: one table a kind lists them, so what is
// printed is what is parsed. Inside src/setup only.
// Memory: texts are in the arena that is given. Threads: any; tables are constant.
#ifndef SEER_SETUP_TARGET_FIELDS_H
#define SEER_SETUP_TARGET_FIELDS_H

#include "setup/target.h"

// A thousand times what is built in 2026; the arithmetic of all models is exact or finite within
// these.
#define SEER_FIELD_MOST_BYTES 1099511627776.0
#define SEER_FIELD_MOST_RATE 1e6

typedef enum {
  SEER_FIELD_TEXT,
  SEER_FIELD_WORDS,  // a text that may be empty, and has commas of its own
  SEER_FIELD_COUNT,
  SEER_FIELD_BYTES,
  SEER_FIELD_RATE,
  SEER_FIELD_LANES,  // a count of f32, kept in bytes
  SEER_FIELD_ARCHITECTURE,  // "sm_90", kept as 90
  SEER_FIELD_FLAG
} seer_field_kind;

typedef struct {
  const char *name;  // of the option, without the dash
  seer_field_kind kind;
  size_t offset;  // in seer_target
  double min, max;  // of numbers
} seer_field;

#define SEER_FIELD(name, kind, member, min, max) \
  { name, SEER_FIELD_##kind, offsetof(seer_target, member), min, max }

#define SEER_FIELDS_MAX 40

typedef struct {
  const seer_field *field;
  size_t n;  // at most SEER_FIELDS_MAX
} seer_fields;

// " -name=value" of each; a TEXT that is empty, a flag that is off and an architecture that is 0
// are left out.
void seer_fields_print(const seer_fields *fields, const seer_target *target, seer_text *text);

// The index of the option `name`, which must be there.
size_t seer_fields_index(const seer_fields *fields, const char *name);

// Sets what `word`, "-name=value", says; given[i] becomes true for its field.
// INVALID: no option, or one that is not known, with those that are; or no such value, with the
// bounds.
SEER_MUST_USE seer_status seer_fields_set(const seer_fields *fields, const char *word,
    seer_arena *arena, seer_target *target, bool given[SEER_FIELDS_MAX]);

// A word of the text: up to a blank, or to a comma behind which an option "-name=" begins; quotes
// hold blanks. NULL: no more.
const char *seer_fields_next_word(const char **at, seer_arena *arena);

#endif
