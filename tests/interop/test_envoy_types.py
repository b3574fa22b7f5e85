#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every xDS API of a node works with Envoy: on ADS and on streams of their own, delta and SotW.

What each API has delivered is seen in an HTTP answer; so are a change of it and, where the protocol
can tell, its removal. Clusters, endpoints, listeners, routes, scoped routes, secrets, runtime and
extensions come in all variants, virtual hosts in delta. Localities' endpoints (LEDS) are left out:
Envoy takes none but xdstp:// collections.
"""
import collections
import http.client
import ssl
import subprocess
import sys
import time

import interop
import envoy_peer
import envoy_resources as resources
from stage import Backend
from udpa_peer import Peer

BOUND_S = 2
QUIET_S = 1
LISTENERS = ('plain', 'tls', 'scoped')
FEATURE = 'feature.percent'
PLACES = ('one', 'two')
# That a counter of these is not 0 means that Envoy did not like what it got, or waited in vain.
BAD_STATS = 'update_rejected|update_failure|config_reload_error|config_fail|init_fetch_timeout'
# Where each API counts; virtual hosts do so in delta.
SCOPES = ('cluster_manager.cds', 'cluster.backend', 'listener_manager.lds', 'http.plain.rds.main',
          'http.scoped.scoped_rds.scopes', 'sds.certificate', 'runtime',
          'extension_config_discovery.http_filter.stamp')
SCOPE_OF_VHDS = 'http.virtual.rds.vhds.by-host'

Answer = collections.namedtuple('Answer', ['status', 'headers', 'text', 'certificate'])


class Setting:
    """What is configured at first, and how this variant asks for it."""

    def __init__(self, test):
        self.api_type = envoy_peer.API_TYPES[test.variant.split('_', maxsplit=1)[0]]
        self.is_delta = self.api_type == 'DELTA_GRPC'
        self.own_stream = envoy_peer.own_stream(self.api_type)
        self.source = self.own_stream if test.variant.endswith('per_type') else envoy_peer.ADS
        self.listeners = LISTENERS + (('virtual',) if self.is_delta else ())
        self.backends = [Backend(name) for name in ('first', 'second', 'third')]
        self.certificates = test.work / 'certificates'
        for name in PLACES:
            subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', self.certificates,
                            name], check=True, capture_output=True)

    def bootstrap(self, port):
        config = envoy_peer.bootstrap('envoy', self.api_type, port, self.source)
        config['dynamic_resources']['lds_config'] = self.source
        config['layered_runtime'] = {'layers': [
            {'name': 'served', 'rtds_layer': {'name': 'runtime', 'rtds_config': self.source}}]}
        return config

    def plain(self, server):
        return resources.listener('plain', {
            **resources.by_rds('main', self.source), 'server_name': server,
            'http_filters': [resources.filter_by_ecds('stamp', self.source), resources.ROUTER]})

    def main_route(self, mark):
        return resources.route('main', [
            resources.direct('/feature', 'feature', resources.if_runtime(FEATURE)),
            {'match': {'prefix': '/'}, 'route': {'cluster': 'backend'}},
        ], response_headers_to_add=resources.headers(x_route=mark))

    def cluster(self, place):
        return envoy_peer.eds_cluster('backend', source=self.source, service=place)

    def secret(self, place):
        return resources.secret('certificate', self.certificates, place)

    def assignment(self, place, backend):
        return envoy_peer.assignment(place, self.backends[backend].port)

    def initial(self):
        secret = {'name': 'certificate', 'sds_config': self.source}
        yield 'plain', self.plain('one')
        yield 'tls', resources.listener('tls', resources.by_rds('main', self.source), secret)
        yield 'scoped', resources.listener('scoped',
                                           resources.by_scope('scopes', 'x-scope', self.source))
        yield 'main', self.main_route('one')
        for color in ('blue', 'green', 'red'):
            yield color, resources.route(color, [resources.direct('/', color)])
        yield 'near', resources.scope('near', 'near', 'blue')
        yield 'far', resources.scope('far', 'far', 'green')
        yield 'backend', self.cluster('one')
        yield 'spare', envoy_peer.static_cluster('spare')
        yield 'one', self.assignment('one', 0)
        yield 'two', self.assignment('two', 2)
        yield 'certificate', self.secret('one')
        yield 'runtime', resources.runtime('runtime', {FEATURE: 100})
        yield 'stamp', resources.header_filter('stamp', x_filter='one')
        if self.is_delta:
            # Envoy refuses ADS for virtual hosts.
            yield 'by-host', resources.route_of_vhds('by-host', self.own_stream)
            yield 'virtual', resources.listener('virtual', {
                **resources.by_rds('by-host', self.source),
                'http_filters': [resources.ON_DEMAND, resources.ROUTER]})
            yield self.host('a')

    def host(self, letter):
        """Envoy asks for all hosts at first, and takes its listener into use when it has one."""
        name = f'by-host/{letter}.test'
        return name, resources.virtual_host(name, f'host {letter}')


class Bench:
    """An Envoy, who publishes for it, and what is asked of it."""

    def __init__(self, test, setting, peer, envoy):
        self.setting = setting
        self.peer = peer
        self.envoy = envoy
        self.context = ssl.create_default_context(cafile=test.work / 'certificates' / 'ca.crt')

    def connection(self, listener, port):
        if listener == 'tls':
            return http.client.HTTPSConnection('localhost', port, timeout=5, context=self.context)
        return http.client.HTTPConnection('127.0.0.1', port, timeout=5)

    def ask(self, listener, path='/', **headers):
        """The answer through a listener; None while there is none."""
        port = self.envoy.listener_ports().get(listener)
        if not port:
            return None
        connection = self.connection(listener, port)
        try:
            connection.request('GET', path, headers={
                name.replace('_', '-'): value for name, value in headers.items()})
            certificate = connection.sock.getpeercert() if listener == 'tls' else None
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode(), certificate)
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def sees(self, what, look, since):
        interop.wait_for(what, look, 10 * BOUND_S)
        took = time.monotonic() - since
        interop.check(f'{what}, after {took:.2f} s', took < BOUND_S)

    def change(self, api, name, message, look):
        """Publishes one resource; what it changes must be seen soon."""
        begin = time.monotonic()
        self.peer.publish([(name, message)])
        self.sees(f'{api}: a change of {name} is seen', look, begin)

    def remove(self, api, type_name, name, look):
        begin = time.monotonic()
        self.peer.remove(type_name, [name])
        self.sees(f'{api}: {name} is gone', look, begin)

    def text(self, *where, **headers):
        answer = self.ask(*where, **headers)
        return answer and answer.text

    def header(self, name, value):
        answer = self.ask('plain')
        return answer and answer.headers[name] == value

    def backend(self, name):
        return self.text('plain') == f'this is {name}'

    def certificate(self, name):
        answer = self.ask('tls')
        return answer and ((('commonName', name),),) == answer.certificate['subject']

    def feature(self):
        return self.text('plain', '/feature/x')

    def scope(self, key):
        return self.text('scoped', x_scope=key)

    def host(self, name):
        return self.text('virtual', host=name)

    def knows_host(self, letter):
        return f'by-host/{letter}.test' in self.envoy.admin(
            '/config_dump?resource=dynamic_route_configs')


def check_applied(bench, since):
    """Each API at work, in answers and by name in the dump of the configuration."""
    looks = {
        'LDS': lambda: bench.header('server', 'one'),
        'RDS': lambda: bench.header('x-route', 'one'),
        'CDS and EDS': lambda: bench.backend('first'),
        'ECDS': lambda: bench.header('x-filter', 'one'),
        'RTDS': lambda: bench.feature() == 'feature',
        'SDS': lambda: bench.certificate('one'),
        'SRDS': lambda: bench.scope('near') == 'blue' and bench.scope('far') == 'green',
    }
    if bench.setting.is_delta:
        looks['VHDS'] = lambda: bench.host('a.test') == 'host a'
    for api, look in looks.items():
        bench.sees(f'{api} is seen in an answer', look, since)
    found = bench.envoy.dumped_names()
    expected = {
        'ListenersConfigDump': set(bench.setting.listeners),
        'RoutesConfigDump': {'main', 'blue', 'green'},
        'ClustersConfigDump': {'udpad', 'backend', 'spare'},
        'ScopedRoutesConfigDump': {'near', 'far'},
        'SecretsConfigDump': {'certificate'},
        'EcdsConfigDump': {'stamp'},
        'EndpointsConfigDump': {'one'},
    }
    for dump, names in expected.items():
        interop.check(f'{dump} has {sorted(names)}', names <= found.get(dump, set()))


def check_on_demand(bench):
    """The first request for a host waits until the host has come."""
    interop.check('VHDS: host a is known, host b is not',
                  bench.knows_host('a') and not bench.knows_host('b'))
    begin = time.monotonic()
    bench.sees('VHDS: the first request for host b is answered',
               lambda: bench.host('b.test') == 'host b', begin)


def check_unknown_hosts(bench):
    """Envoy holds a request back until it is told that there is no such host."""
    for host in ('b.test', 'never.test'):
        begin = time.monotonic()
        bench.sees(f'VHDS: a request for {host}, which is not there, is answered by 404',
                   lambda asked=host: (answer := bench.ask('virtual', host=asked)) and
                   answer.status == 404, begin)


def check_host_that_appears(bench):
    """Asked for in vain before; tried again, it is there."""
    name = 'by-host/never.test'
    begin = time.monotonic()
    bench.peer.publish([(name, resources.virtual_host(name, 'at last'))], is_lazy=True)
    bench.sees('VHDS: a host that was missing is answered when it has appeared',
               lambda: bench.host('never.test') == 'at last', begin)


def check_host_by_alias(bench):
    """Asked for by its domain, known by its name, and by that it is forgotten."""
    name, alias = 'by-host/several', 'by-host/one.test'
    bench.peer.publish([(name, resources.virtual_host(name, 'by alias', 'one.test'))], is_lazy=True,
                       aliases=[alias])
    begin = time.monotonic()
    bench.sees('VHDS: a host that has another name is answered',
               lambda: bench.host('one.test') == 'by alias', begin)
    bench.remove('VHDS', resources.TYPE_VIRTUAL_HOST, name, lambda: name not in bench.envoy.admin(
        '/config_dump?resource=dynamic_route_configs'))


def change_each(bench):
    setting = bench.setting
    bench.change('LDS', 'plain', setting.plain('two'), lambda: bench.header('server', 'two'))
    bench.change('RDS', 'main', setting.main_route('two'), lambda: bench.header('x-route', 'two'))
    bench.change('EDS', 'one', setting.assignment('one', 1), lambda: bench.backend('second'))
    bench.change('CDS', 'backend', setting.cluster('two'), lambda: bench.backend('third'))
    bench.change('SDS', 'certificate', setting.secret('two'), lambda: bench.certificate('two'))
    bench.change('RTDS', 'runtime', resources.runtime('runtime', {FEATURE: 0}),
                 lambda: bench.feature() == 'this is third')
    bench.change('ECDS', 'stamp', resources.header_filter('stamp', x_filter='two'),
                 lambda: bench.header('x-filter', 'two'))
    bench.change('SRDS', 'far', resources.scope('far', 'far', 'red'),
                 lambda: bench.scope('far') == 'red')
    interop.check('SRDS: the scope beside it stayed', bench.scope('near') == 'blue')
    if setting.is_delta:
        name = 'by-host/a.test'
        bench.change('VHDS', name, resources.virtual_host(name, 'changed'),
                     lambda: bench.host('a.test') == 'changed')
        interop.check('VHDS: the host beside it stayed', bench.host('b.test') == 'host b')


def remove_some(bench):
    bench.remove('CDS', envoy_peer.TYPE_CLUSTER, 'spare',
                 lambda: bench.envoy.clusters() == {'backend'})
    bench.remove('LDS', resources.TYPE_LISTENER, 'tls',
                 lambda: 'tls' not in bench.envoy.listener_ports())
    bench.remove('SRDS', resources.TYPE_SCOPE, 'far', lambda: bench.ask(
        'scoped', x_scope='far').status == 404)
    interop.check('SRDS: the scope beside it stayed', bench.scope('near') == 'blue')
    if bench.setting.is_delta:
        bench.remove('VHDS', resources.TYPE_VIRTUAL_HOST, 'by-host/b.test',
                     lambda: not bench.knows_host('b'))
        interop.check('VHDS: the host beside it stayed', bench.host('a.test') == 'changed')
        check_unknown_hosts(bench)
        check_host_that_appears(bench)
        check_host_by_alias(bench)


def check_counters(bench, refused):
    """refused: the one counter that may not be 0."""
    stats = bench.envoy.stats(BAD_STATS)
    scopes = SCOPES + ((SCOPE_OF_VHDS,) if bench.setting.is_delta else ())
    missing = [scope for scope in scopes if f'{scope}.update_rejected' not in stats]
    interop.check(f'each API has its counters; without: {missing}', not missing)
    wrong = {name: value for name, value in stats.items() if value and name != refused}
    interop.check(f'none of {len(stats)} counters of failure moved: {wrong}', not wrong)


def refuse_one(bench):
    """A cluster that Envoy refuses, twice; the one beside it is used on."""
    counter = 'cluster_manager.cds.update_rejected'
    before = 0
    for timeout in ('0s', '-1s'):
        bench.peer.publish([('bad', envoy_peer.static_cluster('bad', timeout))])
        interop.wait_for('the refusal', lambda: (bench.envoy.stat(counter) or 0) > before)
        interop.never('a third attempt', lambda: bench.envoy.stat(counter) > before + 2, QUIET_S)
        before = bench.envoy.stat(counter)
    bench.change('CDS', 'bad', envoy_peer.static_cluster('bad', '3s'),
                 lambda: 'bad' in bench.envoy.active_clusters())
    interop.check('the cluster beside it is used', bench.backend('third'))
    check_counters(bench, counter)


def body(test):
    binary = interop.envoy_or_skip()
    setting = Setting(test)
    node = interop.Node(test, 'node')
    with Peer(test.build, node.address) as peer:
        peer.publish(setting.initial())
        if setting.is_delta:
            peer.publish([setting.host('b')], is_lazy=True)
        begin = time.monotonic()
        envoy = envoy_peer.Envoy(test, binary, node.port, config=setting.bootstrap(node.port))
        bench = Bench(test, setting, peer, envoy)
        check_applied(bench, begin)
        if setting.is_delta:
            check_on_demand(bench)
        change_each(bench)
        remove_some(bench)
        check_counters(bench, None)
        refuse_one(bench)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw', 'delta_per_type', 'sotw_per_type')))
