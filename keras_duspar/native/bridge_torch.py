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
        units = states[0].shape[-1]
        sizes = training.describe(options, *x.shape, units)
        y = x.new_empty((*x.shape[:2], units))
        new_states = [torch.empty_like(state) for state in states]
        reserve = None
        if any(ctx.needs_input_grad):
            reserve = x.new_empty(training.reserve_size(sizes))
        meter, told = None, []
        if options.metered:
            told = [x.new_empty(options.metered)]
            meter = (options.width, *told)
        training.forward(
            sizes, weights, x, states, y, new_states, reserve, meter
        )
        ctx.options, ctx.states = options, len(states)
        ctx.save_for_backward(x, reserve, *weights)
        return y, *new_states, *told

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients):
        x, reserve, *weights = ctx.saved_tensors
        dy, *rest = (gradient.contiguous() for gradient in gradients)
        new_states, told = rest[: ctx.states], rest[ctx.states :]
        sizes = training.describe(ctx.options, *x.shape, dy.shape[-1])
        meter = (ctx.options.width, *told) if told else None
        dx = torch.empty_like(x)
        states = [torch.empty_like(state) for state in new_states]
        dweights = [torch.empty_like(weight) for weight in weights]
        training.backward(
            sizes,
            weights,
            x,
            reserve,
            dy,
            new_states,
            dx,
            states,
            dweights,
            meter,
        )
        return None, dx, *states, *dweights
