export { serveIdentity } from './identity.routes.ts';
export type { IdentityRoutes } from './route-kit.ts';
export {
  createApiKeyService,
  sweepDueKeys,
  UNREVOKED_KEYS_MAX,
  type ApiKeyService,
  type ApiKeyServiceDeps,
  type IssuedKey,
} from './api-keys.service.ts';
export { createMemberService, type MemberService } from './members.service.ts';
export { createApiKeyLifecycle } from './api-key.workflow.ts';
export {
  addMember,
  bootstrapInstallation,
  createOrganisation,
  issueUnrestrictedKey,
  type NewOrganisation,
  type NewPerson,
  type RunningWorkloads,
} from './admin.service.ts';
export {
  createKeyAuthenticator,
  KEY_MAX_AGE_MS,
  type KeyAuthenticator,
  type KeyAuthenticatorOptions,
} from './key-authenticator.ts';
export {
  createSessionAuthenticator,
  type SessionAuthenticator,
  type SessionAuthenticatorOptions,
} from './session-authenticator.ts';
export { serveSessions } from './sessions.routes.ts';
export { erasePersonalData, type ErasureOutcome } from './forget-person.store.ts';
export { KeyUsage } from './key-usage.ts';
export { appendAuditEntry, findAuditReasons, type AuditedChange } from './audit.store.ts';
export {
  authorizeCaller,
  authorizeTermination,
  type AuthorizedCaller,
  type CallContext,
} from './caller.service.ts';
export { countUnrevokedKeys, findKey, unlimitedKeyLimits } from './api-keys.store.ts';
export {
  auditContextOf,
  callContextOf,
  operatorAuditContext,
  requireOwnOrgId,
  pageById,
  personAuditContext,
  positionFromCursor,
  readCommitted,
} from './route-kit.ts';
export { toWireOrganisation } from './identity.wire.ts';
export {
  createKeyChangePublisher,
  keyChangeSubject,
  subscribeToKeyChanges,
  subscribeToRevocations,
  type PublishKeyChange,
  type KeyChange,
} from './key-changes.ts';
export {
  systemAuditContext,
  type ApiKey,
  type AuditContext,
  type Organisation,
  type User,
} from './identity.ts';
export {
  ensureUser,
  findMembership,
  findOldestOwner,
  findOrganisation,
  listMembershipsOf,
  findOrganisationBySlug,
  grantPlatformRole,
  insertMember,
  listPlatformRoles,
  lockOrganisation,
  markSupplier,
} from './organisations.store.ts';
export { findSshKeys } from './ssh-keys.store.ts';
export { mintKey, parseKey, secretMatches, type KeyMode } from './api-key.ts';
export { effectiveScopes, mayChangeRole, platformRolesIn } from './access.ts';
