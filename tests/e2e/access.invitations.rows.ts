import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { testIds, uniqueId } from '@millrace/testing';
import type { AccessRow } from './access.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of an organisation's invitations. */

const { operations } = contract;
const newInvitation = () => ({ email: `guest-${uniqueId()}@example.com`, role: 'member' });

export const invitationAccessRows: Partial<Record<OperationId, AccessRow>> = {
  listInvitations: invitationsRow(() => ({})),
  inviteMember: invitationsRow(() => ({ body: newInvitation() })),
  cancelInvitation: {
    own: (harness) => createInvitation(harness, harness.acme),
    others: {
      // Another organisation in the path must look like an absent invitation.
      absent: { params: { organisationId: testIds.next('org'), invitationId: testIds.next('inv') } },
      foreign: (harness) => createInvitation(harness, harness.other),
    },
  },
};

function invitationsRow(input: () => CallInput): AccessRow {
  const of = (organisationId: string): CallInput => ({ ...input(), params: { organisationId } });
  return {
    own: async ({ acme }) => of(acme.organisation.id),
    others: {
      absent: of(testIds.next('org')),
      foreign: async ({ other }) => of(other.organisation.id),
    },
  };
}

async function createInvitation(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  const params = { organisationId: who.organisation.id };
  const made = await callOperation(
    harness,
    operations.inviteMember,
    { params, body: newInvitation() },
    who.owner.key,
  );
  return { params: { ...params, invitationId: made.json.id as string } };
}
