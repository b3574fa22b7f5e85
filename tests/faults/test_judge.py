#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of tests/faults sees what is wrong: histories that may be, and each with one thing changed, so that
it may not."""
import copy
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'interop'))

import interop  # noqa: E402
from interop import check  # noqa: E402

from world import GIVEN_UP  # noqa: E402
from history import ABSENT, OK, REJECTED, UNKNOWN, History, Read, Write, members  # noqa: E402

REGISTERS = {'one': 1, 'set': 3}
SEEDS = range(20)
N_STEPS = 60


def made(seed):
    """A history that may be: each operation takes effect at one time between its begin and its end. Streams
    have all words, or leave some out."""
    chance, history = random.Random(seed), History(dict(REGISTERS))
    values, now = {name: ABSENT for name in REGISTERS}, 0.0
    for n in range(N_STEPS):
        now += 1
        begun, ended = now - chance.uniform(0, 0.45), now + chance.uniform(0, 0.45)
        register = chance.choice(list(REGISTERS))
        if chance.random() < 0.5:
            one = Write(n % 3, register, ABSENT if chance.random() < 0.2 else f'w{n}', 'abc'[n % 3])
            one.begun, one.ended = begun, ended
            one.outcome = chance.choices([OK, REJECTED, UNKNOWN], [8, 1, 1])[0]
            history.writes.append(one)
            if one.outcome == OK or one.outcome == UNKNOWN and chance.random() < 0.5:
                values[register] = one.word
                note(history, chance, register, one.word, n)
        else:
            history.reads.append(Read(5, 'abc'[n % 3], begun, ended, dict(values)))
    history.reads.append(Read(5, 'a', now + 1, now + 1.1, dict(values)))
    return history


def note(history, chance, register, word, n):
    history.note('all', register, word)
    if chance.random() < 0.7:
        history.note('some', register, word)
    if word:
        for name in members(register, REGISTERS[register]):
            history.note_generation('subscriber', name, n, word)


# ---- what may not be ----

def words_of(history, register='one'):
    """Those with receipts, in their order."""
    return [one for one in history.writes if one.register == register and one.word and one.outcome == OK]


def lose_a_write(history):
    """The last one, which has a receipt, and nobody ever reads it; what was before it stays."""
    one = Write(9, 'one', 'lost', 'b')
    one.begun, one.ended, one.outcome = history.reads[-1].begun - 0.5, history.reads[-1].begun - 0.4, OK
    history.writes.append(one)


def read_what_is_stale(history):
    last, before = words_of(history)[-1], words_of(history)[-2]
    late = max(one.ended for one in history.writes + history.reads)
    history.writes.append(again(last, late + 1))
    history.reads.append(Read(5, 'c', late + 2, late + 2.1, {'one': before.word}))


def again(one, at):
    made_ = Write(one.client, one.register, 'newest', one.replica)
    made_.begun, made_.ended, made_.outcome = at, at + 0.1, OK
    return made_


def apply_twice(history):
    """A word comes again after another one."""
    words = history.orders['all', 'one']
    words += ['other', next(word for word in words if word)]
    history.writes.append(again(words_of(history)[0], 0))
    history.writes[-1].word = 'other'


def apply_twice_with_generations(history):
    name, word = next(key for key in history.generations if key[0] == 'one.0')
    history.note_generation('another', name, 1000, word)


def step_back(history):
    name = next(key for key in history.generations if key[0] == 'one.0')[0]
    history.note_generation('subscriber', name, 0, 'older')
    history.note_generation('subscriber', name, -1, 'older')


def see_another_order(history):
    one, other = [word for word in history.orders['all', 'one'] if word][:2]
    history.orders['another', 'one'] = [other, one]


def serve_what_was_rejected(history):
    one = again(words_of(history)[0], 0)
    one.outcome = REJECTED
    history.writes.append(one)
    history.note('another', 'one', one.word)


def tear_a_set(history):
    history.found({'set.0': 'x', 'set.1': 'x', 'set.2': 'y'}, 'somewhere')


def leave_one_out(history):
    history.found({'set.0': 'x', 'set.1': 'x'}, 'somewhere')


MUTANTS = {lose_a_write: 'one is not linearizable', read_what_is_stale: 'one is not linearizable',
           apply_twice: 'came again', apply_twice_with_generations: 'applied more than once',
           step_back: 'has generation -1 after', see_another_order: 'different orders',
           serve_what_was_rejected: 'was rejected', tear_a_set: 'is not whole', leave_one_out: 'is not whole'}


def expect_stale(history, program, folder, is_seen):
    found = history.judge(program, folder)
    check(f'  {"seen" if is_seen else "no fault"}: {found}', bool(found) == is_seen)


def three_writes():
    """At a: w0, w1 after 10 s, w2 after 20 s."""
    history = History({'one': 1})
    for n, begun in enumerate((0, 10, 20)):
        history.writes.append(again(Write(1, 'one', '', 'a'), begun))
        history.writes[-1].word = f'w{n}'
    return history


def check_barrier(program, folder):
    """What a replica answers late, or before it has a receipt again, may be stale; nothing else may."""
    def stale(took_s, at, replica='a'):
        history = three_writes()
        history.reads.append(Read(5, 'a', 11, 12.5, {'one': 'w0'}))
        history.reads.append(Read(5, replica, at, at + took_s, {'one': 'w0'}))
        return history
    expect_stale(stale(0.1, 13), program, folder, False) # nobody waits
    expect_stale(stale(0.1, 20.5), program, folder, False)
    expect_stale(stale(0.1, 22), program, folder, True) # it has a receipt again
    expect_stale(stale(0.1, 13, 'b'), program, folder, True)
    expect_stale(stale(0.1, 11), program, folder, True) # before the second is over, all wait
    expect_stale(stale(1.5, 30), program, folder, False)


def check_given_up(program, folder):
    """What a replica answers when it says that nobody waits any more may be stale; at others nothing may."""
    def stale(at, replica='a'):
        history = three_writes()
        history.given_up.append(('a', 12))
        history.reads.append(Read(5, replica, at, at + 0.1, {'one': 'w0'}))
        return history
    expect_stale(stale(11), program, folder, True) # before that
    expect_stale(stale(11.8), program, folder, False) # it was written before it was read
    expect_stale(stale(13), program, folder, False)
    expect_stale(stale(13, 'b'), program, folder, True)
    expect_stale(stale(22), program, folder, True) # it has a receipt again


def check_hold(program, folder):
    """What a replica answers while it holds may be stale: until it has a receipt again."""
    def stale(at, replica='a'):
        history = three_writes()
        history.held_from.append(12)
        history.reads.append(Read(5, replica, at, at + 0.1, {'one': 'w0'}))
        return history
    expect_stale(stale(11), program, folder, True) # it does not yet
    for replica in 'ab':
        expect_stale(stale(13, replica), program, folder, False)
    expect_stale(stale(20.5), program, folder, False)
    expect_stale(stale(22), program, folder, True)
    expect_stale(stale(22, 'b'), program, folder, False)


def body(test):
    program = interop.go_program_or_skip(HERE / 'go-porcupine', test.build / 'porcupine-judge')
    n_mutants = 0
    for seed in SEEDS:
        history = made(seed)
        found = history.judge(program, '')
        check(f'history {seed} may be: {history.counts()}', not found or print(*found, sep='\n'))
        for mutate, expected in MUTANTS.items():
            if len(words_of(history)) < 3:
                continue
            mutant = copy.copy(history)
            for name in ('writes', 'reads', 'problems'):
                setattr(mutant, name, list(getattr(history, name)))
            for name in ('orders', 'generations', 'words'):
                setattr(mutant, name, copy.deepcopy(getattr(history, name)))
            mutate(mutant)
            found = mutant.judge(program, '')
            if not any(expected in one for one in found):
                check(f'history {seed}: {mutate.__name__} is seen as …{expected}…: {found}', False)
            n_mutants += 1
    check(f'{n_mutants} histories that may not be are seen as such', n_mutants > 5 * len(MUTANTS))
    check_barrier(program, test.work)
    check_hold(program, test.work)
    check_given_up(program, test.work)
    source = HERE.parents[1] / 'src' / 'replica' / 'replicator.c'
    check(f'a replica logs {GIVEN_UP}', GIVEN_UP in source.read_bytes())


if __name__ == '__main__':
    sys.exit(interop.run(__doc__, body))
