# SPDX-License-Identifier: Apache-2.0
"""A small server of xDS that does what the protocol wants, or, with --fault, one thing wrong: what the
conformance suite is tested with. Changes come in by standard input, as `udpactl conform --change`
writes them.

It waits for no acknowledgement, and has no aliases for whole states.
"""
import argparse
import base64
import concurrent.futures
import hashlib
import queue
import sys
import threading

import interop  # noqa: F401
import grpc
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import any_pb2

PREFIX = 'type.googleapis.com/'
CLUSTER = PREFIX + 'envoy.config.cluster.v3.Cluster'
ENDPOINTS = PREFIX + 'envoy.config.endpoint.v3.ClusterLoadAssignment'
LISTENER = PREFIX + 'envoy.config.listener.v3.Listener'
ROUTES = PREFIX + 'envoy.config.route.v3.RouteConfiguration'
SECRET = PREFIX + 'envoy.extensions.transport_sockets.tls.v3.Secret'
RUNTIME = PREFIX + 'envoy.service.runtime.v3.Runtime'
ORDER = [CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET, RUNTIME]
WHOLE = (CLUSTER, LISTENER)
SERVICES = [('discovery.v3.Aggregated', 'AggregatedResources', None),
            ('cluster.v3.Cluster', 'Clusters', CLUSTER),
            ('endpoint.v3.Endpoint', 'Endpoints', ENDPOINTS),
            ('listener.v3.Listener', 'Listeners', LISTENER),
            ('route.v3.Route', 'Routes', ROUTES)]
TTL = 'xds.config.supports-resource-ttl'
IN_SOTW = 'xds.config.supports-resource-in-sotw'

# What can be wrong, and the cases that must find it.
FAULTS = {
    'nack-loop': r'^sotw/.*/nack-(of-update-)?no-hot-loop$',
    'answers-stale-nonces': r'/stale-nonce-is-not-answered$',
    'silent-at-same-version': r'/reconnect-(same-version-is|other-names-are)-answered$',
    'partial-listeners': r'/whole-listener-',
    'endpoints-not-again': r'/endpoints-again-behind-cluster$',
    'nonce-of-stream': r'^sotw/.*/nonce-is-of-its-type$',
    'silent-about-missing': r'/unknown-.*-is-told$',
    'forgets-after-update': r'^delta/.*/update-(twice|last-counts)$',
    'star-is-a-name': r'/wildcard-(cluster|listener)-by-star$',
    'wrong-order': r'/additions-in-order$',
    'duplicates': r'/(no-duplicates|twice-in-a-request)$',
    'removals-first': r'/removals-last$',
    'empty-is-all': r'/empty-after-(name|star)-is-nothing$',
    'forgets-missing': r'/missing-(cluster|endpoint)-appears$',
    'held-not-again': r'/held-(cluster-)?is-sent-again$',
    'vanished-untold': r'/resume-vanished-',
    'ttl-for-all': r'/ttl-(no-wrapper-for-others|only-for-those-who-can)$',
    'one-version': r'/version-changes$',
    'unsubscribing-pushes-all': r'/unsubscribing-is-silent$',
    'serves-other-types': r'/other-type-is-refused$',
    'one-nonce': r'/nonces-differ$',
    'waits-for-cluster-ack': r'/endpoints-before-cluster-ack$',
}


class Entry:
    def __init__(self, data, ttl_ms, alias):
        self.data = data
        self.ttl_ms = ttl_ms
        self.alias = alias
        self.version = hashlib.sha256(data + str((ttl_ms, alias)).encode()).hexdigest()[:16]


class World:
    """What there is, by type and name; streams are told when it changes."""

    def __init__(self):
        self.lock = threading.Lock()
        self.types = {url: {} for url in ORDER}
        self.staged = []
        self.streams = set()

    def command(self, line):
        words = line.split()
        verb, rest = words[0], words[1:]
        if verb == 'abilities':
            return 'ok atomic ttl alias'
        if verb == 'set':
            extra = dict(word.split('=', 1) for word in rest[4:])
            self.staged.append((rest[0], rest[1], Entry(
                base64.b64decode(rest[3]), int(extra.get('ttl_ms', 0)), extra.get('alias'))))
        elif verb == 'remove':
            self.staged.append((rest[0], rest[1], None))
        elif verb == 'abort':
            self.staged = []
        elif verb == 'commit':
            self.commit()
        else:
            return f'error what is {verb}?'
        return 'ok'

    def commit(self):
        with self.lock:
            types = {url: dict(entries) for url, entries in self.types.items()}
            for url, name, entry in self.staged:
                types[url].pop(name, None)
                if entry:
                    types[url][name] = entry
            self.types, self.staged = types, []
            for stream in self.streams:
                stream.events.put(types)


