#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An Envoy streams its access log and its metrics to a node, which writes them as lines of JSON: each
request has its line. Somebody who floods the node stops nobody else's lines; a disk that is full
stops no stream; what nobody has configured is refused, with words that say how."""
import json
import subprocess
import sys
import threading
import urllib.request

import interop

import grpc
from envoy.config.core.v3 import base_pb2
from envoy.service.accesslog.v3 import als_pb2, als_pb2_grpc
from envoy.service.tap.v3 import tap_pb2, tap_pb2_grpc
from envoy.service.trace.v3 import trace_service_pb2, trace_service_pb2_grpc
from google.protobuf import descriptor_pb2

import envoy_peer
import envoy_resources as resources
import udpactl

N_REQUESTS = 20
FLOOD_MESSAGES = 300
RING = {'max_entries': 200, 'max_bytes': 4 << 20}
TAP_FILE_BYTES, TAP_FILES = 8192, 3


def prometheus(test):
    """The set of Envoy's types does not have those of its metrics."""
    file = descriptor_pb2.FileDescriptorProto(name='io/prometheus/client/metrics.proto',
                                              package='io.prometheus.client', syntax='proto2')
    family = file.message_type.add(name='MetricFamily')
    family.field.add(name='name', number=1, label=1, type=9)
    path = test.work / 'prometheus.descriptors'
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    return path


def start_node(test, ports):
    files = {name: test.work / f'{name}.jsonl' for name in ('access', 'metrics', 'tap')}
    config = test.work / 'node.yaml'
    config.write_text(json.dumps({
        'sockets': [{'address': f'127.0.0.1:{ports[0]}'}, {'address': f'[::1]:{ports[0]}'}],
        'descriptor_sets': [str(udpactl.descriptors(test)), str(prometheus(test))],
        'sinks': [
            {'kind': 'ACCESS_LOG', 'file': {'path': str(files['access'])}, **RING},
            {'kind': 'METRICS', 'file': {'path': str(files['metrics'])}},
            {'kind': 'TAP', 'file': {'path': str(files['tap']), 'max_bytes': TAP_FILE_BYTES,
                                     'max_files': TAP_FILES}},
            {'kind': 'TRACE', 'file': {'path': '/dev/full'}},
        ]}), encoding='utf-8')
    return interop.Node(test, 'node', port=None, bootstrap=config), files


def to_node():
    return {'envoy_grpc': {'cluster_name': 'udpad'}}


def envoy_config(port):
    config = envoy_peer.bootstrap('edge-1', 'DELTA_GRPC', port)
    logger = {'name': 'grpc', 'typed_config': {
        '@type': 'type.googleapis.com/envoy.extensions.access_loggers.grpc.v3'
                 '.HttpGrpcAccessLogConfig',
        'common_config': {'log_name': 'ingress', 'transport_api_version': 'V3',
                          'grpc_service': to_node(), 'buffer_flush_interval': '0.1s'}}}
    listener = {
        'name': 'main', 'address': {'socket_address': {'address': '127.0.0.1', 'port_value': 0}},
        'filter_chains': [{'filters': [{'name': 'http', 'typed_config': {
            '@type': resources.EXTENSIONS +
                     'filters.network.http_connection_manager.v3.HttpConnectionManager',
            'stat_prefix': 'main', 'http_filters': [resources.ROUTER], 'access_log': [logger],
            'route_config': {'virtual_hosts': [{'name': 'all', 'domains': ['*'], 'routes': [
                {'match': {'prefix': '/'}, 'direct_response': {'status': 200}}]}]}}}]}]}
    del config['dynamic_resources']
    config['static_resources']['listeners'] = [listener]
    config['stats_flush_interval'] = '0.5s'
    config['stats_sinks'] = [{'name': 'metrics', 'typed_config': {
        '@type': 'type.googleapis.com/envoy.config.metrics.v3.MetricsServiceConfig',
        'transport_api_version': 'V3', 'grpc_service': to_node()}}]
    return config


