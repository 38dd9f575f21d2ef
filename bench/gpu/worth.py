#!/usr/bin/env python3
"""What each knob is worth, from a table of products.py: times with one knob changed over the times of the schedules they were made of.

    bench/gpu/worth.py TABLE      by knob and its change, of the best schedules of each shape: how many, quartiles of the ratio
                                  (over 1: the change is slower), then registers against the rule, and NVRTC's time
"""
import collections
import statistics
import sys

from shapes import label, read_table


PROCESSORS = 132  # of the device that the table is of


def value(knobs, name):
    if name in ("m", "n", "k"):
        return "x".join(map(str, knobs[name]))
    return str(knobs[name])


def quartiles(values):
    values = sorted(values)
    return [values[min(len(values) - 1, len(values) * i // 4)] for i in (1, 2, 3)]


def print_changes(lines):
    by_label = {(line["shape"], label(line["knobs"])): line for line in lines}
    ratios = collections.defaultdict(list)
    for line in lines:
        base = by_label.get((line["shape"], line.get("of")))
        if not base or "us" not in line or "us" not in base:
            continue
        name = line["changed"].split(" ")[0]
        key = name if name in line["knobs"] else None
        if name == "early":  # it pays where the blocks of the next kernel find room
            waves = base["blocks"] / max(1, base["resident"]) / PROCESSORS
            name = "early" if waves <= 1 else "early, more than a wave"
        change = f"{value(base['knobs'], key)} -> {value(line['knobs'], key)}" if key else line["changed"]
        ratios[name, change].append(line["us"] / base["us"])
    print(f"{'knob':24} {'change':20} {'n':>4} {'q1':>6} {'median':>7} {'q3':>6}")
    for (name, change), values in sorted(ratios.items()):
        if len(values) >= 4:
            q1, median, q3 = quartiles(values)
            print(f"{name:24} {change:20} {len(values):4} {q1:6.3f} {median:7.3f} {q3:6.3f}")


def print_best(lines):
    """For each shape, the best time with each value of a knob over the best of all, of drawn and changed schedules."""
    for name in ("buffers", "split", "parts", "a_order", "swizzle", "vec_a", "vec_b", "pad_a", "unroll"):
        by_value = collections.defaultdict(list)
        for shape in sorted({line["shape"] for line in lines}):
            best = collections.defaultdict(lambda: 1e9)
            for line in lines:
                if line["shape"] == shape and "us" in line and name in line["knobs"]:
                    best[line["knobs"][name]] = min(best[line["knobs"][name]], line["us"])
            if best:
                for key, us in best.items():
                    by_value[key].append(us / min(best.values()))
        print(f"best with {name}: " + ", ".join(f"{key} {statistics.geometric_mean(ratios):.3f} ({len(ratios)} shapes)"
                                                for key, ratios in sorted(by_value.items(), key=str)))


def print_registers(lines):
    errors = [(line["registers"] - line["rule"]) / line["registers"] for line in lines if "registers" in line]
    size = [abs(error) for error in errors]
    spilled = sum(line.get("spills", 0) > 0 for line in lines)
    print(f"registers: {len(errors)} kernels, rule's median error {statistics.median(size):.3f}, signed quartiles of "
          f"(NVRTC - rule) / NVRTC {', '.join(f'{error:.3f}' for error in quartiles(errors))}; {spilled} spill")
    times = [line.get("compile_ms", line.get("ms")) for line in lines if "registers" in line]
    print(f"NVRTC [ms]: quartiles {', '.join(f'{ms:.0f}' for ms in quartiles(times))}, longest {max(times):.0f}")


def main():
    lines = [line for line in read_table(sys.argv[1]) if "knobs" in line]
    print_changes(lines)
    print_best(lines)
    print_registers(lines)


if __name__ == "__main__":
    main()
