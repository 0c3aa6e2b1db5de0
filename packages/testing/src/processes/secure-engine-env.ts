import {
  issueNatsCredentials,
  natsPermissionsFor,
  type Role,
  type SecureEndpoints,
} from '@millrace/services';
import type { TestNames } from '../names.ts';

/** The settings with which a process of this role connects to engines that require TLS and credentials. */
export function secureEngineEnv(
  options: {
    readonly database: { readonly url: string };
    readonly names: Pick<TestNames, 'natsPrefix'>;
    readonly valkeyUrl: string;
  },
  secure: SecureEndpoints,
  role: Role,
): Record<string, string> {
  return {
    MILLRACE_ENGINE_CA_FILE: secure.caFile,
    ...postgresEnv(options.database.url, secure, role),
    ...natsEnv(options.names, secure, role),
    ...valkeyEnv(options.valkeyUrl, secure, role),
    ...restateEnv(secure, role),
  };
}

/** The login of the role, with the authority from the setting instead of the URL. */
function postgresEnv(databaseUrl: string, { postgres }: SecureEndpoints, role: Role): Record<string, string> {
  // An empty variable counts as not set: gateways have no database.
  if (role === 'gateway') return { MILLRACE_POSTGRES_URL: '' };
  const url = new URL(databaseUrl);
  const { user, password } = postgres[role];
  Object.assign(url, { username: user, password });
  url.searchParams.delete('sslrootcert');
  return { MILLRACE_POSTGRES_URL: url.href };
}

/** A user with the permissions of the role, limited to the names of the test. */
function natsEnv(
  { natsPrefix }: Pick<TestNames, 'natsPrefix'>,
  { nats }: SecureEndpoints,
  role: Role,
): Record<string, string> {
  if (role === 'admin') return {};
  const permissions = natsPermissionsFor(nats.permissions[role], natsPrefix);
  return { MILLRACE_NATS_CREDENTIALS: issueNatsCredentials(nats.accountSeed, role, permissions) };
}

function valkeyEnv(valkeyUrl: string, { valkey }: SecureEndpoints, role: Role): Record<string, string> {
  if (role === 'admin') return {};
  const url = valkeyUrlFor(valkeyUrl, valkey[role]);
  return { MILLRACE_VALKEY_URL: url, MILLRACE_POT_VALKEY_URL: url };
}

/** The same server with another user. */
export function valkeyUrlFor(
  valkeyUrl: string,
  { user, password }: { readonly user: string; readonly password: string },
): string {
  const url = new URL(valkeyUrl);
  Object.assign(url, { username: user, password });
  return url.href;
}

/** Only workers have a client certificate. */
function restateEnv({ restate }: SecureEndpoints, role: Role): Record<string, string> {
  // An empty variable counts as not set.
  if (role !== 'worker') return { MILLRACE_RESTATE_INGRESS_URL: '', MILLRACE_RESTATE_ADMIN_URL: '' };
  return {
    MILLRACE_RESTATE_INGRESS_URL: restate.ingressUrl,
    MILLRACE_RESTATE_ADMIN_URL: restate.adminUrl,
    MILLRACE_RESTATE_CLIENT_CERT_FILE: restate.certificateFile,
    MILLRACE_RESTATE_CLIENT_KEY_FILE: restate.keyFile,
    MILLRACE_RESTATE_ENDPOINT_TLS_CERT_FILE: restate.certificateFile,
    MILLRACE_RESTATE_ENDPOINT_TLS_KEY_FILE: restate.keyFile,
  };
}