def lines(path):
    """Whole ones; what is being written may lack its end."""
    if not path.exists():
        return []
    text = path.read_text(encoding='utf-8')
    return [json.loads(line) for line in text[:text.rfind('\n') + 1].splitlines()]


def paths(found):
    return [line['entry']['request']['path'] for line in found if line.get('name') == 'ingress']


def ask(envoy, what, n=N_REQUESTS):
    port = envoy.listener_ports()['main']
    wanted = [f'/{what}/{i}?"quoted"' for i in range(n)]
    for path in wanted:
        with urllib.request.urlopen(f'http://127.0.0.1:{port}{path.replace(chr(34), "%22")}',
                                    timeout=5) as answer:
            answer.read()
    return [path.replace('"', '%22') for path in wanted]


def check_refused(test):
    """Nothing is accepted unless somebody has configured it."""
    node = interop.Node(test, 'bare')
    with grpc.insecure_channel(node.address) as channel:
        stub = als_pb2_grpc.AccessLogServiceStub(channel)
        try:
            stub.StreamAccessLogs(iter([als_pb2.StreamAccessLogsMessage()]), timeout=20)
            raise interop.Failure('a node without sinks takes access logs in')
        except grpc.RpcError as error:
            interop.check(f'refused: {error.details()}',
                          error.code() == grpc.StatusCode.UNIMPLEMENTED and
                          'sinks: [{kind: ACCESS_LOG}]' in error.details())
    done = subprocess.run([test.build / 'udpactl', '--server', node.address, 'events', 'tap'],
                          capture_output=True, text=True, timeout=30, check=False)
    interop.check(f'nor are there any to be read: {done.stderr}',
                  done.returncode == 1 and 'there is no sink' in done.stderr)


def check_lines(envoy, files):
    wanted = ask(envoy, 'first')
    interop.wait_for('a line for each request',
                     lambda: set(paths(lines(files['access']))) >= set(wanted))
    found = [line for line in lines(files['access']) if 'entry' in line]
    interop.check('each once, in order', paths(found) == wanted)
    first = found[0]
    interop.check(f'it says who has sent it: {first}',
                  first['kind'] == 'access-log' and first['node'] == 'edge-1' and
                  first['type'] == 'envoy.data.accesslog.v3.HTTPAccessLogEntry' and
                  first['entry']['response']['responseCode'] == 200)
    interop.wait_for('metrics, by name', lambda: any(
        line.get('entry', {}).get('name', '').endswith('downstream_rq_total')
        for line in lines(files['metrics'])))
    interop.check('all metrics could be read', all(
        'error' not in line for line in lines(files['metrics'])))


def check_events(ctl, envoy, files):
    """What udpactl shows is what is in the file."""
    shown = [json.loads(line) for line in ctl('events', 'access-log').splitlines()]
    interop.check('udpactl events shows the same',
                  [line for line in lines(files['access']) if 'entry' in line] == shown)
    follower = ctl.start('events', 'access-log', '--follow')
    wanted = ask(envoy, 'followed', 1)
    for text in follower.stdout:
        if json.loads(text)['entry']['request']['path'] == wanted[0]:
            break
    follower.terminate()
    follower.communicate(timeout=20)
    print('ok: and with --follow what comes', flush=True)


