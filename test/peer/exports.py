"""Networks exported from torchvision, timm and transformers (random weights): do they import, run and agree with ONNX Runtime?

    exports.py [NAME ...]        all, or those whose name contains one of these

`make check-exports` installs what it needs (tool/requirements-exports.txt, about 3 GB) and runs it. Text networks have few
layers: what a layer exports as does not depend on how many there are. Status 1 if any network does not agree.
"""
import os
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
import timm
import torch
import torchvision
import transformers

from peer import compare, familyseer, reference, run_ours

OPSET = 17


def vision(name, size=224, **kwargs):
    return lambda: (getattr(torchvision.models, name)(weights=None, **kwargs), (torch.randn(1, 3, size, size),))


def detector_head(name, size):
    """A segmentation network gives a dictionary: its first entry is exported."""
    class Head(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None)

        def forward(self, x):
            return self.net(x)["out"]
    return lambda: (Head(), (torch.randn(1, 3, size, size),))


def pytorch_image(name, size=224):
    return lambda: (timm.create_model(name, pretrained=False), (torch.randn(1, 3, size, size),))


def text(model, config, inputs=("input_ids", "attention_mask"), **kwargs):
    """A transformer with a small configuration, called with ids and a mask that hides the last tokens."""
    def make():
        cfg = getattr(transformers, config)(**kwargs)
        cfg._attn_implementation = "eager"
        net = getattr(transformers, model)(cfg)
        call = {"use_cache": False} if cfg.is_decoder or model.startswith(("GPT", "Llama", "OPT", "Bloom")) else {}
        ids = torch.randint(0, 1000, (2, 24))
        mask = torch.ones(2, 24, dtype=torch.int64)
        mask[1, 17:] = 0
        given = {"input_ids": ids, "attention_mask": mask}

        class Plain(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, *args):
                return self.net(**dict(zip(inputs, args)), return_dict=False, **call)[0]
        return Plain(), tuple(given[i] for i in inputs)
    return make


