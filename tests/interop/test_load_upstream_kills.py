#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of LRS report to an edge, below a root that reports to a legacy server of LRS. Under traffic the root is
killed, and told to end, again and again; also while the server is away. What the server was told in all is
what was sent, to the request; and it is never more.
"""
import json
import signal
import sys

import interop

from interop import check, wait_for
from test_load_federation import Client
from test_load_kills import Traffic
from test_load_upstream import Server

CLIENTS = 3
ROUNDS = {'once': 1, 'again': 2}


def write_config(test, name, source=None, server=None):
    path = test.work / f'{name}.yaml'
    sources = [{'name': source.name, 'udpa': {'address': source.address}}] if source else []
    if server:
        sources.append({'name': 'legacy', 'xds': {
            'address': f'127.0.0.1:{server.port}', 'authority': 'legacy', 'load_reporting': {}}})
    path.write_text(json.dumps({
        'node': {'id': name},
        'static_resources': {'config_sources': sources},
        'providers': [{'types': ['envoy.config.cluster.v3.Cluster'], 'config_descriptors': [
            {'resource_name': source.name}]}] if source else [],
        'load_reporting': {'interval': '0.2s'},
        'timing': {'backoff_base': '0.05s', 'backoff_max': '0.2s'},
    }), encoding='utf-8')
    return path


class Watched(Server):
    """Notes when it was told more than was sent."""

    def total(self):
        with self.lock:
            return self.totals.get('backend', 0)

    def wait_for_total(self, total):
        wait_for(f'the total {total}', lambda: self.total() >= total)
        check(f'the server was told {self.total()} of {total}', self.total() == total)


def restart(test, root, server, number):
    root.process.send_signal(number)
    root.process.wait(interop.STOP_PATIENCE_S)
    return interop.Node(test, 'root', root.port,
                        bootstrap=write_config(test, 'root', server=server))


def wait_until_told(server, traffic):
    """That some of what was sent from now on has come."""
    sent = traffic.total
    wait_for('the server to be told', lambda: server.total() > sent)
    check('never more than was sent', server.total() <= traffic.total)


def body(test):
    server = Watched()
    server.ask(['backend'])
    root = interop.Node(test, 'root', bootstrap=write_config(test, 'root', server=server))
    edge = interop.Node(test, 'edge', bootstrap=write_config(test, 'edge', root))
    clients = [Client(number, edge) for number in range(CLIENTS)]
    for client in clients:
        check(f'{client.id} is asked', client.is_asked.wait(interop.STOP_PATIENCE_S))
    total = sum(client.count(10) for client in clients)
    server.wait_for_total(total)
    for number in (signal.SIGKILL, signal.SIGINT) * ROUNDS[test.variant]:
        traffic = Traffic(clients)
        traffic.total = total
        wait_until_told(server, traffic)
        root = restart(test, root, server, number)
        wait_until_told(server, traffic)
        server.end_stream()
        root = restart(test, root, server, number)
        wait_until_told(server, traffic)
        total = traffic.end()
        server.wait_for_total(total)
    for client in clients:
        client.close()
    edge.stop()
    root.stop()
    server.server.stop(0)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(ROUNDS)))
