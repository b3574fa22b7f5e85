#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients send to a node, as frames of HTTP/2: of each client and each kind the most in any second,
and in any ten seconds, of one connection, while resources change as fast as 5,000 times in a second; and
while a node refuses all calls. Prints a table, and compares it with the limits of the own listener.

    tests/interop/record_frames.py --build build

The limits are read from src/transport/door/limits.c: each is to be four times what was seen, or more."""
import bisect
import collections
import json
import os
import re
import struct
import sys
import threading
import time

import interop
import envoy_peer
import frame_proxy
import grpc_service
import test_grpc_java
import test_grpc_node
import test_own_sockets
from attacks import DATA, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, PRIORITY, RST_STREAM, SETTINGS, \
    WINDOW_UPDATE
from google.protobuf import wrappers_pb2
from udpa_peer import Peer, any_of

HERE = interop.SOURCE / 'tests' / 'interop'
SECONDS, CHANGES_PER_S, TURN_S = 12, 5000, 0.01
TIMES = 4
WINDOWS_S = (1, 10)
NAMES = {PING: 'PING', SETTINGS: 'SETTINGS', PRIORITY: 'PRIORITY', WINDOW_UPDATE: 'WINDOW_UPDATE'}
COLUMNS = ('DATA', *NAMES.values(), 'empty DATA', 'not free', 'RST_STREAM', 'requests')
LEAST_MESSAGES = 100 # of a connection, for a ratio
# As limits.c has it: frames that a peer may send for one that we sent, and for so many bytes of it.
LIMITS = (interop.SOURCE / 'src' / 'transport' / 'door' / 'limits.c').read_text(encoding='utf-8')
ANSWERS, ANSWER_BYTES, ANSWERS_MAX = (int(re.search(rf'#define {name} (\d+)', LIMITS)[1]) for name in (
    'ANSWERS_A_MESSAGE', 'BYTES_AN_ANSWER', 'ANSWERS_KEPT_MAX'))
RESOURCES = '/v1/udpa:resources'
STRING = 'type.googleapis.com/google.protobuf.StringValue' # that clients of REST ask for; it does not change
GRPCIO = '''
import sys
sys.path[:0] = sys.argv[1:]
import interop, grpc_clients, time
client = grpc_clients.PythonClient(None)
print('backends', *client.ports, flush=True)
while True:
    try:
        client.call(b'', timeout=5, wait_for_ready=True)
    except Exception:
        pass
    time.sleep(0.01)
'''


class Recorded(frame_proxy.Passed):
    """When frames of each kind came from the client."""

    def __init__(self):
        self.times = collections.defaultdict(list)
        self.n_answers = 0
        self.has_gone = None # code of GOAWAY from the node

    def note(self, column):
        self.times[column].append(time.monotonic())

    def look(self, data):
        kind, flags, size = data[3], data[4], len(data) - frame_proxy.HEAD_BYTES
        column = NAMES.get(kind)
        if kind == DATA and not size and not flags & END_STREAM:
            column = 'empty DATA'
        other = {HEADERS: 'requests', RST_STREAM: 'RST_STREAM', DATA: 'DATA'}.get(kind)
        if other and column is None:
            self.note(other)
        if not column:
            return
        self.note(column)
        if self.n_answers:
            self.n_answers -= 1
        else:
            self.note('not free')

    async def pass_on(self, data, is_client, writer):
        if is_client and data != PREFACE:
            self.look(data)
        elif not is_client and data[3] == DATA:
            self.note('messages')
            more = ANSWERS + (len(data) - frame_proxy.HEAD_BYTES) // ANSWER_BYTES
            self.n_answers = min(self.n_answers + more, ANSWERS_MAX)
        elif not is_client and data[3] == GOAWAY:
            self.has_gone = struct.unpack('>I', data[13:17])[0]
        writer.write(data)

    def per_message(self):
        n = len(self.times['messages'])
        return sum(len(self.times[one]) for one in NAMES.values()) / n if n >= LEAST_MESSAGES else 0

    def most(self, column, window_s):
        times = self.times[column]
        return max((bisect.bisect_left(times, at + window_s) - i for i, at in enumerate(times)), default=0)


class Changes:
    """A publisher, whose resources change so many times in a second."""

    def __init__(self, test, address, ports):
        self.peer = Peer(test.build, address)
        self.peer.publish([*grpc_service.resources(ports[0]), ('one', wrappers_pb2.StringValue(value='first'))])
        self.packed = [any_of(grpc_service.endpoints(port)) for port in ports]
        self.n, self.is_over = 0, False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def change(self):
        packed = self.packed[self.n % 2]
        message = self.peer.udpa_message()
        entry = message.publish.delta.resources.add(name=f'local/{grpc_service.CLUSTER}')
        entry.resource.type_url, entry.resource.value = packed.type_url, packed.value
        self.peer.outbox.put(message)
        self.n += 1

    def run(self):
        begin = time.monotonic()
        while not self.is_over:
            due = int((time.monotonic() - begin) * CHANGES_PER_S)
            while self.n < due:
                self.change()
            time.sleep(TURN_S)

    def close(self):
        self.is_over = True
        self.thread.join()
        self.peer.close()
        return self.n / SECONDS


# ---- clients: each begins one, by the address of the proxy, and returns the ports of its backends ----

def begin(test, command, log):
    client = interop.Process([str(part) for part in command], test.work / log)
    test.processes.append(client)
    return client


def envoy(api_type):
    def run(test, port):
        config = envoy_peer.bootstrap('envoy', api_type, port)
        peer = envoy_peer.Envoy(test, interop.envoy_or_skip(), port, f'envoy-{port}', config)
        return peer, (9, 10)
    return run


def grpc_client(command):
    def run(test, port):
        address = f'127.0.0.1:{port}'
        config = test.work / f'bootstrap-{port}.json'
        config.write_text(grpc_service.bootstrap(address), encoding='utf-8')
        os.environ['GRPC_XDS_BOOTSTRAP'] = str(config)
        client = begin(test, command(test), f'client-{port}.log')
        ports = client.wait_for_log('backends ').split()[1:]
        return client, [int(one) for one in ports]
    return run


def python_command(_):
    return [sys.executable, '-c', GRPCIO, HERE]


def go_command(test):
    program = interop.go_program_or_skip(HERE / 'go', test.build / 'grpc-go-client')
    return [program, '-target', f'xds:///{grpc_service.NAME}']


def node_command(test):
    program, packages = test_grpc_node.node_and_packages_or_skip(test.build / 'grpc-node-client')
    os.environ['NODE_PATH'] = str(packages)
    return [program, HERE / 'node' / 'client.js', f'xds:///{grpc_service.NAME}']


def java_command(test):
    return [*test_grpc_java.client_or_skip(test.build / 'grpc-java-client'), f'xds:///{grpc_service.NAME}']


def again(command):
    """A client that ends when it has all: begun again and again."""
    def run(test, port):
        loop = ['sh', '-c', 'while :; do "$@"; sleep 0.05; done', 'sh', *command(test, port)]
        return begin(test, loop, f'client-{port}.log'), (9, 10)
    return run


def curl_command(_, port):
    ask = json.dumps({'type_url': STRING})
    return ['curl', '-sSf', '--http2-prior-knowledge', '-o', '/dev/null', '-H', 'content-type: application/json', '-d',
            ask, f'http://127.0.0.1:{port}{RESOURCES}'] # one: curl 7.88 fails at the second, with any server


def net_http_command(test, port):
    program = interop.go_program_or_skip(HERE / 'go-http', test.build / 'rest-go-client')
    return [program, '-url', f'http://127.0.0.1:{port}{RESOURCES}', '-type', STRING, '-polls', '300', '-short']


REST = {
    'curl': again(curl_command),
    'Go net/http': again(net_http_command),
}
CLIENTS = {
    'Envoy, delta': envoy('DELTA_GRPC'),
    'Envoy, SotW': envoy('GRPC'),
    'gRPC, Go': grpc_client(go_command),
    'gRPC, C core (Python)': grpc_client(python_command),
    'gRPC, Node.js': grpc_client(node_command),
    'gRPC, Java': grpc_client(java_command),
    **REST,
}


# ---- the table ----

def limits():
    """Of a connection, by kind: at once, and more with each second."""
    found = {name: (int(own), int(own_per_s)) for name, own, own_per_s in
             re.findall(r'(\w+) = \{"[^"]+", (\d+), (\d+), \d+, \d+\}', LIMITS)}
    return {'not free': found['idle_frames'], 'RST_STREAM': found['resets'], 'requests': found['refusals']}


ALLOWED = limits()


def row(name, connections, columns=COLUMNS):
    cells = [' / '.join(str(max((one.most(column, window) for one in connections), default=0))
                        for window in WINDOWS_S) for column in columns]
    if columns == COLUMNS:
        cells.append(f'{max(one.per_message() for one in connections):.1f}')
    print(f'| {name} | ' + ' | '.join(cells) + ' |', flush=True)


def too_close(name, connections, columns):
    """What is not four times below its limit."""
    for column in columns:
        own, own_per_s = ALLOWED[column]
        for window in WINDOWS_S:
            seen = max((one.most(column, window) for one in connections), default=0)
            allowed = own + own_per_s * window
            if TIMES * seen > allowed:
                yield f'{name}: {seen} {column} in {window} s, and {allowed} are allowed'
    most = max(one.per_message() for one in connections)
    if TIMES * most > ANSWERS:
        yield f'{name}: {most:.1f} frames for a message, and {ANSWERS} are free'


def record(test, name, more, changes):
    """The connections of a client, with what is special of the node."""
    socket = {'address': '127.0.0.1:0', 'also_serves': ['REST', 'PAGES']}
    number = len(test.processes)
    node = test_own_sockets.Node(test, f'node-{number}', {'sockets': [socket], **more})
    proxy = frame_proxy.FrameProxy(int(node.address.rsplit(':', 1)[1]), Recorded)
    publisher = None
    if name in REST: # what it asks for is there first
        publisher = Changes(test, node.address, (9, 10))
    if not changes: # it has the only stream
        publisher = Peer(test.build, node.address)
        publisher.publish(grpc_service.resources(9))
    client, ports = CLIENTS[name](test, proxy.port)
    publisher = publisher or Changes(test, node.address, ports)
    time.sleep(SECONDS)
    rate = publisher.close()
    if name in REST and re.search('failed|error:', client.text()):
        raise interop.Failure(f'{name}: {client.text()[-300:]}')
    client.kill()
    node.stop()
    if not proxy.connections:
        raise interop.Failure(f'{name} has not connected')
    gone = collections.Counter(one.has_gone for one in proxy.connections if one.has_gone)
    if gone:
        print(f'{name}: {sum(gone.values())} of {len(proxy.connections)} connections were ended: {dict(gone)}')
    return proxy.connections, rate


def body(test):
    names = test.arguments.client or list(CLIENTS)
    findings = []
    print('Of one connection, in any second / in any ten seconds:\n')
    print('| client | ' + ' | '.join(COLUMNS) + ' | for a message |\n' + '|---' * (len(COLUMNS) + 2) + '|')
    for name in names:
        connections, rate = record(test, name, {}, True)
        row(f'{name} ({rate:.0f} changes/s)', connections)
        findings += too_close(name, connections, ('not free', 'RST_STREAM'))
    full = {'limits': {'max_streams_per_identity': 1}} # which the publisher has
    print('\nWhile all calls are refused:\n\n| client | RST_STREAM | requests |\n|---|---|---|')
    for name in names:
        if name in REST:
            continue # they ask again because they are begun again
        connections, _ = record(test, name, full, False)
        row(name, connections, ('RST_STREAM', 'requests'))
        findings += too_close(name, connections, ('RST_STREAM', 'requests'))
    print('\n' + ('\n'.join(findings) or f'Each limit is {TIMES} times what was seen, or more.'))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, options={
        '--client': {'action': 'append', 'choices': list(CLIENTS), 'help': 'only this one; may be repeated'}}))
