import { toUuid, type OrgId, type RequestId } from '@millrace/platform/ids';
import { eventually, testIds } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { createUsageHarness, type TestLease } from './usage.fixture.ts';
import type { UsageEvent } from './usage/usage-event.ts';

const harness = await createUsageHarness();
harness.startSink();
afterAll(() => harness[Symbol.asyncDispose]());

/** Waits until everything published so far is processed. */
async function waitForSink(): Promise<void> {
  const { lastSequence = 0 } = (await harness.nats.streamState(harness.stream)) ?? {};
  await eventually({ what: `the sink to process ${lastSequence}` }, async () => {
    const rows = await harness.query<{ passed_seq: string }>(
      `select passed_seq from usage_watermarks where stream like '${harness.stream}@%'`,
    );
    return Number(rows[0]?.passed_seq ?? 0) >= lastSequence;
  });
}

const checkpoint = (granted: TestLease, amount: number, over: Partial<UsageEvent> = {}): UsageEvent =>
  harness.event(granted, {
    kind: 'checkpoint',
    amountNanoUsd: String(amount),
    pricedNanoUsd: String(amount),
    finishReason: null,
    ...over,
  });

/** The worker declares the gateways dead, and the sink reads the end markers that it publishes for them. */
async function declareDead(): Promise<void> {
  harness.clock.advance(130_000);
  await harness.sweeps.endDead();
  await waitForSink();
}

async function callIn(): Promise<void> {
  harness.clock.advance(130_000);
  await harness.sweeps.callIn();
}

async function checkpointsOf({ orgId }: TestLease): Promise<number> {
  const rows = await harness.query(`select from inference_checkpoints where org_id = '${toUuid(orgId)}'`);
  return rows.length;
}

const base = { mode: 'live', budgets: [], limits: [], tokens: 0 } as const;

/** A request with a reservation of its own gateway. */
async function reserve(orgId: OrgId, amount: bigint): Promise<TestLease & { readonly requestId: RequestId }> {
  const requestId = testIds.next('req');
  const got = await harness.gateway().reserve({ ...base, orgId, requestId, amount });
  if ('refused' in got || got.leaseId === null) expect.fail('not admitted');
  return { orgId, requestId, leaseId: got.leaseId, gatewayId: got.gatewayId };
}

describe('a dead gateway', () => {
  it('has its last checkpoints charged once, and a later final event is recorded', async () => {
    const granted = await harness.grant();
    const running = checkpoint(granted, 300);
    await harness.publish([running]);
    await harness.publish([{ ...running, amountNanoUsd: '700', pricedNanoUsd: '700', tokensCompletion: 70 }]);
    // An older checkpoint that is stored late changes nothing.
    await harness.publish([{ ...running, amountNanoUsd: '500', pricedNanoUsd: '500' }]);
    await waitForSink();
    expect(await harness.charged(granted.orgId)).toBe(0n);

    await declareDead();
    await harness.sweeps.settleDead();
    await harness.sweeps.settleDead();
    const charged = { cost: '700', outcome: 'charged', source: 'checkpoint', late: null };
    expect(await harness.request(running.requestId)).toMatchObject(charged);
    expect(await harness.charged(granted.orgId)).toBe(700n);
    expect(await checkpointsOf(granted)).toBe(0);

    const final = { ...running, kind: 'final', amountNanoUsd: '900', pricedNanoUsd: '900' } as const;
    await harness.publish([final]);
    await harness.publish([{ ...final, amountNanoUsd: '901', pricedNanoUsd: '901' }]);
    await waitForSink();
    expect(await harness.request(running.requestId)).toMatchObject({ ...charged, late: '900' });
    expect(await harness.charged(granted.orgId)).toBe(700n);
  });

  it('without a checkpoint is not charged, and later usage is recorded as late', async () => {
    const granted = await harness.grant();
    await declareDead();
    await harness.sweeps.settleDead();
    const final = harness.event(granted);
    await harness.publish([final]);
    await waitForSink();
    expect(await harness.request(final.requestId)).toMatchObject({ cost: '0', outcome: 'late' });
    expect(await harness.charged(granted.orgId)).toBe(0n);
  });

  it('is charged by a final event that arrives before it is settled', async () => {
    const granted = await harness.grant();
    const running = checkpoint(granted, 300);
    await harness.publish([running]);
    const final = { ...running, kind: 'final', amountNanoUsd: '900', pricedNanoUsd: '900' } as const;
    await declareDead();
    // Behind the end marker that was published for it, and still in time.
    await harness.publish([final, running]);
    await waitForSink();
    expect(await checkpointsOf(granted)).toBe(0);
    await harness.sweeps.settleDead();
    expect(await harness.request(running.requestId)).toMatchObject({
      cost: '900',
      source: 'final',
      late: null,
    });
    expect(await harness.charged(granted.orgId)).toBe(900n);
  });

  it('is charged only by its own checkpoints: no other gateway can report its requests', async () => {
    const [granted, other] = [await harness.grant(), await harness.grant()];
    const running = checkpoint(granted, 300);
    await harness.publish([running]);
    await harness.publish([checkpoint(other, 700, { requestId: running.requestId })]);
    await waitForSink();
    await declareDead();
    await harness.sweeps.settleDead();
    expect(await harness.charged(granted.orgId)).toBe(300n);
    expect(await harness.charged(other.orgId)).toBe(0n);
  });

  it('on a closing lease is charged before the rest is released', async () => {
    const reserved = await reserve(await harness.credit(10_000n), 1_000n);
    const running = checkpoint(reserved, 250);
    await harness.publish([running]);
    await waitForSink();
    await callIn();
    await declareDead();
    await harness.sweeps.closePassed();
    await harness.sweeps.closePassed();
    expect(await harness.request(running.requestId)).toMatchObject({ cost: '250', source: 'checkpoint' });
    expect(await harness.charged(reserved.orgId)).toBe(250n);
    expect(await harness.balance(reserved.orgId)).toEqual({ balance: 9_750n, held: 0n });
    // A checkpoint that arrives after the close is never charged.
    await harness.publish([checkpoint(reserved, 100, { requestId: testIds.next('req') })]);
    await waitForSink();
    expect(await harness.balance(reserved.orgId)).toEqual({ balance: 9_750n, held: 0n });
  });

  it('on an open lease releases what its requests had reserved beyond their checkpoints', async () => {
    const orgId = await harness.credit(10_000n);
    const dead = await reserve(orgId, 4_000n);
    const running = checkpoint(dead, 250);
    await harness.publish([running]);
    await waitForSink();
    await declareDead();
    // Another gateway uses the same lease: the reservations of the dead one are not available to it until then.
    const living = harness.gateway();
    const refused = await living.reserve({ ...base, orgId, requestId: testIds.next('req'), amount: 9_000n });
    expect(refused).toHaveProperty('refused');
    await harness.sweeps.settleDead();
    const admitted = await living.reserve({ ...base, orgId, requestId: testIds.next('req'), amount: 9_000n });
    expect(admitted).toMatchObject({ leaseId: dead.leaseId, amount: 9_000n });
    expect(await harness.charged(orgId)).toBe(250n);
  });
});
