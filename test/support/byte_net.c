// byte_net.c - see byte_net.h.
#include "support/byte_net.h"

#include <string.h>

#include "support/test.h"

static int64_t one_at_least(int64_t x) { return x ? x : 1; }

// Indices or axes of x.
static const char *place(
    const byte_net *net, const char *y, const char *x, const char *c, seer_arena *arena) {
  return net->is_nchw ? seer_arena_printf(arena, "%s, %s, %s", c, y, x)
                      : seer_arena_printf(arena, "%s, %s, %s", y, x, c);
}

static const char *number(int64_t n, seer_arena *arena) {
  return seer_arena_printf(arena, "%lld", (long long)n);
}

// x[..] from the padding, from below a guard, or as it is.
static const char *read_of(const byte_net *net, const char *channel, seer_arena *arena) {
  long long s = one_at_least(net->stride), p = net->pad;
  const char *y = seer_arena_printf(arena, "y * %lld + ky", s),
             *x = seer_arena_printf(arena, "x * %lld + kx", s);
  const char *type = net->is_signed ? "i8" : "u8";
  if (p == 0 || !net->is_guarded)
    return seer_arena_printf(
        arena, "$%s[n, %s]", p > 0 ? "xp" : "x", place(net, y, x, channel, arena));
  const char *in_y = seer_arena_printf(arena, "%s - %lld", y, p),
             *in_x = seer_arena_printf(arena, "%s - %lld", x, p);
  return seer_arena_printf(arena,
      "($x[n, %s] if (%s >= %lld) & (%s < %lld) & (%s >= %lld) & (%s < %lld) else %lld:%s)",
      place(net, in_y, in_x, channel, arena), y, p, y, (long long)net->h + p, x, p, x,
      (long long)net->w + p, (long long)net->zero, type);
}

static void put_padding(const byte_net *net, seer_text *text, seer_arena *arena) {
  long long p = net->pad, h = net->h, w = net->w;
  const char *y = seer_arena_printf(arena, "y<%lld", h + 2 * p),
             *x = seer_arena_printf(arena, "x<%lld", w + 2 * p),
             *c = seer_arena_printf(arena, "c<%lld", (long long)net->ic);
  const char *in_y = seer_arena_printf(arena, "y - %lld", p),
             *in_x = seer_arena_printf(arena, "x - %lld", p);
  seer_text_printf(text,
      "stage xp role pad [n<%lld, %s] = $x[n, %s] if (y >= %lld) & (y < %lld) & (x >= %lld) & (x < "
      "%lld) else %lld:%s\n",
      (long long)net->n, place(net, y, x, c, arena), place(net, in_y, in_x, "c", arena), p, h + p,
      p, w + p, (long long)net->zero, net->is_signed ? "i8" : "u8");
}

seer_dag *byte_net_build(const byte_net *net, seer_arena *arena) {
  long long k = one_at_least(net->window), s = one_at_least(net->stride), p = net->pad,
            g = one_at_least(net->groups), ic = net->ic / g, oc = net->oc / g,
            y = (net->h + 2 * p - k) / s + 1, x = (net->w + 2 * p - k) / s + 1;
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text, "dag bytes { input $x %s[%lld, %s]\n", net->is_signed ? "i8" : "u8",
      (long long)net->n,
      place(net, number(net->h, arena), number(net->w, arena), number(net->ic, arena), arena));
  if (net->is_last)
    seer_text_printf(&text, "weight $w i8[%lld, %lld, %lld, %lld]\n", k, k, ic, g * oc);
  else
    seer_text_printf(&text, "weight $w i8[%lld, %lld, %lld, %lld]\n", g * oc, k, k, ic);
  if (net->has_epilogue)
    seer_text_printf(&text, "weight $c i32[%lld] weight $f f32[%lld]\n", g * oc, g * oc);
  if (p > 0 && !net->is_guarded) put_padding(net, &text, arena);
  const char *channel = g > 1 ? seer_arena_printf(arena, "g * %lld + oc", oc) : "oc";
  const char *read =
      read_of(net, g > 1 ? seer_arena_printf(arena, "g * %lld + ic", ic) : "ic", arena);
  if (net->is_signed) read = seer_arena_printf(arena, "cast.u8(%s) ^ 128:u8", read);
  const char *w_at = net->is_last ? seer_arena_printf(arena, "ky, kx, ic, %s", channel)
                                  : seer_arena_printf(arena, "%s, ky, kx, ic", channel);
  const char *group = g > 1 ? seer_arena_printf(arena, "g:group<%lld, ", g) : "";
  const char *axes =
      seer_arena_printf(arena, "n:batch<%lld, y:y<%lld, x:x<%lld, %soc:out_channel<%lld",
          (long long)net->n, y, x, group, oc);
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
