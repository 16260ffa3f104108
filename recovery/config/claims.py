"""The claims of a config: numbers and laws that a source states about the results, each with its scope."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from math import inf
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Interval, MaxLen, MinLen
from pydantic import Field

from recovery.config.tree import ConfigError, Tree, as_shown
from recovery.config.validate import build_kind
from recovery.errors import ParameterError
from recovery.text import choices
from recovery.types import Scalar

Where = Annotated[Mapping[str, Scalar], Field(description="a mapping of coordinates to values")]
Level = Annotated[float, Interval(gt=0, lt=1)]
Object = Literal["all", "searched", "sampled"] | None
"""The pattern set that a statement is about; null: the pattern set of the rows."""
Statistic = Literal["mean", "median", "every"]
Limit = Annotated[
    float | str | None, Field(description="a number, or the name of a theory curve over n and d or of a column")
]


@dataclass(frozen=True)
class Scoped:
    """Keys that all tested claims share: the column, the rows that a claim is about, and its place in a source."""

    of: str
    _: KW_ONLY
    where: Where = field(default_factory=dict)
    patterns: Object = None
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Limited(Scoped):
    """Keys that claims about one number share: `value` with `tolerance`, or `at_least`, `at_most` or both."""

    value: float | None = None
    tolerance: Annotated[float, Gt(0)] | None = None
    at_least: float | None = None
    at_most: float | None = None

    widths: ClassVar[tuple[str, ...]] = ("tolerance",)
    """Keys that say how far from `value` a number may be."""

    def __post_init__(self) -> None:
        if sum(getattr(self, name) is not None for name in self.widths) != (self.value is not None):
            text = f"value and {choices(self.widths)} belong together; allowed: value with one of them"
            raise ParameterError(f"{text}, or at_least and at_most")
        least, most = self.at_least, self.at_most
        _one_form(value=self.value, **{"at_least or at_most": least if least is not None else most})
        if least is not None and most is not None and not least < most:
            raise ParameterError(f"at_least lies below at_most; found {least:g} and {most:g}")

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest number that agree with the claim; infinite on a side without a limit."""
        if self.value is not None and self.tolerance is not None:
            return self.value - self.tolerance, self.value + self.tolerance
        return -inf if self.at_least is None else self.at_least, inf if self.at_most is None else self.at_most


@dataclass(frozen=True, kw_only=True)
class Located(Limited):
    """Keys of claims about the threshold at a ratio or along a coordinate."""

    ratio: Literal["n/d"] | None = None
    along: str | None = None
    probability: Level = 0.5

    def __post_init__(self) -> None:
        _one_form(ratio=self.ratio, along=self.along)
        super().__post_init__()

    @property
    def what(self) -> str:
        """The ratio or coordinate whose value at the threshold is claimed."""
        return self.ratio or self.along or ""

    @property
    def key(self) -> tuple[str, float, str]:
        """The event, its probability at the threshold, and `what`."""
        return self.of, self.probability, self.what


@dataclass(frozen=True)
class ThresholdClaim(Located):
    """The `ratio` n/d, or the coordinate `along`, is within limits where the success probability of column `of` crosses
    `probability`. The limits are `value` with `tolerance`, or `at_least`, `at_most` or both. The claim is about every
    slice unless the report pools the slices; `where` may name one slice.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio and min(one for one in (self.value, self.at_least, self.at_most, 1) if one is not None) <= 0:
            raise ParameterError("a ratio n/d is positive; allowed: value, at_least and at_most above 0")


@dataclass(frozen=True)
class BoundClaim(Scoped):
    """In every grid cell, column `of` is on the stated side of a bound: its frequency or mean, its median, or every
    trial. Contradicted if a cell, or for a frequency all cells together, are beyond it at significance level `level`.
    The mean of numbers needs 30 trials, and its interval is approximate."""

    at_least: Limit = None
    at_most: Limit = None
    statistic: Statistic = "mean"
    level: Level = 1e-3

    def __post_init__(self) -> None:
        _one_form(at_least=self.at_least, at_most=self.at_most)


@dataclass(frozen=True)
class ValueClaim(Limited):
    """The `statistic` of column `of` over all trials with the coordinates `where` is within limits: `value` with a
    `tolerance` or a `factor`, or `at_least`, `at_most` or both. Supported if the 95 % confidence interval is inside the
    limits, contradicted if the interval at significance level `level` is outside. The mean of numbers needs 30 trials,
    and its interval is approximate."""

    tolerance: Annotated[float, Ge(0)] | None = field(default=None, kw_only=True)
    factor: Annotated[float, Gt(1)] | None = None
    statistic: Statistic = "mean"
    level: Level = 1e-3
    widths: ClassVar[tuple[str, ...]] = ("tolerance", "factor")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factor is not None and self.value is not None and self.value <= 0:
            raise ParameterError(f"a factor belongs to a positive value; found {self.value:g}")

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest number that agree with the claim; infinite on a side without a limit."""
        if self.value is not None and self.factor is not None:
            return self.value / self.factor, self.value * self.factor
        return super().limits


@dataclass(frozen=True)
class BinomialClaim(Scoped):
    """Each trial succeeds in column `of` with the stated `probability`, independently. Contradicted if an
    exact binomial test of all trials, or of a single grid cell, rejects it at significance level `level`. Supported if
    the 95 % confidence interval is within the `tolerance`."""

    probability: Annotated[float, Interval(ge=0, le=1)]
    tolerance: Annotated[float, Interval(gt=0, lt=1)] = 0.1
    level: Level = 1e-3


