# SPDX-License-Identifier: Apache-2.0
"""Faults, and plans of them: which kinds, where and how long, by a seed alone."""
import json
import math
import random
import shutil
import subprocess
import threading
import time

from interop import Failure, is_instrumented
from links import CUT, HOLD, SLOW
from world import REPLICAS

N_MEMBERS = 3
CLOCK_S = 600
TO, FROM = 'to', 'from' # one direction is held


class Fault:
    """Numbers are of the plan: of them follow its targets. What is in the way of another fault is in its
    subjects."""

    LEAST_S, MOST_S = 0.1, 20
    IS_ALONE = False

    def __init__(self, kind, seconds, numbers):
        self.kind, self.seconds, self.numbers = kind, seconds, numbers
        self.is_done = True # False: another fault was in the way

    @property
    def replica(self):
        return REPLICAS[self.numbers[0] % len(REPLICAS)]

    @property
    def member_number(self):
        return self.numbers[0] % N_MEMBERS

    def member(self, world):
        return world.cluster.names[self.member_number]

    def subjects(self):
        return {self.replica} if isinstance(self, ReplicaFault) else {f'm{self.member_number}'}

    def target(self):
        return ' '.join(sorted(map(str, self.subjects())))

    def begin(self, world):
        pass

    def end(self, world):
        pass

    def __str__(self):
        return f'{self.kind} {self.target()} {self.seconds:.2f} s' + ('' if self.is_done else ' (in vain)')


class ReplicaFault(Fault):
    pass


class KillReplica(ReplicaFault):
    MOST_S = 5
    IS_WIPED = False

    def begin(self, world):
        world.kill(self.replica)

    def end(self, world):
        world.restart(self.replica, self.IS_WIPED)


class WipeReplica(KillReplica):
    IS_WIPED = True


class StopReplica(ReplicaFault):
    def begin(self, world):
        world.pause(self.replica)

    def end(self, world):
        world.go_on(self.replica)


class SetClock(ReplicaFault):
    """It is started again with a clock that is ten minutes ahead or behind, and once more with the right one."""

    LEAST_S, MOST_S = 2, 10

    @property
    def offset_s(self):
        return CLOCK_S if self.numbers[1] % 2 else -CLOCK_S

    def target(self):
        return f'{super().target()} {self.offset_s:+} s'

    def begin(self, world):
        self.is_done = not is_instrumented(world.build) # it would come before ASan
        if self.is_done:
            world.kill(self.replica)
            world.restart(self.replica, environment={
                'LD_PRELOAD': str(world.set_clock), 'SET_CLOCK_S': str(self.offset_s)})

    def end(self, world):
        if self.is_done:
            world.kill(self.replica)
            world.restart(self.replica)


class KillMember(Fault):
    MOST_S = 5

    def begin(self, world):
        world.cluster.members[self.member(world)].kill()

    def end(self, world):
        world.cluster.start(self.member(world))


class StopMember(Fault):
    def begin(self, world):
        world.cluster.members[self.member(world)].pause()

    def end(self, world):
        world.cluster.members[self.member(world)].go_on()


class StopLeader(StopMember):
    """Its number says which, if there is none."""

    def subjects(self):
        return {f'm{n}' for n in range(N_MEMBERS)}

    def begin(self, world):
        name = world.cluster.leader() or self.member(world)
        self.numbers[0] = world.cluster.names.index(name)
        super().begin(world)


class KillLeader(StopLeader):
    MOST_S = 5

    def begin(self, world):
        super().begin(world)
        world.cluster.members[self.member(world)].kill()

    def end(self, world):
        world.cluster.start(self.member(world))


