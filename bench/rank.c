// rank.c - the analytic model against measured times: how good the schedules are that it likes best.
//   rank FILE...     FILE as `kernel ... --search N --log FILE` writes it: times of one thread
// For each: the number of schedules; what the model says of the best one, relative to its time; how
// much slower than the best are the one that the model puts first and the best of its first 10, 40.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "learn/feature.h"
#include "setup/context.h"

typedef struct {
  double seconds, estimate;
} pair;

static void die(seer_status status) {
  if (!status) return;
  fprintf(stderr, "rank: %s\n", seer_status_message(status));
  exit(1);
}

static int by_estimate(const void *a, const void *b) {
  const pair *x = a, *y = b;
  return (x->estimate > y->estimate) - (x->estimate < y->estimate);
}

static double best_of_first(const pair *pairs, size_t n, size_t first) {
  double best = pairs[0].seconds;
  for (size_t i = 1; i < n && i < first; i++)
    best = pairs[i].seconds < best ? pairs[i].seconds : best;
  return best;
}

static size_t read_pairs(
    const char *path, const char *at, const seer_sketch_list *list, const seer_target *target,
    seer_arena *arena, pair **out) {
  seer_summariser *summariser = seer_summariser_create(list, arena);
  size_t n = 0, cap = 0;
  pair *pairs = NULL;
  for (const char *end; (end = strstr(at, "---\n")) != NULL; at = end + 4) {
    char *text;
    double seconds = strtod(at, &text);
    seer_schedule schedule;
    die(seer_schedule_parse(list, path, text, (size_t)(end - text), &schedule));
    pairs = SEER_GROW(arena, pair, pairs, n, &cap);
    pairs[n++] =
        (pair){seconds, seer_analytic_seconds(seer_summarise(summariser, &schedule), target)};
  }
  *out = pairs;
  return n;
}

static void rank(const char *path, const seer_target *target) {
  seer_arena *arena = seer_arena_create("rank");
  char *bytes;
  size_t n_bytes;
  die(seer_os_read_file(path, arena, (size_t)1 << 30, &bytes, &n_bytes));
  char *end = strstr(bytes, "---\n");
  if (!end) die(SEER_FAIL(INVALID, "%s: no line of dashes after the DAG", path));
  seer_dag *dag;
  seer_sketch_list *list;
  die(seer_dag_parse(path, bytes, (size_t)(end - bytes), arena, &dag));
  die(seer_sketch_generate(dag, target, SEER_SPACE_FULL, arena, &list));
  pair *pairs, best = {0};
  size_t n = read_pairs(path, end + 4, list, target, arena, &pairs);
  if (n == 0) die(SEER_FAIL(INVALID, "%s: no schedules", path));
  for (size_t i = 0; i < n; i++)
    if (i == 0 || pairs[i].seconds < best.seconds) best = pairs[i];
  qsort(pairs, n, sizeof(pair), by_estimate);
  printf("%-32s %5zu schedules, best %.4f ms, model %.2f of it; first %.2f, of 10 %.2f, of 40 %.2f\n",
      path, n, best.seconds * 1e3, best.estimate / best.seconds, pairs[0].seconds / best.seconds,
      best_of_first(pairs, n, 10) / best.seconds, best_of_first(pairs, n, 40) / best.seconds);
  seer_arena_destroy(arena);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: rank FILE...   as kernel ... --search N --log FILE writes them\n");
    return 2;
  }
  seer_context *context;
  die(seer_context_create(&context));
  die(seer_context_set(context, "threads", "1"));
  die(seer_context_find_target(context));
  for (int k = 1; k < argc; k++) rank(argv[k], seer_context_target(context));
  seer_context_destroy(context);
  return 0;
}
