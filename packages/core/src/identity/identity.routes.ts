import { serveAdmin } from './admin.routes.ts';
import { serveApiKeys, serveOperations, serveSshKeys } from './keys.routes.ts';
import { serveAuditLog, serveOrganisations } from './organisations.routes.ts';
import type { IdentityRoutes } from './route-kit.ts';

/** Binds every operation of this feature. */
export function serveIdentity(routes: IdentityRoutes): void {
  serveOrganisations(routes);
  serveApiKeys(routes);
  serveSshKeys(routes);
  serveAuditLog(routes);
  serveOperations(routes);
  serveAdmin(routes);
}
