# SPDX-License-Identifier: Apache-2.0
"""The points at which udpad is measured, each beside others, and the lines of the table that they
show. A point is a few runs, which are made in turn; a run is a server and a load."""
import dataclasses

import figures
import replicas
import reporting
from figures import CPU, Difference, Figure, Growth, Line, Quotient, at

MAX_CHANGES = 20000
DELIVERIES = 300000  # enough for the clock that the kernel counts processor time by
MIN_CHANGES = 200

PEERS = ('linear', 'snapshot')
FLOORS = ('bare', 'floor')
TOO_LONG = 'would take minutes'
SLOW_MB = 200
TEN = 10  # repeats, where it is about hundredths


@dataclasses.dataclass(frozen=True)
class Form:
    """How much is measured."""
    is_full: bool
    seconds: int  # of changes, in each run
    repeats: int


SHORT = Form(False, 2, 1)
FULL = Form(True, 5, 3)


@dataclasses.dataclass(frozen=True)
class Load:
    """What the clients do: the options of udpactl bench."""
    streams: int = 1000
    resources: int = 1000
    connections: int = 0  # 0: one for each stream
    protocol: str = 'delta'
    size: int = 300
    names: int = 0  # 0: all, by wildcard
    tls: bool = False
    changes: int | None = None  # None: as many as can be measured well
    rate: float = 0  # 0: the next one when all have had it
    depth: int = 1
    slow: int = 0
    slow_rate: int = 0
    reconnect: bool = False
    idle: bool = False
    receipts: bool = False
    seconds: int = 0  # 0: as long as the form has changes
    namespaces: int = 0  # 0: the one that clients of xDS are shown
    namespaces_each: int = 0  # of these, that each stream asks for; 0: one
    of: str = ''  # whose streams, resources and namespace; '': the usual ones
    publishes = True

    def program(self, programs):
        return [programs.udpactl(), 'bench', '-o', 'json']

    def n_changes(self, seconds):
        if self.changes is not None:
            return self.changes
        if self.rate:
            return int(self.rate * seconds)
        return max(MIN_CHANGES, min(MAX_CHANGES, DELIVERIES // self.streams))

    def options(self, seconds):
        seconds = self.seconds or seconds
        options = ['--protocol', self.protocol, '--streams', self.streams,
                   '--resources', self.resources, '--size', self.size,
                   '--changes', self.n_changes(seconds), '--seconds', seconds]
        for name, usual in (('connections', 0), ('names', 0), ('rate', 0), ('depth', 1),
                            ('slow', 0), ('slow_rate', 0), ('namespaces', 0),
                            ('namespaces_each', 0)):
            value = getattr(self, name)
            if value != usual:
                options += [f'--{name.replace("_", "-")}', f'{value:g}']
        options += ['--node-id', self.of] if self.of else []
        options += ['-n', self.of or 'com.acme']
        options += ['--reconnect'] if self.reconnect else []
        options += ['--idle'] if self.idle else []
        options += ['--receipts'] if self.receipts else []
        return [str(option) for option in options]

    def n_connections(self):
        return self.connections or self.streams


@dataclasses.dataclass(frozen=True)
class Run:
    label: str
    server: str  # of servers.KINDS
    load: Load
    skipped: str = ''  # why it is not made
    neighbour: Load | None = None  # what somebody else does there at the same time


@dataclasses.dataclass(frozen=True)
class Point:
    name: str
    title: str
    runs: tuple[Run, ...]
    lines: tuple[Line, ...] = ()
    repeats: int | None = None  # if not those of the form


def beside(load, servers, skipped=None):
    """The same load on each of these servers, which are the labels of the runs, too."""
    return tuple(Run(server, server, load, (skipped or {}).get(server, '')) for server in servers)


def varied(server, loads, skipped=None):
    """Different loads on one server: {label: load}."""
    return tuple(Run(label, server, load, (skipped or {}).get(label, ''))
                 for label, load in loads.items())


CORE = 'udpad-core' # served by gRPC's C core

SYNC_MS = at('sync.ms')
P50_US = at('changes.p50_us')
PER_S = at('changes.per_s')


def cpu(over_label, under_label):
    """How many times more CPU a delivery costs the one run than the other."""
    return Quotient(at(CPU), over_label, under_label, unit='s/M')


def against(peer, must, aim, reach=None):
    """How many times more CPU a delivery costs the peer."""
    return Line(f'CPU per delivery: {peer} / udpad', cpu(peer, 'udpad'), must, aim,
                is_more_better=True, reach=reach)


def over(floor, must, aim, reach=None):
    """How many times more CPU a delivery costs than one of the floors."""
    return Line(f'CPU per delivery: udpad / {floor}', cpu('udpad', floor), must, aim, reach=reach)


def stream_memory(label, title='memory per stream'):
    return Line(title, Figure(figures.stream_kb, label, unit='kB'), 50, 32, 'kB')


# ---- what must be shown ----

def delta(form):
    servers = ('udpad', 'bare', 'linear') + (('floor', 'snapshot') if form.is_full else ())
    sync_cpu = Quotient(at('sync.server_cpu_ms'), 'linear', 'udpad', unit='ms')
    return Point('delta', '1,000 streams of delta xDS, wildcard, 1,000 resources',
                 beside(Load(), servers), (
        against('linear', 36, 45, reach=25),
        over('bare', 1.25, 1),
        Line('initial sync, CPU: linear / udpad', sync_cpu, 6, 10, is_more_better=True),
        stream_memory('udpad')))


def mtls(_form):
    return Point('mtls', 'the same over mutual TLS',
                 beside(Load(tls=True), ('udpad', 'linear')), (against('linear', 24, 28, reach=17),))


def small(form):
    servers = ('udpad', 'linear') + (('bare', 'floor', 'snapshot') if form.is_full else ())
    return Point('small', '1,000 streams, 10 resources: how the stacks themselves differ',
                 beside(Load(resources=10), servers), (against('linear', 3.5, 5),))


def resources(form):
    n_streams = 100 if form.is_full else 10
    sizes = (10, 1000, 10000, 100000) if form.is_full else (10, 100000)
    loads = {n: Load(streams=n_streams, resources=n) for n in sizes}
    runs = varied('udpad', {f'udpad R={n}': load for n, load in loads.items()})
    if form.is_full:
        runs += varied('linear', {f'linear R={n}': load for n, load in loads.items()},
                       {'linear R=100000': TOO_LONG})
    worst = Growth(at(CPU), *[f'udpad R={n}' for n in sizes], unit='s/M')
    return Point('resources', f'{n_streams} streams, 10 to 100,000 resources', runs,
                 (Line('CPU per delivery: worst / with 10 resources', worst, 1.3, 1.1),))


def streams(form):
    sizes = (1, 100, 1000, 5000) if form.is_full else (1000, 5000)
    loads = {n: Load(streams=n) for n in sizes}
    runs = varied('udpad', {f'udpad S={n}': load for n, load in loads.items()})
    if form.is_full:
        for server in ('floor', 'linear'):
            runs += varied(server, {f'{server} S={n}': load for n, load in loads.items()})
    return Point('streams', f'{sizes[0]:,} to 5,000 streams, 1,000 resources', runs, (
        Line('CPU per delivery: 5,000 streams / 1,000', cpu('udpad S=5000', 'udpad S=1000'),
             1.6, 1.2),
        stream_memory('udpad S=5000', 'memory per stream, of 5,000')))


def sotw_names(_form):
    return Point('sotw-names', 'state of the world, 1,000 streams with 100 names each',
                 beside(Load(protocol='sotw', names=100), ('udpad', 'linear')),
                 (against('linear', 10, 30, reach=6),))


def sync_many(form):
    servers = ('udpad', 'linear', 'floor') + (('snapshot', 'bare') if form.is_full else ())
    return Point('sync-many', '100,000 resources, one stream',
                 beside(Load(streams=1, resources=100000, changes=20), servers), (
        Line('initial sync, time: linear / udpad', Quotient(SYNC_MS, 'linear', 'udpad', unit='ms'),
             15, None, is_more_better=True),
        Line('initial sync, time: udpad / floor', Quotient(SYNC_MS, 'udpad', 'floor', unit='ms'),
             None, 1.5),
        Line('memory per resource above its payload',
             Figure(figures.overhead_bytes, 'udpad', unit='B'), 300, 200, 'B')))


def idle_mtls(form):
    n_streams = 2000 if form.is_full else 1000
    load = Load(streams=n_streams, resources=10, tls=True, changes=0, idle=True)
    return Point('idle-mtls', f'{n_streams:,} idle connections with mutual TLS',
                 beside(load, ('udpad', 'linear')), (
        Line('memory per connection: udpad / linear',
             Quotient(figures.connection_kb, 'udpad', 'linear', unit='kB'), 0.9, 0.7),
        Line('CPU per handshake: udpad / linear',
             Quotient(figures.handshake_ms, 'udpad', 'linear', unit='ms'), 1, 0.8)))


def partial(form):
    servers = ('udpad', 'floor') + (('bare',) if form.is_full else ())
    # Where the machine is too busy changes go out together, and a delivery looks cheap.
    ratio = Quotient(figures.message_us, 'udpad', 'floor', unit='us')
    return Point('partial', '1,000 streams, 50 changes a second', beside(Load(rate=50), servers),
                 (Line('CPU per message: udpad / floor', ratio, 5, 3),))


def mux(form):
    servers = ('udpad', 'linear') + (('bare', 'floor') if form.is_full else ())
    own = Line('CPU per million deliveries', Figure(at(CPU), 'udpad', unit='s'), 5, 2.5, 's')
    return Point('mux', '1,000 streams over 10 connections',
                 beside(Load(connections=10), servers), (against('linear', 30, None), own))


def slow(form):
    load = Load(streams=20, size=2048, slow=5, changes=20000, depth=8, seconds=30)
    runs = beside(load, ('udpad',))
    if form.is_full:
        runs += beside(dataclasses.replace(load, changes=200), ('linear',))
    return Point('slow', '5 of 20 streams never read', runs, (
        Line(f'memory added while {SLOW_MB} MB are withheld',
             Figure(figures.slow_mb(SLOW_MB), 'udpad', unit='MB'), 5, 1, 'MB'),))


def latency(form):
    servers = ('udpad', 'linear', 'bare') + (('floor', 'snapshot') if form.is_full else ())
    return Point('latency', 'latency with one stream, 1,000 resources',
                 beside(Load(streams=1), servers), (
        Line('p50: udpad / linear', Quotient(P50_US, 'udpad', 'linear', unit='us'), 0.5, 0.45),
        Line('p50: udpad / bare', Quotient(P50_US, 'udpad', 'bare', unit='us'), None, 1.3)))


CONSUL = (
    Line('most that a stream is behind',
         Figure(at('changes.max_us'), 'udpad', unit='ms', scale=1e-3), 500, 250, 'ms'),
    Line('processors kept busy', Figure(figures.processors, 'udpad'), 1, 0.5, ''))


def consul(_form):
    """The shape of Consul's own test of scale, if every proxy is shown everything."""
    load = Load(streams=5000, resources=5000, rate=250)
    return Point('consul', '5,000 streams, 5,000 resources, wildcard, 250 changes a second',
                 beside(load, ('udpad', 'linear'), {'linear': TOO_LONG}), CONSUL)


def consul_names(_form):
    """The same, if each asks for what it needs."""
    load = Load(streams=5000, resources=5000, names=10, rate=250)
    return Point('consul-names', 'the same, each stream with 10 names',
                 beside(load, ('udpad', 'linear')), CONSUL)


def tenants(_form):
    # Each resource is changed once, lies in a namespace of its own, and one of twenty is looked at.
    few, many = (Load(protocol='udpa', streams=n, resources=20000, namespaces=20000, changes=20000,
                      rate=5000, seconds=5) for n in (1, 1000))
    change = Quotient(figures.change_us(0.1), 'udpad S=1000', 'udpad S=1', unit='us')
    return Point('tenants', 'changes that touch nobody: 1,000 streams, each with a namespace of its '
                 'own', varied('udpad', {'udpad S=1': few, 'udpad S=1000': many}),
                 (Line('CPU per change: 1,000 streams / one', change, 1.25, 1.1),))


def namespaces(_form):
    load = Load(protocol='udpa', streams=500, resources=50000, namespaces=2000, namespaces_each=4,
                changes=0)
    return Point('namespaces', '500 streams, each with four of 2,000 namespaces of 25 resources',
                 beside(load, ('udpad',)), (
        Line('initial sync', Figure(at('sync.ms'), 'udpad', unit='ms'), 3000, None, 'ms'),
        Line('initial sync, CPU', Figure(at('sync.server_cpu_ms'), 'udpad', unit='ms'), 3000, None,
             'ms')))


def others_p99(label, usual, must=2, aim=None):
    """What one has done to the others."""
    return Line(f'p99 of the others: {label} / {usual}',
                Quotient(at('changes.p99_us'), label, usual, unit='us'), must, aim)


def bounded(label):
    return Line(f'memory added by changes: {label}', Figure(figures.grown_mb, label, unit='MB'), 10,
                None, 'MB')


def readers(_form):
    load = Load(streams=20, size=8192, rate=500)
    never, slowly = 'two never read', 'two read 1 KB/s'
    loads = {'all read': load, never: dataclasses.replace(load, slow=2),
             slowly: dataclasses.replace(load, slow=2, slow_rate=1000)}
    return Point('readers', '20 streams, 4 MB a second for each, of which two do not keep up',
                 varied('udpad', loads), (
        others_p99(never, 'all read'), bounded(never),
        others_p99(slowly, 'all read'), bounded(slowly)))


LOUD_RATE = 10000


def neighbour(_form):
    load = Load(streams=100, rate=50)
    loud = Load(protocol='udpa', streams=1, resources=10000, rate=LOUD_RATE, of='loud')
    beside_one = 'beside it'
    return Point('neighbour', f'another tenant makes {LOUD_RATE:,} changes a second',
                 (Run('alone', 'udpad', load), Run(beside_one, 'udpad', load, neighbour=loud)), (
        others_p99(beside_one, 'alone'), bounded(beside_one),
        Line('changes a second of the other', Figure(figures.neighbour_per_s, beside_one), unit='/s',
             is_more_better=True)))


def storm(_form):
    load = Load(streams=100, rate=50, tls=True)
    many = Load(streams=1000, tls=True, idle=True, changes=0)
    beside_them = 'beside them'
    return Point('storm', '1,000 connect with mutual TLS, again and again',
                 (Run('alone', 'udpad', load), Run(beside_them, 'udpad', load, neighbour=many)), (
        others_p99(beside_them, 'alone', 3, 1.5),
        Line('handshakes a second', Figure(figures.handshakes_per_s, beside_them), unit='/s',
             is_more_better=True)))


def reconnect(form):
    load = Load(streams=5000, changes=1, reconnect=True)
    runs = beside(load, ('udpad', 'linear') if form.is_full else ('udpad',))
    if form.is_full:
        runs += (Run('udpad, TLS', 'udpad', dataclasses.replace(load, tls=True)),)
    return Point('reconnect', '5,000 streams come back, and nothing has changed', runs, (
        Line('payloads sent', Figure(at('reconnect.resources'), 'udpad'), 0, 0, ''),
        Line('time', Figure(at('reconnect.ms'), 'udpad', unit='ms'), 1300, 900, 'ms', reach=1900),
        *([Line('time, TLS', Figure(at('reconnect.ms'), 'udpad, TLS', unit='ms'), 6000, 4500, 'ms')]
          if form.is_full else [])))


def hops(_form):
    load = Load(streams=1)
    added = Difference(P50_US, 'two nodes', 'one node', unit='ms', scale=1e-3)
    return Point('hops', 'core -> edge -> client, beside one node',
                 (Run('one node', 'udpad', load), Run('two nodes', 'udpad-hops', load)),
                 (Line('latency added, p50', added, 0.5, 0.2, 'ms'),))


def publish(form):
    memory, durable = (Load(streams=1, resources=n, changes=1)
                       for n in ((100000, 50000) if form.is_full else (50000, 10000)))
    into = {label: Figure(at('publish.per_s'), label) for label in ('in memory', 'durable')}
    return Point('publish', 'one publisher that asks for receipts',
                 (Run('in memory', 'udpad', memory), Run('durable', 'udpad-durable', durable)), (
        Line('publishes into memory', into['in memory'], 50000, 100000, '/s', is_more_better=True),
        Line('publishes into the durable store', into['durable'], 5000, 10000, '/s',
             is_more_better=True)))


def commit_first(form):
    """What it costs that a publication is effective only when it was committed."""
    load = Load(streams=1, rate=100, size=replicas.SIZE, receipts=True, seconds=form.seconds)
    both = ('durable', 'in memory')
    return Point('commit-first', 'one publisher, 100 a second, one client',
                 (Run('in memory', 'udpad', load), Run('durable', 'udpad-durable', load)), (
        Line('publish to client, p50: durable / in memory', Quotient(P50_US, *both, unit='us')),
        Line('publish to receipt, p50: durable / in memory',
             Quotient(at('receipts.p50_us'), *both, unit='us')),
        Line('publish to receipt, p99: durable / in memory',
             Quotient(at('receipts.p99_us'), *both, unit='us'))))


def on_etcd(load, with_sqlite=True):
    """The same on replicas, with an etcd of each kind, beside a node that has SQLite alone."""
    runs = tuple(Run(label, f'replicas-{kind}', load) for kind, label in replicas.LABELS.items())
    return ((Run(replicas.SQLITE, 'udpad-durable', load),) if with_sqlite else ()) + runs


def replica_publishing(form):
    n = 100000 if form.is_full else 10000
    return Point('replicas', f'two replicas, three members of etcd, {n:,} resources',
                 on_etcd(replicas.Publishing(resources=n)), tuple(replicas.publishing_lines()))


def replica_leader(_form):
    return Point('replicas-leader', 'the leader of etcd is killed',
                 on_etcd(replicas.Leader(), with_sqlite=False), tuple(replicas.leader_lines()))


def replica_streams(_form):
    return Point('replicas-streams', '5,000 streams begin at once at a replica',
                 on_etcd(replicas.Streams(streams=5000, resources=10)),
                 tuple(replicas.stream_lines()))


def replica_fan_out(form):
    return Point('replicas-fan-out', '1,000 streams of delta xDS at the replica that is published to',
                 on_etcd(Load()), tuple(replicas.fan_out_lines()), 10 if form.is_full else None)


def reports_of(name, title, sizes, **more):
    runs = varied('udpad-reports', reporting.loads(sizes, 'udpad', **more)) + varied(
        'lrs', reporting.loads(sizes, 'lrs', **more))
    return Point(name, title, runs, reporting.lines(sizes))


def reports(form):
    sizes = (100, 1000, 10000) if form.is_full else (100, 1000)
    return reports_of('reports', f'100 to {sizes[-1]:,} clients report one cluster each second', sizes)


def reports_ten(_form):
    return reports_of('reports-10', 'the same, ten clusters each', (100, 1000, 10000), clusters=10)


def reports_mux(_form):
    return reports_of('reports-mux', 'the same, one cluster, 100 clients on each connection',
                      (1000, 10000), connections=100)


# ---- what is shown besides, of which nothing is asked ----

def big_resources(_form):
    return Point('size', '1,000 streams, resources of 2 KB',
                 beside(Load(size=2048), ('udpad',) + FLOORS + PEERS))


def delta_names(_form):
    return Point('delta-names', 'delta, 1,000 streams with 100 names each',
                 beside(Load(names=100), ('udpad',) + PEERS))


def sotw(_form):
    return Point('sotw', 'state of the world, 1,000 streams, wildcard',
                 beside(Load(protocol='sotw'), ('udpad',) + PEERS))


def depth(_form):
    return Point('depth', '1,000 streams, eight changes on the way at once',
                 beside(Load(depth=8), ('udpad',) + FLOORS + PEERS))


def mux_many(_form):
    return Point('mux-many', '5,000 streams over 500 connections',
                 beside(Load(streams=5000, connections=500), ('udpad',) + FLOORS + ('linear',)))


def idle(_form):
    load = Load(streams=5000, resources=10, changes=0, idle=True)
    return Point('idle', '5,000 idle connections', beside(load, ('udpad', 'bare', 'linear')))


def udpa(_form):
    return Point('udpa', '1,000 streams of UDPA, beside delta xDS of the same node',
                 varied('udpad', {'xDS': Load(), 'UDPA': Load(protocol='udpa')}), (
        Line('CPU per delivery: UDPA / delta xDS', cpu('UDPA', 'xDS')),))


def rules(_form):
    load = Load(tls=True)
    return Point('rules', '1,000 streams with mutual TLS, with and without rules on who sees what',
                 (Run('none', 'udpad', load), Run('rules', 'udpad-acl', load)), (
        Line('CPU per delivery: with rules / without', cpu('rules', 'none')),))


def workers(_form):
    load = Load()
    return Point('workers', '1,000 streams, two workers beside one',
                 (Run('one', 'udpad', load), Run('two', 'udpad-workers', load)), (
        Line('CPU per delivery: two workers / one', cpu('two', 'one')),
        Line('deliveries a second: two workers / one', Quotient(PER_S, 'two', 'one', unit='/s'),
             is_more_better=True)))


def counting(_form):
    """What metrics cost, against a node that was built without them."""
    loads = {'1,000 streams': Load(), '100 streams': Load(streams=100), 'one stream': Load(streams=1, depth=8)}
    return Point('counting', 'deliveries, counted and not', tuple(
        Run(f'{how}, {label}', server, load) for label, load in loads.items()
        for how, server in (('counted', 'udpad'), ('not', 'udpad-unmeasured'))), tuple(
        Line(f'{label}, CPU per delivery: counted / not', cpu(f'counted, {label}', f'not, {label}'),
             None if load.streams == 1 else 1.02) for label, load in loads.items()), TEN)


def auditing(form):
    load = Load(streams=1, rate=1000, receipts=True, seconds=form.seconds)
    change = figures.change_us(1)
    both = ('recorded', 'not')
    return Point('auditing', 'one publisher, 1,000 a second into the durable store, with the audit and without',
                 (Run('recorded', 'udpad-durable', load), Run('not', 'udpad-unaudited', load)), (
        Line('CPU per publication: recorded / not', Quotient(change, *both, unit='us')),
        Line('publish to receipt, p50: recorded / not', Quotient(at('receipts.p50_us'), *both, unit='us'))), TEN)


def tracing(_form):
    servers = {'none': 'udpad', 'one of 100': 'udpad-sampled', 'all': 'udpad-traced'}
    loads = {'1,000 streams': Load(), 'one stream': Load(streams=1, rate=500)}
    return Point('tracing', 'changes that are traced, and sent to a collector', tuple(
        Run(f'{label}, {how}', server, load) for label, load in loads.items() for how, server in servers.items()),
        tuple(Line(f'{label}, CPU per delivery: {how} / none', cpu(f'{label}, {how}', f'{label}, none'))
              for label in loads for how in ('one of 100', 'all')), TEN)


def grpc_core(_form):
    """The listener of gRPC's library, for who has chosen it."""
    loads = {'xDS': Load(), 'UDPA': Load(protocol='udpa'), 'mutual TLS': Load(tls=True)}
    return Point('grpc-core', '1,000 streams, by the listener of udpad and by that of gRPC\'s C core',
                 tuple(Run(f'{how}, {server}', server, load) for how, load in loads.items()
                       for server in ('udpad', CORE)), (
        Line(f'xDS, CPU per delivery: {CORE} / udpad', cpu(f'xDS, {CORE}', 'xDS, udpad'), 1.1, None, is_more_better=True),
        Line(f'UDPA, CPU per delivery: {CORE} / udpad', cpu(f'UDPA, {CORE}', 'UDPA, udpad'), 1.1, None,
             is_more_better=True),
        Line(f'mutual TLS, CPU per delivery: {CORE} / udpad', cpu(f'mutual TLS, {CORE}', 'mutual TLS, udpad'), 1.7, None,
             is_more_better=True)))


POINTS = (delta, mtls, small, resources, streams, sotw_names, sync_many, idle_mtls, partial, mux,
          slow, latency, consul, consul_names, tenants, namespaces, readers, neighbour, storm, reconnect, hops,
          publish, commit_first, replica_publishing, replica_leader, replica_streams,
          replica_fan_out, reports, reports_ten, reports_mux, big_resources, delta_names, sotw, depth, mux_many, idle, udpa, rules, workers,
          grpc_core, counting, auditing, tracing)
IN_FULL_ALONE = (consul, consul_names, readers, neighbour, storm, reports_ten, reports_mux,
                 big_resources, delta_names, sotw, depth, mux_many, idle, udpa, rules, workers, grpc_core, counting,
                 auditing, tracing)


def all_points(form):
    return [make(form) for make in POINTS if form.is_full or make not in IN_FULL_ALONE]
