#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are mistakes found where they can be made, and made as they are meant? In a small text, which has one of
each place; and of those that are called equivalent each is still there.
"""
import sys

import sample
import sites

SOURCE = '''\
/* if (a < b) is no code here. */
#define NOR(a, b) \\
    ((a) < (b))

static const char text[] = "a < b";

static bool
first(const item *one, size_t n)
{
    static size_t calls = 1;
    unsigned k = n + 1;
    if (!one || k >= MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        put(one);
    one->n += calls;
    assert(k);
    switch (k) {
    case 1:
        break;
    default:
        (void)end(one);
    }
    return err == UDPA_OK;
}
'''

EXPECTED = '''\
sign: n + 1 => n - 1
one-more: n + 1 => n + 2
not: !one || k >= MAX => !(!one || k >= MAX)
not: !one || k >= MAX => one || k >= MAX
and-or: !one || k >= MAX => !one && k >= MAX
border: !one || k >= MAX => !one || k > MAX
reverse: !one || k >= MAX => !one || k <= MAX
operand: !one || k >= MAX => !one
operand: !one || k >= MAX => k >= MAX
constant: false => true
not: i < n => !(i < n)
border: i < n => i <= n
reverse: i < n => i > n
statement: put(one); => nothing
statement: one->n += calls; => nothing
statement: break; => nothing
statement: (void)end(one); => nothing
equal: err == UDPA_OK => err != UDPA_OK
constant: err == UDPA_OK => err == UDPA_ERR_UNKNOWN
'''


def check_places():
    found = ''
    for mistake in sites.File(SOURCE).mistakes():
        assert mistake.function == 'first', mistake
        before = sample.flat(SOURCE[mistake.start:mistake.end])
        found += f'{mistake.operator}: {before} => {sample.flat(mistake.text) or "nothing"}\n'
    if found != EXPECTED:
        sys.exit(f'found:\n{found}\nexpected:\n{EXPECTED}')
    left = set(sites.OPERATORS) - {line.partition(':')[0] for line in EXPECTED.splitlines()}
    assert not left, left


def check_sample():
    shares = sample.shares(300)
    assert sum(shares.values()) == 300 and all(n > 0 for n in shares.values()), shares
    folder = next(sample.folders())
    one, same, other = (sample.Deck(folder, seed) for seed in (1, 1, 2))
    drawn = [one.draw().key for _ in range(20)]
    assert drawn == [same.draw().key for _ in range(20)]
    assert drawn != [other.draw().key for _ in range(20)]


def check_equivalents():
    known = {one.key for folder in sample.folders() for one in sample.all_of(folder)}
    for key, reason in sample.read_equivalents().items():
        if key not in known:
            sys.exit(f'equivalent.tsv: there is no such place any more, take the line out: {key}')
        if len(reason.split()) < 3:
            sys.exit(f'equivalent.tsv: no reason stands behind {key}')


if __name__ == '__main__':
    check_places()
    check_sample()
    check_equivalents()
