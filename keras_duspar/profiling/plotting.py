"""Profiles as pictures."""

from keras_duspar.utils.optional import optional_package


def plot_profile(profile, path=None):
    """Draws the occupancy of every recurrent layer over time.

    Args:
        profile: A `Profile`.
        path: Optional string, the file to write the picture to.

    Returns:
        A `matplotlib.figure.Figure`.
    """
    module = optional_package("matplotlib.figure", "plot")
    layers = [layer for layer in profile.layers if layer.recurrent]
    size = (8, 1 + 2 * len(layers))
    figure = module.Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(layers), 1, sharey=True, squeeze=False)[:, 0]
    for axis, layer in zip(axes, layers):
        for name, curve in layer.over_time.items():
            mean = layer.occupancies[name]
            axis.plot(curve * 100, label=f"{name}: {100 * mean:.1f} %")
        axis.set_title(
            f"{layer.name} ({layer.kind}): {100 * layer.occupancy:.1f} % of "
            "dense MACs",
            loc="left",
            fontsize="medium",
        )
        axis.set_ylim(-3, 103)
        axis.set_ylabel("occupancy in %")
        axis.grid(alpha=0.3)
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes[-1].set_xlabel("time step")
    if path is not None:
        figure.savefig(path, dpi=120)
    return figure
