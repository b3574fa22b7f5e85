#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The xDS client of gRPC's C core (grpcio) resolves a service through a node, calls it, and follows
its endpoints."""
import os
import sys

import interop
import grpc
import grpc_service
from grpc_clients import METHOD, PATIENCE_S, Backend
from udpa_peer import Peer


def body(test):
    node = interop.Node(test, 'node')
    os.environ['GRPC_XDS_BOOTSTRAP_CONFIG'] = grpc_service.bootstrap(node.address)
    first, second = Backend('first'), Backend('second')
    with Peer(test.build, node.address) as peer:
        peer.publish(grpc_service.resources(first.port))
        with grpc.insecure_channel(f'xds:///{grpc_service.NAME}') as channel:
            name = channel.unary_unary(METHOD)
            answer = name(b'', timeout=PATIENCE_S, wait_for_ready=True)
            interop.check('the first backend has answered', answer == b'first')
            peer.publish([(grpc_service.CLUSTER, grpc_service.endpoints(second.port))])
            interop.wait_for('an answer of the second backend', lambda: name(
                b'', timeout=PATIENCE_S, wait_for_ready=True) == b'second')
            interop.check('the second backend answers after its endpoint was published', True)
    for backend in (first, second):
        backend.server.stop(0)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
