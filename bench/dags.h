// dags.h - the DAGs of single kernels that benches look at, as text: as the graph passes make them
// from a network's inner layers, with rows at the distance that the layout pass gives them.
#ifndef BENCH_DAGS_H
#define BENCH_DAGS_H

#include <inttypes.h>

#include "base/arena.h"
#include "front/front.h"

// " pitch P" for rows of f32.
static inline const char *bench_pitch(seer_arena *arena, int64_t row) {
  return seer_arena_printf(arena, " pitch %" PRId64, seer_front_pitch(row, 4));
}

// Channels last, "same" padding, bias and relu.
static inline const char *bench_conv(
    seer_arena *arena, int64_t h, int64_t c, int64_t o, int64_t k, int64_t s) {
  int64_t pad = k / 2, out = (h + 2 * pad - k) / s + 1;
  const char *load = seer_arena_printf(
                 arena, "$x[n, y * %" PRId64 " + ky, x * %" PRId64 " + kx, ic]", s, s),
             *stage = "";
  if (pad > 0) {
    stage = seer_arena_printf(arena,
        "  stage pad role pad [n:batch<1, y:y<%" PRId64 ", x:x<%" PRId64 ", c:in_channel<%" PRId64
        "] = "
        "$x[n, y - %" PRId64 ", x - %" PRId64 ", c] if (y >= %" PRId64 ") & (y < %" PRId64
        ") & "
        "((x >= %" PRId64 ") & (x < %" PRId64 ")) else 0.0\n",
        h + 2 * pad, h + 2 * pad, c, pad, pad, pad, h + pad, pad, h + pad);
    load =
        seer_arena_printf(arena, "$pad[n, y * %" PRId64 " + ky, x * %" PRId64 " + kx, ic]", s, s);
  }
  const char *axes = seer_arena_printf(arena,
      "[n:batch<1, y:y<%" PRId64 ", x:x<%" PRId64 ", oc:out_channel<%" PRId64 "]", out, out, o);
  return seer_arena_printf(arena,
      "dag conv {\n  input $x f32[1, %" PRId64 ", %" PRId64 ", %" PRId64
      "]%s\n"
      "  weight $w f32[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
      "]\n  weight $b f32[%" PRId64
      "]\n%s"
      "  stage conv role anchor %s sum[ky:ky<%" PRId64 ", kx:kx<%" PRId64 ", ic:in_channel<%" PRId64
      "] = "
      "%s * $w[oc, ky, kx, ic]\n"
      "  stage relu role epilogue %s = max($conv[n, y, x, oc] + $b[oc], 0.0)\n"
      "  output $relu%s\n}\n",
      h, h, c, bench_pitch(arena, c), o, k, k, c, o, stage, axes, k, k, c, load, axes,
      bench_pitch(arena, o));
}

// Depthwise: one filter a channel, "same" padding, bias and relu.
static inline const char *bench_depthwise(
    seer_arena *arena, int64_t h, int64_t c, int64_t k, int64_t s) {
  int64_t pad = k / 2, out = (h + 2 * pad - k) / s + 1;
  return seer_arena_printf(arena,
      "dag depthwise {\n  input $x f32[1, %" PRId64 ", %" PRId64 ", %" PRId64
      "]%s\n  weight $w f32[%" PRId64 ", %" PRId64 ", %" PRId64 "]\n  weight $b f32[%" PRId64
      "]\n  stage pad role pad [n:batch<1, y:y<%" PRId64 ", x:x<%" PRId64 ", c:in_channel<%" PRId64
      "] = $x[n, y - %" PRId64 ", x - %" PRId64 ", c] if (y >= %" PRId64 ") & (y < %" PRId64
      ") & ((x >= %" PRId64 ") & (x < %" PRId64
      ")) else 0.0\n  stage conv role anchor [n:batch<1, y:y<%" PRId64 ", x:x<%" PRId64
      ", c:out_channel<%" PRId64 "] sum[ky:ky<%" PRId64 ", kx:kx<%" PRId64
      "] = $pad[n, y * %" PRId64 " + ky, x * %" PRId64
      " + kx, c] * $w[ky, kx, c]\n  stage relu role epilogue [n:batch<1, y:y<%" PRId64
      ", x:x<%" PRId64 ", c:out_channel<%" PRId64
      "] = max($conv[n, y, x, c] + $b[c], 0.0)\n  output $relu%s\n}\n",
      h, h, c, bench_pitch(arena, c), k, k, c, c, h + 2 * pad, h + 2 * pad, c, pad, pad, pad, h + pad, pad, h + pad, out,
      out, c, k, k, s, s, out, out, c, bench_pitch(arena, c));
}

