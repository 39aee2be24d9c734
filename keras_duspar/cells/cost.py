"""What one step of a layer costs, in the terms in which the paper counts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operand:
    """A vector that decides how many weights a layer reads at every step.

    Args:
        name: String, the operand's short name, such as `"e"`.
        size: Integer, number of entries of the vector.
        fan: Integer, number of weight-matrix entries that one entry of the
            vector is multiplied with, and so the number of MACs and of weight
            fetches that a zero entry saves.
        sparse: Boolean, whether zeros of the vector are skipped. The entries
            of a dense operand all count, zero or not.
    """

    name: str
    size: int
    fan: int
    sparse: bool = False

    def occupancy(self, nonzeros, steps=1):
        """Share of the entries that are multiplied, from 0 to 1.

        Args:
            nonzeros: Number of entries that are multiplied in all steps, or
                an array of such numbers.
            steps: Number of time steps. Default: 1.
        """
        return nonzeros / (steps * self.size)


@dataclass(frozen=True)
class Cost:
    """The cost of one step of a layer for one sequence.

    Args:
        operands: Tuple of `Operand`, one per vector that enters a matrix
            product.
        biases: Integer, number of bias entries added.
        elementwise: Integer, number of products of one vector entry with
            another, such as the two of a gated state update.
    """

    operands: tuple = ()
    biases: int = 0
    elementwise: int = 0

    @property
    def dense_macs(self):
        """MACs of a step when nothing is skipped."""
        return sum(o.size * o.fan for o in self.operands)

    def effective_macs(self, nonzeros):
        """MACs of a step when zeros are skipped.

        Args:
            nonzeros: Dictionary of operand name to the number of its entries
                that are multiplied.
        """
        return sum(nonzeros[o.name] * o.fan for o in self.operands)
