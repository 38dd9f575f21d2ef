"""Networks that campaigns damage: (name, bytes of an ONNX file), small, so that it is their structure that is hit.

Built-in networks with their weights taken out (each a ConstantOfShape: every node, name and shape is there), the same kind
of networks from the ONNX project's own data, its models of control flow, sequences, quantisation and signals, and a few
written here that keep their weights.

    networks.py FOLDER    writes them
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conform"))
import cases  # noqa: E402

FAMILYSEER = os.environ.get("FAMILYSEER", "build/familyseer")
BUILT_IN = ["mlp", "mobilenet_v2_0.25", "mobilenet_0.25", "resnet18", "resnet18_v2", "resnet50_v1", "squeezenet1_0", "squeezenet1_1",
            "densenet121", "inception_v3", "efficientnet_b0", "convnext_tiny", "swin_t", "yolov8n", "vit_base", "bert_base"]
NODES = ["test_loop11", "test_loop13_seq", "test_loop16_seq_none", "test_if", "test_if_opt", "test_if_seq", "test_scan_sum",
         "test_scan9_sum", "test_sequence_map_add_2_sequences", "test_lstm_with_peepholes", "test_gru_seq_length", "test_dft", "test_stft",
         "test_einsum_batch_matmul", "test_nonmaxsuppression_two_batches", "test_qlinearconv", "test_qlinearmatmul_3D_uint8_float32",
         "test_resize_downsample_scales_cubic", "test_tfidfvectorizer_tf_batch_onlybigrams_skip5", "test_gridsample_bicubic",
         "test_sce_mean_weight_ii_3d_log_prob_expanded", "test_layer_normalization_3d_axis1_epsilon_expanded",
         "test_unique_sorted_with_axis_3d", "test_dequantizelinear_blocked", "test_roialign_mode_max",
         "test_affine_grid_3d_expanded", "test_center_crop_pad_crop_axes_hwc_expanded"]


def lighten(model, over=64):
    """Weights of more than `over` numbers become nodes that make them."""
    kept, made = [], []
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and np.prod(tensor.dims) > over:
            shape = tensor.name + "/shape"
            kept.append(numpy_helper.from_array(np.array(tensor.dims, np.int64), shape))
            value = helper.make_tensor("value", TensorProto.FLOAT, [1], [0.01])
            made.append(helper.make_node("ConstantOfShape", [shape], [tensor.name], value=value))
        else:
            kept.append(tensor)
    nodes = made + list(model.graph.node)
    names = {t.name for t in kept}
    inputs = [i for i in model.graph.input if i.name in names or i.name not in {m.output[0] for m in made}]
    for field, values in (("initializer", kept), ("node", nodes), ("input", inputs)):
        del getattr(model.graph, field)[:]
        getattr(model.graph, field).extend(values)
    return model


def built_in(name):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([FAMILYSEER, "models", "--export", name, "-o", folder], check=True, capture_output=True)
        return lighten(onnx.load(os.path.join(folder, name + ".onnx"))).SerializeToString()


def of_functions():
    """Functions that call each other."""
    node = helper.make_node
    inner = helper.make_function("d", "Inner", ["a"], ["b"], [node("Relu", ["a"], ["r"]), node("Neg", ["r"], ["b"])],
                                 [helper.make_opsetid("", 18)])
    outer = helper.make_function("d", "Outer", ["a"], ["b"], [node("Inner", ["a"], ["h"], domain="d"), node("Inner", ["h"], ["b"], domain="d")],
                                 [helper.make_opsetid("", 18), helper.make_opsetid("d", 1)])
    graph = helper.make_graph([node("Outer", ["x"], ["h"], domain="d"), node("Inner", ["h"], ["y"], domain="d")], "functions",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, functions=[inner, outer], ir_version=8,
                             opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("d", 1)]).SerializeToString()


def with_weights():
    """A convolution, a dense layer and all that stands between, with its weights in the file."""
    rng = np.random.default_rng(1)

    def weight(name, *shape):
        return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)

    node = helper.make_node
    nodes = [node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), node("BatchNormalization", ["c", "g", "g", "g", "v"], ["n"]),
             node("Relu", ["n"], ["r"]), node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("Flatten", ["p"], ["f"]),
             node("Gemm", ["f", "d", "e"], ["y"], transB=1)]
    weights = [weight("w", 8, 3, 3, 3), weight("b", 8), weight("g", 8), numpy_helper.from_array(np.ones(8, np.float32), "v"),
               weight("d", 10, 128), weight("e", 10)]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def all_networks():
    """[(name, bytes)], always in the same order."""
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    found = [("functions", of_functions()), ("small", with_weights())]
    found += [(name, built_in(name)) for name in BUILT_IN]
    for name in sorted(os.listdir(data)):
        if name.endswith(".onnx"):
            with open(os.path.join(data, name), "rb") as file:
                found.append((name[:-5], file.read()))
    return found + [(name[5:], model.SerializeToString()) for name, model in zip(NODES, cases.models("node", NODES))]


def made_elsewhere():
    """all_networks() by a process of its own: a child's largest resident set begins with its parent's, which must stay small."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.abspath(__file__), folder], check=True)
        found = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                found.append((name.partition("-")[2], file.read()))
    return found


if __name__ == "__main__":
    for k, (label, content) in enumerate(all_networks()):
        with open(os.path.join(sys.argv[1], f"{k:03d}-{label}"), "wb") as out:
            out.write(content)
