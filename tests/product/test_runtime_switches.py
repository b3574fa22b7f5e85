#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What udpad goes by of its runtime, switch by switch: each changes at once what the node does, and when
it is taken back the node does as the bootstrap file says."""
import argparse
import json
import re
import subprocess
import sys
import time

from product import PATIENCE_S, check, main, wait_for
from test_runtime import Node, swap, write

WRAPPER = 'type.googleapis.com/envoy.service.discovery.v3.Resource'
STRING = 'type.googleapis.com/google.protobuf.StringValue'


class Peer:
    """A node, and udpactl to look at it and publish to it."""

    def __init__(self, test, name, config, *more):
        self.test = test
        self.node = Node(test, name, config, *more)
        self.address = re.search(r'listening on (127\.0\.0\.1:\d+)', self.text()).group(1)

    def text(self):
        return self.node.process.text()

    def call(self, *arguments):
        return [str(part) for part in (self.test.build / 'udpactl', '--server', self.address,
                                       *arguments)]

    def run(self, *arguments, stdin=''):
        """(exit status, what it says)"""
        done = subprocess.run(self.call(*arguments), input=stdin, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        return done.returncode, done.stdout + done.stderr

    def apply(self, *names):
        return self.run('apply', '-f', '-', stdin='---\n'.join(
            f'name: {name}\nresource: {{"@type": {STRING}, value: x}}\n' for name in names))

    def has(self, name):
        return self.run('get', STRING, name)[0] == 0

    def set(self, **values):
        status, text, _ = self.node.set(**{key.replace('__', '.'): value
                                           for key, value in values.items()})
        check(f'set {values}', status == 200, text)

    def count(self, words):
        return self.text().count(words)


def test_dry_run(test):
    rules = [{'name': 'lookers', 'identities': ['*'], 'actions': ['SUBSCRIBE', 'ADMIN']}]
    peer = Peer(test, 'rules', {'acl': {'rules': rules}})
    status, said = peer.apply('local/a')
    check('the rules refuse', status == 1 and 'may not publish' in said, said)
    peer.set(udpa__acl__dry_run='true')
    check('the log tells of the change', peer.count('udpa.acl.dry_run is true now') == 1)
    status, said = peer.apply('local/a')
    check('in a dry run they do not', status == 0, said)
    check('but say that they would', 'dry run, so it may: ' in peer.text())
    status, said = peer.run('auth', 'can-i', 'x', 'publish', STRING, 'local/a')
    check('the node says that it is one', 'dry run' in said, said)
    config = test.work / 'rules.json'
    rules[0]['name'] = 'others'
    config.write_text(json.dumps({'node': {'id': 'rules', 'cluster': 'mine'},
                                  'acl': {'rules': rules}}))
    wait_for('other rules', lambda: 'are effective now, in a dry run' in peer.text())
    check('rules that are read meanwhile are in a dry run, too', peer.apply('local/a')[0] == 0)
    peer.set(udpa__acl__dry_run='perhaps')
    check('what is neither true nor false is told', peer.count(
        "udpa.acl.dry_run: 'perhaps' is ignored") == 1)
    wait_for('the rules to hold', lambda: not peer.has('local/a'))
    peer.set(x='1')
    check('once', peer.count("udpa.acl.dry_run: 'perhaps' is ignored") == 1)
    status, said = peer.apply('local/a')
    check('and the rules refuse again', status == 1 and 'others' in said, said)
    strict = Peer(test, 'strict', {'acl': {'rules': rules, 'dry_run': True}})
    check('a dry run of the file', strict.apply('local/a')[0] == 0)
    strict.set(udpa__acl__dry_run='false')
    check('can be ended, too', strict.apply('local/b')[0] == 1 and not strict.has('local/a'))
    strict.set(udpa__acl__dry_run='')
    check('until it is taken back', strict.apply('local/b')[0] == 0)


def field(number, data):
    size = bytes([len(data)] if len(data) < 128 else [len(data) % 128 | 128, len(data) // 128])
    return bytes([number << 3 | 2]) + size + data


def put_unknown_field(path):
    """A StringValue with a field that it does not have, in binary and with a name."""
    value = field(1, STRING.encode()) + field(2, field(1, b'x') + field(15, b'y'))
    named = field(3, path.stem.encode()) + field(2, value)
    path.write_bytes(field(2, field(1, WRAPPER.encode()) + field(2, named)))


def test_validation(test):
    folder = test.work / 'validated'
    folder.mkdir()
    put = test.work / 'published.pb'
    put_unknown_field(put)
    config = {'validation': {'checks': ['UNKNOWN_FIELDS']},
              'static_resources': {'directories': [{'path': str(folder)}]}}
    peer = Peer(test, 'validation', config)
    put_unknown_field(folder / 'filed.pb')
    wait_for('the mistake', lambda: 'filed.pb' in peer.text())
    status, said = peer.run('apply', '-f', put)
    check('what has unknown fields is refused', status == 1 and 'field number 15' in said, said)
    peer.set(udpa__validation__mode='warn')
    wait_for('the file to be taken', lambda: peer.has('local/filed'))
    status, said = peer.run('apply', '-f', put)
    check('with a warning it is taken', status == 0, said)
    check('and told in the log', peer.count('accepted although invalid') >= 2, peer.text())
    peer.set(udpa__validation__mode='refuse')
    status, said = peer.run('apply', '-f', put)
    check('then it is refused again', status == 1 and 'field number 15' in said, said)
    before = peer.count('accepted although invalid')
    peer.set(udpa__validation__mode='off')
    check('off, nobody looks', peer.run('apply', '-f', put)[0] == 0 and
          peer.count('accepted although invalid') == before)
    peer.set(udpa__validation__mode='')
    check('and as before in the end', peer.run('apply', '-f', put)[0] == 1)


def expect_stream_limits(test, peer):
    check('there is something to watch', peer.apply('local/a')[0] == 0)
    watching = test.start(f'watch-{peer.address.split(":")[1]}',
                          peer.call('watch', STRING))
    wait_for('a stream', lambda: 'local/a' in watching.text())
    check('there is room for two', peer.run('get', STRING)[0] == 0)
    peer.set(udpa__limits__max_streams='1')
    said = ''

    def is_refused():
        nonlocal said
        status, said = peer.run('get', STRING)
        return status != 0
    wait_for('the limit', is_refused)
    check('one stream is the limit now', 'limits.max_streams' in said, said)
    check('and who was there stays', watching.process.poll() is None)
    peer.set(udpa__limits__max_streams='')
    wait_for('room', lambda: peer.run('get', STRING)[0] == 0)
    watching.kill()


def test_limits(test):
    peer = Peer(test, 'limits', {'limits': {'max_resources': 3}})
    check('there is room for three', peer.apply('local/a', 'local/b', 'local/c')[0] == 0)
    status, said = peer.apply('local/d')
    check('and not for four', status == 1 and 'limits.max_resources' in said, said)
    peer.set(udpa__limits__max_resources='4')
    check('with a higher limit there is', peer.apply('local/d')[0] == 0)
    peer.set(udpa__limits__max_resources='0')
    check('what is no limit is told', "'0' is ignored: not a number from 1" in peer.text())
    status, said = peer.apply('local/e')
    check('and what was there stays', status == 1 and peer.has('local/d'), said)
    peer.set(udpa__limits__max_resources='', udpa__limits__max_bytes_per_publisher='1')
    status, said = peer.apply('local/a2')
    check('bytes, too', 'limits.max_bytes_per_publisher' in said, said)
    peer.set(udpa__limits__max_bytes_per_publisher='', udpa__limits__max_names_per_stream='1')
    status, said = peer.run('get', STRING, 'local/a', 'local/b', '--timeout', '2')
    check('names of a stream', 'limits.max_names_per_stream' in said, said)
    peer.set(udpa__limits__max_names_per_stream='')
    check('again as before', peer.run('get', STRING, 'local/a', 'local/b')[0] == 0)
    expect_stream_limits(test, peer)


def test_workers(test):
    expect_stream_limits(test, Peer(test, 'workers', {'workers': 2}))
    rules = [{'name': 'all', 'identities': ['*'], 'actions': ['ADMIN', 'PUBLISH', 'SUBSCRIBE'],
              'namespaces': ['local', 'udpa.node']}]
    peer = Peer(test, 'worker', {'workers': 1, 'acl': {'rules': rules}})

    def refused(words):
        """It is refused with these words; how many lines of the worker tell of a rule."""
        before = peer.count('may not subscribe')
        status, said = peer.run('get', STRING, 'ops.acme/x')
        check(f'it is refused: {words}', status != 0 and words in said, said)
        return peer.count('may not subscribe') - before
    check('a worker tells of who is refused', refused('may not subscribe') == 1)
    status, said = peer.apply('local/a')
    check('there is something to watch', status == 0, said)
    watching = test.start('watching', peer.call('watch', STRING, '-n', 'local'))
    wait_for('a stream', lambda: 'local/a' in watching.text())
    peer.set(udpa__limits__max_streams='1', udpa__log__levels__acl='error')
    wait_for('the worker to follow',
             lambda: 'max_streams' in peer.run('get', STRING, '-n', 'local')[1])
    peer.set(udpa__limits__max_streams='')
    wait_for('room', lambda: peer.run('get', STRING, '-n', 'local')[0] == 0)
    check('and not at the level error', refused('may not subscribe') == 0)
    watching.kill()


def seconds_until_served(peer, folder, name):
    began = time.monotonic()
    write(folder / f'{name}.yaml', f'name: {name}\nresource: {{"@type": {STRING}, value: x}}\n')
    wait_for(name, lambda: peer.has(f'local/{name}'))
    return time.monotonic() - began


def test_files(test):
    folder = test.work / 'files'
    folder.mkdir()
    peer = Peer(test, 'files', {'static_resources': {'directories': [{'path': str(folder)}]}})
    seconds_until_served(peer, folder, 'first')
    peer.set(udpa__files__quiet_ms='3000')
    took = seconds_until_served(peer, folder, 'second')
    check('files are waited for', took > 2.5, took)
    peer.set(udpa__files__quiet_ms='')
    took = seconds_until_served(peer, folder, 'third')
    check('and not in the end', took < 2.5, took)


def test_log(test):
    srv = test.work / 'srv'
    write(srv / 'v1/base/x', '1')
    swap(srv, 'v1')
    peer = Peer(test, 'log', {'runtime': {'layers': [
        {'name': 'disk', 'disk_layer': {'symlink_root': str(srv / 'current'),
                                        'subdirectory': 'base'}},
        {'name': 'admin', 'admin_layer': {}}]}})

    def is_told():
        before = peer.count('layer disk is ignored')
        write(srv / 'v1/base/numerator', '1')
        wait_for('the error', lambda: peer.node.runtime()['errors'])
        (srv / 'v1/base/numerator').unlink()
        wait_for('the end of the error', lambda: not peer.node.runtime()['errors'])
        return peer.count('layer disk is ignored') > before
    check('a warning is logged', is_told())
    peer.set(udpa__log__levels__runtime='error')
    check('but not of a component at the level error', not is_told())
    peer.set(udpa__log__levels__runtime='', udpa__log__levels__file='error')
    check('and of all others', is_told())
    peer.set(udpa__log__level='error', udpa__log__levels__runtime='warning')
    check('a component may say more than all others', is_told())


def test_from_the_start(test):
    """What a layer says when the node begins."""
    rules = [{'name': 'lookers', 'identities': ['*'], 'actions': ['SUBSCRIBE', 'ADMIN']}]
    for workers in (0, 1):
        peer = Peer(test, f'start-{workers}', {'workers': workers, 'acl': {'rules': rules}, 'runtime': {
            'layers': [{'name': 'static', 'static_layer': {'udpa': {
                'acl': {'dry_run': True}, 'limits': {'max_resources': 1}}}}]}})
        check('a dry run from the start', peer.apply('local/a')[0] == 0, peer.text())
        status, said = peer.apply('local/b')
        check('and a limit', status == 1 and 'limits.max_resources' in said, said)
        check('it ends as it should', test.interrupt(peer.node.process) == 0, peer.text())


def test_mistakes(test):
    peer = Peer(test, 'mistakes', {})
    peer.set(udpa__limits__max_stream='1')
    check('a key that nobody knows is told',
          "udpa.limits.max_stream is ignored: no setting of a node has this key; did you mean "
          "'udpa.limits.max_streams'?" in peer.text(), peer.text())
    peer.set(udpa__timing__sync_timeout_ms='20000')
    check('what does not go together is told', 'is not below udpa.timing.cycle_timeout_ms' in peer.text(), peer.text())
    check('the node ends as it should', test.interrupt(peer.node.process) == 0, peer.text())


def body(test):
    test_dry_run(test)
    test_validation(test)
    test_limits(test)
    test_workers(test)
    test_files(test)
    test_log(test)
    test_from_the_start(test)
    test_mistakes(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
