#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages of Debian. files: what is written about them agrees with the build. root: they are built in a clean
root, which lintian looks at, and installed, used, removed and purged in another one."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import roots
from product import SOURCE, Failure, check, main, need_descriptors

PACKAGES = ('libudpa-dev', 'libudpa0', 'udpa-tools', 'udpactl', 'udpad')
DEBIAN = SOURCE / 'debian'
# Installed by a rule, if it is there.
BY_RULE = 'usr/share/udpa/envoy-v3.descriptors'


def read(path):
    return (SOURCE / path).read_text(encoding='utf-8')


def installed(test):
    """Paths below the root, as in a package."""
    plan = json.loads((test.build / 'meson-info' / 'intro-installed.json').read_text())
    prefix = json.loads(subprocess.run(['meson', 'introspect', '--buildoptions', str(test.build)], check=True,
                                       capture_output=True).stdout)
    prefix = next(option['value'] for option in prefix if option['name'] == 'prefix')
    return {'usr/' + str(pathlib.PurePosixPath(path).relative_to(prefix)) for path in plan.values()}


def check_lists(test):
    """Each file that meson installs is in one package."""
    patterns = [line.split()[0] for name in PACKAGES if (DEBIAN / f'{name}.install').exists()
                for line in read(f'debian/{name}.install').splitlines() if not line.startswith('debian/')]
    parts = [re.compile(re.escape(pattern).replace(r'\*', '[^/]*') + r'(/|$)') for pattern in patterns]
    for path in sorted(installed(test)):
        n = sum(bool(part.match(path)) for part in parts)
        if n != 1:
            raise Failure(f'{path} is in {n} packages instead of one: debian/*.install')
    check('each installed file is in one package', True)


def check_written():
    version = re.search(r"version: '([\d.]+)'", read('meson.build'))[1]
    check('the packages have the version of the sources', read('debian/changelog').startswith(f'udpa ({version})'))
    library = re.findall(r'^\s+(udpa_\w+);', read('src/libudpa.sym'), re.M)
    symbols = re.findall(r'^ (udpa_\w+)@', read('debian/libudpa0.symbols'), re.M)
    check('the symbols are those of src/libudpa.sym', sorted(library) == sorted(symbols),
          set(library) ^ set(symbols))
    names = re.findall(r'^Package: (\S+)', read('debian/control'), re.M)
    check('there are five packages', sorted(names) == sorted(PACKAGES), names)
    packages = re.search(r'^packages="(.*?)"', read('.ci/install-dependencies'), re.M | re.S)[1].split()
    needs = {name for name in roots.build_needs() if name.startswith('lib')}
    check('a build and a package need the same libraries', needs == {name for name in packages if
                                                                    name.startswith('lib')},
          needs ^ {name for name in packages if name.startswith('lib')})


def check_bootstrap(test):
    """The conffile, with directories that are there."""
    (test.work / 'resources').mkdir()
    text = read('debian/udpad.yaml').replace('/etc/udpa/resources', str(test.work / 'resources'))
    file = test.work / 'udpad.yaml'
    file.write_text(text.replace('/var/lib/udpa', str(test.work)), encoding='utf-8')
    found = subprocess.run([test.build / 'udpad', '--check', '-c', file], text=True, capture_output=True, check=False)
    check('the bootstrap file has no error', found.returncode == 0 and not found.stderr, found)


def build(test, source):
    """The packages, in test.work/packages."""
    roots.copy_source(source / 'udpa')
    descriptors = pathlib.Path(os.environ.get('UDPA_ENVOY_DESCRIPTORS', test.build / 'envoy-v3.descriptors'))
    (source / 'envoy-v3.descriptors').write_bytes(descriptors.read_bytes())
    packages = ['build-essential', 'lintian', 'ca-certificates', *roots.build_needs()]
    status, text = roots.run(test.work, 'buildd', packages, [
        f'copy-in {source} /', 'chroot "$1" sh /src/udpa/tests/package/in-build-root',
        f'copy-out /src/packages {test.work}'])
    print(text[text.find('== lintian'):] if '== lintian' in text else text[-6000:], flush=True)
    check('the packages are built in a clean root, without a finding of lintian', status == 0)


def health_check():
    """What the Containerfile has for it: a program for bash."""
    line = re.search(r'^HEALTHCHECK .*? CMD (\[.*\])$', read('Containerfile'), re.M)[1]
    bash, option, program = json.loads(line)
    check('the image has all of its health check', (bash, option) == ('bash', '-c'))
    return program + '\n'


def check_container():
    text = read('Containerfile')
    user = re.search(r'^USER (\d+):(\d+)$', text, re.M)
    check('the image has a user by its number, who is not root', user and '0' not in user.groups(), text)
    check('its health is that of /livez', ' /livez ' in health_check())
    for name in ('node', 'cache'):
        pod = read(f'docs/examples/kubernetes/{name}.yaml')
        check(f'pods of {name}.yaml have that user', f'runAsUser: {user[1]}' in pod and
              'readOnlyRootFilesystem: true' in pod and 'runAsNonRoot: true' in pod)


def check_root(test):
    need_descriptors(test)
    source = test.work / 'src'
    source.mkdir()
    build(test, source)
    (test.work / 'packages' / 'health').write_text(health_check(), encoding='utf-8')
    status, text = roots.run(test.work, 'minbase', ['ca-certificates'], [
        f'copy-in {test.work / "packages"} /', f'copy-in {SOURCE / "tests" / "package" / "in-run-root"} /tmp',
        'unshare --mount chroot "$1" sh /tmp/in-run-root'])
    print('\n'.join(line for line in text.splitlines() if line.startswith(('ok: ', 'failed: '))), flush=True)
    if test.arguments.keep:
        shutil.rmtree(test.arguments.keep, ignore_errors=True)
        shutil.copytree(test.work / 'packages', test.arguments.keep)
    check('they are installed, run, removed and purged in a clean root', status == 0, text[-6000:])


def body(test):
    if test.arguments.variant == 'root':
        check_root(test)
        return
    check_lists(test)
    check_written()
    check_bootstrap(test)
    check_container()


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--keep', type=pathlib.Path, help='put the packages of root into this directory')
    sys.exit(main(parser, body, ('files', 'root')))
