"""The table of a sweep: one row per trial, as CSV and as Parquet."""

import json

from keras_duspar.utils.optional import optional_package
from sweeping import speed
from trainer.run_folder import RunFolder

TABLE = "results"


def row(trial, path, error=None):
    """The row of a trial that has ended.

    Settings, figures of the cost and of time come under their own names;
    what there are several of under `test/`, `validation/`, `occupancy/` with
    layer and operand, and `version/`.

    Args:
        trial: A `grid.Trial`.
        path: `pathlib.Path` of its run folder.
        error: String, what a trial failed with. Default: `None`.

    Returns:
        A dictionary of numbers, strings and `None`.
    """
    found = {"trial": trial.name, "status": "failed" if error else "finished"}
    found |= flat(trial.config.to_dict())
    found["run"] = f"{path.parent.name}/{path.name}"
    if error:
        return {**found, "error": error}
    folder = RunFolder(path)
    result = folder.read_json("result.json")
    profile = folder.read_json("profile.json")
    environment = folder.read_json("environment.json")
    found["data_name"] = result["data"]
    for part in ("test", "validation"):
        found |= flat(result[part], part)
    for name in (
        "best_epoch",
        "parameters",
        "dense_macs",
        "effective_macs",
        "occupancy",
    ):
        found[name] = result[name]
    for layer in profile["layers"]:
        if layer["operands"]:
            place = f"occupancy/{layer['name']}"
            found |= flat(layer["occupancies"], place)
    if (folder / speed.FILE).is_file():
        found |= folder.read_json(speed.FILE)
    found["seconds"] = result["seconds"]
    for name in ("started", "command"):
        environment.pop(name, None)
    return found | flat(environment, "version")


def flat(values, prefix=""):
    """A nested dictionary as one; empty ones and lists become JSON."""
    found = {}
    for key, value in values.items():
        name = f"{prefix}/{key}" if prefix else str(key)
        if isinstance(value, dict) and value and prefix:
            found |= flat(value, name)
        elif isinstance(value, (dict, list, tuple)):
            found[name] = json.dumps(value)
        else:
            found[name] = value
    return found


def write(out, rows):
    """Writes `results.csv` and `results.parquet`.

    Args:
        out: `RunFolder` of the sweep.
        rows: List of dictionaries.
    """
    pyarrow = optional_package("pyarrow", "sweep")
    parquet = optional_package("pyarrow.parquet", "sweep")
    out.write_csv(f"{TABLE}.csv", rows)
    columns = dict.fromkeys(key for row in rows for key in row)
    table = pyarrow.table({c: [row.get(c) for row in rows] for c in columns})
    with out.replacing(f"{TABLE}.parquet") as path:
        parquet.write_table(table, path)
