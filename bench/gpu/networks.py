#!/usr/bin/env python3
"""Whole networks by PyTorch on a CUDA device: batch 1, one captured graph, random weights; ms of a run. The peers of later bars.

    bench/gpu/networks.py [--networks mobilenet_v2,resnet50,bert_large,gpt2_token]      one JSON line each

f32 with TF32 off, TF32 on, fp16; convolutions in both layouts, with cudnn.benchmark; each the median of 30 replays, input as the
last run left it. BERT-Large: 128 tokens, no head; GPT2-Small: one token behind 127 that are cached, with its head.
"""
import argparse
import json
import statistics

import torch


def image(name, form):
    import torchvision  # here and below: not every machine with PyTorch has the others
    network = getattr(torchvision.models, name)(weights=None)
    return network.to(memory_format=form), (torch.randn(1, 3, 224, 224).to(memory_format=form),)


def bert(_, __):
    import transformers
    config = transformers.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    return transformers.BertModel(config, add_pooling_layer=False), (torch.randint(0, 30000, (1, 128)),)


class Token(torch.nn.Module):
    """GPT2-Small for one token: layers as published, 127 tokens of keys and values at hand."""

    def __init__(self, width=768, heads=12, layers=12, words=50257, past=127):
        super().__init__()
        self.heads, self.layers = heads, layers
        self.table = torch.nn.Embedding(words, width)
        self.positions = torch.nn.Embedding(1024, width)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.qkv = torch.nn.ModuleList(torch.nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))
        self.up = torch.nn.ModuleList(torch.nn.Linear(width, 4 * width) for _ in range(layers))
        self.down = torch.nn.ModuleList(torch.nn.Linear(4 * width, width) for _ in range(layers))
        self.past = torch.nn.Parameter(torch.randn(layers, 2, 1, heads, past + 1, width // heads), requires_grad=False)

    def forward(self, token, position):
        functional = torch.nn.functional
        x = self.table(token) + self.positions(position)
        for i in range(self.layers):
            query, key, value = self.qkv[i](self.norms[2 * i](x)).reshape(1, 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            past = self.past[i]
            past[0, :, :, -1:].copy_(key)
            past[1, :, :, -1:].copy_(value)
            seen = functional.scaled_dot_product_attention(query, past[0], past[1])
            x = x + self.out[i](seen.transpose(1, 2).reshape(1, 1, -1))
            x = x + self.down[i](functional.gelu(self.up[i](self.norms[2 * i + 1](x)), approximate="tanh"))
        return functional.linear(self.norms[-1](x), self.table.weight)


def token(_, __):
    return Token(), (torch.tensor([[17]]), torch.tensor([[127]]))


NETWORKS = {"mobilenet_v2": image, "resnet18": image, "resnet50": image, "bert_large": bert, "gpt2_token": token}
PRECISIONS = ("f32", "tf32", "f16")


def milliseconds(network, inputs):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            network(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        network(*inputs)
    times = []
    for _ in range(35):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times[5:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    for name in options.networks.split(","):
        make = NETWORKS[name]
        for form in (torch.channels_last, torch.contiguous_format) if make is image else (None,):
            network, inputs = make(name, form)
            network = network.eval().cuda()
            for precision in PRECISIONS:
                torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
                if precision == "f16":
                    network = network.half()
                given = [value.cuda().half() if precision == "f16" and value.is_floating_point() else value.cuda()
                         for value in inputs]
                line = {"network": name, "layout": {torch.channels_last: "channels last", None: ""}.get(form, "planes"),
                        "precision": precision}
                try:
                    with torch.inference_mode():
                        line["ms"] = round(milliseconds(network, given), 4)
                except Exception as error:  # one that cannot be captured leaves the others
                    line["error"] = str(error)[:200]
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
