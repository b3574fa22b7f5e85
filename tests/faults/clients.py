# SPDX-License-Identifier: Apache-2.0
"""Publishers, readers and streams that go from replica to replica, and note what they have done and seen."""
import queue
import random
import threading
import time
import types

import grpc
from envoy.config.cluster.v3 import cluster_pb2
from google.protobuf import wrappers_pb2

from history import ABSENT, OK, REJECTED, UNKNOWN, Read, members, register_of
from interop import Failure
from udpa_peer import Peer, any_of
from xds_peer import CLUSTER, OWN_CONNECTION, Client

PATIENCE_S = 8
PAUSE_S = 0.05
ABSENT_S = 0.2 # after a replica was not there
BASE = 'base' # is always there, so that no answer is empty
NEVER_SENT = 'failed to connect', 'Connection refused'
# A replica that comes again is to be found soon.
SOON = [('grpc.initial_reconnect_backoff_ms', 100), ('grpc.max_reconnect_backoff_ms', 300)]
IDENTITY = 'publisher'


def cluster(name, word):
    made = cluster_pb2.Cluster(name=name, alt_stat_name=word)
    made.connect_timeout.seconds = 1
    return made


def word_of(packed):
    made = cluster_pb2.Cluster()
    made.ParseFromString(packed.value)
    return made.name, made.alt_stat_name


class Worker(threading.Thread):
    """Does something again and again, but while it is to rest."""

    def __init__(self, world, name, seed):
        super().__init__(daemon=True)
        self.world, self.name = world, name
        self.chance = random.Random(f'{seed} {name}')
        self.stopped, self.may, self.rests = threading.Event(), threading.Event(), threading.Event()
        self.failure = None

    def run(self):
        try:
            while not self.stopped.is_set():
                if self.may.is_set():
                    self.rests.clear()
                    self.once()
                else:
                    self.rests.set()
                    self.may.wait(0.1)
        except Exception as failure: # pylint: disable=broad-exception-caught
            self.failure = failure
            self.rests.set()
            raise

    def begin(self):
        self.rests.clear()
        self.may.set()

    def rest(self):
        """It ends what it is at."""
        self.may.clear()
        if not self.rests.wait(3 * PATIENCE_S):
            raise Failure(f'{self.name} does not rest')
        if self.failure:
            raise Failure(f'{self.name} has failed: {self.failure}')

    def pick(self):
        return self.chance.choice(list(self.world.addresses))


# ---- publishers ----

