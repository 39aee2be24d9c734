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
    count = len(states)
    y, *rest = _Passes.apply(options, sequences, *states, *weights)
    return y, rest[:count], *rest[count:]


class _Passes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, options, x, *rest):
        x, *rest = (tensor.contiguous() for tensor in (x, *rest))
        states, weights = rest[: options.states], rest[options.states :]
        y, new_states, told, reserve = training.forward(
            *(options, x.new_empty, x, states, weights),
            keep=any(ctx.needs_input_grad),
        )
        ctx.options = options
        ctx.save_for_backward(x, reserve, *weights)
        return y, *new_states, *told

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients):
        x, reserve, *weights = ctx.saved_tensors
        dy, *rest = (gradient.contiguous() for gradient in gradients)
        count = ctx.options.states
        dx, states, dweights = training.backward(
            *(ctx.options, x.new_empty, x, reserve, dy),
            *(rest[:count], rest[count:], weights),
        )
        return None, dx, *states, *dweights
