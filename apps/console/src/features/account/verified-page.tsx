import { Navigate, useSearch } from '@tanstack/react-router';
import { usePerson } from '../../api/session.tsx';
import { Loading } from '../../ui/states.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { LinkButton } from '../../ui/link.tsx';

/** Target of the link in the verification email. */
export function VerifiedPage() {
  const { error } = useSearch({ from: '/verified' });
  const { person } = usePerson();
  if (error !== undefined) {
    return (
      <SingleFormPage
        title="This link is not valid"
        about="It has been used, has expired or is incomplete. Sign in to get a new one."
      >
        <LinkButton to="/sign-in" kind="primary">
          Sign in
        </LinkButton>
      </SingleFormPage>
    );
  }
  if (person.state === 'unknown') return <Loading what="your account" />;
  if (person.state === 'in')
    return <Navigate to={person.memberships.length === 0 ? '/welcome' : '/overview'} replace />;
  return (
    <SingleFormPage title="Email verified" about="Sign in to continue.">
      <LinkButton to="/sign-in" kind="primary">
        Sign in
      </LinkButton>
    </SingleFormPage>
  );
}