class Flood(threading.Thread):
    """As fast as it can, from another address than Envoy's."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.has_begun = threading.Event()
        self.error = None

    def messages(self):
        node = base_pb2.Node(id='flooder')
        first = als_pb2.StreamAccessLogsMessage()
        first.identifier.node.CopyFrom(node)
        first.identifier.log_name = 'flood'
        yield first
        message = als_pb2.StreamAccessLogsMessage()
        for i in range(200):
            message.http_logs.log_entry.add().request.path = f'/flood/{i}' + 'x' * 200
        for i in range(FLOOD_MESSAGES):
            if i == FLOOD_MESSAGES // 10:
                self.has_begun.set()
            yield message

    def run(self):
        try:
            with grpc.insecure_channel(f'[::1]:{self.port}') as channel:
                als_pb2_grpc.AccessLogServiceStub(channel).StreamAccessLogs(self.messages(),
                                                                             timeout=120)
        except grpc.RpcError as error:
            self.error = error
        self.has_begun.set()


def status_of(ctl, kind, texts=()):
    nodes = json.loads(ctl('status', '-o', 'json'))
    for sink in (sink for node in nodes for sink in
                 node.get('resource', {}).get('sinks', [])):
        if sink['kind'] == kind:
            return {key: int(value) for key, value in sink.items() if key not in ('kind', *texts)}
    raise interop.Failure(f'no sink of kind {kind} in {nodes}')


def check_flood(ctl, envoy, files, port):
    flood = Flood(port)
    flood.start()
    flood.has_begun.wait(60)
    wanted = ask(envoy, 'during')
    interop.wait_for("Envoy's lines while somebody floods",
                     lambda: set(paths(lines(files['access']))) >= set(wanted), 60)
    flood.join(120)
    interop.check(f'the flood was taken in: {flood.error}', not flood.error)

    def all_written():
        status = status_of(ctl, 'access-log')
        gone = sum(line.get('lost', 0) for line in lines(files['access']))
        return gone == status.get('nDropped', 0) and \
            status['nWritten'] >= (FLOOD_MESSAGES - gone) * 200
    interop.wait_for('what was not dropped is written, what was is counted', all_written, 60)
    status = status_of(ctl, 'access-log')
    interop.check(f'the ring keeps its bounds: {status}', status['nHeld'] <= RING['max_entries'] and
                  status['heldBytes'] <= RING['max_bytes'])
    print(ctl('status'), flush=True)


def check_full_disk(node, ctl, channel):
    message = trace_service_pb2.StreamTracesMessage()
    message.identifier.node.id = 'tracer'
    message.spans.add().span_id = b'12345678'
    stub = trace_service_pb2_grpc.TraceServiceStub(channel)
    stub.StreamTraces(iter([message] * 50), timeout=20)
    print('ok: a full disk stops no stream', flush=True)
    interop.wait_for('what could not be written is counted',
                     lambda: status_of(ctl, 'trace').get('nFailed') == 50)
    node.wait_for_log('/dev/full: cannot be written: No space left on device')
    interop.check('it can still be read', len(ctl('events', 'trace').splitlines()) == 50)


def check_rotation(test, ctl, files, channel):
    """With what python sends in the place of Envoy, which cannot stream taps."""
    message = tap_pb2.StreamTapsRequest(trace_id=7)
    message.identifier.node.id = 'tapper'
    message.identifier.tap_id = 'one'
    message.trace.http_buffered_trace.request.headers.add(key=':path', value='/tapped')
    tap_pb2_grpc.TapSinkServiceStub(channel).StreamTaps(iter([message] * 200), timeout=20)
    interop.wait_for('200 taps', lambda: status_of(ctl, 'tap').get('nWritten') == 200)
    found = sorted(path.name for path in test.work.glob('tap.jsonl*'))
    interop.check(f'files are changed by size: {found}',
                  found == ['tap.jsonl'] + [f'tap.jsonl.{i}' for i in range(1, TAP_FILES)])
    for name in found:
        path = test.work / name
        interop.check(f'{name} is no larger than it may be', path.stat().st_size <= TAP_FILE_BYTES)
        interop.check('and every line is whole', all(
            line['entry']['trace']['httpBufferedTrace']['request']['headers'][0]['value'] ==
            '/tapped' and line['name'] == 'one' for line in lines(path)))


def body(test):
    binary = interop.envoy_or_skip()
    check_refused(test)
    node, files = start_node(test, interop.free_ports(1))
    ctl = udpactl.Ctl(test, node)
    envoy = envoy_peer.Envoy(test, binary, node.port, config=envoy_config(node.port))
    check_lines(envoy, files)
    check_events(ctl, envoy, files)
    with grpc.insecure_channel(node.address) as channel:
        check_full_disk(node, ctl, channel)
        check_rotation(test, ctl, files, channel)
    check_flood(ctl, envoy, files, node.port)
    before = lines(files['access'])
    envoy.kill()
    node.stop()
    interop.check('what was written stays', lines(files['access'])[:len(before)] == before)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
