import { expect, test } from 'vitest';
import { marketStatus } from './market-status.ts';

const machine = { shown: true, notShownBecause: null, status: 'node_ready', statusReason: null } as const;

test('a machine is good on the marketplace only while it can be rented', () => {
  expect(marketStatus(machine)).toEqual({ tone: 'good', label: 'listed', why: null });
  const offline = { ...machine, status: 'node_offline', statusReason: 'The engine is silent.' } as const;
  expect(marketStatus(offline)).toEqual({
    tone: 'warn',
    label: 'listed, offline',
    why: 'Cannot be rented while it is offline: The engine is silent.',
  });
  expect(marketStatus({ ...machine, shown: false, notShownBecause: 'It has no price.' })).toMatchObject({
    tone: 'warn',
    label: 'not listed',
    why: 'It has no price.',
  });
});
