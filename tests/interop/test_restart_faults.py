#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A restart whose new process hangs, dies, or says nonsense, at each step: the process that is there goes on as if nothing had
been. It has its store again, publications that have waited get their receipts, who connects is served, and so are those that
were there; its source is connected again. It logs why."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import interop
from interop import check, wait_for

import restarts
import udpactl
import xds_peer
from test_envoy_drain import write
from test_envoy_restart import CLUSTER, provider

HERE = pathlib.Path(__file__).parent
STEP = 'it does not follow the steps of a restart'
# What the new process does; what is logged; do peers that publish have to come back?
CASES = (
    ('hang', 'it takes longer than timing.hand_over_timeout, 1 s', False),
    ('die', 'it has ended with status 7', False),
    ('close', 'it takes longer than', False),
    ('garbage', 'it sends what is no frame', False),
    ('long', 'it sends what is no frame', False),
    ('kind', 'what it sends is no step of a restart', False),
    ('other', 'it would be another node', False),
    ('serves', STEP, False),
    ('failed', 'its tea is cold', False),
    ('checked,hang', 'it takes longer than', False),
    ('checked,die', 'it has ended with status 7', False),
    ('checked,serves', STEP, False),
    ('checked,lock,die', 'it has ended with status 7', False),
    ('checked,lock,hang', 'it takes longer than', False),
    ('checked,ready,hang', 'it takes longer than', True),
    ('checked,ready,die', 'it has ended with status 7', True),
    ('checked,ready,failed', 'its tea is cold', True),
    ('checked,ready,garbage', 'it sends what is no frame', True),
)


class Node(interop.Node):
    """One that starts the false successor in its place; what that does can be changed."""

    def __init__(self, test, port, bootstrap):
        self.name, self.deeds = 'node', test.work / 'deeds'
        state = test.work / 'node-data'
        program = test.work / 'udpad'
        identity = f'node id node, state {state}, workers 0, transport OWN'
        program.write_text(f'#!/bin/sh\nFALSE_SUCCESSOR=$(cat {self.deeds}) PROGRAM={test.build}/udpad LOCK={state}/udpa.lock '
                           f'IDENTITY="{identity}" exec {sys.executable} {HERE}/false_successor.py "$@"\n', encoding='utf-8')
        program.chmod(0o755)
        command = ['bash', '-c', f'exec -a {program} {test.build}/udpad "$@"', 'bash', '--node-id', 'node', '--state', str(state),
                   '--listen', f'127.0.0.1:{port}', '-c', str(bootstrap)]
        interop.Process.__init__(self, command, test.work / 'node.log')
        test.processes.append(self)
        self.wait_for_log('listening on ')
        self.address, self.port = f'127.0.0.1:{port}', port

    def restart(self, deeds):
        self.deeds.write_text(deeds, encoding='utf-8')
        self.process.send_signal(signal.SIGUSR2)


def start(test):
    above_port, port = interop.free_ports(2)
    folder = test.work / 'above'
    folder.mkdir()
    (test.work / 'resources').mkdir()
    descriptors = [str(udpactl.descriptors(test))]
    write(folder / 'clusters.json', [{'@type': CLUSTER, 'name': 'above', 'connect_timeout': '1s'}])
    write(test.work / 'above.json', {'static_resources': {'directories': [{'path': str(folder)}]}, 'descriptor_sets': descriptors})
    above = interop.Node(test, 'above', above_port, test.work / 'above.json')
    write(test.work / 'node.json', {
        'static_resources': {'config_sources': [{'name': 'above', 'udpa': {'address': above.address}}]},
        'providers': provider('above'), 'descriptor_sets': descriptors,
        'timing': {'hand_over_timeout': '1s', 'backoff_base': '0.1s'}, 'audit': {}})
    return above, folder, Node(test, port, test.work / 'node.json')


def wait_until_alone(node):
    children = pathlib.Path(f'/proc/{node.process.pid}/task/{node.process.pid}/children')
    wait_for('the last attempt is over', lambda: not children.read_text(encoding='utf-8').strip(), 10)


def check_case(node, folder, number, publisher, client, case):
    deeds, why, must_come_back = case
    n_streams, n_own, n_receipts = publisher.n_streams, client.n_streams, publisher.n_receipts
    n_lines = node.text().count('does not take over')
    node.restart(deeds)
    wait_for('it goes on', lambda: node.text().count('does not take over') > n_lines, 10)
    line = [line for line in node.text().splitlines() if 'does not take over' in line][-1]
    check(f'{deeds}: it logs why: {line}', why in line and ' error restart: ' in line)
    wait_until_alone(node)
    n_receipts = publisher.n_receipts
    wait_for('publications go on', lambda: publisher.n_receipts > n_receipts + 2, 20)
    check(f'{deeds}: publishers came back: {publisher.n_streams - n_streams}', (publisher.n_streams > n_streams) == must_come_back)
    write(folder / 'clusters.json', [{'@type': CLUSTER, 'name': name, 'connect_timeout': '1s'}
                                     for name in ('above', f'above-{number}')])
    wait_for('its source goes on', lambda: f'above-{number}' in client.has, 20)
    check(f'{deeds}: the client was not disturbed', client.n_streams == n_own)
    with xds_peer.Client(node.address, node_id=f'new-{number}') as late:
        late.send(xds_peer.CLUSTER)
        check(f'{deeds}: who comes is served', len(late.receive().resources) >= 2)


