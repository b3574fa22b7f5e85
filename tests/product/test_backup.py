#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backup of a running node, and what becomes of it: a node that has lost its disk is restored from it, is another
store to all others, takes back what it lacks, and takes nothing from a client. Errors leave nothing half made."""
import argparse
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

from product import PATIENCE_S, SOURCE, admin_page, check, main, wait_for
from test_restored import Mesh
from test_runtime import Node
from test_wipe import STRING, edge_of, names, publish, run
from xds_client import Client, fields_of

GOOD, REFUSED, MISTAKE, NO_CONNECTION = range(4)
FIXTURE_KEY = '00112233445566778899aabbccddeeff' * 2
RESTORED = 'was restored from a backup'
OTHER_STORE = 'its store is not the one that it had before'


def ctl(test, *arguments, status=GOOD):
    done = subprocess.run([str(part) for part in (test.build / 'udpactl', *arguments)], capture_output=True,
                          text=True, timeout=PATIENCE_S, check=False)
    check(f'udpactl {arguments[0]} {arguments[1]}: exit status {status}', done.returncode == status,
          f'{done.returncode}\n{done.stdout}{done.stderr}')
    return done.stderr if status else done.stdout


def back_up(test, data, name, status=GOOD):
    file = test.work / name
    text = ctl(test, '--admin', f'unix:{data}/admin.sock', 'backup', file, status=status)
    check('nothing half made is left', not (test.work / f'{name}.part').exists() and
          file.exists() == (status == GOOD) and not (data / 'udpa.db-backup').exists())
    return text if status else file


def facts(test, file):
    return dict(line.split(': ', 1) for line in ctl(test, 'backup', 'status', file).splitlines())


def put(test, address, **values):
    """Resources that clients of xDS see."""
    for name, value in values.items():
        path = test.work / f'{name}-{value}.json'
        path.write_text(json.dumps({'name': f'local/{name}', 'resource': {'@type': STRING, 'value': value}}))
        run(test, '--server', address, 'apply', '-f', path)


class Envoy(Client):
    """A client of delta xDS that notices what it is told to remove."""

    def removed_until(self, value):
        """All that it was told until it has received this value."""
        while True:
            messages = list(self.messages(self.STREAM))
            if any(value.encode() in message for message in messages):
                return [parts[6].decode() for parts in map(fields_of, messages) if 6 in parts]
            self.read()


# ---- the story ----

def test_taken_back(test):
    """v1 is in the backup; v2, an addition and a removal come later; then the disk is lost."""
    mesh = Mesh(test, 'story')
    mesh.publish(changed='v12', removed='v12')
    wait_for('the edge has both', lambda: mesh.get(mesh.edge) == {'changed': 'v12', 'removed': 'v12'})
    put(test, mesh.primary.address, kept='kept-1')
    envoy = Envoy(mesh.edge.address, 'envoy', STRING)
    check('a client has what the edge has', envoy.removed_until('kept-1') == [])
    file = back_up(test, mesh.state(), 'story.db')
    before = facts(test, file)
    mesh.publish(changed='v13', third='v13')
    put(test, mesh.primary.address, kept='kept-2', added='added-2')
    run(test, '--server', mesh.primary.address, 'delete', STRING, 'com.acme/removed')
    now = {'changed': 'v13', 'third': 'v13'}
    wait_for('the edge has what is new', lambda: mesh.get(mesh.edge) == now)
    mesh.primary.process.kill()
    shutil.rmtree(mesh.state())
    ctl(test, 'restore', file, '--state', mesh.state())
    mesh.start_primary()
    check('the node logs it', RESTORED in mesh.primary.process.text())
    wait_for('it has what it had forgotten', lambda: mesh.get(mesh.primary) == now)
    status = ('--server', mesh.edge.address, 'status', 'sources')
    wait_for('nothing is held', lambda: '1 of 1' in run(test, *status) and 'held' not in run(test, *status))
    check('the edge has it', mesh.get(mesh.edge) == now)
    after = facts(test, back_up(test, mesh.state(), 'after.db'))
    check('the store is another one', before['epoch'] != after['epoch'] and before['instance'] != after['instance'])
    put(test, mesh.primary.address, kept='kept-3')
    check('a client of the edge was told of no removal', envoy.removed_until('kept-3') == [])
    check('and nothing twice', sum(b'added-2' in message for message in envoy.messages(envoy.STREAM)) == 1)


def test_held(test):
    """A node that takes nothing back. What the edge has seen last may be in the backup, and more have come within
    the second in which no commit is announced: then the epoch alone tells that it is another store."""
    root, address = test.start_node('root')
    data = test.work / 'root-data'
    edge = edge_of(test, 'edge', address)
    publish(test, address, 'first')
    wait_for('the edge has it', lambda: names(test, edge.address) == {'first'})
    file = back_up(test, data, 'held.db')
    publish(test, address, 'second')
    put(test, address, added='added-2')
    wait_for('and what came later', lambda: names(test, edge.address) == {'first', 'second'})
    envoy = Envoy(edge.address, 'envoy', STRING)
    check('a client has it', envoy.removed_until('added-2') == [])
    root.kill()
    shutil.rmtree(data)
    ctl(test, 'restore', file, '--state', data)
    root = test.start('root', [test.build / 'udpad', '--listen', address, '--node-id', 'root', '--state', data])
    status = ('--server', edge.address, 'status', 'sources')
    wait_for('it is held, since the store is another one', lambda: OTHER_STORE in run(test, *status))
    check('the edge has both', names(test, edge.address) == {'first', 'second'})
    put(test, address, marker='marker-3')
    check('its client was told of no removal', envoy.removed_until('marker-3') == [])
    ctl(test, '--admin', f'unix:{data}/admin.sock', 'sources', 'accept', 'root', '--as-source')
    wait_for('its loss can be accepted', lambda: names(test, edge.address) == {'first'})
    whole = back_up(test, data, 'whole.db')
    publish(test, address, 'third')
    wait_for('the edge has what came later', lambda: names(test, edge.address) == {'first', 'third'})
    root.kill()
    shutil.rmtree(data)
    ctl(test, 'restore', whole, '--state', data)
    root = test.start('root', [test.build / 'udpad', '--listen', address, '--node-id', 'root', '--state', data])
    wait_for('what was accepted once is not accepted for a backup', lambda: OTHER_STORE in run(test, *status))
    check('the edge has it still', names(test, edge.address) == {'first', 'third'})
    check('it ends', test.interrupt(root) == 0)


def write_file(folder, name, value):
    folder.mkdir(exist_ok=True)
    (folder / f'{name}.json').write_text(json.dumps({'name': f'com.acme/{name}',
                                                     'resource': {'@type': STRING, 'value': value}}))


def test_converges(test):
    """A node with files and a source, in whose backup both are old: it has what they have now."""
    folder = test.work / 'files'
    write_file(folder, 'file', 'old')
    write_file(folder, 'ended', 'old')
    _, address = test.start_node('above')
    publish(test, address, 'source', 'left')
    sources = {'config_sources': [{'name': 'above', 'udpa': {'address': address}}],
               'directories': [{'path': str(folder)}]}
    node = edge_of(test, 'both', address, static_resources=sources)
    data = test.work / 'both-data'
    wait_for('it has all', lambda: names(test, node.address) == {'file', 'ended', 'source', 'left'})
    file = back_up(test, data, 'both.db')
    write_file(folder, 'file', 'new')
    (folder / 'ended.json').unlink()
    run(test, '--server', address, 'delete', STRING, 'com.acme/left')
    publish(test, address, 'more')
    now = {'file', 'source', 'more'}
    wait_for('it follows', lambda: names(test, node.address) == now)
    node.process.kill()
    shutil.rmtree(data)
    ctl(test, 'restore', file, '--state', data)
    node = edge_of(test, 'both', address, static_resources=sources)
    wait_for('it has what they have now', lambda: names(test, node.address) == now)
    wait_for('the new contents, too', lambda: '"new"' in ctl(test, '--server', node.address, 'get', STRING, 'com.acme/file',
                                                             '-o', 'json'))
    status = run(test, '--server', node.address, 'status', 'sources')
    check('nothing is held', 'held' not in status.lower(), status)


# ---- what goes wrong ----

def test_errors(test):
    node, address = test.start_node('plain')
    data = test.work / 'plain-data'
    admin = ('--admin', f'unix:{data}/admin.sock')
    publish(test, address, 'first')
    file = back_up(test, data, 'plain.db')
    text = ctl(test, *admin, 'backup', file, status=MISTAKE)
    check('a backup is not overwritten', 'is there already' in text, text)
    text = ctl(test, 'restore', file, '--state', data, status=REFUSED)
    check('nor is the store of a node that runs', 'is in use by process' in text, text)
    text = ctl(test, *admin, 'backup', test.work / 'nowhere' / 'x.db', status=MISTAKE)
    check('a directory that is not there', 'No such file' in text, text)
    cut = test.work / 'cut.db'
    cut.write_bytes(file.read_bytes()[:-100])
    text = ctl(test, 'backup', 'status', cut, status=REFUSED)
    check('one that is not whole', 'is damaged' in text and 'use another backup' in text, text)
    text = ctl(test, 'restore', cut, '--state', test.work / 'none', status=REFUSED)
    check('is not restored', 'is damaged' in text and not (test.work / 'none' / 'udpa.db').exists(), text)
    begin = ('/backup', 'POST', '{}', {'content-type': 'application/json'})
    check('a second one waits for the first', admin_page(node, *begin)[0] == 200 and
          admin_page(node, *begin)[0] == 503)
    check('it is not read by another number', admin_page(node, '/backup_part?id=77&from=0')[0] == 400)
    check('nor without one', admin_page(node, '/backup_part?from=0')[0] == 400)
    check('each is a record of the audit', len(re.findall('/backup', ctl(test, *admin, 'audit'))) == 2)
    check('it ends while one is made', test.interrupt(node) == 0 and not (data / 'udpa.db-backup').exists())
    for name in ('udpa.db-backup', 'udpa.db-backup-journal'):
        (data / name).write_text('half of one')
    node, _ = test.start_node('plain')
    check('what a killed node has left of one is removed', not list(data.glob('udpa.db-backup*')))
    check('it ends', test.interrupt(node) == 0)
    text = ctl(test, 'restore', file, '--state', data, status=REFUSED)
    check('a store is not replaced', 'move the directory away' in text, text)
    text = ctl(test, *admin, 'backup', test.work / 'dead.db', status=NO_CONNECTION)
    config = test.work / 'memory.json'
    config.write_text(json.dumps({'node': {'id': 'memory'}, 'store': {'in_memory': True},
                                  'admin': {'sockets': [{'address': f'unix:{test.work}/memory.sock'}]}}))
    memory = test.start('memory', [test.build / 'udpad', '--listen', '127.0.0.1:0', '-c', config])
    memory.wait_for_log('names without')
    text = ctl(test, '--admin', f'unix:{test.work}/memory.sock', 'backup', test.work / 'no.db', status=REFUSED)
    check('a node that stores nothing has none', 'stores nothing' in text, text)


def test_rules(test):
    """A backup has everything, so it takes more than a look at the status."""
    for name, types, status in (('status', ['udpa.status.v1.NodeStatus', 'udpa.status.v1.RuntimeStatus'], REFUSED),
                                ('secrets', ['envoy.extensions.transport_sockets.tls.v3.Secret'], GOOD)):
        Node(test, name, {'acl': {'rules': [{'name': 'ops', 'identities': [f'unix:{os.getuid()}'], 'actions': ['ADMIN'],
                                             'types': types}]}})
        text = back_up(test, test.work / f'{name}-data', f'{name}.db', status=status)
        check('the rule decides', status == GOOD or 'takes a rule with the action ADMIN' in text, text)


def test_empty_node(test):
    """A node that begins with a backup, if it has nothing."""
    source, address = test.start_node('source')
    publish(test, address, 'first')
    file = back_up(test, test.work / 'source-data', 'empty.db')
    check('it ends', test.interrupt(source) == 0)
    node, address = test.start_node('empty', '--restore-from', file)
    check('an empty node has it', names(test, address) == {'first'} and 'had no store' in node.text(), node.text())
    publish(test, address, 'later')
    check('it ends', test.interrupt(node) == 0)
    node, address = test.start_node('empty', '--restore-from', file)
    check('what has a store keeps it', names(test, address) == {'first', 'later'} and 'is not restored' in node.text(),
          node.text())
    check('it ends', test.interrupt(node) == 0)
    file.write_bytes(file.read_bytes()[:-1])
    data = test.work / 'other-data'
    for words, more in (('is damaged', ['--state', data]), ('stores nothing', ['-c', test.work / 'memory.json'])):
        done = subprocess.run([test.build / 'udpad', '--listen', '127.0.0.1:0', '--restore-from', file, *more],
                              text=True, capture_output=True, check=False, timeout=PATIENCE_S, cwd=test.work)
        check(f'a node that cannot does not start: {words}', done.returncode != 0 and words in done.stderr, done.stderr)
    check('and has no store then', not (data / 'udpa.db').exists())


# ---- formats ----

def start_on(test, name, data, key):
    return Node(test, name, {'store': {'directory': str(data), 'keys': [{'file': str(key)}]}})


def test_formats(test):
    """The stores of all releases, as tests/data/store/make.py has made them."""
    key = test.work / 'key'
    key.write_text(FIXTURE_KEY)
    key.chmod(0o600)
    files = sorted((SOURCE / 'tests' / 'data' / 'store').glob('format-*.db'))
    check('there is one', files)
    for file in files:
        known = facts(test, file)
        check(f'{file.name} has what it had', (known['node'], known['resources'], known['secrets'], known['removals']) ==
              ('core', '2', '1', '1') and int(known['audit records']) >= 4, known)
        check('and is of its format', file.name == f"format-{known['format']}.db")
        name = file.stem
        data = test.work / f'{name}-data'
        ctl(test, 'restore', file, '--state', data)
        node = start_on(test, name, data, key)
        check('it is served', names(test, node.address) == {'kept'})
        check('with its secret', 'com.acme/secret' in ctl(test, '--server', node.address, 'get', 'secret') and
              'decrypt' not in node.process.text(), node.process.text())
        actions = ctl(test, '--admin', f'unix:{data}/admin.sock', 'audit')
        check('with its audit, that it was restored included', 'remove' in actions and 'restored from a backup' in actions,
              actions)
        publish(test, node.address, 'later')
        check('it ends', test.interrupt(node.process) == 0)
        test_downgrade(test, name, data)


def test_downgrade(test, name, data):
    """What a later release has written, with a format that this one does not know."""
    with contextlib.closing(sqlite3.connect(data / 'udpa.db')) as database, database:
        database.execute("UPDATE setting SET value = '99.1' WHERE name = 'release'")
        database.execute('PRAGMA user_version = 99')
    before = (data / 'udpa.db').read_bytes()
    done = subprocess.run([test.build / 'udpad', '--listen', '127.0.0.1:0', '--node-id', name, '--state', data],
                          text=True, capture_output=True, check=False, timeout=PATIENCE_S)
    check('an older udpad refuses it, with the versions', done.returncode == 1 and
          'release 99.1, format 99; this is release' in done.stderr and 'formats up to' in done.stderr, done.stderr)
    check('and leaves it as it is', (data / 'udpa.db').read_bytes() == before)
    text = ctl(test, 'backup', 'status', data / 'udpa.db', status=REFUSED)
    check('so does udpactl', 'newer udpad (format 99' in text, text)


def body(test):
    if test.arguments.variant == 'story':
        test_taken_back(test)
        test_held(test)
        test_converges(test)
    else:
        test_errors(test)
        test_rules(test)
        test_empty_node(test)
        test_formats(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, ('story', 'errors')))
