# SPDX-License-Identifier: Apache-2.0
"""Makes the runs of points, in turn, and keeps what came of each."""
import json
import os
import pathlib
import subprocess
import sys
import time
from functools import partial

import figures
import report
import replicas
import reporting
from figures import at, of_changes
from neighbour import MORE_S, Neighbour, Storm
from programs import Failure, Unavailable, allow_files, too_few_files
from servers import UDPAD, Server

# What a run may take besides its changes: to fill a server, to connect, to synchronize.
PATIENCE_S = 120
REPEATS_OF_FAR_OFF = 2
TIMED_OUT = 4  # exit status of udpactl

# What is said at once of a run: the first of these that it has.
BRIEF = (('CPU', of_changes(figures.CPU), 1, 's/M'),
         ('p50', of_changes('changes.p50_us'), 1e-3, 'ms'),
         ('slowest', of_changes('changes.last_p50_us'), 1e-3, 'ms'),
         ('sync', at('sync.ms'), 1, 'ms'),
         ('reconnect', at('reconnect.ms'), 1, 'ms'), ('published', at('publish.per_s'), 1, '/s'),
         ('connect', at('connect.ms'), 1, 'ms'),
         ('receipt p50', at('receipts.p50_us'), 1e-3, 'ms'),
         ('p99', at('receipts.p99_us'), 1e-3, 'ms'),
         ('longest', at('receipts.max_us'), 1e-3, 'ms'),
         ('reports', at(reporting.CPU), 1, 's/M'),
         ("the client's", at('reports.client_cpu_s_per_million'), 1, 's/M'),
         ('sum', at('sum.late_ms'), 1, 'ms behind'))
N_BRIEF = 4


class Record:
    """What came of the runs, and what has not come of others."""

    def __init__(self, file, kinds):
        self.file = open(file, 'w', encoding='utf-8') if file else None
        self.kinds = kinds
        self.results = {}  # by (point, label): a list, one of each repeat
        self.reasons = {}
        self.failures = []
        self.loads = []  # of the machine, with this measurement

    def write(self, line):
        if self.file:
            print(json.dumps(line), file=self.file, flush=True)

    def begin(self, form, machine):
        self.write({'form': form.__dict__, 'machine': machine})

    def read(self, path):
        """The first line; the others become results."""
        try:
            lines = [json.loads(line) for line in path.read_text(encoding='utf-8').splitlines()]
            for line in lines[1:]:
                key = line['point'], line['run']
                if 'load_average' in line:
                    self.loads.append(line['load_average'])
                if 'result' in line:
                    self.results.setdefault(key, []).append(line['result'])
                else:
                    self.reasons[key] = line['reason']
            return lines[0]['form'], lines[0]['machine']
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise Failure(f'{path} is no file that --json has written: {error!r}') from None

    def add(self, point, run, result):
        self.results.setdefault((point.name, run.label), []).append(result)
        self.loads.append(round(os.getloadavg()[0], 2))
        self.write({'point': point.name, 'run': run.label, 'server': run.server, 'result': result,
                    'load_average': self.loads[-1]})

    def leave_out(self, point, run, reason):
        self.reasons[point.name, run.label] = reason
        self.write({'point': point.name, 'run': run.label, 'server': run.server, 'reason': reason})

    def fail(self, point, run, reason):
        self.leave_out(point, run, reason)
        self.failures.append(f'{point.name}, {run.label}: {reason}')

    def is_known(self, point):
        return any(name == point.name for name, _ in (*self.results, *self.reasons))

    def medians(self, point):
        def of_point(all_of):
            return {label: one for (name, label), one in all_of.items() if name == point.name}
        return figures.Runs({label: figures.median(repeats)
                             for label, repeats in of_point(self.results).items()},
                            of_point(self.reasons))


def estimate_s(run, form):
    """About how long a run takes: only good enough to say how long it takes yet."""
    load = run.load
    a_resource_s = 2e-6 if run.server in UDPAD else 1e-5
    synced = load.streams * (load.names or load.resources)
    seconds = 0 if load.idle or load.changes == 0 else load.seconds or form.seconds
    return (1.5 + seconds + load.streams * (4e-3 if load.tls else 2e-4) + synced * a_resource_s +
            load.resources * 2e-5)


class Progress:
    """Says which run it is, what came of it, and how long the rest takes."""

    def __init__(self, jobs, form):
        self.form = form
        self.left_s = sum(estimate_s(run, form) for _, run in jobs)
        self.done_s = 0
        self.n, self.of = 0, len(jobs)
        self.begin = time.monotonic()
        self.point = None

    def say(self, text, end='\n'):
        print(text, end=end, file=sys.stderr, flush=True)

    def start(self, point, run):
        self.n += 1
        if point is not self.point:
            self.point = point
            self.say(f'\n{point.name}: {point.title}')
        if sys.stderr.isatty():
            self.say(f'  {self.n}/{self.of} {run.label} …', end='\r')

    def rest(self):
        gone = time.monotonic() - self.begin
        pace = gone / self.done_s if self.done_s else 1
        return f'{gone:.0f} s gone, about {max(0, self.left_s) * pace:.0f} s yet'

    def end(self, run, text):
        estimate = estimate_s(run, self.form)
        self.left_s -= estimate
        self.done_s += estimate
        self.say(f'  {self.n}/{self.of} {run.label:16} {text:70} {self.rest()}')


