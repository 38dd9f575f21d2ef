"""familyseer.torch: what PyTorch allows a program to do between two calls, and what is not for a library. Eager mode is the
judge. `make check-torch` runs it, in the environment of tool/requirements-exports.txt."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings

os.environ["FAMILYSEER_TORCH_CACHE"] = ""
import package
import torch
from torch import nn

import familyseer  # noqa: E402
import familyseer.torch as ft  # noqa: E402
from peer import run_tests  # noqa: E402

os.environ["SEER_DEVICE_LOCK"] = os.path.join(package.folder, "device.lock")


class Block(nn.Module):
    def __init__(self, n=12):
        super().__init__()
        self.inner, self.norm, self.outer = nn.Linear(n, 24), nn.BatchNorm1d(24), nn.Linear(24, 5)

    def forward(self, x):
        return self.outer(torch.relu(self.norm(self.inner(x))))


def block(**more):
    torch.manual_seed(3)
    return Block(**more).eval()


def compiled(net, **options):
    torch._dynamo.reset()
    return torch.compile(net, backend="familyseer", options={"untuned_drafts": 64, **options})


def last():
    return ft.explain()[-1]


def same(have, want, tolerance=1e-4):
    assert have.dtype == want.dtype and have.shape == want.shape and have.stride() == want.stride(), (have, want)
    torch.testing.assert_close(have, want, rtol=tolerance, atol=tolerance)


def served(net, function, *calls):
    """Each call's answer is eager mode's, and all but the first come from libraries."""
    with torch.inference_mode():
        for args in calls:
            same(function(*args), net(*args))
    assert last().state == "library", str(last())


def test_answers_are_those_of_eager_mode():
    net = block()
    served(net, compiled(net), *([torch.randn(4, 12)] for _ in range(3)))


def test_weights_that_are_replaced_or_changed():
    net = block()
    function, x = compiled(net), torch.randn(4, 12)
    served(net, function, [x], [x])
    with torch.no_grad():
        net.inner.weight.add_(1)
    served(net, function, [x], [x])
    net.load_state_dict(block().state_dict())
    served(net, function, [x], [x])
    net.outer.weight = nn.Parameter(torch.randn(5, 24))
    served(net, function, [x], [x])
    net.outer.bias.data = torch.randn(5)
    served(net, function, [x], [x])
    assert last().libraries > 1 or len(ft.explain()) > 1


def test_buffers_that_a_run_changes():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(4))

        def forward(self, x):
            self.n += x
            return self.n * 2
    net, twin = Counts(), Counts()
    function = compiled(net)
    with torch.inference_mode():
        for _ in range(4):
            x = torch.randn(4)
            same(function(x), twin(x))
            same(net.n, twin.n)
    assert last().state == "library", str(last())


def test_inputs_that_a_run_changes():
    def step(cache, row, k):
        cache[:, 2:3] = row
        return cache.sum(1) + k, cache
    function = compiled(step)
    with torch.inference_mode():
        for _ in range(3):
            cache, row, k = torch.randn(2, 8, 4), torch.randn(2, 1, 4), torch.randn(4)
            twin = cache.clone()
            have, want = function(cache, row, k), step(twin, row, k)
            same(have[0], want[0])
            assert have[1] is cache
            same(cache, twin)
    assert last().state == "library", str(last())


def test_training_is_eager_and_right():
    net, twin = block().train(), block().train()
    function, x = compiled(net, on_fallback="ignore"), torch.randn(6, 12)
    for _ in range(2):
        for one, call in ((net, function), (twin, twin)):
            one.zero_grad()
            call(x).sum().backward()
        same(net.inner.weight.grad, twin.inner.weight.grad)
        same(net.norm.running_mean, twin.norm.running_mean)
    assert last().state == "eager" and "gradients" in last().reason
    net.eval()
    twin.eval()
    with torch.inference_mode():
        for _ in range(2):
            same(function(x), twin(x))
    assert last().state == "library", str(last())
    net.train()
    twin.train()
    with torch.no_grad():  # BatchNorm's statistics change
        for _ in range(3):
            same(function(x), twin(x))
            same(net.norm.running_mean, twin.norm.running_mean)


def test_sizes_that_change():
    net = block()
    function = compiled(net)
    served(net, function, *([torch.randn(n, 12)] for n in (4, 4, 7, 7, 9, 7, 4, 9)))
    function = torch.compile(net, backend="familyseer", dynamic=True, options={"untuned_drafts": 64, "on_fallback": "ignore"})
    torch._dynamo.reset()
    with torch.inference_mode():
        for n in range(2, 14):
            x = torch.randn(n, 12)
            same(function(x), net(x))
    assert last().libraries == 8 and last().state == "eager" and "sizes" in last().reason, str(last())


def test_types():
    def every(a, b, c, d, e, f):
        return a * 2, b + 1, c // 3, d.logical_not(), e.double() / 2, f - 1
    function = compiled(every)

    def args():
        return (torch.randn(4, 3).half(), torch.randn(4, 3).bfloat16(), torch.randint(-9, 9, (4, 3)), torch.randn(4, 3) > 0,
                torch.randn(4, 3).double(), torch.randint(0, 9, (4, 3), dtype=torch.uint8))
    with torch.inference_mode():
        for _ in range(3):
            given = args()
            for have, want in zip(function(*given), every(*given)):
                same(have, want, 1e-2 if have.dtype == torch.bfloat16 else 1e-4)
    assert last().state == "library", str(last())


def test_strides_of_arguments_and_results():
    net = nn.Conv2d(3, 8, 3, padding=1).eval().to(memory_format=torch.channels_last)
    function = compiled(net)
    pictures = [torch.randn(2, 3, 9, 11).to(memory_format=torch.channels_last) for _ in range(3)]
    served(net, function, *([p] for p in pictures))

    def turned(x):
        return (x + 1).transpose(0, 1), x[:, ::2] * 3
    function = compiled(turned)
    with torch.inference_mode():
        for _ in range(3):
            x = torch.randn(6, 5).t()[1:]
            for have, want in zip(function(x), turned(x)):
                same(have, want)


def test_arguments_and_constants_as_results():
    def some(x, y):
        z = x + y
        return x, z, z, None, 3, y.size(0), z.view(-1)
    function = compiled(some)
    with torch.inference_mode():
        for _ in range(3):
            x, y = torch.randn(3, 4), torch.randn(3, 4)
            have = function(x, y)
            assert have[0] is x and have[1] is have[2] and have[3:6] == (None, 3, 3)
            same(have[1], x + y)
            have[6].zero_()
            assert not have[1].any()
    assert last().state == "library", str(last())


def test_results_that_share_memory():
    def parts(x, y):
        z = x * y
        return x.view(-1), z[1:], z, z.t(), x[:, 1:]
    function = compiled(parts)
    with torch.inference_mode():
        for _ in range(3):
            x, y = torch.randn(3, 4), torch.randn(3, 4)
            have, want = function(x, y), parts(x, y)
            for h, w in zip(have, want):
                same(h, w)
            have[2].add_(1)
            want[2].add_(1)
            have[4].mul_(3)  # x itself, which both have
            for h, w in zip(have, want):
                same(h, w)
    assert last().state == "library", str(last())

    def gaps(x, y):
        z = x * y
        return z[:, :2], z[:, 1:]
    function = compiled(gaps, on_fallback="ignore")
    with torch.inference_mode():
        for _ in range(2):
            for h, w in zip(function(x, y), gaps(x, y)):
                same(h, w)
    assert last().state == "eager" and "memory" in last().reason, str(last())


def test_numbers_that_change():
    def scaled(x, k):
        return x * k + k
    function, x = compiled(scaled), torch.randn(5)
    with torch.inference_mode():
        for k in (2, 2, 3, 3, 4, 0.5, 0.5, 0.25, 0.125):
            same(function(x, k), scaled(x, k))


def test_what_is_random_is_eager():
    def dropped(x):
        return nn.functional.dropout(x, 0.5, True)
    function = compiled(dropped, on_fallback="ignore")
    x = torch.ones(1000)
    with torch.inference_mode():
        assert not torch.equal(function(x), function(x))
    assert last().state == "eager" and "random" in last().reason, str(last())


def test_no_elements():
    function = compiled(lambda x: (x + 1).sum(0), on_fallback="ignore")
    with torch.inference_mode():
        same(function(torch.zeros(0, 3)), torch.zeros(3))
    assert last().state == "eager" and "no elements" in last().reason, str(last())


def test_one_warning_names_the_reason_or_an_error_does():
    def unknown(x):
        return torch.special.bessel_j0(x)
    x = torch.rand(4)
    with warnings.catch_warnings(record=True) as told, torch.inference_mode():
        warnings.simplefilter("always")
        function = compiled(unknown)
        function(x)
        function(x)
        compiled(unknown)(x)
    told = [w for w in told if issubclass(w.category, ft.Fallback)]
    assert len(told) == 1 and "bessel_j0" in str(told[0].message), [str(w.message) for w in told]
    try:
        with torch.inference_mode():
            compiled(unknown, on_fallback="raise")(x)
        raise AssertionError("no error")
    except familyseer.Error as error:
        assert "bessel_j0" in str(error) and error.code == "unsupported", error


def test_options_that_cannot_be():
    for options, words in (({"mode": "fast"}, "mode='fast'"), ({"on_fallback": "no"}, "on_fallback='no'"), ({"thread": 2}, "thread")):
        try:
            with torch.inference_mode():
                compiled(block(), **options)(torch.randn(4, 12))
            raise AssertionError("no error")
        except Exception as error:  # PyTorch's own, around ours
            assert words in str(error), error


def test_casts_of_the_caller():
    net = block()
    function = compiled(net)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(3):
            x = torch.randn(4, 12)
            same(function(x), net(x), 3e-2)
    assert last().state == "library", str(last())


def test_attention_with_fewer_heads_of_keys_than_of_queries():
    class Attend(nn.Module):
        def forward(self, query, key, value, is_causal=True):
            return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal, enable_gqa=True)

    net = Attend()
    for n_heads in 2, 1:
        args = [[torch.randn(1, h, 7, 16) for h in (4, n_heads, n_heads)] for _ in range(2)]
        served(net, compiled(net), *args)


def test_threads():
    net = block()
    function, x = compiled(net), torch.randn(4, 12)
    served(net, function, [x], [x])
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        every = [torch.randn(4, 12, generator=generator) for _ in range(50)]  # not in inference mode: PyTorch would compile anew
        try:
            with torch.inference_mode():
                for x in every:
                    same(function(x), net(x))
        except Exception as error:
            wrong.append(error)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong


SECOND = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
import torch, torch_backend as t
net = t.block()
function = t.compiled(net, cache_dir=sys.argv[2], **json.loads(sys.argv[3]))
t.served(net, function, *([torch.randn(4, 12)] for _ in range(3)))
print(json.dumps([t.last().cached, t.last().tuned]))
"""


