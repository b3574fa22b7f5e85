#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""REST as clients meet it: what is answered, what is held, what is refused and with which words; on a
socket of its own, or on one of gRPC."""
import argparse
import concurrent.futures
import http.client
import json
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

from product import PATIENCE_S, check, main, wait_for

RESOURCES = '/v1/udpa:resources'
CLUSTERS = '/v3/discovery:clusters'
XDS = [f'/v3/discovery:{name}' for name in (
    'listeners', 'routes', 'scoped-routes', 'clusters', 'endpoints', 'secrets', 'runtime',
    'extension_configs')]
STRING = 'type.googleapis.com/google.protobuf.StringValue'
CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
WRAPPER = 'type.googleapis.com/envoy.service.discovery.v3.Resource'
SECRET = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'
JSON = {'content-type': 'application/json'}
NODE = {'node': {'id': 'test', 'cluster': 'tests'}}


# ---- what is served ----

def put_greeting(test, text, name='hello'):
    folder = test.work / 'resources'
    folder.mkdir(exist_ok=True)
    new = test.work / 'new.yaml'
    new.write_text(f'name: {name}\nresource:\n  "@type": {STRING}\n  value: {json.dumps(text)}\n')
    new.rename(folder / f'{name}.yaml')
    return folder


def field(number, data):
    size = bytes([len(data)] if len(data) < 128 else [len(data) % 128 | 128, len(data) // 128])
    return bytes([number << 3 | 2]) + size + data


def put_cluster(test):
    """In binary and wrapped, since its type is unknown here."""
    cluster = field(1, CLUSTER.encode()) + field(2, field(1, b'backend'))
    wrapped = field(1, WRAPPER.encode()) + field(2, field(3, b'backend') + field(2, cluster))
    (put_greeting(test, 'first') / 'cluster.pb').write_bytes(field(2, wrapped))


class Rest:
    """A node with REST."""

    def __init__(self, test, name, *more, http=None, **bootstrap):
        """http: the section of this name; by default one socket."""
        self.test = test
        few = test.work / 'few.descriptors' # one file, in which there is nothing
        few.write_bytes(field(1, field(1, b'x.proto')))
        http = http or {'sockets': [{}]}
        sockets = [{'address': '127.0.0.1:0', **one} for one in http.pop('sockets')]
        if test.arguments.variant == 'beside_grpc':
            sockets = [{'also_serves': ['REST', 'PAGES'], **one} for one in sockets]
            bootstrap.update(sockets=sockets, transport='OWN', http=http)
        else:
            bootstrap.update(sockets=[{'address': '127.0.0.1:0'}], http={**http, 'sockets': sockets})
        file = test.work / f'{name}.json'
        file.write_text(json.dumps(bootstrap))
        self.process = test.start(name, [test.build / 'udpad', '-c', file, '--node-id', name, '--state',
                                         test.work / f'{name}-data', '--descriptors', few, *more])
        self.grpc = re.search(r'listening on (\S+)', self.process.wait_for_log('listening on '))[1]
        self.ports = [int(port) for port in
                      re.findall(r'listening on 127\.0\.0\.1:(\d+) \([^)]*REST', self.text())]

    def text(self):
        wait_for('the whole welcome', lambda: 'names without' in self.process.text())
        return self.process.text()

    def post(self, path, body, headers=None, timeout=PATIENCE_S):
        """(status, parsed JSON or None, headers)"""
        connection = http.client.HTTPConnection('127.0.0.1', self.ports[0], timeout=timeout)
        text = body if isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request('POST', path, text, {**JSON, **(headers or {})})
        return read_answer(connection)

    def ask(self, method, path):
        connection = http.client.HTTPConnection('127.0.0.1', self.ports[0], timeout=PATIENCE_S)
        connection.request(method, path)
        return read_answer(connection)

    def raw(self, data):
        """What comes back for these bytes, until the other side closes."""
        with socket.create_connection(('127.0.0.1', self.ports[0]), PATIENCE_S) as stream:
            stream.sendall(data)
            return read_all(stream)

    def is_well(self):
        return self.post(CLUSTERS, NODE)[0] in (200, 501)


def read_answer(connection):
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text else None, answer.headers


def read_all(stream):
    out = b''
    try:
        while data := stream.recv(65536):
            out += data
    except ConnectionError:
        pass
    return out


def values(answer):
    return {resource['name']: resource['resource']['value'] for resource in
            answer.get('resources', [])}


# ---- answers ----

def test_answers(rest):
    for path in XDS:
        status, answer, headers = rest.post(path, NODE)
        if path == CLUSTERS:
            continue
        check(f'{path} is answered by all there is', status == 200 and
              re.fullmatch('[0-9a-f]{32}', answer['versionInfo']) and
              headers['content-type'] == 'application/json' and
              'resources' not in answer, f'{status} {answer}')
    status, answer, _ = rest.post(RESOURCES, {'type_url': STRING})
    check('UDPA is answered', status == 200 and values(answer) == {'local/hello': 'first'} and
          answer['resources'][0]['originInfo']['authority'] == 'node', answer)
    status, answer, _ = rest.post(RESOURCES, {
        'typeUrl': STRING, 'namespace': 'local', 'resourceNames': ['local/none']})
    check('a name that there is not is not in the answer', status == 200 and not values(answer),
          answer)
    status, answer, _ = rest.post(RESOURCES, {'type_url': STRING, 'newer_field': {'x': [1]}})
    check('a client may be newer than the node', status == 200, answer)


def test_unknown_type(rest):
    status, answer, _ = rest.post(CLUSTERS, NODE)
    words = answer['message']
    check('a type without descriptors is named, and how to load them is told',
          status == 501 and 'envoy.config.cluster.v3.Cluster' in words and
          '--descriptors FILE' in words and 'descriptor_sets' in words, f'{status} {answer}')
    line = rest.process.wait_for_log('cannot be answered')
    check('the log says so, too', 'envoy.config.cluster.v3.Cluster' in line, line)


# ---- holding ----

def test_hold(test, rest):
    _, first, _ = rest.post(RESOURCES, {'type_url': STRING})
    ask = {'type_url': STRING, 'version': first['version']}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        held = [pool.submit(rest.post, RESOURCES, ask), pool.submit(curl, rest, RESOURCES, ask)]
        status, answer, headers = rest.post(RESOURCES, ask, {'prefer': 'respond-async, wait=1'})
        check('when the client waits no longer, nothing has changed', status == 304 and not answer,
              f'{status} {answer}')
        check('it is told that it was held', headers['preference-applied'] == 'wait', headers)
        status, _, _ = rest.post(RESOURCES, ask, {'x-envoy-expected-rq-timeout-ms': '500'})
        check('an Envoy is answered before it gives up', status == 304, status)
        check('the others are still held', not any(one.done() for one in held))
        put_greeting(test, 'second')
        answers = [one.result(PATIENCE_S) for one in held]
    check('who has not asked for it is not told so', 'preference-applied' not in answers[0][2])
    for status, answer, _ in answers:
        check('a change ends the wait', status == 200 and
              values(answer) == {'local/hello': 'second'}, f'{status} {answer}')
    _, empty, _ = rest.post(XDS[0], NODE)
    status, _, _ = rest.post(XDS[0], {**NODE, 'version_info': empty['versionInfo']},
                             {'prefer': 'wait=1'})
    check('xDS holds by version_info', status == 304, status)


def test_refused_answer(test, rest):
    """Who asks again with the version that he had is held, once."""
    old = rest.post(RESOURCES, {'type_url': STRING})[1]['version']
    put_greeting(test, 'third')
    ask = {'type_url': STRING, 'version': old}
    wait = {'prefer': 'wait=1'}
    wait_for('the change', lambda: rest.post(RESOURCES, {'type_url': STRING})[1]['version'] != old)
    answers = [rest.post(RESOURCES, ask, wait)[0] for _ in range(4)]
    check('what was refused is sent once a hold', answers == [200, 304, 200, 304], answers)
    status, answer, _ = rest.post(RESOURCES, {**ask, 'namespace': 'local'}, wait)
    check('another question is answered', status == 200 and values(answer), status)
    answers = [rest.post(RESOURCES, {'type_url': STRING}, wait)[0] for _ in range(3)]
    check('who has no version is answered each time', answers == [200, 200, 200], answers)


def curl(rest, path, body, *more):
    """By HTTP/2: (status, JSON or None, version of HTTP)"""
    done = subprocess.run(
        ['curl', '-sS', '-m', str(PATIENCE_S), '-w', '\n%{http_code} %{http_version}',
         '-H', 'content-type: application/json', '-d', json.dumps(body),
         *(more or ['--http2-prior-knowledge', f'http://127.0.0.1:{rest.ports[0]}{path}'])],
        capture_output=True, text=True, check=False)
    text, _, last = done.stdout.rpartition('\n')
    status, _, version = last.partition(' ')
    return int(status or 0), json.loads(text) if text else done.stderr or None, version


def test_second(rest):
    status, answer, version = curl(rest, RESOURCES, {'type_url': STRING})
    check('HTTP/2 without TLS', status == 200 and version == '2' and values(answer), answer)
    status, answer, version = curl(rest, RESOURCES, {'type_url': STRING}, '--http2',
                                   f'http://127.0.0.1:{rest.ports[0]}{RESOURCES}')
    check('who offers to change to HTTP/2 is answered as he asks', status == 200 and
          version == '1.1', f'{status} {version} {answer}')


# ---- refusals ----

def test_refusals(rest):
    cases = [
        ('an unknown path', rest.ask('POST', '/nothing'), 404, RESOURCES),
        ('an unknown path, by any method', rest.ask('GET', '/'), 404, CLUSTERS),
        ('version 2', rest.ask('POST', '/v2/discovery:clusters'), 404, 'transport_api_version'),
        ('another method', rest.ask('GET', CLUSTERS), 405, 'takes POST alone'),
        ('another type of content', rest.post(CLUSTERS, NODE, {'content-type': 'text/plain'}), 415,
         'application/json'),
        ('a packed body', rest.post(CLUSTERS, NODE, {'content-encoding': 'gzip'}), 415, 'gzip'),
        ('broken JSON', rest.post(CLUSTERS, '{"node":\n {"id": 5,}}'), 400, 'body:2:'),
        ('JSON of another shape', rest.post(CLUSTERS, '{"node": [1]}'), 400, 'body:1:10: node'),
        ('no JSON', rest.post(CLUSTERS, ''), 400, 'body'),
        ('deep JSON', rest.post(CLUSTERS, '[' * 100000), 400, 'nested too deep'),
        ('another type', rest.post(CLUSTERS, {**NODE, 'type_url': STRING}), 400, 'for the type'),
        ('no type', rest.post(RESOURCES, {}), 400, 'needs a type_url'),
        ('secrets without TLS', rest.post(RESOURCES, {'type_url': SECRET}), 403, 'TLS alone'),
        ('what clients report', rest.post(RESOURCES, {
            'type_url': 'type.googleapis.com/udpa.status.v1.NodeStatus'}), 403, 'clients report'),
    ]
    for what, (status, answer, _), expected, words in cases:
        check(f'{what}: {expected}', status == expected and words in answer['message'],
              f'{status} {answer}')
    check('the method that there is, is told', rest.ask('PUT', CLUSTERS)[2]['allow'] == 'POST')


def head(*lines, path=CLUSTERS):
    return ('\r\n'.join([f'POST {path} HTTP/1.1', 'host: x', 'content-type: application/json',
                         *lines]) + '\r\n\r\n').encode()


def test_framing(rest):
    chunked = head('transfer-encoding: chunked')
    body = b'{"type_url": "' + STRING.encode() + b'"}'
    good = b'%x\r\n%s\r\n0\r\n\r\n' % (len(body), body)
    cases = [
        ('a body in chunks', head('transfer-encoding: chunked', 'connection: close', path=RESOURCES)
         + good, 200, 'hello'),
        ('a bad chunk', chunked + b'zz\r\n', 400, 'chunks'),
        ('a chunk too large', chunked + b'fffffff\r\n', 413, 'larger than'),
        ('a body too large', head('content-length: 99999999'), 413, 'max_body_bytes'),
        ('no length', head(), 411, 'content-length'),
        ('a length that is none', head('content-length: -1'), 400, 'must be a number'),
        ('two lengths', head('content-length: 5', 'transfer-encoding: chunked') + good, 400,
         'either'),
        ('another coding', head('transfer-encoding: gzip, chunked'), 501, 'not understood'),
    ]
    for what, data, status, words in cases:
        answer = rest.raw(data).decode()
        check(f'{what}: {status}', answer.startswith(f'HTTP/1.1 {status} ') and words in answer and
              'connection: close' in answer, answer)
    check('too long a head is cut off', b' 200 ' not in rest.raw(head('x: ' + 'y' * 100000)))
    one = head('content-length: 2', path=XDS[0]) + b'{}'
    other = b'GET /none HTTP/1.1\r\nhost: x\r\n\r\n'
    last = head('content-length: 2', 'connection: close', path=XDS[0]) + b'{}'
    answers = rest.raw((one + other) * 25 + last)
    check('requests that come together are answered in order',
          re.findall(rb'HTTP/1.1 (\d+) ', answers) == [b'200', b'404'] * 25 + [b'200'],
          answers[:2000])
    for data in (b'\0\1\2\3\r\n\r\n', b'CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n',
                 b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\xff' * 64):
        rest.raw(data)
    check('it serves on', rest.is_well())


# ---- hostile use of HTTP/2 ----

def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + \
        payload


def literal(name, value):
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
DATA, HEADERS, RESET, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
CALM = b'\0\0\0\x0b'
INITIAL_WINDOW = 4 # a setting
SMALL_WINDOW = 1000


def request(body):
    """The headers of a request for resources of UDPA, and the body."""
    text = json.dumps(body).encode()
    return b'\x83\x86' + literal(b':path', RESOURCES.encode()) + literal(b':authority', b'x') + \
        literal(b'content-type', b'application/json') + \
        literal(b'content-length', str(len(text)).encode()), text


def read_exactly(stream, size):
    data = b''
    while len(data) < size:
        more = stream.recv(size - len(data))
        if not more:
            raise ConnectionError('it was closed')
        data += more
    return data


def read_frame(stream):
    head = read_exactly(stream, 9)
    return head[3], head[4], read_exactly(stream, int.from_bytes(head[:3], 'big'))


def test_small_window(test, rest):
    """A client that takes little at a time gets all of it."""
    put_greeting(test, 'x' * 50000, 'large')
    wait_for('the large one', lambda: 'local/large' in values(
        rest.post(RESOURCES, {'type_url': STRING})[1]))
    headers, body = request({'type_url': STRING, 'resource_names': ['local/large']})
    got, is_last = b'', False
    with socket.create_connection(('127.0.0.1', rest.ports[0]), PATIENCE_S) as stream:
        stream.sendall(PREFACE +
                       frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, SMALL_WINDOW)) +
                       frame(HEADERS, 4, 1, headers) + frame(DATA, 1, 1, body))
        while not is_last:
            kind, flags, payload = read_frame(stream)
            if kind != DATA:
                continue
            if len(payload) > SMALL_WINDOW:
                check('no more than the window comes at once', False, len(payload))
            got += payload
            is_last = flags & 1
            for number in () if is_last else (0, 1):
                stream.sendall(frame(WINDOW_UPDATE, 0, number, struct.pack('>I', len(payload))))
    check('a client with a small window gets all of it',
          values(json.loads(got)) == {'local/large': 'x' * 50000}, got[:200])
    (test.work / 'resources' / 'large.yaml').unlink()
    wait_for('the end of the large one', lambda: 'local/large' not in values(
        rest.post(RESOURCES, {'type_url': STRING})[1]))


def most_memory(rest):
    text = pathlib.Path(f'/proc/{rest.process.process.pid}/status').read_text()
    return int(re.search(r'VmHWM:\s*(\d+) kB', text).group(1)) * 1024


def test_same_answers(test):
    """Who waits for the same is sent the same: not a copy for each who does not take it."""
    size, n = 4 << 20, 120
    folder = test.work / 'very-large'
    folder.mkdir()
    (folder / 'one.yaml').write_text(
        f'name: one\nresource:\n  "@type": {STRING}\n  value: "{"x" * size}"\n')
    rest = Rest(test, 'same', '--resources', folder)
    wait_for('the large one', lambda: rest.post(RESOURCES, {'type_url': STRING})[0] == 200)
    before = most_memory(rest)
    headers, body = request({'type_url': STRING})
    with socket.create_connection(('127.0.0.1', rest.ports[0]), PATIENCE_S) as stream:
        stream.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, 1)))
        for number in range(1, 2 * n, 2):
            stream.sendall(frame(HEADERS, 4, number, headers) + frame(DATA, 1, number, body))
            while read_frame(stream)[0] != DATA:
                pass
    more = most_memory(rest) - before
    check('many answers that nobody takes are one', more < n * size / 4, f'{more} bytes')
    check('SIGINT ends it', test.interrupt(rest.process) == 0)


def is_calmed(out):
    """The last frame is GOAWAY, with ENHANCE_YOUR_CALM."""
    kind, code = 0, b''
    while len(out) >= 9:
        size = int.from_bytes(out[:3], 'big')
        kind, code, out = out[3], out[13:17], out[9 + size:]
    return kind == GOAWAY and code == CALM


def test_rapid_reset(test, rest, version):
    """Streams that are opened and reset at once end the connection before they cost much. A node that has other
    things to do reads late: what lies in sockets until then, some 40,000 of them, costs it nothing."""
    headers, body = request({'type_url': STRING, 'version': version})
    n_reset, most = 0, 200000
    with socket.create_connection(('127.0.0.1', rest.ports[0]), PATIENCE_S) as stream:
        stream.sendall(PREFACE + frame(SETTINGS, 0, 0))
        try:
            for number in range(1, 2 * most, 2):
                stream.sendall(frame(HEADERS, 4, number, headers) + frame(DATA, 1, number, body) +
                               frame(RESET, 0, number, struct.pack('>I', 8)))
                n_reset += 1
        except ConnectionError:
            pass
        out = read_all(stream)
    check('who resets streams is cut off', n_reset < most or is_calmed(out), n_reset)
    wait_for('every held request to be forgotten', lambda: 'udpa-rest' not in subprocess.run(
        [test.build / 'udpactl', '--server', rest.grpc, 'status'], capture_output=True, text=True,
        check=False).stdout)
    check('others are served', rest.is_well())


def test_connections(test):
    """At the limit, others are not let in, until one leaves."""
    rest = Rest(test, 'few', http={'sockets': [{}], 'max_connections': 3, 'max_connections_per_client': 3})
    streams = [socket.create_connection(('127.0.0.1', rest.ports[0])) for _ in range(3)]
    for stream in streams:
        stream.sendall(b'POST /') # one of gRPC counts elsewhere
    wait_for('the fourth to be refused', lambda: rest.raw(head('content-length: 2')) == b'' and
             not accepts(rest))
    for stream in streams:
        stream.close()
    wait_for('place for another one', lambda: accepts(rest))
    check('a limit on connections', True)
    check('SIGINT ends it', test.interrupt(rest.process) == 0)


def connect_from(host, port):
    return socket.create_connection(('127.0.0.1', port), PATIENCE_S, source_address=(host, 0))


def is_answered(stream):
    """What is no JSON is answered at once, to who may ask."""
    try:
        stream.sendall(head('content-length: 1') + b'{')
        return stream.recv(12) == b'HTTP/1.1 400'
    except ConnectionError:
        return False


def test_connections_of_one(test):
    """A client that takes all it can get keeps nobody else out: by its address, and by its certificate,
    wherever it comes from. Who has shown one counts no more as one of its address."""
    (certificate, key, ca), (edge, edge_key, _) = issue(test, 'node'), issue(test, 'edge')
    tls = {'certificate_file': str(certificate), 'private_key_file': str(key), 'client_ca_file': str(ca)}
    rest = Rest(test, 'one', http={'max_connections': 40, 'sockets': [{}, {'tls': tls}]})
    greedy = [connect_from('127.0.0.2', rest.ports[0]) for _ in range(60)]
    answered = [is_answered(stream) for stream in greedy]
    check('one address has half of all connections', answered == [True] * 20 + [False] * 40, answered)
    rest.process.wait_for_log('rejected a connection: address 127.0.0.2 has 20 connections open')
    check('and another one is served', rest.is_well())
    context = ssl.create_default_context(cafile=ca)
    context.load_cert_chain(edge, edge_key)
    known = [context.wrap_socket(connect_from(f'127.0.0.{3 + i % 3}', rest.ports[1]),
                                 server_hostname='localhost') for i in range(19)]
    check('a certificate has so many, too', all(is_answered(stream) for stream in known))
    for stream in greedy:
        stream.close()
    wait_for('their places', lambda: accepts(rest))
    more = [context.wrap_socket(connect_from('127.0.0.9', rest.ports[1]),
                                server_hostname='localhost') for i in range(2)]
    check('wherever it comes from', is_answered(more[0]))
    more[1].sendall(head('content-length: 2') + b'{}')
    refused = read_all(more[1])
    check('but no more', b'429' in refused.split(b'\r\n')[0] and
          b"identity 'edge' has 20 connections open" in refused, refused)
    for stream in known + more:
        stream.close()
    check('SIGINT ends it', test.interrupt(rest.process) == 0)


def accepts(rest):
    try:
        return rest.is_well()
    except (OSError, http.client.HTTPException):
        return False


# ---- TLS ----

def issue(test, name):
    folder = test.work / 'certificates'
    subprocess.run([test.arguments.ca, folder, name], check=True, stdout=subprocess.DEVNULL)
    return folder / f'{name}.crt', folder / f'{name}.key', folder / 'ca.crt'


def served_number(port, context):
    """The serial number of the certificate that is shown."""
    with socket.create_connection(('127.0.0.1', port), PATIENCE_S) as stream:
        with context.wrap_socket(stream, server_hostname='localhost') as secure:
            return secure.getpeercert()['serialNumber']


def chosen_protocol(port, context, *offered):
    context.set_alpn_protocols(offered)
    with socket.create_connection(('127.0.0.1', port), PATIENCE_S) as stream:
        with context.wrap_socket(stream, server_hostname='localhost') as secure:
            return secure.selected_alpn_protocol()


def second_by_tls(port, context, body):
    """The answer's JSON, by HTTP/2."""
    context.set_alpn_protocols(['h2'])
    headers, text = request(body)
    got, flags = b'', 0
    with socket.create_connection(('127.0.0.1', port), PATIENCE_S) as stream:
        with context.wrap_socket(stream, server_hostname='localhost') as secure:
            secure.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, headers) +
                           frame(DATA, 1, 1, text))
            while not (got and flags & 1):
                kind, flags, payload = read_frame(secure)
                got += payload if kind == DATA else b''
    return json.loads(got)


