"""The coverage page of a paper: each statement, where it is run or tested, the verdict, and what the verdict rests on.

docs/coverage/PAPER.yaml has one entry per statement, with the fields of `Entry`. `python -m docs.generate` makes the
page.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

from recovery.report.claims.result import VERDICTS, Judgement, worst

ROOT = Path(__file__).parents[1]
PAPERS = ("P1", "P2", "P3", "P4")
OUTSIDE = "out of scope"
MISPRINT = "misprint"
"""Verdict on a statement that is right after an obvious correction; its note has the correction."""
NOT_REPRODUCED = "not reproduced"
"""Verdict on numbers, or conclusions from them, that our runs of the described procedure do not give, where the paper
leaves choices open that can explain the difference."""
VARIANT = "variant"
"""Verdict on a change of ours, in a choice that the paper leaves open or states: no verdict is about the paper."""
CLAIMED: Mapping[str, Judgement] = {MISPRINT: "supported", NOT_REPRODUCED: "contradicted"}
"""Verdict of an entry -> the verdict of its claims, where they differ."""
BASES = {
    "theorem": "a proof of ours, or the paper's",
    "all patterns": "draws, each proved over all activation patterns",
    "samples": "draws; patterns are sampled or searched, or play no part",
    "closed form": "a formula, compared with quadrature or simulation",
    "counterexample": "one instance that contradicts",
    "test": "an identity or implication, checked on random instances",
    "quoted": "a theorem of others",
    "read": "the sentence beside the definitions, formulas and proofs of the same paper",
    "none": "nothing was run",
}
VERDICT_MEANINGS = {
    "supported": "the evidence named agrees, at the sizes, levels and constants named",
    MISPRINT: "false as printed, and right after an obvious correction, which the note has",
    "contradicted": "false as printed, by the evidence named",
    NOT_REPRODUCED: "not given by our runs of the procedure; choices that the paper leaves open can explain it",
    "inconclusive": "tested, and the evidence does not decide",
    "not tested": "nothing was run that bears on it",
    OUTSIDE: "no number here can decide it: an assumption, constants that are not given, or no measure",
    VARIANT: "a change of ours: no verdict is about the paper",
}
"""Verdict -> its meaning, as the pages print it."""
VERSIONS = {
    "P1": "Pages and numbers are those of the first version. In the second version equations (1) to (3) are (29) to "
    "(31), and (4) to (31) have numbers smaller by three, so that (14) is (11) and (27) is (24). From (32) to (150) "
    "they are the same, from (152) to (204) smaller by one, and from (206) on by two; (151) and (205) have no number "
    "there. Its appendices come one letter later, it has no Corollaries 2 to 6, and other numbers of figures from 11 "
    "on."
}
"""Paper -> how the numbers of its second version differ."""
CLAIM = re.compile(r"(?P<config>[a-z0-9-]+) (?P<number>\d+)")


@dataclass(frozen=True)
class Entry:
    """A statement of a paper.

    page: page or section. second: the number in the second version of a paper, where it differs. by: configs,
    claims as CONFIG NUMBER, and tests as FILE or FILE::NAME. note: what would decide it, why nothing was run, or
    what the verdict leaves out.
    """

    statement: str
    page: int | str
    says: str
    by: Sequence[str]
    verdict: str
    basis: str
    note: str = ""
    second: str = ""

    @property
    def claims(self) -> list[tuple[str, int]]:
        """The claims that decide the statement: name of the config and number of the claim."""
        found = [CLAIM.fullmatch(one) for one in self.by]
        return [(match["config"], int(match["number"])) for match in found if match]


def entries(paper: str) -> list[Entry]:
    """Read the entries of a paper."""
    return [Entry(**one) for one in YAML(typ="safe").load(ROOT / "docs" / "coverage" / f"{paper}.yaml")]


def faults(found: Sequence[Entry], gallery: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield what is wrong with entries. gallery: the verdicts on the claims of each config."""
    for entry in found:
        name = entry.statement
        if entry.verdict not in (allowed := (*VERDICTS, MISPRINT, NOT_REPRODUCED, VARIANT, OUTSIDE)):
            yield f"{name}: found verdict {entry.verdict!r}; allowed: {', '.join(allowed)}"
        if entry.basis not in BASES:
            yield f"{name}: found basis {entry.basis!r}; allowed: {', '.join(BASES)}"
        if entry.verdict not in ("supported", "contradicted") and not entry.note:
            yield f"{name}: {entry.verdict} without a note that says why"
        yield from (f"{name}: there is no {one}" for one in entry.by if not _exists(one, gallery))
        if entry.claims and entry.verdict != VARIANT and all(_exists(one, gallery) for one in entry.by):
            found_words = [
                gallery[config][k - 1].split(" (")[0] for config, k in entry.claims
            ]  # a table adds its count
            verdicts: list[Judgement] = [one for one in VERDICTS if one in found_words]
            if (judged := worst(verdicts)) != CLAIMED.get(entry.verdict, entry.verdict):
                yield f"{name}: {entry.verdict}, but its claims are {judged}"
    counts = Counter(claim for entry in found for claim in entry.claims)
    yield from (f"claim {k} of {config} is counted {n} times" for (config, k), n in counts.items() if n > 1)


def _exists(one: str, gallery: Mapping[str, Sequence[str]]) -> bool:
    if match := CLAIM.fullmatch(one):
        return 1 <= int(match["number"]) <= len(gallery.get(match["config"], ()))
    file, _, test = one.partition("::")
    if file.startswith("tests/"):
        path = ROOT / file
        return path.is_file() and (not test or f"def {test}(" in path.read_text(encoding="utf-8"))
    return (ROOT / "configs" / f"{one}.yaml").is_file()


def coverage(paper: str) -> list[tuple[str, ...]]:
    """Return the rows of the page's table."""
    return [
        (
            _plain(entry.statement) + (f" (version 2: {entry.second})" if entry.second else ""),
            str(entry.page),
            _plain(entry.says) + (f". *{_plain(entry.note)}.*" if entry.note else ""),
            entry.verdict,
            entry.basis,
            ", ".join(f"`{one}`" for one in entry.by),
        )
        for entry in entries(paper)
    ]


def _plain(text: str) -> str:
    """Keep stars, as in w*, from making text italic."""
    return text.replace("*", r"\*")


def by_verdict(paper: str) -> str:
    """Return a table of the statements of a paper: each verdict with its number and names."""
    named: dict[str, list[str]] = {}
    for entry in entries(paper):
        named.setdefault(entry.verdict, []).append(entry.statement)
    lines = [f"| {verdict} | {len(named[verdict])} | {'; '.join(named[verdict])} |" for verdict in sorted(named)]
    return "\n".join(["| verdict | number | statements |", "|---|---|---|", *lines])
