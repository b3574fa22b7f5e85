#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node is restarted without a gap, again and again: delta clients, publishers that wait for receipts, a node below it and an
Envoy under traffic go through it. No request through the Envoy fails, no client is sent what it has, no publication that has
a receipt is lost, and neither the node above nor the one below notes another process."""
import json
import sys
import time

import interop
from interop import SOURCE, check, envoy_or_skip, wait_for

import envoy_peer
import restarts
import udpactl
from test_envoy_drain import listener, routes, write

sys.path.insert(0, str(SOURCE / 'docs' / 'demo'))
import stage  # noqa: E402

CLUSTER = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
# variant: restarts, clients, workers, seconds of a drain
SIZES = {'plain': (3, 20, 0, 3), 'workers': (3, 20, 2, 3), 'long': (20, 500, 0, 10)}


def provider(name):
    return [{'types': [CLUSTER], 'config_descriptors': [{'resource_name': name, 'namespace': 'local'}]}]


def start_nodes(test, n_workers, drain_s):
    above_port, port, below_port = interop.free_ports(3)
    folder = test.work / 'above'
    folder.mkdir()
    write(folder / 'clusters.json', [{'@type': CLUSTER, 'name': f'above-{i}', 'connect_timeout': '1s'} for i in range(50)])
    descriptors = [str(udpactl.descriptors(test))]
    write(test.work / 'above.json', {'static_resources': {'directories': [{'path': str(folder)}]}, 'descriptor_sets': descriptors})
    above = interop.Node(test, 'above', above_port, test.work / 'above.json')
    write(test.work / 'node.json', {
        'static_resources': {'directories': [{'path': str(test.work / 'resources')}],
                             'config_sources': [{'name': 'above', 'udpa': {'address': above.address}}]},
        'providers': provider('above'), 'descriptor_sets': descriptors, 'timing': {'drain_time': f'{drain_s}s'},
        **({'workers': n_workers} if n_workers else {})})
    node = interop.Node(test, 'node', port, test.work / 'node.json')
    write(test.work / 'below.json', {
        'static_resources': {'config_sources': [{'name': 'node', 'udpa': {'address': node.address}}]},
        'providers': provider('node'), 'descriptor_sets': descriptors})
    below = interop.Node(test, 'below', below_port, test.work / 'below.json')
    return above, node, below


def check_clients(clients, publisher):
    for client in clients:
        wait_for(f'{client.node_id} has what was published last', lambda client=client: client.has.get(publisher.name) and
                 client.seen[publisher.name, client.has[publisher.name]], 20)
    resent = {client.node_id: client.resent() for client in clients if client.resent()}
    check(f'nobody was sent anything twice: {dict(list(resent.items())[:3])}', not resent)
    removed = [client.node_id for client in clients if any(version == 'removed' for _, version in client.seen)]
    check(f'nothing was removed: {removed[:3]}', not removed)
    statuses = {status for client in clients for status in client.statuses}
    check(f'streams ended with the words of a drain: {statuses}', all('draining' in status for status in statuses))
    check(f'all have moved: {[client.n_streams for client in clients][:20]}', all(client.n_streams > 1 for client in clients))


def ends(above):
    return above.text().count("disconnected: node 'node'")


def check_quiet(name, text):
    lines = [line for line in text.splitlines() if (' error ' in line or ' warning ' in line) and 'draining' not in line]
    check(f'{name} has no complaint: {lines[:3]}', not lines)


def play(test, succession, nodes, envoy):
    n_restarts, n_clients, _, drain_s = SIZES[test.variant]
    above, node, below = nodes
    clients = [restarts.Client(node.address, f'client-{i}') for i in range(n_clients)]
    lower = restarts.Client(below.address, 'lower')
    wait_for('all have all', lambda: all(len(client.has) >= 50 for client in clients + [lower]), 60)
    publisher = restarts.Publisher(test.build, node.address, 'published')
    wait_for('publications', lambda: publisher.n_receipts > 3, 20)
    requests = stage.SteadyRequests(envoy.listener_ports()['ingress'], per_second=100)
    requests.start()
    times = []
    for i in range(n_restarts):
        n_receipts = publisher.n_receipts
        times.append(succession.restart())
        # It logs a client's lines a second apart; the process before has three until it ends.
        wait_for('the stream to the node above has ended before the process', lambda n=i + 1: ends(above) >= n, drain_s - 0.2)
        wait_for('publications go on', lambda n=n_receipts: publisher.n_receipts > n + 2, 20)
        write(test.work / 'resources' / 'routes.json', routes(f'body-{i}'))
        requests.wait_for(f'body-{i}')
        if i % 2:
            succession.wait_until_left()
    succession.wait_until_left()
    time.sleep(0.5)
    publisher.stop()
    requests.stop()
    print(f'restarts took {", ".join(f"{one:.2f}" for one in times)} s; the longest publication {publisher.longest_s:.2f} s; '
          f'{publisher.n_receipts} receipts by {publisher.n_streams} streams; {requests.n_answered} requests')
    check(f'of {requests.n_answered} requests none has failed: {requests.failures[:3]}',
          requests.n_answered > 100 * n_restarts / 3 and requests.n_failed == 0)
    check(f'no publication was rejected: {publisher.refused[:3]}', not publisher.refused)
    check_clients(clients + [], publisher)
    check('the node below has what was published last', wait_for('the same version', lambda: lower.has.get('published') ==
                                                                 clients[0].has['published'], 20))
    check(f'and its client was sent nothing twice: {lower.resent()}', not lower.resent() and lower.n_streams == 1)
    text = udpactl.Ctl(test, node).ask('get', 'cluster', 'published', '-o', 'json')
    check('what has the last receipt is there', f'"n{publisher.n_receipts}"' in text or print(text[:500]))
    check(f'all processes ended well: {succession.statuses}', succession.statuses == [0] * n_restarts)
    for client in clients + [lower]:
        client.stop()
    for one, name in ((above, 'the node above'), (node, 'the node'), (below, 'the node below')):
        check_quiet(name, one.text())


def body(test):
    binary = envoy_or_skip()
    _, _, n_workers, drain_s = SIZES[test.variant]
    (test.work / 'resources').mkdir()
    write(test.work / 'resources' / 'listener.json', listener())
    write(test.work / 'resources' / 'routes.json', routes('one'))
    nodes = start_nodes(test, n_workers, drain_s)
    succession = restarts.Succession(nodes[1])
    try:
        config = envoy_peer.bootstrap('envoy', 'DELTA_GRPC', nodes[1].port)
        config['dynamic_resources']['lds_config'] = envoy_peer.ADS
        envoy = envoy_peer.Envoy(test, binary, 0, 'envoy', config)
        wait_for('the Envoy listens', envoy.listener_ports, 20)
        play(test, succession, nodes, envoy)
    finally:
        succession.end()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, variants=tuple(SIZES)))
