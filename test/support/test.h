// test.h - cmocka, with what it wants included in front of it, and calls that must succeed.
#ifndef SEER_TEST_TEST_H
#define SEER_TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"

// Fails the test with the status's message, and the place where this stands.
#define must(status) must_at((status), __FILE__, __LINE__)
void must_at(seer_status status, const char *file, int line);

#endif
