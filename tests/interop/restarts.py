# SPDX-License-Identifier: Apache-2.0
"""Peers of a node that is restarted without a gap, which come back to it."""
import collections
import sys
import threading
import time

import grpc
from google.protobuf import any_pb2
from envoy.config.cluster.v3 import cluster_pb2

import udpa_peer
import xds_peer
from interop import SOURCE, Failure

sys.path.insert(0, str(SOURCE / 'docs' / 'demo'))
from succession import PATIENCE_S, Succession  # noqa: E402

__all__ = ['Client', 'Publisher', 'Succession']


class Client(threading.Thread):
    """A delta client as Envoy is: it comes back with the versions that it has."""

    def __init__(self, address, node_id):
        super().__init__(daemon=True)
        self.address, self.node_id = address, node_id
        self.has, self.seen = {}, collections.Counter()
        self.n_streams, self.statuses = 0, collections.Counter()
        self.stopped = threading.Event()
        self.start()

    def serve(self, client):
        client.send(xds_peer.CLUSTER, names=['*'], initial_resource_versions=self.has)
        for response in client.stream:
            for resource in response.resources:
                self.seen[resource.name, resource.version] += 1
                self.has[resource.name] = resource.version
            for name in response.removed_resources:
                self.has.pop(name, None)
                self.seen[name, 'removed'] += 1
            client.answer(response)

    def run(self):
        while not self.stopped.is_set():
            self.client = xds_peer.Client(self.address, node_id=self.node_id, timeout_s=600)
            self.n_streams += 1
            try:
                self.serve(self.client)
            except grpc.RpcError as error:
                if not self.stopped.is_set():
                    self.statuses[f'{error.code().name}: {error.details()}'] += 1
            self.client.channel.close()

    def stop(self):
        self.stopped.set()
        self.client.stream.cancel()

    def resent(self):
        return {key: n for key, n in self.seen.items() if n > 1}


class Publisher(threading.Thread):
    """Publishes one cluster again and again, each time with another name in it, until it has the receipt."""

    def __init__(self, build, address, name, pause_s=0.05):
        super().__init__(daemon=True)
        self.build, self.address, self.name, self.pause_s = build, address, name, pause_s
        self.n_receipts = self.n_streams = 0
        self.longest_s, self.refused = 0, []
        self.stopped = threading.Event()
        self.peer = None
        self.start()

    def publish(self, number):
        packed = any_pb2.Any()
        packed.Pack(cluster_pb2.Cluster(name=self.name, alt_stat_name=f'n{number}'))

        def fill(delta):
            entry = delta.resources.add(name=f'local/{self.name}')
            entry.resource.type_url, entry.resource.value = packed.type_url, packed.value
        while not self.stopped.is_set():
            try:
                if not self.peer:
                    self.peer = udpa_peer.Peer(self.build, self.address, node_id=f'publisher-{self.name}')
                    self.n_streams += 1
                refused = self.peer.publish_delta(fill)
                if not refused:
                    return True
                self.refused.append(refused[0].message)
            except Failure as failure:
                if 'no receipt' in str(failure):
                    self.refused.append(str(failure))
            self.peer.close()
            self.peer = None
        return False

    def run(self):
        while not self.stopped.is_set():
            begin_s = time.monotonic()
            if self.publish(self.n_receipts + 1):
                self.n_receipts += 1
                self.longest_s = max(self.longest_s, time.monotonic() - begin_s)
            time.sleep(self.pause_s)

    def stop(self):
        self.stopped.set()
        self.join(PATIENCE_S)
        if self.peer:
            self.peer.close()
