import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { isItemAvailable, type SharedLoop } from '@millrace/platform/loops';
import { nanoUsd } from '@millrace/platform/money';
import { shardOf } from '@millrace/platform/outbox';
import { sql } from 'kysely';
import type { BurnRate, MoneyCause, WalletRef } from '../ledger/index.ts';
import type { WalletBurnRate } from './dunning.ts';
import type { DunningLevel } from './policy.ts';

/** All SQL for dunning levels and required actions. */

export interface WalletStatus extends WalletRef, WalletBurnRate {
  readonly step: DunningLevel;
}

interface WalletStatusRow {
  org_id: string;
  mode: Mode;
  burn: bigint | null;
  cover: bigint | null;
  dries_at: Date | null;
  step: DunningLevel | null;
}

/**
 * An estimate, see `readWalletStatuses`. Bounded, so that one wallet cannot fail the statement for all by an overflow.
 */
const heldForRunningAt = (now: Date) => sql`
  least(9e18, greatest(-9e18, coalesce(sum(held_nano_usd)::float8 - sum(
     rate_nano_usd_per_hour::float8 / 3600000 * (
       greatest(0, elapsed_before_ms - posted_ms
                   + date_part('epoch', ${now}::timestamptz - running_since) * 1000))
     + kept_nano_usd_per_hour::float8 / 3600000 * retention_ms), 0)))::bigint`;

export async function readBurnRate(reader: Reader, orgId: OrgId, mode: Mode, now: Date): Promise<BurnRate> {
  const { rows } = await sql<Pick<WalletStatusRow, 'burn' | 'cover'>>`
    select least(9e18, coalesce(sum(rate_nano_usd_per_hour), 0))::bigint as burn, ${heldForRunningAt(now)} as cover from meters
     where org_id = ${toUuid(orgId)} and mode = ${mode} and state = 'open' and rate_nano_usd_per_hour > 0
       and funding = 'ahead'
  `.execute(reader.kysely);
  return { burnPerHour: nanoUsd(rows[0]?.burn ?? 0n), cover: nanoUsd(rows[0]?.cover ?? 0n) };
}

/**
 * Reads wallets with running meters or a dunning level. It reads all running meters of the shards, so costs are
 * estimates in floating point: they decide about warnings and stops, never about charges.
 */
export async function readWalletStatuses(
  reader: Reader,
  shards: readonly number[],
  now: Date,
): Promise<readonly WalletStatus[]> {
  const { rows } = await sql<WalletStatusRow>`
    select org_id, mode, burn, cover, dries_at, step
      from (select org_id, mode, least(9e18, coalesce(sum(rate_nano_usd_per_hour), 0))::bigint as burn,
                   ${heldForRunningAt(now)} as cover,
                   min(covered_until - retention_ms * interval '1 millisecond') as dries_at
              from meters
             where shard = any(${shards}::smallint[]) and state = 'open' and rate_nano_usd_per_hour > 0 and funding = 'ahead'
             group by org_id, mode) as running
      full join (select org_id, mode, step from wallet_ladders
                  where shard = any(${shards}::smallint[]) and step <> 'fine') as standing
        using (org_id, mode)
  `.execute(reader.kysely);
  return rows.map((row) => ({
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    burnPerHour: nanoUsd(row.burn ?? 0n),
    cover: nanoUsd(row.cover ?? 0n),
    driesAt: row.dries_at,
    step: row.step ?? 'fine',
  }));
}

/** Locks the dunning state of the wallet until the transaction ends. Creates it if it does not exist. */
export async function lockDunningState(
  tx: Tx,
  wallet: WalletRef,
  now: Date,
): Promise<{ step: DunningLevel; since: Date }> {
  const { orgId, mode } = wallet;
  await sql`
    insert into wallet_ladders (org_id, mode, shard, step, since)
    values (${toUuid(orgId)}, ${mode}, ${shardOf(orgId)}, 'fine', ${now})
    on conflict (org_id, mode) do nothing
  `.execute(tx.kysely);
  const { rows } = await sql<{ step: DunningLevel; since: Date }>`
    select step, since from wallet_ladders where org_id = ${toUuid(orgId)} and mode = ${mode} for update
  `.execute(tx.kysely);
  const [row] = rows;
  if (row === undefined) throw new Error(`The dunning state of ${orgId} in ${mode} mode does not exist.`);
  return row;
}

export async function setLevel(tx: Tx, wallet: WalletRef, step: DunningLevel, since: Date): Promise<void> {
  await sql`
    update wallet_ladders set step = ${step}, since = ${since}
     where org_id = ${toUuid(wallet.orgId)} and mode = ${wallet.mode}
  `.execute(tx.kysely);
}

export type ActionReason = 'balance' | 'budget' | 'suspension';

export interface RequiredAction {
  readonly id: string;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly cause: MoneyCause;
  readonly action: 'stop' | 'delete';
  readonly reason: ActionReason;
  readonly dueAt: Date;
  readonly state: 'pending' | 'claimed' | 'done' | 'cancelled';
  readonly attempts: number;
}

