#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node drains at SIGTERM: it is not ready first, and serves as before; then streams end evenly over drain_time, the
publisher's last, what polls by REST is answered at once, and nobody new is served. Envoys that reach two such nodes go
to the other one, with what they have: no request through them fails, and they have what changes meanwhile. A second
SIGTERM ends all at once."""
import http.client
import json
import re
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

import interop
from interop import SOURCE, check, envoy_or_skip, wait_for

import grpc
import envoy_peer
import udpa_peer
import udpactl
import xds_peer

sys.path.insert(0, str(SOURCE / 'docs' / 'demo'))
import stage  # noqa: E402

DELAY_S, TIME_S = 2, 6
N_CLIENTS = 30
LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener'


def write(path, value):
    new = path.with_name(f'.{path.name}')
    new.write_text(json.dumps(value), encoding='utf-8')
    new.rename(path)


def listener():
    manager = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'
    return {'@type': LISTENER, 'name': 'ingress',
            'address': {'socket_address': {'address': '127.0.0.1', 'port_value': 0}},
            'filter_chains': [{'filters': [{'name': 'http', 'typed_config': {
                '@type': f'type.googleapis.com/{manager}', 'stat_prefix': 'http',
                'http_filters': [{'name': 'router', 'typed_config': {
                    '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router'}}],
                'rds': {'route_config_name': 'routes', 'config_source': envoy_peer.ADS}}}]}]}


def routes(body):
    return {'@type': 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration', 'name': 'routes',
            'virtual_hosts': [{'name': 'all', 'domains': ['*'], 'routes': [{
                'match': {'prefix': '/'},
                'direct_response': {'status': 200, 'body': {'inline_string': body}}}]}]}


def start_node(test, name, port, **timing):
    bootstrap = test.work / f'{name}.json'
    http_port, = interop.free_ports(1)
    write(bootstrap, {
        'static_resources': {'directories': [{'path': str(test.work / 'resources')}]},
        'descriptor_sets': [str(udpactl.descriptors(test))],
        'http': {'sockets': [{'address': f'127.0.0.1:{http_port}'}], 'open_pages': ['HEALTH']},
        'timing': {'drain_delay': f'{DELAY_S}s', 'drain_time': f'{TIME_S}s', **timing},
        **({'workers': 2} if test.variant == 'workers' else {})})
    node = interop.Node(test, name, port, bootstrap)
    node.http_port = http_port
    return node


def envoy_config(name, nodes):
    """Both nodes, the second one where the first is not healthy by grpc.health.v1."""
    config = envoy_peer.bootstrap(name, 'DELTA_GRPC', nodes[0].port)
    config['dynamic_resources']['lds_config'] = envoy_peer.ADS
    cluster = config['static_resources']['clusters'][0]
    cluster['load_assignment']['endpoints'] = [
        {'priority': i, **envoy_peer.endpoints(node.port)[0]} for i, node in enumerate(nodes)]
    cluster['health_checks'] = [{'timeout': '1s', 'interval': '0.2s', 'no_traffic_interval': '0.2s', 'unhealthy_threshold': 1,
                                 'healthy_threshold': 1, 'grpc_health_check': {}}]
    return config


class Client(threading.Thread):
    """A delta client, and when its stream has ended."""

    def __init__(self, node, number):
        super().__init__(daemon=True)
        self.client = xds_peer.Client(node.address, node_id=f'client-{number}', timeout_s=120)
        self.client.send(xds_peer.CLUSTER)
        self.ended_s, self.status, self.has_begun = None, None, threading.Event()
        self.start()

    def run(self):
        try:
            for response in self.client.stream:
                self.client.answer(response)
                self.has_begun.set()
        except grpc.RpcError as error:
            self.status = error.code(), error.details()
        self.ended_s = time.monotonic()


class Poll(threading.Thread):
    """A request by REST that is held, until something changes."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.node, self.ended_s = node, None
        self.version = json.loads(self.ask()[1])['versionInfo']
        self.status = None
        self.start()

    def ask(self, version=''):
        connection = http.client.HTTPConnection('127.0.0.1', self.node.http_port, timeout=60)
        connection.request('POST', '/v3/discovery:listeners', json.dumps({
            'node': {'id': 'poller'}, 'version_info': version}),
            {'content-type': 'application/json', 'prefer': 'wait=50'})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def run(self):
        self.status = self.ask(self.version)[0]
        self.ended_s = time.monotonic()


def readiness(node):
    try:
        with urllib.request.urlopen(f'http://127.0.0.1:{node.http_port}/readyz', timeout=5) as page:
            return page.status
    except urllib.error.HTTPError as error:
        return error.code


