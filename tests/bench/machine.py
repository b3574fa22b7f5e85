# SPDX-License-Identifier: Apache-2.0
"""On what was measured, and with which versions: figures mean little without."""
import os
import pathlib
import platform
import re
import shutil
import subprocess

from programs import HERE, SOURCE, Unavailable, build_options, find_go, is_release


def said(*command):
    """The first line of what a command prints; '' if it cannot be run or fails."""
    if not shutil.which(str(command[0])):
        return ''
    done = subprocess.run(command, text=True, capture_output=True, check=False, cwd=SOURCE)
    return done.stdout.partition('\n')[0].strip() if done.returncode == 0 else ''


def line_of(file, pattern):
    path = pathlib.Path(file)
    found = re.search(pattern, path.read_text(encoding='utf-8'), re.M) if path.exists() else None
    return found.group(1).strip() if found else ''


def go_version():
    try:
        return said(find_go(), 'env', 'GOVERSION').removeprefix('go')
    except Unavailable:
        return ''


def grpc_version():
    """Debian's, or that of the core alone."""
    for package in ('libgrpc29', 'libgrpc-dev'):
        if version := said('dpkg-query', '-W', '-f', '${Version}', package):
            return version
    return said('pkg-config', '--modversion', 'grpc')


def udpad_version(build):
    version = line_of(SOURCE / 'meson.build', r"version: '([^']+)'")
    commit = said('git', 'describe', '--always', '--dirty', '--abbrev=12')
    options = build_options(build)
    kind = '' if is_release(build) else (f', NOT A RELEASE BUILD ({options.get("buildtype")}, '
                                         f'sanitizers: {options.get("b_sanitize")})')
    return version + (f' ({commit})' if commit else '') + kind


def describe(build):
    """{what: text}; what is not known is left out."""
    memory_kb = int(line_of('/proc/meminfo', r'^MemTotal:\s+(\d+)') or 0)
    facts = {
        'processor': line_of('/proc/cpuinfo', r'^model name\s*:\s*(.*)') or platform.machine(),
        'processors': str(len(os.sched_getaffinity(0))),
        'memory': f'{memory_kb / 1048576:.0f} GiB' if memory_kb else '',
        'kernel': platform.release(),
        'system': line_of('/etc/os-release', r'^PRETTY_NAME="?([^"\n]*)'),
        'udpad': udpad_version(build),
        'gRPC C core': grpc_version(),
        'go-control-plane': line_of(HERE / 'go' / 'go.mod',
                                    r'envoyproxy/go-control-plane (v\S+)'),
        'grpc-go': line_of(HERE / 'go' / 'go.mod', r'google.golang.org/grpc (v\S+)'),
        'Go': go_version(),
    }
    return {what: text for what, text in facts.items() if text}
