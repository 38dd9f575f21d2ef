// board.c - steps: what is to go to the broker goes at once, one command behind the other, and last
// the question for answers, which may wait there; then all replies are taken. So a step costs one
// way there and back, however far the broker is. The contract: board.h.

#include "measure/fleet/board.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/os.h"
#include "measure/fleet/holders.h"

#define SECOND_NS 1000000000u
#define LOOK_NS (2 * (uint64_t)SECOND_NS)  // workers are looked at so often
#define UPKEEP_NS (5 * (uint64_t)SECOND_NS)  // what has a time at the broker is kept so often
#define LOST_NS (10 * (uint64_t)SECOND_NS)  // without answers for so long: are the jobs there?
#define HELD_NS (5 * (uint64_t)SECOND_NS)  // who has what in hand is asked so often
#define PAUSE_NS (SECOND_NS / 10)  // while the broker is away
#define MAX_STREAM 10000  // entries; older ones are cut off
#define MOST_LOST 2  // workers, over a round that each alone had

// What is to be done with a reply.
typedef enum {
  NOTHING,
  IS_KEPT,
  IS_ADDED,
  IS_STILL_THERE,
  IS_LETTERS,
  IS_NAMES,
  IS_HELD,
  IS_TUNINGS
} purpose;
typedef struct {
  purpose what;
  seer_ledger_job *job;  // of IS_ADDED, IS_STILL_THERE and IS_HELD
} expected;

typedef struct {
  seer_board *b;
  size_t n, cap;
  expected *reply;
  uint64_t sent_ns;
  bool is_excused;  // what is missing need not be a worker's doing
  double passed_s;  // since it was asked who has what; 0: it is not asked now
} step;

static void expect(step *s, purpose what, seer_ledger_job *job) {
  s->reply = SEER_GROW(s->b->scratch, expected, s->reply, s->n, &s->cap);
  s->reply[s->n++] = (expected){what, job};
}

static const char *place_of(const seer_board *b, const char *kind) {
  return seer_hub_place(b->scratch, kind, b->ledger.session);
}

// ---- what lies at the broker
static seer_status announce(step *s) {
  seer_board *b = s->b;
  const char *place = place_of(b, "tuning");
  seer_redis_word word;
  seer_text text;
  seer_text_init(&text, b->scratch);
  seer_letter_tuning letter = {.hello = b->roster.own,
      .measurer = b->roster.measurer,
      .priority = (uint32_t)seer_context_i64(b->context, SEER_OPT_PRIORITY)};
  for (uint32_t k = 0; k < b->roster.n; k++)
    if (b->bias[k].takes > 0)
      letter.bias[letter.n_bias++] = (seer_letter_bias){b->roster.worker[k].id, b->bias[k]};
  seer_letter_put_tuning(&text, &letter);
  SEER_TRY(seer_hub_seal(&b->hub, place, SEER_WIRE_TUNING, &text, b->scratch, &word));
  SEER_TRY(seer_hub_send(&b->hub, &word, "SET %s ? PX %d", place, SEER_HUB_TUNING_MS));
  SEER_TRY(seer_hub_send(&b->hub, NULL, "SADD familyseer:tunings %016" PRIx64, b->ledger.session));
  expect(s, NOTHING, NULL);
  expect(s, NOTHING, NULL);
  return SEER_OK;
}

// Sets how long things stay, and finds out whether they are there.
static seer_status keep(step *s) {
  static const char *const kept[] = {"jobs", "answers", "tasks"};
  for (size_t k = 0; k < SEER_COUNT_OF(kept); k++) {
    if (s->b->n == 0 && k == 2) continue;  // there is no empty hash
    SEER_TRY(seer_hub_send(
        &s->b->hub, NULL, "PEXPIRE %s %d", place_of(s->b, kept[k]), SEER_HUB_TUNING_MS));
    expect(s, IS_KEPT, NULL);
  }
  s->b->kept_ns = seer_os_now_ns();
  return announce(s);
}

