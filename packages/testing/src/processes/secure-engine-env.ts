import {
  issueNatsCredentials,
  natsPermissionsFor,
  type Role,
  type SecureEndpoints,
} from '@millrace/services';
import type { TestNames } from '../names.ts';

/** The settings with which a process of this role connects to engines that require TLS and credentials. */
export function secureEngineEnv(
  options: { readonly database: { readonly url: string }; readonly names: TestNames },
  secure: SecureEndpoints,
  role: Role,
): Record<string, string> {
  return {
    MILLRACE_ENGINE_CA_FILE: secure.caFile,
    ...natsEnv(options.names, secure, role),
  };
}

/** A user with the permissions of the role, limited to the names of the test. */
function natsEnv({ natsPrefix }: TestNames, { nats }: SecureEndpoints, role: Role): Record<string, string> {
  if (role === 'admin') return {};
  const permissions = natsPermissionsFor(nats.permissions[role], natsPrefix);
  return { MILLRACE_NATS_CREDENTIALS: issueNatsCredentials(nats.accountSeed, role, permissions) };
}
