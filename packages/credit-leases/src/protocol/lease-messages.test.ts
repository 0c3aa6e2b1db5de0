import { budgetsMax } from '@millrace/contract';
import { testIds } from '@millrace/testing';
import { expect, it } from 'vitest';
import { leaseRequestSchema, toJsonMessage, type LeaseRequest } from './lease-messages.ts';

it('leaseRequestSchema accepts as many budgets as an organisation can have, plus those a key brings along', () => {
  const budgets = Array.from({ length: budgetsMax + 10 }, () => ({
    id: testIds.next('bdg'),
    granted: 0n,
    shortage: 1n,
    wanted: 2n,
  }));
  const request: LeaseRequest = {
    orgId: testIds.next('org'),
    mode: 'live',
    cell: 1,
    gatewayId: 'gateway.1',
    seen: null,
    shortage: 1n,
    wanted: 2n,
    budgets,
  };
  expect(leaseRequestSchema.parse(toJsonMessage(request))).toEqual(request);
});
