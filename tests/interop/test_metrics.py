#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GET /metrics of udpad, as Prometheus takes it: promtool checks what it is sent in both formats, and a real
Prometheus scrapes it by TLS.

formats: a node with workers, sources and clients; what is counted is what they have done, and a worker that hangs
is reported.
memory: what resources and streams take is counted, and given back.
many_types: 10,000 types are published and subscribed to; there are no more series than a node may have."""
import collections
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import interop
import grpc
import udpa_peer
import xds_peer
from envoy.config.cluster.v3 import cluster_pb2
from google.protobuf import any_pb2
from interop import Failure, check, wait_for

PATIENCE_S = 30
TEXT = 'text/plain; version=0.0.4; charset=utf-8'
OPEN = 'application/openmetrics-text; version=1.0.0; charset=utf-8'
# What Prometheus 2 sends.
ACCEPT = ('application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,'
          'text/plain;version=0.0.4;q=0.5,*/*;q=0.1')
SERIES = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
MOST_SERIES = 5000
LIMITS = {'resources', 'bytes', 'namespace', 'publisher', 'open_files', 'streams', 'views'}
if not os.environ.get('UDPA_TEST_GRPC_CORE'):
    LIMITS |= {'connections'}
TYPES = 10000
TYPES_OF_A_STREAM = 1000
LINT_PATIENCE_S = 60
HEAVY, HEAVY_BYTES = 1000, 2000 # resources, and of each
HEAVY_STREAMS = 20
SCRAPE_INTERVAL = '400ms' # a scrape may take as long
HESITATION_S = 0.3 # of a client, before it answers


def tool_or_skip(name):
    path = shutil.which(name)
    if not path:
        interop.skip(f'{name} is not installed (Debian: prometheus)')
    return path


def read_series(text):
    """{name: {labels: value}} of a page; the labels as a sorted tuple of pairs."""
    found = collections.defaultdict(dict)
    for line in text.splitlines():
        if line.startswith('#'):
            continue
        match = SERIES.fullmatch(line)
        if not match:
            raise Failure(f'"{line}" is no series')
        labels = tuple(sorted(LABEL.findall(match[2] or '')))
        if labels in found[match[1]]:
            raise Failure(f'"{line}" is there twice')
        found[match[1]][labels] = float(match[3])
    return found


class Page:
    """GET /metrics."""

    def __init__(self, port, context=None):
        self.port, self.context = port, context

    def get(self, accept='', path='/metrics'):
        """(status, content type, text)"""
        connection = http.client.HTTPSConnection('localhost', self.port, context=self.context, timeout=PATIENCE_S) \
            if self.context else http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE_S)
        connection.request('GET', path, headers={'accept': accept} if accept else {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.getheader('content-type'), text

    def series(self):
        status, _, text = self.get()
        if status != 200:
            raise Failure(f'GET /metrics: {status}: {text}')
        return read_series(text)

    def value(self, name, **labels):
        """None: there is no such series."""
        return self.series()[name].get(tuple(sorted(labels.items())))

    def wait(self, name, value, **labels):
        """Until the series has this value, or what value(x) is true of."""
        def look():
            found = self.value(name, **labels)
            return found is not None and (value(found) if callable(value) else found == value)
        wait_for(f'{name} {labels}', look, PATIENCE_S)


def lint(text):
    """What promtool finds in a page of Prometheus's own format."""
    done = subprocess.run([tool_or_skip('promtool'), 'check', 'metrics'], input=text, text=True, capture_output=True,
                          check=False, timeout=LINT_PATIENCE_S)
    return done.returncode, (done.stdout + done.stderr).strip()


def as_older_format(text):
    """OpenMetrics with the names of series in its heads, and without what only it has: promtool reads no other
    form, and Prometheus itself reads this one."""
    counters = set(re.findall(r'^# TYPE (\w+) counter$', text, re.M))
    lines = []
    for line in text.splitlines():
        words = line.split(' ', 3)
        if line == '# EOF' or words[:2] == ['#', 'UNIT'] or re.match(r'\w+_created[ {]', line):
            continue
        if words[0] == '#' and words[2] in counters:
            line = ' '.join([*words[:2], words[2] + '_total', *words[3:]])
        lines.append(line)
    return '\n'.join(lines) + '\n'