class Link(Fault):
    """Of a replica or a member to one member or to all others."""

    MODES = CUT, HOLD, TO, FROM, SLOW

    def __init__(self, *of):
        super().__init__(*of)
        self.mode = self.MODES[self.numbers[2] % len(self.MODES)]
        self.delay_s = 0.02 * 2 ** (self.numbers[3] % 6) # 20 ms to 0.64 s

    def one(self):
        return self.replica

    def others(self):
        all_of = [f'm{n}' for n in range(N_MEMBERS) if f'm{n}' != self.one()]
        return all_of if self.numbers[1] % 3 == 0 else [all_of[self.numbers[1] % len(all_of)]]

    def pairs(self):
        return [(self.one(), other) for other in self.others()]

    def subjects(self):
        return set(map(frozenset, self.pairs()))

    def target(self):
        return f'{self.one()}-{"".join(self.others())} {self.mode}' + \
            (f' {self.delay_s:.2f}' if self.mode == SLOW else '')

    def keys(self, world):
        def name(one):
            return world.cluster.names[int(one[1:])] if one.startswith('m') else one
        pairs = [(name(one), name(other)) for one, other in self.pairs()]
        back = [pair[::-1] for pair in pairs]
        return pairs if self.mode == TO else back if self.mode == FROM else pairs + back

    def begin(self, world):
        mode = HOLD if self.mode in (TO, FROM) else self.mode
        world.cluster.links.set_rules({key: (mode, self.delay_s) for key in self.keys(world)})

    def end(self, world):
        world.cluster.links.clear(self.keys(world))


class MemberLink(Link):
    def one(self):
        return f'm{self.member_number}'


class Admin(Fault):
    """A call of etcdctl."""

    LEAST_S, MOST_S = 0.5, 2


class MoveLeader(Admin):
    def begin(self, world):
        members = world.cluster
        try:
            leader = members.leader()
            number = members.listed()[next(name for name in (self.member(world), *members.names)
                                           if name != leader)]
        except (Failure, subprocess.TimeoutExpired):
            leader = None
        self.is_done = leader is not None and members.try_ctl('move-leader', number, names=[leader])


class Defragment(Admin):
    def begin(self, world):
        self.is_done = world.cluster.try_ctl('defrag', names=[self.member(world)])


class Compact(Admin):
    def begin(self, world):
        try:
            text = world.cluster.ctl('get', 'x', '-w', 'json')
        except (Failure, subprocess.TimeoutExpired):
            self.is_done = False
            return
        self.is_done = world.cluster.try_ctl('compact', json.loads(text)['header']['revision'])


class NoSpace(Fault):
    """One member has a quota that is used up. The alarm is for all; the test disarms it."""

    LEAST_S, MOST_S = 0.5, 4

    def set_quota(self, world, options):
        name = self.member(world)
        world.cluster.members[name].kill()
        world.cluster.extra[name] = options
        world.cluster.start(name)

    def begin(self, world):
        self.set_quota(world, ['--quota-backend-bytes', '1'])

    def end(self, world):
        self.set_quota(world, [])

        def is_disarmed():
            return world.cluster.try_ctl('alarm', 'disarm') and not world.cluster.alarms()
        world.cluster.wait_done('the end of the alarm', is_disarmed)


class ReplaceMember(Fault):
    """It is lost with its data, and another one takes its place."""

    LEAST_S, MOST_S = 0.1, 2

    def begin(self, world):
        world.cluster.members[self.member(world)].kill()

    def end(self, world):
        cluster, name = world.cluster, self.member(world)
        others = [one for one in cluster.names if one != name]
        number = cluster.listed_soon(others)[name]
        def is_removed(): # it may have been, though etcdctl does not know
            cluster.try_ctl('member', 'remove', number, names=others)
            return name not in cluster.listed_soon(others)

        def is_added():
            cluster.try_ctl('member', 'add', name, f'--peer-urls={cluster.advertised(name)}', names=others)
            return name in cluster.listed_soon(others)
        cluster.wait_done('the removal of a member', is_removed)
        shutil.rmtree(world.test.work / f'{name}.etcd')
        cluster.wait_done('a new member', is_added)
        cluster.replaced.add(name)
        cluster.links.set_ids({one: at for at, one in cluster.listed_soon(others).items()})
        cluster.start(name)


