import { debianSources, defaultCacheDir, Failure } from '@millrace/services';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** File systems of Debian 12, made once on a machine, because only this step needs a network. */

const SUITE = 'bookworm';
/** mmdebstrap writes no newer file times, so that two file systems of the same packages are equal. */
const TIME = '1700000000';

/** Libraries of Node, without a shell or a package manager. */
const imagePackages = ['base-files', 'netbase', 'tzdata', 'libc6', 'libstdc++6', 'libgcc-s1'];

/** Packages that the guide installs. The file system has only their files for apt. */
const downloadedPackages = [
  'postgresql',
  'haproxy',
  `valkey-server/${SUITE}-backports`,
  'openssl',
  'procps',
  'libstdc++6',
  'curl',
  'minisign',
  'openssh-client',
  // Three machines.
  'patroni',
  'python3-etcd',
  'etcd-server',
  'etcd-client',
];

const enginePackages = ['postgresql-15', `valkey-server/${SUITE}-backports`];

/** Programs that scan images read the packages from this folder, because the file system has no database of dpkg. */
const recordPackages = [
  'cd "$1/var/cache/apt/archives"',
  'mkdir -p "$1/var/lib/dpkg/status.d"',
  'for deb in *.deb; do dpkg-deb --field "$deb" > "$1/var/lib/dpkg/status.d/${deb%%_*}"; done',
  'cd "$1/usr/share" && rm -rf man locale info',
  'find doc -type f ! -name copyright -delete',
].join(' && ');

export interface DebianRootfs {
  /** Tar file with the files below our image. */
  readonly image: string;
  /** Tar file with a Debian that starts with systemd, on which tests install the package. */
  readonly machine: string;
  /** Tar file with the engines that Debian has, from which tests make images in place of the public ones. */
  readonly engines: string;
}

const recipes: Readonly<Record<keyof DebianRootfs, readonly string[]>> = {
  image: ['--variant=extract', `--include=${imagePackages.join(',')}`, `--extract-hook=${recordPackages}`],
  machine: [
    '--variant=minbase',
    '--include=systemd,systemd-sysv,dbus,ca-certificates',
    // `apt-get install` in the machine then needs no network.
    '--skip=cleanup/apt',
    `--customize-hook=chroot "$1" apt-get -qq install -y --download-only ${downloadedPackages.join(' ')}`,
  ],
  engines: [
    '--variant=essential',
    `--include=${enginePackages.join(',')}`,
    // The package creates a database, and the images of the tests create their own.
    '--customize-hook=rm -rf "$1/var/lib/postgresql/15" "$1/etc/postgresql/15"',
  ],
};

export function debianRootfs(): DebianRootfs {
  return { image: fileOf('image'), machine: fileOf('machine'), engines: fileOf('engines') };
}

/** A changed recipe has another file. */
function fileOf(name: keyof DebianRootfs): string {
  const digest = createHash('sha256').update(recipes[name].join('\n')).digest('hex').slice(0, 8);
  return path.join(defaultCacheDir(), 'release', `${name}-root-${digest}.tar`);
}

export function requireRootfs(file: string): string {
  if (fs.existsSync(file)) return file;
  throw new Failure(`${file} does not exist.`, 'Make it, with network: npm run release -- prepare');
}

/** Makes the file systems that are missing. */
export function prepareRootfs(): DebianRootfs {
  const files = debianRootfs();
  makeRootfs(files.image, recipes.image);
  makeRootfs(files.machine, recipes.machine);
  makeRootfs(files.engines, recipes.engines);
  return files;
}

function makeRootfs(file: string, options: readonly string[]): void {
  if (fs.existsSync(file)) return;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const sources = path.join(path.dirname(file), 'debian.sources');
  fs.writeFileSync(sources, debianSources());
  // Its extension selects the format.
  const draft = `${file}.draft.tar`;
  const shared = [
    ...['--quiet', '--mode=root', '--architectures=amd64'],
    '--aptopt=APT::Install-Recommends "0"',
    '--dpkgopt=path-exclude=/usr/share/{doc,man,locale}/*',
  ];
  execFileSync('mmdebstrap', [...shared, ...options, SUITE, draft, sources], {
    env: { ...process.env, SOURCE_DATE_EPOCH: TIME, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  fs.renameSync(draft, file);
}
