// tunings.c - tunings, as their letters say. The contract: tunings.h.

#include "measure/fleet/tunings.h"

#include <stdio.h>
#include <string.h>

#define MAX_AT_ONCE 200  // more is nobody's to read

static bool read_letter(const seer_hub *hub, const char *place, const seer_redis_reply *letter,
    seer_arena *arena, seer_letter_tuning *out) {
  const void *payload;
  size_t n;
  if (letter->kind != SEER_REDIS_TEXT) return false;
  seer_status status =
      seer_letter_open(&hub->key, place, SEER_WIRE_TUNING, letter->text, letter->n, &payload, &n);
  if (!status) status = seer_letter_get_tuning(payload, n, arena, out);
  bool is_read = status == SEER_OK;
  seer_status_free(status);
  return is_read;
}

seer_status seer_fleet_list_tunings(
    seer_hub *hub, seer_arena *arena, seer_fleet_tuning **out, uint32_t *out_n) {
  const seer_redis_reply *names, *letter;
  uint64_t session[MAX_AT_ONCE];
  uint32_t n = 0;
  *out_n = 0;
  SEER_TRY(seer_hub_ask(hub, arena, &names, NULL, "SMEMBERS familyseer:tunings"));
  SEER_TRY(seer_hub_refusal(hub, names));
  size_t n_names = names->kind == SEER_REDIS_ARRAY ? names->n : 0;
  *out = SEER_NEW_ARRAY(arena, seer_fleet_tuning, MAX_AT_ONCE);
  for (size_t i = 0; i < n_names && n < MAX_AT_ONCE; i++) {
    const seer_redis_reply *name = &names->element[i];
    if (name->kind != SEER_REDIS_TEXT || sscanf(name->text, "%16" SCNx64, &session[n]) != 1)
      continue;
    SEER_TRY(seer_hub_send(hub, NULL, "GET %s", seer_hub_place(arena, "tuning", session[n++])));
  }
  for (uint32_t i = 0; i < n; i++) {
    const char *place = seer_hub_place(arena, "tuning", session[i]);
    SEER_TRY(seer_hub_receive(hub, 0, arena, &letter));
    (*out)[*out_n].session = session[i];
    *out_n += read_letter(hub, place, letter, arena, &(*out)[*out_n].letter);
  }
  return SEER_OK;
}

seer_measure_bias seer_fleet_bias(const seer_fleet_tuning *tuning, const char *worker) {
  for (uint32_t k = 0; k < tuning->letter.n_bias; k++)
    if (strcmp(tuning->letter.bias[k].worker, worker) == 0) return tuning->letter.bias[k].bias;
  return (seer_measure_bias){0};
}
