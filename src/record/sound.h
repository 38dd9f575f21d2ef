// sound.h - what every record is held against before it is used, wherever it comes from: texts of
// our form, a schedule that the sketches know and the limits of candidates allow (so that its code
// can be built and its buffers be had), and times that a machine can have measured. What is not
// sound is left out, and counted by reason.
//
// A sound record need not be true. That it is not believed, but tried, is record.h's rule.
// Pure: safe from any thread.
#ifndef SEER_RECORD_SOUND_H
#define SEER_RECORD_SOUND_H

#include "record/record.h"

typedef struct seer_record_rule {
  const seer_sketch_list *sketches;  // kept
  double least_s;
} seer_record_rule;

// For records of the task that the sketches are of, on their target.
seer_record_rule seer_record_rule_of(const seer_sketch_list *sketches);
// out_schedule: set where the verdict is SOUND. out_why: NULL, or gets the parser's own words where
// there are any, owned by the caller.
seer_record_verdict seer_record_examine(const seer_record_rule *rule, const seer_record *record,
    seer_schedule *out_schedule, seer_status *out_why);
// Was it measured for itself, or has it failed? Else its time is of a moment: of a comparison in
// turns, of a twin's measurement, or of the network, which have no samples of their own.
bool seer_record_is_own_time(const seer_record *record);
// The part that needs no sketches.
seer_record_verdict seer_record_examine_numbers(const seer_record *record);

#endif
