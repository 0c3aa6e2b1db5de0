import { spawn } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { Note } from '../engine.ts';
import { Failure } from '../failure.ts';
import { withLock } from '../lock.ts';
import { tail } from '../processes.ts';
import { repositoryRoot, writeAtomically, type Site } from '../site.ts';
import {
  deriveSources,
  deriveSuite,
  parseAptSources,
  renderAptConf,
  renderSources,
  type AptSource,
  type SourceFile,
} from './apt-sources.ts';
import type { Requirement } from './requirements.ts';
import { forbidPackageStarts, restorePackageStarts } from './policy.ts';
import { installSteps, shellLine, type Step } from './steps.ts';

/** Returns the commands that install the requirements, after writing the apt configuration that they read. */
export function prepareInstallation(site: Site, needs: readonly Requirement[]): Step[] {
  if (needs.every((need) => need.kind === 'npm')) {
    return installSteps(needs, '', { release: '', suite: () => '' });
  }
  const codename = releaseCodename();
  const sources = parseAptSources(systemSourceFiles());
  const folderOf = (name: string): string => path.join(site.cacheDir, 'apt', name);
  const prepare = (folder: string, derived: AptSource[] | null): void => {
    if (derived === null) {
      throw new Failure(
        `No Debian mirror for ${codename} is configured on this machine.`,
        'Add one in /etc/apt/sources.list.d, or install these packages yourself: ' +
          needs.map((need) => (need.kind === 'npm' ? need.package : need.packages.join(' '))).join(' '),
      );
    }
    makeReadable(path.join(folder, 'lists', 'partial'), site.cacheDir);
    writeAtomically(path.join(folder, 'millrace.sources'), renderSources(derived));
    writeAtomically(path.join(folder, 'apt.conf'), renderAptConf(folder));
  };
  if (needs.some((need) => need.kind === 'packages')) {
    const backports = needs.some((need) => need.kind === 'packages' && need.from === 'backports');
    prepare(folderOf(codename), deriveSources(sources, codename, backports ? `${codename}-backports` : null));
  }
  for (const need of needs) {
    if (need.kind === 'unpack') prepare(folderOf(need.suite), deriveSuite(sources, codename, need.suite));
  }
  return installSteps(needs, codename, { release: folderOf(codename), suite: folderOf });
}

/** apt downloads as an unprivileged user, who must be able to traverse every folder. */
function makeReadable(folder: string, top: string): void {
  mkdirSync(folder, { recursive: true });
  for (let current = folder; current.startsWith(top); current = path.dirname(current)) {
    chmodSync(current, 0o755);
  }
}

/** The machine's own Debian mirrors with the backports, as a deb822 file. */
export function debianSources(): string {
  const codename = releaseCodename();
  const derived = deriveSources(parseAptSources(systemSourceFiles()), codename, `${codename}-backports`);
  if (derived === null) throw new Failure(`No Debian mirror for ${codename} is configured.`, 'Add one.');
  return renderSources(derived);
}

function releaseCodename(): string {
  const text = readOrEmpty('/etc/os-release');
  const codename = /^VERSION_CODENAME=(\w+)/mu.exec(text)?.[1];
  const isDebian = /^ID=debian$/mu.test(text);
  if (isDebian && codename === 'bookworm') return codename;
  throw new Failure(
    '--install works only on Debian 12 (bookworm), and this machine runs another system.',
    'Install PostgreSQL 15, Valkey 8, NATS 2.15 and Incus 6.0 yourself and run again without --install. Programs in PATH are used.',
  );
}

function systemSourceFiles(): SourceFile[] {
  const folder = '/etc/apt/sources.list.d';
  const names = readdirOrEmpty(folder).filter((name) => /\.(?:list|sources)$/u.test(name));
  return ['/etc/apt/sources.list', ...names.map((name) => path.join(folder, name))].map((file) => ({
    path: file,
    text: readOrEmpty(file),
  }));
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function readdirOrEmpty(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Runs the steps. A lock allows one installation at a time, because policy-rc.d belongs to the whole machine. */
export async function runInstallation(site: Site, steps: readonly Step[], note: Note): Promise<void> {
  const asRoot = steps.find((step) => step.needsRoot);
  if (asRoot !== undefined && !site.isRoot) {
    throw new Failure('Installing packages needs root.', `Run this as root:\n  ${shellLine(asRoot)}`);
  }
  mkdirSync(site.cacheDir, { recursive: true });
  await withLock(path.join(site.cacheDir, 'install.lock'), note, async () => {
    const stopRestoring = asRoot === undefined ? () => {} : forbidPackageStartsUntilDone();
    try {
      for (const step of steps) {
        note(step.description);
        await runStep(step, path.join(site.cacheDir, 'install.log'));
      }
    } finally {
      stopRestoring();
    }
  });
}

/** Restores policy-rc.d at the end, also after SIGINT or SIGTERM. */
function forbidPackageStartsUntilDone(): () => void {
  const onSignal = (): void => {
    restorePackageStarts();
    process.exit(130);
  };
  process.once('SIGINT', onSignal);
  process.once('SIGTERM', onSignal);
  forbidPackageStarts();
  return () => {
    restorePackageStarts();
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  };
}

async function runStep(step: Step, log: string): Promise<void> {
  const [file, ...args] = step.argv;
  if (file === undefined) return;
  const output = openSync(log, 'a');
  try {
    const code = await new Promise<number>((resolve, reject) => {
      const child = spawn(file, args, { cwd: repositoryRoot, stdio: ['ignore', output, output] });
      child.once('error', reject);
      child.once('exit', (exitCode) => resolve(exitCode ?? 1));
    });
    if (code === 0) return;
    throw new Failure(
      `\`${shellLine(step)}\` exited with ${code}.`,
      `The full output is in ${log}. Fix the reported error and run the command again.`,
      tail(log, 15),
    );
  } finally {
    closeSync(output);
  }
}
