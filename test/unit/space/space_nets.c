// space_nets.c - the DAGs: real layers at their sizes, and small ones with prime extents.
#include "space_nets.h"

#include <string.h>

#include "support/test.h"
#include "support/test_target.h"

const space_net space_nets[] = {
    {"gemm_relu",
        "dag gemm_relu {\n"
        "  input $A f32[126, 768]\n"
        "  weight $B f32[768, 1000]\n"
        "  stage C role anchor [m:m<126, n:n<1000] sum[k:k<768] = $A[m, k] * $B[k, n]\n"
        "  stage relu role epilogue [m:m<126, n:n<1000] = max($C[m, n], 0.0)\n"
        "  output $relu\n"
        "}\n"},
    {"conv",
        "dag conv {\n"
        "  input $x f32[1, 56, 56, 64]\n"
        "  weight $w f32[64, 3, 3, 64]\n"
        "  weight $b f32[64]\n"
        "  stage pad role pad [n:batch<1, y:y<58, x:x<58, c:in_channel<64] ="
        " $x[n, y - 1, x - 1, c] if (y >= 1) & (y < 57) & ((x >= 1) & (x < 57)) else 0.0\n"
        "  stage conv role anchor [n:batch<1, y:y<56, x:x<56, oc:out_channel<64]"
        " sum[ky:ky<3, kx:kx<3, ic:in_channel<64] = $pad[n, y + ky, x + kx, ic] * $w[oc, ky, kx, "
        "ic]\n"
        "  stage bias role epilogue [n:batch<1, y:y<56, x:x<56, oc:out_channel<64] = $conv[n, y, "
        "x, oc] + $b[oc]\n"
        "  stage relu role epilogue [n:batch<1, y:y<56, x:x<56, oc:out_channel<64] = max($bias[n, "
        "y, x, oc], 0.0)\n"
        "  output $relu\n"
        "}\n"},
    {"conv_sibling",  // stride 2, a batch, other extents
        "dag conv {\n"
        "  input $x f32[2, 57, 57, 48]\n"
        "  weight $w f32[136, 3, 3, 48]\n"
        "  weight $b f32[136]\n"
        "  stage pad role pad [n:batch<2, y:y<59, x:x<59, c:in_channel<48] ="
        " $x[n, y - 1, x - 1, c] if (y >= 1) & (y < 58) & ((x >= 1) & (x < 58)) else 0.0\n"
        "  stage conv role anchor [n:batch<2, y:y<29, x:x<29, oc:out_channel<136]"
        " sum[ky:ky<3, kx:kx<3, ic:in_channel<48] = $pad[n, y * 2 + ky, x * 2 + kx, ic] * $w[oc, "
        "ky, kx, ic]\n"
        "  stage bias role epilogue [n:batch<2, y:y<29, x:x<29, oc:out_channel<136] = $conv[n, y, "
        "x, oc] + $b[oc]\n"
        "  stage relu role epilogue [n:batch<2, y:y<29, x:x<29, oc:out_channel<136] = max($bias[n, "
        "y, x, oc], 0.0)\n"
        "  output $relu\n"
        "}\n"},
    {"depthwise",
        "dag depthwise {\n"
        "  input $x f32[1, 28, 28, 96]\n"
        "  weight $w f32[3, 3, 96]\n"
        "  stage pad role pad [n:batch<1, y:y<30, x:x<30, c<96] ="
        " $x[n, y - 1, x - 1, c] if (y >= 1) & (y < 29) & ((x >= 1) & (x < 29)) else 0.0\n"
        "  stage dw role anchor [n:batch<1, y:y<28, x:x<28, c<96] sum[ky:ky<3, kx:kx<3] ="
        " $pad[n, y + ky, x + kx, c] * $w[ky, kx, c]\n"
        "  stage act role epilogue [n:batch<1, y:y<28, x:x<28, c<96] = max($dw[n, y, x, c], 0.0)\n"
        "  output $act\n"
        "}\n"},
    {"pool",
        "dag pool {\n"
        "  input $x f32[1, 28, 28, 30]\n"
        "  stage max role anchor [n:batch<1, y:y<14, x:x<14, c<30] max[ky:ky<2, kx:kx<2] ="
        " $x[n, y * 2 + ky, x * 2 + kx, c]\n"
        "  output $max\n"
        "}\n"},
    {"softmax",
        "dag softmax {\n"
        "  input $x f32[1, 1024]\n"
        "  stage mx role prologue [b<1] max[k<1024] = $x[b, k]\n"
        "  stage ex role prologue [b<1, k<1024] = exp($x[b, k] - $mx[b])\n"
        "  stage sm role anchor [b<1] sum[k<1024] = $ex[b, k]\n"
        "  stage out role epilogue [b<1, k<1024] = $ex[b, k] / $sm[b]\n"
        "  output $out\n"
        "}\n"},
    {"softmax_rows",
        "dag softmax {\n"
        "  input $x f32[126, 77]\n"
        "  stage mx role prologue [b<126] max[k<77] = $x[b, k]\n"
        "  stage ex role prologue [b<126, k<77] = exp($x[b, k] - $mx[b])\n"
        "  stage sm role anchor [b<126] sum[k<77] = $ex[b, k]\n"
        "  stage out role epilogue [b<126, k<77] = $ex[b, k] / $sm[b]\n"
        "  output $out\n"
        "}\n"},
    {"mean",
        "dag mean {\n"
        "  input $x f32[1, 7, 7, 1280]\n"
        "  stage sum role anchor [n:batch<1, c<1280] sum[y:y<7, x:x<7] = $x[n, y, x, c]\n"
        "  stage mean role epilogue [n:batch<1, c<1280] = $sum[n, c] * 0.02040816\n"
        "  output $mean\n"
        "}\n"},
    {"row_mean",
        "dag row_mean {\n"
        "  input $x f32[37, 1021]\n"
        "  stage sum role anchor [b<37] sum[k<1021] = $x[b, k] * $x[b, k]\n"
        "  stage mean role epilogue [b<37] = $sum[b] * 0.001\n"
        "  output $mean\n"
        "}\n"},
    {"matmul",
        "dag matmul {\n"
        "  input $A f32[512, 512]\n"
        "  input $B f32[512, 512]\n"
        "  stage C role anchor [m:m<512, n:n<512] sum[k:k<512] = $A[m, k] * $B[k, n]\n"
        "  output $C\n"
        "}\n"},
    {"matmul_8_8_512",
        "dag matmul {\n"
        "  input $A f32[8, 512]\n"
        "  input $B f32[512, 8]\n"
        "  stage C role anchor [m:m<8, n:n<8] sum[k:k<512] = $A[m, k] * $B[k, n]\n"
        "  output $C\n"
        "}\n"},
    {"chained_matmul",
        "dag chained {\n"
        "  input $A f32[512, 512]\n"
        "  input $B f32[512, 512]\n"
        "  input $C f32[512, 512]\n"
        "  stage D role anchor [m:m<512, n:n<512] sum[k:k<512] = $A[m, k] * $B[k, n]\n"
        "  stage E role anchor [m:m<512, n:n<512] sum[k:k<512] = $D[m, k] * $C[k, n]\n"
        "  output $E\n"
        "}\n"},
    {"conv_nchw",
        "dag conv_nchw {\n"
        "  input $x f32[1, 3, 32, 32]\n"
        "  weight $w f32[8, 3, 3, 3]\n"
        "  weight $b f32[8]\n"
        "  weight $s f32[8]\n"
        "  stage pad role pad [n:batch<1, c:in_channel<3, y:y<34, x:x<34] ="
        " $x[n, c, y - 1, x - 1] if (y >= 1) & (y < 33) & ((x >= 1) & (x < 33)) else 0.0\n"
        "  stage conv role anchor [n:batch<1, oc:out_channel<8, y:y<32, x:x<32]"
        " sum[ic:in_channel<3, ky:ky<3, kx:kx<3] = $pad[n, ic, y + ky, x + kx] * $w[oc, ic, ky, "
        "kx]\n"
        "  stage bias role epilogue [n:batch<1, oc:out_channel<8, y:y<32, x:x<32] = $conv[n, oc, "
        "y, x] + $b[oc]\n"
        "  stage bn role epilogue [n:batch<1, oc:out_channel<8, y:y<32, x:x<32] = $bias[n, oc, y, "
        "x] * $s[oc]\n"
        "  stage relu role epilogue [n:batch<1, oc:out_channel<8, y:y<32, x:x<32] = max($bn[n, oc, "
        "y, x], 0.0)\n"
        "  output $relu\n"
        "}\n"},
    {"min_rows",
        "dag min_rows {\n"
        "  input $A f32[10, 1024]\n"
        "  stage C role anchor [m<10] min[k<1024] = $A[m, k]\n"
        "  output $C\n"
        "}\n"},
    {"scalar_sum",
        "dag scalar_sum {\n"
        "  input $A f32[128]\n"
        "  stage C role anchor [] sum[k<128] = $A[k]\n"
        "  output $C\n"
        "}\n"},
    {"depthwise_pointwise",
        "dag dwpw {\n"
        "  input $x f32[1, 13, 13, 20]\n"
        "  weight $w f32[3, 3, 20]\n"
        "  weight $v f32[20, 24]\n"
        "  weight $b f32[24]\n"
        "  stage pad role pad [n:batch<1, y:y<15, x:x<15, c<20] ="
        " $x[n, y - 1, x - 1, c] if (y >= 1) & (y < 14) & ((x >= 1) & (x < 14)) else 0.0\n"
        "  stage dw role anchor [n:batch<1, y:y<13, x:x<13, c<20] sum[ky:ky<3, kx:kx<3] ="
        " $pad[n, y + ky, x + kx, c] * $w[ky, kx, c]\n"
        "  stage act role epilogue [n:batch<1, y:y<13, x:x<13, c<20] = max($dw[n, y, x, c], 0.0)\n"
        "  stage pw role anchor [n:batch<1, y:y<13, x:x<13, oc<24] sum[ic<20] = $act[n, y, x, ic] "
        "* $v[ic, oc]\n"
        "  stage out role epilogue [n:batch<1, y:y<13, x:x<13, oc<24] = $pw[n, y, x, oc] + $b[oc]\n"
        "  output $out\n"
        "}\n"},
    {"attention",  // both operands of both products are activations; K is read transposed
        "dag attention {\n"
        "  input $q f32[4, 33, 64]\n"
        "  input $k f32[4, 35, 64]\n"
        "  input $v f32[4, 35, 64]\n"
        "  stage s role anchor [h:head<4, i<33, j<35] sum[d<64] = $q[h, i, d] * $k[h, j, d]\n"
        "  stage mx role epilogue [h:head<4, i<33] max[j<35] = $s[h, i, j]\n"
        "  stage ex role epilogue [h:head<4, i<33, j<35] = exp($s[h, i, j] - $mx[h, i])\n"
        "  stage sm role epilogue [h:head<4, i<33] sum[j<35] = $ex[h, i, j]\n"
        "  stage o role anchor [h:head<4, i<33, d<64] sum[j<35] = $ex[h, i, j] * $v[h, j, d]\n"
        "  stage out role epilogue [h:head<4, i<33, d<64] = $o[h, i, d] / $sm[h, i]\n"
        "  output $out\n"
        "}\n"},
    {"bn_relu_conv",  // an elementwise prologue of a 1x1 convolution, rows 2 KiB apart
        "dag bn_relu_conv {\n"
        "  input $x f32[1, 7, 7, 512]\n"
        "  weight $s f32[512]\n"
        "  weight $w f32[512, 32]\n"
        "  stage scale role prologue [n:batch<1, y:y<7, x:x<7, c<512] = $x[n, y, x, c] * $s[c]\n"
        "  stage act role prologue [n:batch<1, y:y<7, x:x<7, c<512] = max($scale[n, y, x, c], "
        "0.0)\n"
        "  stage conv role anchor [n:batch<1, y:y<7, x:x<7, oc<32] sum[ic<512] = $act[n, y, x, ic] "
        "* $w[ic, oc]\n"
        "  output $conv\n"
        "}\n"},
    {"channels_first",  // whose rows lie along the axis before the image's
        "dag channels_first {\n"
        "  input $x f32[1, 17, 23, 40]\n"
        "  stage turned role prologue [n:batch<1, c<40, y:y<17, x:x<23] = $x[n, y, x, c]\n"
        "  stage act role epilogue [n:batch<1, c<40, y:y<17, x:x<23] = max($turned[n, c, y, x], "
        "0.0)\n"
        "  output $act\n"
        "}\n"},
    {"primes",  // two outputs, a transposing reshape, prime extents
        "dag primes {\n"
        "  input $A f32[13, 17]\n"
        "  weight $B f32[17, 11]\n"
        "  weight $c f32[11]\n"
        "  stage bias role pack [n<11] = $c[n] * 2.0\n"
        "  stage C role anchor [m:m<13, n:n<11] sum[k:k<17] = $A[m, k] * $B[k, n]\n"
        "  stage D role epilogue [m:m<13, n:n<11] = sigmoid($C[m, n] + $bias[n])\n"
        "  stage E role epilogue [m:m<13, n:n<11] = $D[m, n] * $C[m, n]\n"
        "  stage F role epilogue [i<143] = $E[i % 13, i / 13]\n"
        "  output $E\n"
        "  output $F\n"
        "}\n"},
};
const size_t space_nets_count = SEER_COUNT_OF(space_nets);

const char *space_net_text(const char *name) {
  for (size_t k = 0; k < space_nets_count; k++) {
    if (strcmp(space_nets[k].name, name) == 0) return space_nets[k].text;
  }
  fail_msg("no net %s", name);
  return NULL;
}

seer_dag *space_parse(seer_arena *arena, const char *text) {
  seer_dag *dag = NULL;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  must(seer_dag_verify(dag));
  return dag;
}

seer_target space_target(uint32_t threads) {
  seer_target target = test_target_wide;
  target.threads = threads;
  return target;
}

seer_sketch_list *space_sketches(
    seer_arena *arena, const seer_dag *dag, const seer_target *target, seer_space_kind space) {
  seer_sketch_list *list = NULL;
  must(seer_sketch_generate(dag, target, space, arena, &list));
  return list;
}

seer_sketch_list *space_net_sketches(seer_arena *arena, const char *name) {
  seer_target *target = SEER_NEW(arena, seer_target);
  *target = space_target(2);
  return space_sketches(arena, space_parse(arena, space_net_text(name)), target, SEER_SPACE_FULL);
}
