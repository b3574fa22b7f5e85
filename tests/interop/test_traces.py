#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One trace follows a change from the node that reads it, over the next, to the last acknowledgement of a real Envoy.
Spans come to a collector (by the messages of OpenTelemetry's own packages), also when it was away, is slow, or takes
only some; and no client waits for it."""
import concurrent.futures
import http.server
import json
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

from interop import SOURCE, Failure, Node, check, envoy_or_skip, free_ports, run, wait_for

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

sys.path.insert(0, str(SOURCE / 'docs' / 'demo'))
import federation  # noqa: E402

SERVICE = 'opentelemetry.proto.collector.trace.v1.TraceService'
AWAY_S = 1


class Collector:
    """What it was sent, by node; it can be told to refuse, to hang, or to take a part."""

    def __init__(self, port):
        self.port, self.spans, self.lock = port, [], threading.Lock()
        self.code, self.hangs, self.n_rejected = None, threading.Event(), 0
        self.server, self.since = None, 0

    def start(self):
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        method = grpc.unary_unary_rpc_method_handler(
            self.export, trace_service_pb2.ExportTraceServiceRequest.FromString,
            trace_service_pb2.ExportTraceServiceResponse.SerializeToString)
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {'Export': method}),))
        self.server.add_insecure_port(f'127.0.0.1:{self.port}')
        self.server.start()

    def stop(self):
        self.server.stop(0).wait()

    def export(self, request, context):
        if self.hangs.is_set():
            time.sleep(30)
        if self.code:
            context.abort(self.code, 'as the test wants it')
        with self.lock:
            for one in request.resource_spans:
                node = {pair.key: pair.value.string_value for pair in one.resource.attributes}
                self.spans += [(node, span) for scope in scopes(one) for span in scope.spans]
        answer = trace_service_pb2.ExportTraceServiceResponse()
        if self.n_rejected:
            answer.partial_success.rejected_spans = self.n_rejected
        return answer

    def of(self, node, type_name):
        """Spans of changes of this type, that have begun since."""
        with self.lock:
            return [span for about, span in self.spans if about['service.instance.id'] == node and
                    span.start_time_unix_nano >= self.since and
                    attributes(span).get('udpa.type', '').endswith(type_name)]

    def forget(self):
        """What was before; some of it may still come."""
        with self.lock:
            self.since = time.time_ns()
            self.spans.clear()


def scopes(resource_spans):
    """The package may be of a version that had another name for the field."""
    has_new = hasattr(resource_spans, 'scope_spans')
    return resource_spans.scope_spans if has_new else resource_spans.instrumentation_library_spans


def attributes(span):
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in span.attributes}


class Federation(federation.Federation):
    """The demo's, traced."""
    ratio = 1

    def write_config(self, name, template=None, values=None):
        path = super().write_config(name, template, values)
        if name in ('core', 'edge'):
            port = self.values['COLLECTOR']
            traces = f'traces: {{address: "127.0.0.1:{port}", ratio: {self.ratio}, per_second: 100}}\n' \
                     f'http: {{sockets: [{{address: "127.0.0.1:{self.values[name + "_http"]}"}}]}}\n'
            path.write_text(path.read_text(encoding='utf-8') + traces, encoding='utf-8')
        return path

    def metric(self, node, name):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.values[node + "_http"]}/metrics', timeout=10) as page:
            found = re.search(rf'^{re.escape(name)} (\S+)$', page.read().decode(), re.M)
        return float(found[1]) if found else None

    def exemplars(self, node):
        """(trace id, seconds) of each that /metrics has in OpenMetrics."""
        request = urllib.request.Request(f'http://127.0.0.1:{self.values[node + "_http"]}/metrics', headers={
            'accept': 'application/openmetrics-text; version=1.0.0'})
        with urllib.request.urlopen(request, timeout=10) as page:
            found = re.findall(r'^udpa_propagation_seconds_bucket\{.*ClusterLoadAssignment",le="(.*)"\} \d+ '
                               r'# \{trace_id="([0-9a-f]{32})"\} ([0-9.]+) [0-9.]+$', page.read().decode(), re.M)
        return {bytes.fromhex(trace): (float(value), float(bound)) for bound, trace, value in found}

    def edit(self, number):
        self.write_endpoints([self.backends[number]])
        for envoy in self.envoys():
            envoy.wait_for_endpoint(self.backends[number].port)


