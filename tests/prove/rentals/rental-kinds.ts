import type { CoreStack } from '../../stack/core-stack.ts';
import { METAL_REGION, NODE_GPUS, openMetalStack } from '../../stack/metal-stack.ts';
import { GPU_TYPE, openRentalStack, REGION, type StackOptions } from '../../stack/rental-stack.ts';
import { callUntilAnswered, insertPrice, rentalPath, type StackTenant } from '../../stack/tenant.ts';
import { createHostRepair } from './host-repair.ts';
import { describeFleet, describeIronicPool } from './fleet-report.ts';

/** Operations of one kind of rental over the public API. The mechanism behind all kinds is the same. */
export interface RentalKind {
  readonly name: 'rental' | 'instance';
  /** Number of rentals that are never ended, limited so that the hosts do not fill up. */
  readonly staying: number;
  open(): Promise<ProofEnvironment>;
  rent(tenant: StackTenant, request: RentRequest, idempotencyKey: string): Promise<RentOutcome>;
  /** Null if the rental is no longer listed. */
  read(tenant: StackTenant, id: string): Promise<RentalState | null>;
  end(tenant: StackTenant, id: string, idempotencyKey?: string): Promise<void>;
  list(tenant: StackTenant): Promise<readonly string[]>;
}

export interface ProofEnvironment {
  readonly stack: CoreStack;
  readonly engineName: string;
  /** Resumes hosts that only an operator may resume, and returns their number. */
  repairHosts(): Promise<number>;
  explain(): Promise<string>;
}

export interface RentRequest {
  /** GPUs, or whole nodes, depending on the kind. */
  readonly units: number;
  readonly ttlSeconds: number | null;
}

export type RentOutcome =
  | { readonly outcome: 'accepted'; readonly id: string }
  | { readonly outcome: 'no room' }
  | { readonly outcome: 'refused'; readonly why: string };

export interface RentalState {
  readonly isPending: boolean;
  readonly gpuCount: number;
  /** One for each machine; empty until the hand-over. */
  readonly endpoints: readonly SshEndpoint[];
}

export interface SshEndpoint {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Null if the kind does not report it. */
  readonly hostKey: string | null;
}

/** The id by which a tenant names a rental of any kind. */
export const tenantIdColumn = `coalesce(told_as ->> 'instanceId', wire_id::text) as id`;

/** Two rentals stay and may both be gangs; two more nodes serve the rentals that end. */
const METAL_NODES = 6;

const rejectionOf = (reason: unknown, noRoom: string, json: unknown): RentOutcome =>
  reason === noRoom ? { outcome: 'no room' } : { outcome: 'refused', why: JSON.stringify(json) };

async function openIncus(offer: NonNullable<StackOptions['offer']>): Promise<ProofEnvironment> {
  const stack = await openRentalStack({ workers: 2, offer });
  await insertPrice(stack);
  return {
    stack,
    engineName: 'an Incus host',
    repairHosts: async () => 0,
    explain: () => describeFleet(stack),
  };
}

/** VM and bare-metal rentals differ only in the path and the body of the request. */
function rentalsAt(
  path: string,
  deps: Pick<RentalKind, 'open' | 'staying'> & { readonly bodyOf: (units: number) => object },
): RentalKind {
  const { open, staying, bodyOf } = deps;
  return {
    name: 'rental',
    open,
    staying,
    async rent(tenant, { units, ttlSeconds }, idempotencyKey) {
      const limit = ttlSeconds === null ? {} : { ttlSeconds };
      const body = { gpuType: GPU_TYPE, ...bodyOf(units), ...limit };
      const { status, json } = await callUntilAnswered(tenant, 'POST', path, { body, idempotencyKey });
      if (status === 200) return { outcome: 'accepted', id: String(json.id) };
      return rejectionOf(json?.reason, 'INSUFFICIENT_CAPACITY', json);
    },
    async read(tenant, id) {
      const { json } = await callUntilAnswered(tenant, 'GET', rentalPath(Number(id)));
      const ssh = json.ssh as { host: string; port: number; user: string; hostKeyFingerprint: string }[];
      return {
        isPending: json.status === 'Pending',
        gpuCount: json.gpuCount as number,
        endpoints: ssh.map((each) => ({ ...each, hostKey: each.hostKeyFingerprint })),
      };
    },
    async end(tenant, id, idempotencyKey) {
      const body = { rentalId: Number(id), reason: 'end of the scenario' };
      await callUntilAnswered(tenant, 'POST', `${path}/terminate`, {
        body,
        ...idempotencyHeader(idempotencyKey),
      });
    },
    async list(tenant) {
      const { json } = await callUntilAnswered(tenant, 'GET', `${path}?limit=100`);
      const items = (Array.isArray(json) ? json : json.items) as { id: number }[];
      return items.map(({ id }) => String(id));
    },
  };
}

