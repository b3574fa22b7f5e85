#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's own sums: medians, ratios and verdicts, with made-up figures; then its runner,
with a client and servers that say what they are told to."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from product import SOURCE, check, main

BENCH = SOURCE / 'tests' / 'bench'
sys.path.insert(0, str(BENCH))

import figures  # noqa: E402
import measure  # noqa: E402
import points  # noqa: E402
import programs  # noqa: E402
import replicas  # noqa: E402
import report  # noqa: E402
import reporting  # noqa: E402
from figures import Difference, Figure, Growth, Line, Quotient, Runs, Verdict, at  # noqa: E402

FAKE = pathlib.Path(__file__).resolve().parent / 'fake_bench'


def made_up(cpu=7, **more):
    """What udpactl bench says of a run, with round figures."""
    changes = {'n': 200, 'deliveries': 200000, 'messages': 200000, 'ms': 2000, 'per_s': 100000,
               'p50_us': 100 * cpu, 'p99_us': 900, 'max_us': 8000, 'last_p50_us': 200 * cpu,
               'server_cpu_ms': 200 * cpu,
               'server_cpu_s_per_million': cpu}
    return {'streams': 1000, 'connections': 1000, 'resources': 1000, 'size': 300, 'slow': 0,
            'publish': {'per_s': 60000}, 'connect': {'ms': 100, 'server_cpu_ms': 1000},
            'sync': {'ms': 10 * cpu, 'server_cpu_ms': 20 * cpu},
            'memory': {'begin_kb': 13000, 'filled_kb': 14000, 'connected_kb': 34000,
                       'synced_kb': 44000, 'end_kb': 54000},
            'changes': changes, 'reconnect': {'ms': 400, 'resources': 0}, 'errors': 0,
            'reports': {'ms': 2000, 'per_s': 1000, 'server_cpu_ms': 100 * cpu,
                        'server_cpu_s_per_million': 5 * cpu, 'client_cpu_s_per_million': 20},
            'sum': {'late_ms': 500, 'behind_ms': 5},
            'receipts': {'n': 200, 'p50_us': 3000, 'p99_us': 9000, 'max_us': 1700000,
                         'visible_p50_us': 10},
            'busy': {'p99_us': 40000}, 'cold': {'listening_ms': 300, 'ms': 400}, 'etcd_ms': 1200,
            'barriers': 5,
            'neighbour': {'changes': {'n': 3000, 'ms': 1500},
                          'connect': {'connections': 900, 'ms': 1500}}, **more}


def verdict(line, value):
    return figures.judge(line, Runs({'a': {'it': value}})).verdict


def test_verdicts():
    less = Line('less is better', Figure(at('it'), 'a'), must=2, aim=1)
    check('what is at its bound has reached it',
          [verdict(less, value) for value in (0.5, 1, 1.01, 2)] ==
          [Verdict.AIM, Verdict.AIM, Verdict.MET, Verdict.MET])
    check('1.5 times worse than it must be is far off',
          [verdict(less, value) for value in (2.01, 3, 3.01)] ==
          [Verdict.MISSED, Verdict.MISSED, Verdict.FAR_OFF])
    more = Line('more is better', Figure(at('it'), 'a'), must=30, aim=60, is_more_better=True)
    check('and the other way round where more is better',
          [verdict(more, value) for value in (60, 59, 30, 29.9, 20, 19.9)] ==
          [Verdict.AIM, Verdict.MET, Verdict.MET, Verdict.MISSED, Verdict.MISSED, Verdict.FAR_OFF])
    nothing = Line('nothing at all', Figure(at('it'), 'a'), must=0, aim=0)
    check('of what must be nothing there is no little more',
          [verdict(nothing, value) for value in (0, 1)] == [Verdict.AIM, Verdict.FAR_OFF])
    check('without a bound a figure is shown',
          verdict(Line('shown', Figure(at('it'), 'a')), 7) is Verdict.SHOWN)
    aim = Line('aim alone', Figure(at('it'), 'a'), aim=1)
    check('an aim alone is reached or not, and never far off',
          [verdict(aim, value) for value in (1, 100)] == [Verdict.AIM, Verdict.SHORT])


def test_missing():
    ratio = Line('ratio', Quotient(at('it'), 'a', 'b'), must=1)
    runs = Runs({'a': {'it': 1}}, {'b': 'it was not built'})
    one = figures.judge(ratio, runs)
    check('a run that is missing makes no verdict, and says why',
          one.verdict is Verdict.UNKNOWN and one.why == 'b: it was not built', one)
    one = figures.judge(ratio, Runs({'a': {'it': 1}, 'b': {'it': 0}}))
    check('nothing is divided by nothing',
          one.verdict is Verdict.UNKNOWN and 'too little' in one.why)
    one = figures.judge(ratio, Runs({'a': {'it': 1}, 'b': {'other': 1}}))
    check('a figure that a run does not have is missing', 'no it was measured' in one.why, one)