def body(test):
    _, folder, node = start(test)
    client = restarts.Client(node.address, 'client')
    publisher = restarts.Publisher(test.build, node.address, 'published')
    wait_for('publications', lambda: publisher.n_receipts > 3 and len(client.has) == 2, 20)
    for number, case in enumerate(CASES):
        check_case(node, folder, number, publisher, client, case)
    check_twice(node)
    check_no_program(test, node)
    publisher.stop()
    check(f'no publication was rejected: {publisher.refused[:3]}', not publisher.refused)
    check(f'nothing was sent twice: {client.resent()}', not client.resent())
    client.stop()
    check_end_meanwhile(test, node, publisher)
    check_container(test)


def check_twice(node):
    n_begun = node.text().count('is to take over')
    node.restart('hang')
    wait_for('a restart begins', lambda: node.text().count('is to take over') > n_begun, 10)
    node.process.send_signal(signal.SIGUSR2)
    node.wait_for_log('no restart: a restart is under way')
    node.process.send_signal(signal.SIGHUP)
    node.wait_for_log('SIGHUP: not while another process takes over')
    n_lines = node.text().count('does not take over')
    wait_for('it goes on', lambda: node.text().count('does not take over') > n_lines, 10)
    check('a second request, and a reload, do not disturb the first', node.process.poll() is None)


def check_no_program(test, node):
    wait_until_alone(node)
    program = test.work / 'udpad'
    text = program.read_text(encoding='utf-8')
    program.unlink()
    node.process.send_signal(signal.SIGUSR2)
    node.wait_for_log(f'no restart: cannot start {program}: no such file or directory')
    program.write_text('no program\n', encoding='utf-8')
    program.chmod(0o755)
    node.process.send_signal(signal.SIGUSR2)
    node.wait_for_log('this one goes on: it has ended with status 127')
    wait_until_alone(node)
    program.write_text(text, encoding='utf-8')
    node.deeds.write_text('', encoding='utf-8')
    bootstrap = test.work / 'node.json'
    good = bootstrap.read_text(encoding='utf-8').replace('"hand_over_timeout": "1s"', '"hand_over_timeout": "60s"')
    bootstrap.write_text(good, encoding='utf-8') # what follows is udpad itself, which has something to do
    done = subprocess.run([test.build / 'udpactl', '--admin', f'unix:{test.work}/node-data/admin.sock', 'reload'], text=True,
                          capture_output=True, timeout=60, check=False)
    check(f'it may take longer: {done.stdout}{done.stderr}', done.returncode == 0)
    bootstrap.write_text(good.replace('hand_over_timeout', 'hand_over_tmeout'), encoding='utf-8')
    node.process.send_signal(signal.SIGUSR2)
    line = wait_for('what is wrong is logged', lambda: [line for line in node.text().splitlines() if ' error restart: ' in line
                                                        and "unknown field 'hand_over_tmeout'; did you mean" in line], 20)[0]
    check(f'and that the process goes on: {line}', 'this one goes on: ' in line)
    changed = json.loads(good)
    changed['workers'] = 1
    write(bootstrap, changed)
    n_others = node.text().count('it would be another node')
    wait_until_alone(node)
    node.process.send_signal(signal.SIGUSR2)
    wait_for('it would be another node', lambda: node.text().count('it would be another node') > n_others, 20)
    write(bootstrap, json.loads(good))
    wait_until_alone(node)


def check_container(test):
    """What ends with its first process."""
    unshare = ['unshare', '--pid', '--fork', '--kill-child']
    if subprocess.run([*unshare, 'true'], check=False, stderr=subprocess.DEVNULL).returncode:
        print('there is no namespace of processes: a node in a container is not looked at')
        return
    port, = interop.free_ports(1)
    process = interop.Process([*unshare, test.build / 'udpad', '--listen', f'127.0.0.1:{port}', '--state', test.work / 'first'],
                              test.work / 'first.log')
    try:
        process.wait_for_log('listening on ')
        children = pathlib.Path(f'/proc/{process.process.pid}/task/{process.process.pid}/children')
        first = int(children.read_text(encoding='utf-8').split()[0])
        os.kill(first, signal.SIGUSR2)
        process.wait_for_log('no restart: this is the first process of a container')
        os.kill(first, signal.SIGINT)
        wait_for('it ends', lambda: process.process.poll() is not None, 20)
    finally:
        process.kill()


def check_end_meanwhile(test, node, publisher):
    node.restart('checked,hang')
    wait_for('the store is away', lambda: subprocess.run(
        ['flock', '-n', test.work / 'node-data' / 'udpa.lock', 'true'], check=False).returncode == 0, 5)
    node.process.send_signal(signal.SIGINT)
    wait_for('the node ends', lambda: node.process.poll() is not None, 20)
    check(f'SIGINT while a restart is under way is an end: {node.process.returncode}', node.process.returncode == 0)
    again = interop.Node(test, 'node', node.port, test.work / 'node.json')
    text = udpactl.Ctl(test, again).ask('get', 'cluster', 'published', '-o', 'json')
    check('what had the last receipt is there', f'"n{publisher.n_receipts}"' in text or print(text[:500]))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
