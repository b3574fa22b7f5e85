#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients report goes to the control plane that has delivered what it speaks of: two nodes, of
which one stands in for the other, and somebody at both who wants to know. Variants:

endpoint  an endpoint of libudpa has both as sources (docs/examples/report.c): its reports go to the
          first, and when that is killed to the second; and back, and the second is told so.
edge      a node has them, and the same endpoint below it: the same; but load is what the second one
          stands by for, so it knows that already.
"""
import json
import signal
import sys

import interop
from udpactl import descriptors

VALUE = 'google.protobuf.StringValue'
CLUSTER = 'envoy.config.cluster.v3.Cluster'
STATE = 'udpa.status.v1.ResourceState'
LOAD = 'udpa.load.v1.ClientLoad'
THING = 'com.acme/greeting'
REPORT = f'{THING}/report-example'


class Watch(interop.Process):
    """udpactl watch, as a file that grows."""

    def __init__(self, test, node, kind, label):
        super().__init__([test.build / 'udpactl', '--server', node.address, '--descriptors',
                          descriptors(test), 'watch', kind, '-o', 'json'],
                         test.work / f'{label}.log')
        test.processes.append(self)

    def n(self, what):
        return sum(json.loads(line)['event'] == what
                   for line in self.text().splitlines() if REPORT in line)

    def is_there(self):
        return self.n('added') > self.n('removed')


def write(test, name, config):
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps({'node': {'id': name},
                                'timing': {'interest_linger': '0.2s', 'backoff_max': '0.3s',
                                           'fail_back_delay': '0.5s'}, **config}),
                    encoding='utf-8')
    return path


def start_source(test, name, port=0):
    """One that has the greeting."""
    directory = test.work / f'{name}-resources'
    directory.mkdir(exist_ok=True)
    (directory / 'greeting.json').write_text(json.dumps({
        'name': THING, 'resource': {'@type': f'type.googleapis.com/{VALUE}',
                                    'value': f'hello from {name}'}}), encoding='utf-8')
    return interop.Node(test, name, port, write(test, name, {
        'static_resources': {'directories': [{'path': str(directory)}]}}))


def start_edge(test, first, second):
    return interop.Node(test, 'edge', 0, write(test, 'edge', {
        'static_resources': {'config_sources': [
            {'name': 'first', 'udpa': {'address': first.address}},
            {'name': 'second', 'udpa': {'address': second.address}, 'standby': [LOAD]}]},
        'providers': [{'types': [VALUE, CLUSTER],
                       'config_descriptors': [{'resource_name': 'first'},
                                              {'resource_name': 'second'}]}]}))


def start_endpoint(test, *addresses):
    process = interop.Process([test.build / 'report', addresses[0], THING, *addresses[1:]],
                              test.work / 'endpoint.log')
    test.processes.append(process)


def body(test):
    first, second = start_source(test, 'first'), start_source(test, 'second')
    is_edge = test.variant == 'edge'
    watches = [[Watch(test, node, kind, f'{node.name}-{kind}') for kind in (STATE, LOAD)]
               for node in (first, second)]
    if is_edge:
        start_endpoint(test, start_edge(test, first, second).address)
    else:
        start_endpoint(test, first.address, second.address)
    for watch in watches[0]:
        interop.wait_for('a report at the first', lambda: watch.n('added'))
    interop.check('the first one is told the state and the load', True)
    if is_edge:
        interop.wait_for('the load at the second', lambda: watches[1][1].n('added'))
        interop.check('the second one stands by for the load', True)
    # Until the first one had answered, the second one may have stood in for it.
    only_first = watches[1][:1] if is_edge else watches[1]
    interop.wait_for('nothing at the second', lambda: not any(watch.is_there() for watch in only_first))
    interop.never('the second one is told the state',
                  lambda: any(watch.is_there() for watch in only_first), 2)

    first.process.send_signal(signal.SIGKILL)
    first.process.wait(interop.STOP_PATIENCE_S)
    for watch in watches[1]:
        interop.wait_for('a report at the second', watch.is_there)
    interop.check('the second one is told, when the first is killed', True)

    again = start_source(test, 'first', first.port)
    watch = Watch(test, again, STATE, 'again')
    interop.wait_for('the state at the first', lambda: watch.n('added'))
    interop.wait_for('its end at the second', lambda: not watches[1][0].is_there())
    interop.check('when it comes back it is told, and the second one that it is gone', True)
    if is_edge:
        interop.check('who stands by keeps the load', not watches[1][1].n('removed'))


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('endpoint', 'edge')))
