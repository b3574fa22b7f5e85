#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpad reports to a legacy server of LRS: what that asks for is asked of the clients of LRS here, and
what it is told in all is what they have sent, to the request; also when the server ends the stream,
when it wants to know something else, and when udpad is killed and starts again.
"""
import concurrent.futures
import json
import queue
import sys
import threading

import interop

import grpc
from envoy.service.load_stats.v3 import lrs_pb2, lrs_pb2_grpc

from interop import check, never, wait_for
from test_load_federation import Client
from udpa_peer import sessions

ALL = 'envoy.lrs.supports_send_all_clusters'


class Server(lrs_pb2_grpc.LoadReportingServiceServicer):
    """Adds up what it is told. What it asks for is said to the stream that there is, and to the next."""

    def __init__(self):
        self.lock = threading.Lock()
        self.totals, self.nodes, self.n_streams, self.endpoints = {}, [], 0, {}
        self.asks, self.stream, self.n_reports = None, None, 0
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        lrs_pb2_grpc.add_LoadReportingServiceServicer_to_server(self, self.server)
        self.port = self.server.add_insecure_port('127.0.0.1:0')
        self.server.start()

    def StreamLoadStats(self, requests, _context): # pylint: disable=invalid-name
        responses = queue.Queue()
        first = next(requests)
        with self.lock:
            self.nodes.append(first.node)
            self.n_streams += 1
            self.stream = responses
            if self.asks:
                responses.put(self.asks)
        threading.Thread(target=self.read, args=(requests, responses), daemon=True).start()
        while (response := responses.get()) is not None:
            yield response

    def read(self, requests, responses):
        try:
            for request in requests:
                with self.lock:
                    self.take(request)
        except grpc.RpcError:
            pass
        responses.put(None)

    def take(self, request):
        self.n_reports += 1
        for stats in request.cluster_stats:
            assert stats.load_report_interval.ToMilliseconds() > 0
            for place in stats.upstream_locality_stats:
                name = stats.cluster_name
                self.totals[name] = self.totals.get(name, 0) + place.total_issued_requests

    def ask(self, clusters=(), all_clusters=False):
        asks = lrs_pb2.LoadStatsResponse(clusters=clusters, send_all_clusters=all_clusters)
        asks.load_reporting_interval.FromSeconds(1)
        with self.lock:
            self.asks = asks
            if self.stream:
                self.stream.put(asks)

    def end_stream(self):
        with self.lock:
            self.stream.put(None)
            self.stream = None

    def wait_for_totals(self, expected):
        seen = []

        def look():
            with self.lock:
                seen[:] = [dict(self.totals)]
            return seen[0] == expected
        try:
            wait_for(f'the totals {expected}', look)
        except interop.Failure as failure:
            raise interop.Failure(f'{failure}: the last were {seen[0]}') from None
        print(f'ok: the totals are {expected}', flush=True)


def write_config(test, server):
    path = test.work / 'node.yaml'
    path.write_text(json.dumps({
        'static_resources': {'config_sources': [{'name': 'legacy', 'xds': {
            'address': f'127.0.0.1:{server.port}', 'authority': 'legacy',
            'client': {'id': 'edge-of-acme'}, 'load_reporting': {}}}]},
        'load_reporting': {'interval': '0.2s'},
        'timing': {'interest_linger': '0.2s', 'backoff_base': '0.05s', 'backoff_max': '0.5s'},
    }), encoding='utf-8')
    return path


def open_clients(node, numbers, cluster='backend'):
    return [Client(number, node, cluster) for number in numbers]


def wait_until_asked(clients):
    for client in clients:
        check(f'{client.id} is asked', client.is_asked.wait(interop.STOP_PATIENCE_S))


def send(clients):
    return sum(client.count(1 + (round * 7 + number) % 9)
               for round in range(50) for number, client in enumerate(clients))


def status(test, node):
    return next((session.load_reporting for session in sessions(test.build, node.address)
                 if session.protocol == 'lrs-upstream'), None)


def body(test):
    server = Server()
    config = write_config(test, server)
    node = interop.Node(test, 'node', bootstrap=config)
    clients = open_clients(node, range(3))
    wait_for('the stream of udpad', lambda: server.nodes)
    first = server.nodes[0]
    check(f'udpad says who it is: {first.id}', first.id == 'edge-of-acme')
    check('udpad can send all clusters', ALL in first.client_features)
    never('a client is asked while the server wants nothing',
          lambda: any(client.is_asked.is_set() for client in clients), 1)

    server.ask(['backend', 'unknown'])
    wait_until_asked(clients)
    total = send(clients)
    server.wait_for_totals({'backend': total})
    said = status(test, node)
    check(f'the status says so: {said}', sorted(said.clusters) == ['backend', 'unknown'] and
          said.source == 'legacy' and said.n_reports >= 1 and said.n_refused == 0)

    server.end_stream()
    total += send(clients)
    wait_for('the next stream', lambda: server.n_streams >= 2)
    total += send(clients)
    server.wait_for_totals({'backend': total})

    more = open_clients(node, range(10, 12), 'other')
    server.ask(all_clusters=True)
    wait_until_asked(more)
    total += send(clients)
    other = send(more)
    server.wait_for_totals({'backend': total, 'other': other})

    node.process.kill()
    node.process.wait()
    for client in clients + more:
        client.close()
    node = interop.Node(test, 'node', node.port, bootstrap=config)
    clients = open_clients(node, range(3))
    wait_until_asked(clients)
    total += send(clients)
    server.wait_for_totals({'backend': total, 'other': other})

    server.ask()
    wait_for('clients to be asked for nothing',
             lambda: not any(client.is_asked.is_set() for client in clients))
    before = server.n_reports
    never('a report that nobody wants', lambda: server.n_reports > before + 1, 2)
    server.wait_for_totals({'backend': total, 'other': other})
    for client in clients:
        client.close()
    server.server.stop(0)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
