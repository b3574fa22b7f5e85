#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits hold over a replica set: publishers at three replicas reach one at the same time. What there is room for
is taken, and at most one publication of each replica more; the others are rejected, and all replicas have the same."""
import random
import sys
import threading
import time

from interop import Failure, check, run, wait_for

from google.protobuf import wrappers_pb2

from etcd import Cluster, program_or_skip
from test_replicas import Replica, held
from udpa_peer import Peer

REPLICAS = 'abc'
NAMESPACE_MAX, PUBLISHER_MAX = 10, 20
LIMITS = {'max_resources_per_namespace': NAMESPACE_MAX, 'max_resources_per_publisher': PUBLISHER_MAX}
EXHAUSTED = 8 # RESOURCE_EXHAUSTED
ROUNDS = 2
TAKEN, REJECTED = 'taken', 'rejected'


class Publisher(threading.Thread):
    """Publishes resources at one replica, each by itself, and none waits for the receipt of another one; outcomes
    has what became of each name."""

    def __init__(self, replica, identity, namespace, count, gate):
        super().__init__(daemon=True)
        self.replica, self.namespace, self.gate = replica, namespace, gate
        self.names = [f'{replica.name}-{n}' for n in range(count)]
        self.peer = Peer(replica.test.build, replica.address, identity, namespace)
        self.outcomes, self.failure = {}, None

    def publish(self, name):
        message = self.peer.udpa_message()
        delta = message.publish.delta
        delta.nonce, delta.receipt_required = name, True
        entry = delta.resources.add(name=f'{self.namespace}/{name}')
        entry.resource.type_url = 'type.googleapis.com/google.protobuf.StringValue'
        entry.resource.value = wrappers_pb2.StringValue(value=name).SerializeToString()
        self.peer.outbox.put(message)

    def take_receipt(self):
        receipt = self.peer.next_message('receipt').receipt
        refused = [status for status in receipt.error_detail if status.code]
        self.outcomes[receipt.nonce] = REJECTED if refused else TAKEN
        for status in refused:
            if status.code != EXHAUSTED or 'max_resources_per_' not in status.message:
                raise Failure(f'{receipt.nonce} is rejected with {status.code}: {status.message}')

    def run(self):
        try:
            self.gate.wait()
            for name in self.names:
                self.publish(name)
            while len(self.outcomes) < len(self.names):
                self.take_receipt()
        except Failure as failure:
            self.failure = failure
        finally:
            self.peer.close()


def publish_all(publishers):
    """All at the same time; what was taken, as NAMESPACE/NAME."""
    for one in publishers:
        one.start()
    for one in publishers:
        one.join()
    failures = [f'{one.replica.name}: {one.failure}' for one in publishers if one.failure]
    if failures:
        raise Failure('\n'.join(failures))
    return {f'{one.namespace}/{name}' for one in publishers for name, outcome in one.outcomes.items()
            if outcome == TAKEN}


def has(replica, namespaces):
    """What a replica has there, with versions and generations."""
    return {one['name']: one for one in held(replica) if one['name'].split('/')[0] in namespaces}


def check_taken(what, replicas, taken, namespaces, limit):
    check(f'{what}: {len(taken)} are taken, the limit is {limit}', limit <= len(taken) <= limit + len(REPLICAS))
    wait_for('the same at all replicas', lambda: (found := has(replicas[0], namespaces)).keys() == taken and
             all(has(one, namespaces) == found for one in replicas), 5)
    check('  and all replicas have these, and no others', True)


def check_namespace(replicas, number):
    """Three publishers share a namespace."""
    namespace, gate = f'shared-{number}', threading.Barrier(len(REPLICAS))
    taken = publish_all([Publisher(one, f'publisher-{number}-{one.name}', namespace, NAMESPACE_MAX, gate)
                         for one in replicas])
    check_taken(namespace, replicas, taken, {namespace}, NAMESPACE_MAX)
    return taken


def check_publisher(replicas, number):
    """One publisher has a stream to each replica, and a namespace there that has room for all."""
    gate = threading.Barrier(len(REPLICAS))
    publishers = [Publisher(one, f'everywhere-{number}', f'own-{number}-{one.name}', NAMESPACE_MAX, gate)
                  for one in replicas]
    taken = publish_all(publishers)
    check_taken(f'everywhere-{number}', replicas, taken, {one.namespace for one in publishers}, PUBLISHER_MAX)


def check_room(replicas, number, taken):
    """What its publisher removes at one replica leaves room for one more at the others."""
    namespace = f'shared-{number}'
    gone = sorted(taken)[:len(taken) - NAMESPACE_MAX + 1]
    for name in gone:
        publisher = f'publisher-{number}-{name.split("/")[1].split("-")[0]}'
        with Peer(replicas[0].test.build, replicas[0].address, publisher, namespace) as peer:
            peer.remove('google.protobuf.StringValue', [name.split('/')[1]])
    taken -= set(gone)
    for replica, outcome in (replicas[1], TAKEN), (replicas[2], REJECTED):
        one = Publisher(replica, f'late-{replica.name}', namespace, 1, threading.Barrier(1))
        one.names = [f'late-{replica.name}']
        more = publish_all([one])
        check(f'after removals one more is {outcome} at {replica.name}', set(one.outcomes.values()) == {outcome})
        taken |= more
    check_taken(namespace, replicas, taken, {namespace}, NAMESPACE_MAX)


def body(test):
    cluster = Cluster(test, program_or_skip(test, 'debian'))
    replicas = [Replica(test, cluster, name, waits=True, sections={'limits': LIMITS}) for name in REPLICAS]
    for one in replicas:
        one.wait_for_log('listening on ')
    begin = time.monotonic()
    order = random.Random(1)
    for number in range(ROUNDS):
        order.shuffle(replicas) # which one begins by a hair's breadth
        taken = check_namespace(replicas, number)
        check_publisher(replicas, number)
    check_room(replicas, ROUNDS - 1, taken)
    check(f'in {time.monotonic() - begin:.1f} s', True)


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
