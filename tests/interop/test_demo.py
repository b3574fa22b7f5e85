#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo tells what it saw: a development CA, two nodes, four real Envoys, an edit, a mistake, and
two nodes killed.
"""
import subprocess
import sys

from interop import SOURCE, Failure, check, envoy_or_skip, run


def body(test):
    envoy = envoy_or_skip()
    done = subprocess.run([sys.executable, SOURCE / 'docs' / 'demo' / 'run', '--build', test.build,
                           '--envoy', envoy], text=True, capture_output=True, check=False,
                          timeout=170)
    print(done.stdout)
    if done.returncode != 0:
        raise Failure(f'the demo has failed: {done.stderr}')
    check('the demo has told all it saw', 'only what changed' in done.stdout)


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
