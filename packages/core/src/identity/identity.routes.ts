import { serveAdmin } from './organisations/admin.routes.ts';
import { serveApiKeys, serveOperations, serveSshKeys } from './keys/keys.routes.ts';
import { serveAuditLog, serveOrganisations } from './organisations/organisations.routes.ts';
import type { IdentityRoutes } from './route-helpers.ts';

/** Binds every operation of this feature. */
export function serveIdentity(routes: IdentityRoutes): void {
  serveOrganisations(routes);
  serveApiKeys(routes);
  serveSshKeys(routes);
  serveAuditLog(routes);
  serveOperations(routes);
  serveAdmin(routes);
}
