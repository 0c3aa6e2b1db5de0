import { defineStatement, runStatement, type Tables, type Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { toUuid } from '@millrace/platform/ids';
import { sql, type Nullable, type Selectable } from 'kysely';
import { shardOfOrganisation, systemAccountId, type Account } from './accounts.ts';
import type { LedgerCommand, Share } from '../model/ledger.ts';
import { commandKeyOf, walletKeyOf, type WorkingSet, type Wallet } from './working-set.ts';
import { plainArray, texts } from './sql-arrays.ts';
import { fillHolds, fillTransfers } from './recorded.store.ts';
import { fillUndoable, readUndoAccounts } from './undo.store.ts';

/**
 * Loads and locks the rows of a batch. All batches lock in the same order, so that they cannot deadlock: accounts of
 * owners by id, then their other accounts, then the operator's accounts by id.
 */

interface BatchNeeds {
  readonly wallets: ReadonlyMap<string, { readonly orgId: string; readonly mode: Mode }>;
  readonly payables: ReadonlyMap<string, { readonly orgId: string; readonly mode: Mode }>;
  readonly keyIds: readonly string[];
  readonly budgetIds: readonly string[];
  readonly holdIds: readonly string[];
  readonly holdKeys: readonly { readonly orgId: string; readonly key: string }[];
  readonly transferKeys: readonly { readonly orgId: string; readonly key: string }[];
  readonly undoIds: readonly string[];
  readonly systemIds: ReadonlySet<string>;
  readonly shard: number;
}

function sharesOf(command: LedgerCommand): readonly Share[] {
  switch (command.do) {
    case 'credit':
      return command.from;
    case 'debit':
    case 'post':
      return command.to;
    default:
      return [];
  }
}

function isOfEarnings(command: LedgerCommand): boolean {
  if (command.do === 'hold' || command.do === 'close') return command.of === 'earnings';
  return command.do === 'pay_out' || (command.do === 'debit' && command.kind === 'payout');
}

/** Whether the command may charge the shortfall account or return money to it. */
function mayUseShortfall(command: LedgerCommand): boolean {
  if (command.do === 'debit') return command.whenShort === 'shortfall';
  if (command.do === 'credit') return (command.absorbed ?? 0n) > 0n;
  // A reversed clawback may return a repaid debt.
  return command.do === 'post' || command.do === 'reverse';
}

function needsOf(commands: readonly LedgerCommand[]): BatchNeeds {
  const wallets = new Map<string, { orgId: string; mode: Mode }>();
  const payables = new Map<string, { orgId: string; mode: Mode }>();
  const needs = {
    keyIds: new Set<string>(),
    budgetIds: new Set<string>(),
    holdIds: new Set<string>(),
    undoIds: new Set<string>(),
    systemIds: new Set<string>(),
    holdKeys: [] as { orgId: string; key: string }[],
    transferKeys: [] as { orgId: string; key: string }[],
  };
  const [first] = commands;
  const shard = first === undefined ? 0 : shardOfOrganisation(toUuid(first.orgId));
  for (const command of commands) {
    const { mode } = command;
    const ref = walletKeyOf(command.orgId, mode);
    const known = wallets.get(ref);
    const orgId = known?.orgId ?? toUuid(command.orgId);
    if (known === undefined) wallets.set(ref, { orgId, mode });
    for (const { account } of sharesOf(command)) {
      if (account.kind !== 'supplier_payable') needs.systemIds.add(systemAccountId(account, mode, shard));
      else payables.set(walletKeyOf(toUuid(account.orgId), mode), { orgId: toUuid(account.orgId), mode });
    }
    if (command.do !== 'hold' && command.do !== 'resize' && command.do !== 'close') {
      needs.transferKeys.push({ orgId, key: commandKeyOf(command) });
    }
    if (mayUseShortfall(command)) needs.systemIds.add(systemAccountId({ kind: 'shortfall' }, mode, shard));
    if ('keyId' in command && command.keyId !== undefined) needs.keyIds.add(toUuid(command.keyId));
    if ('holdId' in command) needs.holdIds.add(toUuid(command.holdId));
    if ('transferId' in command) needs.undoIds.add(toUuid(command.transferId));
    if (command.do === 'hold') {
      needs.holdKeys.push({ orgId, key: commandKeyOf(command) });
      for (const id of command.onlyBudgets ?? []) needs.budgetIds.add(toUuid(id));
    }
    if (command.do === 'limit') needs.budgetIds.add(toUuid(command.budgetId));
    if (command.do === 'expire') needs.systemIds.add(systemAccountId({ kind: 'grants' }, mode, shard));
    if (isOfEarnings(command)) payables.set(walletKeyOf(orgId, mode), { orgId, mode });
    if (command.do === 'pay_out') {
      needs.systemIds.add(systemAccountId({ kind: 'payments_clearing' }, mode, shard));
    }
  }
  return {
    wallets,
    payables,
    shard,
    systemIds: needs.systemIds,
    keyIds: [...needs.keyIds],
    budgetIds: [...needs.budgetIds],
    holdIds: [...needs.holdIds],
    undoIds: [...needs.undoIds],
    holdKeys: needs.holdKeys,
    transferKeys: needs.transferKeys,
  };
}

type BudgetRow = Omit<
  Selectable<Tables['budgets']>,
  'id' | 'org_id' | 'mode' | 'name' | 'created_at' | 'deleted_at' | 'is_key_limit'
> & { readonly budget_name: string };

/** Only limit accounts have budget columns. */
type AccountRow = Omit<Selectable<Tables['ledger_accounts']>, 'product' | 'shard' | 'created_at'> &
  Partial<Nullable<BudgetRow>>;

function accountFromRow(row: AccountRow): Account {
  return {
    id: row.id,
    kind: row.kind,
    orgId: row.org_id,
    mode: row.mode,
    priority: row.priority,
    expiresAtMs: row.expires_at?.getTime() ?? null,
    frozen: row.frozen_at !== null,
    budget: row.kind === 'limit' ? budgetFromRow(row) : null,
    isNew: false,
    balance: row.balance_nano_usd,
    held: row.held_nano_usd,
    floor: row.floor_nano_usd,
    entryCount: row.entry_count,
    owed: row.owed_nano_usd,
    writtenOff: row.written_off_nano_usd,
    hasCompanions: row.has_companions,
    touched: false,
  };
}

function budgetFromRow(row: AccountRow): Account['budget'] {
  if (!row.period || !row.limit_nano_usd || !row.period_start) return null;
  return {
    name: row.budget_name ?? '',
    keyIds: row.key_ids ?? null,
    period: row.period,
    limit: row.limit_nano_usd,
    thresholdsPercent: row.thresholds_percent ?? [],
    onExceeded: row.on_exceeded ?? 'notify',
    periodStartMs: row.period_start.getTime(),
    periodEndMs: row.period_end?.getTime() ?? null,
    notifiedPercent: row.notified_percent ?? 0,
    changed: false,
  };
}

const accountColumns = `account.id, account.kind, account.org_id, account.mode, account.balance_nano_usd,
  account.held_nano_usd, account.floor_nano_usd, account.entry_count, account.priority, account.expires_at,
  account.frozen_at, account.owed_nano_usd, account.written_off_nano_usd, account.has_companions`;

// Looks up the keys before the wait for locks. If another transaction uses a key during the wait,
// `ledger_transfers_once` or `ledger_holds_once` refuses the second use and the transaction is retried.
const ownersAndKnown = `select ${accountColumns},
          array(select known.id::text
                  from unnest($2::uuid[], $3::text[]) as wish (org_id, key)
                  join ledger_transfers known on known.org_id = wish.org_id and known.idempotency_key = wish.key
                 union all
                select known.transfer_id::text
                  from unnest($2::uuid[], $3::text[]) as wish (org_id, key)
                  join ledger_archived_keys known on known.key_hash = ledger_key_hash(wish.org_id, wish.key)
               ) as known_transfers,
          array(select known.id::text
                  from unnest($4::uuid[], $5::text[]) as wish (org_id, key)
                  join ledger_holds known on known.org_id = wish.org_id and known.idempotency_key = wish.key
               ) as known_holds
     from ledger_accounts account`;

const ownersStatement = defineStatement(
  'ledger lock owners',
  `${ownersAndKnown}
    where account.kind = 'credit' and account.org_id = any($1::uuid[])
    order by account.id
      for update`,
);

const ownersAndSuppliersStatement = defineStatement(
  'ledger lock owners and suppliers',
  `${ownersAndKnown}
    where (account.kind = 'credit' and account.org_id = any($1::uuid[]))
       or (account.kind = 'supplier_payable' and (account.org_id = any($6::uuid[]) or account.id = any($7::uuid[])))
    order by account.id
      for update`,
);

/** `known_transfers` and `known_holds` are the same in every row. */
type OwnerRow = AccountRow & { readonly known_transfers: string[]; readonly known_holds: string[] };

/**
 * Locks the credit accounts of organisations and the payable accounts of suppliers, by id. The lock on a credit account
 * covers all other accounts, holds and transfers of the organisation. Those are read by later statements, because this
 * one would see their state from before the wait.
 */
async function lockOwners(tx: Tx, needs: BatchNeeds, undoAccounts: string[]): Promise<readonly OwnerRow[]> {
  const values = [
    plainArray(Array.from(needs.wallets.values(), ({ orgId }) => orgId)),
    plainArray(needs.transferKeys.map((request) => request.orgId)),
    texts(needs.transferKeys.map((request) => request.key)),
    plainArray(needs.holdKeys.map((request) => request.orgId)),
    texts(needs.holdKeys.map((request) => request.key)),
  ];
  if (needs.payables.size + undoAccounts.length === 0) return runStatement(tx, ownersStatement, values);
  const suppliers = plainArray(Array.from(needs.payables.values(), ({ orgId }) => orgId));
  return runStatement(tx, ownersAndSuppliersStatement, [...values, suppliers, plainArray(undoAccounts)]);
}

// The ids are selected first and then locked: PostgreSQL re-evaluates a join in a locking statement after a wait, and
// could then miss the row.
const otherAccountsStatement = defineStatement(
  'ledger lock the rest',
  `select ${accountColumns}, budget.name as budget_name, budget.key_ids, budget.period, budget.limit_nano_usd,
          budget.period_start, budget.period_end, budget.thresholds_percent, budget.notified_percent, budget.on_exceeded
     from ledger_accounts account
     left join budgets budget on budget.id = account.id and budget.deleted_at is null
    where account.id = any(array(
            select owned.id
              from unnest($1::uuid[], $2::text[]) as wallet (org_id, mode)
              join ledger_accounts owned on owned.org_id = wallet.org_id and owned.mode = wallet.mode
              left join budgets counting on counting.id = owned.id
             where (owned.kind = 'promo' and (owned.balance_nano_usd <> 0 or owned.held_nano_usd <> 0))
                or (owned.kind = 'limit' and counting.deleted_at is null
                    and (counting.key_ids is null or counting.key_ids && $3::uuid[] or counting.id = any($4::uuid[])
                         or counting.key_ids && array(
                              select key_id from ledger_holds where id = any($6::uuid[]) and key_id is not null)))
             union all
            select * from unnest($5::uuid[])
             union all
            select part.account_id from ledger_hold_parts part where part.hold_id = any($6::uuid[])))
    order by account.id
      for update of account`,
);

/**
 * Locks promotional and limit accounts of the few owners that have any, and the operator's accounts. Postings from a
 * hold count against all current budgets of the hold's key, including budgets that are newer than the hold.
 */
async function lockOtherAccounts(
  tx: Tx,
  needs: BatchNeeds,
  owners: readonly AccountRow[],
  otherIds: readonly string[],
): Promise<readonly AccountRow[]> {
  const wallets = owners.filter((owner) => owner.has_companions);
  if (wallets.length + otherIds.length === 0) return [];
  return runStatement(tx, otherAccountsStatement, [
    plainArray(wallets.map((owner) => owner.org_id)),
    wallets.map((owner) => owner.mode),
    plainArray(needs.keyIds),
    plainArray(needs.budgetIds),
    plainArray(otherIds),
    plainArray(wallets.length === 0 ? [] : needs.holdIds),
  ]);
}

function debtAccounts(owners: readonly AccountRow[], shard: number): readonly string[] {
  return owners
    .filter((owner) => owner.owed_nano_usd > 0n)
    .map((owner) => systemAccountId({ kind: 'shortfall' }, owner.mode, shard));
}

/** Creates the accounts of an organisation at its first transfer. Concurrent inserts create one row. */
async function openMissingAccounts(tx: Tx, needs: BatchNeeds, rows: readonly AccountRow[]): Promise<boolean> {
  const have = new Set(rows.map((row) => `${row.kind}:${row.org_id}:${row.mode}`));
  const missing = [
    ...[...needs.wallets.values()].map((wallet) => ({ kind: 'credit', ...wallet })),
    ...[...needs.payables.values()].map((payable) => ({ kind: 'supplier_payable', ...payable })),
  ].filter(({ kind, orgId, mode }) => !have.has(`${kind}:${orgId}:${mode}`));
  if (missing.length === 0) return false;
  await sql`
    insert into ledger_accounts (id, kind, org_id, mode, floor_nano_usd)
    select id, kind, org_id, mode, 0
      from unnest(${plainArray(missing.map(() => tx.ids.nextUuid()))}::uuid[], ${missing.map((m) => m.kind)}::text[],
                  ${plainArray(missing.map((m) => m.orgId))}::uuid[], ${missing.map((m) => m.mode)}::text[])
        as missing (id, kind, org_id, mode)
     order by org_id, mode, kind
    on conflict do nothing
  `.execute(tx.kysely);
  return true;
}

export async function loadWorkingSet(tx: Tx, commands: readonly LedgerCommand[]): Promise<WorkingSet> {
  const needs = needsOf(commands);
  const slice = emptyWorkingSet(tx, needs.shard);
  const undoAccounts = await readUndoAccounts(tx, needs.undoIds);
  let owners = await lockOwners(tx, needs, undoAccounts);
  if (await openMissingAccounts(tx, needs, owners)) owners = await lockOwners(tx, needs, undoAccounts);
  const systemIds = new Set([...needs.systemIds, ...debtAccounts(owners, needs.shard)]);
  const rest = await lockOtherAccounts(tx, needs, owners, [...systemIds, ...undoAccounts]);
  fillAccounts(slice, [...owners, ...rest, ...(await lockLimitContra(tx, needs, rest))], needs);
  const [first] = owners;
  await fillHolds(tx, slice, [...needs.holdIds, ...(first?.known_holds ?? [])]);
  await fillTransfers(tx, slice, first?.known_transfers ?? []);
  await fillUndoable(tx, slice, needs.undoIds);
  return slice;
}

/** The ids of contra accounts sort last, so that locking them in a separate statement follows the lock order. */
async function lockLimitContra(tx: Tx, needs: BatchNeeds, rows: readonly AccountRow[]) {
  const modes = new Set(rows.filter((row) => row.kind === 'limit').map((row) => row.mode));
  if (modes.size === 0) return [];
  const ids = Array.from(modes, (mode) => systemAccountId({ kind: 'limit_contra' }, mode, needs.shard));
  return lockOtherAccounts(tx, needs, [], ids);
}

function emptyWorkingSet(tx: Tx, shard: number): WorkingSet {
  return {
    nowMs: tx.clock.nowMs(),
    shard,
    nextUuid: () => tx.ids.nextUuid(),
    accounts: new Map(),
    wallets: new Map(),
    payables: new Map(),
    holds: new Map(),
    holdsByKey: new Map(),
    transfersByKey: new Map(),
    undoable: new Map(),
    newTransfers: [],
    newEntries: [],
    notices: [],
  };
}

function fillAccounts(slice: WorkingSet, rows: readonly AccountRow[], needs: BatchNeeds): void {
  const money = new Map<string, Account[]>();
  const limits = new Map<string, Account[]>();
  const push = (map: Map<string, Account[]>, key: string, account: Account): void => {
    const list = map.get(key);
    if (list === undefined) map.set(key, [account]);
    else list.push(account);
  };
  for (const row of rows) {
    const account = accountFromRow(row);
    // A credit account appears twice if a hold or an undone transfer also refers to it.
    if (slice.accounts.has(account.id)) continue;
    slice.accounts.set(account.id, account);
    if (account.orgId === null) continue;
    const key = walletKeyOf(account.orgId, account.mode);
    if (account.kind === 'credit' || account.kind === 'promo') push(money, key, account);
    // A deleted budget is loaded only for a hold that still has a part in it.
    if (account.budget !== null) push(limits, key, account);
    if (account.kind === 'supplier_payable') slice.payables.set(key, account);
  }
  for (const [ref, { orgId, mode }] of needs.wallets) {
    const key = walletKeyOf(orgId, mode);
    const owned = money.get(key) ?? [];
    const credit = owned.find((account) => account.kind === 'credit');
    if (credit === undefined) throw new Error(`The credit account of ${key} does not exist.`);
    const wallet: Wallet = { orgId, mode, credit, money: owned, limits: limits.get(key) ?? [] };
    slice.wallets.set(ref, wallet);
  }
}
