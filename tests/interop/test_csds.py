#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CSDS: what a node says of an Envoy that has refused something, to clients of grpcio, to grpcurl, by
REST and by udpactl: the reason, the version that failed, and the last good one. Then of a thousand
clients at once, whose figures are shown."""
import asyncio
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

import interop
import grpc
import envoy_peer
from envoy.config.cluster.v3 import cluster_pb2
from envoy.admin.v3 import config_dump_shared_pb2
from envoy.service.status.v3 import csds_pb2
from test_grpcurl import Caller, grpcurl_or_skip
from udpa_peer import Peer
from xds_peer import CLUSTER, METHODS, NO_LIMIT, Client, discovery_pb2

SERVICE = 'envoy.service.status.v3.ClientStatusDiscoveryService'
PATIENCE_S = 60
N_CLIENTS, N_CLUSTERS, N_CHANNELS = 1000, 100, 20
STATUS = csds_pb2.ConfigStatus
CLIENT = config_dump_shared_pb2.ClientResourceStatus


def request(prefix=None, with_bodies=False):
    message = csds_pb2.ClientStatusRequest(exclude_resource_contents=not with_bodies)
    if prefix:
        message.node_matchers.add().node_id.prefix = prefix
    return message


class Asker:
    """Both methods of the service."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, [NO_LIMIT])
        types = {'request_serializer': csds_pb2.ClientStatusRequest.SerializeToString}
        self.fetch_bytes = self.channel.unary_unary(f'/{SERVICE}/FetchClientStatus', **types)
        self.stream_bytes = self.channel.stream_stream(f'/{SERVICE}/StreamClientStatus', **types)

    def fetch(self, message):
        return csds_pb2.ClientStatusResponse.FromString(
            self.fetch_bytes(message, timeout=PATIENCE_S))

    def stream(self, message):
        """All responses, as bytes; who has closed his side is answered, and then all is said."""
        return list(self.stream_bytes(iter([message]), timeout=PATIENCE_S))


def entry_of(asker, name, **options):
    """What is said of a cluster of the Envoy."""
    configs = asker.fetch(request('envoy', **options)).config
    if len(configs) > 1:
        raise interop.Failure(f'{len(configs)} clients are called envoy')
    return next((entry for config in configs for entry in config.generic_xds_configs
                 if entry.type_url == CLUSTER and entry.name == name), None)


def refuse_one(peer, envoy, asker):
    """The Envoy has a cluster, and refuses the next version of it. Its last good version."""
    peer.publish([('good', envoy_peer.static_cluster('good')),
                  ('one', envoy_peer.static_cluster('one'))])
    envoy.wait_for_clusters(['good', 'one'])

    def synced():
        entry = entry_of(asker, 'one')
        return entry and entry.config_status == STATUS.SYNCED and entry
    entry = interop.wait_for('the acknowledgement', synced)
    interop.check(f'it has acknowledged version {entry.version_info}',
                  entry.client_status == CLIENT.ACKED and entry.version_info
                  and not entry.HasField('error_state') and not entry.HasField('xds_config')
                  and abs(entry.last_updated.seconds - time.time()) < 60)
    peer.publish([('one', envoy_peer.static_cluster('one', '0s'))])
    interop.wait_for('the refusal in the statistics of Envoy',
                     lambda: envoy.stat('cluster_manager.cds.update_rejected'))
    return entry.version_info


def look_at_refusal(asker, good):
    def refused():
        entry = entry_of(asker, 'one')
        return entry.config_status == STATUS.ERROR and entry
    entry = interop.wait_for('the refusal', refused)
    state = entry.error_state
    interop.check(f'it has refused: {state.details.strip()[-120:]}',
                  entry.client_status == CLIENT.NACKED and 'ConnectTimeout' in state.details)
    interop.check(f'of version {state.version_info}, and has {entry.version_info} still',
                  entry.version_info == good and state.version_info not in ('', good)
                  and abs(state.last_update_attempt.seconds - time.time()) < 60)
    interop.check('the other cluster is as good as it was',
                  entry_of(asker, 'good').config_status == STATUS.SYNCED)
    entry = entry_of(asker, 'one', with_bodies=True)
    failed = cluster_pb2.Cluster()
    entry.error_state.failed_configuration.Unpack(failed)
    interop.check('what it has refused is shown to who wants bodies',
                  failed.name == 'one' and failed.connect_timeout.seconds == 0)
    good = entry_of(asker, 'good', with_bodies=True)
    interop.check('and so is what it has', good.xds_config.type_url == CLUSTER)


def has_refusal(answer, good):
    """Of an answer in JSON."""
    entries = [entry for config in answer['config'] for entry in config['genericXdsConfigs']
               if entry['name'] == 'one']
    return len(entries) == 1 and entries[0]['configStatus'] == 'ERROR' and \
        entries[0]['clientStatus'] == 'NACKED' and entries[0]['versionInfo'] == good and \
        'ConnectTimeout' in entries[0]['errorState']['details']


