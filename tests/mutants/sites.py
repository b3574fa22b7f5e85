# SPDX-License-Identifier: Apache-2.0
"""Where a C file could be wrong: each mistake is another text for a condition, a value, or a whole
statement, so that one build can hold many and choose among them while it runs.

What is read is the house style (tests/lint/format.py holds it): names of functions begin a line, their
bodies lie between braces that do. Comments, texts and lines of the preprocessor are passed over.
"""
import bisect
import re
from typing import NamedTuple

TOKEN = re.compile(r'''
    (?P<space>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*)
  | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d[\w.]*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
''', re.VERBOSE | re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r'^([a-z_]\w*)\([^;{}]*?\)\n\{$', re.MULTILINE)
COMPARED = {'<': ('<=', '>'), '<=': ('<', '>='), '>': ('>=', '<'), '>=': ('>', '<=')}
KEYWORDS = {'return', 'sizeof', 'case', 'if', 'while', 'for', 'else', 'do', 'switch', 'goto', 'break',
            'continue', 'const', 'struct', 'static', 'enum', 'union', 'unsigned', 'default'}
ASSIGNED = {'=', '+=', '-=', '*=', '|=', '&=', '^=', '<<=', '>>='}


class Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Mistake(NamedTuple):
    """`source[start:end]` becomes `text` if it is made, where `kind` is an operator of OPERATORS. What
    it stands in is a value, unless `is_statement`: then all of that is left out."""
    operator: str
    function: str
    start: int
    end: int
    text: str
    is_statement: bool


OPERATORS = {
    'border': '< becomes <=, and so on',
    'reverse': '< becomes >, and so on',
    'equal': '== becomes !=, and the other way',
    'and-or': '&& becomes ||, and the other way',
    'operand': 'one side of && or || is left out',
    'not': 'a condition is reversed, or a ! is left out',
    'sign': '+ becomes -, and the other way',
    'one-more': 'a number is one more',
    'constant': 'true becomes false, an error becomes UDPA_OK, and so on',
    'statement': 'a call, an assignment or a break is left out',
}


def tokenize(source):
    tokens = []
    for match in TOKEN.finditer(source):
        if match.lastgroup != 'space':
            tokens.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
    return tokens


def partners(tokens):
    """Of each bracket the index of the other one."""
    found, open_ones = {}, []
    for i, token in enumerate(tokens):
        if token.kind != 'sign':
            continue
        if token.text in '([{':
            open_ones.append(i)
        elif token.text in ')]}' and open_ones:
            found[open_ones[-1]] = i
            found[i] = open_ones.pop()
    return found


