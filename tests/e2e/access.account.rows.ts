import { contract, type OperationId } from '@millrace/contract';
import { ensureUser } from '@millrace/core/identity';
import { toUuid } from '@millrace/platform/ids';
import { testIds, uniqueId } from '@millrace/testing';
import type { SignedIn } from '../../apps/api/src/users.fixture.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** A signed-in user without an organisation. */
export interface SignedInPerson {
  readonly email: string;
  readonly session: SignedIn;
}

/** One row per operation of session users, like those of access.rows.ts for organisations. */
export interface PersonRow {
  readonly own: (harness: Harness, person: SignedInPerson) => Promise<CallInput>;
  /** `none`: the operation names no resource that could belong to another user. */
  readonly others: 'none' | { readonly absent: CallInput };
}

const nothing = async (): Promise<CallInput> => ({});

/** The harness sends no email, so the invitation's secret is taken from its link. */
const secretIn = (link: unknown): string => new URL(String(link)).hash.slice('#invitation='.length);

const invitationRow: PersonRow = {
  own: async (harness, { email }) => {
    const params = { organisationId: harness.acme.organisation.id };
    const body = { email, role: 'member' };
    const made = await callOperation(
      harness,
      contract.operations.inviteMember,
      { params, body },
      harness.acme.owner.key,
    );
    if (made.status !== 201) throw new Error(`Inviting the user failed: ${made.text}`);
    return {
      params: { invitationId: made.json.id as string },
      body: { secret: secretIn(made.json.link) },
    };
  },
  others: { absent: { params: { invitationId: testIds.next('inv') } } },
};

export const personRows: Partial<Record<OperationId, PersonRow>> = {
  listMyOrganisations: { own: nothing, others: 'none' },
  createOrganisation: { own: async () => ({ body: { name: `Of ${uniqueId()}` } }), others: 'none' },
  listMyInvitations: { own: nothing, others: 'none' },
  acceptInvitation: invitationRow,
  declineInvitation: invitationRow,
  listMySessions: { own: nothing, others: 'none' },
  endMySession: {
    own: async (_harness, { session }) => ({ params: { sessionId: session.sessionId } }),
    others: { absent: { params: { sessionId: testIds.next('ses') } } },
  },
};

export async function createSignedInPerson({ fixture }: Harness): Promise<SignedInPerson> {
  const { db } = fixture;
  const email = `person-${uniqueId()}@example.com`;
  const user = await db.transaction({ name: 'seed person', isolation: 'read committed' }, (tx) =>
    ensureUser(tx, { email, name: 'Somebody' }),
  );
  await db.kysely
    .updateTable('users')
    .set({ email_verified: true })
    .where('id', '=', toUuid(user.id))
    .execute();
  return { email, session: await fixture.signInAs(user.id) };
}
