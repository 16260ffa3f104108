"""Variable selection on an instance: the variables found, and the error of predicted labels (P3)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.instances.files import File, FileColumn
from recovery.instances.planted_functions import PlantedNetwork, Sparse
from recovery.methods.columns import Column, Columns, select
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.selection.selectors import TREES, Selector
from recovery.selection.sparse_networks import distance
from recovery.types import Array, Mask


def _support(setting: Setting) -> Mask | None:
    """Return the mask of relevant variables (d,), None where the user does not name them. Raises `ParameterError`."""
    law = setting.planted
    if isinstance(law, FileColumn):
        return law.support(law.inputs(setting.ensemble, setting.d))
    if isinstance(law, Sparse):
        return law.support(setting.d)
    raise ParameterError(
        "method select needs a planted model with a known support (sparse_network, sparse_linear or friedman), "
        "or labels that are a column of a file"
    )


@dataclass(frozen=True)
class Select(Selector):
    """Fit a selector, cut its importances, and compare with the planted support.

    test_rows: the number of rows of the test draw, n if null. For a file with recorded labels: the number of its other
    rows used for the test, all if null.
    """

    test_rows: Annotated[int, Ge(1)] | None = None

    columns: ClassVar[Columns] = select("support_recovered", "weight_error", "flip_margin") | {
        "true_positives": Column(int, "planted variables that were chosen", "variables"),
        "false_positives": Column(int, "other variables that were chosen", "variables"),
        "test_mse": Column(float, "mean squared error on a fresh draw, against noiseless labels"),
        "test_rmse": Column(float, "root of the mean squared error on rows of the file that were not drawn"),
        "chosen": Column(str, "the chosen columns of the file, the most important one first"),
        "validation_mse": Column(float, "mean squared error on the rows that chose the hyperparameters"),
        "penalty": Column(float, "the chosen penalty on ||W||_1"),
        "rate": Column(float, "the chosen rate of Adam"),
        "neurons": Column(int, "the chosen number of neurons", "neurons"),
        "epochs": Column(int, "the chosen number of epochs", "epochs"),
    }

    def __post_init__(self) -> None:
        if (self.cutoff == "count") != (self.count is not None):
            raise ParameterError("`count` (a number, or planted) goes with cutoff: count, and only with it")

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse planted models without a known support, and counts that are too large. Raises `ParameterError`."""
        support = _support(setting)
        planted = None if support is None else int(support.sum())
        if isinstance(setting.ensemble, File):
            self._check_file(setting, planted)
        if isinstance(self.count, int) and self.count > setting.d:
            known = "" if planted is None else f" ({planted} planted)"
            raise ParameterError(f"count = {self.count} is more than d = {setting.d} variables{known}")

    def _check_file(self, setting: Setting, planted: int | None) -> None:
        assert isinstance(setting.ensemble, File)
        if self.count == "planted" and planted is None:
            raise ParameterError("count: planted needs to know what matters; name it in planted.relevant")
        if self.test_rows is None:
            return
        if not isinstance(setting.planted, FileColumn):
            raise ParameterError("test_rows: a file has no fresh draw to test on")
        rows = setting.ensemble.shape[0]
        if setting.n + self.test_rows > rows:
            raise ParameterError(f"n = {setting.n} and test_rows = {self.test_rows}, and the file has {rows} rows")

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        """Select on the instance. Raises `ParameterError` for what `check` refuses, `DataError` for its labels."""
        self.check(instance.setting, architecture)
        support = _support(instance.setting)
        count = None if support is None else int(support.sum())
        wanted = count if self.count == "planted" else self.count
        fitted, chosen = self.fit(instance.streams.training, instance.X, instance.y, wanted)
        row = Measurement(**fitted.hyperparameters)
        if support is not None:
            row["true_positives"] = int((chosen & support).sum())
            row["false_positives"] = int((chosen & ~support).sum())
            row["support_recovered"] = bool((chosen == support).all())
        test = self._test(instance)
        if test is not None:
            row["test_mse"] = float(np.mean((fitted.predict(test) - instance.planted.labels(test)) ** 2))
        law = instance.setting.planted
        if isinstance(law, FileColumn):
            names = law.inputs(instance.setting.ensemble, instance.setting.d)
            order = np.argsort(-fitted.importances, kind="stable")
            row["chosen"] = ", ".join(names[i] for i in order if chosen[i])
            if test is not None:
                row["test_rmse"] = float(np.sqrt(row.test_mse))
        planted, network = instance.planted, fitted.network
        if isinstance(planted, PlantedNetwork):
            row["flip_margin"] = planted.network.flip_margin()
            row["weight_error"] = None if network is None else distance(network, planted.network)
        return row

    def _test(self, instance: Instance) -> Array | None:
        """Return test rows: of the file, None without any, or drawn n at a time, because some laws scale with n."""
        setting = instance.setting
        if isinstance(setting.ensemble, File):
            return None if instance.test is None else instance.test[: self.test_rows]
        rng, rows = instance.streams.test, self.test_rows or setting.n
        draws = [setting.ensemble.draw(rng, setting.n, setting.d) for _ in range(-(-rows // setting.n))]
        return np.vstack(draws)[:rows]

    def cost(self, n: int, d: int) -> float:
        """Estimate the seconds: the products of training at 10^11 operations per second; baselines by their kind."""
        if self.selector != "network":
            one = {"lasso": 1e-6, "omp": 5e-7, "forest": 3e-5, "boosting": 2e-5}[self.selector] * n * d
            return one * self.trees / TREES if self.selector in ("forest", "boosting") else one
        fits = len(self.penalties) * len(self.rates) * sum(self.neurons)
        times = self.folds if self.validation == "cross" else 1
        steps = 1.0 if self.batch == "full" else n / self.batch
        products = 4.0 * fits * n * (d + 12) / 1e11
        return 1e-2 + times * max(self.epochs) * (steps * (1e-4 * len(self.neurons) + fits * d / 1e9) + products)
