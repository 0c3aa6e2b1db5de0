import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, test } from 'vitest';
import type { Caller } from './authenticator.ts';
import { createFundingStatus } from './funding-status.ts';

function callerOf(mode: 'live' | 'test', isFunded: boolean): Caller {
  const key = { orgId: 'org_1', mode } as Caller['key'];
  const organisation = { orgId: 'org_1', isFunded } as Caller['organisation'];
  return { publicId: 'public', key, organisation };
}

describe('createFundingStatus', () => {
  test('treats test keys as unfunded, whatever their organisation', () => {
    const funds = createFundingStatus(new SimulatedClock());
    funds.note('org_1', true);
    expect(funds.isFunded(callerOf('test', true))).toBe(false);
  });

  test("uses the organisation's deposits until a reservation was attempted", () => {
    const funds = createFundingStatus(new SimulatedClock());
    expect(funds.isFunded(callerOf('live', true))).toBe(true);
    expect(funds.isFunded(callerOf('live', false))).toBe(false);
  });

  test('uses the last reservation for ten minutes, then the deposits again', async () => {
    const clock = new SimulatedClock();
    const funds = createFundingStatus(clock);
    funds.note('org_1', true);
    expect(funds.isFunded(callerOf('live', false))).toBe(true);
    funds.note('org_1', false);
    expect(funds.isFunded(callerOf('live', true))).toBe(false);
    await clock.advance(600_001);
    expect(funds.isFunded(callerOf('live', true))).toBe(true);
  });
});
