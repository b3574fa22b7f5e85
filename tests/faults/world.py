# SPDX-License-Identifier: Apache-2.0
"""Three members of etcd, three replicas, a proxy on each link between them, and clients."""
import collections
import json
import pathlib
import re
import shutil
import subprocess
import threading
import time

import etcd
from clients import (BASE, IDENTITY, Generations, Keeper, Publisher, Reader, Stream, cluster)
from history import ABSENT, OK, History
from interop import Failure, free_ports, wait_for
from links import Links
from test_replicas import Replica, held, xds
from udpa_peer import Peer

HERE = pathlib.Path(__file__).resolve().parent
REPLICAS = 'abc'
RECOVERY_S, REPAIR_S = 20, 60
HELD = 'etcd has another state than before'
GIVEN_UP = b'streams are not kept waiting any more'
HELD_S = 15
QUIET_S = 20 # a large set is ended by another replica after 7 s
SETS = {'set': 5, 'large': 50} # the latter is more than a transaction of etcd takes
VARYING, SHOWN = re.compile(r"'local/[^']*'|\d[\d.:]*"), 150 # of texts that are counted
N_SINGLE, N_PUBLISHERS, N_READERS = 2, 3, 3


class Members(etcd.Cluster):
    def __init__(self, test, variant):
        self.variant = variant
        self.snapshot_program = etcd.snapshot_program_or_skip(test, variant)
        self.replaced, self.extra = set(), {}
        self.last_refusal = '' # of etcdctl
        super().__init__(test, etcd.program_or_skip(test, variant))
        self.token = self.names[0]
        self.send_ids()

    def prepare(self):
        ports = free_ports(len(self.names) * (len(REPLICAS) + 1))
        self.proxy_of = {name: ports.pop() for name in self.names}
        self.proxies_of = {one: {name: ports.pop() for name in self.names} for one in REPLICAS}
        self.links = Links(self.test, [
            *((self.proxy_of[name], self.peer_port[name], None, name) for name in self.names),
            *((port, self.client_port[name], one, name)
              for one, ports in self.proxies_of.items() for name, port in ports.items())])

    def advertised(self, name):
        return f'http://127.0.0.1:{self.proxy_of[name]}'

    def state(self, name):
        return 'existing' if name in self.replaced else 'new'

    def command(self, name):
        return [*super().command(name), *self.extra.get(name, ())]

    def listed(self, at=None):
        """{name: id} of those that have begun, or are to."""
        found = json.loads(self.ctl('member', 'list', '-w', 'json', names=at))['members']
        of_url = {self.advertised(name): name for name in self.names}
        return {of_url[one['peerURLs'][0]]: f'{one["ID"]:x}' for one in found}

    def listed_soon(self, at):
        """As soon as these have a quorum."""
        def look():
            try:
                return self.listed(at)
            except (Failure, subprocess.TimeoutExpired):
                return None
        return wait_for('a list of members', look, REPAIR_S)

    def send_ids(self):
        self.links.set_ids({number: name for name, number in self.listed().items()})

    def go_back(self, snapshot, *more):
        """To what a snapshot has; which is of this cluster, or of another one if there is a new token."""
        self.restore(self.snapshot_program, snapshot, self.token, *more)
        self.send_ids()

    def alarms(self):
        """Those that there are; something, if that is not to be known."""
        try:
            return self.ctl('alarm', 'list').strip()
        except (Failure, subprocess.TimeoutExpired):
            return 'unknown'

    def try_ctl(self, *words, names=None):
        """Another fault may be in the way; whether it was done."""
        try:
            self.ctl(*words, names=names)
        except (Failure, subprocess.TimeoutExpired) as failure:
            self.last_refusal = str(failure)
            return False
        return True

    def wait_done(self, what, is_done):
        """With the reason, if it is not."""
        try:
            wait_for(what, is_done, REPAIR_S)
        except Failure as failure:
            raise Failure(f'{failure}; etcdctl has said: {self.last_refusal}') from None


