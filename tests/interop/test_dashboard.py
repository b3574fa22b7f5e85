#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules and the dashboard of monitoring/ in a real Prometheus that scrapes a real udpad.

No alert fires of a healthy node; after a NACK, and when the node is down, those fire that are for that. Each query of
the dashboard is understood, and returns series, but for those that such a federation does not have."""
import json
import os
import re
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

import interop
import grpc
import udpa_peer
import xds_peer
from interop import Failure, check, wait_for
from test_metrics import PATIENCE_S, Page, Prometheus, cluster, tool_or_skip

sys.path.insert(0, str(interop.SOURCE / 'tests' / 'monitoring'))

import rules  # noqa: E402

# Of Grafana, in an expression.
VARIABLES = {'$__rate_interval': '1m', '$job': 'udpad', '$instance': '.*'}
# How busy this machine is decides about these, and they wait ten minutes.
OF_THE_MACHINE = {'UdpaStreamThreadSlow', 'UdpaLoopSlow', 'UdpaStoreSlow'}
# What a node has only as a replica, and when a source has lost its store.
ABSENT = r'udpa_replica_|udpa_client_streams_share|udpa_source_held'
# What gRPC's C library does not count, as a listener.
if os.environ.get('UDPA_TEST_GRPC_CORE'):
    ABSENT += '|udpa_handshakes|udpa_connections_refused'


def listed():
    text = (interop.SOURCE / 'src' / 'metrics' / 'list.h').read_text(encoding='utf-8')
    return set(re.findall(r'"(udpa_\w+|process_\w+)"', text))


class World:
    """core and its standby, edge downstream of them, and a client."""

    def __init__(self, test):
        self.test = test
        self.files = test.issue('node', 'client', 'prometheus', 'stranger')
        self.core, self.standby = interop.Node(test, 'core'), interop.Node(test, 'standby')
        for node in (self.core, self.standby):
            self.publish(node, 'one')
        self.edge = self.start_edge()
        self.address = self.edge.address.replace('127.0.0.1', 'localhost')
        self.page = Page(int(re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*(?:REST|HTTP)', self.edge.text())[1]),
                         self.context('prometheus'))

    def context(self, name):
        context = ssl.create_default_context(cafile=self.files / 'ca.crt')
        context.load_cert_chain(self.files / f'{name}.crt', self.files / f'{name}.key')
        return context

    def credentials(self, name):
        return grpc.ssl_channel_credentials(*((self.files / part).read_bytes()
                                              for part in ('ca.crt', f'{name}.key', f'{name}.crt')))

    def publish(self, node, contents):
        with udpa_peer.Peer(self.test.build, node.address, namespace='com.acme') as publisher:
            publisher.publish([('one', cluster(contents))])

    def start_edge(self):
        tls = {'certificate_file': f'{self.files}/node.crt', 'private_key_file': f'{self.files}/node.key',
               'client_ca_file': f'{self.files}/ca.crt'}
        names = ('core', 'standby')
        file = self.test.work / 'edge.json'
        file.write_text(json.dumps({
            'workers': 2, 'shim': {'namespaces': ['com.acme']}, 'timing': {'fail_back_delay': '0.1s'},
            'sockets': [{'address': '127.0.0.1:0', 'tls': tls}],
            'http': {'sockets': [{'address': '127.0.0.1:0', 'tls': tls}]},
            'acl': {'rules': [{'name': 'scrape', 'identities': ['prometheus'], 'actions': ['ADMIN']},
                              {'name': 'clients', 'identities': ['client'], 'actions': ['SUBSCRIBE', 'PUBLISH']},
                              {'name': 'sources', 'identities': list(names), 'actions': ['PUBLISH'],
                               'on_behalf_of': ['*']}]},
            'static_resources': {'config_sources': [
                {'name': name, 'udpa': {'address': getattr(self, name).address}} for name in names]},
            'providers': [{'types': [xds_peer.CLUSTER], 'config_descriptors': [
                {'resource_name': name, 'namespace': 'com.acme', 'continuation': 'STOP_ON_SUCCESS'}
                for name in names]}],
        }), encoding='utf-8')
        return interop.Node(self.test, 'edge', port=None, bootstrap=file)

    def client(self, name='client'):
        return xds_peer.Client(self.address, credentials=self.credentials(name), timeout_s=PATIENCE_S)

    def publish_here(self, name, namespace):
        """Whether the edge has rejected it."""
        def fill(delta):
            delta.resources.add(name=f'{namespace}/x').resource.type_url = xds_peer.ENDPOINTS
        with udpa_peer.Peer(self.test.build, self.address, node_id=name, namespace=namespace,
                            credentials=self.credentials(name)) as peer:
            return peer.publish_delta(fill)


# ---- rules ----

def alerts(prometheus, state=None):
    found = prometheus.ask('alerts')
    return {alert['labels']['alertname']: alert for alert in found['alerts'] if state in (None, alert['state'])}


def check_rules(prometheus):
    """They are read as tests read them, and each was evaluated without an error."""
    def evaluated():
        groups = (prometheus.ask('rules') or {'groups': []})['groups']
        found = [rule for group in groups for rule in group['rules']]
        return found if found and all(rule['health'] != 'unknown' for rule in found) else None
    found = wait_for('rules that were evaluated', evaluated, PATIENCE_S)
    wrong = [(rule['name'], rule.get('lastError')) for rule in found if rule['health'] != 'ok']
    check(f'no rule has an error: {wrong}', not wrong)
    ours = rules.read_rules((interop.SOURCE / rules.ALERTS).read_text(encoding='utf-8'))
    check('Prometheus has read what tests read', {rule['name']: rule.get('annotations', {}) for rule in found} == {
        rule.name: {key.split('.')[1]: text for key, text in rule.fields.items() if key.startswith('annotations.')}
        for rule in ours})


def check_healthy(prometheus):
    wait_for('ten scrapes', lambda: (prometheus.value('count_over_time(udpa_build_info[1m])') or 0) >= 10, PATIENCE_S)
    wait_for('no alert is pending', lambda: not alerts(prometheus).keys() - OF_THE_MACHINE, PATIENCE_S)
    fired = prometheus.ask('query', query='count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[1h]))')
    check(f'none has fired: {fired}', fired['result'] == [])


def check_alerts(world, prometheus):
    found = wait_for('UdpaClientsReject fires', lambda: alerts(prometheus, 'firing').get('UdpaClientsReject'),
                     PATIENCE_S)
    where = f'localhost:{world.page.port}'
    check(f'it names node and type: {found}', found['labels']['instance'] == where and where in
          found['annotations']['summary'] and f'type {xds_peer.CLUSTER} ' in found['annotations']['description'])
    wait_for('the node is stopped', lambda: not world.edge.stop(), PATIENCE_S)
    wait_for('UdpaNodeDown is pending', lambda: 'UdpaNodeDown' in alerts(prometheus, 'pending'), PATIENCE_S)


# ---- the dashboard ----

def result_of(prometheus, title, expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    url = f'http://127.0.0.1:{prometheus.port}/api/v1/query?{urllib.parse.urlencode({"query": expression})}'
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return json.load(answer)['data']['result']
    except urllib.error.HTTPError as error:
        raise Failure(f'{title}: {expression}: {error.read().decode()}')


def may_be_absent(expression, names):
    """Of each name that a node has: a metric that this federation lacks, or that no node has yet."""
    found = {name for name, _ in rules.metrics_of(expression)[0]}
    return bool(re.search(ABSENT, expression)) or any(
        name.startswith('udpa_') and re.sub(r'_(total|bucket|sum|count)$', '', name) not in names for name in found)


def check_dashboard(prometheus):
    names, left, n = listed(), [], 0
    for title, expression in rules.read_panels((interop.SOURCE / rules.DASHBOARD).read_text(encoding='utf-8')):
        if may_be_absent(expression, names):
            result_of(prometheus, title, expression)
        else:
            left.append((title, expression))
            n += 1

    def all_return():
        left[:] = [one for one in left if not result_of(prometheus, *one)]
        return not left
    try:
        wait_for('series of all queries', all_return, PATIENCE_S)
    except Failure as failure:
        raise Failure(f'{failure}: {left}') from failure
    check(f'{n} queries of the dashboard return series', n >= 39)
    try:
        result_of(prometheus, 'planted', 'sum by (')
    except Failure:
        return
    raise Failure('an error in a query is not noticed')


def fail_over(world):
    """To the standby, and back."""
    port = world.core.port
    world.core.stop()
    world.page.wait('udpa_source_fail_overs_total', lambda n: n >= 1, source='core')
    world.core = interop.Node(world.test, 'core', port=port)
    world.page.wait('udpa_source_fail_backs_total', lambda n: n >= 1, source='standby')


def test_all(test):
    tool_or_skip('prometheus')
    world = World(test)
    prometheus = Prometheus(world, [interop.SOURCE / rules.ALERTS])
    with world.client() as client:
        client.send(xds_peer.CLUSTER)
        client.answer(client.receive())
        world.publish(world.core, 'one more')
        client.answer(client.receive())
        check('a publication is accepted', not world.publish_here('client', 'com.acme'))
        check_rules(prometheus)
        check_healthy(prometheus)
        world.publish(world.core, 'two')
        client.answer(client.receive(), error='no')
        check('one is rejected', world.publish_here('stranger', 'other.acme'))
        with world.client('stranger') as stranger:
            stranger.send(xds_peer.CLUSTER)
            world.page.wait('udpa_subscriptions_denied_total', lambda n: n >= 1)
        fail_over(world)
        check_dashboard(prometheus)
    check_alerts(world, prometheus)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, test_all))
