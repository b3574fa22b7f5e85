#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node with workers: several processes on one port that are one node to everybody outside."""
import argparse
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

from product import Failure, check, main

PATIENCE_S = 30
STEP = 64  # session numbers of one worker are so far from each other
CLUSTER = ('{{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "{}", '
           '"connect_timeout": "{}s"}}')


def children_of(pid):
    children = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii')
    return [int(child) for child in children.split()]


def has_thread(pid, name):
    return any(one.read_text(encoding='ascii').strip() == name
               for one in pathlib.Path(f'/proc/{pid}/task').glob('*/comm'))


class Node:
    """udpad with workers, and udpactl at it."""

    def __init__(self, test, name, bootstrap, workers=2):
        whole = {'node': {'id': name}, 'store': {'in_memory': True}, 'workers': workers,
                 'shim': {'namespaces': ['com.acme']}, 'sockets': [{'address': '127.0.0.1:0'}],
                 **bootstrap}
        self.test, self.options = test, []
        self.file = test.work / f'{name}.json'
        self.write(whole)
        self.process = test.start(name, [test.build / 'udpad', '-c', self.file])
        line = self.process.wait_for_log('listening on ')
        self.address = re.search(r'listening on ([^\s,]+)', line).group(1)

    def write(self, whole):
        self.whole = whole
        self.file.write_text(json.dumps(whole), encoding='utf-8')

    def pid(self):
        return self.process.process.pid

    def workers(self):
        return children_of(self.pid())

    def run(self, *arguments, given=None, options=()):
        return subprocess.run(
            [str(part) for part in (self.test.build / 'udpactl', '--server', self.address,
                                    *options, *arguments)],
            input=given, text=True, capture_output=True, check=False, timeout=PATIENCE_S)

    def ctl(self, *arguments, given=None, options=()):
        done = self.run(*arguments, given=given, options=options)
        if done.returncode != 0:
            raise Failure(f'{arguments}: {done.returncode}: {done.stdout}{done.stderr}')
        return done.stdout


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = pathlib.Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rpartition(')')[2]
    return state.split()[0] != 'Z'


