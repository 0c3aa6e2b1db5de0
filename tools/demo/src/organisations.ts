import {
  addMember,
  bootstrapInstallation,
  createOrganisation,
  ensureUser,
  issueUnrestrictedKey,
  systemAuditContext,
} from '@millrace/core/identity';
import type { Call, Cloud } from './cloud.ts';

/** The organisations of the demo and the people in them. */

export interface DemoOrganisation {
  readonly orgId: string;
  readonly userId: string;
  readonly keyId: string;
  readonly call: Call;
}

export const DEMO_SLUG = 'demo';
export const DEMO_EMAIL = 'demo@example.com';
const cause = systemAuditContext('demo', 'live');
const readCommitted = 'read committed';

/** The organisation of the person who tries the demo: tenant, operator and supplier. */
export function createDemoOrganisation(cloud: Cloud): Promise<DemoOrganisation> {
  return cloud.db.transaction({ name: 'create demo', isolation: 'serializable' }, async (tx) => {
    const owner = { email: DEMO_EMAIL, name: 'Dana Demo' };
    const made = await bootstrapInstallation(tx, cause, {
      name: 'Aurora Research',
      slug: DEMO_SLUG,
      homeCell: 0,
      owner,
    });
    if (made === null) throw new Error('The database is not empty.');
    const { organisation, owner: user, issued } = made;
    return { orgId: organisation.id, userId: user.id, keyId: issued.key.id, call: cloud.as(issued.text) };
  });
}

export function createOtherOrganisation(
  cloud: Cloud,
  { name, slug, person }: { readonly name: string; readonly slug: string; readonly person: string },
): Promise<DemoOrganisation> {
  return cloud.db.transaction({ name: 'create organisation', isolation: readCommitted }, async (tx) => {
    const owner = { email: `${slug}@example.com`, name: person };
    const { organisation } = await createOrganisation(tx, cause, { name, slug, homeCell: 0, owner });
    const user = await ensureUser(tx, owner);
    const issued = await issueUnrestrictedKey(tx, cause, {
      orgId: organisation.id,
      user,
      mode: 'live',
      name: 'production',
    });
    return { orgId: organisation.id, userId: user.id, keyId: issued.key.id, call: cloud.as(issued.text) };
  });
}

const team = [
  { email: 'lin@example.com', name: 'Lin Zhao', role: 'admin' },
  { email: 'sam@example.com', name: 'Sam Okafor', role: 'member' },
  { email: 'ines@example.com', name: 'Inês Duarte', role: 'member' },
  { email: 'max@example.com', name: 'Max Weber', role: 'billing' },
] as const;

export async function addTeam(cloud: Cloud, { orgId, call }: DemoOrganisation): Promise<void> {
  for (const { email, name, role } of team) {
    await cloud.db.transaction({ name: 'add member', isolation: readCommitted }, async (tx) => {
      await ensureUser(tx, { email, name });
      await addMember(tx, cause, orgId as never, { email, role });
    });
  }
  await call('POST', `/v2/organisations/${orgId}/invitations`, {
    email: 'guest@example.com',
    role: 'viewer',
  });
}
