"""The built-in networks, written out as ONNX, against ONNX Runtime. SEER_TEST: timeout=3600 cost=35"""
import os
import sys
import tempfile

import numpy as np
import onnx

from peer import FULL, check_model, familyseer, random_feeds, run_tests

# Sequences are short here: what a token costs does not depend on how many there are.
NETWORKS = {"mlp": "", "mobilenet_v2": "", "mobilenet": "", "resnet18": "", "resnet50_v1": "",
            "t5_small": "input_ids:2x19", "llama_small": "input_ids:1x21", "squeezenet1_1": "input:1x3x96x96",
            "efficientnet_b0": "input:1x3x96x96", "swin_t": "input:2x3x64x64", "yolov8n": "input:1x3x96x96"}
IN_FULL = {"resnet152_v2": "", "mobilenet_v2_0.25": "", "densenet121": "", "vgg16": "", "distilbert": "input_ids:2x17",
           "bert_base": "input_ids:1x32", "roberta_base": "input_ids:1x13", "gpt2_small": "input_ids:1x24", "vit_base": "",
           "bert_large": "input_ids:1x16", "roberta_large": "input_ids:1x16", "vit_huge": "", "squeezenet1_0": "",
           "inception_v3": "", "efficientnet_b3": "", "convnext_tiny": "", "swin_s": "", "yolov8s": "input:1x3x320x320"}
PARTS = {"yolov8": {"output": (1, [4])}}  # boxes, then probabilities


def builtin(name, shape, turn):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, name + ".onnx")
        familyseer("models", "--export", name, "-o", tmp, *(["--input-shapes", shape] if shape else []))
        onnx.checker.check_model(path)
        feeds = random_feeds(onnx.load(path, load_external_data=False))
        if "attention_mask" in feeds:  # the last tokens of each sequence are padding
            mask = feeds["attention_mask"]
            mask[:] = np.arange(mask.shape[1]) < mask.shape[1] - 1 - np.arange(mask.shape[0])[:, None]
        if "token_type_ids" in feeds:
            feeds["token_type_ids"] %= 2
        check_model(name, path, feeds, parts=PARTS.get(name[:-1], {}), turn=turn)


networks = {**NETWORKS, **IN_FULL} if FULL or sys.argv[1:] else NETWORKS  # named ones are run in any case
run_tests([(name, lambda name=name, shape=shape, turn=turn: builtin(name, shape, turn))
           for turn, (name, shape) in enumerate(networks.items())])