def test_medians():
    one, other, third = ({'a': {'b': n, 'only': 5} if n == 9 else {'b': n}, 'who': 'x', 'is': False}
                         for n in (1, 9, 4))
    check('of each number the median is taken, wherever it is', figures.median(
        [one, other, third]) == {'a': {'b': 4, 'only': 5}, 'who': 'x', 'is': False})
    check('of two it lies between them', figures.median([one, other])['a']['b'] == 5)


def test_figures():
    runs = Runs({'a': made_up(cpu=7), 'b': made_up(cpu=210), 'c': made_up(cpu=14)})
    check('quotient', Quotient(at(figures.CPU), 'b', 'a')(runs) == 30)
    check('it says what it was made of', Quotient(at(figures.CPU), 'b', 'a').parts(runs) ==
          [('b', 210), ('a', 7)])
    check('difference', Difference(at('changes.p50_us'), 'c', 'a', scale=2)(runs) == 1400)
    check('growth is that of the worst', Growth(at(figures.CPU), 'a', 'b', 'c')(runs) == 30)
    check('memory per stream is that of the end, if it has grown since',
          figures.stream_kb(runs, 'a') == 40)
    check('memory per connection', figures.connection_kb(runs, 'a') == 20)
    check('what memory has grown by', figures.grown_mb(runs, 'a') == 10000 / 1024)
    check('changes of a neighbour', figures.neighbour_per_s(runs, 'a') == 2000)
    check('handshakes of others', figures.handshakes_per_s(runs, 'a') == 600)
    check('CPU per handshake', figures.handshake_ms(runs, 'a') == 1)
    check('memory per resource is without its payload',
          figures.overhead_bytes(runs, 'a') == 31000 * 1.024 - 300)
    check('processors', figures.processors(runs, 'a') == 0.7 and
          reporting.processors(runs, 'a') == 0.35)
    slow = Runs({'a': made_up(size=2048, slow=5)})
    one = figures.judge(Line('slow', Figure(figures.slow_mb(3), 'a')), slow)
    check('slow readers count only if enough was withheld',
          figures.slow_mb(2)(slow, 'a') == 10000 / 1024 and 'only 2 MB of 3' in one.why, one)
    idle = made_up()
    idle['changes'].update(deliveries=20)
    check('a change that nobody asks for', figures.change_us(0.1)(Runs({'a': idle}), 'a') == 7000)
    one = figures.judge(Line('nobody', Figure(figures.change_us(0.1), 'a')), runs)
    check('one that somebody asks for is none', 'had asked for' in one.why, one)


def test_points(form):
    """Every line can be computed of the runs that its point makes."""
    for point in points.all_points(form):
        labels = [run.label for run in point.runs]
        check(f'{point.name}: its runs have names of their own', len(set(labels)) == len(labels))
        made = {run.label: made_up(**settings(run.load)) for run in point.runs if not run.skipped}
        for line in point.lines:
            one = figures.judge(line, Runs(made))
            check(f'{point.name}: {line.title}', one.value is not None, one.why)


def settings(load):
    result = made_up()
    if load.namespaces:
        result['changes'].update(deliveries=20)
    result['changes'].update(n=max(200, load.n_changes(2)))
    return {'size': load.size, 'slow': load.slow, 'changes': result['changes']}


def test_options():
    def options(**load):
        return ' '.join(points.Load(**load).options(2))
    check('what is usual is left to udpactl, but for the namespace', options() ==
          '--protocol delta --streams 1000 --resources 1000 --size 300 --changes 300 --seconds 2 '
          '-n com.acme')
    check('somebody else has names of his own', options(of='him', namespaces=3, slow_rate=5).endswith(
        ' --slow-rate 5 --namespaces 3 --node-id him -n him'))
    check('a rate says how many changes there are', '--changes 100 ' in options(rate=50) and
          '--rate 50' in options(rate=50))
    check('streams that are few have more changes', '--changes 20000 ' in options(streams=1))
    check('and many still have some', '--changes 200 ' in options(streams=5000))
    check('flags', options(idle=True, reconnect=True).endswith('--reconnect --idle'))
    clients = reporting.Reports(100, clusters=10)
    check('clients that report do so for as long as there would be changes', clients.options(7) ==
          ['--clients', '100', '--connections', '100', '--clusters', '10', '--rounds', '7'])
    check('but not too short', clients.options(1)[-1] == str(reporting.MIN_ROUNDS))
    check('receipts', options(receipts=True).endswith(' --receipts'))
    check('too few files', '5000 connections' in programs.too_few_files(5000, 4096) and
          not programs.too_few_files(5000, 20000))
    check('figures are shown with three digits', [report.show(value) for value in
          (None, 0, 0.0123, 0.5, 7.456, 42.13, 1234.5)] ==
          ['–', '0', '0.012', '0.50', '7.46', '42.1', '1,234'])


