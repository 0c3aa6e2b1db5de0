import { contract, type OperationId } from '@millrace/contract';
import { applyLedger, requireDone } from '@millrace/core/ledger';
import type { Tx } from '@millrace/platform/db';
import { nanoUsd, nanoPerUsd } from '@millrace/platform/money';
import { plantStatement, plantSupplier, testIds, uniqueId } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/fixture.ts';
import type { AccessRow } from './access.rows.ts';
import { call, type Input, type World } from './world.ts';

/** The rows of what suppliers earn, are told and are paid. */

const { operations } = contract;
const nothing = async (): Promise<Input> => ({});
const settlement = { outcome: 'rejected', reason: 'looked at' };

export const supplierMoneyAccessRows: Partial<Record<OperationId, AccessRow>> = {
  supplierGetEarnings: { own: nothing, others: 'none' },
  supplierListStatements: { own: nothing, others: 'none' },
  supplierGetStatement: {
    own: (world) => statementOf(world, world.acme),
    others: {
      absent: { params: { statementId: testIds.next('stm') } },
      foreign: (world) => statementOf(world, world.other),
    },
  },
  supplierListPayouts: { own: nothing, others: 'none' },
  supplierRequestPayout: {
    own: async (world) => {
      await earn(world, world.acme);
      return { body: { amountNanoUsd: '1' } };
    },
    others: 'none',
  },
  adminListPayouts: { caller: 'operator', own: nothing, others: 'none' },
  adminSettlePayout: {
    caller: 'operator',
    own: async (world) => ({ params: { payoutId: await payoutOf(world, world.other) }, body: settlement }),
    others: {
      absent: { params: { payoutId: testIds.next('pyo') }, body: settlement },
      foreign: 'operators see all',
    },
  },
};

async function statementOf({ fixture }: World, who: SeededOrganisation): Promise<Input> {
  return { params: { statementId: await plantStatement(fixture.db, who.organisation.id) } };
}

async function payoutOf(world: World, who: SeededOrganisation): Promise<string> {
  await earn(world, who);
  const input = { body: { amountNanoUsd: '1' } };
  const asked = await call(world, operations.supplierRequestPayout, input, who.owner.key);
  return asked.json.id as string;
}

/** The organisation is a supplier and has earned a dollar, by a charge that somebody else paid. */
export async function earn({ fixture: { db }, operator }: World, who: SeededOrganisation): Promise<void> {
  const orgId = who.organisation.id;
  await plantSupplier(db, { orgId });
  const amount = nanoUsd(nanoPerUsd);
  const base = { orgId: operator.organisation.id, mode: 'live', amount, description: 'for a test' } as const;
  const work = async (tx: Tx) => {
    const results = await applyLedger(tx, [
      {
        ...base,
        do: 'credit',
        kind: 'grant',
        cause: { kind: 'test', id: uniqueId() },
        step: 'grant',
        from: [{ account: { kind: 'grants' }, amount }],
      },
      {
        ...base,
        do: 'debit',
        kind: 'charge',
        cause: { kind: 'test', id: uniqueId() },
        step: 'charge',
        to: [{ account: { kind: 'supplier_payable', orgId }, amount }],
        whenShort: 'refuse',
      },
    ]);
    results.map((result) => requireDone(result));
  };
  await db.transaction({ name: 'earn', isolation: 'read committed' }, work);
}
