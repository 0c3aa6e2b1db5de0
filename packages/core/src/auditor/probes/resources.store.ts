import { sql } from 'kysely';
import type { Probe } from './run-probe.store.ts';

/**
 * Finds GPUs, ports and money that are allocated or held without a user. Bounded by current allocations and holds. Ids of rentals
 * and instances are numbers, so a cause with another id is not one of theirs.
 */

/** Allocations of rentals that have ended or do not exist. */
export function allocationProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`allocation.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      select allocation.id as subject, allocation.org_id, allocation.state, rental.status,
             rental.id is not null as is_known,
             exists (select 1 from rental_machines as machine
                      where machine.rental_id = rental.id and machine.state <> 'gone') as has_machine
        from allocations as allocation
        left join rentals as rental on rental.id = allocation.external_id
       where allocation.state <> 'released' and ${ofOwner}`,
    about: 'allocation',
    checks: [
      {
        name: 'allocation_has_rental',
        wrong: sql`not q.is_known or (q.status in ('Failed', 'Terminated') and not q.has_machine)`,
        expected: sql`'released'`,
        actual: sql`case when q.is_known then q.state || ' for a rental that is ' || q.status
                         else q.state || ' for no rental' end`,
      },
    ],
  };
}

/** GPUs and ports that are taken by a released allocation. */
export function releasedProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`taken.org_id = ${orgUuid}::uuid`;
  const taken = (what: string, name: ReturnType<typeof sql>, table: ReturnType<typeof sql>) => sql`
      select ${sql.lit(what)} as what, node.name || ' ' || ${name} as subject, taken.org_id, allocation.state
        from ${table} as taken
        join nodes as node on node.id = taken.node_id
        left join allocations as allocation on allocation.id = taken.allocation_id
       where taken.released_at is null and ${ofOwner}`;
  return {
    rows: sql`
      ${taken('gpu', sql`taken.gpu_id::text`, sql`allocated_gpus`)}
      union all
      ${taken('port', sql`taken.protocol || ' ' || taken.external_port`, sql`allocated_ports`)}`,
    about: 'thing',
    checks: [
      {
        name: 'gpu_has_allocation',
        judges: sql`q.what = 'gpu'`,
        wrong: sql`q.state is null or q.state = 'released'`,
        expected: sql`'free'`,
        actual: sql`'taken by an allocation that is ' || coalesce(q.state, 'not there')`,
      },
      {
        name: 'port_has_allocation',
        judges: sql`q.what = 'port'`,
        wrong: sql`q.state is null or q.state = 'released'`,
        expected: sql`'free'`,
        actual: sql`'taken by an allocation that is ' || coalesce(q.state, 'not there')`,
      },
    ],
  };
}

/** The GPU counts of each node, which placement uses. */
export function capacityProbe(): Probe {
  return {
    rows: sql`
      select node.name as subject, null::uuid as org_id,
             capacity.gpus_total || '/' || capacity.gpus_free || '/' || capacity.gpus_allocated as kept,
             counted.total || '/' || counted.free || '/' || counted.allocated as counted
        from node_capacity as capacity
        join nodes as node on node.id = capacity.node_id
        cross join lateral (
          select count(*) filter (where gpu.state = 'present') as total,
                 count(*) filter (where gpu.state = 'present' and sold.gpu_id is null) as free,
                 count(*) filter (where sold.gpu_id is not null) as allocated
            from gpus as gpu
            left join allocated_gpus as sold on sold.gpu_id = gpu.id and sold.released_at is null
           where gpu.node_id = node.id) as counted`,
    about: 'thing',
    checks: [{ name: 'node_capacity', expected: sql`q.counted`, actual: sql`q.kept` }],
  };
}

/** Open holds of rentals, instances and payouts without a term, meter or payout. */
export function orphanHoldProbe(orgUuid: string | null): Probe {
  const ofOwner = orgUuid === null ? sql`true` : sql`hold.org_id = ${orgUuid}::uuid`;
  return {
    rows: sql`
      select hold.id as subject, hold.org_id, hold.cause_kind || ':' || hold.cause_id as cause,
             coalesce(term.hold_id, meter.hold_id, payout.hold_id) is not null as has_owner
        from ledger_holds as hold
        left join rental_terms as term on term.hold_id = hold.id
        left join meters as meter on meter.hold_id = hold.id and meter.state <> 'closed'
        left join supplier_payouts as payout on payout.hold_id = hold.id
       where hold.closed_at is null and ${ofOwner}
         and (hold.cause_kind = 'payout' or (hold.cause_kind in ('rental', 'instance') and hold.cause_id ~ '^[0-9]+$'))`,
    about: 'hold',
    checks: [
      {
        name: 'hold_has_owner',
        wrong: sql`not q.has_owner`,
        expected: sql`'a term, a meter or a payout of ' || q.cause`,
        actual: sql`'none'`,
      },
    ],
  };
}
