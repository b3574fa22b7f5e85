#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference: docs/reference/bootstrap.md and protocol.md from the .proto files of our own
packages and their comments, metrics.md from the list of metrics. tests/lint/reference.py sees that the
pages are up to date, and that the comments of udpa.config.v1 are complete.

Reads .proto files as ours are written: a statement a line, comments above it, one enum, message,
oneof, service or field at a time. Anything else is an error that names the line.
"""
import dataclasses
import pathlib
import re
import sys

PROTO = 'proto'
HERE = 'docs/reference'
CONFIG = 'udpa.config.v1'
# The pages, in their order, and of each the files.
PROTOCOL = [
    'udpa/service/discovery/v1/discovery.proto',
    'udpa/load/v1/load.proto',
    'udpa/load/v1/orca.proto',
    'udpa/health/v1/health.proto',
    'udpa/event/v1/event.proto',
    'udpa/service/events/v1/events.proto',
    'udpa/status/v1/status.proto',
]
METRICS = 'src/metrics/list.h'
BOOTSTRAP = ['udpa/config/v1/bootstrap.proto', 'udpa/config/v1/resource_provider.proto']

NUMBERS = ('double', 'float', 'int32', 'int64', 'uint32', 'uint64', 'fixed32', 'fixed64')
SCALARS = (*NUMBERS, 'bool', 'string', 'bytes')
DURATION = 'google.protobuf.Duration'
# Messages that are written as one value.
VALUES = (DURATION, 'google.protobuf.Struct', 'google.protobuf.Timestamp')

BLOCK = re.compile(r'(message|enum|oneof|service) (\w+) \{(\})?$')
RPC = re.compile(r'rpc (\w+)\((stream )?([\w.]+)\) returns \((stream )?([\w.]+)\);$')
FIELD = re.compile(r'(repeated |)(map<\w+, [\w.]+>|[\w.]+) (\w+) = (\d+)(?: \[json_name = "(\w+)"\])?;$')
VALUE = re.compile(r'(\w+) = (\d+);$')
SILENT = re.compile(r'(syntax|package|import|reserved) ?[^;]*;(?:  // .*)?$')
FACT = re.compile(r'(?:^|(?<=[.:!] ))(Default|Unit|Example): ')


class Malformed(Exception):
    """A .proto file that is not written as ours are."""


@dataclasses.dataclass
class Entry:
    """A message, enum, oneof, service, method, field or value, with what is in it."""
    kind: str
    name: str
    comment: str
    place: str
    number: int = 0
    type: str = ''
    is_repeated: bool = False
    answer: str = ''
    entries: list = dataclasses.field(default_factory=list)

    def of_kind(self, *kinds):
        return [entry for entry in self.entries if entry.kind in kinds]

    def fields(self):
        """Those of its oneofs, too, in order; each with the oneof or None."""
        for entry in self.entries:
            if entry.kind == 'oneof':
                yield from ((field, entry) for field in entry.entries)
            elif entry.kind == 'field':
                yield entry, None

    def facts(self):
        """(meaning, {fact: value}): the comment, and what its end has to say by name."""
        parts = FACT.split(self.comment)
        values = {name: value.strip().removesuffix('.') for name, value in zip(parts[1::2], parts[2::2])}
        return parts[0].strip(), values


def statement(text, comment, place):
    """The entry that a line begins."""
    if match := BLOCK.match(text):
        return Entry(match[1], match[2], comment, place)
    if match := RPC.match(text):
        call, answer = (match[2] or '') + match[3], (match[4] or '') + match[5]
        return Entry('rpc', match[1], comment, place, type=call, answer=answer)
    if match := FIELD.match(text):
        return Entry('field', match[5] or match[3], comment, place, int(match[4]), match[2], bool(match[1]))
    if match := VALUE.match(text):
        return Entry('value', match[1], comment, place, int(match[2]))
    raise Malformed(f'{place}: "{text}" cannot be read')


def paragraphs(lines):
    """Lines of a comment as text; an empty one ends a paragraph."""
    return '\n\n'.join(' '.join(part.split('\n')) for part in '\n'.join(lines).split('\n\n'))


def parse(text, path):
    """The package of a file, the comment that it begins with, and its entries."""
    file = Entry('file', '', '', path)
    stack, comment = [file], []
    for number, line in enumerate(text.split('\n'), start=1):
        line = line.strip()
        if line.startswith('//'):
            comment.append(line[2:].strip())
            continue
        if SILENT.match(line):
            if line.startswith('syntax'):
                file.comment = paragraphs([each for each in comment if 'SPDX' not in each])
            file.name = line[len('package '):-1] if line.startswith('package') else file.name
        elif line == '}' and len(stack) > 1:
            stack.pop()
        elif line:
            entry = statement(line, paragraphs(comment), f'{path}:{number}')
            stack[-1].entries.append(entry)
            if line.endswith('{'):
                stack.append(entry)
        comment = []
    if len(stack) > 1:
        raise Malformed(f'{path}: {stack[-1].name} does not end')
    return file


def load(root, path):
    return parse((root / PROTO / path).read_text(encoding='utf-8'), f'{PROTO}/{path}')


class Names:
    """The messages and enums of the files of a page, by the full name."""

    def __init__(self, files):
        self.all, self.package = {}, {}
        for file in files:
            self.add(file, file.name, file.name)
        short = [full[len(package) + 1:] for full, package in self.package.items()]
        self.ambiguous = {name for name in short if short.count(name) > 1}

    def add(self, scope, name, package):
        for entry in scope.of_kind('message', 'enum'):
            full = f'{name}.{entry.name}'
            self.all[full], self.package[full] = entry, package
            self.add(entry, full, package)

    def find(self, type_name, scope):
        """The full name that a type in this message means; None: it is of another package."""
        while scope:
            if f'{scope}.{type_name}' in self.all:
                return f'{scope}.{type_name}'
            scope = scope.rpartition('.')[0]
        return type_name if type_name in self.all else None

    def title(self, full):
        """What a heading calls it: without the package, unless two have that name."""
        name = full[len(self.package[full]) + 1:]
        return f'{name} ({self.package[full]})' if name in self.ambiguous else name

    def in_file(self, file):
        """The full names of what a file has."""
        return [full for full, entry in self.all.items() if entry.place.startswith(file.place + ':')]


# ---- pages ----

def escape(text):
    """What Markdown would take for a tag or emphasis, outside code."""
    parts = text.split('`')
    parts[::2] = [part.replace('<', '&lt;').replace('*', '\\*') for part in parts[::2]]
    return '`'.join(parts)


def anchor(title):
    """As GitHub and mkdocs make it of a heading."""
    return re.sub(r'[^\w-]', '', title.lower().replace(' ', '-'))


def of_type(names, type_name, scope):
    full = names.find(type_name, scope)
    if full:
        title = names.title(full)
        return f'[{title}](#{anchor(title)})'
    return type_name.rpartition('.')[2] if type_name in VALUES else type_name


def type_of(names, field, scope):
    parts = re.match(r'map<(\w+), ([\w.]+)>', field.type)
    if parts:
        return f'map of {parts[1]} to {of_type(names, parts[2], scope)}'
    return ('list of ' if field.is_repeated else '') + of_type(names, field.type, scope)


def fact_line(facts):
    """Default, unit and example, as a line."""
    code = re.compile(r'[^ ;,]+|\[.*\]|\{.*\}')
    default = facts.get('Default', '')
    is_word = default in ('required', 'none', 'all', 'any') or not code.fullmatch(default)
    shown = [f'Default: {escape(default) if is_word else f"`{default}`"}.'] if default else []
    shown += [f'Unit: {escape(facts["Unit"])}.'] if 'Unit' in facts else []
    shown += [f'Example: `{facts["Example"]}`'] if 'Example' in facts else []
    return ' '.join(shown)


def field_lines(names, full):
    message = names.all[full]
    for field, oneof in message.fields():
        meaning, facts = field.facts()
        one_of = f', one of {oneof.name}' if oneof else ''
        number = '' if names.package[full] == CONFIG else f', {field.number}'
        yield f'- **`{field.name}`** ({type_of(names, field, full)}{number}{one_of})'
        yield from (f'  {escape(text)}' for text in meaning.split('\n') if text)
        if facts:
            yield f'  <br>{fact_line(facts)}' if meaning else f'  {fact_line(facts)}'
    for value in message.of_kind('value'):
        number = '' if names.package[full] == CONFIG else f' ({value.number})'
        yield f'- **`{value.name}`**{number}'
        if value.comment:
            yield f'  {escape(value.comment)}'


def section(names, full, level, places=()):
    """A message or enum."""
    entry = names.all[full]
    yield from ['', f'{level} {names.title(full)}', '']
    if places:
        yield from ['In ' + ', '.join(f'`{place}`' for place in places) + '.', '']
    if entry.comment:
        yield from [escape(entry.comment), '']
    for oneof in entry.of_kind('oneof'):
        if oneof.comment:
            yield from [f'`{oneof.name}`: {escape(oneof.comment)}', '']
    yield from field_lines(names, full)


def places_of(names, root):
    """{message or enum: paths of the fields that hold it}; at most a few of each, the shortest."""
    found, queue = {}, [(root, '')]
    while queue:
        full, path = queue.pop(0)
        for field, _ in names.all[full].fields():
            inner = names.find(field.type, full)
            where = f'{path}{field.name}' + ('[]' if field.is_repeated else '')
            if inner and len(found.setdefault(inner, [])) < 5:
                found[inner].append(where)
                queue.append((inner, where + '.'))
    return found


MADE = '<!-- Made from {of} by docs/reference/make.py: change the comments there. -->'


def bootstrap_page(root):
    files = [load(root, path) for path in BOOTSTRAP]
    names = Names(files)
    places = places_of(names, f'{CONFIG}.Bootstrap')
    lines = [
        '# Reference: the bootstrap file',
        '',
        MADE.format(of='proto/udpa/config/v1/'),
        '',
        'Each message and field of the package `udpa.config.v1`: the file that `udpad -c` reads, and the',
        'resources [ConfigSource](#configsource) and [ResourceProvider](#resourceprovider). `udpad --check -c',
        'FILE` reports all errors of a file. Field names may be written as here or in lowerCamelCase.',
        'Durations are seconds followed by s, such as 1.5s, or whole numbers of ms, m, h or d, such as 5m.',
        '',
        '```yaml udpad.yaml',
        'node: {id: edge, namespace: com.acme}',
        'sockets:',
        '  - address: 127.0.0.1:18000',
        'static_resources:',
        '  config_sources:',
        '    - name: core',
        '      udpa: {address: "core.example:18000"}',
        'providers:',
        '  - types: [envoy.config.cluster.v3.Cluster]',
        '    config_descriptors:',
        '      - {resource_name: core, namespace: com.acme}',
        '```',
    ]
    for full in names.all:
        lines += section(names, full, '##', places.get(full, ()))
    return '\n'.join(lines) + '\n'


def service_lines(names, service, package):
    yield from ['', f'### {service.name}', '', f'The service `{package}.{service.name}`.', '']
    if service.comment:
        yield from [escape(service.comment), '']
    for call in service.of_kind('rpc'):
        shown = []
        for text in (call.type, call.answer):
            type_name = text.removeprefix('stream ')
            shown.append(('stream of ' if text != type_name else '') + of_type(names, type_name, package))
        yield f'- **`{call.name}`** ({shown[0]}) returns {shown[1]}'
        if call.comment:
            yield f'  {escape(call.comment)}'


def protocol_page(root):
    files = [load(root, path) for path in PROTOCOL]
    names = Names(files)
    lines = [
        '# Reference: the protocol',
        '',
        MADE.format(of='proto/udpa/'),
        '',
        'The services and messages of UDPA-TP, and the resources that nodes and clients publish by it. Each',
        'field has its type and number. [wire.md](../design/wire.md) explains how they are used.',
    ]
    for file, path in zip(files, PROTOCOL):
        lines += ['', f'## {path}', '', f'The package `{file.name}`. {escape(file.comment)}']
        for service in file.of_kind('service'):
            lines += service_lines(names, service, file.name)
        for full in names.in_file(file):
            lines += section(names, full, '###')
    return '\n'.join(lines) + '\n'


# ---- metrics ----

LIST = re.compile(r'#define UDPAI_METRIC_MAP\(X\)(.*?[^\\])\n', re.DOTALL)
ROW = re.compile(r'/\* (?P<section>[^*]+) \*/|'
                 r'X\((?P<number>\w+), (?P<kind>\w+), (?P<label>\w+), (?P<source>\w+), '
                 r'"(?P<name>\w+)", "(?P<help>[^"]+)"\)')
COUNTED = {'NODE': 'the node', 'PROCESSES': 'the node and its workers, added up', 'WORKER': 'each worker',
           'LARGEST': 'the process of the node or of a worker that has most'}
SUFFIX = {'COUNTER': '_total'}


def metric_rows(root):
    """The matches of ROW in the list of metrics, in their order."""
    found = LIST.search((root / METRICS).read_text(encoding='utf-8'))
    text = re.sub(r'\s*\\\n\s*', ' ', found[1]) if found else ''
    rows = list(ROW.finditer(text))
    left = ROW.sub('', text).strip()
    if left or not rows:
        raise Malformed(f'{METRICS}: "{left[:60]}" cannot be read')
    return rows


def metrics_page(root):
    lines = [
        '# Reference: metrics',
        '',
        MADE.format(of=METRICS),
        '',
        'What `GET /metrics` of an HTTP socket has; [the guide](../guide/observing.md) shows how to read it. Counters',
        'are shown with the `_total` that their series have, histograms without `_bucket`, `_sum` and `_count`.',
        'A series is there once it has a value: `udpa_replica_*`, for example, at replicas.',
        '',
        'No label has the name, identity or address of a client, or of a resource. `type` is a type URL: of those',
        'that the program does not know the first 100 (of a histogram, and of coalesced and held changes, 40) have series of',
        'their own, and all later ones are `other`. So are sources beyond the first 80; `source` is the name of a',
        'configured source, or the path of a directory, and dynamic sources, and those of client groups, are added up',
        'as `(dynamic)` and `(client groups)`. `code` is a status of gRPC, such as `permission_denied`. `reason` is,',
        'of connections, the limit that was reached, or `memory`; of handshakes `certificate`, `protocol`, `closed`,',
        '`timeout` or `proxy_head`. Both are counted at the sockets for gRPC, unless the transport is GRPC_CORE. The',
        'guide has the values of `limit` and of `module`.',
    ]
    for row in metric_rows(root):
        if row['section']:
            lines += ['', f'## {row["section"].capitalize()}', '']
            continue
        label = f', by `{row["label"].split("_")[0].lower()}`' if row['label'] != 'NONE' else ''
        lines += [f'- **`{row["name"]}{SUFFIX.get(row["kind"], "")}`** ({row["kind"].lower().replace("largest", "gauge").replace("ratio", "gauge")}{label}; '
                  f'{COUNTED[row["source"]]})', f'  {escape(row["help"])}']
    return '\n'.join(lines) + '\n'


PAGES = {'bootstrap.md': bootstrap_page, 'protocol.md': protocol_page, 'metrics.md': metrics_page}


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    for name, page in PAGES.items():
        try:
            (root / HERE / name).write_text(page(root), encoding='utf-8')
        except Malformed as error:
            sys.exit(str(error))


if __name__ == '__main__':
    main()
