#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dynamic parameters (TP2): one name, a variant for each kind of client, written in a YAML file, two
nodes away from the clients; and in both protocols the right one at any time. And redirects (TP1): a
locator in the place of a resource comes as that, under its name and type.

No client that is shipped speaks it, so these are made by hand, of the public descriptors.
"""
import json
import sys

import interop
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import json_format
from udpactl import Ctl
from xds.core.v3 import resource_locator_pb2
from xds_peer import ENDPOINTS, Client

NAME = 'shop'
ASSIGNMENT = 'envoy.config.endpoint.v3.ClusterLoadAssignment'


def has(key):
    return {'constraint': {'key': key, 'exists': {}}}


def is_(key, value):
    return {'constraint': {'key': key, 'value': value}}


def both(*constraints):
    return {'and_constraints': {'constraints': list(constraints)}}


def document(name, constraints, zone):
    """A variant as a user writes it; the zone says which one it is."""
    found = {'name': name, 'aliases': [NAME], 'constraints': constraints,
             'resource': {'@type': ENDPOINTS, 'cluster_name': NAME,
                          'endpoints': [{'locality': {'zone': zone}}]}}
    return found


OLD = both(is_('env', 'prod'), {'not_constraints': has('version')})
V1 = both(is_('env', 'prod'), is_('version', 'v1'))


def apply(test, ctl, *documents):
    """YAML is more than JSON."""
    path = test.work / 'variants.yaml'
    path.write_text('\n---\n'.join(json.dumps(one) for one in documents), encoding='utf-8')
    ctl('apply', '-f', path)


def parsed(constraints):
    return json_format.ParseDict(constraints, discovery_pb2.DynamicParameterConstraints())


def zone_of(any_message):
    assignment = endpoint_pb2.ClusterLoadAssignment.FromString(any_message.value)
    interop.check('the payload has the name', assignment.cluster_name == NAME)
    return assignment.endpoints[0].locality.zone


def locators(*all_parameters):
    return [discovery_pb2.ResourceLocator(name=NAME, dynamic_parameters=parameters)
            for parameters in all_parameters]


class Delta:
    """What a client holds: zone by constraints, as TP2 has caches do it."""

    def __init__(self, address, *all_parameters):
        self.client = Client(address)
        self.held = {}
        self.plain = None
        self.client.send(ENDPOINTS, resource_locators_subscribe=locators(*all_parameters))

    def key(self, resource_name):
        interop.check('variants have the name that was asked for', resource_name.name == NAME)
        return resource_name.dynamic_parameter_constraints.SerializeToString(deterministic=True)

    def step(self):
        """Applies one response, as a whole; what it removed and added."""
        response = self.client.receive()
        removed = [self.key(name) for name in response.removed_resource_names]
        added = []
        for resource in response.resources:
            interop.check('a resource has one kind of name',
                          bool(resource.name) != resource.HasField('resource_name'))
            added.append((self.key(resource.resource_name) if not resource.name else b'',
                          zone_of(resource.resource)))
        for key in removed:
            self.held.pop(key, None)
        for name in response.removed_resources:
            interop.check('removed by name', name == NAME)
            self.held.pop(b'', None)
        self.held.update(added)
        self.client.answer(response)
        return response

    def wait_for(self, what, wanted):
        """Until it holds these zones, by their constraints; never two for one client meanwhile."""
        wanted = {parsed(constraints).SerializeToString(deterministic=True): zone
                  for constraints, zone in wanted}
        while self.held != wanted:
            self.step()
        interop.check(what, True)


def check_delta(test, ctl, address):
    apply(test, ctl, document('shop.prod', is_('env', 'prod'), 'prod'),
          document('shop.test', is_('env', 'test'), 'test'))
    client = Delta(address, {'env': 'prod', 'version': 'v1', 'unknown': 'x'}, {'env': 'test'})
    client.wait_for('each locator has its variant',
                    [(is_('env', 'prod'), 'prod'), (is_('env', 'test'), 'test')])
    apply(test, ctl, document('shop.prod', is_('env', 'prod'), 'prod-2'))
    client.wait_for('a change of one', [(is_('env', 'prod'), 'prod-2'),
                                        (is_('env', 'test'), 'test')])
    apply(test, ctl, document('shop.v1', V1, 'v1'))
    response = client.step()
    interop.check('a better one comes with the end of what it replaces',
                  len(response.resources) == 1 and len(response.removed_resource_names) == 1)
    client.wait_for('and is held', [(V1, 'v1'), (is_('env', 'test'), 'test')])
    ctl('delete', 'endpoints', 'shop.v1')
    client.wait_for('when it is gone, the other one is there again',
                    [(is_('env', 'prod'), 'prod-2'), (is_('env', 'test'), 'test')])
    client.client.send(ENDPOINTS, resource_locators_unsubscribe=locators({'env': 'test'}))
    ctl('delete', 'endpoints', 'shop.test')
    ctl('delete', 'endpoints', 'shop.prod')
    while client.held.keys() - {parsed(is_('env', 'test')).SerializeToString(deterministic=True)}:
        client.step()
    interop.check('what is gone is told by its constraints', True)
    client.client.__exit__()


def check_plain(test, ctl, address):
    """Who knows nothing of variants reads a name, and gets what is for nobody in particular."""
    apply(test, ctl, document('shop.old', OLD, 'old'), document('shop.v1', V1, 'v1'),
          document('shop.none', {'not_constraints': has('env')}, 'none'))
    with Client(address) as client:
        client.send(ENDPOINTS, [NAME])
        resource = client.receive().resources[0]
        interop.check('a plain name', resource.name == NAME and
                      not resource.HasField('resource_name') and
                      zone_of(resource.resource) == 'none')


def check_sotw(test, ctl, address):
    with Client(address, is_delta=False) as client:
        client.send(ENDPOINTS, resource_locators=locators(
            {'env': 'prod'}, {'env': 'prod', 'version': 'v1'}))
        found = {}
        while len(found) < 2:
            response = client.receive()
            interop.check('the type is that of what is wrapped', response.type_url == ENDPOINTS)
            for wrapped in response.resources:
                resource = discovery_pb2.Resource()
                interop.check('variants are wrapped', wrapped.Unpack(resource))
                constraints = resource.resource_name.dynamic_parameter_constraints
                found[constraints.SerializeToString(deterministic=True)] = zone_of(
                    resource.resource)
        interop.check('two variants of one name', found == {
            parsed(OLD).SerializeToString(deterministic=True): 'old',
            parsed(V1).SerializeToString(deterministic=True): 'v1'})


def check_shown(ctl):
    """What 'get' prints can be applied again."""
    shown = json.loads(ctl('get', 'endpoints', 'shop.v1', '-o', 'json'))[0]
    interop.check('udpactl get shows the constraints', parsed(shown['constraints']) == parsed(V1))


def check_redirect(test, ctl, address):
    path = test.work / 'redirect.yaml'
    path.write_text(json.dumps({
        'name': 'moved', 'redirected_type': ENDPOINTS,
        'resource': {'@type': 'type.googleapis.com/xds.core.v3.ResourceLocator', 'id': 'shop/new',
                     'authority': 'org.other', 'resource_type': ASSIGNMENT}}), encoding='utf-8')
    ctl('apply', '-f', path)
    with Client(address) as client:
        client.send(ENDPOINTS, ['moved'])
        resource = client.receive().resources[0]
        locator = resource_locator_pb2.ResourceLocator()
        interop.check('a redirect has the name, and a locator',
                      resource.name == 'moved' and resource.resource.Unpack(locator) and
                      (locator.authority, locator.id) == ('org.other', 'shop/new'))
        shown = json.loads(ctl('get', 'endpoints', 'moved', '-o', 'json'))[0]
        interop.check('udpactl get shows in whose place it stands',
                      shown['redirectedType'] == ENDPOINTS and
                      shown['resource']['id'] == 'shop/new')
        ctl('delete', 'endpoints', 'moved')
        interop.check('it goes as what it stands for',
                      list(client.receive().removed_resources) == ['moved'])


def edge_bootstrap(test, core, mode):
    path = test.work / f'{mode}.json'
    path.write_text(json.dumps({
        'static_resources': {'config_sources': [{'name': 'core', 'udpa': {'address': core.address}}]},
        'providers': [{'types': [ASSIGNMENT], 'config_descriptors': [
            {'resource_name': 'core', 'namespace': 'local', 'mode': mode}]}]}), encoding='utf-8')
    return path


def check_resume(test, ctl, start):
    """What has gone while a node was away is served no more when it is back."""
    apply(test, ctl, document('shop.prod', is_('env', 'prod'), 'prod'), document('shop.v1', V1, 'v1'))
    edge = start()
    parameters = {'env': 'prod', 'version': 'v1'}
    client = Delta(edge.address, parameters)
    client.wait_for('before', [(V1, 'v1')])
    client.client.__exit__()
    edge.stop()
    ctl('delete', 'endpoints', 'shop.v1')
    client = Delta(start().address, parameters)
    client.wait_for('what is left', [(is_('env', 'prod'), 'prod')])
    client.client.__exit__()
    ctl('delete', 'endpoints', 'shop.prod')


def body(test):
    core_port, = interop.free_ports(1)
    core = interop.Node(test, 'core', core_port)
    ctl = Ctl(test, core)
    mirror = interop.Node(test, 'mirror', bootstrap=edge_bootstrap(test, core, 'MIRROR'))
    edge = interop.Node(test, 'edge', bootstrap=edge_bootstrap(test, core, 'ON_DEMAND'))
    for node in (core, mirror, edge):
        print(f'--- through {node.name}', flush=True)
        check_delta(test, ctl, node.address)
        check_plain(test, ctl, node.address)
        check_sotw(test, ctl, node.address)
        check_shown(ctl)
        check_redirect(test, ctl, node.address)
        for name in ('shop.old', 'shop.v1', 'shop.none'):
            ctl('delete', 'endpoints', name)
    for mode in ('MIRROR', 'ON_DEMAND'):
        print(f'--- back again: {mode}', flush=True)
        check_resume(test, ctl, lambda mode=mode: interop.Node(
            test, f'back-{mode}', bootstrap=edge_bootstrap(test, core, mode)))
    print('--- after a restart', flush=True)
    check_plain(test, ctl, core.address)
    core.stop()
    core = interop.Node(test, 'core', core_port)
    for node in (core, mirror, edge):
        check_sotw(test, ctl, node.address)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