export const virtualMachines: RentalKind = rentalsAt('/v2/on-demand/virtual-machine-rentals', {
  staying: 4,
  open: () => openIncus('virtual-machine'),
  bodyOf: (units) => ({ gpuCount: units, region: REGION }),
});

export const bareMetal: RentalKind = rentalsAt('/v2/on-demand/bare-metal-rentals', {
  staying: 2,
  open: async () => {
    const stack = await openMetalStack(METAL_NODES, { workers: 2 });
    const explain = async (): Promise<string> =>
      `${await describeFleet(stack)}\n${await describeIronicPool(stack)}`;
    return { stack, engineName: 'Ironic', repairHosts: await createHostRepair(stack), explain };
  },
  bodyOf: (units) => ({ gpuCount: units * NODE_GPUS, region: METAL_REGION, networkType: 'ethernet' }),
});

const INSTANCES = '/v1/marketplace/instances';

interface ListedMachine {
  readonly id: string;
  readonly cluster_name: string;
  readonly gpus_total: number;
  readonly gpus_reserved: number;
}

interface ListedInstance {
  readonly id: string;
  readonly sshCommand: string | null;
  readonly instance: { readonly status: string; readonly gpu_count: number };
}

const instancesOf = async (tenant: StackTenant): Promise<readonly ListedInstance[]> =>
  (await callUntilAnswered(tenant, 'GET', INSTANCES)).json.instances as ListedInstance[];

export const instances: RentalKind = {
  name: 'instance',
  staying: 4,
  open: () => openIncus('marketplace'),
  async rent(tenant, { units: gpuCount, ttlSeconds }, idempotencyKey) {
    const filters = { region: REGION, status: 'node_ready', min_gpus_available: gpuCount };
    const listing = await callUntilAnswered(tenant, 'POST', '/v1/marketplace', { body: { filters } });
    const machines = listing.json.instances as readonly ListedMachine[];
    const roomy = machines.toSorted((one, other) => one.gpus_reserved - other.gpus_reserved);
    const [machine] = roomy;
    if (machine === undefined) return { outcome: 'no room' };
    const order = { cluster_name: machine.cluster_name, node_name: machine.id, gpu_count: gpuCount };
    const body = ttlSeconds === null ? order : { ...order, ttl_seconds: ttlSeconds };
    const { status, json } = await callUntilAnswered(tenant, 'POST', `${INSTANCES}/create`, {
      body,
      idempotencyKey,
    });
    if (status === 200) return { outcome: 'accepted', id: json.instance_id as string };
    // The host may be unavailable since it was listed. Report no room, so that the caller chooses again.
    const reason = json?.reason === 'MACHINE_NOT_READY' ? 'GPU_COUNT_EXCEEDS_AVAILABLE' : json?.reason;
    return rejectionOf(reason, 'GPU_COUNT_EXCEEDS_AVAILABLE', json);
  },
  async read(tenant, id) {
    const found = (await instancesOf(tenant)).find((each) => each.id === id);
    if (found === undefined) return null;
    const { status, gpu_count: gpuCount } = found.instance;
    return {
      isPending: status === 'creating' || status === 'starting',
      gpuCount,
      endpoints: parseSshCommand(found.sshCommand),
    };
  },
  async end(tenant, id, idempotencyKey) {
    await callUntilAnswered(tenant, 'POST', `${INSTANCES}/terminate`, {
      body: { id },
      ...idempotencyHeader(idempotencyKey),
    });
  },
  list: async (tenant) => (await instancesOf(tenant)).map(({ id }) => id),
};

function parseSshCommand(command: string | null): readonly SshEndpoint[] {
  const [, user, host, port] = /^ssh (\S+)@(\S+) -p (\d+)$/.exec(command ?? '') ?? [];
  if (user === undefined || host === undefined || port === undefined) return [];
  return [{ host, port: Number(port), user, hostKey: null }];
}

const idempotencyHeader = (idempotencyKey: string | undefined): { readonly idempotencyKey?: string } =>
  idempotencyKey === undefined ? {} : { idempotencyKey };
