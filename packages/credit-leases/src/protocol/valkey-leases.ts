import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, LeaseId, OrgId, RequestId } from '@millrace/platform/ids';
import { isScriptUnknown, type ValkeyClient, type ValkeyScript } from '@millrace/platform/valkey';
import { appendLimitArguments, type LimitSet } from './request-limits.ts';
import { leaseScripts, type LeaseScripts, type LeaseServer } from './lease-scripts.ts';

/** The pots on one Valkey. Nothing here decides: the scripts do, as `lease-model.ts` says. */

export interface LeaseOwner {
  readonly orgId: OrgId;
  readonly mode: Mode;
}

/** `foreign`: not the server that the lease was given to, whatever it holds. */
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
      /** More than was asked for where another worker has enlarged the pot further, or where the ledger was restored. */
      readonly granted: bigint;
    }
  | { readonly outcome: 'closed' }
  | LeaseMissing;

export type OpenResult =
  | { readonly outcome: 'opened' | 'foreign' }
  /** The server has a pot of this epoch or of a later one, with the epoch that it has. */
  | { readonly outcome: 'stale'; readonly epoch: bigint };

interface InsufficientAmounts {
  readonly remaining: bigint;
  readonly granted: bigint;
  /** By other requests that have not been settled. */
  readonly reserved: bigint;
}

/** With what is used of each limit, in its own measure; null when the server did not look. */
export type ReserveResult = { readonly used: readonly number[] | null } & (
  | {
      readonly outcome: 'admitted';
      readonly amount: bigint;
      readonly remaining: bigint;
      readonly granted: bigint;
    }
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
  /** What the request costs of each limit. */
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
      /** How many of the requests were reserved; the others had been settled before. */
      readonly found: number;
    }
  | LeaseMissing;

export interface StoredReservation {
  readonly requestId: RequestId;
  readonly amount: bigint;
}

export interface ValkeyLeases {
  open(lease: LeaseOwner, grant: LeaseGrant): Promise<OpenResult>;
  enlarge(lease: LeaseOwner, grant: LeaseGrant): Promise<EnlargeResult>;
  reserve(lease: LeaseOwner, request: ValkeyReserveRequest): Promise<ReserveResult>;
  /** Any number of requests of one gateway: what they did not spend can be spent again. */
  settle(lease: LeaseOwner, end: ValkeySettlement): Promise<SettleResult>;
  recall(
    lease: LeaseOwner,
    request: { readonly epoch: bigint; readonly known: bigint; readonly wanted: bigint },
  ): Promise<{ readonly outcome: 'recalled'; readonly recalled: bigint } | LeaseMissing>;
  close(
    lease: LeaseOwner,
    epoch: bigint,
    budgets: readonly BudgetId[],
  ): Promise<
    | {
        readonly outcome: 'closed';
        readonly recalled: bigint;
        readonly budgets: ReadonlyMap<BudgetId, bigint>;
      }
    | LeaseMissing
  >;
  /** Whether the pot of this epoch is lost: it is not there, or this is not the server that it was lent to. */
  isLost(lease: LeaseOwner, epoch: bigint): Promise<boolean>;
  /** What a gateway had reserved and not settled. */
  reservationsOf(lease: LeaseOwner, epoch: bigint, gatewayId: string): Promise<readonly StoredReservation[]>;
  /** Removes what a closed lease left behind. */
  remove(lease: LeaseOwner, epoch: bigint, gatewayIds: readonly string[]): Promise<void>;
}

/** All keys of an organisation share the hash tag, so that one call may use several of them. */
export function valkeyLeaseKey(server: LeaseServer, { orgId, mode }: LeaseOwner): string {
  return `pot:${server.namespace}:{${orgId}}:${mode}`;
}

function flat(pairs: ReadonlyMap<string, bigint>): string[] {
  return [...pairs].flatMap(([id, amount]) => [id, amount.toString()]);
}

/** Reads an answer of a script: a word, then whole numbers and ids. */
function readReply(response: unknown): { readonly outcome: string; readonly rest: readonly unknown[] } {
  if (!Array.isArray(response)) throw new TypeError('A pot script answered with something else than a list.');
  const [outcome, ...rest] = response as readonly unknown[];
  return { outcome: String(outcome), rest };
}

function amountAt(rest: readonly unknown[], index: number): bigint {
  const value = rest[index];
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new TypeError(`A pot script answered ${JSON.stringify(value)} where an amount belongs.`);
  }
  return BigInt(value);
}

