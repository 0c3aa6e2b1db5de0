import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import { createPendingSettlements } from './pending-settlements.ts';

describe('pending settlements', () => {
  it('resume all waiting requests of an organisation when one of its settlements ends', async () => {
    const settlements = createPendingSettlements(new SimulatedClock());
    settlements.started('org_1');
    settlements.started('org_1');
    const waiting = [settlements.next('org_1'), settlements.next('org_1')];
    settlements.ended('org_1');
    expect(await Promise.all(waiting)).toEqual([true, true]);
  });

  it('wait briefly if the organisation has no settlement here', async () => {
    const clock = new SimulatedClock();
    const settlements = createPendingSettlements(clock);
    settlements.started('org_1');
    const others = settlements.next('org_2');
    settlements.ended('org_1');
    settlements.ended('org_1');
    const later = settlements.next('org_1');
    await clock.advance(50);
    expect(await Promise.all([others, later])).toEqual([true, true]);
  });

  it('time out after half a second', async () => {
    const clock = new SimulatedClock();
    const settlements = createPendingSettlements(clock);
    settlements.started('org_1');
    const waiting = settlements.next('org_1');
    await clock.advance(500);
    expect(await waiting).toBe(false);
  });
});
