// post.c - answers to the broker, and the news that this worker is alive and vouches for what it
// has in hand. The contract: desk.h.

#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "measure/serve/desk.h"

#define SECOND_NS 1000000000u
#define BEAT_NS (2 * (uint64_t)SECOND_NS)
#define LOOK_NS (SECOND_NS / 4)
#define PARTING_NS (5 * (uint64_t)SECOND_NS)  // at the end, for a broker that is away
#define STALE_NS (30 * (uint64_t)SECOND_NS)  // an answer that nobody has wanted for so long
#define MAX_IN_HAND 128
#define MAX_AT_ONCE 64

typedef struct {
  seer_desk *desk;
  seer_hub hub;
  seer_arena *arena;  // of a step
  uint64_t beat_ns, away_ns;  // away: what a question and its reply take, of late
} poster;

// ---- answers
// A new entry in the stream `place`, if that is there, in place of the job's: both, or neither.
// It goes by this worker's name, that it be known whose it is even where it cannot be read.
static seer_status send_replacement(
    poster *p, const seer_desk_job *job, const char *place, const seer_redis_word *letter) {
  SEER_TRY(seer_hub_send(&p->hub, NULL, "MULTI"));
  SEER_TRY(seer_hub_send(&p->hub, letter, "XADD %s NOMKSTREAM * %s ?", place, p->desk->id));
  SEER_TRY(seer_hub_send(&p->hub, NULL, "XACK %s " SEER_HUB_GROUP " %s", job->place, job->at));
  SEER_TRY(seer_hub_send(&p->hub, NULL, "XDEL %s %s", job->place, job->at));
  return seer_hub_send(&p->hub, NULL, "EXEC");
}

// The job's answer; or, for somebody else, its letter once more.
static seer_status send_done(poster *p, const seer_desk_job *job) {
  seer_redis_word word;
  const char *sealed_for =
      seer_hub_place(p->arena, job->is_given_back ? "jobs" : "answers", job->session);
  seer_text text;
  seer_text_init(&text, p->arena);
  if (job->is_given_back)
    seer_letter_put_job(&text, &job->letter);
  else
    seer_letter_put_answer(&text, &job->answer);
  seer_wire_type type = job->is_given_back ? SEER_WIRE_JOB : SEER_WIRE_ANSWER;
  SEER_TRY(seer_hub_seal(&p->hub, sealed_for, type, &text, p->arena, &word));
  return send_replacement(p, job, job->is_given_back ? job->place : sealed_for, &word);
}

// *out_is_over: it is not to be posted again. Where there is no stream for answers, the broker has
// forgotten it and its tuner makes it again, or there is no tuner any more.
static seer_status take_posted(poster *p, const seer_desk_job *job, bool *out_is_over) {
  const seer_redis_reply *reply;
  SEER_TRY(seer_hub_skip(&p->hub, 4, p->arena));
  SEER_TRY(seer_hub_receive(&p->hub, 0, p->arena, &reply));
  SEER_TRY(seer_hub_refusal(&p->hub, reply));
  bool is_posted = reply->n > 0 && reply->element[0].kind == SEER_REDIS_TEXT;
  *out_is_over = is_posted || job->is_given_back || seer_os_now_ns() - job->done_ns > STALE_NS;
  return SEER_OK;
}

static seer_desk_job *first_done(poster *p) {
  seer_desk_lock(p->desk);
  seer_desk_job *job = p->desk->done;
  seer_desk_unlock(p->desk);
  return job;
}

// Only this thread takes any away.
static seer_desk_job *next_done(poster *p, const seer_desk_job *job) {
  seer_desk_lock(p->desk);
  seer_desk_job *next = job->next;
  seer_desk_unlock(p->desk);
  return next;
}

static void drop_done(poster *p, seer_desk_job *job) {
  seer_desk_lock(p->desk);
  seer_desk_job **at = &p->desk->done;
  while (*at != job) at = &(*at)->next;
  *at = job->next;
  seer_desk_unlock(p->desk);
  seer_desk_end_job(job);
}

// Those that were not sent yet; *out_n: that were sent, and whose replies are to come, those before
// included: they are the first ones of the list.
static seer_status send_new(poster *p, uint32_t *out_n) {
  *out_n = 0;
  for (seer_desk_job *job = first_done(p); job && *out_n < MAX_AT_ONCE; job = next_done(p, job)) {
    if (!job->is_posted) SEER_TRY(send_done(p, job));
    job->is_posted = true;
    ++*out_n;
  }
  return SEER_OK;
}

// Does another one come before the replies do?
static bool has_another(poster *p, uint32_t n_sent) {
  uint64_t until_ns = seer_os_now_ns() + p->away_ns;
  uint32_t n = n_sent;
  seer_desk_lock(p->desk);
  for (uint64_t now = 0; n == n_sent && now < until_ns && !p->desk->is_over;) {
    n = 0;
    for (const seer_desk_job *job = p->desk->done; job; job = job->next) n++;
    now = seer_os_now_ns();
    if (n == n_sent && now < until_ns) seer_desk_wait(p->desk, until_ns - now);
  }
  seer_desk_unlock(p->desk);
  return n > n_sent;
}

