import { toUuid, type NodeId, type OrgId, type SupplierId } from '@millrace/platform/ids';
import { createTenant, insertSupplier, testIds, type TestDatabase } from '@millrace/testing';
import { createRandom } from '@millrace/testing/random';
import type { Client } from 'pg';

/** A realistic marketplace: each machine is a cluster, of a few kinds, and a third are in use. */

const models = [
  { model: 'NVIDIA H100 80GB HBM3', type: 'h100', ramMb: 81_559, form: 'sxm5' },
  { model: 'NVIDIA H200', type: 'h200', ramMb: 143_771, form: 'sxm5' },
  { model: 'NVIDIA B200', type: 'b200', ramMb: 183_359, form: 'sxm6' },
  { model: 'NVIDIA A100-SXM4-80GB', type: 'other', ramMb: 81_920, form: null },
  { model: 'NVIDIA L40S', type: 'other', ramMb: 46_068, form: 'pcie' },
  { model: 'NVIDIA GeForce RTX 4090', type: 'other', ramMb: 24_564, form: 'pcie' },
] as const;
export const regions = [
  'us-central-1',
  'us-east-1',
  'us-west-1',
  'eu-1',
  'eu-2',
  'ap-1',
  'ap-2',
  'sa-1',
] as const;
const cpus = [
  'AMD EPYC 9654 96-Core Processor',
  'AMD EPYC 7763 64-Core Processor',
  'Intel(R) Xeon(R) Platinum 8480+',
];
const PROVIDER = 'bench-marketplace';
const CHUNK_SIZE = 2_500;

export interface InsertedMarket {
  readonly nodeIds: readonly NodeId[];
  readonly supplierIds: readonly SupplierId[];
}

interface Supplier {
  readonly id: SupplierId;
  readonly org: string;
  readonly token: string;
}

export async function insertMarket(
  database: TestDatabase,
  options: { readonly machines: number; readonly suppliers: number },
): Promise<InsertedMarket> {
  const random = createRandom(2);
  const at = new Date();
  const client = await database.connect();
  // Without triggers and foreign key checks, which take ten times as long as the rows; their counts are written below.
  await client.query('set session_replication_role = replica');
  await client.query(sql`insert into providers (id, variant, driver, mode, updated_at)
    values (${PROVIDER}, 'V1', 'incus', 'live', ${at})`);
  await client.query(sql`insert into provider_regions (provider_id, region, custom_ports, updated_at)
    select ${PROVIDER}, region, true, ${at} from unnest(${[...regions]}::text[]) as named (region)`);
  const suppliers: Supplier[] = [];
  for (let made = 0; made < options.suppliers; made += 1)
    suppliers.push(await insertListedSupplier(database, client));
  const tenant = await createTenant(database.db);
  const nodeIds: NodeId[] = [];
  for (let inserted = 0; inserted < options.machines; inserted += CHUNK_SIZE) {
    const machines = Array.from({ length: Math.min(CHUNK_SIZE, options.machines - inserted) }, () => {
      const kind = random.pick(models);
      const gpus = random.pick([1, 2, 4, 8]);
      return {
        node: testIds.next('nod'),
        cluster: toUuid(testIds.next('cls')),
        machine: toUuid(testIds.next('enr')),
        supplier: random.pick(suppliers),
        region: random.pick(regions),
        cpu: random.pick(cpus),
        ramMb: random.pick([262_144, 524_288, 1_048_576, 2_097_152]),
        storageGb: random.int(500, 30_000),
        price: random.int(100, 5_000) * 1_000_000,
        tests: JSON.stringify({
          network: { downMbps: random.int(100, 10_000), upMbps: random.int(100, 10_000) },
        }),
        sold: random.chance(0.35) ? random.int(1, gpus) : 0,
        kind,
        gpus,
      };
    });
    await insertMachines(client, machines, tenant.orgId, at);
    nodeIds.push(...machines.map(({ node }) => node));
  }
  await client.end();
  return { nodeIds, supplierIds: suppliers.map(({ id }) => id) };
}