@dataclass(frozen=True)
class MonotoneClaim(Scoped):
    """Column `of` only rises, or only falls, along the coordinate `along` when the other coordinates are fixed.
    Contradicted if two cells, or all lines of cells together, have the opposite order at significance level `level`;
    supported if each line, and all lines together, show the trend."""

    along: str
    direction: Literal["rises", "falls"]
    level: Level = 1e-3


@dataclass(frozen=True)
class PowerClaim(Limited):
    """The median of a number `of` is a power of the coordinate `along` when the other coordinates are fixed. Of an
    event, the value of the coordinate `threshold` at which it has the probability in `probabilities` is such a power;
    with two probabilities, the distance between both values is. The limits of the exponent are `value` with
    `tolerance`, or `at_least`, `at_most` or both. Supported if its 95 % confidence interval is inside the limits,
    contradicted if the interval at significance level `level` is outside."""

    along: str
    threshold: str = "n"
    probabilities: Annotated[tuple[Level, ...], MinLen(1), MaxLen(2)] = (0.5,)
    level: Level = 1e-3

    def __post_init__(self) -> None:
        if list(self.probabilities) != sorted(set(self.probabilities)):
            raise ParameterError(f"probabilities rise; found {', '.join(f'{one:g}' for one in self.probabilities)}")
        super().__post_init__()


@dataclass(frozen=True)
class ScalingClaim(Located):
    """Finite-size scaling of the threshold of the event `of` at the `ratio` n/d or the coordinate `along`, over the
    slices. limit: the threshold for infinite size y, x_inf of x(y) = x_inf + a y^-r; exponent: r. The limits are
    `value` with `tolerance`, or `at_least`, `at_most` or both. Supported if the 95 % confidence interval is inside,
    contradicted if the interval at significance level `level` is outside."""

    quantity: Literal["limit", "exponent"] = "limit"
    level: Level = 1e-3


@dataclass(frozen=True)
class OrderClaim(Scoped):
    """Column `of` succeeds in more trials under each of the `values` of `axis` than under the next, and therefore at
    smaller n. A number is larger in more pairs of trials. `direction: rises` reverses both. The test has
    significance level `level`. Values in a nested list are not compared with each other."""

    axis: str
    values: Annotated[tuple[Scalar | tuple[Scalar, ...], ...], MinLen(2)]
    direction: Literal["falls", "rises"] = "falls"
    level: Level = 1e-3


@dataclass(frozen=True)
class TableClaim(Scoped):
    """The mean of column `of` in each grid cell equals a number of the source's table, which has a row for each value
    of `axis` and a column for each of the values `at` of `across`. error: the standard error of the source's numbers,
    for each column or for all; errors: the standard errors of single rows.
    Contradicted if a number differs, supported if all agree, at their shares of the significance level 0.001; otherwise
    inconclusive.
    """

    axis: str
    across: str
    at: Annotated[tuple[Scalar, ...], MinLen(1)]
    values: Mapping[str, tuple[float, ...]]
    error: Annotated[float, Gt(0)] | tuple[Annotated[float, Gt(0)], ...]
    errors: Mapping[str, Annotated[float, Gt(0)]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = len(self.at)
        rows = {**self.values, **({"error": self.error} if isinstance(self.error, tuple) else {})}
        for name, numbers in rows.items():
            if len(numbers) != wanted:
                raise ParameterError(f"{name} has {len(numbers)} numbers for {wanted} values of {self.across}")
        unknown = [name for name in self.errors if name not in self.values]
        if unknown:
            raise ParameterError(f"errors: {unknown[0]!r} is no row of values")

    def errors_of(self, row: str) -> tuple[float, ...]:
        """Return the standard errors of one row of the source's numbers."""
        if row in self.errors:
            return (self.errors[row],) * len(self.at)
        return self.error if isinstance(self.error, tuple) else (self.error,) * len(self.at)


@dataclass(frozen=True)
class Statement:
    """A claim in words, printed beside the diagram and not tested."""

    text: Annotated[str, MinLen(1)]
    where: Where = field(default_factory=dict)
    source: str = ""


Claim = Scoped | Statement

CLAIMS: dict[str, type[Any]] = {
    "threshold": ThresholdClaim,
    "bound": BoundClaim,
    "value": ValueClaim,
    "binomial": BinomialClaim,
    "monotone": MonotoneClaim,
    "power": PowerClaim,
    "scaling": ScalingClaim,
    "order": OrderClaim,
    "table": TableClaim,
    "statement": Statement,
}


def build_claims(tree: Tree) -> dict[int, Claim]:
    """Return the valid claims of a config by their number; the errors of the others become problems of the tree."""
    value, claims = tree.value.get("claims", []), dict[int, Claim]()
    if not isinstance(value, list):
        text = f"found {as_shown(value)}; allowed: a list of claims such as {{kind: threshold, ...}}"
        tree.report(("claims",), text)
        return {}
    for i, item in enumerate(value):
        try:
            claims[i] = build_kind(CLAIMS, item)
        except ConfigError as error:
            tree.adopt(error, ("claims", i))
    return claims


def _one_form(**forms: object) -> None:
    given = [name for name, value in forms.items() if value is not None]
    if len(given) != 1:
        raise ParameterError(f"found {' and '.join(given) or 'none of them'}; allowed: one of {choices(forms)}")
