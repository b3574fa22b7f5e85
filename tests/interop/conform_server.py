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
import urllib.parse

import interop  # noqa: F401
import conform_rest
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
SCOPE = PREFIX + 'envoy.config.route.v3.ScopedRouteConfiguration'
EXTENSION = PREFIX + 'envoy.config.core.v3.TypedExtensionConfig'
HOST = PREFIX + 'envoy.config.route.v3.VirtualHost'
MEMBER = PREFIX + 'envoy.config.endpoint.v3.LbEndpoint'
LIST = PREFIX + 'envoy.config.listener.v3.ListenerCollection'
ORDER = [CLUSTER, ENDPOINTS, LISTENER, ROUTES, SCOPE, HOST, SECRET, RUNTIME, EXTENSION, MEMBER, LIST]
WHOLE = (CLUSTER, LISTENER, SCOPE)
SERVICES = [('discovery.v3.Aggregated', 'AggregatedResources', None),
            ('cluster.v3.Cluster', 'Clusters', CLUSTER),
            ('endpoint.v3.Endpoint', 'Endpoints', ENDPOINTS),
            ('listener.v3.Listener', 'Listeners', LISTENER),
            ('route.v3.Route', 'Routes', ROUTES),
            ('route.v3.ScopedRoutes', 'ScopedRoutes', SCOPE),
            ('route.v3.VirtualHost', 'VirtualHosts', HOST),
            ('secret.v3.Secret', 'Secrets', SECRET),
            ('runtime.v3.Runtime', 'Runtime', RUNTIME),
            ('extension.v3.ExtensionConfig', 'ExtensionConfigs', EXTENSION),
            ('endpoint.v3.LocalityEndpoint', 'LocalityEndpoints', MEMBER)]
DELTA_ONLY = (HOST, MEMBER)
READS_ERRORS = 'udpa.xds.resource-errors.v1'
NOT_FOUND, UNKNOWN = 5, 2
TTL = 'xds.config.supports-resource-ttl'
IN_SOTW = 'xds.config.supports-resource-in-sotw'

