// drivers.c - jobs of drivers_job.c, started and waited for, and what they say as a list. See
// drivers.h.
#include "cli/drivers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"

#define MOST_SECONDS 20
#define MOST_DEVICES 64  // that are listed
#define MOST_SAID_BYTES (16u << 20)  // by a job, its driver's own words included

static const char *const names[] = {"opencl", "cuda"};

// ---- jobs

typedef struct {
  const char *program, *out_path, *error_path;
  uint64_t until_ns;  // 0: each job has its time
  seer_arena *arena;
} home;

static uint64_t patience_ns(const home *at) {
  const uint64_t most_ns = MOST_SECONDS * UINT64_C(1000000000);
  if (!at->until_ns) return most_ns;
  uint64_t now_ns = seer_os_now_ns();
  uint64_t left_ns = now_ns < at->until_ns ? at->until_ns - now_ns : 0;
  return left_ns < most_ns ? left_ns : most_ns;
}

// How a job ended that did not end well, else "".
static const char *ending(bool is_done, int status, double waited_s, seer_arena *arena) {
  if (!is_done) return seer_arena_printf(arena, "no answer within %.2g s", waited_s);
  if (status > 128)
    return seer_arena_printf(arena, "its driver ended the process, signal %d", status - 128);
  return status ? seer_arena_printf(arena, "its driver ended the process, status %d", status) : "";
}

// Adds what the job has printed to `out`. Lines that are no objects are its driver's.
static seer_status add_lines(const home *at, json_t *out) {
  char *text;
  size_t n;
  SEER_TRY(seer_os_read_file(at->out_path, at->arena, MOST_SAID_BYTES, &text, &n));
  for (char *line = text; line < text + n;) {
    size_t n_line = strcspn(line, "\n");
    json_t *object = json_loadb(line, n_line, 0, NULL);
    if (json_is_object(object)) json_object_update(out, object);
    json_decref(object);
    line += n_line + 1;
  }
  return SEER_OK;
}

// What it says is added to `out`; *out_ending: how it ended, "" if well.
// `about`: the object that tells of it.
static seer_status run_job(const home *at, const char *driver, const char *number, json_t *about,
    json_t *out, const char **out_ending) {
  const char *argv[] = {at->program, "devices", "check", driver, number, NULL};
  const seer_os_spawn_options options = {
      .argv = argv, .stdout_path = at->out_path, .stderr_path = at->error_path};
  seer_os_process process;
  bool is_done = false;
  int exit_status = 0;
  uint64_t most_ns = patience_ns(at);
  SEER_TRY(seer_os_spawn(&options, &process));
  seer_status status = seer_os_wait(&process, most_ns, &is_done, &exit_status);
  if (!is_done) seer_os_kill(&process);
  if (!is_done) json_object_set_new(about, "is_late", json_true());
  if (status) return status;
  *out_ending = ending(is_done, exit_status, (double)most_ns * 1e-9, at->arena);
  return add_lines(at, out);
}

// ---- the list

static seer_status add_device(
    const home *at, const char *driver, uint32_t number, json_t *devices) {
  const char *end = "", *text = seer_arena_printf(at->arena, "%u", number);
  json_t *device = json_pack("{s:s, s:b}", "name",
      seer_arena_printf(at->arena, "%s:%u", driver, number), "answers", false);
  json_array_append_new(devices, device);
  SEER_TRY(run_job(at, driver, text, device, device, &end));
  const char *check = json_string_value(json_object_get(device, "check"));
  if (!*end && check) return SEER_OK;
  if (check && json_is_true(json_object_get(device, "answers")))
    end = seer_arena_printf(at->arena, "%s, but then: %s", check, end);
  if (!*end) end = "no answer";
  if (check && !json_is_true(json_object_get(device, "answers"))) return SEER_OK;
  json_object_set_new(device, "answers", json_false());
  json_object_set_new(device, "check", json_string(end));
  return SEER_OK;
}

static seer_status add_driver(const home *at, const char *name, json_t *drivers) {
  const char *end = "";
  json_t *driver = json_pack("{s:s, s:[]}", "driver", name, "devices"), *said = json_object();
  json_array_append_new(drivers, driver);
  seer_status status = run_job(at, name, NULL, driver, said, &end);
  const json_t *n_said = json_object_get(said, "n");
  json_int_t n = json_integer_value(n_said);
  const char *why = json_string_value(json_object_get(said, "why"));
  if (!why && n == 0) why = *end || !n_said ? (*end ? end : "no answer") : "the driver has none";
  if (!status && n == 0) json_object_set_new(driver, "why", json_string(why));
  if (!status && n == 0 && *end) json_object_set_new(driver, "is_broken", json_true());
  json_decref(said);
  for (uint32_t k = 0; k < n && k < MOST_DEVICES && !status; k++)
    status = add_device(at, name, k, json_object_get(driver, "devices"));
  return status;
}

seer_status seer_cli_drivers_find(seer_context *context, double most_s, json_t **out_drivers) {
  seer_arena *arena = seer_context_arena(context);
  home at = {.arena = arena};
  const char *folder;
  bool is_library;
  *out_drivers = NULL;
  SEER_TRY(seer_os_self_path(arena, &at.program, &is_library));
  SEER_TRY(seer_os_temp_dir("familyseer-devices", arena, &folder));
  at.out_path = seer_os_path_join(arena, folder, "said");
  at.error_path = seer_os_path_join(arena, folder, "errors");
  json_t *drivers = json_array();
  seer_status status = SEER_OK;
  for (size_t k = 0; k < SEER_COUNT_OF(names) && !status; k++) {
    if (most_s > 0) at.until_ns = seer_os_now_ns() + (uint64_t)(most_s * 1e9);
    status = add_driver(&at, names[k], drivers);
  }
  seer_status removed = seer_os_remove_tree(folder);
  if (!status) {
    status = removed;
  } else {
    seer_status_free(removed);
  }
  if (status) {
    json_decref(drivers);
    return status;
  }
  *out_drivers = drivers;
  return SEER_OK;
}

// ---- as text

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static double number_of(const json_t *object, const char *key) {
  return (double)json_integer_value(json_object_get(object, key));
}

static void print_device(const json_t *device) {
  if (!*text_of(device, "model")) {
    printf("  %-10s %s\n", text_of(device, "name"), text_of(device, "check"));
    return;
  }
  printf("  %-10s %10.0f %6.0f %11g %10.1f  %s, %s", text_of(device, "name"),
      number_of(device, "processors"), number_of(device, "clock_mhz"),
      number_of(device, "block_bytes") / 1024, number_of(device, "memory_bytes") / 1073741824,
      text_of(device, "model"), text_of(device, "driver"));
  if (json_integer_value(json_object_get(device, "architecture")) > 0)
    printf(", sm_%.0f", number_of(device, "architecture"));
  printf("%s: %s\n",
      json_is_true(json_object_get(device, "is_cpu")) ? " (processors of this machine)" : "",
      text_of(device, "check"));
}

void seer_cli_drivers_print(const json_t *drivers) {
  size_t i, k;
  const json_t *driver, *device;
  printf("\nDevices that drivers have here; each was asked for x + 1\n");
  printf("  %-10s %10s %6s %11s %10s  %s\n", "device", "processors", "MHz", "KiB a block",
      "memory GiB", "what it is");
  json_array_foreach(drivers, i, driver) {
    if (*text_of(driver, "why"))
      printf("  %-10s none: %s\n", text_of(driver, "driver"), text_of(driver, "why"));
    json_array_foreach(json_object_get(driver, "devices"), k, device) print_device(device);
  }
}
