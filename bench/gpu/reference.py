"""Inputs and answers of the shapes in numpy: f32 inputs, answers in f64; weights packed as a schedule's fetches read them."""
import numpy as np


def inputs(shape, rng):
    """(a, b): activations, and weights [K][N] or [kh][kw][C]; for rows, b is empty."""
    if shape["kind"] == "softmax":
        sizes = (shape["rows"], shape["columns"]), (1,)
    elif shape["kind"] == "depthwise":
        sizes = (shape["h"], shape["w"], shape["c"]), (shape["kh"], shape["kw"], shape["c"])
    elif "conv" in shape:
        sizes = tuple(shape["conv"][name] for name in "hwc"), (shape["k"], shape["n"])
    else:
        sizes = (shape["m"], shape["k"]), (shape["k"], shape["n"])
    return [rng.standard_normal(size).astype(np.float32) for size in sizes]


def windows(a, conv):
    """[oh, ow, kh, kw, c] of an input [h, w, c], with zeros around it."""
    pad, stride = conv["pad"], conv["stride"]
    around = np.pad(a, ((pad, pad), (pad, pad), (0, 0)))
    view = np.lib.stride_tricks.sliding_window_view(around, (conv["kh"], conv["kw"]), (0, 1))
    return view[::stride, ::stride][:conv["oh"], :conv["ow"]].transpose(0, 1, 3, 4, 2)


def answer(shape, a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    if shape["kind"] == "softmax":
        powers = np.exp(a - a.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)
    if shape["kind"] == "depthwise":
        return np.einsum("pqrsc,rsc->pqc", windows(a, shape), b)
    if "conv" in shape:
        a = windows(a, shape["conv"]).reshape(shape["m"], shape["k"])
    return a @ b


def pack(product, b, zeros=lambda size: np.zeros(size, np.float32)):
    """Weights [K][N] as [block of N][step of K][depth][column], zeros beyond their ends; as they are where they are not packed.

    Of a tensor of another library too, with its `zeros`. The result is a view.
    """
    if not product.knobs["packed"]:
        return b
    whole = zeros((product.steps * product.depth, product.blocks_n * product.tile_n))
    whole[:b.shape[0], :b.shape[1]] = b
    return whole.reshape(product.steps, product.depth, product.blocks_n, product.tile_n).swapaxes(1, 2).swapaxes(0, 1)
