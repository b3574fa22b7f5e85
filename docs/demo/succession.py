# SPDX-License-Identifier: Apache-2.0
"""A node that is restarted without a gap: its processes one after the other."""
import ctypes
import os
import re
import signal
import time

from stage import wait_for

PR_SET_CHILD_SUBREAPER = 36
SERVES = re.compile(r'process (\d+) serves')
PATIENCE_S = 60


def adopt_orphans():
    """Processes that a child has started are this one's when that child has ended."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def status_of(pid):
    """None: it runs. What ends before the process that has started it does is seen by that one, which complains."""
    try:
        found, raw = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(raw) if found else None
    except ChildProcessError:
        return None if os.path.exists(f'/proc/{pid}') else 0


class Succession:
    """The processes of a node: the one that serves, and those that are still ending."""

    def __init__(self, node):
        self.node, self.pid, self.leaving, self.statuses = node, node.process.pid, [], []
        adopt_orphans()

    def n_served(self):
        return len(SERVES.findall(self.node.text()))

    def reap(self):
        for pid in list(self.leaving):
            if pid == self.node.process.pid:
                status = self.node.process.poll()
            else:
                status = status_of(pid)
            if status is not None:
                self.leaving.remove(pid)
                self.statuses.append(status)
        return not self.leaving

    def send(self, number):
        os.kill(self.pid, number)

    def restart(self):
        """Until another process serves; how long that took."""
        n, begin_s = self.n_served(), time.monotonic()
        self.send(signal.SIGUSR2)
        wait_for('another process serves', lambda: self.n_served() > n, PATIENCE_S)
        took_s = time.monotonic() - begin_s
        self.note()
        return took_s

    def note(self):
        self.leaving.append(self.pid)
        self.pid = int(SERVES.findall(self.node.text())[-1])

    def wait_until_left(self):
        wait_for('the processes before have ended', self.reap, PATIENCE_S)

    def kill(self):
        """What has gone wrong leaves nothing."""
        for pid in {*self.leaving, self.pid} - {self.node.process.pid}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def end(self):
        if self.pid == self.node.process.pid:
            return
        self.wait_until_left()
        os.kill(self.pid, signal.SIGINT)
        self.leaving.append(self.pid)
        self.wait_until_left()
