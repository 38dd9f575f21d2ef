"""familyseer as a backend of torch.compile; needs PyTorch and what its exporter to ONNX needs (onnx, onnxscript).

    model = torch.compile(model.eval(), backend="familyseer", options={"mode": "tune", "time_budget": "2m"})
    with torch.inference_mode():
        y = model(x)
    print(familyseer.torch.explain())

What cannot be a library runs in eager mode, with one warning that says why: training and all else that asks for gradients,
random operators, tensors without elements or that are not on the processor, operators that PyTorch cannot export or that
familyseer does not have. Weights go into the library; where they are replaced or changed (by load_state_dict, an optimizer,
or any other way that PyTorch counts, which writes by .data are not), another library is made. Options: Options.
"""
from ._backend import backend, export
from ._options import Fallback, Options, explain

__all__ = ["backend", "explain", "export", "Fallback", "Options"]
