// table.c - the commands, in the order in which --help shows them: the main job first.
// To add one: write cmd_<name>.c with a `const seer_command seer_command_<name>`, declare it and
// add a line here.
#include "cli/command.h"

extern const seer_command seer_command_compile;
extern const seer_command seer_command_run;
extern const seer_command seer_command_bench;
extern const seer_command seer_command_verify;
extern const seer_command seer_command_info;
extern const seer_command seer_command_tasks;
extern const seer_command seer_command_opt;
extern const seer_command seer_command_devices;
extern const seer_command seer_command_tune;
extern const seer_command seer_command_report;
extern const seer_command seer_command_records;
extern const seer_command seer_command_study;
extern const seer_command seer_command_pretrain;
extern const seer_command seer_command_worker;
extern const seer_command seer_command_fleet;
extern const seer_command seer_command_models;
extern const seer_command seer_command_list;
extern const seer_command seer_command_completion;
extern const seer_command seer_command_diff;
extern const seer_command seer_command_explain;
extern const seer_command seer_command_doctor;

const seer_command *const seer_command_table[] = {
    &seer_command_tune,
    &seer_command_compile,
    &seer_command_run,
    &seer_command_bench,
    &seer_command_verify,
    &seer_command_info,
    &seer_command_tasks,
    &seer_command_explain,
    &seer_command_diff,
    &seer_command_report,
    &seer_command_devices,
    &seer_command_doctor,
    &seer_command_models,
    &seer_command_list,
    &seer_command_completion,
    &seer_command_opt,
    &seer_command_records,
    &seer_command_study,
    &seer_command_pretrain,
    &seer_command_worker,
    &seer_command_fleet,
};
const size_t seer_command_table_count = SEER_COUNT_OF(seer_command_table);
