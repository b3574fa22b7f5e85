#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Envoy checks the health of a real upstream for a node (HDS): what it is to check is a resource,
what it finds becomes one, and follows the upstream as it turns unhealthy and back; who has gone says
nothing any more. With a policy for it, the endpoints that another Envoy is given follow, too."""
import json
import sys
import urllib.request

import interop
import envoy_peer
from envoy_checker import (EXPIRY_S, HEALTHY, SPECIFIER, TCP, THRIFT, TIMEOUT, TYPE, UNHEALTHY,
                           Upstream, Verdicts, bootstrap, specifier, wait_for_status)
from interop import check, wait_for
from udpa_peer import Peer
from udpactl import Ctl, descriptors

from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.service.health.v3 import hds_pb2
from google.protobuf import json_format
import grpc

def fetched(node, http):
    """What FetchHealthCheck gives a client that holds no stream, and REST."""
    request = hds_pb2.HealthCheckRequestOrEndpointHealthResponse()
    request.health_check_request.node.id = 'passer-by'
    request.health_check_request.capability.health_check_protocols.append(hds_pb2.Capability.HTTP)
    with grpc.insecure_channel(node.address) as channel:
        by_grpc = channel.unary_unary(
            '/envoy.service.health.v3.HealthDiscoveryService/FetchHealthCheck',
            request_serializer=request.__class__.SerializeToString,
            response_deserializer=hds_pb2.HealthCheckSpecifier.FromString)(request, timeout=20)
    call = urllib.request.Request(
        f'http://{http}/v3/discovery:health_check', json_format.MessageToJson(request).encode(),
        {'content-type': 'application/json'})
    with urllib.request.urlopen(call, timeout=20) as answer:
        return by_grpc, json_format.Parse(answer.read(), hds_pb2.HealthCheckSpecifier())


def follow_upstream(verdicts, upstream, name):
    good = wait_for_status(verdicts, name, upstream.port, [HEALTHY])
    check('the upstream was really asked', upstream.n_checks > 0)
    check('the address is that of the endpoint', good.address == '127.0.0.1')
    upstream.status = 503
    bad = wait_for_status(verdicts, name, upstream.port, [UNHEALTHY])
    check('it says since when', bad.since.ToNanoseconds() > good.since.ToNanoseconds() > 0)
    upstream.status = 200
    again = wait_for_status(verdicts, name, upstream.port, [HEALTHY])
    check('and that moves on', again.since.ToNanoseconds() > bad.since.ToNanoseconds())


def checks(test):
    binary = interop.envoy_or_skip()
    upstream, (dead_port, http_port) = Upstream(), interop.free_ports(2)
    http = f'127.0.0.1:{http_port}'
    config = test.work / 'node.yaml'
    config.write_text(f'http: {{sockets: [{{address: "{http}"}}]}}\n'
                      f'descriptor_sets: [{descriptors(test)}]\n', encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=config)
    verdicts = Verdicts(test, node)
    with Peer(test.build, node.address) as peer:
        check('there is nothing to check yet',
              set(map(str, fetched(node, http))) == {''})
        default = specifier('backend', [upstream.port, dead_port])
        peer.publish([('default', default)])
        check('by Fetch and by REST it is the same', fetched(node, http) == (default, default))
        envoy = envoy_peer.Envoy(test, binary, node.port, 'checker', bootstrap(node.port))
        follow_upstream(verdicts, upstream, 'local/backend/checker')
        wait_for_status(verdicts, 'local/backend/checker', dead_port, [UNHEALTHY, TIMEOUT])

        peer.publish([('checker', specifier('own', [upstream.port], [TCP, THRIFT]))])
        wait_for_status(verdicts, 'local/own/checker', upstream.port, [HEALTHY])
        wait_for('what is not checked any more is said no more',
                 lambda: set(verdicts()) == {'local/own/checker'})
        node.wait_for_log("health checks 'local/checker' for client 'checker': some are left out")
        peer.remove(SPECIFIER, ['checker'])
        wait_for_status(verdicts, 'local/backend/checker', upstream.port, [HEALTHY])
        wait_for('the default counts again',
                 lambda: set(verdicts()) == {'local/backend/checker'})

        ctl = Ctl(test, node)
        said = json.loads(ctl('get', TYPE, 'local/backend/checker', '-o', 'json'))
        check('udpactl shows it', 'HEALTHY' in json.dumps(said))
        status = ctl('status')
        check('udpactl status knows the stream', ' hds ' in status)

        envoy.kill()
        upstream.status = 503
        health = verdicts().get('local/backend/checker', {})
        check('its last word stands for a while',
              health.get(upstream.port) and health[upstream.port].health_status == HEALTHY)
        wait_for('a checker that has gone says nothing any more', lambda: not verdicts(),
                 EXPIRY_S)
    text = node.text()
    check('nothing was answered that was not asked', 'not asked to check' not in text)


def health_of(client, port):
    """What the node has told a client of an endpoint; None: it has none such."""
    found = json.loads(client.admin('/clusters?format=json'))
    for cluster in found.get('cluster_statuses', []):
        for host in cluster.get('host_statuses', []):
            if cluster['name'] == 'backend' and \
                    host['address']['socket_address']['port_value'] == port:
                return host['health_status'].get('eds_health_status')
    return None


def wait_for_health(client, upstream, status):
    wait_for(f'the client is told that port {upstream.port} is {status}',
             lambda: health_of(client, upstream.port) == status)


def merged(test):
    """The verdict travels up, and the list of endpoints comes down with it; whichever worker has
    whom."""
    binary = interop.envoy_or_skip()
    config = test.work / 'node.yaml'
    config.write_text('health: {policy: MAJORITY}\nworkers: 2\n', encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=config)
    good, fickle = Upstream(), Upstream()
    ports = [good.port, fickle.port]
    with Peer(test.build, node.address) as peer:
        peer.publish([('backend', envoy_peer.eds_cluster('backend')),
                      ('backend', json_format.ParseDict({
                          'cluster_name': 'backend',
                          'endpoints': [envoy_peer.endpoints(port)[0] for port in ports],
                      }, endpoint_pb2.ClusterLoadAssignment()))])
        client = envoy_peer.Envoy(test, binary, node.port, 'client',
                                  envoy_peer.bootstrap('client', 'DELTA_GRPC', node.port))
        wait_for('the client has the endpoints', lambda: health_of(client, fickle.port))
        check('and nobody says that they are ill', health_of(client, fickle.port) == 'HEALTHY')
        peer.publish([('default', specifier('backend', ports))])
        checker = envoy_peer.Envoy(test, binary, node.port, 'checker', bootstrap(node.port))
        wait_for_status(Verdicts(test, node), 'local/backend/checker', fickle.port, [HEALTHY])
        fickle.status = 503
        wait_for_health(client, fickle, 'UNHEALTHY')
        check('the other one is left alone', health_of(client, good.port) == 'HEALTHY')
        ctl = Ctl(test, node)
        told = json.loads(ctl('get', 'endpoints', 'backend', '-o', 'json'))
        check('the node answers for it', told[0]['originInfo']['authority'] == 'node')
        fickle.status = 200
        wait_for_health(client, fickle, 'HEALTHY')
        fickle.status = 503
        wait_for_health(client, fickle, 'UNHEALTHY')
        checker.kill()
        wait_for('who has gone has no say', lambda: health_of(client, fickle.port) == 'HEALTHY',
                 EXPIRY_S)


def body(test):
    {'checks': checks, 'merged': merged}[test.variant](test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('checks', 'merged')))
