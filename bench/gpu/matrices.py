"""Prints CUDA C of products on tensor cores: `mma.sync` (sm_80 and later) or `wgmma` (sm_90a), f32 sums.

A block program as in kernels.py: S0 grid | R0 serial, its tiles copied asynchronously some steps ahead | warps. A step is a row
of `row` bytes (64 or 128) for each of A's and B's lines, in groups of 16 bytes that change places by line, so that eight lines
are read without a conflict; B's weights are packed so already: their fetch is a copy. Types differ by instruction and size alone:
32 bytes of a row are the depth of one instruction (16 of f16 and bf16, 8 of tf32).

Knobs: unit ("mma" or "wgmma"), type, tile [m, n], warps [m, n] (wgmma: warpgroups of 64 rows, and 1), row, stages, split, copy
("async"; wgmma also "bulk": B's tile as one copy on a barrier in memory; "tensor": A's too, by a tensor map, both asked for by a
warp that does nothing else), order ("m" or "n": neighbouring blocks), early (a kernel begins, and fetches its first weights, while
the one before still runs).
"""
PRELUDE = r"""
#define ITEM ((int)threadIdx.x)
#define GROUP ((int)blockIdx.x)
static __device__ __forceinline__ unsigned address(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }
static __device__ __forceinline__ void copy_async(unsigned to, const void *from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0));
}
static __device__ __forceinline__ void load_matrices(unsigned *r, unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}
static __device__ __forceinline__ unsigned pair_f16(float x, float y) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
  return r;
}
static __device__ __forceinline__ unsigned pair_bf16(float x, float y) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
  return r;
}
// Until a phase of a barrier in memory is over. At a block's scope, as arrivals: a cluster's costs a fence each time, 1.4 times the kernel.
static __device__ __forceinline__ void wait_phase(unsigned barrier, int phase) {
#if __CUDA_ARCH__ >= 900
  unsigned done = 0;
  for (int i = 0; !done && i < 1 << 22; i++)  // a fault ends in wrong numbers, not in a hang
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(barrier), "r"(phase) : "memory");
#endif
}
static __device__ __forceinline__ void let_others_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
static __device__ __forceinline__ void after_others() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
"""
SIZES = {"f16": 2, "bf16": 2, "tf32": 4}


def swizzle(row):
    """How a group of 16 bytes changes places by its line, as C."""
    return "(group ^ (line & 7))" if row == 128 else "(group ^ (line >> 1 & 3))"


