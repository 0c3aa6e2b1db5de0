import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import type { OrgId } from '@millrace/platform/ids';
import { insertMarketplaceProvider, insertSupplier, insertSupplierMachine, testIds } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of suppliers, their machines and join tokens, and the operator's reviews. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});
const reviewBody = { reason: 'looked at' };
const approval = { ...reviewBody, feePercentage: 10 };

export const supplierAccessRows: Partial<Record<OperationId, AccessRow>> = {
  supplierApply: {
    own: async (harness) => {
      await ensureSupplier(harness, harness.acme, 'rejected');
      return { body: { name: 'Acme', about: 'We have GPUs.' } };
    },
    others: 'none',
  },
  supplierGetAccount: {
    own: async (harness) => {
      await ensureSupplier(harness, harness.acme);
      return {};
    },
    others: 'none',
  },
  supplierListMachines: { own: noInput, others: 'none' },
  supplierGetMachine: machineRow({}),
  supplierGetMachineHistory: machineRow({}),
  supplierUpdateMachine: machineRow({ body: { listed: true, pricePerGpuHourNanoUsd: '1000000000' } }),
  supplierDrainMachine: machineRow({}),
  supplierResumeMachine: machineRow({}),
  supplierWithdrawMachine: machineRow({}),
  supplierListJoinTokens: { own: noInput, others: 'none' },
  supplierCreateJoinToken: {
    own: async (harness) => {
      await ensureSupplier(harness, harness.acme);
      await insertMarketplaceProvider(harness.fixture.db);
      return { body: newToken() };
    },
    others: 'none',
  },
  supplierRevokeJoinToken: {
    own: (harness) => joinTokenInput(harness, harness.acme),
    others: {
      absent: { params: { joinTokenId: testIds.next('jtk') } },
      foreign: (harness) => joinTokenInput(harness, harness.other),
    },
  },
  adminListSuppliers: { caller: 'operator', own: noInput, others: 'none' },
  adminApproveSupplier: supplierReviewRow(approval),
  adminRejectSupplier: supplierReviewRow(reviewBody),
  adminListMachines: { caller: 'operator', own: noInput, others: 'none' },
  adminApproveMachine: machineReviewRow(),
  adminRejectMachine: machineReviewRow(),
};

function newToken() {
  return { clusterName: 'c1', region: 'us-central-1' };
}

function orgIdOf(who: SeededOrganisation): OrgId {
  return who.organisation.id;
}

function ensureSupplier({ fixture }: Harness, who: SeededOrganisation, status?: 'rejected') {
  return insertSupplier(fixture.db, { orgId: orgIdOf(who), ...(status === undefined ? {} : { status }) });
}

async function insertMachine(harness: Harness, who: SeededOrganisation): Promise<string> {
  await ensureSupplier(harness, who);
  const { nodeId } = await insertSupplierMachine(harness.fixture.db, { orgId: orgIdOf(who) });
  return nodeId;
}

function machineRow(input: CallInput): AccessRow {
  const of = async (harness: Harness, who: SeededOrganisation) => ({
    ...input,
    params: { machineId: await insertMachine(harness, who) },
  });
  return {
    own: (harness) => of(harness, harness.acme),
    others: {
      absent: { ...input, params: { machineId: testIds.next('nod') } },
      foreign: (harness) => of(harness, harness.other),
    },
  };
}

export async function createJoinToken(
  harness: Harness,
  who: SeededOrganisation,
): Promise<{ readonly id: string; readonly token: string }> {
  await ensureSupplier(harness, who);
  await insertMarketplaceProvider(harness.fixture.db);
  const made = await callOperation(
    harness,
    operations.supplierCreateJoinToken,
    { body: newToken() },
    who.owner.key,
  );
  if (made.status !== 201) throw new Error(`Creating a join token failed: ${made.text}`);
  return made.json as { readonly id: string; readonly token: string };
}

async function joinTokenInput(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  return { params: { joinTokenId: (await createJoinToken(harness, who)).id } };
}

function supplierReviewRow(body: object): AccessRow {
  return {
    caller: 'operator',
    own: async (harness) => ({ params: { supplierId: await ensureSupplier(harness, harness.acme) }, body }),
    others: { absent: { params: { supplierId: testIds.next('sup') }, body }, foreign: 'operators see all' },
  };
}

function machineReviewRow(): AccessRow {
  return {
    caller: 'operator',
    own: async (harness) => ({
      params: { machineId: await insertMachine(harness, harness.acme) },
      body: reviewBody,
    }),
    others: {
      absent: { params: { machineId: testIds.next('nod') }, body: reviewBody },
      foreign: 'operators see all',
    },
  };
}
