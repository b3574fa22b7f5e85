#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A restart without a gap, of all kinds of sockets: a port, a unix socket, one that was passed to the process, REST, and
administration. Who connects all the while is served by one process or the other. The service manager has the new process as
the main one. (workers: of a node that has some. memory: of a node that keeps nothing, and that does not serve before it has what its source has.)"""
import argparse
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from product import LocalConnection, Process, check, main, need_descriptors, wait_for
from succession import Succession
from test_service import Manager

CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
N = 3


class Asker(threading.Thread):
    """Connects anew for each question, all the while."""

    def __init__(self, connect, path):
        super().__init__(daemon=True)
        self.connect, self.path = connect, path
        self.n, self.failures = 0, []
        self.stopped = threading.Event()
        self.start()

    def ask(self):
        connection = self.connect()
        connection.request('GET', self.path)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        if answer.status != 200:
            raise OSError(f'status {answer.status}')

    def run(self):
        while not self.stopped.is_set():
            try:
                self.ask()
                self.n += 1
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
            time.sleep(0.005)


class Caller(Asker):
    """The same by gRPC: udpactl get."""

    def __init__(self, test, address):
        self.command = [test.build / 'udpactl', '--server', address, 'get', 'cluster', 'one', '-o', 'json']
        super().__init__(None, None)

    def ask(self):
        found = subprocess.run(self.command, capture_output=True, text=True, timeout=60, check=False)
        if found.returncode or '"one"' not in found.stdout:
            raise OSError(f'{found.returncode}: {found.stderr}{found.stdout}')


def start(test, manager, passed):
    """What is passed has the number 3, as with systemd."""
    (test.work / 'resources').mkdir()
    (test.work / 'resources' / 'one.json').write_text(json.dumps({'@type': CLUSTER, 'name': 'one', 'connect_timeout': '1s'}))
    config = {'sockets': [{'address': '127.0.0.1:0'}, {'address': f'unix:{test.work}/streams.sock'}, {'address': 'fd:passed'}],
              'http': {'sockets': [{'address': '127.0.0.1:0'}], 'open_pages': ['HEALTH']},
              'static_resources': {'directories': [{'path': str(test.work / 'resources')}]},
              'descriptor_sets': [str(test.build / 'envoy-v3.descriptors')], 'timing': {'drain_time': '1s'},
              'store': {'directory': str(test.work / 'data')}, 'audit': {},
              **({'workers': 2} if test.arguments.variant == 'workers' else {})}
    (test.work / 'node.json').write_text(json.dumps(config))
    log = open(test.work / 'node.log', 'ab')
    process = Process.__new__(Process)
    process.log, process.begin = test.work / 'node.log', 0
    command = ['sh', '-c', f'exec 3<&{passed.fileno()}; LISTEN_PID=$$ exec "$@"', 'sh', test.build / 'udpad', '-c', test.work / 'node.json', '--restored']
    process.process = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=(passed.fileno(),), env={
        **os.environ, 'LISTEN_FDS': '1', 'LISTEN_FDNAMES': 'passed', 'NOTIFY_SOCKET': manager.address,
        'WATCHDOG_USEC': '20000000'})
    test.processes.append(process)
    return process


def main_process(manager):
    """The one that is managed from now on, by the one before; nobody stops."""
    return int(manager.wait_for('another process is the main one', lambda got: 'MAINPID' in got, but=('STOPPING',))['MAINPID'])


def check_sockets(test):
    need_descriptors(test)
    manager = Manager(str(test.work / 'notify.sock'))
    passed = socket.create_server(('127.0.0.1', 0))
    node = start(test, manager, passed)
    succession = Succession(node)
    try:
        play(test, node, succession, manager)
    finally:
        succession.end()
    check('a unix socket goes with the last process', not (test.work / 'streams.sock').exists())
    check('and the one of administration', not (test.work / 'data' / 'admin.sock').exists())


def play(test, node, succession, manager):
    line = node.wait_for_log('over REST')
    addresses = re.findall(r'listening on ([^\s,]+)', node.text())
    http_port = int(re.search(r'127\.0\.0\.1:(\d+) ', line)[1])
    manager.wait_for('it is ready', lambda got: 'READY' in got, but=('STOPPING', 'MAINPID'))
    askers = [Asker(lambda: http.client.HTTPConnection('127.0.0.1', http_port, timeout=30), '/readyz'),
              Asker(lambda: LocalConnection(test.work / 'data' / 'admin.sock'), '/config')]
    askers += [Caller(test, address) for address in addresses[:3]]
    for i in range(N):
        before = [asker.n for asker in askers]
        wait_for('all are answered', lambda before=before: all(asker.n > n for asker, n in zip(askers, before)), 60)
        succession.restart()
        check('it is the one that serves', main_process(manager) == succession.pid)
        manager.wait_for('it is ready, and feeds the watchdog', lambda got: 'READY' in got and 'WATCHDOG' in got, but=('STOPPING',))
    before = [asker.n for asker in askers]
    wait_for('all are answered', lambda: all(asker.n > n + 1 for asker, n in zip(askers, before)), 60)
    for asker in askers:
        asker.stopped.set()
    for asker in askers:
        asker.join()
        check(f'{asker.n} questions by {addresses}: none has failed', not asker.failures, asker.failures[:3])
    succession.wait_until_left()
    records = subprocess.run([test.build / 'udpactl', '--admin', f'unix:{test.work}/data/admin.sock', 'audit'], text=True,
                             capture_output=True, timeout=60, check=False).stdout
    check('--restored was for the first process', records.count(' restore ') == 1, records)
    check('all processes ended well', succession.statuses == [0] * N, succession.statuses)
    check('the files of unix sockets are there', (test.work / 'streams.sock').is_socket())
    lines = [line for line in node.text().splitlines() if ' error ' in line or ' warning ' in line]
    check('nothing is wrong', not [line for line in lines if 'started with --restored' not in line], lines)


def check_memory(test):
    """The source is held for a while: the process before it serves for as long."""
    need_descriptors(test)
    folder = test.work / 'resources'
    folder.mkdir()
    (folder / 'one.json').write_text(json.dumps({'@type': CLUSTER, 'name': 'one', 'connect_timeout': '1s'}))
    above, address = test.start_node('above', '--resources', folder)
    node, own = test.start_below('node', {'store': {'in_memory': True}, 'timing': {'drain_time': '1s'}}, address, [CLUSTER])
    succession = Succession(node)
    caller = Caller(test, own)
    try:
        wait_for('it is served', lambda: caller.n > 1, 60)
        above.process.send_signal(signal.SIGSTOP)
        succession.send(signal.SIGUSR2)
        node.wait_for_log('is to take over')
        n = caller.n
        wait_for('the process before serves', lambda: caller.n > n + 2, 60)
        check('as long as the new one has nothing', succession.n_served() == 0)
        above.process.send_signal(signal.SIGCONT)
        node.wait_for_log('serves: this one ends')
        succession.note()
        n = caller.n
        wait_for('the new one serves', lambda: caller.n > n + 2, 60)
        caller.stopped.set()
        caller.join()
        check(f'{caller.n} questions: none has failed', not caller.failures, caller.failures[:3])
    finally:
        succession.end()


def body(test):
    (check_memory if test.arguments.variant == 'memory' else check_sockets)(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body, ('sockets', 'workers', 'memory')))
