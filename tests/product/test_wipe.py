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
INTEGER = 'type.googleapis.com/google.protobuf.Int32Value'
N = 40
WORKERS = {'alone': 0, 'workers': 2}


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
        path.write_text('http: {admin_pages: true}\n' +
                        (f'workers: {self.workers}\n' if self.workers else '') + self.config())
        self.process = self.test.start(self.name, [
            self.test.build / 'udpad', '--node-id', self.name, '--config', path, '--state',
            self.state(), '--listen', self.address, '--http', '127.0.0.1:0'])
        line = self.process.wait_for_log('listening on ')
        self.address = re.search(r'listening on (\S+)', line).group(1)
        wait_for('the whole welcome', lambda: 'names without' in self.process.text())
        self.http = re.search(r'listening on (127\.0\.0\.1:\d+) \([^)]*REST',
                              self.process.text()).group(1)

    def config(self):
        return ''

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
    check('it is told how many have gone', f'{N - 2} removals accepted' in said, said)
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
    check('it is told', 'what it does not have was removed' in said, said)
    wait_for('it goes', lambda: names(test, edge.address) == {'n1', 'new'})
    check('the relay has noted it', 'held' not in run(test, '--server', relay.address, 'status',
                                                      'sources'))


class Watch:
    """A client that follows one type, and notes what is removed."""

    def __init__(self, test, address):
        self.process = test.start('watch', [test.build / 'udpactl', '--server', address, 'watch',
                                            'google.protobuf.StringValue'])

    def removed(self):
        return [line for line in self.process.text().splitlines() if 'removed' in line]


def generations(test, address):
    """{name: (version, generation, authority)} of two types."""
    out = {}
    for kind in ('google.protobuf.StringValue', 'google.protobuf.Int32Value'):
        done = subprocess.run([str(test.build / 'udpactl'), '--server', address, 'get', kind, '-o',
                               'json'], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        for one in json.loads(done.stdout or '[]'):
            info = one.get('originInfo') or one.get('origin_info')
            out[one['name']] = (one['version'], info['generation'], info['authority'])
    return out


def below_of_two_types(test, name, address):
    return Node(test, name, {
        'static_resources': {'config_sources': [{'name': 'above', 'udpa': {'address': address}}]},
        'providers': [{'types': ['google.protobuf.StringValue', 'google.protobuf.Int32Value'],
                       'config_descriptors': [{'resource_name': 'above'}]}],
        'timing': {'backoff_max': '0.5s'}})


def test_rebuilt(test):
    """A root is rebuilt from what its tree has; nobody sees anything go."""
    root = Root(test, 'origin', 0)
    relay = below_of_two_types(test, 'middle', root.address)
    edge = below_of_two_types(test, 'end', relay.address)
    documents = [f'name: com.acme/n{i}\nversion: v{i}\norigin_info: {{authority: acme}}\n'
                 f'resource: {{"@type": {STRING}, value: n{i}}}\n' for i in range(55)]
    documents += [f'name: com.acme/i{i}\nresource: {{"@type": {INTEGER}, value: {i}}}\n'
                  for i in range(12)]
    (test.work / 'all.yaml').write_text('---\n'.join(documents))
    run(test, '--server', root.address, 'apply', '-f', test.work / 'all.yaml')
    wait_for('the edge has all', lambda: len(generations(test, edge.address)) == 67)
    had = generations(test, edge.address)
    check('all are of the root', generations(test, root.address) == had)
    watch = Watch(test, edge.address)
    wait_for('somebody follows it', lambda: 'n54' in watch.process.text())
    root.restart(without_disk=True)
    status = ('--server', relay.address, 'status', 'sources')
    wait_for('what it had is held', lambda: '55 held' in run(test, *status) or
             '67 held' in run(test, *status))
    copy = run(test, '--server', edge.address, 'get', '--all', '-o', 'yaml')
    check('the edge has printed all of it', copy.count('generation: ') == 67, copy[:2000])
    (test.work / 'copy.yaml').write_text(copy)
    run(test, '--server', root.address, 'apply', '--restore', '-f', test.work / 'copy.yaml')
    wait_for('nothing is held any more', lambda: 'held' not in run(test, *status))
    wait_for('it is complete', lambda: '2 of 2' in run(test, *status))
    check('the root has all as it was', generations(test, root.address) == had,
          str(sorted(set(generations(test, root.address).items()) ^ set(had.items()))[:6]))
    wait_for('so has the edge', lambda: generations(test, edge.address) == had)
    check('nobody saw anything go', not watch.removed(), str(watch.removed()))
    changed = (test.work / 'changed.yaml')
    changed.write_text(copy.replace('value: 7\n', 'value: 77\n'))
    said = run(test, '--server', root.address, 'apply', '--restore', '-f', changed, status=2)
    check('what was changed is none of it', 'is not what has this version' in said, said)


def test_fail_over(test):
    """A primary that returns empty does not take over from a stand-in that has everything."""
    primary, standby = Root(test, 'primary', 0), Root(test, 'standby', 0)
    had = [f'n{i}' for i in range(30)]
    for root in (primary, standby):
        publish(test, root.address, *had)
    edge = Node(test, 'between', {
        'static_resources': {'config_sources': [
            {'name': root.name, 'udpa': {'address': root.address}} for root in (primary, standby)]},
        'providers': [{'types': ['google.protobuf.StringValue'], 'config_descriptors': [
            {'resource_name': 'primary'}, {'resource_name': 'standby'}]}],
        'timing': {'backoff_max': '0.5s', 'fail_back_delay': '0.5s'}})
    wait_for('the edge has all', lambda: len(names(test, edge.address)) == 30)
    watch = Watch(test, edge.address)
    wait_for('somebody follows it', lambda: 'n29' in watch.process.text())
    check('the primary ends', test.interrupt(primary.process) == 0)
    publish(test, standby.address, 'later')
    wait_for('the stand-in counts', lambda: 'later' in watch.process.text())
    shutil.rmtree(primary.state())
    primary.start()
    status = ('--server', edge.address, 'status', 'sources')
    wait_for('what the primary had is held', lambda: '30 held' in run(test, *status))
    ticks = [f'tick{i}' for i in range(5)]
    for tick in ticks:  # for longer than it would have to stay to count again
        publish(test, standby.address, tick)
        wait_for('the stand-in counts still', lambda: tick in watch.process.text())
    check('all is there', names(test, edge.address) == {*had, 'later', *ticks})
    publish(test, primary.address, *had, 'later', *ticks)
    wait_for('the hold ends', lambda: 'held' not in run(test, *status))
    publish(test, primary.address, 'again')
    wait_for('the primary counts again', lambda: 'again' in watch.process.text())
    check('all is there still', names(test, edge.address) == {*had, 'later', *ticks, 'again'})
    check('nobody saw anything go', not watch.removed(), str(watch.removed()))


def body(test):
    workers = WORKERS[test.arguments.variant]
    test_wipe(test, workers)
    test_accepted_above(test, workers)
    if not workers:
        test_rebuilt(test)
        test_fail_over(test)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    sys.exit(main(PARSER, body, tuple(WORKERS)))
