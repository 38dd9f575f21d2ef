// task_table.c - the table's columns are Ansor's, and those that tell why a task is where it is.
#include "cli/task_table.h"

#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"

typedef enum {
  ID,
  TASK,
  FAMILY,
  WEIGHT,
  TIME,
  SPEED,
  BOUND,
  SHARE,
  TRIALS,
  STATE,
  N_COLUMN
} column;

#define NAME_WIDTH 44
#define NAME_WANTED 24  // columns leave before a name has less
#define CELL_BYTES 512  // a name, safe and cut (SEER_TEXT_SAFE_BYTES), and more

// In the order of the line. `leaves`: columns go in this order; 0: stays, also on 40 columns.
static const struct {
  const char *title;
  uint32_t gap, width;
  bool is_left;
  uint32_t leaves;
} columns[N_COLUMN] = {
    [ID] = {"ID", 0, 4, false, 0},
    [TASK] = {"Task", 2, 0, true, 0},
    [FAMILY] = {"Family", 1, 18, true, 1},
    [WEIGHT] = {"x", 1, 3, false, 3},
    [TIME] = {"Latency", 1, 10, false, 0},
    [SPEED] = {"GFLOP/s", 1, 9, false, 2},
    [BOUND] = {"% bound", 1, 7, false, 6},
    [SHARE] = {"Share", 1, 6, false, 0},
    [TRIALS] = {"Trials", 1, 6, false, 5},
    [STATE] = {"State", 2, 0, true, 4},
};

typedef struct {
  uint32_t task;
  double one_s, share_s;  // a step, and all of the task's
} row;

typedef struct {
  char cell[N_COLUMN][CELL_BYTES];
} line;

typedef struct {
  uint32_t width[N_COLUMN];
  bool is_shown[N_COLUMN];
} layout;

static int by_share(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (x->share_s != y->share_s) return x->share_s > y->share_s ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

// ---- cells
static void set_title(line *l, bool is_in_network) {
  for (column c = 0; c < N_COLUMN; c++)
    (void)snprintf(l->cell[c], CELL_BYTES, "%s", columns[c].title);
  if (is_in_network) (void)snprintf(l->cell[TIME], CELL_BYTES, "In network");
}

static void set_safe(line *l, column c, const char *text) {
  seer_text_safe_copy(l->cell[c], SEER_TEXT_SAFE_BYTES, text ? text : "", text ? strlen(text) : 0,
      SEER_TEXT_ONE_LINE);
}

static void set_cells(line *l, const seer_campaign *campaign, const seer_network *network,
    const row *r, double total_s) {
  const seer_task_state *task = &seer_campaign_state(campaign)->task[r->task];
  const seer_families *families = seer_campaign_families(campaign);
  double one_s = r->one_s;
  bool is_known = one_s > 0;
  (void)snprintf(l->cell[ID], CELL_BYTES, "%u", r->task);
  set_safe(l, TASK, network->task[r->task].name);
  set_safe(l, FAMILY, families->name[task->family]);
  (void)snprintf(l->cell[WEIGHT], CELL_BYTES, "%u", network->task[r->task].weight);
  for (column c = TIME; c <= SHARE; c++) (void)snprintf(l->cell[c], CELL_BYTES, "-");
  if (is_known) {
    (void)snprintf(l->cell[TIME], CELL_BYTES, "%.1f us", one_s * 1e6);
    (void)snprintf(l->cell[SPEED], CELL_BYTES, "%.1f", task->flops / one_s * 1e-9);
    (void)snprintf(l->cell[BOUND], CELL_BYTES, "%.0f", 100 * task->bound_s / one_s);
    (void)snprintf(l->cell[SHARE], CELL_BYTES, "%.1f%%", 100 * r->share_s / total_s);
  }
  (void)snprintf(l->cell[TRIALS], CELL_BYTES, "%u", task->n_trial);
  (void)snprintf(l->cell[STATE], CELL_BYTES, "%s",
      task->is_dead || task->best_s > 0 ? seer_task_state_name(task) : "-");
}

// ---- widths
static uint32_t widest(const line *lines, uint32_t n, column c) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t width = seer_terminal_columns_of(lines[i].cell[c]);
    if (width > most) most = width;
  }
  return most;
}

// All but the names.
static uint32_t taken_by_others(const layout *l) {
  uint32_t n = 0;
  for (column c = 0; c < N_COLUMN; c++)
    if (l->is_shown[c]) n += columns[c].gap + (c == TASK ? 0 : l->width[c]);
  return n;
}

static layout lay_out(const line *lines, uint32_t n, uint32_t available) {
  layout l;
  for (column c = 0; c < N_COLUMN; c++) {
    l.is_shown[c] = true;
    l.width[c] = columns[c].width;
  }
  l.width[TASK] = NAME_WIDTH;
  l.width[STATE] = widest(lines, n, STATE);
  if (available == 0) return l;
  uint32_t name = widest(lines, n, TASK), wanted = name < NAME_WANTED ? name : NAME_WANTED;
  for (uint32_t turn = 1; taken_by_others(&l) + wanted > available && turn < N_COLUMN; turn++)
    for (column c = 0; c < N_COLUMN; c++) l.is_shown[c] &= columns[c].leaves != turn;
  uint32_t left = available - taken_by_others(&l);
  l.width[TASK] = name < left ? name : left;
  return l;
}

// ---- lines
static void put_blanks(seer_text *to, uint32_t n) { seer_text_printf(to, "%*s", (int)n, ""); }

static void put_line(seer_text *to, const line *l, const layout *is) {
  uint32_t pending = 0;  // blanks: none at the end of a line
  for (column c = 0; c < N_COLUMN; c++) {
    if (!is->is_shown[c]) continue;
    uint32_t width = is->width[c], own = seer_terminal_columns_of(l->cell[c]);
    uint32_t slack = own < width ? width - own : 0;
    pending += columns[c].gap + (columns[c].is_left ? 0 : slack);
    if (own > 0) {
      put_blanks(to, pending);
      pending = 0;
      // A figure is never cut.
      if (columns[c].is_left)
        slack = width - seer_terminal_put_cut(to, l->cell[c], width);
      else
        seer_text_put(to, l->cell[c]);
    }
    if (columns[c].is_left) pending += slack;
  }
  seer_text_put(to, "\n");
}

uint32_t seer_task_table_put(seer_text *to, const seer_campaign *campaign,
    const seer_network *network, const seer_choice *choices, double total_s,
    seer_task_table_size size) {
  const seer_schedule_state *state = seer_campaign_state(campaign);
  uint32_t n = state->n_task < size.rows ? state->n_task : size.rows;
  row *rows = SEER_NEW_ARRAY(to->arena, row, state->n_task + 1);
  line *lines = SEER_NEW_ARRAY(to->arena, line, n + 1);
  for (uint32_t t = 0; t < state->n_task; t++) {
    double one_s = choices ? choices[t].network_seconds : state->task[t].best_s;
    rows[t] = (row){t, one_s, state->task[t].weight * one_s};
  }
  qsort(rows, state->n_task, sizeof(row), by_share);
  set_title(&lines[0], choices != NULL);
  for (uint32_t i = 0; i < n; i++) set_cells(&lines[i + 1], campaign, network, &rows[i], total_s);
  layout l = lay_out(lines, n + 1, size.columns);
  for (uint32_t i = 0; i <= n; i++) put_line(to, &lines[i], &l);
  if (state->n_task > n)
    seer_text_printf(to, "      ... and %u lighter tasks\n", state->n_task - n);
  return n + 1 + (state->n_task > n);
}
