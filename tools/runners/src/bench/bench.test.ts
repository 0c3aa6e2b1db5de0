import { expect, test } from 'vitest';

import { collectOutput, scratchRepository } from '../common/scratch.fixture.ts';
import { benchCommand } from './command.ts';
import { parseCoreList, planCores } from './cores.ts';
import type { Pinning } from './cores.ts';
import { atLeast, atMost } from './define.ts';
import { measureVariants, summarise } from './measure.ts';

const unpinned = (): Pinning => ({
  plan: null,
  pinServer: () => undefined,
  serverCpuUs: () => 0,
  release: () => undefined,
});
const placeIn = (root: string) => ({ root, folder: 'bench', suffix: '.bench.mjs', exportName: 'bench' });

const benchFile = (limit: number): string => `
export const bench = {
  name: 'echo', about: 'An echo against silence.', counts: null,
  async run({ measure }) {
    const sides = await measure({ bare: async () => {}, ours: async () => {} }, { concurrency: 1 });
    return {
      figures: { ...sides, ratio: 0.5 },
      bars: [{ name: 'ratio', limit: ${limit}, value: 0.5, ok: 0.5 >= ${limit} }],
    };
  },
};`;

test('bench: the last line is one JSON object with bench, machine, figures and bars', async () => {
  using scratch = scratchRepository({ 'bench/echo.bench.mjs': benchFile(0.4) });
  const output = collectOutput();
  expect(await benchCommand(placeIn(scratch.root), unpinned, ['echo', '--quick'], output)).toBe(0);
  const report = JSON.parse(output.lines.at(-1) ?? '') as Record<string, Record<string, unknown>>;
  expect(Object.keys(report)).toEqual(['bench', 'machine', 'figures', 'bars']);
  expect(report['bench']).toBe('echo');
  expect(report['machine']).toMatchObject({ pinned: null });
  expect(Object.keys(report['figures'] ?? {})).toEqual(['bare', 'ours', 'ratio']);
  expect(report['bars']).toEqual([{ name: 'ratio', limit: 0.4, value: 0.5, ok: true }]);
});

test('bench: a failed assertion is printed and the exit code is 1, after the JSON', async () => {
  using scratch = scratchRepository({ 'bench/echo.bench.mjs': benchFile(0.9) });
  const output = collectOutput();
  expect(await benchCommand(placeIn(scratch.root), unpinned, ['echo', '--quick'], output)).toBe(1);
  expect(output.lines.some((line) => /^ratio\s+0\.9\s+0\.5\s+FAILED$/.test(line))).toBe(true);
  expect(output.lines.at(-1)).toMatch(/^\{"bench":"echo".*"ok":false\}\]\}$/);
});

const countFile = (name: string, counts: string): string =>
  `export const bench = { name: '${name}', about: 'Statements.', run: async () => ({ figures: {}, bars: [] }), counts: ${counts} };`;
const counted = (limit: number): string =>
  `async () => ({ figures: { statements: 3 }, bars: [{ name: 'statements', limit: ${limit}, value: 3, ok: 3 <= ${limit} }] })`;

test('bench --all --short: fails if one bench fails or throws, and still runs the others', async () => {
  using scratch = scratchRepository({
    'bench/few.bench.mjs': countFile('few', counted(3)),
    'bench/many.bench.mjs': countFile('many', counted(2)),
    'bench/speed.bench.mjs': countFile('speed', 'null'),
    'bench/broken.bench.mjs': countFile('broken', `async () => { throw new Error('no engine'); }`),
  });
  const output = collectOutput();
  expect(await benchCommand(placeIn(scratch.root), unpinned, ['--all', '--short'], output)).toBe(1);
  expect(output.lines.at(-1)).toBe('1 passed, 2 failed');
});

test('bench --all --short: runs a failed bench once more and names it if it passes', async () => {
  const passesSecond = `async () => {
    globalThis.benchRuns = (globalThis.benchRuns ?? 0) + 1;
    return { figures: {}, bars: [{ name: 'calls', limit: 1, value: 1, ok: globalThis.benchRuns === 2 }] };
  }`;
  using scratch = scratchRepository({ 'bench/unsteady.bench.mjs': countFile('unsteady', passesSecond) });
  const output = collectOutput();
  expect(await benchCommand(placeIn(scratch.root), unpinned, ['--all', '--short'], output)).toBe(0);
  expect(output.lines.slice(-2)).toEqual(['passed only when run again: unsteady', '1 passed, 0 failed']);
});

test('bench: restores the cores also when the bench throws', async () => {
  using scratch = scratchRepository({
    'bench/echo.bench.mjs': `export const bench = { name: 'echo', about: '', run: async () => { throw new Error('no engine'); } };`,
  });
  let released = 0;
  const pin = (): Pinning => ({ ...unpinned(), release: () => void (released += 1) });
  await expect(benchCommand(placeIn(scratch.root), pin, ['echo'], collectOutput())).rejects.toThrow(
    'no engine',
  );
  expect(released).toBe(1);
});

test('planCores: server and load never share a core, and one core is not split', () => {
  expect(parseCoreList('0-2,5\n')).toEqual([0, 1, 2, 5]);
  expect(planCores([0, 1])).toEqual({ server: [0], load: [1] });
  expect(planCores([0, 1, 2, 5, 6])).toEqual({ server: [0, 1], load: [2, 5, 6] });
  expect(planCores([3])).toBeNull();
});

test('measureVariants: variants take turns, and the first round of each is not counted', async () => {
  const order: string[] = [];
  const sides = { bare: async () => Promise.resolve('bare'), ours: async () => Promise.resolve('ours') };
  const measured = await measureVariants(sides, { concurrency: 1, rounds: 2, roundMs: 1 }, async (call) => {
    order.push(String(await call()));
    return { latenciesMs: [order.length], elapsedMs: 1000, cpu: { ownUs: 0, serverUs: 0 } };
  });
  expect(order).toEqual(['bare', 'ours', 'bare', 'ours', 'bare', 'ours']);
  expect(measured.bare.calls).toBe(2);
  expect(measured.ours.p99Ms).toBe(6);
});

test('summarise: one bad round changes neither the rate nor the processor time per call', () => {
  const cpu = { ownUs: 2_000, serverUs: 500 };
  const good = { latenciesMs: Array.from({ length: 100 }, () => 1), elapsedMs: 100, cpu };
  const bad = { latenciesMs: [900], elapsedMs: 1000, cpu };
  expect(summarise([good, bad, good])).toEqual({
    perSecond: 1000,
    p50Ms: 1,
    p99Ms: 1,
    calls: 201,
    cpuUs: 20,
    serverCpuUs: 5,
  });
});

test('atLeast and atMost: a value equal to the limit passes', () => {
  expect(atLeast('rate', 10, 10).ok).toBe(true);
  expect(atLeast('rate', 10, 9.9).ok).toBe(false);
  expect(atMost('delay', 5, 5).ok).toBe(true);
  expect(atMost('delay', 5, 5.1).ok).toBe(false);
});
