// roster.c - workers, as their letters say. The contract: roster.h.

#include "measure/fleet/roster.h"

#include <math.h>
#include <string.h>

#include "base/map.h"

#define MAX_AT_ONCE 200
#define MOST_LIMIT_S 3660.0  // that a build or a run may have, and a pause behind it
#define MAX_NAME (SEER_LETTER_MAX_ID - 1)

static const char *place_of(seer_arena *arena, const char *name) {
  return seer_arena_printf(arena, "familyseer:worker:%s", name);
}

// Sealed by who has the key, and not readable: another version's, of which no more is known.
static seer_letter_worker unreadable(const char *name, const char *why, seer_arena *arena) {
  const char *version = seer_arena_printf(arena, "unknown (%s)", why);
  return (seer_letter_worker){.hello = {.version = version, .revision = ""},
      .id = seer_text_safe(arena, seer_arena_strndup(arena, name, strnlen(name, MAX_NAME))),
      .target = "",
      .devices = "",
      .measurer = "",
      .doing = ""};
}

// The letter of worker `name`, if it has the fleet's seal.
static void read_letter(const seer_hub *hub, const char *name, const seer_redis_reply *letter,
    seer_arena *arena, seer_letter_worker *out, uint32_t *n, uint32_t *n_unsealed) {
  const void *payload;
  size_t n_payload;
  const char *place = place_of(arena, name);
  if (!seer_letter_is_sealed(&hub->key, place, letter->text, letter->n)) {
    ++*n_unsealed;
    return;
  }
  ++*n;
  seer_status status = seer_letter_open(
      &hub->key, place, SEER_WIRE_WORKER, letter->text, letter->n, &payload, &n_payload);
  if (!status) status = seer_letter_get_worker(payload, n_payload, arena, out);
  if (status) *out = unreadable(name, seer_status_message(status), arena);
  seer_status_free(status);
}

// At most MAX_AT_ONCE of the names, in one question.
static seer_status list_some(seer_hub *hub, seer_arena *arena, const seer_redis_reply *names,
    size_t n_names, seer_letter_worker *out, uint32_t *n, uint32_t *n_unsealed) {
  const seer_redis_reply *letters;
  uint32_t n_gone = 0;
  seer_redis_word words[1 + MAX_AT_ONCE] = {SEER_REDIS_WORD("MGET")};
  for (size_t i = 0; i < n_names; i++) {
    const char *place = place_of(arena, names[i].text);
    words[1 + i] = SEER_REDIS_WORD(place);
  }
  SEER_TRY(seer_hub_send_words(hub, words, 1 + n_names));
  SEER_TRY(seer_hub_receive(hub, 0, arena, &letters));
  SEER_TRY(seer_hub_refusal(hub, letters));
  for (size_t i = 0; i < n_names && i < letters->n; i++) {
    if (letters->element[i].kind == SEER_REDIS_TEXT) {
      read_letter(hub, names[i].text, &letters->element[i], arena, &out[*n], n, n_unsealed);
      continue;
    }
    // It has not been heard of for a while.
    const seer_redis_word gone = {names[i].text, names[i].n};
    SEER_TRY(seer_hub_send(hub, &gone, "SREM familyseer:workers ?"));
    n_gone++;
  }
  return seer_hub_skip(hub, n_gone, arena);
}

seer_status seer_roster_list(seer_hub *hub, seer_arena *arena, seer_letter_worker **out,
    uint32_t *out_n, uint32_t *out_n_unsealed) {
  const seer_redis_reply *names;
  *out_n = *out_n_unsealed = 0;
  SEER_TRY(seer_hub_ask(hub, arena, &names, NULL, "SMEMBERS familyseer:workers"));
  SEER_TRY(seer_hub_refusal(hub, names));
  size_t n = names->kind == SEER_REDIS_ARRAY ? names->n : 0;
  *out = SEER_NEW_ARRAY(arena, seer_letter_worker, n + 1);
  for (size_t i = 0; i < n; i += MAX_AT_ONCE) {
    size_t n_now = n - i < MAX_AT_ONCE ? n - i : MAX_AT_ONCE;
    SEER_TRY(list_some(hub, arena, &names->element[i], n_now, *out, out_n, out_n_unsealed));
  }
  return SEER_OK;
}

uint32_t seer_roster_find(const seer_roster *roster, const char *id) {
  for (uint32_t k = 0; k < roster->n; k++)
    if (strcmp(roster->worker[k].id, id) == 0) return k;
  return UINT32_MAX;
}

// Once each.
static void refuse(seer_roster *roster, const char *id, const char *why) {
  uint64_t hash = seer_hash_bytes(id, strlen(id), 0);
  for (uint32_t k = 0; k < roster->n_refused; k++)
    if (roster->refused[k] == hash) return;
  if (roster->n_refused == SEER_COUNT_OF(roster->refused)) return;
  roster->refused[roster->n_refused++] = hash;
  seer_log(roster->context, "measure", 0, "worker %s gets nothing: it %s", id, why);
}

