#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An Envoy that names everything by xdstp:// names: listeners and clusters as collections by glob,
their routes and endpoints by name, and the members of localities (LEDS) as collections again.

What has come is seen in HTTP answers; so are a member more, a member less, and an empty collection.
"""
import http.client
import json
import sys

import interop
import envoy_peer
import envoy_resources as resources
from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2
from stage import ENVOY_VERSION, Backend
from google.protobuf import json_format
from udpa_peer import Peer

# An authority that is listed, and one that stands for itself.
AUTHORITY = 'Edge:443'
AUTHORITY_IN_NAMES = 'Edge:443'
NAMESPACE = 'com.acme'
BOOTSTRAP = {
    'shim': {'namespaces': [NAMESPACE, 'org.pool']},
    'authorities': [{'name': AUTHORITY, 'namespace': f'{NAMESPACE}/xdstp'}],
}
LISTENER = 'envoy.config.listener.v3.Listener'
CLUSTER = 'envoy.config.cluster.v3.Cluster'
ROUTE = 'envoy.config.route.v3.RouteConfiguration'
ASSIGNMENT = 'envoy.config.endpoint.v3.ClusterLoadAssignment'
MEMBER = 'envoy.config.endpoint.v3.LbEndpoint'
BAD_STATS = 'update_rejected|update_failure|config_reload_error|config_fail|init_fetch_timeout'
QUIET_S = 1


def name_of(type_name, name):
    return f'xdstp://{AUTHORITY_IN_NAMES}/{type_name}/{name}'


def members(pool):
    return f'xdstp://org.pool/{MEMBER}/{pool}/*?zone=a'


def listener(name, mark):
    front = name_of(LISTENER, f'edge/{name}')
    return resources.listener(front, {
        **resources.by_rds(name_of(ROUTE, 'main?env=test&app=shop'), envoy_peer.ADS),
        'server_name': mark})


def route(cluster):
    return resources.route(name_of(ROUTE, 'main?env=test&app=shop'), [
        {'match': {'prefix': '/'}, 'route': {'cluster': name_of(CLUSTER, f'edge/{cluster}')}}])


def cluster(name):
    return envoy_peer.eds_cluster(name_of(CLUSTER, f'edge/{name}'), service=name_of(ASSIGNMENT, name))


def assignment(name, source):
    return json_format.ParseDict({
        'cluster_name': name_of(ASSIGNMENT, name),
        'endpoints': [{
            'locality': {'zone': 'a'}, 'load_balancing_weight': 1,
            'leds_cluster_locality_config': {
                'leds_config': source,
                'leds_collection_name': members(name)}}]}, endpoint_pb2.ClusterLoadAssignment())


def member(port):
    return json_format.ParseDict({'endpoint': {'address': {'socket_address': {
        'address': '127.0.0.1', 'port_value': port}}}}, endpoint_components_pb2.LbEndpoint())


def bootstrap(port):
    config = envoy_peer.bootstrap('envoy', 'DELTA_GRPC', port)
    config['dynamic_resources'].update({
        'lds_config': envoy_peer.ADS, 'lds_resources_locator': name_of(LISTENER, 'edge/*'),
        'cds_config': envoy_peer.ADS, 'cds_resources_locator': name_of(CLUSTER, 'edge/*')})
    return config


class Bench:
    def __init__(self, envoy):
        self.envoy = envoy

    def ask(self, name):
        """The text of the answer and the server's name; None while there is none."""
        port = self.envoy.listener_ports().get(name_of(LISTENER, f'edge/{name}'))
        if not port:
            return None
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=5)
        try:
            connection.request('GET', '/')
            answer = connection.getresponse()
            return answer.read().decode(), answer.headers['server']
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def sees(self, what, look):
        interop.wait_for(what, look, 20)
        interop.check(what, True)

    def answers(self, text, mark='one'):
        return lambda: self.ask('front') == (text, mark)


