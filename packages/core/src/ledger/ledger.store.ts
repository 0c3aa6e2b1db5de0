import type { Reader, Tables, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import {
  fromUuid,
  toUuid,
  type HoldId,
  type LedgerAccountId,
  type OrgId,
  type TransferId,
} from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { nanoUsd, negateUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type Selectable, type SelectQueryBuilder } from 'kysely';
import type {
  Balance,
  HoldRecord,
  MoneyCause,
  TransferKind,
  TransferRecord,
  UsageQuantities,
} from './model/ledger.ts';
import { expirePromoLoop } from './loops.ts';
import { firstIdAfter, firstIdFrom } from './model/id-ranges.ts';
import { plainArray } from './batch/sql-arrays.ts';

/** Reads balances, holds and transfers. Money moves only in `applyLedger`. */

export interface WalletRef {
  readonly orgId: OrgId;
  readonly mode: Mode;
}

export const walletKey = ({ orgId, mode }: WalletRef): string => `${orgId}:${mode}`;

interface BalanceRow {
  org_id: string;
  mode: Mode;
  balance: bigint;
  held: bigint;
  available: bigint;
  overdraft: bigint;
  frozen: boolean;
}

const noAmounts = { balance: zeroUsd, held: zeroUsd, available: zeroUsd, overdraft: zeroUsd };

/** Reads the balances of several wallets. Wallets without accounts are missing from the map. */
export async function readBalances(
  reader: Reader,
  wallets: readonly WalletRef[],
  now: Date,
): Promise<ReadonlyMap<string, Balance>> {
  const { rows } = await sql<BalanceRow>`
    select account.org_id, account.mode, sum(balance_nano_usd)::bigint as balance, sum(held_nano_usd)::bigint as held,
           sum(greatest(0, balance_nano_usd - held_nano_usd - floor_nano_usd))
             filter (where expires_at is null or expires_at > ${now})::bigint as available,
           sum(-floor_nano_usd)::bigint as overdraft, bool_or(frozen_at is not null) as frozen
      from unnest(${plainArray(wallets.map((wallet) => toUuid(wallet.orgId)))}::uuid[], ${wallets.map((wallet) => wallet.mode)}::text[])
        as wallet (org_id, mode)
      join ledger_accounts account on account.org_id = wallet.org_id and account.mode = wallet.mode
     where kind in ('credit', 'promo')
       and (expires_at is null or expires_at > ${now} or held_nano_usd > 0)
     group by account.org_id, account.mode
  `.execute(reader.kysely);
  return new Map(
    rows.map((row) => [
      walletKey({ orgId: fromUuid('org', row.org_id), mode: row.mode }),
      {
        balance: nanoUsd(row.balance),
        held: nanoUsd(row.held),
        available: nanoUsd(row.available),
        overdraft: nanoUsd(row.overdraft),
        frozen: row.frozen,
      },
    ]),
  );
}

export async function readBalance(reader: Reader, orgId: OrgId, mode: Mode, now: Date): Promise<Balance> {
  const balances = await readBalances(reader, [{ orgId, mode }], now);
  return balances.get(walletKey({ orgId, mode })) ?? { ...noAmounts, frozen: false };
}

/** Balances in live mode, for lists of organisations. Organisations without accounts are missing from the map. */
export async function readLiveBalances(
  reader: Reader,
  orgIds: readonly OrgId[],
): Promise<ReadonlyMap<OrgId, NanoUsd>> {
  const wallets = orgIds.map((orgId) => ({ orgId, mode: 'live' as const }));
  const balances = await readBalances(reader, wallets, reader.clock.now());
  return new Map(
    wallets.flatMap((wallet) => {
      const found = balances.get(walletKey(wallet));
      return found === undefined ? [] : [[wallet.orgId, found.balance] as const];
    }),
  );
}

export interface EarnedBalance {
  /** Including held money; negative if the supplier owes. */
  readonly balance: NanoUsd;
  /** Held for requested payouts. */
  readonly held: NanoUsd;
}

export async function readEarned(reader: Reader, orgId: OrgId, mode: Mode): Promise<EarnedBalance> {
  const row = await reader.kysely
    .selectFrom('ledger_accounts')
    .select(['balance_nano_usd', 'held_nano_usd'])
    .where('org_id', '=', toUuid(orgId))
    .where('mode', '=', mode)
    .where('kind', '=', 'supplier_payable')
    .executeTakeFirst();
  return { balance: nanoUsd(row?.balance_nano_usd ?? 0n), held: nanoUsd(row?.held_nano_usd ?? 0n) };
}

export async function findHold(reader: Reader, orgId: OrgId, holdId: HoldId): Promise<HoldRecord | null> {
  const row = await reader.kysely
    .selectFrom('ledger_holds')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(holdId))
    .executeTakeFirst();
  if (row === undefined) return null;
  return {
    id: holdId,
    orgId,
    mode: row.mode,
    cause: { kind: row.cause_kind, id: row.cause_id },
    keyId: row.key_id === null ? null : fromUuid('key', row.key_id),
    held: nanoUsd(row.held_nano_usd),
    posted: nanoUsd(row.posted_nano_usd),
    closed: row.closed_at !== null,
  };
}