# What can be wrong, and the cases that must find it.
FAULTS = {
    'nack-loop': r'^sotw/.*/nack-(of-update-)?no-hot-loop$|^types/sotw.*/nack-no-hot-loop-secret$',
    'answers-stale-nonces': r'/stale-nonce-is-not-answered$',
    'silent-at-same-version': r'/reconnect-(same-version-is|other-names-are)-answered$',
    'partial-listeners': r'/whole-listener-',
    'endpoints-not-again': r'/endpoints-again-behind-cluster$',
    'nonce-of-stream': r'^sotw/.*/nonce-is-of-its-type$',
    'silent-about-missing': r'^delta/.*/unknown-.*-is-told$|^(types|demand)/delta-aggregated/'
                            r'(unknown-extension|missing)-is-told$|^(collection|vhds)/'
                            r'delta-aggregated/(glob-empty-is-told|missing-is-answered)$',
    'forgets-after-update': r'^delta/.*/update-(twice|last-counts)$|'
                            r'^types/delta-.*/update-spares-other-secrets$',
    'star-is-a-name': r'/wildcard-(cluster|listener)-by-star$',
    'wrong-order': r'/(additions-in-order|virtual-hosts-behind-routes)$',
    'duplicates': r'/(no-duplicates|twice-in-a-request|alias-beside-name-comes-once)$',
    'removals-first': r'/removals-last$',
    'empty-is-all': r'/empty-after-(name|star)-is-nothing$',
    'forgets-missing': r'/missing-(cluster|endpoint)-appears$',
    'held-not-again': r'/(held-(cluster-)?|glob-)is-sent-again$|^demand/.*/second-is-sent$',
    'vanished-untold': r'/(glob-)?resume-vanished-',
    'ttl-for-all': r'/ttl-(no-wrapper-for-others|only-for-those-who-can)$',
    'one-version': r'/version-changes$',
    'unsubscribing-pushes-all': r'/unsubscribing-is-silent$',
    'serves-other-types': r'^(sotw|delta|fetch)/.*other-type-is-refused$',
    'one-nonce': r'/nonces-differ$',
    'waits-for-cluster-ack': r'/endpoints-before-cluster-ack$',
    # What is tried of each type and each kind of name, once: it waits in vain.
    'serves-four-types': r'^types/sotw-per-type/initial-|^(vhds|leds)/delta-per-type/by-name$|'
                         r'^fetch/(scoped-route|secret|runtime|extension)$|'
                         r'^collection/.*/list-is-served$',
    'fetches-nothing': r'^fetch/(listener|route|cluster|endpoint|all-clusters|follows-changes|'
                       r'missing-beside-known)$',
    'urls-lead-nowhere': r'^xdstp/delta-per-type/((cluster|endpoint|listener)-is-served|'
                         r'follows-changes)$|^(collection|leds)/delta-per-type/glob-has-members$',
    'aliases-lead-nowhere': r'^delta/aggregated/alias-is-a-name$',
    'changes-by-name-are-lost': r'^types/.*-per-type/(missing-(extension|runtime|scoped-route)-appears|'
                                r'new-scoped-route-under-wildcard)$',
    'news-by-name-are-lost': r'^(demand|vhds|xdstp)/delta-aggregated/(missing-appears|update|'
                             r'second-beside-first|lazy-gets-updates)$',
    'removals-are-lost': r'^(demand/.*-aggregated/lazy-removal-is-told|'
                         r'xdstp/.*-aggregated/removal-is-told)$',
    'silent-about-others': r'^types/delta-per-type/unknown-|^xdstp/delta-aggregated/missing-is-told$|'
                           r'^leds/delta-aggregated/glob-empty-is-told$',
    # Types besides the four.
    'four-types-change': r'^types/.*-aggregated/update-(scoped-route|extension|secret|runtime)$|'
                         r'^types/sotw-per-type/missing-secret-appears$',
    'four-types-are-removed': r'^types/delta-aggregated/removal-(extension|secret|runtime)$|'
                              r'^types/delta-per-type/removal-scoped-route$|'
                              r'^vhds/delta-aggregated/removal$',
    'partial-scopes': r'^types/sotw-.*/(whole|removal)-scoped-route-under-wildcard$',
    'scopes-by-name-alone': r'^types/.*-aggregated/wildcard-scoped-route-without-names$',
    'update-removes-others': r'^types/delta-.*/update-spares-other-',
    # Virtual hosts, names on demand, aliases.
    'missing-hosts-are-removed': r'^vhds/.*/missing-has-its-form$',
    'missing-is-told-once': r'^(vhds|demand)/.*/missing-is-(answered|told)-again$',
    'hosts-of-any-routes': r'^vhds/.*/routes-are-part-of-the-name$',
    'aliases-unsaid': r'/alias-is-said$',
    'aliases-end-by-alias': r'^delta/.*/alias-removal-is-told$',
    'aliases-are-left-for-names': r'^delta/.*/alias-left-is-silent$',
    'aliases-are-forgotten': r'/alias-(gets-updates|appears)$',
    'more-than-was-asked-for': r'^vhds/.*/only-what-was-asked-for$|^demand/.*/spares-the-rest$|'
                               r'^fetch/only-what-was-asked-for$',
    'left-untold': r'^(demand/.*/lazy-left-is-told|delta/.*/missing-name-left-under-wildcard)$',
    'names-without-wildcard': r'^demand/sotw-.*/lazy-comes-by-name$',
    # Names by URL, collections.
    'names-are-text': r'^xdstp/.*/(parameters-in-any-order|escapes-mean-the-same)$',
    'no-parameters': r'^xdstp/.*/(other|more|fewer)-parameters-are-another-name$|'
                     r'^collection/.*/glob-(without-)?parameters-selects?$',
    'any-authority': r'^xdstp/.*/authority-is-part-of-the-name$',
    'any-type': r'^xdstp/.*/type-is-part-of-the-name$',
    'urls-alone': r'^xdstp/.*/beside-plain-names$',
    'globs-go-deep': r'^collection/.*/glob-is-one-level$',
    'globs-are-beginnings': r'^collection/.*/glob-of-other-path-is-another$',
    'globs-are-wildcards': r'^collection/.*/glob-is-no-wildcard$',
    'globs-are-looked-up-once': r'^(collection|leds)/.*/glob-(member-comes|empty-fills)$',
    'globs-go-as-one': r'^(collection|leds)/.*/glob-member-changes-alone$',
    'members-leave-by-glob': r'^(collection|leds)/.*/glob-member-leaves$',
    'one-glob': r'^collection/.*/globs-beside-each-other$',
    'globs-are-never-left': r'^collection/.*/glob-left-is-silent$',
    'lists-are-bare': r'^collection/.*/list-is-wrapped$',
    'lists-stay': r'^collection/.*/list-follows-changes$',
    # Errors, Fetch.
    'errors-say-nothing': r'^errors/.*/(missing|removed)-.*-is-not-found$',
    'errors-beside-removals': r'^errors/delta-.*/no-resource-too$',
    'errors-alone': r'^errors/sotw-.*/whole-beside-error$',
    'errors-again-and-again': r'^errors/.*/told-once$',
    'errors-are-the-end': r'^errors/.*-aggregated/then-appears$',
    'fetch-without-version': r'^fetch/version-is-told$',
    **conform_rest.FAULTS,
}


