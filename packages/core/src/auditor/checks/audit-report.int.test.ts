import { systemClock } from '@millrace/platform/clock';
import { createDb, type Db, type Tx } from '@millrace/platform/db';
import { createIdSource, fromUuid, toUuid } from '@millrace/platform/ids';
import { createTestDatabase, testLog, type TestDatabase } from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findingsOf, type AuditReport } from './audit-report.ts';
import { computeReport, runAudit } from '../auditor.service.ts';
import { auditChecks, type CheckName } from './checks.ts';
import { seedCharges, type SeededCharges } from '../charges.fixture.ts';
import { seedInvoice, type SeededInvoice } from '../invoices.fixture.ts';
import { invoiceCases } from '../invoices-cases.fixture.ts';
import { resourceCases } from '../resources-cases.fixture.ts';
import { seedSupplierMoney, type SeededSupplierMoney } from '../suppliers.fixture.ts';
import { seedAuditedLedger, type AuditedLedger } from '../audited-ledger.fixture.ts';

type SeededLedger = AuditedLedger & SeededCharges & SeededSupplierMoney & SeededInvoice;

let database: TestDatabase;
/** With the rights of the database owner: the audit must find changes that no process could make. */
let owner: Db;
let harness: SeededLedger;

beforeAll(async () => {
  database = await createTestDatabase({ statementTimeoutMs: 60_000 });
  owner = createDb({
    url: database.url,
    poolSize: 2,
    role: null,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: testLog(),
  });
  const ledger = await seedAuditedLedger(database.db);
  const supplied = await seedSupplierMoney(database, ledger.orgId);
  const causes = await seedCharges(database, ledger.orgId);
  harness = { ...ledger, ...supplied, ...causes, ...(await seedInvoice(database)) };
});
afterAll(async () => {
  await owner.close();
  await database.drop();
});

class Undo extends Error {}

/** Changes rows directly, audits and rolls back, so that the ledger is correct again for the next case. */
async function auditAfter(statements: Case['alter']): Promise<AuditReport> {
  let report: AuditReport | undefined;
  const alter = async (tx: Tx): Promise<void> => {
    await sql`set local session_replication_role = replica`.execute(tx.kysely);
    for (const statement of statements(harness)) await sql.raw(statement).execute(tx.kysely);
    report = await computeReport(tx, { kind: 'full' });
    throw new Undo();
  };
  await owner.transaction({ name: 'spoil', isolation: 'repeatable read' }, alter).catch((error: unknown) => {
    if (!(error instanceof Undo)) throw error;
  });
  return report ?? expect.fail('nothing was audited');
}

interface Case {
  readonly what: string;
  readonly alter: (harness: SeededLedger) => readonly string[];
  /** Exactly these findings, in any order: the check and its subject. */
  readonly names: (harness: SeededLedger) => readonly (readonly [CheckName, string])[];
}

const fakeId = '00000000-0000-7000-8000-000000000001';
const creditOf = (orgId: AuditedLedger['orgId']): string =>
  `kind = 'credit' and mode = 'live' and org_id = '${toUuid(orgId)}'`;

/** Inserts a volume without its feature, nodes and meters. */
function volumeRow(
  orgId: AuditedLedger['orgId'],
  row: { readonly wireId: number; readonly phase: 'live' | 'provisioning'; readonly rate: number },
): string {
  const isLive = row.phase === 'live';
  return `insert into volumes (id, wire_id, org_id, mode, user_id, node_id, region, vip, label, tags, size_gb, price, phase,
      status, status_since, created_at, started_at, next_action_at)
    values ('${fakeId}', ${row.wireId}, '${toUuid(orgId)}', 'live', '${fakeId}', '${fakeId}', 'eu-west-3', '10.8.0.10', 'data',
      '{}', 256, '{"rateNanoUsdPerHour": "${row.rate}"}', '${row.phase}', '${isLive ? 'active' : 'inactive'}', now(), now(),
      ${isLive ? 'now()' : 'null'}, now())`;
}