static seer_status put_task(step *s, const seer_board_task *task) {
  const char *place = place_of(s->b, "tasks");
  seer_redis_word word;
  seer_text text;
  seer_text_init(&text, s->b->scratch);
  seer_message_put_task(&text, &task->message);
  SEER_TRY(seer_hub_seal(&s->b->hub, place, SEER_WIRE_TASK, &text, s->b->scratch, &word));
  expect(s, NOTHING, NULL);
  return seer_hub_send(&s->b->hub, &word, "HSET %s %016" PRIx64 " ?", place, task->key);
}

static seer_status make_group(step *s, const char *place) {
  expect(s, NOTHING, NULL);
  return seer_hub_send(&s->b->hub, NULL, "XGROUP CREATE %s " SEER_HUB_GROUP " 0 MKSTREAM", place);
}

// All of it, at the start and where the broker has forgotten it. Its jobs are sent once more: what
// workers had in hand may come twice then.
static seer_status establish(step *s) {
  seer_board *b = s->b;
  SEER_TRY(make_group(s, place_of(b, "jobs")));
  SEER_TRY(make_group(s, place_of(b, "answers")));
  for (size_t t = 0; t < b->n; t++) SEER_TRY(put_task(s, &b->task[t]));
  for (seer_ledger_job *job = b->ledger.first; job; job = job->next) {
    job->at = NULL;
    job->is_missing = false;
  }
  (void)snprintf(b->last, sizeof b->last, "0-0");
  b->is_there = true;
  return keep(s);
}

static const char *place_of_job(const seer_board *b, const seer_ledger_job *job) {
  if (!job->worker) return place_of(b, "jobs");
  return seer_hub_place_of_worker(b->scratch, b->ledger.session, job->worker);
}

// Out of its stream.
static seer_status pull(step *s, seer_ledger_job *job) {
  SEER_TRY(seer_hub_send(&s->b->hub, NULL, "XDEL %s %s", place_of_job(s->b, job), job->at));
  expect(s, NOTHING, NULL);
  job->at = NULL;
  return SEER_OK;
}

// ---- rounds by name
// Whoever is free takes a round, as long as nobody takes any whose answers are of no use: then each
// is for a certain worker, and another one's if that is lost.
static uint32_t n_rounds_of(const seer_board *b, const char *worker) {
  uint32_t n = 0;
  for (const seer_ledger_job *job = b->ledger.first; job; job = job->next)
    n += job->letter.kind == SEER_JOB_MEASURE && !job->is_done && job->worker == worker;
  return n;
}

static const char *least_busy(const seer_board *b, uint32_t but) {
  const char *best = NULL;
  uint32_t least = UINT32_MAX;
  for (uint32_t k = 0; k < b->roster.n; k++) {
    uint32_t n = n_rounds_of(b, b->roster.worker[k].id);
    if (!b->roster.worker[k].is_there || k == but || n >= least) continue;
    least = n;
    best = b->roster.worker[k].id;
  }
  return best;
}

// NULL: nobody is there.
static seer_status address(step *s, seer_ledger_job *job) {
  seer_board *b = s->b;
  uint32_t k = job->worker ? seer_roster_find(&b->roster, job->worker) : UINT32_MAX;
  bool is_anyones = !b->is_by_name && !job->worker;
  if (is_anyones || job->letter.kind != SEER_JOB_MEASURE || job->is_done) return SEER_OK;
  if (b->roster.n_there == 0 || (job->worker && b->roster.worker[k].is_there)) return SEER_OK;
  if (job->at) SEER_TRY(pull(s, job));
  job->n_workers_lost += job->worker && !b->roster.worker[k].is_dismissed;
  job->worker = least_busy(b, UINT32_MAX);
  if (job->n_workers_lost >= MOST_LOST)
    seer_ledger_lose(job, k, SEER_MEASURED_RUN_CRASH, "two workers were lost over it");
  return SEER_OK;
}

// ---- jobs
// Of who gets nothing more, nothing is to be taken from the common stream.
static void blame(seer_board *b, uint32_t device, const char *why) {
  if (seer_roster_blame(&b->roster, device, why)) b->is_by_name = true;
}

