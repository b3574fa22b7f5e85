#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A publisher changes endpoints, and a cluster beside them, a thousand times a second. By push.debounce a client
receives about one response of endpoints for each push.max, by delta, by the state of the world and by REST, and the
last version within that time. Clusters, which do not wait, cost a response for most changes. With workers too."""
import json
import re
import sys
import threading
import time
import urllib.request

import interop
from interop import check, wait_for
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from udpa_peer import Peer, any_of
from xds_peer import CLUSTER, ENDPOINTS, Client

DEBOUNCE_S, MAX_S = 0.1, 0.5
CHURN_S = 4
PER_SECOND = 1000
ENDPOINTS_NAME = 'ClusterLoadAssignment'
LATE_S = 2 # that a busy machine may take besides
BOOTSTRAP = '''\
workers: %d
http: {sockets: [{address: '127.0.0.1:0'}]}
push:
  - types: [envoy.config.endpoint.v3.ClusterLoadAssignment]
    debounce: %gs
    max: %gs
'''


class Reader:
    """Acknowledges what it receives, and notes when it received which change."""

    def __init__(self, address, type_url, is_delta):
        self.is_delta = is_delta
        self.received = [] # pairs of a time and the number of a change
        self.client = Client(address, is_delta=is_delta, node_id=f'reader-{type_url}-{is_delta}')
        self.client.send(type_url, ['churning'])
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for response in self.client.stream:
                self.client.answer(response)
                for resource in response.resources:
                    value = resource.resource.value if self.is_delta else resource.value
                    self.received.append((time.monotonic(), number_in(value)))
        except Exception as error: # pylint: disable=broad-exception-caught; the test has ended
            self.ended = error


class Poller:
    """The same by REST: requests again as soon as it was answered, with the version that it has."""

    def __init__(self, port):
        self.url = f'http://127.0.0.1:{port}/v3/discovery:endpoints'
        self.received = []
        self.is_over = False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        version = ''
        while not self.is_over:
            message = {'version_info': version, 'resource_names': ['churning'], 'node': {'id': 'poller'}}
            request = urllib.request.Request(self.url, json.dumps(message).encode(),
                                             {'content-type': 'application/json'})
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    response = json.load(answer)
            except OSError: # nothing has changed, or the test has ended
                continue
            version = response['versionInfo']
            self.received.append((time.monotonic(), number_in(json.dumps(response['resources']).encode())))


def number_in(value):
    return int(re.search(rb'change-(\d+)', value).group(1))


def resources_of(number):
    endpoints = endpoint_pb2.ClusterLoadAssignment(cluster_name='churning')
    endpoints.endpoints.add().locality.zone = f'change-{number}'
    return any_of(endpoints), any_of(cluster_pb2.Cluster(name='churning', alt_stat_name=f'change-{number}'))


def churn(peer):
    """Returns how many changes there were, and when the last one was committed."""
    begin, number = time.monotonic(), 0
    while time.monotonic() < begin + CHURN_S:
        number += 1
        message = peer.udpa_message()
        delta = message.publish.delta
        for packed in resources_of(number):
            entry = delta.resources.add(name='local/churning')
            entry.resource.type_url, entry.resource.value = packed.type_url, packed.value
        peer.outbox.put(message)
        time.sleep(max(0, begin + number / PER_SECOND - time.monotonic()))
    number += 1
    peer.publish([('churning', one) for one in resources_of(number)])
    return number, time.monotonic(), time.monotonic() - begin


def metric(port, name, label=''):
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=10) as page:
        lines = page.read().decode().splitlines()
    of_type = [line for line in lines if line.startswith(name) and label in line]
    return sum(float(line.rsplit(' ', 1)[1]) for line in of_type)


def examine(name, reader, number, committed, took_s):
    wait_for(f'{name}: the last change', lambda: reader.received[-1][1] == number)
    arrived = next(at for at, one in reader.received if one == number)
    n_responses = len(reader.received)
    print(f'{name}: {n_responses} responses for {number} changes in {took_s:.1f} s; the last one arrived '
          f'{arrived - committed:+.2f} s after its receipt', flush=True)
    check(f'{name}: a response for each wait', took_s / MAX_S - 3 <= n_responses <= took_s / MAX_S + 4)
    check(f'{name}: the last version within push.max', arrived - committed < MAX_S + LATE_S)
    gaps = [later[0] - before[0] for before, later in zip(reader.received[1:], reader.received[2:])]
    check(f'{name}: none waits longer than push.max', max(gaps) < MAX_S + LATE_S)


def body(test):
    bootstrap = test.work / 'node.yaml'
    n_workers = 2 if test.variant == 'workers' else 0
    bootstrap.write_text(BOOTSTRAP % (n_workers, DEBOUNCE_S, MAX_S), encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=bootstrap)
    line = node.wait_for_log('over REST')
    port = int(line.split('listening on ')[1].split()[0].rsplit(':', 1)[1])
    with Peer(test.build, node.address) as peer:
        peer.publish([('churning', one) for one in resources_of(0)])
        readers = {'delta': Reader(node.address, ENDPOINTS, True),
                   'state of the world': Reader(node.address, ENDPOINTS, False),
                   'REST': Poller(port)}
        beside = Reader(node.address, CLUSTER, True)
        for name, reader in [*readers.items(), ('clusters', beside)]:
            wait_for(f'{name}: the first response', lambda one=reader: one.received)
        number, committed, took_s = churn(peer)
        for name, reader in readers.items():
            examine(name, reader, number, committed, took_s)
        wait_for('the last cluster', lambda: beside.received[-1][1] == number)
        print(f'clusters: {len(beside.received)} responses')
        check('what does not wait costs more', len(beside.received) > 3 * len(readers['delta'].received))
        check('waits are counted', metric(port, 'udpa_push_held_changes_total', ENDPOINTS_NAME) > number / 4 and
              metric(port, 'udpa_push_held_seconds_count') >= took_s / MAX_S - 3)
        check('so is what was not sent', metric(port, 'udpa_coalesced_changes_total', ENDPOINTS_NAME) > number / 4)
        readers['REST'].is_over = True
    node.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, variants=('one', 'workers')))
