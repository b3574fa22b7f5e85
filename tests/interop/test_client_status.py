#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An endpoint of libudpa answers CSDS about itself (docs/examples/client_status.c): to grpcio, by a
Fetch and by a stream, and to grpcurl, which knows of the service what reflection tells it. What it
says agrees with what its node says of it.
"""
import json
import signal
import sys

import interop
from google.protobuf import wrappers_pb2
from interop import check, wait_for
from envoy.admin.v3 import config_dump_shared_pb2
from envoy.service.status.v3 import csds_pb2
from test_csds import STATUS, Asker, request
from test_grpcurl import Caller, grpcurl_or_skip
from udpa_peer import Peer

CLIENT = config_dump_shared_pb2.ClientResourceStatus
SERVICE = 'envoy.service.status.v3.ClientStatusDiscoveryService'
ID = 'client-status-example'
NAMES = ('local/greeting', 'local/farewell', 'local/nobody')
SPEECH = 'so long, and thanks for all the fish'


class Endpoint(interop.Process):
    def __init__(self, test, node):
        super().__init__([test.build / 'client_status', node.address, '127.0.0.1:0', *NAMES],
                         test.work / 'endpoint.log')
        test.processes.append(self)
        self.address = '127.0.0.1:' + self.wait_for_log('listening on port ').split()[-1]

    def end(self):
        self.process.send_signal(signal.SIGINT)
        check('it ends in peace', self.process.wait(interop.STOP_PATIENCE_S) == 0)


def entries(response):
    return {entry.name: entry for config in response.config
            for entry in config.generic_xds_configs}


def states(asker):
    return {name: CLIENT.Name(entry.client_status)
            for name, entry in entries(asker.fetch(request())).items()}


def expect(asker, what, *expected):
    wait_for(what, lambda: states(asker) == dict(zip(NAMES, expected)))
    print(f'ok: {what}', flush=True)


def look_at_refusal(own, of_node, good):
    entry = entries(own.fetch(request()))['local/farewell']
    check(f'why: {entry.error_state.details}', 'not a speech' in entry.error_state.details
          and entry.version_info == good and entry.error_state.version_info not in ('', good)
          and not entry.HasField('xds_config'))
    entry = entries(own.fetch(request(with_bodies=True)))['local/farewell']
    old, new = wrappers_pb2.StringValue(), wrappers_pb2.StringValue()
    entry.xds_config.Unpack(old)
    entry.error_state.failed_configuration.Unpack(new)
    check(f'it has "{old.value}" still, and refused "{new.value}"',
          (old.value, new.value) == ('bye', SPEECH))

    def at_node():
        entry = entries(of_node.fetch(request(ID))).get('local/farewell')
        return entry and entry.config_status == STATUS.ERROR and entry
    entry = wait_for('the refusal at the node', at_node)
    check('the node says the same of it', 'not a speech' in entry.error_state.details)


def by_grpcurl(test, endpoint):
    caller = Caller(test, grpcurl_or_skip(test.build), endpoint.address, '-plaintext')
    check('reflection lists the service', SERVICE in caller.get('list').split())
    for method in ('FetchClientStatus', 'StreamClientStatus'):
        out = caller.get(f'{SERVICE}/{method}',
                         options=('-d', json.dumps({'excludeResourceContents': True})))
        config = json.loads(out)['config'][0]
        found = {entry['name']: entry['clientStatus'] for entry in config['genericXdsConfigs']}
        check(f'{method} tells grpcurl: {found}', config['node']['id'] == ID and
              found == dict(zip(NAMES, ('ACKED', 'NACKED', 'DOES_NOT_EXIST'))))


def body(test):
    node = interop.Node(test, 'node')
    endpoint = Endpoint(test, node)
    own, of_node = Asker(endpoint.address), Asker(node.address)
    expect(own, 'that nothing is there is known', *['DOES_NOT_EXIST'] * 3)
    with Peer(test.build, node.address) as peer:
        def say(name, text):
            peer.publish([(name, wrappers_pb2.StringValue(value=text))])
        say('greeting', 'hello')
        say('farewell', 'bye')
        expect(own, 'what came was taken', 'ACKED', 'ACKED', 'DOES_NOT_EXIST')
        good = entries(own.fetch(request()))['local/farewell'].version_info
        say('farewell', SPEECH)
        expect(own, 'what it has refused it says', 'ACKED', 'NACKED', 'DOES_NOT_EXIST')
        look_at_refusal(own, of_node, good)
        streamed = [csds_pb2.ClientStatusResponse.FromString(one) for one in own.stream(request())]
        check('the stream says the same', len(streamed) == 1 and
              {name: CLIENT.Name(entry.client_status)
               for name, entry in entries(streamed[0]).items()} == states(own))
        check('and nothing to who asks about others', not own.fetch(request('other')).config)
        by_grpcurl(test, endpoint)
        endpoint.end()


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