async function insertListedSupplier({ db }: TestDatabase, client: Client): Promise<Supplier> {
  const { orgId, ownerId } = await createTenant(db);
  const id = await insertSupplier(db, { orgId });
  const token = toUuid(testIds.next('jtk'));
  await client.query(sql`
    insert into supplier_join_tokens (id, supplier_id, org_id, description, cluster_name, region, max_machines, secret_hash,
      expires_at, created_by, created_at)
    values (${token}, ${toUuid(id)}, ${toUuid(orgId)}, '', 'bench', ${regions[0]}, 1000,
      sha256(convert_to(${token}::uuid::text, 'UTF8')), now(), ${toUuid(ownerId)}, now())`);
  return { id, org: toUuid(orgId), token };
}

/** Turns embedded values into parameters. */
function sql(strings: TemplateStringsArray, ...values: unknown[]): { text: string; values: unknown[] } {
  return { text: strings.reduce((text, part, index) => `${text}$${index}${part}`), values };
}

interface Machine {
  readonly node: NodeId;
  readonly cluster: string;
  readonly machine: string;
  readonly supplier: Supplier;
  readonly region: string;
  readonly cpu: string;
  readonly ramMb: number;
  readonly storageGb: number;
  readonly price: number;
  readonly tests: string;
  readonly sold: number;
  readonly kind: (typeof models)[number];
  readonly gpus: number;
}

/** As long as real certificates: more than the rest of the row. */
const CERTIFICATE = 'x'.repeat(800);