def wait_until(what, condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise Failure(f'not within {PATIENCE_S} s: {what}')
        time.sleep(0.02)
    print(f'ok: {what}', flush=True)


# ---- one node ----

def session_numbers(told):
    return [int(one['resource']['id']) for one in json.loads(told)]


def start_load(node, *options):
    return subprocess.Popen(
        [str(part) for part in (node.test.build / 'udpactl', '--server', node.address, 'bench',
                                '--publish', '--streams', 20, '--resources', 10, '--rate', 50,
                                '--seconds', 60, '--changes', 100000, *options)],
        stdout=subprocess.DEVNULL)


def check_one_node(test):
    """What one worker takes in all of them serve, and the status is that of all."""
    node = Node(test, 'together', {})
    check('as many processes as workers', len(node.workers()) == 2, node.workers())
    node.ctl('apply', '-f', '-', given=CLUSTER.format('one', 1))
    shown = {node.ctl('get', 'cluster', 'one', '-o', 'json') for _ in range(12)}
    check('whoever asks, by whatever connection, is told the same', len(shown) == 1, shown)
    with start_load(node) as load:
        try:
            def spread():
                told = node.ctl('status', 'sessions', '-o', 'json')
                numbers = session_numbers(told)
                return len(numbers) >= 21 and {n % STEP for n in numbers} == {1, 2}
            wait_until('streams of both workers are in the status', spread)
            said = node.ctl('apply', '--wait', '--at-least', '0', '-f', '-',
                            given=CLUSTER.format('two', 2))
            check('and may be waited for', 'two' in said, said)
        finally:
            load.terminate()
            load.wait(PATIENCE_S)
    node.process.wait_for_log("info client: connected: node 'udpactl', peer 127.0.0.1:")
    node.process.wait_for_log("info client: disconnected: node 'udpactl', peer 127.0.0.1:")
    node.ctl('delete', 'cluster', 'one')
    for _ in range(6):
        check('what is deleted is gone everywhere',
              node.run('get', 'cluster', 'one').returncode != 0)
    return node


def check_wait_for_all(test):
    """Acknowledgements of the streams of all workers are counted."""
    node = Node(test, 'waiting', {})
    with start_load(node) as load:
        try:
            wait_until('20 streams are open', lambda: len(session_numbers(
                node.ctl('status', 'sessions', '-o', 'json'))) >= 21)
            said = node.ctl('wait', 'endpoint', '000001', '--at-least', 20, '-o', 'json')
            told = json.loads(said)
            told = told[0] if isinstance(told, list) else told
            check('all 20 have acknowledged', '20' in json.dumps(told), said)
        finally:
            load.terminate()
            load.wait(PATIENCE_S)


# ---- the end ----

def check_ends(test):
    node = check_one_node(test)
    workers = node.workers()
    check('SIGINT ends it well', test.interrupt(node.process) == 0)
    check('  and its workers', not any(is_alive(pid) for pid in workers), workers)
    node = Node(test, 'bereaved', {})
    workers = node.workers()
    os.kill(workers[0], signal.SIGKILL)
    status = node.process.process.wait(PATIENCE_S)
    text = node.process.log.read_text(encoding='utf-8')
    check('a lost worker ends the node', status == 1, status)
    check('  which says so', re.search(r'worker \d was ended by signal 9', text), text)
    wait_until('  and the other one', lambda: not any(is_alive(pid) for pid in workers))
    node = Node(test, 'killed', {})
    workers = node.workers()
    node.process.process.kill()
    node.process.process.wait(PATIENCE_S)
    wait_until('workers do not outlive their node',
               lambda: not any(is_alive(pid) for pid in workers))


def check_ended_early(test):
    """While the node waits for a worker to listen."""
    file = test.work / 'early.json'
    file.write_text(json.dumps({'workers': 2, 'store': {'in_memory': True},
                                'sockets': [{'address': '127.0.0.1:0'}]}), encoding='utf-8')
    process = test.start('early', [test.build / 'udpad', '-c', file])
    pid = process.process.pid
    wait_until('both workers run', lambda: len(children_of(pid)) == 2)
    first, second = children_of(pid)
    os.kill(second, signal.SIGSTOP)
    wait_until('one listens', lambda: has_thread(first, 'udpa-accept'))
    check('  and the other one does not', not has_thread(second, 'udpa-accept'))
    os.kill(pid, signal.SIGTERM)
    process.wait_for_log('SIGTERM: shutting down')
    os.kill(second, signal.SIGCONT)
    check('a node that waits for a worker ends well', process.process.wait(PATIENCE_S) == 0)


def check_mistakes(test):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        address = f'127.0.0.1:{taken.getsockname()[1]}'
        file = test.work / 'taken.json'
        file.write_text(json.dumps({'workers': 2, 'store': {'in_memory': True},
                                    'sockets': [{'address': address}]}), encoding='utf-8')
        done = subprocess.run([test.build / 'udpad', '-c', file], text=True, capture_output=True,
                              check=False, timeout=PATIENCE_S)
        check('an address that is taken', done.returncode == 1 and
              f'cannot listen on {address}: Address already in use' in done.stderr, done)
    first = Node(test, 'first', {})
    file.write_text(json.dumps({'workers': 2, 'store': {'in_memory': True},
                                'sockets': [{'address': first.address}]}), encoding='utf-8')
    done = subprocess.run([test.build / 'udpad', '-c', file], text=True, capture_output=True,
                          check=False, timeout=PATIENCE_S)
    check('also by another node with workers', done.returncode == 1 and
          'Address already in use' in done.stderr, done)
    file.write_text(json.dumps({'workers': 64}), encoding='utf-8')
    done = subprocess.run([test.build / 'udpad', '--check', '-c', file], text=True,
                          capture_output=True, check=False, timeout=PATIENCE_S)
    check('too many workers', done.returncode == 2 and
          'workers: 64 are too many: at most 63' in done.stderr, done)


# ---- rules ----

def rules(*names):
    return {'rules': [{'name': name, 'identities': [name], 'namespaces': ['com.acme'],
                       'actions': ['PUBLISH', 'SUBSCRIBE']} for name in names]}


def check_rules(test):
    """The rules hold for what comes by any worker, and others do from when the file is replaced."""
    ca = test.work / 'ca'
    for name in ('server', 'good', 'other'):
        subprocess.run([test.arguments.ca, ca, name], check=True, capture_output=True)
    node = Node(test, 'guarded', {
        'acl': rules('good'),
        'sockets': [{'address': '127.0.0.1:0', 'tls': {
            'certificate_file': str(ca / 'server.crt'), 'private_key_file': str(ca / 'server.key'),
            'client_ca_file': str(ca / 'ca.crt')}}]})
    as_good, as_other = (('--ca', ca / 'ca.crt', '--cert', ca / f'{name}.crt', '--key',
                          ca / f'{name}.key') for name in ('good', 'other'))
    for i in range(6):
        node.ctl('-n', 'com.acme', 'apply', '-f', '-', given=CLUSTER.format('x', i + 1),
                 options=as_good)
        refused = node.run('-n', 'com.acme', 'apply', '-f', '-', given=CLUSTER.format('x', 9),
                           options=as_other)
        check('who may publish does, who may not does not', refused.returncode != 0 and
              "other may not publish 'com.acme/x'" in refused.stderr, refused)
        refused = node.run('-n', 'com.acme', 'get', 'cluster', 'x', options=as_other)
        check('  nor is he shown it', refused.returncode != 0, refused)
    node.write({**node.whole, 'acl': rules('good', 'other')})
    node.process.process.send_signal(signal.SIGHUP)
    wait_until('other rules hold', lambda: all(
        node.run('-n', 'com.acme', 'get', 'cluster', 'x', options=as_other).returncode == 0
        for _ in range(6)))
    before = {leaf(node, ca) for _ in range(8)}
    replace_certificate(test, ca)
    node.process.process.send_signal(signal.SIGHUP)
    wait_until('other certificates are shown by all workers', lambda: not before & {
        leaf(node, ca) for _ in range(12)})


def replace_certificate(test, ca):
    (ca / 'server.crt').unlink()
    (ca / 'server.key').unlink()
    subprocess.run([test.arguments.ca, ca, 'server'], check=True, capture_output=True)


def leaf(node, ca):
    """The certificate that somebody who connects is shown."""
    told = subprocess.run(
        ['openssl', 's_client', '-connect', node.address, '-CAfile', ca / 'ca.crt', '-cert',
         ca / 'good.crt', '-key', ca / 'good.key', '-alpn', 'h2'],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace', check=False,
        timeout=PATIENCE_S)
    found = re.search(r'-----BEGIN CERTIFICATE-----.*?-----END', told.stdout, re.DOTALL)
    if not found:
        raise Failure(f'no certificate: {told.stdout[-300:]}{told.stderr[-300:]}')
    return found.group(0)


def body(test):
    if test.arguments.variant == 'more':
        check_wait_for_all(test)
        check_ended_early(test)
        check_mistakes(test)
        return
    check_ends(test)
    check_rules(test)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    PARSER.add_argument('--ca', type=pathlib.Path, required=True)
    sys.exit(main(PARSER, body, ('usual', 'more')))
