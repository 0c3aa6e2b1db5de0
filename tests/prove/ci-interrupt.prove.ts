import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { defineProof, type ProofRun } from '@millrace/runners';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** The step in which a run is interrupted, and the steps that are skipped to reach it sooner. */
const stages = [
  { step: 'install', skip: [] },
  { step: 'unit', skip: ['check'] },
  { step: 'int', skip: ['check', 'unit'] },
  { step: 'prove', skip: ['check', 'unit', 'int', 'sim'] },
] as const;
const signals = ['SIGINT', 'SIGTERM'] as const;
/** Long enough after the start of the step for its engines to run. */
const INTO_STEP_MS = 40_000;
const STAGE_LIMIT_MS = 30 * 60_000;

interface HostTraces {
  readonly mounts: readonly string[];
  readonly networkNamespaces: readonly string[];
  readonly links: readonly string[];
  readonly loopDevices: readonly string[];
  readonly folders: readonly string[];
  readonly processes: readonly string[];
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

async function foldersIn(...parents: readonly string[]): Promise<string[]> {
  const all = await Promise.all(
    parents.map(async (parent) => (await readdir(parent).catch(() => [])).map((name) => join(parent, name))),
  );
  return all.flat();
}

/** Processes in another PID namespace, or whose command line contains the clone's folder. */
async function processesOf(clone: string): Promise<string[]> {
  const own = await readlink('/proc/self/ns/pid');
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [namespace, command] = await Promise.all([
      readlink(`/proc/${pid}/ns/pid`).catch(() => own),
      readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    ]);
    if (namespace !== own || command.includes(clone)) found.push(`${pid} ${command.replaceAll('\0', ' ')}`);
  }
  return found;
}

async function readTraces(clone: string): Promise<HostTraces> {
  const [mounts, namespaces, links, loops] = await Promise.all([
    readFile('/proc/self/mounts', 'utf8'),
    run('ip', ['netns', 'list']),
    run('ip', ['-brief', 'link']),
    run('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-INO']),
  ]);
  return {
    mounts: lines(mounts),
    networkNamespaces: lines(namespaces.stdout),
    links: lines(links.stdout),
    loopDevices: lines(loops.stdout),
    folders: await foldersIn('/tmp', '/var/tmp', '/dev/shm', '/var/lib/millrace'),
    processes: await processesOf(clone),
  };
}

const leftBehind = (before: HostTraces, after: HostTraces): string[] =>
  (Object.keys(before) as (keyof HostTraces)[]).flatMap((kind) => {
    const known = new Set(before[kind]);
    return after[kind].filter((trace) => !known.has(trace)).map((trace) => `${kind}: ${trace}`);
  });

async function interrupt(
  clone: string,
  { step, skip }: (typeof stages)[number],
  signal: (typeof signals)[number],
): Promise<{ readonly reached: boolean; readonly tookMs: number; readonly output: string }> {
  const env = { ...process.env, MILLRACE_CI_SKIP: skip.join(',') };
  const child = spawn('bash', ['.ci/run'], { cwd: clone, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let output = '';
  const started = new Promise<boolean>((resolve) => {
    child.stdout.on('data', (part: Buffer) => {
      output += part.toString();
      if (new RegExp(`^ *\\d+ s  ${step}: [^o]`, 'm').test(output)) resolve(true);
    });
    void ended.then(() => resolve(false));
  });
  const reached = await Promise.race([started, sleep(STAGE_LIMIT_MS, false, { ref: false })]);
  if (reached) await Promise.race([ended, sleep(step === 'install' ? 5_000 : INTO_STEP_MS)]);
  const sentMs = performance.now();
  child.kill(signal);
  await ended;
  return { reached, tookMs: Math.round(performance.now() - sentMs), output };
}

async function prove({ note }: ProofRun) {
  const folder = await mkdtemp('/var/tmp/millrace-interrupt-');
  const clone = join(folder, 'clone');
  const failures: string[] = [];
  const figures: Record<string, string | number> = {};
  try {
    await run('git', ['clone', '--quiet', root, clone]);
    let turn = 0;
    for (const stage of stages) {
      const signal = signals[turn++ % signals.length] ?? 'SIGINT';
      const before = await readTraces(clone);
      const { reached, tookMs, output } = await interrupt(clone, stage, signal);
      const left = leftBehind(before, await readTraces(clone));
      figures[`interrupted in ${stage.step} by ${signal}: left behind`] = left.length;
      figures[`interrupted in ${stage.step} by ${signal}: ms until it ended`] = tookMs;
      note(`${stage.step}: ${left.length} left behind, ended ${tookMs} ms after ${signal}`);
      if (!reached) {
        const end = lines(output).slice(-20).join('\n    ');
        failures.push(`The run ended before its step ${stage.step}. The end of its output:\n    ${end}`);
      }
      failures.push(...left.map((trace) => `After ${signal} in ${stage.step}: ${trace}`));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return { figures, failures };
}

export const proof = defineProof({
  name: 'ci-interrupt',
  proves:
    'A CI run that is interrupted during install, unit tests, integration tests or proofs leaves no process, mount, network namespace, bridge, loop device or temporary folder.',
  short: null,
  long: prove,
});
