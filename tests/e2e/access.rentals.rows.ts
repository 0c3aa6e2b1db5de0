import { contract, type OperationId } from '@millrace/contract';
import { insertFleet, testIds, uniqueId } from '@millrace/testing';
import type { SeededOrganisation } from '../../apps/api/src/api.fixture.ts';
import type { AccessRow } from './access.rows.ts';
import { callOperation, newSshPublicKey, type CallInput, type Harness } from './harness.ts';

/** The rows of rentals. Each stands on a host of its own, and on money of its own. */

const { operations } = contract;
const noInput = async (): Promise<CallInput> => ({});

export const rentalAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createVirtualMachineRental: {
    own: async (world) => {
      await prepareToRent(world, world.acme);
      return { body: { gpuCount: 1 } };
    },
    others: 'none',
  },
  quoteRental: {
    own: async (world) => {
      await ensurePrice(world);
      return { body: { rentalType: 'virtual-machine', gpuCount: 1 } };
    },
    others: 'none',
  },
  listBareMetalRentals: { own: noInput, others: 'none' },
  terminateBareMetalRental: {
    own: async (world) => terminationInput(await createAcceptedBareMetal(world, world.acme)),
    others: {
      absent: terminationInput(2_147_483_647),
      foreign: async (world) => terminationInput(await createAcceptedBareMetal(world, world.other)),
    },
  },
  adminCreatePrivateCloudRental: {
    caller: 'operator',
    own: async (world) => {
      await insertPrivateCloudProvider(world);
      return { body: newPrivateCloud(world.other.organisation.id) };
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
    own: async (world) => terminationInput(await createAcceptedRental(world, world.acme)),
    others: {
      absent: terminationInput(2_147_483_647),
      foreign: async (world) => terminationInput(await createAcceptedRental(world, world.other)),
    },
  },
  startRental: rentalRow(createRunningRental),
  stopRental: rentalRow(createRunningRental, { body: { release: true } }),
  rebootRental: rentalRow(createRunningRental, { body: { force: true } }),
  extendRental: rentalRow(createRentalWithTtl, { body: { ttlSeconds: 3_600 } }),
  adminListRentals: { caller: 'operator', own: noInput, others: 'none' },
  adminTerminateRental: {
    caller: 'operator',
    own: async (world) => ({
      params: { rentalId: String(await createAcceptedRental(world, world.other)) },
      body: { reason: 'abuse' },
    }),
    others: {
      absent: { params: { rentalId: '2147483647' }, body: { reason: 'abuse' } },
      foreign: 'operators see all',
    },
  },
  adminWriteOffRental: {
    caller: 'operator',
    own: async (world) => writeOffInput(await createUnreachableRental(world, world.other)),
    others: { absent: writeOffInput(2_147_483_647), foreign: 'operators see all' },
  },
  adminListReservationRequests: { caller: 'operator', own: noInput, others: 'none' },
};

/** What is asked of one rental by its id; the rental is made by `make`. */
function rentalRow(
  make: (world: Harness, who: SeededOrganisation) => Promise<number>,
  input: CallInput = {},
): AccessRow {
  const of = (rentalId: number): CallInput => ({ ...input, params: { rentalId: String(rentalId) } });
  return {
    own: async (world) => of(await make(world, world.acme)),
    others: { absent: of(2_147_483_647), foreign: async (world) => of(await make(world, world.other)) },
  };
}

function writeOffInput(rentalId: number): CallInput {
  return { params: { rentalId: String(rentalId) }, body: { reason: 'never came back', hostIsOff: true } };
}

/** One whose node does not answer. */
export async function createUnreachableRental(world: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedRental(world, who);
  const client = await world.fixture.database.connect();
  const onNode = `= (select node_id from rental_machines as machine join rentals on rentals.id = machine.rental_id
                      where rentals.wire_id = $1)`;
  await client.query(`update nodes set status = 'node_offline', back_to = 'node_ready' where id ${onNode}`, [
    rentalId,
  ]);
  await client.query(`update node_capacity set ready = false where node_id ${onNode}`, [rentalId]);
  await client.end();
  return rentalId;
}

