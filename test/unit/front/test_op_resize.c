// Resize against direct loops over one dimension at a time, coordinates in float as ONNX Runtime
// has them.
#include <math.h>
#include <string.h>

#include "op_case.h"

typedef struct {
  const char *mode, *transform, *nearest;
  double scale[2];
  bool by_sizes, cuts;
} form;

static float coordinate(const form *f, int64_t i, int64_t in, int64_t out, float scale) {
  float x = (float)i;
  if (strcmp(f->transform, "asymmetric") == 0) return x / scale;
  if (strcmp(f->transform, "align_corners") == 0)
    return out > 1 ? x * (float)(in - 1) / (float)(out - 1) : 0;
  if (strcmp(f->transform, "pytorch_half_pixel") == 0 && out == 1) return 0;
  if (strcmp(f->transform, "half_pixel_symmetric") == 0) {
    float offset = (float)in / 2 * (1 - (float)out / (scale * (float)in));
    return (float)((double)offset + ((double)x + 0.5) / (double)scale - 0.5);
  }
  return (x + 0.5f) / scale - 0.5f;
}

static double kernel(const form *f, double s) {
  s = fabs(s);
  if (strcmp(f->mode, "linear") == 0) return s < 1 ? 1 - s : 0;
  double a = -0.75;
  if (s <= 1) return (a + 2) * s * s * s - (a + 3) * s * s + 1;
  return s < 2 ? a * s * s * s - 5 * a * s * s + 8 * a * s - 4 * a : 0;
}

// Weights of the input's elements for output i.
static void weigh(const form *f, int64_t i, int64_t in, int64_t out, double scale, double *weight) {
  double x = (double)coordinate(f, i, in, out, (float)scale), sum = 0;
  for (int64_t k = 0; k < in; k++) weight[k] = 0;
  if (strcmp(f->mode, "nearest") == 0) {
    double at = strcmp(f->nearest, "floor") == 0       ? floor(x)
        : strcmp(f->nearest, "ceil") == 0              ? ceil(x)
        : strcmp(f->nearest, "round_prefer_ceil") == 0 ? floor(x + 0.5)
                                                       : ceil(x - 0.5);
    weight[(int64_t)fmin(fmax(at, 0), (double)(in - 1))] = 1;
    return;
  }
  for (int64_t k = (int64_t)floor(x) - 1; k <= (int64_t)floor(x) + 2; k++) {
    bool is_outside = k < 0 || k >= in;
    double w = is_outside && f->cuts ? 0 : kernel(f, x - (double)k);
    weight[k < 0 ? 0 : k >= in ? in - 1 : k] += w;
    sum += w;
  }
  for (int64_t k = 0; f->cuts && k < in; k++) weight[k] /= sum;
}

static void run(const form *f) {
  enum { H = 5, W = 4 };
  int64_t in[2] = {H, W}, out[2];
  op_case *c = case_open("Resize", 19);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 2, H, W));
  case_absent(c);
  for (int d = 0; d < 2; d++) out[d] = (int64_t)floor(f->scale[d] * (double)in[d]);
  if (f->by_sizes) {
    case_absent(c);
    case_const(c, SEER_DTYPE_I64, DIMS(4), (double[]){1, 2, (double)out[0], (double)out[1]});
  } else {
    case_const(c, SEER_DTYPE_F32, DIMS(4), (double[]){1, 1, f->scale[0], f->scale[1]});
  }
  case_s(c, "mode", f->mode);
  case_s(c, "coordinate_transformation_mode", f->transform);
  if (f->nearest) case_s(c, "nearest_mode", f->nearest);
  if (f->cuts) case_i(c, "exclude_outside", 1);
  case_run(c);
  expect_dims(&c->y[0], DIMS(1, 2, out[0], out[1]));
  double *expected = new_values(c, 0), wy[H], wx[W];
  int64_t at[4] = {0}, i = 0;
  do {
    for (int d = 0; d < 2; d++)
      weigh(f, at[d + 2], in[d], out[d], f->by_sizes ? (double)out[d] / (double)in[d] : f->scale[d],
          d ? wx : wy);
    for (int64_t y = 0; y < H; y++)
      for (int64_t x = 0; x < W; x++)
        expected[i] += wy[y] * wx[x] * tensor_at4(&c->x[0], 0, at[1], y, x);
    i++;
  } while (next_index(at, c->y[0].dim, 4));
  expect_values(c, 0, expected);
  case_close(c);
}