def without_ttl(found):
    """What is left of it differs."""
    return [{key: value for key, value in one.items() if key != 'ttl'} for one in found]


class Seen:
    """A cluster as a replica sees it: by proxies of its own, beginning with another member each."""

    def __init__(self, cluster_of, name):
        ports = list(cluster_of.proxies_of[name].values())
        n = REPLICAS.index(name)
        self.endpoints = [f'127.0.0.1:{port}' for port in ports[n:] + ports[:n]]


def build_set_clock(test):
    """What is loaded before a program whose clock is to be another one."""
    library = test.work / 'set_clock.so'
    done = subprocess.run(['cc', '-D_GNU_SOURCE', '-O1', '-shared', '-fPIC', '-o', library, HERE / 'set_clock.c',
                           '-ldl'], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f'cc set_clock.c: {done.stderr}')
    return library


class LogReader(threading.Thread):
    """Tells the history when a replica logs that streams are not kept waiting any more."""
    PAUSE_S = 0.02

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world = world
        self.at = {name: 0 for name in REPLICAS}

    def look(self, name):
        with open(self.world.test.work / f'{name}.log', 'rb') as log:
            log.seek(self.at[name])
            read = log.read()
        whole = read[:read.rfind(b'\n') + 1]
        self.at[name] += len(whole)
        for _ in range(whole.count(GIVEN_UP)):
            self.world.history.give_up(name)

    def run(self):
        while not self.world.is_over.wait(self.PAUSE_S):
            for name in REPLICAS:
                self.look(name)


