import { contract, type OperationId } from '@millrace/contract';
import type { OrgId } from '@millrace/platform/ids';
import { insertMarketplaceProvider, insertSupplier, insertSupplierMachine, testIds } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/api.fixture.ts';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** The rows of suppliers: their account, their machines and tokens, and the operator's word on them. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});
const reviewBody = { reason: 'looked at' };
const approval = { ...reviewBody, feePercentage: 10 };

export const supplierAccessRows: Partial<Record<OperationId, AccessRow>> = {
  supplierApply: {
    own: async (world) => {
      await ensureSupplier(world, world.acme, 'rejected');
      return { body: { name: 'Acme', about: 'We have GPUs.' } };
    },
    others: 'none',
  },
  supplierGetAccount: {
    own: async (world) => {
      await ensureSupplier(world, world.acme);
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
    own: async (world) => {
      await ensureSupplier(world, world.acme);
      await insertMarketplaceProvider(world.fixture.db);
      return { body: newToken() };
    },
    others: 'none',
  },
  supplierRevokeJoinToken: {
    own: (world) => joinTokenInput(world, world.acme),
    others: {
      absent: { params: { joinTokenId: testIds.next('jtk') } },
      foreign: (world) => joinTokenInput(world, world.other),
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

async function insertMachine(world: Harness, who: SeededOrganisation): Promise<string> {
  await ensureSupplier(world, who);
  const { nodeId } = await insertSupplierMachine(world.fixture.db, { orgId: orgIdOf(who) });
  return nodeId;
}

function machineRow(input: CallInput): AccessRow {
  const of = async (world: Harness, who: SeededOrganisation) => ({
    ...input,
    params: { machineId: await insertMachine(world, who) },
  });
  return {
    own: (world) => of(world, world.acme),
    others: {
      absent: { ...input, params: { machineId: testIds.next('nod') } },
      foreign: (world) => of(world, world.other),
    },
  };
}

/** A token with which one machine can join. */
export async function createJoinToken(
  world: Harness,
  who: SeededOrganisation,
): Promise<{ readonly id: string; readonly token: string }> {
  await ensureSupplier(world, who);
  await insertMarketplaceProvider(world.fixture.db);
  const made = await callOperation(
    world,
    operations.supplierCreateJoinToken,
    { body: newToken() },
    who.owner.key,
  );
  if (made.status !== 201) throw new Error(`no join token: ${made.text}`);
  return made.json as { readonly id: string; readonly token: string };
}

async function joinTokenInput(world: Harness, who: SeededOrganisation): Promise<CallInput> {
  return { params: { joinTokenId: (await createJoinToken(world, who)).id } };
}

function supplierReviewRow(body: object): AccessRow {
  return {
    caller: 'operator',
    own: async (world) => ({ params: { supplierId: await ensureSupplier(world, world.acme) }, body }),
    others: { absent: { params: { supplierId: testIds.next('sup') }, body }, foreign: 'operators see all' },
  };
}

function machineReviewRow(): AccessRow {
  return {
    caller: 'operator',
    own: async (world) => ({
      params: { machineId: await insertMachine(world, world.acme) },
      body: reviewBody,
    }),
    others: {
      absent: { params: { machineId: testIds.next('nod') }, body: reviewBody },
      foreign: 'operators see all',
    },
  };
}
