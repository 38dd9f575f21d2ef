// ledger.c - jobs that are out. The contract: ledger.h.

#include "measure/fleet/ledger.h"

#include <string.h>

#include "setup/context.h"

#define MOST_LOST 2  // workers, over a job

seer_ledger_job *seer_ledger_add(seer_ledger *ledger, seer_job_kind kind, uint32_t n) {
  seer_arena *arena = seer_arena_create("job");
  seer_ledger_job *job = SEER_NEW(arena, seer_ledger_job);
  job->arena = arena;
  job->letter = (seer_letter_job){.session = ledger->session,
      .number = ++ledger->n_numbers,
      .kind = kind,
      .n = n,
      .candidate = SEER_NEW_ARRAY(arena, seer_letter_candidate, n)};
  job->holder = SEER_LEDGER_NOBODY;
  if (kind == SEER_JOB_COMPARE) job->compared = SEER_NEW(arena, seer_message_compared);
  seer_ledger_job **end = &ledger->first;
  while (*end) end = &(*end)->next;
  *end = job;
  ledger->n++;
  return job;
}

seer_ledger_job *seer_ledger_find(const seer_ledger *ledger, uint64_t number) {
  seer_ledger_job *job = ledger->first;
  while (job && job->letter.number != number) job = job->next;
  return job;
}

void seer_ledger_remove(seer_ledger *ledger, seer_ledger_job *job) {
  seer_ledger_job **at = &ledger->first;
  while (*at != job) at = &(*at)->next;
  *at = job->next;
  ledger->n--;
  seer_arena_destroy(job->arena);
}

void seer_ledger_clear(seer_ledger *ledger) {
  while (ledger->first) seer_ledger_remove(ledger, ledger->first);
}

// ---- what is foreseen
static bool is_waiting_for(const seer_ledger_job *job, uint64_t task) {
  return job->is_foreseen && !job->is_forgone && job->letter.task == task;
}

static bool is_of(const seer_ledger_job *job, const seer_ledger_question *q) {
  bool may_be = is_waiting_for(job, q->task) && job->asked_of == q->asked_of &&
      job->letter.n == q->n && job->letter.n_pairs == q->n_pairs;
  for (uint32_t i = 0; may_be && i < q->n; i++)
    may_be = strcmp(q->schedule[i], job->letter.candidate[i].schedule) == 0;
  return may_be;
}

uint32_t seer_ledger_find_foreseen(const seer_ledger *ledger, const seer_ledger_question *question,
    uint32_t n_max, seer_ledger_job **out) {
  uint32_t n = 0;
  for (seer_ledger_job *job = ledger->first; job && n < n_max; job = job->next)
    if (is_of(job, question)) out[n++] = job;
  return n;
}

bool seer_ledger_is_settled(const seer_ledger *ledger, uint64_t task) {
  for (const seer_ledger_job *job = ledger->first; job; job = job->next)
    if (is_waiting_for(job, task) && !job->is_done && !job->letter.is_maybe) return false;
  return true;
}

void seer_ledger_forgo(seer_ledger *ledger, uint64_t task) {
  for (seer_ledger_job *job = ledger->first; job; job = job->next)
    job->is_forgone = job->is_forgone || is_waiting_for(job, task);
}

// ---- answers
static bool is_time(const seer_ledger_job *job, double seconds) {
  double most_s = seer_option_table[SEER_OPT_TIMEOUT].max;  // whatever --timeout is there
  return seconds >= job->least_s && seconds <= most_s;
}

static bool fits_results(const seer_ledger_job *job, const seer_letter_answer *answer) {
  bool do_fit = answer->n == job->letter.n;
  for (uint32_t i = 0; do_fit && i < answer->n && answer->kind == SEER_JOB_MEASURE; i++) {
    const seer_measure_result *result = &answer->result[i];
    do_fit = result->cls != SEER_MEASURED_OK || is_time(job, result->seconds);
  }
  return do_fit;
}

