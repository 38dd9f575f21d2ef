// look.c - which tunings there are that a worker fits. It has a connection of its own, so that no
// job waits for the answers. The contract: desk.h.

#include <string.h>

#include "base/os.h"
#include "measure/serve/desk.h"

#define SECOND_NS 1000000000u
#define LIST_NS ((uint64_t)SECOND_NS)  // so often
#define PAUSE_NS (SECOND_NS / 10)  // while the broker is away

typedef struct {
  seer_desk *desk;
  seer_hub hub;
  seer_arena *arena;  // of a look
} looker;

// One that is new begins where the others are, else it would have all turns for a while.
static void add_tuning(seer_desk *desk, const seer_desk_tuning *tuning) {
  double least = 0;
  for (uint32_t k = 0; k < desk->n_tunings; k++)
    if (k == 0 || desk->tuning[k].turn < least) least = desk->tuning[k].turn;
  desk->tuning[desk->n_tunings] = *tuning;
  desk->tuning[desk->n_tunings++].turn = least;
}

// *out: false where it is not for this worker.
static bool read_tuning(
    looker *t, const char *place, const seer_redis_reply *letter, seer_desk_tuning *out) {
  const void *payload;
  size_t n;
  seer_letter_tuning tuning;
  if (letter->kind != SEER_REDIS_TEXT) return false;
  seer_status status =
      seer_letter_open(&t->hub.key, place, SEER_WIRE_TUNING, letter->text, letter->n, &payload, &n);
  if (!status) status = seer_letter_get_tuning(payload, n, t->arena, &tuning);
  if (!status) status = seer_message_hello_fits(&tuning.hello, &t->desk->own);
  bool fits = !status && strcmp(tuning.measurer, t->desk->measurer) == 0;
  if (status)
    seer_log(t->desk->context, "measure", 2, "%s: %s", place, seer_status_message(status));
  seer_status_free(status);
  if (fits) out->priority = tuning.priority;
  return fits;
}

// A stream of its own, for what it alone is asked: it is made, or stays.
static seer_status keep_stream(looker *t, uint64_t session) {
  const char *place = seer_hub_place_of_worker(t->arena, session, t->desk->id);
  SEER_TRY(seer_hub_send(&t->hub, NULL, "XGROUP CREATE %s " SEER_HUB_GROUP " 0 MKSTREAM", place));
  return seer_hub_send(&t->hub, NULL, "PEXPIRE %s %d", place, SEER_HUB_TUNING_MS);
}

// Those that are there stay, with the turns that they have had.
static void note_tunings(seer_desk *desk, const seer_desk_tuning *found, uint32_t n_found) {
  uint32_t n_kept = 0;
  seer_desk_lock(desk);
  for (uint32_t k = 0; k < desk->n_tunings; k++) {
    bool is_there = false;
    for (uint32_t i = 0; i < n_found; i++)
      is_there = is_there || found[i].session == desk->tuning[k].session;
    if (is_there) desk->tuning[n_kept++] = desk->tuning[k];
  }
  desk->n_tunings = n_kept;
  for (uint32_t i = 0; i < n_found; i++) {
    seer_desk_tuning *known = seer_desk_find_tuning(desk, found[i].session);
    if (known)
      known->priority = found[i].priority;
    else
      add_tuning(desk, &found[i]);
  }
  pthread_cond_broadcast(&desk->changed);
  seer_desk_unlock(desk);
}

// One that is gone leaves the set; so does what is no session.
static seer_status read_tunings(looker *t, const seer_redis_reply *names, const uint64_t *session,
    uint32_t n, seer_desk_tuning *found, uint32_t *n_found) {
  uint32_t n_more = 0;
  bool fits[SEER_DESK_MAX_TUNINGS];
  for (uint32_t i = 0; i < n; i++) {
    const seer_redis_reply *letter;
    const char *place = seer_hub_place(t->arena, "tuning", session[i]);
    SEER_TRY(seer_hub_receive(&t->hub, 0, t->arena, &letter));
    found[*n_found] = (seer_desk_tuning){.session = session[i]};
    fits[i] = read_tuning(t, place, letter, &found[*n_found]);
    *n_found += fits[i];
    if (letter->kind == SEER_REDIS_NIL) {
      const seer_redis_word gone = {names->element[i].text, names->element[i].n};
      SEER_TRY(seer_hub_send(&t->hub, &gone, "SREM familyseer:tunings ?"));
      n_more++;
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!fits[i]) continue;
    SEER_TRY(keep_stream(t, session[i]));
    n_more += 2;
  }
  return seer_hub_skip(&t->hub, n_more, t->arena);
}

static seer_status list_tunings(looker *t) {
  const seer_redis_reply *names;
  seer_desk_tuning found[SEER_DESK_MAX_TUNINGS];
  uint64_t session[SEER_DESK_MAX_TUNINGS];
  uint32_t n = 0, n_found = 0;
  SEER_TRY(seer_hub_ask(&t->hub, t->arena, &names, NULL, "SMEMBERS familyseer:tunings"));
  SEER_TRY(seer_hub_refusal(&t->hub, names));
  size_t n_names = names->kind == SEER_REDIS_ARRAY ? names->n : 0;
  for (; n < n_names && n < SEER_DESK_MAX_TUNINGS; n++) {
    const seer_redis_reply *name = &names->element[n];
    session[n] = 0;
    if (name->kind != SEER_REDIS_TEXT || sscanf(name->text, "%16" SCNx64, &session[n]) != 1)
      session[n] = 0;  // nobody's
    SEER_TRY(
        seer_hub_send(&t->hub, NULL, "GET %s", seer_hub_place(t->arena, "tuning", session[n])));
  }
  SEER_TRY(read_tunings(t, names, session, n, found, &n_found));
  note_tunings(t->desk, found, n_found);
  return SEER_OK;
}

// ---- the thread
// Until the next look is due, or is asked for. False: the desk is closed.
static bool wait_for_turn(seer_desk *desk, uint64_t since_ns) {
  seer_desk_lock(desk);
  for (uint64_t passed_ns; !desk->is_closed && !desk->is_list_stale;) {
    passed_ns = seer_os_now_ns() - since_ns;
    if (passed_ns >= LIST_NS) break;
    seer_desk_wait(desk, LIST_NS - passed_ns);
  }
  bool is_open = !desk->is_closed;
  desk->is_list_stale = false;
  seer_desk_unlock(desk);
  return is_open;
}

void seer_look(void *user) {
  looker t = {.desk = user, .arena = seer_arena_create("fleet look")};
  seer_status status = seer_hub_init(&t.hub, t.desk->context);
  for (uint64_t since_ns = 0; !status && wait_for_turn(t.desk, since_ns);) {
    since_ns = seer_os_now_ns();
    seer_arena_reset(t.arena);
    seer_status failed = list_tunings(&t);
    if (!failed) continue;
    seer_log(t.desk->context, "measure", 1, "%s", seer_status_message(failed));
    seer_status_free(failed);
    seer_hub_drop(&t.hub);
    seer_os_sleep_ns(PAUSE_NS);
  }
  seer_status_free(status);
  seer_hub_clear(&t.hub);
  seer_arena_destroy(t.arena);
}