// It was taken and not answered. Twice is no accident of those that die, whose jobs stay: whoever
// takes it is to be known, and blamed.
static void note_missing(seer_board *b, seer_ledger_job *job) {
  job->is_missing = false;
  if (job->at) return;  // it is somebody else's already
  b->is_by_name = b->is_by_name || ++job->n_missed >= MOST_LOST;
  uint32_t k = job->worker ? seer_roster_find(&b->roster, job->worker) : UINT32_MAX;
  if (k != UINT32_MAX) blame(b, k, "a job was taken, and no answer came");
}

static seer_status send_job(step *s, seer_ledger_job *job) {
  seer_board *b = s->b;
  seer_redis_word word;
  const char *place = place_of_job(b, job);
  seer_text text;
  seer_text_init(&text, b->scratch);
  job->letter.attempt++;
  if (!job->is_foreseen) job->letter.is_maybe = false;  // it was asked
  job->was_sent_as_maybe = job->letter.is_maybe;
  job->holder = SEER_HOLDER_NOBODY;
  job->n_holders = 0;
  job->held_s = job->allowed_s = 0;
  seer_letter_put_job(&text, &job->letter);
  SEER_TRY(seer_hub_seal(&b->hub, place_of(b, "jobs"), SEER_WIRE_JOB, &text, b->scratch, &word));
  if (job->worker) {
    SEER_TRY(make_group(s, place));
    SEER_TRY(seer_hub_send(&b->hub, NULL, "PEXPIRE %s %d", place, SEER_HUB_TUNING_MS));
    expect(s, NOTHING, NULL);
  }
  SEER_TRY(seer_hub_send(&b->hub, &word, "XADD %s MAXLEN ~ %d * m ?", place, MAX_STREAM));
  expect(s, IS_ADDED, job);
  return SEER_OK;
}

// One that no worker has begun need not be.
static seer_status withdraw(step *s, seer_ledger_job *job) {
  if (job->at && !job->is_done) SEER_TRY(pull(s, job));
  seer_ledger_remove(&s->b->ledger, job);
  return SEER_OK;
}

// A job that is in no stream, and for which no answer came, is sent again.
static seer_status ask_for_lost(step *s) {
  for (seer_ledger_job *job = s->b->ledger.first; job; job = job->next) {
    if (!job->at || job->is_done || job->is_forgone) continue;
    SEER_TRY(seer_hub_send(
        &s->b->hub, NULL, "XRANGE %s %s %s", place_of_job(s->b, job), job->at, job->at));
    expect(s, IS_STILL_THERE, job);
  }
  s->b->heard_ns = seer_os_now_ns();
  s->b->is_doubting = false;
  return SEER_OK;
}

// ---- who has what
static seer_status ask_for_holders(step *s) {
  seer_board *b = s->b;
  uint64_t now = seer_os_now_ns(), passed_ns = now - b->held_ns;
  if (passed_ns > 2 * HELD_NS) passed_ns = 2 * HELD_NS;  // for the rest, nobody was asked
  s->passed_s = (double)passed_ns * 1e-9;
  b->held_ns = now;
  SEER_TRY(seer_hub_send(&b->hub, NULL, "SCARD familyseer:tunings"));
  expect(s, IS_TUNINGS, NULL);
  for (seer_ledger_job *job = b->ledger.first; job; job = job->next) {
    if (!job->at || job->is_done || job->is_forgone) continue;
    SEER_TRY(seer_hub_send(&b->hub, NULL, "XPENDING %s " SEER_HUB_GROUP " %s %s 1",
        place_of_job(b, job), job->at, job->at));
    expect(s, IS_HELD, job);
  }
  return SEER_OK;
}

// [[id, name, ms, deliveries]]; nothing: nobody has it. What is for one worker is that one's, where
// nobody else keeps it busy, as if it had taken it.
static void hear_holder(const step *s, seer_ledger_job *job, const seer_redis_reply *reply) {
  const seer_board *b = s->b;
  uint32_t k = SEER_HOLDER_NOBODY;
  bool is_held = reply->kind == SEER_REDIS_ARRAY && reply->n == 1 && reply->element[0].n == 4 &&
      reply->element[0].element[1].kind == SEER_REDIS_TEXT;
  const char *name = is_held ? reply->element[0].element[1].text : NULL;
  if (!is_held && b->n_tunings <= 1) name = job->worker;
  if (name) k = seer_roster_find(&b->roster, name);
  if (name && k == UINT32_MAX) k = SEER_HOLDER_STRANGER;
  // Whose turn it is among several tunings is not known here.
  bool counts = k != SEER_HOLDER_NOBODY || (b->n_tunings <= 1 && b->roster.n_there > 0);
  seer_holders_note(job, k, counts ? s->passed_s : 0);
}