static bool fits_pairs(const seer_ledger_job *job, const seer_message_compared *compared) {
  if (compared->cls != SEER_MEASURED_OK) return true;
  bool do_fit = compared->n == job->letter.n - 1 && compared->n_pairs == job->letter.n_pairs;
  for (uint32_t k = 0; do_fit && k < compared->n * compared->n_pairs; k++)
    do_fit =
        is_time(job, compared->pair[k].seconds) && is_time(job, compared->pair[k].baseline_seconds);
  return do_fit;
}

// Is it one of the answers that the job can have?
static bool fits(const seer_ledger_job *job, const seer_letter_answer *answer) {
  if (answer->asked != seer_letter_job_key(&job->letter)) return false;
  if (answer->lost[0]) return true;
  if (answer->kind != job->letter.kind) return false;
  return answer->kind == SEER_JOB_COMPARE ? fits_pairs(job, answer->compared)
                                          : fits_results(job, answer);
}

// Who says that a job was lost may be wrong, and its candidates would be refused for that. So it is
// believed when it was sent again and is said again, or where two workers were seen to have it that
// are not who says so. What a certain device is asked nobody else can say.
static seer_ledger_verdict take_lost(
    seer_ledger_job *job, const seer_letter_answer *answer, uint32_t device) {
  bool is_asked_of_one = job->letter.kind != SEER_JOB_MEASURE && job->asked_of != SEER_MEASURE_HOME;
  uint32_t n_seen = job->n_holders - (job->n_holders > 0 && job->holder == device);
  bool is_again = job->was_said_lost && answer->attempt > job->said_attempt,
       is_its = !job->worker || strcmp(job->worker, answer->worker) == 0;
  if (is_asked_of_one || n_seen >= MOST_LOST || (is_again && is_its)) {
    seer_ledger_lose(job, device, SEER_MEASURED_RUN_CRASH, answer->lost);
    return SEER_LEDGER_TAKEN;
  }
  if (job->was_said_lost) return SEER_LEDGER_DUPLICATE;
  job->was_said_lost = true;
  job->said_by = device;
  job->said_attempt = job->letter.attempt;
  return SEER_LEDGER_DOUBTED;
}

seer_ledger_verdict seer_ledger_take(
    seer_ledger *ledger, const seer_letter_answer *answer, uint32_t device) {
  seer_ledger_job *job = seer_ledger_find(ledger, answer->number);
  bool was_given = answer->number >= 1 && answer->number <= ledger->n_numbers;
  if (answer->session != ledger->session || !was_given || (job && !fits(job, answer))) {
    ledger->n_strange++;
    return SEER_LEDGER_STRANGE;
  }
  if (!job || job->is_done || job->is_forgone) {
    ledger->n_duplicates++;
    return SEER_LEDGER_DUPLICATE;
  }
  if (answer->lost[0]) {
    seer_ledger_verdict verdict = take_lost(job, answer, device);
    ledger->n_duplicates += verdict == SEER_LEDGER_DUPLICATE;
    return verdict;
  }
  job->is_done = true;
  job->device = device;
  if (job->compared) *job->compared = *answer->compared;
  for (uint32_t i = 0; job->results && i < answer->n; i++) {
    job->results[i] = answer->result[i];
    job->results[i].device = device;
  }
  return SEER_LEDGER_TAKEN;
}

void seer_ledger_lose(
    seer_ledger_job *job, uint32_t device, seer_measured_class cls, const char *why) {
  job->is_done = true;
  job->device = device;
  (void)snprintf(job->lost, sizeof job->lost, "%s", why);
  if (job->compared) {
    *job->compared = (seer_message_compared){.cls = cls};
    (void)snprintf(job->compared->message, sizeof job->compared->message, "%s", why);
  }
  for (uint32_t i = 0; job->results && i < job->letter.n; i++) {
    job->results[i] = (seer_measure_result){.cls = cls, .device = device};
    (void)snprintf(job->results[i].message, sizeof job->results[i].message, "%s", why);
  }
}
