#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""udpactl wait: who has acknowledged a change, of clients that answer when they are told to."""
import json
import queue
import sys
import threading

import interop
import envoy_peer
import grpc
from envoy.service.discovery.v3 import discovery_pb2
from google.rpc import status_pb2
from interop import check, wait_for
from udpactl import GOOD, REFUSED, SUPERSEDED, TIMED_OUT, Ctl, states, write_cluster

ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/'
CLUSTER = 'type.googleapis.com/' + envoy_peer.TYPE_CLUSTER
PATIENCE_S = 20


class Client:
    """An xDS client on grpcio that answers only when it is told to."""

    def __init__(self, address, name, is_delta):
        self.is_delta = is_delta
        self.name = name
        method = 'DeltaAggregatedResources' if is_delta else 'StreamAggregatedResources'
        self.request = (discovery_pb2.DeltaDiscoveryRequest if is_delta
                        else discovery_pb2.DiscoveryRequest)
        response = (discovery_pb2.DeltaDiscoveryResponse if is_delta
                    else discovery_pb2.DiscoveryResponse)
        self.outbox, self.inbox = queue.Queue(), queue.Queue()
        self.channel = grpc.insecure_channel(address)
        call = self.channel.stream_stream(ADS + method,
                                          request_serializer=self.request.SerializeToString,
                                          response_deserializer=response.FromString)
        self.stream = call(iter(self.outbox.get, None))
        threading.Thread(target=self.read, daemon=True).start()
        first = self.request(type_url=CLUSTER)
        first.node.id = name
        self.outbox.put(first)

    def read(self):
        try:
            for response in self.stream:
                self.inbox.put(response)
        except grpc.RpcError:
            pass # it was closed

    def take(self):
        """The next response; it has not been answered yet."""
        return self.inbox.get(timeout=PATIENCE_S)

    def answer(self, response, error=None):
        request = self.request(type_url=CLUSTER, response_nonce=response.nonce)
        if error:
            request.error_detail.CopyFrom(status_pb2.Status(code=3, message=error))
        elif not self.is_delta:
            request.version_info = response.version_info
        self.outbox.put(request)

    def close(self):
        self.outbox.put(None)
        self.stream.cancel()
        self.channel.close()


def check_nobody(test, ctl):
    first = write_cluster(test, 'first.json', 'web')
    out = ctl('apply', '--wait', '-f', first, status=TIMED_OUT)
    check('nobody subscribes, and that is told', 'no subscribers' in out)
    out = ctl('wait', '--timeout', '1', '--at-least', '1', 'cluster', 'web', status=TIMED_OUT)
    check('somebody may be demanded', 'no subscribers' in out)
    return first


def check_waiting(ctl, clients, first):
    """Each answers when it likes; the one that comes last ends the waiting."""
    responses = [client.take() for client in clients]
    said = ctl.said('--timeout', '1', 'cluster', 'web', status=TIMED_OUT)
    check(f'neither has answered: {states(said)}',
          states(said) == {'sotw': 'unanswered', 'delta': 'unanswered'})
    check('since when is told', all('since' in one for one in said[0]['sessions']))
    waiting = ctl.start('wait', '-f', first)
    clients[0].answer(responses[0])
    wait_for('one has it', lambda: ctl.said('--timeout', '0.6', 'cluster', 'web', status=TIMED_OUT)
             [0]['acknowledged'] == 1)
    check('the other is waited for still', waiting.poll() is None)
    clients[1].answer(responses[1])
    out = ctl.finish(waiting, GOOD)
    check('both have it', '2 of 2 have version' in out)


def count_answered(ctl):
    """Sessions that ask who has acknowledged something, and know it by now."""
    found = json.loads(ctl('status', 'sessions', '-o', 'json'))
    return sum(1 for session in found for one in session['resource'].get('subscriptions', [])
               if one['typeUrl'].endswith('AcknowledgementStatus') and one.get('nResourcesSent'))


