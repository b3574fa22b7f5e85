#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are the mistakes of the simulation planted where they are meant, wherever that has moved, and never
elsewhere? In small trees: what can be planted, with what it gives, and what cannot, with the error.
"""
import sys

import mistakes

sys.path.insert(0, str(mistakes.SOURCE / 'tests' / 'lint'))

import lint  # noqa: E402

STORE = '''\
/* is_new(1) is no definition; neither is that of a comment: a < b. */
static const unsigned limits[] = {
    [FEW] = 10,
    [MANY] = 100,
};

static bool
is_new(const item *one,
       unsigned n)
{
    if (one->n < n && /* the older one */
        one->is_set) {
        keep(one, "a  b");
        return n < 3;
    }
    keep(one, "a b");
    return n < 3;
}

void
add(item *one)
{
    if (is_new(one, 1))
        put(one);
}
'''
HEADER = '''\
static inline bool
is_set(const item *one)
{
    return one->n > 0;
}
'''
OTHER = '''\
static bool
is_new(const other *one)
{
    return one->n > 7;
}
'''
TREE = {'src/store/store.c': STORE, 'src/model/item.h': HEADER, 'federation/other.c': OTHER,
        'docs/copy.c': STORE}


def written(*changes):
    return 'Why.\n' + ''.join(f'\nin: {function}\nfind: {find}\nreplace: {replace}\n'
                              for function, find, replace in changes)


def plant(tree, *changes):
    with lint.tree(tree) as root:
        return mistakes.planted(mistakes.parse('x', written(*changes)), mistakes.Sources(root))


def expect(changed, before, after, *changes, tree=None):
    """One file changes, and in that the text `before` becomes `after`."""
    tree = tree or TREE
    assert tree[changed].count(before) == 1, before
    found = plant(tree, *changes)
    wanted = {changed: tree[changed].replace(before, after)}
    if found != wanted:
        sys.exit(f'{changes}\ngives {found}\nexpected {wanted}')


def expect_error(error, *changes, text=None, tree=None):
    try:
        with lint.tree(tree or TREE) as root:
            mistakes.planted(mistakes.parse('x', text or written(*changes)), mistakes.Sources(root))
    except mistakes.Failure as failure:
        if error in str(failure):
            return
        sys.exit(f'{changes or text}\nfails: {failure}\nexpected: {error}')
    sys.exit(f'{changes or text}\ndoes not fail; expected: {error}')


def check_places():
    file = 'src/store/store.c'
    expect(file, 'is_new(one, 1)', 'true', ('add', 'is_new(one, 1)', 'true'))
    expect(file, '        put(one);\n', '        \n', ('add', 'put(one);', ''))
    expect(file, '= 100', '= 10', ('limits', '[MANY]=100', '[MANY] = 10'))
    expect('src/model/item.h', '> 0', '>= 0', ('is_set', '>', '>='))
    # Lines, white space and comments make no difference, but in what the program prints they do.
    expect(file, 'one->n < n && /* the older one */\n        one->is_set', 'x',
           ('is_new', '\n    one->n\n      < n&&one->is_set', 'x'))
    expect(file, 'one->n < n && /* the older one */\n        one->is_set', 'x',
           ('is_new', 'one->n < n /* or not */ && one->is_set', 'x'))
    expect(file, 'keep(one, "a b")', 'x', ('is_new', 'keep(one,"a b")', 'x'))
    # Of two functions of one name, the one that has it.
    expect('federation/other.c', '> 7', '> 8', ('is_new', 'one->n > 7', 'one->n > 8'))


def check_several():
    with_both = STORE.replace('one->n < n', 'one->n > n').replace('"a b"', '"c"')
    assert plant(TREE, ('is_new', '"a b"', '"c"'), ('is_new', 'one->n < n', 'one->n > n'),
                 ('is_set', 'one->n > 0', 'true')) == {
                     'src/store/store.c': with_both,
                     'src/model/item.h': HEADER.replace('one->n > 0', 'true')}
    pairs = 'Why.\nin: is_new\nfind:\n    "a b"\nreplace:\n    "c"\nfind: one->n < n\nreplace: one->n > n\n'
    with lint.tree(TREE) as root:
        found = mistakes.planted(mistakes.parse('x', pairs), mistakes.Sources(root))
    assert found == {'src/store/store.c': with_both}, found


def check_moves():
    """To another file, in another folder; indented otherwise; renamed, here and there alike."""
    at = STORE.index('void\nadd')
    moved = {**TREE, 'src/store/store.c': STORE[:at], 'certs/sub/new.c': STORE[at:]}
    expect('certs/sub/new.c', 'is_new(one, 1)', 'true', ('add', 'is_new(one, 1)', 'true'), tree=moved)
    change = ('is_new', 'n && one->is_set', 'n')
    wrapped = {**TREE, 'src/store/store.c': STORE.replace('const item *one,\n       unsigned n',
                                                          'const item *one, unsigned n')}
    expect('src/store/store.c', 'n && /* the older one */\n        one->is_set', 'n', change,
           tree=wrapped)
    renamed = {file: text.replace('is_new', 'is_fresh').replace('is_set', 'is_known')
               for file, text in TREE.items()}
    expect('src/store/store.c', 'n && /* the older one */\n        one->is_known', 'n',
           [part.replace('is_new', 'is_fresh').replace('is_set', 'is_known') for part in change],
           tree=renamed)


def check_errors():
    expect_error('no function or table is named gone', ('gone', 'put(one)', ''))
    expect_error('no function or table is named put', ('put', 'one', ''))
    expect_error('contains 2 times: return n < 3', ('is_new', 'return n < 3', 'return n'))
    expect_error('add (src/store/store.c) does not contain: gone', ('add', 'gone', ''))
    expect_error('(src/store/store.c) does not contain: one->n > 7; is_new (federation/other.c) does',
                 ('add', 'one->n > 7', ''))
    expect_error('does not contain: put(one', ('is_new', 'put(one);', '')) # it is in the next one
    expect_error('does not contain: he older', ('is_new', 'he older', ''))
    expect_error('does not contain', ('is_new', 'keep(one, "a   b")', ''))
    expect_error('does not contain', ('add', '', 'put(one);'))
    expect_error('it changes nothing', ('add', 'put(one);', 'put( one );'))
    expect_error('two of its changes overlap', ('is_new', 'one->n < n', 'x'), ('is_new', 'n &&', 'y'))
    expect_error('(federation/other.c, src/model/twin.c, src/store/store.c) contains 2 times: one->n > 7',
                 ('is_new', 'one->n > 7', 'x'), tree={**TREE, 'src/model/twin.c': OTHER})
    for text in ('in: add\nfind: a\nreplace: b\n', 'Why.\n'):
        expect_error('a description and at least one change', text=text)
    for text, error in (('find: a\nreplace: b', 'find stands where in'),
                        ('in: add\nreplace: b', 'replace stands where find'),
                        ('in: add\nfind: a', 'end stands where replace'),
                        ('in: add\nfind: a\nfind: b\nreplace: c', 'find stands where replace')):
        expect_error(error, text=f'Why.\n{text}\n')


if __name__ == '__main__':
    check_places()
    check_several()
    check_moves()
    check_errors()
