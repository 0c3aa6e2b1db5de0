import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { applyLedger, requireLedgerSuccess } from '@millrace/core/ledger';
import type { Tx } from '@millrace/platform/db';
import { nanoUsd } from '@millrace/platform/money';
import { testIds, uniqueId } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of balance, ledger, usage, limits, budgets and the operator's money operations. */

const noInput = async (): Promise<CallInput> => ({});
const { operations } = contract;
const newBudget = { name: 'monthly', period: 'month', limitNanoUsd: '5000000000' };

export const billingAccessRows: Partial<Record<OperationId, AccessRow>> = {
  getCurrentBalance: { own: noInput, others: 'none' },
  listPurchaseHistory: { own: noInput, others: 'none' },
  getBalance: { own: noInput, others: 'none' },
  listLedgerEntries: { own: noInput, others: 'none' },
  getUsage: { own: noInput, others: 'none' },
  getLimits: { own: noInput, others: 'none' },
  listBudgets: { own: noInput, others: 'none' },
  createBudget: {
    own: async ({ acme }) => ({ body: { ...newBudget, keyId: acme.owner.keyId } }),
    others: {
      absent: { body: { ...newBudget, keyId: testIds.next('key') } },
      foreign: async ({ other }) => ({ body: { ...newBudget, keyId: other.owner.keyId } }),
    },
  },
  updateBudget: budgetRow({ body: { name: 'renamed' } }),
  deleteBudget: budgetRow({}),
  adminGrant: moneyActionRow({ amountNanoUsd: '1000000000', reason: 'welcome' }),
  adminAdjust: moneyActionRow({ amountNanoUsd: '1000000000', reason: 'correction' }),
  adminSetOverdraft: moneyActionRow({ maxOverdraftNanoUsd: '1000000000', reason: 'contract' }),
  adminUnfreeze: moneyActionRow({ reason: 'settled' }),
  adminRefund: {
    caller: 'operator',
    own: async (harness) => ({
      params: { organisationId: harness.other.organisation.id },
      body: { transferId: await insertCharge(harness, harness.other), reason: 'goodwill' },
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
    own: async (harness) => ({
      params: { transferId: await insertCharge(harness, harness.other) },
      body: { reason: 'mistake' },
    }),
    others: {
      absent: { params: { transferId: testIds.next('trf') }, body: { reason: 'mistake' } },
      foreign: 'operators see all',
    },
  },
  adminGetBalance: moneyActionRow(),
  adminListTransfers: { caller: 'operator', own: noInput, others: 'none' },
};

function budgetRow(input: CallInput): AccessRow {
  const at = (budgetId: string): CallInput => ({ ...input, params: { budgetId } });
  const budgetOf = async (harness: Harness, who: SeededOrganisation): Promise<CallInput> => {
    const made = await callOperation(harness, operations.createBudget, { body: newBudget }, who.owner.key);
    return at(made.json.id as string);
  };
  return {
    own: (harness) => budgetOf(harness, harness.acme),
    others: {
      absent: at(testIds.next('bdg')),
      foreign: (harness) => budgetOf(harness, harness.other),
    },
  };
}

function moneyActionRow(input?: object): AccessRow {
  const body = input === undefined ? {} : { body: input };
  return {
    caller: 'operator',
    own: async ({ other }) => ({ params: { organisationId: other.organisation.id }, ...body }),
    others: {
      absent: { params: { organisationId: testIds.next('org') }, ...body },
      foreign: 'operators see all',
    },
  };
}

/** Inserts a charge that the organisation has paid. */
export async function insertCharge(harness: Harness, who: SeededOrganisation): Promise<string> {
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
    return requireLedgerSuccess(results[1]).transferId;
  };
  const id = await harness.fixture.db.transaction({ name: 'charge', isolation: 'read committed' }, work);
  if (id === null) throw new Error('The charge has no transfer.');
  return id;
}