def sizes(shape, knobs):
    """(depth of a step, steps in all, steps of a part, blocks along m, along n)"""
    depth = depth_of(knobs)
    steps = -(-shape["k"] // depth)
    return depth, steps, -(-steps // knobs["split"]), -(-shape["m"] // knobs["tile"][0]), -(-shape["n"] // knobs["tile"][1])


def depth_of(knobs):
    return knobs["row"] // SIZES[knobs["type"]]


def shared_bytes(knobs):
    return knobs["stages"] * sum(knobs["tile"]) * knobs["row"] + 1024 + 128


def refused(shape, knobs):
    tile, warps = knobs["tile"], knobs["warps"]
    depth, steps, part_steps, _, _ = sizes(shape, knobs)
    if shape["n"] % tile[1] or shape["k"] % depth or steps % knobs["split"] or tile[0] > max(shape["m"], 32):
        return "extents"
    if shared_bytes(knobs) > 227 * 1024:
        return "shared bytes"
    if part_steps < knobs["stages"]:
        return "stages"
    if knobs["unit"] == "mma":
        own = tile[0] // warps[0], tile[1] // warps[1]
        if tile[0] % (16 * warps[0]) or tile[1] % (16 * warps[1]) or own[0] * own[1] // 32 > 128 or knobs["copy"] != "async":
            return "tile of a warp"
        if warps[0] * warps[1] > 16:
            return "items"
    elif tile[0] != 64 * warps[0] or warps[1] != 1 or knobs["row"] != 128 or knobs["stages"] < 3:
        return "tile of a warpgroup"
    elif (tile[1] // 2 + 40) * threads(knobs) > 65536:
        return "registers"
    if knobs["copy"] == "tensor":
        return None
    items = threads(knobs)
    if tile[0] * knobs["row"] // 16 % items or tile[1] * knobs["row"] // 16 % items:
        return "fetch"
    return None


def threads(knobs):
    return knobs["warps"][0] * knobs["warps"][1] * (32 if knobs["unit"] == "mma" else 128) + (32 if knobs["copy"] == "tensor" else 0)


def constants(shape, knobs):
    depth, steps, part_steps, blocks_m, blocks_n = sizes(shape, knobs)
    values = {"M": shape["m"], "N": shape["n"], "K": shape["k"], "SIZE": SIZES[knobs["type"]], "TILE_M": knobs["tile"][0],
              "TILE_N": knobs["tile"][1], "WARPS_M": knobs["warps"][0], "WARPS_N": knobs["warps"][1], "ROW": knobs["row"],
              "DEPTH": depth, "STEPS": steps, "PART_STEPS": part_steps, "BLOCKS_M": blocks_m, "BLOCKS_N": blocks_n,
              "STAGES": knobs["stages"], "ITEMS": threads(knobs), "SPLIT": knobs["split"], "BULK": int(knobs["copy"] != "async"),
              "EARLY": knobs["early"],
              "AHEAD": knobs["stages"] - (1 if knobs["unit"] == "mma" else 2)}
    return "".join(f"constexpr int {name} = {value};\n" for name, value in values.items())


FETCH = r"""
static __device__ __forceinline__ int place(int line, int group) { return line * ROW + @SWIZZLE@ * 16; }
constexpr int STAGE_BYTES = (TILE_M + TILE_N) * ROW;
// Step `step` of A's lines into stage `to`.
static __device__ __forceinline__ void fetch_a(unsigned pool, int to, int step, int group_m, const char *a) {
#pragma unroll
  for (int trip = 0; trip < TILE_M * ROW / 16 / ITEMS; trip++) {
    const int flat = trip * ITEMS + ITEM, line = flat / (ROW / 16), group = flat % (ROW / 16), m = group_m * TILE_M + line;
    copy_async(pool + to * STAGE_BYTES + place(line, group), a + ((long long)m * K * SIZE + step * ROW + group * 16),
               M % TILE_M == 0 || m < M);
  }
}
// Of B's.
static __device__ __forceinline__ void expect(unsigned full, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"(bytes) : "memory");
#endif
}
static __device__ __forceinline__ void bulk_copy(unsigned full, unsigned b_to, const char *from) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(b_to), "l"(from),
               "r"(TILE_N * ROW), "r"(full) : "memory");
#endif
}
static __device__ __forceinline__ void fetch_b(unsigned pool, unsigned barriers, int to, int step, int group_n, const char *b) {
  const unsigned b_to = pool + to * STAGE_BYTES + TILE_M * ROW, full = barriers + to * 8;
  const char *from = b + (long long)(group_n * STEPS + step) * TILE_N * ROW;
  if (BULK) {
    if (ITEM != 0) return;
    expect(full, TILE_N * ROW);
    bulk_copy(full, b_to, from);
    return;
  }
#pragma unroll
  for (int trip = 0; trip < TILE_N * ROW / 16 / ITEMS; trip++) {
    const int flat = trip * ITEMS + ITEM;
    copy_async(b_to + flat * 16, from + flat * 16, true);
  }
}
// The first steps; the weights' before the kernels before this one have ended.
static __device__ __forceinline__ void fetch_first(unsigned pool, unsigned barriers, int begin, int group_m, int group_n, const char *a,
                                                   const char *b) {
  for (int to = 0; to < AHEAD; to++) fetch_b(pool, barriers, to, begin + to, group_n, b);
  if (EARLY) after_others();
  for (int to = 0; to < AHEAD; to++) {
    fetch_a(pool, to, begin + to, group_m, a);
    asm volatile("cp.async.commit_group;");
  }
}
static __device__ __forceinline__ void fetch_ahead(unsigned pool, unsigned barriers, int at, int begin, int group_m, int group_n,
                                                   const char *a, const char *b) {
  if (at < PART_STEPS) {
    fetch_a(pool, at % STAGES, begin + at, group_m, a);
    fetch_b(pool, barriers, at % STAGES, begin + at, group_n, b);
  }
  asm volatile("cp.async.commit_group;");
}
// Two sums that follow one another in a row of C; in f32 where parts of K are summed later.
static __device__ __forceinline__ void store_pair(char *c, int part, int m, int n, float x, float y) {
  if (M % TILE_M != 0 && m >= M) return;
  const long long at = (long long)m * N + n;
  if (SPLIT > 1 || SIZE == 4)
    *(float2 *)(c + ((long long)part * M * N + at) * 4) = make_float2(x, y);
  else
    *(unsigned *)(c + at * 2) = @PAIR@(x, y);
}
"""

HEAD = r"""
extern "C" __global__ void __launch_bounds__(ITEMS) seer_kernel(const char *__restrict__ a, const char *__restrict__ b, char *__restrict__ c@MAP@) {
  extern __shared__ char shared[];
  if (EARLY) let_others_begin();
  const unsigned pool = (address(shared) + 1023) & ~1023u, barriers = pool + STAGES * STAGE_BYTES;
  const int group_m = @GROUP_M@, group_n = @GROUP_N@, part = GROUP / (BLOCKS_M * BLOCKS_N);
  const int begin = part * PART_STEPS, warp = ITEM / 32, lane = ITEM % 32;
"""

MMA = HEAD + r"""
  constexpr int LINES = TILE_M / WARPS_M, COLUMNS = TILE_N / WARPS_N;
  const int warp_m = warp / WARPS_N * LINES, warp_n = warp % WARPS_N * COLUMNS;
  float sum[LINES / 16][COLUMNS / 8][4] = {};
  fetch_first(pool, barriers, begin, group_m, group_n, a, b);
  for (int at = 0; at < PART_STEPS; at++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1));
    __syncthreads();
    fetch_ahead(pool, barriers, at + AHEAD, begin, group_m, group_n, a, b);
    const unsigned a_from = pool + at % STAGES * STAGE_BYTES, b_from = a_from + TILE_M * ROW;
#pragma unroll
    for (int k = 0; k < ROW / 32; k++) {
      unsigned own_a[LINES / 16][4], own_b[COLUMNS / 16][4];
#pragma unroll
      for (int i = 0; i < LINES / 16; i++) load_matrices(own_a[i], a_from + place(warp_m + i * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < COLUMNS / 16; j++)
        load_matrices(own_b[j], b_from + place(warp_n + j * 16 + lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < LINES / 16; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; j++) {
          float *d = sum[i][j];
          asm volatile("mma.sync.aligned.@SHAPE@ {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                       : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                       : "r"(own_a[i][0]), "r"(own_a[i][1]), "r"(own_a[i][2]), "r"(own_a[i][3]), "r"(own_b[j / 2][j % 2 * 2]),
                         "r"(own_b[j / 2][j % 2 * 2 + 1]));
        }
    }
  }
#pragma unroll
  for (int i = 0; i < LINES / 16; i++)
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j++) {
      const int m = group_m * TILE_M + warp_m + i * 16 + lane / 4, n = group_n * TILE_N + warp_n + j * 8 + lane % 4 * 2;
      store_pair(c, part, m, n, sum[i][j][0], sum[i][j][1]);
      store_pair(c, part, m + 8, n, sum[i][j][2], sum[i][j][3]);
    }
}
"""

WGMMA_HEAD = r"""
// Of each stage: its copies have come, and all warps have read it.
static __device__ __forceinline__ void begin_barriers(unsigned barriers) {
#if __CUDA_ARCH__ >= 900
  if (ITEM < 2 * STAGES)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barriers + ITEM * 8), "r"(ITEM < STAGES ? 1 : WARPS_M * 4));
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  __syncthreads();
#endif
}
// This warp has read a stage.
static __device__ __forceinline__ void release(unsigned empty, int lane) {
#if __CUDA_ARCH__ >= 900
  if (lane == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty) : "memory");
#endif
}
"""

PRODUCTS = r"""    const unsigned a_from = pool + at % STAGES * STAGE_BYTES + warpgroup * 64 * ROW;
    const unsigned b_from = pool + at % STAGES * STAGE_BYTES + TILE_M * ROW;
    // 128 bytes swizzled, eight lines 1024 bytes apart.
    const unsigned long long form = 1ull << 62 | 64ull << 32 | 1ull << 16;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const unsigned long long a_form = form | (a_from + k * 32) >> 4, b_form = form | (b_from + k * 32) >> 4;
      asm volatile("wgmma.mma_async.sync.aligned.@SHAPE@ {@SUMS@}, %@A@, %@B@, 1, 1, 1@TAIL@;"
                   : @OUTPUTS@ : "l"(a_form), "l"(b_form));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");"""

STORES = r"""#pragma unroll
  for (int i = 0; i < TILE_N / 2; i++) asm volatile("" : "+f"(sum[i])::"memory");
#pragma unroll
  for (int j = 0; j < TILE_N / 8; j++) {
    const int m = group_m * TILE_M + warpgroup * 64 + warp % 4 * 16 + lane / 4, n = group_n * TILE_N + j * 8 + lane % 4 * 2;
    store_pair(c, part, m, n, sum[j * 4], sum[j * 4 + 1]);
    store_pair(c, part, m + 8, n, sum[j * 4 + 2], sum[j * 4 + 3]);
  }"""

# A step's copies were waited for by all before its products; the stage of the step before the last is then free.
WGMMA = WGMMA_HEAD + HEAD + r"""
  const int warpgroup = warp / 4;
  float sum[TILE_N / 2] = {};
  if (BULK) begin_barriers(barriers);
  fetch_first(pool, barriers, begin, group_m, group_n, a, b);
  for (int at = 0; at < PART_STEPS; at++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    fetch_ahead(pool, barriers, at + AHEAD, begin, group_m, group_n, a, b);
    if (BULK) wait_phase(barriers + at % STAGES * 8, at / STAGES % 2);
@PRODUCTS@
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
@STORES@
}
"""

# The last warp asks for all copies; the others wait for those alone, and say what they have read.
PRODUCER = """
struct __align__(64) tensor_map {
  char bytes[128];
};
static __device__ __forceinline__ void tensor_copy(unsigned full, unsigned to, const void *map, int x, int y) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
               "l"(map), "r"(x), "r"(y), "r"(full) : "memory");
#endif
}
""" + WGMMA_HEAD + HEAD + r"""
  const int warpgroup = warp / 4;
  float sum[TILE_N / 2] = {};
  begin_barriers(barriers);
  if (warp == WARPS_M * 4) {
    if (lane == 0) {
      const char *b_from = b + (long long)(group_n * STEPS + begin) * TILE_N * ROW;
      constexpr int FIRST = PART_STEPS < STAGES ? PART_STEPS : STAGES;
      for (int at = 0; at < FIRST; at++) {
        expect(barriers + at * 8, STAGE_BYTES);
        bulk_copy(barriers + at * 8, pool + at * STAGE_BYTES + TILE_M * ROW, b_from + (long long)at * TILE_N * ROW);
      }
      if (EARLY) after_others();
      for (int at = 0; at < FIRST; at++)
        tensor_copy(barriers + at * 8, pool + at * STAGE_BYTES, &a_map, (begin + at) * DEPTH, group_m * TILE_M);
      for (int at = FIRST; at < PART_STEPS; at++) {
        const unsigned full = barriers + at % STAGES * 8, to = pool + at % STAGES * STAGE_BYTES;
        wait_phase(full + STAGES * 8, (at / STAGES - 1) % 2);
        expect(full, STAGE_BYTES);
        bulk_copy(full, to + TILE_M * ROW, b_from + (long long)at * TILE_N * ROW);
        tensor_copy(full, to, &a_map, (begin + at) * DEPTH, group_m * TILE_M);
      }
    }
    return;
  }
  for (int at = 0; at < PART_STEPS; at++) {
    wait_phase(barriers + at % STAGES * 8, at / STAGES % 2);
@PRODUCTS@
    if (at > 0) release(barriers + (STAGES + (at - 1) % STAGES) * 8, lane);
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
@STORES@
}
"""

SECOND = r"""
extern "C" __global__ void __launch_bounds__(256) seer_kernel_second(const float4 *__restrict__ parts, const float *, char *__restrict__ c) {
  const int at = GROUP * 256 + ITEM;
  if (EARLY) let_others_begin(), after_others();
  if (at >= M * N / 4) return;
  float4 sum = parts[at];
#pragma unroll
  for (int part = 1; part < SPLIT; part++) {
    const float4 more = parts[(long long)part * (M * N / 4) + at];
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  if (SIZE == 4)
    ((float4 *)c)[at] = sum;
  else
    ((uint2 *)c)[at] = make_uint2(@PAIR@(sum.x, sum.y), @PAIR@(sum.z, sum.w));
}
"""


def print_kernel(shape, knobs):
    """The kernel with its prelude; a dict as kernels.py's."""
    kind, depth = knobs["type"], 32 // SIZES[knobs["type"]]
    form = MMA if knobs["unit"] == "mma" else PRODUCER if knobs["copy"] == "tensor" else WGMMA
    text = PRELUDE + constants(shape, knobs) + FETCH + form + (SECOND if knobs["split"] > 1 else "")
    text = text.replace("@PRODUCTS@", PRODUCTS).replace("@STORES@", STORES)
    n_sums = knobs["tile"][1] // 2
    shape_of = (f"m16n8k{depth}.row.col" if knobs["unit"] == "mma" else f"m64n{knobs['tile'][1]}k{depth}") + f".f32.{kind}.{kind}"
    by_m = knobs["order"] == "m"
    for name, value in {
            "MAP": ", const __grid_constant__ tensor_map a_map" if knobs["copy"] == "tensor" else "",
            "SWIZZLE": swizzle(knobs["row"]), "PAIR": "pair_bf16" if kind == "bf16" else "pair_f16",
            "GROUP_M": "GROUP % BLOCKS_M" if by_m else "GROUP / BLOCKS_N % BLOCKS_M",
            "GROUP_N": "GROUP / BLOCKS_M % BLOCKS_N" if by_m else "GROUP % BLOCKS_N",
            "SHAPE": shape_of + (".f32" if knobs["unit"] == "mma" else ""), "SUMS": ",".join(f"%{i}" for i in range(n_sums)),
            "A": str(n_sums), "B": str(n_sums + 1), "TAIL": ", 0, 0" if kind != "tf32" else "",
            "OUTPUTS": ", ".join(f'"+f"(sum[{i}])' for i in range(n_sums))}.items():
        text = text.replace(f"@{name}@", value)
    _, _, _, blocks_m, blocks_n = sizes(shape, knobs)
    second = None
    if knobs["split"] > 1:
        second = {"name": "seer_kernel_second", "block": 256, "shared": 0, "grid": -(-shape["m"] * shape["n"] // 1024), "early": knobs["early"]}
    return {"text": text, "name": "seer_kernel", "block": threads(knobs), "shared": shared_bytes(knobs),
            "grid": blocks_m * blocks_n * knobs["split"], "second": second, "early": knobs["early"],
            "map": (shape["m"], shape["k"], knobs["tile"][0], depth_of(knobs), knobs["type"]) if knobs["copy"] == "tensor" else None}


def pack(shape, knobs, b):
    """Weights [N][K], a tensor, as [block of n][step][line][row], groups of 16 bytes where the kernel has them."""
    depth, steps, _, _, blocks_n = sizes(shape, knobs)
    per_group, groups, lines = 16 // SIZES[knobs["type"]], knobs["row"] // 16, knobs["tile"][1]
    tiles = b.reshape(blocks_n, lines, steps, groups, per_group).transpose(1, 2)
    packed = tiles.new_empty(tiles.shape)
    for line in range(8):
        for group in range(groups):
            to = group ^ (line & 7) if groups == 8 else group ^ (line >> 1 & 3)
            packed[:, :, line::8, to] = tiles[:, :, line::8, group]
    return packed.contiguous()
