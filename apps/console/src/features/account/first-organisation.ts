import { anonymousClient } from '../../api/client.ts';

/** The organisation that a user named at sign-up. It is created at the first sign-in. */

const key = 'millrace.first-organisation';

export function storeOrganisationName(storage: Pick<Storage, 'setItem'>, name: string): void {
  try {
    storage.setItem(key, name);
  } catch {
    // Storage is full or disabled: the welcome page asks for the name again.
  }
}

/** Empty if the user named none in this browser. */
export function storedOrganisationName(storage: Pick<Storage, 'getItem'>): string {
  return storage.getItem(key) ?? '';
}

export async function createOrganisation(name: string): Promise<void> {
  await anonymousClient.organisations.create({ name });
  localStorage.removeItem(key);
}

/** Creates the organisation unless the user already has one or is invited to one. */
export async function createFirstOrganisation(name: string): Promise<void> {
  const { me } = anonymousClient;
  const [memberships, invitations] = await Promise.all([
    me.listOrganisations({ limit: 1 }),
    me.listInvitations({ limit: 1 }),
  ]);
  if (memberships.items.length === 0 && invitations.items.length === 0) await createOrganisation(name);
}
