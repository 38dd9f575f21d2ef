// take.c - jobs from the broker onto the desk. The contract: desk.h.
// Of the tunings that there are, those that fit have their turns: the next job is of the one that
// has had the least time for its priority. What another worker had in hand when it died is taken
// over when nobody has vouched for it for a while (XAUTOCLAIM; its cursor is carried on, so that no
// job waits behind others for good); a job over which two workers have died is answered as lost.

#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "measure/serve/desk.h"

#define SECOND_NS 1000000000u
#define CLAIM_NS (3 * (uint64_t)SECOND_NS)  // what others have left is looked for so often
#define ABANDONED_MS 10000  // a job that nobody has vouched for
#define BLOCK_MS 1000
#define MANY 48  // comparisons that are taken at once
#define MOST 1000  // that are taken again
#define PAUSE_NS (SECOND_NS / 10)
#define MOST_DELIVERIES 2  // the third worker does not try

typedef struct {
  seer_desk *desk;
  seer_hub hub;
  seer_arena *arena;  // of a step
  seer_map *tasks;  // key -> index
  seer_map *orders;  // session and key -> number of the first comparison
  size_t n_task, cap_task;
  const seer_message_task **task;
  seer_desk_job *fresh;  // that have come in and are not on the desk yet
  uint32_t n_refusals;  // replies that nobody reads
  uint32_t n_connections;  // of the hub, when all was taken that there was
  uint64_t claimed_ns;
  uint64_t claimed[SEER_DESK_MAX_TUNINGS];  // sessions, and where XAUTOCLAIM is in each; 0: none
  char cursor[SEER_DESK_MAX_TUNINGS][32];
} taker;

// ---- jobs
static const seer_message_task *known_task(const taker *t, uint64_t key) {
  uint64_t index;
  return seer_map_get(t->tasks, key, &index) ? t->task[index] : NULL;
}

// The task of a job, kept for good. Errors: CORRUPT.
static seer_status read_task(taker *t, const seer_desk_job *job, const seer_redis_reply *letter) {
  const char *place = seer_hub_place(t->arena, "tasks", job->session);
  const void *payload;
  size_t n;
  if (known_task(t, job->letter.task)) return SEER_OK;
  if (letter->kind != SEER_REDIS_TEXT) return SEER_FAIL(CORRUPT, "its task is not there");
  seer_message_task *task = SEER_NEW(t->desk->arena, seer_message_task);
  SEER_TRY(
      seer_letter_open(&t->hub.key, place, SEER_WIRE_TASK, letter->text, letter->n, &payload, &n));
  SEER_TRY(seer_message_get_task(payload, n, t->desk->arena, task));
  if (seer_letter_task_key(task) != job->letter.task)
    return SEER_FAIL(CORRUPT, "its task is another one");
  seer_map_set(t->tasks, job->letter.task, t->n_task);
  t->task = SEER_GROW(t->desk->arena, const seer_message_task *, t->task, t->n_task, &t->cap_task);
  t->task[t->n_task++] = task;
  return SEER_OK;
}

static seer_status read_job(taker *t, const char *place, const char *at,
    const seer_redis_reply *letter, uint64_t session, seer_desk_job *job) {
  const void *payload;
  size_t n;
  job->session = session;
  job->place = seer_arena_strdup(job->arena, place);
  job->at = seer_arena_strdup(job->arena, at);
  const char *sealed_for = seer_hub_place(t->arena, "jobs", session);
  SEER_TRY(seer_letter_open(
      &t->hub.key, sealed_for, SEER_WIRE_JOB, letter->text, letter->n, &payload, &n));
  SEER_TRY(seer_letter_get_job(payload, n, job->arena, &job->letter));
  bool is_of_it = job->letter.session == session;
  return is_of_it ? SEER_OK : SEER_FAIL(CORRUPT, "a job of another tuning");
}

