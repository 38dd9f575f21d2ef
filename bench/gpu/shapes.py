"""The shapes that are studied, knobs drawn for them under limits, and how a schedule is named in one line."""
import gzip
import json
import random

from kernels import Product, ceil_div


def conv(name, size, c, out, kernel=1, stride=1):
    """A convolution at batch 1, channels last, as a product of out x out pixels, kernel^2 x c and `out` channels."""
    pad = kernel // 2
    pixels = (size + 2 * pad - kernel) // stride + 1
    shape = {"kind": "product", "name": name, "m": pixels * pixels, "n": out, "k": kernel * kernel * c, "weights": True}
    if kernel > 1 or stride > 1:
        shape["conv"] = {"h": size, "w": size, "c": c, "ow": pixels, "oh": pixels, "kh": kernel, "kw": kernel,
                         "stride": stride, "pad": pad}
    return shape


def product(name, m, n, k):
    return {"kind": "product", "name": name, "m": m, "n": n, "k": k, "weights": True}


SHAPES = {shape["name"]: shape for shape in (
    product("bert_qkv", 128, 1024, 1024), product("bert_up", 128, 4096, 1024), product("bert_down", 128, 1024, 4096),
    product("gpt2_qkv", 1, 2304, 768),
    conv("r50_s1_3x3", 56, 64, 64, 3), conv("r50_s1_1x1", 56, 64, 256), conv("r50_s2_3x3", 28, 128, 128, 3),
    conv("r50_s2_1x1", 28, 128, 512), conv("r50_s3_3x3", 14, 256, 256, 3), conv("r50_s3_1x1", 14, 256, 1024),
    conv("r50_s4_3x3", 7, 512, 512, 3), conv("r50_s4_1x1", 7, 512, 2048), conv("r50_s3_down", 56, 256, 512, 1, 2),
    conv("mbv2_pointwise", 14, 384, 96),
    {"kind": "depthwise", "name": "mbv2_depthwise", "c": 384, "h": 14, "w": 14, "oh": 14, "ow": 14, "kh": 3, "kw": 3,
     "stride": 1, "pad": 1},
    {"kind": "softmax", "name": "softmax", "rows": 1536, "columns": 128})}

# Limits of a device with 32-item warps.
MAX_ITEMS, MAX_SHARED, MAX_REGISTERS, MAX_COPIES = 1024, 96 * 1024, 232, 512


