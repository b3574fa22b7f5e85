#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/ is what docs/reference/make.py makes of the .proto files, each of which is on a page, and of
the list of metrics. Each
message, field and service of them has a comment. In udpa.config.v1 it ends with what the reference needs:
Default of each field, Unit of numbers and durations, and of what is written as one value an Example that is
one."""
import importlib.util
import json
import pathlib
import re

import lint

MAKE = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'reference' / 'make.py'
SPEC = importlib.util.spec_from_file_location('make_reference', MAKE)
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)

FOREIGN = 'Subset of a public package'
TIMESTAMP = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ')
LONGEST = 100


def is_value(names, field, scope):
    """Is it a scalar, an enum or a message that is written as one value?"""
    full = names.find(field.type, scope)
    return field.type in (*make.SCALARS, *make.VALUES) or (full and names.all[full].kind == 'enum')


def fits(names, type_name, scope, text):
    """Can a field of this type have that value?"""
    full = names.find(type_name, scope)
    if full:
        return text in [value.name for value in names.all[full].of_kind('value') if value.name != 'UNKNOWN']
    if type_name == make.DURATION:
        return re.fullmatch(r'\d+(\.\d+)?s', text)
    if type_name == 'google.protobuf.Timestamp':
        return TIMESTAMP.fullmatch(text)
    if type_name == 'google.protobuf.Struct':
        return isinstance(parsed(text), dict)
    if type_name == 'bool':
        return text in ('true', 'false')
    if type_name in ('double', 'float'):
        return re.fullmatch(r'-?\d+(\.\d+)?', text)
    return text and (type_name not in make.NUMBERS or re.fullmatch(r'-?\d+', text))


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def check_example(names, field, scope, text):
    if not field.is_repeated:
        return fits(names, field.type, scope, text)
    items = parsed(text)
    return isinstance(items, list) and items and all(fits(names, field.type, scope, str(item)) for item in items)


def check_config(names, field, scope):
    """What is missing in the comment of a field of the bootstrap file."""
    _, facts = field.facts()
    if not facts.get('Default'):
        yield 'has no "Default: "'
    has_unit = field.type in make.NUMBERS or field.type == make.DURATION
    if has_unit != bool(facts.get('Unit')):
        yield 'has no "Unit: "' if has_unit else 'has a "Unit: ", but no number'
    if is_value(names, field, scope):
        if not facts.get('Example'):
            yield 'has no "Example: "'
        elif not check_example(names, field, scope, facts['Example']):
            yield f'cannot have the value of its example, {facts["Example"]}'


def check_file(names, file):
    for entry in file.of_kind('service'):
        yield from (f'{each.place}: {each.name} has no comment'
                    for each in (entry, *entry.of_kind('rpc')) if not each.comment)
    for full in names.in_file(file):
        entry = names.all[full]
        if not entry.comment and entry.kind == 'message':
            yield f'{entry.place}: {entry.name} has no comment'
        for field, _ in entry.fields():
            if not field.comment:
                yield f'{field.place}: {field.name} has no comment'
            elif file.name == make.CONFIG:
                yield from (f'{field.place}: {field.name} {what}' for what in check_config(names, field, full))


def own_files(root):
    """Our own .proto files, below proto/."""
    for path in lint.tracked(root):
        if path.startswith(make.PROTO + '/udpa/') and path.endswith('.proto'):
            if FOREIGN not in (lint.read(root, path) or ''):
                yield path[len(make.PROTO) + 1:]


def check(root, _arguments):
    paths = list(own_files(root))
    for path in paths:
        if path not in make.BOOTSTRAP + make.PROTOCOL:
            yield f'{make.PROTO}/{path}: is on no page of docs/reference/make.py'
        for number, line in enumerate((root / make.PROTO / path).read_text(encoding='utf-8').split('\n'), 1):
            if len(line) > LONGEST:
                yield f'{make.PROTO}/{path}:{number}: has {len(line)} characters, more than {LONGEST}'
    try:
        files = [make.load(root, path) for path in paths]
        names = make.Names(files)
        for file in files:
            yield from check_file(names, file)
        for name, page in make.PAGES.items():
            there = root / make.HERE / name
            if not there.exists() or there.read_text(encoding='utf-8') != page(root):
                yield f'{make.HERE}/{name}: is not what its sources make: run {make.HERE}/make.py'
    except (make.Malformed, FileNotFoundError) as error:
        yield str(error)


# ---- self-test ----

HEAD = '// SPDX-License-Identifier: Apache-2.0\n// A file.\nsyntax = "proto3";\n\npackage {};\n\n'
GOOD = HEAD.format(make.CONFIG) + '''// A file.
message Bootstrap {
  enum Kind {
    UNKNOWN = 0;
    GOOD = 1;
  }

  // Its kind. Default: required. Example: GOOD
  Kind kind = 1;
  oneof either {
    // Others. Default: none.
    Inner inner = 2;
    // Default: 2 s. Unit: seconds. Example: 1.5s
    google.protobuf.Duration time = 3;
  }
  reserved 4;  // nothing
  // How many. Default: 7. Unit: things. Example: [1, 2]
  repeated uint32 n = 5;
  // Words, as in <a>. Default: none. Example: {"a": [1]}
  google.protobuf.Struct fixed_words = 6 [json_name = "words"];

  // Others.
  message Inner {}
}
'''


LIST = '''#define UDPAI_METRIC_MAP(X) \\
    /* what is sent */ \\
    X(ACKS, COUNTER, TYPE, PROCESSES, "udpa_acks", \\
      "Deliveries that were acknowledged.")

#endif
'''


def plant(text):
    """A tree with this file as the bootstrap file, and its pages."""
    files = {f'{make.PROTO}/{path}': HEAD.format('other') for path in make.PROTOCOL}
    files |= {f'{make.PROTO}/{make.BOOTSTRAP[0]}': text,
              f'{make.PROTO}/{make.BOOTSTRAP[1]}': HEAD.format(make.CONFIG),
              make.METRICS: LIST}
    return lint.tree(files)


def write_pages(root):
    (root / make.HERE).mkdir(parents=True)
    for name, page in make.PAGES.items():
        (root / make.HERE / name).write_text(page(root), encoding='utf-8')


def self_test():
    with plant(GOOD) as root:
        lint.expect(check(root, None), 'bootstrap.md: is not', 'protocol.md: is not', 'metrics.md: is not')
        write_pages(root)
        lint.expect(check(root, None))
        text = (root / make.HERE / 'bootstrap.md').read_text(encoding='utf-8')
        for part in ('`kind`', 'list of uint32', 'Unit: things.', 'In `inner`', '[Bootstrap.Inner](#bootstrapinner)',
                     '&lt;a>', '`words`', 'one of either', 'Default: `7`'):
            lint.expect([] if part in text else [part])
    planted = {
        ('Default: required. ', ''): 'kind has no "Default: "',
        ('Example: GOOD', 'Example: BAD'): 'kind cannot have the value of its example, BAD',
        ('Unit: seconds. ', ''): 'time has no "Unit: "',
        ('Example: 1.5s', 'Example: 1.5'): 'time cannot .* 1.5$',
        ('Example: [1, 2]', 'Example: 1'): '^proto.*: n cannot',
        (' Example: {"a": [1]}', ''): 'words has no "Example: "',
        ('Default: none. Example', 'Default: none. Unit: words. Example'): 'words has a "Unit: ", but no number',
        ('    // Others. Default: none.\n', ''): ':17: inner has no comment',
        ('  // Others.\n', ''): 'Inner has no comment',
        ('  // How many', '  // How many, ' + 'and so on, ' * 8): ':23: has 1.. characters',
    }
    for (old, new), pattern in planted.items():
        with plant(GOOD.replace(old, new)) as root:
            write_pages(root)
            lint.expect(check(root, None), pattern)
    with plant(GOOD.replace('reserved 4;', 'extensions 4 to 5;')) as root:
        lint.expect(check(root, None), ':22: "extensions 4 to 5;.*" cannot be read')
    with plant(GOOD) as root:
        write_pages(root)
        text = (root / make.HERE / 'metrics.md').read_text(encoding='utf-8')
        for part in ('## What is sent', '**`udpa_acks_total`** (counter, by `type`; ', 'were acknowledged.'):
            lint.expect([] if part in text else [part])
        (root / make.METRICS).write_text(LIST.replace('"udpa_acks",', '"udpa_acks"'), encoding='utf-8')
        lint.expect(check(root, None), 'list.h: "X.ACKS.* cannot be read')
    with plant(GOOD) as root:
        write_pages(root)
        other = root / make.PROTO / 'udpa/other.proto'
        other.write_text(HEAD.format('other'), encoding='utf-8')
        lint.expect(check(root, None), 'other.proto: is on no page')
        other.write_text(f'// {FOREIGN}\n', encoding='utf-8')
        lint.expect(check(root, None))


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