interface ActionRow {
  id: bigint;
  org_id: string;
  mode: Mode;
  cause_kind: string;
  cause_id: string;
  action: RequiredAction['action'];
  reason: ActionReason;
  due_at: Date;
  state: RequiredAction['state'];
  attempts: number;
}

const actionColumns = sql`id, org_id, mode, cause_kind, cause_id, action, reason, due_at, state, attempts`;

function actionFromRow(row: ActionRow): RequiredAction {
  return {
    id: row.id.toString(),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    cause: { kind: row.cause_kind, id: row.cause_id },
    action: row.action,
    reason: row.reason,
    dueAt: row.due_at,
    state: row.state,
    attempts: row.attempts,
  };
}

/** Requires stops, and deletions after the paid retention. Actions required after `since` are not repeated. */
export async function requireStopsOfWallet(
  tx: Tx,
  wallet: WalletRef,
  times: { now: Date; since: Date },
): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into required_actions (org_id, mode, cause_kind, cause_id, action, reason, due_at, created_at)
    select org_id, mode, cause_kind, cause_id, action, 'balance', due_at, ${times.now}
      from (select org_id, mode, cause_kind, cause_id, 'stop' as action, ${times.now}::timestamptz as due_at
              from meters running
             where org_id = ${toUuid(wallet.orgId)} and mode = ${wallet.mode} and state = 'open'
               and funding = 'ahead' and rate_nano_usd_per_hour > 0
             group by org_id, mode, cause_kind, cause_id
            union all
            select org_id, mode, cause_kind, cause_id, 'delete', max(covered_until)
              from meters kept
             where org_id = ${toUuid(wallet.orgId)} and mode = ${wallet.mode} and state = 'open'
               and funding = 'ahead' and rate_nano_usd_per_hour > 0 and retention_ms > 0
             group by org_id, mode, cause_kind, cause_id) as needed
     where not exists (select 1 from required_actions asked
                        where (asked.org_id, asked.mode, asked.cause_kind, asked.cause_id, asked.action)
                            = (needed.org_id, needed.mode, needed.cause_kind, needed.cause_id, needed.action)
                          and asked.state <> 'cancelled' and asked.created_at >= ${times.since})
    on conflict (org_id, mode, cause_kind, cause_id, action) where state in ('pending', 'claimed') do nothing
  `.execute(tx.kysely);
  return Number(numAffectedRows ?? 0n);
}

/**
 * Stops meters whose hold a budget does not let grow. The hold of a due meter was not renewed yet. Before the first posting, the hold
 * of a meter that an earlier version opened does not contain the retention. Both are ignored.
 */
export async function requireStopsOfExhausted(
  tx: Tx,
  wallet: WalletRef,
  times: { now: Date; dryBy: Date; since: Date },
): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into required_actions (org_id, mode, cause_kind, cause_id, action, reason, due_at, created_at)
    select org_id, mode, cause_kind, cause_id, 'stop', 'budget', ${times.now}, ${times.now}
      from meters dry
     where org_id = ${toUuid(wallet.orgId)} and mode = ${wallet.mode} and state = 'open' and funding = 'ahead'
       and covered_until - retention_ms * interval '1 millisecond' <= ${times.dryBy} and next_post_at > ${times.now}
       and postings > 0
       and not exists (select 1 from required_actions asked
                        where (asked.org_id, asked.mode, asked.cause_kind, asked.cause_id, asked.action)
                            = (dry.org_id, dry.mode, dry.cause_kind, dry.cause_id, 'stop')
                          and asked.state <> 'cancelled' and asked.created_at >= ${times.since})
     group by org_id, mode, cause_kind, cause_id
    on conflict (org_id, mode, cause_kind, cause_id, action) where state in ('pending', 'claimed') do nothing
  `.execute(tx.kysely);
  return Number(numAffectedRows ?? 0n);
}

/** Replaces a later deletion for lack of money. Returns the number of resources that had no such action yet. */
export async function requireTerminations(
  tx: Tx,
  orgId: OrgId,
  resources: readonly { readonly mode: Mode; readonly cause: MoneyCause }[],
): Promise<number> {
  const now = tx.clock.now();
  const named = sql`unnest(${resources.map(({ mode }) => mode)}::text[], ${resources.map(({ cause }) => cause.kind)}::text[],
                           ${resources.map(({ cause }) => cause.id)}::text[]) as thing (mode, kind, id)`;
  await sql`
    update required_actions asked set state = 'cancelled', claimed_until = null, done_at = ${now}
      from ${named}
     where (asked.org_id, asked.mode, asked.cause_kind, asked.cause_id) = (${toUuid(orgId)}, thing.mode, thing.kind, thing.id)
       and asked.action = 'delete' and asked.reason <> 'suspension' and asked.state in ('pending', 'claimed')
  `.execute(tx.kysely);
  const { numAffectedRows } = await sql`
    insert into required_actions (org_id, mode, cause_kind, cause_id, action, reason, due_at, created_at)
    select ${toUuid(orgId)}, mode, kind, id, 'delete', 'suspension', ${now}, ${now} from ${named}
    on conflict (org_id, mode, cause_kind, cause_id, action) where state in ('pending', 'claimed') do nothing
  `.execute(tx.kysely);
  return Number(numAffectedRows ?? 0n);
}