class First(torch.nn.Module):
    """A transformer's first result, as a tensor."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x, return_dict=False)[0]


def picture(model, config, size=224, **kwargs):
    """A transformer that reads images."""
    def make():
        cfg = getattr(transformers, config)(**kwargs)
        cfg._attn_implementation = "eager"
        net = getattr(transformers, model)(cfg)
        return First(net), (torch.randn(1, 3, size, size),)
    return make


def whisper():
    """The encoder of a small Whisper: convolutions over a spectrum, then attention."""
    cfg = transformers.WhisperConfig(encoder_layers=2, d_model=128, encoder_attention_heads=4, encoder_ffn_dim=256,
                                     decoder_attention_heads=4)
    cfg._attn_implementation = "eager"
    net = transformers.WhisperModel(cfg).encoder
    return First(net), (torch.randn(1, 80, 3000),)


class Recurrent(torch.nn.Module):
    """A tagger: embedding, two bidirectional layers, one score per tag."""

    def __init__(self, kind):
        super().__init__()
        self.embedding = torch.nn.Embedding(500, 48)
        self.layers = getattr(torch.nn, kind)(48, 40, num_layers=2, bidirectional=True, batch_first=True)
        self.out = torch.nn.Linear(80, 17)

    def forward(self, ids):
        return self.out(self.layers(self.embedding(ids))[0])


NETWORKS = {
    "torchvision_resnet18": vision("resnet18"),
    "torchvision_mobilenet_v3_small": vision("mobilenet_v3_small"),
    "torchvision_shufflenet_v2": vision("shufflenet_v2_x1_0"),
    "torchvision_squeezenet1_1": vision("squeezenet1_1"),
    "torchvision_densenet121": vision("densenet121"),
    "torchvision_efficientnet_b0": vision("efficientnet_b0"),
    "torchvision_convnext_tiny": vision("convnext_tiny"),
    "torchvision_regnet_y_400mf": vision("regnet_y_400mf"),
    "torchvision_googlenet": vision("googlenet", aux_logits=False, init_weights=True),
    "torchvision_vit_b_16": vision("vit_b_16"),
    "torchvision_swin_t": vision("swin_t"),
    "torchvision_lraspp": detector_head("lraspp_mobilenet_v3_large", 160),
    "timm_mobilevit_xxs": pytorch_image("mobilevit_xxs", 256),
    "timm_ghostnet_100": pytorch_image("ghostnet_100"),
    "timm_tf_efficientnet_lite0": pytorch_image("tf_efficientnet_lite0"),
    "timm_levit_128s": pytorch_image("levit_128s"),
    "timm_mixer_s32": pytorch_image("mixer_s32_224"),
    "transformers_bert": text("BertModel", "BertConfig", num_hidden_layers=2),
    "transformers_distilbert": text("DistilBertModel", "DistilBertConfig", n_layers=2),
    "transformers_gpt2": text("GPT2LMHeadModel", "GPT2Config", n_layer=2),
    "transformers_t5_encoder": text("T5EncoderModel", "T5Config", num_layers=2),
    "transformers_llama": text("LlamaModel", "LlamaConfig", num_hidden_layers=2, hidden_size=256, intermediate_size=688,
                               num_attention_heads=4, vocab_size=1000),
    "transformers_electra": text("ElectraModel", "ElectraConfig", num_hidden_layers=2),
    "transformers_albert": text("AlbertModel", "AlbertConfig", num_hidden_layers=2, hidden_size=256, num_attention_heads=4,
                                intermediate_size=512),
    "transformers_opt": text("OPTModel", "OPTConfig", num_hidden_layers=2, hidden_size=256, ffn_dim=512, num_attention_heads=4),
    "transformers_mobilebert": text("MobileBertModel", "MobileBertConfig", num_hidden_layers=2),
    "transformers_clip_vision": picture("CLIPVisionModel", "CLIPVisionConfig", num_hidden_layers=2),
    "transformers_segformer": picture("SegformerModel", "SegformerConfig", size=128),
    "transformers_whisper_encoder": lambda: whisper(),
    "torchvision_inception_v3": vision("inception_v3", 299, init_weights=False),
    "torchvision_mnasnet": vision("mnasnet0_5"),
    "torchvision_maxvit": vision("maxvit_t"),
    "torchvision_deeplab": detector_head("deeplabv3_mobilenet_v3_large", 160),
    "timm_convnextv2_atto": pytorch_image("convnextv2_atto"),
    "timm_efficientformer_l1": pytorch_image("efficientformer_l1"),
    "timm_poolformer_s12": pytorch_image("poolformer_s12"),
    "timm_repvgg_a0": pytorch_image("repvgg_a0"),
    "timm_hrnet_w18_small": pytorch_image("hrnet_w18_small"),
    "torch_lstm": lambda: (Recurrent("LSTM"), (torch.randint(0, 500, (2, 12)),)),
    "torch_gru": lambda: (Recurrent("GRU"), (torch.randint(0, 500, (2, 12)),)),
}


def spread(net):
    """Random BatchNorm statistics, and random weights where a fresh network has only zeros: these would hide faults."""
    generator = torch.Generator().manual_seed(5)
    for parameter in net.parameters():
        if parameter.dim() > 1 and not parameter.any():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / parameter[0].numel() ** 0.5)
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d) and module.running_mean is not None:
            module.running_mean.copy_(0.1 * torch.randn(module.running_mean.shape, generator=generator))
            module.running_var.copy_(0.8 + 0.4 * torch.rand(module.running_var.shape, generator=generator))


def check(name, tmp):
    torch.manual_seed(1)
    net, inputs = NETWORKS[name]()
    net.eval()
    with torch.no_grad():
        spread(net)
    path = os.path.join(tmp, name + ".onnx")
    names = [f"in{k}" for k in range(len(inputs))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, inputs, path, opset_version=OPSET, input_names=names, output_names=["out"], dynamo=False)
    feeds = {n: x.numpy() for n, x in zip(names, inputs)}
    want = reference(path, feeds)
    start = time.time()
    folder = os.path.join(tmp, name)
    familyseer("compile", path, "-O1", "-o", folder)
    took = time.time() - start
    out = os.path.join(tmp, name + "-run")
    os.mkdir(out)
    compare(f"{name} ({len(onnx.load(path).graph.node)} nodes, {took:.1f} s)", run_ours(folder, feeds, out, 2), want, rtol=1e-3)


def main():
    only, failed = sys.argv[1:], {}
    names = [n for n in NETWORKS if not only or any(o in n for o in only)]
    for name in names:
        with tempfile.TemporaryDirectory() as tmp:
            try:
                check(name, tmp)
            except Exception as problem:  # whatever it is, this network does not agree
                failed[name] = " ".join(str(problem).split())[:400]
                print(f"{name}: {failed[name]}", flush=True)
    print(f"{len(names) - len(failed)} of {len(names)} networks import, run and agree")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    np.random.seed(1)
    main()
