# SPDX-License-Identifier: Apache-2.0
"""What clients have done and seen, and whether it may have been so.

A register is a group of names that are always published, and removed, together: one name, or several, or more
than a transaction of etcd takes. Its value is the word that all of them have. All publishers have one
identity, though their streams are at different replicas: so a register has one contribution, and the last
write wins. (Publishers with two identities would have two contributions, of which precedence chooses; what
is effective would not be a register.) Each write has a word of its own.

The first answer of a new stream is a read. It is judged by porcupine (go-porcupine) with all writes, except
those that a replica was allowed to answer without the barrier: when a stream, or a publication that changes
nothing, has waited there for 1 s, all that wait go on, and none waits until a write of the replica has come
through. It may be a stream that only the replica knows, such as that of another replica: it logs that nobody waits
any more. Here that lasts until a publication that began later has a receipt there; so it is while replicas hold. The
time in which a replica was stopped, or did not run, is no time that streams that began in it have waited.

What streams receive after their first answer are not reads: they may be late. But all streams see the words of a
register in one order, and no word comes again when another one has taken its place.
"""
import collections
import graphlib
import json
import subprocess
import threading
import time

PATIENCE_S = 0.99 # UDPAI_BARRIER_PATIENCE_MS
SEEN_S = 0.5 # so long after it was written a line of a log was read
AGAIN_S = 1 # until the barrier's own write has come through, too
ABSENT = ''
OK, REJECTED, UNKNOWN = 'ok', 'rejected', 'unknown'


class Write:
    def __init__(self, client, register, word, replica):
        self.client, self.register, self.word, self.replica = client, register, word, replica
        self.begun, self.ended, self.outcome = time.monotonic(), None, None


class Read:
    """The first answer of a stream; found: {register: word}, None if there was none, or it is not of them."""

    def __init__(self, client, replica, begun, ended, found=None):
        self.client, self.replica, self.begun, self.ended, self.found = client, replica, begun, ended, found


