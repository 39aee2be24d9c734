"""Makes data on which settings of the enhancer are compared.

    python studies/held_out_noise.py DATA OUT
    python recipes/se.py --data OUT ...

Settings chosen on the test mixtures would make their scores too good. From a
folder in the layout of `datasets.mixing.load` this makes another one, in which
some of the training noises are taken out and mixed with the validation
speakers instead: its test mixtures have neither speakers nor noises of its
training, and nothing of the test mixtures of `DATA`. Audio is linked, not
copied.
"""

import argparse
import csv
import pathlib
import random

HELD = (
    "blanket_boat",
    "blanket_city",
    "blanket_fireplace",
    "gscd_exercise_bike",
)
RATIOS = 2.5, 7.5, 12.5, 17.5  # decibels
MIXTURES = 120
COLUMNS = "id", "clean", "noise", "noise_offset_samples", "snr_db"


def hold_out(data, out, names):
    """Links the audio; returns the kept and the held noises' paths in it."""
    paths = sorted((data / "noise" / "train").iterdir())
    held = [path for path in paths if path.stem in names]
    if len(held) != len(names) or len(held) == len(paths):
        known = ", ".join(path.stem for path in paths)
        raise SystemExit(f"--held: expected some of {known}; got {names}")
    kept = [path for path in paths if path not in held]
    for folder, files in (
        ("clean/train", (data / "clean" / "train").iterdir()),
        ("clean/val", (data / "clean" / "val").iterdir()),
        ("noise/train", kept),
        ("noise/held", held),
    ):
        (out / folder).mkdir(parents=True)
        for path in files:
            (out / folder / path.name).symlink_to(path.resolve())
    return (
        [f"noise/train/{path.name}" for path in kept],
        [f"noise/held/{path.name}" for path in held],
    )


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def make(data, out, names):
    kept, held = hold_out(data, out, names)
    with open(data / "mix_val.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        if row["noise"] not in kept:
            row["noise"] = kept[number % len(kept)]
    write(out / "mix_val.csv", rows)
    speech = sorted((out / "clean" / "val").iterdir())
    generator = random.Random(0)
    rows = [
        (
            f"dev_{i:04}",
            f"clean/val/{speech[i % len(speech)].name}",
            held[i % len(held)],
            generator.randrange(200_000),
            RATIOS[i // len(held) % len(RATIOS)],
        )
        for i in range(MIXTURES)
    ]
    write(out / "mix_test.csv", [dict(zip(COLUMNS, row)) for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path, help="a new folder")
    parser.add_argument("--held", nargs="+", default=HELD, metavar="NOISE")
    arguments = parser.parse_args()
    if not (arguments.data / "mix_val.csv").is_file():
        parser.error(f"data: {arguments.data} has no mix_val.csv")
    if arguments.out.exists():
        parser.error(f"out: {arguments.out} is there already")
    make(arguments.data, arguments.out, arguments.held)
    print(f"{MIXTURES} mixtures in {arguments.out / 'mix_test.csv'}")


if __name__ == "__main__":
    main()