class Topic:
    """What a stream knows of a type."""

    def __init__(self):
        self.names = set()
        self.was_named = False
        self.wildcard = False
        self.sent = {}
        self.nonce = ''
        self.pending = False


class Stream:
    def __init__(self, world, fault, only, context, requests):
        self.world = world
        self.fault = fault
        self.only = only
        self.context = context
        self.requests = requests
        self.events = queue.Queue()
        self.topics = {}
        self.features = set()
        self.n_responses = 0
        self.nonce = ''
        self.held_back = []

    def run(self):
        with self.world.lock:
            self.types = self.world.types
            self.world.streams.add(self)
        self.context.add_callback(lambda: self.events.put(None))
        threading.Thread(target=self.read, daemon=True).start()
        try:
            while (event := self.events.get()) is not None:
                if isinstance(event, dict):
                    self.types = event
                    yield from self.change()
                else:
                    yield from self.request(event)
        finally:
            with self.world.lock:
                self.world.streams.discard(self)

    def read(self):
        try:
            for request in self.requests:
                self.events.put(request)
        except Exception: # pylint: disable=broad-except # it ends the stream, whatever it is
            pass
        self.events.put(None)

    def type_of(self, request):
        url = request.type_url or self.only
        if not url:
            self.context.abort(grpc.StatusCode.INVALID_ARGUMENT, 'say which type')
        if self.only and url != self.only and self.fault != 'serves-other-types':
            self.context.abort(grpc.StatusCode.INVALID_ARGUMENT, f'this is for {self.only}')
        return url

    def request(self, request):
        url = self.type_of(request)
        if request.HasField('node'):
            self.features = set(request.node.client_features)
        if url not in self.types:
            return # nobody knows it, nobody has anything of it
        is_first = url not in self.topics
        topic = self.topics.setdefault(url, Topic())
        if url == CLUSTER and request.response_nonce and request.response_nonce == topic.nonce:
            topic.pending = False
            held_back, self.held_back = self.held_back, []
            for event in held_back:
                yield from self.request(event)
        cluster = self.topics.get(CLUSTER)
        if self.fault == 'waits-for-cluster-ack' and url == ENDPOINTS and cluster and \
                cluster.pending:
            if is_first:
                del self.topics[url]
            self.held_back.append(request)
            return
        yield from self.answer(url, topic, request, is_first)

    def is_stale(self, topic, request):
        nonce = self.nonce if self.fault == 'nonce-of-stream' else topic.nonce
        return bool(request.response_nonce) and request.response_nonce != nonce

    def new_nonce(self, topic):
        self.n_responses += 1
        topic.nonce = self.nonce = 'same' if self.fault == 'one-nonce' else str(self.n_responses)
        topic.pending = True
        return self.nonce

    def visible(self, url, topic):
        """What the client is shown: {name: entry}."""
        return {name: entry for name, entry in self.types[url].items()
                if topic.wildcard or name in topic.names or entry.alias in topic.names}

    def order(self):
        known = [url for url in ORDER if url in self.topics]
        return known[::-1] if self.fault == 'wrong-order' else known

    def change(self):
        """Additions in order; removals behind them, the other way round."""
        changed_clusters = set()
        if self.fault == 'removals-first':
            yield from self.removals()
        for url in self.order():
            topic = self.topics[url]
            now = self.visible(url, topic)
            changed = {name for name, entry in now.items()
                       if topic.sent.get(name, [None])[0] != self.version(entry)}
            if url == CLUSTER:
                changed_clusters = changed & set(topic.sent)
            elif url == ENDPOINTS and self.fault != 'endpoints-not-again':
                changed |= changed_clusters & set(now)
            if changed:
                yield self.update(url, topic, changed)
                if self.fault == 'forgets-after-update':
                    topic.names, topic.wildcard = set(), False
        yield from self.removals()

    def removals(self):
        for url in reversed(ORDER):
            topic = self.topics.get(url)
            if topic:
                now = self.visible(url, topic)
                gone = [name for name in topic.sent if name not in now]
                if gone:
                    yield from self.remove(url, topic, gone)

    @staticmethod
    def version(entry):
        return entry.version

    def any_of(self, url, entry):
        return any_pb2.Any(type_url=url, value=entry.data)

    def resource(self, url, name, entry):
        resource = discovery_pb2.Resource(name=name, version=self.version(entry),
                                          resource=self.any_of(url, entry))
        if self.fault == 'one-version':
            resource.version = 'v'
        if entry.alias:
            resource.aliases.append(entry.alias)
        if entry.ttl_ms and (TTL in self.features or self.fault == 'ttl-for-all'):
            resource.ttl.FromMilliseconds(entry.ttl_ms)
        return resource


