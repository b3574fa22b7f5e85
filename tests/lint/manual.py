#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages can be made into pages of the site (docs/site/manual.py), which knows the requests of man(7) that
they use; the HTML of each is well-formed."""
import html.parser
import importlib.util
import pathlib

import lint

PATH = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'site' / 'manual.py'
SPEC = importlib.util.spec_from_file_location('manual', PATH)
manual = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(manual)


class Nesting(html.parser.HTMLParser):
    """Do tags end in the order in which they began?"""

    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, _attributes):
        if tag != 'br':
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def check(root, _arguments):
    for path in lint.tracked(root):
        if not path.startswith('docs/man/'):
            continue
        try:
            text = manual.to_markdown((root / path).read_text(encoding='utf-8'), path)
        except manual.Malformed as error:
            yield str(error)
            continue
        nesting = Nesting()
        nesting.feed(text)
        if nesting.wrong or nesting.open:
            yield f'{path}: the tags {nesting.wrong + nesting.open} do not fit'


PAGE = r'''.\" comment
.TH A 1 "" "x" "y"
.SH NAME
a \- b <c>
.BR d " (e),"
\fIf\fR \(aqg\(aq
.PP
h
.TP
.B i
j
.RS
.TP
.B k
l
.RE
.TP
m
.TQ
M
n
.SS More
.EX
o  <
.EE
'''
MADE = '''# a(1)

## NAME

<p>a - b &lt;c&gt; <b>d</b> (e), <i>f</i> 'g'</p>
<p>h</p>
<dl><dt><b>i</b></dt><dd>
<p>j</p>
<div style="margin-left: 2em">
<dl><dt><b>k</b></dt><dd>
<p>l</p>
</dd></dl>
</div>
</dd><dt>m</dt><dt>M</dt><dd>
<p>n</p>
</dd></dl>

### More

<pre><code>o  &lt;
</code></pre>
'''


def self_test():
    made = manual.to_markdown(PAGE, 'a.1')
    lint.expect([] if made == MADE else [made])
    with lint.tree({'docs/man/a.1': PAGE}) as root:
        lint.expect(check(root, None))
    with lint.tree({'docs/man/a.1': PAGE + '.UR x\n', 'docs/man/b.1': 'a \\*(lq\n', 'docs/man/c.1': '.EX\n'
                    'a\n'}) as root:
        lint.expect(check(root, None), r'a.1:26: the request .UR', r'b.1:1: the escape', 'c.1: the tags')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
