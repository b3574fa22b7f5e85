# SPDX-License-Identifier: Apache-2.0
"""What figures say: medians over repeats, what a line of the table makes of them, and whether that
is as it must be. Nothing is started or read here."""
import dataclasses
import enum
import statistics

SLACK = 1.5  # how much worse than what must be is more than chance
FEW_DELIVERIES = 20


class Missing(Exception):
    """A figure that is not there; the message says why."""


class Verdict(enum.Enum):
    AIM = 'aim met'
    MET = 'met'
    MISSED = 'missed'
    FAR_OFF = 'far off'
    SHORT = 'short of its aim'  # and there is nothing that it must be
    SHOWN = 'shown'  # nothing was asked of it
    UNKNOWN = 'not measured'


def median(results):
    """One result of several: each number is the median of those that have it; the rest as in the
    first."""
    merged = {}
    for key in {key: None for result in results for key in result}:
        values = [result[key] for result in results if key in result]
        if isinstance(values[0], dict):
            merged[key] = median(values)
        elif isinstance(values[0], (int, float)) and not isinstance(values[0], bool):
            merged[key] = statistics.median(values)
        else:
            merged[key] = values[0]
    return merged


class Runs:
    """The medians of a point's runs, by their labels; of those that are missing, why."""

    def __init__(self, results, reasons=None):
        self.results = results
        self.reasons = reasons or {}

    def why(self, label):
        """Why a run is missing."""
        return self.reasons.get(label, 'not chosen')

    def get(self, label, path):
        """The number at path, which is keys with dots between them."""
        if label not in self.results:
            raise Missing(f'{label}: {self.why(label)}')
        found = self.results[label]
        for key in path.split('.'):
            if key not in found:
                raise Missing(f'{label}: no {path} was measured')
            found = found[key]
        return found


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the table: a figure, made of the runs of a point, and what it must be."""
    title: str
    figure: 'Figure'
    must: float | None = None
    aim: float | None = None
    unit: str = 'x'
    is_more_better: bool = False
    reach: float | None = None  # if it cannot be as it must: how far it gets (docs/performance.md)

    def reaches(self, value, bound):
        return value >= bound if self.is_more_better else value <= bound

    def judge(self, value):
        if self.aim is not None and self.reaches(value, self.aim):
            return Verdict.AIM
        if self.must is None:
            return Verdict.SHOWN if self.aim is None else Verdict.SHORT
        if self.reaches(value, self.must):
            return Verdict.MET
        return Verdict.MISSED if self.reaches_nearly(value, self.must) else Verdict.FAR_OFF

    def reaches_nearly(self, value, bound):
        return self.reaches(value, bound / SLACK if self.is_more_better else bound * SLACK)

    def is_broken(self, value):
        """Is it so far off that something has got worse?"""
        return (self.judge(value) is Verdict.FAR_OFF and
                (self.reach is None or not self.reaches_nearly(value, self.reach)))


@dataclasses.dataclass(frozen=True)
class Judgement:
    line: Line
    value: float | None
    verdict: Verdict
    why: str = ''
    parts: tuple = ()  # what the figure was made of: (label, value)

    @property
    def is_broken(self):
        return self.value is not None and self.line.is_broken(self.value)


def judge(line, runs):
    try:
        value = line.figure(runs)
    except Missing as reason:
        return Judgement(line, None, Verdict.UNKNOWN, str(reason))
    return Judgement(line, value, line.judge(value), parts=tuple(line.figure.parts(runs)))


# ---- figures that lines are made of: each is a function of Runs, and tells what it is made of ----

CPU = 'changes.server_cpu_s_per_million'


def divide(over, under, what):
    if not under:
        raise Missing(f'{what} is too little to be measured')
    return over / under


def at(path):
    """A figure of one run: the number at this path."""
    return lambda runs, label: runs.get(label, path)


class Figure:
    """Made of the same figure, `each(runs, label)`, of one or more runs. unit: of each of them."""

    def __init__(self, each, *labels, unit='', scale=1):
        self.each, self.labels = each, labels
        self.unit, self.scale = unit, scale

    def values(self, runs):
        return [self.scale * self.each(runs, label) for label in self.labels]

    def parts(self, runs):
        """What it was made of: (label, value)."""
        return list(zip(self.labels, self.values(runs)))

    def __call__(self, runs):
        return self.values(runs)[0]


class Quotient(Figure):
    """How many times more the first run has of it than the second."""

    def __call__(self, runs):
        over, under = self.values(runs)
        return divide(over, under, self.labels[1])


class Difference(Figure):
    def __call__(self, runs):
        more, less = self.values(runs)
        return more - less


class Growth(Figure):
    """The largest over the first one."""

    def __call__(self, runs):
        values = self.values(runs)
        return divide(max(values), values[0], self.labels[0])


def stream_kb(runs, label):
    """What a stream has added to the memory of the server, behind the sync or in the end, whatever
    is more."""
    most = max(runs.get(label, 'memory.synced_kb'), runs.get(label, 'memory.end_kb'))
    return (most - runs.get(label, 'memory.filled_kb')) / runs.get(label, 'streams')


def memory_mb(runs, label):
    """In the end, if it has come to streams."""
    memory = runs.get(label, 'memory')
    return memory.get('end_kb', memory['connected_kb']) / 1024


def of_changes(path):
    """A figure of changes, if there were enough of them that somebody had asked for."""
    def figure(runs, label):
        n = runs.get(label, 'changes.deliveries')
        if n < FEW_DELIVERIES or n < runs.get(label, 'changes.n'):
            raise Missing(f'{label}: too few deliveries to be measured by')
        return runs.get(label, path)
    return figure


def message_us(runs, label):
    """CPU of the server for a message."""
    return divide(1000 * runs.get(label, 'changes.server_cpu_ms'),
                  runs.get(label, 'changes.messages'), f'{label}: changes.messages')


def connection_kb(runs, label):
    grown = runs.get(label, 'memory.connected_kb') - runs.get(label, 'memory.filled_kb')
    return grown / runs.get(label, 'connections')


def handshake_ms(runs, label):
    return runs.get(label, 'connect.server_cpu_ms') / runs.get(label, 'connections')


def overhead_bytes(runs, label):
    """What a resource takes besides its payload, with a client that has all of them."""
    grown = runs.get(label, 'memory.synced_kb') - runs.get(label, 'memory.begin_kb')
    return grown * 1024 / runs.get(label, 'resources') - runs.get(label, 'size')


def withheld_mb(runs, label):
    """What the changes of slow readers come to."""
    per_stream = runs.get(label, 'changes.n') * runs.get(label, 'size')
    return per_stream * runs.get(label, 'slow') / 1e6


def slow_mb(at_least_mb):
    """What slow readers have added to the memory of the server, while so much was withheld."""
    def figure(runs, label):
        withheld = withheld_mb(runs, label)
        if withheld < at_least_mb:
            raise Missing(f'{label}: only {withheld:.0f} MB of {at_least_mb} were withheld')
        return grown_mb(runs, label)
    return figure


def grown_mb(runs, label):
    """What the memory of the server has grown by while there were changes."""
    grown = runs.get(label, 'memory.end_kb') - runs.get(label, 'memory.synced_kb')
    return max(0, grown) / 1024


def neighbour_per_s(runs, label):
    """Changes a second of somebody else."""
    return divide(1000 * runs.get(label, 'neighbour.changes.n'),
                  runs.get(label, 'neighbour.changes.ms'), f'{label}: neighbour.changes.ms')


def handshakes_per_s(runs, label):
    """Of somebody else, who only connects."""
    return divide(1000 * runs.get(label, 'neighbour.connect.connections'),
                  runs.get(label, 'neighbour.connect.ms'), f'{label}: neighbour.connect.ms')


def processors(runs, label):
    """How many the server has kept busy while there were changes."""
    return divide(runs.get(label, 'changes.server_cpu_ms'), runs.get(label, 'changes.ms'),
                  f'{label}: changes.ms')


def change_us(deliveries_at_most):
    """CPU of the server for a change that (nearly) nobody asks for: that few deliveries each."""
    def figure(runs, label):
        n = runs.get(label, 'changes.n')
        if runs.get(label, 'changes.deliveries') > deliveries_at_most * n:
            raise Missing(f'{label}: the changes were of resources that streams had asked for')
        return divide(1000 * runs.get(label, 'changes.server_cpu_ms'), n, f'{label}: changes.n')
    return figure