// What cannot be read is nobody's: it leaves the stream, and its tuner sends it again. Two replies
// are to be skipped. why  NULL: it was withdrawn
static seer_status refuse(taker *t, const char *place, const char *at, seer_status why) {
  if (why)
    seer_log(t->desk->context, "measure", 0, "a job is refused: %s", seer_status_message(why));
  seer_status_free(why);
  SEER_TRY(seer_hub_send(&t->hub, NULL, "XACK %s " SEER_HUB_GROUP " %s", place, at));
  SEER_TRY(seer_hub_send(&t->hub, NULL, "XDEL %s %s", place, at));
  t->n_refusals += 2;
  return SEER_OK;
}

static bool has_job(const seer_desk_job *list, const char *place, const char *at) {
  for (; list; list = list->next)
    if (strcmp(list->at, at) == 0 && strcmp(list->place, place) == 0) return true;
  return false;
}

// Then it is taken again, and will be answered.
static bool is_in_hand(seer_desk *desk, const char *place, const char *at) {
  seer_desk_lock(desk);
  bool is = has_job(desk->waiting, place, at) || has_job(desk->running, place, at) ||
      has_job(desk->done, place, at);
  seer_desk_unlock(desk);
  return is;
}

// `entry` is [id, ["m", letter]]. It comes to the desk with the others (hand_over).
static seer_status take_entry(taker *t, const char *place, uint64_t session,
    const seer_redis_reply *entry, bool is_poisoned) {
  if (entry->kind != SEER_REDIS_ARRAY || entry->n != 2) return SEER_OK;
  const seer_redis_reply *fields = &entry->element[1];
  if (is_in_hand(t->desk, place, entry->element[0].text)) return SEER_OK;
  if (fields->kind == SEER_REDIS_NIL) return refuse(t, place, entry->element[0].text, SEER_OK);
  bool is_letter = fields->kind == SEER_REDIS_ARRAY && fields->n == 2 &&
      fields->element[1].kind == SEER_REDIS_TEXT;
  seer_arena *arena = seer_arena_create("fleet job");
  seer_desk_job *job = SEER_NEW(arena, seer_desk_job);
  job->arena = arena;
  const char *at = entry->element[0].text;
  seer_status status = is_letter ? read_job(t, place, at, &fields->element[1], session, job)
                                 : SEER_FAIL(CORRUPT, "no letter");
  if (status) {
    seer_desk_end_job(job);
    return seer_status_code(status) == SEER_CODE_CORRUPT ? refuse(t, place, at, status) : status;
  }
  if (is_poisoned) {
    job->answer = (seer_letter_answer){.session = session,
        .number = job->letter.number,
        .attempt = job->letter.attempt,
        .asked = seer_letter_job_key(&job->letter),
        .worker = t->desk->id,
        .lost = "two workers were lost over it"};
    job->done_ns = seer_os_now_ns();
  }
  seer_desk_append(&t->fresh, job);
  return SEER_OK;
}

// The tasks of all fresh jobs at once, which are not known.
static seer_status ask_for_tasks(taker *t) {
  for (const seer_desk_job *job = t->fresh; job; job = job->next)
    SEER_TRY(seer_hub_send(&t->hub, NULL, "HGET %s %016" PRIx64,
        seer_hub_place(t->arena, "tasks", job->session), job->letter.task));
  return SEER_OK;
}

static uint64_t order_of(taker *t, const seer_desk_job *job) {
  uint64_t order = job->letter.number, key = seer_hash_u64(job->letter.task, job->session);
  if (job->letter.kind == SEER_JOB_MEASURE) return order;
  if (!seer_map_get(t->orders, key, &order)) seer_map_set(t->orders, key, order);
  return order;
}

// Jobs that are answered here are done; the others wait for their turn.
static void put_on_desk(taker *t, seer_desk_job *job) {
  job->order = order_of(t, job);
  seer_desk_lock(t->desk);
  seer_desk_append(job->done_ns ? &t->desk->done : &t->desk->waiting, job);
  pthread_cond_broadcast(&t->desk->changed);
  seer_desk_unlock(t->desk);
}

// Fresh jobs whose task is known.
static void put_known(taker *t) {
  for (seer_desk_job **at = &t->fresh; *at;) {
    seer_desk_job *job = *at;
    job->task = known_task(t, job->letter.task);
    if (job->task) {
      *at = job->next;
      put_on_desk(t, job);
    } else {
      at = &job->next;
    }
  }
}