class Entry:
    def __init__(self, data, ttl_ms, alias, is_lazy):
        self.data = data
        self.ttl_ms = ttl_ms
        self.alias = alias
        self.is_lazy = is_lazy
        self.version = hashlib.sha256(data + str((ttl_ms, alias)).encode()).hexdigest()[:16]


class Names:
    """What is equal for all spellings of a name, and which collection it is in."""

    def __init__(self, fault):
        self.fault = fault

    def key(self, name):
        if not name.startswith('xdstp://') or self.fault == 'names-are-text':
            return name.rpartition('/')[2] if self.fault == 'hosts-of-any-routes' else name
        parts = urllib.parse.urlsplit(name)
        authority, path = parts.netloc, urllib.parse.unquote(parts.path)
        query = tuple(sorted(urllib.parse.parse_qsl(parts.query, keep_blank_values=True)))
        if self.fault == 'any-authority':
            authority = ''
        if self.fault == 'any-type':
            path = path.partition('/')[2].partition('/')[2]
        return (authority, path, () if self.fault == 'no-parameters' else query)

    def globs(self, name):
        """Keys of the collections that it is in: one, if all is well."""
        if not name.startswith('xdstp://'):
            return
        base, _, query = name.partition('?')
        query = '?' + query if query else ''
        folder = base.rpartition('/')[0]
        yield self.key(folder + '/*' + query)
        if self.fault == 'globs-go-deep':
            yield self.key(folder.rpartition('/')[0] + '/*' + query)
        if self.fault == 'globs-are-beginnings':
            yield self.key(folder[:-3] + '/*' + query)

    def index(self, entries):
        """{key: names of what it leads to}"""
        found = {}
        if self.fault == 'urls-lead-nowhere':
            entries = {name: entry for name, entry in entries.items() if '://' not in name}
        for name, entry in entries.items():
            keys = {self.key(name), *self.globs(name)}
            if entry.alias and self.fault != 'aliases-lead-nowhere':
                keys.add(self.key(entry.alias))
            for key in keys:
                found.setdefault(key, []).append(name)
        return found


class World:
    """What there is, by type and name; streams are told when it changes."""

    def __init__(self):
        self.lock = threading.Lock()
        self.news = threading.Condition()
        self.types = {url: {} for url in ORDER}
        self.staged = []
        self.streams = set()

    def command(self, line):
        words = line.split()
        verb, rest = words[0], words[1:]
        if verb == 'abilities':
            return 'ok atomic ttl alias xdstp glob lazy'
        if verb == 'set':
            extra = dict(word.split('=', 1) for word in rest[4:])
            self.staged.append((rest[0], rest[1], Entry(
                base64.b64decode(rest[3]), int(extra.get('ttl_ms', 0)), extra.get('alias'),
                'lazy' in extra)))
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
        with self.news:
            self.news.notify_all()


class Topic:
    """What a stream knows of a type."""

    def __init__(self):
        self.names = set()
        self.was_named = False
        self.wildcard = False
        self.sent = {}
        self.nonce = ''
        self.pending = False
        self.told = set() # what is missing, and the client knows


