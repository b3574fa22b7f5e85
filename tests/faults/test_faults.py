#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three replicas at three members of etcd, while processes are killed and stopped and links are broken: no change
that has a receipt is lost, none is applied twice, and what clients have seen is linearizable.

short: some faults. debian, current: with that etcd, as many as --faults says. The seed is that of the order of
faults, and is printed; --seed plays the same order again. How much happens between two faults is not of the seed.
"""
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'interop'))
os.environ.setdefault('GRPC_VERBOSITY', 'ERROR') # connections that are closed are no news here

import interop  # noqa: E402
from interop import Failure, check  # noqa: E402

import faults  # noqa: E402
from snapshot import check_snapshot  # noqa: E402
from world import World  # noqa: E402

# Those of the short form take no longer than they last; the first seed whose faults are of many kinds.
SHORT = {'kinds': ('kill replica', 'stop replica', 'kill member', 'stop leader', 'link', 'member link',
                   'compact', 'defragment', 'move leader'), 'most_s': 1.5}
SHORT_SEED, SHORT_COUNT = 1, 6
SHORT_S = 30 # so long it takes at most, with what is judged
EPOCH = 10 # faults, then everything is quiet, and judged


def play_epoch(world, rounds, judge):
    world.begin_epoch()
    found = []
    for number, round_ in rounds:
        begin = time.monotonic()
        faults.play(world, round_)
        lasted_s = time.monotonic() - begin
        recovery_s = world.wait_recovery()
        print(f'{number}: {" and ".join(str(one) for _, one in round_)}: {lasted_s:.1f} s, receipts '
              f'{recovery_s:.1f} s later', flush=True)
    found = world.end_epoch(judge)
    if found:
        raise Failure('\n'.join([f'epoch {world.n_epochs}:', *found]))


def next_epoch(rounds, count):
    """Numbered rounds, with so many faults or one more."""
    epoch, n = [], 0
    while n < count:
        epoch.append(next(rounds))
        n += len(epoch[-1][1])
    return epoch


def kinds_of(arguments):
    """Those that were asked for."""
    unknown = set(arguments.kinds or ()) - set(faults.KINDS)
    if unknown:
        raise Failure(f'there are no faults of the kind {", ".join(sorted(unknown))}: there are '
                      f'{", ".join(faults.KINDS)}')
    return {'kinds': tuple(arguments.kinds)} if arguments.kinds else {}


def body(test):
    arguments = test.arguments
    is_short = test.variant == 'short'
    seed = arguments.seed if arguments.seed is not None else \
        SHORT_SEED if is_short else int.from_bytes(os.urandom(4), 'big')
    print(f'--seed {seed}', flush=True)
    judge = interop.go_program_or_skip(HERE / 'go-porcupine', test.build / 'porcupine-judge')
    world = World(test, 'debian' if is_short else test.variant, seed)
    begin = time.monotonic()
    rounds = enumerate(faults.plan(seed, **(SHORT if is_short else kinds_of(arguments))), start=1)
    count = SHORT_COUNT if is_short else arguments.faults
    n_faults = n_done = 0
    try:
        while n_done < count: # what was in vain does not count
            epoch = next_epoch(rounds, min(EPOCH, count - n_done))
            play_epoch(world, epoch, judge)
            n_faults += sum(len(round_) for _, round_ in epoch)
            n_done += sum(one.is_done for _, round_ in epoch for _, one in round_)
            if arguments.minutes and time.monotonic() - begin > 60 * arguments.minutes:
                break
        lasted_s = time.monotonic() - begin
        if not is_short:
            check_snapshot(world)
    finally:
        for text, count in world.counted.most_common(30):
            print(f'   {count:6} {text}', flush=True)
    world.end()
    check(f'what has a ttl was seen {world.keeper.n_seen} times', world.keeper.n_seen > 0)
    check(f'{n_done} faults, and {n_faults - n_done} more in vain: nothing is lost, nothing is applied twice, all is '
          'linearizable', True)
    check(f'they took {lasted_s:.1f} s' + (f', of at most {SHORT_S} s' if is_short else ''),
          not is_short or lasted_s <= SHORT_S)


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body, ('short', 'debian', 'current'), {
        '--seed': {'type': int, 'help': 'the order of faults'},
        '--faults': {'type': int, 'default': 500, 'help': 'how many (default: 500)'},
        '--kinds': {'nargs': '+', 'metavar': 'KIND', 'help': 'no others, such as "kill replica" (default: all)'},
        '--minutes': {'type': float, 'help': 'no more than that'}}))
