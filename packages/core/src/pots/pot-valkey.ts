import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, OrgId, RequestId } from '@millrace/platform/ids';
import { isScriptUnknown, type ValkeyClient, type ValkeyScript } from '@millrace/platform/valkey';
import { potScripts, type PotScripts, type PotServer } from './scripts.ts';

/** The pots on one Valkey. Nothing here decides: the scripts do, as `pot.ts` says. */

export interface PotName {
  readonly orgId: OrgId;
  readonly mode: Mode;
}

/** `foreign`: not the server that the lease was given to, whatever it holds. */
export type NotHere = { readonly outcome: 'foreign' } | { readonly outcome: 'gone' };

export interface PotGrant {
  readonly epoch: bigint;
  readonly granted: bigint;
  readonly budgets: ReadonlyMap<BudgetId, bigint>;
  readonly admitForMs: number;
}

export type Enlarged =
  | { readonly outcome: 'granted'; readonly remaining: bigint; readonly recalled: bigint }
  | { readonly outcome: 'closed' }
  | NotHere;

export type Reserved =
  | { readonly outcome: 'admitted'; readonly remaining: bigint; readonly granted: bigint }
  | { readonly outcome: 'dry'; readonly remaining: bigint; readonly granted: bigint }
  | {
      readonly outcome: 'budget dry';
      readonly remaining: bigint;
      readonly granted: bigint;
      readonly budget: BudgetId;
    }
  | { readonly outcome: 'closed' | 'expired' }
  | NotHere;

export type Settled =
  | { readonly outcome: 'settled'; readonly remaining: bigint; readonly granted: bigint }
  | NotHere;

export interface PotReservation {
  readonly requestId: RequestId;
  readonly amount: bigint;
}

export interface PotValkey {
  open(pot: PotName, grant: PotGrant): Promise<{ readonly outcome: 'opened' | 'stale' | 'foreign' }>;
  enlarge(pot: PotName, grant: PotGrant): Promise<Enlarged>;
  reserve(
    pot: PotName,
    ask: {
      readonly epoch: bigint;
      readonly gatewayId: string;
      readonly requestId: RequestId;
      readonly amount: bigint;
      readonly budgets: readonly BudgetId[];
    },
  ): Promise<Reserved>;
  settle(
    pot: PotName,
    end: {
      readonly epoch: bigint;
      readonly gatewayId: string;
      readonly requestId: RequestId;
      readonly actual: bigint;
    },
  ): Promise<Settled>;
  recall(
    pot: PotName,
    wish: { readonly epoch: bigint; readonly known: bigint; readonly wanted: bigint },
  ): Promise<{ readonly outcome: 'recalled'; readonly recalled: bigint } | NotHere>;
  close(
    pot: PotName,
    epoch: bigint,
    budgets: readonly BudgetId[],
  ): Promise<
    | {
        readonly outcome: 'closed';
        readonly recalled: bigint;
        readonly budgets: ReadonlyMap<BudgetId, bigint>;
      }
    | NotHere
  >;
  /** What a gateway had reserved and not settled. */
  reservationsOf(pot: PotName, epoch: bigint, gatewayId: string): Promise<readonly PotReservation[]>;
  /** Removes what a closed lease left behind. */
  forget(pot: PotName, epoch: bigint, gatewayIds: readonly string[]): Promise<void>;
}

/** All keys of an organisation share the hash tag, so that one call may use several of them. */
export function potKey(server: PotServer, { orgId, mode }: PotName): string {
  return `pot:${server.namespace}:{${orgId}}:${mode}`;
}

function flat(pairs: ReadonlyMap<string, bigint>): string[] {
  return [...pairs].flatMap(([id, amount]) => [id, amount.toString()]);
}

/** Reads an answer of a script: a word, then whole numbers and ids. */
function readAnswer(answer: unknown): { readonly outcome: string; readonly rest: readonly unknown[] } {
  if (!Array.isArray(answer)) throw new TypeError('A pot script answered with something else than a list.');
  const [outcome, ...rest] = answer as readonly unknown[];
  return { outcome: String(outcome), rest };
}

function amountAt(rest: readonly unknown[], index: number): bigint {
  const value = rest[index];
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new TypeError(`A pot script answered ${JSON.stringify(value)} where an amount belongs.`);
  }
  return BigInt(value);
}

export interface PotValkeyOptions {
  readonly valkey: Pick<ValkeyClient, 'runLoaded' | 'command'>;
  readonly server: PotServer;
  /** Tests may say what time it is; the server's own time otherwise. */
  readonly nowMs?: () => number;
}