class Stream:
    def __init__(self, world, fault, only, context, requests):
        self.world = world
        self.fault = fault
        self.names = Names(fault)
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

    def led_to(self, url, asked):
        """The names of resources that these lead to."""
        index = self.names.index(self.types[url])
        return {name for one in asked for name in index.get(self.names.key(one), ())}

    def visible(self, url, topic):
        """What the client is shown: {name: entry}."""
        asked = topic.names
        if (self.fault == 'serves-four-types' and url not in ORDER[:4]) or \
                (self.fault == 'fetches-nothing' and getattr(self, 'is_fetch', False)):
            return {}
        if self.fault == 'urls-alone' and any(name.startswith('xdstp:') for name in asked):
            asked = {name for name in asked if name.startswith('xdstp:')}
        if self.fault == 'one-glob':
            asked = set(sorted(asked)[:1]) if all(name.endswith('/*') for name in asked) else asked
        wanted = self.led_to(url, asked)
        has_all = topic.wildcard or self.fault == 'globs-are-wildcards' and \
            any(name.endswith('/*') for name in asked)
        if self.fault == 'names-without-wildcard' and len(asked) > 1:
            has_all = False
        return {name: entry for name, entry in self.types[url].items()
                if name in wanted or (has_all and not entry.is_lazy)}

    def reads_errors(self):
        return READS_ERRORS in self.features

    def missing(self, url, topic, asked):
        """Of names that are asked for those that lead to nothing."""
        index = self.names.index(self.types[url])
        missing = {name for name in asked - {'*'} if self.names.key(name) not in index}
        topic.told &= missing
        return missing

    def put_errors(self, response, missing):
        for name in sorted(missing):
            error = response.resource_errors.add()
            error.resource_name.name = name
            error.error_detail.code = \
                UNKNOWN if self.fault == 'errors-say-nothing' else NOT_FOUND

    def order(self):
        known = [url for url in ORDER if url in self.topics]
        if self.fault == 'four-types-change':
            known = [url for url in known if url in ORDER[:4]]
        if self.fault == 'lists-stay':
            known = [url for url in known if url != LIST]
        return known[::-1] if self.fault == 'wrong-order' else known

    def change(self):
        """Additions in order; removals behind them, the other way round."""
        changed_clusters = set()
        if self.fault == 'removals-first':
            yield from self.removals()
        for url in self.order():
            topic = self.topics[url]
            now = self.visible(url, topic)
            if self.fault == 'globs-are-looked-up-once':
                now = {name: entry for name, entry in now.items() if name in topic.sent or
                       not any('/*' in asked for asked in topic.names)}
            if self.fault in ('changes-by-name-are-lost', 'news-by-name-are-lost') and \
                    (topic.names or url != CLUSTER):
                now = {}
            if self.fault == 'aliases-are-forgotten':
                now = {name: entry for name, entry in now.items() if not entry.alias}
            if self.fault == 'errors-are-the-end' and topic.told:
                now = {name: entry for name, entry in now.items() if name in topic.sent}
            changed = {name for name, entry in now.items()
                       if topic.sent.get(name, [None])[0] != self.version(entry)}
            if url == CLUSTER:
                changed_clusters = changed & set(topic.sent)
            elif url == ENDPOINTS and self.fault != 'endpoints-not-again':
                changed |= changed_clusters & set(now)
            if changed and self.fault == 'globs-go-as-one' and \
                    any('/*' in asked for asked in topic.names):
                changed = set(now)
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
                if self.fault == 'removals-are-lost' or \
                        (self.fault == 'four-types-are-removed' and url not in ORDER[:4]):
                    gone = []
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
        if entry.alias and self.fault != 'aliases-unsaid':
            resource.aliases.append(entry.alias)
        if entry.ttl_ms and (TTL in self.features or self.fault == 'ttl-for-all'):
            resource.ttl.FromMilliseconds(entry.ttl_ms)
        return resource