static inline const char *bench_gemm(seer_arena *arena, int64_t m, int64_t n, int64_t k) {
  return seer_arena_printf(arena,
      "dag gemm {\n  input $A f32[%" PRId64 ", %" PRId64 "]%s\n  weight $B f32[%" PRId64 ", %" PRId64
      "]\n"
      "  stage C role anchor [m:m<%" PRId64 ", n:n<%" PRId64 "] sum[k:k<%" PRId64
      "] = $A[m, k] * $B[k, n]\n"
      "  output $C%s\n}\n",
      m, k, bench_pitch(arena, k), k, n, m, n, k, bench_pitch(arena, n));
}

// u8 by constant i8 with a constant, a factor and rounding back to u8 behind it, as an integer
// network's layers become.
static inline const char *bench_requantised(
    seer_arena *arena, const char *axes, const char *at, const char *channel) {
  return seer_arena_printf(arena,
      "  stage y role epilogue [%s] = cast.u8(min(max(round(cast.f32($sum[%s] + $c[%s]) * $f[%s]) "
      "+ 3.0, 0.0), 255.0))\n  output $y\n}\n",
      axes, at, channel, channel);
}

static inline const char *bench_bytes_gemm(seer_arena *arena, int64_t m, int64_t n, int64_t k) {
  const char *axes = seer_arena_printf(arena, "m:m<%" PRId64 ", n:n<%" PRId64, m, n);
  return seer_arena_printf(arena,
      "dag bytes {\n  input $x u8[%" PRId64 ", %" PRId64 "]\n  weight $w i8[%" PRId64 ", %" PRId64
      "]\n  weight $c i32[%" PRId64 "]\n  weight $f f32[%" PRId64
      "]\n  stage sum role anchor [%s] sum[k:k<%" PRId64
      "] = cast.i32($x[m, k]) * cast.i32($w[k, n])\n%s",
      m, k, k, n, n, n, axes, k, bench_requantised(arena, axes, "m, n", "n"));
}

// Channels last, "same" padding by a zero point.
static inline const char *bench_bytes(
    seer_arena *arena, int64_t h, int64_t c, int64_t o, int64_t k, int64_t s) {
  int64_t pad = k / 2, out = (h + 2 * pad - k) / s + 1;
  const char *stage = "", *from = pad > 0 ? "pad" : "x";
  if (pad > 0)
    stage = seer_arena_printf(arena,
        "  stage pad role pad [n:batch<1, y:y<%" PRId64 ", x:x<%" PRId64 ", c:in_channel<%" PRId64
        "] = $x[n, y - %" PRId64 ", x - %" PRId64 ", c] if (y >= %" PRId64 ") & (y < %" PRId64
        ") & ((x >= %" PRId64 ") & (x < %" PRId64 ")) else 128:u8\n",
        h + 2 * pad, h + 2 * pad, c, pad, pad, pad, h + pad, pad, h + pad);
  const char *axes = seer_arena_printf(arena,
      "n:batch<1, y:y<%" PRId64 ", x:x<%" PRId64 ", oc:out_channel<%" PRId64, out, out, o);
  return seer_arena_printf(arena,
      "dag bytes {\n  input $x u8[1, %" PRId64 ", %" PRId64 ", %" PRId64 "]\n  weight $w i8[%" PRId64
      ", %" PRId64 ", %" PRId64 ", %" PRId64 "]\n  weight $c i32[%" PRId64 "]\n  weight $f f32[%" PRId64
      "]\n%s  stage sum role anchor [%s] sum[ky:ky<%" PRId64 ", kx:kx<%" PRId64
      ", ic:in_channel<%" PRId64 "] = cast.i32($%s[n, y * %" PRId64 " + ky, x * %" PRId64
      " + kx, ic]) * cast.i32($w[oc, ky, kx, ic])\n%s",
      h, h, c, o, k, k, c, o, o, stage, axes, k, k, c, from, s, s,
      bench_requantised(arena, axes, "n, y, x, oc", "oc"));
}

#endif
