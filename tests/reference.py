"""The cells written plainly in NumPy, one sequence entry at a time.

Written from the equations of the papers, in double precision, without a look
at the package's own code: weights come as a dictionary of name to array.
"""

import numpy as np


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def relu(a):
    return np.maximum(a, 0)


def _blend(z, old, new):
    return (1 - z) * old + z * new


def flush(state):
    """Zero for what is tiny, as the native library has it."""
    return np.where(np.abs(state) <= 2.0**-100, 0, state)


def spar(w, x, states):
    (f,) = states
    a = relu(x)
    z = sigmoid(a @ w["gate_kernel"] + w["gate_bias"])
    f = flush(_blend(z, f, np.tanh(a @ w["candidate_kernel"])))
    return f, [f], {"x": a}


def duspar(w, x, states):
    f, g = states
    e = relu(x - g - w["feedback_bias"])
    v = sigmoid(e @ w["feedforward/gate_kernel"] + w["feedforward/gate_bias"])
    f = flush(_blend(v, f, np.tanh(e @ w["feedforward/candidate_kernel"])))
    y = f + w["feedforward_bias"]
    p = relu(y)
    u = sigmoid(p @ w["feedback/gate_kernel"] + w["feedback/gate_bias"])
    g = flush(_blend(u, g, np.tanh(p @ w["feedback/candidate_kernel"])))
    return y, [f, g], {"e": e, "y": p}


def mingru(w, x, states):
    (h,) = states
    z = sigmoid(x @ w["gate_kernel"] + w["gate_bias"])
    h = _blend(z, h, x @ w["candidate_kernel"] + w["candidate_bias"])
    return h, [h], {"x": x}


def _gru_terms(w, x, h):
    units = h.shape[-1]
    a = x @ w["kernel"] + w["bias"][0]
    b = h @ w["recurrent_kernel"] + w["bias"][1]
    cut = slice(0, units), slice(units, 2 * units), slice(2 * units, None)
    return [a[..., c] for c in cut], [b[..., c] for c in cut]


def delta_gru(w, x, states, theta=0.04):
    h, x_hat, h_hat = states
    dx = np.where(np.abs(x - x_hat) >= theta, x - x_hat, 0)
    dh = np.where(np.abs(h - h_hat) >= theta, h - h_hat, 0)
    x_hat, h_hat = x_hat + dx, h_hat + dh
    (xz, xr, xc), (hz, hr, hc) = _gru_terms(w, x_hat, h_hat)
    keep, r = sigmoid(xz + hz), sigmoid(xr + hr)
    h = _blend(keep, np.tanh(xc + r * hc), h)
    return h, [h, x_hat, h_hat], {"dx": dx, "dh": dh}


def delta_gru_by_sums(w, x_all, theta):
    """Delta-GRU as a device runs it: sums that only ever get changes added."""
    units = w["recurrent_kernel"].shape[0]
    batch = x_all.shape[1]
    x_hat = np.zeros(x_all.shape[1:])
    h = np.zeros((batch, units))
    h_hat = np.zeros((batch, units))
    sum_z = np.zeros((batch, units)) + (w["bias"][0] + w["bias"][1])[:units]
    sum_r = sum_z * 0 + (w["bias"][0] + w["bias"][1])[units : 2 * units]
    sum_xc = sum_z * 0 + w["bias"][0][2 * units :]
    sum_hc = sum_z * 0 + w["bias"][1][2 * units :]
    outputs = []
    for x in x_all:
        dx = np.where(np.abs(x - x_hat) >= theta, x - x_hat, 0)
        dh = np.where(np.abs(h - h_hat) >= theta, h - h_hat, 0)
        x_hat, h_hat = x_hat + dx, h_hat + dh
        a, b = dx @ w["kernel"], dh @ w["recurrent_kernel"]
        sum_z += a[:, :units] + b[:, :units]
        sum_r += a[:, units : 2 * units] + b[:, units : 2 * units]
        sum_xc += a[:, 2 * units :]
        sum_hc += b[:, 2 * units :]
        c = np.tanh(sum_xc + sigmoid(sum_r) * sum_hc)
        keep = sigmoid(sum_z)
        h = keep * h + (1 - keep) * c
        outputs.append(h)
    return np.stack(outputs)


def dynamic_gru(w, x, states, update_ratio=0.5):
    (h,) = states
    (xz, xr, xc), (hz, hr, hc) = _gru_terms(w, x, h)
    keep = sigmoid(xz + hz)
    count = max(1, round(update_ratio * h.shape[-1]))
    order = np.argsort(keep, axis=-1, kind="stable")
    selected = np.zeros_like(h)
    np.put_along_axis(selected, order[:, :count], 1, axis=-1)
    c = np.tanh(xc + sigmoid(xr + hr) * hc)
    new = np.where(selected > 0, _blend(keep, c, h), h)
    return new, [new], {"x": x, "h": h, "selected": selected}


