# SPDX-License-Identifier: Apache-2.0
"""The programs that take part in a measurement: where they are, and how those in Go are built."""
import json
import os
import pathlib
import resource
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
BUILD = SOURCE / 'build'
BUILD_GO = SOURCE / 'build-bench'
SPARE_FILES = 200


class Failure(Exception):
    """The measurement cannot go on; the message says why."""


class Unavailable(Exception):
    """Something that is measured beside udpad cannot be had; the message says why."""


def must_be_there(path):
    if not os.access(path, os.X_OK):
        raise Failure(f'there is no {path}: call make build first, or name its folder with --build')


def build_options(build):
    """What meson was told; {} if meson has not built it."""
    file = build / 'meson-info' / 'intro-buildoptions.json'
    if not file.exists():
        return {}
    return {option['name']: option['value']
            for option in json.loads(file.read_text(encoding='utf-8'))}


def is_release(build):
    options = build_options(build)
    return not options or (options['buildtype'] == 'release' and
                           options.get('b_sanitize', 'none') == 'none')


def build_c(build, kind):
    """floor, bare or reports: make build leaves them out."""
    program = build / 'tests' / 'bench' / f'bench-{kind}'
    if (build / 'build.ninja').exists():
        built = subprocess.run(['ninja', '-C', build, program.relative_to(build)], text=True,
                               capture_output=True, check=False)
        if built.returncode != 0:
            raise Unavailable(f'{program.name} cannot be built: {built.stdout.strip()[-800:]}')
    if not program.exists():
        raise Unavailable(f'{program.relative_to(build)} was not built')
    return program


def find_go():
    found = subprocess.run([SOURCE / '.ci' / 'go'], text=True, capture_output=True, check=False)
    if found.returncode != 0:
        raise Unavailable(found.stderr.strip())
    return found.stdout.strip()


def build_go(package):
    """The program of a folder in go/."""
    go = find_go()
    BUILD_GO.mkdir(exist_ok=True)
    environment = {**os.environ, 'GOTOOLCHAIN': 'local', 'GOFLAGS': '-mod=readonly'}
    built = subprocess.run([go, 'build', '-o', f'{BUILD_GO}/', f'./{package}'], cwd=HERE / 'go',
                           text=True, capture_output=True, check=False, env=environment)
    if built.returncode != 0:
        reason = built.stderr.strip()[-800:].replace(f'{SOURCE}/', '')
        raise Unavailable(f'{package} cannot be built: {reason}')
    return BUILD_GO / package


def allow_files():
    """Lets this process, and what it starts, open as many files as it may; how many that is."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return float('inf') if hard == resource.RLIM_INFINITY else hard


def too_few_files(n_connections, limit):
    """Why so many connections cannot be had; '' if they can."""
    if n_connections + SPARE_FILES <= limit:
        return ''
    return (f'a process may open {limit} files here, too few for {n_connections} connections: '
            'raise the hard limit (ulimit -Hn, LimitNOFILE=)')
