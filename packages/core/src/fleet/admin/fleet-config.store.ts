import type { ClusterSetting, ProviderSetting } from '@millrace/platform/config';
import type { Tx } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { clustersQuery, toCluster } from '../inventory/clusters.store.ts';
import type { ClusterRecord } from '../inventory/clusters.ts';

/** SQL that applies the configuration, without writing unchanged rows. */

const CONFIGURATION_LOCK = 7_102_500_016;

/** Serializes workers that start together and requests that register a cluster. */
export async function lockConfiguration(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${CONFIGURATION_LOCK})`.execute(tx.kysely);
}

/** Returns false, without a change, if the stored provider has the other mode. */
export async function upsertProvider(tx: Tx, provider: ProviderSetting): Promise<boolean> {
  const { id, variant, driver } = provider;
  const mode = variant === 'mock' ? 'test' : 'live';
  await sql`
    insert into providers as known (id, variant, driver, mode, updated_at)
    values (${id}, ${variant}, ${driver}, ${mode}, ${tx.clock.now()})
    on conflict (id) do update
       set variant = excluded.variant, driver = excluded.driver, configured = true, updated_at = excluded.updated_at
     where known.mode = excluded.mode
       and (known.variant, known.driver, known.configured) is distinct from (excluded.variant, excluded.driver, true)
  `.execute(tx.kysely);
  const known = await tx.kysely
    .selectFrom('providers')
    .select('mode')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return known.mode === mode;
}

export async function upsertRegions(tx: Tx, id: string, regions: ProviderSetting['regions']): Promise<void> {
  const rows = JSON.stringify(
    regions.map(({ region, customPorts }) => ({ region, custom_ports: customPorts })),
  );
  await sql`
    insert into provider_regions as known (provider_id, region, custom_ports, updated_at)
    select ${id}, region, custom_ports, ${tx.clock.now()}
      from json_to_recordset(${rows}::json) as setting (region text, custom_ports boolean)
    on conflict (provider_id, region) do update
       set custom_ports = excluded.custom_ports, configured = true, updated_at = excluded.updated_at
     where (known.custom_ports, known.configured) is distinct from (excluded.custom_ports, true)
  `.execute(tx.kysely);
}

/** Locks all clusters that the configuration could name, in order of id. */
export async function lockConfiguredClusters(tx: Tx): Promise<readonly ClusterRecord[]> {
  await sql`select 1 from clusters where status <> 'removed' order by id for no key update`.execute(
    tx.kysely,
  );
  const rows = await clustersQuery(tx).where('cluster.status', '<>', 'removed').execute();
  return rows.map(toCluster);
}

/** Returns false if an operator registered a cluster with this name since the names were read. */
export async function insertCluster(
  tx: Tx,
  provider: ProviderSetting,
  setting: ClusterSetting,
): Promise<boolean> {
  const now = tx.clock.now();
  const { name, region, endpoint, credential, offer, connectionType, ports } = setting;
  const { rows } = await sql`
    insert into clusters (id, name, provider_id, region, driver, endpoint, credential_ref, settings, offer,
      connection_type, port_first, port_last, origin, status, status_since, created_at)
    values (${toUuid(tx.ids.next('cls'))}, ${name}, ${provider.id}, ${region}, ${provider.driver}, ${endpoint},
      ${credential}, ${JSON.stringify(setting.settings)}, ${offer}, ${connectionType}, ${ports.first}, ${ports.last},
      'configuration', 'connecting', ${now}, ${now})
    on conflict (name) where status <> 'removed' do nothing
    returning id
  `.execute(tx.kysely);
  return rows.length === 1;
}

/** Its observer uses the new values at its next poll. */
export async function updateCluster(tx: Tx, cluster: ClusterRecord, setting: ClusterSetting): Promise<void> {
  await sql`
    update clusters
       set endpoint = ${setting.endpoint}, credential_ref = ${setting.credential},
           settings = ${JSON.stringify(setting.settings)}::jsonb, connection_type = ${setting.connectionType},
           port_first = ${setting.ports.first}, port_last = ${setting.ports.last}, configured = true
     where id = ${toUuid(cluster.id)}
       and (endpoint, credential_ref, settings, connection_type, port_first, port_last, configured)
           is distinct from (${setting.endpoint}::text, ${setting.credential}::text,
             ${JSON.stringify(setting.settings)}::jsonb, ${setting.connectionType}::text, ${setting.ports.first}::int,
             ${setting.ports.last}::int, true)
  `.execute(tx.kysely);
}

/** Entries that the configuration no longer names sell nothing. */
export async function markUnconfigured(tx: Tx, providers: readonly ProviderSetting[]): Promise<void> {
  const now = tx.clock.now();
  const ids = providers.map(({ id }) => id);
  const regions = providers.flatMap((provider) =>
    provider.regions.map(({ region }) => ({ provider_id: provider.id, region })),
  );
  const clusters = providers.flatMap((provider) => provider.clusters.map(({ name }) => name));
  await sql`
    update providers set configured = false, updated_at = ${now}
     where configured and id <> all (${ids}::text[])
  `.execute(tx.kysely);
  await sql`
    update provider_regions as known set configured = false, updated_at = ${now}
     where known.configured and not exists (
       select 1 from json_to_recordset(${JSON.stringify(regions)}::json) as named (provider_id text, region text)
        where named.provider_id = known.provider_id and named.region = known.region)
  `.execute(tx.kysely);
  await sql`
    update clusters set configured = false
     where configured and origin = 'configuration' and status <> 'removed' and name <> all (${clusters}::text[])
  `.execute(tx.kysely);
}
