# SPDX-License-Identifier: Apache-2.0
"""Somebody else at the server that is measured, from before the measurement begins until behind its
end: a second udpactl bench, with resources and streams of its own, which makes its changes; or one that
only connects, again and again."""
import json
import os
import pty
import select
import subprocess
import threading
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


class Storm:
    """All connect at once, go, and come back."""

    def __init__(self, command):
        self.command = command
        self.process = None
        self.is_over = False
        self.connected, self.failure = [], None  # the former: what each time has told
        self.first = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        if not self.first.wait(START_PATIENCE_S) or self.failure:
            self.__exit__()
            raise Failure(f'nobody can connect: {self.failure}')
        return self

    def __exit__(self, *_):
        self.is_over = True
        process = self.process
        if process and process.poll() is None:
            process.kill()
        self.thread.join(START_PATIENCE_S)

    def run(self):
        while not self.is_over and not self.failure:
            with subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as self.process:
                out, err = self.process.communicate()
            if self.process.returncode == 0:
                self.connected.append(json.loads(out)['connect'])
            elif not self.is_over:
                self.failure = f'status {self.process.returncode}: {err.strip()[-300:]}'
            self.first.set()

    def result(self):
        """To be asked for when the measurement is over."""
        if self.failure:
            raise Failure(f'not everybody could connect: {self.failure}')
        return {'connect': {'connections': sum(one['connections'] for one in self.connected),
                            'ms': sum(one['ms'] for one in self.connected)}}
