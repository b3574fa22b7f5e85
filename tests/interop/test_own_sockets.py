#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sockets that only the own listener has, each with a real client (grpcio, udpactl).

proxy: connections that come through a proxy count as those of its clients.
unix: by a unix socket the kernel proves the user, and rules may name it.
passed: sockets that the node is started with, by systemd-socket-activate or in the same way.
workers: they share all of these.
tls: the status of a stream has what TLS has negotiated, with clients that offer different groups.
identities: connections with one certificate are limited as those of one address are, wherever they come from.
refused: a connection with many refused calls goes, unless the rules let others in by it."""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import types

import interop
import attacks
import grpc
import xds_peer
from envoy.service.discovery.v3 import discovery_pb2

PATIENCE_S = 20
PIECE = 65536
SIGNATURE = b'\r\n\r\n\0\r\nQUIT\n'
SOURCE_PORT = 4242
HEALTH = '/grpc.health.v1.Health/Check'
SERVING = b'\x08\x01'


class Node(interop.Node):
    """udpad with its own listener and this bootstrap file. Its address is that of the first socket."""

    def __init__(self, test, name, bootstrap, **more):
        self.name = name
        file = test.work / f'{name}.json'
        file.write_text(json.dumps({'transport': 'OWN', **bootstrap}), encoding='utf-8')
        interop.Process.__init__(
            self, [test.build / 'udpad', '--node-id', name, '--state', test.work / f'{name}-data', '-c', file],
            test.work / f'{name}.log', **more)
        test.processes.append(self)
        self.address = self.wait_for_log('listening on ').split('listening on ')[1].split()[0]

    def addresses(self):
        return [line.split('listening on ')[1].split()[0] for line in self.text().splitlines()
                if 'listening on ' in line]


def problems(test, bootstrap, *options):
    """What --check reports of a bootstrap file."""
    file = test.work / 'checked.json'
    file.write_text(json.dumps(bootstrap), encoding='utf-8')
    checked = subprocess.run([test.build / 'udpad', '--check', '-c', file, *options], text=True,
                             capture_output=True, check=False, timeout=PATIENCE_S)
    return checked.returncode, checked.stdout + checked.stderr


def is_served(address, credentials=None):
    """One call of the health service, by a connection of its own."""
    options = [xds_peer.OWN_CONNECTION]
    channel = grpc.secure_channel(address, credentials, options) if credentials else \
        grpc.insecure_channel(address, options)
    with channel:
        try:
            return channel.unary_unary(HEALTH)(b'', timeout=PATIENCE_S) == SERVING
        except grpc.RpcError as error:
            print(f'{address}: {error.code()}: {error.details()}', flush=True)
            return False


def is_cut(address):
    """A connection is ended before a byte comes."""
    host, port = address.rsplit(':', 1)
    with socket.create_connection((host, int(port)), PATIENCE_S) as one:
        one.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
        try:
            return one.recv(1) == b''
        except ConnectionResetError:
            return True


# ---- proxy ----

def head_of(client):
    """As a proxy sends it, with what proxies of clouds add (an id of the endpoint, and padding)."""
    more = struct.pack('>BH', 0xea, 5) + b'\1vpce' + struct.pack('>BH', 4, 3) + b'\0\0\0'
    rest = socket.inet_aton(client) + socket.inet_aton('198.51.100.1') + \
        struct.pack('>HH', SOURCE_PORT, 443) + more
    return SIGNATURE + struct.pack('>BBH', 0x21, 0x11, len(rest)) + rest


class Proxy:
    """Passes connections on, behind this head."""

    def __init__(self, address, head):
        host, port = address.rsplit(':', 1)
        self.to, self.head = (host, int(port)), head
        self.listening = socket.create_server(('127.0.0.1', 0))
        self.address = '127.0.0.1:%d' % self.listening.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                one = self.listening.accept()[0]
                other = socket.create_connection(self.to)
                other.sendall(self.head)
                for pair in ((one, other), (other, one)):
                    threading.Thread(target=self.carry, args=pair, daemon=True).start()

    @staticmethod
    def carry(source, to):
        with contextlib.suppress(OSError):
            while data := source.recv(PIECE):
                to.sendall(data)
        with contextlib.suppress(OSError): # also where the other one was reset
            to.shutdown(socket.SHUT_WR)


def subscribe(stack, address, **more):
    client = stack.enter_context(xds_peer.Client(address, **more))
    client.send(xds_peer.CLUSTER, ['absent'])
    return client


def limits_are_of_clients(address, credentials=None):
    """One stream of each address: that of the client, and not of the proxy."""
    first, second = Proxy(address, head_of('192.0.2.1')), Proxy(address, head_of('192.0.2.2'))
    with contextlib.ExitStack() as stack:
        for proxy, client in ((first, '192.0.2.1'), (second, '192.0.2.2')):
            stream = subscribe(stack, proxy.address, credentials=credentials)
            interop.check(f'{client} has its stream', stream.receive().removed_resources)
        stream = subscribe(stack, first.address, credentials=credentials)
        try:
            next(stream.stream)
            raise interop.Failure('192.0.2.1 has two streams')
        except grpc.RpcError as error:
            interop.check(f'the second one is rejected: {error.details()}',
                          error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and
                          'address 192.0.2.1 ' in error.details())


def proxy(test):
    folder = test.issue('node')
    tls = {'certificate_file': f'{folder}/node.crt', 'private_key_file': f'{folder}/node.key'}
    behind = {'address': '127.0.0.1:0', 'proxy_protocol': {'from': ['127.0.0.0/8', '2001:db8::/32']}}
    node = Node(test, 'node', {'limits': {'max_streams_per_identity': 1}, 'sockets': [
        behind, {**behind, 'tls': tls},
        {'address': '127.0.0.1:0', 'proxy_protocol': {'from': ['192.0.2.0/24']}}]})
    plain, secure, other = node.addresses()
    limits_are_of_clients(plain)
    authority = grpc.ssl_channel_credentials((folder / 'ca.crt').read_bytes())
    limits_are_of_clients(secure, authority)
    interop.check('a connection from another address is served as it is', is_served(other))
    local = Proxy(plain, SIGNATURE + struct.pack('>BBH', 0x20, 0, 0))
    interop.check('a connection of the proxy itself is served', is_served(local.address))
    for head, words in ((b'', 'it does not begin with a head of the PROXY protocol'),
                        (b'PROXY TCP4 192.0.2.1 198.51.100.1 1 443\r\n', 'of version 1 of the PROXY protocol')):
        interop.check(f'refused: {words}', is_cut(Proxy(plain, head).address))
        node.wait_for_log(words)
    status, text = problems(test, {'sockets': [behind], 'transport': 'GRPC_CORE'})
    interop.check(f'--check refuses it of the C library: {text}',
                  status and "sockets[0].proxy_protocol" in text and "set 'transport: OWN'" in text)
    status, text = problems(test, {'sockets': [behind]}, '--transport', 'own')
    interop.check(f'and takes it with --transport own: {text}', status == 0)


# ---- unix ----

def ctl(test, address, *arguments):
    done = subprocess.run([test.build / 'udpactl', '--server', address, *arguments], text=True,
                          capture_output=True, check=False, timeout=PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


def full(test, bootstrap):
    """All connections of a node are taken by strangers; its users still have a way in."""
    path = test.work / 'full.sock'
    node = Node(test, 'full', {**bootstrap, 'limits': {'max_streams': PER_IDENTITY}, 'sockets': [
        {'address': f'unix:{path}'}, {'address': '127.0.0.1:0'}]})
    port = int(node.addresses()[1].rsplit(':', 1)[1])
    with contextlib.ExitStack() as stack:
        def is_taken(n):
            to = types.SimpleNamespace(host='127.0.0.1', port=port, source=f'127.0.8.{n}', tls=False)
            one = stack.enter_context(attacks.Connection(to))
            return bool(not one.is_over and one.receive(PATIENCE_S))
        interop.check('strangers connect', all(is_taken(n) for n in range(1, OF_ONE + 1)))
        interop.check('no more of them do', not is_taken(OF_ONE + 1))
        status, text = ctl(test, f'unix:{path}', 'status')
        interop.check(f'a user of this machine does: {text}', status == 0)
    node.stop()


def unix(test):
    path = test.work / 'udpad.sock'
    address, user = f'unix:{path}', f'unix:{os.getuid()}'
    bootstrap = {'sockets': [{'address': address}, {'address': '127.0.0.1:0'}],
                 'acl': {'rules': [{'name': 'local', 'identities': [user],
                                    'actions': ['SUBSCRIBE', 'ADMIN']}]}}
    node = Node(test, 'node', bootstrap)
    plain = node.addresses()[1]
    interop.check('the socket is for its user and its group', path.stat().st_mode & 0o777 == 0o660)
    status, text = ctl(test, address, 'status', 'sessions', '--all', '-o', 'json')
    interop.check(f'{user} has a rule: {text[:300]}', status == 0 and user in text)
    for claim in ('udpactl', user):
        status, text = ctl(test, plain, '--node-id', claim, 'status')
        interop.check(f'a client by TCP that calls itself {claim} has none: {text}', status and 'rule' in text)
    full(test, bootstrap)
    begun = subprocess.run([test.build / 'udpad', '-c', test.work / 'node.json', '--node-id', 'other',
                            '--state', test.work / 'other'], text=True, capture_output=True, check=False,
                           timeout=PATIENCE_S)
    interop.check(f'a second node does not take it: {begun.stderr.strip()[-200:]}',
                  begun.returncode and f'{address}: a process listens there already' in
                  begun.stdout + begun.stderr)
    interop.check('the first one is served on', is_served(address))
    node.process.send_signal(signal.SIGKILL)
    node.process.wait(PATIENCE_S)
    interop.check('a node that is killed leaves the file', path.exists())
    again = Node(test, 'again', bootstrap)
    interop.check('the next one replaces it', is_served(address))
    again.stop()
    interop.check('and removes it in the end', not path.exists())
    status, text = problems(test, {'sockets': [{'address': address}], 'transport': 'GRPC_CORE'})
    interop.check(f"--check refuses it with gRPC's library: {text}", status and "set 'transport: OWN'" in text)


# ---- passed ----

# As systemd does: the descriptors are 3 and those behind it, and the variables are for this process.
LAUNCHER = '''
import os, sys
names, files, command = sys.argv[1], [int(one) for one in sys.argv[2].split(',')], sys.argv[3:]
high = [os.dup2(one, 100 + i) for i, one in enumerate(files)]
for i, one in enumerate(high):
    os.dup2(one, 3 + i)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(high)), LISTEN_FDNAMES=names)
os.execv(command[0], command)
'''


class Passed(Node):
    """udpad that is started with these sockets, by name."""

    def __init__(self, test, name, bootstrap, sockets):
        self.name = name
        file = test.work / f'{name}.json'
        file.write_text(json.dumps({'transport': 'OWN', **bootstrap}), encoding='utf-8')
        numbers = ','.join(str(one.fileno()) for one in sockets.values())
        for one in sockets.values():
            one.set_inheritable(True)
        self.log, self.begin = test.work / f'{name}.log', 0
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-c', LAUNCHER, ':'.join(sockets), numbers, str(test.build / 'udpad'),
                 '--node-id', name, '--state', str(test.work / 'data'), '-c', str(file)],
                stdout=log, stderr=log, pass_fds=[one.fileno() for one in sockets.values()])
        test.processes.append(self)


def by_systemd(test):
    """It starts the node with the first connection, which waits meanwhile."""
    activate = shutil.which('systemd-socket-activate')
    if not activate:
        interop.skip('there is no systemd-socket-activate')
    port, = interop.free_ports(1)
    file = test.work / 'activated.json'
    file.write_text(json.dumps({'transport': 'OWN', 'sockets': [{'address': 'fd:grpc'}]}), encoding='utf-8')
    node = interop.Process(
        [activate, '-l', f'127.0.0.1:{port}', '--fdname=grpc', test.build / 'udpad', '--node-id', 'activated',
         '--state', test.work / 'activated-data', '-c', file], test.work / 'activated.log')
    test.processes.append(node)
    interop.wait_for('systemd-socket-activate listens', lambda: 'Listening on' in node.text())
    interop.check('a node is started by the first connection', is_served(f'127.0.0.1:{port}'))
    line = node.wait_for_log(f'listening on 127.0.0.1:{port} as fd:grpc')
    interop.check(f'and knows where it listens: {line}', True)
    node.process.send_signal(signal.SIGINT)
    interop.check('it ends in good order', node.process.wait(PATIENCE_S) == 0)


def next_one_serves(test, address, bootstrap, sockets):
    """A client that connects to one of these while there is no node."""
    with xds_peer.Client(address) as waiting:
        waiting.send(xds_peer.CLUSTER, ['absent'])
        again = Passed(test, 'again', bootstrap, sockets)
        interop.check('a client that connects between two nodes is served by the next one',
                      waiting.receive().removed_resources)
    again.stop()


def passed(test):
    path = str(test.work / 'passed.sock')
    grpc_socket, local = socket.create_server(('127.0.0.1', 0)), socket.socket(socket.AF_UNIX)
    local.bind(path)
    local.listen()
    address = '127.0.0.1:%d' % grpc_socket.getsockname()[1]
    sockets = {'grpc': grpc_socket, 'admin': local}
    bootstrap = {'sockets': [{'address': 'fd:grpc'}, {'address': 'fd:admin'}],
                 'acl': {'rules': [{'name': 'local', 'identities': [f'unix:{os.getuid()}'],
                                    'actions': ['ADMIN']}]}}
    node = Passed(test, 'node', bootstrap, sockets)
    node.wait_for_log(f'listening on {address} as fd:grpc')
    node.wait_for_log(f'listening on unix:{path} as fd:admin')
    interop.check('the socket of TCP is served', is_served(address))
    status, text = ctl(test, f'unix:{path}', 'status')
    interop.check(f'so is the unix socket, with its user: {text}', status == 0)
    node.stop()
    interop.check('its file stays', os.path.exists(path))
    next_one_serves(test, address, bootstrap, sockets)
    anywhere = socket.create_server(('0.0.0.0', 0))
    for names, words in (({'other': grpc_socket}, "is called 'grpc': they are called 'other'"),
                         ({'grpc': anywhere}, "is beyond loopback")):
        wrong = Passed(test, 'wrong', {'sockets': [{'address': 'fd:grpc'}]}, names)
        status = wrong.process.wait(PATIENCE_S)
        test.processes.remove(wrong)
        interop.check(f'it does not start: {wrong.text()}', status and words in wrong.text())
    status, text = problems(test, {'sockets': [{'address': 'fd:grpc'}]}, '--transport', 'own')
    interop.check(f'--check reports what it takes: {text}', status == 0 and 'FileDescriptorName=grpc' in text)
    by_systemd(test)


# ---- workers ----

STEP = 64  # session numbers of one worker are so far from each other
N_CLIENTS = 40


def workers_of(test, address):
    """Which workers have streams of clients."""
    status, text = ctl(test, address, 'status', 'sessions', '-o', 'json')
    interop.check(f'{address} reports its sessions', status == 0 or print(text))
    return collections.Counter(int(one['resource']['id']) % STEP for one in json.loads(text))


def are_shared(test, address, admin):
    """Clients by this socket are divided over both workers."""
    with contextlib.ExitStack() as clients:
        for _ in range(N_CLIENTS):
            client = clients.enter_context(xds_peer.Client(address))
            client.send(xds_peer.CLUSTER, ['absent'])
            client.receive()
        shares = workers_of(test, admin)
        interop.check(f'{address}: both workers have its clients: {dict(shares)}',
                      sum(shares.values()) >= N_CLIENTS and min(shares[1], shares[2]) > 0)
    interop.wait_for('the clients have gone', lambda: sum(workers_of(test, admin).values()) == 0)


def workers(test):
    path, passed_path = test.work / 'udpad.sock', str(test.work / 'passed.sock')
    grpc_socket, local = socket.create_server(('127.0.0.1', 0)), socket.socket(socket.AF_UNIX)
    local.bind(passed_path)
    local.listen(N_CLIENTS)
    bootstrap = {'sockets': [{'address': f'unix:{path}'}, {'address': '127.0.0.1:0'}, {'address': 'fd:grpc'},
                             {'address': 'fd:local'}],
                 'workers': 2,
                 'acl': {'rules': [{'name': 'local', 'identities': [f'unix:{os.getuid()}'],
                                    'actions': ['SUBSCRIBE', 'ADMIN']},
                                   {'name': 'all', 'identities': ['*'], 'actions': ['SUBSCRIBE']}]}}
    sockets = {'grpc': grpc_socket, 'local': local}
    node = Passed(test, 'node', bootstrap, sockets)
    port = node.wait_for_log('listening on 127.0.0.1:').split('listening on ')[1].split()[0]
    node.wait_for_log(f'listening on unix:{passed_path} as fd:local')
    admin = f'unix:{path}'
    interop.wait_for('udpactl has gone', lambda: sum(workers_of(test, admin).values()) == 0)
    for address in (admin, port, '127.0.0.1:%d' % grpc_socket.getsockname()[1], f'unix:{passed_path}'):
        are_shared(test, address, admin)
    node.stop()
    interop.check('its own file is removed, the other one stays', not path.exists() and os.path.exists(passed_path))
    next_one_serves(test, f'unix:{passed_path}', bootstrap, sockets)


# ---- tls ----

def tls(test):
    folder = test.issue('node')
    node = Node(test, 'node', {'sockets': [{'address': '127.0.0.1:0', 'tls': {
        'certificate_file': f'{folder}/node.crt', 'private_key_file': f'{folder}/node.key'}}]})
    target = types.SimpleNamespace(host='127.0.0.1', port=int(node.address.rsplit(':', 1)[1]), source='127.0.0.1',
                                   tls=True)
    with attacks.Connection(target) as other: # of OpenSSL, which prefers X25519
        request = discovery_pb2.DeltaDiscoveryRequest(type_url=xds_peer.CLUSTER,
                                                      resource_names_subscribe=['absent'])
        request.node.id = 'by-openssl'
        other.send(attacks.frame(attacks.HEADERS, attacks.END_HEADERS, 1, attacks.head()) +
                   attacks.frame(attacks.DATA, 0, 1, attacks.message(request.SerializeToString())))
        sessions = interop.wait_for('both streams', lambda: sessions_of(test, node, folder))
    client, own = sessions['by-openssl'], sessions['udpactl']
    interop.check(f'the stream of OpenSSL has X25519: {client}',
                  client['version'] == 'TLSv1.3' and client['group'] in ('X25519', 'X25519MLKEM768'))
    interop.check(f"the one of gRPC's library P-256: {own}",
                  own['version'] == 'TLSv1.3' and own['group'] == 'P-256' and own['cipher'])


def sessions_of(test, node, folder):
    status, text = ctl(test, node.address, '--ca', folder / 'ca.crt', 'status', 'sessions', '--all', '-o', 'json')
    if status:
        raise interop.Failure(text)
    found = {one['resource'].get('peerNodeId'): one['resource'].get('tls') for one in json.loads(text)}
    return found if {'by-openssl', 'udpactl'} <= set(found) else None


# ---- refused ----

class Local(attacks.Connection):
    """By a unix socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.end = self.goaway = None
        self.is_over, self.n_reset, self.input = False, 0, b''
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(str(path))
        self.send(attacks.PREFACE + attacks.frame(attacks.SETTINGS, 0, 0))