class SotwStream(Stream):
    def is_whole(self, url):
        return url in WHOLE and not (self.fault == 'partial-listeners' and url == LISTENER)

    def answer(self, url, topic, request, is_first):
        names = set(request.resource_names)
        is_stale = not is_first and self.is_stale(topic, request)
        if is_stale and self.fault != 'answers-stale-nonces':
            return
        is_known = is_first and request.version_info and \
            request.version_info == self.state_version(url, names)
        if is_known and self.fault == 'silent-at-same-version':
            topic.names = names
            return
        before, had_all = topic.names, topic.wildcard
        topic.was_named |= bool(names)
        topic.names = names
        if self.fault == 'star-is-a-name':
            topic.wildcard = not topic.was_named
        else:
            topic.wildcard = '*' in names or not topic.was_named
        if self.fault == 'empty-is-all' and not names:
            topic.wildcard = True
        if self.fault == 'forgets-missing':
            topic.names = {name for name in names if name in self.types[url] or name == '*'}
        wanted = self.visible(url, topic)
        for name in [name for name in topic.sent if name not in wanted]:
            del topic.sent[name]
        new = names - before
        if self.fault == 'nack-loop' and request.HasField('error_detail'):
            new, is_first = names, True
        if is_first or is_stale or new & set(wanted) or (topic.wildcard and not had_all):
            yield self.update(url, topic, set(wanted) if is_first or is_stale else new)

    def state_version(self, url, names):
        text = ''.join(f'{name}={self.version(entry)};'
                       for name, entry in sorted(self.types[url].items()))
        if self.fault == 'one-version':
            text = url
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def wrap(self, url, name, entry):
        can = {TTL, IN_SOTW} <= self.features or self.fault == 'ttl-for-all'
        if not (entry.ttl_ms and can):
            return self.any_of(url, entry)
        wrapped = any_pb2.Any()
        wrapped.Pack(self.resource(url, name, entry))
        return wrapped

    def respond(self, url, topic, entries):
        response = discovery_pb2.DiscoveryResponse(
            type_url=url, nonce=self.new_nonce(topic),
            version_info=self.state_version(url, topic.names),
            resources=[self.wrap(url, name, entry) for name, entry in entries.items()])
        if self.fault == 'duplicates':
            response.resources.extend(response.resources[:])
        return response

    def update(self, url, topic, names):
        now = self.visible(url, topic)
        if self.is_whole(url): # what will be removed is still in it
            entries = {**{name: sent[1] for name, sent in topic.sent.items()}, **now}
        else:
            entries = {name: entry for name, entry in now.items() if name in names or
                       (topic.wildcard and name not in topic.sent)}
        topic.sent.update({name: (self.version(entry), entry) for name, entry in entries.items()})
        return self.respond(url, topic, entries)

    def remove(self, url, topic, names):
        for name in names:
            del topic.sent[name]
        if self.is_whole(url):
            yield self.respond(url, topic, self.visible(url, topic))