def body(test):
    binary = interop.envoy_or_skip()
    source = envoy_peer.ADS if test.variant == 'ads' else envoy_peer.own_stream('DELTA_GRPC')
    backends = [Backend(name) for name in ('first', 'second')]
    config = test.work / 'node.yaml'
    config.write_text(json.dumps(BOOTSTRAP), encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=config)
    with Peer(test.build, node.address, namespace=f'{NAMESPACE}/xdstp') as peer, \
            Peer(test.build, node.address, node_id='pool', namespace='org.pool') as pool:
        peer.publish([('edge/front', listener('front', 'one')),
                      ('edge/deeper/down', listener('down', 'none')),
                      ('main?app=shop&env=test', route('web')),
                      ('edge/web', cluster('web')), ('web', assignment('web', source))])
        pool.publish([('web/first?zone=a', member(backends[0].port)),
                      ('web/second?zone=b', member(backends[1].port))])
        envoy = envoy_peer.Envoy(test, binary, node.port, config=bootstrap(node.port))
        bench = Bench(envoy)
        bench.sees('LDS, RDS, CDS, EDS and LEDS are seen in an answer', bench.answers('this is first'))
        interop.check('what lies deeper is no member',
                      list(envoy.listener_ports()) == [name_of(LISTENER, 'edge/front')])
        peer.publish([('edge/front', listener('front', 'two'))])
        bench.sees('LDS: a change of a member', bench.answers('this is first', 'two'))
        peer.publish([('edge/side', listener('side', 'side'))])
        bench.sees('LDS: a member more', lambda: bench.ask('side') == ('this is first', 'side'))
        peer.remove(LISTENER, ['edge/side'])
        bench.sees('LDS: a member less', lambda: list(envoy.listener_ports()) ==
                   [name_of(LISTENER, 'edge/front')])
        pool.publish([('web/other?zone=a', member(backends[1].port))])
        bench.sees('LEDS: a member more', bench.answers('this is second', 'two'))
        pool.remove(MEMBER, ['web/first?zone=a'])
        bench.sees('LEDS: a member less', lambda: all(
            bench.answers('this is second', 'two')() for _ in range(8)))
        check_clusters(bench, peer, pool, backends, source)
        wrong = {name: value for name, value in envoy.stats(BAD_STATS).items() if value}
        interop.check(f'no counter of failure moved: {wrong}', not wrong)


# The Envoy of this version may end by a segmentation fault when a cluster changes whose endpoints are
# a collection.
FALLS = '1.36.'


def check_clusters(bench, peer, pool, backends, source):
    peer.publish([('edge/spare', cluster('spare')), ('spare', assignment('spare', source))])
    bench.sees('CDS: a member more, whose endpoints are an empty collection', lambda: name_of(
        CLUSTER, 'edge/spare') in bench.envoy.active_clusters())
    pool.publish([('spare/first?zone=a', member(backends[0].port))])
    peer.publish([('main?app=shop&env=test', route('spare'))])
    bench.sees('RDS: a change, to the cluster whose endpoints have come',
               bench.answers('this is first', 'two'))
    peer.remove(CLUSTER, ['edge/web'])
    bench.sees('CDS: a member less', lambda: set(bench.envoy.active_clusters()) == {
        name_of(CLUSTER, 'edge/spare')})
    if ENVOY_VERSION.startswith(FALLS):
        return
    peer.publish([('edge/spare', cluster_with_timeout('spare', '2s'))])
    bench.sees('CDS: a change of a member is used', lambda: bench.envoy.active_clusters()[
        name_of(CLUSTER, 'edge/spare')]['connect_timeout'] == '2s')
    bench.sees('and has its endpoints', bench.answers('this is first', 'two'))


def cluster_with_timeout(name, timeout):
    changed = cluster(name)
    changed.connect_timeout.FromJsonString(timeout)
    return changed


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('ads', 'own_stream')))
