import { eventApiVersion } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import {
  cellOf,
  toUuid,
  type ClusterId,
  type MeterId,
  type NodeId,
  type OrgId,
  type RentalId,
  type UserId,
} from '@millrace/platform/ids';
import { shardOf } from '@millrace/platform/outbox';
import { sql } from 'kysely';
import { testIds } from './builders.ts';

/** Rentals as the product would have written them, without an engine or a ledger. */
export interface RentalsOptions {
  readonly orgId: OrgId;
  readonly userId: UserId;
  /** The cluster of their machines; see `insertFleet`. */
  readonly clusterId: ClusterId;
  readonly nodeIds: readonly NodeId[];
  readonly live: number;
  readonly ended?: number;
  readonly kind?: 'virtual-machine' | 'bare-metal' | 'instance';
  readonly mode?: Mode;
  /** Inserts one step, one posted hour and one event per rental, which is faster, for rentals that only add load. */
  readonly brief?: boolean;
  /** When the last one was accepted; now by default. The others are one second apart. */
  readonly until?: Date;
}

export interface InsertedRental {
  readonly id: RentalId;
  readonly wireId: number;
}

/** Far above the ids of any cell, so that inserted rentals do not collide with others. */
const FIRST_WIRE_ID = 2_000_000_000;
const RATE_NANO_USD_PER_HOUR = 3_980_000_001n;
const HOUR_MS = 3_600_000;
/** Posted hours per rental, one transfer each. */
const POSTED_HOURS = 3;
const STEPS = ['reserve', 'create', 'boot', 'prove', 'open'];
const EVENTS = ['rental.pending', 'rental.running'] as const;
/** One in a hundred live rentals has each of these statuses; the others are Running. */
const RARE_STATUSES = ['Pending', 'Unknown', 'Failed', 'Terminating'] as const;
const CHUNK = 10_000;

interface RentalRow extends InsertedRental {
  readonly meterId: MeterId;
  readonly status: string;
  readonly nodeId: NodeId;
  readonly at: Date;
}

export async function insertRentals(db: Db, options: RentalsOptions): Promise<readonly InsertedRental[]> {
  const { live, ended = 0 } = options;
  const count = live + ended;
  const until = (options.until ?? new Date()).getTime();
  const { rows } = await sql<{ next: number }>`
    select coalesce(max(wire_id) + 1, ${FIRST_WIRE_ID})::int as next from rentals where wire_id >= ${FIRST_WIRE_ID}
  `.execute(db.kysely);
  const first = rows[0]?.next ?? FIRST_WIRE_ID;
  const nodes = options.nodeIds;
  const inserted = Array.from({ length: count }, (_, index): RentalRow => {
    const nodeId = nodes[index % nodes.length];
    if (nodeId === undefined) throw new Error('Rentals need nodes to be on.');
    return {
      id: testIds.next('rnt'),
      wireId: first + index,
      meterId: testIds.next('mtr'),
      status: index < ended ? 'Terminated' : statusAt(index),
      nodeId,
      at: new Date(until - (count - 1 - index) * 1_000),
    };
  });
  for (let from = 0; from < count; from += CHUNK) {
    await insertChunk(db, options, inserted.slice(from, from + CHUNK));
  }
  return inserted;
}

const statusAt = (index: number): string => RARE_STATUSES[index % 100] ?? 'Running';

