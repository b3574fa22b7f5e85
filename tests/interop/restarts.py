# SPDX-License-Identifier: Apache-2.0
"""A node that is restarted without a gap: its processes one after the other, and peers that come back to it."""
import collections
import ctypes
import os
import re
import signal
import threading
import time

import grpc
from google.protobuf import any_pb2
from envoy.config.cluster.v3 import cluster_pb2

import udpa_peer
import xds_peer
from interop import Failure, wait_for

PR_SET_CHILD_SUBREAPER = 36
SERVES = re.compile(r'process (\d+) serves')
PATIENCE_S = 60


def adopt_orphans():
    """Processes that a child has started are this one's when that child has ended."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def status_of(pid):
    """None: it runs. What ends before the process that has started it does is seen by that one, which complains."""
    try:
        found, raw = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(raw) if found else None
    except ChildProcessError:
        return None if os.path.exists(f'/proc/{pid}') else 0


class Succession:
    """The processes of a node: the one that serves, and those that are still ending."""

    def __init__(self, node):
        self.node, self.pid, self.leaving, self.statuses = node, node.process.pid, [], []
        adopt_orphans()

    def n_served(self):
        return len(SERVES.findall(self.node.text()))

    def reap(self):
        for pid in list(self.leaving):
            if pid == self.node.process.pid:
                status = self.node.process.poll()
            else:
                status = status_of(pid)
            if status is not None:
                self.leaving.remove(pid)
                self.statuses.append(status)
        return not self.leaving

    def send(self, number):
        os.kill(self.pid, number)

    def restart(self):
        """Until another process serves; how long that took."""
        n, begin_s = self.n_served(), time.monotonic()
        self.send(signal.SIGUSR2)
        wait_for('another process serves', lambda: self.n_served() > n, PATIENCE_S)
        took_s = time.monotonic() - begin_s
        self.leaving.append(self.pid)
        self.pid = int(SERVES.findall(self.node.text())[-1])
        return took_s

    def wait_until_left(self):
        wait_for('the processes before have ended', self.reap, PATIENCE_S)

    def end(self):
        if self.pid == self.node.process.pid:
            return
        self.wait_until_left()
        os.kill(self.pid, signal.SIGINT)
        self.leaving.append(self.pid)
        self.wait_until_left()


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
