#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inside a folder, too, files stand on each other: measured by calls, not by includes. An object's undefined
symbols say which other objects it calls; a call through a table of functions is none, and the header that
declares the table says who fills it.

No circle of files that call each other may be larger than CIRCLE, but where CIRCLES says so; a number there may
only become smaller. Where PARTS has a folder's parts, from the ground up, a part calls what stands before it,
and itself."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import lint
import pure

CIRCLE = 3
# Folder: the largest circle that is left, of all those above CIRCLE.
CIRCLES = {
    'session': 5,
    'xds': 5,
    'transport_http': 6,
}
# Made of the others, whose files may have one name.
COMBINED = {'whole'}

# Each line is a part; files of one part may call each other in a circle of at most CIRCLE.
PARTS = {
    'federation': [
        # the ground: tables, and what is computed of the context alone
        'note report_subject delegation_read demand directories lapse audit freezes traces allowlist named_table peers position_fact publishers stamp reading shares '
        'health_overlay stamps sync epoch source_table source_facts',
        # rules
        'access signatures signatures_watch',
        # sources: connections, what is asked, what was missed
        'servers', 'connection ask', 'lookup source_requests', 'fault held', 'absence', 'scope', 'difference recovery', 'source',
        'sources source_change source_dynamic source_status',
        # other replicas
        'mesh', 'agreement',
        # providers
        'provider', 'provider_new', 'unsettled', 'named_settled', 'named_new', 'named', 'provider_active', 'provider_change', 'providers',
        # groups of clients, and what follows from demand
        'clients_settled', 'clients client_reports', 'interest report_subscriptions',
        # subscribers in the process
        'pending_publication local',
        # receiver
        'refreshes', 'twins report_rules', 'intake_check', 'events', 'adoption put', 'outlived', 'take_back', 'ending',
        'intake payload refresh withdrawal world_state', 'trial', 'receiver',
        # egress
        'report_target_links', 'report_targets', 'publish reports',
        # what resources configure
        'follower', 'delegation dynamic_source dynamic_sources dynamic_source_read dynamic',
        # the node
        'barriers places', 'replica_accept replica_held replica_problems replica_sweep janitor obsolete', 'replica_listing', 'replica', 'commits_audit', 'commits commits_replicated', 'outbox', 'listing', 'node_audit', 'node_freeze', 'files', 'shared_files', 'delete_origin node node_metrics node_new node_parts node_sources origins restore sessions',
    ],
    'endpoint': [
        # the ground
        'exposure load_names load_state runtime_values settings stream_counts streams type', 'stream_sides', 'note',
        # services that know a node alone
        'check_planner client_registry load_areas load_rules load_aggregates load_upstreams orca_collector '
        'spread propagation',
        # how an endpoint runs; it calls no service by name
        'service', 'turn',
        # services that know it by host.h: what the node publishes of itself …
        'inspection status', 'answers', 'set_question', 'access_answers origin_answers questions',
        # … and what the process does
        'local_acks orca publisher subscriber', 'report', 'demand', 'load_report resource_state',
        # the runtime, for those who embed the library
        'runtime_feed', 'runtime',
        # which services there are, and the endpoints that have them
        'services_make', 'endpoint', 'polled providers', 'library',
    ],
}


def stem(member):
    return member.rsplit('/', 1)[-1].split('.')[0]


def definitions(archive):
    """{symbol: file} of a library."""
    found, member = {}, ''
    for line in pure.nm(['--defined-only', '-g'], archive):
        if line.endswith(':'):
            member = stem(line.split('[')[-1].rstrip(']:'))
        elif line:
            found[line.split()[0]] = member
    return found


def calls(archive):
    """{file: {another one: [symbols]}} inside a library."""
    defined = definitions(archive)
    found = {member: {} for member in defined.values()}
    for member, symbol in pure.undefined(archive):
        other = defined.get(symbol)
        if other and other != stem(member):
            found.setdefault(stem(member), {}).setdefault(other, []).append(symbol)
    return found