def refuse(path, n):
    """How a connection has ended after so many calls of a method that does not exist; None: it has not."""
    n_refused = 0
    with Local(path) as one:
        for i in range(n):
            one.send(attacks.frame(attacks.HEADERS, attacks.END_HEADERS | attacks.END_STREAM, 2 * i + 1,
                                   attacks.head('/no.such.Service/Method')))
        deadline = time.monotonic() + PATIENCE_S
        while n_refused < n and not one.end and time.monotonic() < deadline:
            n_refused += sum(kind == attacks.HEADERS for kind, *_ in one.read(0.1))
        return one.end


def refused(test):
    path = test.work / 'udpad.sock'
    rule = {'name': 'local', 'identities': [f'unix:{os.getuid()}'], 'actions': ['SUBSCRIBE']}
    everyone = {'name': 'all', 'identities': ['*'], 'actions': ['SUBSCRIBE']}

    def bootstrap(**acl):
        return {'sockets': [{'address': f'unix:{path}'}], 'acl': {'rules': [rule], **acl}}

    node = Node(test, 'node', bootstrap())
    interop.check('rules for single peers: the connection goes', refuse(path, 30) == 'goaway')
    for acl in ({'dry_run': True}, {'rules': [rule, everyone]}):
        (test.work / 'node.json').write_text(json.dumps({'transport': 'OWN', **bootstrap(**acl)}), encoding='utf-8')
        before = node.text().count('effective now')
        node.process.send_signal(signal.SIGHUP)
        interop.wait_for('the rules are reloaded', lambda: node.text().count('effective now') > before)
        interop.check(f'{acl}: it stays', refuse(path, 200) is None)