async function insertChunk(db: Db, options: RentalsOptions, inserted: readonly RentalRow[]): Promise<void> {
  await db.transaction({ name: 'insert rentals', isolation: 'read committed' }, async ({ kysely }) => {
    const { orgId, mode = 'live', kind = 'virtual-machine', brief = false } = options;
    const org = toUuid(orgId);
    const rate = mode === 'live' ? RATE_NANO_USD_PER_HOUR : 0n;
    const provider = sql`(select provider_id from clusters where id = ${toUuid(options.clusterId)})`;
    const region = sql`(select region from clusters where id = ${toUuid(options.clusterId)})`;
    // One list of rows for all statements.
    const all = sql`unnest(${inserted.map(({ id }) => toUuid(id))}::uuid[],
      ${inserted.map(({ wireId }) => wireId)}::int[], ${inserted.map(({ status }) => status)}::text[],
      ${inserted.map(({ nodeId }) => toUuid(nodeId))}::uuid[], ${inserted.map(({ at }) => at)}::timestamptz[],
      ${inserted.map(({ meterId }) => toUuid(meterId))}::uuid[], ${inserted.map(({ meterId }) => meterId)}::text[])
      as planted (id, wire_id, status, node_id, at, meter_id, meter)`;
    await sql`insert into rentals (id, wire_id, org_id, mode, kind, user_id, provider_id, region, gpu_type, gpus_per_node,
        node_count, connection_type, name, label, tags, user_data, ssh_keys, labels, convert_on_expiry, status, status_since,
        task, task_options, task_deadline_at, power, created_at, updated_at, started_at, trouble_since, end_accepted_at,
        ended_at, end_reason, next_action_at, deadline_at, told_as)
      select id, wire_id, ${org}, ${mode}, ${kind}, ${toUuid(options.userId)}, ${provider}, ${region}, 'h100', 1, 1,
             'ethernet', 'rental-' || wire_id, 'planted', '{"team": "a"}', null,
             array['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPlantedPlantedPlantedPlantedPlantedPlanted planted'], '{}', true,
             status, at,
             case when status = 'Pending' then 'provision' when status in ('Failed', 'Terminating') then 'release' end, '{}',
             case when status in ('Pending', 'Failed', 'Terminating') then at + interval '10 minutes' end, 'on', at, at,
             case when status in ('Running', 'Unknown', 'Terminated') then at end,
             case when status = 'Unknown' then at end,
             case when status in ('Terminating', 'Terminated') then at + interval '3 hours' end,
             case when status = 'Terminated' then at + interval '3 hours' end,
             case when status = 'Terminated' then 'done' end,
             case when status <> 'Terminated' then at + interval '1 hour' end,
             case when status <> 'Terminated' then at + interval '2 hours' end,
             case when ${kind} = 'instance' then jsonb_build_object(
               'instanceId', 'planted-instance-' || wire_id, 'clusterName', 'planted', 'nodeName', 'planted') end
        from ${all}`.execute(kysely);
    await sql`insert into rental_terms (rental_id, seq, org_id, mode, term_type, price, meter_name, effective_at, created_at)
      select id, 1, ${org}, ${mode}, 'on-demand', ${JSON.stringify(priceOf(rate))}::jsonb, 'gpu', at, at from ${all}`.execute(
      kysely,
    );
    await sql`insert into rental_machines (rental_id, attempt, position, org_id, mode, external_id, cluster_id, node_id,
        gpu_addresses, ports, cpu_count, ram_mb, disk_gb, state, address, private_ip, ssh_user, host_key, absent_seen,
        gone_at, doomed_at)
      select id, 1, 1, ${org}, ${mode}, id::text, ${toUuid(options.clusterId)}, node_id, array['0000:81:00.0'],
             jsonb_build_array(jsonb_build_object('internalPort', 22, 'externalPort', 20000 + wire_id % 9999,
                                                  'protocol', 'tcp')),
             24, 262144, 3500, case when status = 'Terminated' then 'gone' else 'open' end, '127.0.0.1',
             '10.' || (wire_id >> 16) % 256 || '.' || (wire_id >> 8) % 256 || '.' || wire_id % 256,
             'ubuntu', 'SHA256:planted', case when status = 'Terminated' then 2 else 0 end,
             case when status = 'Terminated' then at + interval '3 hours' end,
             case when status = 'Terminated' then at + interval '3 hours' end
        from ${all}`.execute(kysely);
    await sql`insert into rental_steps (rental_id, seq, org_id, mode, attempt, name, status, started_at, ended_at)
      select id, number, ${org}, ${mode}, 1, step, 'done', at, at + interval '1 second'
        from ${all}, unnest(${brief ? STEPS.slice(0, 1) : STEPS}::text[]) with ordinality as steps (step, number)`.execute(
      kysely,
    );
    if (kind !== 'instance')
      await insertTransfers(kysely, { org, mode, rate, shard: shardOf(orgId), brief, all });
    await insertEvents(kysely, { options, org, mode, all });
  });
}

type Kysely = Parameters<Parameters<Db['transaction']>[1]>[0]['kysely'];
type Rows = ReturnType<typeof sql>;