def in_another_process(cache, **options):
    here = os.path.dirname(os.path.abspath(__file__))
    answer = subprocess.run([sys.executable, "-c", SECOND, json.dumps([here]), cache, json.dumps(options)], check=True, stdout=subprocess.PIPE)
    return json.loads(answer.stdout.decode().splitlines()[-1])


def test_the_second_process_finds_the_library():
    with tempfile.TemporaryDirectory() as cache:
        assert in_another_process(cache) == [False, ""]
        assert in_another_process(cache) == [True, ""]
        assert in_another_process(cache, mode="tune", time_budget="2s") == [False, "tuned for 2s"]
        assert in_another_process(cache) == [True, "tuned for 2s"]
        (digest,) = os.listdir(cache)
        for name in os.listdir(os.path.join(cache, digest)):
            with open(os.path.join(cache, digest, name, "weights.bin"), "r+b") as file:
                file.truncate(10)
        assert in_another_process(cache) == [False, ""]
        assert in_another_process(cache) == [True, ""]
        assert not [n for n in os.listdir(cache) if n.startswith(".")]


def test_the_cache_keeps_within_its_bytes():
    with tempfile.TemporaryDirectory() as cache:
        for n in (8, 9, 10):
            net = block(n=n)
            served(net, compiled(net, cache_dir=cache, cache_bytes=1), *([torch.randn(4, n)] for _ in range(2)))
            assert len(os.listdir(cache)) == 1, os.listdir(cache)


def test_tuning_in_the_background():
    net = block()
    with tempfile.TemporaryDirectory() as cache:
        function = compiled(net, mode="background", time_budget="2s", cache_dir=cache)
        x = torch.randn(4, 12)
        served(net, function, [x], [x])
        for _ in range(1200):
            if last().tuned.startswith("tuned"):
                break
            assert "failed" not in last().tuned, str(last())
            served(net, function, [torch.randn(4, 12)])
            time.sleep(0.1)
        assert last().tuned == "tuned for 2s in the background", str(last())
        served(net, function, [x], [torch.randn(4, 12)])
        assert in_another_process(cache) == [True, "tuned for 2s"]


def test_a_module_is_a_model():
    net, x = block(), torch.randn(4, 12)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.onnx")
        ft.export(net, (x,), path)
        model = familyseer.compile(path, untuned_drafts=64)
        same(torch.from_numpy(model(x.numpy())), net(x).detach())
        try:
            ft.export(block().train(), (x,), path)
            raise AssertionError("no error")
        except familyseer.Error as error:
            assert "eval()" in str(error), error


if __name__ == "__main__":
    run_tests([(n, t) for n, t in list(globals().items()) if n.startswith("test_")])