class DeltaStream(Stream):
    def answer(self, url, topic, request, is_first):
        subscribed = set(request.resource_names_subscribe)
        left = set(request.resource_names_unsubscribe)
        if is_first:
            topic.sent = {name: (version, None)
                          for name, version in request.initial_resource_versions.items()}
            topic.wildcard = not subscribed
        had = dict(topic.sent)
        again = set() if is_first else subscribed - {'*'}
        if self.fault == 'held-not-again':
            again = set()
        if '*' in subscribed and self.fault != 'star-is-a-name':
            topic.wildcard = True
        topic.wildcard &= '*' not in left
        topic.names |= subscribed - {'*'}
        if self.fault == 'forgets-missing':
            topic.names &= set(self.types[url])
        topic.names -= left
        if self.fault == 'empty-is-all' and not topic.names and not topic.wildcard:
            topic.wildcard = True
        now = self.visible(url, topic)
        changed = {name for name, entry in now.items() if name in again or
                   entry.alias in again or (topic.wildcard and name in left) or
                   had.get(name, [None])[0] != self.version(entry)}
        if left and self.fault == 'unsubscribing-pushes-all':
            changed = set(now)
        aliases = {entry.alias for entry in now.values()}
        missing = {name for name in subscribed - {'*'} if name not in now and name not in aliases}
        gone = {name for name in had if name not in now and (is_first or topic.wildcard)}
        if topic.wildcard:
            gone |= {name for name in left - {'*'} if name not in now}
        for name in left - {'*'} - set(now):
            topic.sent.pop(name, None)
        if self.fault == 'silent-about-missing':
            missing = missing & set(had)
        if self.fault == 'vanished-untold':
            gone, missing = set(), missing - set(had)
        if not topic.wildcard and '*' in left:
            topic.sent = {name: sent for name, sent in topic.sent.items() if name in now}
        if changed or gone or missing or (is_first and topic.wildcard):
            yield self.respond(url, topic, changed, gone | missing)

    def respond(self, url, topic, names, removed=()):
        now = self.visible(url, topic)
        entries = {name: entry for name, entry in now.items() if name in names}
        topic.sent.update({name: (self.version(entry), entry) for name, entry in entries.items()})
        for name in removed:
            topic.sent.pop(name, None)
        response = discovery_pb2.DeltaDiscoveryResponse(
            type_url=url, nonce=self.new_nonce(topic), removed_resources=sorted(removed),
            resources=[self.resource(url, name, entry) for name, entry in entries.items()])
        if self.fault == 'duplicates':
            response.resources.extend(response.resources[:])
        return response

    def update(self, url, topic, names):
        return self.respond(url, topic, names)

    def remove(self, url, topic, names):
        yield self.respond(url, topic, (), names)


class Server:
    def __init__(self, world, fault):
        self.world = world
        self.fault = fault

    def stream(self, kind, only):
        return lambda requests, context: kind(self.world, self.fault, only, context, requests).run()

    def fetch(self, only):
        def answer(request, context):
            stream = SotwStream(self.world, self.fault, only, context, ())
            with self.world.lock:
                stream.types = self.world.types
            return next(stream.request(request))
        return answer

    def handlers(self):
        sotw = (discovery_pb2.DiscoveryRequest.FromString,
                discovery_pb2.DiscoveryResponse.SerializeToString)
        delta = (discovery_pb2.DeltaDiscoveryRequest.FromString,
                 discovery_pb2.DeltaDiscoveryResponse.SerializeToString)
        for name, what, only in SERVICES:
            methods = {
                'Stream' + what: grpc.stream_stream_rpc_method_handler(
                    self.stream(SotwStream, only), *sotw),
                'Delta' + what: grpc.stream_stream_rpc_method_handler(
                    self.stream(DeltaStream, only), *delta),
            }
            if only:
                methods['Fetch' + what] = grpc.unary_unary_rpc_method_handler(
                    self.fetch(only), *sotw)
            yield grpc.method_handlers_generic_handler(
                f'envoy.service.{name}DiscoveryService', methods)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--listen', required=True)
    parser.add_argument('--fault', choices=sorted(FAULTS), default='')
    arguments = parser.parse_args()
    world = World()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=200))
    server.add_generic_rpc_handlers(tuple(Server(world, arguments.fault).handlers()))
    if not server.add_insecure_port(arguments.listen):
        sys.exit(f'cannot listen on {arguments.listen}')
    server.start()
    for line in sys.stdin:
        print(world.command(line), flush=True)
    server.stop(0)


if __name__ == '__main__':
    main()
