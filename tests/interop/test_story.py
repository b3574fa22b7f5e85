#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A runnable example of docs/examples tells what it saw: an outage of a control plane and its recovery,
a migration from a go-control-plane server, the load of clients two levels below, a backend that is
killed while others check it, a tree of runtime values that is swapped, replicas and members of etcd
that are killed, a node that is upgraded and stopped, or the alerts and the trace of three faults; with real Envoys behind nodes, and endpoints of libudpa."""
import re
import subprocess
import sys

from interop import SOURCE, Failure, check, envoy_or_skip, go_program_or_skip, run

from etcd import debian_or_skip

LAST = {
    'failover': 'was told of changes alone, and of no removal',
    'health': 'who has gone says nothing',
    'migration': 'was never without a service',
    'observability': 'both Envoys go on with what they have',
    'load': 'both Envoys are told to report nothing',
    'replicas': 'or an older state than it had',
    'restart': 'both Envoys are at node spare',
    'runtime': 'requests were sent, none of which has failed',
}


def check_sums(told):
    """What was sent through each client is the sum, and so it was later, when one had gone and when it
    was back; and the last sum that was watched is that sum, too."""
    first, second, total, summed = map(int, re.search(
        r'sent: (\d+) \+ (\d+) = (\d+); the sum .*: (\d+)', told).groups())
    check(f'{first} and {second} were sent, and the sum is {summed}',
          first > 0 and second > 0 and first + second == total == summed)
    watched = [int(n) for n in re.search(r'watch has shown: (.*)', told)[1].split(' -> ')]
    check(f'the sum has moved: {watched}', len(watched) > 1 and watched[-1] == summed
          and watched == sorted(watched))
    later = [tuple(map(int, pair)) for pair in re.findall(r'(\d+) sent, the sum is (\d+)', told)]
    check(f'sent, and summed: {later[:2]}', len(later) >= 2 and summed < later[0][0] < later[1][0]
          and all(sent == total for sent, total in later))


TOOLS = {
    'observability': lambda test: ['--otelcol', go_program_or_skip(SOURCE / 'tests' / 'interop' / 'go-otel',
                                                                   test.build / 'otel-collector')],
    'replicas': lambda _: ['--etcd', debian_or_skip('etcd-server', 'etcd')],
}


def body(test):
    envoy = envoy_or_skip()
    if test.variant == 'migration':
        go_program_or_skip(SOURCE / 'docs' / 'examples' / 'migration' / 'legacy',
                           test.build / 'legacy-control-plane') # so that the story finds it built
    more = TOOLS[test.variant](test) if test.variant in TOOLS else []
    done = subprocess.run([sys.executable, SOURCE / 'docs' / 'examples' / test.variant / 'run',
                           '--build', test.build, '--envoy', envoy, *more],
                          text=True, capture_output=True, check=False, timeout=220)
    print(done.stdout)
    if done.returncode != 0:
        raise Failure(f'the story has failed: {done.stderr}')
    if test.variant == 'load':
        check_sums(done.stdout)
    elif test.variant != 'observability':
        check('no request has failed', 'none of which has failed' in done.stdout)
    check('the story has told all it saw', LAST[test.variant] in done.stdout)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, tuple(LAST)))
