import { contract, type OperationId } from '@millrace/contract';
import { applyLedger, requireDone } from '@millrace/core/ledger';
import type { Tx } from '@millrace/platform/db';
import { nanoUsd } from '@millrace/platform/money';
import { testIds, uniqueId } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/fixture.ts';
import type { AccessRow } from './access.rows.ts';
import { call, type Input, type World } from './world.ts';

/** The rows of balance, ledger, usage, limits, budgets and the operator's money tools. */

const nothing = async (): Promise<Input> => ({});
const { operations } = contract;
const newBudget = { name: 'monthly', period: 'month', limitNanoUsd: '5000000000' };

export const billingAccessRows: Partial<Record<OperationId, AccessRow>> = {
  getCurrentBalance: { own: nothing, others: 'none' },
  listPurchaseHistory: { own: nothing, others: 'none' },
  getBalance: { own: nothing, others: 'none' },
  listLedgerEntries: { own: nothing, others: 'none' },
  getUsage: { own: nothing, others: 'none' },
  getLimits: { own: nothing, others: 'none' },
  listBudgets: { own: nothing, others: 'none' },
  createBudget: {
    own: async ({ acme }) => ({ body: { ...newBudget, keyId: acme.owner.keyId } }),
    others: {
      absent: { body: { ...newBudget, keyId: testIds.next('key') } },
      foreign: async ({ other }) => ({ body: { ...newBudget, keyId: other.owner.keyId } }),
    },
  },
  updateBudget: budgetRow({ body: { name: 'renamed' } }),
  deleteBudget: budgetRow({}),
  adminGrant: toolRow({ amountNanoUsd: '1000000000', reason: 'welcome' }),
  adminAdjust: toolRow({ amountNanoUsd: '1000000000', reason: 'correction' }),
  adminSetOverdraft: toolRow({ maxOverdraftNanoUsd: '1000000000', reason: 'contract' }),
  adminUnfreeze: toolRow({ reason: 'settled' }),
  adminRefund: {
    caller: 'operator',
    own: async (world) => ({
      params: { organisationId: world.other.organisation.id },
      body: { transferId: await chargeOf(world, world.other), reason: 'goodwill' },
    }),
    others: {
      absent: {
        params: { organisationId: testIds.next('org') },
        body: { transferId: testIds.next('trf'), reason: 'goodwill' },
      },
      foreign: 'operators see all',
    },
  },
  adminReverse: {
    caller: 'operator',
    own: async (world) => ({
      params: { transferId: await chargeOf(world, world.other) },
      body: { reason: 'mistake' },
    }),
    others: {
      absent: { params: { transferId: testIds.next('trf') }, body: { reason: 'mistake' } },
      foreign: 'operators see all',
    },
  },
  adminGetBalance: toolRow(),
  adminListTransfers: { caller: 'operator', own: nothing, others: 'none' },
};

function budgetRow(input: Input): AccessRow {
  const at = (budgetId: string): Input => ({ ...input, params: { budgetId } });
  const budgetOf = async (world: World, who: SeededOrganisation): Promise<Input> => {
    const made = await call(world, operations.createBudget, { body: newBudget }, who.owner.key);
    return at(made.json.id as string);
  };
  return {
    own: (world) => budgetOf(world, world.acme),
    others: {
      absent: at(testIds.next('bdg')),
      foreign: (world) => budgetOf(world, world.other),
    },
  };
}

function toolRow(asked?: object): AccessRow {
  const body = asked === undefined ? {} : { body: asked };
  return {
    caller: 'operator',
    own: async ({ other }) => ({ params: { organisationId: other.organisation.id }, ...body }),
    others: {
      absent: { params: { organisationId: testIds.next('org') }, ...body },
      foreign: 'operators see all',
    },
  };
}

/** A charge that the organisation has paid. */
export async function chargeOf(world: World, who: SeededOrganisation): Promise<string> {
  const orgId = who.organisation.id;
  const amount = nanoUsd(1_000_000_000n);
  const base = { orgId, mode: 'live', amount, description: 'for a test' } as const;
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
        to: [{ account: { kind: 'revenue', product: 'rental' }, amount }],
        whenShort: 'refuse',
      },
    ]);
    return requireDone(results[1]).transferId;
  };
  const id = await world.fixture.db.transaction({ name: 'charge', isolation: 'read committed' }, work);
  if (id === null) throw new Error('nothing was charged');
  return id;
}
