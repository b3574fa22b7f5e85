# SPDX-License-Identifier: Apache-2.0
"""What a page in Markdown holds: headings, and blocks of code. For the site, and for the tests that read the pages."""
import dataclasses
import re


@dataclasses.dataclass
class Block:
    line: int     # of the page, from 1
    section: str  # the heading that it stands under
    info: str     # what stands behind the fence; INDENTED
    text: str


INDENTED = 'indented'


def slug(title, separator='-'):
    """What GitHub makes of a heading."""
    title = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', title)
    return re.sub(r'[^\w\- ]', '', title.strip().lower()).replace(' ', separator)


def blocks(page):
    """The fenced and the indented blocks of a page, in their order."""
    lines = page.read_text(encoding='utf-8').split('\n')
    section, at = '', 0
    while at < len(lines):
        line, start, end = lines[at], at + 1, at
        if line.startswith('```'):
            end = lines.index('```', start)
            yield Block(start, section, line[3:].strip(), '\n'.join(lines[start:end]) + '\n')
        elif line.startswith('    ') and at > 0 and not lines[at - 1]:
            while lines[end].startswith('    '):
                end += 1
            yield Block(start, section, INDENTED, '\n'.join(text[4:] for text in lines[at:end]) + '\n')
        elif heading := re.match(r'#+ (.*)', line):
            section = heading[1]
        at = end + 1
