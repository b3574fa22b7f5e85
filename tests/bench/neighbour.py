# SPDX-License-Identifier: Apache-2.0
"""Somebody else at the server that is measured: a second udpactl bench, with resources and streams of
its own, which makes its changes from before the measurement begins until behind its end."""
import json
import os
import pty
import select
import subprocess
import time

from programs import Failure

START_PATIENCE_S = 60
MORE_S = 8  # of changes than the measurement has: it connects and synchronizes meanwhile
CHANGING = b'changes: '  # on its line of progress


class Neighbour:
    def __init__(self, command, seconds):
        self.seconds = seconds
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
        os.close(theirs)

    def __enter__(self):
        try:
            self.wait_for_changes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        os.close(self.terminal)

    def wait_for_changes(self):
        seen = b''
        end = time.monotonic() + START_PATIENCE_S
        while CHANGING not in seen:
            left = end - time.monotonic()
            if left < 0 or self.process.poll() is not None:
                raise Failure(f'the neighbour makes no changes: {seen[-300:]!r}')
            if select.select([self.terminal], [], [], min(left, 0.1))[0]:
                seen += os.read(self.terminal, 4096)

    def result(self):
        """To be asked for when the measurement is over."""
        if self.process.poll() is not None:
            raise Failure('the neighbour was done too early')
        try:
            out, _ = self.process.communicate(timeout=self.seconds + START_PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Failure('the neighbour does not end') from None
        if self.process.returncode != 0:
            raise Failure(f'the neighbour ended with status {self.process.returncode}')
        return json.loads(out)