def circles(graph):
    """Groups of files each of which reaches all others, larger ones first (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in graph.get(file, ()):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            at = stack.index(file)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(graph):
        if file not in index:
            visit(file)
    return sorted((circle for circle in found if len(circle) > 1), key=lambda circle: (-len(circle), circle))


def check_circles(folder, graph, most):
    found = circles(graph)
    largest = len(found[0]) if found else 0
    for circle in found:
        if len(circle) > most:
            yield f'{folder}: {len(circle)} files call each other in a circle, {most} may: {", ".join(circle)}'
    if CIRCLE < most and largest < most:
        yield f'{folder}: the largest circle has {largest} files now: CIRCLES in tests/lint/calls.py says {most}'


def check_parts(folder, graph, parts):
    place = {file: at for at, part in enumerate(parts) for file in part.split()}
    for file in sorted(set(graph) - set(place)):
        yield f'{folder}: {file}.c has no place among the parts (PARTS in tests/lint/calls.py)'
    for file in sorted(set(place) - set(graph)):
        yield f'{folder}: {file}.c stands among the parts, and is not there'
    for file in sorted(set(place) & set(graph)):
        for other, symbols in sorted(graph[file].items()):
            if place.get(other, -1) > place[file]:
                yield f'{folder}: {file}.c must not call {", ".join(sorted(set(symbols)))}: {other}.c stands above it'


def check(_root, arguments):
    found = pure.archives(arguments.build)
    for folder in sorted(set(found) - COMBINED):
        graph = calls(found[folder])
        yield from check_circles(folder, graph, arguments.circles.get(folder, CIRCLE))
        if folder in arguments.parts:
            yield from check_parts(folder, graph, arguments.parts[folder])


OPTIONS = [('--build', {'type': pathlib.Path, 'help': 'build directory', 'default': pathlib.Path()})]


def make_library(build, folder, sources):
    """sources: {file: functions that it calls}; each file defines one of its own name."""
    objects = []
    for file, called in sources.items():
        text = ''.join(f'void {name}(void); ' for name in called)
        body = ''.join(f'{name}(); ' for name in called)
        (build / f'{file}.c').write_text(f'{text}void {file}(void) {{ {body}}}', encoding='utf-8')
        subprocess.run(['cc', '-w', '-O0', '-c', f'{file}.c', '-o', f'{file}.c.o'], cwd=build, check=True)
        objects.append(f'{file}.c.o')
    subprocess.run(['ar', 'rcs', f'libudpa_{folder}.a', *objects], cwd=build, check=True)


def expect(sources, circles_left, parts, *patterns):
    with tempfile.TemporaryDirectory() as name:
        build = pathlib.Path(name)
        make_library(build, 'wire', sources)
        arguments = argparse.Namespace(build=build, circles=circles_left, parts=parts)
        lint.expect(check(build, arguments), *patterns)


def self_test():
    if not shutil.which('cc') or not shutil.which('ar'):
        sys.exit('self-test: a compiler is needed')
    ring = {'a': ['b'], 'b': ['c'], 'c': ['d'], 'd': ['a'], 'e': ['a', 'f'], 'f': ['e']}
    stairs = {'a': [], 'b': ['a', 'c'], 'c': ['a', 'b'], 'd': ['c']}
    expect(stairs, {}, {})
    expect(ring, {}, {}, '4 files call each other in a circle, 3 may: a, b, c, d')
    expect(ring, {'wire': 4}, {})
    expect(ring, {'wire': 5}, {}, 'the largest circle has 4 files now: .* says 5')
    expect(stairs, {}, {'wire': ['a', 'b c', 'd']})
    expect(stairs, {}, {'wire': ['a', 'b', 'c', 'd']}, 'b.c must not call c: c.c stands above it')
    expect(stairs, {}, {'wire': ['a', 'b c']}, 'd.c has no place among the parts')
    expect(stairs, {}, {'wire': ['a', 'b c', 'd x']}, 'x.c stands among the parts, and is not there')


if __name__ == '__main__':
    for option in (('--circles', CIRCLES), ('--parts', PARTS)):
        OPTIONS.append((option[0], {'default': option[1], 'help': argparse.SUPPRESS}))
    lint.main(__doc__, check, self_test, OPTIONS)