/** The pots of the server of one generation. On any other server every call finds itself in the wrong place. */
export function potsOn(options: PotValkeyOptions): PotValkey {
  const { valkey, server } = options;
  const scripts: PotScripts = potScripts(server);
  const keyOf = (pot: PotName): string => potKey(server, pot);
  const reservationsKey = (pot: PotName, epoch: bigint, gatewayId: string): string =>
    `${keyOf(pot)}:${epoch}:${gatewayId}`;
  const now = (): string => (options.nowMs === undefined ? '' : String(options.nowMs()));

  async function run(script: ValkeyScript, keys: readonly string[], args: readonly string[]) {
    try {
      return readAnswer(await valkey.runLoaded(script, { keys, args }));
    } catch (error) {
      if (isScriptUnknown(error)) return { outcome: 'foreign', rest: [] };
      throw error;
    }
  }

  const lend = (script: ValkeyScript, pot: PotName, grant: PotGrant) =>
    run(
      script,
      [keyOf(pot)],
      [
        grant.epoch.toString(),
        now(),
        grant.granted.toString(),
        String(Math.max(0, Math.trunc(grant.admitForMs))),
        ...flat(grant.budgets),
      ],
    );

  return {
    async open(pot, grant) {
      const { outcome } = await lend(scripts.open, pot, grant);
      return { outcome: outcome as 'opened' | 'stale' | 'foreign' };
    },
    async enlarge(pot, grant) {
      const { outcome, rest } = await lend(scripts.enlarge, pot, grant);
      if (outcome === 'granted')
        return { outcome, remaining: amountAt(rest, 0), recalled: amountAt(rest, 1) };
      return { outcome: outcome as 'closed' | 'foreign' | 'gone' };
    },
    async reserve(pot, ask) {
      const { outcome, rest } = await run(
        scripts.reserve,
        [keyOf(pot), reservationsKey(pot, ask.epoch, ask.gatewayId)],
        [ask.epoch.toString(), now(), ask.requestId, ask.amount.toString(), ...ask.budgets],
      );
      if (outcome === 'admitted' || outcome === 'dry') {
        return { outcome, remaining: amountAt(rest, 0), granted: amountAt(rest, 1) };
      }
      if (outcome === 'budget dry') {
        return {
          outcome,
          remaining: amountAt(rest, 0),
          granted: amountAt(rest, 1),
          budget: String(rest[2]) as BudgetId,
        };
      }
      return { outcome: outcome as 'closed' | 'expired' | 'foreign' | 'gone' };
    },
    async settle(pot, end) {
      const { outcome, rest } = await run(
        scripts.settle,
        [keyOf(pot), reservationsKey(pot, end.epoch, end.gatewayId)],
        [end.epoch.toString(), end.requestId, end.actual.toString()],
      );
      if (outcome === 'settled') return { outcome, remaining: amountAt(rest, 0), granted: amountAt(rest, 1) };
      return { outcome: outcome as 'foreign' | 'gone' };
    },
    async recall(pot, wish) {
      const args = [wish.epoch.toString(), wish.known.toString(), wish.wanted.toString()];
      const { outcome, rest } = await run(scripts.recall, [keyOf(pot)], args);
      if (outcome === 'recalled') return { outcome, recalled: amountAt(rest, 0) };
      return { outcome: outcome as 'foreign' | 'gone' };
    },
    async close(pot, epoch, budgets) {
      const { outcome, rest } = await run(scripts.close, [keyOf(pot)], [epoch.toString(), ...budgets]);
      if (outcome !== 'closed') return { outcome: outcome as 'foreign' | 'gone' };
      const recalled = new Map(budgets.map((id, index) => [id, amountAt(rest, index + 1)]));
      return { outcome, recalled: amountAt(rest, 0), budgets: recalled };
    },
    async reservationsOf(pot, epoch, gatewayId) {
      const kept = await valkey.command(['HGETALL', reservationsKey(pot, epoch, gatewayId)]);
      return readReservations(kept);
    },
    async forget(pot, epoch, gatewayIds) {
      const keys = gatewayIds.map((gatewayId) => reservationsKey(pot, epoch, gatewayId));
      await run(scripts.forget, [keyOf(pot), ...keys], [epoch.toString()]);
    },
  };
}

function readReservations(kept: unknown): readonly PotReservation[] {
  const words: readonly unknown[] = Array.isArray(kept) ? kept : Object.entries(kept ?? {}).flat();
  const found: PotReservation[] = [];
  for (let index = 0; index < words.length; index += 2) {
    const [amount = '0'] = String(words[index + 1]).split(' ');
    found.push({ requestId: String(words[index]) as RequestId, amount: BigInt(amount) });
  }
  return found;
}

/** Whether this is the server of the generation: it has the scripts and its own history. */
export async function isServerReady(
  valkey: Pick<ValkeyClient, 'command'>,
  server: PotServer,
): Promise<boolean> {
  const digests = Object.values(potScripts(server)).map(({ sha1 }: ValkeyScript) => sha1);
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
export async function clearPots(
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
export async function prepareServer(valkey: Pick<ValkeyClient, 'command'>, server: PotServer): Promise<void> {
  for (const script of Object.values(potScripts(server)) as ValkeyScript[]) {
    await valkey.command(['SCRIPT', 'LOAD', script.source]);
  }
}
