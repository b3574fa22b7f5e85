#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backend of libudpa says how loaded it is (docs/examples/orca.c): to a caller that reads reports, to
gRPC's own weighted_round_robin, which sends requests by them, and to grpcurl, which knows of the
service what reflection tells it. And the other way round: a node asks such backends, and one of
grpcio, because a resource says so, and tells who wants to know."""
import collections
from concurrent import futures
import json
import sys
import threading
import time

import interop
import grpc
from test_grpcurl import Caller, decode_all, grpcurl_or_skip
from udpa_peer import PREFIX, Peer
from udpa.data.orca.v1 import orca_load_report_pb2 as report_v1
from udpa.service.orca.v1 import orca_pb2 as service_v1
from xds.data.orca.v3 import orca_load_report_pb2 as report_v3
from xds.service.orca.v3 import orca_pb2 as service_v3

SERVICE = 'xds.service.orca.v3.OpenRcaService'
OLD_SERVICE = 'udpa.service.orca.v1.OpenRcaService'
METHOD = 'StreamCoreMetrics'
PATIENCE_S = 20
TENTH_NS = 100_000_000
ALL_OF_IT = ('cpu=0.5 memory=0.25 application=0.75 rps=120.5 eps=1.5 utilization.gpu=0.125 '
             'cost.db=2 cost.cache=0.5 queue=-7')
POLICY = {'loadBalancingConfig': [{'weighted_round_robin': {
    'enableOobLoadReport': True, 'oobReportingPeriod': '0.1s', 'weightUpdatePeriod': '0.1s',
    'blackoutPeriod': '0.1s'}}]}


class Backend(interop.Process):
    """The example. What it is told to say it says from its answer on."""

    def __init__(self, test, name):
        super().__init__([test.build / 'orca', '127.0.0.1:0'], test.work / f'{name}.log',
                         takes_orders=True)
        test.processes.append(self)
        self.address = self.wait_for_log('listening on ').split()[-1]
        self.n_answers = 1

    def say(self, words):
        self.process.stdin.write(words.encode() + b'\n')
        self.process.stdin.flush()
        self.n_answers += 1
        return interop.wait_for(f'an answer to {words!r}', lambda: (
            self.text().count('\n') >= self.n_answers and self.text().splitlines()[-1]))

    def end(self):
        self.process.stdin.close()
        interop.check('the backend ends in peace', self.process.wait(PATIENCE_S) == 0)


def stream(channel, request=None):
    """A call of the service; to be cancelled."""
    if request is None:
        request = service_v3.OrcaLoadReportRequest()
        request.report_interval.nanos = TENTH_NS
    method = channel.unary_stream(f'/{SERVICE}/{METHOD}',
                                  service_v3.OrcaLoadReportRequest.SerializeToString,
                                  report_v3.OrcaLoadReport.FromString)
    return method(request, timeout=PATIENCE_S)


def read_reports(backend, channel):
    interop.check('what is set is taken', backend.say(ALL_OF_IT) == 'set')
    call = stream(channel)
    report = next(call)
    expected = report_v3.OrcaLoadReport(
        cpu_utilization=0.5, mem_utilization=0.25, application_utilization=0.75,
        rps_fractional=120.5, eps=1.5, utilization={'gpu': 0.125},
        request_cost={'db': 2, 'cache': 0.5}, named_metrics={'queue': -7})
    interop.check(f'all of it comes: {" ".join(str(report).split())}', report == expected)
    interop.check('and again', next(call) == expected)
    backend.say('cpu=0.625')
    changed = next(report for report in call if report != expected)
    interop.check('then what has changed', changed == report_v3.OrcaLoadReport(cpu_utilization=0.625))
    refusal = backend.say('memory=1.5')
    interop.check(f'what may not be is refused: {refusal}', 'may be at most 1' in refusal)
    call.cancel()
    backend.say(ALL_OF_IT)
    call = stream(channel, service_v3.OrcaLoadReportRequest(request_cost_names=['db', 'none']))
    interop.check('costs are those that were asked for', next(call).request_cost == {'db': 2})
    call.cancel()


def read_old_reports(channel):
    method = channel.unary_stream(f'/{OLD_SERVICE}/{METHOD}',
                                  service_v1.OrcaLoadReportRequest.SerializeToString,
                                  report_v1.OrcaLoadReport.FromString)
    call = method(service_v1.OrcaLoadReportRequest(), timeout=PATIENCE_S)
    interop.check('by its older name, too', next(call) == report_v1.OrcaLoadReport(
        cpu_utilization=0.5, mem_utilization=0.25, rps=121, utilization={'gpu': 0.125},
        request_cost={'db': 2, 'cache': 0.5}))
    call.cancel()


def be_refused(channel):
    request = service_v3.OrcaLoadReportRequest()
    request.report_interval.seconds = -1
    try:
        next(stream(channel, request))
    except grpc.RpcError as error:
        interop.check(f'a negative interval is refused: {error.details()}',
                      error.code() == grpc.StatusCode.INVALID_ARGUMENT and
                      'report_interval' in error.details())
        return
    raise interop.Failure('a negative interval was taken')


def shares(channel):
    """Of a hundred calls, how many each backend has answered: it says itself who it is."""
    found = collections.Counter()
    for _ in range(100):
        call = stream(channel)
        found[int(next(call).named_metrics['which'])] += 1
        call.cancel()
    return found


def weigh(first, second):
    """As much is done by both, at a fifth and at four fifths of what they can."""
    with grpc.insecure_channel(f'ipv4:{first.address},{second.address}',
                               options=[('grpc.service_config', json.dumps(POLICY))]) as channel:
        for idle, busy in ((first, second), (second, first)):
            for one, utilization in ((idle, 0.2), (busy, 0.8)):
                one.say(f'rps=100 application={utilization} '
                        f'which={1 if one is first else 2}')
            wanted = 1 if idle is first else 2
            found = interop.wait_for('four fifths of the calls', lambda wanted=wanted: (
                lambda now: 78 <= now[wanted] <= 82 and now)(shares(channel)), PATIENCE_S)
            interop.check(f'backend {wanted}, a quarter as busy, gets four times as many calls: '
                          f'{dict(found)}', True)


def be_called(test):
    first, second = Backend(test, 'first'), Backend(test, 'second')
    with grpc.insecure_channel(first.address) as channel:
        read_reports(first, channel)
        read_old_reports(channel)
        be_refused(channel)
    weigh(first, second)
    for one in (first, second):
        one.end()


def be_described(test):
    program = grpcurl_or_skip(test.build)
    backend = Backend(test, 'backend')
    backend.say(ALL_OF_IT)
    caller = Caller(test, program, backend.address, '-plaintext')
    interop.check('reflection lists the service by both its names',
                  {SERVICE, OLD_SERVICE} <= set(caller.get('list').split()))
    interop.check('and describes it', 'rpc StreamCoreMetrics ( .xds.service.orca.v3.'
                  'OrcaLoadReportRequest ) returns ( stream .xds.data.orca.v3.OrcaLoadReport );' in
                  caller.get('describe', SERVICE))
    # The deadline ends what has no end of its own.
    for service, has_more in ((SERVICE, True), (OLD_SERVICE, False)):
        _, out, _ = caller.run(f'{service}/{METHOD}', options=(
            '-max-time', '1', '-d', '{"report_interval": "0.1s"}'))
        reports = list(decode_all(out))
        interop.check(f'{service} has sent {len(reports)} reports within a second',
                      2 <= len(reports) <= 11)
        interop.check('with what was set', reports[0]['cpuUtilization'] == 0.5 and
                      reports[0]['requestCost'] == {'cache': 0.5, 'db': 2} and
                      ('namedMetrics' in reports[0]) == has_more)
    backend.end()


class ForeignBackend:
    """grpcio answers, and as other servers do, when the caller has said that this was all."""

    def __init__(self, port=0):
        self.report = report_v3.OrcaLoadReport(mem_utilization=0.5)
        self.intervals_ns = []
        self.n_streams = 0
        self.server = grpc.server(futures.ThreadPoolExecutor(4))
        handler = grpc.stream_stream_rpc_method_handler(
            self.answer, service_v3.OrcaLoadReportRequest.FromString,
            report_v3.OrcaLoadReport.SerializeToString)
        self.server.add_generic_rpc_handlers((
            grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
        self.port = self.server.add_insecure_port(f'127.0.0.1:{port}')
        self.server.start()

    def answer(self, requests, context):
        request, = requests
        self.intervals_ns.append(request.report_interval.ToNanoseconds())
        self.n_streams += 1
        ended = threading.Event()
        context.add_callback(ended.set)
        while not ended.is_set():
            yield self.report
            ended.wait(request.report_interval.ToNanoseconds() / 1e9)
        self.n_streams -= 1

    def end(self):
        self.server.stop(0).wait()


class Reader:
    """What a node says of backends to who subscribes, by the name of the report."""

    def __init__(self, test, node):
        self.peer = Peer(test.build, node.address, 'reader')
        self.known = {}
        self.report = self.peer.schema.message('udpa.load.v1.OrcaReport')
        message = self.peer.udpa_message()
        message.subscribe.type_url = PREFIX + 'udpa.load.v1.OrcaReport'
        message.subscribe.resource_names.append('*')
        self.peer.outbox.put(message)

    def wait_for(self, what, look):
        end = time.monotonic() + PATIENCE_S
        while not look(self.known):
            if time.monotonic() > end:
                raise interop.Failure(f'{what}: not within {PATIENCE_S} s')
            delta = self.peer.next_message('publish').publish.delta
            for name in delta.removed_resources:
                self.known.pop(name, None)
            for resource in delta.resources:
                if resource.resource.type_url == PREFIX + 'udpa.load.v1.OrcaReport':
                    self.known[resource.name] = self.report.FromString(resource.resource.value)
        interop.check(what, True)


def collect(peer, ports, address='127.0.0.1'):
    """Publishes whom to ask; returns what was refused."""
    def fill(delta):
        message = peer.schema.message('udpa.load.v1.OrcaCollection')()
        message.interval.nanos = 2 * TENTH_NS
        for port in ports:
            message.backends.add(address=address, port=port)
        entry = delta.resources.add(name='local/service')
        entry.resource.type_url = PREFIX + message.DESCRIPTOR.full_name
        entry.resource.value = message.SerializeToString()
    return peer.publish_delta(fill)


def be_collected(test):
    bootstrap = test.work / 'bootstrap.yaml'
    bootstrap.write_text('orca_collections:\n  authorities: ["publisher"]\n'
                         'timing:\n  interest_linger: 0.5s\n', encoding='utf-8')
    node = interop.Node(test, 'node', bootstrap=bootstrap)
    own, foreign = Backend(test, 'own'), ForeignBackend()
    own.say('cpu=0.25 queue=7')
    own_port = int(own.address.rsplit(':', 1)[1])
    names = {port: f'local/service/127.0.0.1:{port}' for port in (own_port, foreign.port)}
    with Peer(test.build, node.address, 'stranger') as stranger:
        refused = collect(stranger, names)
        interop.check(f'a stranger is refused: {refused and refused[0].message}',
                      refused and 'orca_collections.authorities' in refused[0].message)
    with Peer(test.build, node.address) as publisher:
        refused = collect(publisher, names, '192.0.2.1')
        interop.check(f'so is what lies beyond loopback: {refused and refused[0].message}',
                      refused and 'beyond loopback' in refused[0].message)
        interop.check('what is allowed is taken', not collect(publisher, names))
        interop.never('a backend is asked while nobody wants to know',
                      lambda: foreign.intervals_ns, 1)
        reader = Reader(test, node)
        reader.wait_for('both backends are told of', lambda known: set(known) == set(
            names.values()))
        interop.check('with what they say', (
            reader.known[names[own_port]].metrics.cpu_utilization == 0.25 and
            reader.known[names[own_port]].metrics.named_metrics['queue'] == 7 and
            reader.known[names[foreign.port]].metrics.mem_utilization == 0.5))
        interop.check('by the interval of the resource, on one stream',
                      foreign.intervals_ns == [2 * TENTH_NS])
        own.say('cpu=0.75')
        reader.wait_for('a change is told', lambda known: (
            known[names[own_port]].metrics.cpu_utilization == 0.75))
        port = foreign.port
        foreign.end()
        foreign = ForeignBackend(port)
        foreign.report = report_v3.OrcaLoadReport(eps=3)
        reader.wait_for('a backend that was away is asked again', lambda known: (
            names[port] in known and known[names[port]].metrics.eps == 3))
        interop.check('one is taken out', not collect(publisher, [port]))
        reader.wait_for('nothing is said of it any more', lambda known: set(known) == {
            names[port]})
        reader.peer.close()
        interop.wait_for('the end of the stream when nobody wants to know any more',
                         lambda: foreign.n_streams == 0)
        interop.check('and nobody is asked any more', True)
    foreign.end()
    own.end()


def body(test):
    {'calls': be_called, 'collection': be_collected, 'grpcurl': be_described}[test.variant](test)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, variants=('calls', 'collection', 'grpcurl')))