def secure_post(port, context, path, body):
    connection = http.client.HTTPSConnection('localhost', port, timeout=PATIENCE_S, context=context)
    connection.request('POST', path, json.dumps(body), JSON)
    return read_answer(connection)


def test_tls(test):
    (certificate, key, ca), (edge, edge_key, _) = issue(test, 'node'), issue(test, 'edge')
    tls = {'certificate_file': str(certificate), 'private_key_file': str(key), 'client_ca_file': str(ca)}
    rest = Rest(test, 'tls', '--resources', put_greeting(test, 'secure'), http={'sockets': [{'tls': tls}]},
                audiences=[{'name': 'edges', 'match': {'identities': ['edge']}}])
    contexts = {}
    for name in ('edge', 'node'):
        contexts[name] = ssl.create_default_context(cafile=ca)
        contexts[name].load_cert_chain(*issue(test, name)[:2])
    port = rest.ports[0]
    status, answer, _ = secure_post(port, contexts['edge'], XDS[0], NODE)
    check('a client belongs to an audience by its certificate', status == 200, answer)
    status, answer, _ = secure_post(port, contexts['node'], XDS[0], NODE)
    check('another one does not', status == 403 and "certificate 'node'" in answer['message'],
          answer)
    status, answer, _ = secure_post(port, contexts['edge'], RESOURCES, {'type_url': SECRET})
    check('secrets by TLS', status == 200, answer)
    answer = second_by_tls(port, contexts['edge'], {'type_url': STRING})
    check('HTTP/2 by TLS', values(answer) == {'local/hello': 'secure'}, answer)
    status, answer, version = curl(rest, RESOURCES, {'type_url': STRING}, '--cacert', ca, '--cert',
                                   edge, '--key', edge_key, f'https://localhost:{port}{RESOURCES}')
    check('who can speak HTTP/2 is answered by that', status == 200 and version == '2' and
          values(answer), answer)
    check('what a client offers is taken, HTTP/2 rather than HTTP/1.1',
          chosen_protocol(port, contexts['edge'], 'http/1.1', 'h2') == 'h2' and
          chosen_protocol(port, contexts['edge'], 'http/1.1') == 'http/1.1' and
          chosen_protocol(port, contexts['edge'], 'h2') == 'h2')
    contexts['edge'].set_alpn_protocols(['http/1.1'])
    try:
        secure_post(port, ssl.create_default_context(cafile=ca), XDS[0], NODE)
        check('who has no certificate is not let in', False)
    except (ssl.SSLError, ConnectionError):
        check('who has no certificate is not let in', True)
    before = served_number(port, contexts['edge'])
    for path in (certificate, key):
        path.unlink()
    issue(test, 'node')
    rest.process.process.send_signal(signal.SIGHUP)
    rest.process.wait_for_log('reloaded: certificates')
    wait_for('the new certificate', lambda: served_number(port, contexts['edge']) != before)
    status, _, _ = secure_post(port, contexts['edge'], XDS[0], NODE)
    check('a reload changes the certificate, and clients come as before', status == 200)
    check('SIGINT ends it', test.interrupt(rest.process) == 0)


