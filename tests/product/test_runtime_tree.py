#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A runtime tree as a ConfigSource of udpad: its layers are resources, change with the tree, and stay what
they were when something is wrong with it; what has not changed keeps its version, also when the node is
started again; the status says what is wrong."""
import argparse
import json
import os
import subprocess
import sys

from product import check, main, wait_for

TYPE = 'envoy.service.runtime.v3.Runtime'
NAMES = ['local/fixed', 'local/production', 'local/staging']


def write(root, layer, **values):
    for key, value in values.items():
        (root / layer).mkdir(parents=True, exist_ok=True)
        (root / layer / key).write_text(value)


def swap(srv, version):
    (srv / 'new').symlink_to(version)
    os.replace(srv / 'new', srv / 'current')


class Node:
    def __init__(self, test, name, source, *more):
        self.test = test
        path = test.work / f'{name}.json'
        path.write_text(json.dumps({
            'static_resources': {'config_sources': [source]},
            'providers': [{'types': [TYPE], 'config_descriptors': [
                {'resource_name': source['name'], 'namespace': 'local'}]}]}))
        self.config = path
        self.process, self.address = test.start_node(name, '--config', path, *more)

    def ctl(self, *arguments):
        done = subprocess.run([self.test.build / 'udpactl', '--server', self.address, *arguments],
                              capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def resources(self):
        """By name: (version, authority, values)."""
        text = self.ctl('get', TYPE, '-o', 'json')
        if not text.startswith(('{', '[')):
            return {}
        found = json.loads(text)
        return {one['name']: (one['version'], one['originInfo']['authority'],
                              one['resource'].get('layer', {}))
                for one in (found if isinstance(found, list) else [found])}

    def versions(self):
        return {name: version for name, (version, *_) in self.resources().items()}

    def values(self, name):
        return self.resources().get(name, (None, None, None))[2]

    def status(self, *what):
        return self.ctl('status', *what)


def make_versions(srv):
    for version in ('v1', 'v2'):
        write(srv / version, 'production', limit=f'{version[1]}0\n', on='true', text='hello\n',
              share='{"numerator": 5, "denominator": "MILLION"}', large='12345678')
        write(srv / version, 'staging', limit=version[1])
        write(srv / version, 'fixed', limit='1')


def test_swaps(test, srv, top, edge):
    wait_for('all three at the edge', lambda: sorted(edge.resources()) == NAMES)
    version, authority, values = edge.resources()['local/production']
    check('its values', values == {
        'limit': 10, 'on': True, 'text': 'hello', 'large': '12345678',
        'share': {'numerator': 5, 'denominator': 'MILLION'}}, values)
    check('its authority', authority == 'com.acme', authority)
    before = edge.versions()
    swap(srv, 'v2')
    wait_for('the swap at the edge', lambda: edge.values('local/production').get('limit') == 20)
    now = edge.versions()
    check('what has not changed keeps its version', now['local/fixed'] == before['local/fixed'])
    check('what has does not', now['local/production'] != version and
          now['local/staging'] != before['local/staging'], (before, now))
    swap(srv, 'v1')
    wait_for('the old versions are back', lambda: edge.versions() == before)
    return before


def test_mistakes(test, srv, top, edge, before):
    write(srv / 'v1', 'production', numerator='1')
    write(srv / 'v1', 'staging', limit='7')
    wait_for('the good layer', lambda: edge.values('local/staging') == {'limit': 7})
    check('the other stays as it was',
          edge.versions()['local/production'] == before['local/production'])
    check('the log says so', 'layer production stays as it was' in top.process.text() and
          'reserved' in top.process.text())
    wait_for('the status says so, too',
             lambda: 'layer production stays as it was' in top.status())
    (srv / 'v1/production/numerator').unlink()
    wait_for('its end in the log',
             lambda: 'layer production is reloaded, no errors found' in top.process.text())
    wait_for('the mistake is over',
             lambda: 'stays as it was' not in top.status())
    os.rename(srv / 'v1/staging', srv / 'away')
    wait_for('a layer that goes is withdrawn', lambda: 'local/staging' not in edge.resources())
    os.rename(srv / 'away', srv / 'v1/staging')
    wait_for('and comes back', lambda: 'local/staging' in edge.resources())
    (srv / 'current').unlink()
    wait_for('the loss of the whole tree is told', lambda: 'cannot read' in top.status())
    check('nothing is withdrawn', sorted(edge.resources()) == NAMES)
    swap(srv, 'v1')
    wait_for('it is back', lambda: 'cannot read' not in top.status())


def test_restart(test, srv, top, source):
    before = top.versions()
    check('its source is called what the file calls it', 'runtime_tree' in top.status('sources'),
          top.status('sources'))
    test.interrupt(top.process)
    again = Node(test, 'top', source)
    check('the same versions after a start', again.versions() == before, again.versions())


def test_start_without_tree(test):
    srv = test.work / 'later'
    srv.mkdir()
    node = Node(test, 'later', {'name': 'tree', 'runtime_tree': {
        'symlink_root': str(srv / 'current'), 'subdirectory': 'layers'}})
    checked = subprocess.run([test.build / 'udpad', '--check', '-c', node.config],
                             capture_output=True, text=True, check=False)
    check('udpad --check warns of a tree that is not there', checked.returncode == 0 and
          'cannot be read at present' in checked.stdout + checked.stderr,
          checked.stdout + checked.stderr)
    write(srv / 'v1/layers', 'production', limit='3')
    swap(srv, 'v1')
    wait_for('a tree that comes', lambda: node.values('local/production') == {'limit': 3})


def body(test):
    srv = test.work / 'srv'
    make_versions(srv)
    swap(srv, 'v1')
    source = {'name': 'tree', 'runtime_tree': {'symlink_root': str(srv / 'current'),
                                               'authority': 'com.acme'}}
    top = Node(test, 'top', source)
    edge = Node(test, 'edge', {'name': 'top', 'udpa': {'address': top.address}})
    before = test_swaps(test, srv, top, edge)
    test_mistakes(test, srv, top, edge, before)
    test_restart(test, srv, top, source)
    test_start_without_tree(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0]), body))
