import { createHash } from 'node:crypto';
import type { Random } from '@millrace/testing/random';
import type { Call, Cloud } from './cloud.ts';
import { MAINTAINED_NODE } from './fleet.ts';
import {
  addTeam,
  createDemoOrganisation,
  createOtherOrganisation,
  type DemoOrganisation,
} from './organisations.ts';
import { publishPrices } from './prices.ts';
import { findNodeId, findNodeOfRental } from './queries.ts';
import { rent, rentalPlans, terminate, type RentalPlan } from './rentals.ts';
import { applyAsSupplier, openMarketplace } from './suppliers.ts';
import type { ModelRequest, PricedModel, UsageSource } from './usage.ts';
import type { DemoWorker } from './worker.ts';

/** Ninety-one days of a small cloud. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const HISTORY_DAYS = 91;

interface ScenarioContext {
  readonly cloud: Cloud;
  readonly worker: DemoWorker;
  readonly usage: UsageSource;
  readonly random: Random;
  /** The start of the whole history. A shorter one begins later. */
  readonly startMs: number;
  readonly firstDay: number;
  readonly note: (text: string) => void;
}

type Tenants = Readonly<Record<RentalPlan['tenant'], DemoOrganisation>>;

/** Returns the name of the node that does not respond at the end. */
export async function runScenario(context: ScenarioContext): Promise<string> {
  const { cloud, worker, note } = context;
  await cloud.applyFleet(null);
  await worker.settle();
  const demo = await createDemoOrganisation(cloud);
  const models = await publishPrices(demo.call, cloud.clock.now().toISOString());
  note('prices are published');
  const tenants = await createTenants(cloud, demo);
  const keys = await setUpDemo(cloud, demo);
  await worker.advance(DAY_MS);
  const offered = await openMarketplace(cloud, worker, demo);
  note(`${offered.length} hosts joined the marketplace`);
  await liveThroughHistory(context, tenants, { models, keys });
  return endHistory(context, tenants, keys);
}

async function createTenants(cloud: Cloud, demo: DemoOrganisation): Promise<Tenants> {
  const other = (name: string, slug: string, person: string): Promise<DemoOrganisation> =>
    createOtherOrganisation(cloud, { name, slug, person });
  const tenants = {
    demo,
    nimbus: await other('Nimbus Chat', 'nimbus', 'Priya Raman'),
    fold: await other('Foldwise Biology', 'foldwise', 'Anders Holm'),
    kettle: await other('Kettle Films', 'kettle', 'Mara Stein'),
  };
  const grants = { demo: 120_000, nimbus: 90_000, fold: 90_000, kettle: 30_000 };
  for (const [slug, usd] of Object.entries(grants)) {
    const { orgId, call } = tenants[slug as RentalPlan['tenant']];
    await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey: sshKeyOf(slug) });
    await demo.call('POST', `/v2/admin/organisations/${orgId}/grants`, {
      ...{ amountNanoUsd: String(BigInt(usd) * 1_000_000_000n), reason: 'Play money for the demo' },
    });
  }
  return tenants;
}

interface DemoSetup {
  /** Keys that call models. */
  readonly production: string;
  readonly evaluation: string;
  readonly chatWebhook: string;
}

/** Team, keys, budgets, webhooks, SSH key and volumes of the demo organisation. */
async function setUpDemo(cloud: Cloud, demo: DemoOrganisation): Promise<DemoSetup> {
  const { call } = demo;
  await addTeam(cloud, demo);
  const key = async (name: string, more: object = {}): Promise<string> =>
    (await call<{ id: string }>('POST', '/v2/api-keys', { name, scopes: ['inference:write'], ...more })).id;
  const production = await key('chat-production');
  const evaluation = await key('evaluation', { limits: { budget: { usd: 2_000, period: 'month' } } });
  await call('POST', '/v2/api-keys', { name: 'ci', scopes: ['rentals:read', 'rentals:write'] });
  await call('POST', '/v2/customer/budgets', {
    name: 'Whole organisation',
    period: 'month',
    limitNanoUsd: String(32_000n * 1_000_000_000n),
  });
  const { id: chatWebhook } = await call<{ id: string }>('POST', '/v2/webhooks', {
    url: 'https://hooks.example.com/millrace',
    description: 'Chat room of the platform team',
    eventTypes: ['*'],
  });
  await call('POST', '/v2/webhooks', {
    url: 'https://old-billing.example.com/events',
    description: 'Old billing system',
    eventTypes: ['balance.low', 'invoice.finalized', 'rental.terminated'],
  });
  return { production, evaluation, chatWebhook };
}

