import type { Item, Output } from '@millrace/sdk';
import { relativeText, usdText } from '@millrace/sdk/text';
import { sortAttention, type AttentionItem } from '../../../ui/logic/attention-items.ts';
import type { AuditReport } from '../auditor/ledger-condition.ts';
import { statusText, type FleetNode } from '../common/fleet-nodes.ts';

/** Finds what the operator should look at: faults, audit errors and pending decisions. */

export type AdminOverview = Output<'adminGetOverview'>;
type Cluster = Item<'adminListClusters'>;

export interface OperatorSources {
  readonly pending: AdminOverview['pending'];
  /** Offline and quarantined nodes. */
  readonly nodes: readonly Pick<
    FleetNode,
    'id' | 'name' | 'clusterName' | 'status' | 'statusReason' | 'statusSince'
  >[];
  /** Clusters that do not respond. */
  readonly clusters: readonly Pick<Cluster, 'id' | 'name' | 'statusReason' | 'lastSeenAt'>[];
  /** The condition of the ledger; null before the first audit. */
  readonly audit: AuditReport | null;
}

export function operatorAttention(sources: OperatorSources, nowMs: number): readonly AttentionItem[] {
  const { pending, nodes, clusters, audit } = sources;
  return sortAttention([
    ...(audit === null || audit.isClean ? [] : [auditItem(audit)]),
    ...clusters.map(({ id, name, statusReason }): AttentionItem => ({
      key: id,
      tone: 'bad',
      title: `Cluster ${name} does not respond`,
      detail: statusReason ?? 'Its nodes cannot be rented.',
      to: '/operator/providers',
    })),
    ...nodes.map(({ id, name, clusterName, status, statusReason, statusSince }): AttentionItem => ({
      key: id,
      tone: 'bad',
      title: `Node ${name} is ${statusText(status)} for ${relativeText(statusSince, nowMs).replace(/ ago$/, '')}`,
      detail: `${placeText(clusterName)}. ${statusReason ?? 'Its GPUs cannot be rented.'}`,
      to: `/operator/nodes/${id}`,
    })),
    ...pendingItems(pending),
  ]);
}

function auditItem({ id, errors }: AuditReport): AttentionItem {
  return {
    key: id,
    tone: 'bad',
    title: `An audit found ${errors === 1 ? '1 error' : `${String(errors)} errors`}`,
    detail:
      'Records that must agree differ, and no full audit has passed since. The report says how to repair each.',
    to: `/operator/auditor/${id}`,
  };
}

function pendingItems({ suppliers, machines, payouts, payoutsNanoUsd }: AdminOverview['pending']) {
  const item = (key: string, title: string, detail: string): AttentionItem => ({
    key,
    tone: 'info',
    title,
    detail,
    to: '/operator/suppliers',
    search: key === 'suppliers' ? {} : { tab: key },
  });
  const plural = (count: number, noun: string): string => `${String(count)} ${noun}${count === 1 ? '' : 's'}`;
  return [
    ...(suppliers === 0
      ? []
      : [
          item(
            'suppliers',
            `${plural(suppliers, 'supplier application')} to review`,
            'Approve or reject them.',
          ),
        ]),
    ...(machines === 0
      ? []
      : [
          item(
            'machines',
            `${plural(machines, 'supplier machine')} to review`,
            'They are rented once approved.',
          ),
        ]),
    ...(payouts === 0
      ? []
      : [item('payouts', `${plural(payouts, 'payout')} requested`, `${usdText(payoutsNanoUsd)} in total.`)]),
  ];
}

/** The service generates the names of suppliers' clusters; they say nothing to a reader. */
function placeText(clusterName: string): string {
  return clusterName.startsWith('sup-') ? 'Machine of a supplier' : `Cluster ${clusterName}`;
}
