// task_table.h - the tasks of a campaign as a table: the heaviest first, with what tells why each
// is where it is: family, bound (the roofline), share of the network's time.
// One thread, that which runs the campaign.
#ifndef SEER_CLI_TASK_TABLE_H
#define SEER_CLI_TASK_TABLE_H

#include "code/artefact.h"
#include "tune/campaign.h"

typedef struct {
  // Of a terminal: columns leave, the least important first, and names are shortened until no line
  // is longer. 0: all columns, as wide as ever.
  uint32_t columns;
  uint32_t rows;  // at most so many tasks; of the others it says how many there are
} seer_task_table_size;

// `choices` [n_task]: of the library that was run, whose times in the network these are then; NULL:
// the best known times of each task alone. total_s: what shares are of. Returns the lines put.
uint32_t seer_task_table_put(seer_text *to, const seer_campaign *campaign,
    const seer_network *network, const seer_choice *choices, double total_s,
    seer_task_table_size size);

#endif
