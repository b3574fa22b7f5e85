# SPDX-License-Identifier: Apache-2.0
"""A man page as Markdown, for the site: headings, and HTML for what is between them. It knows the requests and
escapes of man(7) that our pages use; another one is an error that names the line."""
import html
import re

FONTS = {'B': 'b', 'I': 'i', 'R': ''}
ESCAPES = {'-': '-', 'e': '\\', '&': '', ' ': ' ', '(aq': "'", '(dq': '"', '(bu': '•', '(em': '—'}
ESCAPE = re.compile(r'\\(f[BIRP]|\(..|.)')
PARAGRAPHS = ('PP', 'P', 'LP')


class Malformed(Exception):
    """A man page that is not written as ours are."""


def inline(text):
    """HTML of a line with escapes."""
    out, at, font = [], 0, ''
    for match in ESCAPE.finditer(text):
        out.append(html.escape(text[at:match.start()], quote=False))
        at, name = match.end(), match[1]
        if name[0] == 'f':
            out.append(f'</{font}>' if font else '')
            font = FONTS.get(name[1], '')
            out.append(f'<{font}>' if font else '')
        elif name in ESCAPES:
            out.append(html.escape(ESCAPES[name], quote=False))
        else:
            raise Malformed(f'the escape \\{name}')
    out.append(html.escape(text[at:], quote=False) + (f'</{font}>' if font else ''))
    return ''.join(out)


def words(text):
    """The arguments of a request; one with spaces stands in quotes."""
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', text)]


def styled(fonts, arguments):
    """Of .BR and its sisters: the arguments by turns in one font and the other, one behind the other."""
    parts = [(FONTS[fonts[i % 2]], inline(text)) for i, text in enumerate(arguments)]
    return ''.join(f'<{font}>{text}</{font}>' if font else text for font, text in parts)


class Page:
    """The lines of a man page, one after the other, as blocks of HTML between headings."""

    def __init__(self):
        self.lines, self.text, self.open = [], [], []
        self.takes_term = self.is_code = False

    def write(self, text):
        """Ends the paragraph that there is, and adds a line."""
        if self.text:
            self.lines.append(f'<p>{" ".join(self.text)}</p>')
        self.text = []
        if text:
            self.lines.append(text)

    def close(self, n_open=0):
        self.write('')
        while len(self.open) > n_open:
            self.lines.append({'dl': '</dd></dl>', 'rs': '</div>'}[self.open.pop()])

    def close_list(self):
        self.write('')
        if self.open and self.open[-1] == 'dl':
            self.close(len(self.open) - 1)

    def heading(self, level, text):
        self.close()
        self.lines += ['', f'{level} {text}', '']

    def term(self, text):
        """Of a list; the description follows."""
        self.write('')
        if self.open and self.open[-1] == 'dl':
            if self.lines[-1].endswith('<dd>'):
                self.lines[-1] = f'{self.lines[-1][:-len("<dd>")]}<dt>{text}</dt><dd>'
            else:
                self.lines.append(f'</dd><dt>{text}</dt><dd>')
        else:
            self.open.append('dl')
            self.lines.append(f'<dl><dt>{text}</dt><dd>')

    def add(self, text):
        if self.takes_term:
            self.takes_term = False
            self.term(text)
        elif self.is_code:
            self.lines[-1] += text + '\n'
        else:
            self.text.append(text)

    def indent(self, is_begin):
        self.write('')
        if is_begin:
            self.open.append('rs')
            self.lines.append('<div style="margin-left: 2em">')
            return
        while self.open and self.open[-1] == 'dl':
            self.close(len(self.open) - 1)
        self.close(len(self.open) - 1)

    def code(self, is_begin):
        self.write('')
        self.is_code = is_begin
        if is_begin:
            self.lines.append('<pre><code>')
        else:
            self.lines[-1] = self.lines[-1].replace('<code>\n', '<code>', 1) + '</code></pre>'

    def request(self, name, rest):
        arguments = words(rest)
        if name == 'TH':
            self.lines.append(f'# {arguments[0].lower()}({arguments[1]})')
        elif name in ('SH', 'SS'):
            self.heading('##' if name == 'SH' else '###', inline(' '.join(arguments)))
        elif name in ('TP', 'TQ'):
            self.takes_term = True
        elif name == 'IP':
            self.term(inline(arguments[0]) if arguments else '')
        elif name in PARAGRAPHS:
            self.close_list()
        elif name in ('RS', 'RE'):
            self.indent(name == 'RS')
        elif name in ('nf', 'EX', 'fi', 'EE'):
            self.code(name in ('nf', 'EX'))
        elif name == 'br':
            self.add('<br>')
        elif set(name) <= set(FONTS) and len(name) <= 2:
            self.add(styled(name, arguments) if len(name) == 2 else styled(name * 2, [' '.join(arguments)]))
        else:
            raise Malformed(f'the request .{name}')

    def line(self, line):
        if line.startswith('.\\"'):
            return
        match = re.match(r'\.\s*(\w+)\s*(.*)', line)
        if match:
            self.request(match[1], match[2])
        else:
            self.add(inline(line))


def to_markdown(text, path):
    page = Page()
    for number, line in enumerate(text.rstrip('\n').split('\n'), start=1):
        try:
            page.line(line)
        except Malformed as error:
            raise Malformed(f'{path}:{number}: {error} is not known') from None
    page.close()
    return '\n'.join(page.lines) + '\n'
