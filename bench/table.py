"""What bench_networks.py says of its measurements: a line for each network, one Markdown file, closing lines with the bars.

In: the object of bench.json (measure.py says what a row has). All ratios say how many times as fast the tuned network is, but
for two: the estimate over the latency that the tuning ended with, and the latency over the sum of the steps alone.
"""
import math

# over_sum: latency over the steps alone, at most. estimate: how far from the latency, at most. peer: against the fastest
# peer, at least, each network; peer_mean, before: their geometric means, at least.
BARS = {"over_sum": 1.05, "estimate": 0.05, "peer": 1.15, "peer_mean": 1.45, "before": 1.10}
MISSING = "-"
STATES = (("gain", "{:.2f}"), ("hand_over_ns", "{:.0f} ns"), ("load", "{:.1f}"))


# ---- one row's figures; None: there is none
def dig(row, *keys):
    for key in keys:
        row = row.get(key) if row else None
    return row


def times(row, other, turns="turns"):
    return dig(row, turns, "contenders", other, "times")


def precision(row, other, turns="turns"):
    return dig(row, turns, "contenders", other, "precision")


def narrow(row, other, turns):
    """Of what it ran in, all below f32."""
    return set((precision(row, other, turns) or "f32").split()) - {"f32", "f64"}


def fastest_peer(row, result, turns="turns"):
    """(its name, how many times as fast we are) of the peer that leaves us the least, of those that ran in our precision: who
    computes in less has another answer."""
    there = [(peer, times(row, peer, turns)) for peer in result["peers"]
             if times(row, peer, turns) and narrow(row, peer, turns) == narrow(row, "tuned", turns)]
    return min(there, key=lambda p: p[1]["median"]) if there else (None, None)


def tuned_latency_ms(row):
    """What the tuning measured at its end, in the same minutes as the times that it stored; else what `bench` measured later."""
    seconds = dig(row, "tune", "verdict", "seconds")
    return 1e3 * seconds if seconds else dig(row, "latency", "median_ms")


def estimate_ratio(row):
    return row["estimate"]["ms"] / tuned_latency_ms(row) if dig(row, "estimate") else None


# ---- as text
def number(value, form="{:.3f}"):
    return MISSING if value is None else form.format(value)


def interval(value):
    return MISSING if value is None else f"{value['median']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"


def estimate_text(row):
    if not dig(row, "estimate"):
        return MISSING
    without = row["estimate"]["tasks_without"]
    note = f" ({without} of {row['estimate']['tasks']} tasks have no time)" if without else ""
    return number(row["estimate"]["ms"], "{:.3f} ms") + note


def peer_text(peer, value):
    return MISSING if value is None else f"{interval(value)} {peer}"


def in_its_precision(row, peer):
    """A peer's figure, with what it ran in where that is not the network's."""
    own, its = precision(row, "tuned"), precision(row, peer)
    return interval(times(row, peer)) + (f" ({its})" if its and its != own else "")


def precisions(row, result):
    """"f32", or what each one ran in."""
    names = ["tuned", *(["before"] if result["before"] else []), *result["peers"]]
    found = [(name, precision(row, name)) for name in names if precision(row, name)]
    if not found:
        return MISSING
    return found[0][1] if len({its for _, its in found}) == 1 else ", ".join(f"{name} {its}" for name, its in found)


def columns(result):
    """(heading, row -> text), in order."""
    found = [("network", lambda r: r["network"]), ("latency", lambda r: number(dig(r, "latency", "median_ms"), "{:.3f} ms")),
             ("latency as tuned", lambda r: number(tuned_latency_ms(r), "{:.3f} ms")),
             ("stored estimate", estimate_text), ("estimate / latency as tuned", lambda r: number(estimate_ratio(r))),
             ("latency / sum of steps alone", lambda r: interval(dig(r, "gap", "over_sum"))),
             ("x untuned", lambda r: interval(times(r, "untuned")))]
    if result["before"]:
        found.append(("x before", lambda r: interval(times(r, "before"))))
        found.append(("x before (bench --compare)", lambda r: number(1 / r["compare_before"]["ratio"] if "compare_before" in r else None)))
    found += [(f"x {peer}", lambda r, peer=peer: in_its_precision(r, peer)) for peer in result["peers"]]
    if result["peers"]:
        found.append(("x fastest peer", lambda r: peer_text(*fastest_peer(r, result))))
    found.append(("precision", lambda r: precisions(r, result)))
    if "one" in result["also"]:
        found.append(("one thread", lambda r: number(dig(r, "one", "contenders", "tuned", "median_ms"), "{:.3f} ms")))
        found.append(("one thread, x fastest peer", lambda r: peer_text(*fastest_peer(r, result, "one"))))
    if "four" in result["also"]:
        found.append(("runs by four sessions / by one", lambda r: number(dig(r, "four", "times_one"), "{:.2f}")))
    return found


def lay(headings, rows):
    return ["| " + " | ".join(cells) + " |" for cells in [headings, ["---"] * len(headings), *rows]]


def one_line(row, result):
    """For who is waiting."""
    if "failed" in row:
        return f"{row['network']}: FAILED: {' '.join(row['failed'].split())}"
    return "; ".join(f"{heading} {text(row)}" if k else text(row) for k, (heading, text) in enumerate(columns(result)))


def state_cells(row):
    cells = [row["network"]]
    for when in ("before", "after"):
        state = dig(row, "state", when)
        cells += [number(dig(state, what), form) for what, form in STATES]
    return cells


