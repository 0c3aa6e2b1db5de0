import { expect, test } from 'vitest';

import { describeMachine, machineLine, parseStatus } from './machine.ts';

test('parseStatus: returns full paths, also if the first column of the state is empty', () => {
  expect(parseStatus(' M docs/figures.md\n?? new.ts\nMM both.ts\n')).toEqual([
    'docs/figures.md',
    'new.ts',
    'both.ts',
  ]);
  expect(parseStatus('')).toEqual([]);
});

test('machineLine: describes a machine in one line', () => {
  const machine = { cpu: 'Fast', cores: 2, memoryGib: 8, system: 'Linux 6', node: '24.1.0' };
  expect(machineLine(machine)).toBe('2 × Fast, 8 GiB, Linux 6, Node 24.1.0');
  expect(describeMachine().cores).toBeGreaterThan(0);
});
