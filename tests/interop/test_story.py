#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A runnable example of docs/examples tells what it saw: an outage of a control plane and its recovery,
a migration from a go-control-plane server, or a backend that is killed while others check it; with real
Envoys behind nodes, and endpoints of libudpa."""
import subprocess
import sys

from interop import SOURCE, Failure, check, envoy_or_skip, go_or_skip, run

LAST = {
    'failover': 'was told of changes alone, and of no removal',
    'health': 'who has gone says nothing',
    'migration': 'was never without a service',
}


def body(test):
    envoy = envoy_or_skip()
    if test.variant == 'migration':
        go_or_skip()
    done = subprocess.run([sys.executable, SOURCE / 'docs' / 'examples' / test.variant / 'run',
                           '--build', test.build, '--envoy', envoy],
                          text=True, capture_output=True, check=False, timeout=220)
    print(done.stdout)
    if done.returncode != 0:
        raise Failure(f'the story has failed: {done.stderr}')
    check('no request has failed', 'none of which has failed' in done.stdout)
    check('the story has told all it saw', LAST[test.variant] in done.stdout)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, tuple(LAST)))