# ---- what this node holds, and cannot be said ----

def test_broken_resource(test, rest):
    """Who asks is not to blame for what is there."""
    broken = field(1, STRING.encode()) + field(2, b'\xff\xff')
    wrapped = field(1, WRAPPER.encode()) + field(2, field(3, b'broken') + field(2, broken))
    path = test.work / 'resources' / 'broken.pb'
    path.write_bytes(field(2, wrapped))
    ask = {'type_url': STRING}
    wait_for('the broken one', lambda: 'errors' in rest.post(RESOURCES, ask)[1])
    status, answer, _ = rest.post(RESOURCES, ask)
    error = answer['errors'][0]
    check('a broken resource is left out, and named', status == 200 and len(answer['errors']) == 1 and
          error['name'] == 'local/broken' and 'StringValue' in error['errorDetail']['message'] and
          error['errorDetail']['code'] == 13, answer)
    check('all others are there', 'local/hello' in values(answer) and
          'local/broken' not in values(answer), answer)
    rest.process.wait_for_log('cannot be answered in full')
    path.unlink()
    wait_for('its end', lambda: 'errors' not in rest.post(RESOURCES, ask)[1])


def test_broken_cluster(test):
    """By xDS, too: one whose name can be read, and one that has none."""
    message = field(1, b'Cluster') + field(2, field(1, b'name') + b'\x18\x01\x20\x01\x28\x09')
    clusters = field(1, b'cluster.proto') + field(2, b'envoy.config.cluster.v3') + field(4, message)
    descriptors = test.work / 'clusters.descriptors'
    descriptors.write_bytes(field(1, clusters + field(12, b'proto3')))
    folder = test.work / 'broken'
    folder.mkdir()
    for name, content in (('good', field(1, b'good')), ('bad', field(1, b'bad') + b'\xff'),
                          ('worse', b'\xff\xff')):
        cluster = field(1, CLUSTER.encode()) + field(2, content)
        wrapped = field(1, WRAPPER.encode()) + field(2, field(3, name.encode()) + field(2, cluster))
        (folder / f'{name}.pb').write_bytes(field(2, wrapped))
    rest = Rest(test, 'broken', '--descriptors', descriptors, '--resources', folder)
    wait_for('the clusters', lambda: rest.post(CLUSTERS, NODE)[0] == 200)
    status, answer, _ = rest.post(CLUSTERS, NODE)
    told = [error['resourceName'].get('name', '') for error in answer['resourceErrors']]
    check('clusters, too', sorted(told) == ['', 'bad'] and
          all('Cluster' in error['errorDetail']['message'] for error in answer['resourceErrors']),
          answer)
    check('with the others', [cluster['name'] for cluster in answer['resources']] == ['good'], answer)
    check('SIGINT ends it', test.interrupt(rest.process) == 0)


