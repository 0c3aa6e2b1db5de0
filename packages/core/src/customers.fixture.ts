import type { ApiKeyLimits, Scope } from '@millrace/contract';
import type { SimulatedClock } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { KeyId, OrgId, UserId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { outboxShards } from '@millrace/platform/outbox';
import { createTenant, uniqueId, type TestDatabase } from '@millrace/testing';
import { createKeyBudget } from './billing/index.ts';
import {
  createApiKeyService,
  issueUnrestrictedKey,
  unlimitedKeyLimits,
  systemAuditContext,
  type CallContext,
} from './identity/index.ts';
import {
  applyLedger,
  listTransfers,
  readBalance,
  requireLedgerSuccess,
  type MoneyCause,
} from './ledger/index.ts';
import { sweepMeters } from './metering/index.ts';

/** Customers for the harnesses of several features: users, keys, and money in the real ledger. */

export const usd = (amount: number): NanoUsd => nanoUsd(BigInt(Math.round(amount * 1_000_000_000)));
export const quiet = createLogger({ name: 'test', level: 'silent' });
export const readCommitted = 'read committed' as const;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

export interface Customer {
  readonly orgId: OrgId;
  readonly userId: UserId;
  readonly keys: Readonly<Record<Mode, KeyId>>;
  /** A call context with the customer's default key or the given key. */
  call(mode?: Mode, keyId?: KeyId): CallContext;
}

export interface Balance {
  readonly balance: bigint;
  readonly held: bigint;
  readonly available: bigint;
}

interface KeySpec {
  readonly mode?: Mode;
  readonly scopes: readonly Scope[];
  readonly limits: Partial<ApiKeyLimits>;
}

export interface Customers {
  customer(balanceUsd: number): Promise<Customer>;
  addKey(who: Customer, request: KeySpec): Promise<KeyId>;
  rotate(who: Customer, mode: Mode, keyId: KeyId): Promise<KeyId>;
  topUp(orgId: OrgId, amountUsd: number): Promise<void>;
  sweepMeters(): Promise<void>;
  balance(orgId: OrgId, mode?: Mode): Promise<Balance>;
  /** Charges less credits of a resource. */
  paid(orgId: OrgId, cause: MoneyCause): Promise<bigint>;
}

export function customersOf(database: TestDatabase, db: Db, clock: SimulatedClock): Customers {
  const within = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.transaction({ name: 'test', isolation: readCommitted }, work);
  const money = moneyOf(db, clock, within);
  return {
    ...money,
    ...keysOf(within),
    customer: async (balanceUsd) => {
      const { orgId, ownerId: userId } = await createTenant(database.db);
      if (balanceUsd > 0) await money.topUp(orgId, balanceUsd);
      const user = { id: userId, name: 'Ada Tester', email: 'ada@example.com', image: null };
      const fullKey = async (mode: Mode): Promise<KeyId> => {
        const request = { orgId, user, mode, name: mode };
        const { key } = await within((tx) =>
          issueUnrestrictedKey(tx, systemAuditContext('test', mode), request),
        );
        return key.id;
      };
      const keys = { live: await fullKey('live'), test: await fullKey('test') };
      const call: Customer['call'] = (mode = 'live', keyId = keys[mode]) => ({
        orgId,
        keyId,
        cause: { actor: { kind: 'key', id: keyId }, mode, requestId: null, ip: null },
      });
      return { orgId, userId, keys, call };
    },
  };
}

type Within = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

function keysOf(within: Within): Pick<Customers, 'addKey' | 'rotate'> {
  const service = createApiKeyService({ announce: () => undefined, onKeyCreated: createKeyBudget });
  return {
    addKey: async (who, { mode = 'live', scopes, limits }) => {
      const request = {
        name: `limited ${uniqueId()}`,
        mode,
        scopes,
        limits: { ...unlimitedKeyLimits, ...limits },
        allowedIps: [],
        expiresAt: null,
      };
      const { key } = await within((tx) => service.create(tx, who.call(mode), request));
      return key.id;
    },
    rotate: async (who, mode, keyId) => {
      const { key } = await within((tx) => service.rotate(tx, who.call(mode), keyId, HOUR_MS));
      return key.id;
    },
  };
}

function moneyOf(
  db: Db,
  clock: SimulatedClock,
  within: Within,
): Pick<Customers, 'topUp' | 'sweepMeters' | 'balance' | 'paid'> {
  const shards = Array.from({ length: outboxShards }, (_, shard) => shard);
  return {
    topUp: async (orgId, amountUsd) => {
      const amount = usd(amountUsd);
      const [result] = await within((tx) =>
        applyLedger(tx, [
          {
            do: 'credit',
            kind: 'top_up',
            orgId,
            mode: 'live',
            cause: { kind: 'payment', id: uniqueId() },
            step: 'paid',
            amount,
            from: [{ account: { kind: 'payments_clearing' }, amount }],
            description: 'Top-up',
          },
        ]),
      );
      requireLedgerSuccess(result);
    },
    sweepMeters: async () => {
      await sweepMeters(db, { shards, log: quiet });
    },
    balance: async (orgId, mode = 'live') => {
      const { balance, held, available } = await readBalance(db, orgId, mode, clock.now());
      return { balance, held, available };
    },
    paid: async (orgId, cause) => {
      const page = { limit: 1_000, after: null };
      const transfers = await listTransfers(db, orgId, { mode: 'live', cause }, page);
      return transfers.reduce((sum, { amount }) => sum - amount, 0n);
    },
  };
}
