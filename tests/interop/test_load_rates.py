#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server of LRS above udpad is told of load with the time that it covers: the rate in each single
report is that of the requests that are sent, whatever the intervals of the server and the clients,
from the first report on.

Variants: short, one pair of intervals; and, thorough, all of them, with two levels of nodes.
"""
import json
import sys
import threading
import time

import interop

import grpc
from envoy.config.endpoint.v3 import load_report_pb2
from envoy.service.load_stats.v3 import lrs_pb2, lrs_pb2_grpc

from interop import check
from test_load_upstream import Server

PAIRS = {'short': ((1, 3),),
         'all': ((2, 10), (1, 2), (2, 1), (3, 2), (10, 2), (2, 3), (10, 10), (1, 1))}
RATES = (200, 50)
TOLERANCE = 0.05


class Rates(Server):
    """Notes the rate of each report."""

    def __init__(self):
        self.rates, self.asked, self.dead = [], None, False
        super().__init__()

    def take(self, request):
        self.n_reports += 1
        for stats in request.cluster_stats:
            seconds = stats.load_report_interval.ToMilliseconds() / 1000
            n = sum(place.total_issued_requests for place in stats.upstream_locality_stats)
            self.rates.append((n / seconds, seconds))

    def ask_each(self, seconds):
        asks = lrs_pb2.LoadStatsResponse(send_all_clusters=True)
        asks.load_reporting_interval.FromMilliseconds(int(seconds * 1000))
        with self.lock:
            self.asks = asks
            if self.stream:
                self.stream.put(asks)


class Steady(threading.Thread):
    """A client that sends so many requests each second, and reports as Envoy does: what has come
    since it was asked, in the interval that it was asked for."""

    def __init__(self, number, node, rate):
        super().__init__(daemon=True)
        self.id, self.rate, self.is_over = f'client-{number}', rate, threading.Event()
        self.interval, self.is_asked = None, threading.Event()
        self.channel = grpc.insecure_channel(node.address)
        self.call = lrs_pb2_grpc.LoadReportingServiceStub(self.channel).StreamLoadStats(
            self.requests())
        self.start()

    def run(self):
        try:
            for response in self.call:
                self.interval = response.load_reporting_interval.ToMilliseconds() / 1000
                if response.send_all_clusters or 'backend' in response.clusters:
                    self.is_asked.set()
        except grpc.RpcError:
            pass

    def requests(self):
        first = lrs_pb2.LoadStatsRequest()
        first.node.id = self.id
        first.node.client_features.append('envoy.lrs.supports_send_all_clusters')
        yield first
        self.is_asked.wait(interop.STOP_PATIENCE_S)
        last = begin = time.monotonic()
        n_told = 0
        while not self.is_over.wait(max(0, last + self.interval - time.monotonic())):
            now = time.monotonic()
            n = int((now - begin) * self.rate)
            stats = load_report_pb2.ClusterStats(cluster_name='backend')
            stats.load_report_interval.FromMicroseconds(int((now - last) * 1e6))
            place = stats.upstream_locality_stats.add(total_issued_requests=n - n_told)
            place.locality.region = 'here'
            n_told, last = n, now
            yield lrs_pb2.LoadStatsRequest(cluster_stats=[stats])

    def close(self):
        self.is_over.set()
        self.channel.close()


def write_config(test, name, source, seconds):
    path = test.work / f'{name}-{seconds}.yaml'
    path.write_text(json.dumps({
        'node': {'id': name},
        'static_resources': {'config_sources': [source]},
        'providers': [{'types': ['envoy.config.cluster.v3.Cluster'], 'config_descriptors': [
            {'resource_name': source['name']}]}] if 'udpa' in source else [],
        'load_reporting': {'interval': f'{seconds}s'},
        'timing': {'interest_linger': '0.2s', 'backoff_base': '0.05s', 'backoff_max': '0.5s'},
        **({'workers': 2} if test.variant == 'all' else {}),
    }), encoding='utf-8')
    return path


def try_pair(test, server_s, client_s):
    server = Rates()
    server.ask_each(server_s)
    nodes = [interop.Node(test, f'top-{server_s}-{client_s}', bootstrap=write_config(
        test, f'top{server_s}', {'name': 'legacy', 'xds': {
            'address': f'127.0.0.1:{server.port}', 'authority': 'legacy',
            'client': {'id': 'top'}, 'load_reporting': {}}}, client_s))]
    if test.variant == 'all':
        nodes.append(interop.Node(test, f'edge-{server_s}-{client_s}', bootstrap=write_config(
            test, f'edge{server_s}', {'name': 'top', 'udpa': {'address': nodes[0].address}},
            client_s)))
    clients = [Steady(number, nodes[-1], rate) for number, rate in enumerate(RATES)]
    time.sleep(3 * max(server_s, client_s) + 3)
    for client in clients:
        client.close()
    for node in nodes:
        node.stop()
    server.server.stop(0)
    return server.rates


def body(test):
    for server_s, client_s in PAIRS[test.variant]:
        rates = try_pair(test, server_s, client_s)
        said = ', '.join(f'{rate:.1f}/s in {seconds:.1f} s' for rate, seconds in rates)
        check(f'the server asks each {server_s} s, clients report each {client_s} s: {said}',
              len(rates) >= 2 and
              all(abs(rate / sum(RATES) - 1) <= TOLERANCE for rate, _ in rates))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('short', 'all')))
