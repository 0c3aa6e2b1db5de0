import type { Db } from '@millrace/platform/db';
import { toUuid, type ClusterId, type NodeId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { testIds } from './builders.ts';

/** A cluster with nodes and GPUs as fleet sync writes it, without an engine. */
export interface FleetOptions {
  readonly nodes: number;
  readonly gpusPerNode?: number;
  readonly provider?: string;
  readonly region?: string;
  /** The driver; `mock` by default. */
  readonly driver?: 'mock' | 'incus' | 'ironic';
  readonly offer?: 'virtual-machine' | 'bare-metal' | 'marketplace';
  readonly gpuType?: 'h100' | 'h200' | 'b200';
  readonly connectionType?: 'ethernet' | 'infiniband';
  /** Nodes per fabric; by default the whole cluster is one fabric. */
  readonly fabricSize?: number;
  readonly mode?: 'live' | 'test';
  readonly cuda?: string;
  /** The last observation of the cluster; now by default. */
  readonly watchedAt?: Date;
  readonly portRange?: readonly [first: number, last: number];
}

export interface InsertedFleet {
  readonly clusterId: ClusterId;
  /** In the order of their ids. */
  readonly nodeIds: readonly NodeId[];
}

const models = { h100: 'NVIDIA H100 80GB HBM3', h200: 'NVIDIA H200', b200: 'NVIDIA B200' } as const;

export async function insertFleet(db: Db, options: FleetOptions): Promise<InsertedFleet> {
  const {
    gpusPerNode = 8,
    gpuType = 'h100',
    connectionType = 'ethernet',
    offer = 'virtual-machine',
    driver = 'mock',
  } = options;
  const mode = options.mode ?? 'live';
  const provider = options.provider ?? (mode === 'test' ? 'mock' : 'provider-v1');
  const region = options.region ?? (mode === 'test' ? 'mock-region' : 'us-central-1');
  const at = options.watchedAt ?? new Date();
  const clusterId = testIds.next('cls');
  const cluster = toUuid(clusterId);
  const nodeIds = Array.from({ length: options.nodes }, () => testIds.next('nod'));
  const fabricSize = options.fabricSize ?? Math.max(1, options.nodes);
  const fabrics = Array.from({ length: Math.ceil(options.nodes / fabricSize) }, () =>
    toUuid(testIds.next('fab')),
  );
  const gpus = nodeIds.flatMap((node) =>
    Array.from({ length: gpusPerNode }, (_, index) => ({ node, index })),
  );
  const [first, last] = options.portRange ?? [20_000, 29_999];
  const [major = 12, minor = 8] = (options.cuda ?? '12.8').split('.').map(Number);
  await db.transaction({ name: 'insert a fleet', isolation: 'read committed' }, async ({ kysely }) => {
    const variant = mode === 'test' ? 'mock' : 'V1';
    await sql`insert into providers (id, variant, driver, mode, updated_at)
      values (${provider}, ${variant}, 'mock', ${mode}, ${at}) on conflict do nothing`.execute(kysely);
    await sql`insert into provider_regions (provider_id, region, custom_ports, updated_at)
      values (${provider}, ${region}, true, ${at}) on conflict do nothing`.execute(kysely);
    await sql`insert into clusters (id, name, provider_id, region, driver, endpoint, offer, connection_type, port_first,
        port_last, origin, status, status_since, last_seen_at, watching_since, beat_at, created_at)
      values (${cluster}, ${`c-${cluster}`}, ${provider}, ${region}, ${driver}, 'mock://', ${offer}, ${connectionType},
        ${first}, ${last}, 'operator', 'connected', ${at}, ${at}, ${at}, ${at}, ${at})`.execute(kysely);
    await sql`insert into fabrics (id, cluster_id, name)
      select id, ${cluster}, 'fabric-' || number
        from unnest(${fabrics}::uuid[]) with ordinality as planted (id, number)`.execute(kysely);
    await sql`insert into nodes (id, cluster_id, name, status, status_since, address, cpu_model, cpu_count, ram_mb,
        storage_gb, gpu_form_factor, driver_version, cuda_version, hardware_read_at, first_seen_at, last_seen_at)
      select id, ${cluster}, 'node-' || number, 'node_ready', ${at}, '127.0.0.1', 'AMD EPYC 9654', 192, 2097152, 30000,
             'sxm5', '570.00', ${options.cuda ?? '12.8'}, ${at}, ${at}, ${at}
        from unnest(${nodeIds.map(toUuid)}::uuid[]) with ordinality as planted (id, number)`.execute(kysely);
    await sql`insert into node_transitions (node_id, seq, from_status, to_status, reason, actor, at)
      select id, 1, null, 'node_ready', 'planted by a test', 'test', ${at}
        from unnest(${nodeIds.map(toUuid)}::uuid[]) as planted (id)`.execute(kysely);
    await sql`insert into node_capacity (node_id, mode, offer, provider_id, region, cluster_id, fabric_id, gpu_type,
        connection_type, cuda, ready, open, spread)
      select id, ${mode}, ${offer}, ${provider}, ${region}, ${cluster},
             (${fabrics}::uuid[])[1 + div(number - 1, ${fabricSize})::int], ${gpuType}, ${connectionType},
             ${major * 100 + minor}, true, true, floor(random() * 2147483647)::int
        from unnest(${nodeIds.map(toUuid)}::uuid[]) with ordinality as planted (id, number)`.execute(kysely);
    await sql`insert into gpus (id, node_id, pci_address, device_uuid, model, gpu_type, ram_mb, numa_node, state,
        first_seen_at)
      select id, node_id, '0000:' || lpad(to_hex(129 + number), 2, '0') || ':00.0', 'GPU-' || id, ${models[gpuType]},
             ${gpuType}, 81559, div(number * 2, ${gpusPerNode})::smallint, 'present', ${at}
        from unnest(${gpus.map(() => toUuid(testIds.next('gpu')))}::uuid[],
                    ${gpus.map(({ node }) => toUuid(node))}::uuid[],
                    ${gpus.map(({ index }) => index)}::int[]) as planted (id, node_id, number)`.execute(
      kysely,
    );
  });
  return { clusterId, nodeIds };
}
