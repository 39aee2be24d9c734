"""Native training on torch: an autograd function over addresses."""

import torch
from torch.autograd.function import once_differentiable

from keras_duspar.native import training

SUPPORTS_JIT = True


def obstacle(sequences):
    if sequences.device.type != "cpu":
        return f"the input is on {sequences.device.type!r}, not on the CPU"
    if torch.compiler.is_compiling():
        return "`torch.compile` cannot see into the library"
    return None


def run(options, sequences, states, weights):
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
        training.forward(sizes, weights, x, states, y, new_states, reserve)
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
            ctx.sizes, weights, x, reserve, dy, new_states, dx, states, dweights
        )
        return None, dx, *states, *dweights
