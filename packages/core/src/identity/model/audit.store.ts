import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, parseId, toUuid, type AuditId, type OrgId } from '@millrace/platform/ids';
import type { Selectable, SelectQueryBuilder } from 'kysely';
import type { KeyMode } from './api-key.ts';
import type { AuditEntry, AuditContext, PageRequest } from './identity.ts';

/** One entry of the audit log. It must not contain secrets. */
export interface AuditedChange {
  readonly action: `${string}.${string}`;
  readonly resource: { readonly kind: string; readonly id: string };
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
  readonly reason?: string;
}

/** Writes the entry in the transaction of the change, so that neither exists without the other. */
export async function appendAuditEntry(
  tx: Tx,
  orgId: OrgId | null,
  cause: AuditContext,
  change: AuditedChange,
): Promise<void> {
  await tx.kysely
    .insertInto('audit_log')
    .values({
      id: toUuid(tx.ids.next('aud')),
      org_id: orgId === null ? null : toUuid(orgId),
      mode: cause.mode,
      actor_kind: cause.actor.kind,
      actor_id: cause.actor.id,
      action: change.action,
      resource_kind: change.resource.kind,
      resource_id: change.resource.id,
      before: change.before === undefined ? null : JSON.stringify(change.before),
      after: change.after === undefined ? null : JSON.stringify(change.after),
      reason: change.reason ?? cause.reason ?? null,
      request_id: cause.requestId,
      ip: cause.ip,
      occurred_at: tx.clock.now(),
    })
    .execute();
}

export interface AuditLogFilter {
  readonly action: string | null;
  readonly actorId: string | null;
  readonly resourceId: string | null;
  readonly from: Date | null;
  /** Exclusive. */
  readonly until: Date | null;
}

/** Newest first. `mode` null means both. */
export async function listOrganisationAuditLog(
  reader: Reader,
  orgId: OrgId,
  filter: AuditLogFilter & { readonly mode: KeyMode | null },
  page: PageRequest<AuditId>,
): Promise<readonly AuditEntry[]> {
  let query = reader.kysely.selectFrom('audit_log').selectAll().where('org_id', '=', toUuid(orgId));
  if (filter.mode !== null) query = query.where('mode', '=', filter.mode);
  return readPage(query, filter, page);
}

/** The log of the whole installation, newest first. For operators. */
export async function listInstallationAuditLog(
  reader: Reader,
  filter: AuditLogFilter & { readonly orgId: OrgId | null },
  page: PageRequest<AuditId>,
): Promise<readonly AuditEntry[]> {
  let query = reader.kysely.selectFrom('audit_log').selectAll();
  if (filter.orgId !== null) query = query.where('org_id', '=', toUuid(filter.orgId));
  return readPage(query, filter, page);
}

/** The first recorded reason for each resource, by resource id. For operators. */
export async function findAuditReasons(
  reader: Reader,
  resourceKind: string,
  resourceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (resourceIds.length === 0) return new Map();
  const rows = await reader.kysely
    .selectFrom('audit_log')
    .select(['resource_id', 'reason'])
    .where('resource_kind', '=', resourceKind)
    .where('resource_id', 'in', [...resourceIds])
    .where('reason', 'is not', null)
    .orderBy('id', 'desc')
    .execute();
  return new Map(rows.map((row) => [row.resource_id, row.reason ?? '']));
}

async function readPage(
  query: SelectQueryBuilder<Tables, 'audit_log', Selectable<Tables['audit_log']>>,
  filter: AuditLogFilter,
  page: PageRequest<AuditId>,
): Promise<readonly AuditEntry[]> {
  let filtered = query;
  if (filter.action !== null) filtered = filtered.where('action', '=', filter.action);
  if (filter.actorId !== null) filtered = filtered.where('actor_id', '=', filter.actorId);
  if (filter.resourceId !== null) filtered = filtered.where('resource_id', '=', filter.resourceId);
  if (filter.from !== null) filtered = filtered.where('occurred_at', '>=', filter.from);
  if (filter.until !== null) filtered = filtered.where('occurred_at', '<', filter.until);
  if (page.after !== null) filtered = filtered.where('id', '<', toUuid(page.after));
  const newest = filtered.orderBy('id', 'desc').limit(page.limit + 1);
  const rows = await newest.execute();
  return rows.map(toEntry);
}

function toEntry(row: Selectable<Tables['audit_log']>): AuditEntry {
  return {
    id: fromUuid('aud', row.id),
    orgId: row.org_id === null ? null : fromUuid('org', row.org_id),
    actor: { kind: row.actor_kind, id: row.actor_id },
    action: row.action,
    resource: { kind: row.resource_kind, id: row.resource_id },
    before: row.before as AuditEntry['before'],
    after: row.after as AuditEntry['after'],
    reason: row.reason,
    requestId: row.request_id === null ? null : parseId('req', row.request_id),
    ip: row.ip,
    occurredAt: row.occurred_at,
  };
}