function terminationInput(rentalId: number): CallInput {
  return { body: { rentalId, reason: 'done' } };
}

/** One that is up, as far as its rows tell. */
export async function createRunningRental(world: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedRental(world, who);
  await updateRentalRow(
    world,
    rentalId,
    `status = 'Running', task = null, task_deadline_at = null, power = 'on', started_at = now()`,
  );
  return rentalId;
}

/** One with a time to live. */
export async function createRentalWithTtl(world: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedRental(world, who);
  await updateRentalRow(world, rentalId, `expires_at = now() + interval '1 day'`);
  return rentalId;
}

async function updateRentalRow(world: Harness, rentalId: number, changes: string): Promise<void> {
  const client = await world.fixture.database.connect();
  await client.query(`update rentals set ${changes} where wire_id = $1`, [rentalId]);
  await client.end();
}

/** One whose machine is gone, so that nobody has to be asked about it. */
export async function createRentalWithoutMachine(world: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedRental(world, who);
  const client = await world.fixture.database.connect();
  await client.query(
    `update rental_machines set state = 'gone', absent_seen = 2, gone_at = now(), doomed_at = now()
      where rental_id = (select id from rentals where wire_id = $1)`,
    [rentalId],
  );
  await client.end();
  return rentalId;
}

export const bareMetalRequest = {
  body: { gpuCount: 8, networkType: 'ethernet' },
} as const satisfies CallInput;

/** What an operator says when it hands a private cloud over. */
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

/** What a worker writes of the settings of an installation that has private clouds. */
export async function insertPrivateCloudProvider(world: Harness): Promise<void> {
  const client = await world.fixture.database.connect();
  await client.query(
    `insert into providers (id, variant, driver, mode, updated_at)
     values ('private-cloud', 'private-cloud', 'incus', 'live', now()) on conflict do nothing`,
  );
  await client.end();
}

type MachineType = 'virtual-machine' | 'bare-metal';

/** All that a small order needs: a host, a price, money, and a key to log in with. */
export async function prepareToRent(
  world: Harness,
  who: SeededOrganisation,
  machineType: MachineType = 'virtual-machine',
): Promise<void> {
  await insertFleet(world.fixture.db, { nodes: 1, offer: machineType });
  await ensurePrice(world, machineType);
  const operator = world.operator.owner.key;
  const grant = { amountNanoUsd: '100000000000', reason: 'to rent with' };
  const params = { organisationId: who.organisation.id };
  await requireCreated(callOperation(world, operations.adminGrant, { params, body: grant }, operator));
  const ssh = { name: `laptop ${uniqueId()}`, publicKey: newSshPublicKey() };
  await requireCreated(callOperation(world, operations.createSshPublicKey, { body: ssh }, who.owner.key));
}

/** A rental that was accepted, and that nobody works on. */
export async function createAcceptedRental(world: Harness, who: SeededOrganisation): Promise<number> {
  await prepareToRent(world, who);
  const body = { gpuCount: 1 };
  const { json } = await requireCreated(
    callOperation(world, operations.createVirtualMachineRental, { body }, who.owner.key),
  );
  return json.id as number;
}

/** The same of bare metal. */
export async function createAcceptedBareMetal(world: Harness, who: SeededOrganisation): Promise<number> {
  await prepareToRent(world, who, 'bare-metal');
  const { json } = await requireCreated(
    callOperation(world, operations.createBareMetalRental, bareMetalRequest, who.owner.key),
  );
  return json.id as number;
}

/** One price for all tests of a world: the second from the same instant is refused. */
async function ensurePrice(world: Harness, machineType: MachineType = 'virtual-machine'): Promise<void> {
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
  const answer = await callOperation(world, operations.adminCreatePrice, { body }, world.operator.owner.key);
  if (answer.status !== 201 && answer.json?.reason !== 'PRICE_EXISTS') throw new Error(answer.text);
}

async function requireCreated(work: ReturnType<typeof callOperation>): ReturnType<typeof callOperation> {
  const answer = await work;
  if (answer.status >= 300) throw new Error(answer.text);
  return answer;
}
