"""Networks exported from torchvision, timm and transformers (random weights): do they import, run and agree with ONNX Runtime?

    exports.py [NAME ...]        all, or those whose name contains one of these

`make check-exports` installs what it needs (tool/requirements-exports.txt, some 6 GB, into .venv-exports) and runs it.
Text networks have few layers: what a layer exports as does not depend on how many there are. Status 1 if any network
does not agree. Those of exports_today.py are of kinds that were found wrong, or that nothing else here has.
"""
import os
import sys
import tempfile

import numpy as np
import timm
import torch
import torchvision
import transformers

import exports_today
from export_case import Export, check


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
        call = {"use_cache": False} if getattr(cfg, "is_decoder", False) or model.startswith(("GPT", "Llama", "OPT", "Bloom")) else {}
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


OLDER = ("torchvision_resnet18", "torchvision_googlenet", "torchvision_lraspp", "timm_levit_128s", "torch_lstm", "torch_gru")


def cases():
    """Today's exporter, opset 18; some by the older one, as it writes them without being asked for more."""
    plain = {n: Export(make, 17, False) if n in OLDER else Export(make) for n, make in NETWORKS.items()}
    return {**plain, **exports_today.NETWORKS}


def main():
    only, failed = sys.argv[1:], {}
    tried = {n: case for n, case in cases().items() if not only or any(o in n for o in only)}
    for name, case in tried.items():
        np.random.seed(1)
        with tempfile.TemporaryDirectory() as tmp:
            try:
                print(f"{name}: {check(name, case, tmp)}", flush=True)
            except Exception as problem:  # whatever it is, this network does not agree
                failed[name] = " ".join(str(problem).split())[:400]
                print(f"{name}: WRONG: {failed[name]}", flush=True)
    print(f"{len(tried) - len(failed)} of {len(tried)} networks import, run and agree, or are refused as the pages say")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