class History:
    """Of an epoch: registers are {name: number of its members}; when replicas were down, {replica: [(from, to)]}."""

    def __init__(self, registers, down=None):
        self.registers, self.down = registers, down or {}
        self.lock = threading.Lock()
        self.writes, self.reads = [], []
        self.orders = collections.defaultdict(list) # by stream and register: words, as they came
        self.generations = collections.defaultdict(set) # by register and word
        self.words = collections.defaultdict(set) # by name and generation
        self.problems = []
        self.held_from = [] # when etcd was restored from an older snapshot
        self.given_up = [] # (replica, when it was read that nobody waits there any more)

    # ---- what is noted ----

    def problem(self, text):
        with self.lock:
            self.problems.append(text)

    def hold(self):
        """From now on, until there is a receipt of a publication that began later, no replica has a barrier."""
        with self.lock:
            self.held_from.append(time.monotonic())

    def give_up(self, replica):
        """It has logged that nobody waits there any more."""
        with self.lock:
            self.given_up.append((replica, time.monotonic()))

    def begin_write(self, client, register, word, replica):
        one = Write(client, register, word, replica)
        with self.lock:
            self.writes.append(one)
        return one

    def end_write(self, one, outcome):
        with self.lock:
            one.ended, one.outcome = time.monotonic(), outcome

    def add_read(self, one):
        with self.lock:
            self.reads.append(one)

    def whole(self, register, words, where):
        """The word that all members have; a problem if they have several."""
        words = set(words)
        if len(words) != 1:
            self.problem(f'{where}: {register} is not whole: {sorted(words)}')
            return None
        return words.pop()

    def found(self, values, where):
        """{register: word} of {name of a member: word}."""
        return {register: self.whole(register, (values.get(name, ABSENT) for name in members(register, count)),
                                     where)
                for register, count in self.registers.items()}

    def note(self, stream, register, word):
        """What a stream has of a register now."""
        words = self.orders[stream, register]
        if word is not None and (not words or words[-1] != word):
            words.append(word)

    def note_generation(self, stream, name, generation, word):
        with self.lock:
            words = self.orders[stream, f'generations of {name}']
            if words and generation < words[-1]:
                self.problems.append(f'{stream}: {name} has generation {generation} after {words[-1]}')
            words.append(generation)
            self.generations[name, word].add(generation)
            self.words[name, generation].add(word)

    # ---- what is judged ----

    def waited_since(self, read):
        """As the replica sees it."""
        return max([read.begun, *(end for begin, end in self.down.get(read.replica, ())
                                  if begin <= read.begun <= end <= read.ended)])

    def is_late(self, read):
        return read.ended - self.waited_since(read) >= PATIENCE_S

    def unbarred(self):
        """By replica: times in which its first answers need not be current."""
        found = collections.defaultdict(list)
        for read in filter(self.is_late, self.reads):
            begin = self.waited_since(read) + PATIENCE_S
            found[read.replica].append((begin, max(self.receipted_after(read.replica, begin), read.ended)))
        for replica, seen in self.given_up:
            found[replica].append((seen - SEEN_S, self.receipted_after(replica, seen)))
        for replica in {read.replica for read in self.reads}:
            found[replica] += [(begin, self.receipted_after(replica, begin)) for begin in self.held_from]
        return found

    def receipted_after(self, replica, begin):
        """When its barrier works again for certain."""
        return min((one.ended for one in self.writes if one.replica == replica and one.outcome == OK and
                    one.begun > begin), default=float('inf')) + AGAIN_S

    def strict_reads(self):
        unbarred = self.unbarred()
        return [read for read in self.reads if read.found is not None and not any(
            begin <= read.ended and read.begun <= end for begin, end in unbarred[read.replica])]

    def operations(self):
        """As go-porcupine reads them. What may have been done, but no read has seen, makes no difference."""
        reads = self.strict_reads()
        seen = {(register, word) for read in reads for register, word in read.found.items()}
        found = []

        def add(register, client, is_write, word, begun, ended):
            found.append({'Register': register, 'Client': client, 'IsWrite': is_write, 'Value': word,
                          'Begun': int(begun * 1e9), 'Ended': -1 if ended is None else int(ended * 1e9)})
        for one in self.writes:
            if one.outcome == OK:
                add(one.register, one.client, True, one.word, one.begun, one.ended)
            elif one.outcome != REJECTED and (one.register, one.word) in seen:
                add(one.register, one.client, True, one.word, one.begun, None)
        for read in reads:
            for register, word in read.found.items():
                if word is not None:
                    add(register, read.client, False, word, read.begun, read.ended)
        return found

    def check_orders(self):
        """All streams see one order, in which no word comes again."""
        after = collections.defaultdict(lambda: collections.defaultdict(set))
        for (stream, register), words in self.orders.items():
            if register not in self.registers:
                continue
            words = [word for word in words if word != ABSENT]
            words = [word for n, word in enumerate(words) if n == 0 or words[n - 1] != word]
            again = {word for word in words if words.count(word) > 1}
            if again:
                yield f'{stream}: {register}: {sorted(again)} came again: {words}'
            for one, other in zip(words, words[1:]):
                after[register][other].add(one)
        for register, graph in after.items():
            try:
                graphlib.TopologicalSorter(graph).prepare()
            except graphlib.CycleError as error:
                yield f'{register}: streams have seen different orders: {error.args[1]}'

    def check_words(self):
        """What was rejected, or never published, nobody has."""
        may = {(one.register, one.word) for one in self.writes if one.outcome != REJECTED}
        has = {(register, word) for read in self.reads if read.found
               for register, word in read.found.items() if word}
        has |= {(register, word) for (_, register), words in self.orders.items() if register in self.registers
                for word in words if word}
        rejected = {(one.register, one.word) for one in self.writes if one.outcome == REJECTED}
        for one in sorted(has - may):
            yield f'{one} is served, and was {"rejected" if one in rejected else "never published"}'

    def check_generations(self):
        for (name, word), generations in self.generations.items():
            if len(generations) > 1:
                yield f'{name}: {word} was applied more than once: generations {sorted(generations)}'
        for (name, generation), words in self.words.items():
            if len(words) > 1:
                yield f'{name}: generation {generation} has {sorted(words)}'

    def check_registers(self, judge, folder):
        done = subprocess.run([judge, folder], input=json.dumps(self.operations()), text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            yield f'the judge has failed: {done.stderr}'
            return
        for register, verdict in json.loads(done.stdout).items():
            if verdict['Result'] != 'Ok':
                yield '\n  '.join([f'{register} is not linearizable: {verdict}', *self.stale(register)])

    def stale(self, register):
        """For those who look for the reason: reads of what had been written over. Times are those of the epoch."""
        writes = [one for one in self.writes if one.register == register and one.outcome != REJECTED]
        of_word = {one.word: one for one in writes if one.word}
        start = min(one.begun for one in writes)
        for read in self.strict_reads():
            wrote = of_word.get(read.found.get(register))
            later = [one for one in writes if wrote and wrote.outcome == OK and one.outcome == OK and
                     one.begun > wrote.ended and one.ended < read.begun]
            if later:
                yield f'{read.begun - start:.3f} to {read.ended - start:.3f} s: {read.replica} answers ' \
                    f'{wrote.word}, {len(later)} others have a receipt, the last {later[-1].word or "absent"} at ' \
                    f'{later[-1].ended - start:.3f} s by {later[-1].replica}'

    def judge(self, program, folder):
        """All that is wrong, a line each."""
        return [*self.problems, *self.check_words(), *self.check_generations(), *self.check_orders(),
                *self.check_registers(program, folder)]

    def counts(self):
        outcomes = collections.Counter(one.outcome for one in self.writes)
        strict = len(self.strict_reads())
        n_found = sum(read.found is not None for read in self.reads)
        return f'{outcomes[OK]} receipts, {outcomes[REJECTED]} rejected, {outcomes[UNKNOWN]} unknown; ' \
            f'{strict} first answers, {n_found - strict} more that the barrier may have let go'


def members(register, count):
    return [f'{register}.{n}' for n in range(count)]


def register_of(name):
    return name.rsplit('.', 1)[0]
