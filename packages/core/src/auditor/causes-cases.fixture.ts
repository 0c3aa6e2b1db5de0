import { fromUuid, toUuid } from '@millrace/platform/ids';
import type { AuditedLedger } from './audited-ledger.fixture.ts';
import { fakeId, type AuditCase } from './audit-case.fixture.ts';

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

export const causeCases: readonly AuditCase[] = [
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
