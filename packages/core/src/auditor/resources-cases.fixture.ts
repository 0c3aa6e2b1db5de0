import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import type { CheckName } from './checks/checks.ts';

/** Leaked resources, and the findings that the auditor must report. */
export interface ResourceCase {
  readonly what: string;
  readonly alter: (harness: { readonly orgId: OrgId }) => readonly string[];
  readonly names: () => readonly (readonly [CheckName, string])[];
}

const leaked = '00000000-0000-7000-8000-000000000002';
const node = '00000000-0000-7000-8000-000000000003';

const nodeRows = [
  `insert into nodes (id, cluster_id, name, status, status_since, first_seen_at)
   values ('${node}', '${node}', 'audited', 'node_registering', now(), now())`,
  `insert into gpus (id, node_id, pci_address, model, state, first_seen_at)
   values ('${leaked}', '${node}', '0000:81:00.0', 'H100', 'present', now())`,
  `insert into node_capacity (node_id, mode, offer, provider_id, region, cluster_id, connection_type, gpus_total, gpus_free,
      gpus_allocated, spread)
   values ('${node}', 'live', 'bare-metal', 'own', 'eu-west-3', '${node}', 'ethernet', 1, 1, 0, 0)`,
];

const allocationRow = (orgId: OrgId, state: 'live' | 'released'): string =>
  `insert into allocations (id, org_id, mode, external_id, holder, region, gpu_count, node_count, state, created_at, released_at)
   values ('${leaked}', '${toUuid(orgId)}', 'live', '${leaked}', 'rental', 'eu-west-3', 1, 1, '${state}', now(),
           ${state === 'released' ? 'now()' : 'null'})`;

const holdRow = (orgId: OrgId, kind: string, id: string): string =>
  `insert into ledger_holds (id, org_id, mode, idempotency_key, cause_kind, cause_id, held_nano_usd, created_at)
   values ('${leaked}', '${toUuid(orgId)}', 'live', '${kind}:${id}:lost', '${kind}', '${id}', 0, now())`;

export const resourceCases: readonly ResourceCase[] = [
  {
    what: 'an open meter of a rental after the last rental was deleted',
    alter: ({ orgId }) => [
      'delete from test_things',
      `insert into meters (id, org_id, mode, shard, cause_kind, cause_id, name, product, rate_nano_usd_per_hour, quantity,
          unit, funding, state, running_since, opened_at)
       values ('${leaked}', '${toUuid(orgId)}', 'live', 0, 'rental', '4711', 'gpu', 'rental', 0, 1, 'gpu', 'ahead', 'open',
               now(), now())`,
      `insert into meter_transitions (meter_id, seq, org_id, mode, kind, at, recorded_at)
       values ('${leaked}', 1, '${toUuid(orgId)}', 'live', 'opened', now(), now())`,
    ],
    names: () => [['meter_has_thing', fromUuid('mtr', leaked)]],
  },
  {
    what: 'an allocation without a rental',
    alter: ({ orgId }) => [allocationRow(orgId, 'live')],
    names: () => [['allocation_has_rental', fromUuid('alc', leaked)]],
  },
  {
    what: 'a GPU that is taken by a released allocation',
    alter: ({ orgId }) => [
      ...nodeRows,
      'update node_capacity set gpus_free = 0, gpus_allocated = 1',
      allocationRow(orgId, 'released'),
      `insert into allocated_gpus (allocation_id, gpu_id, node_id, org_id, mode)
       values ('${leaked}', '${leaked}', '${node}', '${toUuid(orgId)}', 'live')`,
    ],
    names: () => [['gpu_has_allocation', `audited ${leaked}`]],
  },
  {
    what: 'a port that is taken by a released allocation',
    alter: ({ orgId }) => [
      ...nodeRows,
      allocationRow(orgId, 'released'),
      `insert into allocated_ports (allocation_id, node_id, org_id, mode, protocol, external_port, internal_port)
       values ('${leaked}', '${node}', '${toUuid(orgId)}', 'live', 'tcp', 20001, 22)`,
    ],
    names: () => [['port_has_allocation', 'audited tcp 20001']],
  },
  {
    what: 'a node with a wrong GPU count',
    alter: () => [...nodeRows, 'update node_capacity set gpus_free = 0, gpus_allocated = 1'],
    names: () => [['node_capacity', 'audited']],
  },
  {
    what: 'a hold of a rental without a term or a meter',
    alter: ({ orgId }) => [holdRow(orgId, 'rental', '4711')],
    names: () => [['hold_has_owner', fromUuid('hld', leaked)]],
  },
  {
    what: 'a hold of a payout that does not exist',
    alter: ({ orgId }) => [holdRow(orgId, 'payout', 'pyo_lost')],
    names: () => [['hold_has_owner', fromUuid('hld', leaked)]],
  },
];
