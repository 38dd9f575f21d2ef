// Bytes as a file of records to import: sound lines come in, the rest is skipped; what came in can
// be checked, and is known when the file comes again.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "record/record.h"

static void must(seer_status status) {
  if (!status) return;
  (void)fprintf(stderr, "%s\n", seer_status_message(status));
  abort();
}

// A file in memory, of one length after the other.
static const char *path_of(int fd, seer_arena *arena) {
  return seer_arena_printf(arena, "/proc/self/fd/%d", fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  static seer_context *context;
  static int in = -1;
  if (!context) must(seer_context_create(&context));
  if (in < 0) in = memfd_create("records", 0);
  if (in < 0 || ftruncate(in, 0) || pwrite(in, data, n_bytes, 0) != (ssize_t)n_bytes) abort();
  seer_arena *arena = seer_arena_create("fuzz");
  seer_records *records;
  must(seer_records_open(context, ":memory:", &records));
  seer_record_counts counts;
  bool is_trusted = n_bytes % 2 == 1;
  must(seer_records_import(records, path_of(in, arena), is_trusted, &counts));
  uint32_t n_added = counts.n[SEER_RECORD_SOUND];
  if (n_added > 0) {
    must(seer_records_import(records, path_of(in, arena), is_trusted, &counts));
    if (counts.n[SEER_RECORD_SOUND] != 0) abort();
    seer_text text;
    seer_text_init(&text, arena);
    must(seer_records_check(records, &text, &counts));
    if (seer_record_counts_bad(&counts) != 0 || counts.n[SEER_RECORD_SOUND] != n_added) abort();
  }
  seer_records_close(records);
  seer_arena_destroy(arena);
  return 0;
}
