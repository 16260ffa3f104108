"""Set up the fork server, which imports this module and then forks the processes that run trials."""

import atexit
import gc
import os
import signal
import warnings
from contextlib import suppress

import scipy

from recovery.compiled import load_numba
from recovery.runner.child import adopt_orphans
from recovery.runner.server import SIGNALS, kill_below

_ = scipy.linalg.lapack  # SciPy loads this module at its first use: load it here, once for all processes
load_numba()
with suppress(PermissionError):  # raised if this process leads a session already
    os.setsid()
adopt_orphans()
for number in SIGNALS:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
atexit.register(kill_below, os.getpid(), set())  # the sweep has ended, or was killed
# multiprocessing's fork server warns of orphans, which it adopts and reaps here
warnings.filterwarnings("ignore", "forkserver: waitpid")
gc.collect()
gc.freeze()  # collecting the modules' garbage in each process would copy their memory