class SotwStream(Stream):
    is_fetch = False

    def is_whole(self, url):
        partial = {'partial-listeners': LISTENER, 'partial-scopes': SCOPE}
        return url in WHOLE and partial.get(self.fault) != url

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
        if self.fault == 'scopes-by-name-alone' and url == SCOPE:
            topic.wildcard = False
        if self.fault == 'forgets-missing':
            topic.names = {name for name in names if name in self.types[url] or name == '*'}
        wanted = self.visible(url, topic)
        for name in [name for name in topic.sent if name not in wanted]:
            del topic.sent[name]
        new = names - before
        if self.fault == 'nack-loop' and request.HasField('error_detail'):
            new, is_first = names, True
        named = self.led_to(url, new)
        missing = self.missing(url, topic, names) - topic.told if self.reads_errors() else set()
        if is_first or is_stale or named or missing or (topic.wildcard and not had_all):
            yield self.update(url, topic, set(wanted) if is_first or is_stale else named)

    def state_version(self, url, names):
        text = ''.join(f'{name}={self.version(entry)};'
                       for name, entry in sorted(self.types[url].items()))
        if self.fault == 'one-version':
            text = url
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def wrap(self, url, name, entry):
        can = {TTL, IN_SOTW} <= self.features or self.fault == 'ttl-for-all'
        must = url == LIST and self.fault != 'lists-are-bare'
        if not (entry.ttl_ms and can) and not must:
            return self.any_of(url, entry)
        wrapped = any_pb2.Any()
        wrapped.Pack(self.resource(url, name, entry))
        return wrapped

    def respond(self, url, topic, entries):
        response = discovery_pb2.DiscoveryResponse(
            type_url=url, nonce=self.new_nonce(topic),
            version_info='' if self.is_fetch and self.fault == 'fetch-without-version'
            else self.state_version(url, topic.names),
            resources=[self.wrap(url, name, entry) for name, entry in entries.items()])
        if self.fault == 'duplicates':
            response.resources.extend(response.resources[:])
        if self.reads_errors():
            missing = self.missing(url, topic, topic.names)
            if self.fault == 'errors-alone' and missing - topic.told:
                del response.resources[:]
                topic.sent = {}
            self.put_errors(response, missing if self.fault == 'errors-again-and-again'
                            else missing - topic.told)
            topic.told = missing
        return response

    def update(self, url, topic, names):
        now = self.visible(url, topic)
        if self.is_fetch and self.fault == 'more-than-was-asked-for':
            now = self.types[url]
            names = set(now)
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
        if self.is_whole(url) or self.reads_errors():
            yield self.respond(url, topic, self.visible(url, topic))


