"""Methods of a user's that do what no method should. Copied beside their config as own_acts.py."""

from dataclasses import dataclass
from typing import ClassVar

from recovery.methods.columns import Columns, select

HEAD = """
import atexit, contextlib, ctypes, os, signal, subprocess, sys, threading, time
from recovery.methods.method import Measurement

OK = {"recovered": True}


class Silent(Exception):
    def __str__(self):
        raise ValueError("no message")


class Deep(BaseException):
    pass


def note(name, pid):
    os.write(os.open(f"{PATH}/{name}", os.O_CREAT | os.O_APPEND | os.O_WRONLY), b"%d\\n" % pid)


def recursion():
    return recursion()


def recorded(**arrays):
    measured = Measurement(recovered=True)
    measured.trajectory = arrays
    return measured

"""
SLEEP = "time.sleep(3600)"
FAILED = {
    "leave": ("SystemExit", "sys.exit(0)"),
    "interrupt": ("KeyboardInterrupt", "raise KeyboardInterrupt"),
    "base": ("Deep", "raise Deep('deep')"),
    "silent": ("Silent", "raise Silent"),
    "half": ("ValueError", r"raise ValueError('half \ud800 and \x1b[31mred')"),
    "address": ("ValueError", "raise ValueError(object())"),
    "number": ("ColumnError", "return {'recovered': 1}"),
    "text": ("ColumnError", "return {'gap': 'small'}"),
    "large": ("ColumnError", "return {'iterations': 2**63}"),
    "none": ("ColumnError", "return None"),
    "stop_iteration": ("StopIteration", "raise StopIteration"),
    "generator_exit": ("GeneratorExit", "raise GeneratorExit"),
    "recursion": ("RecursionError", "recursion()"),
    "undeclared": ("ColumnError", "return {'surprise': 1.0}"),
    "listed": ("ColumnError", "return [('recovered', True)]"),
    "long_text": ("ValueError", "raise ValueError('x' * 10**7)"),
    "lone": ("ColumnError", r"return {'solver': '\ud800'}"),
    "group": ("ExceptionGroup", "raise ExceptionGroup('several', [ValueError('one'), KeyError('two')])"),
    "stop": ("ColumnError", "os.kill(os.getpid(), signal.SIGSTOP)"),
    "ragged": ("ColumnError", "return recorded(loss=[1.0, 2.0], weights=[[1.0], [2.0, 3.0]])"),
    "uneven": ("ColumnError", "return recorded(loss=[1.0, 2.0], weights=[1.0])"),
}
"""Act -> the error of its row, and its code."""
KILLED = {
    "fork_and_leave": f"if os.fork() == 0: {SLEEP}\nos._exit(0)",
    "daemon": f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note("daemon", os.getpid())
        {SLEEP}
    os._exit(0)
while not os.path.exists(PATH + "/daemon") or not os.path.getsize(PATH + "/daemon"):
    time.sleep(0.01)
os._exit(3)""",
    "crash": "ctypes.string_at(0)",
    "close_all": "os.closerange(0, 1000)\nreturn OK",
    "scribble": """
for fd in range(3, 50):
    with contextlib.suppress(OSError):
        os.write(fd, b"x" * 100)
return OK""",
    "alarm": f"signal.setitimer(signal.ITIMER_REAL, 0.01)\n{SLEEP}",
    "abort": "os.abort()",
    "terminate": f"os.kill(os.getpid(), signal.SIGTERM)\n{SLEEP}",
    "kill_self": "os.kill(os.getpid(), signal.SIGKILL)",
    "kill_group": "os.killpg(0, signal.SIGKILL)",
}
OK = {
    "go_on": "return OK",
    "kill_server": "os.kill(os.getppid(), signal.SIGKILL)\nreturn OK",
    "forked": "os.fork()\nreturn OK",
    "move": "os.chdir('/')\nreturn OK",
    "thread": "threading.Thread(target=time.sleep, args=[3600]).start()\nreturn OK",
    "print_much": "print('printed by a method')\nreturn OK",
    "no_signals": """
for number in set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
return OK""",
    "at_exit": f"atexit.register(lambda: {SLEEP})\nreturn OK",
    "many_children": "[subprocess.Popen(['sleep', '3600']) for _ in range(20)]\nreturn OK",
    "no_path": "sys.path.clear()\nreturn OK",
}
ANY = {"memory": "raise MemoryError", "no_recursion": "sys.setrecursionlimit(60)\nreturn OK"}
"""A row, whose status depends on where it is caught."""
OTHERS = {"orphan": "child = subprocess.Popen(['sleep', '3600'])\nnote('orphan', child.pid)\nchild.wait()"}
"""Acts with tests of their own."""
ACTS = {**{act: code for act, (_, code) in FAILED.items()}, **KILLED, **OK, **ANY}
"""Act -> the body of a function."""


@dataclass(frozen=True)
class Own:
    act: str
    path: str
    columns: ClassVar[Columns] = select("recovered", "gap", "iterations", "solver")

    def cost(self, n, d):
        return 1.0

    def __call__(self, instance, architecture):
        names = {"PATH": self.path}
        body = "\n    ".join({**ACTS, **OTHERS}[self.act].splitlines())
        exec(f"{HEAD}\ndef act():\n    {body}\n", names)
        return names["act"]()
