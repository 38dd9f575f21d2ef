// ConvTranspose against its definition: every input element times every weight is added to where it
// falls.
#include <string.h>

#include "op_case.h"

typedef struct {
  int64_t in[2], kernel[2], stride[2], dilation[2], pads[4], extra[2], channels, out, group;
  bool has_bias;
} layer;

static void run(const layer *l) {
  op_case *c = case_open("ConvTranspose", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(2, l->channels, l->in[0], l->in[1]));
  case_weight(c, SEER_DTYPE_F32, DIMS(l->channels, l->out / l->group, l->kernel[0], l->kernel[1]));
  if (l->has_bias) case_weight(c, SEER_DTYPE_F32, DIMS(l->out));
  case_ints(c, "strides", 2, l->stride);
  case_ints(c, "dilations", 2, l->dilation);
  case_ints(c, "pads", 4, l->pads);
  case_ints(c, "output_padding", 2, l->extra);
  case_i(c, "group", l->group);
  case_run(c);
  int64_t size[2];
  for (int d = 0; d < 2; d++)
    size[d] = l->stride[d] * (l->in[d] - 1) + l->extra[d] + (l->kernel[d] - 1) * l->dilation[d] +
        1 - l->pads[d] - l->pads[d + 2];
  expect_dims(&c->y[0], DIMS(2, l->out, size[0], size[1]));
  double *expected = new_values(c, 0);
  int64_t y_dim[4] = {2, l->out, size[0], size[1]}, at[4] = {0}, i = 0;
  do {
    expected[i++] = l->has_bias ? c->x[2].v[at[1]] : 0;
  } while (next_index(at, y_dim, 4));
  int64_t per_in = l->channels / l->group, per_out = l->out / l->group;
  int64_t all[6] = {2, l->channels, l->in[0], l->in[1], l->kernel[0], l->kernel[1]}, x[6] = {0};
  do {
    int64_t y = x[2] * l->stride[0] + x[4] * l->dilation[0] - l->pads[0];
    int64_t z = x[3] * l->stride[1] + x[5] * l->dilation[1] - l->pads[1];
    if (y < 0 || z < 0 || y >= size[0] || z >= size[1]) continue;
    for (int64_t m = 0; m < per_out; m++) {
      int64_t oc = x[1] / per_in * per_out + m;
      expected[((x[0] * l->out + oc) * size[0] + y) * size[1] + z] +=
          tensor_at4(&c->x[0], x[0], x[1], x[2], x[3]) * tensor_at4(&c->x[1], x[1], m, x[4], x[5]);
    }
  } while (next_index(x, all, 6));
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_layers(void **state) {
  (void)state;
  static const layer layers[] = {
      {{3, 4}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {0, 0}, 2, 3, 1, false},
      {{3, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2, 3, 1, true},
      {{4, 3}, {2, 4}, {2, 3}, {1, 1}, {0, 1, 1, 0}, {0, 1}, 4, 6, 2, true},
      {{3, 3}, {3, 2}, {1, 2}, {2, 2}, {2, 0, 1, 1}, {0, 0}, 3, 3, 3, false},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(layers); k++) run(&layers[k]);
}

static void test_output_shape(void **state) {
  (void)state;
  op_case *c = case_open("ConvTranspose", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 1, 3, 3));
  case_weight(c, SEER_DTYPE_F32, DIMS(1, 2, 3, 3));
  case_ints(c, "strides", 2, (int64_t[]){3, 2});
  case_ints(c, "output_shape", 2, (int64_t[]){10, 8});
  case_run(c);
  expect_dims(&c->y[0], DIMS(1, 2, 10, 8));
  case_close(c);
  c = case_open("ConvTranspose", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 2, 3, 3));
  case_weight(c, SEER_DTYPE_F32, DIMS(3, 2, 3, 3));
  case_expect_error(c, "dimension 0 like the 2 channels");
  case_close(c);
  c = case_open("ConvTranspose", 11);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 1, 2, 2));
  case_weight(c, SEER_DTYPE_F32, DIMS(1, 1, 2, 2));
  case_ints(c, "pads", 4, (int64_t[]){2, 2, 2, 2});
  case_expect_error(c, "output extent 0 is -1, must be at least 1");
  case_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layers),
      cmocka_unit_test(test_output_shape),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
