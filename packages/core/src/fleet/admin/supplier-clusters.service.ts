import type { Tx } from '@millrace/platform/db';
import type { ClusterId, OrgId } from '@millrace/platform/ids';
import { appendAuditEntry, type AuditContext } from '../../identity/index.ts';
import { takesSuppliersMachines } from '../inventory/clusters.ts';
import { findProvider, listEngineEndpoints } from '../inventory/clusters.store.ts';
import { isSameEngine, problemWithEndpoint } from '../inventory/engine-endpoints.ts';
import { insertNewCluster, type NewCluster } from './fleet-admin.store.ts';
import { lockConfiguration } from './fleet-config.store.ts';

/** Registers the daemon of a supplier as a cluster of one node. */

export type SupplierCluster = Pick<
  NewCluster,
  'name' | 'providerId' | 'region' | 'endpoint' | 'credentialRef' | 'settings'
>;

/** Returns a problem in words for the supplier, or the cluster's id. An observer then polls the cluster. */
export async function registerSupplierCluster(
  tx: Tx,
  cause: AuditContext,
  supplierOrgId: OrgId,
  request: SupplierCluster,
): Promise<ClusterId | { readonly problem: string }> {
  const provider = await findProvider(tx, request.providerId);
  if (provider === null || !provider.configured || !takesSuppliersMachines(provider)) {
    return { problem: "The operator no longer accepts suppliers' machines." };
  }
  if (!provider.regions.some(({ region, configured }) => region === request.region && configured)) {
    return { problem: `The operator has closed the region ${request.region}.` };
  }
  const { driver } = provider;
  const endpoint = driver === 'mock' ? 'mock:' : request.endpoint;
  const fields = { ...request, driver, endpoint, offer: 'marketplace', connectionType: 'ethernet' } as const;
  const problem = problemWithEndpoint(fields.driver, fields.endpoint);
  if (problem !== null) return { problem: `The endpoint ${problem}.` };
  await lockConfiguration(tx);
  // Suppliers' daemons are identified by certificate, so their endpoints need no comparison.
  const reached = await listEngineEndpoints(tx, { withoutSupplied: true });
  const isKnown = reached.some((known) => isSameEngine(known, fields));
  if (isKnown) return { problem: 'The Incus daemon already belongs to the fleet.' };
  const id = await insertNewCluster(tx, fields, supplierOrgId);
  // The name contains an id, so it must be unique.
  if (id === null) throw new Error(`Cluster ${fields.name} already exists.`);
  await appendAuditEntry(tx, supplierOrgId, cause, {
    action: 'cluster.supplied',
    resource: { kind: 'cluster', id },
    after: { name: request.name, region: request.region, endpoint: request.endpoint },
  });
  return id;
}
