"""Networks with operators of attention in their files, as exporters write them (random weights, small configurations): do they
import, run and agree with eager mode and ONNX Runtime, at -O0 and -O1?

    attention_networks.py [NAME ...]     all, or those whose name contains one of these

Three ways to such a file: torch.onnx.export at opset 23 and 24 (Attention, RMSNormalization, RotaryEmbedding), onnxscript's fusions
for ONNX Runtime, and ONNX Runtime's own optimiser of transformers (com.microsoft's Attention, MultiHeadAttention, SkipLayerNormalization
and others). Which operators each file has is asserted: an exporter that writes something else tests nothing here. Texts have a
mask that hides the last tokens of one of two. Part of `make check-exports`. Status 1 if any network does not agree.
"""
import collections
import dataclasses
import os
import sys
import tempfile
import unittest.mock
import warnings
from typing import Callable

import numpy as np
import onnx
import onnx_ir
import torch
import transformers
from onnxruntime.transformers import optimizer
from onnxscript.rewriter import ort_fusions

from export_case import spread
from peer import compare, familyseer, reference, run_ours

LLAMA = {"vocab_size": 200, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
BERT = {"vocab_size": 200, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
MS = "com.microsoft."


class First(torch.nn.Module):
    """A transformer's first result, called with inputs by name."""

    def __init__(self, net, names, **more):
        super().__init__()
        self.net, self.names, self.more = net, names, more

    def forward(self, *args):
        return self.net(**dict(zip(self.names, args)), return_dict=False, **self.more)[0]


def text(model, config, attention="sdpa", **kwargs):
    def make():
        cfg = getattr(transformers, config)(**kwargs)
        cfg._attn_implementation = attention
        net = getattr(transformers, model)(cfg)
        mask = torch.ones(2, 16, dtype=torch.int64)
        mask[1, 11:] = 0
        more = {"use_cache": False} if model.endswith("LM") or "LMHead" in model else {}
        return First(net, ("input_ids", "attention_mask"), **more), {"input_ids": torch.randint(3, 200, (2, 16)), "attention_mask": mask}
    return make


def vit():
    config = transformers.ViTConfig(image_size=32, patch_size=8, **{k: v for k, v in BERT.items() if k != "vocab_size"})
    return First(transformers.ViTModel(config), ("pixel_values",)), {"pixel_values": torch.randn(2, 3, 32, 32)}


def whisper():
    config = transformers.WhisperConfig(vocab_size=200, num_mel_bins=16, d_model=48, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64,
                                        decoder_layers=1, decoder_attention_heads=4, decoder_ffn_dim=64, max_source_positions=30, pad_token_id=0,
                                        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    return First(transformers.WhisperModel(config).encoder, ("input_features",)), {"input_features": torch.randn(2, 16, 60)}


def turned(q, k, cos, sin, *_, **__):
    """transformers' rotary embedding by torch's operator for ONNX's."""
    half, batch = cos.shape[-1] // 2, q.shape[0]
    cos, sin = (x[..., :half].expand(batch, -1, -1) for x in (cos, sin))
    return tuple(torch.onnx.ops.rotary_embedding(x, cos, sin) for x in (q, k))


# ---- ways to a file

def by_torch(opset, rotary=None):
    """rotary: the module of transformers whose rotary embedding is written as one operator."""
    def write(net, inputs, path):
        where = f"transformers.models.{rotary}.modeling_{rotary}.apply_rotary_pos_emb" if rotary else "builtins.abs"
        with unittest.mock.patch(where, turned if rotary else abs):
            torch.onnx.export(net, tuple(inputs.values()), path, input_names=list(inputs), opset_version=opset, dynamo=True, external_data=False, verbose=False)
    return write


def by_onnxscript(net, inputs, path):
    torch.onnx.export(net, tuple(inputs.values()), path, input_names=list(inputs), opset_version=18, dynamo=True, external_data=False, verbose=False)
    fused, _ = ort_fusions.optimize_for_ort(onnx_ir.load(path))
    onnx_ir.save(fused, path)


def by_optimiser(kind):
    def write(net, inputs, path):
        torch.onnx.export(net, tuple(inputs.values()), path, input_names=list(inputs), opset_version=17, dynamo=False)
        optimizer.optimize_model(path, model_type=kind, num_heads=4, hidden_size=48, opt_level=0).save_model_to_file(path)
    return write


@dataclasses.dataclass
class Network:
    make: Callable
    write: Callable
    has: dict  # operators that the file has, and how many


def of_onnx(attention, **norms):
    return {"Attention": attention, **norms}


def ms(**operators):
    return {MS + k: v for k, v in operators.items()}


NETWORKS = {
    "bert": Network(text("BertModel", "BertConfig", **BERT), by_torch(23), of_onnx(2)),
    "roberta": Network(text("RobertaModel", "RobertaConfig", **BERT), by_torch(24), of_onnx(2)),
    "distilbert": Network(text("DistilBertModel", "DistilBertConfig", vocab_size=200, dim=48, hidden_dim=64, n_layers=2, n_heads=4), by_torch(23), of_onnx(2)),
    "gpt2": Network(text("GPT2LMHeadModel", "GPT2Config", vocab_size=200, n_embd=48, n_layer=2, n_head=4, n_positions=64), by_torch(23), of_onnx(2)),
    "llama": Network(text("LlamaForCausalLM", "LlamaConfig", **LLAMA), by_torch(23, "llama"), of_onnx(2, RMSNormalization=5, RotaryEmbedding=4)),
    "qwen2": Network(text("Qwen2ForCausalLM", "Qwen2Config", **LLAMA), by_torch(24, "qwen2"), of_onnx(2, RotaryEmbedding=4)),
    "qwen3": Network(text("Qwen3ForCausalLM", "Qwen3Config", head_dim=12, **LLAMA), by_torch(23), of_onnx(2, RMSNormalization=9)),
    "gemma3": Network(text("Gemma3ForCausalLM", "Gemma3TextConfig", head_dim=12, sliding_window=6, **LLAMA), by_torch(23), of_onnx(2, RMSNormalization=13)),
    "phi": Network(text("PhiForCausalLM", "PhiConfig", **LLAMA), by_torch(23), of_onnx(2)),
    "phi3": Network(text("Phi3ForCausalLM", "Phi3Config", **LLAMA), by_torch(23), of_onnx(2, RMSNormalization=5)),
    "mistral": Network(text("MistralForCausalLM", "MistralConfig", sliding_window=6, **LLAMA), by_torch(23, "mistral"),
                       of_onnx(2, RMSNormalization=5, RotaryEmbedding=4)),
    "vit": Network(vit, by_torch(23), of_onnx(2)),
    "whisper_encoder": Network(whisper, by_torch(24), of_onnx(2)),
    "t5_encoder": Network(text("T5EncoderModel", "T5Config", "eager", vocab_size=200, d_model=48, d_ff=64, num_layers=2, num_heads=4, d_kv=12), by_torch(23),
                          {"RMSNormalization": 5}),
    "bert_fused": Network(text("BertModel", "BertConfig", **BERT), by_onnxscript, ms(Attention=2, SkipLayerNormalization=4, BiasGelu=2)),
    "vit_fused": Network(vit, by_onnxscript, ms(Attention=2, SkipLayerNormalization=4)),
    "phi_fused": Network(text("PhiForCausalLM", "PhiConfig", **{**LLAMA, "num_key_value_heads": 4}), by_onnxscript, ms(MultiHeadAttention=2)),
    "whisper_encoder_fused": Network(whisper, by_onnxscript, ms(MultiHeadAttention=2, SkipLayerNormalization=4)),
    "llama_fused": Network(text("LlamaForCausalLM", "LlamaConfig", **LLAMA), by_onnxscript, {"SimplifiedLayerNormalization": 1, **ms(SkipSimplifiedLayerNormalization=4)}),
    "bert_optimised": Network(text("BertModel", "BertConfig", "eager", **BERT), by_optimiser("bert"), ms(Attention=2, SkipLayerNormalization=4)),
    "gpt2_optimised": Network(text("GPT2LMHeadModel", "GPT2Config", "eager", vocab_size=200, n_embd=48, n_layer=2, n_head=4, n_positions=64),
                              by_optimiser("gpt2"), ms(SkipLayerNormalization=4, FastGelu=2)),
}


def check(name, network, tmp):
    torch.manual_seed(1)
    net, inputs = network.make()
    net.eval()
    path = os.path.join(tmp, name + ".onnx")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread(net)
        eager = net(*inputs.values()).numpy()
        network.write(net, inputs, path)
    model = onnx.load(path)
    count = collections.Counter((n.domain + "." if n.domain else "") + n.op_type for n in model.graph.node)
    lacks = {k: count[k] for k, n in network.has.items() if count[k] != n}
    assert not lacks, f"the file has other operators: {lacks}, must be {network.has}; {dict(count)}"
    taken = {i.name for i in model.graph.input}
    feeds = {n: x.numpy() for n, x in inputs.items() if n in taken}
    out = model.graph.output[0].name
    theirs = reference(path, feeds)[out]
    compare(f"{name} ONNX Runtime", {out: theirs}, {out: eager})
    for level in "-O0", "-O1":
        folder, answers = os.path.join(tmp, name + level), os.path.join(tmp, name + level + "-run")
        os.mkdir(answers)
        familyseer("compile", path, level, "-o", folder)
        ours = run_ours(folder, feeds, answers, 2)
        compare(f"{name} {level}", ours, {out: theirs})
        compare(f"{name} {level} eager", ours, {out: eager})
    return "right: " + ", ".join(f"{count[k]} {k}" for k in network.has)


def main():
    only, failed = sys.argv[1:], []
    tried = {n: network for n, network in NETWORKS.items() if not only or any(o in n for o in only)}
    for name, network in tried.items():
        np.random.seed(1)
        with tempfile.TemporaryDirectory() as tmp:
            try:
                print(f"{name}: {check(name, network, tmp)}", flush=True)
            except Exception as problem:  # whatever it is, this network does not agree
                failed.append(name)
                print(f"{name}: WRONG: {' '.join(str(problem).split())[:600]}", flush=True)
    print(f"{len(tried) - len(failed)} of {len(tried)} networks with operators of attention agree" + (": not " + ", ".join(failed) if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    main()
