import type { LedgerCommand, Share } from '@millrace/core/ledger';
import { createRandom, type Random } from '@millrace/runners';
import type { HoldId, OrgId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';

/**
 * The batches of the proof. Batch n of a poster is the same in every process and pays in the money that it spends, so no command
 * may be refused and the final state can be computed.
 */

export interface PostingBatch {
  readonly first: readonly LedgerCommand[];
  /** Applied in the next transaction, with the hold ids of the first. */
  readonly afterwards: (holdIds: readonly HoldId[]) => readonly LedgerCommand[];
}

export interface BatchScope {
  readonly seed: number;
  readonly poster: number;
  readonly orgIds: readonly OrgId[];
}

const revenue = (amount: NanoUsd): readonly Share[] => [
  { account: { kind: 'revenue', product: 'rental' }, amount },
];

const amountFrom = (random: Random): NanoUsd => nanoUsd(BigInt(random.int(1, 2_000_000_000)));

/** The amounts of a batch for one organisation. */
export interface BatchItem {
  readonly orgId: OrgId;
  readonly step: string;
  readonly paidIn: NanoUsd;
  readonly charged: NanoUsd;
  readonly held: NanoUsd;
  readonly posted: NanoUsd;
}

export function batchItems({ seed, poster, orgIds }: BatchScope, batch: number): BatchItem[] {
  const random = createRandom(seed).fork(poster).fork(batch);
  return random
    .shuffle(orgIds)
    .slice(0, random.int(1, 5))
    .map((orgId, index) => {
      const charged = amountFrom(random);
      const held = amountFrom(random);
      const posted = nanoUsd((held * BigInt(random.int(0, 100))) / 100n);
      const paidIn = nanoUsd(charged + held);
      return { orgId, step: String(index), paidIn, charged, held, posted };
    });
}

export function buildBatch(scope: BatchScope, batch: number): PostingBatch {
  const items = batchItems(scope, batch);
  const base = (deal: BatchItem, action: string) =>
    ({
      orgId: deal.orgId,
      mode: 'live',
      cause: { kind: 'load', id: `${scope.poster}-${batch}` },
      step: `${deal.step}-${action}`,
      description: 'Load',
    }) as const;
  return {
    first: items.flatMap((deal): LedgerCommand[] => [
      {
        ...base(deal, 'in'),
        do: 'credit',
        kind: 'top_up',
        amount: deal.paidIn,
        from: [{ account: { kind: 'payments_clearing' }, amount: deal.paidIn }],
      },
      {
        ...base(deal, 'out'),
        do: 'debit',
        kind: 'charge',
        amount: deal.charged,
        to: revenue(deal.charged),
        whenShort: 'refuse',
      },
      { ...base(deal, 'hold'), do: 'hold', amount: deal.held, demand: 'new' },
    ]),
    afterwards: (holdIds) =>
      items.flatMap((deal, index): LedgerCommand[] => {
        const holdId = holdIds[index];
        if (holdId === undefined) throw new Error('A hold returned no id.');
        return [
          {
            ...base(deal, 'post'),
            do: 'post',
            holdId,
            amount: deal.posted,
            to: revenue(deal.posted),
            afterwards: 'close',
          },
        ];
      }),
  };
}

/** Idempotency keys of the transfers of a batch. A charge of zero makes no transfer. */
export function batchIdempotencyKeys(scope: BatchScope, batch: number): string[] {
  return batchItems(scope, batch).flatMap((deal) =>
    ['in', 'out', ...(deal.posted > 0n ? ['post'] : [])].map(
      (action) => `${deal.orgId} load:${scope.poster}-${batch}:${deal.step}-${action}`,
    ),
  );
}
