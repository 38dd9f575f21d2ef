// report.h - a campaign as one self-contained HTML file: what the library takes, where that goes,
// how it was found, what was left out. Pictures are inline SVG; nothing is fetched, there is no
// script, and what is said is in it as JSON, too (`familyseer report`). report/data.h has the
// parts.
// One thread, that which runs the campaign. Errors: those of writing the file.
#ifndef SEER_REPORT_REPORT_H
#define SEER_REPORT_REPORT_H

#include "code/artefact.h"
#include "library/verdict.h"
#include "tune/campaign.h"

typedef struct seer_report seer_report;

// In `arena`. Of a path only the last part is shown.
seer_report *seer_report_create(const char *model_name, seer_arena *arena);
void seer_report_on_event(void *user, const seer_event *event);  // a listener; user: seer_report
// Where it goes: the option `report`, else report.html in `folder`; "": nowhere ("": there is no
// folder).
const char *seer_report_path(const seer_context *context, const char *folder, seer_arena *arena);
// The whole library against the untuned one; kept until the report is written.
void seer_report_verdict(seer_report *report, const seer_verdict_report *verdict);
// After the campaign's end. `choices` [n_task]: what the library has; NULL: there is none.
SEER_MUST_USE seer_status seer_report_write(seer_report *report, const seer_context *context,
    const seer_campaign *campaign, const seer_network *network, const seer_choice *choices,
    const char *path);

#endif
