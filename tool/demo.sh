#!/bin/bash
# make demo: tunes MobileNetV2 on this machine for a few minutes, checks the tuned network's answer, compares it with the
# untuned one and with ONNX Runtime, and ends with one line. DEMO_BUDGET=60s for a shorter one.
set -euo pipefail
cd "$(dirname "$0")/.."
seer=build/familyseer
model=mobilenet_v2
out=out/demo
mkdir -p $out
echo "== $model: untuned (-O1), zero measurements" >&2
$seer compile $model -O1 -o $out/untuned
echo "== $model: tuning" >&2
$seer tune $model --time-budget "${DEMO_BUDGET:-240s}" -o $out/tuned --report $out/report.html
echo "== $model: is the tuned answer right?" >&2
$seer verify $out/tuned/model.so $model
echo "== $model: interleaved with the untuned network and with ONNX Runtime" >&2
$seer models --export $model -o $out
tool/python.sh bench/peers.py --onnx $out/$model.onnx --ours tuned=$out/tuned/model.so \
  --ours untuned=$out/untuned/model.so --peer onnxruntime --json > $out/peers.json
tool/python.sh - $out <<'PY'
import json, sys
out = sys.argv[1]
c = json.load(open(f"{out}/peers.json"))["contenders"]
tuned, untuned, ort = c["tuned"], c["untuned"], c["onnxruntime"]
word = "faster" if ort["ratio"] < 1 else "slower"
factor = 1 / ort["ratio"] if ort["ratio"] < 1 else ort["ratio"]
print(f"MobileNetV2: {tuned['median_ms']:.2f} ms, {1 / untuned['ratio']:.2f} times faster than untuned "
      f"({untuned['median_ms']:.2f} ms), {factor:.2f} times {word} than ONNX Runtime ({ort['median_ms']:.2f} ms); "
      f"library {out}/tuned/model.so, report {out}/report.html")
PY