# ---- configuration, and the end ----

def test_options(test):
    for given, words in ((('--http', '0.0.0.0:0'), 'beyond loopback'),
                         (('--http', 'nowhere'), 'no address to listen on'),
                         (('--http', ''), 'has an empty value')):
        done = subprocess.run([test.build / 'udpad', '--check', *given], capture_output=True,
                              text=True, check=False)
        check(f'{" ".join(given)} is a mistake', done.returncode == 2 and words in done.stderr,
              done.stderr)
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([test.build / 'udpad', '--listen', '127.0.0.1:0', '--http',
                               f'127.0.0.1:{port}', '--state', test.work / 'taken'],
                              capture_output=True, text=True, check=False, timeout=60)
    check('a port that is taken is told', done.returncode == 1 and 'in use' in done.stderr,
          done.stderr)


def test_end(test, rest, version):
    """What is held is answered before the node ends."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        held = pool.submit(rest.post, RESOURCES, {'type_url': STRING, 'version': version})
        wait_for('the request to be held', lambda: 'udpa-rest' in subprocess.run(
            [test.build / 'udpactl', '--server', rest.grpc, 'status'], capture_output=True,
            text=True, check=False).stdout)
        idle = socket.create_connection(('127.0.0.1', rest.ports[0]))
        begin = time.monotonic()
        status = test.interrupt(rest.process)
        answer = held.result(PATIENCE_S)
    idle.close()
    check('it ends in good order', status == 0, rest.process.text()[-2000:])
    check('soon', time.monotonic() - begin < PATIENCE_S / 2)
    check('who waits is told', answer[0] == 503 and 'shutting down' in answer[1]['message'] and
          answer[2]['retry-after'], answer)


def test_change_behind_the_end(test):
    """Who was told that the node ends is told nothing else, whatever changes meanwhile."""
    rest = Rest(test, 'ending')
    apply = [test.build / 'udpactl', '--server', rest.grpc, 'apply', '-f']
    one = test.work / 'one.yaml'
    one.write_text(f'name: one\nresource:\n  "@type": {STRING}\n  value: first\n')
    subprocess.run([*apply, one], check=True, stdout=subprocess.DEVNULL)
    version = rest.post(RESOURCES, {'type_url': STRING})[1]['version']
    headers, text = request({'type_url': STRING, 'version': version})
    got, is_last = b'', False
    with socket.create_connection(('127.0.0.1', rest.ports[0]), PATIENCE_S) as stream:
        stream.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack('>HI', INITIAL_WINDOW, 10)) +
                       frame(HEADERS, 4, 1, headers) + frame(DATA, 1, 1, text))
        wait_for('the request to be held', lambda: 'udpa-rest' in subprocess.run(
            [test.build / 'udpactl', '--server', rest.grpc, 'status'], capture_output=True,
            text=True, check=False).stdout)
        rest.process.process.send_signal(signal.SIGINT)
        while not is_last:
            kind, flags, payload = read_frame(stream)
            if kind != DATA:
                continue
            if not got: # the rest waits for the window
                one.write_text(one.read_text().replace('first', 'second'))
                subprocess.run([*apply, one], check=False, capture_output=True)
                stream.sendall(frame(WINDOW_UPDATE, 0, 1, struct.pack('>I', 100000)))
            got += payload
            is_last = flags & 1
    check('a change behind the end disturbs no answer',
          'shutting down' in json.loads(got)['message'], got[:200])
    check('it ends in good order', rest.process.process.wait(PATIENCE_S) == 0)


def body(test):
    test_options(test)
    put_cluster(test)
    rest = Rest(test, 'node', '--resources', test.work / 'resources')
    wait_for('the files', lambda: rest.post(RESOURCES, {'type_url': STRING})[0] == 200)
    test_answers(rest)
    test_unknown_type(rest)
    test_hold(test, rest)
    test_refused_answer(test, rest)
    test_second(rest)
    test_refusals(rest)
    test_framing(rest)
    test_small_window(test, rest)
    version = rest.post(RESOURCES, {'type_url': STRING})[1]['version']
    test_rapid_reset(test, rest, version)
    test_broken_resource(test, rest)
    test_broken_cluster(test)
    test_same_answers(test)
    test_connections(test)
    test_connections_of_one(test)
    test_change_behind_the_end(test)
    test_tls(test)
    test_end(test, rest, rest.post(RESOURCES, {'type_url': STRING})[1]['version'])


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    PARSER.add_argument('--ca', type=pathlib.Path)
    sys.exit(main(PARSER, body, ('own_socket', 'beside_grpc')))
