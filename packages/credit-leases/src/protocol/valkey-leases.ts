import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, LeaseId, OrgId, RequestId } from '@millrace/platform/ids';
import { isScriptUnknown, type ValkeyClient } from '@millrace/platform/valkey';
import { appendLimitArguments, type LimitSet } from './request-limits.ts';
import { leaseScripts, type LeaseScripts, type LeaseServer } from './lease-scripts.ts';

/** Typed calls of the lease scripts on one Valkey. The scripts decide, as modelled in `lease-model.fixture.ts`. */

export interface LeaseOwner {
  readonly orgId: OrgId;
  readonly mode: Mode;
}

/** `foreign`: not the server that received the lease. */
export type LeaseMissing = { readonly outcome: 'foreign' } | { readonly outcome: 'gone' };

export interface LeaseGrant {
  readonly leaseId: LeaseId;
  readonly epoch: bigint;
  readonly granted: bigint;
  readonly budgets: ReadonlyMap<BudgetId, bigint>;
  readonly admitForMs: number;
}

export type EnlargeResult =
  | {
      readonly outcome: 'granted';
      readonly remaining: bigint;
      readonly recalled: bigint;
      /** More than requested if another worker enlarged the lease further, or if the ledger was restored. */
      readonly granted: bigint;
    }
  | { readonly outcome: 'closed' }
  | LeaseMissing;

export type OpenResult =
  | { readonly outcome: 'opened' | 'foreign' }
  /** The server has this or a later epoch; `epoch` is the one that it has. */
  | { readonly outcome: 'stale'; readonly epoch: bigint };

interface InsufficientAmounts {
  readonly remaining: bigint;
  readonly granted: bigint;
  /** Reserved by other requests that are not settled. */
  readonly reserved: bigint;
}

/** `used` is the usage of each limit; null if the server did not check the limits. */
export type ReserveResult = { readonly used: readonly number[] | null } & (
  | { readonly outcome: 'admitted'; readonly amount: bigint; remaining: bigint; granted: bigint }
  | ({ readonly outcome: 'dry' } & InsufficientAmounts)
  | ({ readonly outcome: 'budget dry'; readonly budget: BudgetId } & InsufficientAmounts)
  | { readonly outcome: 'limited' | 'closed' | 'expired' }
  | LeaseMissing
);

export interface ValkeyReserveRequest {
  readonly epoch: bigint;
  readonly gatewayId: string;
  readonly requestId: RequestId;
  readonly amount: bigint;
  readonly least: bigint;
  readonly budgets: readonly BudgetId[];
  readonly limits: LimitSet;
  readonly costs: readonly number[];
}

export interface ValkeySettlement {
  readonly epoch: bigint;
  readonly gatewayId: string;
  readonly requests: readonly { readonly requestId: RequestId; readonly actual: bigint }[];
  /** Rate limits that were counted too high. */
  readonly back: readonly LimitRefund[];
}

export interface LimitRefund {
  readonly key: string;
  readonly size: string;
  readonly window: string;
  readonly units: number;
}

export type SettleResult =
  | {
      readonly outcome: 'settled';
      readonly remaining: bigint;
      readonly granted: bigint;
      /** How many of the requests had a reservation; the others were settled before. */
      readonly found: number;
    }
  | LeaseMissing;

export type CloseResult =
  | { readonly outcome: 'closed'; readonly recalled: bigint; readonly budgets: ReadonlyMap<BudgetId, bigint> }
  | LeaseMissing;

export interface StoredReservation {
  readonly requestId: RequestId;
  readonly amount: bigint;
}

/** The pattern of all keys, of all installations: the namespace of one is created with its first lease. */
export const leaseKeys = 'pot:*';

/** All keys of an organisation share the hash tag, so that one call can use several of them. */
export function valkeyLeaseKey(server: LeaseServer, { orgId, mode }: LeaseOwner): string {
  return `pot:${server.namespace}:{${orgId}}:${mode}`;
}

/** Reads a script reply: an outcome, then integers and ids. */
function readReply(response: unknown): { readonly outcome: string; readonly rest: readonly unknown[] } {
  if (!Array.isArray(response)) throw new TypeError('A lease script did not return a list.');
  const [outcome, ...rest] = response as readonly unknown[];
  return { outcome: String(outcome), rest };
}

function amountAt(rest: readonly unknown[], index: number): bigint {
  const value = rest[index];
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new TypeError(`A lease script returned ${JSON.stringify(value)} instead of an amount.`);
  }
  return BigInt(value);
}

