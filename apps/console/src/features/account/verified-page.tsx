import { Navigate, useSearch } from '@tanstack/react-router';
import { usePerson } from '../../api/session.tsx';
import { Loading } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { LinkButton } from '../../ui/link.tsx';

/** Where the link of the mail leads. */
export function VerifiedPage() {
  const { error } = useSearch({ from: '/verified' });
  const { person } = usePerson();
  if (error !== undefined) {
    return (
      <SingleFormPage
        title="This link does not work any more"
        about="It is used up, too old or not whole. Sign in, and you can have a new one sent."
      >
        <LinkButton to="/sign-in" kind="primary">
          Sign in
        </LinkButton>
      </SingleFormPage>
    );
  }
  if (person.state === 'unknown') return <Loading what="your account" />;
  if (person.state === 'in')
    return <Navigate to={person.memberships.length === 0 ? '/welcome' : '/'} replace />;
  return (
    <SingleFormPage title="Your mailbox is confirmed" about="Sign in to go on.">
      <LinkButton to="/sign-in" kind="primary">
        Sign in
      </LinkButton>
    </SingleFormPage>
  );
}
