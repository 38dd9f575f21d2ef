// doctor.c - findings of the program's own parts: the target, the records' place, confinement,
// devices and libraries. See doctor.h.
#include "cli/doctor.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/confine.h"
#include "base/os.h"
#include "base/text.h"
#include "cli/drivers.h"
#include "code/gpu/nvrtc.h"
#include "learn/cost/xgboost.h"
#include "record/record.h"

#define DRIVER_S 0.9  // for the jobs of one; what takes longer is not known to be wrong
#define NO_ROOM (64.0 * 1048576)
#define LITTLE_ROOM (1024.0 * 1048576)

const char *seer_doctor_verdict_name(seer_doctor_verdict verdict) {
  static const char *const names[SEER_DOCTOR_VERDICT_COUNT] = {"ok", "note", "warning"};
  return names[verdict];
}

void seer_doctor_add(seer_doctor_report *r, seer_doctor_verdict verdict, const char *advice,
    const char *format, ...) {
  if (r->n == SEER_DOCTOR_MAX) return;
  char text[1024];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  r->finding[r->n++] = (seer_doctor_finding){
      verdict, r->topic, seer_text_safe(r->arena, seer_arena_strdup(r->arena, text)), advice};
}

// ---- the target
static void look_at_target(const seer_target *t, seer_doctor_report *r) {
  uint32_t lanes = seer_target_lanes(t);
  r->topic = "processor";
#if defined(__x86_64__)
  if (lanes < 8) {
    seer_doctor_add(r, SEER_DOCTOR_NOTE,
        "a virtual machine may hide what its processor has: let it be passed through",
        "%s (%s): vectors of %u f32 lanes, no AVX2", t->model_name, t->cpu, lanes);
    return;
  }
#endif
  seer_doctor_add(r, SEER_DOCTOR_OK, "", "%s, compiled for as %s: %u registers of %u f32 lanes",
      t->model_name, t->cpu, t->n_vector_registers, lanes);
}

// ---- places
static void look_at_records(const seer_context *context, seer_doctor_report *r) {
  const char *path = "";
  r->topic = "records";
  seer_status status =
      seer_records_path(seer_context_str(context, SEER_OPT_RECORDS), r->arena, &path);
  if (!status) status = seer_os_check_writable(path);
  if (status) {
    seer_doctor_add(r, SEER_DOCTOR_WARNING,
        "name a file that can be written (--records, or XDG_CACHE_HOME for all)",
        "what is measured cannot be kept: %s", seer_status_message(status));
    seer_status_free(status);
    return;
  }
  double room = (double)seer_os_free_disk_bytes(path, r->arena);
  seer_doctor_add(r,
      room < NO_ROOM           ? SEER_DOCTOR_WARNING
          : room < LITTLE_ROOM ? SEER_DOCTOR_NOTE
                               : SEER_DOCTOR_OK,
      room < LITTLE_ROOM ? "make room: records of a large network are tens of megabytes" : "",
      "%s, on a disk with %.1f GiB free", path, room / 1073741824);
}

static void look_at_temporary_files(seer_doctor_report *r) {
  const char *folder;
  r->topic = "temporary files";
  seer_status status = seer_os_temp_dir("familyseer-doctor", r->arena, &folder);
  double room = status ? 0 : (double)seer_os_free_disk_bytes(folder, r->arena);
  if (!status) status = seer_os_remove_tree(folder);
  if (status)
    seer_doctor_add(r, SEER_DOCTOR_WARNING, "set TMPDIR to a folder that can be written", "%s",
        seer_status_message(status));
  else
    seer_doctor_add(r, room < NO_ROOM ? SEER_DOCTOR_WARNING : SEER_DOCTOR_OK,
        room < NO_ROOM ? "make room, or set TMPDIR" : "", "%.1f GiB free", room / 1073741824);
  seer_status_free(status);
}

static void look_at_confinement(seer_doctor_report *r) {
  const char *why_not = "";
  r->topic = "confinement";
  if (seer_confine_is_there(&why_not))
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "workers give up what they do not need");
  else
    seer_doctor_add(r, SEER_DOCTOR_NOTE,
        "what is tuned is run unconfined: tune networks of people you trust, or in a container",
        "the system does not grant it: %s", why_not);
}

// ---- devices and libraries
static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static const char ask_again[] = "`familyseer devices` asks again, and waits for 20 s";

