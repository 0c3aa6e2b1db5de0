import type { Item } from '@millrace/sdk';
import { Navigate, useLocation } from '@tanstack/react-router';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { endSession } from '../../api/auth.ts';
import { anonymousClient } from '../../api/client.ts';
import { fieldIssue } from '../../api/problem.ts';
import { usePerson } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Loading, Problem, QueryView } from '../../ui/states.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { removeInvitationSecret, invitationSecretFor } from './invitation-secret.ts';
import { createOrganisation, storedOrganisationName } from './first-organisation.ts';
import { useForm } from './use-form.ts';
import { useGoTo } from './use-go-to.ts';
import { TextLink } from '../../ui/link.tsx';

const invitationsKey = ['person', 'invitations'] as const;

const texts = {
  welcome: {
    title: 'Welcome',
    about:
      'An organisation owns your machines, balance and keys. It can be your company, your team or just you.',
  },
  invitations: { title: 'Invitations', about: 'Join an organisation that invites you.' },
} as const;

/** For users without an organisation, or with invitations: join one or create one. */
export function WelcomePage() {
  const isOfInvitations = useLocation({ select: ({ pathname }) => pathname.endsWith('/invitations') });
  const { person, again } = usePerson();
  const invitations = useQuery({
    queryKey: invitationsKey,
    queryFn: () => anonymousClient.me.listInvitations().all(),
    enabled: person.state === 'in',
  });
  if (person.state === 'unknown') return <Loading what="your account" />;
  if (person.state === 'out') return <Navigate to="/sign-in" search={{ next: '/console/welcome' }} replace />;
  const signOut = async (): Promise<void> => {
    await endSession();
    await again();
  };
  return (
    <SingleFormPage
      {...texts[isOfInvitations ? 'invitations' : 'welcome']}
      below={
        <>
          {person.memberships.length > 0 && (
            <>
              <TextLink to="/overview">Go to console</TextLink> ·{' '}
            </>
          )}
          <button type="button" className="underline" onClick={() => void signOut()}>
            Sign out
          </button>
        </>
      }
    >
      <QueryView query={invitations} what="invitations">
        {(items) => (
          <>
            {isOfInvitations && items.length === 0 && <p className="mb-4">You have no open invitations.</p>}
            <ul className="mb-4 flex flex-col gap-2">
              {items.map((invitation) => (
                <Invitation key={invitation.id} invitation={invitation} />
              ))}
            </ul>
          </>
        )}
      </QueryView>
      {isOfInvitations || (invitations.data?.length ?? 0) > 0 ? (
        <details>
          <summary className="mb-3">Create an organisation instead</summary>
          <NewOrganisation />
        </details>
      ) : (
        <NewOrganisation />
      )}
    </SingleFormPage>
  );
}

type InvitationRecord = Item<'listMyInvitations'>;

function Invitation({ invitation }: Readonly<{ invitation: InvitationRecord }>) {
  const cache = useQueryClient();
  const { again } = usePerson();
  const goTo = useGoTo();
  const [error, setError] = useState<unknown>(null);
  const responseInput = () => {
    const secret = invitationSecretFor(sessionStorage, invitation.id);
    return { invitationId: invitation.id, ...(secret === null ? {} : { secret }) };
  };
  const accept = async (): Promise<void> => {
    await anonymousClient.me.acceptInvitation(responseInput());
    removeInvitationSecret(sessionStorage);
    await again();
    goTo(undefined);
  };
  const decline = async (): Promise<void> => {
    await anonymousClient.me.declineInvitation(responseInput());
    await cache.invalidateQueries({ queryKey: invitationsKey });
  };
  return (
    <li className="border-line rounded-md border p-3">
      <p>
        <strong>{invitation.organisation.name}</strong> invites you as {invitation.role}.
      </p>
      <p className="text-soft text-xs">
        By {invitation.invitedBy.email}; expires <RelativeTime at={invitation.expiresAt} />.
      </p>
      <div className="mt-2 flex gap-2">
        <Button kind="primary" size="small" onClick={() => void accept().catch(setError)}>
          Join
        </Button>
        <Button size="small" onClick={() => void decline().catch(setError)}>
          Decline
        </Button>
      </div>
      {error !== null && <Problem error={error} />}
    </li>
  );
}

function NewOrganisation() {
  const { again } = usePerson();
  const goTo = useGoTo();
  const { busy, error, onSubmit } = useForm(async ({ name = '' }) => {
    await createOrganisation(name);
    await again();
    goTo(undefined);
  });
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-3">
      <TextField
        label="Organisation name"
        name="name"
        defaultValue={storedOrganisationName(localStorage)}
        required
        maxLength={100}
        autoComplete="organization"
        error={fieldIssue(error, 'name')}
        autoFocus
      />
      {error !== null && fieldIssue(error, 'name') === undefined && <Problem error={error} />}
      <Button kind="primary" type="submit" busy={busy && 'Creating…'}>
        Create organisation
      </Button>
    </form>
  );
}
