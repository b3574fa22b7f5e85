#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl waits for a real Envoy: one that accepts, one that rejects a version and then accepts the
correction, one that holds its answer back while a cluster warms up, and one that is gone."""
import sys

import interop
import envoy_peer
from interop import check
from udpactl import GOOD, REFUSED, TIMED_OUT, Ctl, states, write, write_cluster


def body(test):
    binary = interop.envoy_or_skip()
    node = interop.Node(test, 'node')
    ctl = Ctl(test, node)
    ctl('apply', '-f', write_cluster(test, 'web.json', 'web'))
    envoy = envoy_peer.Envoy(test, binary, node.port)
    out = ctl('wait', '--at-least', '1', 'cluster', 'web')
    check('Envoy has it', '1 of 1 have version' in out)
    check('it is used', envoy.clusters() == {'web'})

    bad = write_cluster(test, 'bad.json', 'web', '0s')
    out = ctl('apply', '--wait', '-f', bad, status=REFUSED)
    check('Envoy has rejected it, and says why', 'envoy' in out and 'rejected' in out and (
        'ConnectTimeout' in out or 'connect_timeout' in out))
    out = ctl('wait', 'cluster', 'web', status=REFUSED)
    ctl('apply', '--wait', '-f', write_cluster(test, 'mended.json', 'web', '3s'))
    envoy.wait_for_timeout('web', '3s')

    cold = write(test, 'cold.json', envoy_peer.eds_cluster('cold'))
    ctl('apply', '-f', cold)
    if test.variant == 'sotw': # of a delta, Envoy accepts a cluster before that is warm
        said = ctl.said('--timeout', '2', '-f', cold, status=TIMED_OUT)
        check('it holds its answer back while the cluster warms',
              states(said) == {'envoy': 'unanswered'})
    waiting = ctl.start('wait', '-f', cold)
    ctl('apply', '--wait', '-f', write(test, 'endpoints.json', envoy_peer.assignment('cold')))
    ctl.finish(waiting, GOOD)
    envoy.wait_for_clusters(['web', 'cold'])

    ctl('delete', '--wait', 'cluster', 'web')
    envoy.wait_for_clusters(['cold'])
    check('one refusal in all', envoy.stat('cluster_manager.cds.update_rejected') == 1)

    envoy.kill()
    interop.wait_for('nobody is there', lambda: not states(
        ctl.said('--timeout', '5', 'cluster', 'cold')))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw')))