class World:
    def __init__(self, test, variant, seed):
        self.test, self.build = test, test.build
        self.set_clock = build_set_clock(test)
        self.cluster = Members(test, variant)
        self.replicas = {name: Replica(test, Seen(self.cluster, name), name) for name in REPLICAS}
        self.addresses = {name: one.address for name, one in self.replicas.items()}
        self.counted = collections.Counter()
        self.lock = threading.Lock()
        self.down = collections.defaultdict(list)
        self.n_epochs, self.history = 0, History({})
        with Peer(self.build, self.addresses['a'], IDENTITY) as peer:
            peer.publish([(BASE, cluster(BASE, 'base'))])
        self.publishers = [Publisher(self, f'publisher {n}', seed, n) for n in range(N_PUBLISHERS)]
        self.readers = [Reader(self, f'reader {n}', seed, N_PUBLISHERS + n) for n in range(N_READERS)]
        self.streams = [Stream(self, 'delta stream', seed, True), Stream(self, 'SotW stream', seed, False),
                        Generations(self, 'subscriber', seed)]
        self.keeper = Keeper(self, 'keeper', seed)
        self.is_over = threading.Event()
        self.log_reader = LogReader(self)
        for one in (*self.workers, self.log_reader):
            one.start()

    @property
    def workers(self):
        return [*self.publishers, *self.readers, *self.streams, self.keeper]

    def count(self, text):
        """Without what differs each time."""
        with self.lock:
            self.counted[VARYING.sub('…', text)[:SHOWN]] += 1

    # ---- epochs ----

    def begin_epoch(self):
        """Other names, so that nothing of before has to do with them."""
        self.n_epochs += 1
        base = f'e{self.n_epochs}'
        self.history = History({
            **{f'{base}-one-{n}': 1 for n in range(N_SINGLE)},
            **{f'{base}-own-{n}': 1 for n in range(N_PUBLISHERS)},
            **{f'{base}-{kind}': count for kind, count in SETS.items()}}, self.down)
        for one in self.workers:
            one.begin()

    def begin_quiet(self, registers):
        """For what is done step by step, while the clients rest."""
        for one in (*self.publishers, *self.readers, self.keeper):
            one.rest()
        self.history = History(registers, self.down)

    def served(self, name):
        """With versions; None while it does not answer."""
        try:
            return without_ttl(held(self.replicas[name])), xds(self.replicas[name], True), xds(self.replicas[name], False)
        except (Failure, subprocess.TimeoutExpired):
            return None

    def wait_same(self):
        """All replicas have the same, with the same versions."""
        begin, last = time.monotonic(), {}

        def look():
            for name in REPLICAS:
                last[name] = self.served(name)
            return last['a'] is not None and all(one == last['a'] for one in last.values())
        try:
            wait_for('the same at all replicas', look, QUIET_S)
        except Failure:
            for name, one in last.items():
                (self.test.work / f'served-{name}.json').write_text(json.dumps(one, indent=1, default=repr),
                                                                   encoding='utf-8')
            return f'replicas do not have the same: see served-*.json; {QUIET_S} s after the last fault'
        self.count(f'all had the same within {int(time.monotonic() - begin) + 1} s')
        return None

    def end_epoch(self, judge):
        """Everything is quiet; what is wrong."""
        for one in (*self.publishers, *self.readers, self.keeper):
            one.rest()
        found = [self.wait_same()]
        reader = self.readers[0]
        for name in REPLICAS:
            for is_delta in (True, False):
                reader.read(name, is_delta)
        for one in self.streams:
            one.rest()
        history = self.history
        found += history.judge(judge, self.test.work)
        print(f'   epoch {self.n_epochs}: {history.counts()}', flush=True)
        self.clear(history)
        return [one for one in found if one]

    def clear(self, history):
        """Removes what the epoch had, as far as it is there."""
        publisher = self.publishers[0]
        self.history = History({})
        for register, count in history.registers.items():
            wait_for(f'the removal of {register}', lambda of=(register, count):
                     publisher.write(*of, ABSENT) == OK, RECOVERY_S)

    # ---- faults ----

    def ends(self, name):
        """A replica stops, or is killed."""
        self.down[name].append((time.monotonic(), float('inf')))

    def goes_on(self, name):
        begin, _ = self.down[name].pop()
        self.down[name].append((begin, time.monotonic()))

    def kill(self, name):
        self.ends(name)
        self.replicas[name].kill_hard()

    def pause(self, name):
        """What begins before it has stopped, it counts as waiting all the while."""
        self.replicas[name].pause()
        self.ends(name)

    def go_on(self, name):
        self.goes_on(name)
        self.replicas[name].go_on()

    def restart(self, name, is_wiped=False, **more):
        """A replica that was killed."""
        replica = self.replicas[name]
        self.goes_on(name)
        if is_wiped:
            shutil.rmtree(replica.directory)
        self.replicas[name] = replica.again(waits=True, **more)

    def check_alive(self):
        failed = [f'{one.name}: {one.failure!r}' for one in self.workers if one.failure]
        if failed:
            raise Failure(f'clients have failed: {failed}')
        for name, one in {**self.replicas, **self.cluster.members}.items():
            if one.process.poll() is not None:
                raise Failure(f'{name} has ended: {one.process.returncode}: {one.text()[-3000:]}')

    def n_holds(self):
        """How often each replica has noticed that etcd has another state."""
        return {name: one.text().count(HELD) for name, one in self.replicas.items()}

    def wait_held(self, before):
        """Until all have done so since then."""
        wait_for('that all replicas hold', lambda: all(
            n > before[name] for name, n in self.n_holds().items()), HELD_S)

    def wait_recovery(self, patience_s=RECOVERY_S):
        """Until each replica has given a receipt for a publication that began after now; how long."""
        begin = time.monotonic()

        def is_well(name):
            return any(one.last_receipt.get(name, 0) > begin for one in self.publishers)
        try:
            wait_for('receipts', lambda: all(map(is_well, REPLICAS)), patience_s)
        except Failure:
            self.check_alive()
            ill = [name for name in REPLICAS if not is_well(name)]
            raise Failure(f'no receipt at {ill} within {patience_s} s after the fault') from None
        self.check_alive()
        return time.monotonic() - begin

    def end(self):
        self.is_over.set()
        for one in self.workers:
            one.stopped.set()
        for one in self.workers:
            one.join(20)
