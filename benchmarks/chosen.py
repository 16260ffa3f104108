"""`recover select` on tables whose answer is known, or can be argued with: 300 columns of every kind, of which five
matter, and the data sets that scikit-learn ships.

    python -m benchmarks.chosen
"""

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn import datasets

import recovery
from benchmarks import table, written
from benchmarks.rivals import SHIPPED


def wide(n: int = 1000, seed: int = 0) -> pd.DataFrame:
    """300 columns beside y: numbers, whole numbers, text, gaps, constants, copies of one value, an id and a name.

    y = 3 area + 2 |age| - 2 (town is Oslo) + 2 rate, where rate has gaps, - 1.5 (member), and noise of deviation 1;
    all numbers but `rooms` have deviation 1.
    """
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.standard_normal((n, 240)), columns=[f"number{i}" for i in range(240)])
    more = {
        "id": np.arange(n),
        "name": [f"person {i}" for i in rng.permutation(n)],
        "area": rng.standard_normal(n),
        "age": rng.standard_normal(n),
        "town": rng.choice(["Oslo", "Rome", "Lima"], n),
        "rate": rng.standard_normal(n),
        "member": rng.choice(["yes", "no"], n),
        "rooms": rng.integers(1, 9, n),
        **{f"text{i}": rng.choice(list("abcd"), n) for i in range(20)},
        **{f"gaps{i}": np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n)) for i in range(20)},
        **{f"constant{i}": np.full(n, float(i)) for i in range(10)},
        "empty": np.full(n, np.nan),
        "unit": "EUR",
    }
    table = pd.concat([table, pd.DataFrame(more)], axis=1)
    noise = rng.standard_normal(n)
    table["y"] = 3 * table.area + 2 * table.age.abs() - 2.0 * (table.town == "Oslo") + 2 * table.rate
    table["y"] += noise - 1.5 * (table.member == "yes")
    table.loc[rng.random(n) < 0.05, "rate"] = np.nan
    return table[[*rng.permutation(table.columns.drop("y")), "y"]]


def rows() -> Iterator[list[object]]:
    """Yield the chosen columns of each table, and how well the network and a forest predict the target."""
    tables = {name: getattr(datasets, f"load_{name}")(as_frame=True).frame for name in SHIPPED}
    for name, data in {"wide": wide(), **tables}.items():
        found = json.loads(recovery.select_columns(data, SHIPPED.get(name, "y")).as_json())
        network = [(one["column"], one["network"]) for one in found["columns"]]
        chosen = ", ".join(f"{column} {one['frequency']:.0%}" for column, one in network if one["chosen"])
        r2 = [f"{np.mean(found['r2'][one]):.2f}" for one in ("network", "forest")]
        yield [name, len(data), len(network), chosen, *r2]


if __name__ == "__main__":
    columns = ("table", "rows", "columns", "chosen, in how many splits", "network's R2", "forest's")
    written(__file__, table(columns, rows()))