def search_cells(row):
    tuned, size = row["tune"], row["bytes"]
    return [row["network"], row["source"], str(tuned["trials"]), f"{tuned['trials_per_s']:.1f}", f"{100 * tuned['idle_share']:.1f} %",
            str(tuned["drafted"]), str(tuned["scored"]), f"{tuned['peak_bytes'] / 2**20:.0f} MiB", f"{size['packed'] / size['model']:.2f}"]


def markdown(result):
    done = [row for row in result["networks"] if "failed" not in row]
    device, machine = result["machine"]["device"], result["machine"]
    peers = ", ".join(f"{peer} {version or '(not installed)'}" for peer, version in result["peers"].items()) or "none"
    lines = [f"# Networks after {result['budget']} of tuning, {result['threads']} threads, {result['began']}", "",
             f"Machine: {device['model']} ({device['cpu']}), {machine['processors']} processors, Linux {machine['kernel']}, "
             f"{device['peak_gflops']:.0f} GFLOP/s, {device['dram_gbs']:.1f} GB/s. Commit {machine['commit']}; before: "
             f"{result['before'] or 'none'}. Peers: {peers}.", "",
             "`x` is how many times as fast the tuned network is; 95 % intervals of what took turns in one run.", ""]
    shown = columns(result)
    lines += lay([heading for heading, _ in shown], [[text(row) for _, text in shown] for row in done])
    lines += ["", *(f"- {line}" for line in result["closing"]), "", "## State of the machine", "",
              "Before and after each network: how many times as fast all threads compute as one, an empty phase handed over, and the "
              "load (`build/bench/pool`, all its lines in bench.json).", ""]
    lines += lay(["network"] + [f"{what}, {when}" for when in ("before", "after") for what in ("threads", "hand-over", "load")],
                 [state_cells(row) for row in result["networks"]])
    lines += ["", "## Search", ""]
    lines += lay(["network", "source", "measurements", "a second", "idle", "drafted", "scored", "memory at most", "packed weights / model"],
                 [search_cells(row) for row in done])
    left_out = [f"- {row['network']}, {what}: {' '.join(why.split())}" for row in result["networks"]
                for what, why in [*row["left_out"].items(), *([("all of it", row["failed"])] if "failed" in row else [])]]
    return "\n".join(lines + (["", "## Left out", "", *left_out] if left_out else [])) + "\n"


# ---- closing lines
def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def standing(name, rows, value_of, worst):
    """Geometric mean and worst of what is no interval's matter."""
    there = [(value_of(row), row["network"]) for row in rows if value_of(row) is not None]
    if not there:
        return f"{name}: of no network"
    at = worst(there)
    return f"{name}: geometric mean {mean([value for value, _ in there]):.3f} of {len(there)}, worst {at[0]:.3f} ({at[1]})"


def judged(row, what, value, is_met):
    """A bar that is missed, as text; None if it is met. Of an interval both ends must meet it."""
    if value is None:
        return f"{row['network']}: {what} is not known"
    if is_met(value["low"]) and is_met(value["high"]):
        return None
    return f"{row['network']}: {what} {interval(value)}" + (", met by the median alone" if is_met(value["median"]) else "")


def missed(result, rows):
    """Each bar that is missed, as text."""
    found = [f"{row['network']}: failed" for row in result["networks"] if "failed" in row]
    for row in rows:
        found.append(judged(row, "latency / sum of steps alone", dig(row, "gap", "over_sum"), lambda v: v <= BARS["over_sum"]))
        ratio = estimate_ratio(row)
        if row["estimate"]["tasks_without"]:
            found.append(f"{row['network']}: {row['estimate']['tasks_without']} tasks have no stored time")
        elif abs(ratio - 1) > BARS["estimate"]:
            found.append(f"{row['network']}: estimate / latency as tuned {ratio:.3f}")
        if result["peers"]:
            peer, value = fastest_peer(row, result)
            found.append(judged(row, f"x {peer or 'fastest peer'}", value, lambda v: v >= BARS["peer"]))
        if result["before"] and not times(row, "before"):
            found.append(f"{row['network']}: x before is not known")
    means = [("peer_mean", "x fastest peer", lambda row: fastest_peer(row, result)[1])] if result["peers"] else []
    means += [("before", "x before", lambda row: times(row, "before"))] if result["before"] else []
    for bar, what, value_of in means:
        values = [value_of(row)["median"] for row in rows if value_of(row)]
        if not values or mean(values) < BARS[bar]:
            found.append(f"geometric mean {what} " + (f"{mean(values):.3f}" if values else "is not known"))
    return [text for text in found if text]


def closing(result):
    rows = [row for row in result["networks"] if "failed" not in row]

    def median(value):
        return value and value["median"]

    lines = [standing("x untuned", rows, lambda r: median(times(r, "untuned")), min)]
    if result["peers"]:
        lines.append(standing("x fastest peer", rows, lambda r: median(fastest_peer(r, result)[1]), min))
    if result["before"]:
        lines.append(standing("x before", rows, lambda r: median(times(r, "before")), min))
    lines.append(standing("latency / sum of steps alone", rows, lambda r: median(dig(r, "gap", "over_sum")), max))
    lines.append(standing("estimate / latency as tuned", rows, estimate_ratio, lambda there: max(there, key=lambda t: abs(math.log(t[0])))))
    for peer in result["peers"]:
        absent = [row["network"] for row in rows if not times(row, peer)]
        lines += [f"without {peer}: {', '.join(absent)}"] if absent else []
    lines.append(f"Bars: latency / sum at most {BARS['over_sum']}, estimate within {100 * BARS['estimate']:.0f} %, x fastest peer at least "
                 f"{BARS['peer']} each and {BARS['peer_mean']} in the geometric mean, x before at least {BARS['before']} in the geometric mean")
    misses = missed(result, rows)
    return lines + ([f"missed: {text}" for text in misses] or ["all met"])
