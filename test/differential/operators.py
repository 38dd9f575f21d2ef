"""How the cases of each operator are made: one line an operator, by the name that `familyseer list operators` shows. An
operator that is listed there and has no line here fails the test."""
from onnx import TensorProto as T

import anchors as a
import attention
import contrib
import elementwise as e
import sampling
import shaping as s
import tight
from elementwise import binary, compare, flag, real, reduction, unary

F = e.REALS


def moderate(make):
    """Magnitudes whose squares and sums the type holds: where one overflows within, the definition says nothing."""
    def made(m):
        m.domain["moderate"] = True
        make(m)
    return made


MAKERS = {
    # elementwise
    "Relu": unary(exact=True),
    "LeakyRelu": unary(2, attributes={"alpha": real(-0.5, 1.5)}, among=F),
    "PRelu": e.prelu,
    "Clip": e.clip,
    "Sigmoid": unary(8, 1),
    "HardSigmoid": unary(4, 2, attributes={"alpha": real(0, 1), "beta": real(-1, 1)}),
    "HardSwish": unary(6, 2, conditioned=True),
    "Tanh": unary(8, 2),
    # (Of what e^x - 1 loses near 0: four roundings of 1, times alpha and gamma.)
    "Elu": unary(4, 8, attributes={"alpha": real(0.1, 2)}),
    "Selu": unary(4, 16, attributes={"alpha": real(0.5, 2), "gamma": real(0.5, 2)}),
    "Celu": unary(4, 8, attributes={"alpha": real(0.1, 2)}),
    "Softplus": unary(8, 2),
    "Softsign": unary(4),
    "Mish": unary(12, 16, conditioned=True),
    "ThresholdedRelu": unary(exact=True, attributes={"alpha": real(-1, 2)}),
    "Gelu": e.gelu,
    "Exp": unary(8), "Log": unary(8, 1), "Sqrt": unary(4), "Erf": unary(8, 2), "Sin": unary(8, 4), "Cos": unary(8, 4),
    "Neg": unary(exact=True), "Abs": unary(exact=True), "Sign": unary(exact=True), "Floor": unary(exact=True),
    "Ceil": unary(exact=True), "Round": unary(exact=True), "Reciprocal": unary(2), "IsNaN": unary(exact=True), "IsInf": e.is_inf,
    "Shrink": unary(2, 1, integers={"lo": -100, "hi": 100}, attributes={"bias": real(-1, 1), "lambd": real(0, 1)}),
    "Not": unary(exact=True), "Cast": e.cast, "CastLike": e.cast_like,
    "Tan": unary(16, 4), "Cosh": unary(12), "Sinh": unary(12, 4), "Asinh": unary(12, 4), "Acosh": unary(12, 8), "Atanh": unary(12, 4),
    "Atan": unary(8, 2), "Asin": unary(8, 4), "Acos": unary(8, 8),
    "Add": binary(), "Sub": binary(), "Mul": binary(), "Div": binary(right={"nonzero": True}), "Mod": e.mod, "Pow": e.power,
    "Min": binary(exact=True, more=3), "Max": binary(exact=True, more=3),
    "Sum": binary(more=3, conditioned=True), "Mean": binary(4, more=3, conditioned=True),
    "Equal": compare(), "Less": compare(), "Greater": compare(), "LessOrEqual": compare(), "GreaterOrEqual": compare(),
    "And": compare(), "Or": compare(), "Xor": compare(), "Where": e.where,
    "BitwiseAnd": binary(exact=True), "BitwiseOr": binary(), "BitwiseXor": binary(), "BitwiseNot": unary(exact=True), "BitShift": e.bit_shift,
    # reductions
    "ReduceSum": reduction(), "ReduceMean": reduction(), "ReduceMax": reduction(exact_floats=True),
    "ReduceMin": reduction(exact_floats=True), "ReduceProd": reduction(lo=-1.5, hi=1.5), "ReduceSumSquare": reduction(),
    "ReduceL1": reduction(), "ReduceL2": reduction(), "ReduceLogSum": reduction(positive=True), "ReduceLogSumExp": reduction(nan=False),  # ONNX Runtime: infinity, if there is one beside NaN
    
    "ArgMax": e.arg, "ArgMin": e.arg, "Hardmax": e.along_axis((T.FLOAT, T.FLOAT16), exact=True, nan=False), "CumSum": e.cum_sum, "CumProd": e.cum_prod,
    # (NaN: in f64 ONNX Runtime takes the largest of the others off.)
    "Softmax": e.along_axis(nan=False), "LogSoftmax": e.along_axis(nan=False, absolute=4), "LpNormalization": e.along_axis(attributes={"p": lambda m: m.whole(1, 2)}),
    # moved elements, shapes
    "Reshape": s.reshape, "Flatten": s.flatten, "Squeeze": s.squeeze, "Unsqueeze": s.unsqueeze, "Identity": s.identity,
    "Dropout": s.dropout, "Transpose": s.transpose, "Concat": s.concat, "Split": s.split, "Slice": s.slice_, "Expand": s.expand,
    "Tile": s.tile, "Pad": s.pad, "Gather": s.gather, "GatherElements": s.gather_elements, "GatherND": s.gather_nd,
    "DepthToSpace": s.depth_to_space, "SpaceToDepth": s.space_to_depth, "Trilu": s.trilu, "OneHot": s.one_hot,
    "ScatterElements": s.scatter_elements, "Scatter": s.scatter, "ScatterND": s.scatter_nd, "TopK": s.top_k,
    "ReverseSequence": s.reverse_sequence, "Shape": s.shape_, "Size": s.size, "Constant": s.constant,
    "ConstantOfShape": s.constant_of_shape, "Range": s.range_, "NonZero": s.non_zero, "Unique": s.unique, "Compress": s.compress,
    "CenterCropPad": s.center_crop_pad,
    **{op: s.sequence(op) for op in ("SequenceConstruct", "SequenceEmpty", "SequenceLength", "SequenceAt", "SequenceInsert",
                                     "SequenceErase", "ConcatFromSequence", "SequenceMap", "Optional", "OptionalHasElement",
                                     "OptionalGetElement")},
    "SplitToSequence": s.split_to_sequence,
    # windows, products, normalisations
    "Conv": a.conv, "ConvTranspose": a.conv_transpose, "Gemm": a.gemm, "MatMul": a.matmul, "Einsum": a.einsum,
    "MaxPool": a.pool(False), "AveragePool": a.pool(True), "GlobalAveragePool": a.global_pool(True), "GlobalMaxPool": a.global_pool(False),
    "BatchNormalization": a.batch_norm, "LRN": a.lrn, "LayerNormalization": a.layer_norm, "InstanceNormalization": a.instance_norm,
    "GroupNormalization": a.group_norm, "MeanVarianceNormalization": a.mvn, "SimplifiedLayerNormalization": a.simplified_layer_norm,
    "RMSNormalization": a.rms_norm, "Swish": a.swish, "SwiGLU": a.swiglu,
    # the rest
    "RNN": a.recurrent(1, 1, ["Tanh", "Relu", "Sigmoid"]), "GRU": a.recurrent(3, 1, ["Sigmoid", "Tanh"]),
    "LSTM": a.recurrent(4, 2, ["Sigmoid", "Tanh", "Relu"]),
    "Resize": a.resize, "Upsample": a.upsample, "AffineGrid": a.affine_grid, "Col2Im": a.col2im,
    "QuantizeLinear": a.quantize, "DequantizeLinear": a.dequantize, "DynamicQuantizeLinear": a.dynamic_quantize,
    "MatMulInteger": a.matmul_integer, "ConvInteger": a.conv_integer, "QLinearMatMul": a.qlinear_matmul, "QLinearConv": a.qlinear_conv,
    "NegativeLogLikelihoodLoss": a.loss(False), "SoftmaxCrossEntropyLoss": a.loss(True),
    "HannWindow": a.window, "HammingWindow": a.window, "BlackmanWindow": a.window, "DFT": a.dft, "STFT": a.stft,
    "MelWeightMatrix": a.mel_weights, "TfIdfVectorizer": a.tf_idf, "NonMaxSuppression": a.nms,
    "If": a.if_, "Loop": a.loop, "Scan": a.scan,
    **sampling.MAKERS, **attention.MAKERS,
    **{f"com.microsoft.{name}": make for name, make in contrib.MAKERS.items()},
}

# What adds products up, or normalises.
for _op in ("Softmax LogSoftmax LpNormalization ReduceSum ReduceMean ReduceProd ReduceSumSquare ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
            "CumSum Conv ConvTranspose Gemm MatMul Einsum AveragePool GlobalAveragePool BatchNormalization LRN LayerNormalization "
            "InstanceNormalization GroupNormalization MeanVarianceNormalization SimplifiedLayerNormalization RMSNormalization Sum Mean Loop Scan Col2Im "
            "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss Resize Upsample AffineGrid HardSwish Mish Gelu LpPool GlobalLpPool").split():
    MAKERS[_op] = moderate(MAKERS[_op])
for _op in ("Attention", "RotaryEmbedding", "LinearAttention", "CausalConvWithState"):
    MAKERS[_op] = moderate(MAKERS[_op])
for _op, _make in tight.TIGHT.items():
    MAKERS[_op] = tight.sometimes(_make, MAKERS[_op])
for _op in contrib.MAKERS:
    MAKERS[f"com.microsoft.{_op}"] = moderate(MAKERS[f"com.microsoft.{_op}"])
