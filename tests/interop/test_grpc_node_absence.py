#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the xDS client of gRPC for Node.js does when its listener is removed and comes back: its calls wait
for ever, whether its server is a node or go-control-plane. When this fails, the client has been mended:
say so in docs/interop.md."""
import os
import sys

import interop
import grpc_service
from test_grpc_node import HERE, node_and_packages_or_skip
from udpa_peer import Peer

LISTENER = 'envoy.config.listener.v3.Listener'
AWAY_S = 3 # the client has seen it by then
STUCK = 'Waiting for LB pick'


class OurNode:
    def __init__(self, test):
        self.node = interop.Node(test, 'node')
        self.address = self.node.address
        self.peer = Peer(test.build, self.address)

    def set(self, port, has_listener):
        if has_listener:
            self.peer.publish(grpc_service.resources(port))
        else:
            self.peer.remove(LISTENER, [grpc_service.NAME])


class GoControlPlane:
    def __init__(self, test):
        program = interop.go_program_or_skip(interop.SOURCE / 'tests' / 'bench' / 'go',
                                             test.build / 'go-control-plane-absence', './absence')
        self.process = interop.Process([program], test.work / 'server.log', takes_orders=True)
        test.processes.append(self.process)
        self.address = self.process.wait_for_log('listening on ').split()[-1]

    def set(self, port, has_listener):
        what = 'all' if has_listener else 'without'
        self.process.process.stdin.write(f'{what} {port}\n'.encode())
        self.process.process.stdin.flush()


def body(test):
    program, packages = node_and_packages_or_skip(test.build / 'grpc-node-client')
    server = {'node': OurNode, 'go_control_plane': GoControlPlane}[test.variant](test)
    os.environ['NODE_PATH'] = str(packages)
    os.environ['GRPC_XDS_BOOTSTRAP_CONFIG'] = grpc_service.bootstrap(server.address)
    client = interop.Process([program, HERE / 'client.js', f'xds:///{grpc_service.NAME}'],
                             test.work / 'client.log')
    test.processes.append(client)
    port = int(client.wait_for_log('backends ').split()[1])
    server.set(port, True)
    client.wait_for_log(f'answer {port}')
    interop.check('calls are answered', True)
    server.set(port, False)
    interop.never('a call fails', lambda: client.process.poll() is not None, AWAY_S)
    server.set(port, True)
    interop.wait_for('the end of a call that has waited', lambda: client.process.poll() is not None)
    interop.check('the listener is there again, and a call has waited until its deadline',
                  STUCK in client.text())


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('node', 'go_control_plane')))