function transferFromRow(row: Selectable<Tables['ledger_transfers']>): TransferRecord {
  return {
    id: fromUuid('trf', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    kind: row.kind,
    cause: { kind: row.cause_kind, id: row.cause_id },
    amount: nanoUsd(row.amount_nano_usd),
    balanceAfter: nanoUsd(row.balance_after_nano_usd),
    holdId: row.hold_id === null ? null : fromUuid('hld', row.hold_id),
    reverses: row.reverses === null ? null : fromUuid('trf', row.reverses),
    keyId: row.key_id === null ? null : fromUuid('key', row.key_id),
    description: row.description,
    usage: row.usage as UsageQuantities | null,
    occurredAt: row.occurred_at,
  };
}

/** Restricted to one organisation, so that a tenant cannot read transfers of others. */
export async function findTransfer(db: Reader, orgId: OrgId, id: TransferId): Promise<TransferRecord | null> {
  const transfer = await findAnyTransfer(db, id);
  return transfer?.orgId === orgId ? transfer : null;
}

/** For operators: not restricted to an organisation. */
export async function findAnyTransfer(reader: Reader, id: TransferId): Promise<TransferRecord | null> {
  const { rows } = await sql<Selectable<Tables['ledger_transfers']>>`
    select * from all_ledger_transfers where id = ${toUuid(id)}`.execute(reader.kysely);
  return rows[0] === undefined ? null : transferFromRow(rows[0]);
}

export interface TransferFilter {
  readonly mode?: Mode;
  readonly kind?: TransferKind;
  readonly cause?: { readonly kind: MoneyCause['kind']; readonly id?: MoneyCause['id'] };
  readonly from?: Date;
  readonly until?: Date;
}

interface TransferPage {
  readonly limit: number;
  readonly after: TransferId | null;
}

/** Lists an organisation's transfers, newest first. Transfers of budgets move no money and are left out. */
export async function listTransfers(
  reader: Reader,
  orgId: OrgId,
  filter: TransferFilter,
  page: TransferPage,
): Promise<readonly TransferRecord[]> {
  const query = allTransfers(reader).where('org_id', '=', toUuid(orgId));
  return readPage(query, filter, page);
}

/** For operators: transfers of all organisations. */
export async function listAllTransfers(
  reader: Reader,
  filter: TransferFilter & { readonly orgId?: OrgId },
  page: TransferPage,
): Promise<readonly TransferRecord[]> {
  let query = allTransfers(reader);
  if (filter.orgId !== undefined) query = query.where('org_id', '=', toUuid(filter.orgId));
  return readPage(query, filter, page);
}

type TransferRow = Selectable<Tables['ledger_transfers']>;
type TransferQuery = SelectQueryBuilder<{ transfer: TransferRow }, 'transfer', TransferRow>;

/** Transfers of all times. The indexes of both tables have the order of a page, so a page reads only its rows. */
function allTransfers(reader: Reader): TransferQuery {
  const table = sql<TransferRow>`all_ledger_transfers`.as('transfer');
  return reader.kysely.selectFrom(table).selectAll() as unknown as TransferQuery;
}

async function readPage(
  start: TransferQuery,
  filter: TransferFilter,
  page: TransferPage,
): Promise<readonly TransferRecord[]> {
  let query = start.where('kind', '<>', 'budget');
  if (filter.mode !== undefined) query = query.where('mode', '=', filter.mode);
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind);
  if (filter.cause !== undefined) {
    const { kind, id } = filter.cause;
    // The key starts with the cause, so its index is used. Ids may contain colons, so the cause columns decide.
    const prefix = id === undefined ? `${kind}:` : `${kind}:${id}:`;
    query = query
      .where(sql<boolean>`starts_with(idempotency_key, ${prefix})`)
      .where('cause_kind', '=', kind)
      .where(id === undefined ? sql.lit(true) : sql<boolean>`cause_id = ${id}`);
  }
  if (filter.from !== undefined) {
    query = query.where('occurred_at', '>=', filter.from).where('id', '>=', firstIdFrom(filter.from));
  }
  if (filter.until !== undefined) {
    query = query.where('occurred_at', '<', filter.until).where('id', '<', firstIdAfter(filter.until));
  }
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(transferFromRow);
}

/** Freezes or unfreezes an organisation's credit. Returns false if it has no account. */
export async function setFrozen(tx: Tx, orgId: OrgId, mode: Mode, frozen: boolean): Promise<boolean> {
  const { rows } = await sql`
    update ledger_accounts
       set frozen_at = case when ${frozen} then coalesce(frozen_at, ${tx.clock.now()}) end
     where org_id = ${toUuid(orgId)} and mode = ${mode} and kind = 'credit'
    returning id
  `.execute(tx.kysely);
  return rows.length > 0;
}

/** Sets how far the balance may go below zero. Returns false if more than that is already used. */
export async function setOverdraft(tx: Tx, orgId: OrgId, mode: Mode, overdraft: NanoUsd): Promise<boolean> {
  const floor = negateUsd(overdraft);
  const { rows } = await sql`
    update ledger_accounts set floor_nano_usd = ${floor}
     where org_id = ${toUuid(orgId)} and mode = ${mode} and kind = 'credit'
       and balance_nano_usd - held_nano_usd >= ${floor}
    returning id
  `.execute(tx.kysely);
  return rows.length > 0;
}

export interface ExpiredPromo extends WalletRef {
  readonly accountId: LedgerAccountId;
  readonly entryCount: bigint;
}

/** Expired promotional accounts with credit that no hold covers. */
export async function listExpiredPromos(tx: Tx, now: Date, limit: number): Promise<readonly ExpiredPromo[]> {
  const { rows } = await sql<{ id: string; org_id: string; mode: Mode; entry_count: bigint }>`
    select id, org_id, mode, entry_count from ledger_accounts
     where expires_at <= ${now} and balance_nano_usd > held_nano_usd
       and ${isItemAvailable(expirePromoLoop, sql<string>`ledger_accounts.id::text`, now)}
     order by expires_at limit ${limit}
  `.execute(tx.kysely);
  return rows.map((row) => ({
    accountId: fromUuid('lac', row.id),
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    entryCount: row.entry_count,
  }));
}
