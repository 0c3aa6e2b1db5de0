import { newReadinessKey } from '@millrace/compute/readiness';
import {
  eventually,
  insertAuditReport,
  insertFleet,
  insertInvoice,
  insertMarketplaceProvider,
  insertStatement,
  insertSupplierMachine,
  startWebhookReceiver,
  type WebhookReceiver,
} from '@millrace/testing';
import { charge, usd } from '../../packages/core/src/money.fixture.ts';
import { MOCK_MODEL, MOCK_REGION } from '../stack/mock-stack.ts';
import type { ConsoleStack } from './console-stack.ts';
import { addColleague, createOwner, createPerson, type Owner, type Person } from './accounts.ts';
import { createCaller, type Call } from './api-call.ts';
import { seedActions, type ActionTargets } from './seed-actions.ts';

type RentalName = 'train' | 'paused' | 'broken' | 'old' | 'warming' | 'stuck';

/** Creates an organisation with data for every page: through the API where that is fast, else by inserting rows. */
export interface Seeded extends ActionTargets, AsyncDisposable {
  /** Owner, supplier and operator, who sees every page. */
  readonly owner: Owner;
  readonly newcomer: Person;
  readonly rentals: Readonly<Record<RentalName, number>>;
  readonly volumeId: number;
  /** A marketplace machine and the instance on it. */
  readonly nodeName: string;
  readonly instanceName: string;
  readonly webhookId: string;
  readonly keyId: string;
  readonly invoiceId: string;
  readonly statementId: string;
  readonly reportId: string;
  readonly machineId: string;
  readonly nodeId: string;
  readonly requestId: string;
  readonly organisationId: string;
}

const rentals = '/v2/on-demand/virtual-machine-rentals';
const HOUR_USD = '2000000000';

export async function seedConsole(stack: ConsoleStack): Promise<Seeded> {
  const owner = await createOwner(stack, {
    organisation: 'Quiet River Labs',
    isOperator: true,
    supplies: true,
  });
  const test = createCaller(stack.apiUrl, await owner.key('test'));
  const live = createCaller(stack.apiUrl, await owner.key('live'));
  const receiver = await startWebhookReceiver();
  const money = await seedMoney(stack, live, owner);
  const { nodeIds, machineId } = await seedFleet(stack, live, owner);
  const machines = await seedMachines(test);
  const market = await seedInstance(test);
  const people = await seedPeople(stack, live, owner);
  const requestId = await callModel(stack, test);
  const actions = await seedActions(
    stack,
    { test, live },
    { owner, nodeIds, rentalId: machines.rentals.train },
  );
  return {
    owner,
    newcomer: await createPerson(stack, 'Grace Newcomer'),
    organisationId: owner.orgId,
    requestId,
    ...machines,
    ...market,
    ...money,
    ...people,
    ...actions,
    machineId,
    nodeId: nodeIds[0] ?? '',
    webhookId: await seedWebhook(live, receiver),
    invoiceId: await insertInvoice(stack.db, owner.orgId),
    statementId: await insertStatement(stack.db, owner.orgId),
    reportId: await insertAuditReport(stack.db, owner.orgId),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

/** Rentals in several states, with a volume on one of them. */
async function seedMachines(call: Call): Promise<Pick<Seeded, 'rentals' | 'volumeId'>> {
  const { publicKey } = newReadinessKey();
  await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey });
  const rent = async (name: string, more: object = {}): Promise<number> => {
    const request = { region: MOCK_REGION, gpuType: 'h100', gpuCount: 1, name, ...more };
    return ((await call('POST', rentals, request)) as { id: number }).id;
  };
  const fault = (name: string, more: object = {}): object => ({
    tags: { 'millrace.fault': name, ...more },
  });
  const [train, paused, broken, old, warming, stuck] = await Promise.all([
    rent('train', { gpuCount: 2, monitoringEnabled: true, ttlSeconds: 604_800, tags: { team: 'research' } }),
    rent('paused'),
    rent('broken', fault('boot-fails')),
    rent('old'),
    rent('warming', fault('slow-boot', { 'millrace.fault.after_ms': '3600000' })),
    rent('stuck', fault('stuck-terminate', { 'millrace.fault.for_ms': '3600000' })),
  ]);
  await Promise.all([train, paused, old, stuck].map((id) => waitForStatus(call, id, 'Running')));
  await Promise.all([
    call('POST', `/v2/on-demand/rentals/${paused}/stop`, { release: true }),
    ...[old, stuck].map((rentalId) => call('POST', `${rentals}/terminate`, { rentalId, reason: 'done' })),
  ]);
  const volume = await call('POST', '/v2/on-demand/storage-volumes', {
    region: MOCK_REGION,
    label: 'datasets',
    name: 'datasets',
    sizeInGb: 512,
  });
  const volumePath = `/v2/on-demand/storage-volumes/${volume.storageVolumeId}`;
  await eventually({ what: 'the volume to be active', timeoutMs: 600_000 }, async () => {
    return (await call('GET', volumePath)).status === 'active';
  });
  await call('POST', `${volumePath}/snapshots`, { label: 'monday' });
  await Promise.all([waitForStatus(call, old, 'Terminated'), waitForStatus(call, paused, 'off')]);
  return {
    rentals: { train, paused, broken, old, warming, stuck },
    volumeId: volume.storageVolumeId as number,
  };
}