static void test_forms(void **state) {
  (void)state;
  static const char *const transforms[] = {
      "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"};
  static const char *const rounds[] = {"floor", "ceil", "round_prefer_ceil", "round_prefer_floor"};
  static const char *const modes[] = {"linear", "cubic"};
  static const double scales[][2] = {{2, 2}, {1.5, 2}, {0.5, 0.75}, {1, 3}, {0.25, 2}};
  for (size_t t = 0; t < SEER_COUNT_OF(transforms); t++) {
    for (size_t s = 0; s < SEER_COUNT_OF(scales); s++) {
      for (int by_sizes = 0; by_sizes < 2; by_sizes++) {
        form f = {NULL, transforms[t], NULL, {scales[s][0], scales[s][1]}, by_sizes, false};
        for (size_t m = 0; m < 2; m++) {
          f.mode = modes[m];
          for (int cuts = 0; cuts < 2; cuts++) {
            f.cuts = cuts;
            run(&f);
          }
        }
        f.cuts = false;
        f.mode = "nearest";
        for (size_t r = 0; r < SEER_COUNT_OF(rounds); r++) {
          f.nearest = rounds[r];
          run(&f);
        }
      }
    }
  }
}

// Opset 10 has no ways of rounding: what grows reads the element that it lies behind, what shrinks
// the next one.
static void test_nearest_of_opset_10(void **state) {
  (void)state;
  static const struct {
    double scale;
    int64_t in, out, from[9];
  } forms[] = {{1.8, 5, 9, {0, 0, 1, 1, 2, 2, 3, 3, 4}}, {0.625, 8, 5, {0, 2, 4, 5, 7}}};
  for (size_t k = 0; k < SEER_COUNT_OF(forms); k++) {
    op_case *c = case_open("Resize", 10);
    case_in(c, SEER_DTYPE_F32, DIMS(1, forms[k].in));
    case_const(c, SEER_DTYPE_F32, DIMS(2), (double[]){1, forms[k].scale});
    case_s(c, "mode", "nearest");
    case_run(c);
    expect_dims(&c->y[0], DIMS(1, forms[k].out));
    double *expected = new_values(c, 0);
    for (int64_t i = 0; i < forms[k].out; i++) expected[i] = c->x[0].v[forms[k].from[i]];
    expect_values(c, 0, expected);
    case_close(c);
  }
}

static void test_proportions_and_errors(void **state) {
  (void)state;
  for (int larger = 0; larger < 2; larger++) {
    op_case *c = case_open("Resize", 19);
    case_in(c, SEER_DTYPE_F32, DIMS(1, 1, 4, 2));
    case_absent(c);
    case_absent(c);
    case_const(c, SEER_DTYPE_I64, DIMS(2), (double[]){7, 8});
    case_ints(c, "axes", 2, (int64_t[]){2, 3});
    case_s(c, "keep_aspect_ratio_policy", larger ? "not_smaller" : "not_larger");
    case_run(c);
    expect_dims(&c->y[0], DIMS(1, 1, larger ? 16 : 7, larger ? 8 : 4));
    case_close(c);
  }
  op_case *c = case_open("Resize", 19);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 1, 4, 2));
  case_absent(c);
  case_const(c, SEER_DTYPE_F32, DIMS(3), (double[]){1, 1, 2});
  case_expect_error(c, "input 2 (scales) has 3 entries, must have 4 floats");
  case_close(c);
  c = case_open("Resize", 19);
  case_in(c, SEER_DTYPE_F32, DIMS(1, 1, 4, 2));
  case_absent(c);
  case_const(c, SEER_DTYPE_F32, DIMS(4), (double[]){1, 1, 0.1, 2});
  case_expect_error(c, "extent 2 becomes 0, must be at least 1");
  case_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_nearest_of_opset_10),
      cmocka_unit_test(test_proportions_and_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
