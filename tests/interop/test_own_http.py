#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sockets of the own listener that serve REST and pages beside gRPC, with real clients (curl, grpcio).

beside: by HTTP/2 and HTTP/1.1, while a stream of gRPC goes on; requests that are cancelled, or too large.
many: a client of Go has 300 requests at once on one connection, more than are served at a time; none fails.
access: the identity that REST has is that of the connection: of the certificate, or of the unix socket.
slow: connections and requests that do not go on are ended, and what begins with garbage.
workers: each of them serves REST on the socket; a node that ends answers what is held."""
import json
import os
import socket
import ssl
import subprocess
import sys
import time
import types

import interop
import attacks
import test_listener_attacks
import test_own_sockets
import test_rest_go
import xds_peer

HERE = interop.SOURCE / 'tests' / 'interop'
PATIENCE_S = 40
MANY_BYTES = 20 << 20
ASKED, HELD = 16, 12
RESOURCES = '/v1/udpa:resources'
STRING = 'type.googleapis.com/google.protobuf.StringValue'
ASK = json.dumps({'type_url': STRING})
BOTH = ['REST', 'PAGES']
SECOND, FIRST = '--http2-prior-knowledge', '--http1.1'
JSON = ('-H', 'content-type: application/json')
TOO_LARGE = 5 << 20


def curl(*arguments, stdin=None):
    """(status, version of HTTP, text)"""
    done = subprocess.run(['curl', '-sS', '-m', str(PATIENCE_S), '-w', '\n%{http_code} %{http_version}', *arguments],
                          capture_output=True, check=False, input=stdin)
    text, _, last = done.stdout.decode().rpartition('\n')
    status, _, version = last.partition(' ')
    return int(status or 0), version, text or done.stderr.decode()


def put_greeting(test):
    folder = test.work / 'resources'
    folder.mkdir()
    (folder / 'hello.yaml').write_text(f'name: hello\nresource:\n  "@type": {STRING}\n  value: world\n')
    return {'directories': [{'path': str(folder)}]}


def check_answer(what, answer, status, version, words):
    interop.check(f'{what}: {answer}', answer[:2] == (status, version) and words in answer[2])


# ---- beside ----

def request_head(path, method='POST', **more):
    fields = {':method': method, ':scheme': 'http', ':path': path, ':authority': 'localhost', **more}
    return b''.join(attacks.literal(*field) for field in fields.items())


def read_until(connection, stream, what):
    """The frames of the stream until one fits."""
    deadline, found = time.monotonic() + PATIENCE_S, []
    while time.monotonic() < deadline and not connection.is_over:
        for one in connection.read(0.1):
            if one[2] != stream:
                continue
            found.append(one)
            if what(one):
                return found
    raise interop.Failure(f'on stream {stream} only {found} came')


def data_of(frames):
    return b''.join(payload for kind, *_, payload in frames if kind == attacks.DATA)


def is_last(one):
    return one[0] in (attacks.DATA, attacks.HEADERS) and one[1] & attacks.END_STREAM


def on_one_connection(node):
    """A stream of gRPC, and requests beside it."""
    host, port = node.address.rsplit(':', 1)
    target = types.SimpleNamespace(host=host, port=int(port), source='127.0.0.1', tls=False)
    ask = xds_peer.discovery_pb2.DeltaDiscoveryRequest(type_url=xds_peer.CLUSTER,
                                                       resource_names_subscribe=['absent'])
    ask.node.id = 'by-hand'
    with attacks.Connection(target) as one:
        one.send(attacks.frame(attacks.HEADERS, attacks.END_HEADERS, 1, attacks.head()) +
                 attacks.frame(attacks.DATA, 0, 1, attacks.message(ask.SerializeToString())))
        read_until(one, 1, lambda frame: frame[0] == attacks.DATA)
        one.send(attacks.frame(attacks.HEADERS, attacks.END_HEADERS | attacks.END_STREAM, 3,
                               request_head('/stats', 'GET')))
        text = data_of(read_until(one, 3, is_last))
        interop.check('a page comes beside the stream', b'client_streams: 2\n' in text)
        one.send(attacks.frame(attacks.HEADERS, attacks.END_HEADERS, 5,
                               request_head(RESOURCES, **{'content-type': 'application/json'})))
        came = []
        while not any(map(is_last, came)): # windows are opened as it comes, which is not looked at
            one.send(attacks.frame(attacks.DATA, 0, 5, bytes(attacks.FRAME_MAX)))
            came += [frame for frame in one.read(0.01) if frame[2] == 5]
            interop.check('the connection is there', not one.is_over)
        interop.check('a body that is too large is answered', b'http.max_body_bytes' in data_of(came))
        ask.ClearField('resource_names_subscribe')
        ask.resource_names_subscribe.append('other')
        one.send(attacks.frame(attacks.DATA, 0, 1, attacks.message(ask.SerializeToString())))
        read_until(one, 1, lambda frame: frame[0] == attacks.DATA)
        interop.check('the stream goes on', one.end is None)


def held_requests(test, node):
    status, text = test_own_sockets.ctl(test, node.address, 'status', 'sessions', '--all', '-o', 'json')
    return text.count('udpa-rest') if status == 0 else None


def cancelled(test, node, version):
    """What a request waits for is not waited for any more once its client has gone."""
    current = json.loads(curl(*JSON, '-d', ASK, version, f'http://{node.address}{RESOURCES}')[2])['version']
    body = json.dumps({'type_url': STRING, 'version': current})
    waiting = subprocess.Popen(['curl', '-sS', *JSON, '-d', body, version, f'http://{node.address}{RESOURCES}'])
    interop.wait_for('the request to be held', lambda: held_requests(test, node) == 1)
    waiting.kill()
    waiting.wait()
    interop.wait_for('it to be forgotten', lambda: held_requests(test, node) == 0)


def beside(test):
    node = test_own_sockets.Node(test, 'node', {
        'sockets': [{'address': '127.0.0.1:0', 'also_serves': BOTH},
                    {'address': '127.0.0.1:0', 'also_serves': ['PAGES']},
                    {'address': '127.0.0.1:0', 'also_serves': ['REST']},
                    {'address': '127.0.0.1:0'}],
        'http': {'admin_pages': True}, 'static_resources': put_greeting(test)})
    both, pages, rest, alone = node.addresses()
    with xds_peer.Client(both) as client:
        client.send(xds_peer.CLUSTER, ['absent'])
        interop.check('gRPC is served', client.receive().removed_resources)
        for option, version in ((SECOND, '2'), (FIRST, '1.1')):
            ask = (*JSON, '-d', ASK, option)
            check_answer('REST', curl(*ask, f'http://{both}{RESOURCES}'), 200, version, '"local/hello"')
            check_answer('a page', curl(option, f'http://{both}/ready'), 200, version, 'ready')
            check_answer('its head', curl(option, '-I', f'http://{both}/ready'), 200, version, 'content-length: 6')
            check_answer('nothing', curl(option, f'http://{both}/none'), 404, version, RESOURCES)
            check_answer('another site', curl(option, '-H', 'origin: http://a.b', f'http://{both}/ready'), 403,
                         version, 'only pages of this node')
            check_answer('pages alone', curl(*ask, f'http://{pages}{RESOURCES}'), 404, version, '/metrics')
            check_answer('REST alone', curl(option, f'http://{rest}/ready'), 404, version, RESOURCES)
            status, _, text = curl(option, f'http://{alone}/ready')
            interop.check(f'gRPC alone: {status} {text}', status == (415 if version == '2' else 0))
            cancelled(test, node, option)
        check_answer('a body that is too large', curl(*JSON, '--data-binary', '@-', FIRST, f'http://{both}{RESOURCES}',
                                                      stdin=bytes(TOO_LARGE)), 413, '1.1', 'http.max_body_bytes')
        on_one_connection(node)
        client.send(xds_peer.CLUSTER, ['other'])
        interop.check('gRPC is served on', client.receive().removed_resources)
    node.stop()
    served = {'sockets': [{'address': '127.0.0.1:0', 'also_serves': BOTH}]}
    status, text = test_own_sockets.problems(test, {**served, 'transport': 'GRPC_CORE'})
    interop.check(f'--check refuses it of the C library: {text}', status and "set 'transport: OWN'" in text)
    status, text = test_own_sockets.problems(test, served, '--transport', 'own')
    interop.check(f'and takes it of the own listener: {text}', status == 0)


# ---- many ----

MANY = 300


def memory(node):
    with open(f'/proc/{node.process.pid}/status', encoding='ascii') as status:
        return int(next(line for line in status if line.startswith('VmHWM')).split()[1]) * 1024


def all_at_once(node):
    """By hand, since libraries try again what was refused."""
    host, port = node.address.rsplit(':', 1)
    target = types.SimpleNamespace(host=host, port=int(port), source='127.0.0.1', tls=False)
    with attacks.Connection(target) as one:
        one.send(b''.join(attacks.frame(attacks.HEADERS, attacks.END_HEADERS | attacks.END_STREAM, 2 * i + 1,
                                        request_head('/ready', 'GET')) for i in range(MANY)))
        deadline, n_ended = time.monotonic() + PATIENCE_S, 0
        while n_ended < MANY and not one.end and not one.n_reset and time.monotonic() < deadline:
            n_ended += sum(bool(is_last(found)) for found in one.read(0.1))
        interop.check(f'{MANY} requests in one piece: {n_ended} answered, {one.n_reset} reset, {one.end}',
                      n_ended == MANY and not one.n_reset and not one.end)


def many(test):
    program = interop.go_program_or_skip(HERE / 'go-http', test.build / 'rest-go-client')
    options = ':'.join(filter(None, (os.environ.get('ASAN_OPTIONS'), test_listener_attacks.ASAN)))
    node = test_own_sockets.Node(test, 'node', {'sockets': [{'address': '127.0.0.1:0', 'also_serves': BOTH}]},
                                 environment={'ASAN_OPTIONS': options})
    test_rest_go.publish(test, node, 'first')
    before = memory(node)
    client = subprocess.run([program, '-url', f'http://{node.address}{RESOURCES}', '-type', STRING, '-polls',
                             str(MANY), '-short'], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    interop.check(f'all are answered, also when all are held: {client.stdout}',
                  client.returncode == 0 and 'all on one connection' in client.stdout)
    all_at_once(node)
    grown = memory(node) - before
    interop.check(f'memory has grown by {grown >> 10} KiB at most', grown < MANY_BYTES)
    node.stop()


# ---- access ----

def access(test):
    folder = test.issue('node', 'reader', 'stranger')
    path = test.work / 'udpad.sock'
    tls = {'certificate_file': f'{folder}/node.crt', 'private_key_file': f'{folder}/node.key',
           'client_ca_file': f'{folder}/ca.crt'}
    rules = [{'name': 'readers', 'identities': ['reader', f'unix:{os.getuid()}'], 'actions': ['SUBSCRIBE', 'ADMIN']}]
    plain = {'address': '127.0.0.1:0', 'also_serves': BOTH, 'proxy_protocol': {'from': ['127.0.0.0/8']}}
    node = test_own_sockets.Node(test, 'node', {
        'sockets': [{'address': '127.0.0.1:0', 'also_serves': BOTH, 'tls': tls},
                    {'address': f'unix:{path}', 'also_serves': BOTH}, plain],
        'acl': {'rules': rules}, 'static_resources': put_greeting(test)})
    port = node.address.rsplit(':', 1)[1]

    def secure(name, *more):
        return ('--cacert', folder / 'ca.crt', '--cert', folder / f'{name}.crt', '--key', folder / f'{name}.key',
                *more)

    for option, version in (('--http2', '2'), (FIRST, '1.1')):
        url = f'https://localhost:{port}'
        check_answer('a reader', curl(*secure('reader', *JSON, '-d', ASK, option), url + RESOURCES), 200, version,
                     '"local/hello"')
        check_answer('its pages', curl(*secure('reader', option), url + '/metrics'), 200, version, 'udpa_')
        check_answer('a stranger', curl(*secure('stranger', *JSON, '-d', ASK, option), url + RESOURCES), 403, version,
                     'rule')
        check_answer('its pages', curl(*secure('stranger', option), url + '/metrics'), 403, version, 'rule')
        status, _, text = curl('--cacert', folder / 'ca.crt', option, url + '/ready')
        interop.check(f'nobody: {text}', status == 0)
    for option, version in ((SECOND, '2'), (FIRST, '1.1')):
        local = ('--unix-socket', path, option)
        check_answer('a user', curl(*local, *JSON, '-d', ASK, f'http://localhost{RESOURCES}'), 200, version,
                     '"local/hello"')
        check_answer('its pages', curl(*local, 'http://localhost/metrics'), 200, version, 'udpa_')
        proxy = test_own_sockets.Proxy(node.addresses()[2], test_own_sockets.head_of('192.0.2.1'))
        check_answer('a client without a name', curl(option, f'http://{proxy.address}/metrics'), 403, version, 'rule')
    context = ssl.create_default_context(cafile=folder / 'ca.crt')
    context.load_cert_chain(folder / 'reader.crt', folder / 'reader.key')
    with socket.create_connection(('127.0.0.1', int(port)), PATIENCE_S) as one:
        with context.wrap_socket(one, server_hostname='localhost') as without: # ALPN
            without.sendall(b'GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
            interop.check('HTTP/1.1 without ALPN', read_all(without).startswith(b'HTTP/1.1 200 '))
    node.stop()


# ---- slow ----

def read_all(connection):
    out = b''
    try:
        while data := connection.recv(65536):
            out += data
    except ConnectionError:
        pass
    return out


def connect(address):
    host, port = address.rsplit(':', 1)
    return socket.create_connection((host, int(port)), PATIENCE_S)


def slow_body(node):
    """Of HTTP/2: answered with words."""
    host, port = node.address.rsplit(':', 1)
    target = types.SimpleNamespace(host=host, port=int(port), source='127.0.0.1', tls=False)
    with attacks.Connection(target) as one:
        one.send(attacks.frame(attacks.HEADERS, attacks.END_HEADERS, 1,
                               request_head(RESOURCES, **{'content-type': 'application/json'})) +
                 attacks.frame(attacks.DATA, 0, 1, b'{'))
        text = data_of(read_until(one, 1, is_last))
        interop.check(f'a body that does not come is not waited for: {text}', b'did not come within' in text)
        interop.check('its connection is there', not one.is_over)


def slow(test):
    node = test_own_sockets.Node(test, 'node', {'sockets': [{'address': '127.0.0.1:0', 'also_serves': BOTH}]})
    post = b'POST %s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' % RESOURCES.encode()
    begins = {b'': b'', b'P': b'', b'PRI': b'', b'POS': b'', post: b'',
              post + b'content-length: 5\r\n\r\n{': b'HTTP/1.1 408 '}
    held = {begin: connect(node.address) for begin in begins}
    for begin, one in held.items():
        one.sendall(begin)
    slow_body(node)
    for begin, expected in begins.items():
        answer = read_all(held[begin])
        interop.check(f'{begin[:40]} is ended with {answer[:40]}',
                      answer.startswith(expected) if expected else b'HTTP' not in answer)
        held[begin].close()
    for garbage in (b'\0\1\2\3\r\n\r\n', b'\x16\3\1\2\0\1\0\1\xfc\3\3\r\n\r\n', b'PRI * HTTP/1.1\r\n\r\n' + b'\xff' * 64,
                    b'\r\n' * 10000, b'GET / HTTP/1.1\r\nx: ' + b'y' * 100000):
        with connect(node.address) as one:
            try:
                one.sendall(garbage)
                one.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            interop.check(f'{garbage[:20]} is ended', b' 200 ' not in read_all(one))
    requests = b'GET /ready HTTP/1.1\r\nhost: x\r\n\r\n' * 50 + \
        b'GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
    with connect(node.address) as one:
        one.sendall(requests)
        interop.check('requests that come together are answered', read_all(one).count(b'HTTP/1.1 200 ') == 51)
    interop.check('gRPC is served', test_own_sockets.is_served(node.address))
    node.stop()


# ---- workers ----

class Held:
    """Requests that are held, for nothing changes: on both workers, as the kernel divides connections."""

    def __init__(self, address, version):
        ask = json.dumps({'type_url': STRING, 'version': version})
        self.all = [subprocess.Popen(['curl', '-sS', '-m', str(PATIENCE_S), '-w', '\n%{http_code}', *JSON, '-d', ask,
                                      f'http://{address}{RESOURCES}'], stdout=subprocess.PIPE, text=True)
                    for _ in range(HELD)]

    def shares(self, test, node):
        """Of each worker; None: they are not held yet."""
        shares = test_own_sockets.workers_of(test, node.address)
        return shares if sum(shares.values()) == len(self.all) else None

    def statuses(self):
        return [one.communicate(timeout=PATIENCE_S)[0].rsplit('\n', 1)[-1] for one in self.all]


def workers(test):
    node = test_own_sockets.Node(test, 'node', {
        'sockets': [{'address': '127.0.0.1:0', 'also_serves': ['REST']}], 'workers': 2,
        'static_resources': put_greeting(test)})
    answers = [curl(how, *JSON, '-d', ASK, f'http://{node.address}{RESOURCES}')
               for how in (FIRST, SECOND) for _ in range(ASKED)]
    interop.check(f'both workers answer, by HTTP/1.1 and HTTP/2: {answers[0]}',
                  all(answer[0] == 200 and 'world' in answer[2] for answer in answers) and
                  [answer[1] for answer in answers] == ['1.1'] * ASKED + ['2'] * ASKED)
    interop.check('no pages are there', curl(f'http://{node.address}/ready')[0] == 404)
    interop.check('gRPC is served beside it', test_own_sockets.is_served(node.address))
    held = Held(node.address, json.loads(answers[0][2])['version'])
    shares = interop.wait_for('all are held', lambda: held.shares(test, node))
    interop.check(f'both workers hold some: {dict(shares)}', min(shares[1], shares[2]) > 0)
    node.stop()
    statuses = held.statuses()
    interop.check(f'what is held is answered at the end: {statuses}', set(statuses) == {'503'})


CASES = {'beside': beside, 'many': many, 'access': access, 'slow': slow, 'workers': workers}


def body(test):
    CASES[test.variant](test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(CASES)))