// What has come in, when no reply is on its way any more.
static seer_status hand_over(taker *t) {
  put_known(t);
  SEER_TRY(ask_for_tasks(t));
  SEER_TRY(seer_hub_skip(&t->hub, t->n_refusals, t->arena));
  t->n_refusals = 0;
  for (seer_desk_job *job = t->fresh; job; job = job->next)
    SEER_TRY(seer_hub_receive(&t->hub, 0, t->arena, &job->task_letter));
  while (t->fresh) {
    seer_desk_job *job = t->fresh;
    seer_status status = read_task(t, job, job->task_letter);
    bool is_corrupt = status && seer_status_code(status) == SEER_CODE_CORRUPT;
    if (status && !is_corrupt) return status;
    t->fresh = job->next;
    if (!status) {
      job->task = known_task(t, job->letter.task);
      put_on_desk(t, job);
      continue;
    }
    status = refuse(t, job->place, job->at, status);
    seer_desk_end_job(job);
    SEER_TRY(status);
  }
  uint32_t n_refusals = t->n_refusals;
  t->n_refusals = 0;
  return seer_hub_skip(&t->hub, n_refusals, t->arena);
}

// [[place, [entry, ...]], ...], or nothing.
static seer_status take_reply(taker *t, const seer_redis_reply *reply) {
  for (size_t i = 0; reply->kind == SEER_REDIS_ARRAY && i < reply->n; i++) {
    const seer_redis_reply *stream = &reply->element[i];
    if (stream->kind != SEER_REDIS_ARRAY || stream->n != 2) continue;
    const char *place = stream->element[0].text;
    uint64_t session;
    if (sscanf(place, "familyseer:jobs:%16" SCNx64, &session) != 1) continue;
    const seer_redis_reply *entries = &stream->element[1];
    for (size_t k = 0; entries->kind == SEER_REDIS_ARRAY && k < entries->n; k++)
      SEER_TRY(take_entry(t, place, session, &entries->element[k], false));
  }
  return SEER_OK;
}

// XREADGROUP: jobs of these streams, at most `count` of each. block_ms 0: only what is there.
//   from  ">": new ones; "0": those that this worker was given and has not answered
static seer_status ask_group(taker *t, const char *const *place, uint32_t n, uint32_t count,
    uint32_t block_ms, const char *from) {
  seer_redis_word words[9 + 4 * SEER_DESK_MAX_TUNINGS];
  size_t n_words = 0;
  const char *head = seer_arena_printf(t->arena, "%u", count);
  const char *ms = seer_arena_printf(t->arena, "%u", block_ms);
  words[n_words++] = SEER_REDIS_WORD("XREADGROUP");
  words[n_words++] = SEER_REDIS_WORD("GROUP");
  words[n_words++] = SEER_REDIS_WORD(SEER_HUB_GROUP);
  words[n_words++] = SEER_REDIS_WORD(t->desk->id);
  words[n_words++] = SEER_REDIS_WORD("COUNT");
  words[n_words++] = SEER_REDIS_WORD(head);
  if (block_ms) words[n_words++] = SEER_REDIS_WORD("BLOCK");
  if (block_ms) words[n_words++] = SEER_REDIS_WORD(ms);
  words[n_words++] = SEER_REDIS_WORD("STREAMS");
  for (uint32_t k = 0; k < n; k++) words[n_words++] = SEER_REDIS_WORD(place[k]);
  for (uint32_t k = 0; k < n; k++) words[n_words++] = SEER_REDIS_WORD(from);
  return seer_hub_send_words(&t->hub, words, n_words);
}

