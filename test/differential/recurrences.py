"""RNN, GRU and LSTM as their pages define them, in f64 by NumPy (onnx.reference has no direction but forward, no activations)."""
import numpy as np

FUNCTIONS = {"Tanh": np.tanh, "Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x))}


def _rnn(gate, act, h, c, _):
    return act[0](gate(0)), c


def _gru(linear_before_reset):
    def step(gate, act, h, c, _):
        z, r = act[0](gate(0)), act[0](gate(1))
        new = act[1](gate(2, after=r) if linear_before_reset else gate(2, state=r * h))
        return (1 - z) * new + z * h, c
    return step


def _lstm(input_forget):
    def step(gate, act, h, c, peep):
        i = act[0](gate(0, more=peep[0] * c))
        f = 1 - i if input_forget else act[0](gate(2, more=peep[2] * c))
        c = f * c + i * act[1](gate(3))
        o = act[0](gate(1, more=peep[1] * c))
        return o * act[2](c), c
    return step


def _direction(x, w, r, b, lens, h, c, peep, act, clip, step, is_backward):
    """x [steps, batch, inner]; the states' last values, and those of each step, 0 behind a row's end."""
    steps, batch = x.shape[:2]
    hidden = r.shape[-1]
    y = np.zeros((steps, batch, hidden))
    for row in range(batch):
        n = steps if lens is None else int(lens[row])
        hn, cn = h[row], c[row]
        for t in range(n)[::-1] if is_backward else range(n):
            def gate(k, state=hn, after=1.0, more=0.0, xt=x[t, row]):
                at = slice(k * hidden, (k + 1) * hidden)
                return np.clip(xt @ w[at].T + b[0, at] + after * (state @ r[at].T + b[1, at]) + more, -clip, clip)
            hn, cn = step(gate, act, hn, cn, peep)
            y[t, row] = hn
        h[row], c[row] = hn, cn
    return y, h, c


def recurrence(gates, usual, is_lstm=False):
    """`usual`: the activations of a direction."""
    def answer(x, w, r, b=None, lens=None, h=None, c=None, peep=None, hidden_size=0, direction=b"forward", activations=None, clip=np.inf,
               linear_before_reset=0, input_forget=0):
        d, batch, hidden = len(w), x.shape[1], hidden_size
        step = _lstm(input_forget) if is_lstm else _gru(linear_before_reset) if gates == 3 else _rnn
        names = [a.decode() for a in activations] if activations else usual * d
        b = np.zeros((d, 2 * gates * hidden)) if b is None else b
        state = [np.zeros((d, batch, hidden)) if s is None else s.copy() for s in (h, c)]
        peep = np.zeros((d, 3 * hidden)) if peep is None else peep
        ys = []
        for k in range(d):
            act = [FUNCTIONS[n] for n in names[k * len(usual):(k + 1) * len(usual)]]
            y, state[0][k], state[1][k] = _direction(x, w[k], r[k], b[k].reshape(2, -1), lens, state[0][k], state[1][k], peep[k].reshape(3, -1),
                                                     act, clip, step, direction == b"reverse" or k == 1)
            ys.append(y)
        return [np.stack(ys, 1), state[0]] + ([state[1]] if is_lstm else [])
    return answer


FORMULA = {"RNN": recurrence(1, ["Tanh"]), "GRU": recurrence(3, ["Sigmoid", "Tanh"]), "LSTM": recurrence(4, ["Sigmoid", "Tanh", "Tanh"], True)}
