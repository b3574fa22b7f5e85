# SPDX-License-Identifier: Apache-2.0
"""REST for the small server that the conformance suite is tested with: DiscoveryRequest and
DiscoveryResponse in JSON, requests held for a while; and what can be wrong with that."""
import hashlib
import http.server
import json
import socketserver
import threading
import time

import interop  # noqa: F401
# What json_format must know to write what there is.
from envoy.config.cluster.v3 import cluster_pb2  # noqa: F401
from envoy.config.core.v3 import extension_pb2  # noqa: F401
from envoy.config.endpoint.v3 import endpoint_pb2  # noqa: F401
from envoy.config.listener.v3 import listener_pb2  # noqa: F401
from envoy.config.route.v3 import route_pb2, scoped_route_pb2  # noqa: F401
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2  # noqa: F401
from envoy.service.discovery.v3 import discovery_pb2
from envoy.service.runtime.v3 import rtds_pb2  # noqa: F401
from google.protobuf import any_pb2, json_format, wrappers_pb2  # noqa: F401

HOLD_S = 3
PREFIX = 'type.googleapis.com/envoy.'
CLUSTERS = 'clusters'
TYPES = {
    'listeners': PREFIX + 'config.listener.v3.Listener',
    'routes': PREFIX + 'config.route.v3.RouteConfiguration',
    'scoped-routes': PREFIX + 'config.route.v3.ScopedRouteConfiguration',
    CLUSTERS: PREFIX + 'config.cluster.v3.Cluster',
    'endpoints': PREFIX + 'config.endpoint.v3.ClusterLoadAssignment',
    'secrets': PREFIX + 'extensions.transport_sockets.tls.v3.Secret',
    'runtime': PREFIX + 'service.runtime.v3.Runtime',
    'extension_configs': PREFIX + 'config.core.v3.TypedExtensionConfig',
}

# As conform_server.FAULTS.
FAULTS = {
    'rest-clusters-alone': r'^rest/(listener|route|scoped-route|endpoint|secret|runtime|extension)$',
    'rest-is-empty': r'^rest/cluster$',
    'rest-by-name-alone': r'^rest/all-clusters$',
    'rest-all-or-nothing': r'^rest/missing-beside-known$',
    'rest-without-version': r'^rest/version-is-told$',
    'rest-without-types': r'^rest/types-are-told$',
    'rest-is-text': r'^rest/content-type-is-json$',
    'rest-knows-original-names-alone': r'^rest/lower-camel-case$',
    'rest-knows-camel-case-alone': r'^rest/original-field-names$',
    'rest-wants-type': r'^rest/type-may-be-left-out$',
    'rest-takes-no-chunks': r'^rest/body-in-chunks$',
    'rest-closes': r'^rest/connection-is-kept$',
    'rest-has-one-version': r'^rest/follows-changes$',
    'rest-never-modified': r'^rest/other-version-is-answered$',
    'rest-same-again': r'^rest/same-version-is-not-sent$',
    'rest-not-modified-with-content': r'^rest/not-modified-has-its-form$',
    'rest-holds-for-ever': r'^rest/change-ends-the-wait$',
    'rest-takes-anything': r'^rest/.*-is-refused$',
    'rest-stumbles': r'^rest/mistake-spares-others$',
}


