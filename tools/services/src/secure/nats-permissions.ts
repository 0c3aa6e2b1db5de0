import { prefixPlaceholder, readAdminJson } from './admin-json.ts';
import type { NatsUserPermissions } from './nats-tokens.ts';

export type NatsRolePermissions = Readonly<Record<'api' | 'worker' | 'gateway', NatsUserPermissions>>;

let derived: NatsRolePermissions | undefined;

/** The permissions as the product derives them. Reads them once, because the command takes a second. */
export function natsRolePermissions(): NatsRolePermissions {
  // The command of this checkout wrote it, so its shape is known.
  derived ??= readAdminJson(['nats', 'users']) as NatsRolePermissions;
  return derived;
}

/** The permissions for the subjects, streams and buckets of one prefix. */
export function natsPermissionsFor(permissions: NatsUserPermissions, prefix: string): NatsUserPermissions {
  const named = (subject: string): string =>
    subject
      .replaceAll(prefixPlaceholder, prefix)
      .replaceAll(prefixPlaceholder.toUpperCase(), prefix.toUpperCase());
  const { publish, subscribe, mayRespond } = permissions;
  return { publish: publish.map(named), subscribe: subscribe.map(named), mayRespond };
}