class Publisher(Worker):
    MOVES = 0.25 # of its publications are at another replica
    REMOVES = 0.2
    LARGE = 0.03

    def __init__(self, world, name, seed, number):
        super().__init__(world, name, seed)
        self.number, self.n = number, 0
        self.peer, self.replica = None, None
        self.begun = None # its stream, which has received nothing yet
        self.again = None # a write to a register of its own, until there is a receipt
        self.last_receipt = {} # by replica: when it was begun

    def move(self, replica=None):
        if self.peer:
            self.peer.close()
        self.peer, self.replica = None, replica or self.pick()

    def send(self, register, count, word):
        if not self.peer:
            self.begun = time.monotonic()
            self.peer = Peer(self.world.build, self.world.addresses[self.replica], IDENTITY, more_options=SOON)
        message = self.peer.udpa_message()
        delta = message.publish.delta
        self.peer.n_published += 1
        delta.nonce, delta.receipt_required = str(self.peer.n_published), True
        names = members(register, count)
        if word == ABSENT:
            delta.type_url = CLUSTER
            delta.removed_resources.extend(f'local/{name}' for name in names)
        for name in names if word else ():
            packed = any_of(cluster(name, word))
            resource = delta.resources.add(name=f'local/{name}').resource
            resource.type_url, resource.value = packed.type_url, packed.value
        self.peer.outbox.put(message)
        return delta.nonce

    def outcome(self, nonce, count):
        """Of what was sent with it, about so many names."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                message = self.peer.inbox.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                message = None
            if self.begun:
                self.world.history.add_read(Read(self.number, self.replica, self.begun, time.monotonic()))
                self.begun = None
            if message is None:
                return UNKNOWN
            if isinstance(message, grpc.RpcError):
                self.world.count(f'{message.code().name}: {message.details()}')
                return REJECTED if any(part in message.details() for part in NEVER_SENT) else UNKNOWN
            if message.WhichOneof('message') == 'receipt' and message.receipt.nonce == nonce:
                break
        refused = [status.message for status in message.receipt.error_detail if status.code]
        if not refused:
            return OK
        self.world.count(f'rejected: {refused[0]}')
        if len(refused) != count:
            self.world.history.problem(f'{self.name} at {self.replica}: of {count} names of one publication '
                                       f'{len(refused)} were rejected: {refused[0]}')
        return REJECTED

    def write(self, register, count, word):
        """Its outcome, which the history has, too."""
        if not self.replica:
            self.move()
        one = self.again or self.world.history.begin_write(self.number, register, word, self.replica)
        begun = time.monotonic()
        nonce = self.send(register, count, word)
        outcome = self.outcome(nonce, count)
        one.replica = self.replica
        # One that changes nothing waits as streams do, and ends their waiting, too.
        self.world.history.add_read(Read(self.number, self.replica, begun, time.monotonic()))
        is_own = register.endswith(f'-own-{self.number}') and word
        self.again = one if is_own and outcome != OK else None
        if not self.again:
            self.world.history.end_write(one, outcome)
        if outcome == OK:
            self.last_receipt[self.replica] = begun
        elif outcome == UNKNOWN or not self.peer.stream.is_active():
            self.move()
            self.stopped.wait(ABSENT_S)
        return outcome

    def choose(self):
        registers = self.world.history.registers
        if self.again:
            return self.again.register, registers[self.again.register], self.again.word
        is_large = self.chance.random() < self.LARGE
        may = [name for name in registers if ('-large' in name) == is_large and
               ('-own-' not in name or name.endswith(f'-own-{self.number}'))]
        register = self.chance.choice(may)
        self.n += 1
        word = ABSENT if self.chance.random() < self.REMOVES else f'{self.number}.{self.n}'
        return register, registers[register], word

    def once(self):
        if self.chance.random() < self.MOVES:
            self.move()
        self.write(*self.choose())
        self.stopped.wait(PAUSE_S * 2 * self.chance.random())

    def rest(self):
        super().rest()
        if self.again: # its outcome is not known, and it is not tried again
            self.world.history.end_write(self.again, UNKNOWN)
            self.again = None


class Keeper(Worker):
    """Publishes a resource with a ttl again and again: as long as that of its last receipt lasts, it is there,
    whatever clocks are set to."""

    TTL_S, LATE_S, PAUSE_S = 12, 3, 0.5
    TYPE, NAME = 'type.googleapis.com/google.protobuf.StringValue', 'kept'

    def __init__(self, world, name, seed):
        super().__init__(world, name, seed)
        self.kept_at = None # when that was sent which has the last receipt
        self.n_seen = 0

    def publish(self, replica):
        def fill(delta):
            entry = delta.resources.add(name=f'local/{self.NAME}')
            packed = any_of(wrappers_pb2.StringValue(value='kept'))
            entry.resource.type_url, entry.resource.value = packed.type_url, packed.value
            entry.ttl.seconds = self.TTL_S
        begun = time.monotonic()
        with Peer(self.world.build, self.world.addresses[replica], IDENTITY, more_options=SOON) as peer:
            try:
                if not peer.publish_delta(fill):
                    self.kept_at = begun
            except Failure:
                pass # it is tried again
        first(self.world.history, replica, begun)

    def look(self, replica):
        begun = time.monotonic()
        with Client(self.world.addresses[replica], options=SOON, timeout_s=PATIENCE_S) as client:
            client.send(self.TYPE, [self.NAME])
            try:
                response = client.receive()
            except Failure:
                response = None
        first(self.world.history, replica, begun)
        if response is None:
            return
        is_there = any(one.name == self.NAME for one in response.resources)
        self.n_seen += is_there
        age_s = time.monotonic() - self.kept_at
        if not is_there and age_s < self.TTL_S - self.LATE_S:
            self.world.history.problem(f'{self.NAME}, which has a ttl of {self.TTL_S} s, was not at {replica} '
                                       f'{age_s:.1f} s after it was published')

    def once(self):
        if self.kept_at: # some time after that
            self.look(self.pick())
        self.publish(self.pick())
        self.stopped.wait(self.PAUSE_S)


# ---- readers ----

class Reader(Worker):
    """Opens stream after stream, at any replica."""

    def __init__(self, world, name, seed, number):
        super().__init__(world, name, seed)
        self.number, self.channels = number, {}

    def channel(self, replica):
        if replica not in self.channels:
            self.channels[replica] = grpc.insecure_channel(self.world.addresses[replica],
                                                           [OWN_CONNECTION, *SOON])
        return self.channels[replica]

    def read(self, replica, is_delta):
        """The first answer; None."""
        history = self.world.history
        beside = types.SimpleNamespace(channel=self.channel(replica))
        begun = time.monotonic()
        client = Client('', is_delta, beside=beside, timeout_s=PATIENCE_S)
        client.send(CLUSTER)
        try:
            response = client.receive()
        except Failure:
            response = None
        ended = time.monotonic()
        client.stream.cancel()
        client.outbox.put(None)
        found = None
        if response is not None:
            packed = [one.resource for one in response.resources] if is_delta else response.resources
            kind = 'delta' if is_delta else 'SotW'
            found = history.found(dict(map(word_of, packed)),
                                  f'first answer at {replica} ({kind}, {ended - begun:.3f} s)')
        else:
            self.channels.pop(replica).close()
        history.add_read(Read(self.number, replica, begun, ended, found))
        return response

    def once(self):
        response = self.read(self.pick(), self.chance.random() < 0.5)
        self.stopped.wait(PAUSE_S if response is not None else ABSENT_S)


# ---- long streams ----

def first(history, replica, begun):
    """Notes the first answer of a stream, or its end before that; None, which is when the next one began."""
    if begun is not None:
        history.add_read(Read(None, replica, begun, time.monotonic()))


class Stream(Worker):
    """Reads one stream for some seconds, or until it ends; then one at another replica."""

    LEAST_S, MOST_S = 3, 15

    def __init__(self, world, name, seed, is_delta):
        super().__init__(world, name, seed)
        self.is_delta, self.n = is_delta, 0
        self.versions, self.values = {}, {}

    def take(self, response):
        """The names that it is about."""
        if not self.is_delta:
            before, self.values = self.values, dict(map(word_of, response.resources))
            return set(before) | set(self.values)
        for one in response.resources:
            self.versions[one.name] = one.version
            self.values[one.name] = word_of(one.resource)[1]
        for name in response.removed_resources:
            self.versions.pop(name, None)
            self.values.pop(name, None)
        return {one.name for one in response.resources} | set(response.removed_resources)

    def note(self, name, names):
        history = self.world.history
        for register in {register_of(one) for one in names} & set(history.registers):
            words = (self.values.get(one, ABSENT) for one in members(register, history.registers[register]))
            history.note(name, register, history.whole(register, words, name))

    def once(self):
        replica = self.pick()
        self.n += 1
        name = f'{self.name}, {self.n}th stream, at {replica}'
        lasts_s = self.chance.uniform(self.LEAST_S, self.MOST_S)
        begun = time.monotonic()
        with Client(self.world.addresses[replica], self.is_delta, options=SOON, timeout_s=lasts_s) as client:
            more = {'initial_resource_versions': self.versions} if self.is_delta else {}
            client.send(CLUSTER, **more)
            try:
                for response in client.stream:
                    begun = first(self.world.history, replica, begun)
                    client.answer(response)
                    self.note(name, self.take(response))
            except grpc.RpcError:
                first(self.world.history, replica, begun)
        self.stopped.wait(ABSENT_S)

    def rest(self):
        self.may.clear() # its stream may last


class Generations(Worker):
    """A subscriber of UDPA, which receives generations, too."""

    def __init__(self, world, name, seed):
        super().__init__(world, name, seed)
        self.n = 0

    def once(self):
        replica = self.pick()
        self.n += 1
        name = f'{self.name}, {self.n}th stream, at {replica}'
        begun = time.monotonic()
        end = begun + self.chance.uniform(Stream.LEAST_S, Stream.MOST_S)
        with Peer(self.world.build, self.world.addresses[replica], self.name, more_options=SOON) as peer:
            message = peer.udpa_message()
            message.subscribe.type_url, message.subscribe.namespace = CLUSTER, 'local'
            message.subscribe.resource_names.append('*')
            peer.outbox.put(message)
            while time.monotonic() < end:
                try:
                    message = peer.inbox.get(timeout=max(end - time.monotonic(), 0.001))
                except queue.Empty:
                    message = None
                begun = first(self.world.history, replica, begun)
                if message is None or isinstance(message, Exception):
                    break
                if message.WhichOneof('message') == 'publish':
                    self.note(name, message.publish.delta.resources)
        self.stopped.wait(ABSENT_S)

    def note(self, stream, resources):
        history = self.world.history
        for one in resources:
            if one.resource.type_url == CLUSTER and one.resource.value:
                name, word = word_of(one.resource)
                if register_of(name) in history.registers:
                    history.note_generation(stream, name, one.origin_info.generation, word)

    def rest(self):
        self.may.clear()
