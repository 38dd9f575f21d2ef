"""familyseer - finds fast code for a trained network by measuring on this machine, and runs it.

    import familyseer
    model = familyseer.tune("my.onnx", time_budget="2m")   # or compile("my.onnx"), without a measurement
    y = model(x)                                           # arrays in, array out
    model = familyseer.load("out")                         # what tune(..., output="out") or the program wrote

Five names: tune, compile, load, Model, Error. The program familyseer does the same (python -m familyseer).
"""
from ._runtime import Error, Model
from ._tune import Event, compile, load, tune

__all__ = ["tune", "compile", "load", "Model", "Error"]