async function insertMachines(
  client: Client,
  machines: readonly Machine[],
  tenant: OrgId,
  at: Date,
): Promise<void> {
  const column = <Value>(read: (machine: Machine) => Value): Value[] => machines.map(read);
  const nodes = column(({ node }) => toUuid(node));
  const clusters = column(({ cluster }) => cluster);
  const gpus = machines.flatMap((machine) =>
    Array.from({ length: machine.gpus }, (_, index) => ({ machine, index, id: toUuid(testIds.next('gpu')) })),
  );
  const sold = machines
    .filter((machine) => machine.sold > 0)
    .map((machine) => ({ machine, id: toUuid(testIds.next('alc')) }));
  await client.query('begin');
  await client.query(sql`insert into clusters (id, name, provider_id, region, driver, endpoint, settings, offer, connection_type,
        supplier_org_id, origin, status, status_since, last_seen_at, watching_since, beat_at, created_at)
      select id, 'c-' || id, ${PROVIDER}, region, 'incus', 'https://203.0.113.1:8443',
             jsonb_build_object('project', 'millrace', 'serverCertificate', ${CERTIFICATE}::text), 'marketplace', 'ethernet',
             org, 'supplier', 'connected', ${at}, ${at}, ${at}, ${at}, ${at}
        from unnest(${clusters}::uuid[], ${column(({ region }) => region)}::text[],
                    ${column(({ supplier }) => supplier.org)}::uuid[]) as planted (id, region, org)`);
  await client.query(sql`insert into nodes (id, cluster_id, name, status, status_since, address, cpu_model, cpu_count, ram_mb,
        storage_gb, gpu_form_factor, hardware_read_at, first_seen_at, last_seen_at)
      select id, cluster, 'node', 'node_ready', ${at}, '8.8.8.8', cpu, 192, ram, storage, form, ${at}, ${at}, ${at}
        from unnest(${nodes}::uuid[], ${clusters}::uuid[], ${column(({ cpu }) => cpu)}::text[],
                    ${column(({ ramMb }) => ramMb)}::int[], ${column(({ storageGb }) => storageGb)}::int[],
                    ${column(({ kind }) => kind.form)}::text[]) as planted (id, cluster, cpu, ram, storage, form)`);
  await client.query(sql`insert into node_capacity (node_id, mode, offer, provider_id, region, cluster_id, gpu_type, connection_type,
        ready, open, placeable, pool, spread, gpus_total, gpus_free, gpus_allocated, largest_numa_free, idle)
      select id, 'live', 'marketplace', ${PROVIDER}, region, cluster, type, 'ethernet', true, true, true,
             pool_of('live', 'marketplace', region, type, 'ethernet'), floor(random() * 2147483647)::int, gpus, gpus - sold,
             sold, gpus - sold, sold = 0
        from unnest(${nodes}::uuid[], ${clusters}::uuid[], ${column(({ region }) => region)}::text[],
                    ${column(({ kind }) => kind.type)}::text[], ${column(({ gpus: count }) => count)}::int[],
                    ${column(({ sold: count }) => count)}::int[]) as planted (id, cluster, region, type, gpus, sold)`);
  await client.query(sql`insert into gpus (id, node_id, pci_address, device_uuid, model, gpu_type, ram_mb, numa_node, state, first_seen_at)
      select id, node, '0000:' || lpad(to_hex(129 + number), 2, '0') || ':00.0', 'GPU-' || id, model,
             nullif(type, 'other'), ram, 0, 'present', ${at}
        from unnest(${gpus.map(({ id }) => id)}::uuid[], ${gpus.map(({ machine }) => toUuid(machine.node))}::uuid[],
                    ${gpus.map(({ index }) => index)}::int[], ${gpus.map(({ machine }) => machine.kind.model)}::text[],
                    ${gpus.map(({ machine }) => machine.kind.type)}::text[],
                    ${gpus.map(({ machine }) => machine.kind.ramMb)}::int[]) as planted (id, node, number, model, type, ram)`);
  await client.query(sql`insert into allocations (id, org_id, mode, external_id, holder, region, gpu_count, node_count, state, created_at)
      select id, ${toUuid(tenant)}, 'live', external, 'instance', region, gpus, 1, 'live', ${at}
        from unnest(${sold.map(({ id }) => id)}::uuid[], ${sold.map(() => testIds.nextUuid())}::uuid[],
                    ${sold.map(({ machine }) => machine.region)}::text[],
                    ${sold.map(({ machine }) => machine.sold)}::int[]) as planted (id, external, region, gpus)`);
  await client.query(sql`insert into allocated_gpus (allocation_id, gpu_id, node_id, org_id, mode)
      select planted.id, gpu.id, planted.node, ${toUuid(tenant)}, 'live'
        from unnest(${sold.map(({ id }) => id)}::uuid[], ${sold.map(({ machine }) => toUuid(machine.node))}::uuid[],
                    ${sold.map(({ machine }) => machine.sold)}::int[]) as planted (id, node, gpus)
        join lateral (select id from gpus where node_id = planted.node order by pci_address limit planted.gpus) as gpu on true`);
  await client.query(sql`insert into supplier_machines (id, supplier_id, org_id, join_token_id, cluster_id, node_id, name, cluster_name,
        region, endpoint, server_certificate, server_fingerprint, stage, tests, tested_at, approval, listed,
        price_nano_usd_per_gpu_hour, joined_at, enrolled_at)
      select id, supplier, org, token, cluster, node, 'bench', 'cluster-' || left(md5(org::text), 3), region,
             'https://' || id || '.example.com:8443', ${CERTIFICATE}, encode(sha256(convert_to(id::text, 'UTF8')), 'hex'),
             'enrolled', tests::jsonb, ${at}, 'approved', true, price, ${at}, ${at}
        from unnest(${column(({ machine }) => machine)}::uuid[],
                    ${column(({ supplier }) => toUuid(supplier.id))}::uuid[],
                    ${column(({ supplier }) => supplier.org)}::uuid[], ${column(({ supplier }) => supplier.token)}::uuid[],
                    ${clusters}::uuid[], ${nodes}::uuid[], ${column(({ region }) => region)}::text[],
                    ${column(({ tests }) => tests)}::text[], ${column(({ price }) => price)}::bigint[])
               as planted (id, supplier, org, token, cluster, node, region, tests, price)`);
  await client.query('commit');
}
