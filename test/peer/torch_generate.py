"""Text by transformers' own generate(), greedy and with static caches, a network's forward() being torch.compile(...,
backend="familyseer"): are the tokens those of eager mode, and are both graphs (the prompt's and a token's, which writes its keys
and values into the caches) libraries?

    torch_generate.py [NAME ...]     of gpt2, llama; all without a name

Part of `make check-torch`. A line each, with both ways' tokens a second (of networks this small: mostly transformers' own). Status 1 if
anything is not so.
"""
import sys
import time

import torch
import transformers

import package  # noqa: F401  familyseer as a wheel lays it out, over this build
import familyseer.torch as backend  # noqa: E402

PROMPT, TOKENS, VOCABULARY = 12, 64, 2000


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=4, n_embd=256, n_head=8, vocab_size=VOCABULARY))


def llama():
    """With half as many heads of keys as of queries."""
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=4, hidden_size=256, intermediate_size=688, num_attention_heads=8, num_key_value_heads=4, vocab_size=VOCABULARY))


NETWORKS = {"gpt2": gpt2, "llama": llama}


def generate(net, prompt, **more):
    start = time.monotonic()
    tokens = net.generate(prompt, max_new_tokens=TOKENS, do_sample=False, pad_token_id=0, eos_token_id=None, **more)
    return tokens, TOKENS / (time.monotonic() - start)


def check(name):
    torch.manual_seed(0)
    torch._dynamo.reset()
    net = NETWORKS[name]().eval()
    prompts = torch.randint(0, VOCABULARY, (2, 1, PROMPT))
    n_before = len(backend.explain())
    with torch.inference_mode():
        eager = [generate(net, prompt) for prompt in prompts]
        net.forward = torch.compile(net.forward, backend="familyseer", options={"untuned_drafts": 64})
        mine = [generate(net, prompt, cache_implementation="static") for prompt in prompts]
    is_equal = all(torch.equal(want, have) for (want, _), (have, _) in zip(eager, mine))
    graphs = backend.explain()[n_before:]
    is_whole = len(graphs) == 2 and all(g.state == "library" for g in graphs)
    print(f"{name}: {'equal' if is_equal else 'OTHER'} tokens, {len(graphs)} graphs; {mine[-1][1]:.0f} tokens a second, "
          f"eager {eager[-1][1]:.0f}", flush=True)
    if not is_whole:
        print(backend.explain())
    return is_equal and is_whole


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    sys.exit(0 if all([check(n) for n in sys.argv[1:] or NETWORKS]) else 1)