// What was sent as perhaps not needed is done last, behind all that other tunings have: it is sent
// as what it is. Of anything else its holder is to be blamed.
static seer_status take_from_holder(step *s, seer_ledger_job *job) {
  seer_board *b = s->b;
  if (job->was_sent_as_maybe) return pull(s, job);
  if (job->holder < b->roster.n)
    (void)seer_roster_dismiss(&b->roster, job->holder,
        seer_arena_printf(
            b->scratch, "it has jobs in hand, and no answer came within %.0f s", job->allowed_s));
  b->is_by_name = true;
  job->held_s = 0;
  return SEER_OK;
}

static seer_status look_around(step *s) {
  bool has_letters;
  SEER_TRY(seer_roster_ask(&s->b->roster, &s->b->hub, s->b->scratch, &has_letters));
  if (has_letters) expect(s, IS_LETTERS, NULL);
  expect(s, IS_NAMES, NULL);
  s->b->looked_ns = seer_os_now_ns();
  return SEER_OK;
}

static bool is_sent(const seer_board *b, const seer_ledger_job *job) {
  return job->worker || !b->is_by_name;
}

static seer_status send_all(step *s) {
  seer_board *b = s->b;
  uint64_t now = seer_os_now_ns();
  bool is_new = b->n_connections != b->hub.n_connections;
  b->n_connections = b->hub.n_connections;
  s->is_excused = is_new || b->is_doubting;
  b->is_by_name = b->is_by_name || b->roster.is_full;  // who is too many takes rounds, too
  if (!b->is_there)
    SEER_TRY(establish(s));
  else if (is_new || now - b->kept_ns >= UPKEEP_NS)
    SEER_TRY(keep(s));
  if (now - b->looked_ns >= LOOK_NS) SEER_TRY(look_around(s));
  if (is_new || now - b->heard_ns >= LOST_NS) SEER_TRY(ask_for_lost(s));
  if (now - b->held_ns >= HELD_NS) SEER_TRY(ask_for_holders(s));
  for (seer_ledger_job *job = b->ledger.first, *next; job; job = next) {
    next = job->next;
    if (seer_holders_is_due(job)) SEER_TRY(take_from_holder(s, job));
    if (job->is_missing && !job->is_done) note_missing(b, job);
    if (!job->is_forgone) SEER_TRY(address(s, job));
    if (job->is_forgone)
      SEER_TRY(withdraw(s, job));
    else if (!job->at && !job->is_done && is_sent(b, job))
      SEER_TRY(send_job(s, job));
  }
  return SEER_OK;
}

static seer_status take_replies(step *s) {
  for (size_t k = 0; k < s->n; k++) {
    const seer_redis_reply *reply;
    seer_ledger_job *job = s->reply[k].job;
    SEER_TRY(seer_hub_receive(&s->b->hub, 0, s->b->scratch, &reply));
    // A stream may have gone meanwhile; that is seen by others.
    if (s->reply[k].what != IS_HELD) SEER_TRY(seer_hub_refusal(&s->b->hub, reply));
    if (k == 0) s->b->away_s = (double)(seer_os_now_ns() - s->sent_ns) * 1e-9;
    switch (s->reply[k].what) {
      case IS_KEPT:
        if (reply->kind == SEER_REDIS_INTEGER && reply->integer == 1) break;
        seer_log(s->b->context, "measure", 1, "the broker has forgotten this tuning");
        s->b->is_there = false;
        break;
      case IS_ADDED:
        if (reply->kind == SEER_REDIS_TEXT) job->at = seer_arena_strdup(job->arena, reply->text);
        break;
      case IS_STILL_THERE:
        if (reply->kind != SEER_REDIS_ARRAY || reply->n > 0) break;
        job->at = NULL;
        job->is_missing = s->b->is_there && !s->is_excused;
        break;
      case IS_LETTERS:
        seer_roster_hear_letters(&s->b->roster, &s->b->hub, reply, s->b->scratch);
        break;
      case IS_NAMES:
        if (seer_roster_hear_names(&s->b->roster, reply)) s->b->looked_ns = 0;
        break;
      case IS_HELD:
        hear_holder(s, job, reply);
        break;
      case IS_TUNINGS:
        s->b->n_tunings = reply->integer > 1 ? (uint32_t)reply->integer : 1;
        break;
      case NOTHING:
        break;
    }
  }
  if (s->passed_s > 0) seer_holders_allow(&s->b->ledger, &s->b->roster, s->b->n_tunings);
  return SEER_OK;
}

