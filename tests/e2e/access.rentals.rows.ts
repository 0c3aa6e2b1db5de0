import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { insertFleet, testIds, uniqueId } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { callOperation, newSshPublicKey, type CallInput, type Harness } from './harness.ts';

/** Access rows of rentals. Each row has its own host and credit. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});

export const rentalAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createVirtualMachineRental: {
    own: async (harness) => {
      await prepareToRent(harness, harness.acme);
      return { body: { gpuCount: 1 } };
    },
    others: 'none',
  },
  quoteRental: {
    own: async (harness) => {
      await ensurePrice(harness);
      return { body: { rentalType: 'virtual-machine', gpuCount: 1 } };
    },
    others: 'none',
  },
  listBareMetalRentals: { own: noInput, others: 'none' },
  terminateBareMetalRental: {
    own: async (harness) => terminationInput(await createAcceptedBareMetal(harness, harness.acme)),
    others: {
      absent: terminationInput(2_147_483_647),
      foreign: async (harness) => terminationInput(await createAcceptedBareMetal(harness, harness.other)),
    },
  },
  adminCreatePrivateCloudRental: {
    caller: 'operator',
    own: async (harness) => {
      await insertPrivateCloudProvider(harness);
      return { body: newPrivateCloud(harness.other.organisation.id) };
    },
    others: {
      absent: { body: newPrivateCloud(testIds.next('org')) },
      foreign: 'operators see all',
    },
  },
  requestReservation: { own: async () => ({ body: { gpuCount: 512 } }), others: 'none' },
  listVirtualMachineRentals: { own: noInput, others: 'none' },
  listRentals: { own: noInput, others: 'none' },
  listRentalHistory: { own: noInput, others: 'none' },
  getRental: rentalRow(createAcceptedRental),
  updateRental: rentalRow(createAcceptedRental, { body: { name: 'renamed' } }),
  listRentalEvents: rentalRow(createAcceptedRental),
  getRentalCost: rentalRow(createAcceptedRental),
  getRentalMetrics: rentalRow(createAcceptedRental),
  getRentalConsole: rentalRow(createRentalWithoutMachine),
  terminateVirtualMachineRental: {
    own: async (harness) => terminationInput(await createAcceptedRental(harness, harness.acme)),
    others: {
      absent: terminationInput(2_147_483_647),
      foreign: async (harness) => terminationInput(await createAcceptedRental(harness, harness.other)),
    },
  },
  startRental: rentalRow(createRunningRental),
  stopRental: rentalRow(createRunningRental, { body: { release: true } }),
  rebootRental: rentalRow(createRunningRental, { body: { force: true } }),
  extendRental: rentalRow(createRentalWithTtl, { body: { ttlSeconds: 3_600 } }),
  adminListRentals: { caller: 'operator', own: noInput, others: 'none' },
  adminTerminateRental: {
    caller: 'operator',
    own: async (harness) => ({
      params: { rentalId: String(await createAcceptedRental(harness, harness.other)) },
      body: { reason: 'abuse' },
    }),
    others: {
      absent: { params: { rentalId: '2147483647' }, body: { reason: 'abuse' } },
      foreign: 'operators see all',
    },
  },
  adminWriteOffRental: {
    caller: 'operator',
    own: async (harness) => writeOffInput(await createUnreachableRental(harness, harness.other)),
    others: { absent: writeOffInput(2_147_483_647), foreign: 'operators see all' },
  },
  adminListReservationRequests: { caller: 'operator', own: noInput, others: 'none' },
};

/** Row of an operation on one rental, which `make` creates. */
function rentalRow(
  make: (harness: Harness, who: SeededOrganisation) => Promise<number>,
  input: CallInput = {},
): AccessRow {
  const of = (rentalId: number): CallInput => ({ ...input, params: { rentalId: String(rentalId) } });
  return {
    own: async (harness) => of(await make(harness, harness.acme)),
    others: { absent: of(2_147_483_647), foreign: async (harness) => of(await make(harness, harness.other)) },
  };
}

function writeOffInput(rentalId: number): CallInput {
  return { params: { rentalId: String(rentalId) }, body: { reason: 'never came back', hostIsOff: true } };
}

export async function createUnreachableRental(harness: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedRental(harness, who);
  const onNode = `= (select node_id from rental_machines as machine join rentals on rentals.id = machine.rental_id
                      where rentals.wire_id = $1)`;
  await harness.fixture.database.query(
    `update nodes set status = 'node_offline', back_to = 'node_ready' where id ${onNode}`,
    [rentalId],
  );
  await harness.fixture.database.query(`update node_capacity set ready = false where node_id ${onNode}`, [
    rentalId,
  ]);
  return rentalId;
}