# ---- identities ----

PER_IDENTITY = 4
OF_ONE = 20 # connections, with the limit above


class Certified(attacks.Connection):
    """With a certificate, from an address of its own, or through a proxy that claims one."""

    def __init__(self, port, folder, name, source='127.0.0.1', protocol='h2', client=None):
        self.context = ssl.create_default_context(cafile=folder / 'ca.crt')
        self.context.load_cert_chain(folder / f'{name}.crt', folder / f'{name}.key')
        self.context.set_alpn_protocols([protocol])
        self.end = self.goaway = None
        self.is_over, self.n_reset, self.input = False, 0, b''
        self.socket = socket.create_connection(('127.0.0.1', port), PATIENCE_S, (source, 0))
        if client:
            self.socket.sendall(head_of(client))
        self.socket = self.context.wrap_socket(self.socket, server_hostname='localhost')
        if protocol == 'h2':
            self.send(attacks.PREFACE + attacks.frame(attacks.SETTINGS, 0, 0))
        else:
            self.send(b'GET /ready HTTP/1.1\r\nhost: localhost\r\n\r\n')

    def is_served(self):
        """It gets a byte of an answer before it is closed."""
        data = None
        while data is None and not self.is_over:
            data = self.receive(PATIENCE_S)
        return bool(data)


