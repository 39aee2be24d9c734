"""The page of `keras-duspar live`, and the server that listens for it."""
