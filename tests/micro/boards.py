"""Exported models on emulated boards with a Cortex-M.

`python -m tests.micro.boards` prints the table of docs/microcontroller.md.
"""

import pathlib
import re
import tempfile

import pytest

import keras_duspar
from tests.conftest import ROOT
from tests.kits.tools import program
from tests.kits.tools import run
from tests.micro.compiled import make_model
from tests.tflite.conftest import make_audio

BOARD = ROOT / "tests/micro/board"
# Options of the compiler, the emulated board, where it has constants.
BOARDS = {
    "m4": ("-mcpu=cortex-m4 -mfpu=fpv4-sp-d16", "mps2-an386", 0x200000),
    "m7": ("-mcpu=cortex-m7 -mfpu=fpv5-sp-d16", "mps2-an500", 0x200000),
    "m55": ("-mcpu=cortex-m55 -mfpu=auto", "mps3-an547", 0x1000000),
}
FLAGS = "-std=gnu99 -O3 -mthumb -mfloat-abi=hard -Wall -Wextra -Werror"


def run_image(board, image, *arguments):
    """Compiles a program, with these sources and options, and runs it."""
    gcc = program("arm-none-eabi-gcc", "gcc-arm-none-eabi")
    qemu = program("qemu-system-arm", "qemu-system-arm")
    if "rdimon" not in run(gcc, "-print-file-name=rdimon.specs"):
        pytest.skip("newlib is needed (Debian's libnewlib-arm-none-eabi)")
    options, machine, constants = BOARDS[board]
    run(
        *(gcc, *options.split(), *FLAGS.split(), *arguments),
        *("--specs=rdimon.specs", "-nostartfiles", "-T", BOARD / "board.ld"),
        f"-Wl,--defsym=CONSTANTS={constants},--no-warn-rwx-segments",
        *(BOARD / "startup.c", "-lm", "-o", image),
    )
    return run(
        *(qemu, "-M", machine, "-nographic", "-icount", "shift=5"),
        *("-semihosting-config", "enable=on,target=native"),
        *("-kernel", image),
        given="",
    )


def run_on_board(folder, name, board, source):
    """What a program with an exported model prints on a board."""
    return run_image(
        board,
        folder / f"{board}.elf",
        *(f"-I{folder}", f"-D{name.upper()}_COUNTS"),
        *(folder / f"{name}.c", source),
    )


def main():
    """Prints instructions per hop of the paper's models."""
    print("model, weights, code, " + ", ".join(BOARDS))
    for name, units, weights in (
        *(("kws", 128, w) for w in ("float32", "bfloat16", "int8")),
        ("slu", 128, "int8"),
        ("se", 116, "int8"),
    ):
        model = make_model(name, units)
        options = {"weights": weights, "name": "model"}
        if weights == "int8":
            options["representative"] = make_audio(8000)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            keras_duspar.export_c(model, folder, **options)
            row = []
            for board in BOARDS:
                test = run_on_board(
                    folder, "model", board, folder / "model_test.c"
                )
                assert "passed" in test
                found = run_on_board(folder, "model", board, BOARD / "count.c")
                row += re.findall(r"(?:instructions|occupancy) (\S+)", found)
            print(name, weights, *row, flush=True)


if __name__ == "__main__":
    main()
