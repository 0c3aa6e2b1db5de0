import { Navigate } from '@tanstack/react-router';
import { useState } from 'react';
import { authCall } from '../../api/auth.ts';
import { usePerson } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { LinkButton } from '../../ui/link.tsx';
import { TextField } from '../../ui/field.tsx';
import { DescriptionList } from '../../ui/page.tsx';
import { Loading, Note, Problem } from '../../ui/states.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { SingleFormPage } from './single-form-page.tsx';
import { approveOrDenyCode, findCode } from './device-code.ts';
import { useForm } from './use-form.ts';

type Found = Awaited<ReturnType<typeof findCode>>;
type Outcome = 'approved' | 'denied';

/** Never reads the code from the URL, so that a link from an attacker needs more than one click. */
export function DevicePage() {
  const { person } = usePerson();
  const [found, setFound] = useState<Found | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  if (person.state === 'unknown') return <Loading what="your account" />;
  if (person.state === 'out') return <Navigate to="/sign-in" search={{ next: '/console/device' }} replace />;
  if (outcome !== null) {
    return (
      <SingleFormPage title={outcome === 'approved' ? 'Terminal signed in' : 'Sign-in denied'}>
        <p>
          {outcome === 'approved'
            ? 'Return to your terminal. You can close this page.'
            : 'The terminal has no access to your account.'}
        </p>
        <div className="mt-4">
          <LinkButton to="/overview">Open the console</LinkButton>
        </div>
      </SingleFormPage>
    );
  }
  return found === null ? <CodeForm onFound={setFound} /> : <Decision found={found} onDecided={setOutcome} />;
}

function CodeForm({ onFound }: Readonly<{ onFound: (found: Found) => void }>) {
  const [code, setCode] = useState('');
  const { busy, error, onSubmit } = useForm(async () => onFound(await findCode(authCall, code)));
  return (
    <SingleFormPage title="Sign in a terminal" about="Enter the code shown in your terminal.">
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <TextField
          label="Code"
          name="code"
          value={code}
          onValue={setCode}
          autoComplete="off"
          spellCheck={false}
          required
          maxLength={20}
          className="font-mono tracking-widest uppercase"
        />
        {error !== null && <Problem error={error} />}
        <Button kind="primary" type="submit" busy={busy && 'Checking…'}>
          Continue
        </Button>
      </form>
    </SingleFormPage>
  );
}

function Decision(props: Readonly<{ found: Found; onDecided: (outcome: Outcome) => void }>) {
  const { onDecided } = props;
  const { code, requestedFrom } = props.found;
  const [denying, setDenying] = useState<unknown>(null);
  const { busy, error, onSubmit } = useForm(async () => {
    await approveOrDenyCode(authCall, code, 'approve');
    onDecided('approved');
  });
  const deny = async (): Promise<void> => {
    await approveOrDenyCode(authCall, code, 'deny');
    onDecided('denied');
  };
  return (
    <SingleFormPage
      title="Sign in this terminal?"
      about="The terminal can create an API key with all permissions of your role."
    >
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <DescriptionList
          items={[
            ['Code', code],
            ['Requested from', requestedFrom?.ip ?? 'unknown IP address'],
            ['Program', requestedFrom?.userAgent ?? 'unknown'],
            requestedFrom === null ? null : ['Requested', <RelativeTime key="at" at={requestedFrom.at} />],
          ]}
        />
        <Note tone="warn">Deny this request if you did not start it, or if someone sent you the code.</Note>
        {error !== null && <Problem error={error} />}
        {denying !== null && <Problem error={denying} />}
        <Button kind="primary" type="submit" busy={busy && 'Signing in…'}>
          Sign in
        </Button>
        <Button kind="danger" onClick={() => void deny().catch(setDenying)}>
          Deny
        </Button>
      </form>
    </SingleFormPage>
  );
}
