// base.h - compiler attributes, assertions and the few macros that every file uses.
#ifndef SEER_BASE_BASE_H
#define SEER_BASE_BASE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEER_MUST_USE __attribute__((warn_unused_result))
#define SEER_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SEER_NORETURN __attribute__((noreturn))
#define SEER_NEVER_NULL __attribute__((returns_nonnull))
#define SEER_UNUSED __attribute__((unused))
#define SEER_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// Our own bugs. Always with the values: SEER_ASSERT(i < n, "i %u, n %u", i, n).
#define SEER_ASSERT(cond, ...)                                             \
  do {                                                                     \
    if (!(cond)) seer_assert_fail(__FILE__, __LINE__, #cond, __VA_ARGS__); \
  } while (0)

// To stderr, then aborts.
SEER_NORETURN SEER_PRINTF(4, 5) void seer_assert_fail(
    const char *file, int line, const char *cond, const char *format, ...);

static inline int64_t seer_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t seer_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// Quotient and remainder, rounded towards 0; `b` > 0. Extents and factors nearly always fit 32
// bits, and there many processors divide two to four times as fast.
typedef struct {
  int64_t quotient, remainder;
} seer_division;
static inline seer_division seer_divide(int64_t a, int64_t b) {
  if (b == 1) return (seer_division){a, 0};
  if (a == (int32_t)a && b == (int32_t)b) {
    int32_t quotient = (int32_t)a / (int32_t)b;
    return (seer_division){quotient, (int32_t)a - quotient * (int32_t)b};
  }
  return (seer_division){a / b, a % b};
}

// Floor and ceiling division and floor modulus; `b` > 0.
static inline int64_t seer_floor_div(int64_t a, int64_t b) {
  seer_division d = seer_divide(a, b);
  return d.quotient - (d.remainder < 0);
}
static inline int64_t seer_floor_mod(int64_t a, int64_t b) {
  int64_t remainder = seer_divide(a, b).remainder;
  return remainder < 0 ? remainder + b : remainder;
}
static inline int64_t seer_ceil_div(int64_t a, int64_t b) { return -seer_floor_div(-a, b); }
static inline int64_t seer_round_up(int64_t a, int64_t b) { return seer_ceil_div(a, b) * b; }

#endif