/** A valid public key whose private key does not exist. */
function sshKeyOf(person: string): string {
  const part = (value: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    return Buffer.concat([length, value]);
  };
  const key = createHash('sha256').update(person).digest();
  const blob = Buffer.concat([part(Buffer.from('ssh-ed25519')), part(key)]);
  return `ssh-ed25519 ${blob.toString('base64')} ${person}@laptop`;
}

interface Offers {
  readonly models: readonly PricedModel[];
  readonly keys: DemoSetup;
}

interface RunningRental {
  readonly plan: RentalPlan;
  readonly id: number;
  readonly endsMs: number;
}

/** Day by day: rentals end and start, models are called, machines of the marketplace are rented. */
async function liveThroughHistory(context: ScenarioContext, tenants: Tenants, offers: Offers): Promise<void> {
  const { cloud, worker, startMs, firstDay, note } = context;
  const running: RunningRental[] = [];
  const volumes: number[] = [];
  for (let day = firstDay + 3; day < HISTORY_DAYS; day += 1) {
    await worker.advance(Math.max(0, startMs + day * DAY_MS - cloud.clock.nowMs()));
    for (const ended of running.filter(({ endsMs }) => endsMs <= cloud.clock.nowMs())) {
      await terminate(tenants[ended.plan.tenant], ended.id, ended.plan.metal === true);
      running.splice(running.indexOf(ended), 1);
    }
    await keepVolumes(tenants.demo, day, volumes);
    for (const plan of rentalPlans.filter((each) => each.day === day)) {
      const id = await rent(tenants[plan.tenant], plan);
      running.push({ plan, id, endsMs: cloud.clock.nowMs() + plan.hours * HOUR_MS });
    }
    if (day % 3 !== 0) await rentInstance(context, tenants);
    await worker.settle();
    await callModels(context, tenants, { ...offers, day });
    note(`day ${day} of ${HISTORY_DAYS}`);
  }
}

/** Volumes on the tenth day, and a snapshot of each on three later days. */
async function keepVolumes({ call }: DemoOrganisation, day: number, ids: number[]): Promise<void> {
  if (day === 10) {
    for (const [name, sizeInGb] of [
      ['datasets', 4_096],
      ['checkpoints', 2_048],
    ] as const) {
      const request = { region: 'us-central-1', label: name, name, sizeInGb };
      const made = await call<{ storageVolumeId: number }>('POST', '/v2/on-demand/storage-volumes', request);
      ids.push(made.storageVolumeId);
    }
  }
  if (![30, 60, 89].includes(day)) return;
  for (const id of ids) {
    await call('POST', `/v2/on-demand/storage-volumes/${id}/snapshots`, { name: `day-${day}` });
  }
}

interface ListedMachine {
  readonly id: string;
  readonly cluster_name: string;
  readonly gpus_total: number;
  readonly gpus_reserved: number;
}

/** Rents GPUs of a machine of the marketplace for one to six days. */
async function rentInstance({ cloud, random }: ScenarioContext, tenants: Tenants): Promise<void> {
  const { call } = tenants[random.pick(['demo', 'nimbus', 'fold', 'kettle'] as const)];
  await cloud.refreshListing();
  const { instances } = await call<{ instances: readonly ListedMachine[] }>('POST', '/v1/marketplace', {
    filters: { status: 'node_ready' },
  });
  const isFree = (machine: ListedMachine): boolean => machine.gpus_total > machine.gpus_reserved;
  const free = instances.filter(isFree).toSorted((a, b) => a.id.localeCompare(b.id));
  if (free.length === 0) return;
  const machine = random.pick(free);
  const available = machine.gpus_total - machine.gpus_reserved;
  await call('POST', '/v1/marketplace/instances/create', {
    ...{
      cluster_name: machine.cluster_name,
      node_name: machine.id,
      gpu_count: random.int(1, Math.min(4, available)),
    },
    ...{ image: { name: 'ubuntu-24.04', port: 8080 }, ttl_seconds: random.int(1, 6) * 86_400 },
  });
}

