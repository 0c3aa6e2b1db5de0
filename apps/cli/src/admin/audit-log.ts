import type { Column } from '../framework/output.ts';
import type { Item } from '../sdk.ts';
import { timestampText } from '../text/timestamps.ts';

export const auditColumns: readonly Column<Item<'adminListAuditLog'>>[] = [
  { name: 'when', value: ({ occurredAt }) => timestampText(occurredAt) },
  { name: 'who', value: ({ actor }) => `${actor.kind} ${actor.id}` },
  { name: 'action', value: ({ action }) => action },
  {
    name: 'what',
    value: ({ resource }) => (resource === null ? undefined : `${resource.kind} ${resource.id}`),
  },
  { name: 'why', value: ({ reason }) => reason },
  { name: 'organisation', value: ({ organisationId }) => organisationId, extra: true },
  { name: 'from', value: ({ ip }) => ip, extra: true },
  { name: 'request', value: ({ requestId }) => requestId, extra: true },
  { name: 'details', value: ({ details }) => JSON.stringify(details), extra: true },
];

export const auditFlags = {
  action: { type: 'text', value: 'ACTION', describe: 'only this action, such as key.create' },
  actor: { type: 'text', value: 'ID', describe: 'only actions of this user or key' },
  resource: { type: 'text', value: 'ID', describe: 'only actions on this resource' },
  from: { type: 'text', value: 'TIME', describe: 'only actions from this time: 2026-08-01T00:00:00Z' },
  until: { type: 'text', value: 'TIME', describe: 'only actions before this time' },
} as const;

export function auditQuery(flags: {
  readonly action: string | undefined;
  readonly actor: string | undefined;
  readonly resource: string | undefined;
  readonly from: string | undefined;
  readonly until: string | undefined;
}) {
  return {
    action: flags.action,
    actorId: flags.actor,
    resourceId: flags.resource,
    from: flags.from,
    until: flags.until,
  };
}
