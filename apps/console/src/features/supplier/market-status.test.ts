import { expect, test } from 'vitest';
import { marketStatus } from './market-status.ts';

const machine = { shown: true, notShownBecause: null, status: 'node_ready', statusReason: null } as const;

test('marketStatus is good only while a machine can be rented', () => {
  expect(marketStatus(machine)).toEqual({ tone: 'good', label: 'listed', why: null });
  const offline = {
    ...machine,
    status: 'node_offline',
    statusReason: 'The engine does not respond.',
  } as const;
  expect(marketStatus(offline)).toEqual({
    tone: 'warn',
    label: 'listed, offline',
    why: 'Cannot be rented while it is offline: The engine does not respond.',
  });
  const quarantined = {
    ...machine,
    status: 'node_quarantined',
    statusReason: 'Three starts failed.',
  } as const;
  expect(marketStatus(quarantined).why).toBe(
    'Cannot be rented while it is quarantined: Three starts failed. Repair the cause, then ask the operator to return the machine to service.',
  );
  expect(marketStatus({ ...machine, shown: false, notShownBecause: 'It has no price.' })).toMatchObject({
    tone: 'warn',
    label: 'not listed',
    why: 'It has no price.',
  });
});