class RestoreSnapshot(Fault):
    """etcd goes back to a snapshot that is older than what replicas have given receipts for: as the same cluster,
    as another one, or with a revision that is higher than all that replicas have seen. They hold, and write back
    what is missing. While they do, what they serve may be older than the last receipt of another one."""

    LEAST_S, MOST_S = 0.1, 2 # between the snapshot and that
    IS_ALONE = True # of several that have lost something nobody knows who is right
    HOW = {'debian': ('same', 'other'), 'current': ('same', 'other', 'bumped')}
    BUMPED = '--bump-revision', '1000000', '--mark-compacted'
    WRITTEN_BACK_S = 40

    def __init__(self, *of):
        super().__init__(*of)
        self.how = ''

    def target(self):
        return f'of {super().target()} {self.how}'.rstrip()

    def begin(self, world):
        cluster = world.cluster
        how = self.HOW[cluster.variant]
        self.how = how[self.numbers[1] % len(how)]
        self.is_done = cluster.try_ctl('snapshot', 'save', world.test.work / 'snapshot.db',
                                       names=[self.member(world)])
        if self.is_done:
            world.wait_recovery() # with receipts that the snapshot does not have

    def end(self, world):
        if not self.is_done:
            return
        cluster, before = world.cluster, world.n_holds()
        if self.how == 'other':
            cluster.token = f'{cluster.names[0]}-{self.numbers[2]}'
        for member in cluster.members.values():
            member.kill()
        world.history.hold() # none has a receipt any more
        cluster.go_back(world.test.work / 'snapshot.db', *(self.BUMPED if self.how == 'bumped' else ()))
        world.wait_held(before)
        world.wait_recovery(self.WRITTEN_BACK_S)


KINDS = { # and how often each
    'kill replica': (KillReplica, 3), 'wipe replica': (WipeReplica, 1), 'stop replica': (StopReplica, 3),
    'kill member': (KillMember, 2), 'kill leader': (KillLeader, 2), 'stop member': (StopMember, 2),
    'stop leader': (StopLeader, 2), 'link': (Link, 5), 'member link': (MemberLink, 4),
    'move leader': (MoveLeader, 2), 'defragment': (Defragment, 1), 'compact': (Compact, 2),
    'no space': (NoSpace, 1), 'replace member': (ReplaceMember, 1), 'set clock': (SetClock, 1),
    'restore snapshot': (RestoreSnapshot, 1)}


def fault(chance, most_s, kinds):
    kind = chance.choices(kinds, [KINDS[one][1] for one in kinds])[0]
    made = KINDS[kind][0]
    seconds = math.exp(chance.uniform(math.log(made.LEAST_S), math.log(made.MOST_S)))
    return made(kind, min(seconds, most_s), [chance.randrange(1 << 16) for _ in range(4)])


def may_play_together(one, other):
    """Two of three members that have lost what they had are a cluster that is lost."""
    loses = isinstance(one, ReplaceMember) and isinstance(other, ReplaceMember)
    return not loses and not one.IS_ALONE and not other.IS_ALONE and not one.subjects() & other.subjects()


def plan(seed, most_s=Fault.MOST_S, kinds=tuple(KINDS)):
    """Rounds of one fault or two, without end: a list of (seconds before it, fault) each."""
    chance = random.Random(seed)
    while True:
        one = [(0.0, fault(chance, most_s, kinds))]
        if chance.random() < 0.5:
            other = fault(chance, most_s, kinds)
            before_s = chance.uniform(0, one[0][1].seconds)
            if may_play_together(one[0][1], other):
                one.append((before_s, other))
        yield one


def play(world, round_):
    """All of it, at the same time; then each has ended."""
    failures = []

    def run(before_s, one):
        try:
            time.sleep(before_s)
            one.begin(world)
            time.sleep(one.seconds)
            one.end(world)
        except Exception as failure: # pylint: disable=broad-exception-caught
            failures.append(failure)
    threads = [threading.Thread(target=run, args=of) for of in round_]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
