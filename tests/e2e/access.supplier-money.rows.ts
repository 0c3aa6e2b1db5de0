import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { applyLedger, requireLedgerSuccess } from '@millrace/core/ledger';
import type { Tx } from '@millrace/platform/db';
import { nanoUsd, nanoPerUsd } from '@millrace/platform/money';
import { insertStatement, insertSupplier, testIds, uniqueId } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of suppliers' earnings, statements and payouts. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});
const settlePayoutBody = { outcome: 'rejected', reason: 'looked at' };

export const supplierMoneyAccessRows: Partial<Record<OperationId, AccessRow>> = {
  supplierGetEarnings: { own: noInput, others: 'none' },
  supplierListStatements: { own: noInput, others: 'none' },
  supplierGetStatement: {
    own: (harness) => insertedStatement(harness, harness.acme),
    others: {
      absent: { params: { statementId: testIds.next('stm') } },
      foreign: (harness) => insertedStatement(harness, harness.other),
    },
  },
  supplierListPayouts: { own: noInput, others: 'none' },
  supplierRequestPayout: {
    own: async (harness) => {
      await insertEarnings(harness, harness.acme);
      return { body: { amountNanoUsd: '1' } };
    },
    others: 'none',
  },
  adminListPayouts: { caller: 'operator', own: noInput, others: 'none' },
  adminSettlePayout: {
    caller: 'operator',
    own: async (harness) => ({
      params: { payoutId: await createPayout(harness, harness.other) },
      body: settlePayoutBody,
    }),
    others: {
      absent: { params: { payoutId: testIds.next('pyo') }, body: settlePayoutBody },
      foreign: 'operators see all',
    },
  },
};

async function insertedStatement({ fixture }: Harness, who: SeededOrganisation): Promise<CallInput> {
  return { params: { statementId: await insertStatement(fixture.db, who.organisation.id) } };
}

async function createPayout(harness: Harness, who: SeededOrganisation): Promise<string> {
  await insertEarnings(harness, who);
  const input = { body: { amountNanoUsd: '1' } };
  const response = await callOperation(harness, operations.supplierRequestPayout, input, who.owner.key);
  return response.json.id as string;
}

/** Makes the organisation a supplier that earned one dollar from another organisation's charge. */
export async function insertEarnings(
  { fixture: { db }, operator }: Harness,
  who: SeededOrganisation,
): Promise<void> {
  const orgId = who.organisation.id;
  await insertSupplier(db, { orgId });
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
    results.map((result) => requireLedgerSuccess(result));
  };
  await db.transaction({ name: 'earn', isolation: 'read committed' }, work);
}
