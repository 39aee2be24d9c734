"""The figure of a sweep: how good models are against what they cost."""
