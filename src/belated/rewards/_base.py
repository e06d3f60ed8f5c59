"""The base of all reward laws: a distribution on [0, 1] with its mean and distribution function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt

from belated.kernel.law_table import LawRow, LawTable, LawTableBuilder
from belated.registry import Registry
from belated.validation import Validated


@dataclass(frozen=True)
class RewardLaw(Validated, ABC):
    """A distribution of rewards on [0, 1]. A concrete law is a frozen dataclass of its parameters."""

    formula: ClassVar[str] = ""
    """The distribution in one line, shown by ``belated laws``."""

    if TYPE_CHECKING:  # a field of some laws, a property of others

        @property
        def mean(self) -> float:
            """The expected reward."""

    @abstractmethod
    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P(reward <= x)."""

    @property
    def atoms(self) -> dict[float, float] | None:
        """The values and their probabilities, or None for a continuous law."""
        return None

    @abstractmethod
    def encode(self, builder: LawTableBuilder) -> LawRow:
        """The law as a row for the engine, ``builder.own(...)``; tables that the row refers to are added to the
        builder."""

    @staticmethod
    @abstractmethod
    def draw(row: LawRow, laws: LawTable, word: Any) -> Any:
        """Kernel: the reward of the pull with this random word."""


REWARDS: Registry[RewardLaw] = Registry("reward law", "belated.rewards")
L = TypeVar("L", bound=RewardLaw)


@dataclass_transform(frozen_default=True)
def reward_law(cls: type[L]) -> type[L]:
    """Decorator of a concrete reward law: makes it a frozen dataclass and registers it."""
    return REWARDS.register(cls)


def discrete_cdf(atoms: dict[float, float], x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """P(reward <= x) of a discrete law."""
    points = np.asarray(x, np.float64)
    total = np.zeros(points.shape)
    for value, probability in atoms.items():
        total += probability * (points >= value)
    return total