def registers(shape, knobs):
    """What NVRTC is expected to take: fitted to products, median error 10 %, where sums + operands + 24 has 19 %."""
    if shape["kind"] == "depthwise":
        return knobs["p"] * knobs["q"] * knobs["c"] + 2 * knobs["c"] + 24
    if shape["kind"] == "softmax":
        return shape["columns"] // knobs["items"] + 24
    p = Product(shape, knobs)
    sums, r1, r2 = p.own_m * p.own_n, knobs["k"][0] // p.parts, knobs["k"][1]
    written_out = r2 * max(1, min(r1, knobs["unroll"] // (sums * r2)))  # depths whose operands are read ahead
    ahead = 0 if written_out < 2 else 0.3 if written_out < 4 else 0.8 if written_out < 8 else 1.1
    trips = [(ceil_div(total, p.items), vec) for _, _, total, vec in p.fetches()]
    held = sum(n * vec for n, vec in trips) if knobs["buffers"] == "regs" else 0
    addresses = (4 if "conv" in shape else 3) * sum(n for n, _ in trips)
    cap = min(255, 65536 // p.items // 8 * 8)
    return min(cap, int(15 + 1.2 * sums + ahead * (p.own_m + p.own_n) + held + addresses))


def refused(shape, knobs):
    """Why these knobs are not taken, or None."""
    p = Product(shape, knobs)
    if p.items % 32 or p.items > MAX_ITEMS:
        return "items"
    if knobs["k"][0] % p.parts or p.parts > 1 and p.tile_items % 32:
        return "parts"
    if p.shared > MAX_SHARED:
        return "shared bytes"
    if p.own_m * p.own_n * knobs["k"][1] > MAX_COPIES:
        return "copies"
    if knobs["m"][0] * knobs["n"][0] > 8:
        return "virtual threads"
    if registers(shape, knobs) > min(MAX_REGISTERS, 65536 // p.items - 4):
        return "registers"
    if p.blocks_m * p.tile_m > 1.34 * shape["m"] and p.tile_m > 1 and shape["m"] > 1:
        return "overhang"
    if p.blocks_n * p.tile_n > 1.34 * shape["n"]:
        return "overhang"
    if (p.depth % knobs["vec_a"] or p.tile_n % knobs["vec_b"] or
            (shape["conv"]["c"] if "conv" in shape else shape["k"]) % knobs["vec_a"]):
        return "vector"
    if knobs["a_order"] == "mk" and p.pitch_a % knobs["vec_a"] or p.pitch_b % knobs["vec_b"]:
        return "pad"
    if knobs["swizzle"] and (knobs["a_order"] != "km" or knobs["m"][2] * knobs["m"][3] % 4 or p.tile_m & (p.tile_m - 1) or
                             knobs["pad_a"] % 4):
        return "swizzle"
    if not knobs["packed"] and shape["n"] % knobs["vec_b"]:
        return "vector"
    if p.split > p.steps:
        return "split"
    blocks = p.blocks_m * p.blocks_n * p.split
    if blocks > 4096 or (p.items < 64 and blocks > 2048):
        return "blocks"
    if p.tile_m * p.depth // knobs["vec_a"] > 16 * p.items or p.depth * p.tile_n // knobs["vec_b"] > 16 * p.items:
        return "fetch"
    return None


def draw_product(shape, rng):
    """Random knobs within the limits."""
    one = shape["m"] == 1
    while True:
        m2, n2 = rng.choice((1, 2, 4, 7, 8, 14, 16, 32)), rng.choice((4, 8, 16, 32, 64))
        knobs = {"m": [rng.choice((1, 1, 1, 2, 4)), m2, rng.choice((1, 1, 2)), rng.choice((1, 2, 4, 4, 8))],
                 "n": [rng.choice((1, 1, 1, 2, 4)), n2, rng.choice((1, 1, 2)), rng.choice((1, 2, 4, 4, 8))],
                 "k": [rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 4, 8))],
                 "a_order": rng.choice(("km", "km", "mk")), "vec_a": rng.choice((1, 2, 4, 4)), "vec_b": rng.choice((1, 2, 4, 4)),
                 "pad_a": rng.choice((0, 0, 1, 4)), "pad_b": rng.choice((0, 0, 0, 4)), "swizzle": rng.choice((0, 0, 1)),
                 "buffers": rng.choice(("one", "regs", "regs", "async2", "async3", "async4")),
                 "split": rng.choice((1, 1, 1, 2, 3, 4, 8, 16)),
                     "parts": rng.choice((1, 1, 1, 2, 4)), "unroll": rng.choice((0, 16, 64, 512, 512, 1024)),
                 "order": rng.choice("mn"), "packed": 1, "wide": 0, "early": 0}
        if one:
            knobs["m"] = [1, 1, 1, 1]
            knobs["k"] = [rng.choice((1, 2, 4, 8, 16)), rng.choice((1, 2, 4, 8, 16))]
            knobs["split"] = rng.choice((1, 2, 4, 8, 16))
        if not refused(shape, knobs):
            return knobs


def draw_depthwise(shape, rng):
    while True:
        knobs = {"c": rng.choice((1, 2, 4)), "c2": rng.choice((4, 8, 16, 32, 64)), "q": rng.choice((1, 2, 4, 7)),
                 "q2": rng.choice((1, 2, 4, 7, 14)), "p": rng.choice((1, 1, 2)), "p2": rng.choice((1, 2, 4, 7)),
                 "staged": rng.choice((0, 1)), "wide": 0}
        items = knobs["c2"] * knobs["q2"] * knobs["p2"]
        if (items % 32 == 0 and items <= 512 and shape["c"] % knobs["c"] == 0 and knobs["q"] * knobs["q2"] <= 16 and
                knobs["p"] * knobs["p2"] <= 16 and knobs["c"] * knobs["c2"] <= shape["c"] and
                (knobs["q"] * knobs["q2"] + 2) * (knobs["p"] * knobs["p2"] + 2) * knobs["c"] * knobs["c2"] * 4 <= MAX_SHARED):
            return knobs


def draw_softmax(shape, rng):
    while True:
        knobs = {"items": rng.choice((1, 4, 8, 16, 32, 64, 128)), "rows": rng.choice((1, 2, 4, 8, 16, 32)),
                 "vec": rng.choice((1, 2, 4)), "reduce": rng.choice(("tree", "shuffle")), "wide": 0}
        items = knobs["items"] * knobs["rows"]
        if (items % 32 == 0 and items <= 1024 and knobs["items"] * knobs["vec"] <= shape["columns"] and
                (knobs["reduce"] == "tree" or knobs["items"] <= 32)):
            return knobs


def draw(shape, count, seed):
    """`count` different schedules, always the same for a seed."""
    rng, found = random.Random(f"{shape['name']} {seed}"), {}
    how = {"product": draw_product, "depthwise": draw_depthwise, "softmax": draw_softmax}[shape["kind"]]
    for _ in range(50 * count):
        if len(found) == count:
            break
        knobs = how(shape, rng)
        found.setdefault(label(knobs), knobs)
    return list(found.values())


def label(knobs):
    return " ".join(f"{name}={'x'.join(map(str, value)) if isinstance(value, list) else value}" for name, value in knobs.items())


def read_table(path):
    """The lines of a table, as it is or compressed."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def flops(shape):
    if shape["kind"] == "product":
        return 2 * shape["m"] * shape["n"] * shape["k"]
    if shape["kind"] == "depthwise":
        return 2 * shape["oh"] * shape["ow"] * shape["c"] * shape["kh"] * shape["kw"]
    return 5 * shape["rows"] * shape["columns"]
