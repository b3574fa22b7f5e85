#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of gRPC's C core that reads resource_errors (A88) is told at once that its route is not
there, in the node's words; without them it waits for 15 s. Then the route comes."""
import json
import os
import sys
import time

import interop
import grpc
import grpc_service
from test_grpc_python import METHOD, Backend
from udpa_peer import Peer

# It is experimental.
SWITCH = 'GRPC_EXPERIMENTAL_XDS_DATA_ERROR_HANDLING'
WORDS = 'there is no such resource'
BOUND_S = 8
PATIENCE_S = 20


def call(channel):
    """A call that meets the route just as it comes may hang in the client, so others follow."""
    try:
        return channel.unary_unary(METHOD)(b'', timeout=2, wait_for_ready=True)
    except grpc.RpcError:
        return None


def body(test):
    config = test.work / 'node.yaml'
    config.write_text(json.dumps({'shim': {'resource_errors': True}}), encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=config)
    os.environ['GRPC_XDS_BOOTSTRAP_CONFIG'] = grpc_service.bootstrap(node.address)
    os.environ[SWITCH] = 'true'
    backend = Backend('first')
    resources = grpc_service.resources(backend.port)
    with Peer(test.build, node.address) as peer:
        peer.publish([one for one in resources if one[0] != grpc_service.ROUTE])
        with grpc.insecure_channel(f'xds:///{grpc_service.NAME}') as channel:
            begin = time.monotonic()
            try:
                channel.unary_unary(METHOD)(b'', timeout=PATIENCE_S)
                raise interop.Failure('a call without a route has been answered')
            except grpc.RpcError as error:
                took, details = time.monotonic() - begin, error.details()
            interop.check(f'the call failed after {took:.1f} s: {details}', took < BOUND_S)
            interop.check('with the reason that the node gave', WORDS in details)
            peer.publish(resources)
            interop.wait_for('the answer to a call, when the route has come',
                             lambda: call(channel) == b'first')
            interop.check('when the route has come a call is answered', True)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
