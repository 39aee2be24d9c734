"""Models on devices: conversion to TFLite, and a runner of the files."""

from keras_duspar.utils import lazy

lazy.attach(
    __name__,
    {
        ".converter": "convert",
        ".inspection": "Inspection inspect",
        ".measuring": "Measurement measure",
        ".runner": "Runner load",
        ".runtime": "delegate_path",
        ".storing": "store_detector",
        "..native.sparse_ops": "SparseOp register_sparse_op",
    },
)
