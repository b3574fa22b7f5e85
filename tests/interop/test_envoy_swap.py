#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One change of a directory replaces a cluster with EDS, its endpoints and the route to it, again and
again, under constant traffic: no request fails, since the route comes when the cluster is warm.

Envoy asks by ADS or on one stream for each type, in delta or in the state of the world. `many`: 200
times; `late`: what the node sends arrives 20 ms later; `tls`: the cluster needs a secret, by SDS;
`changing`: another cluster, whose endpoints are missing, changes every second; `workers`: the node has
two of them; `bare`: the clusters have all they need in themselves; `push`: changes wait for others.
"""
import asyncio
import collections
import http.client
import http.server
import json
import random
import ssl
import subprocess
import sys
import threading
import time

import interop
import envoy_peer
import envoy_resources as resources
import relay
from google.protobuf import json_format
from stage import replace_file

N_SWAPS, N_MANY = 20, 200
N_TRAFFIC = 3
ARRIVES_WITHIN_S = 6
LATENCY_S = 0.02
UPSTREAM_TLS = resources.EXTENSIONS + 'transport_sockets.tls.v3.UpstreamTlsContext'


class Upstream:
    """A web server that says which one it is, and keeps connections open."""

    def __init__(self, name, certificate=None):
        body = name.encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                self.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s'
                                 % (len(body), body))

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass # of connections that Envoy has closed

        self.name = name
        self.server = Server(('127.0.0.1', 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, certificate.with_suffix('.key'))
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class LateProxy(relay.Relay):
    """Passes TCP on; what comes back comes later."""

    async def accept(self, reader, writer):
        there_reader, there_writer = await self.connect_on()
        await asyncio.gather(self.copy(reader, there_writer, 0),
                             self.copy(there_reader, writer, LATENCY_S))

    @staticmethod
    async def copy(reader, writer, latency_s):
        loop = asyncio.get_running_loop()
        try:
            while data := await reader.read(relay.PIECE):
                if latency_s:
                    loop.call_later(latency_s, writer.write, data)
                else:
                    writer.write(data)
        except ConnectionError:
            pass
        loop.call_later(latency_s, writer.close)


class Traffic:
    """Asks all the time, and counts what is answered."""

    def __init__(self, port):
        self.port = port
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.last = None
        self.n_calm = 0 # answers since something failed
        self.is_over = False
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(N_TRAFFIC)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=5)
        while not self.is_over:
            try:
                connection.request('GET', '/')
                answer = connection.getresponse()
                text = answer.read().decode()
                what = 'ok' if answer.status == 200 else f'{answer.status} {text}'
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                what, text = repr(error), ''
            with self.lock:
                self.counts[what] += 1
                self.n_calm = self.n_calm + 1 if what == 'ok' else 0
                if what == 'ok':
                    self.last = text

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


class Files:
    """The directory that the node serves."""

    def __init__(self, test, words):
        self.words = words
        self.api_type = envoy_peer.API_TYPES['delta' if 'delta' in words else 'sotw']
        self.source = envoy_peer.ADS if 'ads' in words else envoy_peer.own_stream(self.api_type)
        self.path = test.work / 'files'
        self.path.mkdir()
        self.certificates = test.work / 'certificates'
        if 'tls' in words:
            subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', self.certificates,
                            'upstream'], check=True, capture_output=True)

    def certificate(self):
        return self.certificates / 'upstream.crt' if 'tls' in self.words else None

    def write(self, name, messages):
        replace_file(self.path / f'{name}.json', json.dumps([
            {'@type': f'type.googleapis.com/{message.DESCRIPTOR.full_name}',
             **json_format.MessageToDict(message)} for message in messages]))

    def write_listener(self):
        self.write('listener', [resources.listener('front', resources.by_rds('main', self.source))])

    def cluster(self, name, port):
        if 'bare' in self.words:
            cluster = envoy_peer.static_cluster(name)
            endpoints = cluster.load_assignment.endpoints[0].lb_endpoints[0]
            endpoints.endpoint.address.socket_address.port_value = port
            return cluster
        cluster = envoy_peer.eds_cluster(name, source=self.source)
        if 'tls' in self.words:
            secret = {'name': f'{name}-secret', 'sds_config': self.source}
            json_format.ParseDict({'transport_socket': {'name': 'tls', 'typed_config': {
                '@type': UPSTREAM_TLS,
                'common_tls_context': {'tls_certificate_sds_secret_configs': [secret]}}}}, cluster)
        return cluster

    def swap(self, name, port):
        """All of it in one file: the route first, as nobody says that it comes last."""
        more = []
        if 'tls' in self.words:
            more = [resources.secret(f'{name}-secret', self.certificates, 'upstream')]
        if 'bare' not in self.words:
            more += [envoy_peer.assignment(name, port)]
        self.write('swap', [
            resources.route('main', [{'match': {'prefix': '/'}, 'route': {'cluster': name}}]),
            self.cluster(name, port), *more])

    def bootstrap(self, test):
        path = test.work / 'node.yaml'
        path.write_text(json.dumps({
            'static_resources': {'directories': [{'path': str(self.path)}]},
            **({'workers': 2} if 'workers' in self.words else {}),
            **({'push': [{'debounce': '0.2s'}]} if 'push' in self.words else {})}), encoding='utf-8')
        return path


class Changes(threading.Thread):
    """Another cluster changes every second, and has no endpoints."""

    def __init__(self, files):
        super().__init__(daemon=True)
        self.files = files
        self.is_over = threading.Event()

    def run(self):
        i = 0
        while not self.is_over.wait(1):
            i += 1
            self.files.write('other', [envoy_peer.eds_cluster('other', f'{1 + i % 5}s',
                                                              self.files.source)])

    def end(self):
        self.is_over.set()
        self.join()


def start_envoy(test, files, node, binary):
    port = LateProxy(node.port).port if 'late' in files.words else node.port
    config = envoy_peer.bootstrap('envoy', files.api_type, port, files.source)
    config['dynamic_resources']['lds_config'] = files.source
    envoy = envoy_peer.Envoy(test, binary, port, config=config)
    return envoy, interop.wait_for('the listener', lambda: envoy.listener_ports().get('front'))


def swap_all(files, upstreams, traffic, n_swaps):
    """The longest that a swap took to be seen."""
    chance, longest = random.Random(19), 0
    for i in range(1, n_swaps + 1):
        upstream = upstreams[i % 2]
        begin = time.monotonic()
        files.swap(f'cluster-{i}', upstream.port)
        interop.wait_for(f'swap {i}', lambda: traffic.last == upstream.name, ARRIVES_WITHIN_S)
        longest = max(longest, time.monotonic() - begin)
        time.sleep(chance.random() * 0.03)
    return longest


def body(test):
    binary = interop.envoy_or_skip()
    files = Files(test, test.variant.split('_'))
    upstreams = [Upstream(name, files.certificate()) for name in ('even', 'odd')]
    files.write_listener()
    files.swap('cluster-0', upstreams[0].port)
    node = interop.Node(test, 'node', bootstrap=files.bootstrap(test))
    envoy, port = start_envoy(test, files, node, binary)
    traffic = Traffic(port)
    interop.wait_for('traffic', lambda: traffic.n_calm > 100)
    traffic.counts.clear()
    changes = Changes(files) if 'changing' in files.words else None
    if changes:
        changes.start()
    n_swaps = N_MANY if 'many' in files.words else N_SWAPS
    longest = swap_all(files, upstreams, traffic, n_swaps)
    if changes:
        changes.end()
    traffic.end()
    n_ok = traffic.counts.pop('ok', 0)
    interop.check(f'{n_swaps} swaps, the longest {longest:.2f} s, {n_ok} requests answered; '
                  f'others: {dict(traffic.counts)}', not traffic.counts and n_ok > n_swaps)
    interop.check('the old clusters have gone',
                  interop.wait_for('the last cluster alone',
                                   lambda: envoy.clusters() <= {f'cluster-{n_swaps}', 'other'}))


VARIANTS = [f'{how}_{api}{more}' for how in ('ads', 'own') for api in ('delta', 'sotw')
            for more in ('', '_many', '_many_late', '_many_tls', '_many_tls_late', '_changing',
                         '_workers', '_bare', '_push', '_push_changing')]

if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, VARIANTS))