// At once, as many as there are, and those that are done while replies are on their way. Those that
// cannot be posted stay, and do not hold up others.
static seer_status post_all(poster *p) {
  uint32_t n;
  SEER_TRY(send_new(p, &n));
  while (n > 0 && n < MAX_AT_ONCE && has_another(p, n)) SEER_TRY(send_new(p, &n));
  for (seer_desk_job *job = first_done(p), *next; n > 0; n--, job = next) {
    bool is_over;
    next = next_done(p, job);
    SEER_TRY(take_posted(p, job, &is_over));
    job->is_posted = false;
    if (is_over) drop_done(p, job);
  }
  return SEER_OK;
}

// What was sent by a connection that is lost may not have come.
static void forget_posted(poster *p) {
  for (seer_desk_job *job = first_done(p); job; job = next_done(p, job)) job->is_posted = false;
}

// ---- heartbeats
typedef struct {
  const char *place, *at;
} in_hand;

static void note(poster *p, const seer_desk_job *job, in_hand *out, uint32_t *n) {
  for (; job && *n < MAX_IN_HAND; job = job->next)
    out[(*n)++] =
        (in_hand){seer_arena_strdup(p->arena, job->place), seer_arena_strdup(p->arena, job->at)};
}

static seer_status beat(poster *p) {
  seer_desk *desk = p->desk;
  const seer_redis_reply *reply;
  seer_redis_word word;
  in_hand jobs[MAX_IN_HAND];
  uint32_t n = 0;
  seer_desk_lock(desk);
  seer_letter_worker letter = desk->letter;
  letter.up_s = (double)(seer_os_now_ns() - desk->start_ns) * 1e-9;
  letter.doing = desk->running ? seer_arena_printf(p->arena, "%u candidates of %s",
                                     desk->running->letter.n, desk->running->task_name)
                               : "";
  note(p, desk->waiting, jobs, &n);
  note(p, desk->running, jobs, &n);
  note(p, desk->done, jobs, &n);
  seer_desk_unlock(desk);
  letter.free_bytes = seer_os_available_bytes("");
  letter.load = seer_os_load("");
  const char *place = seer_arena_printf(p->arena, "familyseer:worker:%s", desk->id);
  seer_text text;
  seer_text_init(&text, p->arena);
  seer_letter_put_worker(&text, &letter);
  SEER_TRY(seer_hub_seal(&p->hub, place, SEER_WIRE_WORKER, &text, p->arena, &word));
  SEER_TRY(seer_hub_send(&p->hub, &word, "SET %s ? PX %d", place, SEER_HUB_WORKER_MS));
  SEER_TRY(seer_hub_send(&p->hub, NULL, "SADD familyseer:workers %s", desk->id));
  for (uint32_t k = 0; k < n; k++)
    SEER_TRY(seer_hub_send(&p->hub, NULL, "XCLAIM %s " SEER_HUB_GROUP " %s 0 %s JUSTID",
        jobs[k].place, desk->id, jobs[k].at));
  SEER_TRY(seer_hub_skip(&p->hub, 2, p->arena));
  for (uint32_t k = 0; k < n; k++)  // a stream that is gone takes its jobs with it: no matter
    SEER_TRY(seer_hub_receive(&p->hub, 0, p->arena, &reply));
  return SEER_OK;
}

static seer_status leave(poster *p) {
  SEER_TRY(seer_hub_send(&p->hub, NULL, "DEL familyseer:worker:%s", p->desk->id));
  SEER_TRY(seer_hub_send(&p->hub, NULL, "SREM familyseer:workers %s", p->desk->id));
  return seer_hub_skip(&p->hub, 2, p->arena);
}

// ---- the thread
static seer_status step(poster *p) {
  uint64_t now = seer_os_now_ns();
  seer_arena_reset(p->arena);
  if (now - p->beat_ns >= BEAT_NS) {
    SEER_TRY(beat(p));
    p->beat_ns = now;
    p->away_ns = seer_os_now_ns() - now;
  }
  return post_all(p);
}

// Is there an answer that was put down since then?
static bool has_new(const seer_desk *desk, uint64_t since_ns) {
  for (const seer_desk_job *job = desk->done; job; job = job->next)
    if (job->done_ns >= since_ns) return true;
  return false;
}

void seer_post(void *user) {
  poster p = {.desk = user, .arena = seer_arena_create("fleet post")};
  seer_desk *desk = p.desk;
  seer_status status = seer_hub_init(&p.hub, desk->context);
  uint64_t over_ns = 0;
  for (bool is_over = false; !status && !is_over;) {
    uint64_t began_ns = seer_os_now_ns();
    seer_status failed = step(&p);
    if (failed) {
      seer_log(desk->context, "measure", 1, "%s", seer_status_message(failed));
      seer_hub_drop(&p.hub);
      forget_posted(&p);
    }
    seer_desk_lock(desk);
    if (desk->is_over && over_ns == 0) over_ns = began_ns;
    // At the end, what cannot be posted within a while is for others to do again.
    is_over =
        desk->is_over && over_ns < began_ns && (!desk->done || began_ns - over_ns > PARTING_NS);
    if (!is_over && (failed || !has_new(desk, began_ns))) seer_desk_wait(desk, LOOK_NS);
    seer_desk_unlock(desk);
    seer_status_free(failed);
  }
  seer_arena_reset(p.arena);
  if (!status) status = leave(&p);
  seer_status_free(status);
  seer_hub_clear(&p.hub);
  seer_arena_destroy(p.arena);
}
