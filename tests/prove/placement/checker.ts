import { fleetInvariantViolations, type TestDatabase } from '@millrace/testing';
import type { Client } from 'pg';
import { CLUSTER } from './plans.ts';

/** One row per device of the engine. The mock stores its machines in the same database, so one query sees both sides. */
const devices = `
  select kept.external_id, kept.machine->>'nodeName' as node_name, device.value as pci_address
    from mock_machines as kept
   cross join lateral jsonb_array_elements_text(kept.machine->'gpuPciAddresses') as device
   where kept.cluster = '${CLUSTER}' and kept.machine is not null`;

const sold = `
  select allocation.external_id::text as external_id, node.name as node_name, gpu.pci_address
    from allocated_gpus as held
    join allocations as allocation on allocation.id = held.allocation_id
    join gpus as gpu on gpu.id = held.gpu_id
    join nodes as node on node.id = held.node_id
   where held.released_at is null`;

const invariants: Readonly<Record<string, string>> = {
  'a device is in two machines of the engine': `
    select format('%s %s', node_name, pci_address) from (${devices}) as device
     group by node_name, pci_address having count(*) > 1`,
  'the engine has a device in a machine to which it is not sold': `
    select format('%s: %s %s', device.external_id, device.node_name, device.pci_address)
      from (${devices}) as device
      left join (${sold}) as sold on device.external_id like sold.external_id || '-_'
       and sold.node_name = device.node_name and sold.pci_address = device.pci_address
     where sold.external_id is null`,
};

async function violatedRules(client: Client, rules: Readonly<Record<string, string>>): Promise<string[]> {
  const sentences: string[] = [];
  for (const [rule, query] of Object.entries(rules)) {
    const { rows } = await client.query<[string]>({ text: `${query} limit 5`, rowMode: 'array' });
    for (const [who] of rows) sentences.push(`${rule}: ${who}`);
  }
  return sentences;
}

/** True at every moment, so this is checked while clients work. */
export async function checkInvariants(database: TestDatabase): Promise<readonly string[]> {
  const client = await database.connect();
  try {
    return [...(await fleetInvariantViolations(client)), ...(await violatedRules(client, invariants))];
  } finally {
    await client.end();
  }
}

const indexes = [
  'allocated_gpus_sold_once_idx',
  'allocated_ports_given_once_idx',
  'node_capacity_pool_idx',
  'node_capacity_gang_idx',
];

/** Uses PostgreSQL's amcheck to compare each index with its table. */
export async function checkIndexes(database: TestDatabase): Promise<readonly string[]> {
  const client = await database.connect();
  try {
    await client.query('create extension if not exists amcheck');
    const failures: string[] = [];
    for (const index of indexes) {
      await client
        .query('select bt_index_parent_check($1::regclass, true, true)', [index])
        .catch((error: unknown) => failures.push(`${index}: ${String(error)}`));
    }
    return failures;
  } finally {
    await client.end();
  }
}
