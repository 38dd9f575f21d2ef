// byte_net.c - see byte_net.h.
#include "support/byte_net.h"

#include <string.h>

#include "support/test.h"

static int64_t one_at_least(int64_t x) { return x ? x : 1; }

seer_dag *byte_net_build(const byte_net *net, seer_arena *arena) {
  long long k = one_at_least(net->window), s = one_at_least(net->stride), p = net->pad,
            g = one_at_least(net->groups), ic = net->ic / g, oc = net->oc / g, n = net->n,
            h = net->h, w = net->w, ph = h + 2 * p, pw = w + 2 * p, y = (ph - k) / s + 1,
            x = (pw - k) / s + 1, zero = net->zero;
  const char *type = net->is_signed ? "i8" : "u8", *read;
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(
      &text, "dag bytes { input $x %s[%lld, %lld, %lld, %lld]\n", type, n, h, w, g * ic);
  if (net->is_last)
    seer_text_printf(&text, "weight $w i8[%lld, %lld, %lld, %lld]\n", k, k, ic, g * oc);
  else
    seer_text_printf(&text, "weight $w i8[%lld, %lld, %lld, %lld]\n", g * oc, k, k, ic);
  if (net->has_epilogue)
    seer_text_printf(&text, "weight $c i32[%lld] weight $f f32[%lld]\n", g * oc, g * oc);
  const char *at =
      seer_arena_printf(arena, "n, y * %lld + ky, x * %lld + kx, %s", s, s, g > 1 ? "" : "ic");
  if (g > 1) at = seer_arena_printf(arena, "%sg * %lld + ic", at, ic);
  if (p > 0 && !net->is_guarded) {
    seer_text_printf(&text,
        "stage xp role pad [n<%lld, y<%lld, x<%lld, c<%lld] = $x[n, y - %lld, x - %lld, c] if "
        "(y >= %lld) & (y < %lld) & (x >= %lld) & (x < %lld) else %lld:%s\n",
        n, ph, pw, g * ic, p, p, p, h + p, p, w + p, zero, type);
    read = seer_arena_printf(arena, "$xp[%s]", at);
  } else if (p > 0) {
    at = seer_arena_printf(arena, "n, y * %lld + ky - %lld, x * %lld + kx - %lld, %s", s, p, s, p,
        g > 1 ? seer_arena_printf(arena, "g * %lld + ic", ic) : "ic");
    read = seer_arena_printf(arena,
        "($x[%s] if (y * %lld + ky >= %lld) & (y * %lld + ky < %lld) & (x * %lld + kx >= %lld) & "
        "(x * %lld + kx < %lld) else %lld:%s)",
        at, s, p, s, h + p, s, p, s, w + p, zero, type);
  } else {
    read = seer_arena_printf(arena, "$x[%s]", at);
  }
  if (net->is_signed) read = seer_arena_printf(arena, "cast.u8(%s) ^ 128:u8", read);
  const char *channel = g > 1 ? seer_arena_printf(arena, "g * %lld + oc", oc) : "oc";
  const char *w_at = net->is_last ? seer_arena_printf(arena, "ky, kx, ic, %s", channel)
                                  : seer_arena_printf(arena, "%s, ky, kx, ic", channel);
  const char *axes = g > 1
      ? seer_arena_printf(arena,
            "n:batch<%lld, y:y<%lld, x:x<%lld, g:group<%lld, oc:out_channel<%lld", n, y, x, g, oc)
      : seer_arena_printf(
            arena, "n:batch<%lld, y:y<%lld, x:x<%lld, oc:out_channel<%lld", n, y, x, oc);
  seer_text_printf(&text,
      "stage m role anchor [%s] sum[ky:ky<%lld, kx:kx<%lld, ic:in_channel<%lld] = cast.i32(%s) * "
      "cast.i32($w[%s])\n",
      axes, k, k, ic, read, w_at);
  if (net->has_epilogue)
    seer_text_printf(&text,
        "stage r role epilogue [%s] = cast.u8(min(max(round(cast.f32($m[n, y, x, %s] + $c[%s]) * "
        "$f[%s]) + 3.0, 0.0), 255.0))\n",
        axes, g > 1 ? "g, oc" : "oc", channel, channel);
  seer_text_printf(&text, "output $%s }", net->has_epilogue ? "r" : "m");
  seer_dag *dag = NULL;
  seer_status status = seer_dag_parse("bytes", text.data, strlen(text.data), arena, &dag);
  if (status) fail_msg("%s\n%s", seer_status_message(status), text.data);
  seer_dag_finish(dag);
  must(seer_dag_verify(dag));
  return dag;
}
