import { expect, test } from 'vitest';
import { createInterrupts } from './interrupts.ts';

test('the first Ctrl-C asks, and the second finds out that it was asked before', () => {
  const { signal, raise } = createInterrupts();
  expect(raise()).toBe(true);
  expect(signal.aborted).toBe(true);
  expect(raise()).toBe(false);
});

test('who listens takes it, the last one first, until it no longer listens', () => {
  const { signal, listen, raise } = createInterrupts();
  const taken: string[] = [];
  const stopOuter = listen(() => void taken.push('outer'));
  const stopInner = listen(() => void taken.push('inner'));
  expect([raise(), raise()]).toEqual([true, true]);
  stopInner();
  stopInner();
  raise();
  stopOuter();
  expect(taken).toEqual(['inner', 'inner', 'outer']);
  expect(signal.aborted).toBe(false);
  raise();
  expect(signal.aborted).toBe(true);
});
