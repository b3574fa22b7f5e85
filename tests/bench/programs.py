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
BUILD_UNMEASURED = SOURCE / 'build-unmeasured'
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


def build_unmeasured():
    """An udpad that counts nothing: what counting costs is measured against it."""
    if not (BUILD_UNMEASURED / 'build.ninja').exists():
        done = subprocess.run(['meson', 'setup', BUILD_UNMEASURED, SOURCE, '--buildtype=release', '-Dtests=false',
                               '-Dmetrics=false'], text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f'meson cannot set up {BUILD_UNMEASURED.name}: {done.stdout.strip()[-800:]}')
    done = subprocess.run(['ninja', '-C', BUILD_UNMEASURED, 'udpad'], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f'{BUILD_UNMEASURED.name}/udpad cannot be built: {done.stdout.strip()[-800:]}')
    return BUILD_UNMEASURED / 'udpad'


def find_go():
    found = subprocess.run([SOURCE / '.ci' / 'go'], text=True, capture_output=True, check=False)
    if found.returncode != 0:
        raise Unavailable(found.stderr.strip())
    return found.stdout.strip()


def build_go(package, module=HERE / 'go', name=''):
    """The program of a folder in go/, or of another module; name: of the program, if it is not that of
    the folder."""
    go = find_go()
    BUILD_GO.mkdir(exist_ok=True)
    program = BUILD_GO / (name or package)
    environment = {**os.environ, 'GOTOOLCHAIN': 'local', 'GOFLAGS': '-mod=readonly'}
    built = subprocess.run([go, 'build', '-o', program, f'./{package}'], cwd=module,
                           text=True, capture_output=True, check=False, env=environment)
    if built.returncode != 0:
        reason = built.stderr.strip()[-800:].replace(f'{SOURCE}/', '')
        raise Unavailable(f'{program.name} cannot be built: {reason}')
    return program


def unpack_debian(package, path):
    """A program of a package of Debian. Unpacked, not installed: that would start a server."""
    folder = BUILD / 'etcd-debian'
    program = folder / path
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(['apt-get', 'download', '-q', package], cwd=folder, capture_output=True,
                       check=False)
        files = list(folder.glob(f'{package}_*.deb'))
        if not files:
            raise Unavailable(f'there is no package {package}')
        subprocess.run(['dpkg-deb', '-x', files[0], folder], check=True)
    return program


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
