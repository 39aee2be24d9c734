"""One module per subcommand of `keras-duspar`."""