class Clients:
    """In the place of udpactl bench at two replicas, and of these: notes the order of what is done."""

    def __init__(self):
        self.done = []
        self.server = self

    def note(self, what):
        self.done.append(what)
        return {'publish': {'per_s': 4000}, 'receipts': {}, 'changes': {},
                'connect': {'ms': 2}, 'sync': {'ms': 30}}

    def publish(self, *options):
        rate = options[options.index('--rate') + 1] if '--rate' in options else 'all'
        return self.note(f'publish {rate}')

    def read(self, *_options):
        return self.note('read')

    def start_last_again(self):
        self.note('again')

    def n_barriers(self):
        self.note('barriers')
        return 7 * len(self.done)


def test_replicas():
    clients = Clients()
    result = replicas.Publishing(resources=10).measure(clients, 2)
    check('half of the throughput is of what was measured just before',
          clients.done == ['publish 100', 'publish all', 'publish 20', 'again', 'read'])
    check('the cold replica is measured until its client has all',
          32 <= result['cold']['ms'] - result['cold']['listening_ms'] < 33, result)
    clients = Clients()
    result = replicas.Streams(resources=10).measure(clients, 2)
    check('writes are counted of the streams alone', result['barriers'] == 14 and
          clients.done == ['publish all', 'barriers', 'read', 'barriers'], result)


def test_repeats():
    record = measure.Record(None, ['udpad-durable'])
    for form, repeats, n in ((points.FULL, None, 10), (points.SHORT, None, 1), (points.FULL, 2, 2)):
        todo = [point for point in points.all_points(form) if point.name == 'replicas-fan-out']
        runner = measure.Runner(None, form, record, repeats)
        check(f'a point may have repeats of its own, unless it is said how many: {n}',
              len(list(runner.jobs(todo))) == n)


# ---- the runner ----

class Bench:
    """The runner, with a build folder in which all but udpad is made up."""

    def __init__(self, test):
        self.build = test.work / 'fake'
        (self.build / 'tests' / 'bench').mkdir(parents=True)
        (self.build / 'udpad').symlink_to(test.build / 'udpad')
        for place in ('udpactl', 'tests/bench/bench-floor', 'tests/bench/bench-bare'):
            (self.build / place).write_bytes(FAKE.read_bytes())
            (self.build / place).chmod(0o755)
        self.json = test.work / 'figures.json'

    def calls(self):
        """What udpactl was called with since the last time."""
        file = self.build / 'calls'
        lines = file.read_text(encoding='utf-8').splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]

    def run(self, *arguments, said=None, status=0):
        """What it prints, and what it says meanwhile."""
        if said:
            (self.build / 'figures').write_text(json.dumps(said), encoding='utf-8')
        environment = {name: value for name, value in os.environ.items()
                       if name != 'UDPA_REQUIRE_PEERS'}
        environment['TMPDIR'] = str(self.build)  # what is kept of failures goes with the test
        done = subprocess.run([sys.executable, BENCH / 'run', '--build', self.build, *arguments],
                              text=True, capture_output=True, check=False, env=environment)
        check(f'run {" ".join(map(str, arguments))}: status {status}', done.returncode == status,
              done.stdout + done.stderr)
        return done.stdout, done.stderr


def kinds_of(calls):
    """By how changes are made: by UDPA, or on the control connection of another server."""
    return ['udpad' if '--publish' in call else 'other' for call in calls]


def test_order(bench):
    good = {'udpad': made_up(cpu=8), 'floor': made_up(cpu=4), 'bare': made_up(cpu=7)}
    table, progress = bench.run('--points', 'partial', '--repeats', '2', '--json', bench.json,
                                said=good)
    check('every other repeat goes backwards',
          kinds_of(bench.calls()) == ['udpad', 'other', 'other', 'udpad'])
    check('the ratio, what it was made of, and the verdict',
          '| 2.00x | udpad 8.00, floor 4.00 us | <= 5x | <= 3x | aim met |' in table, table)
    check('each run is compared with udpad', '| `partial` | floor | 4.00 (0.50x) |' in table, table)
    check('the machine and versions are named', 'processors ' in table and 'gRPC C core' in table)
    check('it says where it is', '1/4 udpad' in progress and ' s yet' in progress, progress)
    lines = [json.loads(line) for line in bench.json.read_text(encoding='utf-8').splitlines()]
    check('a line for each run, behind one on the machine',
          [line.get('run') for line in lines] == [None, 'udpad', 'floor', 'floor', 'udpad'])
    again, _ = bench.run('--from', bench.json)
    check('the table can be made again of these', again == table, again)