class Mistake(Exception):
    pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    stumbled = threading.Event()

    def log_message(self, *_):
        pass

    def do_PUT(self):
        if self.fault == 'rest-takes-anything':
            self.do_POST()
        else:
            self.read()
            self.answer(405, {'message': 'POST'})

    def do_POST(self):
        body = self.read()
        name = self.path.rpartition(':')[2]
        if body is None:
            return self.answer(411, {'message': 'no chunks'})
        if name not in TYPES and self.fault != 'rest-takes-anything':
            return self.answer(404, {'message': 'there is no such path'})
        try:
            request = self.parse(body, TYPES.get(name, TYPES[CLUSTERS]))
        except (json_format.ParseError, Mistake) as error:
            self.stumbled.set()
            return self.answer(400, {'message': str(error)})
        if self.fault == 'rest-stumbles' and self.stumbled.is_set():
            return self.answer(500, {'message': 'what was that?'})
        return self.serve(name, request)

    def read(self):
        if self.headers.get('transfer-encoding', '') != 'chunked':
            return self.rfile.read(int(self.headers.get('content-length', 0)))
        body = b''
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return None if self.fault == 'rest-takes-no-chunks' else body

    def parse(self, body, url):
        other = {'rest-knows-original-names-alone': 'resourceNames',
                 'rest-knows-camel-case-alone': 'resource_names'}.get(self.fault)
        if other:
            body = json.dumps({key: value for key, value in json.loads(body).items()
                               if key != other}).encode()
        try:
            request = json_format.Parse(body, discovery_pb2.DiscoveryRequest())
        except (json_format.ParseError, UnicodeDecodeError):
            if self.fault != 'rest-takes-anything':
                raise
            request = discovery_pb2.DiscoveryRequest()
        if self.fault == 'rest-wants-type' and not request.type_url:
            raise Mistake('say which type')
        if request.type_url not in ('', url) and self.fault != 'rest-takes-anything':
            raise Mistake(f'this is for {url}')
        request.type_url = url
        return request

    def state(self, request):
        """What there is of it, as a response."""
        with self.world.lock:
            entries = self.world.types[request.type_url]
        names = set(request.resource_names) - {'*'}
        shown = {name: entry for name, entry in entries.items()
                 if name in names or (not names and not entry.is_lazy)}
        is_clusters = request.type_url == TYPES[CLUSTERS]
        if self.fault == 'rest-is-empty' or \
                (self.fault == 'rest-clusters-alone' and not is_clusters) or \
                (self.fault == 'rest-by-name-alone' and not names) or \
                (self.fault == 'rest-all-or-nothing' and names - set(entries)):
            shown = {}
        if self.fault and 'alone' in self.fault and 'knows' in self.fault and not names:
            shown = entries
        text = ''.join(f'{name}={entry.version};' for name, entry in sorted(shown.items()))
        if self.fault == 'rest-has-one-version':
            text = ''
        return discovery_pb2.DiscoveryResponse(
            type_url=request.type_url, version_info=hashlib.sha256(text.encode()).hexdigest()[:16],
            resources=[any_pb2.Any(type_url=request.type_url, value=entry.data)
                       for entry in shown.values()])

    def serve(self, _, request):
        is_held = 'wait=0' not in self.headers.get('prefer', '')
        with self.world.news:
            state = self.state(request)
            if state.version_info == request.version_info and is_held and \
                    self.fault != 'rest-same-again':
                self.world.news.wait_for(lambda: self.is_news(request), HOLD_S)
                state = self.state(request)
        if self.fault == 'rest-never-modified' and request.version_info or \
                state.version_info == request.version_info and self.fault != 'rest-same-again':
            return self.answer(304, None)
        answer = json_format.MessageToDict(state)
        if self.fault == 'rest-without-version':
            del answer['versionInfo']
        for resource in answer.get('resources', ()):
            if self.fault == 'rest-without-types':
                del resource['@type']
        return self.answer(200, answer)

    def is_news(self, request):
        return self.state(request).version_info != request.version_info and \
            self.fault != 'rest-holds-for-ever'

    def answer(self, status, content):
        has_content = status != 304 or self.fault == 'rest-not-modified-with-content'
        body = json.dumps(content).encode() if has_content else b''
        self.send_response(status)
        if has_content:
            self.send_header('content-type', 'text/plain' if self.fault == 'rest-is-text'
                             else 'application/json')
            self.send_header('content-length', str(len(body)))
        if self.fault == 'rest-closes':
            self.send_header('connection', 'close')
        self.end_headers()
        self.wfile.write(body)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def handle_error(self, *_):
        """Clients go away while they are answered."""


def listen(address, handler):
    """Whoever had the port before may still be ending."""
    for _ in range(100):
        try:
            return Server(address, handler)
        except OSError:
            time.sleep(0.1)
    return Server(address, handler)


def serve(world, fault, address):
    """In threads of its own, as long as the program lasts."""
    host, port = address.rsplit(':', 1)
    handler = type('Handler', (Handler,), {'world': world, 'fault': fault})
    server = listen((host, int(port)), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