bool seer_roster_see(seer_roster *roster, const seer_letter_worker *letter) {
  uint32_t k = seer_roster_find(roster, letter->id);
  if (k == UINT32_MAX) {
    seer_status status = seer_message_hello_fits(&roster->own, &letter->hello);
    if (!status && strcmp(letter->measurer, roster->measurer) != 0)
      status = SEER_FAIL(INVALID, "measures with %s, this tuning with %s (--measure)",
          letter->measurer, roster->measurer);
    if (status) {
      refuse(roster, letter->id, seer_status_message(status));
      seer_status_free(status);
      return false;
    }
    // The number of one that is gone is somebody else's in the campaign's eyes: it is not reused.
    if (roster->n == SEER_MEASURE_MAX_DEVICES) {
      refuse(roster, letter->id, "is one more than a tuning may have had");
      roster->is_full = true;
      return false;
    }
    k = roster->n++;
    roster->worker[k].id = seer_arena_strdup(roster->arena, letter->id);
    roster->worker[k].devices = seer_arena_strdup(roster->arena, letter->devices);
  }
  if (roster->worker[k].is_dismissed) return false;
  roster->worker[k].is_there = true;
  roster->worker[k].n_builders = letter->n_builders;
  roster->worker[k].build_s = fmin(letter->build_s, MOST_LIMIT_S);
  roster->worker[k].run_s = fmin(letter->run_s, MOST_LIMIT_S);
  return true;
}

bool seer_roster_dismiss(seer_roster *roster, uint32_t worker, const char *why) {
  seer_roster_worker *w = &roster->worker[worker];
  if (w->is_dismissed) return false;
  seer_log(roster->context, "measure", 0, "worker %s gets nothing more: %s", w->id, why);
  roster->n_there -= w->is_there;
  w->is_there = false;
  w->is_dismissed = true;
  return true;
}

bool seer_roster_blame(seer_roster *roster, uint32_t worker, const char *why) {
  seer_roster_worker *w = &roster->worker[worker];
  if (w->is_dismissed) return false;
  seer_log(roster->context, "measure", 1, "worker %s answers nonsense: %s", w->id, why);
  if (++w->n_nonsense < SEER_ROSTER_MOST_NONSENSE) return false;
  char text[2 * SEER_MEASURE_MESSAGE_BYTES];
  (void)snprintf(
      text, sizeof text, "it has answered nonsense %u times, at last: %s", w->n_nonsense, why);
  return seer_roster_dismiss(roster, worker, text);
}

static void note_all(seer_roster *roster, const seer_hub *hub, const seer_letter_worker *letters,
    uint32_t n, uint32_t n_unsealed) {
  for (uint32_t k = 0; k < roster->n; k++) roster->worker[k].is_there = false;
  for (uint32_t i = 0; i < n; i++) (void)seer_roster_see(roster, &letters[i]);
  roster->n_there = 0;
  for (uint32_t k = 0; k < roster->n; k++) roster->n_there += roster->worker[k].is_there;
  if (n_unsealed > 0 && n_unsealed != roster->n_unsealed)
    seer_log(roster->context, "measure", 0,
        "%u workers at %s are sealed with another key (--fleet-key, or the password)", n_unsealed,
        hub->address.shown);
  roster->n_unsealed = n_unsealed;
}

seer_status seer_roster_look(seer_roster *roster, seer_hub *hub, seer_arena *scratch) {
  seer_letter_worker *letters;
  uint32_t n, n_unsealed;
  SEER_TRY(seer_roster_list(hub, scratch, &letters, &n, &n_unsealed));
  note_all(roster, hub, letters, n, n_unsealed);
  return SEER_OK;
}

// ---- in two
seer_status seer_roster_ask(
    const seer_roster *roster, seer_hub *hub, seer_arena *scratch, bool *out_has_letters) {
  uint32_t n = roster->n_names;
  seer_redis_word *words = SEER_NEW_ARRAY(scratch, seer_redis_word, n + 1);
  words[0] = SEER_REDIS_WORD("MGET");
  for (uint32_t i = 0; i < n; i++) {
    const char *place = place_of(scratch, roster->name[i]);
    words[1 + i] = SEER_REDIS_WORD(place);
  }
  *out_has_letters = n > 0;
  if (n > 0) SEER_TRY(seer_hub_send_words(hub, words, 1 + n));
  return seer_hub_send(hub, NULL, "SMEMBERS familyseer:workers");
}

void seer_roster_hear_letters(seer_roster *roster, const seer_hub *hub,
    const seer_redis_reply *letters, seer_arena *scratch) {
  uint32_t n = 0, n_unsealed = 0;
  size_t n_letters = letters->kind == SEER_REDIS_ARRAY ? letters->n : 0;
  seer_letter_worker *worker = SEER_NEW_ARRAY(scratch, seer_letter_worker, n_letters + 1);
  for (size_t i = 0; i < n_letters && i < roster->n_names; i++)
    if (letters->element[i].kind == SEER_REDIS_TEXT)
      read_letter(hub, roster->name[i], &letters->element[i], scratch, &worker[n], &n, &n_unsealed);
  note_all(roster, hub, worker, n, n_unsealed);
}

static bool has_name(const seer_roster *roster, const char *name) {
  for (uint32_t i = 0; i < roster->n_names; i++)
    if (strcmp(roster->name[i], name) == 0) return true;
  return false;
}

bool seer_roster_hear_names(seer_roster *roster, const seer_redis_reply *names) {
  uint32_t n = names->kind == SEER_REDIS_ARRAY ? (uint32_t)names->n : 0, n_kept = 0;
  bool has_new = false;
  seer_arena *arena = seer_arena_create("roster names");
  const char **name = SEER_NEW_ARRAY(arena, const char *, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    if (names->element[i].kind != SEER_REDIS_TEXT) continue;
    has_new = has_new || !has_name(roster, names->element[i].text);
    name[n_kept++] = seer_arena_strdup(arena, names->element[i].text);
  }
  seer_roster_clear(roster);
  roster->names = arena;
  roster->name = name;
  roster->n_names = n_kept;
  return has_new;
}

void seer_roster_clear(seer_roster *roster) {
  if (roster->names) seer_arena_destroy(roster->names);
  roster->names = NULL;
  roster->n_names = 0;
}