def check_refusal(test, ctl, clients):
    bad = write_cluster(test, 'bad.json', 'web', '2s')
    waiting = ctl.start('apply', '--wait', '-f', bad)
    responses = [client.take() for client in clients]
    clients[0].answer(responses[0])
    clients[1].answer(responses[1], 'no such thing')
    out = ctl.finish(waiting, REFUSED)
    check('who has refused it, and why', 'delta' in out and 'no such thing' in out)
    out = ctl('wait', '--timeout', '1', '--despite-refusals', '-f', bad, status=REFUSED)
    check('it can be waited on', 'no such thing' in out)

    other = write_cluster(test, 'other.json', 'other')
    waiting = ctl.start('apply', '--wait', '-f', other)
    for client in clients:
        client.answer(client.take())
    ctl.finish(waiting, GOOD)
    said = ctl.said('cluster', 'web', status=REFUSED)
    check(f'the refusal stands, of this one alone: {states(said)}', states(said)['delta'] == 'refused'
          and states(said)['sotw'] == 'acknowledged')

    waiting = ctl.start('wait', '--despite-refusals', 'cluster', 'web', 'other')
    pinned = ctl.start('wait', '--despite-refusals', '-f', bad)
    mended = write_cluster(test, 'mended.json', 'web', '3s')
    wait_for('the answers to both', lambda: count_answered(ctl) == 2)
    ctl('apply', '-f', mended)
    out = ctl.finish(pinned, SUPERSEDED)
    check('the refused version has been replaced', 'has been replaced' in out)
    for client in clients:
        client.answer(client.take())
    ctl.finish(waiting, GOOD)
    said = ctl.said('-f', mended)
    check('the correction is with all',
          states(said) == {'sotw': 'acknowledged', 'delta': 'acknowledged'})
    version = said[0]['version']
    ctl('wait', '--resource-version', version, 'cluster', 'web')
    ctl('wait', '--timeout', '1', '--resource-version', 'other', 'cluster', 'web', status=TIMED_OUT)


def check_reconnect(test, ctl, node, clients):
    """One that goes away without having answered is waited for."""
    next_one = write_cluster(test, 'next.json', 'web', '4s')
    waiting = ctl.start('apply', '--wait', '--timeout', '30', '-f', next_one)
    clients[0].answer(clients[0].take())
    clients[1].take()
    wait_for('it is waited for', lambda: states(
        ctl.said('--timeout', '0.6', 'cluster', 'web', status=TIMED_OUT)).get('delta')
        == 'unanswered')
    clients[1].close()
    wait_for('it is gone', lambda: 'delta' not in states(ctl.said('cluster', 'web')))
    check('who has left is missed', waiting.poll() is None)
    clients[1] = Client(node.address, 'delta', True)
    clients[1].answer(clients[1].take())
    ctl.finish(waiting, GOOD)


def check_removal(ctl, clients):
    waiting = ctl.start('delete', '--wait', 'cluster', 'web')
    responses = [client.take() for client in clients]
    check('the state does not have it', len(responses[0].resources) == 1)
    check('the removal is told', list(responses[1].removed_resources) == ['web'])
    said = ctl.said('--timeout', '1', '--gone', 'cluster', 'web', status=TIMED_OUT)
    check('neither has answered', states(said) == {'sotw': 'unanswered', 'delta': 'unanswered'})
    for client, response in zip(clients, responses):
        client.answer(response)
    out = ctl.finish(waiting, GOOD)
    check('both have', '2 of 2 have acknowledged its removal' in out)
    ctl('wait', '--timeout', '1', 'cluster', 'web', status=TIMED_OUT)
    ctl('wait', '--gone', '--timeout', '1', 'cluster', 'other', status=TIMED_OUT)


def check_edge(test, ctl, node):
    """What another node does with it, that node must be asked."""
    path = test.work / 'edge.yaml'
    path.write_text('static_resources:\n  config_sources:\n'
                    f'  - {{name: core, udpa: {{address: "{node.address}"}}}}\n'
                    'providers:\n- config_descriptors:\n  - {resource_name: core}\n',
                    encoding='utf-8')
    edge = interop.Node(test, 'edge', bootstrap=path)
    at_edge = Ctl(test, edge)
    client = Client(edge.address, 'behind', False)
    response = client.take()
    wait_for('the edge at the core', lambda: states(ctl.said('cluster', 'other')).get('edge')
             == 'sent')
    said = at_edge.said('--timeout', '1', 'cluster', 'other', status=TIMED_OUT)
    check('its client at the edge', states(said) == {'behind': 'unanswered'})
    client.answer(response)
    said = at_edge.said('cluster', 'other')
    check('and its answer', states(said) == {'behind': 'acknowledged'})
    client.close()


def body(test):
    node = interop.Node(test, 'node')
    ctl = Ctl(test, node)
    first = check_nobody(test, ctl)
    clients = [Client(node.address, 'sotw', False), Client(node.address, 'delta', True)]
    check_waiting(ctl, clients, first)
    check_refusal(test, ctl, clients)
    check_reconnect(test, ctl, node, clients)
    check_removal(ctl, clients)
    check_edge(test, ctl, node)
    for client in clients:
        client.close()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