// New jobs of these tunings: those for this worker alone, which are short, and one of the others.
// What comes is awaited with one of each; the rest of what came with it is taken right behind.
// Those for this worker alone that a lost connection had been given are taken again by the next
// one: nobody else does. Of the others another worker takes over what this one has lost (claim).
static seer_status read_group(taker *t, const uint64_t *session, uint32_t n, uint32_t block_ms) {
  enum { OWN, ANY, REST, N };
  const char *place[2 * SEER_DESK_MAX_TUNINGS];
  for (uint32_t k = 0; k < n; k++) {
    place[k] = seer_hub_place_of_worker(t->arena, session[k], t->desk->id);
    place[n + k] = seer_hub_place(t->arena, "jobs", session[k]);
  }
  bool is_new = !seer_hub_is_connected(&t->hub) || t->n_connections != t->hub.n_connections;
  SEER_TRY(ask_group(t, place, n, is_new ? MOST : MANY, 0, is_new ? "0" : ">"));
  SEER_TRY(ask_group(t, place, 2 * n, 1, is_new ? 0 : block_ms, ">"));
  SEER_TRY(ask_group(t, place, n, MANY, 0, ">"));
  for (int k = 0; k < N; k++) {
    const seer_redis_reply *reply;
    uint64_t block_ns = k == ANY ? (uint64_t)block_ms * 1000000 : 0;
    SEER_TRY(seer_hub_receive(&t->hub, block_ns, t->arena, &reply));
    SEER_TRY(seer_hub_refusal(&t->hub, reply));
    SEER_TRY(take_reply(t, reply));
    put_known(t);  // while others are waited for
  }
  SEER_TRY(hand_over(t));
  t->n_connections = t->hub.n_connections;
  return SEER_OK;
}

// ---- what others have left
static seer_status is_poisoned(taker *t, const char *place, const char *at, bool *out) {
  const seer_redis_reply *reply;
  SEER_TRY(seer_hub_ask(
      &t->hub, t->arena, &reply, NULL, "XPENDING %s " SEER_HUB_GROUP " %s %s 1", place, at, at));
  *out = reply->kind == SEER_REDIS_ARRAY && reply->n == 1 && reply->element[0].n == 4 &&
      reply->element[0].element[3].integer > MOST_DELIVERIES;
  return SEER_OK;
}

// Where the last look at this tuning has ended. Turns change; a tuning that has gone gives way.
static char *cursor_of(taker *t, uint64_t session) {
  uint32_t k = 0, n_free = SEER_DESK_MAX_TUNINGS;
  for (; k < SEER_DESK_MAX_TUNINGS && t->claimed[k] != session; k++) {
    seer_desk_lock(t->desk);
    bool is_gone = !seer_desk_find_tuning(t->desk, t->claimed[k]);
    seer_desk_unlock(t->desk);
    if (is_gone && n_free == SEER_DESK_MAX_TUNINGS) n_free = k;
  }
  if (k < SEER_DESK_MAX_TUNINGS) return t->cursor[k];
  SEER_ASSERT(n_free < SEER_DESK_MAX_TUNINGS, "more tunings than there may be");
  t->claimed[n_free] = session;
  (void)snprintf(t->cursor[n_free], sizeof t->cursor[n_free], "0-0");
  return t->cursor[n_free];
}

static seer_status claim(taker *t, uint64_t session) {
  const seer_redis_reply *reply;
  const char *place = seer_hub_place(t->arena, "jobs", session);
  char *cursor_text = cursor_of(t, session);
  SEER_TRY(seer_hub_ask(&t->hub, t->arena, &reply, NULL,
      "XAUTOCLAIM %s " SEER_HUB_GROUP " %s %d %s COUNT 1", place, t->desk->id, ABANDONED_MS,
      cursor_text));
  SEER_TRY(seer_hub_refusal(&t->hub, reply));
  if (reply->kind != SEER_REDIS_ARRAY || reply->n < 2) return SEER_OK;
  const seer_redis_reply *cursor = &reply->element[0], *entries = &reply->element[1];
  (void)snprintf(cursor_text, sizeof t->cursor[0], "%s", cursor->n < 31 ? cursor->text : "0-0");
  for (size_t i = 0; entries->kind == SEER_REDIS_ARRAY && i < entries->n; i++) {
    const seer_redis_reply *entry = &entries->element[i];
    bool poisoned = false;
    if (entry->kind != SEER_REDIS_ARRAY || entry->n != 2) continue;
    SEER_TRY(is_poisoned(t, place, entry->element[0].text, &poisoned));
    SEER_TRY(take_entry(t, place, session, entry, poisoned));
    SEER_TRY(hand_over(t));
  }
  return SEER_OK;
}

