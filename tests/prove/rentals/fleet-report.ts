import type { CoreStack } from '../../stack/core-stack.ts';
import type { MetalStack } from '../../stack/metal-stack.ts';

/** Describes the hosts from our rows and from their engine when a proof fails, since nothing else of the run remains. */

interface NodeRow {
  readonly name: string;
  readonly status: string;
  readonly reason: string | null;
  readonly seconds: number;
  readonly placeable: boolean;
  readonly gpus_free: number;
}

interface TenantRow {
  readonly name: string;
  readonly wire_id: number;
  readonly rental: string;
  readonly task: string | null;
  readonly state: string;
  readonly seconds: number;
  readonly expires_in: number | null;
  readonly last_error: string | null;
}

export async function describeFleet({ rows }: Pick<CoreStack, 'rows'>): Promise<string> {
  const nodes = await rows<NodeRow>(`
    select node.name, node.status, node.status_reason as reason, capacity.placeable, capacity.gpus_free,
           extract(epoch from now() - node.status_since)::int as seconds
      from nodes as node join node_capacity as capacity on capacity.node_id = node.id
     order by node.name`);
  const tenants = await rows<TenantRow>(`
    select node.name, rental.wire_id, rental.status as rental, rental.task, machine.state, machine.last_error,
           extract(epoch from now() - rental.status_since)::int as seconds,
           extract(epoch from rental.expires_at - now())::int as expires_in
      from rental_machines as machine
      join rentals as rental on rental.id = machine.rental_id
      join nodes as node on node.id = machine.node_id
     where machine.state <> 'gone'
     order by rental.wire_id`);
  const lines = nodes.flatMap(({ name, status, reason, seconds, placeable, gpus_free: free }) => [
    `${name}: ${status} for ${seconds} s (${reason ?? 'no reason'}), ${free} GPUs free${placeable ? '' : ', not for sale'}`,
    ...tenants.filter((tenant) => tenant.name === name).map(describeTenant),
  ]);
  return ['Hosts in the database:', ...lines].join('\n  ');
}

function describeTenant({
  wire_id: id,
  rental,
  task,
  state,
  seconds,
  expires_in: left,
  last_error: error,
}: TenantRow) {
  const end = left === null ? '' : `, expires in ${left} s`;
  const reason = error === null ? '' : `: ${error}`;
  return `  rental ${id} is ${rental} for ${seconds} s${end}, task ${task ?? 'none'}, machine ${state}${reason}`;
}

interface PoolNode {
  readonly uuid: string;
  readonly provision_state: string;
  readonly target_provision_state: string | null;
  readonly power_state: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  readonly fault: string | null;
  readonly last_error: string | null;
  readonly reservation: string | null;
  readonly instance_uuid: string | null;
  readonly provision_updated_at: string | null;
}

const poolFields: readonly (keyof PoolNode)[] = [
  'uuid',
  'provision_state',
  'target_provision_state',
  'power_state',
  'maintenance',
  'maintenance_reason',
  'fault',
  'last_error',
  'reservation',
  'instance_uuid',
  'provision_updated_at',
];

export async function describeIronicPool({
  ironic,
  farm,
}: Pick<MetalStack, 'ironic' | 'farm'>): Promise<string> {
  const target = `/v1/nodes?fields=${poolFields.join()}`;
  const { nodes } = await ironic.call<{ nodes: readonly PoolNode[] }>('GET', target);
  const lines = nodes.toSorted((one, other) => (one.uuid < other.uuid ? -1 : 1)).map(describePoolNode);
  const machines = farm.machines.map(({ id, power, agent, disk, wipes }) => {
    const runs = agent === null ? 'no agent' : 'an agent';
    return `machine ${id}: power ${power}, ${runs}, disk ${disk === null ? 'empty' : 'written'}, wiped ${wipes} times`;
  });
  return ['Hosts in Ironic:', ...lines, ...machines].join('\n  ');
}

function describePoolNode(node: PoolNode): string {
  const fields = poolFields.filter((name) => name !== 'uuid' && node[name] !== null && node[name] !== false);
  return `${node.uuid}: ${fields.map((name) => `${name} ${node[name]}`).join(', ')}`;
}