/** Reads the reply of `reserve`: an outcome, four numbers, and the usage of each limit. */
function readReserveResult(response: unknown, budgets: readonly BudgetId[]): ReserveResult {
  const { outcome, rest } = readReply(response);
  if (outcome === 'foreign') return { outcome, used: null };
  const used = rest.slice(4) as readonly number[];
  const amounts = () => ({ remaining: amountAt(rest, 0), granted: amountAt(rest, 1) });
  if (outcome === 'admitted') return { outcome, ...amounts(), amount: amountAt(rest, 2), used };
  if (outcome === 'dry') return { outcome, ...amounts(), reserved: amountAt(rest, 2), used };
  if (outcome === 'budget dry') {
    const budget = budgets[Number(rest[3]) - 1];
    if (budget === undefined) throw new TypeError('A lease script returned a budget that was not requested.');
    return { outcome, ...amounts(), reserved: amountAt(rest, 2), budget, used };
  }
  return { outcome: outcome as 'limited' | 'closed' | 'expired' | 'gone', used };
}

function readMissingScript(error: unknown): ReserveResult {
  if (isScriptUnknown(error)) return { outcome: 'foreign', used: null };
  throw error;
}

type MissingOutcome = LeaseMissing['outcome'];

/** The leases on the server of one generation. On any other server every call returns `foreign`. */
export class ValkeyLeases {
  readonly #valkey: Pick<ValkeyClient, 'runLoaded' | 'command'>;
  readonly #server: LeaseServer;
  readonly #scripts: LeaseScripts;
  readonly #now: () => string;

  /** Only tests pass the time; otherwise the scripts use the server's time. */
  constructor(
    valkey: Pick<ValkeyClient, 'runLoaded' | 'command'>,
    server: LeaseServer,
    nowMs: () => number | '' = () => '',
  ) {
    this.#valkey = valkey;
    this.#server = server;
    this.#scripts = leaseScripts(server);
    this.#now = () => String(nowMs());
  }

  async open(lease: LeaseOwner, grant: LeaseGrant): Promise<OpenResult> {
    const { outcome, rest } = await this.#runGrant('open', lease, grant);
    if (outcome === 'stale') return { outcome, epoch: amountAt(rest, 0) };
    return { outcome: outcome as 'opened' | 'foreign' };
  }

  async enlarge(lease: LeaseOwner, grant: LeaseGrant): Promise<EnlargeResult> {
    const { outcome, rest } = await this.#runGrant('enlarge', lease, grant);
    if (outcome !== 'granted') return { outcome: outcome as MissingOutcome | 'closed' };
    const [remaining, recalled, granted] = [amountAt(rest, 0), amountAt(rest, 1), amountAt(rest, 2)];
    return { outcome, remaining, recalled, granted };
  }

