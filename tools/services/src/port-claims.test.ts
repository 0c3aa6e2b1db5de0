import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { claimChosenBlock, claimFreeBlock, releaseClaim } from './port-claims.ts';
import { portSpan } from './site.ts';

const first = 27_000;

let cacheDir = '';

beforeEach(() => {
  cacheDir = mkdtempSync(path.join(tmpdir(), 'mr-claims-'));
});

afterEach(() => rmSync(cacheDir, { recursive: true, force: true }));

interface Claimer {
  readonly bases: readonly number[];
  end(): Promise<void>;
}

/** Starts a process that claims blocks for several state folders at once and runs until it is killed. */
async function startClaimer(stateDirs: readonly string[]): Promise<Claimer> {
  const script = [
    `import { claimFreeBlock } from ${JSON.stringify(new URL('port-claims.ts', import.meta.url).href)};`,
    `const claims = ${JSON.stringify(stateDirs)}.map((stateDir) =>`,
    `  claimFreeBlock({ cacheDir: ${JSON.stringify(cacheDir)}, stateDir }, ${first}));`,
    'process.stdout.write(JSON.stringify(await Promise.all(claims)));',
    'process.stdin.resume();',
  ].join('\n');
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
  const child = spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'inherit'] });
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    bases: JSON.parse(output.toString()) as number[],
    async end() {
      const closed = once(child, 'close');
      child.stdin.end();
      await closed;
    },
  };
}

/** Records the block in a state folder, as `up` does. */
function recordUse(stateDir: string, portBase: number): void {
  mkdirSync(stateDir);
  writeFileSync(path.join(stateDir, 'instance.json'), JSON.stringify({ portBase }));
}

test('claimFreeBlock: concurrent claims of several processes never get the same block', async () => {
  const folders = (process: number): string[] => [0, 1, 2].map((index) => `/s${process}-${index}`);
  const own = [0, 1, 2, 3].map((index) => claimFreeBlock({ cacheDir, stateDir: `/own-${index}` }, first));
  const claimers = await Promise.all([0, 1, 2, 3].map((process) => startClaimer(folders(process))));
  const bases = [...(await Promise.all(own)), ...claimers.flatMap((claimer) => claimer.bases)];
  await Promise.all(claimers.map((claimer) => claimer.end()));
  expect(bases).toHaveLength(16);
  expect(new Set(bases).size).toBe(16);
});

test('claimFreeBlock: the claim of an ended process counts while its state folder records the block', async () => {
  const stateDir = path.join(cacheDir, 'site');
  const claimer = await startClaimer([stateDir]);
  const [base = 0] = claimer.bases;
  recordUse(stateDir, base);
  await claimer.end();
  const other = { cacheDir, stateDir: '/other' };
  expect(await claimFreeBlock(other, base)).toBeGreaterThanOrEqual(base + portSpan);
  rmSync(stateDir, { recursive: true });
  expect(await claimFreeBlock(other, base)).toBe(base);
});

test('claimChosenBlock: reserves the block until it is released', async () => {
  const chosen = await claimFreeBlock({ cacheDir, stateDir: '/probe' }, first);
  await releaseClaim({ cacheDir, stateDir: '/probe', portBase: chosen, isRoot: false });
  // Overlaps two of the blocks that claimFreeBlock returns.
  const mine = { cacheDir, stateDir: '/mine', portBase: chosen + 50, isRoot: false };
  await claimChosenBlock(mine, mine.portBase);
  const others = { cacheDir, stateDir: '/others' };
  expect(await claimFreeBlock(others, chosen)).toBeGreaterThanOrEqual(mine.portBase + portSpan);
  await releaseClaim(mine);
  expect(await claimFreeBlock(others, chosen)).toBe(chosen);
});
