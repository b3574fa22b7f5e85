#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node with workers takes events in by all of them, writes them into one file, and forwards them:
nothing is lost on the way, also where more comes at once than the rings have room for."""
import json
import sys
import threading

import interop

import grpc
from envoy.service.accesslog.v3 import als_pb2, als_pb2_grpc

import test_envoy_sinks
import test_sinks_forward
import udpactl

N_CLIENTS, N_MESSAGES = 16, 400
RING = 300


def start_node(test, to):
    config = test.work / 'node.yaml'
    file = test.work / 'node.jsonl'
    config.write_text(json.dumps({
        'node': {'id': 'node'}, 'sockets': [{'address': '127.0.0.1:0'}], 'workers': 2,
        'store': {'in_memory': True}, 'descriptor_sets': [str(udpactl.descriptors(test))],
        'sinks': [{'kind': 'ACCESS_LOG', 'max_entries': RING, 'file': {'path': str(file)},
                   'forward': {'address': f'127.0.0.1:{to}'}}]}), encoding='utf-8')
    return interop.Node(test, 'node', port=None, bootstrap=config), file


def stream_all(address, n_messages):
    threads = [threading.Thread(target=test_sinks_forward.stream, args=(address, i, n_messages))
               for i in range(N_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def check_lines(file, n_messages):
    """Each client's, in its order."""
    n = N_CLIENTS * n_messages * 2
    interop.wait_for('all lines', lambda: len(test_sinks_forward.lines(file)) >= n, 90)
    found = test_sinks_forward.lines(file)
    interop.check(f'just those: {len(found)} of {n}', len(found) == n)
    for client in range(N_CLIENTS):
        paths = [path for node, _, path in found if node == f'client-{client}']
        wanted = [path for i in range(n_messages)
                  for path in (f'/{client}/{i}', f'/{client}/{i}/again')]
        if paths != wanted:
            raise interop.Failure(f'client {client} is not in order: {paths[:10]}')
    print('ok: each client in its order', flush=True)


def check_status(ctl, n_messages):
    def all_told():
        status = test_envoy_sinks.status_of(ctl, 'access-log', ['forwardedTo'])
        told = status.get('nForwarded', 0) + status.get('nNotForwarded', 0)
        return told == N_CLIENTS * n_messages and status
    status = interop.wait_for('what is forwarded, or was not, is counted', all_told, 60)
    interop.check(f'all were taken in, and nothing was dropped: {status}',
                  status['nAccepted'] == N_CLIENTS * n_messages and not status.get('nDropped') and
                  status['nWritten'] == N_CLIENTS * n_messages * 2)
    return status


def shown(text):
    return [json.loads(line)['entry']['request']['path'] for line in text.splitlines()]


def check_reading(node, ctl, file):
    """Whichever worker takes the connection, it has the events of all."""
    last = [path for _, _, path in test_sinks_forward.lines(file)][-2 * RING:]
    for _ in range(6):
        interop.check('events has what all have taken in', shown(ctl('events', 'access-log')) ==
                      last)
    follower = ctl.start('events', 'access-log', '--follow')
    watches = [ctl.start('watch', 'event', '-n', 'udpa.node', '-o', 'name') for _ in range(4)]
    for process in (follower, *watches):
        for _ in range(2 * RING if process is follower else RING):
            process.stdout.readline()
    for client in range(8):
        test_sinks_forward.stream(node.address, client, 1)
        interop.check('what comes to any of them, too', shown(
            follower.stdout.readline() + follower.stdout.readline()) ==
                      [f'/{client}/0', f'/{client}/0/again'])
        for watch in watches:
            interop.check('by UDPA as well', 'udpa.node/node/events/access-log' in
                          watch.stdout.readline())
    for process in (follower, *watches):
        process.terminate()
        process.communicate(timeout=20)
    return 8


def check_bad(node, ctl):
    """What a worker refuses is counted, too."""
    def refused():
        test_sinks_forward.stream(node.address, 1, 1) # figures come with what is taken in
        return test_envoy_sinks.status_of(ctl, 'access-log', ['forwardedTo']).get('nRefused', 0)
    with grpc.insecure_channel(node.address) as channel:
        try:
            als_pb2_grpc.AccessLogServiceStub(channel).StreamAccessLogs(
                iter([als_pb2.StreamAccessLogsMessage()]), timeout=20)
            raise interop.Failure('a stream without an identifier is taken')
        except grpc.RpcError as error:
            interop.check(f'refused: {error.details()}',
                          error.code() == grpc.StatusCode.INVALID_ARGUMENT)
    interop.wait_for('it is counted', lambda: refused() == 1, 60)


def body(test):
    receiver = test_sinks_forward.Receiver()
    node, file = start_node(test, receiver.port)
    ctl = udpactl.Ctl(test, node)
    stream_all(node.address, N_MESSAGES)
    check_lines(file, N_MESSAGES)
    status = check_status(ctl, N_MESSAGES)
    interop.wait_for('what was forwarded is there', lambda: len(receiver.paths()) ==
                     2 * status['nForwarded'])
    interop.check('each client by one stream', sorted(
        stream['identifier'].node.id for stream in receiver.streams) ==
                  sorted(f'client-{i}' for i in range(N_CLIENTS)))
    check_reading(node, ctl, file)
    check_bad(node, ctl)
    node.stop()
    receiver.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