class File:
    def __init__(self, source):
        self.source = source
        self.tokens = tokenize(source)
        self.partner = partners(self.tokens)
        self.starts = [token.start for token in self.tokens]

    def index_at(self, position):
        return bisect.bisect_left(self.starts, position)

    def mistakes(self):
        """All that can be made, those of one place behind each other."""
        for match in FUNCTION.finditer(self.source):
            first = self.index_at(match.end() - 1)
            last = self.partner.get(first)
            if last is not None:
                yield from self.in_body(match.group(1), first + 1, last)

    def in_body(self, function, first, last):
        i = first
        while i < last:
            text = self.tokens[i].text
            if text in ('if', 'while', 'switch') and self.tokens[i + 1].text == '(':
                end = self.partner[i + 1]
                if text != 'switch':
                    yield from self.in_value(function, i + 2, end, True)
                i = end + 1
            elif text == 'for' and self.tokens[i + 1].text == '(':
                yield from self.in_loop(function, i + 2, self.partner[i + 1])
                i = self.partner[i + 1] + 1
            elif text in '{};' or text in ('else', 'do'):
                i += 1
            else:
                i = yield from self.in_statement(function, i, last)

    def in_loop(self, function, first, end):
        cuts = [i for i in self.outer(first, end) if self.tokens[i].text == ';']
        if len(cuts) == 2 and cuts[1] > cuts[0] + 1:
            yield from self.in_value(function, cuts[0] + 1, cuts[1], True)

    def in_statement(self, function, first, last):
        """One, up to its end; the index behind it. A label, or a macro with a block, is its head
        alone."""
        end = first
        for i in self.outer(first, last):
            end = i
            if self.tokens[i].text in (';', '{', ':') and not self.is_ternary(first, i):
                break
        if self.tokens[end].text != ';':
            return end + 1
        if self.tokens[first].text == 'static':
            return end + 1
        if self.tokens[first].text == 'return' and end > first + 1:
            yield from self.in_value(function, first + 1, end, False)
            return end + 1
        yield from self.leave_out(function, first, end)
        for i in self.outer(first, end):
            if self.tokens[i].text == '=' and self.tokens[i + 1].text != '{':
                yield from self.in_value(function, i + 1, end, False)
                break
        return end + 1

    def is_ternary(self, first, at):
        return self.tokens[at].text == ':' and any(
            self.tokens[i].text == '?' for i in range(first, at))

    def outer(self, first, end):
        """Indices that lie in no brackets; of brackets those that open."""
        i = first
        while i < end:
            yield i
            if self.tokens[i].text in ('(', '[') and i in self.partner:
                i = self.partner[i]
            i += 1

    def leave_out(self, function, first, end):
        tokens = self.tokens[first:end]
        is_alone = len(tokens) == 1 and tokens[0].text in ('break', 'continue')
        is_call = self.is_call(first, end)
        is_assigned = any(self.tokens[i].text in ASSIGNED | {'++', '--'}
                          for i in self.outer(first, end)) and not self.is_declared(first, end)
        if is_alone or is_call or is_assigned:
            yield Mistake('statement', function, tokens[0].start, self.tokens[end].end, '', True)

    def is_call(self, first, end):
        """name(…) and nothing else, or (void)name(…)."""
        tokens = self.tokens
        if tokens[first].text == '(' and tokens[first + 1].text == 'void':
            first += 3
        name = tokens[first]
        return (name.kind == 'name' and name.text not in KEYWORDS and name.text != 'assert' and
                first + 1 < end and tokens[first + 1].text == '(' and
                self.partner.get(first + 1) == end - 1)

    def is_declared(self, first, end):
        """Two names, or a name and a star, before what is assigned."""
        names = 0
        for i in self.outer(first, end):
            token = self.tokens[i]
            if token.text in ASSIGNED | {'++', '--', '->', '.', '['}:
                return False
            names += token.kind == 'name'
            if names == 2:
                return True
        return False

    # ---- values ----

    def in_value(self, function, first, end, is_condition):
        start, stop = self.tokens[first].start, self.tokens[end - 1].end
        value = self.source[start:stop]

        def made(operator, at, behind, text):
            return Mistake(operator, function, start, stop,
                           value[:at - start] + text + value[behind - start:], False)

        if is_condition:
            yield made('not', start, stop, f'!({value})')
        for i in range(first, end):
            yield from self.at_token(made, first, i, end)
        yield from self.operands(made, first, end)

    def at_token(self, made, first, i, end):
        token, before = self.tokens[i], self.tokens[i - 1] if i > first else None
        text = token.text
        is_binary = before is not None and (before.kind in ('name', 'number') and
                                            before.text not in KEYWORDS or before.text in (')', ']'))
        if text in COMPARED:
            yield made('border', token.start, token.end, COMPARED[text][0])
            yield made('reverse', token.start, token.end, COMPARED[text][1])
        elif text in ('==', '!='):
            yield made('equal', token.start, token.end, '!=' if text == '==' else '==')
        elif text in ('&&', '||'):
            yield made('and-or', token.start, token.end, '||' if text == '&&' else '&&')
        elif text == '!':
            yield made('not', token.start, token.end, '')
        elif text in ('+', '-') and is_binary:
            yield made('sign', token.start, token.end, '-' if text == '+' else '+')
        elif token.kind == 'number' and re.fullmatch(r'\d+', text):
            yield made('one-more', token.start, token.end, str(int(text) + 1))
        elif text in ('true', 'false'):
            yield made('constant', token.start, token.end, 'false' if text == 'true' else 'true')
        elif text == 'UDPA_OK' or (text.startswith('UDPA_ERR_') and text.isupper()):
            yield made('constant', token.start, token.end,
                       'UDPA_ERR_UNKNOWN' if text == 'UDPA_OK' else 'UDPA_OK')

    def operands(self, made, first, end):
        """a && b becomes a, and becomes b; in brackets, too."""
        for i in range(first, end):
            if self.tokens[i].text not in ('&&', '||'):
                continue
            left, right = self.edge(i, first, -1), self.edge(i, end - 1, 1)
            at, behind = self.tokens[left].start, self.tokens[right].end
            yield made('operand', at, behind, self.source[at:self.tokens[i - 1].end])
            yield made('operand', at, behind, self.source[self.tokens[i + 1].start:behind])

    def edge(self, at, limit, step):
        """The last token, in that direction, of the operand that begins beside this one."""
        i = at
        while i != limit:
            beside = self.tokens[i + step].text
            if beside in (('(', '[') if step < 0 else (')', ']')) or \
                    beside in ('&&', '||', '?', ':', ',', '='):
                break
            i += step
            if beside in ((')', ']') if step < 0 else ('(', '[')) and i in self.partner:
                i = self.partner[i]
        return i
