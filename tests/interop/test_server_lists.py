#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists of servers: udpactl, an endpoint of the library and the source of an edge have three addresses, of
which one is dead and two are replicas. They continue at the next one, and receive nothing that they have."""
import json
import socket
import subprocess
import sys
import time

import interop
import udpactl

from interop import Failure, Node, Process, check, free_ports, run, wait_for

from etcd import Cluster, program_or_skip
from gate import Gate
from test_replicas import Replica, apply_until, string, write
from xds_peer import CLUSTER, Client

CLUSTER_TYPE = 'envoy.config.cluster.v3.Cluster'
PATIENCE_S = 30
N_MOVES = {'moves': 30, 'moves_many': 1000}
N_HELD = 20
NO_CONNECTION = 3


def cluster(name, timeout='1s'):
    return {'@type': f'type.googleapis.com/{CLUSTER_TYPE}', 'name': name,
            'connect_timeout': timeout}


def dead_address():
    return f'127.0.0.1:{free_ports(1)[0]}'


class Udpactl(Process):
    """One that goes on for a while."""

    def __init__(self, test, servers, *words):
        super().__init__([test.build / 'udpactl', '--server', servers, '--descriptors',
                          udpactl.descriptors(test), *words], test.work / f'udpactl-{len(test.processes)}.log')
        test.processes.append(self)


# ---- udpactl ----

def check_errors(a, dead):
    """Each server is named, with its reason."""
    other = dead_address()
    status, text = ctl(a.test, f'{dead},{other}', 'get', 'cluster')
    check(f'all dead: {text}', status == NO_CONNECTION and text.count('Connection refused') == 2
          and dead in text and other in text)
    status, text = ctl(a.test, f'{dead}, {a.address}', '-v', 'get', '-o', 'name')
    check(f'-v reports which one is used: {text}', f'connected to {a.address}' in text
          and f'cannot connect to {dead}' in text)
    status, text = ctl(a.test, f'{dead},,{other}', 'get')
    check(f'no address: {text}', status == 2 and 'server 2 of the list is empty' in text)


def ctl(test, servers, *words):
    done = subprocess.run([str(word) for word in (
        test.build / 'udpactl', '--server', servers, '--descriptors', udpactl.descriptors(test), *words)],
        capture_output=True, text=True, check=False, timeout=udpactl.PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


def check_hung(test, a, dead):
    """A server that takes connections, and does not answer, is left after 2 s."""
    with socket.create_server(('127.0.0.1', 0)) as hung:
        address = f'127.0.0.1:{hung.getsockname()[1]}'
        begin = time.monotonic()
        status, text = ctl(test, f'{address},{dead},{a.address}', 'get', '-o', 'name')
        took_s = time.monotonic() - begin
        check(f'one that hangs is left after {took_s:.1f} s: {text}', status == 0 and took_s < 5)


def check_watch(test, a, b, dead):
    """The one that it is connected to is killed."""
    watch = Udpactl(test, f'{dead},{a.address},{b.address}', '-v', 'watch', 'cluster')
    watch.wait_for_log('local/first')
    a.kill_hard()
    wait_for('b', lambda: b.ctl('apply', '-f', write(test, 'second.yaml', cluster('second')))[0] == 0,
             PATIENCE_S)
    watch.wait_for_log('local/second')
    text = watch.text()
    check(f'watch goes on at the next one:\n{text}', f'connected to {b.address}' in text
          and sum('local/first' in line for line in text.split('\n')) == 1)
    return a.again()


def check_wait(test, a, b, dead):
    wait = Udpactl(test, f'{dead},{a.address},{b.address}', '-v', 'wait', '--at-least', '1', 'cluster', 'first')
    wait.wait_for_log(f'connected to {a.address}')
    a.kill_hard()
    wait.wait_for_log(f'connected to {b.address}')
    with Client(b.address) as client:
        client.send(CLUSTER)
        client.answer(client.receive())
        wait.process.wait(PATIENCE_S)
    check(f'wait goes on at the next one: {wait.text()}', wait.process.returncode == 0)
    return a.again()


def check_publish(test, members, a, b, dead):
    """It dies while etcd does not answer: nobody knows what has become of it, and it is published again."""
    file = write(test, 'third.yaml', cluster('third', '3s'))
    apply_until(a, write(test, 'first.yaml', cluster('first')), PATIENCE_S) # it has read etcd
    for member in members:
        member.pause()
    apply = Udpactl(test, f'{dead},{a.address},{b.address}', '-v', '--timeout',
                    str(PATIENCE_S), 'apply', '-n', 'local', '-f', file)
    apply.wait_for_log(f'connected to {a.address}')
    time.sleep(0.3) # with the publication at a or not: both must end in one
    a.kill_hard()
    for member in members:
        member.go_on()
    apply.process.wait(PATIENCE_S)
    text = apply.text()
    if apply.process.returncode: # b has answered that etcd is away, and nothing is claimed
        check(f'the reason: {text}', 'etcd' in text and 'applied' not in text)
        apply_until(b, file, PATIENCE_S)
    else:
        check(f'a publication is published again: {text}', 'third applied' in text)
    a = a.again()
    held = [one for one in json.loads(a.take('get', 'cluster', 'third', '--all-origins', '-o', 'json'))]
    check(f'it is there once: {held}', len(held) == 1)
    return a


def check_udpactl(test, etcd, a, b):
    dead = dead_address()
    a.take('apply', '-f', write(test, 'first.yaml', cluster('first')))
    check_errors(a, dead)
    check_hung(test, a, dead)
    a = check_watch(test, a, b, dead)
    a = check_wait(test, a, b, dead)
    check_publish(test, list(etcd.members.values()), a, b, dead)


# ---- an endpoint of the library ----

def check_endpoint(test, a, b):
    a.take('apply', '-f', write(test, 'held.yaml', *(string(f'n{n}', 'x') for n in range(N_HELD))))
    follow = Process([test.build / 'follow', 'google.protobuf.StringValue', 'local',
                      f'{dead_address()},{a.address},{b.address}'], test.work / 'follow.log')
    test.processes.append(follow)
    follow.wait_for_log(' complete')
    for n in range(3):
        one, other = (a, b) if n % 2 == 0 else (b, a)
        one.kill_hard()
        other.take('apply', '-f', write(test, f'new{n}.yaml', string(f'new{n}', 'x')))
        follow.wait_for_log(f'added local/new{n} ')
        again = one.again()
        a, b = (again, b) if one is a else (a, again)
    lines = [line.split(' ', 1)[1] for line in follow.text().split('\n') if line]
    check(f'an endpoint received each change once: {lines}',
          len([line for line in lines if line.startswith('added')]) == N_HELD + 3
          and not any(line.startswith(('removed', 'changed')) for line in lines))


# ---- the source of an edge ----

def edge(test, address, name='lists-edge'):
    file = test.work / f'{name}.json'
    file.write_text(json.dumps({
        'static_resources': {'config_sources': [{'name': 'core', 'udpa': {'address': address}}]},
        'providers': [{'types': [CLUSTER_TYPE], 'config_descriptors': [{'resource_name': 'core'}]}],
        'timing': {'backoff_base': '0.02s'},
    }), encoding='utf-8')
    return Node(test, name, bootstrap=file)


def source_status(test, node):
    """As soon as its state is that of now: it is made once a second."""
    status, text = ctl(test, node.address, 'status', 'sources', '-o', 'json')
    if status:
        raise Failure(text)
    return json.loads(text)[0]['resource']


def check_moves(test, a, b, n_moves):
    a.take('apply', '-f', write(test, 'held.yaml', *(cluster(f'n{n}') for n in range(N_HELD))))
    gates = [Gate(one.port) for one in (a, b)]
    node = edge(test, ','.join([dead_address(), *(one.address for one in gates)]))
    with Client(node.address) as client:
        client.send(CLUSTER)
        first = client.receive()
        while len(first.resources) < N_HELD: # the source may be about to begin
            client.answer(first)
            first = client.receive()
        client.answer(first)
        before = source_status(test, node)
        begin = time.monotonic()
        for n in range(n_moves):
            gates[n % 2].cut()
            there = gates[(n + 1) % 2].address
            wait_for(f'move {n}', lambda k=n: sum(gate.n_passed for gate in gates) >= k + 2, PATIENCE_S)
            absent = {f'local/absent-{k}' for k in (n - 1, n)}
            # Answered when the source has sent all that it has, and nothing else is before.
            client.send(CLUSTER, [f'local/absent-{n}'],
                        resource_names_unsubscribe=[f'local/absent-{n - 1}'] if n else [])
            removed = set()
            while f'local/absent-{n}' not in removed:
                response = client.receive()
                client.answer(response)
                removed |= set(response.removed_resources)
                if response.resources or not removed <= absent:
                    raise Failure(f'move {n}: {there}: the client received {response}')
        took_s = time.monotonic() - begin
        wait_for('a status of now', lambda: int(source_status(test, node)['nConnects'])
                 >= n_moves + 1, PATIENCE_S)
    after = source_status(test, node)
    names = ('nResourcesReceived', 'nRefreshesReceived', 'nRefused') # removals are of those absent
    check(f'{n_moves} moves in {took_s:.1f} s: nothing but complete was received: {after}',
          all(before.get(name) == after.get(name) for name in names)
          and not any(one.get('held') for one in after['types']))
    lines = [line for line in node.text().split('\n') if 'federation: ' in line and not
             any(words in line for words in ('source core: connected to ', ' has ended the stream: ', ' cannot connect to '))]
    check(f'no twin, no hold, nothing of another set: {lines}', not lines)
    held = ctl(test, node.address, 'get', 'cluster', '-o', 'name')[1].split()
    check(f'all is there: {held}', len(held) == N_HELD)
    status, text = ctl(test, node.address, 'status')
    check(f'no problem is reported:\n{text}', status == 0 and 'roblem' not in text)
    return node


def check_other_set(test, etcd, a):
    """A node that is none of the set, in the list of one that is."""
    other = Replica(test, etcd, 'other', is_replica=False)
    other.take('apply', '-f', write(test, 'other.yaml', cluster('other')))
    gate = Gate(a.port)
    node = edge(test, f'{gate.address},{other.address}', 'mixed-edge')
    node.wait_for_log(f'source core: connected to {gate.address}')
    with Client(node.address) as client:
        client.send(CLUSTER)
        client.receive()
        gate.cut()
        node.wait_for_log('the servers of one source must be replicas of one set')
    wait_for('a problem in the status', lambda: 'must be replicas of one set' in
             ctl(test, node.address, 'status')[1], PATIENCE_S)
    text = ctl(test, node.address, 'get', 'cluster', '-o', 'name')[1]
    check(f'nothing is removed: {text}', 'local/n0' in text)


def body(test):
    etcd = Cluster(test, program_or_skip(test, 'debian'), count=1)
    a, b = (Replica(test, etcd, name) for name in 'ab')
    if test.variant == 'udpactl':
        check_udpactl(test, etcd, a, b)
    elif test.variant == 'endpoint':
        check_endpoint(test, a, b)
    else:
        check_moves(test, a, b, N_MOVES[test.variant])
        check_other_set(test, etcd, a)


if __name__ == '__main__':
    sys.exit(run(__doc__, body, ('udpactl', 'endpoint', *N_MOVES)))