// ---- answers
static uint32_t find_worker(seer_board *b, const char *name) {
  uint32_t device = seer_roster_find(&b->roster, name);
  if (device != UINT32_MAX) return device;
  // its letter may be younger than the last look
  seer_status_free(seer_roster_look(&b->roster, &b->hub, b->scratch));
  return seer_roster_find(&b->roster, name);
}

// A job that nobody else will do, as its answer was of no use, is sent again.
static void doubt(seer_board *b, uint32_t device, const char *why) {
  b->heard_ns = 0;
  b->is_doubting = true;
  if (device == UINT32_MAX)
    b->is_by_name = true;
  else
    blame(b, device, why);
}

// By name, if there is one; else whoever takes it.
static void ask_another(seer_board *b, seer_ledger_job *job, uint32_t device) {
  const char *other = least_busy(b, device);
  seer_log(b->context, "measure", 1, "worker %s says that a job is lost: it is sent again",
      b->roster.worker[device].id);
  if (other) job->worker = other;
  job->at = NULL;
}

static seer_status read_answer(
    seer_board *b, const seer_redis_reply *letter, seer_letter_answer *out) {
  const void *payload;
  size_t n;
  SEER_TRY(seer_letter_open(&b->hub.key, place_of(b, "answers"), SEER_WIRE_ANSWER, letter->text,
      letter->n, &payload, &n));
  return seer_letter_get_answer(payload, n, b->scratch, out);
}

static seer_status take_answer(seer_board *b, const seer_letter_answer *answer, uint32_t device) {
  if (device == UINT32_MAX)  // one that has gone, or was never this tuning's
    return SEER_FAIL(CORRUPT, "worker %s is none of this tuning's", answer->worker);
  if (b->roster.worker[device].is_dismissed)
    return SEER_FAIL(CORRUPT, "worker %s is believed no more", answer->worker);
  seer_ledger_job *job = seer_ledger_find(&b->ledger, answer->number);
  switch (seer_ledger_take(&b->ledger, answer, device)) {
    case SEER_LEDGER_STRANGE:
      return SEER_FAIL(CORRUPT, "it is not what was asked, or has times that cannot be");
    case SEER_LEDGER_DOUBTED:
      ask_another(b, job, device);
      break;
    case SEER_LEDGER_TAKEN:
      if (!job->lost[0] && job->was_said_lost && job->said_by != device)
        blame(b, job->said_by, "it said that a job was lost that another worker has done");
      break;
    case SEER_LEDGER_DUPLICATE:
      break;
  }
  return SEER_OK;
}

// Its worker is who it says, or where it says nothing, who has sent it. What has no seal is of no
// worker, and nobody is blamed for it.
static void take(seer_board *b, const char *sender, const seer_redis_reply *letter) {
  seer_letter_answer answer;
  uint32_t n_strange = b->ledger.n_strange, device = UINT32_MAX;
  bool is_sealed =
      seer_letter_is_sealed(&b->hub.key, place_of(b, "answers"), letter->text, letter->n);
  seer_status status = read_answer(b, letter, &answer);
  if (is_sealed) device = find_worker(b, status ? sender : answer.worker);
  if (!status) status = take_answer(b, &answer, device);
  if (!status) return;
  b->ledger.n_strange = n_strange + 1;
  seer_log(b->context, "measure", 1, "an answer is refused: %s", seer_status_message(status));
  if (is_sealed) doubt(b, device, seer_status_message(status));
  seer_status_free(status);
}

