import { expect, it } from 'vitest';
import type { AuditReport } from '../auditor/ledger-condition.ts';
import { operatorAttention, type OperatorSources } from './operator-attention.ts';
import { revenueDays } from './revenue-days.ts';
import { setupSteps } from './setup.ts';

const now = Date.parse('2026-11-18T12:00:00.000Z');
const noFaults: OperatorSources = {
  pending: { suppliers: 0, machines: 0, payouts: 0, payoutsNanoUsd: '0' },
  nodes: [],
  clusters: [],
  audit: { isClean: true } as AuditReport,
};

it('is empty without faults and pending decisions', () => {
  expect(operatorAttention(noFaults, now)).toEqual([]);
  expect(operatorAttention({ ...noFaults, audit: null }, now)).toEqual([]);
});

it('lists faults before pending decisions, with links to their causes', () => {
  const items = operatorAttention(
    {
      pending: { suppliers: 1, machines: 2, payouts: 1, payoutsNanoUsd: '12500000000' },
      nodes: [
        {
          id: 'nod_1',
          name: 'h100-03',
          clusterName: 'berlin',
          status: 'node_offline',
          statusReason: null,
          statusSince: '2026-11-18T10:00:00.000Z',
        },
      ],
      clusters: [{ id: 'cls_1', name: 'berlin', statusReason: 'timeout', lastSeenAt: null }],
      audit: { id: 'rpt_1', isClean: false, errors: 3 } as AuditReport,
    },
    now,
  );
  expect(items.map(({ title, to, search }) => [title, to, search?.['tab']])).toEqual([
    ['An audit found 3 errors', '/operator/auditor/rpt_1', undefined],
    ['Cluster berlin does not respond', '/operator/providers', undefined],
    ['Node h100-03 is offline for 2 h', '/operator/nodes/nod_1', undefined],
    ['1 supplier application to review', '/operator/suppliers', undefined],
    ['2 supplier machines to review', '/operator/suppliers', 'machines'],
    ['1 payout requested', '/operator/suppliers', 'payouts'],
  ]);
  expect(items.at(-1)?.detail).toBe('$12.50 in total.');
});

it('the chart has 31 days up to today, and days without revenue are zero', () => {
  const products = { rentals: '5', volumes: '0', instances: '2', inference: '0' };
  const days = revenueDays([{ day: '2026-11-17T00:00:00.000Z', totalNanoUsd: '7', products }], now);
  expect([days.length, days[0]?.day, days.at(-1)?.day]).toEqual([31, '2026-10-19', '2026-11-18']);
  expect(days.map(({ total }) => total).filter((total) => total > 0n)).toEqual([7n]);
  expect(days.at(-2)?.byProduct).toMatchObject({ rentals: 5n, instances: 2n });
});

it('each setup step is done by its own fact', () => {
  const steps = setupSteps({ hasCluster: true, hasPrice: false, hasCredit: true, hasOffer: false });
  expect(steps.map(({ id, isDone }) => [id, isDone])).toEqual([
    ['provider', true],
    ['price', false],
    ['grant', true],
    ['publish', false],
  ]);
});
