# SPDX-License-Identifier: Apache-2.0
"""The servers that are measured: udpad, as it is configured for a point, and those beside it. Each
is started for one run, on ports of its own, and ended by its handle."""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
from functools import partial

import etcd
from programs import SOURCE, Failure, Unavailable, build_c, build_go, build_unmeasured

START_PATIENCE_S = 120  # a cache of 100,000 resources takes its time
END_PATIENCE_S = 20
LISTENING = re.compile(r'listening on (\S+?),?(?:$|\s)')
CONTROL = re.compile(r'control (\S+)')
ENDPOINTS = 'envoy.config.endpoint.v3.ClusterLoadAssignment'
ON_ETCD = tuple(f'replicas-{kind}' for kind in etcd.KINDS)
UNMEASURED = 'udpad-unmeasured'
TRACES = 'traces'
UDPAD = ('udpad', 'udpad-durable', 'udpad-acl', 'udpad-workers', 'udpad-hops', 'udpad-reports', 'udpad-core',
         UNMEASURED, 'udpad-unaudited', 'udpad-traced', 'udpad-sampled', *ON_ETCD)
TRACED = {'udpad-traced': 1, 'udpad-sampled': 0.01} # and how much of what is changed
TRACES_PER_SECOND = 1000
KINDS = UDPAD + ('linear', 'snapshot', 'bare', 'floor', 'lrs')
IN_C = ('floor', 'bare', 'reports')
CLIENT = 'bench'
REPLICAS = ('a', 'b')
PREFIX = '/udpa/bench'
BARRIER = '/tick/'  # in the keys that replicas write for streams


class Certificates:
    """Made when they are first needed, for this run of the benchmark alone."""

    def __init__(self, work):
        self.folder = work / 'certificates'

    def files(self, name, *options):
        """The files of who is called so: of its authorities, of its certificate and of its key."""
        subprocess.run([SOURCE / 'certs' / 'make-development-ca', self.folder, name, *options],
                       check=True, stdout=subprocess.DEVNULL)
        return [self.folder / file for file in ('ca.crt', f'{name}.crt', f'{name}.key')]

    def client_options(self):
        return options_of(self.files(CLIENT, '--client-only'))

    def server_options(self):
        return options_of(self.files('server'))


def options_of(files):
    return [str(part) for pair in zip(('--ca', '--cert', '--key'), files) for part in pair]


class Programs:
    """Where everything is, and what cannot be had."""

    def __init__(self, build, work):
        self.build = build
        self.certificates = Certificates(work)
        self.work = work
        self.built = {}

    def udpad(self, kind='udpad'):
        if kind != UNMEASURED:
            return self.build / 'udpad'
        if kind not in self.built:
            self.built[kind] = build_unmeasured()
        return self.built[kind]

    def udpactl(self):
        return self.build / 'udpactl'

    def peer(self, kind):
        """The program of a server that is measured beside udpad, or of clients of its own kind, built
        if need be."""
        if kind not in self.built:
            build = partial(build_c, self.build) if kind in IN_C else build_go
            try:
                self.built[kind] = build(kind)
            except Unavailable as reason:
                self.built[kind] = reason
        if isinstance(self.built[kind], Unavailable):
            raise self.built[kind]
        return self.built[kind]


