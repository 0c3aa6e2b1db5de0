import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { countStatements } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { processMessages, type SinkMessage } from './usage/sink.service.ts';
import { chargeCheckpoints } from './usage/usage.service.ts';
import type { UsageEvent } from './usage/usage-event.ts';
import { createUsageHarness, setTokenPrice, type TestLease } from './usage.fixture.ts';

const harness = await createUsageHarness();
afterAll(() => harness[Symbol.asyncDispose]());

const message = (...events: readonly UsageEvent[]): SinkMessage => ({
  sequence: 1,
  subject: 'usage.1.batch',
  text: () => JSON.stringify({ events }),
});

/** The largest request of `model-one`: 128 prompts and completions of 100 000 tokens at 1 000 nano-USD each, times two. */
const bound = 2n * 128n * 200_000n * 1_000n;

function costing(granted: TestLease, cost: bigint, over: Partial<UsageEvent> = {}): UsageEvent {
  const text = String(cost);
  return harness.event(granted, { reservedNanoUsd: text, amountNanoUsd: text, pricedNanoUsd: text, ...over });
}

const outcomes = async (events: readonly UsageEvent[]): Promise<readonly (string | undefined)[]> =>
  (await Promise.all(events.map(({ requestId }) => harness.request(requestId)))).map((row) => row?.outcome);

describe('usage above the maximum cost of its model', () => {
  it('is recorded and charged to neither the organisation nor the operator', async () => {
    const granted = await harness.grant(10n * bound);
    const events = [costing(granted, bound), costing(granted, bound + 1n)];
    const result = await processMessages(harness.db, 'OVERPRICED', [message(...events)]);
    expect(result).toMatchObject({ recorded: 2, charged: bound, shortfall: 0n, uncharged: 1, overpriced: 1 });
    expect(await outcomes(events)).toEqual(['charged', 'overpriced']);
    expect(await harness.charged(granted.orgId)).toBe(bound);
    const rows = await harness.query<{ outcome: string; absorbed: string; transfer_id: string | null }>(
      `select outcome, borne_nano_usd::text as absorbed, transfer_id from usage_charges
        where org_id = '${toUuid(granted.orgId)}' and outcome = 'overpriced'`,
    );
    expect(rows).toEqual([{ outcome: 'overpriced', absorbed: '0', transfer_id: null }]);
  });

  it("is charged up to its reservation if only the engine's counts are too high", async () => {
    const granted = await harness.grant(10n * bound);
    const event = costing(granted, 1_200n, { pricedNanoUsd: String(1_000n * bound) });
    const result = await processMessages(harness.db, 'MISCOUNTED', [message(event)]);
    expect(result).toMatchObject({ charged: 1_200n, overpriced: 0 });
    const [row] = await harness.query<{ outcome: string; absorbed: string }>(
      `select outcome, borne_nano_usd::text as absorbed from usage_charges where org_id = '${toUuid(granted.orgId)}'`,
    );
    expect(row).toEqual({ outcome: 'charged', absorbed: String(bound - 1_200n) });
  });

  it('stays uncharged when it arrives again at a plausible cost', async () => {
    const granted = await harness.grant(10n * bound);
    const event = costing(granted, bound + 1n);
    await processMessages(harness.db, 'FIRST', [message(event)]);
    await processMessages(harness.db, 'SECOND', [
      message({ ...costing(granted, 5n), requestId: event.requestId }),
    ]);
    expect(await harness.request(event.requestId)).toMatchObject({ cost: '0', outcome: 'overpriced' });
    expect(await harness.charged(granted.orgId)).toBe(0n);
  });

  it('does not include usage of models without recent prices, which a restored database may lack', async () => {
    const granted = await harness.grant();
    const event = costing(granted, 5n, { model: 'made-up' });
    const result = await processMessages(harness.db, 'MADE-UP', [message(event)]);
    expect(result).toMatchObject({ recorded: 1, charged: 5n, overpriced: 0 });
  });

  it("is determined by the organisation's contract price and by prices of the last week", async () => {
    const [granted, other] = [await harness.grant(100n * bound), await harness.grant(100n * bound)];
    const nowMs = systemClock.nowMs();
    const ago = (days: number): Date => new Date(nowMs - days * 86_400_000);
    // Ten times the list price until eight days ago, five times until yesterday, twice since.
    const contract = { model: 'model-two', orgId: granted.orgId };
    await setTokenPrice(harness.database, { ...contract, nanoUsd: 10_000n, from: ago(30), until: ago(8) });
    await setTokenPrice(harness.database, { ...contract, nanoUsd: 5_000n, from: ago(8), until: ago(1) });
    await setTokenPrice(harness.database, { ...contract, nanoUsd: 2_000n, from: ago(1) });
    const { model } = contract;
    const events = [
      costing(granted, 5n * bound, { model }),
      costing(granted, 5n * bound + 1n, { model }),
      costing(other, bound, { model }),
      costing(other, 2n * bound, { model }),
    ];
    await processMessages(harness.db, 'CONTRACT', [message(...events)]);
    expect(await outcomes(events)).toEqual(['charged', 'overpriced', 'charged', 'overpriced']);
  });

  it('is not charged by a checkpoint either', async () => {
    const granted = await harness.grant(10n * bound);
    const event = costing(granted, bound + 1n, { kind: 'checkpoint' });
    await processMessages(harness.db, 'CHECKPOINT', [message(event)]);
    await harness.db.transaction({ name: 'charge checkpoints', isolation: 'read committed' }, (tx) =>
      chargeCheckpoints(tx, { leaseId: granted.leaseId, gatewayId: null }),
    );
    expect(await harness.request(event.requestId)).toMatchObject({
      outcome: 'overpriced',
      source: 'checkpoint',
    });
    expect(await harness.charged(granted.orgId)).toBe(0n);
  });

  it('needs as many statements for many models as for one', async () => {
    const granted = await harness.grant();
    const statements = (stream: string, models: readonly string[]): Promise<number> => {
      const events = models.map((model) => costing(granted, 5n, { model }));
      return countStatements(() => processMessages(harness.db, stream, [message(...events)]));
    };
    const few = await statements('ONE-MODEL', ['model-one']);
    const many = await statements('THREE-MODELS', ['model-one', 'model-two', 'model-dear']);
    expect(many).toBe(few);
  });
});
