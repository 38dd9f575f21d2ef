// Operators on weights of few bits by blocks, against loops over their codes.
#include <string.h>

#include "expand_case.h"

enum { ROWS = 2, COLUMNS = 3, DEPTH = 21, OF_BLOCK = 16, BLOCKS = 2 };

static void int_attr(expand_case *c, const char *name, int64_t value) {
  c->attr[c->n_attr++] = (seer_attr){.name = name, .kind = SEER_ATTR_INT, .i = value};
}

// Codes of 4 bits, two a byte, and zero points of two blocks in a byte: each code of its own value,
// so that neighbours that change places show.
static void nbits_case(expand_case *c, double **out_x, double **out_scale) {
  double bytes[COLUMNS * BLOCKS * OF_BLOCK / 2], zero[COLUMNS];
  for (uint32_t i = 0; i < SEER_COUNT_OF(bytes); i++) bytes[i] = i * 37 % 256;
  for (uint32_t i = 0; i < COLUMNS; i++) zero[i] = 0x5A + 0x23 * i;
  *c = open_expand_case();
  c->domain = "com.microsoft";
  *out_x = expand_operand(c, SEER_DTYPE_F32, NULL, DIMS(ROWS, DEPTH));
  expand_operand(c, SEER_DTYPE_U8, bytes, DIMS(COLUMNS, BLOCKS, OF_BLOCK / 2));
  *out_scale = expand_operand(c, SEER_DTYPE_F32, NULL, DIMS(COLUMNS, BLOCKS));
  expand_operand(c, SEER_DTYPE_U8, zero, DIMS(COLUMNS, 1));
  int_attr(c, "K", DEPTH);
  int_attr(c, "N", COLUMNS);
  int_attr(c, "block_size", OF_BLOCK);
}

static void nibbles_are_weights(void **state) {
  (void)state;
  expand_case c;
  double *x, *scale, want[ROWS * COLUMNS] = {0};
  nbits_case(&c, &x, &scale);
  for (uint32_t m = 0; m < ROWS; m++) {
    for (uint32_t n = 0; n < COLUMNS; n++) {
      for (uint32_t k = 0; k < DEPTH; k++) {
        uint32_t block = k / OF_BLOCK, i = n * BLOCKS * OF_BLOCK + k;
        uint32_t code = (uint32_t)c.x[1][i / 2] >> 4 * (i % 2) & 15;
        uint32_t zero = (uint32_t)c.x[3][n] >> 4 * block & 15;
        want[m * COLUMNS + n] +=
            x[m * DEPTH + k] * ((double)code - zero) * scale[n * BLOCKS + block];
      }
    }
  }
  expand_run(&c, "MatMulNBits", 1, 1);
  expand_expect(&c, 0, want, DIMS(ROWS, COLUMNS), 1e-5);
  close_expand_case(&c);
}

static void nbits_says_what_does_not_fit(void **state) {
  (void)state;
  static const struct {
    const char *attr;
    int64_t value;
    const char *says;
  } wrong[] = {{"block_size", 24, "attribute 'block_size' is 24, must be a power of 2"},
      {"bits", 3, "attribute 'bits' is 3, must be 2, 4 or 8"},
      {"K", 22, "input 0 is [2,21], its last dimension must be 'K' (22)"},
      {"N", 4, "input 1 is u8[3,2,8], must be u8[4,2,8]"},
      {"weight_prepacked", 1, "attribute 'weight_prepacked' is 1, must be 0"}};
  for (uint32_t i = 0; i < SEER_COUNT_OF(wrong); i++) {
    expand_case c;
    double *x, *scale;
    nbits_case(&c, &x, &scale);
    uint32_t k = 0;
    while (k < c.n_attr && strcmp(c.attr[k].name, wrong[i].attr) != 0) k++;
    if (k == c.n_attr) c.n_attr++;
    c.attr[k] = (seer_attr){.name = wrong[i].attr, .kind = SEER_ATTR_INT, .i = wrong[i].value};
    seer_status status = expand_try(&c, "MatMulNBits", 1, 1);
    assert_non_null(status);
    if (!strstr(seer_status_message(status), wrong[i].says))
      fail_msg("%s", seer_status_message(status));
    seer_status_free(status);
    close_expand_case(&c);
  }
}

// In their places they are nothing new; any other order is refused.
static void groups_of_nbits_are_blocks(void **state) {
  (void)state;
  for (uint32_t moved = 0; moved < 2; moved++) {
    expand_case c;
    double *x, *scale, group[DEPTH];
    nbits_case(&c, &x, &scale);
    for (uint32_t k = 0; k < DEPTH; k++) group[k] = k / OF_BLOCK;
    group[0] = moved;
    expand_operand(&c, SEER_DTYPE_I32, group, DIMS(DEPTH));
    seer_status status = expand_try(&c, "MatMulNBits", 1, 1);
    assert_int_equal(status != NULL, moved);
    if (moved) assert_non_null(strstr(seer_status_message(status), "has group 1 for column 0"));
    seer_status_free(status);
    close_expand_case(&c);
  }
}

static void omitted_weights_leave_the_bias(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  c.domain = "com.microsoft";
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(ROWS, DEPTH));
  expand_operand(&c, SEER_DTYPE_U8, NULL, DIMS(COLUMNS, 0, OF_BLOCK / 2));
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(0));
  expand_absent(&c);
  expand_absent(&c);
  double *bias = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(COLUMNS)), want[ROWS * COLUMNS];
  int_attr(&c, "K", DEPTH);
  int_attr(&c, "N", COLUMNS);
  int_attr(&c, "block_size", OF_BLOCK);
  for (uint32_t i = 0; i < ROWS * COLUMNS; i++) want[i] = bias[i % COLUMNS];
  expand_run(&c, "MatMulNBits", 1, 1);
  expand_expect(&c, 0, want, DIMS(ROWS, COLUMNS), 0);
  close_expand_case(&c);
}

// What is asked for beyond the table is 0; negative ones count from its end.
static void rows_of_nibbles(void **state) {
  (void)state;
  enum { N = 3, K = 18, ASKED = 3 };
  const double index[ASKED] = {-1, 3, -4};
  expand_case c = open_expand_case();
  double codes[N * K], want[ASKED * K] = {0};
  c.domain = "com.microsoft";
  for (uint32_t i = 0; i < N * K; i++) codes[i] = (int)(i * 7 % 16) - 8;
  expand_operand(&c, SEER_DTYPE_I4, codes, DIMS(N, K));
  expand_operand(&c, SEER_DTYPE_I64, index, DIMS(ASKED));
  double *scale = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(N, BLOCKS));
  int_attr(&c, "block_size", OF_BLOCK);
  for (uint32_t k = 0; k < K; k++)
    want[k] = codes[(N - 1) * K + k] * scale[(N - 1) * BLOCKS + k / OF_BLOCK];
  expand_run(&c, "GatherBlockQuantized", 1, 1);
  expand_expect(&c, 0, want, DIMS(ASKED, K), 1e-6);
  close_expand_case(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nibbles_are_weights),
      cmocka_unit_test(nbits_says_what_does_not_fit),
      cmocka_unit_test(groups_of_nbits_are_blocks),
      cmocka_unit_test(omitted_weights_leave_the_bias),
      cmocka_unit_test(rows_of_nibbles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
