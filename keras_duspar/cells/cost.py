"""What one step of a layer costs, in the terms in which the paper counts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operand:
    """A vector that decides how many weights a layer reads at every step.

    Args:
        name: String, the operand's short name, such as `"e"`.
        size: Integer, number of entries of the vector.
        fan: Integer, number of weight-matrix entries that one entry of the
            vector is multiplied with, and so the number of multiplications
            and of weight fetches that a zero entry saves.
        sparse: Boolean, whether zeros of the vector are skipped. The entries
            of a dense operand all count, zero or not.
    """

    name: str
    size: int
    fan: int
    sparse: bool = False


@dataclass(frozen=True)
class Cost:
    """The cost of one step of a layer for one sequence.

    Args:
        operands: Tuple of `Operand`, one for each vector that enters a
            matrix product.
        biases: Integer, number of bias entries added.
        elementwise: Integer, number of products of one vector entry with
            another, such as the two of a gated state update.
    """

    operands: tuple = ()
    biases: int = 0
    elementwise: int = 0

    @property
    def dense_macs(self):
        """Entries of weight matrices used when nothing is skipped."""
        return sum(o.size * o.fan for o in self.operands)
