#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node forwards what clients stream to it: to another node, which has the same lines under the same
names, and to a receiver of grpcio's making, as whose client each of them appears with what it has said
of itself; also an Envoy. While the receiver is away what there is room for waits, the rest is
counted."""
import json
import sys
import threading
from concurrent import futures

import interop

import grpc
from envoy.service.accesslog.v3 import als_pb2, als_pb2_grpc

import envoy_peer
import test_envoy_sinks
import udpactl

N_CLIENTS, N_MESSAGES = 12, 50
RING = 100


class Receiver(als_pb2_grpc.AccessLogServiceServicer):
    """What came, stream by stream: the identifier, and paths."""

    def __init__(self, port=0):
        self.streams = []
        self.server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
        als_pb2_grpc.add_AccessLogServiceServicer_to_server(self, self.server)
        self.port = self.server.add_insecure_port(f'127.0.0.1:{port}')
        self.server.start()

    def StreamAccessLogs(self, request_iterator, context):
        found = {'identifier': None, 'paths': [], 'n': 0}
        self.streams.append(found)
        for message in request_iterator:
            if message.HasField('identifier'):
                if found['n']:
                    raise interop.Failure('an identifier comes in the middle of a stream')
                found['identifier'] = message.identifier
            found['n'] += 1
            found['paths'] += [entry.request.path for entry in message.http_logs.log_entry]
        return als_pb2.StreamAccessLogsResponse()

    def paths(self, log_name='ingress'):
        return [path for stream in self.streams if stream['identifier'] and
                stream['identifier'].log_name == log_name for path in stream['paths']]

    def stop(self):
        self.server.stop(0).wait()


def start_node(test, name, port, to=None, **sink):
    config = test.work / f'{name}.yaml'
    file = test.work / f'{name}.jsonl'
    forward = {'forward': {'address': f'127.0.0.1:{to}'}} if to else {}
    config.write_text(json.dumps({
        'node': {'id': name}, 'sockets': [{'address': f'127.0.0.1:{port}'}],
        'descriptor_sets': [str(udpactl.descriptors(test))],
        'sinks': [{'kind': 'ACCESS_LOG', 'file': {'path': str(file)}, **forward, **sink}]}),
        encoding='utf-8')
    return interop.Node(test, name, port=None, bootstrap=config), file


def identify(message, client):
    message.identifier.node.id = f'client-{client}'
    message.identifier.node.cluster = 'shop'
    message.identifier.node.metadata['rank'] = client
    message.identifier.log_name = 'ingress'


def messages_of(client, n):
    for i in range(n):
        message = als_pb2.StreamAccessLogsMessage()
        if i == 0:
            identify(message, client)
        message.http_logs.log_entry.add().request.path = f'/{client}/{i}'
        message.http_logs.log_entry.add().request.path = f'/{client}/{i}/again'
        yield message


def stream(address, client, n=N_MESSAGES):
    with grpc.insecure_channel(address, [('grpc.use_local_subchannel_pool', 1)]) as channel:
        als_pb2_grpc.AccessLogServiceStub(channel).StreamAccessLogs(messages_of(client, n),
                                                                    timeout=60)


def stream_all(address):
    threads = [threading.Thread(target=stream, args=(address, i)) for i in range(N_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lines(file):
    return [(line['node'], line['name'], line['entry']['request']['path'])
            for line in test_envoy_sinks.lines(file) if 'entry' in line]


def check_to_node(test):
    ports = interop.free_ports(2)
    core, core_file = start_node(test, 'core', ports[0])
    edge, edge_file = start_node(test, 'edge', ports[1], ports[0])
    stream_all(edge.address)
    n = N_CLIENTS * N_MESSAGES * 2
    interop.wait_for('all lines at the edge', lambda: len(lines(edge_file)) == n, 60)
    interop.wait_for('as many at the core', lambda: len(lines(core_file)) == n, 60)
    interop.check('the same lines', sorted(lines(edge_file)) == sorted(lines(core_file)))
    status = test_envoy_sinks.status_of(udpactl.Ctl(test, edge), 'access-log', ['forwardedTo'])
    interop.check(f'they are counted: {status}', status['nForwarded'] == N_CLIENTS * N_MESSAGES and
                  status['nForwardStreams'] == N_CLIENTS and not status.get('nNotForwarded'))
    print(udpactl.Ctl(test, edge)('status'), flush=True)
    edge.stop()
    core.stop()


def check_to_python(test):
    receiver = Receiver()
    node, _ = start_node(test, 'middle', 0, receiver.port)
    stream_all(node.address)
    wanted = sorted(path for client in range(N_CLIENTS) for message in
                    messages_of(client, N_MESSAGES)
                    for path in [entry.request.path for entry in message.http_logs.log_entry])
    interop.wait_for('all that was streamed', lambda: len(receiver.paths()) == len(wanted), 60)
    interop.check('just that', sorted(receiver.paths()) == wanted)
    interop.check('each client has a stream', len(receiver.streams) == N_CLIENTS)
    for found in receiver.streams:
        expected = als_pb2.StreamAccessLogsMessage()
        client = found['paths'][0].split('/')[1]
        identify(expected, int(client))
        if found['identifier'] != expected.identifier or \
                found['paths'] != [path for path in receiver.paths()
                                   if path.split('/')[1] == client]:
            raise interop.Failure(f'client {client} is not itself: {found}')
    print('ok: under its own identifier, in its order', flush=True)
    receiver.stop()


def check_away(test):
    """More comes than there is room for while nobody is there to take it."""
    receiver = Receiver()
    node, _ = start_node(test, 'small', 0, receiver.port, max_entries=RING)
    ctl = udpactl.Ctl(test, node)
    receiver.stop()
    for i in range(3):
        stream(node.address, 1000 + i)
    node.wait_for_log('what comes cannot be forwarded to')
    again = Receiver(receiver.port)

    def all_told():
        status = test_envoy_sinks.status_of(ctl, 'access-log', ['forwardedTo'])
        n_told = status.get('nForwarded', 0) + status.get('nNotForwarded', 0)
        return n_told == 3 * N_MESSAGES and status
    status = interop.wait_for('what is not sent is counted', all_told, 60)
    n_missed = status.get('nNotForwarded', 0)
    interop.check(f'{n_missed} were not sent: there was no room', n_missed >= 50 - 2 * 16)
    interop.wait_for('the others were', lambda: len(again.paths()) ==
                     2 * (3 * N_MESSAGES - n_missed))
    again.stop()


def check_envoy(test):
    binary = interop.envoy_or_skip()
    receiver = Receiver()
    node, file = start_node(test, 'proxy', 0, receiver.port)
    config = test_envoy_sinks.envoy_config(node.port)
    del config['stats_sinks'] # this node takes no metrics
    envoy = envoy_peer.Envoy(test, binary, node.port, config=config)
    wanted = test_envoy_sinks.ask(envoy, 'through')
    interop.wait_for("Envoy's requests, through a node", lambda: receiver.paths() == wanted, 60)
    identifier = receiver.streams[0]['identifier']
    interop.check('under its own Node, whole', identifier.node.id == 'edge-1' and
                  identifier.node.user_agent_name == 'envoy' and len(identifier.node.extensions))
    interop.wait_for('them in the file of the node, too',
                     lambda: [path for _, _, path in lines(file)] == wanted)
    envoy.kill()
    receiver.stop()


def body(test):
    check_to_node(test)
    check_to_python(test)
    check_away(test)
    check_envoy(test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