def egru(w, x, states):
    y, c = states
    (xz, xr, xg), (yz, yr, yg) = _gru_terms(w, x, y)
    keep = sigmoid(xz + yz)
    c = _blend(keep, np.tanh(xg + sigmoid(xr + yr) * yg), c)
    new = np.where(c > w["threshold"], c, 0)
    c = np.where(c > w["threshold"], c - w["threshold"], c)
    return new, [new, c], {"x": x, "y": y}


def egru_gradients(w, x_all, states, d_outputs, d_states, height, width):
    """EGRU backwards through time, by hand: the derivatives of a loss.

    `x_all` has the shape `(time, batch, features)`; `d_outputs` and
    `d_states` are the loss's derivatives by the outputs and by the last `y`
    and `c`. Returns those by the input, the first states and the weights.
    """
    theta = w["threshold"]
    tape = []
    y, c = states
    for x in x_all:
        (xz, xr, xg), (yz, yr, yg) = _gru_terms(w, x, y)
        keep, r = sigmoid(xz + yz), sigmoid(xr + yr)
        g = np.tanh(xg + r * yg)
        full = keep * c + (1 - keep) * g
        tape.append((x, y, c, yg, keep, r, g, full))
        y, c = np.where(full > theta, full, 0), full - (full > theta) * theta
    d_w = {name: np.zeros_like(value) for name, value in w.items()}
    d_x = np.zeros_like(x_all)
    d_y, d_c = d_states
    for t in reversed(range(len(x_all))):
        x, y, c, yg, keep, r, g, full = tape[t]
        d_y = d_y + d_outputs[t]
        event = full > theta
        triangle = height * np.maximum(0, 1 - np.abs(full - theta) / width)
        d_event = triangle * (full * d_y - theta * d_c)
        d_w["threshold"] -= (d_event + event * d_c).sum(axis=0)
        d_full = event * d_y + d_c + d_event
        d_keep = d_full * (c - g) * keep * (1 - keep)
        d_g = d_full * (1 - keep) * (1 - g**2)
        d_r = d_g * yg * r * (1 - r)
        from_x = np.concatenate([d_keep, d_r, d_g], axis=-1)
        from_y = np.concatenate([d_keep, d_r, d_g * r], axis=-1)
        d_w["kernel"] += x.T @ from_x
        d_w["recurrent_kernel"] += y.T @ from_y
        d_w["bias"] += [from_x.sum(axis=0), from_y.sum(axis=0)]
        d_x[t] = from_x @ w["kernel"].T
        d_y, d_c = from_y @ w["recurrent_kernel"].T, d_full * keep
    return d_x, [d_y, d_c], d_w


def irnn(w, x, states):
    (h,) = states
    new = relu(x @ w["kernel"] + h @ w["recurrent_kernel"] + w["bias"])
    return new, [new], {"x": x, "h": h}


def ligru(w, x, states):
    (h,) = states
    a = x @ w["kernel"] + h @ w["recurrent_kernel"] + w["bias"]
    units = h.shape[-1]
    keep = sigmoid(a[:, :units])
    new = _blend(keep, relu(a[:, units:]), h)
    return new, [new], {"x": x, "h": h}


STEPS = {
    "spar": spar,
    "duspar": duspar,
    "mingru": mingru,
    "delta_gru": delta_gru,
    "dynamic_gru": dynamic_gru,
    "egru": egru,
    "irnn": irnn,
    "ligru": ligru,
}


def zero_states(name, batch, features, units):
    widths = {
        "duspar": [units, features],
        "delta_gru": [units, features, units],
        "egru": [units, units],
    }.get(name, [units])
    return [np.zeros((batch, width)) for width in widths]


def run(name, w, x, states=None, mask=None, zero_output=False, **options):
    """A whole sequence: outputs, final states and operands of each step.

    `x` has the shape `(batch, time, features)`. A masked step leaves states
    and output as they were.
    """
    x = np.asarray(x, "float64")
    batch, length, features = x.shape
    if states is None:
        units = w.get("gate_bias", w.get("feedforward_bias"))
        units = len(units) if units is not None else len(w["recurrent_kernel"])
        states = zero_states(name, batch, features, units)
    if mask is None:
        mask = np.ones((batch, length), bool)
    previous = None
    outputs, operands = [], []
    for t in range(length):
        y, new, ops = STEPS[name](w, x[:, t], states, **options)
        valid = mask[:, t, None]
        states = [np.where(valid, n, s) for n, s in zip(new, states)]
        previous = np.zeros_like(y) if previous is None else previous
        previous = np.where(valid, y, previous)
        outputs.append(np.where(valid, y, 0) if zero_output else previous)
        operands.append(ops)
    return np.stack(outputs, axis=1), states, operands
