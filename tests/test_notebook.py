"""Functions of a notebook in a config: their source is stored, and their trials go on in another process."""

import json
import linecache
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import recovery
from recovery.config import ConfigError, load
from recovery.config.reader import as_text
from recovery.errors import ParameterError
from recovery.notebook import module_text, name_of, provide
from recovery.store import read
from tests.invoke import recover

CONFIG = {
    "name": "mine",
    "planted": {"kind": "linear"},
    "architecture": "relu_skip",
    "method": {"kind": "min_norm"},
    "axes": {"n": [6], "d": [2]},
}


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs cells in a module that is `__main__`, as IPython does."""
    main, count = ModuleType("__main__"), 0
    monkeypatch.setitem(sys.modules, "__main__", main)

    def cell(text: str) -> ModuleType:
        nonlocal count
        count += 1
        place = f"<cell {count}>"
        linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
        exec(compile(text, place, "exec"), vars(main))
        return main

    return cell


def run_of(text: str) -> dict[str, Any]:
    there: dict[str, Any] = {"__name__": "stored"}
    exec(compile(text, "stored", "exec"), there)
    return there


def test_a_module_has_all_that_a_function_names(notebook: Any) -> None:
    notebook(
        "import numpy as np\nimport numpy.linalg\nfrom math import pi as PI, sqrt as root\nfrom typing import ClassVar"
    )
    notebook("SHIFT = (1.5, [2])\ndef helper(x):\n    return root(x) + SHIFT[1][0]\n")
    main = notebook(
        "def back(x):\n    return f(x)\n"
        "def f(x, more=PI):\n    '''Words.'''\n    if x < 0:\n        return back(-x)\n"
        "    return np.linalg.norm([helper(x), SHIFT[0], more])\n"
    )
    there = run_of(module_text([main.f]))
    assert there["f"](9.0) == main.f(9.0)
    assert there["f"](-4.0) == main.f(4.0)


def test_a_class_comes_with_its_bases_and_decorators(notebook: Any) -> None:
    main = notebook(
        "from dataclasses import dataclass\nfrom typing import ClassVar\n"
        "class Base:\n    def twice(self):\n        return 2 * self.a\n"
        "@dataclass(frozen=True)\nclass Value(Base):\n    a: float = 3.0\n    kind: ClassVar = 'x'\n"
        "    def whole(self):\n        return self.twice() + 1\n"
    )
    assert run_of(module_text([main.Value]))["Value"]().whole() == 7.0


def test_the_last_definition_counts(notebook: Any) -> None:
    notebook("def f():\n    return 1\n")
    main = notebook("def f():\n    return 2\n")
    assert run_of(module_text([main.f]))["f"]() == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f = lambda rng, n, d: 0", "a lambda has no name"),
        ("def make(s):\n    def f(rng, n, d):\n        return s\n    return f\nf = make(2)", "a closure"),
        ("import numpy as np\nA = np.eye(2)\ndef f(rng, n, d):\n    return A", "f uses A, of type ndarray"),
        ("def g():\n    return 1\nh = g\ndef f(rng, n, d):\n    return h()", "another name of g"),
        ("LIMIT = float('nan')\ndef f(rng, n, d):\n    return LIMIT", "f uses LIMIT, of type float"),
        ("exec('def f(rng, n, d):\\n    return 0')", "the source of f is not known here"),
    ],
)
def test_what_no_text_holds_is_refused(notebook: Any, text: str, message: str) -> None:
    main = notebook(text)
    with pytest.raises(ParameterError, match=message):
        recovery.load({**CONFIG, "data": {"ensemble": main.f}})


def test_an_edited_module_is_refused() -> None:
    text = "def f():\n    return 1\n"
    provide({name_of(text): text})
    for code in ({name_of(text): text + " "}, {"../x": text}, {name_of(text): 1}, {"os": text}):
        with pytest.raises(ParameterError, match="not what its name says"):
            provide(code)  # type: ignore[arg-type]


def test_main_in_a_text_is_refused_before_anything_runs(tmp_path: Path) -> None:
    text = json.dumps({**CONFIG, "data": {"ensemble": "__main__:ens"}}, indent=1)
    with pytest.raises(ConfigError, match="give the function ens itself in a mapping"):
        recovery.run(text, tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("value", "message"),
    [(object(), "data.scale: found object"), ({1, 2}, "data.scale: found set"), (print, "data.scale: found builtin")],
)
def test_a_value_that_no_config_holds_is_named(value: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load({**CONFIG, "data": {"ensemble": "gaussian", "scale": value}})


def test_numbers_of_numpy_and_paths_are_plain() -> None:
    mapping = {"n": np.int64(3), "d": np.array([1, 2]), "x": (np.float64(0.5), range(2)), "p": Path("a/b")}
    assert json.loads(as_text(mapping)[0]) == {"n": 3, "d": [1, 2], "x": [0.5, [0, 1]], "p": "a/b"}


def test_a_function_of_a_module_is_named() -> None:
    text, code = as_text({"ensemble": read})
    assert json.loads(text) == {"ensemble": "recovery.store.grid:read"}
    assert code == {}


SCRIPT = """\
import sys
import numpy as np
import recovery