def brief(result):
    """What came of a run, in a line."""
    single = figures.Runs({'run': result})
    said = []
    for title, figure, scale, unit in BRIEF:
        value = report.value_of(single, 'run', figure)
        if value is not None:
            said.append(f'{title} {report.show(scale * value)} {unit}')
    return ', '.join(said[:N_BRIEF])


class Runner:
    def __init__(self, programs, form, record, repeats=None):
        self.programs, self.form, self.record = programs, form, record
        self.repeats = repeats  # of every point, if given
        self.n_files = allow_files()

    def may_run(self, point, run):
        """Whether a run is to be made; why not is recorded."""
        if run.server not in self.record.kinds:
            return False
        reason = run.skipped or too_few_files(run.load.n_connections(), self.n_files)
        if reason:
            self.record.leave_out(point, run, reason)
        return not reason

    def jobs(self, todo, repeats=None):
        """(point, run), as often as is told here or at the start, or as the point or the form has it; in
        the order of measuring: every other repeat goes backwards, so that no server always comes
        first."""
        for point in todo:
            runs = [run for run in point.runs if self.may_run(point, run)]
            for repeat in range(repeats or self.repeats or point.repeats or self.form.repeats):
                for run in runs[::1 if repeat % 2 == 0 else -1]:
                    yield point, run

    def measure(self, todo, repeats=None):
        jobs = list(self.jobs(todo, repeats))
        progress = Progress(jobs, self.form)
        for point, run in jobs:
            progress.start(point, run)
            if (point.name, run.label) in self.record.reasons:
                progress.end(run, 'left out, as before')
            else:
                progress.end(run, self.make(point, run))

    def make(self, point, run):
        """Makes a run, and says what came of it."""
        try:
            result = self.result(run)
        except Unavailable as reason:
            self.record.leave_out(point, run, str(reason))
            if os.environ.get('UDPA_REQUIRE_PEERS') == '1':
                self.record.failures.append(f'{point.name}, {run.label}: {reason}')
            return f'cannot be had: {reason}'
        except Failure as failure:
            self.record.fail(point, run, str(failure))
            return f'has failed: {failure}'
        self.record.add(point, run, result)
        return brief(result)

    def result(self, run):
        seconds = run.load.seconds or self.form.seconds
        with Server(run, self.programs) as server:
            if not run.neighbour:
                return self.measured(run, server, seconds)
            with self.neighbour(run, server, seconds + MORE_S) as other:
                return {**self.measured(run, server, seconds), 'neighbour': other.result()}

    def neighbour(self, run, server, seconds):
        command = self.command(server, run.neighbour, seconds)
        return Storm(command) if run.neighbour.idle else Neighbour(command, seconds)

    def command(self, server, load, seconds):
        return [*load.program(self.programs), *server.client_options(load),
                *load.options(seconds)]

    def measured(self, run, server, seconds):
        def call(command):
            return self.call(run, command, PATIENCE_S + seconds)
        if not isinstance(run.load, replicas.Steps):
            return {**settings(run.load), **call(self.command(server, run.load, seconds))}
        clients = replicas.Clients(server, [self.programs.udpactl(), 'bench', '-o', 'json'], call,
                                   partial(self.parse, run))
        return {**settings(run.load), **run.load.measure(clients, seconds)}

    def call(self, run, command, patience_s):
        try:
            done = subprocess.run(command, text=True, capture_output=True, check=False,
                                  timeout=patience_s)
        except subprocess.TimeoutExpired:
            raise failure_of(run)(f'not done after {patience_s} s') from None
        return self.parse(run, done)

    def parse(self, run, done):
        if done.returncode == TIMED_OUT:
            raise failure_of(run)(f'takes too long: {done.stderr.strip()[-500:]}')
        if done.returncode != 0:
            name = pathlib.Path(done.args[0]).name
            raise Failure(f'{name}: {done.stderr.strip()[-500:]} (status {done.returncode})')
        try:
            result = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            raise Failure(f'the clients printed no JSON: {done.stdout[-200:]!r}') from None
        if result.get('errors'):
            raise Failure(f'{result["errors"]} errors: {done.stderr.strip()[-500:]}')
        return result

    def repeat_what_is_far_off(self, todo):
        """Once may be chance, on a machine that others use as well."""
        again = [point for point in todo if any(
            figures.judge(line, self.record.medians(point)).is_broken for line in point.lines)]
        if again:
            print(f'\nmeasured again: {", ".join(point.name for point in again)}', file=sys.stderr)
            self.measure(again, REPEATS_OF_FAR_OFF)


def failure_of(run):
    """What it is that a run takes too long: udpad must not, the others are left out."""
    return Failure if run.server in UDPAD else Unavailable


def settings(load):
    """What is told of the load beside what udpactl bench says itself."""
    told = ('streams', 'resources', 'size', 'names', 'slow', 'rate', 'depth')
    return {**{name: getattr(load, name) for name in told}, 'connections': load.n_connections()}
