// cap.c - an operator of one's own: com.acme's Cap, each element of x but no more than `top`.
#include <seer/operator.h>

// When compiling: what comes out is of x's type and dimensions.
static int shape(seer_operator_call *call) {
  if (call->n_input != 1 || call->input[0].type != SEER_OPERATOR_F32)
    return seer_operator_fail(call, 1, "x must be f32");
  return seer_operator_same(call, 0, 0);
}

static int run(const seer_operator_call *call) {
  const float *x = (const float *)call->input[0].data;
  float *y = (float *)call->output[0].data;
  const float top = seer_operator_float(call, "top", 1);
  const int64_t n = seer_operator_elems(&call->input[0]);
  for (int64_t i = 0; i < n; i++) y[i] = x[i] < top ? x[i] : top;
  return 0;
}

SEER_OPERATORS({"com.acme", "Cap", shape, run, NULL})
