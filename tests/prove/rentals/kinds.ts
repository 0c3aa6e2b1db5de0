import { GPU_TYPE, REGION, type StackOptions } from '../../stack/rental-stack.ts';
import { insist, rentalPath, type StackTenant } from '../../stack/tenant.ts';

/** What tenants do with rentals of a kind, over the public API. Beneath that both kinds are one mechanism. */
export interface Kind {
  readonly name: 'rental' | 'instance';
  /** What the hosts are sold as. */
  readonly offer: NonNullable<StackOptions['offer']>;
  rent(tenant: StackTenant, wish: Wish, idempotencyKey: string): Promise<Rented>;
  /** Null: it is listed no more. */
  read(tenant: StackTenant, id: string): Promise<Seen | null>;
  end(tenant: StackTenant, id: string, idempotencyKey?: string): Promise<void>;
  /** All that have not ended. */
  list(tenant: StackTenant): Promise<readonly string[]>;
}

export interface Wish {
  readonly gpuCount: number;
  readonly ttlSeconds: number | null;
}

export type Rented =
  | { readonly outcome: 'accepted'; readonly id: string }
  | { readonly outcome: 'no room' }
  | { readonly outcome: 'refused'; readonly why: string };

export interface Seen {
  readonly isPending: boolean;
  readonly gpuCount: number;
  readonly entrance: Entrance | null;
}

export interface Entrance {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Null where the kind does not tell it. */
  readonly hostKey: string | null;
}

/** What a rental is called by its tenant, of any kind. */
export const idColumn = `coalesce(told_as ->> 'instanceId', wire_id::text) as id`;

const refusalOf = (reason: unknown, noRoom: string, json: unknown): Rented =>
  reason === noRoom ? { outcome: 'no room' } : { outcome: 'refused', why: JSON.stringify(json) };

const RENTALS = '/v2/on-demand/virtual-machine-rentals';

export const virtualMachines: Kind = {
  name: 'rental',
  offer: 'virtual-machine',
  async rent(tenant, { gpuCount, ttlSeconds }, idempotencyKey) {
    const limit = ttlSeconds === null ? {} : { ttlSeconds };
    const body = { gpuCount, gpuType: GPU_TYPE, region: REGION, ...limit };
    const { status, json } = await insist(tenant, 'POST', RENTALS, { body, idempotencyKey });
    if (status === 200) return { outcome: 'accepted', id: String(json.id) };
    return refusalOf(json?.reason, 'INSUFFICIENT_CAPACITY', json);
  },
  async read(tenant, id) {
    const { json } = await insist(tenant, 'GET', rentalPath(Number(id)));
    const [ssh] = json.ssh as { host: string; port: number; user: string; hostKeyFingerprint: string }[];
    return {
      isPending: json.status === 'Pending',
      gpuCount: json.gpuCount as number,
      entrance: ssh === undefined ? null : { ...ssh, hostKey: ssh.hostKeyFingerprint },
    };
  },
  async end(tenant, id, idempotencyKey) {
    const body = { rentalId: Number(id), reason: 'the story ends' };
    await insist(tenant, 'POST', `${RENTALS}/terminate`, { body, ...keyed(idempotencyKey) });
  },
  async list(tenant) {
    const { json } = await insist(tenant, 'GET', `${RENTALS}?limit=100`);
    return (json.items as { id: number }[]).map(({ id }) => String(id));
  },
};

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
  (await insist(tenant, 'GET', INSTANCES)).json.instances as ListedInstance[];

export const instances: Kind = {
  name: 'instance',
  offer: 'marketplace',
  async rent(tenant, { gpuCount, ttlSeconds }, idempotencyKey) {
    const filters = { region: REGION, status: 'node_ready', min_gpus_available: gpuCount };
    const listing = await insist(tenant, 'POST', '/v1/marketplace', { body: { filters } });
    const machines = listing.json.instances as readonly ListedMachine[];
    const roomy = machines.toSorted((one, other) => one.gpus_reserved - other.gpus_reserved);
    const [machine] = roomy;
    if (machine === undefined) return { outcome: 'no room' };
    const order = { cluster_name: machine.cluster_name, node_name: machine.id, gpu_count: gpuCount };
    const body = ttlSeconds === null ? order : { ...order, ttl_seconds: ttlSeconds };
    const { status, json } = await insist(tenant, 'POST', `${INSTANCES}/create`, { body, idempotencyKey });
    if (status === 200) return { outcome: 'accepted', id: json.instance_id as string };
    // A host may have gone since it was listed; another one is chosen then.
    const reason = json?.reason === 'MACHINE_NOT_READY' ? 'GPU_COUNT_EXCEEDS_AVAILABLE' : json?.reason;
    return refusalOf(reason, 'GPU_COUNT_EXCEEDS_AVAILABLE', json);
  },
  async read(tenant, id) {
    const found = (await instancesOf(tenant)).find((each) => each.id === id);
    if (found === undefined) return null;
    const { status, gpu_count: gpuCount } = found.instance;
    return {
      isPending: status === 'creating' || status === 'starting',
      gpuCount,
      entrance: entranceOf(found.sshCommand),
    };
  },
  async end(tenant, id, idempotencyKey) {
    await insist(tenant, 'POST', `${INSTANCES}/terminate`, { body: { id }, ...keyed(idempotencyKey) });
  },
  list: async (tenant) => (await instancesOf(tenant)).map(({ id }) => id),
};

/** As it is printed for people. */
function entranceOf(command: string | null): Entrance | null {
  const [, user, host, port] = /^ssh (\S+)@(\S+) -p (\d+)$/.exec(command ?? '') ?? [];
  if (user === undefined || host === undefined || port === undefined) return null;
  return { host, port: Number(port), user, hostKey: null };
}

const keyed = (idempotencyKey: string | undefined): { readonly idempotencyKey?: string } =>
  idempotencyKey === undefined ? {} : { idempotencyKey };
