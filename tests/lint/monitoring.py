#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""monitoring/: each metric that a rule or a panel names is in src/metrics/list.h, in the form of its series, with the
label that it has, or a rule records it. Each alert has severity, summary, description, and the link to its section of
docs/guide/runbooks.md, which has one of each alert and no other. dashboard.json is what make-dashboard.py makes."""
import importlib.util
import pathlib
import re
import sys

import lint

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / 'docs' / 'site'))
sys.path.insert(0, str(SOURCE / 'tests' / 'monitoring'))

import rules  # noqa: E402
from markdown_page import slug  # noqa: E402

LIST = 'src/metrics/list.h'
FAMILIES = 'src/metrics/families.c'
MAKE = 'monitoring/make-dashboard.py'
RUNBOOKS = 'docs/guide/runbooks.md'
METRIC = re.compile(r'X\(\w+, (\w+), (\w+),\s*\w+,[\s\\]*"(\w+)"')
LABEL = re.compile(r'\[UDPAI_LABEL_(\w+)\] = \{"(\w*)"')
# Of Prometheus itself.
FOREIGN = {'up': set(), 'ALERTS': {'alertname', 'alertstate'}}
COMMON = {'job', 'instance'}
SEVERITIES = ('critical', 'warning')
SUFFIXES = {'COUNTER': ('_total',), 'GAUGE': ('',), 'LARGEST': ('',), 'RATIO': ('',),
            'HISTOGRAM': ('_bucket', '_sum', '_count')}


def known_series(root):
    """{series: its labels}"""
    labels = dict(LABEL.findall(lint.read(root, FAMILIES)))
    metrics = {name: (kind, labels.get(label, label))
               for kind, label, name in METRIC.findall(lint.read(root, LIST))}
    found = {}
    for name, (kind, label) in metrics.items():
        for suffix in SUFFIXES[kind]:
            found[name + suffix] = {label} - {''} | ({'le'} if suffix == '_bucket' else set())
    return {**FOREIGN, **found}


def check_expression(place, expression, known, recorded):
    metrics, listed = rules.metrics_of(expression)
    have = set(COMMON)
    for name, matched in metrics:
        if name not in known and name not in recorded:
            yield f'{place}: no node has {name}: {LIST} has the names, and its kind the end'
            continue
        labels = known.get(name, recorded.get(name)) | COMMON
        have |= labels
        yield from (f'{place}: {name} has no label {label}' for label in matched if label not in labels)
    yield from (f'{place}: none of its series has a label {label}' for label in listed if label not in have)
    if not metrics:
        yield f'{place}: it has no metric'


def labels_of(expression, known, recorded):
    """That a recorded series may have."""
    names = [name for name, _ in rules.metrics_of(expression)[0]]
    return set().union(*(known.get(name, recorded.get(name, set())) for name in names))


def check_alert(rule, page):
    place = f'{rules.ALERTS}:{rule.line}: {rule.name}'
    if rule.fields.get('labels.severity') not in SEVERITIES:
        yield f'{place}: its severity is none of {", ".join(SEVERITIES)}'
    for field in ('annotations.summary', 'annotations.description'):
        if not rule.fields.get(field):
            yield f'{place}: has no {field}'
    wanted = f'{page}#{slug(rule.name)}'
    if rule.fields.get('annotations.runbook_url') != wanted:
        yield f'{place}: its runbook_url is not {wanted}'


def check_sections(alerts, text):
    """Those of the third level."""
    sections = re.findall(r'^### (.*)$', text, re.M)
    for name in sorted(set(alerts) - set(sections)):
        yield f'{RUNBOOKS}: has no section {name}'
    for name in sorted(set(sections) - set(alerts)):
        yield f'{RUNBOOKS}: no alert is called {name}'
    for name in sorted({name for name in sections if sections.count(name) > 1}):
        yield f'{RUNBOOKS}: has two sections {name}'
    for name in alerts:
        section = re.search(rf'^### {name}\n(.*?)(?=^#|\Z)', text, re.M | re.S)
        for part in ('Means', 'Clients see', 'Look at', 'Do', 'Ends'):
            if section and not re.search(rf'\*\*[^*]*{part}\b', section[1], re.I):
                yield f'{RUNBOOKS}: {name} does not have "{part}"'


def made_dashboard(root):
    spec = importlib.util.spec_from_file_location('make_dashboard', root / MAKE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.text()


def check(root, _arguments):
    known, recorded = known_series(root), {}
    found = rules.read_rules(lint.read(root, rules.ALERTS))
    for rule in found:
        place = f'{rules.ALERTS}:{rule.line}: {rule.name}'
        expression = rule.fields.get('expr', '')
        yield from check_expression(place, expression, known, recorded)
        if rule.kind == 'record':
            recorded[rule.name] = labels_of(expression, known, recorded)
    alerts = [rule.name for rule in found if rule.kind == 'alert']
    if len(alerts) != len(set(alerts)) or not alerts:
        yield f'{rules.ALERTS}: has no alerts, or two of one name'
    for rule in found:
        if rule.kind == 'alert':
            yield from check_alert(rule, RUNBOOKS)
    yield from check_sections(alerts, lint.read(root, RUNBOOKS))
    dashboard = lint.read(root, rules.DASHBOARD)
    if dashboard != made_dashboard(root):
        yield f'{rules.DASHBOARD}: is not what its panels make: run {MAKE}'
    for title, expression in rules.read_panels(dashboard):
        yield from check_expression(f'{rules.DASHBOARD}: {title}', expression, known, recorded)


# ---- self-test ----

TREE = {
    LIST: '#define MAP(X) \\\n    X(ACKS, COUNTER, TYPE, PROCESSES, "udpa_acks", "Of all.") \\\n'
          '    X(UP, GAUGE, NONE, NODE, \\\n      "udpa_worker_up", "It is.")\n',
    FAMILIES: '    [UDPAI_LABEL_NONE] = {"", 0},\n    [UDPAI_LABEL_TYPE] = {"type", 100},\n',
    rules.ALERTS: '# Rules.\ngroups:\n  - name: all\n    rules:\n      - record: udpa:acks:rate5m\n'
                  '        expr: |\n          sum by (job, type) (\n'
                  '            rate(udpa_acks_total{type=~"a|b"}[5m] offset 5m))\n'
                  '      - alert: UdpaSilent\n        expr: udpa:acks:rate5m == 0 and on (job) udpa_worker_up > 1e3\n'
                  '        for: 5m\n        labels:\n          severity: warning\n        annotations:\n'
                  '          summary: "Its \\"ACKs\\""\n          description: "None of {{ $labels.type }}"\n'
                  '          runbook_url: docs/guide/runbooks.md#udpasilent\n',
    RUNBOOKS: '# All\n\n## Some\n\n### UdpaSilent\n\n**Means** **Clients see** **Look at** and **do** **Ends**\n',
    MAKE: 'import json\n\n\ndef text():\n    return json.dumps({"panels": [{"title": "A", "targets": '
          '[{"expr": "sum(udpa_acks_total)"}]}]})\n',
    rules.DASHBOARD: '{"panels": [{"title": "A", "targets": [{"expr": "sum(udpa_acks_total)"}]}]}',
}
PLANTED = [
    (rules.ALERTS, 'rate(udpa_acks_total', 'rate(udpa_acks', 'no node has udpa_acks:', 'has a label type'),
    (rules.ALERTS, '{type=~', '{code=~', 'udpa_acks_total has no label code'),
    (rules.ALERTS, 'by (job, type)', 'by (job, source)', 'none of its series has a label source'),
    (rules.ALERTS, 'udpa:acks:rate5m ==', 'udpa:acks:rate9m ==', 'no node has udpa:acks:rate9m'),
    (rules.ALERTS, 'on (job) udpa_worker_up', 'on (job) udpa_worker_down', 'no node has udpa_worker_down'),
    (rules.ALERTS, 'severity: warning', 'severity: low', 'its severity is none'),
    (rules.ALERTS, '          summary: "Its \\"ACKs\\""\n', '', 'has no annotations.summary'),
    (rules.ALERTS, '#udpasilent', '#silent', 'its runbook_url is not'),
    (LIST, '"udpa_worker_up"', '"udpa_worker_is_up"', 'no node has udpa_worker_up'),
    (LIST, 'ACKS, COUNTER', 'ACKS, GAUGE', 'rate5m: no node has', 'has a label type', 'A: no node has'),
    (RUNBOOKS, '**Look at** and ', '', 'UdpaSilent does not have "Look at"'),
    (RUNBOOKS, '### UdpaSilent\n', '### UdpaQuiet\n', 'has no section UdpaSilent', 'no alert is called UdpaQuiet'),
    (rules.DASHBOARD, '"A"', '"B"', 'is not what its panels make'),
    (rules.DASHBOARD, 'udpa_acks_total', 'udpa_acts_total', 'is not what its panels make', 'A: no node has udpa_acts'),
]


def self_test():
    with lint.tree(TREE) as root:
        lint.expect(check(root, None))
    for path, old, new, *patterns in PLANTED:
        if old not in TREE[path]:
            sys.exit(f'self-test: {path} has no {old!r}')
        with lint.tree({**TREE, path: TREE[path].replace(old, new)}) as root:
            lint.expect(check(root, None), *patterns)
    for line in ('      - alert UdpaSilent\n', '\tfor: 5m\n'):
        try:
            rules.read_rules('groups:\n' + line)
            sys.exit(f'self-test: {line!r} is read')
        except ValueError:
            pass


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
