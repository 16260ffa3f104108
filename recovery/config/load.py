"""Load a sweep from a config file, a shipped name, YAML text or a mapping, with overrides; and a file of claims."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from recovery.config.axes import all_paths, path_fault
from recovery.config.claims import Claim, build_claims
from recovery.config.components import COMPONENTS, Context, Single, user_code_in
from recovery.config.compose import overlaid
from recovery.config.header import HEADER
from recovery.config.names import claim_uses, report_unknown_names
from recovery.config.reader import as_text, read, read_text, read_value
from recovery.config.sweep import Sweep, composed
from recovery.config.tree import ConfigError, Place, Problem, Tree, as_shown, refusal, zip_groups
from recovery.config.values import is_range
from recovery.methods.columns import Columns
from recovery.text import choices, did_you_mean
from recovery.user import add_folders, user_names


def shipped() -> dict[str, Path]:
    """Return name -> file of the configs that come with the program."""
    folder = Path(str(resources.files("recovery.configs")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load(
    config: str | Path | Mapping[str, Any],
    overrides: Sequence[str] | Mapping[str, Any] = (),
    until: str | None = None,
    elsewhere: Callable[[Callable[[], Sweep]], Sweep] | None = None,
) -> Sweep:
    """Return the sweep of a config, as `recovery.load`; every cell is composed and validated.

    elsewhere: calls the function that composes a sweep with user code, in another process; by default user code is
    imported here. Raises `ConfigError` with every problem of the config and the overrides.
    """
    folder = Path.cwd()
    if isinstance(config, Mapping):
        tree = read_text(as_text(config, indent=1), "config")
    elif isinstance(config, str) and "\n" in config:
        tree = read_text(config, "config")
    else:
        path = find(config)
        tree = read(path)
        folder = path.parent.resolve()
    if until is not None:
        given = tree.value.get("sampling")
        kept = given if isinstance(given, dict) and given.get("kind") == "until" else {}
        rule = {"refine": True, **kept, "kind": "until", "rule": until}
        tree.put(("sampling",), rule, Place(1, 0, 0, f"--until {until!r}"))
    if isinstance(overrides, Mapping):
        overrides = [f"{path}={as_text(value)}" for path, value in overrides.items()]
    for rank, text in enumerate([overrides] if isinstance(overrides, str) else overrides, start=1):
        override(tree, text, rank)
    compose = partial(composed, tree, Context(folder))
    if elsewhere and (user_code_in(tree.value) or any(user_names(tree.value.get("report")))):
        add_folders([folder, Path.cwd()])
        return elsewhere(compose)
    return compose()


def load_shipped() -> list[Sweep]:
    """Return all shipped sweeps."""
    return [load(name) for name in shipped()]


def find(path_or_name: str | Path) -> Path:
    """Return the file of a config given by path or by shipped name. Raises `ConfigError`."""
    path, configs = Path(path_or_name), shipped()
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise refusal(as_shown(str(path)), str(error.strerror)) from error
    if str(path_or_name) in configs:
        return configs[str(path_or_name)]
    if path.is_dir():
        raise refusal(str(path), "is a folder; give a YAML file or the name of a shipped config")
    if beside := [str(other) for end in (".yaml", ".yml", ".json") if (other := path.with_suffix(end)).is_file()]:
        raise refusal(str(path_or_name), f"no such file; did you mean {beside[0]!r}?")
    word = str(path_or_name).removesuffix(".yaml")
    inside = [name for name in configs if word in name] if word else []
    hint = f"; did you mean {choices(map(repr, inside))}?" if inside else did_you_mean(word, configs)
    text = "no such file, and no shipped config of that name; `recover configs` lists them"
    raise refusal(str(path_or_name), text + hint)


def read_claims(path: Path, axes: Sequence[str], columns: Columns) -> tuple[Claim, ...]:
    """Return the claims of a file about rows with these axes and columns. Raises `ConfigError` with every problem.

    The file is YAML with the key `claims` alone, whose claims are written as in a config.
    """
    tree = read(path)
    for key in set(tree.value) - {"claims"}:
        tree.report((key,), "unknown key; allowed: claims", key=True)
    if not tree.value.get("claims"):
        tree.report((), "found no claims; write `claims:` and a list such as [{kind: threshold, ...}]")
    claims = build_claims(tree)
    report_unknown_names(tree, claim_uses(claims), axes, columns)
    tree.refuse()
    return tuple(claims.values())


def override(tree: Tree, text: str, rank: int) -> None:
    """Apply one `--set PATH=VALUE` to the tree; `rank` sorts its problems after those of the file.

    VALUE is read as YAML. If PATH is an axis, it keeps this one value, and its column stays; in a zipped group the
    other axes stay. A list or a range that cannot be one value of PATH makes PATH an axis with these values.
    """
    place = Place(rank, 0, 0, f"--set {text}")
    path, equals, value_text = text.partition("=")
    path = path.strip()
    if not equals or not path:
        text = "allowed: PATH=VALUE in one word, such as `--set data.ensemble=haar`"
        tree.problems.append(Problem((), text, place=place))
        return
    try:
        value = read_value(value_text)
        fault = _fault(tree, path)
    except ConfigError as error:
        fault = "; ".join(f"{problem.text} (column {problem.place.column})" for problem in error.problems)
    if fault:
        tree.problems.append(Problem((path,), fault, place=place))
    elif not _fix(tree, path, value, _several(tree, path, value), place):
        head, _, axis = path.partition(".")
        tree.put(("axes", axis) if head == "axes" and axis else tuple(path.split(".")), value, place)


def _several(tree: Tree, path: str, value: Any) -> bool:
    """Return whether a value stands for several values of `path`: a range, or a list that `path` cannot have."""
    root, *rest = path.split(".")
    kind = COMPONENTS.get(root)
    if kind is None or not isinstance(value, list):
        return isinstance(value, dict) and (isinstance(kind, Single) or bool(kind and rest and is_range(value)))
    base = tree.value.get(root)
    if not rest or user_code_in({root: base}):
        return True
    try:
        kind.make(overlaid(base, rest, value), Context())
    except ConfigError as error:
        return any(list(problem.path[: len(rest)]) == rest for problem in error.problems)
    return False


def _fault(tree: Tree, path: str) -> str | None:
    """Return the reason why `path` cannot be set, if there is one."""
    root = path.split(".")[0]
    fault = None if path == "data" or root in HEADER else path_fault(path, tree)
    if fault and root not in COMPONENTS:
        allowed = (*COMPONENTS, *HEADER)
        return f"is no field; allowed: {', '.join(allowed)}{did_you_mean(path, [*allowed, *all_paths()])}"
    blocks = [block for _, block in tree.axis_blocks() if isinstance(block, dict)]
    axes = [axis for block in blocks for group in (block, *zip_groups(block)) for axis in group]
    if path not in axes and (around := [axis for axis in axes if path.startswith(axis + ".")]):
        return f"lies in the axis {around[0]}, whose values are mappings; fix {around[0]} itself"
    if "." in path and isinstance(tree.value.get(root), list):
        return f"{root} is a list here; set it as a whole: --set {root}=[...]"
    return fault


def _fix(tree: Tree, path: str, value: Any, several: bool, place: Place) -> bool:
    """Give the axis `path` one value, or several, in every block that has it; return whether some block has it now.

    Several values of a field that is no axis turn it into an axis.
    """
    fixed, blocks = False, [(at, block) for at, block in tree.axis_blocks() if isinstance(block, dict)]
    for at, block in blocks:
        group = next((group for group in zip_groups(block) if path in group), None)
        if group is not None:
            del group[path]
            block["zip"] = [other for other in block["zip"] if other != {}]
        if group is not None or path in block:
            tree.put((*at, path), value if several else [value], place)
            fixed = True
    for at in () if fixed or not several else [at for at, _ in blocks] or [("axes",)]:
        tree.put((*at, path), value, place)
    return fixed or several
