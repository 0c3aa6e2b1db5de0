import type { Role, SecureEndpoints } from '@millrace/services';
import type { TestNames } from '../names.ts';

/** The settings with which a process of this role connects to engines that require TLS and credentials. */
export function secureEngineEnv(
  _options: { readonly database: { readonly url: string }; readonly names: TestNames },
  secure: SecureEndpoints,
  _role: Role,
): Record<string, string> {
  return { MILLRACE_ENGINE_CA_FILE: secure.caFile };
}