/** Reads what `reserve` answered: a word, four numbers, and what is used of each limit. */
function readReserveResult(response: unknown, budgets: readonly BudgetId[]): ReserveResult {
  const { outcome, rest } = readReply(response);
  if (outcome === 'foreign') return { outcome, used: null };
  const used = rest.slice(4) as readonly number[];
  const amounts = () => ({ remaining: amountAt(rest, 0), granted: amountAt(rest, 1) });
  if (outcome === 'admitted') return { outcome, ...amounts(), amount: amountAt(rest, 2), used };
  if (outcome === 'dry') return { outcome, ...amounts(), reserved: amountAt(rest, 2), used };
  if (outcome === 'budget dry') {
    const budget = budgets[Number(rest[3]) - 1];
    if (budget === undefined) throw new TypeError('A pot script named a budget that was not asked for.');
    return { outcome, ...amounts(), reserved: amountAt(rest, 2), budget, used };
  }
  return { outcome: outcome as 'limited' | 'closed' | 'expired' | 'gone', used };
}

function readMissingScript(error: unknown): ReserveResult {
  if (isScriptUnknown(error)) return { outcome: 'foreign', used: null };
  throw error;
}

export interface ValkeyLeasesOptions {
  readonly valkey: Pick<ValkeyClient, 'runLoaded' | 'command'>;
  readonly server: LeaseServer;
  /** Tests may say what time it is; the server's own time otherwise. */
  readonly nowMs?: () => number;
}

/** The pots of the server of one generation. On any other server every call finds itself in the wrong place. */
export function createValkeyLeases(options: ValkeyLeasesOptions): ValkeyLeases {
  const { valkey, server } = options;
  const scripts: LeaseScripts = leaseScripts(server);
  const keyOf = (lease: LeaseOwner): string => valkeyLeaseKey(server, lease);
  const reservationsKey = (lease: LeaseOwner, epoch: bigint, gatewayId: string): string =>
    `${keyOf(lease)}:${epoch}:${gatewayId}`;
  const now = (): string => (options.nowMs === undefined ? '' : String(options.nowMs()));

  async function run(script: ValkeyScript, keys: readonly string[], args: readonly string[]) {
    try {
      return readReply(await valkey.runLoaded(script, { keys, args }));
    } catch (error) {
      if (isScriptUnknown(error)) return { outcome: 'foreign', rest: [] };
      throw error;
    }
  }

  const runGrant = (script: ValkeyScript, lease: LeaseOwner, grant: LeaseGrant) =>
    run(
      script,
      [keyOf(lease)],
      [
        grant.epoch.toString(),
        now(),
        grant.granted.toString(),
        String(Math.max(0, Math.trunc(grant.admitForMs))),
        grant.leaseId,
        ...flat(grant.budgets),
      ],
    );

  return {
    async open(lease, grant) {
      const { outcome, rest } = await runGrant(scripts.open, lease, grant);
      if (outcome === 'stale') return { outcome, epoch: amountAt(rest, 0) };
      return { outcome: outcome as 'opened' | 'foreign' };
    },
    async enlarge(lease, grant) {
      const { outcome, rest } = await runGrant(scripts.enlarge, lease, grant);
      if (outcome === 'granted') {
        const [remaining, recalled, granted] = [amountAt(rest, 0), amountAt(rest, 1), amountAt(rest, 2)];
        return { outcome, remaining, recalled, granted };
      }
      return { outcome: outcome as 'closed' | 'foreign' | 'gone' };
    },
    // Not async: it stands before every request, and a promise more is noticed there.
    reserve(lease, request) {
      const { limits, costs, budgets } = request;
      const args = [
        request.epoch.toString(),
        now(),
        request.requestId,
        request.amount.toString(),
        request.least.toString(),
      ];
      args.push(String(budgets.length), ...budgets);
      appendLimitArguments(args, limits, costs);
      const keys = [keyOf(lease), reservationsKey(lease, request.epoch, request.gatewayId), ...limits.keys];
      return valkey
        .runLoaded(scripts.reserve, { keys, args })
        .then((response) => readReserveResult(response, budgets), readMissingScript);
    },
    async settle(lease, { epoch, gatewayId, requests, back }) {
      const args = [epoch.toString(), now(), String(requests.length)];
      for (const { requestId, actual } of requests) args.push(requestId, actual.toString());
      for (const { size, window, units } of back) args.push(size, window, String(-units));
      const keys = [keyOf(lease), reservationsKey(lease, epoch, gatewayId), ...back.map(({ key }) => key)];
      const { outcome, rest } = await run(scripts.settle, keys, args);
      if (outcome !== 'settled') return { outcome: outcome as 'foreign' | 'gone' };
      const [remaining, granted, found] = [amountAt(rest, 0), amountAt(rest, 1), amountAt(rest, 2)];
      return { outcome, remaining, granted, found: Number(found) };
    },
    async recall(lease, request) {
      const args = [request.epoch.toString(), request.known.toString(), request.wanted.toString()];
      const { outcome, rest } = await run(scripts.recall, [keyOf(lease)], args);
      if (outcome === 'recalled') return { outcome, recalled: amountAt(rest, 0) };
      return { outcome: outcome as 'foreign' | 'gone' };
    },
    async close(lease, epoch, budgets) {
      const { outcome, rest } = await run(scripts.close, [keyOf(lease)], [epoch.toString(), ...budgets]);
      if (outcome !== 'closed') return { outcome: outcome as 'foreign' | 'gone' };
      const recalled = new Map(budgets.map((id, index) => [id, amountAt(rest, index + 1)]));
      return { outcome, recalled: amountAt(rest, 0), budgets: recalled };
    },
    async isLost(lease, epoch) {
      // This recalls nothing. A separate script would change the set of scripts that makes a server ready, and so begin a new
      // generation.
      const { outcome } = await run(scripts.recall, [keyOf(lease)], [epoch.toString(), '0', '0']);
      return outcome === 'gone' || outcome === 'foreign';
    },
    async reservationsOf(lease, epoch, gatewayId) {
      const stored = await valkey.command(['HGETALL', reservationsKey(lease, epoch, gatewayId)]);
      return readReservations(stored);
    },
    async remove(lease, epoch, gatewayIds) {
      const keys = gatewayIds.map((gatewayId) => reservationsKey(lease, epoch, gatewayId));
      await run(scripts.remove, [keyOf(lease), ...keys], [epoch.toString()]);
    },
  };
}

