#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A cluster that Envoy refuses: the node says so in its status, with Envoy's reason, does not send
it again until it has changed, and sends the repaired one at once."""
import sys

import interop
import envoy_peer
from udpa_peer import Peer, sessions

QUIET_S = 3


def refusals(test, node):
    """What the node says of the CDS subscription of the Envoy."""
    for session in sessions(test.build, node.address):
        for subscription in session.subscriptions:
            if session.peer_node_id == 'envoy' and \
                    subscription.type_url.endswith(envoy_peer.TYPE_CLUSTER):
                return subscription
    return None


def body(test):
    binary = interop.envoy_or_skip()
    node = interop.Node(test, 'node')
    with Peer(test.build, node.address) as peer:
        peer.publish([('good', envoy_peer.static_cluster('good'))])
        envoy = envoy_peer.Envoy(test, binary, node.port)
        envoy.wait_for_clusters(['good'])

        def rejected():
            return envoy.stat('cluster_manager.cds.update_rejected') or 0

        peer.publish([('bad', envoy_peer.static_cluster('bad', '0s'))])
        interop.wait_for('the refusal in the statistics of Envoy', rejected)
        attempts = envoy.stat('cluster_manager.cds.update_attempt')
        interop.never('a second refusal', lambda: rejected() > 1, QUIET_S)
        more = envoy.stat('cluster_manager.cds.update_attempt') - attempts
        interop.check(f'no loop: {more} more updates in that time', more <= 1)

        said = interop.wait_for('the refusal in the status of the node',
                                lambda: (found := refusals(test, node)) and found.last_error
                                and found)
        interop.check(f'the status has the reason of Envoy: …{said.last_error[-200:]}',
                      'ConnectTimeout' in said.last_error or 'connect_timeout' in said.last_error)
        interop.check(f'{said.n_refused} refused', said.n_refused >= 1)
        interop.check('the refused cluster is named',
                      'local/bad' in [resource.name for resource in said.refused_resources])

        peer.publish([('bad', envoy_peer.static_cluster('bad', '3s'))])
        took = envoy.wait_for_timeout('bad', '3s')
        interop.check(f'the repaired cluster is used after {took:.2f} s', took < 2)
        interop.check('it was refused once in all', rejected() == 1)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw')))
