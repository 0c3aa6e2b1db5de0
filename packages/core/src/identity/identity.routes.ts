import { serveAdmin, type AdminRoutes } from './organisations/admin.routes.ts';
import { serveApiKeys, serveOperations, type KeyRoutes } from './keys/keys.routes.ts';
import { serveAuditLog, serveOrganisations } from './organisations/organisations.routes.ts';
import type { OrganisationRoutes } from './organisations/organisations.routes.ts';
import { serveSshKeys } from './ssh/ssh-keys.routes.ts';

export type IdentityRoutes = KeyRoutes & OrganisationRoutes & AdminRoutes;

export function serveIdentity(routes: IdentityRoutes): void {
  serveOrganisations(routes);
  serveApiKeys(routes);
  serveSshKeys(routes);
  serveAuditLog(routes);
  serveOperations(routes);
  serveAdmin(routes);
}
