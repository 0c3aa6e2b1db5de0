import { natsInboxPrefix } from './permissions.ts';
import type { NatsOptions } from './types.ts';

/** The processes that connect to NATS. Each has users of its own, with the permissions that it needs. */
export type NatsRole = 'api' | 'worker' | 'gateway';

interface NatsSettings {
  readonly urls: readonly string[];
  readonly credentials: string | null;
  readonly ca: string | null;
  readonly prefix: string;
}

export function natsOptionsOf(
  settings: NatsSettings,
  role: NatsRole,
): Pick<NatsOptions, 'servers' | 'name' | 'ca' | 'credentials' | 'inboxPrefix'> {
  const { urls: servers, credentials, ca, prefix } = settings;
  return {
    servers,
    credentials,
    ca,
    name: `millrace-${role}`,
    inboxPrefix: natsInboxPrefix(prefix, role),
  };
}
