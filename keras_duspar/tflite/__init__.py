"""Models on devices: conversion to TFLite, and a runner of the files."""

from keras_duspar.native.sparse_ops import SparseOp
from keras_duspar.native.sparse_ops import register_sparse_op
from keras_duspar.tflite.converter import convert
from keras_duspar.tflite.inspection import Inspection
from keras_duspar.tflite.inspection import inspect
from keras_duspar.tflite.measuring import Measurement
from keras_duspar.tflite.measuring import measure
from keras_duspar.tflite.runner import Runner
from keras_duspar.tflite.runner import load
from keras_duspar.tflite.runtime import delegate_path