def identities(test):
    folder = test.issue('node', 'edge', 'other')
    tls = {'certificate_file': f'{folder}/node.crt', 'private_key_file': f'{folder}/node.key',
           'client_ca_file': f'{folder}/ca.crt'}
    node = Node(test, 'node', {'limits': {'max_streams_per_identity': PER_IDENTITY}, 'sockets': [
        {'address': '127.0.0.1:0', 'tls': tls, 'also_serves': ['PAGES']},
        {'address': '127.0.0.1:0', 'tls': tls, 'proxy_protocol': {'from': ['127.0.0.0/8']}}]})
    port, behind = (int(address.rsplit(':', 1)[1]) for address in node.addresses())
    with contextlib.ExitStack() as stack:
        def connect(name, n, to=port, **more):
            one = stack.enter_context(Certified(to, folder, name, source=f'127.0.9.{n}', **more))
            return one, one.is_served()

        held = [connect('edge', i) for i in range(1, OF_ONE - 1)]
        held += [connect('edge', 50, to=behind, client='192.0.2.1'), connect('edge', 51, protocol='http/1.1')]
        interop.check(f'{OF_ONE} connections of one identity are served', all(served for _, served in held))
        for words, more in (('another address', {}), ('a proxy', {'to': behind, 'client': '192.0.2.2'}),
                            ('HTTP/1.1', {'protocol': 'http/1.1'})):
            one, served = connect('edge', 100, **more)
            interop.check(f'one more by {words} is closed', not served)
        log = node.wait_for_log("connections of identity 'edge'")
        interop.check(f'the log has address and identity: {log}', 'a connection of 127.0.9.100:' in log and
                      'max_streams_per_identity' in log)
        interop.check('another identity is served from there', connect('other', 100)[1])
        for gone in (0, -2, -1): # by HTTP/2, a proxy, HTTP/1.1
            held[gone][0].socket.close()
            interop.wait_for('one that leaves makes room', lambda: connect('edge', 101)[1])
            interop.check('and for one alone', not connect('edge', 102)[1])
    status, text = ctl(test, f'127.0.0.1:{port}', '--ca', folder / 'ca.crt', '--cert', folder / 'other.crt', '--key',
                       folder / 'other.key', 'status', '-o', 'json')
    counted = re.search(r'"connections_refused": "(\d+)"', text)
    interop.check(f'they are counted: {counted and counted[0]}', status == 0 and int(counted[1]) >= 6)
    node.stop()


CASES = {'identities': identities, 'proxy': proxy, 'unix': unix, 'passed': passed, 'workers': workers, 'tls': tls,
         'refused': refused}


def body(test):
    CASES[test.variant](test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(CASES)))
