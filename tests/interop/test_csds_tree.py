#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CSDS about clients of other nodes, and of other processes. "levels": a node with two edges below it,
which serve an Envoy and clients by hand; who asks the top is told of all of them, and by which node
each is served, until an edge is killed and the ttl has ended. "workers": a node with two workers,
each with some of the clients; whoever is asked tells of all.
"""
import json
import signal
import subprocess
import sys
import threading
import urllib.request

import interop
import grpc
import envoy_peer
from envoy.service.status.v3 import csds_pb2
from interop import check, wait_for
from test_csds import CLIENT, STATUS, Asker, request
from test_grpcurl import Caller, grpcurl_or_skip
from udpa_peer import Peer
from xds_peer import CLUSTER, Client

EDGES = ('edge-0', 'edge-1')
TTL_S = 4
PATIENCE_S = 40


class Acknowledging:
    """A client that has all clusters and acknowledges them, or refuses those that it is told to."""

    def __init__(self, address, node_id, refused=None):
        self.client = Client(address, node_id=node_id)
        self.refused = refused
        self.client.send(CLUSTER)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for response in self.client.stream:
                names = [resource.name for resource in response.resources]
                bad = self.refused in names
                self.client.answer(response, f'{self.refused} is not to my taste' if bad else None)
        except grpc.RpcError:
            pass

    def close(self):
        self.client.__exit__(None, None, None)


def write_config(test, name, sources=(), **fields):
    path = test.work / f'{name}.yaml'
    path.write_text(json.dumps({
        'node': {'id': name},
        'http': {'sockets': [{'address': '127.0.0.1:0'}]},
        'static_resources': {'config_sources': [
            {'name': source.name, 'udpa': {'address': source.address}} for source in sources]},
        'providers': [{'types': ['envoy.config.cluster.v3.Cluster'],
                       'config_descriptors': [{'resource_name': source.name}
                                              for source in sources]}] if sources else [],
        'timing': {'interest_linger': '0.2s', 'backoff_max': '0.5s'}, **fields,
    }), encoding='utf-8')
    return path


def rest_port(node):
    line = next(line for line in node.text().splitlines() if 'over REST' in line)
    return line.split('listening on ')[1].split()[0].rsplit(':', 1)[1]


def ask_by_rest(node, **fields):
    asked = urllib.request.Request(
        f'http://127.0.0.1:{rest_port(node)}/v3/discovery:client_status',
        json.dumps({'exclude_resource_contents': True, **fields}).encode(),
        {'Content-Type': 'application/json'})
    with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
        return json.load(answer).get('config', [])


def summary(configs):
    """{(client, scope): {cluster: status}}"""
    found = {}
    for config in configs:
        of_client = found.setdefault((config.node.id, config.client_scope), {})
        for entry in config.generic_xds_configs:
            of_client[entry.name] = STATUS.Name(entry.config_status)
    return found


def expect(asker, expected, what):
    seen = []

    def look():
        seen[:] = [summary(asker.fetch(request()).config)]
        return seen[0] == expected
    try:
        wait_for(what, look, PATIENCE_S)
    except interop.Failure as failure:
        raise interop.Failure(f'{failure}: the last was {seen[0]}') from None
    print(f'ok: {what}', flush=True)


# ---- two levels ----

def by_grpcurl(test, top, expected):
    caller = Caller(test, grpcurl_or_skip(test.build), top.address, '-plaintext')
    out = caller.get('envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus',
                     options=('-d', json.dumps({'excludeResourceContents': True})))
    told = {(config['node']['id'], config['clientScope'])
            for config in json.loads(out)['config']}
    check(f'grpcurl lists all: {sorted(told)}', told == expected)


def by_udpactl(test, top):
    said = subprocess.run([test.build / 'udpactl', '--server', top.address, 'clients', '--tree'],
                          capture_output=True, text=True, check=False)
    check(f'udpactl clients --tree ends with {said.returncode} {said.stderr}',
          said.returncode == 0)
    said = said.stdout
    rows = {tuple(line.split()[:2]) for line in said.splitlines()[1:]}
    check(f'udpactl clients --tree:\n{said}',
          rows >= {('envoy', 'edge-0'), ('hand-0', 'edge-0'), ('hand-1', 'edge-1'),
                   ('hand-top', 'top')} and 'no: rejected' in said and 'not to my taste' in said)


def levels(test):
    binary = interop.envoy_or_skip()
    status = {'ttl': f'{TTL_S}s'}
    top = interop.Node(test, 'top', bootstrap=write_config(
        test, 'top', client_status={'whole_tree': True, **status}))
    edges = [interop.Node(test, name, bootstrap=write_config(test, name, [top],
                                                             client_status=status))
             for name in EDGES]
    asker = Asker(top.address)
    with Peer(test.build, top.address) as peer:
        peer.publish([('good', envoy_peer.static_cluster('good')),
                      ('bad', envoy_peer.static_cluster('bad'))])
        test.variant = 'delta' # of the Envoy
        envoy = envoy_peer.Envoy(test, binary, edges[0].port)
        clients = [Acknowledging(edges[0].address, 'hand-0'),
                   Acknowledging(edges[1].address, 'hand-1'),
                   Acknowledging(top.address, 'hand-top')]
        envoy.wait_for_clusters(['good', 'bad'])
        synced = {'good': 'SYNCED', 'bad': 'SYNCED'}
        expected = {('envoy', 'top/edge-0'): synced, ('hand-0', 'top/edge-0'): synced,
                    ('hand-1', 'top/edge-1'): synced, ('hand-top', 'top'): synced}
        expect(asker, expected, 'the top tells of all clients, each with its node')
        clients[1].refused = 'bad'
        peer.publish([('bad', envoy_peer.static_cluster('bad', '7s'))])
        expected[('hand-1', 'top/edge-1')] = {'good': 'SYNCED', 'bad': 'ERROR'}
        expect(asker, expected, 'a refusal two levels below is told of')
        entry = next(entry for config in asker.fetch(request('hand-1')).config
                     for entry in config.generic_xds_configs if entry.name == 'bad')
        check(f'with its words: {entry.error_state.details}',
              entry.client_status == CLIENT.NACKED and entry.version_info
              and entry.error_state.details == 'bad is not to my taste'
              and entry.error_state.version_info not in ('', entry.version_info))
        check('matchers choose among them', set(summary(asker.fetch(request('hand-')).config)) == {
            key for key in expected if key[0].startswith('hand-')})
        streamed = [config for response in asker.stream(request())
                    for config in csds_pb2.ClientStatusResponse.FromString(response).config]
        check('the stream tells the same', summary(streamed) == expected)
        check('and so does REST', {(config['node']['id'], config['clientScope'])
                                   for config in ask_by_rest(top)} == set(expected))
        by_grpcurl(test, top, set(expected))
        by_udpactl(test, top)
        below = summary(Asker(edges[0].address).fetch(request()).config)
        check(f'an edge that is not told to ask others tells of its own: {set(below)}',
              set(below) == {('envoy', ''), ('hand-0', '')})
        clients[0].close()
        del expected[('hand-0', 'top/edge-0')]
        expect(asker, expected, 'a client that goes is told of no more')
        lose_an_edge(asker, edges[1], expected)
        for client in clients[1:]:
            client.close()


def lose_an_edge(asker, edge, expected):
    """Somebody asks all the while, so that it was told of until it died."""
    edge.process.send_signal(signal.SIGKILL)
    edge.process.wait()

    def is_stale():
        configs = asker.fetch(request()).config
        return [config.client_scope for config in configs
                if config.node.id == edge.name and config.client_scope.startswith('stale:')] and \
            ('hand-1', 'top/edge-1') in summary(configs)
    wait_for('the notice that an edge is not connected', is_stale, PATIENCE_S)
    del expected[('hand-1', 'top/edge-1')]
    expect(asker, expected, 'what it had told ends with its ttl')


# ---- workers ----

def askers_of_all(node, n_channels=24):
    """Connections that are spread over the workers."""
    return [Asker(node.address) for _ in range(n_channels)]


def workers(test):
    node = interop.Node(test, 'node', bootstrap=write_config(test, 'node', workers=2))
    with Peer(test.build, node.address) as peer:
        peer.publish([('one', envoy_peer.static_cluster('one'))])
        clients = [Acknowledging(node.address, f'hand-{i}') for i in range(12)]
        expected = {(f'hand-{i}', 'node'): {'one': 'SYNCED'} for i in range(12)}
        askers = askers_of_all(node)
        for asker in askers:
            expect(asker, expected, 'a worker tells of the clients of both')
        told = {(config['node']['id'], config['clientScope']) for config in ask_by_rest(node)}
        check('the process that serves REST does, too', told == set(expected))
        with_bodies = asker.fetch(request(with_bodies=True)).config
        n = sum(config.generic_xds_configs[0].HasField('xds_config') for config in with_bodies)
        check(f'{n} have bodies, whose worker was asked', 0 < n < 12 and len(with_bodies) == 12)
        said = subprocess.run([test.build / 'udpactl', '--server', node.address, 'clients',
                               '--tree'], capture_output=True, text=True, check=True).stdout
        check('udpactl clients --tree tells of all', {
            tuple(line.split()[:2]) for line in said.splitlines()[1:]} == set(expected))
        clients[0].close()
        del expected[('hand-0', 'node')]
        for asker in askers[:4]:
            expect(asker, expected, 'who has gone is told of no more')
        for client in clients[1:]:
            client.close()


def body(test):
    (levels if test.variant == 'levels' else workers)(test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('levels', 'workers')))
