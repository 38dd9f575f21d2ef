"""Prints CUDA C of block programs from a shape and knobs: products (plain and of convolutions), depthwise, softmax rows.

The form is S0 grid | R0 serial | cooperative fetches | S2 item | R1 | S1 copies, S3 | R2 | S4, in rank S0 > S1 > S2 > S3 > S4:
within a block, row ((m1*M2 + m2)*M3 + m3)*M4 + m4. Indices are 32 bits (knob `wide`: 64), extents constants, guards masked
loads, sums in registers. Beyond that form, `parts` splits a step's depth over items of the block, and `early` lets a kernel
begin, and fetch its first weights, while the one before still runs (1: as soon as all its blocks do; 2: once they have summed).
Every text starts from PRELUDE and compiles as CUDA C, or as C++ for a CPU by block.h in its place.

A kernel is a dict: text, name, grid, block, shared [bytes], `early`, and for products `second`, the sum over a split K. A shape
is a dict with `kind`; shapes.py lists them and draws knobs.
"""

PRELUDE = r"""
#define KERNEL(items) extern "C" __global__ void __launch_bounds__(items)
#define ITEM ((int)threadIdx.x)
#define GROUP ((int)blockIdx.x)
#define BARRIER() __syncthreads()
#define SHARED extern __shared__ __align__(16) char pool[];
#define FROM_ITEM(value, lane_mask) __shfl_xor_sync(0xffffffffu, value, lane_mask)
#define UNROLL(n) _Pragma("unroll n")
// An N-byte copy into shared memory that is waited for later; zeros where `there` is false.
#define COPY_ASYNC(bytes, to, from, there)                                                               \
  asm volatile("cp.async.ca.shared.global [%0], [%1], " #bytes ", %2;" ::"r"(                            \
                   (unsigned)__cvta_generic_to_shared(to)),                                              \
               "l"(from), "r"((there) ? bytes : 0))
#define COPY_COMMIT() asm volatile("cp.async.commit_group;")
#define COPY_WAIT(n) asm volatile("cp.async.wait_group " #n ";")
// Launched while the kernel before still runs (sm_90): what it leaves is there behind AFTER_OTHERS().
#define LET_OTHERS_BEGIN() asm volatile("griddepcontrol.launch_dependents;")
#define AFTER_OTHERS() asm volatile("griddepcontrol.wait;" ::: "memory")
"""

VECTORS = {1: "float", 2: "float2", 4: "float4"}