class DeltaStream(Stream):
    def answer(self, url, topic, request, is_first):
        subscribed = set(request.resource_names_subscribe)
        left = set(request.resource_names_unsubscribe)
        if not is_first and not subscribed and not left:
            return # an answer
        if is_first:
            topic.sent = {name: (version, None)
                          for name, version in request.initial_resource_versions.items()}
            topic.wildcard = not subscribed and \
                not (self.fault == 'scopes-by-name-alone' and url == SCOPE)
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
        if self.fault != 'aliases-are-left-for-names' or left <= set(self.types[url]):
            topic.names -= {name for name in left
                            if self.fault != 'globs-are-never-left' or not name.endswith('/*')}
        if self.fault == 'empty-is-all' and not topic.names and not topic.wildcard:
            topic.wildcard = True
        now = self.visible(url, topic)
        led_to = self.led_to(url, again)
        changed = {name for name, entry in now.items() if name in led_to or
                   (topic.wildcard and name in left) or
                   had.get(name, [None])[0] != self.version(entry)}
        if left and self.fault == 'unsubscribing-pushes-all':
            changed = set(now)
        if subscribed and self.fault == 'more-than-was-asked-for':
            changed = set(self.types[url])
        missing = self.missing(url, topic, subscribed)
        if self.fault == 'missing-is-told-once':
            missing, topic.told = missing - topic.told, topic.told | missing
        gone = {name for name in had if name not in now and (is_first or topic.wildcard)}
        if topic.wildcard:
            gone |= {name for name in left - {'*'} if name not in now}
        if self.fault == 'left-untold':
            gone -= left
        for name in left - {'*'} - set(now):
            topic.sent.pop(name, None)
        if self.fault in ('silent-about-missing', 'silent-about-others'):
            missing = missing & set(had)
        if self.fault == 'vanished-untold':
            gone, missing = set(), missing - set(had)
        if not topic.wildcard and left:
            topic.sent = {name: sent for name, sent in topic.sent.items() if name in now}
        if changed or gone or missing or (is_first and topic.wildcard):
            yield self.respond(url, topic, changed, gone, missing - gone)

    def put_missing(self, url, topic, response, missing):
        """In the way that this client and this type want."""
        if url == HOST and self.fault != 'missing-hosts-are-removed':
            for name in sorted(missing):
                response.resources.add(name=name, aliases=[name])
        elif self.reads_errors():
            self.put_errors(response, missing)
            topic.told |= set(missing)
            if self.fault == 'errors-beside-removals':
                response.removed_resources.extend(sorted(missing))
        else:
            response.removed_resources.extend(sorted(missing))

    def respond(self, url, topic, names, removed=(), missing=()):
        now = self.visible(url, topic)
        if self.fault == 'more-than-was-asked-for':
            now = self.types[url]
        entries = {name: entry for name, entry in now.items() if name in names}
        topic.sent.update({name: (self.version(entry), entry) for name, entry in entries.items()})
        for name in removed:
            topic.sent.pop(name, None)
        response = discovery_pb2.DeltaDiscoveryResponse(
            type_url=url, nonce=self.new_nonce(topic), removed_resources=sorted(removed),
            resources=[self.resource(url, name, entry) for name, entry in entries.items()])
        if self.fault == 'duplicates':
            response.resources.extend(response.resources[:])
        self.put_missing(url, topic, response, missing)
        return response

    def update(self, url, topic, names):
        if self.fault == 'update-removes-others':
            return self.respond(url, topic, names, set(topic.sent) - names)
        response = self.respond(url, topic, names)
        if self.fault == 'errors-again-and-again' and self.reads_errors():
            self.put_errors(response, self.missing(url, topic, topic.names))
        return response

    def remove(self, url, topic, names):
        if self.fault == 'aliases-end-by-alias' or self.fault == 'members-leave-by-glob':
            names = [self.led_here(topic, name) for name in names]
        asked = {name for name in names if name in topic.names}
        for name in names:
            topic.sent.pop(name, None)
        if self.reads_errors():
            yield self.respond(url, topic, (), set(names) - asked, asked)
        else:
            yield self.respond(url, topic, (), names)

    @staticmethod
    def led_here(topic, name):
        """The name that was asked for; it may have been that of something else."""
        topic.sent.pop(name, None)
        return name if name in topic.names or not topic.names else sorted(topic.names)[0]


class Server:
    def __init__(self, world, fault):
        self.world = world
        self.fault = fault

    def stream(self, kind, only):
        return lambda requests, context: kind(self.world, self.fault, only, context, requests).run()

    def fetch(self, only):
        def answer(request, context):
            stream = SotwStream(self.world, self.fault, only, context, ())
            stream.is_fetch = True
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
                'Delta' + what: grpc.stream_stream_rpc_method_handler(
                    self.stream(DeltaStream, only), *delta),
            }
            if only not in DELTA_ONLY:
                methods['Stream' + what] = grpc.stream_stream_rpc_method_handler(
                    self.stream(SotwStream, only), *sotw)
            if only and only not in DELTA_ONLY:
                methods['Fetch' + what] = grpc.unary_unary_rpc_method_handler(
                    self.fetch(only), *sotw)
            yield grpc.method_handlers_generic_handler(
                f'envoy.service.{name}DiscoveryService', methods)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--listen', required=True)
    parser.add_argument('--rest', help='an address to listen on for it')
    parser.add_argument('--fault', choices=sorted(FAULTS), default='')
    arguments = parser.parse_args()
    world = World()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=200))
    server.add_generic_rpc_handlers(tuple(Server(world, arguments.fault).handlers()))
    if not server.add_insecure_port(arguments.listen):
        sys.exit(f'cannot listen on {arguments.listen}')
    server.start()
    if arguments.rest:
        conform_rest.serve(world, arguments.fault, arguments.rest)
    for line in sys.stdin:
        print(world.command(line), flush=True)
    server.stop(0)


if __name__ == '__main__':
    main()
