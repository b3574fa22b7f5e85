#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A root that comes back without its disk takes nothing away: what it had is held below until it is said
again, or somebody accepts that it has gone."""
import argparse
import json
import re
import shutil
import subprocess
import sys

from product import PATIENCE_S, check, main, wait_for
from test_runtime import Node

STRING = 'type.googleapis.com/google.protobuf.StringValue'
N = 40


def run(test, *arguments, status=0):
    done = subprocess.run([str(part) for part in (test.build / 'udpactl', *arguments)],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    check(f'udpactl {arguments[2]} {arguments[3]}: exit status {status}',
          done.returncode == status, f'{done.returncode}\n{done.stdout}{done.stderr}')
    return done.stderr if status else done.stdout


def publish(test, address, *names):
    for name in names:
        (test.work / f'{name}.json').write_text(json.dumps(
            {'name': f'com.acme/{name}', 'resource': {'@type': STRING, 'value': name}}))
    files = [part for name in names for part in ('-f', test.work / f'{name}.json')]
    run(test, '--server', address, 'apply', *files)


def names(test, address):
    done = subprocess.run([str(test.build / 'udpactl'), '--server', address, 'get',
                           'google.protobuf.StringValue'], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    return set(re.findall(r'com\.acme/(\w+)', done.stdout))


def edge_of(test, name, above, **more):
    """A node whose only source is the one above."""
    return Node(test, name, {
        'static_resources': {'config_sources': [{'name': 'above', 'udpa': {'address': above}}]},
        'providers': [{'types': ['google.protobuf.StringValue'],
                       'config_descriptors': [{'resource_name': 'above'}]}],
        'timing': {'backoff_max': '0.5s'}, **more})


def below(test, name, address):
    """A node whose only source is the one at this address."""
    return Node(test, name, {
        'static_resources': {'config_sources': [{'name': 'above', 'udpa': {'address': address}}]},
        'providers': [{'types': ['google.protobuf.StringValue'],
                       'config_descriptors': [{'resource_name': 'above'}]}],
        'timing': {'backoff_max': '0.5s'}})


class Root:
    def __init__(self, test, name, workers):
        self.test, self.name, self.workers = test, name, workers
        self.address = '127.0.0.1:0'
        self.start()

    def start(self):
        path = self.test.work / f'{self.name}.yaml'
        path.write_text(f'workers: {self.workers}\n' if self.workers else '')
        self.process = self.test.start(self.name, [
            self.test.build / 'udpad', '--node-id', self.name, '--config', path, '--state',
            self.state(), '--listen', self.address, '--http', '127.0.0.1:0'])
        line = self.process.wait_for_log('listening on ')
        self.address = re.search(r'listening on (\S+)', line).group(1)
        wait_for('the whole welcome', lambda: 'names without' in self.process.text())
        self.http = re.search(r'listening on (127\.0\.0\.1:\d+) \([^)]*REST',
                              self.process.text()).group(1)

    def state(self):
        return self.test.work / f'{self.name}-data'

    def restart(self, without_disk):
        check('it ends', self.test.interrupt(self.process) == 0)
        if without_disk:
            shutil.rmtree(self.state())
        self.start()


def test_wipe(test, workers):
    root = Root(test, f'root{workers}', workers)
    edge = below(test, f'edge{workers}', root.address)
    http = f'127.0.0.1:{edge.port}'
    status = ('--server', edge.address, 'status', 'sources')
    had = [f'n{i}' for i in range(N)]
    publish(test, root.address, *had)
    wait_for('the edge has all', lambda: len(names(test, edge.address)) == N)
    root.restart(without_disk=False)
    wait_for('it is back', lambda: '1 of 1' in run(test, *status))
    run(test, '--server', root.address, 'delete', STRING, 'com.acme/n0')
    wait_for('what is deleted goes', lambda: 'n0' not in names(test, edge.address))
    root.restart(without_disk=True)
    publish(test, root.address, 'new', 'n1')
    wait_for('what it adds comes', lambda: 'new' in names(test, edge.address))
    wait_for('what it had is held', lambda: f'{N - 2} held' in run(test, *status))
    check('and served', names(test, edge.address) == {*had[1:], 'new'})
    said = run(test, *status)
    check('status says which and why', f'Held of above: {N - 2} of {STRING} (its store is not the '
          'one that it had before): com.acme/' in said and 'and 28 more' in said, said)
    metric = edge.ask('GET', '/stats/prometheus')[1]
    check('a metric says how many',
          f'udpa_source_held{{source="above",type="{STRING}"}} {N - 2}' in metric, metric)
    check('the log says which', 'They are: com.acme/' in edge.process.text())
    check('the log says what to do', 'udpactl sources accept above' in edge.process.text())
    said = run(test, '--http', http, 'sources', 'accept', 'nobody', status=1)
    check('a source that is not there is none', "there is no source 'nobody'" in said, said)
    said = run(test, '--http', http, 'sources', 'accept', 'above')
    check('it is told how many have gone', f'{N - 2} accepted' in said, said)
    wait_for('they go', lambda: names(test, edge.address) == {'n1', 'new'})
    check('the metric has gone', 'udpa_source_held{' not in edge.ask('GET', '/stats/prometheus')[1])
    wait_for('and it is complete', lambda: '1 of 1 ' in run(test, *status))


def test_accepted_above(test, workers):
    """What is accepted at the root goes everywhere below it."""
    name = f'top{workers}'
    root = Root(test, name, workers)
    relay = below(test, f'relay{workers}', root.address)
    edge = below(test, f'leaf{workers}', relay.address)
    publish(test, root.address, *(f'n{i}' for i in range(N)))
    wait_for('the edge has all', lambda: len(names(test, edge.address)) == N)
    root.restart(without_disk=True)
    publish(test, root.address, 'n1', 'new')
    wait_for('what it had is held', lambda: f'{N - 1} held' in run(
        test, '--server', relay.address, 'status', 'sources'))
    wait_for('what it adds comes', lambda: 'new' in names(test, edge.address))
    check('and all is served', len(names(test, edge.address)) == N + 1)
    accept = ('--http', root.http, 'sources', 'accept')
    said = run(test, *accept, 'above', '--as-source', status=1)
    check('it is said to the right node', f"this node's id is '{name}'" in said, said)
    said = run(test, *accept, name, '--as-source')
    check('it is told', 'what it does not have has gone' in said, said)
    wait_for('it goes', lambda: names(test, edge.address) == {'n1', 'new'})
    check('the relay has noted it', 'held' not in run(test, '--server', relay.address, 'status',
                                                      'sources'))


def body(test):
    for workers in (0, 2):
        test_wipe(test, workers)
        test_accepted_above(test, workers)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    sys.exit(main(PARSER, body))
