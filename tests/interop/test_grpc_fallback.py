#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A gRPC client with two nodes in its bootstrap falls back to the second when the first dies before it
has said everything, and returns when the first is there again. A node that is full is passed over, too.

Both nodes serve the same names. So that it can be told whose word a client follows, each names another
backend; in earnest they would name the same.
"""
import contextlib
import json
import sys

import interop
import grpc_clients
import grpc_service
from udpa_peer import Peer, sessions

QUIET_S = 2


def streams(test, node):
    """Of the client at this node."""
    return [session for session in sessions(test.build, node.address)
            if session.peer_node_id == 'grpc-client' and session.protocol == 'xds-sotw']


def is_asked(test, node):
    return bool(streams(test, node))


def is_asked_for_endpoints(test, node):
    """grpc-go never asks the first node for what it first needs while it is at the second."""
    return any(subscription.type_url.endswith('ClusterLoadAssignment')
               for session in streams(test, node) for subscription in session.subscriptions)


def publish(test, node, resources):
    with Peer(test.build, node.address) as peer:
        peer.publish(resources)


@contextlib.contextmanager
def full_node(test):
    """A node that has as many streams as it takes."""
    config = test.work / 'full.yaml'
    config.write_text(json.dumps({'limits': {'max_streams': 1}}), encoding='utf-8')
    node = interop.Node(test, 'full', bootstrap=config)
    with Peer(test.build, node.address) as peer:
        peer.publish(grpc_service.resources(9)) # so the stream is there
        yield node


def falls_back_from_a_full_node(test, second):
    with full_node(test) as full:
        grpc_clients.use(full.address, second.address)
        client = grpc_clients.CLIENTS[test.variant](test)
        publish(test, second, grpc_service.resources(client.ports[1]))
        client.begin()
        client.wait_for_answer(1)
        interop.check('the first node is full: the second is used', True)
        client.close()


def body(test):
    first_port, second_port = interop.free_ports(2)
    grpc_clients.use(f'127.0.0.1:{first_port}', f'127.0.0.1:{second_port}')
    first = interop.Node(test, 'first', first_port)
    second = interop.Node(test, 'second', second_port)
    client = grpc_clients.CLIENTS[test.variant](test)

    *most, endpoints = grpc_service.resources(client.ports[0])
    publish(test, second, grpc_service.resources(client.ports[1]))
    publish(test, first, most)
    client.begin()
    interop.wait_for('the client at the first node', lambda: is_asked_for_endpoints(test, first))
    interop.check('with the first there, it does not ask the second', not is_asked(test, second))

    first.stop()
    client.wait_for_answer(1)
    interop.check('the first died with its endpoints unsaid: the second is used', True)

    first = interop.Node(test, 'first', first_port)
    publish(test, first, [endpoints])
    client.wait_for_answer(0)
    interop.check('the first is back, and is used', True)
    interop.wait_for('the end of the stream at the second', lambda: not is_asked(test, second))
    interop.check('the second is not asked any more', True)

    first.stop()
    publish(test, second, [(grpc_service.CLUSTER, grpc_service.endpoints(client.ports[1]))])
    interop.never('the client, which has everything, at the second',
                  lambda: is_asked(test, second), QUIET_S)
    client.wait_for_answer(0)
    interop.check('the first is away again: what it has said is used on', True)
    client.close()
    falls_back_from_a_full_node(test, second)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, tuple(grpc_clients.CLIENTS)))
