# SPDX-License-Identifier: Apache-2.0
"""Reads monitoring/alerts.yaml and the dashboard, for tests: of YAML only the forms that are used there, so that no
package is needed. tests/interop/test_dashboard.py compares it with what Prometheus has read."""
import dataclasses
import json
import re

ALERTS = 'monitoring/alerts.yaml'
DASHBOARD = 'monitoring/dashboard.json'


@dataclasses.dataclass
class Rule:
    line: int    # of the file, from 1
    kind: str    # alert, record
    name: str
    fields: dict # {'expr': text, 'annotations.summary': text, ...}


def indent_of(line):
    return len(line) - len(line.lstrip(' '))


def value_of(text):
    return json.loads(text) if text.startswith('"') else text


def read_rules(text):
    """Raises ValueError of a line that it does not know."""
    rules, lines, at, above = [], text.split('\n'), 0, ''
    while at < len(lines):
        line, number = lines[at], at + 1
        at += 1
        if not line.strip() or line.lstrip().startswith('#') or line == 'groups:' or \
                re.fullmatch(r'  - name: [\w-]+|    rules:', line):
            continue
        begin = re.fullmatch(r'      - (alert|record): ([\w:]+)', line)
        field = re.fullmatch(r'(?:        |          )(\w+):(?: (.*))?', line)
        if begin:
            rules.append(Rule(number, begin[1], begin[2], {}))
        elif not field or not rules:
            raise ValueError(f'{ALERTS}:{number}: "{line}" is none of the forms that are read')
        elif not field[2]:
            above = field[1] + '.'
        else:
            indent, value = indent_of(line), field[2]
            if value == '|':
                end = next((i for i in range(at, len(lines)) if lines[i] and indent_of(lines[i]) <= indent),
                           len(lines))
                value, at = '\n'.join(lines[at:end]), end
            rules[-1].fields[(above if indent > 8 else '') + field[1]] = value_of(value)
    return rules


def read_panels(text):
    """(title of the panel, expression) of each query of the dashboard, rows included."""
    for panel in json.loads(text)['panels']:
        for one in [panel, *panel.get('panels', [])]:
            for target in one.get('targets', []):
                yield one['title'], target['expr']


# ---- expressions ----

WORDS = {'and', 'or', 'unless', 'by', 'without', 'on', 'ignoring', 'group_left', 'group_right', 'offset', 'bool'}
LISTS = re.compile(r'\b(by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
SELECTOR = re.compile(r'([A-Za-z_:][\w:]*)\s*\{([^{}]*)\}')


def metrics_of(expression):
    """[(name, labels that are matched)], and the labels in lists such as by (…)."""
    text = STRING.sub('""', expression)
    matched = [(name, re.findall(r'(\w+)\s*(?:=~|!=|!~|=)', inside)) for name, inside in SELECTOR.findall(text)]
    listed = [label for _, inside in LISTS.findall(text) for label in re.findall(r'\w+', inside)]
    text = LISTS.sub(' ', text)
    text = re.sub(r'\[[^\]]*\]|\{[^{}]*\}|\boffset\s+\w+', ' ', text)
    names = [match[0] for match in re.finditer(r'(?<![\w:.$])[A-Za-z_:][\w:]*(?!\s*\()\b(?![\w:]|\s*\()', text)]
    bare = [(name, []) for name in names if name not in WORDS and name not in dict(matched)]
    return matched + bare, listed
