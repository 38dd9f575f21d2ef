// sound.c - a record -> sound, or why not.

#include "record/sound.h"

#include <math.h>
#include <string.h>

#define MAX_SCHEDULE_BYTES 65536
#define MAX_ORIGIN_BYTES 32
#define MAX_PAIRS 1000000

static const char *const texts[SEER_RECORD_VERDICT_COUNT] = {"sound", "known already",
    "not of the form of a record", "of a target that is not as its key says",
    "of a task that is not as its key says", "made by other rules",
    "beyond the limits of a schedule", "times that nobody measured",
    "faster than the machine can be"};

const char *seer_record_verdict_text(seer_record_verdict verdict) { return texts[verdict]; }

const char *seer_record_counts_print(const seer_record_counts *counts, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "");
  for (uint32_t v = SEER_RECORD_SOUND + 1; v < SEER_RECORD_VERDICT_COUNT; v++) {
    if (counts->n[v] == 0) continue;
    seer_text_printf(&text, "%s%u %s", text.n_bytes ? ", " : "", counts->n[v], texts[v]);
  }
  return text.n_bytes ? text.data : "";
}

uint32_t seer_record_counts_bad(const seer_record_counts *counts) {
  uint32_t n = 0;
  for (uint32_t v = SEER_RECORD_MALFORMED; v < SEER_RECORD_VERDICT_COUNT; v++) n += counts->n[v];
  return n;
}

seer_record_rule seer_record_rule_of(const seer_sketch_list *sketches) {
  return (seer_record_rule){sketches, seer_measure_least_seconds(sketches)};
}

// 0 stands for "none" where that is allowed.
static bool is_time(double seconds, bool may_be_none) {
  double longest = seer_option_table[SEER_OPT_TIMEOUT].max;  // whatever --timeout was
  if (seconds == 0) return may_be_none;
  return seconds >= SEER_MEASURE_LEAST_SECONDS && seconds <= longest;
}

static bool are_pairs(const seer_measure_ab *ab) {
  if (ab->n_pairs == 0) return true;
  return ab->n_pairs <= MAX_PAIRS && is_time(ab->seconds, false) &&
      is_time(ab->baseline_seconds, false) && ab->speedup > 0 && isfinite(ab->speedup) &&
      ab->p_value >= 0 && ab->p_value <= 1;
}

// As schedules are printed: nothing that would move a terminal's cursor.
static bool is_schedule_text(const char *text) {
  size_t n = 0;
  while (text[n] == '\n' || (text[n] >= ' ' && text[n] < 0x7F)) n++;
  return n < MAX_SCHEDULE_BYTES && text[n] == '\0';
}

static bool is_word(const char *text) {
  size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz-");
  return n <= MAX_ORIGIN_BYTES && text[n] == '\0';
}

seer_record_verdict seer_record_examine_numbers(const seer_record *record) {
  bool is_form = is_schedule_text(record->schedule) &&
      (!record->baseline || is_schedule_text(record->baseline)) &&
      (!record->origin || is_word(record->origin)) && isfinite(record->predicted) &&
      record->judged >= 0;
  if (!is_form) return SEER_RECORD_MALFORMED;
  bool is_ok = is_time(record->seconds, record->cls != SEER_MEASURED_OK) &&
      is_time(record->reference_s, true) && are_pairs(&record->ab);
  for (uint32_t i = 0; i < record->n_samples; i++)
    is_ok = is_ok && is_time(record->sample[i], true);
  return is_ok ? SEER_RECORD_SOUND : SEER_RECORD_BAD_TIME;
}

seer_record_verdict seer_record_examine(const seer_record_rule *rule, const seer_record *record,
    seer_schedule *out_schedule, seer_status *out_why) {
  if (out_why) *out_why = SEER_OK;
  seer_record_verdict verdict = seer_record_examine_numbers(record);
  if (verdict != SEER_RECORD_SOUND) return verdict;
  seer_status status = seer_schedule_parse(
      rule->sketches, "record", record->schedule, strlen(record->schedule), out_schedule);
  if (status) {
    if (out_why)
      *out_why = status;
    else
      seer_status_free(status);
    return SEER_RECORD_OTHER_RULES;
  }
  if (seer_schedule_check(rule->sketches, out_schedule) != SEER_REJECT_NONE)
    return SEER_RECORD_BEYOND_LIMITS;
  bool is_too_fast = record->cls == SEER_MEASURED_OK && record->seconds < rule->least_s;
  return is_too_fast ? SEER_RECORD_TOO_FAST : SEER_RECORD_SOUND;
}

bool seer_record_is_own_time(const seer_record *record) {
  if (record->ab.n_pairs > 0 || record->is_twin) return false;
  return record->cls != SEER_MEASURED_OK || record->n_samples > 0;
}