def check_open_form(text):
    """The rules of OpenMetrics that a reader of the other format does not see."""
    check('the page ends with # EOF, and with nothing behind it', text.endswith('\n# EOF\n') and
          text.count('# EOF') == 1)
    kinds = dict(re.findall(r'^# TYPE (\w+) (\w+)$', text, re.M))
    units = dict(re.findall(r'^# UNIT (\w+) (\w+)$', text, re.M))
    check('a unit is the end of a name', units and all(name.endswith('_' + unit) for name, unit in units.items()))
    series = read_series(text)
    counters = [name for name, kind in kinds.items() if kind == 'counter']
    check('no counter has a name that ends with _total', not any(name.endswith('_total') for name in counters))
    check('each counter has when it was created', counters and all(
        series[name + '_total'].keys() == series[name + '_created'].keys() for name in counters))
    began = series['udpa_loop_turn_seconds_created'][()]
    check('that is when the node has begun', time.time() - 600 < began <= time.time())


# ---- formats ----

def cluster(name):
    return cluster_pb2.Cluster(name=name)


class Formats:
    def __init__(self, test):
        self.test = test
        self.files = test.issue('node', 'client', 'prometheus', 'stranger')
        self.core = interop.Node(test, 'core')
        with udpa_peer.Peer(test.build, self.core.address, namespace='com.acme') as publisher:
            publisher.publish([('one', cluster('one'))])
        self.edge = self.start_edge()
        port = int(re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*(?:REST|HTTP)', self.edge.text())[1])
        self.page = Page(port, self.context('prometheus'))

    def context(self, name):
        context = ssl.create_default_context(cafile=self.files / 'ca.crt')
        context.load_cert_chain(self.files / f'{name}.crt', self.files / f'{name}.key')
        return context

    def start_edge(self):
        tls = {'certificate_file': f'{self.files}/node.crt', 'private_key_file': f'{self.files}/node.key',
               'client_ca_file': f'{self.files}/ca.crt'}
        dead, = interop.free_ports(1)
        file = self.test.work / 'edge.json'
        file.write_text(json.dumps({
            'workers': 2, 'shim': {'namespaces': ['com.acme']},
            'sockets': [{'address': '127.0.0.1:0', 'tls': tls}],
            'http': {'admin_pages': True, 'sockets': [{'address': '127.0.0.1:0', 'tls': tls}]},
            'acl': {'rules': [{'name': 'scrape', 'identities': ['prometheus'], 'actions': ['ADMIN']},
                              {'name': 'clients', 'identities': ['client'], 'actions': ['SUBSCRIBE', 'PUBLISH']},
                              {'name': 'sources', 'identities': ['core', 'dead'], 'actions': ['PUBLISH'],
                               'on_behalf_of': ['*']}]},
            'static_resources': {'config_sources': [
                {'name': 'core', 'udpa': {'address': self.core.address}},
                {'name': 'dead', 'udpa': {'address': f'127.0.0.1:{dead}'}}]},
            'providers': [{'types': [xds_peer.CLUSTER], 'config_descriptors': [
                {'resource_name': 'core', 'namespace': 'com.acme'}]},
                          {'types': [xds_peer.ENDPOINTS], 'config_descriptors': [
                              {'resource_name': 'dead', 'namespace': 'com.acme'}]}],
        }), encoding='utf-8')
        return interop.Node(self.test, 'edge', port=None, bootstrap=file)

    def credentials(self, name):
        read = [(self.files / part).read_bytes() for part in ('ca.crt', f'{name}.key', f'{name}.crt')]
        return grpc.ssl_channel_credentials(*read)

    def client(self):
        return xds_peer.Client(self.edge.address.replace('127.0.0.1', 'localhost'),
                               credentials=self.credentials('client'), timeout_s=PATIENCE_S)


def check_formats(page):
    """Each by itself, with the values of a moment."""
    status, kind, text = page.get()
    check('the older format is served by default', status == 200 and kind == TEXT)
    found = lint(text)
    check(f'promtool finds nothing in it: {found}', found == (0, ''))
    status, kind, text = page.get(ACCEPT)
    check('OpenMetrics is served to a client that prefers it', status == 200 and kind == OPEN)
    found = lint(as_older_format(text))
    check(f'promtool finds nothing in what it has: {found}', found == (0, ''))
    check_open_form(text)
    series = read_series(text)
    n = sum(len(of) for name, of in series.items() if not name.endswith('_created'))
    check(f'the page has the number of its series: {n}', series['udpa_metrics_series'][()] == n)


def check_processes(page):
    series = page.series()
    check('the node has started not long ago', 0 < time.time() - series['process_start_time_seconds'][()] < 600)
    check('it has open files, fewer than it may', 0 < series['process_open_fds'][()] < series['process_max_fds'][()])
    check('it takes memory and time', series['process_resident_memory_bytes'][()] > 1e6 and
          series['process_cpu_seconds_total'][()] > 0)
    used = {dict(labels)['limit']: value for labels, value in series['udpa_limit_used_ratio'].items()}
    check(f'no limit is reached: {used}', used.keys() == LIMITS and
          all(0 <= value < 0.5 for value in used.values()) and used['open_files'] > 0)
    check('the store has its files', series['udpa_store_size_bytes'][()] > 0 and
          series['udpa_store_log_size_bytes'][()] > 0)
    check('its clock is ours', abs(series['udpa_clock_timestamp_seconds'][()] - time.time()) < 60)
    check('its state directory has room', 0 < series['udpa_store_disk_free_bytes'][()] <=
          series['udpa_store_disk_size_bytes'][()])
    uses = {dict(labels)['use']: value for labels, value in
            series['udpa_certificate_expiry_timestamp_seconds'].items()}
    check(f'certificates of both sockets expire later: {uses}', uses.keys() == {'socket', 'http_socket'} and
          all(value > time.time() for value in uses.values()))


def check_delivery(world):
    """A client acknowledges one response and rejects the next."""
    page, kind = world.page, {'type': xds_peer.CLUSTER}
    page.wait('udpa_resources', 1, **kind)
    with world.client() as client:
        client.send(xds_peer.CLUSTER)
        client.answer(client.receive())
        page.wait('udpa_acks_total', 1, **kind)
        page.wait('udpa_sessions', 1, protocol='xds-delta')
        with udpa_peer.Peer(world.test.build, world.core.address, namespace='com.acme') as publisher:
            publisher.publish([('one', cluster('another'))])
            client.answer(client.receive(), error='no')
            page.wait('udpa_nacks_total', 1, **kind)
            page.wait('udpa_propagations_total', 1, outcome='nacked')
            publisher.publish([('one', cluster('third'))])
            answer = client.receive()
            time.sleep(HESITATION_S)
            client.answer(answer)
            page.wait('udpa_propagations_total', 1, outcome='acknowledged')
        series = page.series()
        spread = series['udpa_propagation_seconds_bucket']
        check('the change that was acknowledged has taken as long as its client', 1 == sum(
            value for of, value in spread.items() if dict(of)['le'] == '+Inf') and
              all(value == 0 for of, value in spread.items() if float(dict(of)['le']) < HESITATION_S))
        labels = tuple(kind.items())
        check('deliveries are counted, and their bytes', series['udpa_deliveries_total'][labels] == 3 and
              series['udpa_delivery_bytes_total'][labels] > 40)
        check('so are updates of the source', series['udpa_updates_accepted_total'][labels] >= 2)
        check('there is one resource of that type', series['udpa_resources'][labels] == 1)
    page.wait('udpa_sessions', 0, protocol='xds-delta')
    check('the stream that is over is still counted as opened',
          page.value('udpa_sessions_opened_total', protocol='xds-delta') == 1)


def check_sources(page):
    page.wait('udpa_source_active', 1, source='core')
    check('the other one is not there', page.value('udpa_source_active', source='dead') == 0 and
          page.value('udpa_source_connected', source='dead') == 0)
    contact = 'udpa_source_last_contact_timestamp_seconds'
    check('this one is there now, that one never was', time.time() - page.value(contact, source='core') < 10 and
          page.value(contact, source='dead') is None)
    page.wait('udpa_source_failures_total', lambda n: n >= 1, source='dead')
    check('it could not even be dialled', page.value('udpa_source_dial_failures_total', source='dead') >= 1)
    check('the other one was', page.value('udpa_source_dial_failures_total', source='core') is None)
    check('the node waits for it', page.value('udpa_unsynchronized', type=xds_peer.ENDPOINTS) == 1)
    check('and for how long', page.series()['udpa_unsynchronized_seconds'][()] > 0)


def check_denials(world):
    """Of a peer without a rule: the page itself, and a publication."""
    status, _, text = Page(world.page.port, world.context('stranger')).get()
    check(f'a client without a rule does not read it: {text}', status == 403)
    with udpa_peer.Peer(world.test.build, world.edge.address.replace('127.0.0.1', 'localhost'), node_id='client',
                        namespace='other.acme', credentials=world.credentials('stranger')) as peer:
        def fill(delta):
            delta.resources.add(name='other.acme/x').resource.type_url = xds_peer.CLUSTER
        check('what it publishes is rejected', peer.publish_delta(fill))
    world.page.wait('udpa_receipts_total', 1, code='permission_denied')
    check('that is counted by its code', world.page.value('udpa_updates_rejected_total',
                                                         code='permission_denied') == 1)
    check('and as denied', world.page.value('udpa_publications_denied_total') >= 1)


def check_handshakes(world):
    """What only the own listener counts."""
    page, address = world.page, ('127.0.0.1', world.edge.port)
    page.wait('udpa_handshakes_total', lambda n: n >= 1)
    with socket.create_connection(address) as peer:
        peer.sendall(b'GET / HTTP/1.1\r\n\r\n')
        page.wait('udpa_handshakes_failed_total', lambda n: n >= 1, reason='protocol')
    socket.create_connection(address).close()
    page.wait('udpa_handshakes_failed_total', lambda n: n >= 1, reason='closed')


def check_workers(world):
    page, pid = world.page, world.edge.process.pid
    workers = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii').split()
    for number in '12':
        page.wait('udpa_worker_up', 1, worker=number)
    os.kill(int(workers[0]), signal.SIGSTOP)
    try:
        page.wait('udpa_worker_up', 0, worker='1')
        check('the other one is up', page.value('udpa_worker_up', worker='2') == 1)
    finally:
        os.kill(int(workers[0]), signal.SIGCONT)
    page.wait('udpa_worker_up', 1, worker='1')


class Prometheus:
    """A real one, that scrapes the node, and has these files of rules."""

    def __init__(self, world, rules=()):
        test, files = world.test, world.files
        self.port, = interop.free_ports(1)
        config = test.work / 'prometheus.yml'
        config.write_text(json.dumps({
            'global': {'evaluation_interval': SCRAPE_INTERVAL}, 'rule_files': [str(file) for file in rules], 'scrape_configs': [{
            'job_name': 'udpad', 'scrape_interval': SCRAPE_INTERVAL, 'scheme': 'https',
            'tls_config': {'ca_file': f'{files}/ca.crt', 'cert_file': f'{files}/prometheus.crt',
                           'key_file': f'{files}/prometheus.key'},
            'static_configs': [{'targets': [f'localhost:{world.page.port}']}]}]}), encoding='utf-8')
        self.process = interop.Process(
            [tool_or_skip('prometheus'), f'--config.file={config}', f'--web.listen-address=127.0.0.1:{self.port}',
             f'--storage.tsdb.path={test.work}/prometheus-data'], test.work / 'prometheus.log')
        test.processes.append(self.process)

    def ask(self, path, **query):
        url = f'http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}'
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                return json.load(answer)['data']
        except OSError: # it has not begun
            return None

    def value(self, query):
        found = self.ask('query', query=query)
        return float(found['result'][0]['value'][1]) if found and found['result'] else None


def check_prometheus(world):
    prometheus = Prometheus(world)
    wait_for('Prometheus scrapes the node', lambda: prometheus.value('up') == 1, PATIENCE_S)
    check('it has what was counted', prometheus.value(f'udpa_nacks_total{{type="{xds_peer.CLUSTER}"}}') == 1)
    check('and quantiles of a histogram', prometheus.value(
        'histogram_quantile(0.99, udpa_loop_turn_seconds_bucket)') is not None)
    unit = prometheus.ask('targets/metadata', metric='udpa_delivery_bytes')
    check(f'it was sent OpenMetrics, which has units: {unit}', unit and unit[0]['unit'] == 'bytes')


def check_older_pages(page):
    """They stay as they were."""
    text = page.get(path='/stats/prometheus')[2]
    check("Envoy's names stay", len(re.findall(r'^udpa_runtime_\w+ \d+$', text, re.M)) == 9)
    check('of /stats, too', len(re.findall(r'^runtime\.\w+: \d+$', page.get(path='/stats')[2], re.M)) == 9)


def formats(test):
    tool_or_skip('promtool')
    tool_or_skip('prometheus')
    world = Formats(test)
    check_sources(world.page)
    check_delivery(world)
    check_denials(world)
    if not os.environ.get('UDPA_TEST_GRPC_CORE'):
        check_handshakes(world)
    check('the store has committed what the source has sent', world.page.series()['udpa_store_commit_seconds_count'][()]
          == world.page.value('udpa_store_committed_batches_total') > 0)
    check_formats(world.page)
    check_processes(world.page)
    check_workers(world)
    check_older_pages(world.page)
    check_prometheus(world)


# ---- many_types ----

def subscribe(peer, first):
    """To all of so many types."""
    for i in range(first, first + TYPES_OF_A_STREAM):
        message = peer.udpa_message()
        message.subscribe.type_url = f'{udpa_peer.PREFIX}com.acme.T{i}'
        message.subscribe.resource_names.append('*')
        peer.outbox.put(message)


def many_types(test):
    file = test.work / 'node.json'
    file.write_text(json.dumps({'sockets': [{'address': '127.0.0.1:0'}], 'workers': 1,
                                'http': {'sockets': [{'address': '127.0.0.1:0'}]}}), encoding='utf-8')
    node = interop.Node(test, 'node', port=None, bootstrap=file)
    page = Page(int(re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*(?:REST|HTTP)', node.text())[1]))
    before = len(page.series()['udpa_resources'])
    with udpa_peer.Peer(test.build, node.address) as publisher:
        publisher.publish((f'r{i}', any_pb2.Any(type_url=f'{udpa_peer.PREFIX}com.acme.T{i}', value=b''))
                          for i in range(TYPES))
        page.wait('udpa_resources', TYPES - 100, type='other')
        check('the others have series of their own', len(page.series()['udpa_resources']) == before + 101)
        for first in range(0, TYPES, TYPES_OF_A_STREAM):
            with udpa_peer.Peer(test.build, node.address, node_id=f'client-{first}') as client:
                subscribe(client, first)
                n_left = TYPES_OF_A_STREAM # the others are that a type is complete
                while n_left:
                    n_left -= len(client.next_message('publish').publish.delta.resources)
        page.wait('udpa_deliveries_total', lambda n: n >= TYPES - 200, type='other')
        begin = time.monotonic()
        texts = [page.get(accept)[2] for accept in ('', ACCEPT)]
        took_s = time.monotonic() - begin
        counts = [sum(map(len, read_series(text).values())) for text in texts]
        check(f'there are {counts[0]} series, {counts[1]} as OpenMetrics', max(counts) <= MOST_SERIES)
        print(f'two pages took {took_s * 1000:.0f} ms', flush=True)
        found = lint(texts[0]) if shutil.which('promtool') else (0, '')
        check(f'promtool finds nothing in it: {found}', found == (0, ''))


# ---- memory ----

def memory_of(page):
    return {dict(labels)['module']: value for labels, value in page.series()['udpa_memory_bytes'].items()}


def memory(test):
    """What resources and streams take is counted by module, in the node and in its worker."""
    file = test.work / 'node.json'
    file.write_text(json.dumps({'sockets': [{'address': '127.0.0.1:0'}], 'workers': 1,
                                'shim': {'namespaces': ['com.acme']},
                                'http': {'sockets': [{'address': '127.0.0.1:0'}]}}), encoding='utf-8')
    node = interop.Node(test, 'node', port=None, bootstrap=file)
    page = Page(int(re.search(r'listening on 127\.0\.0\.1:(\d+) \([^)]*(?:REST|HTTP)', node.text())[1]))
    payloads = HEAVY * HEAVY_BYTES
    with udpa_peer.Peer(test.build, node.address, namespace='com.acme') as publisher:
        publisher.publish([('warm', cluster('warm'))])
        page.wait('udpa_resources', 1, type=xds_peer.CLUSTER)
        page.wait('udpa_memory_bytes', lambda n: n > 0, module='sessions')
        before = memory_of(page)
        text = 'x' * HEAVY_BYTES
        publisher.publish([(f'n{i}', cluster_pb2.Cluster(name=f'n{i}', alt_stat_name=text)) for i in range(HEAVY)])
        for module in ('store', 'fanout'):
            page.wait('udpa_memory_bytes', lambda n, least=before[module] + payloads: n > least, module=module)
        streams = [xds_peer.Client(node.address, node_id=f'client-{i}') for i in range(HEAVY_STREAMS)]
        try:
            for stream in streams:
                stream.send(xds_peer.CLUSTER)
            for stream in streams:
                stream.receive()
            least = before['sessions'] + HEAVY_STREAMS * 500
            page.wait('udpa_memory_bytes', lambda n: n > least, module='sessions')
            if 'connections' in before:
                page.wait('udpa_memory_bytes', lambda n: n > before['connections'] + HEAVY_STREAMS * 5000,
                          module='connections')
            begin = time.monotonic()
            page.get()
            check('the page is made quickly', time.monotonic() - begin < 1)
        finally:
            for stream in streams:
                stream.__exit__()
        page.wait('udpa_memory_bytes', lambda n: n < before['sessions'] + 4000, module='sessions')
        if 'connections' in before:
            page.wait('udpa_memory_bytes', before['connections'], module='connections')
        publisher.remove('envoy.config.cluster.v3.Cluster', [f'n{i}' for i in range(HEAVY)])
        for module in ('store', 'fanout'):
            page.wait('udpa_memory_bytes', lambda n, most=before[module] + payloads / 2: n < most, module=module)


VARIANTS = {'formats': formats, 'many_types': many_types, 'memory': memory}

if __name__ == '__main__':
    sys.exit(interop.run(__doc__, lambda test: VARIANTS[test.variant](test), tuple(VARIANTS)))