  /** Not async: every request awaits it, and another promise would cost measurable time. */
  reserve(lease: LeaseOwner, request: ValkeyReserveRequest): Promise<ReserveResult> {
    const { epoch, requestId, amount, least, limits, costs, budgets } = request;
    const args = [epoch.toString(), this.#now(), requestId, amount.toString(), least.toString()];
    args.push(String(budgets.length), ...budgets);
    appendLimitArguments(args, limits, costs);
    const reservations = this.#reservationsKey(lease, epoch, request.gatewayId);
    const keys = [this.#keyOf(lease), reservations, ...limits.keys];
    return this.#valkey
      .runLoaded(this.#scripts.reserve, { keys, args })
      .then((response) => readReserveResult(response, budgets), readMissingScript);
  }

  async settle(lease: LeaseOwner, settlement: ValkeySettlement): Promise<SettleResult> {
    const { epoch, gatewayId, requests, back } = settlement;
    const args = [epoch.toString(), this.#now(), String(requests.length)];
    for (const { requestId, actual } of requests) args.push(requestId, actual.toString());
    for (const { size, window, units } of back) args.push(size, window, String(-units));
    const reservations = this.#reservationsKey(lease, epoch, gatewayId);
    const keys = [this.#keyOf(lease), reservations, ...back.map(({ key }) => key)];
    const { outcome, rest } = await this.#run('settle', keys, args);
    if (outcome !== 'settled') return { outcome: outcome as MissingOutcome };
    const [remaining, granted, found] = [amountAt(rest, 0), amountAt(rest, 1), amountAt(rest, 2)];
    return { outcome, remaining, granted, found: Number(found) };
  }

  async recall(
    lease: LeaseOwner,
    { epoch, known, wanted }: { readonly epoch: bigint; readonly known: bigint; readonly wanted: bigint },
  ): Promise<{ readonly outcome: 'recalled'; readonly recalled: bigint } | LeaseMissing> {
    const args = [epoch.toString(), known.toString(), wanted.toString()];
    const { outcome, rest } = await this.#run('recall', [this.#keyOf(lease)], args);
    if (outcome === 'recalled') return { outcome, recalled: amountAt(rest, 0) };
    return { outcome: outcome as MissingOutcome };
  }

  async close(lease: LeaseOwner, epoch: bigint, budgets: readonly BudgetId[]): Promise<CloseResult> {
    const args = [epoch.toString(), ...budgets];
    const { outcome, rest } = await this.#run('close', [this.#keyOf(lease)], args);
    if (outcome !== 'closed') return { outcome: outcome as MissingOutcome };
    const recalled = new Map(budgets.map((id, index) => [id, amountAt(rest, index + 1)]));
    return { outcome, recalled: amountAt(rest, 0), budgets: recalled };
  }

  /** Whether the lease of this epoch is lost: absent, or this is not the server that received it. */
  async isLost(lease: LeaseOwner, epoch: bigint): Promise<boolean> {
    // Recalls nothing. A separate script would change the set of scripts and so start a new generation.
    const { outcome } = await this.recall(lease, { epoch, known: 0n, wanted: 0n });
    return outcome !== 'recalled';
  }

  /** The unsettled reservations of a gateway. */
  async reservationsOf(lease: LeaseOwner, epoch: bigint, gatewayId: string): Promise<StoredReservation[]> {
    const key = this.#reservationsKey(lease, epoch, gatewayId);
    return readReservations(await this.#valkey.command(['HGETALL', key]));
  }

  /** Removes the keys of a closed lease. */
  async remove(lease: LeaseOwner, epoch: bigint, gatewayIds: readonly string[]): Promise<void> {
    const keys = gatewayIds.map((gatewayId) => this.#reservationsKey(lease, epoch, gatewayId));
    await this.#run('remove', [this.#keyOf(lease), ...keys], [epoch.toString()]);
  }

  #keyOf(lease: LeaseOwner): string {
    return valkeyLeaseKey(this.#server, lease);
  }

  #reservationsKey(lease: LeaseOwner, epoch: bigint, gatewayId: string): string {
    return `${this.#keyOf(lease)}:${epoch}:${gatewayId}`;
  }

  async #run(script: keyof LeaseScripts, keys: readonly string[], args: readonly string[]) {
    try {
      return readReply(await this.#valkey.runLoaded(this.#scripts[script], { keys, args }));
    } catch (error) {
      if (isScriptUnknown(error)) return { outcome: 'foreign', rest: [] };
      throw error;
    }
  }

  #runGrant(script: 'open' | 'enlarge', lease: LeaseOwner, grant: LeaseGrant) {
    const { epoch, granted, leaseId } = grant;
    const admitForMs = String(Math.max(0, Math.trunc(grant.admitForMs)));
    const budgets = [...grant.budgets].flatMap(([id, amount]) => [id, amount.toString()]);
    const args = [epoch.toString(), this.#now(), granted.toString(), admitForMs, leaseId, ...budgets];
    return this.#run(script, [this.#keyOf(lease)], args);
  }
}

function readReservations(stored: unknown): StoredReservation[] {
  const words: readonly unknown[] = Array.isArray(stored) ? stored : Object.entries(stored ?? {}).flat();
  const found: StoredReservation[] = [];
  for (let index = 0; index < words.length; index += 2) {
    const [amount = '0'] = String(words[index + 1]).split(' ');
    found.push({ requestId: String(words[index]) as RequestId, amount: BigInt(amount) });
  }
  return found;
}

type Commands = Pick<ValkeyClient, 'command'>;

/** Whether this is the server of the generation: it has the scripts and the replication id. */
export async function isServerReady(valkey: Commands, server: LeaseServer): Promise<boolean> {
  const digests = Object.values(leaseScripts(server)).map(({ sha1 }) => sha1);
  const known = await valkey.command(['SCRIPT', 'EXISTS', ...digests]);
  const all = Array.isArray(known) && known.every((one) => one === 1);
  return all && (await readIncarnation(valkey)) === server.incarnation;
}

export async function readIncarnation(valkey: Commands): Promise<string> {
  const info = String(await valkey.command(['INFO', 'replication']));
  const [, role] = /^role:(\w+)/m.exec(info) ?? [];
  const [, incarnation] = /^master_replid:([0-9a-f]{40})/m.exec(info) ?? [];
  if (incarnation === undefined || role !== 'master') {
    throw new Error(`The Valkey of the credit leases must be a master. Its role is ${role ?? 'unknown'}.`);
  }
  return incarnation;
}

/** The keys of all leases and reservations of an installation, in pages. */
export async function* scanLeaseKeys(valkey: Commands, namespace: string): AsyncGenerator<readonly string[]> {
  let cursor = '0';
  do {
    const page = await valkey.command(['SCAN', cursor, 'MATCH', `pot:${namespace}:{*`, 'COUNT', '1000']);
    if (!Array.isArray(page)) throw new TypeError('SCAN did not return a list.');
    const [next, keys] = page as [unknown, readonly string[]];
    yield keys;
    cursor = String(next);
  } while (cursor !== '0');
}

/** Removes leases of earlier generations until another worker has prepared the server. Later scripts never use them. */
export async function deleteOldLeases(
  valkey: Commands,
  namespace: string,
  mayGoOn: () => Promise<boolean>,
): Promise<void> {
  for await (const keys of scanLeaseKeys(valkey, namespace)) {
    if (keys.length === 0) continue;
    if (!(await mayGoOn())) return;
    await valkey.command(['UNLINK', ...keys]);
  }
}

export async function prepareServer(valkey: Commands, server: LeaseServer): Promise<void> {
  for (const { source } of Object.values(leaseScripts(server))) {
    await valkey.command(['SCRIPT', 'LOAD', source]);
  }
}
