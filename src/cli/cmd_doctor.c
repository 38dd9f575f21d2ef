// cmd_doctor.c - familyseer doctor: what of this machine would make things slow or wrong, a line a
// topic, and what to do about it. Ends with 0 whatever it finds.
#include <jansson.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/json.h"

static uint32_t count(const seer_doctor_report *r, seer_doctor_verdict verdict) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < r->n; i++) n += r->finding[i].verdict == verdict;
  return n;
}

static void print_report(const seer_doctor_report *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    const seer_doctor_finding *f = &r->finding[i];
    printf("%-8s %-16s %s%s%s\n", seer_doctor_verdict_name(f->verdict), f->topic, f->text,
        *f->advice ? ". What to do: " : "", f->advice);
  }
  uint32_t n_warning = count(r, SEER_DOCTOR_WARNING), n_note = count(r, SEER_DOCTOR_NOTE);
  printf("%u warning%s, %u note%s\n", n_warning, n_warning == 1 ? "" : "s", n_note,
      n_note == 1 ? "" : "s");
}

static seer_status print_json(const seer_doctor_report *r) {
  json_t *findings = json_array();
  for (uint32_t i = 0; i < r->n; i++) {
    const seer_doctor_finding *f = &r->finding[i];
    json_array_append_new(findings,
        json_pack("{s:s, s:s, s:s, s:s}", "topic", f->topic, "verdict",
            seer_doctor_verdict_name(f->verdict), "text", f->text, "advice", f->advice));
  }
  return seer_cli_put_json(
      json_pack("{s:i, s:i, s:o}", "warnings", (int)count(r, SEER_DOCTOR_WARNING), "notes",
          (int)count(r, SEER_DOCTOR_NOTE), "findings", findings));
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  (void)argv;
  seer_doctor_report report;
  SEER_TRY(seer_doctor_look(context, seer_context_arena(context), &report));
  if (seer_context_bool(context, SEER_OPT_JSON)) return print_json(&report);
  print_report(&report);
  return SEER_OK;
}

const seer_command seer_command_doctor = {
    .name = "doctor",
    .args = "[--threads N] [--records FILE] [--json]",
    .doc =
        "what of this machine makes things slow or wrong, and what to do: processors, quotas, "
        "noise, clocks, memory, room for records, confinement, devices, libraries",
    .example = "  familyseer doctor\n",
    .max_args = 0,
    .run = run,
};