// [[place, [[id, ["m", letter]], ...]]], or nothing.
static void take_all(seer_board *b, const seer_redis_reply *reply) {
  if (reply->kind != SEER_REDIS_ARRAY || reply->n != 1 || reply->element[0].n != 2) return;
  const seer_redis_reply *entries = &reply->element[0].element[1];
  if (entries->kind == SEER_REDIS_ARRAY && entries->n > 0) b->heard_ns = seer_os_now_ns();
  for (size_t i = 0; entries->kind == SEER_REDIS_ARRAY && i < entries->n; i++) {
    const seer_redis_reply *entry = &entries->element[i];
    if (entry->kind != SEER_REDIS_ARRAY || entry->n != 2) continue;
    const seer_redis_reply *fields = &entry->element[1];
    if (entry->element[0].n < sizeof b->last)
      (void)snprintf(b->last, sizeof b->last, "%s", entry->element[0].text);
    bool is_letter = fields->kind == SEER_REDIS_ARRAY && fields->n == 2 &&
        fields->element[0].kind == SEER_REDIS_TEXT && fields->element[1].kind == SEER_REDIS_TEXT;
    if (is_letter) take(b, fields->element[0].text, &fields->element[1]);
  }
}

// What was read is cut off with the next question.
static seer_status ask_for_answers(step *s, uint64_t wait_ns) {
  const char *place = place_of(s->b, "answers");
  SEER_TRY(seer_hub_send(&s->b->hub, NULL, "XTRIM %s MINID ~ %s", place, s->b->last));
  expect(s, NOTHING, NULL);
  return seer_hub_send(&s->b->hub, NULL, "XREAD COUNT 32 BLOCK %" PRIu64 " STREAMS %s %s",
      wait_ns / 1000000 + 1, place, s->b->last);
}

// ---- steps
static seer_status try_step(seer_board *b, uint64_t wait_ns) {
  const seer_redis_reply *answers;
  step s = {.b = b};
  s.sent_ns = seer_os_now_ns();
  SEER_TRY(send_all(&s));
  SEER_TRY(ask_for_answers(&s, wait_ns));
  SEER_TRY(take_replies(&s));
  SEER_TRY(seer_hub_receive(&b->hub, wait_ns, b->scratch, &answers));
  // A stream that went while it was waited for is made again by a step.
  bool is_gone = answers->kind == SEER_REDIS_ERROR && strncmp(answers->text, "UNBLOCKED", 9) == 0;
  if (!is_gone) SEER_TRY(seer_hub_refusal(&b->hub, answers));
  take_all(b, answers);
  return SEER_OK;
}

// Is it too long that nobody is there?
static bool is_given_up(seer_board *b, bool is_alone) {
  uint64_t now = seer_os_now_ns();
  if (!is_alone) {
    b->alone_ns = 0;
    return false;
  }
  if (b->alone_ns == 0) b->alone_ns = now;
  return (double)(now - b->alone_ns) * 1e-9 > b->patience_s;
}

static seer_status wait_for_broker(seer_board *b, seer_status away, uint64_t wait_ns) {
  if (is_given_up(b, true)) {
    seer_status lost = SEER_FAIL(DEVICE, "%s (--fleet-wait)", seer_status_message(away));
    seer_status_free(away);
    return lost;
  }
  seer_status_free(away);
  seer_os_sleep_ns(wait_ns < PAUSE_NS ? wait_ns : PAUSE_NS);
  return SEER_OK;
}

seer_status seer_board_step(seer_board *b, uint64_t wait_ns) {
  seer_arena_reset(b->scratch);
  seer_status status = try_step(b, wait_ns);
  if (status) seer_hub_drop(&b->hub);
  if (seer_hub_is_away(status)) return wait_for_broker(b, status, wait_ns);
  SEER_TRY(status);
  if (!is_given_up(b, b->roster.n_there == 0)) return SEER_OK;
  return SEER_FAIL(DEVICE,
      "no worker at %s has fitted this tuning for %.0f s (--fleet-wait); its target is %016" PRIx64,
      b->hub.address.shown, b->patience_s, b->roster.own.target_key);
}