/** More requests on working days, a gap in the second month, and growth towards the end. */
async function callModels(
  { usage, random, cloud }: ScenarioContext,
  tenants: Tenants,
  { models, keys, day }: Offers & { readonly day: number },
): Promise<void> {
  if (day >= 40 && day <= 42) return;
  const isWeekend = [0, 6].includes(cloud.clock.now().getUTCDay());
  const growth = 0.4 + day / HISTORY_DAYS;
  const count = Math.round((isWeekend ? 12 : 34) * growth);
  const requests = Array.from({ length: count }, (): ModelRequest => {
    const completionTokens = random.int(150, 4_000);
    return {
      keyId: random.chance(0.7) ? keys.production : keys.evaluation,
      model: random.weighted(models.map((model, index) => [index === 0 ? 1 : 5, model] as const)),
      agoMs: random.int(1_000, 6 * HOUR_MS),
      promptTokens: random.int(500, 60_000),
      completionTokens,
      latencyMs: completionTokens * 14,
      cancelled: random.chance(0.02),
      budgetIds: [],
    };
  });
  await usage.report(tenants.demo.orgId, requests);
  const other = requests
    .slice(0, Math.ceil(count / 2))
    .map((request) => ({ ...request, keyId: tenants.nimbus.keyId }));
  await usage.report(tenants.nimbus.orgId, other);
}

/** The last day: rentals in every state, announced maintenance, an open application. Returns the node that stops responding. */
async function endHistory(
  context: ScenarioContext,
  tenants: Tenants,
  { chatWebhook }: DemoSetup,
): Promise<string> {
  const { cloud, worker, note } = context;
  const { demo } = tenants;
  const { call } = demo;
  await applyAsSupplier(cloud);
  await call('POST', '/v2/admin/maintenance-windows', {
    ...{ nodeIds: [await findNodeId(cloud.db, MAINTAINED_NODE)], summary: 'Replacement of a power supply' },
    startsAt: new Date(cloud.clock.nowMs() + 3 * DAY_MS).toISOString(),
    endsAt: new Date(cloud.clock.nowMs() + 3 * DAY_MS + 2 * HOUR_MS).toISOString(),
  });
  const paused = await rent(demo, {
    day: 0,
    hours: 0,
    tenant: 'demo',
    name: 'paused-lab',
    gpuType: 'h100',
    gpuCount: 1,
    region: 'us-central-1',
  });
  const failed = await rent(demo, {
    day: 0,
    hours: 0,
    tenant: 'demo',
    name: 'kernel-debug',
    gpuType: 'h100',
    gpuCount: 1,
    region: 'us-east-1',
  });
  worker.failBoots(failed);
  const sandbox = await openSandbox(cloud, demo);
  await rentInSandbox(sandbox, 'sandbox');
  await rentInSandbox(sandbox, 'wrong-image', { 'millrace.fault': 'boot-fails' });
  await worker.settle();
  await call('POST', `/v2/on-demand/rentals/${paused}/stop`, { release: true });
  await worker.settle();
  await worker.advance(4 * HOUR_MS, { stepMs: 10 * MINUTE_MS, samples: true });
  const faultyNode = await findNodeOfRental(cloud.db, 'evals-east');
  await cloud.applyFleet(faultyNode);
  await worker.advance(10 * MINUTE_MS, { stepMs: MINUTE_MS, samples: true });
  await rentInSandbox(sandbox, 'starting-now', {
    'millrace.fault': 'slow-boot',
    'millrace.fault.after_ms': '86400000',
  });
  await worker.advance(20_000, { stepMs: 10_000 });
  // No host of the demo receives deliveries, so none may be due after the load.
  await call('PATCH', `/v2/webhooks/${chatWebhook}`, {
    description: 'Chat room of the platform team (paused: the demo has no receiver)',
    status: 'disabled',
  });
  await worker.advance(1_000, { stepMs: 1_000 });
  note('the history ends');
  return faultyNode;
}

/** Test mode of the demo organisation, where faults can be chosen. */
async function openSandbox(cloud: Cloud, { call }: DemoOrganisation): Promise<Call> {
  const scopes = ['rentals:read', 'rentals:write', 'ssh-keys:read', 'ssh-keys:write'];
  const made = await call<{ key: string }>('POST', '/v2/api-keys', { name: 'sandbox', mode: 'test', scopes });
  const sandbox = cloud.as(made.key);
  await sandbox('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey: sshKeyOf('sandbox') });
  return sandbox;
}

async function rentInSandbox(
  sandbox: Call,
  name: string,
  tags: Readonly<Record<string, string>> = {},
): Promise<void> {
  const request = {
    region: 'mock-region',
    gpuType: 'h100',
    gpuCount: 1,
    name,
    tags,
    monitoringEnabled: true,
  };
  await sandbox('POST', '/v2/on-demand/virtual-machine-rentals', request);
}
