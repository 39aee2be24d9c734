"""Rounding of numbers: schemes and quantizers, without models."""