async function seedInstance(call: Call): Promise<Pick<Seeded, 'nodeName' | 'instanceName'>> {
  const filters = { region: MOCK_REGION, gpu_model: 'H200', status: 'node_ready' };
  const { instances } = await call('POST', '/v1/marketplace', { filters });
  const [machine] = instances as { id: string; cluster_name: string }[];
  if (machine === undefined) throw new Error('The marketplace is empty.');
  const { instance_name: instanceName } = await call('POST', '/v1/marketplace/instances/create', {
    cluster_name: machine.cluster_name,
    node_name: machine.id,
    gpu_count: 1,
    image: { name: 'default', port: 8080 },
  });
  return { nodeName: machine.id, instanceName };
}

async function waitForStatus(call: Call, id: number, status: string): Promise<void> {
  await eventually({ what: `rental ${id} to be ${status}`, timeoutMs: 600_000 }, async () => {
    const rental = await call('GET', `/v2/on-demand/rentals/${id}`);
    return rental.status === status || rental.power === status;
  });
}

async function seedMoney(stack: ConsoleStack, call: Call, { orgId }: Owner): Promise<Pick<Seeded, 'keyId'>> {
  const admin = `/v2/admin/organisations/${orgId}`;
  await call('POST', `${admin}/grants`, { amountNanoUsd: '250000000000', reason: 'Welcome credit' });
  await call('POST', `${admin}/adjustments`, { amountNanoUsd: '-1250000001', reason: 'Correction of June' });
  await charge(stack, orgId, { amount: usd(12.34), cause: { kind: 'rental', id: '1042' } });
  await charge(stack, orgId, { amount: usd(0.25), cause: { kind: 'volume', id: '7' } });
  await call('POST', '/v2/customer/budgets', {
    name: 'Research',
    period: 'month',
    limitNanoUsd: '500000000000',
  });
  const scopes = ['rentals:read', 'rentals:write', 'inference:write'];
  const { id } = await call('POST', '/v2/api-keys', { name: 'build robot', scopes });
  await call('POST', '/v2/api-keys', { name: 'notebook', scopes: ['inference:write'] });
  return { keyId: id as string };
}

async function seedFleet(
  stack: ConsoleStack,
  call: Call,
  { orgId }: Owner,
): Promise<{ readonly machineId: string; readonly nodeIds: readonly string[] }> {
  await insertMarketplaceProvider(stack.db);
  const { nodeId: machineId } = await insertSupplierMachine(stack.db, {
    orgId,
    provider: 'marketplace',
    region: 'us-central-1',
    pricePerGpuHourNanoUsd: 1_900_000_000n,
  });
  const { nodeIds } = await insertFleet(stack.db, { nodes: 2 });
  for (const gpuType of ['h100', 'h200', 'b200']) {
    await call('POST', '/v2/admin/prices', {
      subject: { kind: 'gpu', gpuType, machineType: 'virtual-machine', region: null },
      unit: 'gpu_hour',
      priceNanoUsd: HOUR_USD,
      validFrom: new Date().toISOString(),
      reason: 'The list of this year',
    });
  }
  return { machineId, nodeIds };
}

async function seedPeople(stack: ConsoleStack, call: Call, owner: Owner): Promise<Record<never, never>> {
  await addColleague(stack, owner, `lin-${owner.email}`);
  await call('POST', `/v2/organisations/${owner.orgId}/invitations`, {
    email: `guest-${owner.email}`,
    role: 'member',
  });
  return {};
}

async function seedWebhook(call: Call, receiver: WebhookReceiver): Promise<string> {
  // Its certificate is not trusted, so that a delivery fails.
  const url = `https://127.0.0.1:${receiver.port}/hook`;
  const { id } = await call('POST', '/v2/webhooks', { url, description: 'The chat room', eventTypes: ['*'] });
  const { id: spare } = await call('POST', '/v2/api-keys', { name: 'spare', scopes: ['events:read'] });
  await call('DELETE', `/v2/api-keys/${spare}`);
  return id as string;
}

async function callModel({ gatewayUrl }: ConsoleStack, call: Call): Promise<string> {
  const { key } = await call('POST', '/v2/api-keys', {
    name: 'chat',
    scopes: ['inference:write'],
    mode: 'test',
  });
  const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MOCK_MODEL,
      messages: [{ role: 'user', content: 'Tell me of the mill.' }],
    }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`The model call failed: ${text}`);
  return response.headers.get('x-inference-request-id') ?? '';
}
