"""Models on devices: conversion to TFLite, and a runner of the files."""

from keras_duspar.tflite.converter import convert
from keras_duspar.tflite.sparse_ops import SparseOp
from keras_duspar.tflite.sparse_ops import register_sparse_op
