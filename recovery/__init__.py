"""Phase transitions in neural-network recovery: convex programs, certificates, sweeps, reports.

From a script or a notebook:
    sweep = recovery.load("p1-fig06")        a config: a file, a shipped name, YAML text or a mapping
    results = recovery.run(sweep)            what `recover sweep` does; the same folder, the same guarantees
    results = recovery.read("results/x")     stored results: .frame, .cells(), .thresholds(), .claims(), .plot()
    instance = recovery.draw(recovery.Setting(n=100, d=20), numpy.random.default_rng(0))
    recovery.certificate("results/x", "3f2a")   one trial: .instance, .program, .solution, .numbers, .row, .save()
    recovery.compare("results/x", by="method")  differences with intervals: .overall, .thresholds, .cells
    recovery.optimum(X, y, beta=1e-3)        the optimal network of your data: .network, .objective, .gap, .excess(loss)
    recovery.METHODS["min_norm"]()(instance, recovery.ARCHITECTURES["relu_skip"])
Each name is imported when it is first used, so importing `recovery` alone is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.4.0"

if TYPE_CHECKING:
    from recovery.api import load as load, read as read, run as run
    from recovery.config import Sweep as Sweep
    from recovery.errors import RecoverError as RecoverError
    from recovery.extras.certificate import TrialCertificate as TrialCertificate, certificate as certificate
    from recovery.extras.compare import compare as compare
    from recovery.instances.draw import Instance as Instance, Setting as Setting, draw as draw
    from recovery.instances.ensembles import ENSEMBLES as ENSEMBLES, Ensemble as Ensemble
    from recovery.instances.planted import PLANTED as PLANTED, Neurons as Neurons, Planted as Planted, Target as Target
    from recovery.instances.planted_functions import PlantedNetwork as PlantedNetwork
    from recovery.methods.columns import Column as Column, select as select
    from recovery.methods.method import METHODS as METHODS, Method as Method
    from recovery.methods.own_data import OptimalNetwork as OptimalNetwork, optimum as optimum
    from recovery.programs.architecture import ARCHITECTURES as ARCHITECTURES, Architecture as Architecture
    from recovery.programs.relu_network import ReluNetwork as ReluNetwork
    from recovery.solvers.table import Solver as Solver

_PLACES = {
    "config": ("Sweep",),
    "api": ("load", "read", "run"),
    "errors": ("RecoverError",),
    "extras.certificate": ("TrialCertificate", "certificate"),
    "extras.compare": ("compare",),
    "instances.draw": ("Instance", "Setting", "draw"),
    "instances.ensembles": ("ENSEMBLES", "Ensemble"),
    "instances.planted": ("PLANTED", "Neurons", "Planted", "Target"),
    "instances.planted_functions": ("PlantedNetwork",),
    "methods.columns": ("Column", "select"),
    "methods.method": ("METHODS", "Method"),
    "methods.own_data": ("OptimalNetwork", "optimum"),
    "programs.architecture": ("ARCHITECTURES", "Architecture"),
    "programs.relu_network": ("ReluNetwork",),
    "solvers.table": ("Solver",),
}
_PLACE = {name: f"recovery.{module}" for module, names in _PLACES.items() for name in names}
__all__ = sorted(_PLACE)


def __getattr__(name: str) -> Any:
    if name not in _PLACE:
        raise AttributeError(f"module 'recovery' has no attribute {name!r}")
    return getattr(import_module(_PLACE[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
