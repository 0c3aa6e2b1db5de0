import { Link, Navigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { authCall } from '../../api/auth.ts';
import { useInstallation, usePerson } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Loading, Problem } from '../../ui/states.tsx';
import { BarePage } from './bare-page.tsx';
import { NewPasswordField } from './password-field.tsx';
import { useForm } from './use-form.ts';

export function SignUpPage() {
  const { next } = useSearch({ from: '/sign-up' });
  const { person } = usePerson();
  const installation = useInstallation();
  const [sentTo, setSentTo] = useState<string | null>(null);
  const { busy, error, onSubmit } = useForm(async ({ name = '', email = '', password = '' }) => {
    await authCall('POST', '/sign-up/email', { name, email, password, callbackURL: '/console/verified' });
    setSentTo(email);
  });
  if (person.state === 'in') return <Navigate to="/" replace />;
  if (sentTo !== null) return <LookIntoMail email={sentTo} />;
  if (installation.data === undefined) return <Loading what="the form" />;
  if (installation.data.signUp === 'closed') return <Closed />;
  return (
    <BarePage
      title="Sign up"
      about="See machines and prices at once; pay only for what you start."
      below={
        <>
          Here before?{' '}
          <Link to="/sign-in" search={next === undefined ? {} : { next }} className="underline">
            Sign in
          </Link>
        </>
      }
    >
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <TextField label="Your name" name="name" autoComplete="name" required maxLength={255} autoFocus />
        <TextField label="Email" name="email" type="email" autoComplete="username" required maxLength={255} />
        <NewPasswordField label="Password" />
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Signing up…'}>
          Sign up
        </Button>
      </form>
    </BarePage>
  );
}

function LookIntoMail({ email }: { readonly email: string }) {
  const [again, setAgain] = useState<'no' | 'sent'>('no');
  return (
    <BarePage
      title="Look into your mail"
      about={
        <>
          We have sent a link to <strong className="text-ink">{email}</strong>. Open it to confirm that the
          mailbox is yours; then you are in.
        </>
      }
      below="Nothing there? It may take a minute, or be among the unwanted mail."
    >
      <Button
        off={again === 'sent' && 'It is on its way.'}
        onClick={() => {
          void authCall('POST', '/send-verification-email', { email, callbackURL: '/console/verified' });
          setAgain('sent');
        }}
      >
        {again === 'sent' ? 'Sent again' : 'Send it again'}
      </Button>
    </BarePage>
  );
}

function Closed() {
  return (
    <BarePage
      title="By invitation"
      about="Whoever runs this cloud adds people themselves. Ask them, or a colleague who is an owner or admin, to invite you."
    >
      <Link to="/sign-in" className="underline">
        Sign in
      </Link>
    </BarePage>
  );
}