function terminationInput(rentalId: number): CallInput {
  return { body: { rentalId, reason: 'done' } };
}

/** Creates a rental whose row says Running. */
export async function createRunningRental(harness: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedRental(harness, who);
  await updateRentalRow(
    harness,
    rentalId,
    `status = 'Running', task = null, task_deadline_at = null, power = 'on', started_at = now()`,
  );
  return rentalId;
}

export async function createRentalWithTtl(harness: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedRental(harness, who);
  await updateRentalRow(harness, rentalId, `expires_at = now() + interval '1 day'`);
  return rentalId;
}

async function updateRentalRow(harness: Harness, rentalId: number, changes: string): Promise<void> {
  await harness.fixture.database.query(`update rentals set ${changes} where wire_id = $1`, [rentalId]);
}

/** Creates a rental whose machine is deleted, so that no engine has to be called. */
export async function createRentalWithoutMachine(harness: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedRental(harness, who);
  await harness.fixture.database.query(
    `update rental_machines set state = 'gone', absent_seen = 2, gone_at = now(), doomed_at = now()
      where rental_id = (select id from rentals where wire_id = $1)`,
    [rentalId],
  );
  return rentalId;
}

export const bareMetalRequest = {
  body: { gpuCount: 8, networkType: 'ethernet' },
} as const satisfies CallInput;

export function newPrivateCloud(organisationId: string) {
  return {
    organisationId,
    name: 'apollo',
    gpuType: 'h100',
    gpuCount: 256,
    nodes: [{ role: 'login', publicIp: '203.0.113.7', privateIp: '10.0.0.1' }],
    sshUser: 'ubuntu',
    reason: 'contract',
  };
}

/** Inserts the provider that a worker would write from the settings. */
export async function insertPrivateCloudProvider(harness: Harness): Promise<void> {
  await harness.fixture.database.query(
    `insert into providers (id, variant, driver, mode, updated_at)
     values ('private-cloud', 'private-cloud', 'incus', 'live', now()) on conflict do nothing`,
  );
}

type MachineType = 'virtual-machine' | 'bare-metal';

/** Provides a host, a price, credit and an SSH key for a small order. */
export async function prepareToRent(
  harness: Harness,
  who: SeededOrganisation,
  machineType: MachineType = 'virtual-machine',
): Promise<void> {
  await insertFleet(harness.fixture.db, { nodes: 1, offer: machineType });
  await ensurePrice(harness, machineType);
  const operator = harness.operator.owner.key;
  const grant = { amountNanoUsd: '100000000000', reason: 'to rent with' };
  const params = { organisationId: who.organisation.id };
  await requireCreated(callOperation(harness, operations.adminGrant, { params, body: grant }, operator));
  const ssh = { name: `laptop ${uniqueId()}`, publicKey: newSshPublicKey() };
  await requireCreated(callOperation(harness, operations.createSshPublicKey, { body: ssh }, who.owner.key));
}

/** Creates an accepted rental; no worker provisions it. */
export async function createAcceptedRental(harness: Harness, who: SeededOrganisation): Promise<number> {
  await prepareToRent(harness, who);
  const body = { gpuCount: 1 };
  const { json } = await requireCreated(
    callOperation(harness, operations.createVirtualMachineRental, { body }, who.owner.key),
  );
  return json.id as number;
}

export async function createAcceptedBareMetal(harness: Harness, who: SeededOrganisation): Promise<number> {
  await prepareToRent(harness, who, 'bare-metal');
  const { json } = await requireCreated(
    callOperation(harness, operations.createBareMetalRental, bareMetalRequest, who.owner.key),
  );
  return json.id as number;
}

/** One price for all tests of a harness, because a second one with the same start time is refused. */
async function ensurePrice(harness: Harness, machineType: MachineType = 'virtual-machine'): Promise<void> {
  const body = {
    organisationId: null,
    subject: {
      kind: 'gpu',
      gpuType: 'h100',
      machineType,
      region: null,
      networkType: null,
    },
    unit: 'gpu_hour',
    priceNanoUsd: '1990000000',
    validFrom: '2026-01-01T00:00:00.000Z',
    reason: 'list price',
  };
  const response = await callOperation(
    harness,
    operations.adminCreatePrice,
    { body },
    harness.operator.owner.key,
  );
  if (response.status !== 201 && response.json?.reason !== 'PRICE_EXISTS') throw new Error(response.text);
}

async function requireCreated(work: ReturnType<typeof callOperation>): ReturnType<typeof callOperation> {
  const response = await work;
  if (response.status >= 300) throw new Error(response.text);
  return response;
}