class Process:
    """A server that has said where it listens."""

    def __init__(self, name, command, work):
        self.name, self.command = name, command
        self.log = work / f'{name}.log'
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)
        try:
            self.address, self.control = self.wait()
        except BaseException:
            self.end()
            raise

    def text(self):
        return self.log.read_text(encoding='utf-8', errors='replace')

    def wait(self):
        end = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < end and self.process.poll() is None:
            whole = self.text().rpartition('\n')[0]
            if found := LISTENING.search(whole):
                control = CONTROL.search(whole)
                return found.group(1), control.group(1) if control else ''
            time.sleep(0.01)
        raise Failure(f'{self.name} does not listen: {self.text()[-500:]}')

    def pids(self):
        """Of the process and of those that it has started."""
        pid = self.process.pid
        children = pathlib.Path(f'/proc/{pid}/task/{pid}/children')
        more = children.read_text(encoding='ascii').split() if children.exists() else []
        return [str(pid), *more]

    def end(self):
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(END_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# ---- how udpad is configured ----

def socket_of(load, certificates):
    socket = {'address': '127.0.0.1:0'}
    if load.tls:
        ca, certificate, key = certificates.files('server')
        socket['tls'] = {'certificate_file': str(certificate), 'private_key_file': str(key),
                         'client_ca_file': str(ca)}
    return socket


def bootstrap_of(kind, load, certificates, work):
    """Nothing is kept on disk, as by those beside it, unless that is what is measured."""
    bootstrap = {
        'node': {'id': kind},
        'sockets': [socket_of(load, certificates)],
        'shim': {'namespaces': ['com.acme', 'org.acme']},
        'store': {'in_memory': True},
        'log': {'level': 'WARNING'},
        'timing': {'drain_delay': '0s', 'drain_time': '0s'},
    }
    if kind in ('udpad-durable', 'udpad-unaudited'):
        bootstrap['store'] = {'directory': str(work / 'state')}
    if kind == 'udpad-unaudited':
        bootstrap['audit'] = {'off': True}
    if kind == 'udpad-workers':
        bootstrap['workers'] = 2
    if kind == 'udpad-core':
        bootstrap['transport'] = 'GRPC_CORE'
    if kind == 'udpad-reports':
        bootstrap['shim'] = {'default_namespace': 'com.acme'}
        bootstrap['load_reporting'] = {'interval': '1s'}
        bootstrap['limits'] = {'max_streams_per_identity': 20000}  # they count as one
    if kind == 'udpad-acl':
        # The last one is what counts, behind others that have to be looked at.
        others = [{'name': f'tenant-{i}', 'identities': [f'tenant-{i}'],
                   'actions': ['PUBLISH', 'SUBSCRIBE'], 'namespaces': [f'com.acme.tenant-{i}']}
                  for i in range(100)]
        bootstrap['acl'] = {'rules': others + [
            {'name': 'bench', 'identities': [CLIENT], 'actions': ['PUBLISH', 'SUBSCRIBE'],
             'namespaces': ['com.acme'], 'types': [ENDPOINTS]}]}
    return bootstrap


def edge_of(core, load, certificates, work):
    """A node that takes everything from the core."""
    bootstrap = bootstrap_of('edge', load, certificates, work)
    source = {'address': core}
    if load.tls:
        ca, certificate, key = certificates.files('edge')
        source['tls'] = {'ca_file': str(ca), 'certificate_file': str(certificate),
                         'private_key_file': str(key)}
    bootstrap['static_resources'] = {'config_sources': [{'name': 'core', 'udpa': source}]}
    bootstrap['providers'] = [{'types': [ENDPOINTS], 'config_descriptors': [
        {'resource_name': 'core', 'namespace': 'com.acme'}]}]
    return bootstrap


def replica_of(name, cluster, load, certificates, work):
    bootstrap = bootstrap_of('replica', load, certificates, work)
    bootstrap['store'] = {'directory': str(work / f'{name}-state'), 'engine': 'ETCD',
                          'endpoints': cluster.endpoints, 'prefix': PREFIX,
                          'accept_above_share': True} # all clients are those of one replica
    return bootstrap


class Server:
    """What is measured in a run: one process, or several; its files are kept if something fails."""

    def __init__(self, run, programs):
        self.run, self.programs = run, programs
        self.work = pathlib.Path(tempfile.mkdtemp(prefix=f'{run.server}-', dir=programs.work))
        self.processes = []
        self.cluster = None  # of etcd
        self.collector = None  # of traces
        try:
            self.start()
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.end()
        if kind is None:
            shutil.rmtree(self.work)

    def start(self):
        kind, load = self.run.server, self.run.load
        certificates = self.programs.certificates
        if kind in ON_ETCD:
            self.start_replicas(kind.partition('-')[2])
        elif kind in UDPAD:
            bootstrap = bootstrap_of(kind, load, certificates, self.work)
            if kind in TRACED:
                self.collector = Process(TRACES, [self.programs.peer(TRACES)], self.work)
                bootstrap['traces'] = {'address': self.collector.address, 'ratio': TRACED[kind],
                                       'per_second': TRACES_PER_SECOND}
            first = self.start_udpad(bootstrap)
            if kind == 'udpad-hops':
                self.start_udpad(edge_of(first.address, load, certificates, self.work))
        else:
            self.processes.append(Process(kind, self.peer_command(kind, load), self.work))

    def start_replicas(self, etcd_kind):
        self.cluster = etcd.Cluster(etcd_kind, self.work)
        for name in REPLICAS:
            self.start_udpad(replica_of(name, self.cluster, self.run.load,
                                        self.programs.certificates, self.work), name)

    def start_udpad(self, bootstrap, name=None):
        name = name or bootstrap['node']['id']
        file = self.work / f'{name}.json'
        file.write_text(json.dumps(bootstrap, indent=1), encoding='utf-8')
        program = self.programs.udpad(self.run.server)
        check = subprocess.run([program, '--check', '-c', file], text=True, capture_output=True, check=False)
        if check.returncode != 0 and name == 'udpad-workers':
            raise Unavailable('this udpad has no workers')
        if check.returncode != 0:
            raise Failure(f'{name}: {(check.stderr + check.stdout).strip()[-500:]}')
        self.processes.append(Process(name, [program, '-c', file], self.work))
        return self.processes[-1]

    def peer_command(self, kind, load):
        if kind == 'lrs':
            return [self.programs.peer('lrs')]
        if kind in ('linear', 'snapshot'):
            command = [self.programs.peer('gcp'), '--cache', kind]
        else:
            command = [self.programs.peer(kind)]
        command += ['--resources', load.resources, '--size', load.size]
        return command + (self.programs.certificates.server_options() if load.tls else [])

    def start_last_again(self):
        """On an empty directory, if it has etcd; else with what it has."""
        last = self.processes.pop()
        last.end()
        if self.cluster:
            shutil.rmtree(self.work / f'{last.name}-state')
        self.processes.append(Process(last.name, last.command, self.work))

    @property
    def first(self):
        return self.processes[0]

    @property
    def last(self):
        return self.processes[-1]

    def n_barriers(self):
        """Writes that streams have waited for."""
        return self.cluster.n_writes(PREFIX, BARRIER) if self.cluster else 0

    def end(self):
        for process in reversed(self.processes):
            process.end()
        if self.collector:
            self.collector.end()
        if self.cluster:
            self.cluster.end()

    def client_options(self, load):
        """Of udpactl bench with this load: whom to talk to, and how changes are made."""
        first, last = self.first, self.first if self.cluster else self.last
        pids = [pid for process in self.processes if process is last or not self.cluster
                for pid in process.pids()]
        options = ['--server', last.address, '--pid', ','.join(pids)]
        if self.run.load.tls:
            options += self.programs.certificates.client_options()
        if load.idle:
            return options
        if last.control:
            return options + ['--control', last.control]
        if not load.publishes:
            return options
        return options + (['--publish'] if first is last else ['--publish-to', first.address])
