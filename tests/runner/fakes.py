"""A method that does what its parameter `act` says. It is copied beside the configs as fake_methods.py."""

import ctypes
import os
import signal
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from threadpoolctl import threadpool_info

from recovery.compiled import compilation
from recovery.instances.draw import Instance
from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement


@dataclass(frozen=True)
class Fake:
    """Measures a number that the trial's data and training streams determine, after `seconds`.

    With `act` "linger" or "transition" it waits only while the file `path` exists.
    """

    act: Literal[
        "measure", "linger", "raise", "hang", "die", "die_once", "threads", "transition", "compile",
        "strict", "divide", "stop_server", "stop_self", "leave",
        "announce", "hold", "nan",
    ] = "measure"  # fmt: skip
    seconds: float = 0.0
    path: str = ""
    record: bool = False

    columns: ClassVar[Columns] = select("recovered", "holds", "gap", "objective", "iterations", "pattern_count")

    def cost(self, n: int, d: int) -> float:
        return 1e-4 * n * d + self.seconds

    def __call__(self, instance: Instance, architecture: str) -> Measurement:
        if self.act in ("announce", "hold"):
            with Path(self.path).open("a") as file:
                print(os.getpid(), file=file)
        if self.act == "hold":  # PyDLL does not release the interpreter
            ctypes.PyDLL(None).sleep(int(self.seconds))
        if self.seconds and (self.act not in ("linger", "transition") or Path(self.path).exists()):
            time.sleep(self.seconds)
        if self.act == "nan":
            return Measurement(gap=np.nan)
        if self.act == "raise":
            raise ArithmeticError(f"no luck\nwith n = {instance.setting.n}")
        if self.act == "compile":  # twice, and one function within another
            for _ in range(2):
                with compilation, compilation:
                    time.sleep(0.4)
            time.sleep(self.seconds)
        if self.act == "hang":
            time.sleep(3600)
        if self.act == "die" or (self.act == "die_once" and self._first()):
            os._exit(9)
        if self.act in ("stop_server", "stop_self") and self._first():
            os.kill(os.getppid() if self.act == "stop_server" else os.getpid(), signal.SIGSTOP)
            os._exit(1)
        if self.act == "leave":  # a process in a session of its own
            if (child := os.fork()) == 0:
                os.setsid()
                time.sleep(3600)
            Path(self.path).write_text(str(child))
            os._exit(1)
        if self.act == "strict":  # what it changes, all trials after it would meet
            np.seterr(all="raise")
            warnings.simplefilter("error")
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            os.environ["SPOILT"] = "yes"
        if self.act == "divide":
            assert "SPOILT" not in os.environ
            time.sleep(0.5)
            assert np.isinf(np.array([1.0]) / 0).all()
        if self.act == "threads":
            return Measurement(iterations=max(pool["num_threads"] for pool in threadpool_info()))
        if self.act == "transition":  # half succeed at n = 2d
            n, d = instance.setting.n, instance.setting.d
            success = bool(instance.streams.training.standard_normal() * n**0.5 < n - 2 * d)
            found = Measurement(recovered=success, objective=float(not success))
            return found.recording({"way": np.arange(float(n))} if self.record else None)
        value = float(instance.X.sum() + instance.streams.training.standard_normal())
        return Measurement(recovered=value > 0, objective=value, pattern_count=instance.patterns.shape[1])

    def _first(self) -> bool:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True