def ask_by_grpcurl(test, node, good):
    caller = Caller(test, grpcurl_or_skip(test.build), node.address, '-plaintext')
    interop.check('reflection lists the service', SERVICE in caller.get('list').split())

    def ask(method, **fields):
        options = ('-d', json.dumps({'excludeResourceContents': True, **fields}))
        return caller.run(f'{SERVICE}/{method}', options=options)

    def of_id(**matcher):
        return {'nodeMatchers': [{'nodeId': matcher}]}
    for method in ('FetchClientStatus', 'StreamClientStatus'):
        status, out, err = ask(method)
        interop.check(f'{method} tells grpcurl of the refusal {err}',
                      status == 0 and has_refusal(json.loads(out), good))
    status, out, _ = ask('FetchClientStatus', **of_id(safeRegex={'regex': 'env[a-z]+'}))
    interop.check('an expression finds it', has_refusal(json.loads(out), good))
    status, out, _ = ask('FetchClientStatus', **of_id(safeRegex={'regex': 'env'}))
    interop.check('if it matches all of the id', json.loads(out) == {})
    status, _, err = ask('FetchClientStatus', **of_id(safeRegex={'regex': '('}))
    interop.check(f'what is none is refused: {" ".join(err.split())}',
                  status != 0 and 'InvalidArgument' in err)


def ask_by_rest(port, good):
    def ask(body):
        asked = urllib.request.Request(f'http://127.0.0.1:{port}/v3/discovery:client_status',
                                       json.dumps(body).encode(),
                                       {'Content-Type': 'application/json'})
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
            return json.load(answer)
    interop.check('REST tells of the refusal',
                  has_refusal(ask({'exclude_resource_contents': True}), good))
    matcher = {'node_matchers': [{'node_id': {'exact': 'nobody'}}]}
    interop.check('and has nothing to say of nobody', not ask(matcher).get('config'))
    try:
        ask({'node_matchers': [{'node_id': {}}]})
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        interop.check(f'what is no matcher is refused: {text.strip()}', error.code == 400)
    else:
        raise interop.Failure('a matcher that says nothing was taken')


def ask_by_udpactl(test, node):
    said = subprocess.run([test.build / 'udpactl', '--server', node.address, 'clients'],
                          capture_output=True, text=True, check=True).stdout
    line = next((line for line in said.splitlines() if line.startswith('envoy ')), '')
    interop.check(f'udpactl clients: {" ".join(line.split())[:150]}',
                  'no: rejected' in line and 'ConnectTimeout' in line)


# ---- an endpoint of UDPA ----

def answer(endpoint, wanted, text=None):
    """Takes what comes until the wanted resource does, and refuses that if there is a text."""
    while True:
        delta = endpoint.next_message('publish').publish.delta
        names = [resource.name for resource in delta.resources]
        if delta.receipt_required:
            message = endpoint.udpa_message()
            message.receipt.nonce = delta.nonce
            for name in names if text else ():
                status = message.receipt.error_detail.add()
                if name == wanted:
                    status.code, status.message = 3, text
            endpoint.outbox.put(message)
        if wanted in names:
            return


def ask_about_endpoint(test, node, peer, asker):
    def entry():
        configs = asker.fetch(request('endpoint')).config
        return next((one for config in configs for one in config.generic_xds_configs
                     if one.name == 'local/one'), None)

    def has(status):
        return (found := entry()) and found.config_status == status and found
    with Peer(test.build, node.address, 'endpoint') as endpoint:
        message = endpoint.udpa_message()
        message.subscribe.type_url = CLUSTER
        message.subscribe.namespace = 'local'
        message.subscribe.resource_names.append('*')
        endpoint.outbox.put(message)
        answer(endpoint, 'local/one')
        good = interop.wait_for('its receipt', lambda: has(STATUS.SYNCED)).version_info
        peer.publish([('one', envoy_peer.static_cluster('one', '4s'))])
        answer(endpoint, 'local/one', 'no, thank you')
        found = interop.wait_for('its refusal', lambda: has(STATUS.ERROR))
        interop.check('what an endpoint of UDPA refuses is told of as well',
                      found.version_info == good and found.client_status == CLIENT.NACKED
                      and found.error_state.details == 'no, thank you'
                      and found.error_state.version_info != good)
    interop.wait_for('its end', lambda: not asker.fetch(request('endpoint')).config)


