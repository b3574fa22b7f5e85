# SPDX-License-Identifier: Apache-2.0
"""What replicas cost, and how fast they are: two nodes on three members of etcd, beside one node that has
SQLite alone. Loads that take several steps; each is given the clients and the servers of its run."""
import dataclasses
import subprocess
import time

import figures
from figures import Difference, Figure, Line, Quotient, at

SQLITE = 'SQLite'
LABELS = {'debian': 'etcd of Debian', 'current': 'etcd, current'}
SIZE, BATCH = 350, 100
RATE = 100  # publications a second, one resource each
FEW = 1000  # resources that are changed
CHANGED = 'org.acme'  # where they lie: not among the many
MANY = 'com.acme'
BEFORE_KILL_S, BEHIND_KILL_S = 1, 3


@dataclasses.dataclass(frozen=True)
class Steps:
    """What is no option of udpactl bench, as a load that is."""
    streams: int = 1
    resources: int = FEW

    idle = tls = False
    size, names, slow, rate, depth, namespaces = SIZE, 0, 0, 0, 1, 0
    seconds = changes = 0
    publishes = True

    def n_changes(self, seconds):
        return int(RATE * seconds)

    def n_connections(self):
        return self.streams


def changing(seconds, rate, *more, resources=FEW):
    """Options that change resources at a rate, and time the receipts."""
    return ('--streams', 1, '--resources', resources, '--names', resources, '-n', CHANGED, '--rate',
            f'{rate:g}', '--changes', int(rate * seconds) + 1, '--seconds', seconds, '--receipts', *more)


class Publishing(Steps):
    """A publisher at one replica; what is read, is read at the other. Then the other one comes with an
    empty directory; one that has SQLite alone, with what is in it."""

    def measure(self, clients, seconds):
        steady = clients.publish(*changing(seconds, RATE))
        filled = clients.publish('--idle', '--streams', 1, '--resources', self.resources, '--batch',
                                 BATCH, '-n', MANY, '--keep')['publish']
        busy = clients.publish(*changing(seconds, filled['per_s'] / BATCH / 2, '--together', BATCH))
        return {'publish': filled, 'receipts': steady['receipts'], 'steady': steady['changes'],
                'busy': busy['receipts'], 'cold': self.cold(clients)}

    def cold(self, clients):
        begin = time.monotonic()
        clients.server.start_last_again()
        listening, all_of_it = time.monotonic(), clients.read(
            '--streams', 1, '--resources', self.resources, '-n', MANY)
        listening_ms = 1000 * (listening - begin)
        return {'listening_ms': listening_ms,
                'ms': listening_ms + all_of_it['connect']['ms'] + all_of_it['sync']['ms']}


class Leader(Steps):
    """The leader of etcd is killed under a publisher."""

    def measure(self, clients, _seconds):
        options = changing(BEFORE_KILL_S + BEHIND_KILL_S, RATE, resources=100)
        with clients.publishing(*options) as process:
            time.sleep(BEFORE_KILL_S)
            wait = clients.server.cluster.kill_leader()
            result = clients.result_of(process)
        return {'receipts': result['receipts'], 'etcd_ms': wait()}


class Streams(Steps):
    """Many streams begin at once; each waits for what was committed before it."""

    def measure(self, clients, _seconds):
        clients.publish('--idle', '--streams', 1, '--resources', self.resources, '-n', MANY, '--keep')
        before = clients.server.n_barriers()
        result = clients.read('--streams', self.streams, '--resources', self.resources, '-n', MANY)
        return {**result, 'barriers': clients.server.n_barriers() - before}


class Clients:
    """udpactl bench, at the servers of a run."""

    def __init__(self, server, command, call, parse):
        self.server, self.command, self.call, self.parse = server, command, call, parse

    def options(self, *options):
        last = self.server.last
        return [*self.command, '--server', last.address, '--pid', ','.join(last.pids()),
                '--size', str(SIZE), *map(str, options)]

    def to_first(self):
        return '--publish-to', self.server.first.address

    def publish(self, *options):
        return self.call(self.options(*self.to_first(), *options))

    def read(self, *options):
        return self.call(self.options(*options))

    def publishing(self, *options):
        return subprocess.Popen(self.options(*self.to_first(), *options), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def result_of(self, process):
        out, err = process.communicate()
        return self.parse(subprocess.CompletedProcess(process.args, process.returncode, out, err))


# ---- lines ----

def publishing_lines():
    for label in LABELS.values():
        yield Line(f'publish to receipt, {RATE} a second, p50: {label}',
                   Figure(at('receipts.p50_us'), label, unit='ms', scale=1e-3), unit='ms')
        yield Line(f'publish to receipt, {RATE} a second, p99: {label}',
                   Figure(at('receipts.p99_us'), label, unit='ms', scale=1e-3), 30, None, 'ms')
        yield Line(f'published resources of {SIZE} bytes, {BATCH} together: {label}',
                   Figure(at('publish.per_s'), label), 3000, 5000, '/s', is_more_better=True)
        yield Line(f'the same: {label} / {SQLITE}',
                   Quotient(at('publish.per_s'), label, SQLITE, unit='/s'), is_more_better=True)
        yield Line(f'publish to receipt at half of that, p99: {label}',
                   Figure(at('busy.p99_us'), label, unit='ms', scale=1e-3), 100, None, 'ms')
        yield Line(f'from the receipt to a client of the other replica, p50: {label}',
                   Figure(at('receipts.visible_p50_us'), label, unit='ms', scale=1e-3), 10, None, 'ms')
        yield Line(f'empty directory until a client has all: {label}',
                   Figure(at('cold.ms'), label, unit='ms'), 5000, None, 'ms')
        yield Line(f'empty directory until it listens: {label}',
                   Figure(at('cold.listening_ms'), label, unit='ms'), 5000, None, 'ms')


def leader_lines():
    for label in LABELS.values():
        yield Line(f'until it publishes again: {label}',
                   Figure(at('receipts.max_us'), label, unit='ms', scale=1e-3), 2000, None, 'ms')
        yield Line(f'until etcd itself takes writes again: {label}',
                   Figure(at('etcd_ms'), label, unit='ms'), unit='ms')


def stream_lines():
    for label in LABELS.values():
        yield Line(f'first responses, later than with {SQLITE}: {label}',
                   Difference(at('sync.ms'), label, SQLITE, unit='ms'), 300, None, 'ms')
        yield Line(f'the same: {label} / {SQLITE}', Quotient(at('sync.ms'), label, SQLITE, unit='ms'))
        yield Line(f'writes of the barrier: {label}', Figure(at('barriers'), label), 100, None, '')


def fan_out_lines():
    for label in LABELS.values():
        yield Line(f'CPU per delivery: {label} / {SQLITE}',
                   Quotient(at(figures.CPU), label, SQLITE, unit='s/M'), 1.05)