def ens(rng, n, d, heavy: float = 1.0):
    return heavy * rng.standard_normal((n, d))

if __name__ == "__main__":
    config = {"name": "mine", "data": {"ensemble": ens}, "planted": {"kind": "linear"}, "architecture": "relu_skip",
              "method": {"kind": "min_norm"}, "axes": {"n": np.array([6, 9]), "data.heavy": (1.0, 2.0)}, "d": 2}
    recovery.run(config, "out", {"replicates": int(sys.argv[1])}, jobs=1, quiet=True)
"""


def test_a_sweep_with_own_functions_goes_on_in_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    for replicates in ("1", "2"):
        subprocess.run([sys.executable, "script.py", replicates], cwd=tmp_path, check=True)
        frame = read(tmp_path / "out").frame.set_index("trial_id")
        assert set(frame["status"]) == {"ok"}
        if replicates == "1":
            first = frame["started_at"]
    assert (len(first), len(frame)) == (4, 8)
    assert frame["started_at"].loc[first.index].equals(first)
    monkeypatch.chdir(tmp_path)
    refused = recover("verify", "out")
    assert refused.exit_code == 2
    assert "--trust allows it" in refused.output
    trusted = recover("verify", "out", "--trust")
    assert "8 of 8 rows replayed, 8 the same" in trusted.output
    page = recover("report", "out", "--out", "page.html")
    assert page.exit_code == 0
    assert "heavy * rng.standard_normal" in (tmp_path / "page.html").read_text()


CELLS = (
    "import numpy as np\nimport recovery\nfrom dataclasses import dataclass\nfrom typing import ClassVar",
    "def ens(rng, n, d):\n    return rng.standard_normal((n, d))",
    "@dataclass(frozen=True)\nclass Rank:\n    columns: ClassVar = {'recovered': recovery.Column(bool, 'full rank')}\n"
    "    def __call__(self, instance, architecture):\n"
    "        return {'recovered': bool(np.linalg.matrix_rank(instance.X) == instance.X.shape[1])}\n"
    "    def cost(self, n, d):\n        return 1e-4",
    "r = recovery.run({'name': 'mine', 'replicates': REPLICATES, 'data': {'ensemble': ens},"
    " 'planted': {'kind': 'linear'}, 'method': {'kind': Rank}, 'axes': {'n': [3, 6], 'd': [4]}},\n"
    "                 'out', jobs=1)\n"
    "print(len(r.frame), set(r.frame.status))",
    "r.plot()",
    "r",
)


@pytest.mark.deep
def test_a_notebook_goes_on_after_its_kernel_was_started_anew(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    said, begun = [], []
    for replicates in (1, 3):
        cells = [nbformat.v4.new_code_cell(text.replace("REPLICATES", str(replicates))) for text in CELLS]
        book = nbformat.v4.new_notebook(cells=cells)
        NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
        ran, plotted, shown = (cell.outputs for cell in book.cells[-3:])
        said.append(ran[-1].text.strip())
        assert f"{2 if replicates == 1 else 4} of" in str(ran[0].data["text/html"])
        assert "image/png" in plotted[-1].data
        assert {"image/png", "text/html"} <= set(shown[-1].data)
        begun.append(read(tmp_path / "out").frame.set_index("trial_id")["started_at"])
    assert said == ["2 {'ok'}", "6 {'ok'}"]
    assert begun[1].loc[begun[0].index].equals(begun[0])
