import path from 'node:path';

import type { Requirement } from './requirements.ts';

export interface Step {
  readonly argv: readonly string[];
  readonly needsRoot: boolean;
  readonly description: string;
}

export interface AptFolders {
  readonly release: string;
  readonly suite: (suite: string) => string;
}

const noninteractive = ['env', 'DEBIAN_FRONTEND=noninteractive'];

export function installSteps(needs: readonly Requirement[], codename: string, apt: AptFolders): Step[] {
  return [...npmSteps(needs), ...packageSteps(needs, codename, apt.release), ...unpackSteps(needs, apt)];
}

function npmSteps(needs: readonly Requirement[]): Step[] {
  if (!needs.some((need) => need.kind === 'npm')) return [];
  return [{ argv: ['npm', 'ci'], needsRoot: false, description: 'installing npm packages' }];
}

function packageSteps(needs: readonly Requirement[], codename: string, aptFolder: string): Step[] {
  const packages = needs.flatMap((need) => {
    if (need.kind !== 'packages') return [];
    if (need.from === 'release') return need.packages;
    return need.packages.map((name) => `${name}/${codename}-backports`);
  });
  if (packages.length === 0) return [];
  const aptGet = ['apt-get', '-c', path.join(aptFolder, 'apt.conf')];
  return [
    { argv: [...aptGet, 'update'], needsRoot: true, description: 'reading the package lists' },
    {
      argv: [...noninteractive, ...aptGet, 'install', '-y', ...new Set(packages)],
      needsRoot: true,
      description: `installing ${[...new Set(packages)].join(' ')}`,
    },
  ];
}

function unpackSteps(needs: readonly Requirement[], apt: AptFolders): Step[] {
  return needs.flatMap((need) => {
    if (need.kind !== 'unpack') return [];
    const folder = apt.suite(need.suite);
    const aptGet = ['apt-get', '-c', path.join(folder, 'apt.conf')];
    const download = `cd ${quote(folder)} && ${[...aptGet, 'download', ...need.packages].map(quote).join(' ')}`;
    // Unpacked to a draft folder and renamed, so that a crash never leaves a partial binary in use.
    const [draft, final] = [quote(`${need.folder}.new`), quote(need.folder)];
    const files = need.packages.map((name) => `${quote(folder)}/${name}_*.deb`);
    const unpack = [`rm -rf ${draft}`, ...files.map((file) => `dpkg-deb -x ${file} ${draft}`)].join(' && ');
    const replace = `rm -rf ${final} && mv ${draft} ${final}`;
    const clear = `rm -f ${files.join(' ')}`;
    return [
      {
        argv: [...aptGet, 'update'],
        needsRoot: false,
        description: `reading the package lists of Debian ${need.suite}`,
      },
      {
        argv: ['sh', '-c', [clear, download, unpack, replace].join(' && ')],
        needsRoot: false,
        description: `fetching and unpacking ${need.packages.join(' ')}`,
      },
    ];
  });
}

export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

export function shellLine(step: Step): string {
  return step.argv.map(quote).join(' ');
}
