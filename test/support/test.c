// test.c - see test.h.
#include "support/test.h"

void must_at(seer_status status, const char *file, int line) {
  if (!status) return;
  print_error("%s\n", seer_status_message(status));
  seer_status_free(status);
  _fail(file, line);
}
