#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of libudpa count what they send, and an edge, a node in the middle and a root add it up. Under traffic each
is killed, and is away for longer than anybody is asked for what nobody wants any more: the sums of the middle and of
the root are what was sent, to the request, and never more."""
import argparse
import json
import subprocess
import sys
import threading
import time

from product import PATIENCE_S, check, main, wait_for
from stage import Failure
from test_runtime import Node

SUM = 'udpa.load.v1.ClusterLoad'
CLUSTER = 'local/backend'
CLIENTS = 3
LINGER_S = 0.2
WORKERS = {'alone': 0, 'workers': 2}


class Client:
    def __init__(self, test, number, address):
        self.process = subprocess.Popen(
            [str(part) for part in (test.load_client, address, f'client-{number}', CLUSTER)],
            stdin=subprocess.PIPE, text=True)
        self.total = 0

    def count(self, n):
        self.process.stdin.write(f'{n}\n')
        self.process.stdin.flush()
        self.total += n

    def end(self):
        self.process.stdin.close()
        check('the client ends', self.process.wait(PATIENCE_S) == 0)


class Traffic(threading.Thread):
    """Requests all the time, from all clients."""

    def __init__(self, clients):
        super().__init__(daemon=True)
        self.clients, self.is_over = clients, threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(0.02):
            for number, client in enumerate(self.clients):
                client.count(1 + number)

    def end(self):
        self.is_over.set()
        self.join()


class Tree:
    def __init__(self, test, workers):
        self.test, self.workers, self.nodes, self.watch = test, workers, {}, None
        for name in ('root', 'middle', 'edge'):
            self.start(name)
        self.clients = [Client(test, number, self.nodes['edge'].address)
                        for number in range(CLIENTS)]

    def above(self, name):
        return {'middle': 'root', 'edge': 'middle'}.get(name)

    def start(self, name):
        above = self.nodes.get(self.above(name))
        known = self.nodes.get(name)
        config = {
            'timing': {'interest_linger': f'{LINGER_S}s', 'backoff_base': '0.05s',
                       'backoff_max': '0.2s'},
            'load_reporting': {'interval': '0.2s'}, **({'workers': self.workers} if self.workers
                                                       else {})}
        if above:
            config['static_resources'] = {'config_sources': [
                {'name': 'above', 'udpa': {'address': above.address}}]}
            config['providers'] = [{'types': ['google.protobuf.StringValue'],
                                    'config_descriptors': [{'resource_name': 'above'}]}]
        self.nodes[name] = Node(self.test, f'{name}{self.workers}', config,
                                address=known and known.address)
        if name == 'root':
            self.watch_root()

    def watch_root(self):
        """Somebody wants the sum, also when the root is another process."""
        self.watch = self.test.start('watch', [
            self.test.build / 'udpactl', '--server', self.nodes['root'].address, 'watch', SUM])

    def issued(self, name):
        done = subprocess.run(
            [str(self.test.build / 'udpactl'), '--server', self.nodes[name].address, 'get', SUM, '-o',
             'json'], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        for resource in json.loads(done.stdout or '[]'):
            if resource['name'] == f'{CLUSTER}/{name}{self.workers}':
                return sum(int(place.get('requests', {}).get('issued', 0))
                           for place in resource['resource'].get('localities', ()))
        return None

    def total(self):
        return sum(client.total for client in self.clients)

    def kill(self, name):
        self.nodes[name].process.process.kill()
        self.nodes[name].process.process.wait()
        if name == 'root':
            self.watch.process.kill()
            self.watch.process.wait()

    def wait_for_totals(self):
        seen = {}

        def is_summed(name):
            seen[name] = self.issued(name)
            return seen[name] == self.total()

        def look():
            return is_summed('root') and is_summed('middle')
        try:
            wait_for(f'the sums {self.total()}', look)
        except Failure as failure:
            raise Failure(f'{failure}: the last were {seen}') from None
        print(f'ok: the sums are {self.total()}', flush=True)


def test_away(tree, name, away_s):
    """One of them is killed under traffic."""
    traffic = Traffic(tree.clients)
    before = tree.issued('root') or 0
    wait_for('traffic at the root', lambda: (tree.issued('root') or 0) > before)
    tree.kill(name)
    time.sleep(away_s)
    tree.start(name)
    before = tree.total()
    wait_for('the sum to go on', lambda: (tree.issued('root') or 0) > before)
    check('it is never more', tree.issued('root') <= tree.total())
    traffic.end()
    print(f'{name} was away for {away_s} s', flush=True)
    tree.wait_for_totals()


def body(test):
    test.load_client = test.arguments.client
    tree = Tree(test, WORKERS[test.arguments.variant])
    wait_for('the sum to be there', lambda: tree.issued('root') is not None)
    for client in tree.clients:
        client.count(10)
    tree.wait_for_totals()
    test_away(tree, 'edge', 0)
    for name in ('edge', 'middle', 'root') if tree.workers else ('middle', 'root'):
        test_away(tree, name, 10 * LINGER_S)
    for client in tree.clients:
        client.end()
    for name in ('edge', 'middle', 'root'):
        check(f'{name} ends', test.interrupt(tree.nodes[name].process) == 0)


if __name__ == '__main__':
    PARSER = argparse.ArgumentParser(description=__doc__)
    PARSER.add_argument('--client', required=True, help='the program of load_client.c')
    sys.exit(main(PARSER, body, tuple(WORKERS)))
