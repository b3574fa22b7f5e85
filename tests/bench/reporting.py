# SPDX-License-Identifier: Apache-2.0
"""Clients that report load to a node (LRS), each second, and whoever wants the sums of it."""
import dataclasses

import figures
from figures import Figure, Line, Quotient, at

MIN_ROUNDS = 5
CPU = 'reports.server_cpu_s_per_million'


@dataclasses.dataclass(frozen=True)
class Reports:
    """What the clients do: the options of bench-reports. Each client has a stream, and reports all
    clusters once a second, for as many seconds as the form has changes."""
    streams: int
    clusters: int = 1
    connections: int = 0  # 0: one for each stream

    # What they do not do.
    publishes = idle = tls = False
    resources = size = names = slow = rate = seconds = changes = namespaces = namespaces_each = 0
    depth = 1

    def n_changes(self, _seconds):
        return 0

    def program(self, programs):
        return [programs.peer('reports')]

    def options(self, seconds):
        return ['--clients', str(self.streams), '--connections', str(self.n_connections()),
                '--clusters', str(self.clusters), '--rounds', str(max(MIN_ROUNDS, seconds))]

    def n_connections(self):
        return self.connections or self.streams


def processors(runs, label):
    """How many the server has kept busy while there were reports."""
    return figures.divide(runs.get(label, 'reports.server_cpu_ms'), runs.get(label, 'reports.ms'),
                          f'{label}: reports.ms')


def names(sizes, kind):
    return {n: f'{kind} C={n}' for n in sizes}


def loads(sizes, kind, **more):
    """{label: load}, of each number of clients."""
    return {label: Reports(streams=n, **more) for n, label in names(sizes, kind).items()}


def lines(sizes):
    """Of the most clients; how it grows; and beside the other server."""
    most, before = sizes[-1], sizes[-2]
    ours, theirs = names(sizes, 'udpad'), names(sizes, 'lrs')
    label = ours[most]
    return (
        Line(f'CPU per report: {most:,} clients / {before:,}',
             Quotient(at(CPU), label, ours[before], unit='s/M'), 1.25, 1),
        Line(f'CPU per report: udpad / lrs, {most:,} clients',
             Quotient(at(CPU), label, theirs[most], unit='s/M'), 2, 1.25),
        Line(f'processors kept busy by {most:,} clients', Figure(processors, label), 1, 0.75, ''),
        Line(f'memory per client, of {most:,}', Figure(figures.stream_kb, label, unit='kB'), 100,
             50, 'kB'),
        Line('what a new sum lacks was sent before', Figure(at('sum.behind_ms'), label, unit='ms'),
             500, 100, 'ms'),
        Line('from the last report to the sum of all',
             Figure(at('sum.late_ms'), label, unit='ms'), 2000, 1100, 'ms'))
