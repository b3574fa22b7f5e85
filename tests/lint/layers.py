#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The staircase: a folder may include only what stands before it in the list of layers, and itself.

Public headers may include public headers and the standard library only.
"""
import re

import lint

# Layers of one step stand side by side: neither may include the other. "proto" is the code that
# protoc-c makes of proto/; "endpoint" is the public library on loop and transport.
STEPS = [
    ['base'], ['model'], ['metrics'], ['proto'], ['wire'], ['reports'], ['codec'], ['store'], ['fanout'],
    ['events'], ['certs', 'session'], ['xds', 'sinks'], ['federation'], ['etcd'], ['replica'], ['loop'],
    ['storage'], ['transport'], ['runtime'], ['recorder'], ['endpoint'], ['cli'],
    ['daemon', 'tools/conform', 'tools/bench', 'ctl'],
]
STEP_OF = {layer: step for step, layers in enumerate(STEPS) for layer in layers}

# The inside of a part that has more files than one: who includes it, by way of other headers, too, is
# of the part. Files without their suffixes; a header of the part may be the way.
DOORS = {
    'federation/source_internal.h':
        'absence ask connection difference fault held lookup recovery scope source source_change source_dynamic '
        'source_facts source_requests source_status source_table sources servers',
}

# What C99 has, and the loop that callers of the library run themselves.
PUBLIC_SYSTEM_HEADERS = {'stdarg.h', 'stdbool.h', 'stddef.h', 'stdint.h', 'uv.h'}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def layer_of(path):
    """The layer of a source file; None for what is not in the staircase, such as tests."""
    parts = path.split('/')
    if parts[0] == 'src' and len(parts) > 2:
        return parts[1]
    if parts[0] in ('certs', 'federation') and len(parts) > 1:
        return parts[0]
    if parts[0] == 'tools' and len(parts) > 2:
        return '/'.join(parts[:2])
    return None


def included_layer(root, path, quote, name):
    """The layer that an include means; None if it is outside (system, public headers); False if
    it cannot be told."""
    if name.endswith('.pb-c.h') or name == 'proto/own_descriptors.h' or name == 'own_descriptors.h':
        return 'proto'
    parts = name.split('/')
    first = '/'.join(parts[:2]) if parts[0] == 'tools' else parts[0]
    if first == 'udpa' and (root / 'include' / name).exists():
        return None
    if first in STEP_OF and '/' in name:
        return first
    if quote == '<':
        return None
    if (root / path).parent.joinpath(name).exists():
        return layer_of((root / path).parent.joinpath(name).resolve()
                        .relative_to(root.resolve()).as_posix()) or False
    return False


def check_source(root, path, layer, text):
    for quote, name in INCLUDE.findall(text):
        other = included_layer(root, path, quote, name)
        if other is False:
            yield (f'{path}: "{name}" is in no layer; include it by its path, such as '
                   f'"base/{name}"')
        elif other and other != layer and STEP_OF[other] >= STEP_OF[layer]:
            yield (f'{path}: {layer} must not include {name}: {other} stands '
                   f'{"beside" if STEP_OF[other] == STEP_OF[layer] else "above"} it')


def check_public(root, path, text):
    for _, name in INCLUDE.findall(text):
        if name in PUBLIC_SYSTEM_HEADERS:
            continue
        if name.startswith('udpa/') and not name.endswith('.pb-c.h'):
            continue
        yield f'{path}: a public header must not include {name}'


def check(root, _arguments):
    for path in lint.code(root):
        text = lint.read(root, path) or ''
        layer = layer_of(path)
        if path.startswith('include/'):
            yield from check_public(root, path, text)
        elif layer and layer not in STEP_OF:
            yield f'{path}: folder {layer} has no place among the layers (tests/lint/layers.py)'
        elif layer:
            yield from check_source(root, path, layer, text)
    yield from check_doors(root)


def check_doors(root):
    """Who knows the inside of a part, and is not of it."""
    for door, names in DOORS.items():
        folder = door.rsplit('/', 1)[0]
        own = set(names.split())
        included = {}  # file: what it includes of ours, by the path from the root or from src
        for path in lint.code(root):
            text = lint.read(root, path) or ''
            included[path.removeprefix('src/')] = {name for _, name in INCLUDE.findall(text)}
        knows = {door}
        while True:
            more = {path for path, names in included.items() if names & knows} | knows
            if more == knows:
                break
            knows = more
        for path in sorted(path for path in knows - {door} if not path.startswith('tests/')):
            stem = path.rsplit('/', 1)[-1].rsplit('.', 1)[0]
            if not path.startswith(folder + '/') or stem not in own:
                yield f'{path}: knows {door}, the inside of a part that it is not of'


def self_test():
    good = {
        'include/udpa/a.h': '#include <stddef.h>\n#include <udpa/b.h>\n',
        'include/udpa/b.h': '#ifdef __cplusplus\n#endif\n',
        'src/base/x.h': '#include <string.h>\n#include <udpa/a.h>\n',
        'src/model/y.c': '#include "model/y.h"\n#include "base/x.h"\n',
        'src/model/y.h': '',
        'src/wire/z.c': '#include "udpa/core.pb-c.h"\n#include "model/y.h"\n',
        'certs/c.c': '#include "model/y.h"\n#include "c_internal.h"\n',
        'certs/c_internal.h': '',
        'src/daemon/main.c': '#include "federation/f.h"\n#include "certs/c.h"\n',
        'tools/bench/b.c': '#include "cli/c.h"\n#include "tools/bench/b.h"\n',
        'tests/t.c': '#include "anything.h"\n',
        'federation/ask.c': '#include "federation/connection.h"\n',
        'federation/connection.h': '#include "federation/source_internal.h"\n',
        'federation/source_internal.h': '',
    }
    with lint.tree(good) as root:
        lint.expect(check(root, None))
    bad = {
        'include/udpa/a.h': '#include <grpc/grpc.h>\n#include "base/x.h"\n',
        'src/base/x.c': ' #  include "model/y.h"\n',
        'src/model/y.c': '#include "udpa/core.pb-c.h"\n#include "nowhere.h"\n',
        'src/session/s.c': '#include "certs/c.h"\n#include <xds/x.h>\n',
        'certs/c.c': '#include "session/s.h"\n',
        'src/attic/a.c': '',
        'tools/bench/b.c': '#include "tools/conform/c.h"\n',
        'src/cli/c.c': '#include "tools/bench/b.h"\n',
        'federation/node.c': '#include "federation/connection.h"\n',
        'federation/connection.h': '#include "federation/source_internal.h"\n',
        'federation/source_internal.h': '',
    }
    with lint.tree(bad) as root:
        lint.expect(check(root, None), 'a public .* grpc/grpc.h', 'a public .* base/x.h',
                    'base must not include model/y.h: model stands above', 'model .*core.pb-c.h',
                    'nowhere.h" is in no layer', 'session .*certs/c.h: certs stands beside',
                    'session .*xds/x.h', 'certs .*session/s.h', 'folder attic has no place',
                    'tools/bench .*tools/conform stands beside', 'cli .*tools/bench stands above',
                    'federation/node.c: knows federation/source_internal.h')


if __name__ == '__main__':
    lint.main(__doc__, check, self_test)
