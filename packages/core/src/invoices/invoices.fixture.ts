import type { SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db, type Tx } from '@millrace/platform/db';
import { createIdSource, toUuid, type OrgId, type TransferId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';
import { outboxShards } from '@millrace/platform/outbox';
import {
  createOrganisation,
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  testClock,
  uniqueId,
  type TestDatabase,
} from '@millrace/testing';
import { sql } from 'kysely';
import { findingsOf, runAudit } from '../auditor/index.ts';
import { HOUR_MS, quiet, usd } from '../customers.fixture.ts';
import {
  applyLedger,
  requireLedgerSuccess,
  type LedgerCommand,
  type UsageQuantities,
} from '../ledger/index.ts';
import { changeMeters, openMeters, sweepMeters, type Meter } from '../metering/index.ts';
import { exportCosts } from './cost-export.service.ts';
import { findInvoice, listInvoices } from './invoices.store.ts';
import { makeDueInvoices } from './invoices.service.ts';
import type { Invoice } from './invoice.ts';

/** Organisations with a real ledger and invoices, on a simulated clock. */

const allShards = Array.from({ length: outboxShards }, (_, shard) => shard);
export { HOUR_MS, usd };
export const issuer = 'Example Cloud Ltd\n1 Mill Lane';

export interface InvoiceHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly clock: SimulatedClock;
  organisation(balanceUsd?: number): Promise<OrgId>;
  grant(orgId: OrgId, amount: NanoUsd): Promise<void>;
  apply(...commands: LedgerCommand[]): Promise<readonly (TransferId | null)[]>;
  /** Charges at once, with or without usage. */
  charge(orgId: OrgId, amount: NanoUsd, fields?: ChargeFields): Promise<TransferId>;
  rent(orgId: OrgId, ratePerHour: NanoUsd): Promise<Meter>;
  close(meter: Meter, at: Date): Promise<void>;
  goTo(at: Date): Promise<void>;
  sweepMeters(): Promise<void>;
  /** Sweeps until nothing is due. */
  sweep(limit?: number, db?: Db): Promise<void>;
  invoicesOf(orgId: OrgId): Promise<readonly Invoice[]>;
  /** Charges less credits and refunds in a time range, computed without the code under test. */
  ledgerCost(orgId: OrgId, from: Date, until: Date): Promise<bigint>;
  exported(orgId: OrgId, from: Date, until: Date): Promise<string>;
  drift(): Promise<readonly string[]>;
  rows<Row>(text: string): Promise<Row[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface ChargeFields {
  readonly cause?: { readonly kind: string; readonly id: string };
  readonly usage?: UsageQuantities;
}

export async function createInvoiceHarness(startMs?: number): Promise<InvoiceHarness> {
  const database = await createTestDatabase();
  const clock = testClock(startMs);
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: 8,
    clock: hybridClock(clock),
    ids,
    log: quiet,
  });
  const within = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.transaction({ name: 'test', isolation: 'read committed' }, work);
  const rows = async <Row>(text: string): Promise<Row[]> =>
    (await sql.raw<Row>(text).execute(db.kysely)).rows;
  const apply: InvoiceHarness['apply'] = async (...commands) =>
    (await within((tx) => applyLedger(tx, commands))).map(
      (result) => requireLedgerSuccess(result).transferId,
    );
  const sweepAll = async (): Promise<void> => {
    await sweepMeters(db, { shards: allShards, log: quiet });
  };

  const grant: InvoiceHarness['grant'] = async (orgId, amount) => {
    await apply({
      do: 'credit',
      kind: 'grant',
      orgId,
      mode: 'live',
      cause: { kind: 'operator', id: uniqueId() },
      step: 'grant',
      amount,
      from: [{ account: { kind: 'grants' }, amount }],
      description: 'Grant',
    });
  };

  return {
    database,
    db,
    clock,
    apply,
    rows,
    sweepMeters: sweepAll,
    grant,
    organisation: async (balanceUsd = 100_000) => {
      const orgId = await createOrganisation(db);
      await grant(orgId, usd(balanceUsd));
      return orgId;
    },
    charge: async (orgId, amount, { cause = { kind: 'rental', id: uniqueId() }, usage } = {}) => {
      const [id] = await apply({
        do: 'debit',
        kind: 'charge',
        orgId,
        mode: 'live',
        cause,
        step: uniqueId(),
        amount,
        to: [{ account: { kind: 'revenue', product: 'rental' }, amount }],
        whenShort: 'refuse',
        ...(usage === undefined ? {} : { usage }),
        description: 'Work',
      });
      if (id === null || id === undefined) throw new Error('no transfer');
      return id;
    },
    rent: async (orgId, ratePerHour) => {
      const [meter] = await within((tx) =>
        openMeters(tx, orgId, [
          {
            mode: 'live',
            cause: { kind: 'rental', id: uniqueId() },
            name: 'gpu',
            product: 'rental',
            ratePerHour,
            quantity: 8,
            unit: 'gpu',
            funding: { kind: 'ahead' },
            at: clock.now(),
          },
        ]),
      );
      if (meter === undefined) throw new Error('no meter');
      return meter;
    },
    close: async (meter, at) => {
      await within((tx) => changeMeters(tx, meter.orgId, [{ do: 'close', meterId: meter.id, at }]));
    },
    goTo: (at) => clock.advance(at.getTime() - clock.nowMs()),
    sweep: async (limit = 100, with_ = db) => {
      while ((await makeDueInvoices(with_, { log: quiet, limit, issuer })) >= limit);
    },
    invoicesOf: async (orgId) => {
      const all = await listInvoices(db, orgId, { limit: 50, after: null });
      const found = await Promise.all(all.map(({ id }) => findInvoice(db, orgId, id)));
      return found.flatMap((invoice) => (invoice === null ? [] : [invoice])).toReversed();
    },
    ledgerCost: async (orgId, from, until) => {
      const moved = await rows<{
        id: string;
        kind: string;
        amount: bigint;
        reverses: string | null;
        at: Date;
      }>(
        `select id, kind, amount_nano_usd as amount, reverses, occurred_at as at from ledger_transfers
          where org_id = '${toUuid(orgId)}' and mode = 'live'`,
      );
      const kindOf = new Map(moved.map(({ id, kind }) => [id, kind]));
      return moved
        .filter(({ at }) => at >= from && at < until)
        .filter(({ kind, reverses }) =>
          ['charge', 'credit'].includes(reverses === null ? kind : (kindOf.get(reverses) ?? '')),
        )
        .reduce((sum, { amount }) => sum - amount, 0n);
    },
    exported: async (orgId, from, until) => {
      const wanted = {
        orgId,
        orgName: 'Acme, "Inc"',
        mode: 'live',
        issuer: 'Example',
        period: { from, until },
      } as const;
      let text = '';
      for await (const piece of exportCosts(db, wanted)) text += piece;
      return text;
    },
    drift: async () => {
      const report = await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' });
      if (report === null) throw new Error('no audit report');
      return findingsOf(report, 'error').map(({ check, sentence }) => `${check}: ${sentence}`);
    },
    [Symbol.asyncDispose]: async () => {
      await db.close();
      await database.drop();
    },
  };
}
