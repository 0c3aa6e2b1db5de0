import { fromUuid, toUuid, type LeaseId } from '@millrace/platform/ids';
import { readLease } from './lease-actions.ts';
import { waitForPending, type LeaseHarness } from './lease-harness.ts';
import type { LedgerHarness } from './harness.ts';

/** Invariants of credit leases that must survive any fault of Valkey, gateways and workers. */

export async function checkCharges(
  harness: LedgerHarness,
  leases: LeaseHarness,
): Promise<string | undefined> {
  await waitForPending(leases);
  for (const { orgId, mode, paidIn, charged } of leases.spenders) {
    const { rows } = await harness.client.query<{ balance: string; shortfall: string; recorded: string }>(
      `select coalesce((select sum(balance_nano_usd) from ledger_accounts
                         where org_id = $1 and mode = $2 and kind = 'credit'), 0)::text as balance,
              coalesce((select -sum(e.amount_nano_usd) from ledger_transfers t
                          join ledger_entries e on e.transfer_id = t.id
                          join ledger_accounts a on a.id = e.account_id
                         where t.org_id = $1 and t.mode = $2 and a.kind = 'shortfall'), 0)::text as shortfall,
              coalesce((select sum(amount_nano_usd) from usage_charges
                         where org_id = $1 and mode = $2 and outcome = 'charged'), 0)::text as recorded`,
      [toUuid(orgId), mode],
    );
    const [row] = rows;
    if (BigInt(row?.balance ?? 0) !== paidIn - charged) {
      return `${orgId} has ${row?.balance} and must have ${paidIn - charged}`;
    }
    if (row?.shortfall !== '0') return `${orgId} spent ${row?.shortfall} more than it had`;
    if (BigInt(row?.recorded ?? 0) !== charged)
      return `${orgId} was charged ${row?.recorded} and not ${charged}`;
  }
  return undefined;
}

interface LeaseRow {
  id: string;
  epoch: string;
  generation: string;
  state: string;
  held: string;
  hold: string;
}

/** A lease's hold must cover all that can still be charged to it: unreserved credit, in-flight requests and queued usage. */
export async function checkLeaseCoverage(
  harness: LedgerHarness,
  leases: LeaseHarness,
): Promise<string | undefined> {
  await waitForPending(leases);
  const settled = await settledGateways(harness);
  const owed = new Map<LeaseId, bigint>();
  const owe = (leaseId: LeaseId, gatewayId: string, amount: bigint): void => {
    if (!settled.has(`${leaseId} ${gatewayId}`)) owed.set(leaseId, (owed.get(leaseId) ?? 0n) + amount);
  };
  for (const { reservation } of [...leases.flights, ...leases.deadRequests]) {
    owe(reservation.leaseId, reservation.gatewayId, reservation.amount);
  }
  const waiting = new Map(
    leases.stream
      .slice(leases.passed)
      .flatMap((message) => ('usage' in message ? [[message.usage.requestId, message.usage]] : [])),
  );
  for (const usage of waiting.values()) {
    if (!leases.known.has(usage.requestId)) owe(usage.leaseId, usage.gatewayId, usage.amount);
  }
  const { rows: servers } = await harness.client.query<{ generation: string }>(
    'select generation from pot_servers',
  );
  const generation = BigInt(servers[0]?.generation ?? 0);
  for (const spender of leases.spenders) {
    const { rows } = await harness.client.query<LeaseRow>(
      `select lease.id, epoch, generation, state, hold.held_nano_usd as hold,
              greatest(0, granted_nano_usd - recalled_nano_usd - settled_nano_usd) as held
         from pot_leases lease join ledger_holds hold on hold.id = lease.hold_id
        where lease.org_id = $1 and lease.mode = $2 and state <> 'closed'`,
      [toUuid(spender.orgId), spender.mode],
    );
    const lease = await readLease(harness, leases, spender);
    for (const row of rows) {
      if (row.hold !== row.held) return `lease ${row.id} holds ${row.hold} and must hold ${row.held}`;
      const spendable =
        lease !== null &&
        leases.tamperedIn !== generation &&
        row.generation === String(generation) &&
        lease.epoch === BigInt(row.epoch)
          ? lease.remaining
          : 0n;
      const due = (owed.get(fromUuid('lse', row.id)) ?? 0n) + (spendable > 0n ? spendable : 0n);
      if (due > BigInt(row.held)) return `lease ${row.id} holds ${row.held} and ${due} can be charged to it`;
    }
  }
  return undefined;
}

async function settledGateways(harness: LedgerHarness): Promise<ReadonlySet<string>> {
  const { rows } = await harness.client.query<{ lease_id: string; gateway_id: string }>(
    `select lease_id, gateway_id from pot_lease_gateways where settled_at is not null
      union all
     select id, gateway_id from pot_leases join pot_lease_gateways on lease_id = id where state = 'closed'`,
  );
  return new Set(rows.map((row) => `${fromUuid('lse', row.lease_id)} ${row.gateway_id}`));
}

export async function checkBudgets(
  harness: LedgerHarness,
  leases: LeaseHarness,
): Promise<string | undefined> {
  for (const { budget, charged } of leases.spenders) {
    if (budget === null) continue;
    const { rows } = await harness.client.query<{ spent: string; left: string }>(
      `select limit_nano_usd - balance_nano_usd as spent, balance_nano_usd - held_nano_usd as left
         from budgets join ledger_accounts account using (id) where id = $1`,
      [toUuid(budget)],
    );
    const [row] = rows;
    if (BigInt(row?.spent ?? 0) !== charged) return `the budget counted ${row?.spent} and not ${charged}`;
    if (BigInt(row?.left ?? 0) < 0n) return `the budget is overspent by ${row?.left}`;
  }
  return undefined;
}
