"""Native training on torch: an autograd function over addresses."""

import torch
from torch.autograd.function import once_differentiable

from keras_duspar.native import training

# Whether the operation can be part of what XLA or `torch.compile` compiles.
SUPPORTS_JIT = True


def obstacle(sequences):
    """What stands against native training here, or `None`."""
    if sequences.device.type != "cpu":
        return f"the input is on {sequences.device.type!r}, not on the CPU"
    if torch.compiler.is_compiling():
        return "`torch.compile` cannot see into the library"
    return None


def run(options, sequences, states, weights):
    """Runs a layer over sequences; its gradients come from the library.

    Args:
        options: `Options`.
        sequences: A tensor of shape `(batch, steps, features)`.
        states: List of the initial states.
        weights: List of the weights, kernels first.

    Returns:
        The outputs of all steps and the list of final states.
    """
    threads = min(options.threads, torch.get_num_threads())
    options = options._replace(threads=threads)
    y, *states = _Passes.apply(options, sequences, *states, *weights)
    return y, states


class _Passes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, options, x, *rest):
        x, *rest = (tensor.contiguous() for tensor in (x, *rest))
        states, weights = rest[: options.states], rest[options.states :]
        units = states[0].shape[-1]
        sizes = training.describe(options, *x.shape, units)
        y = x.new_empty((*x.shape[:2], units))
        new_states = [torch.empty_like(state) for state in states]
        reserve = None
        if any(ctx.needs_input_grad):
            reserve = x.new_empty(training.reserve_size(sizes))
        training.forward(
            sizes,
            _addresses(weights),
            x.data_ptr(),
            _addresses(states),
            y.data_ptr(),
            _addresses(new_states),
            None if reserve is None else reserve.data_ptr(),
        )
        ctx.sizes, ctx.states = sizes, len(states)
        ctx.save_for_backward(x, reserve, *weights)
        return y, *new_states

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients):
        x, reserve, *weights = ctx.saved_tensors
        dy, *new_states = (gradient.contiguous() for gradient in gradients)
        dx = torch.empty_like(x)
        states = [torch.empty_like(state) for state in new_states]
        dweights = [torch.empty_like(weight) for weight in weights]
        training.backward(
            ctx.sizes,
            _addresses(weights),
            x.data_ptr(),
            reserve.data_ptr(),
            dy.data_ptr(),
            _addresses(new_states),
            dx.data_ptr(),
            _addresses(states),
            _addresses(dweights),
        )
        return None, dx, *states, *dweights


def _addresses(tensors):
    return [tensor.data_ptr() for tensor in tensors]
