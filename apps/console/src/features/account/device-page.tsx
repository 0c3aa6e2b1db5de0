import { Navigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { authCall } from '../../api/auth.ts';
import { usePerson } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Loading, Note, Problem } from '../../ui/states.tsx';
import { BarePage } from './bare-page.tsx';
import { decideOnCode } from './device.ts';
import { useForm } from './use-form.ts';

/** `millrace login` shows a code; whoever types it here lets that terminal in. */
export function DevicePage() {
  const { user_code: given } = useSearch({ from: '/device' });
  const { person } = usePerson();
  const [outcome, setOutcome] = useState<'approved' | 'denied' | null>(null);
  const [denying, setDenying] = useState<unknown>(null);
  const [code, setCode] = useState(given ?? '');
  const { busy, error, onSubmit } = useForm(async () => {
    await decideOnCode(authCall, code, 'approve');
    setOutcome('approved');
  });
  if (person.state === 'unknown') return <Loading what="your account" />;
  if (person.state === 'out') {
    const next = `/console/device${given === undefined ? '' : `?user_code=${encodeURIComponent(given)}`}`;
    return <Navigate to="/sign-in" search={{ next }} replace />;
  }
  if (outcome !== null) {
    return (
      <BarePage title={outcome === 'approved' ? 'The terminal is signed in' : 'The terminal was refused'}>
        <p>
          {outcome === 'approved' ? 'Go back to it; this page can be closed.' : 'Nothing was given to it.'}
        </p>
      </BarePage>
    );
  }
  const deny = async (): Promise<void> => {
    await decideOnCode(authCall, code, 'deny');
    setOutcome('denied');
  };
  return (
    <BarePage
      title="Let a terminal in"
      about="Check that the code is the one that your own terminal shows. Whoever has it acts in your name."
    >
      <form onSubmit={onSubmit} className="flex flex-col gap-3">
        <TextField
          label="Code"
          name="code"
          value={code}
          onChange={(event) => setCode(event.target.value)}
          autoComplete="off"
          spellCheck={false}
          required
          maxLength={20}
          className="font-mono tracking-widest uppercase"
        />
        <Note tone="warn">Did somebody send you this code? Then refuse it.</Note>
        {error !== null && <Problem error={error} />}
        {denying !== null && <Problem error={denying} />}
        <Button kind="primary" type="submit" busy={busy && 'Letting it in…'}>
          Let it in
        </Button>
        <Button
          kind="danger"
          off={code === '' && 'Type the code first.'}
          onClick={() => void deny().catch(setDenying)}
        >
          Refuse
        </Button>
      </form>
    </BarePage>
  );
}