def ask_one_of_several(test):
    """Workers know their own clients alone, and tell each other."""
    bootstrap = test.work / 'workers.yaml'
    bootstrap.write_text(json.dumps({'workers': 2}))
    node = interop.Node(test, 'workers', bootstrap=bootstrap)
    asker = Asker(node.address)
    interop.check('that nobody is there is certain with workers, too',
                  not asker.fetch(request()).config)
    with Client(node.address) as client:
        client.send(CLUSTER)
        client.answer(client.receive())
        said = subprocess.run([test.build / 'udpactl', '--server', node.address, 'clients'],
                              capture_output=True, text=True, check=True).stdout
        interop.wait_for('a worker to tell of a client of all', lambda: [
            config.client_scope for config in asker.fetch(request('by-hand')).config] == [node.name])
    interop.check('and udpactl clients does', 'by-hand ' in said)


# ---- a thousand ----

async def open_client(channel, index):
    """A stream that has all clusters, and has acknowledged them."""
    call = channel.stream_stream(
        METHODS[True], request_serializer=discovery_pb2.DeltaDiscoveryRequest.SerializeToString,
        response_deserializer=discovery_pb2.DeltaDiscoveryResponse.FromString)()
    first = discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER)
    first.node.id = f'fake-{index:04}'
    await call.write(first)
    n = 0
    while n < N_CLUSTERS:
        response = await call.read()
        n += len(response.resources)
        await call.write(discovery_pb2.DeltaDiscoveryRequest(type_url=CLUSTER,
                                                             response_nonce=response.nonce))
    return call


def told_of(responses):
    """(clients, resources, those of them that are acknowledged)"""
    configs = [config for response in responses
               for config in csds_pb2.ClientStatusResponse.FromString(response).config]
    entries = [entry for config in configs for entry in config.generic_xds_configs]
    return len({config.node.id for config in configs}), len(entries), sum(
        entry.config_status == STATUS.SYNCED for entry in entries)


def look_at_crowd(asker):
    n = N_CLIENTS * N_CLUSTERS

    def all_synced():
        found = told_of(asker.stream(request('fake-')))
        return found == (N_CLIENTS, n, n)
    interop.wait_for('all acknowledgements', all_synced, PATIENCE_S)
    begin = time.monotonic()
    responses = asker.stream(request('fake-'))
    took_ms = (time.monotonic() - begin) * 1000
    size = sum(map(len, responses))
    interop.check(f'status only, of {N_CLIENTS} clients with {N_CLUSTERS} resources each: '
                  f'{size} bytes, {size / n:.0f} for each, in {len(responses)} responses, '
                  f'{took_ms:.0f} ms', told_of(responses) == (N_CLIENTS, n, n))
    interop.check(f'the largest response has {max(map(len, responses))} bytes',
                  max(map(len, responses)) < 4 << 20)
    try:
        asker.fetch(request('fake-'))
    except grpc.RpcError as error:
        interop.check(f'a Fetch of so much is refused: {error.details()}',
                      error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
                      and 'node_matchers' in error.details())
    else:
        raise interop.Failure('a Fetch of so much was answered')
    few = asker.fetch(request('fake-000'))
    interop.check('one of ten clients is answered', len(few.config) == 10)


async def crowd(address, asker):
    channels = [grpc.aio.insecure_channel(address, [('grpc.use_local_subchannel_pool', 1)])
                for _ in range(N_CHANNELS)]
    calls = await asyncio.gather(*(open_client(channels[i % N_CHANNELS], i)
                                   for i in range(N_CLIENTS)))
    await asyncio.to_thread(look_at_crowd, asker)
    for call in calls:
        call.cancel()
    for channel in channels:
        await channel.close()


def body(test):
    binary = interop.envoy_or_skip()
    bootstrap = test.work / 'node.yaml'
    bootstrap.write_text(json.dumps({'http': {'sockets': [{'address': '127.0.0.1:0'}]}}))
    node = interop.Node(test, 'node', bootstrap=bootstrap)
    line = next(line for line in node.text().splitlines() if 'over REST' in line)
    rest_port = line.split('listening on ')[1].split()[0].rsplit(':', 1)[1]
    asker = Asker(node.address)
    interop.check('of no clients there is nothing to say', not asker.fetch(request()).config)
    with Peer(test.build, node.address) as peer:
        envoy = envoy_peer.Envoy(test, binary, node.port)
        good = refuse_one(peer, envoy, asker)
        look_at_refusal(asker, good)
        ask_by_grpcurl(test, node, good)
        ask_by_rest(rest_port, good)
        ask_by_udpactl(test, node)
        peer.publish([('one', envoy_peer.static_cluster('one', '3s'))])
        envoy.wait_for_timeout('one', '3s')
        interop.wait_for('the repair', lambda: (
            entry_of(asker, 'one').config_status == STATUS.SYNCED))
        ask_about_endpoint(test, node, peer, asker)
        if test.variant == 'delta':
            peer.publish([(f'c{i:03}', envoy_peer.static_cluster(f'c{i:03}'))
                          for i in range(N_CLUSTERS - 2)])
            asyncio.run(crowd(node.address, asker))
        else:
            ask_one_of_several(test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('delta', 'sotw')))
