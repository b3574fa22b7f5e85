#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Envoy asks for clusters when a request needs them, beside its wildcard: a name that is lazy, another
one, one that is missing, tried again, and there in the end.

Each is seen in an HTTP answer. What is missing must be told at once, or the request would hang. Envoy
asks for a name once: whoever tries what was missing waits until the node says of itself that it is
there.
"""
import concurrent.futures
import http.client
import sys
import time

import interop
import envoy_peer
import envoy_resources as resources
from stage import ENVOY_VERSION, Backend
from google.protobuf import json_format
from envoy.config.cluster.v3 import cluster_pb2
from udpa_peer import Peer

BOUND_S = 2
# The Envoy of this version acknowledges a second name on a stream of its own, and does not use it.
USES_ONE_NAME = '1.36.'
TIMEOUT_S = 10 # after so long Envoy gives up; it must not come to that
ON_DEMAND = resources.EXTENSIONS + 'filters.http.on_demand.v3.OnDemand'
REFUSED = 'update_rejected|update_failure|init_fetch_timeout'


def cluster(name, backend):
    return json_format.ParseDict({
        'name': name, 'type': 'STATIC', 'connect_timeout': '1s',
        'load_assignment': {'cluster_name': name,
                            'endpoints': envoy_peer.endpoints(backend.port)},
    }, cluster_pb2.Cluster())


def initial(source):
    on_demand = {'name': 'on_demand', 'typed_config': {
        '@type': ON_DEMAND, 'odcds': {'source': source, 'timeout': f'{TIMEOUT_S}s'}}}
    yield 'demand', resources.listener('demand', {
        **resources.by_rds('by-header', source), 'http_filters': [on_demand, resources.ROUTER]})
    yield 'by-header', resources.route('by-header', [
        {'match': {'prefix': '/'}, 'route': {'cluster_header': 'x-cluster'}}])


class Bench:
    def __init__(self, envoy):
        self.envoy = envoy

    def ask(self, name):
        """(status, text) of a request that wants this cluster."""
        port = self.envoy.listener_ports()['demand']
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=2 * TIMEOUT_S)
        try:
            connection.request('GET', '/', headers={'x-cluster': name})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def expect(self, what, name, status, text=''):
        begin = time.monotonic()
        answer = self.ask(name)
        took = time.monotonic() - begin
        interop.check(f'{what}: {answer[0]} after {took:.2f} s',
                      answer[0] == status and text in answer[1] and took < BOUND_S)


def follow_names(bench, peer, one, two):
    bench.expect('a second name', 'lazier', 200, 'this is one')
    bench.expect('a name that is missing', 'later', 503)
    with concurrent.futures.ThreadPoolExecutor(1) as other:
        waiting = other.submit(bench.ask, 'later')
        interop.wait_for('a request that waits for the missing name',
                         lambda: bench.envoy.stat('http.demand.downstream_rq_active') == 1)
        begin = time.monotonic()
        peer.publish([('later', cluster('later', two))], is_lazy=True)
        answer = waiting.result()
        took = time.monotonic() - begin
        interop.check(f'the name appears, and who tried again is answered after {took:.2f} s',
                      answer == (200, 'this is two') and took < BOUND_S)
    peer.publish([('new', cluster('new', one))])
    bench.envoy.wait_for_clusters({'always', 'lazy', 'lazier', 'later', 'new'})
    interop.check('the wildcard follows its changes', True)


def body(test):
    binary = interop.envoy_or_skip()
    source = (envoy_peer.ADS if test.variant == 'ads' else
              envoy_peer.own_stream(envoy_peer.API_TYPES['delta']))
    node = interop.Node(test, 'node')
    one, two = Backend('one'), Backend('two')
    with Peer(test.build, node.address) as peer:
        peer.publish([*initial(source), ('always', cluster('always', one))])
        peer.publish([(name, cluster(name, one)) for name in ('lazy', 'lazier')], is_lazy=True)
        config = envoy_peer.bootstrap('envoy', 'DELTA_GRPC', node.port, source)
        config['dynamic_resources']['lds_config'] = source
        envoy = envoy_peer.Envoy(test, binary, node.port, config=config)
        interop.wait_for('the listener', lambda: 'demand' in envoy.listener_ports())
        interop.check('only the wildcard has come', envoy.clusters() == {'always'})

        bench = Bench(envoy)
        bench.expect('what the wildcard brought', 'always', 200, 'this is one')
        bench.expect('a name on demand', 'lazy', 200, 'this is one')
        peer.publish([('lazy', cluster('lazy', two))], is_lazy=True)
        interop.wait_for('the change of what came on demand',
                         lambda: bench.ask('lazy') == (200, 'this is two'))
        if test.variant == 'ads' or not ENVOY_VERSION.startswith(USES_ONE_NAME):
            follow_names(bench, peer, one, two)
        wrong = {name: value for name, value in envoy.stats(REFUSED).items() if value}
        interop.check(f'nothing was refused or waited for in vain: {wrong}', not wrong)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('ads', 'own_stream')))
