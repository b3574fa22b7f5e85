#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The audit as an operator and an auditor meet it: what is in it, by whom; in the database, a file and journald; over
restarts, crashes and a full disk; and what becomes of a file that somebody has changed."""
import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time

from product import PATIENCE_S, admin_page, check, main, wait_for

GOOD, REFUSED, MISTAKE = range(3)
STRING = 'google.protobuf.StringValue'
TRIGGER = "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room for a record'); END"
KEPT = "SELECT count(*) FROM contribution WHERE name = 'com.acme/d' AND origin LIKE 'publisher:%'"


def resource_of(name, value):
    return f'name: {name}\nresource:\n  "@type": type.googleapis.com/{STRING}\n  value: "{value}"\n'


class Node:
    def __init__(self, test, name, config, limit=None):
        self.test, self.name, self.limit = test, name, limit
        self.file = test.work / f'{name}.json'
        self.data = test.work / f'{name}-data'
        self.write({'node': {'id': name}, 'sockets': [{'address': '127.0.0.1:0'}],
                    'admin': {'sockets': [{'address': f'unix:{test.work}/{name}.sock'}]}, **config})
        self.start()

    def write(self, config):
        self.config = config
        self.file.write_text(json.dumps(config))

    def start(self):
        command = [self.test.build / 'udpad', '-c', self.file]
        if not self.config.get('store', {}).get('in_memory'):
            command += ['--state', self.data]
        self.process = self.test.start(self.name, command)
        wait_for('the whole banner', lambda: 'names without' in self.process.text() or
                 self.process.process.poll() is not None)
        check(f'{self.name} runs', self.process.process.poll() is None, self.process.text())
        self.address = re.search(r'listening on ([\d.:]+)', self.process.text())[1]

    def ctl(self, *arguments, status=GOOD, text=None):
        done = subprocess.run([str(part) for part in (
            self.test.build / 'udpactl', '--server', self.address, '--admin', f'unix:{self.test.work}/{self.name}.sock',
            *arguments)], input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        check(f'udpactl {" ".join(map(str, arguments))[:60]}: {status}', done.returncode == status,
              f'{done.returncode}\n{done.stdout}{done.stderr}')
        return done.stderr if status else done.stdout

    def kill(self):
        self.process.process.send_signal(signal.SIGKILL)
        self.process.process.wait()

    def lease(self, *names):
        return self.ctl('apply', '-f', '-', text='---\n'.join(lease_of(name) for name in names))

    def let_expire(self):
        """The clock passes while the node is down."""
        with contextlib.closing(sqlite3.connect(self.data / 'udpa.db')) as database, database:
            database.execute('UPDATE contribution SET expires_us = 1 WHERE expires_us > 0')

    def ended(self):
        """Behind a publication, which is committed after it."""
        self.publish('com.acme/barrier', str(time.monotonic()))
        return [one['name'] for one in self.records('--limit', '1000') if one['action'] == 'end']

    def publish(self, name, value, status=GOOD):
        return self.ctl('apply', '-f', '-', status=status, text=resource_of(name, value))

    def records(self, *arguments):
        return json.loads(self.ctl('audit', '-o', 'json', *arguments))

    def page(self, path, *more):
        return admin_page(self.process, path, *more)


def lease_of(name):
    return f'ttl: 3600s\n{resource_of(name, "leased")}'


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def verify(test, *files, status=GOOD):
    done = subprocess.run([test.build / 'udpactl', 'audit', 'verify', *files], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    check(f'verify: {status}', done.returncode == status, f'{done.returncode}\n{done.stdout}{done.stderr}')
    return done.stderr if status else done.stdout


def test_records(test):
    file = test.work / 'audit.jsonl'
    node = Node(test, 'kept', {'audit': {'file': str(file)}, 'acl': {'rules': [
        {'name': 'everybody', 'identities': ['*'], 'actions': ['PUBLISH', 'SUBSCRIBE', 'ADMIN'],
         'namespaces': ['com.acme', 'udpa.node']}]}})
    node.publish('com.acme/a', '1')
    node.publish('com.acme/a', '1')  # which changes nothing
    node.publish('com.acme/a', '2')
    node.publish('org.other/b', '1', status=REFUSED)
    node.ctl('delete', STRING, 'com.acme/a')
    node.ctl('runtime', 'set', 'x=1')
    node.config['acl']['rules'][0]['name'] = 'all'
    node.write(node.config)
    node.process.process.send_signal(signal.SIGHUP)
    wait_for('the reload is recorded', lambda: 'reload' in node.ctl('audit'))
    records = node.records()
    check('each change has one record, in order',
          [(one['action'], one.get('name')) for one in records] ==
          [('publish', 'com.acme/a'), ('publish', 'com.acme/a'), ('remove', 'com.acme/a'), ('admin', None),
           ('reload', None)], records)
    first, _, removed, admin, reload = records
    check('with who, from where, and by which rule', first['actor'] == 'udpactl' and not first['proven'] and
          first['peer'] == 'udpactl' and first['address'].startswith('127.0.0.1:') and first['rule'] == 'everybody' and
          first['node'] == 'kept', first)
    check('with what', first['type'].endswith(STRING) and first['version'] and first['generation'], first)
    check('a removal has these, too', removed['rule'] == 'everybody' and removed['generation'], removed)
    check('what an administrator does has a user', admin['actor'] == f'unix:{os.getuid()}' and admin['proven'] and
          admin['reason'] == '/runtime_modify?x=1', admin)
    check('a reload names the file', reload['actor'] == 'node' and reload['reason'] == str(node.file), reload)
    test_questions(node)
    test_file(test, node, file)


def test_questions(node):
    check('by name', len(node.records('--name', 'com.acme/*')) == 3 and not node.records('--name', 'org.*'))
    check('by identity', len(node.records('--identity', 'unix:*')) == 1)
    check('the last ones', [one['action'] for one in node.records('--limit', '2')] == ['admin', 'reload'])
    check('of a time', len(node.records('--since', '1h')) == 5)
    table = node.ctl('audit')
    check('as a table', re.search(r'publish +udpactl +StringValue +com.acme/a +\S+ +everybody', table), table)
    check('in parts', json.loads(node.page('/audit?limit=2&after=1')[1])['next'] == 3)
    status, text, _ = node.page('/audit?limit=0')
    check('a question that means nothing', status == 400 and text.startswith('usage: '), text)


def test_file(test, node, file):
    wait_for('all is in the file', lambda: len(lines_of(file)) == 5)
    check('which is whole', '5 records, number 1 to 5' in verify(test, file))
    moved = test.work / 'audit.1.jsonl'
    file.rename(moved)
    node.process.process.send_signal(signal.SIGUSR1)
    wait_for('a new one is there', file.exists)
    node.publish('com.acme/b', '1')
    wait_for('and has what comes', lambda: len(lines_of(file)) == 1)
    check('both together are whole', '6 records' in verify(test, moved, file))
    check('the second one begins inside', 'another file' in verify(test, file))
    node.process.process.send_signal(signal.SIGKILL)
    node.process.process.wait()
    node.start()
    node.publish('com.acme/c', '1')
    wait_for('after a crash it goes on', lambda: any('com.acme/c' in line for line in lines_of(file)))
    check('and is whole', 'each follows' in verify(test, moved, file))
    check('the database has all', len(node.records()) == 7)
    (test.work / 'kept-data' / 'audit-file').unlink()  # how far it was is lost
    check('the node ends', test.interrupt(node.process) == 0)
    node.start()
    wait_for('all comes again', lambda: len(lines_of(file)) == 2 + 7)
    check('which is no error', '7 were written twice' in verify(test, moved, file))
    test_changed(test, moved, file)


def test_changed(test, moved, file):
    """An auditor sees it."""
    lines = lines_of(moved)
    changed = test.work / 'changed.jsonl'
    for what, text in (('changed', [lines[0], lines[1].replace('udpactl', 'nobody'), *lines[2:]]),
                       ('taken out', [lines[0], *lines[2:]]), ('put in', [lines[0], lines[1].replace('com.acme/a', 'com.acme/z'), *lines[1:]]),
                       ('exchanged', [lines[0], lines[2], lines[1], *lines[3:]]), ('no line', [lines[0], 'x'])):
        changed.write_text('\n'.join(text) + '\n')
        message = verify(test, changed, status=REFUSED)
        check(f'a line that was {what} is found', re.search(r'changed\.jsonl:\d: ', message), message)


def test_full(test):
    """A file that cannot be written costs nothing but itself; without a store it is all there is."""
    node = Node(test, 'waiting', {'audit': {'file': '/dev/full'}})
    node.publish('com.acme/a', '1')
    wait_for('it is logged', lambda: 'records of the audit cannot be written' in node.process.text())
    wait_for('and counted', lambda: re.search(r'^udpa_audit_output_behind 1$', node.page('/metrics')[1], re.M))
    check('the database has it', len(node.records()) == 1)
    memory = Node(test, 'memory', {'store': {'in_memory': True}, 'audit': {'file': '/dev/full'}})
    check('a publication is rejected with the reason',
          'could not be kept' in memory.publish('com.acme/a', '1', status=REFUSED))
    check('which the log has', 'so publications are rejected' in memory.process.text(), memory.process.text())
    check('nothing has changed', 'com.acme/a' not in memory.ctl('get'))


def test_memory(test):
    file = test.work / 'memory.jsonl'
    node = Node(test, 'volatile', {'store': {'in_memory': True}, 'audit': {'file': str(file)}})
    node.publish('com.acme/a', '1')
    check('a receipt comes behind its record', len(lines_of(file)) == 1 and 'com.acme/a' in lines_of(file)[0])
    check('udpactl says where it is', str(file) in node.ctl('audit', status=REFUSED))
    node.process.process.send_signal(signal.SIGKILL)
    node.process.process.wait()
    node.start()
    node.publish('com.acme/b', '1')
    check('it goes on after a restart', '2 records, number 1 to 2' in verify(test, file))
    check('what was published before is gone', 'com.acme/a' not in node.ctl('get'))


def test_store_full(test):
    """The transaction has both or none: a disk that is full rejects the publication."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512 << 10, before[1]))
    try:
        node = Node(test, 'full', {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    done = 0
    for number in range(100):
        text = resource_of(f'com.acme/r{number}', 'x' * 30000)
        run = subprocess.run([node.test.build / 'udpactl', '--server', node.address, 'apply', '-f', '-'], input=text,
                             capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if run.returncode:
            break
        done += 1
    check('at last one is rejected, with the reason', 0 < done < 100 and 'could not be kept' in run.stderr, run.stderr)
    names = {one['name'] for one in node.records('--limit', '1000')}
    check('what was accepted is recorded, and no more', names == {f'com.acme/r{i}' for i in range(done)}, names)


def test_ended(test):
    """What has ended while the node was down is recorded once, however often it is started."""
    node = Node(test, 'leases', {})
    node.lease('com.acme/a', 'com.acme/b')
    node.publish('com.acme/c', '1')
    node.kill()
    node.start()
    check('what has time left stays', not node.ended() and 'com.acme/a' in node.ctl('get'))
    node.kill()
    node.let_expire()
    for number in range(2):
        node.start()
        check(f'start {number}: it is recorded', sorted(node.ended()) == ['com.acme/a', 'com.acme/b'], node.ended())
        served = node.ctl('get')
        check('and not served', 'com.acme/c' in served and 'com.acme/a' not in served, served)
        node.kill()
    node.start()
    last = [one for one in node.records() if one['action'] == 'end'][-1]
    check('as while the node is up', last['actor'] == 'node' and last['proven'] and last['node'] == 'leases' and
          last['reason'] == 'its ttl has ended' and last['type'].endswith(STRING), last)
    test_ended_unwritten(node)


def test_ended_unwritten(node):
    """A database that takes no record: then what the record is of stays, too, until one can be written."""
    node.lease('com.acme/d')
    node.kill()
    node.let_expire()
    with contextlib.closing(sqlite3.connect(node.data / 'udpa.db')) as database:
        database.execute(TRIGGER)
        database.commit()
    node.start()
    wait_for('that it cannot be kept is logged', lambda: 'could not keep' in node.process.text())
    check('nothing is recorded', not node.records('--name', 'com.acme/d')[1:])
    check('it is served no more', 'com.acme/d' not in node.ctl('get'))
    node.kill()
    with contextlib.closing(sqlite3.connect(node.data / 'udpa.db')) as database:
        check('it is still kept', database.execute(KEPT).fetchone() == (1,))
        database.execute('DROP TRIGGER full')
        database.commit()
    for number in range(2):
        node.start()
        check(f'start {number}: it is recorded', node.ended().count('com.acme/d') == 1, node.ended())
        node.kill()
    with contextlib.closing(sqlite3.connect(node.data / 'udpa.db')) as database:
        check('it is kept no more', database.execute(KEPT).fetchone() == (0,))


def test_journald(test):
    path = test.work / 'journald'
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(str(path))
    journal.settimeout(PATIENCE_S)
    node = Node(test, 'journal', {'log': {'journald_socket': str(path), 'to': 'stderr'}, 'audit': {'journald': True}})
    node.publish('com.acme/a', '1')
    record = journal.recv(65536).decode()
    check('journald has it', record.startswith('MESSAGE={"seq":1,') and
          '\nSYSLOG_IDENTIFIER=udpad-audit\n' in record and 'com.acme/a' in record, record)
    journal.close()
    path.unlink()
    node.publish('com.acme/b', '1')
    wait_for('one that is away is logged', lambda: 'journald: records of the audit cannot' in node.process.text())
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(str(path))
    journal.settimeout(PATIENCE_S)
    check('it comes when that is back', 'com.acme/b' in journal.recv(65536).decode())
    journal.close()


def test_off(test):
    node = Node(test, 'off', {'audit': {'off': True}})
    node.publish('com.acme/a', '1')
    check('udpactl says that nothing is recorded', 'audit.off' in node.ctl('audit', status=REFUSED))


def body(test):
    test_records(test)
    test_ended(test)
    test_memory(test)
    test_full(test)
    test_store_full(test)
    test_journald(test)
    test_off(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
