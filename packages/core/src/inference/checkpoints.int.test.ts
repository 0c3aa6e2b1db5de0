import { toUuid, type OrgId, type RequestId } from '@millrace/platform/ids';
import { eventually, testIds } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createUsageHarness, type TestLease, type UsageHarness } from './usage.fixture.ts';
import type { UsageEvent } from './usage/usage-event.ts';

let world: UsageHarness;
beforeAll(async () => {
  world = await createUsageHarness();
  world.startSink();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Everything published until now is worked in. */
async function sunk(): Promise<void> {
  const { lastSequence = 0 } = (await world.nats.streamState(world.stream)) ?? {};
  await eventually({ what: `the sink to pass ${lastSequence}` }, async () => {
    const rows = await world.query<{ passed_seq: string }>(
      `select passed_seq from usage_watermarks where stream like '${world.stream}@%'`,
    );
    return Number(rows[0]?.passed_seq ?? 0) >= lastSequence;
  });
}

const checkpoint = (lent: TestLease, amount: number, over: Partial<UsageEvent> = {}): UsageEvent =>
  world.event(lent, {
    kind: 'checkpoint',
    amountNanoUsd: String(amount),
    pricedNanoUsd: String(amount),
    finishReason: null,
    ...over,
  });

/** A gateway that is never heard of again; the worker finds out, and the sink reads the end spoken for it. */
async function declareDead(): Promise<void> {
  world.clock.advance(130_000);
  await world.sweeps.buryDead();
  await sunk();
}

async function callIn(): Promise<void> {
  world.clock.advance(130_000);
  await world.sweeps.callIn();
}

async function checkpointsOf({ orgId }: TestLease): Promise<number> {
  const rows = await world.query(`select from inference_checkpoints where org_id = '${toUuid(orgId)}'`);
  return rows.length;
}

const ask = { mode: 'live', budgets: [], limits: [], tokens: 0 } as const;

/** A request that a gateway of its own has set money aside for. */
async function reserve(orgId: OrgId, amount: bigint): Promise<TestLease & { readonly requestId: RequestId }> {
  const requestId = testIds.next('req');
  const got = await world.gateway().reserve({ ...ask, orgId, requestId, amount });
  if ('refused' in got || got.leaseId === null) expect.fail('not admitted');
  return { orgId, requestId, leaseId: got.leaseId, gatewayId: got.gatewayId };
}

describe('a gateway that dies', () => {
  it('is charged for how far its requests had come, once; a final event that comes later is recorded', async () => {
    const lent = await world.lend();
    const running = checkpoint(lent, 300);
    await world.publish([running]);
    await world.publish([{ ...running, amountNanoUsd: '700', pricedNanoUsd: '700', tokensCompletion: 70 }]);
    // An older one that was slow to be stored changes nothing.
    await world.publish([{ ...running, amountNanoUsd: '500', pricedNanoUsd: '500' }]);
    await sunk();
    expect(await world.charged(lent.orgId)).toBe(0n);

    await declareDead();
    await world.sweeps.settleDead();
    await world.sweeps.settleDead();
    const charged = { cost: '700', outcome: 'charged', source: 'checkpoint', late: null };
    expect(await world.request(running.requestId)).toMatchObject(charged);
    expect(await world.charged(lent.orgId)).toBe(700n);
    expect(await checkpointsOf(lent)).toBe(0);

    const final = { ...running, kind: 'final', amountNanoUsd: '900', pricedNanoUsd: '900' } as const;
    await world.publish([final]);
    await world.publish([{ ...final, amountNanoUsd: '901', pricedNanoUsd: '901' }]);
    await sunk();
    expect(await world.request(running.requestId)).toMatchObject({ ...charged, late: '900' });
    expect(await world.charged(lent.orgId)).toBe(700n);
  });

  it('without having said how far it was, charges nothing; what comes later is recorded as late', async () => {
    const lent = await world.lend();
    await declareDead();
    await world.sweeps.settleDead();
    const final = world.event(lent);
    await world.publish([final]);
    await sunk();
    expect(await world.request(final.requestId)).toMatchObject({ cost: '0', outcome: 'late' });
    expect(await world.charged(lent.orgId)).toBe(0n);
  });

  it('but whose final event came before it was given up is charged by that', async () => {
    const lent = await world.lend();
    const running = checkpoint(lent, 300);
    await world.publish([running]);
    const final = { ...running, kind: 'final', amountNanoUsd: '900', pricedNanoUsd: '900' } as const;
    await declareDead();
    // Behind the end that was spoken for it, and still in time.
    await world.publish([final, running]);
    await sunk();
    expect(await checkpointsOf(lent)).toBe(0);
    await world.sweeps.settleDead();
    expect(await world.request(running.requestId)).toMatchObject({
      cost: '900',
      source: 'final',
      late: null,
    });
    expect(await world.charged(lent.orgId)).toBe(900n);
  });

  it('is charged by its own word alone: nobody else speaks for its requests', async () => {
    const [lent, other] = [await world.lend(), await world.lend()];
    const running = checkpoint(lent, 300);
    await world.publish([running]);
    await world.publish([checkpoint(other, 700, { requestId: running.requestId })]);
    await sunk();
    await declareDead();
    await world.sweeps.settleDead();
    expect(await world.charged(lent.orgId)).toBe(300n);
    expect(await world.charged(other.orgId)).toBe(0n);
  });

  it('on a lease that is being closed is charged before the rest is given back', async () => {
    const reserved = await reserve(await world.credit(10_000n), 1_000n);
    const running = checkpoint(reserved, 250);
    await world.publish([running]);
    await sunk();
    await callIn();
    await declareDead();
    await world.sweeps.closePassed();
    await world.sweeps.closePassed();
    expect(await world.request(running.requestId)).toMatchObject({ cost: '250', source: 'checkpoint' });
    expect(await world.charged(reserved.orgId)).toBe(250n);
    expect(await world.balance(reserved.orgId)).toEqual({ balance: 9_750n, held: 0n });
    // And one that comes when all is over is charged to nobody.
    await world.publish([checkpoint(reserved, 100, { requestId: testIds.next('req') })]);
    await sunk();
    expect(await world.balance(reserved.orgId)).toEqual({ balance: 9_750n, held: 0n });
  });

  it('on a lease that lives on gives back what its requests had reserved beyond that', async () => {
    const orgId = await world.credit(10_000n);
    const dead = await reserve(orgId, 4_000n);
    const running = checkpoint(dead, 250);
    await world.publish([running]);
    await sunk();
    await declareDead();
    // Another gateway goes on with the same pot: what the dead one had reserved is not for it until then.
    const living = world.gateway();
    const refused = await living.reserve({ ...ask, orgId, requestId: testIds.next('req'), amount: 9_000n });
    expect(refused).toHaveProperty('refused');
    await world.sweeps.settleDead();
    const admitted = await living.reserve({ ...ask, orgId, requestId: testIds.next('req'), amount: 9_000n });
    expect(admitted).toMatchObject({ leaseId: dead.leaseId, amount: 9_000n });
    expect(await world.charged(orgId)).toBe(250n);
  });
});