// ---- the thread
static uint32_t sort_by_turn(seer_desk *desk, uint64_t *out) {
  seer_desk_tuning sorted[SEER_DESK_MAX_TUNINGS];
  uint32_t n = desk->n_tunings;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t at = k;
    for (; at > 0 && sorted[at - 1].turn > desk->tuning[k].turn; at--) sorted[at] = sorted[at - 1];
    sorted[at] = desk->tuning[k];
  }
  for (uint32_t k = 0; k < n; k++) out[k] = sorted[k].session;
  return n;
}

// Is there a job for when the one in hand is done? Of short ones several.
static bool is_full(const seer_desk *desk) {
  uint32_t n_short = 0;
  for (const seer_desk_job *job = desk->waiting; job; job = job->next) {
    if (job->letter.kind == SEER_JOB_MEASURE) return true;
    n_short++;
  }
  return n_short >= MANY / 2;
}

static bool has_enough_waiting(seer_desk *desk) {
  seer_desk_lock(desk);
  bool has = is_full(desk);
  seer_desk_unlock(desk);
  return has;
}

static seer_status step(taker *t) {
  seer_desk *desk = t->desk;
  uint64_t now = seer_os_now_ns(), session[SEER_DESK_MAX_TUNINGS];
  seer_desk_lock(desk);
  uint32_t n = sort_by_turn(desk, session);
  seer_desk_unlock(desk);
  for (uint32_t k = 0; n > 1 && k < n && !has_enough_waiting(desk); k++)
    SEER_TRY(read_group(t, &session[k], 1, 0));
  bool is_claiming = now - t->claimed_ns >= CLAIM_NS;
  for (uint32_t k = 0; k < n && is_claiming && !has_enough_waiting(desk); k++)
    SEER_TRY(claim(t, session[k]));
  if (is_claiming) t->claimed_ns = now;
  if (has_enough_waiting(desk)) return SEER_OK;
  if (n > 0) return read_group(t, session, n, BLOCK_MS);
  seer_desk_lock(desk);
  seer_desk_wait(desk, PAUSE_NS);
  seer_desk_unlock(desk);
  return SEER_OK;
}

static void lose_fresh(taker *t) {
  while (t->fresh) {
    seer_desk_job *job = t->fresh;
    t->fresh = job->next;
    seer_desk_end_job(job);
  }
  t->n_refusals = 0;
}

void seer_take(void *user) {
  taker t = {.desk = user, .arena = seer_arena_create("fleet take")};
  seer_desk *desk = t.desk;
  t.tasks = seer_map_create(desk->arena);
  t.orders = seer_map_create(desk->arena);
  seer_status status = seer_hub_init(&t.hub, desk->context);
  bool is_closed = false;
  while (!status && !is_closed) {
    seer_desk_lock(desk);
    is_closed = desk->is_closed;
    bool has_enough = is_full(desk);
    if (has_enough && !is_closed) seer_desk_wait(desk, SECOND_NS / 4);
    seer_desk_unlock(desk);
    if (has_enough || is_closed) continue;
    seer_arena_reset(t.arena);
    seer_status step_status = step(&t);
    if (!step_status) continue;
    // The broker is away, or has forgotten a stream that its tuner makes again.
    seer_log(desk->context, "measure", 1, "%s", seer_status_message(step_status));
    seer_status_free(step_status);
    lose_fresh(&t);
    seer_hub_drop(&t.hub);
    seer_desk_lock(desk);
    desk->is_list_stale = true;
    pthread_cond_broadcast(&desk->changed);
    seer_desk_unlock(desk);
    seer_os_sleep_ns(PAUSE_NS);
  }
  seer_status_free(status);
  seer_hub_clear(&t.hub);
  seer_arena_destroy(t.arena);
}
