# ruff: noqa: N818, PTH110, PTH202, SIM105
"""Methods of a user's that do what no method should. Copied beside their config as own_acts.py."""

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement


class Silent(Exception):
    def __str__(self):
        raise ValueError("no message")


class Deep(BaseException):
    pass


def note(name, pid):
    os.write(os.open(f"{PATH}/{name}", os.O_CREAT | os.O_APPEND | os.O_WRONLY), b"%d\n" % pid)


def go_on():
    return {"recovered": True}


def leave():
    sys.exit(0)


def interrupt():
    raise KeyboardInterrupt


def base():
    raise Deep("deep")


def silent():
    raise Silent


def half():
    raise ValueError("half \ud800 and \x1b[31mred")


def number():
    return {"recovered": 1}


def text():
    return {"gap": "small"}


def large():
    return {"iterations": 2**63}


def none():
    return None


def forked():
    os.fork()
    return {"recovered": True}


def fork_and_leave():
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)


def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note("daemon", os.getpid())
            time.sleep(3600)
        os._exit(0)
    while not os.path.exists(PATH + "/daemon") or not os.path.getsize(PATH + "/daemon"):
        time.sleep(0.01)
    os._exit(3)


def orphan():
    child = subprocess.Popen(["sleep", "3600"])
    note("orphan", child.pid)
    child.wait()


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def crash():
    ctypes.string_at(0)


def close_all():
    os.closerange(0, 1000)
    return {"recovered": True}


def scribble():
    for fd in range(3, 50):
        try:
            os.write(fd, b"x" * 100)
        except OSError:
            pass
    return {"recovered": True}


def kill_server():
    os.kill(os.getppid(), signal.SIGKILL)
    return {"recovered": True}


def move():
    os.chdir("/")
    return {"recovered": True}


def stop_iteration():
    raise StopIteration


def generator_exit():
    raise GeneratorExit


def memory():
    raise MemoryError


def recursion():
    return recursion()


def not_finite():
    return {"gap": float("nan")}


def undeclared():
    return {"surprise": 1.0}


def listed():
    return [("recovered", True)]


def long_text():
    raise ValueError("x" * 10**7)


def lone():
    return {"solver": "\ud800"}


def group():
    raise ExceptionGroup("several", [ValueError("one"), KeyError("two")])


def ragged():
    measured = Measurement(recovered=True)
    measured.trajectory = {"loss": [1.0, 2.0], "weights": [[1.0], [2.0, 3.0]]}
    return measured


def uneven():
    measured = Measurement(recovered=True)
    measured.trajectory = {"loss": [1.0, 2.0], "weights": [1.0]}
    return measured


def alarm():
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(3600)


def abort():
    os.abort()


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(3600)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_group():
    os.killpg(0, signal.SIGKILL)


def no_recursion():
    sys.setrecursionlimit(60)
    return {"recovered": True}


def thread():
    threading.Thread(target=time.sleep, args=[3600]).start()
    return {"recovered": True}


def print_much():
    print("printed by a method")
    return {"recovered": True}


def no_signals():
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    return {"recovered": True}


def at_exit():
    atexit.register(lambda: time.sleep(3600))
    return {"recovered": True}


def many_children():
    for _ in range(20):
        subprocess.Popen(["sleep", "3600"])
    return {"recovered": True}


def no_path():
    sys.path.clear()
    return {"recovered": True}


KEPT = []


def leak():
    KEPT.append(bytearray(60 * 2**20))
    return {"recovered": True}


@dataclass(frozen=True)
class Own:
    act: str
    path: str
    columns: ClassVar[Columns] = select("recovered", "gap", "iterations", "solver")

    def cost(self, n, d):
        return 1.0

    def __call__(self, instance, architecture):
        global PATH
        PATH = self.path
        return globals()[self.act]()
