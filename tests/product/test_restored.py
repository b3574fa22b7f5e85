#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A primary restored from a backup takes back what it has forgotten from an edge that it recovers from: what was
changed, added and removed since. A new edge is told the same. With --restored, the backup is what counts."""
import argparse
import json
import shutil
import socket
import subprocess
import sys

from product import PATIENCE_S, check, main, wait_for
from test_runtime import Node
from test_wipe import STRING, run

NAMES = ('changed', 'removed', 'third')


def free_address():
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        return f'127.0.0.1:{one.getsockname()[1]}'


class Mesh:
    """A primary and an edge that have each other as a source. One of them may have workers, and is dialled."""

    def __init__(self, test, name, dialled=None):
        self.test, self.name, self.dialled = test, name, dialled
        self.addresses = {kind: free_address() for kind in ('primary', 'edge')}
        self.start_primary()
        self.edge = self.start('edge', {'providers': [self.provider()], 'static_resources': {
            'config_sources': [{'name': 'primary', **self.source('edge', 'primary')}]}})

    @staticmethod
    def provider():
        return {'types': [STRING.split('/')[1]], 'config_descriptors': [{'resource_name': 'primary'}]}

    def source(self, here, there):
        if here == self.dialled:
            return {'udpa_listen': {'peer': f'{there}-{self.name}'}}
        return {'udpa': {'address': self.addresses[there]}}

    def start(self, kind, config, *more):
        config = {'timing': {'backoff_max': '0.5s'}, 'workers': 2 if kind == self.dialled else 0,
                  'sockets': [{'address': self.addresses.get(kind, '127.0.0.1:0')}], **config}
        return Node(self.test, f'{kind}-{self.name}', config, *more)

    def start_primary(self, *more):
        self.primary = self.start('primary', {'static_resources': {'config_sources': [
            {'name': 'edge', **self.source('primary', 'edge'),
             'recover': {'types': [STRING.split('/')[1]]}}]}}, *more)

    def state(self):
        return self.test.work / f'primary-{self.name}-data'

    def stop_primary(self):
        check('the primary ends', self.test.interrupt(self.primary.process) == 0)

    def back_up(self):
        self.stop_primary()
        shutil.copytree(self.state(), self.test.work / f'backup-{self.name}')
        self.start_primary()

    def restore(self, *more, in_place):
        self.stop_primary()
        backup = self.test.work / f'backup-{self.name}'
        if in_place:  # the instance stays
            for path in self.state().iterdir():
                if path.name != 'instance':
                    path.unlink()
            for path in backup.iterdir():
                if path.name != 'instance':
                    shutil.copy(path, self.state())
        else:
            shutil.rmtree(self.state())
            shutil.copytree(backup, self.state())
        self.start_primary(*more)

    def publish(self, **values):
        for name, value in values.items():
            path = self.test.work / f'{name}.json'
            path.write_text(json.dumps({'name': f'com.acme/{name}',
                                        'resource': {'@type': STRING, 'value': value}}))
            run(self.test, '--server', self.primary.address, 'apply', '-f', path)

    def get(self, node):
        done = subprocess.run([str(self.test.build / 'udpactl'), '--server', node.address, 'get',
                               STRING.split('/')[1], '-o', 'json'], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        text = done.stdout
        return {name: next((value for value in ('v12', 'v13', 'v14') if f'"{value}"' in part), '')
                for name in NAMES for part in [part_of(text, name)] if part}

    def new_edge(self, name):
        return self.start(name, {'providers': [self.provider()], 'static_resources': {
            'config_sources': [{'name': 'primary', 'udpa': {'address': self.addresses['primary']}}]}})


def part_of(text, name):
    at = text.find(f'com.acme/{name}')
    if at < 0:
        return ''
    end = text.find('com.acme/', at + 9)
    return text[at:end if end > 0 else None]


def prepare(test, name, dialled=None):
    mesh = Mesh(test, name, dialled)
    mesh.publish(changed='v12', removed='v12')
    wait_for('the edge has both', lambda: mesh.get(mesh.edge) == {'changed': 'v12', 'removed': 'v12'})
    mesh.back_up()
    mesh.publish(changed='v13', third='v13')
    run(test, '--server', mesh.primary.address, 'delete', STRING, 'com.acme/removed')
    wait_for('the edge has what is new', lambda: mesh.get(mesh.edge) == {'changed': 'v13', 'third': 'v13'})
    return mesh


def test_taken_back(test, name, in_place, dialled=None):
    mesh = prepare(test, name, dialled)
    mesh.restore(in_place=in_place)
    now = {'changed': 'v13', 'third': 'v13'}
    wait_for('the primary has what it had forgotten', lambda: mesh.get(mesh.primary) == now)
    wait_for('a new edge is told the same', lambda edge=mesh.new_edge(f'new-{name}'): mesh.get(edge) == now)
    check('and the old one has it still', mesh.get(mesh.edge) == now)
    status = ('--server', mesh.edge.address, 'status', 'sources')
    wait_for('nothing is held any more', lambda: 'held' not in run(test, *status))
    check('nothing differs', 'differ' not in run(test, *status))
    run(test, '--server', mesh.primary.address, 'delete', STRING, 'com.acme/third')
    mesh.publish(changed='v14')
    now = {'changed': 'v14'}
    wait_for('who had published it may change it', lambda: mesh.get(mesh.edge) == now)
    mesh.stop_primary()
    mesh.start_primary()
    wait_for('the edge is there', lambda: '1 of 1' in run(test, *status))
    check('and it stays so', mesh.get(mesh.primary) == now and mesh.get(mesh.edge) == now)


def test_meant(test):
    mesh = prepare(test, 'meant')
    mesh.restore('--restored', in_place=False)
    before = {'changed': 'v12', 'removed': 'v12'}
    check('the backup counts', mesh.get(mesh.primary) == before)
    wait_for('at the edge, too', lambda: before.items() <= mesh.get(mesh.edge).items())
    status = run(test, '--server', mesh.primary.address, 'status', 'sources')
    check('status says so', 'not recovered' in status, status)
    run(test, '--http', f'127.0.0.1:{mesh.edge.port}', 'sources', 'accept', 'primary')
    wait_for('what it has not is held at most until it is accepted', lambda: mesh.get(mesh.edge) == before)
    mesh.stop_primary()
    mesh.start_primary()
    status = ('--server', mesh.edge.address, 'status', 'sources')
    wait_for('the edge is there', lambda: '1 of 1' in run(test, *status))
    check('also in the next start', mesh.get(mesh.primary) == before and mesh.get(mesh.edge) == before)


def body(test):
    if test.arguments.variant == 'copied':
        test_taken_back(test, 'copied', in_place=False)
        test_meant(test)
    else:
        test_taken_back(test, 'in-place', in_place=True)
        test_taken_back(test, 'edge-listens', in_place=False, dialled='edge')
        test_taken_back(test, 'primary-listens', in_place=False, dialled='primary')


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    sys.exit(main(PARSER, body, ('copied', 'others')))