// Of a driver without devices, or of a device.
static seer_doctor_verdict verdict_of(const json_t *object, bool is_fine) {
  if (json_is_true(json_object_get(object, "is_late"))) return SEER_DOCTOR_NOTE;
  return is_fine ? SEER_DOCTOR_OK : SEER_DOCTOR_WARNING;
}

static void look_at_driver(const json_t *driver, seer_doctor_report *r) {
  size_t k;
  const json_t *device;
  const char *why = text_of(driver, "why");
  r->topic = seer_arena_strdup(r->arena, text_of(driver, "driver"));
  if (*why) {
    seer_doctor_verdict is =
        verdict_of(driver, !json_is_true(json_object_get(driver, "is_broken")));
    seer_doctor_add(r, is, is == SEER_DOCTOR_OK ? "" : ask_again, "no device: %s", why);
  }
  json_array_foreach(json_object_get(driver, "devices"), k, device) {
    seer_doctor_verdict is = verdict_of(device, json_is_true(json_object_get(device, "answers")));
    seer_doctor_add(r, is, is == SEER_DOCTOR_OK ? "" : ask_again, "%s%s%s: %s",
        text_of(device, "name"), *text_of(device, "model") ? ", " : "", text_of(device, "model"),
        text_of(device, "check"));
  }
}

static void look_at_drivers(seer_context *context, seer_doctor_report *r) {
  json_t *drivers = NULL;
  size_t i;
  const json_t *driver;
  r->topic = "devices";
  seer_status status = seer_cli_drivers_find(context, DRIVER_S, &drivers);
  if (status)
    seer_doctor_add(r, SEER_DOCTOR_WARNING, "", "not to be asked: %s", seer_status_message(status));
  seer_status_free(status);
  json_array_foreach(drivers, i, driver) look_at_driver(driver, r);
  json_decref(drivers);
}

static void look_at_nvrtc(const seer_context *context, seer_doctor_report *r) {
  const char *path = seer_context_str(context, SEER_OPT_NVRTC);
  seer_nvrtc *nvrtc = NULL;
  r->topic = "NVRTC";
  seer_status status = seer_nvrtc_open(path[0] ? path : NULL, &nvrtc);
  if (!status)
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "version %u.%u, for --target cuda:...",
        seer_nvrtc_version(nvrtc) / 100, seer_nvrtc_version(nvrtc) % 100 / 10);
  else if (path[0])
    seer_doctor_add(r, SEER_DOCTOR_WARNING, "see --nvrtc", "%s", seer_status_message(status));
  else
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "not found; targets of CUDA need it, and no others");
  seer_status_free(status);
  seer_nvrtc_close(nvrtc);
}

// Trees are fitted on a GPU only where that is asked for: else the library's answer is worth
// knowing alone.
static void look_at_learning(const seer_context *context, seer_doctor_report *r) {
  bool is_wanted = strcmp(seer_context_str(context, SEER_OPT_LEARN_DEVICE), "cuda") == 0;
  r->topic = "cost models";
  seer_status status = seer_cost_probe(&seer_cost_xgboost, SEER_LEARN_CUDA);
  if (!status)
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "can be fitted on the GPU, --learn-device cuda");
  else if (is_wanted)
    seer_doctor_add(
        r, SEER_DOCTOR_WARNING, "leave out --learn-device cuda", "%s", seer_status_message(status));
  else
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "are fitted on the processor; --learn-device cuda: %s",
        seer_status_message(status));
  seer_status_free(status);
}

seer_status seer_doctor_look(seer_context *context, seer_arena *arena, seer_doctor_report *out) {
  *out = (seer_doctor_report){.arena = arena};
  SEER_TRY(seer_context_find_target(context));
  int64_t threads = seer_context_i64(context, SEER_OPT_THREADS);
  const seer_device_machine machine = seer_device_machine_here(threads > 0 ? (uint32_t)threads : 0);
  look_at_target(seer_context_target(context), out);
  seer_doctor_read_system(&machine, out);
  seer_doctor_time(threads > 0 ? (uint32_t)threads : seer_os_n_cores(), out);
  look_at_records(context, out);
  look_at_temporary_files(out);
  look_at_confinement(out);
  look_at_drivers(context, out);
  look_at_nvrtc(context, out);
  look_at_learning(context, out);
  return SEER_OK;
}
