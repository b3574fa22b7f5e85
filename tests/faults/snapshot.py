# SPDX-License-Identifier: Apache-2.0
"""etcd is restored from a snapshot that is older than what replicas have given receipts for: all serve what they
have, also one that starts again, and take no publications."""
import time

from history import OK, REJECTED
from interop import Failure, check, wait_for
from world import HELD, REPLICAS

REGISTER, SERVED_S = 'restored', 3


def has_last(world, name):
    world.readers[0].read(name, True)
    found = world.history.reads[-1].found
    return found is not None and found[REGISTER] == f'newer-{REPLICAS[-1]}'


def check_serves(world, word, seconds):
    """All of them, all the time."""
    reader, end, n = world.readers[0], time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for name in REPLICAS:
            if reader.read(name, n % 2 == 0) is None:
                raise Failure(f'{name} does not answer while etcd is older')
            n += 1
    history = world.history
    words = {read.found[REGISTER] for read in history.reads if read.found}
    check(f'{n} first answers have what has a receipt: {sorted(words)}', words == {word})


def check_snapshot(world):
    """The last of all: the replicas stay as they are then. Clients rest."""
    world.begin_quiet({REGISTER: 2})
    publisher, cluster = world.publishers[0], world.cluster

    def publish(name, word):
        publisher.move(name)
        return publisher.write(REGISTER, 2, word)
    check('a publication before the snapshot', publish('a', 'older') == OK)
    snapshot = world.test.work / 'snapshot.db'
    cluster.ctl('snapshot', 'save', snapshot, names=cluster.names[:1])
    for name in REPLICAS:
        check(f'one after it at {name}', publish(name, f'newer-{name}') == OK)
    for name in REPLICAS: # one that is behind would hold what it has
        wait_for(f'the last one at {name}', lambda at=name: has_last(world, at), SERVED_S)
    world.history.reads.clear()
    cluster.go_back(snapshot)
    for name in REPLICAS:
        world.replicas[name].wait_for_log(HELD)
    check('etcd is restored from the snapshot, and all replicas hold', True)
    check_serves(world, f'newer-{REPLICAS[-1]}', SERVED_S)
    for name in REPLICAS:
        check(f'{name} rejects a publication', publish(name, 'rejected') == REJECTED)
    world.kill('b')
    world.restart('b')
    world.replicas['b'].wait_for_log('listening on ')
    check_serves(world, f'newer-{REPLICAS[-1]}', SERVED_S)
    check(f'{REGISTER} is not lost', not world.history.problems or print(world.history.problems))
