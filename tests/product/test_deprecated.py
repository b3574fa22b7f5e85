#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is deprecated, as users of udpad meet it: counted, logged once, refused, allowed by the runtime.

The types are those of the codec's tests, with the options that Envoy's have.
"""
import argparse
import re
import subprocess
import sys

from product import PATIENCE_S, check, main, wait_for
from test_runtime import Node
from test_udpactl import Ctl

HOLDER = 'type.googleapis.com/codec.old.Holder'
OLD, OLDER = 'codec.old.Holder.old', 'codec.old.Holder.older'
KEY = 'envoy.deprecated_features:'
ALL = 'envoy.features.enable_all_deprecated_features'
NONE = 'envoy.features.fail_on_any_deprecated_feature'


def holder(name, **fields):
    lines = ''.join(f'{key}: {value}\n' for key, value in fields.items())
    return f'---\n"@type": {HOLDER}\nname: {name}\n{lines}'


class Site:
    def __init__(self, test, name, checks, *more, **sections):
        descriptors = test.build / 'tests' / 'unit' / 'codec' / 'deprecated.descriptors'
        self.node = Node(test, name, {'descriptor_sets': [str(descriptors)],
                                      'validation': {'checks': checks},
                                      **sections}, *more)
        self.address = address = re.search(r'listening on (\S+) \([^)]*gRPC', self.node.process.text()).group(1)
        self.ctl = Ctl(test, address, '--descriptors', descriptors)

    def apply(self, text, **options):
        return self.ctl('apply', '-f', '-', stdin=text, **options)

    def lines(self, feature=''):
        return self.node.process.text().count(f"using deprecated option '{feature}")

    def uses(self):
        statistics = self.node.statistics()
        names = ('deprecated_feature_use', 'deprecated_feature_seen_since_process_start')
        both = [statistics[f'runtime.{name}'] for name in names]
        check('the two numbers are the same', both[0] == both[1], both)
        return both[0]

    def is_there(self, name):
        """Also while not all is known, as when a file is refused."""
        command = [*self.ctl.command, '--timeout', '2', 'get', 'codec.old.Holder', '-o', 'name']
        done = subprocess.run([str(part) for part in command], text=True, capture_output=True,
                              timeout=PATIENCE_S, check=False)
        return f'local/{name}\n' in done.stdout


def test_counted_and_logged(test, site):
    site.apply(holder('a') + holder('b', other='x'))
    check('nothing is used at first', site.uses() == 0 and site.lines() == 0)
    site.apply(holder('a', old='x', children='[{old: y}, {old: z}]'))
    wait_for('a line', lambda: site.lines(OLD) == 1)
    check('each use is counted', site.uses() == 3, site.uses())
    text = site.node.process.text()
    check('the line names all', "using deprecated option 'codec.old.Holder.old' from "
          "codec.old.Holder 'local/a' of udpactl, at old" in text, text)
    site.apply(holder('a', old='y', flag='true'))
    wait_for('a line for another feature', lambda: site.lines('codec.old.Holder.flag') == 1)
    site.apply(holder('b', old='y'))
    wait_for('a line for another resource', lambda: site.lines(OLD) == 2)
    check('uses are counted each time', site.uses() == 6, site.uses())
    prometheus = site.node.ask('GET', '/stats/prometheus')[1]
    check('in Prometheus, too', 'udpa_runtime_deprecated_feature_use 6' in prometheus, prometheus)
    site.ctl('delete', 'codec.old.Holder', 'a')
    wait_for('the removal', lambda: not site.is_there('a'))
    site.apply(holder('a', old='x'))
    wait_for('a line for what has come again', lambda: site.lines(OLD) == 3)


def refusal(feature, why='which is disallowed by default'):
    return f"is the deprecated option '{feature}', {why}; the runtime key {KEY}{feature} allows it"


def test_refused(site):
    before = site.uses()
    site.apply(holder('c', older='x'), status=1, err="'local/c': older: " + refusal(OLDER))
    check('what is refused is not there, nor counted',
          not site.is_there('c') and site.uses() == before)
    site.apply(holder('c', typed_config=f'{{"@type": {HOLDER}, older: x}}'), status=1,
               err="'local/c': typed_config.older: " + refusal(OLDER))
    site.node.set(**{KEY + OLDER: 'true'})
    site.apply(holder('c', older='x'))
    check('its own key allows it', site.is_there('c') and site.uses() == before + 1)
    wait_for('a line that says so', lambda: 'it is disallowed, but the runtime allows it' in
             site.node.process.text())
    site.node.set(**{KEY + OLDER: ''})
    check('what is there stays', site.is_there('c'))
    site.apply(holder('c', older='y'), status=1, err=refusal(OLDER))
    for key in (ALL, ALL[:-1], KEY.replace('features', 'feature') + OLDER):
        site.node.set(**{key: 'true'})
        site.apply(holder('d', older='x'))
        site.node.set(**{key: ''})
        site.apply(holder('d', older='z'), status=1, err=refusal(OLDER))
    site.node.set(**{ALL: 'true', KEY + OLDER: 'false'})
    site.apply(holder('d', older='x'), status=1, err=refusal(OLDER))
    site.node.set(**{ALL: '', KEY + OLDER: ''})


def test_refuse_all(site):
    site.node.set(**{NONE: 'true'})
    site.apply(holder('e', old='x'), status=1, err=refusal(OLD, 'which is disallowed'))
    site.apply(holder('e'))
    site.node.set(**{KEY + OLD: 'true'})
    site.apply(holder('e', old='x'))
    site.apply(holder('f', flag='true'), status=1, err='codec.old.Holder.flag')
    site.node.set(**{ALL: 'true'})
    site.apply(holder('f', flag='true'))
    site.node.set(**{NONE: '', KEY + OLD: '', ALL: ''})


def test_values(site):
    source = '---\n"@type": type.googleapis.com/codec.old.Source\nname: s\n'
    site.apply(source, status=1, err="'local/s': api: has by default the deprecated value "
               "'codec.old.NEVER', which is disallowed by default")
    site.apply(source + 'api: NEW\n')
    site.node.set(**{KEY + 'codec.old.NEVER': 'true'})
    site.apply(source)
    wait_for('a line for a value', lambda: "deprecated value 'codec.old.NEVER' from codec.old.Source "
             "'local/s' of udpactl, at api, which was left out" in site.node.process.text())


def test_files(test):
    """Files are read after the runtime; a key of a static layer counts for the first of them."""
    folder = test.work / 'resources'
    folder.mkdir()
    (folder / 'good.yaml').write_text(holder('good', old='x'))
    (folder / 'bad.yaml').write_text(holder('bad', older='x'))
    site = Site(test, 'files', ['DEPRECATED'], '--resources', folder)
    site.node.process.wait_for_log("bad.yaml:2:1: 'local/bad': older: " + refusal(OLDER))
    site.node.process.wait_for_log(
        f"using deprecated option '{OLD}' from codec.old.Holder 'local/good' of {folder}/good.yaml, at old")
    check('the good one is there', site.is_there('good') and not site.is_there('bad'))
    site.node.set(**{KEY + OLDER: 'true'})
    new = folder / '.new'
    new.write_text(holder('bad', older='y'))
    new.rename(folder / 'bad.yaml')
    wait_for('the file that is allowed now', lambda: site.is_there('bad'))
    check('it ends well', test.interrupt(site.node.process) == 0, site.node.process.text())
    (folder / 'bad.yaml').write_text(holder('bad', older='z'))
    site = Site(test, 'layered', ['DEPRECATED'], '--resources', folder, runtime={
        'layers': [{'name': 'static', 'static_layer': {KEY + OLDER: True}}]})
    wait_for('what a layer of the bootstrap file allows', lambda: site.is_there('bad'))
    check('it ends well', test.interrupt(site.node.process) == 0, site.node.process.text())


def test_source(test):
    """What a node that does not look has taken, one that does may refuse; who said it is its source."""
    up = Site(test, 'up', [])
    up.apply(holder('com.acme/old', old='x') + holder('com.acme/older', older='x'))
    down = Site(test, 'down', ['DEPRECATED'], static_resources={'config_sources': [
        {'name': 'cloud', 'udpa': {'address': up.address}}]}, providers=[
            {'types': ['codec.old.Holder'], 'config_descriptors': [{'resource_name': 'cloud'}]}])
    down.node.process.wait_for_log(
        f"using deprecated option '{OLD}' from codec.old.Holder 'com.acme/old' of cloud, at old")
    down.node.process.wait_for_log("rejected from up: 'com.acme/older': older: " + refusal(OLDER))
    check('one is counted', down.uses() == 1, down.uses())
    for site in (down, up):
        check('it ends well', test.interrupt(site.node.process) == 0, site.node.process.text())


def test_off(test):
    site = Site(test, 'off', ['RULES'])
    site.apply(holder('a', older='x', old='y'))
    check('who does not ask for it is told nothing', site.lines() == 0 and site.uses() == 0)


def body(test):
    site = Site(test, 'on', ['RULES', 'DEPRECATED'])
    test_counted_and_logged(test, site)
    test_refused(site)
    test_refuse_all(site)
    test_values(site)
    check('the node ends well', test.interrupt(site.node.process) == 0, site.node.process.text())
    test_files(test)
    test_source(test)
    test_off(test)


if __name__ == '__main__':
    sys.exit(main(argparse.ArgumentParser(description=__doc__), body))