void seer_board_recall(seer_board *b) {
  uint32_t n = 0;
  seer_status status = SEER_OK;
  seer_arena_reset(b->scratch);
  for (const seer_ledger_job *job = b->ledger.first; job && !status; job = job->next) {
    if (!job->at || job->is_done || !seer_hub_is_connected(&b->hub)) continue;
    status = seer_hub_send(&b->hub, NULL, "XDEL %s %s", place_of_job(b, job), job->at);
    n++;
  }
  if (!status) status = seer_hub_skip(&b->hub, n, b->scratch);
  if (status) seer_hub_drop(&b->hub);
  seer_status_free(status);
  seer_ledger_clear(&b->ledger);
}

// ---- life
uint64_t seer_board_add_task(seer_board *b, const seer_message_task *task) {
  b->task = SEER_GROW(b->arena, seer_board_task, b->task, b->n, &b->cap);
  b->task[b->n] = (seer_board_task){*task, seer_letter_task_key(task)};
  b->is_there = false;
  return b->task[b->n++].key;
}

seer_status seer_board_init(seer_board *b, const seer_context *context, const seer_target *target) {
  *b = (seer_board){.context = context,
      .arena = seer_arena_create("board"),
      .scratch = seer_arena_create("board step"),
      .last = "0-0",
      .n_tunings = 1,
      .held_ns = seer_os_now_ns(),
      .patience_s = seer_context_f64(context, SEER_OPT_FLEET_WAIT)};
  const char *measure = seer_context_str(context, SEER_OPT_MEASURE);
  b->roster = (seer_roster){.context = context,
      .arena = b->arena,
      .own = seer_message_hello_here(target),
      .measurer = seer_arena_strndup(b->arena, measure, strcspn(measure, ":"))};
  uint64_t *session = &b->ledger.session;
  if (getrandom(session, sizeof *session, 0) != sizeof *session)
    return SEER_FAIL(RESOURCE, "no random number from the system");
  SEER_TRY(seer_hub_init(&b->hub, context));
  seer_status status = seer_hub_connect(&b->hub);
  if (!seer_hub_is_away(status)) return status;
  // Steps try again.
  seer_log(context, "measure", 0, "%s; it is waited for, for %.0f s at most (--fleet-wait)",
      seer_status_message(status), b->patience_s);
  seer_status_free(status);
  return SEER_OK;
}

static seer_status leave(seer_board *b) {
  SEER_TRY(seer_hub_send(&b->hub, NULL, "SREM familyseer:tunings %016" PRIx64, b->ledger.session));
  SEER_TRY(seer_hub_send(&b->hub, NULL, "DEL %s %s %s %s", place_of(b, "tuning"),
      place_of(b, "jobs"), place_of(b, "answers"), place_of(b, "tasks")));
  for (uint32_t k = 0; k < b->roster.n; k++)
    SEER_TRY(seer_hub_send(&b->hub, NULL, "DEL %s",
        seer_hub_place_of_worker(b->scratch, b->ledger.session, b->roster.worker[k].id)));
  return seer_hub_skip(&b->hub, 2 + b->roster.n, b->scratch);
}

void seer_board_clear(seer_board *b) {
  if (!b->arena) return;
  seer_arena_reset(b->scratch);
  if (b->is_there && seer_hub_is_connected(&b->hub)) seer_status_free(leave(b));
  if (b->ledger.n_numbers > 0)
    seer_log(b->context, "measure", 1,
        "fleet: %" PRIu64 " bytes by the broker for %" PRIu64
        " jobs; answers refused %u, not wanted any more %u",
        seer_hub_traffic(&b->hub), b->ledger.n_numbers, b->ledger.n_strange,
        b->ledger.n_duplicates);
  seer_ledger_clear(&b->ledger);
  seer_roster_clear(&b->roster);
  seer_hub_clear(&b->hub);
  seer_arena_destroy(b->scratch);
  seer_arena_destroy(b->arena);
  b->arena = NULL;
}
