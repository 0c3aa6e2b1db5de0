import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { countStatements } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processMessages, type SinkMessage } from './usage/sink.service.ts';
import { chargeCheckpoints } from './usage/usage.service.ts';
import type { UsageEvent } from './usage/usage-event.ts';
import { createUsageHarness, setTokenPrice, type TestLease, type UsageHarness } from './usage.fixture.ts';

let world: UsageHarness;
beforeAll(async () => {
  world = await createUsageHarness();
});
afterAll(() => world[Symbol.asyncDispose]());

const message = (...events: readonly UsageEvent[]): SinkMessage => ({
  sequence: 1,
  subject: 'usage.1.batch',
  text: () => JSON.stringify({ events }),
});

/** The largest request of `model-one`: 128 prompts of 100 000 tokens and as many answers, 1 000 nano-USD each, twice. */
const bound = 2n * 128n * 200_000n * 1_000n;

function costing(lent: TestLease, cost: bigint, over: Partial<UsageEvent> = {}): UsageEvent {
  const text = String(cost);
  return world.event(lent, { reservedNanoUsd: text, amountNanoUsd: text, pricedNanoUsd: text, ...over });
}

const outcomes = async (events: readonly UsageEvent[]): Promise<readonly (string | undefined)[]> =>
  (await Promise.all(events.map(({ requestId }) => world.request(requestId)))).map((row) => row?.outcome);

describe('usage that costs more than the largest request of its model', () => {
  it('is recorded and charged to neither the organisation nor the operator', async () => {
    const lent = await world.lend(10n * bound);
    const events = [costing(lent, bound), costing(lent, bound + 1n)];
    const sunk = await processMessages(world.db, 'OVERPRICED', [message(...events)]);
    expect(sunk).toMatchObject({ recorded: 2, charged: bound, shortfall: 0n, uncharged: 1, overpriced: 1 });
    expect(await outcomes(events)).toEqual(['charged', 'overpriced']);
    expect(await world.charged(lent.orgId)).toBe(bound);
    const rows = await world.query<{ outcome: string; borne: string; transfer_id: string | null }>(
      `select outcome, borne_nano_usd::text as borne, transfer_id from usage_charges
        where org_id = '${toUuid(lent.orgId)}' and outcome = 'overpriced'`,
    );
    expect(rows).toEqual([{ outcome: 'overpriced', borne: '0', transfer_id: null }]);
  });

  it('is charged up to its reservation if an engine counted too much', async () => {
    const lent = await world.lend(10n * bound);
    const event = costing(lent, 1_200n, { pricedNanoUsd: String(1_000n * bound) });
    const sunk = await processMessages(world.db, 'MISCOUNTED', [message(event)]);
    expect(sunk).toMatchObject({ charged: 1_200n, overpriced: 0 });
    const [row] = await world.query<{ outcome: string; borne: string }>(
      `select outcome, borne_nano_usd::text as borne from usage_charges where org_id = '${toUuid(lent.orgId)}'`,
    );
    expect(row).toEqual({ outcome: 'charged', borne: String(bound - 1_200n) });
  });

  it('stays uncharged when it arrives again at a cost that would be believed', async () => {
    const lent = await world.lend(10n * bound);
    const event = costing(lent, bound + 1n);
    await processMessages(world.db, 'FIRST', [message(event)]);
    await processMessages(world.db, 'SECOND', [
      message({ ...costing(lent, 5n), requestId: event.requestId }),
    ]);
    expect(await world.request(event.requestId)).toMatchObject({ cost: '0', outcome: 'overpriced' });
    expect(await world.charged(lent.orgId)).toBe(0n);
  });

  it('does not include usage of models without recent prices, which a restored database may lack', async () => {
    const lent = await world.lend();
    const event = costing(lent, 5n, { model: 'made-up' });
    const sunk = await processMessages(world.db, 'MADE-UP', [message(event)]);
    expect(sunk).toMatchObject({ recorded: 1, charged: 5n, overpriced: 0 });
  });

  it('is bounded by the contract price of its organisation, and by prices of the last week', async () => {
    const [lent, other] = [await world.lend(100n * bound), await world.lend(100n * bound)];
    const nowMs = systemClock.nowMs();
    const ago = (days: number): Date => new Date(nowMs - days * 86_400_000);
    // Ten times the list price until eight days ago, five times until yesterday, twice since.
    const contract = { model: 'model-two', orgId: lent.orgId };
    await setTokenPrice(world.database, { ...contract, nanoUsd: 10_000n, from: ago(30), until: ago(8) });
    await setTokenPrice(world.database, { ...contract, nanoUsd: 5_000n, from: ago(8), until: ago(1) });
    await setTokenPrice(world.database, { ...contract, nanoUsd: 2_000n, from: ago(1) });
    const { model } = contract;
    const events = [
      costing(lent, 5n * bound, { model }),
      costing(lent, 5n * bound + 1n, { model }),
      costing(other, bound, { model }),
      costing(other, 2n * bound, { model }),
    ];
    await processMessages(world.db, 'CONTRACT', [message(...events)]);
    expect(await outcomes(events)).toEqual(['charged', 'overpriced', 'charged', 'overpriced']);
  });

  it('is not charged by a checkpoint either', async () => {
    const lent = await world.lend(10n * bound);
    const event = costing(lent, bound + 1n, { kind: 'checkpoint' });
    await processMessages(world.db, 'CHECKPOINT', [message(event)]);
    await world.db.transaction({ name: 'charge checkpoints', isolation: 'read committed' }, (tx) =>
      chargeCheckpoints(tx, { leaseId: lent.leaseId, gatewayId: null }),
    );
    expect(await world.request(event.requestId)).toMatchObject({
      outcome: 'overpriced',
      source: 'checkpoint',
    });
    expect(await world.charged(lent.orgId)).toBe(0n);
  });

  it('is found by as many statements for many models as for one', async () => {
    const lent = await world.lend();
    const statements = (stream: string, models: readonly string[]): Promise<number> => {
      const events = models.map((model) => costing(lent, 5n, { model }));
      return countStatements(() => processMessages(world.db, stream, [message(...events)]));
    };
    const few = await statements('ONE-MODEL', ['model-one']);
    const many = await statements('THREE-MODELS', ['model-one', 'model-two', 'model-dear']);
    expect(many).toBe(few);
  });
});