def is_even(times, begin_s):
    """Of each third of the time about a third of the ends."""
    thirds = [sum(begin_s + i * TIME_S / 3 <= one < begin_s + (i + 1) * TIME_S / 3 for one in times) for i in range(3)]
    print(f'ends in each third: {thirds}')
    return all(N_CLIENTS / 3 - 4 <= n <= N_CLIENTS / 3 + 4 for n in thirds)


def check_drain(test, first, second, envoys):
    clients = [Client(first, i) for i in range(N_CLIENTS)]
    poll = Poll(first)
    publisher = udpa_peer.Peer(test.build, first.address)
    wait_for('clients are served', lambda: all(client.has_begun.is_set() for client in clients), 20)
    requests = [stage.SteadyRequests(envoy.listener_ports()['ingress'], per_second=100) for envoy in envoys]
    for one in requests:
        one.start()
    time.sleep(0.5)
    begin_s = time.monotonic()
    first.process.send_signal(signal.SIGTERM)
    wait_for('it is not ready', lambda: readiness(first) == 503, 1)
    check('nobody has to go yet', not any(client.ended_s for client in clients))
    late = Client(first, 'late')
    check('and who comes is served', late.has_begun.wait(DELAY_S))
    wait_for('what polls is answered', lambda: poll.status, DELAY_S + 2)
    check(f'it was held until then: {poll.ended_s - begin_s:.1f} s, {poll.status}',
          poll.ended_s - begin_s >= DELAY_S - 0.1 and poll.status == 304)
    check('a poll is not held any more', Poll.ask(poll, poll.version)[0] == 304)
    check('the other one is ready', readiness(second) == 200)
    status = xds_peer.Client(first.address, node_id='too-late')
    status.send(xds_peer.CLUSTER)
    code, words = status.status()
    check(f'who comes now is not served: {words}', code == grpc.StatusCode.UNAVAILABLE and 'draining' in words)
    write(test.work / 'resources' / 'routes.json', routes('two'))
    for one in requests:
        one.wait_for('two')
    check('Envoys have what changes meanwhile', True)
    wait_for('the node ends', lambda: first.process.poll() is not None, TIME_S + 5)
    took_s = time.monotonic() - begin_s
    check(f'when the time is over: {took_s:.1f} s', DELAY_S + TIME_S - 0.5 < took_s < DELAY_S + TIME_S + 3)
    check(f'well: {first.process.returncode}', first.process.returncode == 0)
    for client in clients:
        client.join(10)
    check('all were told why', all(client.status == (
        grpc.StatusCode.UNAVAILABLE, 'this node is draining: connect again to reach another one') for client in clients))
    check('evenly', is_even([client.ended_s for client in clients], begin_s + DELAY_S))
    log = first.text()
    ends = re.findall(r"disconnected: node '([^']+)'", log)
    last = ends[-3:] if test.variant == 'workers' else ends[-1:] # each worker has a last one
    check(f'the publisher was the last: {last}', 'publisher' in last)
    check('nobody was cut off', 'drained: no stream is left' in log)
    publisher.close()
    wait_for('Envoys are at the other node', lambda: all(f"connected: node '{envoy.name}'" in second.text()
                                                         for envoy in envoys), 10)
    time.sleep(0.5)
    for one in requests:
        one.stop()
        check(f'of {one.n_answered} requests none has failed: {one.failures[:2]}', one.n_answered > 500 and
              one.n_failed == 0)


def check_second_signal(test, node):
    client = Client(node, 'one')
    client.has_begun.wait(20)
    node.process.send_signal(signal.SIGTERM)
    wait_for('it drains', lambda: 'not ready any more' in node.text(), 5)
    begin_s = time.monotonic()
    node.process.send_signal(signal.SIGTERM)
    wait_for('a second SIGTERM ends it', lambda: node.process.poll() is not None, DELAY_S)
    check(f'at once: {time.monotonic() - begin_s:.1f} s', node.process.returncode == 0)


def body(test):
    binary = envoy_or_skip()
    (test.work / 'resources').mkdir()
    write(test.work / 'resources' / 'listener.json', listener())
    write(test.work / 'resources' / 'routes.json', routes('one'))
    ports = interop.free_ports(2)
    nodes = [start_node(test, name, port) for name, port in zip(('first', 'second'), ports)]
    envoys = [envoy_peer.Envoy(test, binary, 0, name, envoy_config(name, nodes)) for name in ('envoy-1', 'envoy-2')]
    for envoy in envoys:
        wait_for(f'{envoy.name} listens', envoy.listener_ports, 20)
    check_drain(test, *nodes, envoys)
    check_second_signal(test, nodes[1])


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, variants=('plain', 'workers')))
