"""torch.compile by familyseer beside PyTorch's own compiler, in turns: eager mode, inductor (freezing, max-autotune), familyseer
untuned and, with --budget, tuned for that long.

    torch_compile.py [--networks resnet18,...] [--budget 60s] [--seconds 6]

A line each: median times, and familyseer's over inductor's (below 1: faster); then the geometric means. PyTorch, torchvision and
transformers as tool/requirements-exports.txt has them; `PYTHONPATH=test/peer .venv-exports/bin/python bench/torch_compile.py`.
"""
import argparse
import math
import os
import statistics
import sys
import tempfile
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "peer"))
import package  # noqa: E402,F401  familyseer as a wheel lays it out
import torchvision  # noqa: E402
import transformers  # noqa: E402
import familyseer.torch as backend  # noqa: E402


def vision(name, size=224):
    return lambda: (getattr(torchvision.models, name)(weights=None), (torch.randn(1, 3, size, size),))


def text(model, config, length, **more):
    def make():
        net = getattr(transformers, model)(getattr(transformers, config)(**more))

        class Plain(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, ids):
                return self.net(input_ids=ids, use_cache=False)[0] if model.startswith(("GPT", "Llama")) else self.net(input_ids=ids)[0]
        return Plain(), (torch.randint(0, 1000, (1, length)),)
    return make


NETWORKS = {
    "resnet18": vision("resnet18"), "resnet50": vision("resnet50"), "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3_large": vision("mobilenet_v3_large"), "efficientnet_b0": vision("efficientnet_b0"),
    "squeezenet1_1": vision("squeezenet1_1"), "convnext_tiny": vision("convnext_tiny"), "vit_b_16": vision("vit_b_16"),
    "bert": text("BertModel", "BertConfig", 64, num_hidden_layers=4), "gpt2": text("GPT2LMHeadModel", "GPT2Config", 64, n_layer=4),
    "distilbert": text("DistilBertModel", "DistilBertConfig", 64, n_layers=4),
    "llama": text("LlamaModel", "LlamaConfig", 64, num_hidden_layers=4, hidden_size=512, intermediate_size=1376, num_attention_heads=8, vocab_size=1000),
}


def in_turns(calls, args, seconds):
    """{name: [times]}: each runs for a while in its turn, all of them again and again."""
    times = {name: [] for name in calls}
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end:
        for name, call in calls.items():
            call(*args)  # caches are this one's
            turn = time.perf_counter() + 0.25
            while True:
                begin = time.perf_counter()
                call(*args)
                now = time.perf_counter()
                times[name].append(now - begin)
                if now > turn:
                    break
    return times


def compare(make, budget, seconds):
    torch._dynamo.reset()
    torch.manual_seed(1)
    net, args = make()
    net.eval()
    with torch.no_grad():
        calls = {"eager": net, "inductor": torch.compile(net, mode="max-autotune-no-cudagraphs")}
        calls["inductor"](*args)
        ways = {"untuned": {}, **({"tuned": {"mode": "tune", "time_budget": budget}} if budget else {})}
        for name, options in ways.items():
            calls[name] = torch.compile(net, backend="familyseer", options={"cache_dir": "", "on_fallback": "raise", **options})
            begin = time.perf_counter()
            have, want = calls[name](*args), net(*args)
            have = calls[name](*args)
            first = time.perf_counter() - begin
            error = float((have - want).abs().max() / want.abs().max()) if isinstance(have, torch.Tensor) else 0
            print(f"  {name}: first call {first:.1f} s, {error:.1e} of the largest off", flush=True)
        return {name: statistics.median(t) for name, t in in_turns(calls, args, seconds).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--budget", default="")
    parser.add_argument("--seconds", type=float, default=6)
    options = parser.parse_args()
    torch._inductor.config.freezing = True
    ratios = {}
    for name in options.networks.split(","):
        try:
            ms = {n: t * 1e3 for n, t in compare(NETWORKS[name], options.budget, options.seconds).items()}
        except Exception as problem:  # the others are still to be had
            print(f"{name}: {' '.join(str(problem).split())[:300]}", flush=True)
            continue
        own = {n: ms[n] / ms["inductor"] for n in ("untuned", "tuned") if n in ms}
        for n, r in own.items():
            ratios.setdefault(n, []).append(r)
        print(f"{name}: " + ", ".join(f"{n} {t:.2f} ms" for n, t in ms.items()) + "; over inductor: " +
              ", ".join(f"{n} {r:.2f}" for n, r in own.items()), flush=True)
    for n, r in ratios.items():
        print(f"{n}: {math.exp(statistics.fmean(map(math.log, r))):.3f} of inductor's time in the geometric mean of {len(r)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SEER_DEVICE_LOCK"] = os.path.join(folder, "device.lock")
        main()
