#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of LRS report to an edge, below a node in the middle, below a root, where somebody subscribes
to the sum. Under traffic the middle is killed, and the root, and both come back: the sum at the root goes
on, and is what was sent, to the request; and it is never more. An edge that is told to end hands on what it
has before it does, within two seconds.
"""
import json
import sys
import threading
import time

import interop

from interop import check, wait_for
from test_load_federation import SUM, Client
from udpactl import Ctl

CLIENTS = 4
ROUNDS = {'once': 1, 'again': 2}


def write_config(test, name, source=None):
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps({
        'node': {'id': name},
        'static_resources': {'config_sources': [
            {'name': source.name, 'udpa': {'address': source.address}}] if source else []},
        'providers': [{'types': ['envoy.config.cluster.v3.Cluster'], 'config_descriptors': [
            {'resource_name': source.name}]}] if source else [],
        'load_reporting': {'interval': '0.2s'},
        'timing': {'backoff_base': '0.05s', 'backoff_max': '0.5s'},
    }), encoding='utf-8')
    return path


class Watch:
    """Somebody who subscribes to sums at a node, also when that is another process."""

    def __init__(self, test, node):
        self.ctl = Ctl(test, node)
        self.process = self.ctl.start('watch', SUM, '-o', 'json')

    def issued(self):
        out, _ = self.ctl.start('get', SUM, '-o', 'json').communicate(
            timeout=interop.STOP_PATIENCE_S)
        for resource in json.loads(out or '[]'):
            if resource['name'] == 'local/backend/root':
                return sum(int(place.get('requests', {}).get('issued', 0))
                           for place in resource['resource'].get('localities', ()))
        return None

    def close(self):
        self.process.kill()
        self.process.communicate()


class Traffic(threading.Thread):
    """Requests all the time, from all clients."""

    def __init__(self, clients):
        super().__init__(daemon=True)
        self.clients, self.total, self.is_over = clients, 0, threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(0.02):
            for number, client in enumerate(self.clients):
                self.total += client.count(1 + number)

    def end(self):
        self.is_over.set()
        self.join()
        return self.total


def kill_and_restart(test, node, source=None):
    node.process.kill()
    node.process.wait()
    return interop.Node(test, node.name, node.port, bootstrap=write_config(test, node.name, source))


def wait_for_total(watch, total):
    seen = []
    try:
        wait_for(f'the sum {total}', lambda: seen.append(watch.issued()) or seen[-1] == total)
    except interop.Failure as failure:
        raise interop.Failure(f'{failure}: the last was {seen[-1]}') from None
    check(f'the sum is {total}, and never more', all(n is None or n <= total for n in seen))


def body(test):
    root = interop.Node(test, 'root', bootstrap=write_config(test, 'root'))
    middle = interop.Node(test, 'middle', bootstrap=write_config(test, 'middle', root))
    edge = interop.Node(test, 'edge', bootstrap=write_config(test, 'edge', middle))
    watch = Watch(test, root)
    clients = [Client(number, edge) for number in range(CLIENTS)]
    for client in clients:
        check(f'{client.id} is asked', client.is_asked.wait(interop.STOP_PATIENCE_S))
    total = sum(client.count(10) for client in clients)
    wait_for_total(watch, total)
    for _ in range(ROUNDS[test.variant]):
        traffic = Traffic(clients)
        wait_for('traffic', lambda: watch.issued() > total)
        middle = kill_and_restart(test, middle, root)
        before = watch.issued()
        wait_for('the sum to go on', lambda: watch.issued() > before)
        watch.close()
        root = kill_and_restart(test, root)
        watch = Watch(test, root)
        wait_for('the sum to go on', lambda: (watch.issued() or 0) > before)
        total += traffic.end()
        wait_for_total(watch, total)
    total += sum(client.count(7) for client in clients)
    time.sleep(0.3) # it has them by then, and says sums each second
    began = time.monotonic()
    edge.stop()
    check(f'the edge ended after {time.monotonic() - began:.1f} s', time.monotonic() - began < 2)
    wait_for_total(watch, total)
    watch.close()
    for client in clients:
        client.close()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(ROUNDS)))
