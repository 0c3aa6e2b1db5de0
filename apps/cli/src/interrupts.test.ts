import { expect, test } from 'vitest';
import { createInterrupts } from './interrupts.ts';

test('raise returns true for the first Ctrl-C and false for the second', () => {
  const { signal, raise } = createInterrupts();
  expect(raise()).toBe(true);
  expect(signal.aborted).toBe(true);
  expect(raise()).toBe(false);
});

test('listen passes Ctrl-C to the newest handler until it is removed', () => {
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
