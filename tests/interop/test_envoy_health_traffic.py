#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests follow what a checker finds: one real Envoy checks upstreams for a node (HDS), another takes
its endpoints from that node (EDS) and sends them requests. An upstream that turns ill gets none, one
that is well again gets some, and a checker that has gone makes nobody healthy."""
import collections
import http.client
import json
import sys

import interop
import envoy_checker
import envoy_peer
import envoy_resources
from envoy_checker import EXPIRY_S, HEALTHY, UNHEALTHY, Upstream, Verdicts, wait_for_status
from interop import Process, check, wait_for
from udpa_peer import Peer
from udpactl import Ctl

from envoy.config.endpoint.v3 import endpoint_pb2
from google.protobuf import json_format

SAID = 'local/backend/checker'
ROUND = 20  # requests; with two endpoints in turn, both are asked


def assignment(endpoints):
    """Of pairs (upstream, its health_status)."""
    found = []
    for upstream, status in endpoints:
        one = envoy_peer.endpoints(upstream.port)[0]
        one['lb_endpoints'][0]['health_status'] = status
        found.append(one)
    return json_format.ParseDict({'cluster_name': 'backend', 'endpoints': found},
                                 endpoint_pb2.ClusterLoadAssignment())


def cluster():
    """One healthy endpoint of three is no reason to ask all (panic)."""
    made = envoy_peer.eds_cluster('backend')
    made.common_lb_config.healthy_panic_threshold.value = 0
    return made


def listener():
    routes = [{'match': {'prefix': '/'}, 'route': {'cluster': 'backend'}}]
    return envoy_resources.listener('ingress', {
        'stat_prefix': 'ingress',
        'route_config': {'virtual_hosts': [{'name': 'all', 'domains': ['*'], 'routes': routes}]}})


class Client:
    """Sends requests through an Envoy that takes everything from the node."""

    def __init__(self, test, binary, node):
        config = envoy_peer.bootstrap('client', 'DELTA_GRPC', node.port)
        config['dynamic_resources']['lds_config'] = envoy_peer.ADS
        envoy = envoy_peer.Envoy(test, binary, node.port, 'client', config)
        self.port = wait_for('the listener', lambda: envoy.listener_ports().get('ingress'))

    def send(self, n):
        """How often each of (status, text) was answered."""
        answers = collections.Counter()
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=10)
        for _ in range(n):
            connection.request('GET', '/')
            answer = connection.getresponse()
            answers[answer.status, answer.read().decode()] += 1
        connection.close()
        return answers

    def wait_for_answers(self, names):
        """All answers are good, and of these; from then on it stays so."""
        wanted = {(200, name) for name in names}
        wait_for(f'requests are answered by {names}', lambda: set(self.send(ROUND)) == wanted)
        answers = self.send(10 * ROUND)
        check(f'and all by them: {dict(answers)}', set(answers) == wanted)


class Told:
    """Each list of endpoints that the node has told, from now on: {port: status}, of which there is
    none where nobody says one."""

    def __init__(self, test, ctl):
        self.process = Process([*ctl.command, 'watch', 'endpoints', 'local/backend', '-o', 'json'],
                               test.work / 'watch.log')
        test.processes.append(self.process)
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

    def wait_for_status(self, upstream, status):
        wait_for(f'port {upstream.port} is told to be {status}',
                 lambda: self()[-1][upstream.port] == status)


class Setting:
    """Of three upstreams one is well, one is what it is told to be, and one is well and drained."""

    def __init__(self, test):
        self.test, self.binary = test, interop.envoy_or_skip()
        config = test.work / 'node.yaml'
        config.write_text('health: {policy: MAJORITY}\n', encoding='utf-8')
        self.node = interop.Node(test, 'node', bootstrap=config)
        self.verdicts = Verdicts(test, self.node)
        self.good, self.fickle, self.drained = map(Upstream, ('good', 'fickle', 'drained'))

    def begin(self, peer):
        upstreams = (self.good, self.fickle, self.drained)
        statuses = ('UNKNOWN', 'UNKNOWN', 'DRAINING')
        peer.publish([
            ('backend', cluster()), ('backend', assignment(zip(upstreams, statuses))),
            ('ingress', listener()),
            ('default', envoy_checker.specifier('backend', [one.port for one in upstreams]))])
        self.told = Told(self.test, Ctl(self.test, self.node))
        self.client = Client(self.test, self.binary, self.node)
        self.client.wait_for_answers(['good', 'fickle'])

    def start_checker(self):
        return envoy_peer.Envoy(self.test, self.binary, self.node.port, 'checker',
                                envoy_checker.bootstrap(self.node.port))


def fall_and_rise(setting):
    """What is found travels up, and the requests follow."""
    for one in (setting.good, setting.fickle, setting.drained):
        wait_for_status(setting.verdicts, SAID, one.port, [HEALTHY])
    setting.client.wait_for_answers(['good', 'fickle'])
    setting.fickle.status = 503
    wait_for_status(setting.verdicts, SAID, setting.fickle.port, [UNHEALTHY])
    setting.told.wait_for_status(setting.fickle, 'UNHEALTHY')
    setting.client.wait_for_answers(['good'])
    setting.fickle.status = 200
    setting.client.wait_for_answers(['good', 'fickle'])


def lose_checker(setting, checker):
    """It dies while one is ill. What it said stands until its ttl is over; then nobody says
    anything, and what is configured counts."""
    setting.fickle.status = 503
    setting.told.wait_for_status(setting.fickle, 'UNHEALTHY')
    setting.client.wait_for_answers(['good'])
    n_told = len(setting.told())
    checker.kill()
    setting.client.wait_for_answers(['good'])
    check('its last word stands',
          setting.verdicts()[SAID][setting.fickle.port].health_status == UNHEALTHY)
    wait_for('it says nothing any more', lambda: not setting.verdicts(), EXPIRY_S)
    setting.told.wait_for_status(setting.fickle, None)
    said = {one[setting.fickle.port] for one in setting.told()[n_told - 1:]}
    check(f'nobody has made it healthy by that: {said}', said == {'UNHEALTHY', None})
    drained = {one[setting.drained.port] for one in setting.told()}
    check(f'what is drained was so all the time: {drained}', drained == {'DRAINING'})
    setting.fickle.status = 200
    setting.client.wait_for_answers(['good', 'fickle'])


def body(test):
    setting = Setting(test)
    with Peer(test.build, setting.node.address) as peer:
        setting.begin(peer)
        checker = setting.start_checker()
        fall_and_rise(setting)
        lose_checker(setting, checker)
        setting.fickle.status = 503
        setting.start_checker()
        setting.told.wait_for_status(setting.fickle, 'UNHEALTHY')
        setting.client.wait_for_answers(['good'])


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
