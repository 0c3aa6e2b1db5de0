import { randomInt } from 'node:crypto';
import { machineStates, actionDecision } from '@millrace/contract';
import type { Db, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault, isFault } from '@millrace/platform/fault';
import { parseId } from '@millrace/platform/ids';
import { ppm } from '@millrace/platform/money';
import { findCluster, findNode } from '../../fleet/index.ts';
import { authorizeCaller, type CallContext } from '../../identity/index.ts';
import {
  acceptOrder,
  getInstanceRecord,
  listRentalHistory,
  listRentalRecords,
  terminateOwnRental,
  type EndedPosition,
  type HistoryEntry,
  type RentalRecord,
} from '../../rentals/index.ts';
import { isWireId } from '../../rental-lookup/index.ts';
import { findListedMachine } from '../../suppliers/index.ts';
import { readMachineFacts } from '../listing/listing.store.ts';
import { toListedRecord } from '../listing/machine-record.ts';
import { findInstanceWireId, insertInstance, isNameTaken, readInstances } from './instances.store.ts';
import type { Instance, MachineSnapshot } from './instances.ts';
import { candidateName, type RandomInt } from './instance-name.ts';
import { toInstanceOrder, type InstanceBody, type RentableMachine } from './instance-order.ts';

/** Adds to rentals what instances need: the chosen machine, its price and supplier, and the instance's name. */

export interface InstanceDeps {
  readonly random: RandomInt;
}

const systemTools: InstanceDeps = { random: (bound) => randomInt(bound) };

/** A machine for rent to the caller's key, with its current record. */
interface RequestedMachine extends RentableMachine {
  readonly record: MachineSnapshot;
}

/**
 * Accepts an order in the caller's transaction; a refused order leaves nothing. Locks the organisation, then the
 * supplier and price, then the same rows as every rental order.
 */
export async function createInstance(
  tx: Tx,
  call: CallContext,
  body: InstanceBody,
  wireId: number,
  tools = systemTools,
): Promise<Instance> {
  const caller = await authorizeCaller(tx, call, 'marketplace:write');
  const machine = await requireMachine(tx, body, caller.key.mode);
  const { listed, node, record } = machine;
  if (body.gpu_count > node.gpus.length) throw new Fault('GPU_COUNT_EXCEEDS_AVAILABLE');
  const name = await findFreeName(tx, tools.random);
  const order = toInstanceOrder(body, machine, name);
  const rental = await acceptOrder(tx, call, caller, order, wireId).catch((error: unknown) => {
    throw toGpuCountFault(error);
  });
  const instance: Instance = {
    rentalId: rental.id,
    orgId: rental.orgId,
    mode: rental.mode,
    name,
    nodeId: node.id,
    clusterName: listed.clusterName,
    pricePerGpuHour: listed.pricePerGpuHour,
    fee: listed.supplier?.feePpm ?? ppm(0),
    machine: record,
  };
  await insertInstance(tx, instance);
  return instance;
}

/** An absent or unlisted machine and one of another cluster or mode give the same response. */
async function requireMachine(tx: Tx, body: InstanceBody, mode: Mode): Promise<RequestedMachine> {
  const nodeId = parseId('nod', body.node_name);
  const listed = nodeId === null ? null : await findListedMachine(tx, nodeId);
  if (listed === null || listed.clusterName !== body.cluster_name || listed.mode !== mode) {
    throw new Fault('MACHINE_NOT_FOUND');
  }
  const node = await findNode(tx, listed.nodeId);
  const cluster = await findCluster(tx, listed.clusterId);
  if (node === null || cluster === null)
    throw new Error(`The machine ${listed.nodeId} is listed but does not exist.`);
  const decision = actionDecision(machineStates, 'rent', node.status);
  if (decision !== 'allowed' && decision !== 'repeat') throw new Fault(decision);
  const [facts] = await readMachineFacts(tx, [listed.nodeId]);
  const shown = facts === undefined ? null : toListedRecord(facts, listed);
  const { gpuType } = node;
  if (shown === null || gpuType === null) throw new Fault('MACHINE_NOT_READY');
  const { instances: _others, ...record } = shown.record;
  return { listed, node: { ...node, gpuType }, cluster, record };
}

/** The order names one machine, so insufficient capacity means too few free GPUs on it. */
function toGpuCountFault(error: unknown): unknown {
  if (!isFault(error) || error.reason !== 'INSUFFICIENT_CAPACITY') return error;
  return new Fault('GPU_COUNT_EXCEEDS_AVAILABLE', { cause: error });
}