async function insertTransfers(
  kysely: Kysely,
  {
    org,
    mode,
    rate,
    shard,
    brief,
    all,
  }: {
    readonly org: string;
    readonly mode: Mode;
    readonly rate: bigint;
    readonly shard: number;
    readonly brief: boolean;
    readonly all: Rows;
  },
): Promise<void> {
  await sql`insert into meters (id, org_id, mode, shard, cause_kind, cause_id, name, product, rate_nano_usd_per_hour, quantity,
      unit, funding, state, running_since, elapsed_before_ms, posted_ms, posted_nano_usd, hold_id, next_post_at, postings,
      opened_at, closed_at)
    select meter_id, ${org}, ${mode}, ${shard}, 'rental', wire_id::text, 'gpu', 'rental', ${rate}, 1, 'gpu', 'ahead',
           case when status = 'Terminated' then 'closed' else 'open' end, case when status <> 'Terminated' then at end,
           case when status = 'Terminated' then ${POSTED_HOURS * HOUR_MS} else 0 end, ${POSTED_HOURS * HOUR_MS},
           ${rate * BigInt(POSTED_HOURS)}, meter_id,
           case when status <> 'Terminated' and ${rate > 0n} then at + interval '4 hours' end, ${POSTED_HOURS}, at,
           case when status = 'Terminated' then at + interval '3 hours' end
      from ${all} where status not in ('Pending', 'Failed')`.execute(kysely);
  await sql`insert into ledger_holds (id, org_id, mode, idempotency_key, cause_kind, cause_id, held_nano_usd, created_at,
      closed_at)
    select meter_id, ${org}, ${mode}, 'rental:' || wire_id || ':planted', 'rental', wire_id::text,
           case when status = 'Terminated' then 0 else ${rate}::bigint end, at, case when status = 'Terminated' then at end
      from ${all} where ${rate > 0n}`.execute(kysely);
  await sql`insert into ledger_transfers (id, org_id, mode, kind, idempotency_key, cause_kind, cause_id, amount_nano_usd,
      balance_after_nano_usd, description, usage, occurred_at)
    select overlay(gen_random_uuid()::text placing '7' from 15 for 1)::uuid, ${org}, ${mode}, 'charge',
           'rental:' || wire_id || ':meter:' || meter || ':' || number, 'rental', wire_id::text, ${-rate}, 0,
           'Metered time', jsonb_build_object('gpuMs', ${HOUR_MS}::int), at + number * interval '1 hour'
      from ${all}, generate_series(1, ${brief ? 1 : POSTED_HOURS}::int) as number
     where status not in ('Pending', 'Failed') and ${rate > 0n}`.execute(kysely);
}

async function insertEvents(
  kysely: Kysely,
  { options, org, mode, all }: { options: RentalsOptions; org: string; mode: Mode; all: Rows },
): Promise<void> {
  const { kind = 'virtual-machine', orgId, brief = false } = options;
  const { rows } = await sql<{ last: string }>`
    insert into event_heads (org_id, last_seq) values (${org}, 0)
    on conflict (org_id) do update set org_id = excluded.org_id returning last_seq::text as last`.execute(
    kysely,
  );
  const last = Number(rows[0]?.last ?? 0);
  await sql`insert into events (org_id, seq, id, type, resource_kind, resource_id, mode, cell, shard, actor, schema_version,
      api_version, occurred_at, published_at, data)
    select ${org}, ${last} + row_number() over (order by number, wire_id),
           overlay(overlay(gen_random_uuid()::text placing '7' from 15 for 1) placing '8' from 20 for 1)::uuid, type, 'rental',
           wire_id::text, ${mode}, ${cellOf(orgId)}, ${shardOf(orgId)}, '{"kind": "system", "id": "rentals"}', 1,
           ${eventApiVersion}, at, at,
           jsonb_build_object('rentalId', wire_id, 'externalId', id, 'rentalType', ${kind}::text, 'name', null,
                              'region', 'us-central-1', 'gpuType', 'h100', 'gpuCount', 1)
             || case when type = 'rental.running' then jsonb_build_object('startedAt',
                  to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) else '{}' end
      from ${all}, unnest(${EVENTS.slice(0, brief ? 1 : EVENTS.length)}::text[]) with ordinality as events (type, number)`.execute(
    kysely,
  );
  await sql`update event_heads set last_seq = (select max(seq) from events where org_id = ${org})
    where org_id = ${org}`.execute(kysely);
}

/** The format of a frozen price on a rental: see `FrozenPrice`. */
function priceOf(rate: bigint): object {
  return {
    version: 1,
    product: 'rental',
    rateNanoUsdPerHour: String(rate),
    originalNanoUsdPerHour: String(rate),
    discountPpm: 0,
    quantity: 1,
    unitNanoUsdPerHour: String(rate),
    reserve: null,
    priceIds: [],
    frozenAt: '2026-01-01T00:00:00.000Z',
  };
}
