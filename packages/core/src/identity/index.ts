export { serveIdentity, type IdentityRoutes } from './identity.routes.ts';
export { createApiKeyService, UNREVOKED_KEYS_MAX } from './keys/api-keys.service.ts';
export { createKeyExpiry, sweepDueKeys, type KeyExpiry } from './keys/key-expiry.service.ts';
export type { ApiKeyService, ApiKeyServiceDeps, IssuedKey } from './keys/api-keys.service.ts';
export { createMemberService, type MemberService } from './organisations/members.service.ts';
export { createApiKeyLifecycle } from './keys/api-key.workflow.ts';
export {
  addMember,
  bootstrapInstallation,
  createOrganisation,
  issueUnrestrictedKey,
  type NewOrganisation,
  type NewPerson,
  type RunningWorkloads,
} from './organisations/admin.service.ts';
export { createKeyAuthenticator, KEY_MAX_AGE_MS } from './keys/key-authenticator.ts';
export type { KeyAuthenticator, KeyAuthenticatorOptions } from './keys/key-authenticator.ts';
export { createSessionAuthenticator } from './sessions/session-authenticator.ts';
export type { SessionAuthenticator, SessionAuthenticatorOptions } from './sessions/session-authenticator.ts';
export { serveSessions } from './sessions/sessions.routes.ts';
export { erasePersonalData, type ErasureOutcome } from './organisations/erase-personal-data.store.ts';
export { KeyUsage } from './keys/key-usage.ts';
export { appendAuditEntry, findAuditReasons, type AuditedChange } from './model/audit.store.ts';
export { authorizeCaller, authorizeTermination } from './authorize-caller.service.ts';
export type { AuthorizedCaller, CallContext } from './authorize-caller.service.ts';
export { countUnrevokedKeys, findKey, unlimitedKeyLimits } from './model/api-keys.store.ts';
export { hasActiveKey, keyRecords, listRecentPublicIds, rotationChain } from './keys/key-fragments.store.ts';
export type { KeyRecordRow } from './keys/key-fragments.store.ts';
export {
  auditContextOf,
  callContextOf,
  operatorAuditContext,
  requireOwnOrgId,
  pageById,
  personAuditContext,
  positionFromCursor,
  readCommitted,
} from './route-helpers.ts';
export { toWireOrganisation } from './identity.wire.ts';
export {
  createKeyChangePublisher,
  keyChangeSubject,
  subscribeToKeyChanges,
  subscribeToRevocations,
  type PublishKeyChange,
  type KeyChange,
} from './keys/key-changes.ts';
export { systemAuditContext } from './model/identity.ts';
export type { ApiKey, AuditContext, Organisation, TenantRef, User } from './model/identity.ts';
export {
  ensureUser,
  findMembership,
  findOldestOwner,
  findOrganisation,
  listMembershipsOf,
  findOrganisationBySlug,
  grantPlatformRole,
  hasOperator,
  insertMember,
  listPlatformRoles,
  lockOrganisation,
  markSupplier,
} from './model/organisations.store.ts';
export { findFundedAt, lockFundedAt, setFundedAt } from './organisations/funding.store.ts';
export {
  memberRole,
  membersOf,
  organisationById,
  organisationName,
  organisationsAfter,
  organisationStatus,
  supplierSince,
  userEmail,
  userName,
  userProfilesText,
} from './organisations/organisation-fragments.store.ts';
export {
  findUnknownOrganisations,
  listOrganisationIds,
  readOrganisationStates,
} from './organisations/organisation-lists.store.ts';
export { isMemberByEmail, listOwnedOrganisations, lockPerson } from './organisations/person.store.ts';
export type { PersonRecord } from './organisations/person.store.ts';
export { findSshKeys } from './ssh/ssh-keys.store.ts';
export { mintKey, parseKey, secretMatches, type KeyMode, type RandomBytes } from './model/api-key.ts';
export { effectiveScopes, mayChangeRole, platformRolesIn } from './model/key-rights.ts';
