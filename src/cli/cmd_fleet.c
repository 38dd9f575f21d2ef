// cmd_fleet.c - familyseer fleet: who works at a broker, and for what.
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "cli/command.h"
#include "cli/json.h"
#include "measure/fleet/roster.h"
#include "measure/fleet/tunings.h"

#define REFRESH_NS 2000000000u

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int signal_number) {
  (void)signal_number;
  is_interrupted = 1;
}

typedef struct {
  uint32_t n;
  seer_fleet_tuning *tuning;
} tunings;

// ---- JSON: a line a worker
// What it takes for each tuning that knows that.
static json_t *bias_json(const tunings *all, const char *worker) {
  json_t *list = json_array();
  for (uint32_t k = 0; k < all->n; k++) {
    char session[32];
    const seer_measure_bias bias = seer_fleet_bias(&all->tuning[k], worker);
    if (bias.takes <= 0) continue;
    (void)snprintf(session, sizeof session, "%016" PRIx64, all->tuning[k].session);
    json_array_append_new(list,
        json_pack("{s:s, s:f, s:i}", "tuning", session, "takes", bias.takes, "shared_rounds",
            (int)bias.n_shared));
  }
  return list;
}

static seer_status print_worker_json(const seer_letter_worker *w, const tunings *all) {
  json_t *json = json_pack(
      "{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:f, s:f, s:f, s:f, s:f, "
      "s:i, s:i, s:s, s:o}",
      "worker", w->id, "version", w->hello.version, "sources", w->hello.revision, "target",
      w->target, "measure", w->measurer, "devices", w->devices, "n_devices", (int)w->n_devices,
      "builders", (int)w->n_builders, "free_bytes", (json_int_t)w->free_bytes, "load", w->load,
      "noise", w->noise, "up_s", w->up_s, "busy_s", w->busy_s, "peak_gflops", w->hello.peak_gflops,
      "rounds", (int)w->n_rounds, "candidates", (int)w->n_candidates, "doing", w->doing, "bias",
      bias_json(all, w->id));
  return seer_cli_put_json(json);
}

// ---- for people
// "cpu ... -cpu=znver4 ..." -> "znver4"
static const char *processor_of(const seer_letter_worker *w, seer_arena *arena) {
  const char *at = strstr(w->target, "-cpu=");
  return at ? seer_arena_strndup(arena, at + 5, strcspn(at + 5, " ")) : "";
}

// Another program than this one gets no work of it.
static const char *doing(const seer_letter_worker *w, seer_arena *arena) {
  const seer_message_hello own = seer_message_hello_here(NULL);
  seer_status status = seer_message_program_fits(&own, &w->hello);
  const char *text = w->doing[0] ? w->doing : "-";
  if (status) text = seer_arena_strdup(arena, seer_status_message(status));
  seer_status_free(status);
  return text;
}

// What it takes for what the first worker of a tuning takes 1 for: "2.07", of several tunings
// "2.07, 1.98".
static const char *takes(const tunings *all, const char *worker, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  for (uint32_t k = 0; k < all->n; k++) {
    const seer_measure_bias bias = seer_fleet_bias(&all->tuning[k], worker);
    if (bias.takes > 0) seer_text_printf(&text, "%s%.2f", text.n_bytes ? ", " : "", bias.takes);
  }
  return text.n_bytes ? text.data : "-";
}

static void print_table(const seer_letter_worker *list, uint32_t n, uint32_t n_unsealed,
    const tunings *all, seer_arena *arena) {
  printf("%-32s %-16s %-9s %7s %9s %5s %6s %6s %7s %10s  %s\n", "worker", "processor", "measure",
      "devices", "free GiB", "load", "noise", "takes", "busy", "candidates", "does");
  for (uint32_t k = 0; k < n; k++) {
    const seer_letter_worker *w = &list[k];
    printf("%-32s %-16s %-9s %7u %9.1f %5.1f %5.1f%% %6s %6.0f%% %10u  %s\n", w->id,
        processor_of(w, arena), w->measurer, w->n_devices, (double)w->free_bytes / 0x1p30, w->load,
        w->noise * 100, takes(all, w->id, arena), w->up_s > 0 ? 100 * w->busy_s / w->up_s : 0,
        w->n_candidates, doing(w, arena));
  }
  if (n_unsealed > 0)
    printf("%u more are sealed with another key (--fleet-key, or the password)\n", n_unsealed);
  if (n + n_unsealed == 0) printf("nobody\n");
}

static seer_status show(seer_hub *hub, bool is_json, seer_arena *arena) {
  seer_letter_worker *list;
  uint32_t n, n_unsealed;
  tunings all;
  SEER_TRY(seer_roster_list(hub, arena, &list, &n, &n_unsealed));
  SEER_TRY(seer_fleet_list_tunings(hub, arena, &all.tuning, &all.n));
  if (!is_json) print_table(list, n, n_unsealed, &all, arena);
  for (uint32_t k = 0; k < n && is_json; k++) SEER_TRY(print_worker_json(&list[k], &all));
  return SEER_OK;
}

// On a terminal again and again, until Ctrl-C.
static seer_status show_all(seer_hub *hub, bool is_json) {
  bool is_live = !is_json && isatty(STDOUT_FILENO);
  const struct sigaction action = {.sa_handler = on_interrupt};
  struct sigaction before;
  seer_arena *arena = seer_arena_create("fleet");
  seer_status status = seer_hub_connect(hub);
  if (!status) status = show(hub, is_json, arena);
  if (is_live) sigaction(SIGINT, &action, &before);
  while (!status && is_live && !is_interrupted) {
    (void)fflush(stdout);
    seer_os_sleep_ns(REFRESH_NS);
    seer_arena_reset(arena);
    printf("\033[H\033[J");
    status = show(hub, is_json, arena);
  }
  if (is_live) sigaction(SIGINT, &before, NULL);
  seer_arena_destroy(arena);
  return status;
}

static seer_status run_fleet(seer_context *context, int argc, char **argv) {
  if (argc == 1) SEER_TRY(seer_context_set(context, "fleet", argv[0]));
  if (!seer_context_str(context, SEER_OPT_FLEET)[0])
    return seer_usage_error("fleet: which one? familyseer fleet redis://HOST");
  seer_hub hub;
  SEER_TRY(seer_hub_init(&hub, context));
  seer_status status = show_all(&hub, seer_context_bool(context, SEER_OPT_JSON));
  seer_hub_clear(&hub);
  return status;
}

const seer_command seer_command_fleet = {
    .name = "fleet",
    .args = "[URL]",
    .doc = "shows the workers of a fleet, and what they do",
    .min_args = 0,
    .max_args = 1,
    .run = run_fleet,
};
