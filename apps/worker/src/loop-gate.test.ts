import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { SimulatedClock } from '@millrace/platform/clock';
import { loopCatalog } from '@millrace/platform/loops';
import { testLog } from '@millrace/testing';
import { expect, it } from 'vitest';
import { gateLoops, ungatedLoops } from './loop-gate.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

it('a gated loop runs only while the guard is open', async () => {
  const clock = new SimulatedClock();
  let isOpen = false;
  const startLoop = gateLoops({ isOpen: () => isOpen });
  const runs = { 'make invoices': 0, 'measure outbox': 0 };
  const loops = (['make invoices', 'measure outbox'] as const).map((name) =>
    startLoop({ name, clock, log: testLog(), idleMs: 10 }, async () => {
      runs[name] += 1;
      return 'idle';
    }),
  );
  await clock.advance(95);
  expect(runs).toEqual({ 'make invoices': 0, 'measure outbox': 10 });
  isOpen = true;
  await clock.advance(50);
  expect(runs).toEqual({ 'make invoices': 5, 'measure outbox': 15 });
  isOpen = false;
  await clock.advance(50);
  expect(runs).toEqual({ 'make invoices': 5, 'measure outbox': 20 });
  await Promise.all(loops.map((loop) => loop.stop()));
});

it('ungatedLoops names only existing loops', () => {
  expect(Object.keys(ungatedLoops).filter((name) => !(name in loopCatalog))).toEqual([]);
});

it('every other loop of the catalog is started through the gate', async () => {
  const ungated: string[] = [];
  const waiting = Object.keys(loopCatalog).filter((name) => !(name in ungatedLoops));
  const seen = new Set<string>();
  for await (const file of glob('{packages/core/src,apps/worker/src}/**/*.ts', { cwd: root })) {
    const text = readFileSync(`${root}${file}`, 'utf8');
    if (/\.(test|fixture)\.ts$/.test(file) || !text.includes('startLoop(')) continue;
    const found = waiting.filter((name) =>
      new RegExp(`(loop|sweep)\\(\\s*'${name}'|name: '${name}'`).test(text),
    );
    for (const name of found) seen.add(name);
    // The gate is passed as `startLoop`; importing that name would bypass it.
    if (found.length > 0 && /import \{[^}]*\bstartLoop\b(?! as)[^}]*\}/.test(text)) ungated.push(file);
  }
  expect(ungated).toEqual([]);
  expect(waiting.filter((name) => !seen.has(name))).toEqual([]);
});
