import { machineStateNames } from '@millrace/contract';
import { testIds } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  returnsToService,
  isWindowOpen,
  drainsNodes,
  noticesOf,
  drainDecision,
  windowTimesProblem,
  effectiveStateOf,
  statusAt,
  noticeKindFor,
  type MaintenanceWindow,
  type WindowStatus,
} from './maintenance.ts';

const hour = 3_600_000;
const start = Date.UTC(2026, 5, 1, 12);
const at = (hours: number): Date => new Date(start + hours * hour);

function window(fields: Partial<MaintenanceWindow> = {}): MaintenanceWindow {
  return {
    id: testIds.next('mnt'),
    summary: 'new firmware',
    status: 'announced',
    drainsAt: at(-24),
    startsAt: at(0),
    endsAt: at(2),
    endedAt: null,
    createdAt: at(-48),
    ...fields,
  };
}

describe('windowTimesProblem', () => {
  it.each([
    ['ends when it starts', at(0), at(0), 'endsAt', 'must be after startsAt'],
    ['ends before it starts', at(1), at(0), 'endsAt', 'must be after startsAt'],
    ['has already ended', at(-3), at(-2), 'endsAt', 'must be in the future'],
    ['started long ago', at(-1), at(1), 'startsAt', 'must not be in the past'],
    ['is more than a year ahead', at(9_000), at(9_001), 'startsAt', 'must be within the next 366 days'],
    ['lasts for months', at(1), at(2_000), 'endsAt', 'must be within 31 days of startsAt'],
  ])('rejects a window that %s', (_, startsAt, endsAt, field, message) => {
    expect(windowTimesProblem({ startsAt, endsAt }, at(0))).toEqual({ field, message });
  });

  it.each([
    ['starts now', at(0), at(1)],
    ['started while the form was filled in', at(-0.08), at(1)],
    ['starts next year', at(8_000), at(8_001)],
  ])('accepts a window that %s', (_, startsAt, endsAt) => {
    expect(windowTimesProblem({ startsAt, endsAt }, at(0))).toBeNull();
  });
});

describe('window status', () => {
  it.each<[number, WindowStatus, boolean]>([
    [-25, 'announced', false],
    [-24, 'announced', true],
    [0, 'in_progress', true],
    [1.99, 'in_progress', true],
    [2, 'completed', false],
    [9_999, 'completed', false],
  ])('is derived from the times: %d hours after the start it is %s, draining: %s', (hours, status, free) => {
    const now = at(hours);
    expect(statusAt(window(), now)).toBe(status);
    expect(drainsNodes(window(), now)).toBe(free);
  });

  it('never goes back, and an ended window is never reopened', () => {
    const order: readonly WindowStatus[] = ['announced', 'in_progress', 'completed'];
    fc.assert(
      fc.property(
        fc.constantFrom<WindowStatus>('announced', 'in_progress', 'completed', 'cancelled'),
        fc.integer({ min: -100, max: 100 }),
        (status, hours) => {
          const next = statusAt(window({ status }), at(hours));
          if (!isWindowOpen({ status })) expect(next).toBe(status);
          else expect(order.indexOf(next)).toBeGreaterThanOrEqual(order.indexOf(status));
        },
      ),
    );
  });

  it('determines the kind of notice', () => {
    const words = (['announced', 'in_progress', 'completed', 'cancelled'] as const).map(noticeKindFor);
    expect(words).toEqual(['announced', 'started', 'ended', 'ended']);
  });
});

describe('a node of a maintenance window', () => {
  it('is held if it is ready or another window holds it; an operator’s drain is left alone', () => {
    const table = Object.fromEntries(
      machineStateNames.map((state) => [state, [drainDecision(state, false), drainDecision(state, true)]]),
    );
    expect(table).toEqual({
      node_registering: ['wait', 'wait'],
      node_ready: ['hold', 'hold'],
      node_draining: ['leave', 'hold'],
      node_offline: ['wait', 'wait'],
      node_quarantined: ['wait', 'wait'],
      node_removed: ['leave', 'leave'],
    });
  });

  it('returns to service only if it is still draining and no other window holds it', () => {
    const given = machineStateNames.filter((state) => returnsToService(state, false));
    expect(given).toEqual(['node_draining']);
    expect(machineStateNames.filter((state) => returnsToService(state, true))).toEqual([]);
  });

  it('is treated by its return status while it is offline', () => {
    expect(effectiveStateOf({ status: 'node_offline', backTo: 'node_draining' })).toBe('node_draining');
    expect(effectiveStateOf({ status: 'node_ready', backTo: null })).toBe('node_ready');
  });
});

describe('noticesOf', () => {
  it('returns one notice per organisation and mode, with only their own allocations', () => {
    const [acme, other] = [testIds.next('org'), testIds.next('org')];
    const [first, second] = [testIds.next('nod'), testIds.next('nod')];
    const touch = (orgId: typeof acme, mode: 'live' | 'test', externalId: string, nodeIds = [first]) => ({
      allocationId: testIds.next('alc'),
      orgId,
      mode,
      externalId,
      nodeIds,
    });
    const found = noticesOf(window(), [
      touch(acme, 'live', 'b', [first, second]),
      touch(other, 'live', 'c'),
      touch(acme, 'live', 'a'),
      touch(acme, 'test', 'd'),
    ]);
    const seen = found.map(({ orgId, mode, data }) => [orgId, mode, data.externalIds, data.nodeIds]);
    expect(seen).toEqual([
      [acme, 'live', ['a', 'b'], [first, second].toSorted()],
      [other, 'live', ['c'], [first]],
      [acme, 'test', ['d'], [first]],
    ]);
  });

  it('returns nothing without affected allocations', () => {
    expect(noticesOf(window(), [])).toEqual([]);
  });
});
