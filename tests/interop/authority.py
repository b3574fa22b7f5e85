# SPDX-License-Identifier: Apache-2.0
"""A certificate authority that can do what certs/make-development-ca cannot: revoke, and issue what
is valid for seconds. By the openssl command."""
import datetime
import os
import subprocess

CONFIG = """
[ca]
default_ca = here
[here]
dir = {folder}
database = {folder}/index.txt
serial = {folder}/serial
crlnumber = {folder}/crlnumber
new_certs_dir = {folder}/issued
certificate = {folder}/ca.crt
private_key = {folder}/ca.key
default_md = sha256
default_days = 30
default_crl_days = 30
policy = anything
unique_subject = no
copy_extensions = copy
[anything]
commonName = optional
organizationName = optional
[req]
distinguished_name = none
prompt = no
[none]
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""


def replace(path, text):
    """As those do who know that it is being read: beside it, then renamed. A key is nobody else's."""
    beside = path.with_name(path.name + '.new')
    beside.touch(mode=0o600 if 'PRIVATE KEY' in text else 0o644)
    beside.write_text(text, encoding='utf-8')
    os.replace(beside, path)


class Authority:
    """`above`: who has issued its certificate, and stands behind those that it issues."""

    def __init__(self, folder, name='authority', above=None):
        self.folder = folder
        (folder / 'issued').mkdir(parents=True)
        (folder / 'index.txt').write_text('', encoding='utf-8')
        (folder / 'serial').write_text('1000\n', encoding='utf-8')
        (folder / 'crlnumber').write_text('01\n', encoding='utf-8')
        (folder / 'ca.conf').write_text(CONFIG.format(folder=folder), encoding='utf-8')
        self.certificate = folder / 'ca.crt'
        self.key('ca')
        self.above = above
        own = ['-subj', f'/CN={name}', '-config', folder / 'ca.conf']
        if above:
            self.openssl('req', '-new', '-key', folder / 'ca.key', *own, '-out', folder / 'ca.csr')
            self.openssl('ca', '-batch', '-config', above.folder / 'ca.conf', '-notext',
                         '-extensions', 'authority', '-in', folder / 'ca.csr', '-out',
                         self.certificate)
        else:
            self.openssl('req', '-x509', '-new', '-key', folder / 'ca.key', *own, '-extensions',
                         'authority', '-days', '30', '-out', self.certificate)

    def openssl(self, *arguments):
        done = subprocess.run(['openssl', *map(str, arguments)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise RuntimeError(f'openssl {arguments[0]}: {done.stderr}')

    def key(self, name):
        path = self.folder / f'{name}.key'
        self.openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out',
                     path)
        path.chmod(0o600)
        return path

    def issue(self, name, file=None, seconds=None, subject=None,
              names='subjectAltName=DNS:localhost,IP:127.0.0.1'):
        """A certificate of this common name, for localhost; its two files are called NAME.crt and
        NAME.key, or by another name."""
        file = file or name
        key = self.key(file)
        request, path = self.folder / f'{file}.csr', self.folder / f'{file}.crt'
        self.openssl('req', '-new', '-key', key, '-subj', subject or f'/CN={name}',
                     *(['-addext', names] if names else []), '-out', request, '-config',
                     self.folder / 'ca.conf')
        times = []
        if seconds:
            end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
            times = ['-enddate', end.strftime('%Y%m%d%H%M%SZ')]
        self.openssl('ca', '-batch', '-config', self.folder / 'ca.conf', '-notext', '-in', request,
                     '-out', path, *times)
        if self.above:
            path.write_text(path.read_text() + self.certificate.read_text(), encoding='utf-8')
        return path, key

    def revoke(self, name, reason=None):
        self.revoke_file(self.folder / f'{name}.crt', reason)

    def revoke_file(self, path, reason=None):
        more = ['-crl_reason', reason] if reason else []
        self.openssl('ca', '-config', self.folder / 'ca.conf', '-revoke', path, *more)

    def revoke_others(self, n):
        """Certificates that nobody has."""
        with open(self.folder / 'index.txt', 'a', encoding='utf-8') as index:
            for i in range(n):
                index.write(f'R\t361231235959Z\t260101000000Z\t{(1 << 120) + i:032X}\tunknown\t'
                            f'/CN=other-{i}\n')

    def revocations(self, *more):
        """The list as it is now, in PEM."""
        out = self.folder / 'made.crl'
        self.openssl('ca', '-config', self.folder / 'ca.conf', '-gencrl', '-out', out,
                     *more)
        return out.read_text(encoding='utf-8')