function readReservations(stored: unknown): readonly StoredReservation[] {
  const words: readonly unknown[] = Array.isArray(stored) ? stored : Object.entries(stored ?? {}).flat();
  const found: StoredReservation[] = [];
  for (let index = 0; index < words.length; index += 2) {
    const [amount = '0'] = String(words[index + 1]).split(' ');
    found.push({ requestId: String(words[index]) as RequestId, amount: BigInt(amount) });
  }
  return found;
}

/** Whether this is the server of the generation: it has the scripts and its own history. */
export async function isServerReady(
  valkey: Pick<ValkeyClient, 'command'>,
  server: LeaseServer,
): Promise<boolean> {
  const digests = Object.values(leaseScripts(server)).map(({ sha1 }: ValkeyScript) => sha1);
  const known = await valkey.command(['SCRIPT', 'EXISTS', ...digests]);
  const all = Array.isArray(known) && known.every((one) => one === 1);
  return all && (await readIncarnation(valkey)) === server.incarnation;
}

export async function readIncarnation(valkey: Pick<ValkeyClient, 'command'>): Promise<string> {
  const info = String(await valkey.command(['INFO', 'replication']));
  const [, role] = /^role:(\w+)/m.exec(info) ?? [];
  const [, incarnation] = /^master_replid:([0-9a-f]{40})/m.exec(info) ?? [];
  if (incarnation === undefined || role !== 'master') {
    throw new Error(`The pot Valkey cannot be used: it is ${role ?? 'of an unknown role'}, not a master.`);
  }
  return incarnation;
}

const scanCount = '1000';

/**
 * Removes the pots that an earlier run left behind, as long as nobody has made the server ready meanwhile. Only tidiness:
 * no script of a later generation names an epoch of an earlier one.
 */
export async function deleteOldLeases(
  valkey: Pick<ValkeyClient, 'command'>,
  namespace: string,
  mayGoOn: () => Promise<boolean>,
): Promise<void> {
  let cursor = '0';
  do {
    const page = await valkey.command(['SCAN', cursor, 'MATCH', `pot:${namespace}:{*`, 'COUNT', scanCount]);
    if (!Array.isArray(page)) throw new TypeError('SCAN answered with something else than a list.');
    const [next, keys] = page as [unknown, readonly string[]];
    if (keys.length > 0) {
      if (!(await mayGoOn())) return;
      await valkey.command(['UNLINK', ...keys]);
    }
    cursor = String(next);
  } while (cursor !== '0');
}

/** Gives the server the scripts of its generation. */
export async function prepareServer(
  valkey: Pick<ValkeyClient, 'command'>,
  server: LeaseServer,
): Promise<void> {
  for (const script of Object.values(leaseScripts(server)) as ValkeyScript[]) {
    await valkey.command(['SCRIPT', 'LOAD', script.source]);
  }
}