def test_variants(bench):
    bench.run('--points', 'hops,idle-mtls,publish', '--servers', 'udpad,udpad-hops,udpad-durable',
              '--json', bench.json)
    idle, one, two, memory, durable = bench.calls()
    check('two nodes: one is published to, the other is measured', '--publish' in one and
          two[two.index('--publish-to') + 1] != two[two.index('--server') + 1] and
          len(two[two.index('--pid') + 1].split(',')) == 2, two)
    check('mutual TLS has a certificate, and idle connections no changes',
          {'--ca', '--cert', '--key', '--idle'} < set(idle) and '--publish' not in idle, idle)
    check('publishing makes hardly a change', [call[call.index('--changes') + 1]
                                               for call in (memory, durable)] == ['1', '1'])


def test_bad(bench):
    bad = {'udpad': made_up(cpu=31), 'floor': made_up(cpu=4)}
    bench.run('--points', 'partial', said=bad)
    bench.calls()
    table, said = bench.run('--points', 'partial', '--check', status=1)
    check('what is far off is measured twice more', len(bench.calls()) == 6)
    check('and said', 'far off' in table and 'must be <= 5x' in said, said)
    worse = {**bad, 'udpad': made_up(cpu=29)}
    check('what is only missed passes', 'missed' in bench.run('--points', 'partial', '--check',
                                                             said=worse)[0])
    table, said = bench.run('--points', 'partial', said={**bad, 'floor': 'it broke'}, status=1)
    check('who fails is named, with the reason, and the others are measured',
          'partial, floor: udpactl: it broke' in said and '| `partial` | udpad | 29.0 |' in
          table.replace('31.0', '29.0'), table + said)
    _, said = bench.run('--points', 'partial', said={**bad, 'udpad': made_up(errors=3)}, status=1)
    check('errors that the client counts are failures', '3 errors' in said, said)
    (bench.build / 'tests' / 'bench' / 'bench-floor').unlink()
    table, _ = bench.run('--points', 'partial', said=bad)
    check('a server that cannot be had is told in the table', 'floor was not built' in table, table)
    _, said = bench.run('--points', 'partial', '--servers', 'floor', '--check', status=1)
    check('if nothing is measured, nothing passes', 'nothing was measured' in said, said)
    _, said = bench.run('--points', 'parcial', status=2)
    check('an unknown point is a mistake', 'there is no parcial' in said, said)


def test_real(test):
    """With nothing made up, the least that can be measured."""
    done = subprocess.run([sys.executable, BENCH / 'run', '--build', test.build, '--points',
                           'latency,hops', '--servers', 'udpad,udpad-hops', '--seconds', '1'],
                          text=True, capture_output=True, check=False)
    check('udpad is measured by udpactl', done.returncode == 0, done.stdout + done.stderr)
    check('with a verdict', 'two nodes ' in done.stdout and '| `latency` | udpad | ' in done.stdout,
          done.stdout)


def test_real_replicas(test):
    """On a real etcd, if it can be had: else the table says that it cannot."""
    done = subprocess.run([sys.executable, BENCH / 'run', '--build', test.build, '--points',
                           'replicas,replicas-streams', '--servers', 'udpad-durable,replicas-debian',
                           '--seconds', '1'], text=True, capture_output=True, check=False)
    check('replicas are measured', done.returncode == 0, done.stdout + done.stderr)
    found = re.search(r'writes of the barrier: etcd of Debian \| (\d+)', done.stdout)
    check('  streams have waited', 'there is no package' in done.stdout or
          found and int(found.group(1)) > 0, done.stdout + done.stderr)


def test_real_many(test):
    """With many clients, and beside others."""
    done = subprocess.run([sys.executable, BENCH / 'run', '--build', test.build, '--points',
                           'reports', '--servers', 'udpad-reports'],
                          text=True, capture_output=True, check=False)
    check('clients report, and the sum is what they sent', done.returncode == 0 and
          '| `reports` | udpad C=1000 | ' in done.stdout, done.stdout + done.stderr)
    done = subprocess.run([sys.executable, BENCH / 'run', '--build', test.build, '--full',
                           '--points', 'neighbour', '--seconds', '1', '--repeats', '1'],
                          text=True, capture_output=True, check=False)
    check('so it is beside somebody else', done.returncode == 0 and
          re.search(r'\| changes a second of the other \| [\d,]{3,}/s \|', done.stdout),
          done.stdout + done.stderr)


def test_all(test):
    if test.arguments.variant == 'real':
        test_real(test)
        test_real_replicas(test)
        test_real_many(test)
        return
    test_verdicts()
    test_missing()
    test_medians()
    test_figures()
    for form in (points.SHORT, points.FULL):
        test_points(form)
    test_options()
    test_replicas()
    test_repeats()
    bench = Bench(test)
    test_order(bench)
    test_variants(bench)
    test_bad(bench)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), test_all, ('made_up', 'real')))
