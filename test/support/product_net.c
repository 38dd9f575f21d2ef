// product_net.c - see product_net.h.
#include "support/product_net.h"

#include <inttypes.h>
#include <string.h>

#include "support/test.h"

seer_dag *product_net_build(const product_net *net, seer_arena *arena) {
  int64_t s = net->stride ? net->stride : 1;
  const char *weights = net->is_batched
      ? seer_arena_printf(arena, "%" PRId64 ", %" PRId64 ", %" PRId64, net->n, net->k, net->c)
      : net->is_turned ? seer_arena_printf(arena, "%" PRId64 ", %" PRId64, net->c, net->k)
                       : seer_arena_printf(arena, "%" PRId64 ", %" PRId64, net->k, net->c);
  const char *at = net->is_batched ? "n, k, c" : net->is_turned ? "c, k" : "k, c";
  const char *axes = seer_arena_printf(arena,
      "[n:batch<%" PRId64 ", y:y<%" PRId64 ", x:x<%" PRId64 ", c:out_channel<%" PRId64 "]", net->n,
      net->y, net->x, net->c);
  const char *text = seer_arena_printf(arena,
      "dag product { input $a f32[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
      "] weight $w f32[%s] weight $b f32[%" PRId64
      "] stage m role anchor %s sum[k:in_channel<%" PRId64 "] = $a[n, y * %" PRId64 ", x * %" PRId64
      ", k] * $w[%s]\n",
      net->n, (net->y - 1) * s + 1, (net->x - 1) * s + 1, net->k, weights, net->c, axes, net->k, s,
      s, at);
  text = seer_arena_printf(arena, "%s %s output $%s }", text,
      net->has_epilogue ? seer_arena_printf(arena,
                              "stage r role epilogue %s = max($m[n, y, x, c] + $b[c], 0.0)\n", axes)
                        : "",
      net->has_epilogue ? "r" : "m");
  seer_dag *dag = NULL;
  must(seer_dag_parse("product", text, strlen(text), arena, &dag));
  seer_dag_finish(dag);
  must(seer_dag_verify(dag));
  return dag;
}
