// ConvTranspose with strides, which is made of convolutions by parts of its kernel, against its
// definition: every input element times every weight is added to where it falls. One element is
// infinite: what no weight brings to an output does not become NaN there.
#include <math.h>

#include "expand_case.h"

typedef struct {
  int64_t in[2], kernel[2], stride[2], pads[4], extra[2], channels, out, group;
  bool has_bias;
} layer;

enum { BATCH = 2, MOST = 4096 };

static void expect_of(const layer *l, double *const x[3], const int64_t *size, double *out) {
  int64_t per_in = l->channels / l->group, per_out = l->out / l->group;
  for (int64_t i = 0; i < BATCH * l->out * size[0] * size[1]; i++)
    out[i] = l->has_bias ? x[2][i / (size[0] * size[1]) % l->out] : 0;
  int64_t n_x = BATCH * l->channels * l->in[0] * l->in[1];
  int64_t n_w = per_out * l->kernel[0] * l->kernel[1];
  for (int64_t i = 0; i < n_x; i++) {
    int64_t at[4] = {i / (l->channels * l->in[0] * l->in[1]),
        i / (l->in[0] * l->in[1]) % l->channels, i / l->in[1] % l->in[0], i % l->in[1]};
    for (int64_t k = 0; k < n_w; k++) {
      int64_t m = k / (l->kernel[0] * l->kernel[1]);
      int64_t y = at[2] * l->stride[0] + k / l->kernel[1] % l->kernel[0] - l->pads[0];
      int64_t z = at[3] * l->stride[1] + k % l->kernel[1] - l->pads[1];
      if (y < 0 || z < 0 || y >= size[0] || z >= size[1]) continue;
      int64_t channel = at[1] / per_in * per_out + m;
      out[((at[0] * l->out + channel) * size[0] + y) * size[1] + z] +=
          x[0][i] * x[1][at[1] * n_w + k];
    }
  }
}

static void run(const layer *l, bool is_infinite) {
  expand_case c = open_expand_case();
  double values[MOST], want[MOST], *x[3] = {0};
  int64_t n = BATCH * l->channels * l->in[0] * l->in[1], size[2];
  for (int64_t i = 0; i < n; i++) values[i] = (double)(i * 37 % 101) / 64 - 0.75;
  if (is_infinite) values[n / 3] = (double)INFINITY;
  x[0] = expand_operand(&c, SEER_DTYPE_F32, values, DIMS(BATCH, l->channels, l->in[0], l->in[1]));
  x[1] = expand_operand(
      &c, SEER_DTYPE_F32, NULL, DIMS(l->channels, l->out / l->group, l->kernel[0], l->kernel[1]));
  if (l->has_bias) x[2] = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(l->out));
  const seer_attr attr[4] = {{.name = "strides", .kind = SEER_ATTR_INTS, .ints = l->stride, .n = 2},
      {.name = "pads", .kind = SEER_ATTR_INTS, .ints = l->pads, .n = 4},
      {.name = "output_padding", .kind = SEER_ATTR_INTS, .ints = l->extra, .n = 2},
      {.name = "group", .kind = SEER_ATTR_INT, .i = l->group}};
  for (uint32_t k = 0; k < SEER_COUNT_OF(attr); k++) c.attr[c.n_attr++] = attr[k];
  for (int d = 0; d < 2; d++)
    size[d] =
        l->stride[d] * (l->in[d] - 1) + l->extra[d] + l->kernel[d] - l->pads[d] - l->pads[d + 2];
  assert_true(BATCH * l->out * size[0] * size[1] <= MOST);
  expand_run(&c, "ConvTranspose", 11, 1);
  expect_of(l, x, size, want);
  expand_expect(&c, 0, want, DIMS(BATCH, l->out, size[0], size[1]), 1e-5);
  close_expand_case(&c);
}

static void parts_of_kernels(void **state) {
  (void)state;
  static const layer layers[] = {
      // equally long parts: one convolution
      {{5, 4}, {4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}, 3, 5, 1, true},
      {{3, 4}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, 2, 3, 1, false},
      {{3, 5}, {6, 4}, {3, 2}, {4, 3, 5, 3}, {0, 0}, 4, 2, 2, true},
      {{4, 3}, {2, 3}, {2, 1}, {0, 2, 0, 1}, {1, 0}, 2, 2, 1, false},
      {{3, 3}, {4, 2}, {2, 2}, {0, 1, 3, 0}, {1, 1}, 3, 3, 3, true},
      // others: a convolution each
      {{4, 4}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 2, 3, 1, true},
      {{4, 4}, {5, 2}, {2, 2}, {3, 0, 2, 1}, {1, 1}, 2, 4, 2, true},
      {{3, 3}, {5, 4}, {2, 3}, {0, 2, 1, 0}, {0, 2}, 2, 2, 1, false},
      // a phase that meets nothing, and no strides: as the sum that it is
      {{3, 4}, {1, 2}, {2, 3}, {0, 0, 0, 0}, {1, 2}, 2, 2, 1, true},
      {{4, 4}, {3, 3}, {1, 1}, {1, 0, 1, 2}, {0, 0}, 2, 2, 1, true},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(layers); k++) {
    run(&layers[k], false);
    run(&layers[k], true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_of_kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
