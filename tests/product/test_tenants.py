#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""50,000 resources in 2,000 namespaces: who asks for a few of these costs the node what is in them, and
not what there is. With 500 who ask for four each, and when 2,000 come to a node that has just been
started."""
import argparse
import json
import re
import subprocess

from product import check, main

N_RESOURCES, N_NAMESPACES = 50000, 2000
# A release build takes 0.3 s of CPU for each. That it went over all resources for each namespace
# took a minute; sanitizers take ten times what a release build does, and other programs run.
CPU_MS = 10000
WALL_MS = 30000
PATIENCE_S = 200


class Root:
    def __init__(self, test):
        self.test = test
        self.start()

    def start(self):
        self.process = self.test.start('root', [
            self.test.build / 'udpad', '--node-id', 'root', '--listen', '127.0.0.1:0', '--state',
            self.test.work / 'root-data'])
        line = self.process.wait_for_log('listening on ')
        self.address = re.search(r'listening on (\S+?),?(?:$|\s)', line).group(1)

    def restart(self):
        check('it ends', self.test.interrupt(self.process) == 0)
        self.start()

    def bench(self, *options):
        command = [self.test.build / 'udpactl', '--server', self.address, 'bench', '-o', 'json',
                   '--pid', self.process.process.pid, '--protocol', 'udpa', '--changes', 0,
                   '--resources', N_RESOURCES, '--namespaces', N_NAMESPACES, *options]
        done = subprocess.run([str(part) for part in command], text=True, capture_output=True,
                              check=False, timeout=PATIENCE_S)
        check('it measures', done.returncode == 0, done.stderr)
        return json.loads(done.stdout)['sync']


def expect(what, sync):
    print(f'   {what}: {sync["ms"]:.0f} ms, {sync["server_cpu_ms"]:.0f} ms of CPU')
    check(f'{what}: each is sent what it asks for', sync['resources'] == N_RESOURCES, sync)
    check(f'{what}: it costs what is in them', sync['server_cpu_ms'] < CPU_MS, sync)
    check(f'{what}: it takes no longer', sync['ms'] < WALL_MS, sync)


def test_tenants(test):
    root = Root(test)
    expect('four of each', root.bench('--publish', '--keep', '--streams', 500,
                                     '--namespaces-each', 4))
    root.restart()
    expect('after a restart', root.bench('--streams', N_NAMESPACES))


if __name__ == '__main__':
    raise SystemExit(main(argparse.ArgumentParser(description=__doc__.split('\n\n')[0]),
                          test_tenants))
