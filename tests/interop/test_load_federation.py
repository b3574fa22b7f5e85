#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten clients of LRS report to two edges, which have dialled a node above them. There somebody
subscribes to sums: clients two levels below are asked then, and the sum equals what they have sent,
to the request, also when a client moves to the other edge; and no sum is ever above it. How often they
report is said by a resource at the top, which flows down, and can be changed.

Variants: raw, what single clients say can be had at the top, too; aggregated, the edges keep it to themselves.
"""
import json
import random
import sys
import threading

import interop

import grpc
from envoy.config.endpoint.v3 import load_report_pb2
from envoy.service.load_stats.v3 import lrs_pb2, lrs_pb2_grpc

from interop import check, never, wait_for
from udpa_peer import Peer
from udpactl import Ctl

SUM, LOAD = 'udpa.load.v1.ClusterLoad', 'udpa.load.v1.ClientLoad'
CLIENTS = 10
EDGES = ('edge-0', 'edge-1')


def write_config(test, name, sources=()):
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps({
        'node': {'id': name},
        'static_resources': {'config_sources': [
            {'name': source.name, 'udpa': {'address': source.address}} for source in sources]},
        'providers': [{'types': ['envoy.config.cluster.v3.Cluster', 'udpa.load.v1.LoadReporting'],
                       'config_descriptors': [{'resource_name': source.name}
                                              for source in sources]}] if sources else [],
        'load_reporting': {'interval': '0.2s',
                           **({'aggregated': ['local']} if test.variant == 'aggregated' else {})},
        'timing': {'interest_linger': '0.2s', 'backoff_max': '0.5s'},
    }), encoding='utf-8')
    return path


class Client(threading.Thread):
    """One stream of LRS: what is counted is sent with the next report, if it is asked for."""

    def __init__(self, number, edge, cluster='backend'):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.id = f'client-{number}'
        self.lock = threading.Lock()
        self.wakes = threading.Condition(self.lock)
        self.n_new, self.is_asked, self.is_over = 0, threading.Event(), False
        self.setting = None
        self.channel = grpc.insecure_channel(edge.address)
        self.call = lrs_pb2_grpc.LoadReportingServiceStub(self.channel).StreamLoadStats(
            self.requests())
        self.start()

    def run(self):
        try:
            for response in self.call:
                self.setting = (response.load_reporting_interval.ToMilliseconds(),
                                response.report_endpoint_granularity)
                asked = response.send_all_clusters or self.cluster in response.clusters
                (self.is_asked.set if asked else self.is_asked.clear)()
        except grpc.RpcError:
            pass

    def requests(self):
        first = lrs_pb2.LoadStatsRequest()
        first.node.id = self.id
        first.node.client_features.append('envoy.lrs.supports_send_all_clusters')
        yield first
        while True:
            with self.wakes:
                self.wakes.wait_for(lambda: self.n_new or self.is_over)
                if self.is_over:
                    return
                n, self.n_new = self.n_new, 0
            stats = load_report_pb2.ClusterStats(cluster_name=self.cluster)
            stats.load_report_interval.FromMilliseconds(1)
            place = stats.upstream_locality_stats.add(total_issued_requests=n)
            place.locality.region = 'here'
            yield lrs_pb2.LoadStatsRequest(cluster_stats=[stats])

    def count(self, n):
        with self.wakes:
            self.n_new += n
            self.wakes.notify()
        return n

    def close(self):
        with self.wakes:
            self.is_over = True
            self.wakes.notify()
        self.join(interop.STOP_PATIENCE_S)
        self.channel.close()


def sum_at(ctl, name):
    """Issued, clients and nodes; None: there is no such sum yet."""
    process = ctl.start('get', SUM, '-o', 'json')
    out, err = process.communicate(timeout=interop.STOP_PATIENCE_S)
    if process.returncode != 0:
        raise interop.Failure(f'udpactl get: {err}')
    found = {resource['name']: resource['resource'] for resource in json.loads(out)}.get(name)
    if not found:
        return None
    issued = sum(int(place.get('requests', {}).get('issued', 0))
                 for place in found.get('localities', ()))
    return issued, int(found.get('nClients', 0)), sorted(
        node['id'] for node in found['nodes'] if not node.get('isGone'))


def wait_for_sum(ctl, expected):
    seen = []

    def look():
        seen[:] = [sum_at(ctl, 'local/backend/top')]
        return seen[0] == expected
    try:
        wait_for(f'the sum {expected}', look)
    except interop.Failure as failure:
        raise interop.Failure(f'{failure}: the last was {seen[0]}') from None
    print(f'ok: the sum is {expected}', flush=True)


def rule(peer, interval_ms, per_endpoint):
    message = peer.schema.message('udpa.load.v1.LoadReporting')(
        prefix='local/backend', per_endpoint=per_endpoint)
    message.interval.FromMilliseconds(interval_ms)
    peer.publish([('rule', message)])


def wait_for_setting(clients, setting):
    wait_for(f'all to be asked for {setting}', lambda: all(
        client.setting == setting for client in clients))
    print(f'ok: all are asked for {setting}', flush=True)


def told_by_clients(test, node, *more):
    """Names of what single clients say, as this node is asked for it."""
    ctl = Ctl(test, node)
    watch = ctl.start('watch', LOAD, '-o', 'json', *more)

    def look():
        out, _ = ctl.start('get', LOAD, '-o', 'json', *more).communicate(
            timeout=interop.STOP_PATIENCE_S)
        return [resource['name'] for resource in json.loads(out or '[]')]
    return watch, look


def check_single_clients(test, top, edge):
    for more in ((), ('-n', 'local')):
        watch, look = told_by_clients(test, top, *more)
        if test.variant == 'aggregated':
            never('what a client says at the top', look, 2)
        else:
            wait_for('what all clients say at the top', lambda seen=look: len(seen()) == CLIENTS)
        watch.terminate()
    watch, look = told_by_clients(test, edge)
    wait_for('what the clients of an edge say there', lambda: len(look()) == CLIENTS // 2)
    watch.terminate()


def send(clients):
    """In many small pieces, from all of them at once."""
    return sum(client.count(random.Random(round * 100 + number).randrange(1, 9))
               for round in range(50) for number, client in enumerate(clients))


def body(test):
    top = interop.Node(test, 'top', bootstrap=write_config(test, 'top'))
    edges = [interop.Node(test, name, bootstrap=write_config(test, name, [top]))
             for name in EDGES]
    ctl = Ctl(test, top)
    clients = [Client(number, edges[number % 2]) for number in range(CLIENTS)]
    watch = ctl.start('watch', SUM, '-o', 'json')
    for client in clients:
        check(f'{client.id} is asked', client.is_asked.wait(interop.STOP_PATIENCE_S))
    wait_for_setting(clients, (200, False))
    with Peer(test.build, top.address) as peer:
        rule(peer, 150, True)
        wait_for_setting(clients, (150, True))
        rule(peer, 100, False)
        wait_for_setting(clients, (100, False))
    nodes = sorted([*EDGES, 'top'])
    total = send(clients)
    wait_for_sum(ctl, (total, CLIENTS, nodes))
    check_single_clients(test, top, edges[0])

    clients[0].close()
    clients[0] = Client(0, edges[1])
    check('a client that has moved is asked', clients[0].is_asked.wait(interop.STOP_PATIENCE_S))
    total += send(clients)
    seen = []
    wait_for(f'the sum of {total}', lambda: seen.append(sum_at(ctl, 'local/backend/top')) or
             seen[-1][0] == total)
    check(f'no sum was above it: {max(issued for issued, *_ in seen)}',
          all(issued <= total for issued, *_ in seen))

    watch.terminate()
    watch.communicate(timeout=interop.STOP_PATIENCE_S)
    wait_for('clients to be asked for nothing', lambda: not any(
        client.is_asked.is_set() for client in clients))
    for client in clients:
        client.close()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('raw', 'aggregated')))
