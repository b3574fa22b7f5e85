#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What real Envoys are to check (HDS) is computed of the clusters and their endpoints: each checks its
zone, or with a redundancy of two both check all; who is lost is replaced by the other one, and an
endpoint that is ill is never well in between."""
import json
import subprocess
import sys

import interop
import envoy_checker
import envoy_peer
from envoy_checker import (HEALTHY, SPECIFIER, TIMEOUT, UNHEALTHY, Upstream, Verdicts,
                           wait_for_status)
from interop import Process, check, wait_for
from udpa_peer import Peer
from udpactl import Ctl

from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2
from google.protobuf import json_format

ZONES = ('a', 'b')
HANDOVER_S = 25  # three intervals and 10 s, and what a busy machine adds


def cluster(is_checked=True, tls=False):
    made = envoy_peer.eds_cluster('shop', service='backend')
    if tls:
        made.transport_socket.name = 'tls'
        made.transport_socket.typed_config.Pack(tls_pb2.UpstreamTlsContext())
    if is_checked:
        json_format.ParseDict(envoy_checker.HTTP, made.health_checks.add())
    return made


def assignment(upstreams):
    """Of {zone: [upstream]}."""
    localities = []
    for zone, members in upstreams.items():
        one = {'locality': {'region': 'here', 'zone': zone}, 'lb_endpoints': []}
        for upstream in members:
            one['lb_endpoints'] += envoy_peer.endpoints(upstream.port)[0]['lb_endpoints']
        localities.append(one)
    return json_format.ParseDict({'cluster_name': 'backend', 'endpoints': localities},
                                 endpoint_pb2.ClusterLoadAssignment())


class Setting:
    """A node that computes, in variant 'far' another one that serves the checkers, and two upstreams in
    each zone."""

    def __init__(self, test):
        self.test, self.binary = test, interop.envoy_or_skip()
        self.redundancy = 2 if test.variant == 'two' else 1
        self.node = self.edge = self.start_node('node', {
            'health': {'policy': 'MAJORITY', 'checks': [
                {'namespace': 'local', 'redundancy': self.redundancy, 'interval': '0.3s'}]},
            **({'workers': 2} if test.variant == 'two' else {})})
        if test.variant == 'far':
            self.edge = self.start_node('edge', {
                'static_resources': {'config_sources': [
                    {'name': 'node', 'udpa': {'address': self.node.address}}]},
                'providers': [{'types': [SPECIFIER], 'config_descriptors': [
                    {'resource_name': 'node', 'namespace': 'local'}]}]})
        self.verdicts = Verdicts(test, self.node)
        self.upstreams = {zone: [Upstream(zone + '1'), Upstream(zone + '2')] for zone in ZONES}
        self.checkers = {}
        self.ctl = Ctl(test, self.node)

    def start_node(self, name, config):
        path = self.test.work / f'{name}.yaml'
        path.write_text(json.dumps(config), encoding='utf-8')
        return interop.Node(self.test, name, bootstrap=path)

    def start_checker(self, zone):
        name = f'checker-{zone}'
        self.checkers[zone] = envoy_peer.Envoy(
            self.test, self.binary, self.edge.port, name,
            envoy_checker.bootstrap(self.edge.port, name, zone))

    def ports(self, *zones):
        return {upstream.port for zone in zones for upstream in self.upstreams[zone]}

    def shares(self):
        """{checker: ports}, as the node that serves them has them."""
        with Peer(self.test.build, self.edge.address, 'onlooker') as peer:
            found = peer.collect(SPECIFIER, 'local')
        return {name.split('/')[-1]: {
            endpoint.address.socket_address.port_value
            for asked in specifier.cluster_health_checks
            for locality in asked.locality_endpoints for endpoint in locality.endpoints}
            for name, specifier in found.items()}

    def wait_for_shares(self, **shares):
        wanted = {f'checker-{zone}': ports for zone, ports in shares.items()}
        wait_for(f'shares {wanted}', lambda: self.shares() == wanted, HANDOVER_S)

    def wait_for_opinions(self, **shares):
        """Each says something of its share, and of nothing else."""
        wanted = {f'local/backend/checker-{zone}': ports for zone, ports in shares.items()}

        def look():
            return {name: set(said) for name, said in self.verdicts().items()} == wanted
        wait_for(f'opinions {wanted}', look, HANDOVER_S)


class Told:
    """Every list of endpoints that the node has told: {port: status}."""

    def __init__(self, setting):
        self.process = Process(
            [*setting.ctl.command, 'watch', 'endpoints', 'local/backend', '-o', 'json'],
            setting.test.work / 'watch.log')
        setting.test.processes.append(self.process)
        wait_for('the first list of endpoints', self)

    def __call__(self):
        lists = []
        for line in self.process.text().splitlines(keepends=True):
            if not line.endswith('\n'):
                break
            told = json.loads(line)['resource']['resource']
            endpoints = (one for locality in told['endpoints'] for one in locality['lbEndpoints'])
            lists.append({
                one['endpoint']['address']['socketAddress']['portValue']: one.get('healthStatus')
                for one in endpoints})
        return lists

    def wait_for_status(self, port, status):
        wait_for(f'port {port} is told to be {status}', lambda: self()[-1].get(port) == status)


def come(setting):
    """The first checker has it all, the second one takes over what is its own."""
    setting.start_checker('a')
    everything = setting.ports(*ZONES)
    setting.wait_for_shares(a=everything)
    setting.wait_for_opinions(a=everything)
    setting.start_checker('b')
    if setting.redundancy == 2:
        setting.wait_for_shares(a=everything, b=everything)
        setting.wait_for_opinions(a=everything, b=everything)
        return
    wait_for('the second one has its share',
             lambda: setting.shares().get('checker-b') == setting.ports('b'))
    check('which the first one has still', setting.shares()['checker-a'] == everything)
    setting.wait_for_shares(a=setting.ports('a'), b=setting.ports('b'))
    setting.wait_for_opinions(a=setting.ports('a'), b=setting.ports('b'))


def fall_ill_and_be_left(setting, told):
    """One of zone b falls ill, then who checks that zone is killed: the other one takes over."""
    ill, well = setting.upstreams['b']
    for port in setting.ports(*ZONES):
        told.wait_for_status(port, 'HEALTHY')
    ill.status = 503
    told.wait_for_status(ill.port, 'UNHEALTHY')
    n_told = len(told())
    setting.checkers['b'].kill()
    everything = setting.ports(*ZONES)
    setting.wait_for_shares(a=everything)
    setting.wait_for_opinions(a=everything)
    since = told()[n_told - 1:]
    check('who is ill was so all the time', {one[ill.port] for one in since} == {'UNHEALTHY'})
    told.wait_for_status(well.port, 'HEALTHY')
    ill.status = 200
    told.wait_for_status(ill.port, 'HEALTHY')


def change_what_there_is(setting, peer):
    """Endpoints, checks, and who has a specifier of its own."""
    setting.upstreams['b'].pop()
    peer.publish([('backend', assignment(setting.upstreams))])
    setting.wait_for_shares(a=setting.ports(*ZONES))
    peer.publish([('shop', cluster(is_checked=False))])
    setting.wait_for_shares(a=set())
    wait_for('nobody says anything', lambda: not setting.verdicts())
    peer.publish([('shop', cluster())])
    setting.wait_for_opinions(a=setting.ports(*ZONES))
    port = setting.upstreams['a'][0].port
    peer.publish([('checker-a', envoy_checker.specifier('own', [port]))])
    wait_for('who has a specifier of its own is left alone', lambda: set(
        setting.verdicts()) == {'local/own/checker-a'})
    setting.wait_for_shares(a={port}) # of its own, and there is no other


def speak_tls(test):
    """The transport socket of a cluster is that of its checks; without it they fail."""
    subprocess.run([interop.SOURCE / 'certs' / 'make-development-ca', test.work / 'ca', 'upstream'],
                   check=True, stdout=subprocess.DEVNULL)
    setting = Setting(test)
    upstream = Upstream('secret', test.work / 'ca' / 'upstream.crt')
    setting.upstreams = {'a': [upstream]}
    with Peer(test.build, setting.node.address) as peer:
        peer.publish([('shop', cluster()), ('backend', assignment(setting.upstreams))])
        setting.start_checker('a')
        name = 'local/backend/checker-a'
        wait_for_status(setting.verdicts, name, upstream.port, [UNHEALTHY, TIMEOUT])
        check('it is not asked without TLS', upstream.n_checks == 0)
        peer.publish([('shop', cluster(tls=True))])
        wait_for_status(setting.verdicts, name, upstream.port, [HEALTHY])
        check('it is asked with TLS', upstream.n_checks > 0)


def divide(test):
    setting = Setting(test)
    with Peer(test.build, setting.node.address) as peer:
        peer.publish([('shop', cluster()), ('backend', assignment(setting.upstreams))])
        told = Told(setting)
        come(setting)
        fall_ill_and_be_left(setting, told)
        change_what_there_is(setting, peer)


def body(test):
    (speak_tls if test.variant == 'tls' else divide)(test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('one', 'two', 'far', 'tls')))
