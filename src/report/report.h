// report.h - a campaign as one self-contained HTML file: what the library takes, where that goes,
// how it was found, what was left out. Pictures are inline SVG; nothing is fetched, there is no
// script, and what is said is in it as JSON, too (`familyseer report`). report/data.h has the
// parts.
// One thread, that which runs the campaign. Errors: those of writing the file.
#ifndef SEER_REPORT_REPORT_H
#define SEER_REPORT_REPORT_H

#include "tune/tune.h"

typedef struct seer_report seer_report;

// In `arena`. Of a path only the last part is shown.
seer_report *seer_report_create(const char *model_name, seer_arena *arena);
void seer_report_on_event(void *user, const seer_event *event);  // a listener; user: seer_report
// What `tuning` of `precise` has brought, after its end, into the file of the option `report`, else
// report.html in `folder`; without either ("") nowhere, nor where nothing was searched.
SEER_MUST_USE seer_status seer_report_write(seer_report *report, const seer_context *context,
    const seer_tuning *tuning, const seer_precise *precise, const char *folder);

#endif