/** The last attempt has millions of numbers per name. */
const NAMES_TRIED = 5;

async function findFreeName(tx: Tx, random: RandomInt): Promise<string> {
  for (let nth = 0; nth < NAMES_TRIED; nth += 1) {
    const name = candidateName(random, nth);
    if (!(await isNameTaken(tx, name))) return name;
  }
  throw new Fault('SERVICE_UNAVAILABLE', {
    message: 'No free name was found for the instance. Try again.',
    retryAfterSeconds: 1,
  });
}

/** Idempotent: terminating an ended or failed instance succeeds. */
export async function terminateInstance(
  tx: Tx,
  call: CallContext,
  request: { readonly mode: Mode; readonly name: string },
): Promise<void> {
  const wireId = await findInstanceWireId(tx, call.orgId, request.mode, request.name);
  if (wireId === null) throw new Fault('INSTANCE_NOT_FOUND');
  try {
    await terminateOwnRental(tx, call, { rentalId: wireId, kind: 'instance', reason: undefined });
  } catch (error) {
    if (!isFault(error) || error.reason !== 'ALREADY_TERMINATED') throw error;
  }
}

export type InstanceRequester = Parameters<typeof listRentalRecords>[1];

export interface InstanceWithRental {
  readonly instance: Instance;
  readonly record: RentalRecord;
}

/** Finds an instance, also an ended one, by name or by the number in ledger entries. No name is a number. */
export async function getInstance(
  db: Db,
  requester: InstanceRequester,
  nameOrNumber: string,
  at: Date,
): Promise<InstanceWithRental | null> {
  const wireId = isWireNumber(nameOrNumber)
    ? Number(nameOrNumber)
    : await findInstanceWireId(db, requester.orgId, requester.mode, nameOrNumber);
  const record = wireId === null ? null : await getInstanceRecord(db, requester, wireId, at);
  if (record === null) return null;
  const [shown] = await withInstances(
    db,
    requester,
    [record],
    ({ rental }) => rental.id,
    toInstanceWithRental,
  );
  return shown ?? null;
}

const isWireNumber = (text: string): boolean => /^[1-9][0-9]{0,9}$/.test(text) && isWireId(Number(text));

const liveStatuses = ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating'] as const;

/** Page size of reading all instances. */
const READ_AT_ONCE = 500;

/** Instances that have not ended, newest first. */
export async function listInstances(
  db: Db,
  requester: InstanceRequester,
  at: Date,
): Promise<readonly InstanceWithRental[]> {
  const all: InstanceWithRental[] = [];
  let after: RentalRecord['rental']['id'] | null = null;
  do {
    const page = { kinds: ['instance'], statuses: liveStatuses, after, limit: READ_AT_ONCE } as const;
    const rows: readonly RentalRecord[] = await listRentalRecords(db, requester, page, at);
    const shown = rows.slice(0, READ_AT_ONCE);
    all.push(...(await withInstances(db, requester, shown, ({ rental }) => rental.id, toInstanceWithRental)));
    after = rows.length > READ_AT_ONCE ? (shown.at(-1)?.rental.id ?? null) : null;
  } while (after !== null);
  return all;
}

const toInstanceWithRental = (record: RentalRecord, instance: Instance): InstanceWithRental => ({
  instance,
  record,
});

export interface EndedInstance extends HistoryEntry {
  readonly instance: Instance;
}

/** Most recently ended first, one row more than the limit. */
export async function listEndedInstances(
  db: Db,
  requester: InstanceRequester,
  page: { readonly after: EndedPosition | null; readonly limit: number },
  at: Date,
): Promise<readonly EndedInstance[]> {
  const rows = await listRentalHistory(
    db,
    requester,
    { kinds: ['instance'], from: null, until: null, ...page },
    at,
  );
  return withInstances(
    db,
    requester,
    rows,
    ({ id }) => id,
    (entry, instance) => ({ ...entry, instance }),
  );
}

/** Rows of `instances` never change, so they can be read after the rentals. */
async function withInstances<Row, Shown>(
  db: Db,
  { orgId }: InstanceRequester,
  rows: readonly Row[],
  idOf: (row: Row) => Instance['rentalId'],
  show: (row: Row, instance: Instance) => Shown,
): Promise<readonly Shown[]> {
  const instances = await readInstances(db, orgId, rows.map(idOf));
  return rows.map((row) => {
    const instance = instances.get(idOf(row));
    if (instance === undefined)
      throw new Error(`The rental ${idOf(row)} is an instance without a row in instances.`);
    return show(row, instance);
  });
}