def check_trace(collector):
    """The change of the endpoints, at both nodes."""
    try:
        wait_for('both spans', lambda: collector.of('core', 'ClusterLoadAssignment') and
                 collector.of('edge', 'ClusterLoadAssignment'), 15)
    except Failure:
        print(collector.spans)
        raise
    core, = collector.of('core', 'ClusterLoadAssignment')
    edge, = collector.of('edge', 'ClusterLoadAssignment')
    check('it is one trace', core.trace_id == edge.trace_id and len(core.trace_id) == 16)
    check('it begins at core, and goes on at edge', not core.parent_span_id and edge.parent_span_id == core.span_id)
    at_core, at_edge = attributes(core), attributes(edge)
    check(f'core has read it: {at_core}', at_core['udpa.from'].endswith('resources') and
          at_core['udpa.name'] == 'com.acme/backend' and at_core['udpa.changed'] == 1)
    check(f'edge has it from core, and Envoy has acknowledged it: {at_edge}', at_edge['udpa.from'] == 'core' and
          at_edge['udpa.outcome'] == 'acknowledged')
    check('  which one was last', at_edge['udpa.last_client'] in ('envoy-1', 'envoy-2'))
    check('nothing waits for its acknowledgement at core', at_core['udpa.outcome'] == 'unsubscribed')
    begin, effective, end = core.start_time_unix_nano, edge.events[0].time_unix_nano, edge.end_time_unix_nano
    check('the times are in order', edge.events[0].name == 'effective' and
          begin <= edge.start_time_unix_nano <= effective <= end < begin + 10**10)
    check('it is no error', edge.status.code == 1)
    node = [about for about, span in collector.spans if span is edge][0]
    check(f'who sends it: {node}', node['service.name'] == 'udpad' and node['service.version'])
    return edge.trace_id, (end - effective) / 10**9


def check_exemplar(demo, trace_id, took_s):
    """From the histogram to the trace."""
    wait_for('the trace is an exemplar', lambda: trace_id in demo.exemplars('edge'), 5)
    value, bound = demo.exemplars('edge')[trace_id]
    check(f'of the time that it took: {value} {took_s}', abs(value - took_s) < 0.002 and value <= bound)


def check_absent(demo, collector):
    """No client waits; what was made meanwhile comes when the collector is back."""
    collector.stop()
    collector.forget()
    begin = time.monotonic()
    demo.edit(0)
    check('no client waits for a collector that is away', time.monotonic() - begin < 5)
    wait_for('attempts have failed', lambda: demo.metric('edge', 'udpa_trace_failures_total'), 15)
    time.sleep(AWAY_S)
    collector.start()
    wait_for('what was made meanwhile comes', lambda: collector.of('edge', 'ClusterLoadAssignment'), 40)
    log = demo.processes['edge'].text()
    check('the log has both', log.count('does not take spans') == 1 and log.count('takes spans again') == 1)


def check_refused(demo, collector):
    """A span of an earlier change may end only now: so at least as many."""
    def counted(outcome):
        return demo.metric('edge', f'udpa_trace_spans_total{{outcome="{outcome}"}}')
    wait_for('nothing is left to be sent', lambda: demo.metric('edge', 'udpa_trace_queue_bytes') == 0, 15)
    collector.code = grpc.StatusCode.INVALID_ARGUMENT
    sent, rejected = counted('sent'), counted('rejected')
    demo.edit(1)
    wait_for('what the collector rejects is counted', lambda: counted('rejected') > rejected, 15)
    wait_for('and not tried again', lambda: demo.metric('edge', 'udpa_trace_queue_bytes') == 0, 15)
    check('it does not count as sent', counted('sent') == sent)
    rejected = counted('rejected')
    collector.code, collector.n_rejected = None, 1
    demo.edit(0)
    wait_for('also of a part', lambda: counted('rejected') > rejected, 15)
    collector.n_rejected = 0