/** Cancels the deletions of a lifted suspension that are not done yet. */
export async function cancelSuspensionActions(tx: Tx, orgId: OrgId): Promise<void> {
  await sql`
    update required_actions set state = 'cancelled', claimed_until = null, done_at = ${tx.clock.now()}
     where org_id = ${toUuid(orgId)} and reason = 'suspension' and state in ('pending', 'claimed')
  `.execute(tx.kysely);
}

/** Cancels actions that no worker has claimed, because the wallet has money again. */
export async function cancelBalanceActions(tx: Tx, wallet: WalletRef, now: Date): Promise<number> {
  const { numAffectedRows } = await sql`
    update required_actions set state = 'cancelled', done_at = ${now}
     where org_id = ${toUuid(wallet.orgId)} and mode = ${wallet.mode} and reason = 'balance' and state = 'pending'
  `.execute(tx.kysely);
  return Number(numAffectedRows ?? 0n);
}

const isStopObsolete = (dryBy: Date) => sql`
  asked.reason = 'budget' and asked.state = 'pending'
    and not exists (select 1 from meters dry
                     where (dry.org_id, dry.mode, dry.cause_kind, dry.cause_id)
                         = (asked.org_id, asked.mode, asked.cause_kind, asked.cause_id)
                       and dry.state = 'open' and dry.funding = 'ahead'
                       and dry.covered_until - dry.retention_ms * interval '1 millisecond' <= ${dryBy})`;

/** Unclaimed stops whose resource has ended, or whose budget was raised or restarted. */
export async function listObsoleteStops(
  reader: Reader,
  loop: SharedLoop,
  { now, dryBy, limit }: { readonly now: Date; readonly dryBy: Date; readonly limit: number },
): Promise<readonly string[]> {
  const { rows } = await sql<{ id: bigint }>`
    select id from required_actions asked
     where ${isStopObsolete(dryBy)} and ${isItemAvailable(loop, sql<string>`asked.id::text`, now)}
     order by id limit ${limit}
  `.execute(reader.kysely);
  return rows.map(({ id }) => id.toString());
}

/** Cancels these stops, except for stops that a worker has claimed or that are needed again. */
export async function cancelObsoleteStops(
  tx: Tx,
  ids: readonly string[],
  times: { readonly now: Date; readonly dryBy: Date },
): Promise<void> {
  await sql`
    update required_actions asked set state = 'cancelled', done_at = ${times.now}
     where id = any(${ids}::bigint[]) and ${isStopObsolete(times.dryBy)}
  `.execute(tx.kysely);
}

/** An action that is not completed within `claimMs` is claimed again, so executing it must be idempotent. */
export async function claimRequiredActions(
  tx: Tx,
  request: {
    readonly kinds: readonly string[];
    readonly now: Date;
    readonly claimMs: number;
    readonly limit: number;
    /** The loop that executes the actions; actions that it has postponed are left out. */
    readonly loop: SharedLoop;
  },
): Promise<readonly RequiredAction[]> {
  const isFree = isItemAvailable(request.loop, sql<string>`required_actions.id::text`, request.now);
  const { rows } = await sql<ActionRow>`
    update required_actions set state = 'claimed', attempts = attempts + 1,
           claimed_until = ${new Date(request.now.getTime() + request.claimMs)}
     where id in (select id from required_actions
                   where cause_kind = any(${request.kinds}::text[]) and due_at <= ${request.now}
                     and (state = 'pending' or (state = 'claimed' and claimed_until <= ${request.now}))
                     and ${isFree}
                   order by due_at, id limit ${request.limit} for update skip locked)
    returning ${actionColumns}
  `.execute(tx.kysely);
  return rows.map(actionFromRow);
}

/** Idempotent; an action that was cancelled meanwhile also becomes done. */
export async function completeRequiredAction(tx: Tx, orgId: OrgId, id: string): Promise<void> {
  await sql`
    update required_actions set state = 'done', claimed_until = null, done_at = ${tx.clock.now()}
     where org_id = ${toUuid(orgId)} and id = ${id}::bigint and state <> 'done'
  `.execute(tx.kysely);
}

export async function listRequiredActions(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
): Promise<readonly RequiredAction[]> {
  const { rows } = await sql<ActionRow>`
    select ${actionColumns} from required_actions
     where org_id = ${toUuid(orgId)} and mode = ${mode} and state in ('pending', 'claimed')
     order by due_at, id
  `.execute(reader.kysely);
  return rows.map(actionFromRow);
}
