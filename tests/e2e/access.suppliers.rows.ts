import { contract, type OperationId } from '@millrace/contract';
import type { OrgId } from '@millrace/platform/ids';
import { plantMarketplaceProvider, plantSupplier, plantSupplierMachine, testIds } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/fixture.ts';
import type { AccessRow } from './access.rows.ts';
import { call, type Input, type World } from './world.ts';

/** The rows of suppliers: their account, their machines and tokens, and the operator's word on them. */

const { operations } = contract;
const nothing = async (): Promise<Input> => ({});
const judgement = { reason: 'looked at' };
const approval = { ...judgement, feePercentage: 10 };

export const supplierAccessRows: Partial<Record<OperationId, AccessRow>> = {
  supplierApply: {
    own: async (world) => {
      await supplierOf(world, world.acme, 'rejected');
      return { body: { name: 'Acme', about: 'We have GPUs.' } };
    },
    others: 'none',
  },
  supplierGetAccount: {
    own: async (world) => {
      await supplierOf(world, world.acme);
      return {};
    },
    others: 'none',
  },
  supplierListMachines: { own: nothing, others: 'none' },
  supplierGetMachine: machineRow({}),
  supplierGetMachineHistory: machineRow({}),
  supplierUpdateMachine: machineRow({ body: { listed: true, pricePerGpuHourNanoUsd: '1000000000' } }),
  supplierDrainMachine: machineRow({}),
  supplierResumeMachine: machineRow({}),
  supplierWithdrawMachine: machineRow({}),
  supplierListJoinTokens: { own: nothing, others: 'none' },
  supplierCreateJoinToken: {
    own: async (world) => {
      await supplierOf(world, world.acme);
      await plantMarketplaceProvider(world.fixture.db);
      return { body: newToken() };
    },
    others: 'none',
  },
  supplierRevokeJoinToken: {
    own: (world) => tokenOf(world, world.acme),
    others: {
      absent: { params: { joinTokenId: testIds.next('jtk') } },
      foreign: (world) => tokenOf(world, world.other),
    },
  },
  adminListSuppliers: { caller: 'operator', own: nothing, others: 'none' },
  adminApproveSupplier: judgementRow(approval),
  adminRejectSupplier: judgementRow(judgement),
  adminListMachines: { caller: 'operator', own: nothing, others: 'none' },
  adminApproveMachine: machineJudgementRow(),
  adminRejectMachine: machineJudgementRow(),
};

function newToken() {
  return { clusterName: 'c1', region: 'us-central-1' };
}

function orgIdOf(who: SeededOrganisation): OrgId {
  return who.organisation.id;
}

function supplierOf({ fixture }: World, who: SeededOrganisation, status?: 'rejected') {
  return plantSupplier(fixture.db, { orgId: orgIdOf(who), ...(status === undefined ? {} : { status }) });
}

async function machineOf(world: World, who: SeededOrganisation): Promise<string> {
  await supplierOf(world, who);
  const { nodeId } = await plantSupplierMachine(world.fixture.db, { orgId: orgIdOf(who) });
  return nodeId;
}

function machineRow(input: Input): AccessRow {
  const of = async (world: World, who: SeededOrganisation) => ({
    ...input,
    params: { machineId: await machineOf(world, who) },
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
export async function joinTokenOf(
  world: World,
  who: SeededOrganisation,
): Promise<{ readonly id: string; readonly token: string }> {
  await supplierOf(world, who);
  await plantMarketplaceProvider(world.fixture.db);
  const made = await call(world, operations.supplierCreateJoinToken, { body: newToken() }, who.owner.key);
  if (made.status !== 201) throw new Error(`no join token: ${made.text}`);
  return made.json as { readonly id: string; readonly token: string };
}

async function tokenOf(world: World, who: SeededOrganisation): Promise<Input> {
  return { params: { joinTokenId: (await joinTokenOf(world, who)).id } };
}

function judgementRow(body: object): AccessRow {
  return {
    caller: 'operator',
    own: async (world) => ({ params: { supplierId: await supplierOf(world, world.acme) }, body }),
    others: { absent: { params: { supplierId: testIds.next('sup') }, body }, foreign: 'operators see all' },
  };
}

function machineJudgementRow(): AccessRow {
  return {
    caller: 'operator',
    own: async (world) => ({
      params: { machineId: await machineOf(world, world.acme) },
      body: judgement,
    }),
    others: {
      absent: { params: { machineId: testIds.next('nod') }, body: judgement },
      foreign: 'operators see all',
    },
  };
}