def check_end(demo, collector):
    """What is queued is sent at the end, and a collector that hangs does not keep the node."""
    collector.forget()
    demo.edit(1)
    process = demo.processes['edge'].process
    process.send_signal(signal.SIGINT)
    check('the node ends', process.wait(10) == 0)
    wait_for('its last span', lambda: collector.of('edge', 'ClusterLoadAssignment'), 5)
    demo.start_node('edge')
    wait_for('edge is back', lambda: demo.versions('edge'), 20)
    for envoy in demo.envoys():
        envoy.wait_for_endpoint(demo.backends[1].port)
    collector.hangs.set()
    demo.edit(0)
    time.sleep(2)
    begin = time.monotonic()
    process = demo.processes['edge'].process
    process.send_signal(signal.SIGINT)
    check('also while the collector hangs', process.wait(20) == 0 and time.monotonic() - begin < 6)


class Rest(http.server.BaseHTTPRequestHandler):
    """A control plane by REST, whose answers belong to a trace."""
    trace, span = 'a1' * 16, 'b2' * 8

    def do_POST(self):
        self.rfile.read(int(self.headers['content-length']))
        answer = json.dumps({'version_info': '1', 'resources': [{
            '@type': 'type.googleapis.com/envoy.config.cluster.v3.Cluster', 'name': 'by-rest'}]}).encode()
        self.send_response(200)
        self.send_header('traceparent', f'00-{self.trace}-{self.span}-01')
        self.send_header('content-length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def check_rest(test, collector):
    """The trace of an answer by REST goes on here, if the server has a certificate; and nothing else is traced."""
    certs = test.work / 'rest-certs'
    subprocess.run([SOURCE / 'certs' / 'make-development-ca', certs, 'legacy', '--dns', 'legacy'], check=True,
                   capture_output=True)
    for is_proven in (True, False):
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Rest)
        rest = {'address': f'127.0.0.1:{server.server_port}', 'authority': 'legacy', 'refresh_delay': '60s'}
        if is_proven:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certs / 'legacy.crt', certs / 'legacy.key')
            server.socket = context.wrap_socket(server.socket, server_side=True)
            rest['tls'] = {'ca_file': f'{certs}/ca.crt', 'server_name': 'legacy'}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        collector.forget()
        name = f'rest-{is_proven}'.lower()
        bootstrap = test.work / f'{name}.json'
        bootstrap.write_text(json.dumps({
            'node': {'id': name}, 'store': {'in_memory': True},
            'static_resources': {'config_sources': [{'name': 'legacy', 'rest': rest}]},
            'providers': [{'types': ['envoy.config.cluster.v3.Cluster'], 'config_descriptors': [{'resource_name': 'legacy'}]}],
            'traces': {'address': f'127.0.0.1:{collector.port}', 'per_second': 100}}), encoding='utf-8')
        node = Node(test, name, 0, bootstrap)
        if is_proven:
            wait_for('a span of what came by REST', lambda: collector.of(name, 'Cluster'), 15)
            span, = collector.of(name, 'Cluster')
            check('it goes on with the trace', span.trace_id.hex() == Rest.trace and
                  span.parent_span_id.hex() == Rest.span and attributes(span)['udpa.from'] == 'legacy')
        else:
            wait_for('it is there', lambda: 'by-rest' in subprocess.run(
                [test.build / 'udpactl', '--server', node.address, 'get', 'cluster'], capture_output=True, text=True,
                check=False).stdout, 15)
        node.stop()
        check('nothing else is traced', len(collector.of(name, '')) == is_proven)
        server.shutdown()


def body(test):
    envoy = envoy_or_skip()
    ports = free_ports(3)
    collector = Collector(ports[0])
    collector.start()
    with Federation(test.work, test.build, envoy) as demo:
        demo.values.update(COLLECTOR=ports[0], core_http=ports[1], edge_http=ports[2])
        demo.make_certificates()
        demo.write_resources([demo.backends[0]])
        demo.start_node('core')
        demo.start_node('edge')
        demo.wait_for_resources('edge', 5)
        for name, api_type in (('envoy-1', 'DELTA_GRPC'), ('envoy-2', 'GRPC')):
            demo.start_envoy(name, {'NAME': name, 'API_TYPE': api_type})
        for one in demo.envoys():
            one.wait_for_endpoint(demo.backends[0].port)
        time.sleep(2)
        collector.forget()
        demo.edit(1)
        check_exemplar(demo, *check_trace(collector))
        check_absent(demo, collector)
        check_refused(demo, collector)
        check_rest(test, collector)
        check_end(demo, collector)


if __name__ == '__main__':
    sys.exit(run(__doc__, body))
