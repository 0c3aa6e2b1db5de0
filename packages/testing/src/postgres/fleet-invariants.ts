import type { Client } from 'pg';

/** Queries for violations of the fleet's invariants, independent of the code that writes the rows. */
const invariants: Readonly<Record<string, string>> = {
  'a GPU has at most one live allocation': `
    select gpu_id::text from allocated_gpus where released_at is null group by gpu_id having count(*) > 1`,

  'a GPU is allocated again only after its release': `
    select gpu_id::text from (
      select sold.gpu_id, allocation.created_at,
             lag(coalesce(sold.released_at, 'infinity')) over (partition by sold.gpu_id order by allocation.created_at,
               allocation.id) as given_back
        from allocated_gpus as sold join allocations as allocation on allocation.id = sold.allocation_id) as history
     where created_at < given_back`,

  'the counters of a node match its GPUs': `
    select format('%s has %s/%s/%s/%s instead of %s/%s/%s/%s', capacity.node_id, gpus_total, gpus_free, gpus_allocated,
                  largest_numa_free, total, free, allocated, largest)
      from node_capacity as capacity
     cross join lateral (
       select coalesce(sum(present), 0) as total, coalesce(sum(unsold), 0) as free,
              coalesce(sum(sold), 0) as allocated, coalesce(max(unsold), 0) as largest
         from (
           select count(*) filter (where present) as present, count(*) filter (where present and not sold) as unsold,
                  count(*) filter (where sold) as sold
             from (
               select gpu.numa_node, gpu.state = 'present' as present,
                      exists (select from allocated_gpus as held
                               where held.gpu_id = gpu.id and held.released_at is null) as sold
                 from gpus as gpu where gpu.node_id = capacity.node_id) as each_gpu
            group by numa_node) as each_numa) as counted
     where (gpus_total, gpus_free, gpus_allocated, largest_numa_free) is distinct from (total, free, allocated, largest)
        or idle <> (allocated = 0 and total > 0 and free = total)`,

  'an allocation has the number of GPUs and nodes that its row says': `
    select allocation.id::text from allocations as allocation
      left join allocated_gpus as sold on sold.allocation_id = allocation.id
     group by allocation.id
    having count(sold.gpu_id) <> gpu_count or count(distinct sold.node_id) <> node_count`,

  'GPUs and ports are released together with their allocation': `
    select allocation.id::text from allocations as allocation
      join (select allocation_id, released_at from allocated_gpus
            union all select allocation_id, released_at from allocated_ports) as part on part.allocation_id = allocation.id
     where part.released_at is distinct from allocation.released_at`,

  'a machine has one live allocation': `
    select external_id::text from allocations where state = 'live' group by external_id having count(*) > 1`,

  'allocated GPUs have the mode, organisation, node and region of their allocation and node': `
    select sold.gpu_id::text from allocated_gpus as sold
      join allocations as allocation on allocation.id = sold.allocation_id
      join node_capacity as capacity on capacity.node_id = sold.node_id
      join gpus as gpu on gpu.id = sold.gpu_id
     where sold.mode <> allocation.mode or sold.mode <> capacity.mode or sold.org_id <> allocation.org_id
        or gpu.node_id <> sold.node_id or allocation.region <> capacity.region`,

  'a port of a node is allocated once, in the range of its cluster, to a machine on that node': `
    select format('%s %s %s', port.node_id, port.protocol, port.external_port) from allocated_ports as port
      join nodes as node on node.id = port.node_id
      join clusters as cluster on cluster.id = node.cluster_id
     where port.released_at is null
     group by port.node_id, port.protocol, port.external_port, cluster.port_first, cluster.port_last
    having count(*) > 1 or not port.external_port between cluster.port_first and cluster.port_last
        or not bool_and(exists (select from allocated_gpus as sold
                                 where sold.allocation_id = port.allocation_id and sold.node_id = port.node_id))`,

  'a gang consists of whole nodes of one fabric': `
    select allocation.id::text from allocations as allocation
      join allocated_gpus as sold on sold.allocation_id = allocation.id
      join node_capacity as capacity on capacity.node_id = sold.node_id
     where allocation.node_count > 1 and allocation.state <> 'released'
     group by allocation.id
    having count(distinct capacity.fabric_id) <> 1 or bool_or(capacity.fabric_id is null)
        or bool_or(capacity.gpus_free > 0)`,
};

/** A sentence for each violation; empty if there are none. */
export async function fleetInvariantViolations(client: Client): Promise<readonly string[]> {
  const sentences: string[] = [];
  // One snapshot for all rules, so that they can be checked during concurrent work.
  await client.query('begin transaction isolation level repeatable read read only');
  try {
    for (const [rule, query] of Object.entries(invariants)) {
      const { rows } = await client.query<[string]>({ text: `${query} limit 5`, rowMode: 'array' });
      for (const [who] of rows) sentences.push(`${rule}: ${who}`);
    }
  } finally {
    await client.query('rollback');
  }
  return sentences;
}