def ceil_div(a, b):
    return -(-a // b)


class Text:
    """Lines with an indent that follows braces."""

    def __init__(self):
        self.lines, self.depth = [], 0

    def __call__(self, line):
        closes = line.startswith("}")
        self.depth -= closes
        self.lines.append("  " * self.depth + line)
        self.depth += line.endswith("{")

    def loop(self, name, n, unroll=None):
        if unroll is not None:
            self(f"#pragma unroll {unroll}" if unroll else "#pragma unroll")
        self(f"for (I {name} = 0; {name} < {n}; {name}++) {{")

    def close(self, n=1):
        for _ in range(n):
            self("}")


def unrolled(text, *loops):
    for name, n in loops:
        text.loop(name, n, 0)


def index_type(knobs):
    return "typedef long long I;" if knobs.get("wide") else "typedef int I;"


# ---- products

class Product:
    """One product kernel: A [M][K] (or a convolution's input, as if it were that matrix) times B, to C [M][N]."""

    def __init__(self, shape, knobs):
        self.shape, self.knobs = shape, knobs
        m, n, r = knobs["m"], knobs["n"], knobs["k"]
        self.parts = knobs["parts"]  # of a step's depth, each by items of its own
        self.tile_items = m[1] * n[1]
        self.items = self.tile_items * self.parts
        self.tile_m, self.tile_n = m[0] * m[1] * m[2] * m[3], n[0] * n[1] * n[2] * n[3]
        self.own_m, self.own_n = m[0] * m[2] * m[3], n[0] * n[2] * n[3]
        self.depth = r[0] * r[1]
        self.blocks_m, self.blocks_n = ceil_div(shape["m"], self.tile_m), ceil_div(shape["n"], self.tile_n)
        self.steps = ceil_div(shape["k"], self.depth)  # of all of K; B is packed to a whole number of them
        self.split = knobs["split"]
        self.split_steps = ceil_div(self.steps, self.split)
        self.stages = {"one": 1, "regs": 2}.get(knobs["buffers"]) or int(knobs["buffers"][5:])
        rows, columns = (self.depth, self.tile_m) if knobs["a_order"] == "km" else (self.tile_m, self.depth)
        self.pitch_a, self.pitch_b = columns + knobs["pad_a"], self.tile_n + knobs["pad_b"]
        self.words_a, self.words_b = rows * self.pitch_a, self.depth * self.pitch_b
        self.words_a = ceil_div(self.words_a, 4) * 4
        self.words_b = ceil_div(self.words_b, 4) * 4
        self.shared = 4 * max(self.stages * (self.words_a + self.words_b),
                              (self.parts - 1) * self.own_m * self.own_n * self.tile_items)

    # A fetch is trips of all items over vectors of the flattened region; each returns (index in shared memory, words there
    # that follow one another or None for one by one, address in memory, condition or None).
    def fetch_a(self, text, flat):
        s, k, vec = self.shape, self.knobs, self.knobs["vec_a"]
        across = self.depth // vec
        text(f"const I row = {flat} / {across}, deep = {flat} % {across} * {vec};")
        text(f"const I m = m_base + row, k = step * {self.depth} + deep;")
        guards = []
        if s["m"] % self.tile_m:
            guards.append(f"m < {s['m']}")
        if s["k"] % self.depth:
            guards.append(f"k < {s['k']}")
        if self.split > 1 and self.steps % self.split:
            guards.append(f"step < {self.steps}")
        conv = s.get("conv")
        if conv:
            text(f"const I p = m / {conv['ow']}, q = m % {conv['ow']}, c = k % {conv['c']}, rs = k / {conv['c']};")
            text(f"const I h = p * {conv['stride']} + rs / {conv['kw']} - {conv['pad']};")
            text(f"const I w = q * {conv['stride']} + rs % {conv['kw']} - {conv['pad']};")
            if conv["pad"]:
                guards += [f"h >= 0 && h < {conv['h']}", f"w >= 0 && w < {conv['w']}"]
            address = f"(h * {conv['w']} + w) * {conv['c']} + c"
        else:
            address = f"m * {s['k']} + k"
        if k["a_order"] == "km":
            places = [self.place_a("row", f"(deep + {i})") for i in range(vec)]
        else:
            places = [f"row * {self.pitch_a} + deep"]
        return places, address, " && ".join(guards) or None

    def fetch_b(self, text, flat):
        s, vec = self.shape, self.knobs["vec_b"]
        across = self.tile_n // vec
        text(f"const I deep = {flat} / {across}, column = {flat} % {across} * {vec};")
        guards = []
        if self.knobs["packed"]:
            address = f"((group_n * {self.steps} + step) * {self.depth} + deep) * {self.tile_n} + column"
        else:
            text(f"const I k = step * {self.depth} + deep, n = n_base + column;")
            if s["n"] % self.tile_n:
                guards.append(f"n < {s['n']}")
            if s["k"] % self.depth:
                guards.append(f"k < {s['k']}")
            address = f"k * {s['n']} + n"
        if self.split > 1 and self.steps % self.split:
            guards.append(f"step < {self.steps}")
        return [f"deep * {self.pitch_b} + column"], address, " && ".join(guards) or None

    def place_a(self, m, k):
        """Where row m, depth k lies in shared memory with k outermost; swizzled: groups of 4 rows change places by k."""
        if self.knobs["swizzle"]:
            return f"{k} * {self.pitch_a} + (({m}) ^ (({k} / {self.knobs['vec_a']} % {self.swizzle_groups()}) * 4))"
        return f"{k} * {self.pitch_a} + {m}"

    def swizzle_groups(self):
        return min(8, self.tile_m // 4)

    def fetches(self):
        a, b = self.tile_m * self.depth // self.knobs["vec_a"], self.depth * self.tile_n // self.knobs["vec_b"]
        return [("a", self.fetch_a, a, self.knobs["vec_a"]), ("b", self.fetch_b, b, self.knobs["vec_b"])]

    def print_fetch(self, text, how, which="ab"):
        """how: "store" memory to shared, "load" memory to registers, "put" registers to shared, "async"."""
        for name, fetch, total, vec in self.fetches():
            if name not in which:
                continue
            trips = ceil_div(total, self.items)
            kind = VECTORS[vec]
            text.loop("trip", trips, 0)
            text(f"const I flat = trip * {self.items} + ITEM;")
            if total % self.items:
                text(f"if (flat < {total}) {{")
            places, address, guard = fetch(text, "flat")
            shared = f"{name}_shared + to * {self.words_a if name == 'a' else self.words_b}"
            if how in ("store", "load"):
                value = f"*(const {kind} *)({name} + ({address}))"
                if guard:
                    zero = "0.0f" if vec == 1 else f"make_{kind}({', '.join(['0.0f'] * vec)})"
                    value = f"({guard}) ? {value} : {zero}"
                text(f"{name}_held[trip] = {value};" if how == "load" else f"const {kind} value = {value};")
            if how == "put":
                text(f"const {kind} value = {name}_held[trip];")
            if how in ("store", "put"):
                if len(places) == 1:
                    text(f"*({kind} *)({shared} + {places[0]}) = value;")
                else:
                    for place, part in zip(places, "xyzw"):
                        text(f"({shared})[{place}] = value.{part};")
            if how == "async":
                for i, place in enumerate(places):
                    size = 4 * vec // len(places)
                    source = f"{name} + ({f'({guard}) ? {address} : 0' if guard else address})" + (f" + {i}" if i else "")
                    text(f"COPY_ASYNC({size}, {shared} + {place}, {source}, {guard or 'true'});")
            if total % self.items:
                text.close()
            text.close()

    def print_sums(self, text):
        """R1 | R2 | S1 S3 S4: one step of K on the tile that lies in stage `from`."""
        k, m, n = self.knobs, self.knobs["m"], self.knobs["n"]
        copies = self.own_m * self.own_n * k["k"][1]
        r1 = k["k"][0] // self.parts
        times = max(1, min(r1, k["unroll"] // copies)) if k["unroll"] else 1
        text(f"const float *a_tile = a_shared + from * {self.words_a}, *b_tile = b_shared + from * {self.words_b};")
        text.loop("r1", r1, times)
        unrolled(text, ("r2", k["k"][1]))
        of_part = f"part_item * {r1 * k['k'][1]} + " if self.parts > 1 else ""
        text(f"const I deep = {of_part}r1 * {k['k'][1]} + r2;")
        text(f"float a_own[{self.own_m}], b_own[{self.own_n}];")
        unrolled(text, ("m1", m[0]), ("m3", m[2]), ("m4", m[3]))
        row, fixed = f"(m1 * {m[1]} + m2) * {m[2] * m[3]}", f"m3 * {m[3]} + m4"
        if k["a_order"] == "mk":
            place = f"({row} + {fixed}) * {self.pitch_a} + deep"
        elif k["swizzle"]:  # base and group of 4 first, so that four that follow one another are one load
            group = f"({row} + ({fixed}) / 4 * 4)"
            place = f"{self.place_a(group, 'deep')} + ({fixed}) % 4"
        else:
            place = self.place_a(f"{row} + {fixed}", "deep")
        text(f"a_own[(m1 * {m[2]} + m3) * {m[3]} + m4] = a_tile[{place}];")
        text.close(3)
        unrolled(text, ("n1", n[0]), ("n3", n[2]), ("n4", n[3]))
        text(f"b_own[(n1 * {n[2]} + n3) * {n[3]} + n4] = "
             f"b_tile[deep * {self.pitch_b} + (n1 * {n[1]} + n2) * {n[2] * n[3]} + n3 * {n[3]} + n4];")
        text.close(3)
        unrolled(text, ("i", self.own_m), ("j", self.own_n))
        text("sum[i][j] += a_own[i] * b_own[j];")
        text.close(4)

    def print_loop(self, text):
        how, last, early = self.knobs["buffers"], "begin_step + n_steps", self.knobs["early"]
        if early and how == "one":
            text("AFTER_OTHERS();")
        if how == "one":
            text("const I from = 0, to = 0;")
            text("for (I step = begin_step; step < begin_step + n_steps; step++) {")
            text("BARRIER();")
            self.print_fetch(text, "store")
            text("BARRIER();")
            self.print_sums(text)
            text.close()
        elif how == "regs":
            for name, _, total, vec in self.fetches():
                text(f"{VECTORS[vec]} {name}_held[{ceil_div(total, self.items)}];")
            text("{")
            text("const I step = begin_step, to = 0;")
            self.print_fetch(text, "load", "b")  # weights: no kernel before this one writes them
            if early:
                text("AFTER_OTHERS();")
            self.print_fetch(text, "load", "a")
            self.print_fetch(text, "put")
            text.close()
            text("BARRIER();")
            text("for (I at = 0; at < n_steps; at++) {")
            text("const I step = begin_step + at + 1, from = at % 2, to = 1 - from;")
            # Not `step < begin + n`: where n is 2, ptxas 13.0 then store A's next tile over the one that is read.
            text("if (at + 1 < n_steps) {")
            self.print_fetch(text, "load")
            text.close()
            self.print_sums(text)
            text("if (at + 1 < n_steps) {")
            self.print_fetch(text, "put")
            text.close()
            text("BARRIER();")
            text.close()
        else:
            ahead = self.stages - 1
            for which in ("b", "a") if early else ("ba",):
                text(f"for (I to = 0; to < {ahead}; to++) {{")
                text("const I step = begin_step + to;")
                text(f"if (step < {last}) {{")
                self.print_fetch(text, "async", which)
                text.close()
                if "a" in which:
                    text("COPY_COMMIT();")
                text.close()
                if which == "b":
                    text("AFTER_OTHERS();")
            text("I from = 0;")
            text("for (I at = 0; at < n_steps; at++) {")
            text(f"COPY_WAIT({ahead - 1});")
            text("BARRIER();")
            text(f"const I step = begin_step + at + {ahead}, to = from == 0 ? {ahead} : from - 1;")
            text(f"if (step < {last}) {{")
            self.print_fetch(text, "async")
            text.close()
            text("COPY_COMMIT();")
            self.print_sums(text)
            text(f"from = from == {ahead} ? 0 : from + 1;")
            text.close()

    def print_parts(self, text):
        """The sums of the items that share a tile's place: those behind the first hand theirs over in shared memory."""
        text("BARRIER();")
        text("float *handed = (float *)pool + ITEM;")
        text("if (part_item > 0) {")
        unrolled(text, ("i", self.own_m), ("j", self.own_n))
        text(f"handed[(i * {self.own_n} + j) * {self.items - self.tile_items} - {self.tile_items}] = sum[i][j];")
        text.close(3)
        text("BARRIER();")
        text("if (part_item > 0) return;")
        text.loop("other", self.parts - 1, 0)
        unrolled(text, ("i", self.own_m), ("j", self.own_n))
        text(f"sum[i][j] += handed[(i * {self.own_n} + j) * {self.items - self.tile_items} + other * {self.tile_items}];")
        text.close(3)

    def print_stores(self, text):
        s, m, n = self.shape, self.knobs["m"], self.knobs["n"]
        vec = max(v for v in (1, 2, 4) if n[3] % v == 0 and s["n"] % v == 0)
        unrolled(text, ("m1", m[0]), ("m3", m[2]), ("m4", m[3]), ("n1", n[0]), ("n3", n[2]))
        text.loop("n4", n[3] // vec, 0)
        text(f"const I row = m_base + (m1 * {m[1]} + m2) * {m[2] * m[3]} + m3 * {m[3]} + m4;")
        text(f"const I column = n_base + (n1 * {n[1]} + n2) * {n[2] * n[3]} + n3 * {n[3]} + n4 * {vec};")
        text(f"const float *own = sum[(m1 * {m[2]} + m3) * {m[3]} + m4] + (n1 * {n[2]} + n3) * {n[3]} + n4 * {vec};")
        guards = [g for g, needed in ((f"row < {s['m']}", s["m"] % self.tile_m), (f"column < {s['n']}", s["n"] % self.tile_n))
                  if needed]
        value = "own[0]" if vec == 1 else f"make_{VECTORS[vec]}({', '.join(f'own[{i}]' for i in range(vec))})"
        part = f"part * {s['m'] * s['n']} + " if self.split > 1 else ""
        text((f"if ({' && '.join(guards)}) " if guards else "") +
             f"*({VECTORS[vec]} *)(c + {part}row * {s['n']} + column) = {value};")
        text.close(6)

    def print(self, name):
        text = Text()
        text(index_type(self.knobs))
        text(f"KERNEL({self.items}) {name}(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {{")
        text("SHARED")
        if self.knobs["early"] == 1:
            text("LET_OTHERS_BEGIN();")
        text(f"float *a_shared = (float *)pool, *b_shared = a_shared + {self.stages * self.words_a};")
        if self.knobs["order"] == "m":
            text(f"const I group_m = GROUP % {self.blocks_m}, group_n = GROUP / {self.blocks_m} % {self.blocks_n};")
        else:
            text(f"const I group_n = GROUP % {self.blocks_n}, group_m = GROUP / {self.blocks_n} % {self.blocks_m};")
        text(f"const I m_base = group_m * {self.tile_m}, n_base = group_n * {self.tile_n};")
        if self.split > 1:
            text(f"const I part = GROUP / {self.blocks_m * self.blocks_n};")
        text(f"const I begin_step = {f'part * {self.split_steps}' if self.split > 1 else '0'}, n_steps = {self.split_steps};")
        if self.parts > 1:
            text(f"const I part_item = ITEM / {self.tile_items};")
        text(f"const I m2 = ITEM / {self.knobs['n'][1]} % {self.knobs['m'][1]}, n2 = ITEM % {self.knobs['n'][1]};")
        text(f"float sum[{self.own_m}][{self.own_n}];")
        unrolled(text, ("i", self.own_m), ("j", self.own_n))
        text("sum[i][j] = 0.0f;")
        text.close(2)
        self.print_loop(text)
        if self.knobs["early"] == 2:
            text("LET_OTHERS_BEGIN();")
        if self.parts > 1:
            self.print_parts(text)
        self.print_stores(text)
        text.close()
        kernel = {"text": "\n".join(text.lines) + "\n", "name": name, "block": self.items, "shared": self.shared,
                  "grid": self.blocks_m * self.blocks_n * self.split, "second": None, "early": self.knobs["early"]}
        if self.split > 1:
            kernel["second"] = self.print_second(name + "_second")
            kernel["text"] += kernel["second"].pop("text")
        return kernel

    def print_second(self, name):
        """The sum over the parts of K: blocks x items x vector."""
        total = self.shape["m"] * self.shape["n"]
        vec = max(v for v in (1, 2, 4) if total % v == 0)
        text = Text()
        text(f"KERNEL(256) {name}(const float *__restrict__ parts, const float *, float *__restrict__ c) {{")
        if self.knobs["early"]:
            text("LET_OTHERS_BEGIN();")
            text("AFTER_OTHERS();")
        text(f"const I at = (GROUP * 256 + ITEM) * {vec};")
        text(f"if (at < {total}) {{")
        text(f"float sum[{vec}] = {{0}};")
        unrolled(text, ("part", self.split))
        text(f"const {VECTORS[vec]} value = *(const {VECTORS[vec]} *)(parts + part * {total} + at);")
        text("sum[0] += value;" if vec == 1 else " ".join(f"sum[{i}] += value.{x};" for i, x in enumerate("xyzw"[:vec])))
        text.close()
        unrolled(text, ("i", vec))
        text("c[at + i] = sum[i];")
        text.close(3)
        return {"text": "\n".join(text.lines) + "\n", "name": name, "block": 256, "shared": 0, "grid": ceil_div(total // vec, 256),
                "early": self.knobs["early"]}


# ---- depthwise: an item has `c` channels of p x q outputs; staged: the block's input lies in shared memory

def print_depthwise(shape, knobs, name):
    s, k = shape, knobs
    c_tile, q_tile, p_tile = k["c"] * k["c2"], k["q"] * k["q2"], k["p"] * k["p2"]
    items = k["c2"] * k["q2"] * k["p2"]
    blocks = [ceil_div(s["oh"], p_tile), ceil_div(s["ow"], q_tile), ceil_div(s["c"], c_tile)]
    height, width = (p_tile - 1) * s["stride"] + s["kh"], (q_tile - 1) * s["stride"] + s["kw"]
    vec = VECTORS[k["c"]]
    zero = "0.0f" if k["c"] == 1 else f"make_{vec}({', '.join(['0.0f'] * k['c'])})"
    text = Text()
    text(index_type(k))
    text(f"KERNEL({items}) {name}(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {{")
    if k["staged"]:
        text("SHARED")
        text(f"{vec} *tile = ({vec} *)pool;")
    text(f"const I c_base = GROUP % {blocks[2]} * {c_tile}, q_base = GROUP / {blocks[2]} % {blocks[1]} * {q_tile};")
    text(f"const I p_base = GROUP / {blocks[2] * blocks[1]} * {p_tile};")
    text(f"const I own_c = ITEM % {k['c2']}, q_item = ITEM / {k['c2']} % {k['q2']}, p_item = ITEM / {k['c2'] * k['q2']};")
    text(f"const I channel = c_base + own_c * {k['c']};")

    def load(h, w, at):
        return (f"({h} >= 0 && {h} < {s['h']} && {w} >= 0 && {w} < {s['w']} && {at} < {s['c']}) ? "
                f"*(const {vec} *)(a + ({h} * {s['w']} + {w}) * {s['c']} + {at}) : {zero}")
    if k["staged"]:
        total = height * width * k["c2"]
        text.loop("trip", ceil_div(total, items), 1)
        text(f"const I flat = trip * {items} + ITEM;")
        text(f"if (flat < {total}) {{")
        text(f"const I at = c_base + flat % {k['c2']} * {k['c']}, x = flat / {k['c2']} % {width}, y = flat / {k['c2'] * width};")
        text(f"const I h = p_base * {s['stride']} + y - {s['pad']}, w = q_base * {s['stride']} + x - {s['pad']};")
        text(f"tile[flat] = {load('h', 'w', 'at')};")
        text.close(2)
        text("BARRIER();")
    text(f"float sum[{k['p']}][{k['q']}][{k['c']}] = {{}};")
    unrolled(text, ("r", s["kh"]), ("s", s["kw"]))
    text(f"const {vec} weight = channel < {s['c']} ? *(const {vec} *)(b + (r * {s['kw']} + s) * {s['c']} + channel) : {zero};")
    unrolled(text, ("p", k["p"]), ("q", k["q"]))
    text(f"const I y = (p_item * {k['p']} + p) * {s['stride']} + r, x = (q_item * {k['q']} + q) * {s['stride']} + s;")
    if k["staged"]:
        text(f"const {vec} value = tile[(y * {width} + x) * {k['c2']} + own_c];")
    else:
        text(f"const I h = p_base * {s['stride']} + y - {s['pad']}, w = q_base * {s['stride']} + x - {s['pad']};")
        text(f"const {vec} value = {load('h', 'w', 'channel')};")
    if k["c"] == 1:
        text("sum[p][q][0] += value * weight;")
    else:
        text(" ".join(f"sum[p][q][{i}] += value.{x} * weight.{x};" for i, x in enumerate("xyzw"[:k["c"]])))
    text.close(4)
    unrolled(text, ("p", k["p"]), ("q", k["q"]))
    text(f"const I row = p_base + p_item * {k['p']} + p, column = q_base + q_item * {k['q']} + q;")
    value = "sum[p][q][0]" if k["c"] == 1 else f"make_{vec}({', '.join(f'sum[p][q][{i}]' for i in range(k['c']))})"
    text(f"if (row < {s['oh']} && column < {s['ow']} && channel < {s['c']}) "
         f"*({vec} *)(c + (row * {s['ow']} + column) * {s['c']} + channel) = {value};")
    text.close(3)
    return {"text": "\n".join(text.lines) + "\n", "name": name, "block": items, "grid": blocks[0] * blocks[1] * blocks[2],
            "shared": height * width * c_tile * 4 if k["staged"] else 0, "second": None}


# ---- softmax of rows: `items` of a block share a row, `rows` rows a block

def print_softmax(shape, knobs, name):
    rows, columns = shape["rows"], shape["columns"]
    per_row, block_rows, vec = knobs["items"], knobs["rows"], knobs["vec"]
    items, trips = per_row * block_rows, columns // (per_row * vec)
    kind = VECTORS[vec]
    text = Text()
    text(index_type(knobs))
    text(f"KERNEL({items}) {name}(const float *__restrict__ a, const float *, float *__restrict__ c) {{")
    if knobs["reduce"] == "tree":
        text("SHARED")
        text("float *slots = (float *)pool;")
    text(f"const I in_row = ITEM % {per_row}, row = GROUP * {block_rows} + ITEM / {per_row};")
    guard = f"row < {rows}" if rows % block_rows else "true"
    text(f"float own[{trips}][{vec}], result = -1e38f;")
    text.loop("trip", trips, 0)
    zero = "0.0f" if vec == 1 else f"make_{kind}({', '.join(['0.0f'] * vec)})"
    text(f"const {kind} value = ({guard}) ? *(const {kind} *)(a + row * {columns} + (trip * {per_row} + in_row) * {vec}) : {zero};")
    for i, x in enumerate("xyzw"[:vec]):
        text(f"own[trip][{i}] = value{'' if vec == 1 else '.' + x};")
    text.close()

    def across(combine):
        """result: of all items of the row."""
        if knobs["reduce"] == "shuffle":
            distance = per_row // 2
            while distance:
                text(f"result = {combine('result', f'FROM_ITEM(result, {distance})')};")
                distance //= 2
            return
        text("BARRIER();")
        text("slots[ITEM] = result;")
        text("BARRIER();")
        distance = per_row // 2
        while distance:
            text(f"if (in_row < {distance}) slots[ITEM] = {combine('slots[ITEM]', f'slots[ITEM + {distance}]')};")
            text("BARRIER();")
            distance //= 2
        text("result = slots[ITEM - in_row];")
    unrolled(text, ("trip", trips), ("i", vec))
    text("result = fmaxf(result, own[trip][i]);")
    text.close(2)
    across(lambda x, y: f"fmaxf({x}, {y})")
    text("const float top = result;")
    text("result = 0.0f;")
    unrolled(text, ("trip", trips), ("i", vec))
    text("own[trip][i] = expf(own[trip][i] - top);")
    text("result += own[trip][i];")
    text.close(2)
    across(lambda x, y: f"{x} + {y}")
    text("const float scale = 1.0f / result;")
    text.loop("trip", trips, 0)
    parts = [f"own[trip][{i}] * scale" for i in range(vec)]
    value = parts[0] if vec == 1 else f"make_{kind}({', '.join(parts)})"
    text(f"if ({guard}) *({kind} *)(c + row * {columns} + (trip * {per_row} + in_row) * {vec}) = {value};")
    text.close(2)
    return {"text": "\n".join(text.lines) + "\n", "name": name, "block": items, "grid": ceil_div(rows, block_rows),
            "shared": items * 4 if knobs["reduce"] == "tree" else 0, "second": None}


def print_kernel(shape, knobs, name="seer_kernel"):
    """The kernel of `knobs` for `shape`, without a prelude."""
    if shape["kind"] == "product":
        return Product(shape, knobs).print(name)
    return {"depthwise": print_depthwise, "softmax": print_softmax}[shape["kind"]](shape, knobs, name)
