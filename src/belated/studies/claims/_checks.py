"""What tests share: words, and checks of a study's axes."""

from __future__ import annotations

from belated.errors import ConfigurationError
from belated.studies.study import Study


def joined(*parts: str) -> str:
    """Parts of a sentence, those that are empty left out."""
    return ": ".join(part for part in parts if part)


def several(study: Study, axis: str) -> None:
    """An error if an axis has but one value."""
    if len(study.axis(axis).values) < 2:
        raise ConfigurationError(f"the axis {axis!r} has but one value here; give two or more.")


def numbers(study: Study, axis: str) -> list[float]:
    """The values of an axis as numbers; an error if one is none."""
    values = study.axis(axis).values
    if not all(isinstance(value, int | float) for value in values):
        raise ConfigurationError(f"the axis {axis!r} has values that are no numbers: {', '.join(map(str, values))}.")
    return [float(value) for value in values]
