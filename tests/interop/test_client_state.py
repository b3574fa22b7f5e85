#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a client has acknowledged, has rejected, or still owes an answer to: udpactl clients, clients --tree,
status and wait and CSDS agree after each of ten steps."""
import json
import subprocess
import sys

import interop
import envoy_peer
from interop import check
from test_csds import STATUS, Asker, request
from udpa_peer import Peer
from xds_peer import CLUSTER, Client

CLIENT = 'by-hand'
MANY = [f'm{i:02}' for i in range(20)] # more than a node notes by name
SYNCED, REFUSED = 'synced', 'refused'
OPEN = 'not acknowledged' # it has not answered; or what it said leaves in doubt which it rejects


class UdpaClient:
    """A UDPA peer that subscribes to all clusters, and writes its receipts when it is told to."""

    def __init__(self, test, address):
        self.peer = Peer(test.build, address, node_id=CLIENT)
        message = self.peer.udpa_message()
        message.subscribe.type_url = CLUSTER
        message.subscribe.namespace = 'local'
        message.subscribe.resource_names.append('*')
        self.peer.outbox.put(message)

    def receive(self):
        while True:
            delta = self.peer.next_message('publish').publish.delta
            if delta.receipt_required:
                return delta

    def answer(self, delta, error=None):
        message = self.peer.udpa_message()
        message.receipt.nonce = delta.nonce
        for _ in delta.resources if error else ():
            message.receipt.error_detail.add(code=3, message=error)
        self.peer.outbox.put(message)


def answer_many(client, n, error=None):
    """What changes at once may come in several messages."""
    while n > 0:
        message = client.receive()
        client.answer(message, error)
        n -= len(message.resources)


def client_of(test, address):
    if test.variant == 'udpa':
        return UdpaClient(test, address)
    client = Client(address, is_delta=test.variant == 'delta', node_id=CLIENT)
    client.send(CLUSTER)
    return client


# ---- the five views ----

def of_counts(n_refused, n_open):
    if n_refused:
        return REFUSED
    return OPEN if n_open else SYNCED


class Views:
    def __init__(self, test, node):
        self.test, self.node = test, node
        self.asker = Asker(node.address)

    def run(self, *arguments):
        return subprocess.run([self.test.build / 'udpactl', '--server', self.node.address, *arguments],
                              capture_output=True, text=True, check=False)

    def by_table(self, *arguments):
        rows = [line for line in self.run('clients', *arguments).stdout.splitlines()
                if line.startswith(CLIENT)]
        if len(rows) != 1:
            return f'{len(rows)} rows'
        return next((state for word, state in (('no: rejected', REFUSED), ('no: ', OPEN),
                                               (' yes ', SYNCED)) if word in rows[0]), rows[0])

    def by_status(self):
        """The rows of its table, so of what is printed."""
        out = self.run('status', 'sessions').stdout
        sections = dict(part.split('\n', 1) for part in out.split('\n\n') if '\n' in part)
        sessions = [line.split()[0] for line in sections['SESSIONS'].splitlines()
                    if CLIENT in line.split()]
        rows = [line for line in sections.get('REJECTED', '').splitlines()
                if line.split()[0] in sessions]
        head, *lines = sections['SUBSCRIPTIONS'].splitlines()
        n_open = [line.split()[head.split().index('UNANSWERED')] for line in lines
                  if line.split()[0] in sessions]
        in_doubt = [row for row in rows if 'in doubt: ' in row]
        return of_counts(len(rows) - len(in_doubt), len(in_doubt) + sum(int(n) for n in n_open))

    def by_csds(self):
        entries = [entry.config_status for config in self.asker.fetch(request(CLIENT)).config
                   for entry in config.generic_xds_configs]
        return of_counts(entries.count(STATUS.ERROR), len(entries) - entries.count(STATUS.SYNCED))

    def by_wait(self, names):
        done = self.run('wait', '--timeout', '1', 'cluster', *names)
        return {0: SYNCED, 1: REFUSED, 4: OPEN}.get(done.returncode, done.stderr)

    def expect(self, step, names, state):
        def look():
            return {'clients': self.by_table(), 'clients --tree': self.by_table('--tree'),
                    'status': self.by_status(), 'CSDS': self.by_csds(),
                    'wait': self.by_wait(names)}
        seen = {}

        def agree():
            seen.update(look())
            return set(seen.values()) == {state}
        try:
            interop.wait_for(f'{step}: {state}', agree, 10)
        except interop.Failure as failure:
            raise interop.Failure(f'{failure}: {json.dumps(seen)}') from None
        check(f'{step}: {state} by all five', True)


def clusters(names, timeout):
    return [(name, envoy_peer.static_cluster(name, timeout)) for name in names]


def body(test):
    node = interop.Node(test, 'node')
    views = Views(test, node)
    with Peer(test.build, node.address) as publisher:
        publisher.publish(clusters(['a'], '1s'))
        client = client_of(test, node.address)
        response = client.receive()
        views.expect('1. the first is sent', ['a'], OPEN)
        client.answer(response)
        views.expect('2. it is acknowledged', ['a'], SYNCED)
        publisher.publish(clusters(['a'], '2s'))
        response = client.receive()
        views.expect('3. another version is sent', ['a'], OPEN)
        client.answer(response, 'a is not to my taste')
        views.expect('4. it is rejected', ['a'], REFUSED)
        publisher.publish(clusters(['a'], '3s'))
        response = client.receive()
        views.expect('5. the corrected one is sent', ['a'], OPEN)
        client.answer(response)
        views.expect('6. it is acknowledged', ['a'], SYNCED)
        publisher.publish(clusters(['b'], '1s'))
        client.answer(client.receive(), 'b is not to my taste')
        views.expect('7. one more is rejected', ['a', 'b'], REFUSED)
        publisher.remove('envoy.config.cluster.v3.Cluster', ['b'])
        client.answer(client.receive())
        views.expect('8. it is gone', ['a'], SYNCED)
        publisher.publish(clusters(MANY, '1s'))
        answer_many(client, len(MANY), 'none of these')
        # A NACK of xDS is for all of a response; a receipt is for each resource.
        views.expect('9. many are rejected', MANY, REFUSED if test.variant == 'udpa' else OPEN)
        publisher.publish(clusters(MANY, '2s'))
        answer_many(client, len(MANY))
        views.expect('10. they are corrected', ['a', *MANY], SYNCED)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw', 'udpa')))