const ledgerCases: readonly Case[] = [
  {
    what: 'an entry with another amount',
    alter: (w) => [
      `update ledger_entries set amount_nano_usd = amount_nano_usd - 1
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [
      ['transfer_sums_to_zero', w.charged],
      ['transfer_amount', w.charged],
      ['account_balance', w.credit],
    ],
  },
  {
    what: 'deleted entries',
    alter: (w) => [`delete from ledger_entries where transfer_id = '${toUuid(w.charged)}'`],
    names: (w) => [
      ['transfer_has_entries', w.charged],
      ...w.chargedAccounts.flatMap((id) => [
        ['account_balance', id] as const,
        ['account_entry_count', id] as const,
      ]),
      ['budget_left', w.budget],
    ],
  },
  {
    what: 'a deleted transfer',
    alter: (w) => [`delete from ledger_transfers where id = '${toUuid(w.charged)}'`],
    names: (w) => [
      ['entry_has_transfer', w.charged],
      ['transfer_balance_after', w.orgId],
      ['budget_left', w.budget],
    ],
  },
  {
    what: 'an entry of an account that does not exist',
    alter: (w) => [
      `update ledger_entries set account_id = '${fakeId}'
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.revenue)}'`,
    ],
    names: (w) => [
      ['entry_has_account', w.charged],
      ['account_balance', w.revenue],
      ['account_entry_count', w.revenue],
    ],
  },
  {
    what: 'a transfer with another amount than its entries',
    alter: (w) => [
      `update ledger_transfers set amount_nano_usd = amount_nano_usd + 1, balance_after_nano_usd = balance_after_nano_usd + 1
        where id = '${toUuid(w.charged)}'`,
    ],
    names: (w) => [
      ['transfer_amount', w.charged],
      ['transfer_balance_after', w.orgId],
    ],
  },
  {
    what: 'a transfer with another balance after it',
    alter: (w) => [
      `update ledger_transfers set balance_after_nano_usd = balance_after_nano_usd + 7 where id = '${toUuid(w.charged)}'`,
    ],
    names: (w) => [['transfer_balance_after', w.charged]],
  },
  {
    what: 'money in entries of budgets',
    alter: (w) => [
      `update ledger_entries set amount_nano_usd = amount_nano_usd + 5
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.budgetAccount)}'`,
      `update ledger_entries set amount_nano_usd = amount_nano_usd - 5
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.revenue)}'`,
    ],
    names: (w) => [
      ['budget_counts_by_itself', w.charged],
      ['account_balance', w.budgetAccount],
      ['account_balance', w.revenue],
      ['budget_left', w.budget],
    ],
  },
  {
    what: 'live money in a test transfer',
    alter: (w) => [`update ledger_transfers set mode = 'test' where id = '${toUuid(w.charged)}'`],
    names: (w) => [
      ['transfer_one_mode', w.charged],
      ['transfer_balance_after', w.orgId],
      ['budget_left', w.budget],
    ],
  },
  {
    what: "a transfer in another organisation's ledger",
    alter: (w) => [
      `update ledger_transfers set org_id = '${toUuid(w.earner)}' where id = '${toUuid(w.charged)}'`,
    ],
    names: (w) => [
      ['transfer_one_owner', w.charged],
      ['transfer_balance_after', w.orgId],
      ['transfer_balance_after', w.charged],
      ['budget_left', w.budget],
    ],
  },
  {
    what: 'a transfer without an organisation',
    alter: (w) => [`update ledger_transfers set org_id = '${fakeId}' where id = '${toUuid(w.payout)}'`],
    names: (w) => [
      ['transfer_has_organisation', w.payout],
      ['transfer_has_its_hold', w.payout],
      ['payout_money', w.paidOut],
    ],
  },
  {
    what: 'a charge whose hold does not exist',
    alter: (w) => [
      `delete from ledger_hold_parts where hold_id = '${toUuid(w.closedHold)}'`,
      `delete from ledger_holds where id = '${toUuid(w.closedHold)}'`,
    ],
    names: (w) => [['transfer_has_its_hold', w.posted]],
  },
  {
    what: 'a refund of a transfer that does not exist',
    alter: (w) => [`update ledger_transfers set reverses = '${fakeId}' where id = '${toUuid(w.refunded)}'`],
    names: (w) => [['undo_has_its_original', w.refunded]],
  },
  {
    what: 'a refund of a smaller charge',
    alter: (w) => [
      `update ledger_transfers set reverses = '${toUuid(w.charged)}' where id = '${toUuid(w.reversed)}'`,
    ],
    names: (w) => [['undo_within_original', w.charged]],
  },
  {
    what: 'another balance',
    alter: (w) => [
      `update ledger_accounts set balance_nano_usd = balance_nano_usd + 1 where id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [
      ['account_balance', w.credit],
      ['transfer_balance_after', w.orgId],
    ],
  },
  {
    what: 'a wrong entry count',
    alter: (w) => [
      `update ledger_accounts set entry_count = entry_count + 1 where id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['account_entry_count', w.credit]],
  },
  {
    what: 'an entry with a wrong sequence number',
    alter: (w) => [
      `update ledger_entries set account_seq = account_seq + 100
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['account_chain', w.credit]],
  },
  {
    what: 'an entry with a wrong balance',
    alter: (w) => [
      `update ledger_entries set balance_after_nano_usd = balance_after_nano_usd + 1
        where transfer_id = '${toUuid(w.charged)}' and account_id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['account_chain', w.credit]],
  },
  {
    what: 'a balance below its floor',
    alter: (w) => [
      'alter table ledger_accounts drop constraint ledger_accounts_keep_their_floor',
      `update ledger_accounts set floor_nano_usd = balance_nano_usd + 1 where id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['account_floor', w.credit]],
  },
  {
    what: 'a held amount larger than its holds',
    alter: (w) => [`update ledger_accounts set held_nano_usd = held_nano_usd + 1 where ${creditOf(w.orgId)}`],
    names: (w) => [['account_held', w.credit]],
  },
  {
    what: 'a hold that is not the sum of its parts',
    alter: (w) => [
      `update ledger_holds set held_nano_usd = held_nano_usd + 1 where id = '${toUuid(w.openHold)}'`,
    ],
    names: (w) => [['hold_parts', w.openHold]],
  },
  {
    what: 'a hold with more of a budget than of money',
    alter: (w) => [
      `update ledger_hold_parts set held_nano_usd = held_nano_usd + 1
        where hold_id = '${toUuid(w.openHold)}' and account_id = '${toUuid(w.budgetAccount)}'`,
      `update ledger_accounts set held_nano_usd = held_nano_usd + 1 where id = '${toUuid(w.budgetAccount)}'`,
    ],
    names: (w) => [['hold_limit_parts', w.openHold]],
  },
  {
    what: 'a closed hold with a held amount',
    alter: (w) => [
      `update ledger_hold_parts set held_nano_usd = 1
        where hold_id = '${toUuid(w.closedHold)}' and account_id = '${toUuid(w.credit)}'`,
      `update ledger_accounts set held_nano_usd = held_nano_usd + 1 where id = '${toUuid(w.credit)}'`,
    ],
    names: (w) => [['hold_closed', w.closedHold]],
  },
  {
    what: 'a hold on the money of another organisation',
    alter: (w) => [
      `update ledger_holds set org_id = '${toUuid(w.supplierId)}' where id = '${toUuid(w.idleHold)}'`,
    ],
    names: (w) => [['hold_owner', w.idleHold]],
  },
  {
    what: 'a hold with a higher posted amount than its charges',
    alter: (w) => [
      `update ledger_holds set posted_nano_usd = posted_nano_usd + 1 where id = '${toUuid(w.openHold)}'`,
    ],
    names: (w) => [['hold_posted', w.openHold]],
  },
  {
    what: 'a hold with a lower posted amount than its charges',
    alter: (w) => [
      `update ledger_holds set posted_nano_usd = posted_nano_usd - 1 where id = '${toUuid(w.openHold)}'`,
    ],
    names: (w) => [['hold_posted', w.openHold]],
  },
  {
    what: 'a budget with another limit than its account',
    alter: (w) => [`update budgets set limit_nano_usd = limit_nano_usd + 1 where id = '${toUuid(w.budget)}'`],
    names: (w) => [['budget_left', w.budget]],
  },
  {
    what: 'a budget without an account',
    alter: (w) => [`update budgets set id = '${toUuid(w.spareBudget)}' where id = '${toUuid(w.budget)}'`],
    names: (w) => [['budget_account', w.spareBudget]],
  },
];

const causeCases: readonly Case[] = [
  {
    what: 'a meter with another running time than was posted',
    alter: (w) => [
      `update meter_transitions set at = at - interval '1 minute'
        where meter_id = '${toUuid(w.closed)}' and kind = 'closed'`,
    ],
    names: (w) => [['meter_charge', w.closed]],
  },
  {
    what: 'a running meter that has posted future time',
    alter: (w) => [
      `update meters set posted_ms = posted_ms + 36000000, posted_nano_usd = posted_nano_usd + 10000000000
        where id = '${toUuid(w.running)}'`,
    ],
    names: (w) => [
      ['meter_charge', w.running],
      ['meter_transfers', w.running],
    ],
  },
  {
    what: 'a meter whose charges differ from its posted amount',
    alter: (w) => [`update meters set shortfall_nano_usd = 1 where id = '${toUuid(w.paused)}'`],
    names: (w) => [['meter_transfers', w.paused]],
  },
  {
    what: 'a meter that charged a remaining term without a term',
    alter: (w) => [`update meters set rest_of_term_nano_usd = 1 where id = '${toUuid(w.closed)}'`],
    names: (w) => [
      ['meter_rest_of_term', w.closed],
      ['meter_transfers', w.closed],
    ],
  },
  {
    what: "a supplier's meter that says it credited less",
    alter: (w) => [
      `update meters set supplier_posted_nano_usd = supplier_posted_nano_usd - 1 where id = '${toUuid(w.supplied)}'`,
    ],
    names: (w) => [['meter_split', w.supplied]],
  },
  {
    what: "a supplier's meter of another supplier",
    alter: (w) => [
      `update meters set supplier_org_id = '${toUuid(w.supplierId)}' where id = '${toUuid(w.supplied)}'`,
    ],
    names: (w) => [['meter_split', w.supplied]],
  },
  {
    what: "a supplier's meter that was paid with promotional credit",
    alter: () => [
      `update ledger_accounts set kind = 'promo', priority = 1
        where id in (select account_id from ledger_entries where transfer_id in (
                       select id from ledger_transfers where cause_id = 'metered-supplied'))
          and kind = 'credit'`,
    ],
    names: (w) => [['meter_paid_money', w.supplied]],
  },
  {
    what: "a supplier's meter with another rate than it was credited by",
    alter: (w) => [
      `update meters set supplier_rate_nano_usd_per_hour = supplier_rate_nano_usd_per_hour - 100000000
        where id = '${toUuid(w.supplied)}'`,
    ],
    names: (w) => [['meter_supplier_share', w.supplied]],
  },
  {
    what: 'a requested payout larger than its hold',
    alter: (w) => [
      `update supplier_payouts set amount_nano_usd = amount_nano_usd + 1 where id = '${toUuid(w.waiting)}'`,
    ],
    names: (w) => [['payout_money', w.waiting]],
  },
  {
    what: 'a paid payout with another amount than its transfer',
    alter: (w) => [
      `update supplier_payouts set amount_nano_usd = amount_nano_usd - 1 where id = '${toUuid(w.paidOut)}'`,
    ],
    names: (w) => [['payout_money', w.paidOut]],
  },
  {
    what: 'a rejected payout that still has a hold',
    alter: (w) => [
      `update supplier_payouts set status = 'rejected', settled_at = now() where id = '${toUuid(w.waiting)}'`,
    ],
    names: (w) => [['payout_money', w.waiting]],
  },
  {
    what: 'a payout transfer without a payout',
    alter: (w) => [`delete from supplier_payouts where id = '${toUuid(w.paidOut)}'`],
    names: (w) => [['transfer_has_payout', w.payout]],
  },
  {
    what: 'a statement with more than the earnings',
    alter: (w) => [
      `update supplier_statements set gross_nano_usd = gross_nano_usd + 1, net_nano_usd = net_nano_usd + 1
        where id = '${toUuid(w.statement)}'`,
    ],
    names: (w) => [['statement_adds_up', w.statement]],
  },
  {
    what: 'a statement whose lines do not sum to its total',
    alter: (w) => [`update supplier_statements set lines = '[]' where id = '${toUuid(w.statement)}'`],
    names: (w) => [['statement_adds_up', w.statement]],
  },
  {
    what: 'a meter with a wrong transition count',
    alter: (w) => [`update meters set transitions = transitions + 1 where id = '${toUuid(w.running)}'`],
    names: (w) => [['meter_transitions', w.running]],
  },
  {
    what: 'a meter with another held amount than its hold',
    alter: (w) => [`update meters set held_nano_usd = held_nano_usd + 1 where id = '${toUuid(w.running)}'`],
    names: (w) => [['meter_hold', w.running]],
  },
  {
    what: 'charges of a deleted meter',
    alter: (w) => [
      `delete from meter_transitions where meter_id = '${toUuid(w.closed)}'`,
      `delete from meters where id = '${toUuid(w.closed)}'`,
    ],
    names: (w) => [['charge_has_meter', w.closed]],
  },
  {
    what: 'a resource without a meter',
    alter: (w) => [`insert into test_things values ('rental', 'free', '${toUuid(w.orgId)}', 'live')`],
    names: () => [['thing_has_meter', 'rental:free']],
  },
  {
    what: 'a meter without a resource',
    alter: () => [`delete from test_things where id = 'metered-running'`],
    names: (w) => [['meter_has_thing', w.running]],
  },
  {
    what: 'a volume without its hourly cost',
    alter: (w) => [volumeRow(w.orgId, { wireId: 77, phase: 'live', rate: 5 })],
    names: () => [['volume_rate', 'volume:77']],
  },
  {
    what: 'a hold of a volume without a purpose',
    alter: (w) => [
      volumeRow(w.orgId, { wireId: 78, phase: 'provisioning', rate: 5 }),
      `insert into ledger_holds (id, org_id, mode, idempotency_key, cause_kind, cause_id, held_nano_usd, created_at)
       values ('${fakeId}', '${toUuid(w.orgId)}', 'live', 'volume:78:lost', 'volume', '78', 0, now())`,
    ],
    names: () => [['volume_holds', 'volume:78']],
  },
  {
    what: 'a payment with another credited amount',
    alter: (w) => [
      `update payments set amount_nano_usd = amount_nano_usd + 10000000, credited_nano_usd = credited_nano_usd + 10000000
        where id = '${toUuid(w.payment)}'`,
    ],
    names: (w) => [['payment_top_up', w.payment]],
  },
  {
    what: 'a payment with a higher clawback than its transfers',
    alter: (w) => [
      `update payments set clawed_back_nano_usd = 10000000, refunded_nano_usd = 10000000
        where id = '${toUuid(w.payment)}'`,
    ],
    names: (w) => [['payment_clawback', w.payment]],
  },
  {
    what: 'a debt without a clawback',
    alter: (w) => [
      `update ledger_accounts set written_off_nano_usd = 7
        where kind = 'credit' and mode = 'live' and org_id = '${toUuid(w.orgId)}'`,
    ],
    names: (w) => [['clawback_debt', w.credit]],
  },
  {
    what: 'a top-up without a payment',
    alter: (w) => [`delete from payments where id = '${toUuid(w.payment)}'`],
    names: (w) => [['top_up_has_payment', w.topUp]],
  },
  {
    what: 'a request with another cost than its charge',
    alter: (w) => [
      `update usage_charges set amount_nano_usd = amount_nano_usd + 1 where request_id = '${toUuid(w.request)}'`,
    ],
    names: (w) => [
      ['usage_charge', w.usage],
      ['lease_settled', w.lease],
      ['request_charge', w.request],
    ],
  },
  {
    what: 'a request of another key than the charged one',
    alter: (w) => [`update usage_charges set key_id = '${fakeId}' where request_id = '${toUuid(w.request)}'`],
    names: (w) => [
      ['usage_owner', w.usage],
      ['request_charge', w.request],
    ],
  },
  {
    what: 'a charged request without a transfer',
    alter: (w) => [
      `update usage_charges set transfer_id = '${fakeId}' where request_id = '${toUuid(w.request)}'`,
    ],
    names: (w) => [
      ['usage_charge', w.usage],
      ['usage_has_transfer', w.request],
      ['request_charge', w.request],
    ],
  },
  {
    what: 'a charged request without a row',
    alter: (w) => [`delete from inference_requests where id = '${toUuid(w.request)}'`],
    names: (w) => [['usage_has_request', w.request]],
  },
  {
    what: 'a request row without a charge',
    alter: (w) => [`update inference_requests set id = '${fakeId}' where id = '${toUuid(w.request)}'`],
    names: (w) => [
      ['usage_has_request', w.request],
      ['request_charge', fromUuid('req', fakeId)],
    ],
  },
  {
    what: 'a charged request that is marked free',
    alter: (w) => [
      `update inference_requests set outcome = 'late', cost_nano_usd = 0, transfer_id = null
        where id = '${toUuid(w.request)}'`,
    ],
    names: (w) => [['request_charge', w.request]],
  },
  {
    what: 'a request with less usage than its price',
    alter: (w) => [
      `update inference_requests set characters = characters - 1 where id = '${toUuid(w.request)}'`,
    ],
    names: (w) => [['request_price', w.request]],
  },
  {
    what: 'a request with tokens but without price entries',
    alter: (w) => [`update inference_requests set price_ids = '{}' where id = '${toUuid(w.request)}'`],
    names: (w) => [['request_price', w.request]],
  },
  {
    what: 'a request that cost more than its price',
    alter: (w) => [
      `update inference_requests set priced_nano_usd = priced_nano_usd - 1, characters = characters - 1
        where id = '${toUuid(w.request)}'`,
    ],
    names: (w) => [['request_cost', w.request]],
  },
  {
    what: 'a lease with a larger grant than its hold',
    alter: (w) => [
      `update pot_leases set granted_nano_usd = granted_nano_usd + 1 where id = '${toUuid(w.lease)}'`,
    ],
    names: (w) => [['lease_hold', w.lease]],
  },
  {
    what: 'a lease with a larger hold than its grant',
    alter: (w) => [
      `update pot_leases set recalled_nano_usd = recalled_nano_usd + 1 where id = '${toUuid(w.lease)}'`,
    ],
    names: (w) => [['lease_hold', w.lease]],
  },
  {
    what: 'a closed lease whose hold is open',
    alter: (w) => [
      `update pot_leases set state = 'closed', closing_at = now(), closed_at = now() where id = '${toUuid(w.lease)}'`,
    ],
    names: (w) => [['lease_closed', w.lease]],
  },
  {
    what: 'a lease with another settled amount than its requests',
    alter: (w) => [
      `update pot_leases set settled_nano_usd = settled_nano_usd + 1 where id = '${toUuid(w.lease)}'`,
    ],
    names: (w) => [
      ['lease_hold', w.lease],
      ['lease_settled', w.lease],
    ],
  },
];

const allCases: readonly Case[] = [...ledgerCases, ...causeCases, ...invoiceCases, ...resourceCases];

describe('the auditor', () => {
  it.each(allCases)('reports $what', async ({ alter, names }) => {
    const report = await auditAfter(alter);
    const found = findingsOf(report, 'error').map(({ check, subject }) => `${check} ${subject.id}`);
    expect(found.toSorted()).toEqual(
      names(harness)
        .map(([check, id]) => `${check} ${id}`)
        .toSorted(),
    );
  });

  it('has a test case for every check that can find drift', () => {
    const tried = new Set(allCases.flatMap(({ names }) => names(harness)).map(([name]) => name));
    const drift = Object.entries(auditChecks).filter(([, { severity }]) => severity === 'error');
    expect(drift.map(([name]) => name).filter((name) => !tried.has(name as CheckName))).toEqual([]);
  });
});

describe('a correct ledger', () => {
  it('has no findings in a full, incremental or organisation audit', async () => {
    const full = await runAudit(database.db, { kind: 'full' });
    const next = await runAudit(database.db, { kind: 'incremental' });
    const own = await runAudit(database.db, { kind: 'organisation', orgId: harness.orgId });
    for (const report of [full, next, own]) {
      expect(report && findingsOf(report, 'error')).toEqual([]);
    }
    expect([full?.kind, next?.kind, own?.kind]).toEqual(['full', 'incremental', 'organisation']);
    expect(next?.since).toEqual(full?.snapshotAt);
  });
});
