#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Load through restarts, with a real Envoy under traffic: its node is killed, and what is sent until
it is there again counts, to the request, with what came before and after.
"""
import sys

import interop
import envoy_peer

from interop import check, wait_for
from test_envoy_load import (SUM, Backend, Client, cluster, envoy_config, figures, loads, node_config,
                             reporting, wait_for_figures)
from udpa_peer import Peer
from udpactl import Ctl

NAME = 'local/backend/node'


def watched_node(test, port=0):
    node = interop.Node(test, 'node', port, bootstrap=node_config(test))
    ctl = Ctl(test, node)
    return node, ctl, ctl.start('watch', SUM, '-o', 'json')


def issued(ctl):
    seen = figures(loads(ctl, SUM).get(NAME))
    return seen[2] if seen else None


def body(test):
    binary = interop.envoy_or_skip()
    backend = Backend()
    node, ctl, watch = watched_node(test)
    with Peer(test.build, node.address) as peer:
        peer.publish([(name, cluster(name, backend.port)) for name in ('backend', 'other')])
    envoy = envoy_peer.Envoy(test, binary, node.port, config=envoy_config(node))
    envoy.wait_for_clusters(['backend', 'other'])
    client = Client(envoy)
    wait_for('the LRS stream of Envoy', lambda: reporting(test, node))
    wait_for('Envoy to be asked', lambda: envoy.stat('load_reporter.requests') == 1)
    client.send('/', 50)
    wait_for_figures(ctl, SUM, NAME, (50, 0, 50, 0))

    node.process.kill()
    node.process.wait()
    watch.kill()
    client.send('/', 70)
    node, ctl, watch = watched_node(test, node.port)
    wait_for('the LRS stream of Envoy', lambda: reporting(test, node))
    client.send('/', 30)
    seen = []
    wait_for('all that was sent', lambda: seen.append(issued(ctl)) or seen[-1] == 150)
    check(f'never more: {seen}', all(n is None or n <= 150 for n in seen))
    watch.terminate()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
