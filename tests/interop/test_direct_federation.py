#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The migration of a mesh to another control plane, service by service, by an endpoint that has both
as sources: go-control-plane, which knows nothing of it, and a node. The endpoint is
docs/examples/federate.c. No service is ever absent."""
import json
import re
import sys

import interop
from go_control_plane import GoControlPlane, program_or_skip

N = 3
TYPE = 'envoy.config.cluster.v3.Cluster'


def name(i):
    return f'cluster-{i:06}'


def give(directory, i, alt_stat_name):
    """Has the new control plane serve it."""
    path = directory / f'{name(i)}.json'
    (directory / 'new').write_text(json.dumps({
        'name': f'com.acme/{name(i)}',
        'resource': {'@type': f'type.googleapis.com/{TYPE}', 'name': name(i),
                     'alt_stat_name': alt_stat_name, 'connect_timeout': '1s'}}), encoding='utf-8')
    (directory / 'new').rename(path)
    return path


def start_new(test, directory):
    directory.mkdir(exist_ok=True)
    path = test.work / 'uaas.yaml'
    path.write_text(json.dumps({
        'node': {'authority': 'uaas'},
        'static_resources': {'directories': [{'path': str(directory)}]}}), encoding='utf-8')
    return interop.Node(test, 'uaas', 0, path)


class Endpoint(interop.Process):
    def __init__(self, test, label, new, old_port):
        super().__init__([test.build / 'federate', TYPE, new.address,
                          'com.acme', f'xds:127.0.0.1:{old_port}', 'com.acme'],
                         test.work / f'{label}.log')
        test.processes.append(self)

    def owners(self):
        """Who speaks last by what is there."""
        there = {}
        for what, resource, authority in re.findall(r'(changed|removed): com.acme/(\S+) by (\S+)',
                                                    self.text()):
            there[resource] = authority
            if what == 'removed':
                del there[resource]
        return there

    def wait_for_owners(self, wanted):
        interop.wait_for(f'{wanted}', lambda: self.owners() == wanted)


def body(test):
    program = program_or_skip(test)
    old_port, = interop.free_ports(1)
    old = GoControlPlane(test, program, 'linear', old_port, N)
    directory = test.work / 'uaas-resources'
    new = start_new(test, directory)
    endpoint = Endpoint(test, 'endpoint', new, old_port)
    endpoint.wait_for_log('complete: ')
    endpoint.wait_for_owners({name(i): 'legacy' for i in range(N)})
    interop.check('the endpoint has all from go-control-plane', True)

    path = give(directory, 9, 'new')
    endpoint.wait_for_owners({**{name(i): 'legacy' for i in range(N)}, name(9): 'uaas'})
    interop.check('and what the new one has beside it', True)
    for i in range(N):
        give(directory, i, 'moved')
        endpoint.wait_for_log(f'changed: com.acme/{name(i)} by uaas')
        old.change(0, i, -1)
    interop.check('service by service moved', endpoint.owners() == {
        **{name(i): 'uaas' for i in range(N)}, name(9): 'uaas'})
    later = Endpoint(test, 'later', new, old_port)
    later.wait_for_log('complete: ')
    interop.check('an endpoint that comes now has all from the new one, and no ghost of the old',
                  set(later.owners().values()) == {'uaas'} and len(later.owners()) == N + 1)
    old.end()
    path.unlink()
    endpoint.wait_for_owners({name(i): 'uaas' for i in range(N)})
    removed = re.findall(r'removed: (\S+)', endpoint.text())
    interop.check('the only thing that was ever gone is what was deleted',
                  removed == [f'com.acme/{name(9)}'])
    new.stop()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
